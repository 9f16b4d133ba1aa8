//! Links that fail under sessions, on worlds without other faults: another way is found in time, or the session ends with the reason, at both ends.
use std::collections::BTreeSet;

use wan::{
    Asn, Body, Class, Direction, Input, LegId, LinkId, Message, Reason, Refusal, SessionBody, SessionId,
};

use crate::scenarios::{Alike, of, reliable, request, world};
use crate::topologies::{MILLISECOND, SECOND};
use crate::world::World;

const RING: [(u32, u32); 4] = [(1, 2), (2, 3), (3, 4), (1, 4)];

/// The links by which the flows of a session leave domains.
fn links(world: &World, session: SessionId) -> BTreeSet<u32> {
    let mut links = BTreeSet::new();
    for domain in &world.domains {
        let manager = domain.manager.as_ref().unwrap();
        for leg in manager.legs(session) {
            for domain in &world.domains {
                let mut held = domain.manager.as_ref().unwrap().aggregates();
                let of = held.find(|(id, _)| *id == leg.aggregate);
                links.extend(of.and_then(|(_, held)| held.link_out).map(|link| link.0));
            }
        }
    }
    links
}

fn open(world: &World) -> BTreeSet<LegId> {
    world.domains.iter().flat_map(|domain| domain.backend.open.keys().copied()).collect()
}

/// Runs for so long, and looks all the time whether edges let these flows in.
fn run_open(world: &mut World, legs: &BTreeSet<LegId>, time: u64) {
    let end = world.now + time;
    while world.now < end {
        world.run(5 * MILLISECOND);
        assert_eq!(&open(world), legs, "at {}", world.now);
    }
}

#[test]
fn each_link_of_a_ring_may_fail_and_the_session_goes_the_other_way() {
    for link in 1..=4 {
        let mut world = world(4, &RING, 1 << 40);
        let session = world.admitted(0, reliable(1, &[3], 1_000_000));
        let (before, legs) = (links(&world, session), open(&world));
        assert_eq!(before.len(), 2, "{before:?}");
        let began = world.now;
        world.cut_link(LinkId(link), 100 * SECOND);
        // No packet meets an edge that is shut, neither before nor after.
        run_open(&mut world, &legs, 3 * SECOND);
        let after = links(&world, session);
        let told: BTreeSet<(usize, u8)> =
            world.rerouted.iter().map(|(_, at, leg, ..)| (*at, leg.flow)).collect();
        if before.contains(&link) {
            assert_eq!(after, (1..=4).filter(|other| !before.contains(other)).collect(), "link {link}");
            // Four flows, and each is told at both ends, once.
            assert_eq!((told.len(), world.rerouted.len()), (8, 8), "{:?}", world.rerouted);
            for (at, _, _, delay, refusal) in &world.rerouted {
                assert!(*at <= began + 3 * SECOND && *delay <= 100 * MILLISECOND);
                assert_eq!((refusal.link, &refusal.reason), (Some(LinkId(link)), &Reason::LinkDown));
            }
        } else {
            assert_eq!((after, world.rerouted.len()), (before, 0), "link {link}");
        }
        assert!(world.ended.is_empty());
        world.run(20 * SECOND);
        assert_eq!(world.at_rest(), 1);
    }
}

