//! Single rules, on worlds without faults.
use std::collections::BTreeMap;

use testkit::random::Random;
use wan::{
    Asking, Asn, Class, Direction, FlowKind, FlowRequest, Input, LinkId, Reason, Refusal, SessionRequest,
    TSpec,
};

use crate::model::Agreed;
use crate::topologies::{MILLISECOND, Numbers, SECOND, address, build, hides};
use crate::world::{Outcome, World};

/// All domains and all links alike.
#[derive(Clone, Copy)]
pub(crate) struct Alike {
    pub(crate) rate: u64,
    pub(crate) burst: u64,
    pub(crate) capacity: u64,
    /// By so much each link is slower than the one before.
    pub(crate) slower: u64,
    pub(crate) links: u64,
    /// Packets of a million, on each link.
    pub(crate) loss: u32,
}

impl Numbers for Alike {
    fn agreed(&mut self) -> Option<Agreed> {
        // Three classes in two directions.
        let delay = MILLISECOND + self.links / 6 * self.slower;
        self.links += 1;
        Some(Agreed { rate: self.rate, burst: self.burst, delay, jitter: 0, loss: self.loss })
    }

    fn budget(&mut self) -> (u64, u64) {
        (2 * MILLISECOND, 100_000)
    }

    fn loss(&mut self, _: u32, _: Class) -> u32 {
        0
    }

    fn capacity(&mut self) -> u64 {
        self.capacity
    }

    fn tells(&mut self) -> bool {
        true
    }

    fn lets(&mut self) -> bool {
        true
    }
}

pub(crate) fn world(count: u32, edges: &[(u32, u32)], rate: u64) -> World {
    of(count, edges, Alike { rate, burst: 1 << 40, capacity: 1 << 40, slower: 0, links: 0, loss: 0 })
}

pub(crate) fn of(count: u32, edges: &[(u32, u32)], mut numbers: Alike) -> World {
    let (topology, domains) = build(count, edges, &mut numbers);
    let mut world = World::of(Random::of_case(1, 2), topology, domains);
    world.callees_agree = true;
    world.run(SECOND);
    world
}

pub(crate) fn line(count: u32, rate: u64) -> World {
    let edges: Vec<(u32, u32)> = (1..count).map(|at| (at, at + 1)).collect();
    world(count, &edges, rate)
}

pub(crate) fn flow(kind: FlowKind, direction: Direction, rate: u64) -> FlowRequest {
    let desired = TSpec { rate, bucket: 1_000, peak: rate, least_unit: 60, largest_packet: 1_000 };
    FlowRequest {
        kind,
        direction,
        protocol: 17,
        source_port: 7_410,
        destination_port: 7_411,
        class: Class::Ef,
        desired,
        least_rate: rate,
        limit: 100 * MILLISECOND,
        most_loss: wan::ANY_LOSS,
        copies: 1,
        asking: Asking::HopByHop,
    }
}

pub(crate) fn request(from: u32, to: &[u32], rate: u64) -> SessionRequest {
    let hosts = to.iter().zip(1_u8..);
    SessionRequest {
        user: 1,
        service: 1,
        caller: address(from, 1),
        callees: hosts.map(|(to, host)| address(*to, host)).collect(),
        flows: vec![flow(FlowKind::Data, Direction::Forward, rate)],
        lasts: 1_000 * SECOND,
    }
}

pub(crate) fn reliable(from: u32, to: &[u32], rate: u64) -> SessionRequest {
    let mut request = request(from, to, rate);
    request.flows.push(flow(FlowKind::AckNack, Direction::Reverse, rate / 10));
    request.flows.push(flow(FlowKind::Discovery, Direction::Forward, rate / 10));
    request.flows.push(flow(FlowKind::Discovery, Direction::Reverse, rate / 10));
    request
}

