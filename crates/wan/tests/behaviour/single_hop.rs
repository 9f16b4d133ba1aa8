//! The origin asks each domain of the path itself: the state that comes of it is that of asking hop by hop, and agreements say who may.
use std::collections::{BTreeMap, BTreeSet};

use testkit::random::Random;
use wan::{
    AggregateId, Asking, Asn, Body, Class, Direction, FlowKind, Input, LinkId, Message, MessageId, Reason,
    Refusal, Reserve, SessionId, SessionRequest, TSpec, TunnelId,
};

use crate::scenarios::{flow, line, reliable, request};
use crate::topologies::{CLASSES, MILLISECOND, SECOND};
use crate::world::{Faults, Outcome, World};

/// What a domain holds of an aggregate, without the numbers of tunnels and labels, and without the limits that were asked with it last: after a start
/// they are those that were granted.
type Held = (Class, Vec<u32>, [Option<u32>; 2], [u64; 3], [u64; 5]);

/// All that domains hold, by pairs of sessions.
#[derive(PartialEq, Eq, Debug, Default)]
struct State {
    held: BTreeMap<u32, Vec<Held>>,
    reserved: BTreeMap<(u32, u32, Class), (u64, u64)>,
    sessions: BTreeMap<u32, BTreeSet<usize>>,
    hosted: BTreeMap<u32, BTreeSet<usize>>,
    open: BTreeMap<u32, BTreeSet<(usize, u8, u32)>>,
    inside: BTreeMap<u32, Vec<(Class, u64, u64)>>,
}

/// The way of each flow of a session: path, links, rate, bound, price.
type Shape = BTreeMap<(u8, u32), (Vec<u32>, Vec<Option<u32>>, u64, u64, Option<u64>)>;

fn shape(world: &World, session: SessionId) -> Shape {
    let managers = || world.domains.iter().map(|domain| domain.manager.as_ref().unwrap());
    let mut shape = Shape::new();
    for leg in managers().flat_map(|manager| manager.legs(session)) {
        let link = |asn: &Asn| {
            let mut held = world.domains[asn.0 as usize - 1].manager.as_ref().unwrap().aggregates();
            held.find(|(id, _)| *id == leg.aggregate).and_then(|(_, held)| held.link_out).map(|link| link.0)
        };
        let links = leg.path.iter().map(link).collect();
        let path = leg.path.iter().map(|asn| asn.0).collect();
        let of = (path, links, leg.flow.desired.rate, leg.delay, leg.price);
        shape.insert((leg.leg.flow, leg.leg.peer.0), of);
    }
    shape
}

fn state(world: &World, pair: impl Fn(SessionId) -> usize) -> State {
    let mut state = State::default();
    for (domain, own) in world.domains.iter().zip(1_u32..) {
        let manager = domain.manager.as_ref().unwrap();
        let mut held: Vec<Held> = manager
            .aggregates()
            .map(|(id, held)| {
                let asked = &held.asked;
                let path = asked.path.iter().map(|asn| asn.0).collect();
                let links = [asked.link_in, held.link_out].map(|link| link.map(|link| link.0));
                let traffic = &asked.traffic;
                let sums = [asked.delay, asked.jitter, asked.loss.into()];
                let all =
                    [traffic.rate, traffic.bucket, traffic.largest_packet.into(), held.delay, held.jitter];
                (id.class, path, links, sums, all)
            })
            .collect();
        held.sort();
        state.held.insert(own, held);
        for agreement in domain.config.agreements.iter().filter(|one| one.from.0 == own) {
            for class in CLASSES {
                let reserved = manager.reserved(agreement.link, class);
                state.reserved.insert((own, agreement.link.0, class), reserved);
            }
        }
        state.sessions.insert(own, manager.sessions().map(|(id, ..)| pair(id)).collect());
        state.hosted.insert(own, manager.hosted_or_asked().map(|(id, _)| pair(id)).collect());
        let open = domain.backend.open.keys().map(|leg| (pair(leg.session), leg.flow, leg.peer.0));
        state.open.insert(own, open.collect());
        let mut inside: Vec<_> =
            domain.backend.held.values().map(|demand| (demand.class, demand.rate, demand.burst)).collect();
        inside.sort_unstable();
        state.inside.insert(own, inside);
    }
    state
}