/// A domain says of flows that leave it, and of no others, that they go another way; the delay there is not more than was asked for.
#[test]
fn what_cannot_be_so_of_a_flow_is_not_told() {
    let mut world = world(4, &RING, 1 << 40);
    let asked = reliable(1, &[3], 1_000_000);
    let session = world.admitted(0, asked.clone());
    let mut told = |from: u32, to: u32, flow: usize, delay: u64, reason: Reason| {
        let refusal = Refusal { asn: Asn(2), link: Some(LinkId(1)), reason };
        let body = SessionBody::Rerouted { flow: u8::try_from(flow).unwrap(), delay, loss: 0, refusal };
        let (from, at) = (Asn(from), to as usize - 1);
        let message = Message { from, to: Asn(to), body: Body::Session(session, body) };
        world.input(at, Input::Message(message));
        std::mem::take(&mut world.rerouted).len()
    };
    for (number, flow) in asked.flows.iter().enumerate() {
        for (from, to, leaves) in [(1, 3, Direction::Forward), (3, 1, Direction::Reverse)] {
            let is_so = usize::from(flow.direction == leaves);
            assert_eq!(told(from, to, number, flow.limit, Reason::LinkDown), is_so, "{flow:?} from {from}");
            assert_eq!(told(from, to, number, flow.limit + 1, Reason::LinkDown), 0);
            assert_eq!(told(from, to, number, flow.limit, Reason::NoAnswer), 0);
            assert_eq!(told(2, to, number, flow.limit, Reason::LinkDown), 0, "no end of the session");
        }
    }
    for (from, to) in [(1, 3), (3, 1)] {
        assert_eq!(told(from, to, asked.flows.len(), 0, Reason::LinkDown), 0);
    }
}

/// The first link to fail is that of the caller's domain itself; then the other way fails, too, while the first one works again.
#[test]
fn what_went_another_way_goes_back_when_that_fails() {
    let mut world = world(4, &RING, 1 << 40);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    for round in 1..=4 {
        let link = *links(&world, session).first().unwrap();
        world.cut_link(LinkId(link), 4 * SECOND);
        world.run(20 * SECOND);
        assert_eq!((world.rerouted.len(), world.at_rest()), (2 * round, 1));
    }
}

#[test]
fn a_link_beside_the_one_that_failed_is_another_way() {
    let mut world = world(3, &[(1, 2), (2, 3), (2, 3)], 1 << 40);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    let before = links(&world, session);
    let link = before.iter().copied().find(|link| *link > 1).unwrap();
    world.cut_link(LinkId(link), 100 * SECOND);
    world.run(3 * SECOND);
    assert_eq!(links(&world, session), BTreeSet::from([1, 5 - link]), "{before:?}");
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 1);
}

/// What both ends hear of the end.
fn ends(world: &World, session: SessionId, callees: usize) -> Refusal {
    let refusal = world.ended.get(&session).expect("it ends").clone();
    assert_eq!(world.hosted_ended.get(&(callees, session)), Some(&refusal));
    refusal
}

#[test]
fn without_another_way_in_the_limit_it_ends_with_the_reason_and_the_place() {
    // From 1 to 2 there is the link, and the long way round.
    let mut world = world(4, &RING, 1 << 40);
    let mut asked = request(1, &[2], 1_000_000);
    asked.flows[0].limit = 12 * MILLISECOND;
    let session = world.admitted(0, asked);
    assert_eq!(links(&world, session), BTreeSet::from([1]));
    world.cut_link(LinkId(1), 100 * SECOND);
    world.run(3 * SECOND);
    let refusal = ends(&world, session, 1);
    assert_eq!(refusal, Refusal { asn: Asn(1), link: Some(LinkId(1)), reason: Reason::LinkDown });
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 0);
}

#[test]
fn where_the_other_way_is_full_only_those_that_fit_go_it() {
    let mut world = world(4, &RING, 1 << 40);
    let sessions: Vec<SessionId> = (0..10).map(|_| world.admitted(0, request(1, &[3], 1_000_000))).collect();
    let before = links(&world, sessions[0]);
    let far = (1..=4).filter(|link| !before.contains(link)).collect::<Vec<_>>();
    // The other way has room for four of them.
    for at in 0..4 {
        for link in &far {
            let rate = 4_500_000;
            world.domains[at].measured.insert((*link, Class::Ef), rate);
            world.input(at, Input::Measured { link: LinkId(*link), class: Class::Ef, rate });
        }
    }
    world.cut_link(LinkId(*before.last().unwrap()), 100 * SECOND);
    world.run(8 * SECOND);
    let ended: Vec<_> = sessions.iter().filter(|id| world.ended.contains_key(id)).copied().collect();
    assert_eq!(ended.len(), 6, "{:?}", world.ended);
    for session in ended {
        let refusal = ends(&world, session, 2);
        // Not that the other way is full: that is no reason without the first.
        assert_eq!(
            (refusal.link.map(|link| link.0), refusal.reason),
            (before.last().copied(), Reason::LinkDown)
        );
    }
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 4);
}