impl World {
    pub(crate) fn refused(&mut self, request: SessionRequest) -> Refusal {
        let from = self.domains.len().min(match request.caller {
            std::net::IpAddr::V4(address) => usize::from(address.octets()[1]),
            std::net::IpAddr::V6(_) => 1,
        });
        let ticket = self.request(from - 1, request);
        self.run(10 * SECOND);
        match self.outcomes.get(&ticket) {
            Some(Outcome::Refused(refusal)) => refusal.clone(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn admitted(&mut self, at: usize, request: SessionRequest) -> wan::SessionId {
        let ticket = self.request(at, request);
        self.run(5 * SECOND);
        match self.outcomes.get(&ticket) {
            Some(Outcome::Admitted(session)) => *session,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn held(&self, at: usize) -> usize {
        self.domains[at].backend.held.len()
    }
}

#[test]
fn a_thousand_sessions_add_nothing_in_transit() {
    let mut world = line(4, 1 << 40);
    world.domains.iter_mut().for_each(|domain| domain.config.users[0].1.most_sessions = 1_000);
    world.admitted(0, reliable(1, &[4], 100_000));
    let before: Vec<_> = [1, 2].map(|at| world.domains[at].backend.committed.clone()).into_iter().collect();
    assert_eq!(before[0].len(), 2, "one for each direction");
    let mut tickets = Vec::new();
    let began = world.now;
    while tickets.len() < 999 {
        for _ in 0..64.min(999 - tickets.len()) {
            tickets.push(world.request(0, reliable(1, &[4], 100_000)));
        }
        while world.outcomes.len() <= tickets.len() {
            world.run(50 * MILLISECOND);
            assert!(world.now < began + 60 * SECOND, "{} are answered", world.outcomes.len());
        }
    }
    world.run(SECOND);
    for ticket in tickets {
        assert!(matches!(world.outcomes[&ticket], Outcome::Admitted(_)), "{:?}", world.outcomes[&ticket]);
    }
    let after: Vec<_> = [1, 2].map(|at| world.domains[at].backend.committed.clone()).into_iter().collect();
    assert_eq!(before, after, "rules and labels of transit");
    let stored = |at: usize| world.domains[at].store.len();
    assert_eq!((stored(1), stored(2)), (2, 2));
    assert_eq!(world.at_rest(), 1_000);
}

#[test]
fn the_first_beyond_the_set_ups_at_a_time_is_told_to_wait() {
    let mut world = line(3, 1 << 40);
    let tickets: Vec<u64> = (0..65).map(|_| world.request(0, request(1, &[3], 100_000))).collect();
    world.run(5 * SECOND);
    let is_busy = |ticket: &u64| matches!(&world.outcomes[ticket], Outcome::Refused(refusal) if refusal.reason == Reason::Busy);
    assert_eq!(tickets.iter().filter(|ticket| is_busy(ticket)).count(), 1);
}

#[test]
fn nothing_is_answered_before_it_is_durable() {
    for at in 0..3 {
        let mut world = line(3, 1 << 40);
        world.domains[at].stored_until = world.now + 100 * SECOND;
        let ticket = world.request(0, reliable(1, &[3], 100_000));
        // The caller waits for its store; the others are waited for, and not in vain for ever.
        world.run(2 * SECOND);
        assert!(!world.outcomes.contains_key(&ticket), "domain {} answers before its store", at + 1);
        let is_shut = |at: usize| world.domains[at].backend.open.is_empty();
        assert!(is_shut(0) && is_shut(at), "edges let in what domain {} has not stored", at + 1);
    }
}

#[test]
fn a_refusal_says_domain_link_what_is_missing_and_what_can_be_had() {
    let mut world = line(4, 5_000_000);
    // The third domain's link has less.
    world.input(2, Input::Measured { link: LinkId(3), class: Class::Ef, rate: 1_500_000 });
    let refusal = world.refused(request(1, &[4], 2_000_000));
    let reason = Reason::Rate { missing: 500_000, offer: 1_500_000 };
    assert_eq!(refusal, Refusal { asn: Asn(3), link: Some(LinkId(3)), reason });
    assert_eq!(refusal.to_string(), "AS 3, link 3: 500000 bit/s are missing; 1500000 can be had");
    // Nothing is left of it.
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 0);
    // What is enough is taken instead.
    let mut lower = request(1, &[4], 2_000_000);
    lower.flows[0].least_rate = 1_000_000;
    let session = world.admitted(0, lower);
    let rate = world.domains[0].manager.as_ref().unwrap().legs(session)[0].flow.desired.rate;
    assert_eq!(rate, 1_500_000);
    assert_eq!(world.at_rest(), 1);
}

/// Two packets of 1,000 bytes fit, after 0.1 ms of jitter at 1 Mbit/s for each; a third does not.
#[test]
fn bursts_are_admitted_like_rates() {
    let mut world = of(
        2,
        &[(1, 2)],
        Alike { rate: 1 << 40, burst: 2_026, capacity: 1 << 40, slower: 0, links: 0, loss: 0 },
    );
    for _ in 0..2 {
        world.admitted(0, request(1, &[2], 1_000_000));
    }
    let refusal = world.refused(request(1, &[2], 1_000_000));
    let reason = Reason::Burst { missing: 3_038 - 2_026, offer: 2_026 };
    assert_eq!(refusal, Refusal { asn: Asn(1), link: Some(LinkId(1)), reason });
    assert_eq!(world.at_rest(), 2);
}

/// The inside of a domain is the ledger of its back-end.
#[test]
fn a_back_end_without_room_refuses() {
    let mut world = of(
        3,
        &[(1, 2), (2, 3)],
        Alike { rate: 1 << 40, burst: 1 << 40, capacity: 2_500_000, slower: 0, links: 0, loss: 0 },
    );
    world.admitted(1, request(2, &[2], 1_500_000));
    let refusal = world.refused(request(1, &[3], 2_000_000));
    let reason = Reason::Rate { missing: 1_000_000, offer: 1_000_000 };
    assert_eq!(refusal, Refusal { asn: Asn(2), link: None, reason });
    assert_eq!(world.at_rest(), 1);
}

#[test]
fn what_an_agreement_says_ends_with_it() {
    let mut world = line(3, 5_000_000);
    let ends = world.now + 20 * SECOND;
    let domain = &mut world.domains[1];
    domain.config.agreements.iter_mut().for_each(|agreement| agreement.ends = ends);
    world.crash(1);
    world.run(14 * SECOND);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    world.domains[1].excused = ends + 9 * SECOND;
    world.run(2 * SECOND);
    let refusal = Refusal { asn: Asn(2), link: Some(LinkId(2)), reason: Reason::NoAgreement };
    assert_eq!(world.ended.get(&session), Some(&refusal));
}

#[test]
fn a_limit_that_a_path_does_not_meet_is_refused_with_the_missing_time() {
    let mut world = line(3, 5_000_000);
    let mut late = request(1, &[3], 1_000_000);
    // Three domains of 2 ms and two links of 1 ms; BGP knows less, since the first domain does not tell itself of its own.
    late.flows[0].limit = 8 * MILLISECOND - 1;
    for domain in &mut world.domains {
        for path in &mut domain.paths {
            path.communities.iter_mut().for_each(|(_, _, delay)| *delay = 1);
        }
    }
    let paths = world.domains[0].paths.clone();
    world.input(0, Input::Paths(paths));
    let refusal = world.refused(late.clone());
    assert_eq!((refusal.asn, refusal.reason), (Asn(3), Reason::Delay { missing: 1, offer: 8 * MILLISECOND }));
    // The domain that sees it first says so: the first one with its link needs 3 ms.
    let mut later = late.clone();
    later.flows[0].limit = 2_500_000;
    let refusal = world.refused(later);
    let reason = Reason::Delay { missing: 500_000, offer: 3 * MILLISECOND };
    assert_eq!(refusal, Refusal { asn: Asn(1), link: Some(LinkId(1)), reason });
    late.flows[0].limit = 8 * MILLISECOND;
    world.admitted(0, late);
    assert_eq!(world.at_rest(), 1);
}

#[test]
fn jitter_of_domains_before_counts_as_burst() {
    let mut world = line(3, 50_000_000);
    world.admitted(0, request(1, &[3], 4_000_000));
    // 4 Mbit/s for 0.1 ms of jitter in each domain are 50 bytes each.
    let burst = |at: usize, link: u32| {
        let manager = world.domains[at].manager.as_ref().unwrap();
        manager.reserved(LinkId(link), Class::Ef).1
    };
    assert_eq!((burst(0, 1), burst(1, 2)), (1_050, 1_100));
    let inside: Vec<u64> =
        world.domains.iter().map(|domain| domain.backend.held.values().next().unwrap().burst).collect();
    assert_eq!(inside, [1_000, 1_050, 1_100]);
}

#[test]
fn data_of_the_operator_refuse_before_anything_is_asked() {
    let mut world = line(3, 1 << 40);
    let at_rest = world.counts.events;
    let mut foreign = request(2, &[3], 1_000);
    foreign.caller = address(3, 1);
    let ticket = world.request(0, foreign);
    let answer = format!("{:?}", world.outcomes[&ticket]);
    assert!(answer.contains("ForeignSource { owner: Some(Asn(3)) }"), "{answer}");
    let mut changed = |change: &dyn Fn(&mut SessionRequest)| {
        let mut request = request(1, &[3], 1_000_000);
        change(&mut request);
        match world.outcomes.get(&world.requests.len().try_into().unwrap()).cloned() {
            Some(_) => {}
            None => panic!("not answered at once"),
        }
        let ticket = world.request(0, request);
        match world.outcomes.get(&ticket) {
            Some(Outcome::Refused(refusal)) => refusal.reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(changed(&|request| request.user = 9), Reason::UnknownUser);
    assert_eq!(changed(&|request| request.service = 9), Reason::UnknownService);
    let nowhere = address(77, 1);
    assert_eq!(changed(&|request| request.callees = vec![nowhere]), Reason::UnknownDestination(nowhere));
    assert_eq!(changed(&|request| request.flows[0].class = Class::Control), Reason::Invalid);
    assert_eq!(changed(&|request| request.flows[0].desired.bucket = 10), Reason::Invalid);
    assert_eq!(changed(&|request| request.flows.clear()), Reason::Invalid);
    assert_eq!(changed(&|request| request.lasts = 0), Reason::Invalid);
    let rate = |request: &mut SessionRequest, rate: u64| {
        request.flows = (0..3).map(|_| flow(FlowKind::Data, Direction::Forward, rate)).collect();
    };
    let quota = changed(&|request| {
        request.user = 2;
        rate(request, 3_500_000);
    });
    assert_eq!(quota, Reason::Quota { missing: 1_500_000, offer: 9_000_000 });
    let full = changed(&|request| {
        request.service = 2;
        rate(request, 3_000_000);
    });
    assert_eq!(full, Reason::ServiceFull { missing: 1_000_000, offer: 8_000_000 });
    world.run(MILLISECOND);
    assert_eq!(world.counts.events, at_rest, "nothing was sent, stored or asked");
}

/// What one network service has free is not for another.
#[test]
fn a_full_network_service_borrows_from_no_other() {
    let mut world = line(3, 1 << 40);
    let mut in_second = request(1, &[3], 5_000_000);
    in_second.service = 2;
    world.admitted(0, in_second.clone());
    let refusal = world.refused(in_second);
    assert_eq!(refusal.reason, Reason::ServiceFull { missing: 2_000_000, offer: 3_000_000 });
    world.admitted(0, request(1, &[3], 5_000_000));
    assert_eq!(world.at_rest(), 2);
}

#[test]
fn one_copy_goes_to_each_domain_of_callees() {
    let mut world = line(4, 1 << 40);
    world.admitted(0, request(1, &[3, 3, 3, 4, 4, 4, 4, 4], 1_000_000));
    let manager = world.domains[0].manager.as_ref().unwrap();
    assert_eq!(manager.reserved(LinkId(1), Class::Ef).0, 2_000_000);
    let manager = world.domains[2].manager.as_ref().unwrap();
    assert_eq!(manager.reserved(LinkId(3), Class::Ef).0, 1_000_000);
    assert_eq!(world.at_rest(), 1);
}

#[test]
fn a_session_within_a_domain_tells_no_other() {
    let mut world = line(3, 1 << 40);
    let sent = world.sent;
    let session = world.admitted(0, reliable(1, &[1], 1_000_000));
    assert_eq!(world.sent, sent);
    assert_eq!(world.domains[0].manager.as_ref().unwrap().legs(session).len(), 4);
    assert_eq!(world.at_rest(), 1);
}

/// Acknowledgements come from the callee's domain, and there is no room for them: data end too.
#[test]
fn when_one_flow_fails_all_are_stopped() {
    let mut world = line(3, 5_000_000);
    world.input(1, Input::Measured { link: LinkId(1), class: Class::Ef, rate: 50_000 });
    let refusal = world.refused(reliable(1, &[3], 1_000_000));
    assert_eq!((refusal.asn, refusal.link), (Asn(2), Some(LinkId(1))));
    world.run(2 * SECOND);
    assert!((0..3).all(|at| world.held(at) == 0), "without waiting for lifetimes");
    assert_eq!(world.at_rest(), 0);
}

#[test]
fn a_failed_link_ends_what_passes_it_with_the_reason() {
    let mut world = line(4, 5_000_000);
    let session = world.admitted(0, reliable(1, &[4], 1_000_000));
    world.input(1, Input::Link { link: LinkId(2), is_up: false });
    world.domains[1].down.insert(2);
    world.domains[1].excused = world.now + 9 * SECOND;
    world.run(SECOND);
    let refusal = Refusal { asn: Asn(2), link: Some(LinkId(2)), reason: Reason::LinkDown };
    assert_eq!(world.ended.get(&session), Some(&refusal));
    let held: Vec<_> = world.domains.iter().map(|domain| domain.backend.held.clone()).collect();
    assert!(held.iter().all(BTreeMap::is_empty), "{held:?}");
}

/// The domain that loses the link finds a slower one, and its word of that is lost: what was told is not kept by it.
#[test]
fn a_slower_link_does_not_replace_one_behind_the_callers_back() {
    let numbers =
        Alike { rate: 1 << 40, burst: 1 << 40, capacity: 1 << 40, slower: 1_000, links: 0, loss: 0 };
    let mut world = of(3, &[(1, 2), (2, 3), (2, 3)], numbers);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    world.faults.lost = 1_000;
    world.domains[1].down.insert(2);
    world.domains[1].excused = world.now + 20 * SECOND;
    world.input(1, Input::Link { link: LinkId(2), is_up: false });
    world.faults.lost = 0;
    world.run(4 * SECOND);
    let refusal = world.ended.get(&session).map(|refusal| &refusal.reason);
    assert!(matches!(refusal, Some(Reason::Delay { missing: 1_000, .. })), "{refusal:?}");
}

/// What agreements lose adds up, whatever they are about.
#[test]
fn a_path_that_loses_more_than_is_allowed_is_refused_with_the_missing_part() {
    let numbers = Alike { rate: 1 << 40, burst: 1 << 40, capacity: 1 << 40, slower: 0, links: 0, loss: 70 };
    let mut world = of(4, &[(1, 2), (2, 3), (3, 4)], numbers);
    let mut asked = request(1, &[4], 1_000_000);
    for (most_loss, at, offer) in [(209, 3, 210), (139, 2, 140), (0, 1, 70)] {
        asked.flows[0].most_loss = most_loss;
        let reason = Reason::Loss { missing: offer - most_loss, offer };
        let link = Some(LinkId(at));
        assert_eq!(world.refused(asked.clone()), Refusal { asn: Asn(at), link, reason });
    }
    assert!((0..4).all(|at| world.held(at) == 0));
    asked.flows[0].most_loss = 210;
    world.admitted(0, asked.clone());
    let told = world.domains[0].manager.as_ref().unwrap().sessions().next().map(|(id, ..)| id);
    let legs = world.domains[0].manager.as_ref().unwrap().legs(told.unwrap());
    assert_eq!((legs[0].loss, legs[0].flow.most_loss), (210, 210));
    // A stricter one does not get into the tunnel of the first, and does it no harm.
    asked.flows[0].most_loss = 209;
    assert!(matches!(world.refused(asked).reason, Reason::Loss { missing: 1, offer: 210 }));
    world.input(0, Input::Query { ticket: 7, destination: Asn(4), class: Class::Ef });
    world.run(SECOND);
    assert!(matches!(world.answers[..], [(7, Ok(wan::Available { loss: 210, .. }))]), "{:?}", world.answers);
    assert_eq!(world.at_rest(), 1);
}

/// Each domain adds what its agreement costs, and does not say of what the sum is.
#[test]
fn a_caller_is_told_what_the_path_costs_unless_a_domain_hides_it() {
    let mut world = line(3, 5_000_000);
    for (from, to, price) in [(1, 3, Some(1_002_001 + 2_003_002)), (3, 1, None), (2, 2, Some(0))] {
        let id = world.admitted(from - 1, request(from as u32, &[to], 1_000_000));
        let legs = world.domains[from - 1].manager.as_ref().unwrap().legs(id);
        assert_eq!(legs[0].price, price, "from {from} to {to}");
    }
    assert!(hides(3, 2, 2) || hides(2, 1, 1), "one of the way back does");
    assert_eq!(world.at_rest(), 3);
}

/// In a ring there is a second path, which BGP tells too.
#[test]
fn a_path_without_room_leaves_the_others() {
    let mut world = world(4, &[(1, 2), (2, 4), (1, 3), (3, 4)], 1_500_000);
    for _ in 0..2 {
        world.admitted(0, request(1, &[4], 1_000_000));
    }
    assert_eq!((world.held(1), world.held(2)), (1, 1));
    assert!(matches!(world.refused(request(1, &[4], 1_000_000)).reason, Reason::Rate { offer: 500_000, .. }));
    assert_eq!(world.at_rest(), 2);
}

#[test]
fn a_path_on_which_a_domain_is_silent_is_no_path() {
    let mut world = world(4, &[(1, 2), (2, 4), (1, 3), (3, 4)], 1_500_000);
    let mut paths = world.domains[0].paths.clone();
    for path in &mut paths {
        path.communities.retain(|(asn, class, _)| *asn != Asn(2) || *class != Class::Ef);
    }
    world.input(0, Input::Paths(paths.clone()));
    world.admitted(0, request(1, &[4], 1_000_000));
    assert_eq!((world.held(1), world.held(2)), (0, 1));
    paths.iter_mut().for_each(|path| path.communities.clear());
    world.input(0, Input::Paths(paths));
    assert_eq!(world.refused(request(1, &[4], 1_000_000)).reason, Reason::NoPath { offer: None });
}

#[test]
fn a_measurement_above_what_is_agreed_raises_nothing() {
    let mut world = line(2, 1_500_000);
    world.input(0, Input::Measured { link: LinkId(1), class: Class::Ef, rate: 1 << 50 });
    let refusal = world.refused(request(1, &[2], 2_000_000));
    assert_eq!(refusal.reason, Reason::Rate { missing: 500_000, offer: 1_500_000 });
}

#[test]
fn a_query_says_what_is_free_and_keeps_nothing() {
    let mut world = line(4, 5_000_000);
    world.admitted(1, request(2, &[3], 2_000_000));
    world.input(0, Input::Query { ticket: 7, destination: Asn(4), class: Class::Ef });
    world.run(SECOND);
    let available = wan::Available { rate: 3_000_000, delay: 11 * MILLISECOND, jitter: 400_000, loss: 0 };
    assert_eq!(world.answers, [(7, Ok(available))]);
    world.input(0, Input::Query { ticket: 8, destination: Asn(9), class: Class::Ef });
    assert!(world.answers[1].1.is_err());
    assert_eq!(world.at_rest(), 1);
}

#[test]
fn a_session_ends_when_its_time_is_over_and_when_it_is_stopped() {
    let mut world = line(3, 5_000_000);
    let mut short = reliable(1, &[3], 100_000);
    short.lasts = 6 * SECOND;
    let short = world.admitted(0, short);
    let other = world.admitted(0, reliable(1, &[3], 100_000));
    world.run(5 * SECOND);
    assert_eq!(world.ended.get(&short).map(|refusal| &refusal.reason), Some(&Reason::TimeOver));
    world.input(0, Input::Stop(other));
    world.run(SECOND);
    assert_eq!(world.ended.get(&other).map(|refusal| &refusal.reason), Some(&Reason::Stopped));
    assert!((0..3).all(|at| world.held(at) == 0));
    assert_eq!(world.at_rest(), 0);
}

/// A manager that is dead for less than a lifetime is not noticed; for longer, what passes it ends.
#[test]
fn a_dead_manager_changes_nothing_within_its_lifetime() {
    for (dead, is_up) in [(3 * SECOND, true), (12 * SECOND, false)] {
        let mut world = line(3, 5_000_000);
        let session = world.admitted(0, request(1, &[3], 100_000));
        world.domains[1].manager = None;
        world.run(dead);
        assert_eq!(world.ended.contains_key(&session), !is_up, "dead for {dead} ns");
        assert_eq!(world.held(1), 1, "what a back-end holds outlives its manager");
        world.mend();
        world.run(20 * SECOND);
        assert_eq!(world.at_rest(), usize::from(is_up));
    }
}