/// A session of one flow, or of two that share nothing: which of both is asked for first decides nothing.
fn single(random: &mut Random, domains: u64) -> SessionRequest {
    let (from, to) = (random.range(1, domains) as u32, random.range(1, domains) as u32);
    let rate = random.range(10, 300) * 10_000;
    let mut request = request(from, &[to], rate);
    request.service = 1;
    let at = random.below(CLASSES.len());
    request.flows[0].class = CLASSES[at];
    request.flows[0].limit = random.range(10, 120) * MILLISECOND;
    request.flows[0].least_rate = if random.chance(50) { rate } else { rate / 4 };
    if random.chance(30) {
        request.flows[0].most_loss = random.range(0, 2_500) as u32;
    }
    if random.chance(50) {
        let mut back = flow(FlowKind::AckNack, Direction::Reverse, rate / 10);
        back.class = CLASSES[(at + 1) % CLASSES.len()];
        request.flows.push(back);
    }
    request.lasts = 100_000 * SECOND;
    request
}

/// Two worlds that differ in how domains are asked.
struct Twins {
    worlds: [World; 2],
    /// Sessions that are in both.
    pairs: BTreeMap<usize, [SessionId; 2]>,
    numbers: usize,
    survived: u64,
    refused: u64,
}

impl Twins {
    fn new(seed: u64) -> Self {
        let world = || {
            let mut world = World::changed(seed, |domain| {
                domain.config.needs_grants = false;
                let all: Vec<Asn> = (1..=7).map(Asn).collect();
                domain.config.agreements.iter_mut().for_each(|one| one.direct.clone_from(&all));
            });
            world.callees_agree = true;
            world.run(SECOND);
            world
        };
        Self { worlds: [world(), world()], pairs: BTreeMap::new(), numbers: 0, survived: 0, refused: 0 }
    }

    /// Asks in both worlds, and waits until nothing is under way.
    fn ask(&mut self, request: &SessionRequest) -> [Outcome; 2] {
        let at = match request.caller {
            std::net::IpAddr::V4(address) => usize::from(address.octets()[1]) - 1,
            std::net::IpAddr::V6(_) => unreachable!("no such address here"),
        };
        let mut outcomes = Vec::new();
        for (world, asking) in self.worlds.iter_mut().zip([Asking::HopByHop, Asking::Direct]) {
            let mut request = request.clone();
            request.flows.iter_mut().for_each(|flow| flow.asking = asking);
            let ticket = world.request(at, request);
            world.run(12 * SECOND);
            world.mend();
            world.run(27 * SECOND);
            world.settle();
            outcomes.push(world.outcomes[&ticket].clone());
        }
        outcomes.try_into().unwrap()
    }

    fn lives(world: &World, session: SessionId) -> bool {
        let manager = world.domains[session.origin.0 as usize - 1].manager.as_ref().unwrap();
        manager.sessions().any(|(id, ..)| id == session)
    }

    fn keep(&mut self, outcomes: &[Outcome; 2]) {
        if let [Outcome::Admitted(one), Outcome::Admitted(other)] = outcomes {
            self.numbers += 1;
            self.pairs.insert(self.numbers, [*one, *other]);
        }
    }