/// The way that is dead has what the other one lacks, in each domain that both pass: it is given up first.
#[test]
fn a_flow_that_has_not_room_twice_goes_the_other_way() {
    let narrow = Alike { rate: 1 << 40, burst: 1 << 40, capacity: 1_500_000, slower: 0, links: 0, loss: 0 };
    for link in 1..=4 {
        let mut world = of(4, &RING, narrow);
        let session = world.admitted(0, request(1, &[3], 1_000_000));
        let before = links(&world, session);
        world.cut_link(LinkId(link), 100 * SECOND);
        world.run(4 * SECOND);
        let after = links(&world, session);
        let is_cut = before.contains(&link);
        assert!(!after.contains(&link), "link {link}: {before:?}");
        assert_eq!(world.rerouted.len(), if is_cut { 2 } else { 0 }, "{:?}", world.rerouted);
        assert_eq!(open(&world).len(), 1);
        world.run(20 * SECOND);
        assert_eq!(world.at_rest(), 1);
    }
    // The link before both of two links beside each other has room for one of them.
    let numbers = Alike { rate: 1_500_000, capacity: 1 << 40, ..narrow };
    let mut world = of(3, &[(1, 2), (2, 3), (2, 3)], numbers);
    let session = world.admitted(0, reliable(1, &[3], 1_000_000));
    let link = links(&world, session).into_iter().find(|link| *link > 1).unwrap();
    world.cut_link(LinkId(link), 100 * SECOND);
    world.run(4 * SECOND);
    assert!(!links(&world, session).contains(&link));
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 1);
}

/// Two flows are on one way, and the other one has room for one of them: that goes there, and no link ever carries more than it may.
#[test]
fn of_two_flows_that_give_their_way_up_one_fits() {
    let narrow = Alike { rate: 2_500_000, burst: 1 << 40, capacity: 1 << 40, slower: 0, links: 0, loss: 0 };
    let mut world = of(4, &RING, narrow);
    let sessions: Vec<SessionId> = (0..2).map(|_| world.admitted(0, request(1, &[3], 1_000_000))).collect();
    let before = links(&world, sessions[0]);
    let other = (1..=4).find(|link| !before.contains(link)).unwrap();
    for at in 0..4 {
        let rate = 1_500_000;
        world.domains[at].measured.insert((other, Class::Ef), rate);
        world.input(at, Input::Measured { link: LinkId(other), class: Class::Ef, rate });
    }
    world.cut_link(LinkId(*before.last().unwrap()), 100 * SECOND);
    world.run(8 * SECOND);
    let ended = sessions.iter().filter(|id| world.ended.contains_key(id)).count();
    assert_eq!(ended, 1, "{:?}", world.ended);
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 1);
}

/// The same with a crash of the origin or of the callees' domain at any step.
#[test]
fn a_crash_while_a_way_is_given_up_leaves_what_is_told() {
    let narrow = Alike { rate: 1 << 40, burst: 1 << 40, capacity: 1_500_000, slower: 0, links: 0, loss: 0 };
    let (mut moved, mut ended) = (0, 0);
    for step in 0..40_u64 {
        for crashes in [0, 2] {
            let mut world = of(4, &RING, narrow);
            let session = world.admitted(0, request(1, &[3], 1_000_000));
            let link = *links(&world, session).last().unwrap();
            world.context = format!("step {step}, domain {}", crashes + 1);
            world.cut_link(LinkId(link), 100 * SECOND);
            world.run(step * 10 * MILLISECOND);
            world.crash(crashes);
            world.run(13 * SECOND);
            world.mend();
            world.run(27 * SECOND);
            match world.at_rest() {
                0 => ended += 1,
                _ => {
                    assert!(!links(&world, session).contains(&link), "{}", world.context);
                    moved += 1;
                }
            }
        }
    }
    assert!(moved > ended, "{moved} moved, {ended} ended");
}

/// A manager of the origin that crashes at any step goes on with one of the two ways, and holds nothing of the other.
#[test]
fn a_crash_on_the_way_to_another_way_leaves_one_of_both() {
    let mut moved = 0;
    for step in 0..60_u64 {
        for crashes in [0, 2] {
            let mut world = world(4, &RING, 1 << 40);
            let session = world.admitted(0, reliable(1, &[3], 1_000_000));
            let link = *links(&world, session).last().unwrap();
            world.context = format!("step {step}, domain {}", crashes + 1);
            world.cut_link(LinkId(link), 100 * SECOND);
            world.run(step * 7 * MILLISECOND);
            world.crash(crashes);
            world.run(13 * SECOND);
            world.mend();
            world.run(27 * SECOND);
            let survives = world.at_rest();
            if survives == 1 {
                assert!(!links(&world, session).contains(&link), "{}", world.context);
                moved += 1;
            }
        }
    }
    assert!(moved > 0);
}

/// The store does not say that the other way is durable: edges are shut before other domains forget the one before.
#[test]
fn a_store_that_hangs_on_the_way_to_another_way_ends_the_session() {
    let mut world = world(4, &RING, 1 << 40);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    let link = *links(&world, session).last().unwrap();
    world.domains[0].hangs_at_sessions = true;
    world.cut_link(LinkId(link), 100 * SECOND);
    world.run(4 * SECOND);
    assert!(world.rerouted.is_empty() && open(&world).is_empty(), "{:?}", world.rerouted);
    world.store_goes_on(0);
    world.run(20 * SECOND);
    assert_eq!(ends(&world, session, 2).reason, Reason::LinkDown);
    assert_eq!(world.at_rest(), 0);
}

/// Bounds of the other way are its own: links of it are slower here.
#[test]
fn the_bound_that_is_told_is_that_of_the_other_way() {
    let numbers =
        Alike { rate: 1 << 40, burst: 1 << 40, capacity: 1 << 40, slower: MILLISECOND, links: 0, loss: 0 };
    let mut world = of(3, &[(1, 3), (1, 2), (2, 3)], numbers);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    let delay = |world: &World| world.domains[0].manager.as_ref().unwrap().legs(session)[0].delay;
    // Two domains of 2 ms and a link of 1 ms; three of them, and links of 2 and 3 ms.
    assert_eq!(delay(&world), 5 * MILLISECOND);
    world.cut_link(LinkId(1), 100 * SECOND);
    world.run(3 * SECOND);
    assert_eq!(delay(&world), 11 * MILLISECOND);
    assert!(world.rerouted.iter().all(|(.., told, _)| *told == 11 * MILLISECOND));
    assert_eq!(world.rerouted.len(), 2);
}

/// What BGP tells a domain of all that it could: paths that pass none of these domains.
fn tell_without(world: &mut World, at: usize, without: &[u32]) {
    let mut paths = world.domains[at].paths.clone();
    paths.retain(|path| !path.as_path.iter().any(|asn| without.contains(&asn.0)));
    world.input(at, Input::Paths(paths));
}