    /// What faults have made different is stopped in both.
    fn clean(&mut self) {
        let worlds = &self.worlds;
        self.pairs.retain(|_, pair| {
            let live = worlds.iter().zip(*pair).all(|(world, id)| Self::lives(world, id));
            live && shape(&worlds[0], pair[0]) == shape(&worlds[1], pair[1])
        });
        for (at, world) in self.worlds.iter_mut().enumerate() {
            let known: BTreeSet<SessionId> = self.pairs.values().map(|pair| pair[at]).collect();
            let managers = world.domains.iter().map(|domain| domain.manager.as_ref().unwrap());
            let all: Vec<SessionId> = managers
                .flat_map(|manager| manager.sessions().map(|(id, ..)| id).collect::<Vec<_>>())
                .collect();
            for id in all.into_iter().filter(|id| !known.contains(id)) {
                world.input(id.origin.0 as usize - 1, Input::Stop(id));
            }
            world.run(27 * SECOND);
        }
    }

    fn are_alike(&mut self) {
        let states: Vec<State> = (0..2)
            .map(|at| {
                let world = &mut self.worlds[at];
                world.at_rest();
                let number = |id: SessionId| {
                    let of = self.pairs.iter().find(|(_, pair)| pair[at] == id).map(|(number, _)| *number);
                    of.unwrap_or_else(|| panic!("{}: {id:?} is in one world alone", world.context))
                };
                state(world, number)
            })
            .collect();
        assert_eq!(states[0], states[1], "{}", self.worlds[0].context);
    }
}

fn play(seed: u64) -> (u64, u64, u64) {
    let mut twins = Twins::new(seed);
    let mut random = Random::of_case(seed, 57);
    let kinds = [
        Faults { lost: 100, doubled: 200, ..Faults::default() },
        Faults { late: 60, doubled: 100, ..Faults::default() },
        Faults { crash: 30, ..Faults::default() },
        Faults { crash: 20, lost: 50, doubled: 50, late: 20, ..Faults::default() },
    ];
    for step in 0..random.range(5, 14) {
        let context = format!("seed {seed}, step {step}");
        twins.worlds.iter_mut().for_each(|world| world.context.clone_from(&context));
        let pairs: Vec<usize> = twins.pairs.keys().copied().collect();
        if random.chance(25)
            && let Some(number) = random.pick(&pairs)
        {
            let pair = twins.pairs.remove(number).unwrap();
            for (world, id) in twins.worlds.iter_mut().zip(pair) {
                world.input(id.origin.0 as usize - 1, Input::Stop(id));
                world.run(27 * SECOND);
            }
            twins.are_alike();
            continue;
        }
        let request = single(&mut random, twins.worlds[0].domains.len() as u64);
        if random.chance(50) {
            let faults = *random.pick(&kinds).unwrap();
            twins.worlds.iter_mut().for_each(|world| world.faults = faults);
            let outcomes = twins.ask(&request);
            twins.keep(&outcomes);
            twins.clean();
            twins.survived += twins.pairs.len() as u64;
        } else {
            let outcomes = twins.ask(&request);
            match &outcomes {
                [Outcome::Admitted(one), Outcome::Admitted(other)] => {
                    let shapes = [shape(&twins.worlds[0], *one), shape(&twins.worlds[1], *other)];
                    assert_eq!(shapes[0], shapes[1], "{context}: {request:?}");
                }
                [Outcome::Refused(one), Outcome::Refused(other)] => {
                    assert_eq!(one, other, "{context}: {request:?}");
                    twins.refused += 1;
                }
                other => panic!("{context}: {request:?}: {other:?}"),
            }
            twins.keep(&outcomes);
        }
        twins.are_alike();
    }
    let direct = twins.worlds[1].counts.granted_directly;
    assert_eq!(twins.worlds[0].counts.granted_directly, 0);
    (twins.survived, twins.refused, direct)
}

/// After quiet every manager has the same ledgers, tunnels and sessions, whichever way its domain was asked.
#[test]
fn each_domain_has_the_same_as_hop_by_hop() {
    let mut all = (0, 0, 0);
    for seed in tiers::current().seeds("control.hostile").step_by(4) {
        let played = std::panic::catch_unwind(|| play(seed));
        let (survived, refused, direct) =
            played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
        all = (all.0 + survived, all.1 + refused, all.2 + direct);
    }
    eprintln!("{all:?}: pairs after faults, refused, granted directly");
    let has_all = all.0 > 0 && all.1 > 0 && all.2 > 0;
    assert!(has_all || std::env::var_os("PUNCTUAL_SEED").is_some(), "{all:?}");
}

fn direct(mut request: SessionRequest) -> SessionRequest {
    request.flows.iter_mut().for_each(|flow| flow.asking = Asking::Direct);
    request
}

/// How many aggregates each domain holds, and who asked for them.
fn holders(world: &World) -> Vec<Vec<Asking>> {
    let of = |domain: &crate::domain::Domain| {
        domain.manager.as_ref().unwrap().aggregates().map(|(_, held)| held.asked.asking).collect()
    };
    world.domains.iter().map(of).collect()
}

/// Sessions change numbers in transit, and add nothing there.
#[test]
fn transit_knows_no_session() {
    let mut world = line(5, 1 << 40);
    let session = world.admitted(0, direct(request(1, &[5], 1_000_000)));
    let all = vec![vec![Asking::Direct]; 5];
    assert_eq!(holders(&world), all);
    let before = world.sent;
    world.admitted(0, direct(request(1, &[5], 1_000_000)));
    assert!(world.sent > before);
    for _ in 0..8 {
        world.admitted(0, direct(request(1, &[5], 1_000_000)));
    }
    assert_eq!(holders(&world), all);
    assert_eq!(world.at_rest(), 10);
    world.input(0, Input::Stop(session));
    world.run(27 * SECOND);
    assert_eq!(world.at_rest(), 9);
}

/// Tunnels are one way of asking: the other one has its own.
#[test]
fn both_ways_of_asking_are_beside_each_other() {
    let mut world = line(4, 10_000_000);
    world.admitted(0, direct(reliable(1, &[4], 1_000_000)));
    world.admitted(0, reliable(1, &[4], 1_000_000));
    assert!(holders(&world).iter().all(|of| of.contains(&Asking::Direct) && of.contains(&Asking::HopByHop)));
    assert_eq!(world.at_rest(), 2);
}

/// Where an agreement on the way does not let the origin, domains ask each other.
#[test]
fn what_is_not_agreed_is_asked_hop_by_hop() {
    for (from, to) in [(1, 2), (2, 3), (3, 4)] {
        let mut world = line(4, 1 << 40);
        for domain in 0..4 {
            let agreements = world.domains[domain].config.agreements.iter_mut();
            agreements.filter(|one| (one.from.0, one.to.0) == (from, to)).for_each(|one| one.direct.clear());
            world.crash(domain);
        }
        world.mend();
        world.run(27 * SECOND);
        world.admitted(0, direct(request(1, &[4], 1_000_000)));
        // The first agreement is that of the origin itself.
        let asking = if from == 1 { Asking::Direct } else { Asking::HopByHop };
        assert_eq!(holders(&world), vec![vec![asking]; 4], "{from} to {to}");
        assert_eq!(world.counts.not_let > 0, from > 1);
        assert_eq!(world.at_rest(), 1);
    }
}

/// What AS 1 says to AS 3 in the place of AS 2.
fn reserve(number: u64, path: &[u32], rate: u64) -> Message {
    let traffic = TSpec { rate, bucket: 1_000, peak: rate, least_unit: 60, largest_packet: 1_000 };
    let reserve = Reserve {
        aggregate: AggregateId { tunnel: TunnelId { origin: Asn(path[0]), number }, class: Class::Ef },
        id: MessageId { epoch: 9, number },
        echo: 1,
        path: path.iter().copied().map(Asn).collect(),
        position: 2,
        link: Some(LinkId(path[1])),
        traffic: Some(traffic),
        limit: 100 * MILLISECOND,
        most_loss: wan::ANY_LOSS,
        delay: 2 * MILLISECOND,
        jitter: 0,
        loss: 0,
        lifetime: 7 * SECOND,
        asking: Asking::Direct,
        label: None,
    };
    Message { from: Asn(path[0]), to: Asn(path[2]), body: Body::Reserve(reserve) }
}