#[test]
fn a_flow_whose_path_is_withdrawn_goes_another_one_and_stays_where_there_is_none() {
    let mut world = world(4, &RING, 1 << 40);
    let session = world.admitted(0, reliable(1, &[3], 1_000_000));
    let (before, legs) = (links(&world, session), open(&world));
    let via = if before.contains(&1) { 2 } else { 4 };
    // Of the flows to the callees: those that come back are routed by the other domain.
    tell_without(&mut world, 0, &[via]);
    run_open(&mut world, &legs, 3 * SECOND);
    let all: BTreeSet<u32> = (1..=4).collect();
    assert_eq!(links(&world, session), all, "forward one way, back the other");
    let told: Vec<_> =
        world.rerouted.iter().map(|(_, at, leg, _, why)| (*at, leg.flow, why.clone())).collect();
    let why = Refusal { asn: Asn(1), link: None, reason: Reason::NoPath { offer: None } };
    let forward = [0, 2].map(|flow| [0, 2].map(|at| (at, flow, why.clone()))).concat();
    assert_eq!(told.len(), forward.len(), "{told:?}");
    assert!(forward.iter().all(|expected| told.contains(expected)), "{told:?}");
    // Without any path it stays: its tunnel is kept by the managers of its domains.
    tell_without(&mut world, 0, &[2, 4]);
    run_open(&mut world, &legs, 20 * SECOND);
    assert_eq!((links(&world, session), world.rerouted.len()), (all, 4));
    let refusal = world.refused(request(1, &[3], 1_000));
    assert_eq!(refusal, why);
    // A path that comes back moves nothing.
    tell_without(&mut world, 0, &[]);
    run_open(&mut world, &legs, 5 * SECOND);
    assert_eq!(world.rerouted.len(), 4);
    assert!(world.ended.is_empty());
    assert_eq!(world.at_rest(), 1);
}

/// The other way has no room: the flow stays, and ends only when its link is cut.
#[test]
fn a_flow_whose_path_is_withdrawn_stays_where_the_other_one_refuses() {
    let mut world = world(4, &RING, 1 << 40);
    let session = world.admitted(0, request(1, &[3], 1_000_000));
    let (before, legs) = (links(&world, session), open(&world));
    let (via, other) = if before.contains(&1) { (2, 4) } else { (4, 1) };
    for at in 0..4 {
        world.domains[at].measured.insert((other, Class::Ef), 500_000);
        world.input(at, Input::Measured { link: LinkId(other), class: Class::Ef, rate: 500_000 });
    }
    tell_without(&mut world, 0, &[via]);
    run_open(&mut world, &legs, 20 * SECOND);
    assert_eq!((links(&world, session), world.rerouted.len()), (before.clone(), 0));
    world.cut_link(LinkId(*before.last().unwrap()), 100 * SECOND);
    world.run(4 * SECOND);
    assert_eq!(ends(&world, session, 2).reason, Reason::LinkDown);
    world.run(20 * SECOND);
    assert_eq!(world.at_rest(), 0);
}

/// A link of the path that is withdrawn fails at each step of the way to another one: the flow is let in without a gap, on the other way.
#[test]
fn a_link_that_fails_while_a_withdrawn_path_is_left_ends_nothing() {
    for step in 0..60_u64 {
        let mut world = world(4, &RING, 1 << 40);
        let session = world.admitted(0, request(1, &[3], 1_000_000));
        let (before, legs) = (links(&world, session), open(&world));
        let via = if before.contains(&1) { 2 } else { 4 };
        world.context = format!("step {step}");
        tell_without(&mut world, 0, &[via]);
        world.run(step * MILLISECOND);
        world.cut_link(LinkId(*before.last().unwrap()), 100 * SECOND);
        run_open(&mut world, &legs, 5 * SECOND);
        let after: BTreeSet<u32> = (1..=4).filter(|link| !before.contains(link)).collect();
        assert_eq!((links(&world, session), world.rerouted.len()), (after, 2), "{}", world.context);
        world.run(20 * SECOND);
        assert_eq!(world.at_rest(), 1);
    }
}