/// An origin that asks for more than the domain before it may send gets that much, whether the domain before it has heard of it or not.
#[test]
fn an_origin_gets_no_more_than_the_domain_before_may_send() {
    let mut world = line(4, 10_000_000);
    for number in 1..=3 {
        let message = reserve(number, &[1, 2, 3], 4_000_000);
        world.input(2, Input::Message(message));
        world.run(SECOND);
    }
    let held = |world: &World, at: usize| world.domains[at].manager.as_ref().unwrap().aggregates().count();
    assert_eq!((held(&world, 1), held(&world, 2)), (0, 2));
    // What is not refreshed is forgotten.
    world.run(10 * SECOND);
    assert_eq!(held(&world, 2), 0);
}

#[test]
fn who_is_not_let_holds_nothing() {
    let mut world = line(4, 10_000_000);
    let mut held = |change: &dyn Fn(&mut Message)| {
        let mut message = reserve(1, &[1, 2, 3], 1_000_000);
        change(&mut message);
        world.input(2, Input::Message(message));
        world.run(100 * MILLISECOND);
        let held = world.domains[2].manager.as_ref().unwrap().aggregates().count();
        world.run(10 * SECOND);
        held
    };
    let of = |message: &mut Message, change: &dyn Fn(&mut Reserve)| {
        if let Body::Reserve(reserve) = &mut message.body {
            change(reserve);
        }
    };
    assert_eq!(held(&|_| {}), 1, "this one may");
    assert_eq!(held(&|message| message.from = Asn(4)), 0, "in the name of another domain");
    assert_eq!(held(&|it| of(it, &|reserve| reserve.link = Some(LinkId(3)))), 0, "by a link of another");
    assert_eq!(held(&|it| of(it, &|reserve| reserve.link = None)), 0, "by no link");
    assert_eq!(held(&|it| of(it, &|reserve| reserve.asking = Asking::HopByHop)), 0, "as if it were AS 2");
    assert_eq!(held(&|it| of(it, &|reserve| reserve.position = 1)), 0, "at another place");
    let stranger = |message: &mut Message| {
        message.from = Asn(5);
        of(message, &|reserve| {
            reserve.aggregate.tunnel.origin = Asn(5);
            reserve.path[0] = Asn(5);
        });
    };
    assert_eq!(held(&stranger), 0, "no agreement names it");
}

/// The manager of a domain on the way is away in the middle of a set-up: nothing stays of it in the others.
#[test]
fn a_manager_that_dies_in_a_set_up_leaves_nothing_behind() {
    for after in (0..300).step_by(10) {
        let mut world = line(4, 1 << 40);
        let ticket = world.request(0, direct(reliable(1, &[4], 1_000_000)));
        world.run(after * MILLISECOND);
        world.crash(2);
        world.domains[2].tick = u64::MAX;
        world.run(30 * SECOND);
        world.mend();
        world.run(27 * SECOND);
        let lives = world.at_rest();
        match &world.outcomes[&ticket] {
            Outcome::Admitted(id) => assert_eq!(lives, usize::from(!world.ended.contains_key(id))),
            Outcome::Refused(Refusal { reason, .. }) => {
                assert!(matches!(reason, Reason::NoAnswer | Reason::Stopped), "{reason:?}");
                assert_eq!(lives, 0);
            }
            Outcome::Unknown => panic!("the manager of the caller has not crashed"),
        }
        if lives == 0 {
            assert!(holders(&world).iter().all(Vec::is_empty), "after {after} ms: {:?}", holders(&world));
        }
    }
}
