//! Flows with two copies, packet by packet: whatever a manager does in which order, and wherever it is killed, each copy that is held leaves once and in its
//! own tunnel, and nothing stays of one that is released.
use std::collections::BTreeMap;
use std::net::IpAddr;

use linux_edge::LinuxEdge;
use linux_edge::domain::{Domain, Family, segment};
use linux_edge::entry::policer;
use linux_edge::observed::Observed;
use linux_edge::program::Program;
use linux_edge::routes::PortId;
use linux_edge::setup::setup;
use testkit::random::Random;
use wan::{
    Addresses, AggregateId, Asking, Asn, BackendAnswer, BackendCommand, Class, Demand, Direction, FlowKind,
    FlowRequest, Holding, LegId, LinkId, Place, Prefix, SessionId, TSpec, TunnelId,
};

use crate::networks::domain;
use crate::packets::{Left, Packet};
use crate::routers::Router;

/// Sessions: how many copies, and which versions of IP.
const SESSIONS: [(u8, &[Family]); 4] =
    [(2, &[Family::V4]), (1, &[Family::V4, Family::V6]), (2, &[Family::V6]), (2, &[Family::V4, Family::V6])];
const SIZE: u32 = 200;
/// Nanoseconds from one packet of a flow to the next.
const SEPARATION: u64 = 100_000_000;

/// Two packets at once.
fn traffic(separation: u64) -> TSpec {
    TSpec { bucket: 2 * u64::from(SIZE), ..TSpec::of_packets(SIZE, separation).unwrap() }
}

fn aggregate(number: u64) -> AggregateId {
    AggregateId { tunnel: TunnelId { origin: Asn(1), number }, class: Class::Ef }
}

/// Aggregates with odd numbers go to the first neighbour, the others to the second.
fn border(number: u64) -> LinkId {
    LinkId(if number % 2 == 1 { 1 } else { 2 })
}

fn leg(session: usize, is_second: bool) -> LegId {
    let session = SessionId { origin: Asn(1), number: session as u64 };
    let first = LegId { session, flow: 0, peer: Asn(2) };
    if is_second { first.other_copy() } else { first }
}

fn host(version: Family, is_there: bool) -> IpAddr {
    let text = match (version, is_there) {
        (Family::V4, false) => "10.1.0.2",
        (Family::V4, true) => "10.2.0.2",
        (Family::V6, false) => "fd10:1::2",
        (Family::V6, true) => "fd10:2::2",
    };
    text.parse().unwrap()
}

fn port(session: usize) -> u16 {
    7_400 + u16::try_from(session).unwrap()
}

fn reserve(number: u64) -> BackendCommand {
    let (from, to) = (Place::Edges, Place::Border(border(number)));
    let (class, rate, burst) = (Class::Ef, 64_000, 4 * u64::from(SIZE));
    let demand = Demand { from, to, class, rate, burst, least_packet: SIZE, largest_packet: SIZE };
    BackendCommand::Reserve { ticket: 1, aggregate: aggregate(number), demand }
}

fn commit(number: u64, label: u32) -> BackendCommand {
    BackendCommand::Commit { aggregate: aggregate(number), label_in: None, label_out: Some(label) }
}

fn open(session: usize, is_second: bool, number: u64) -> BackendCommand {
    let (copies, versions) = SESSIONS[session];
    let flow = FlowRequest {
        kind: FlowKind::Data,
        direction: Direction::Forward,
        protocol: 17,
        // A sender may leave its port open.
        source_port: if session == 3 { 0 } else { 9 },
        destination_port: port(session),
        class: Class::Ef,
        desired: traffic(SEPARATION),
        least_rate: 1,
        limit: 1,
        most_loss: wan::ANY_LOSS,
        copies,
        asking: Asking::HopByHop,
    };
    let hosts = |is_there| versions.iter().map(|version| host(*version, is_there)).collect();
    let addresses = Addresses { sources: hosts(false), destinations: hosts(true) };
    let (leg, aggregate) = (leg(session, is_second), aggregate(number));
    BackendCommand::Open { ticket: 2, leg, aggregate, flow, addresses }
}

fn release(holding: Holding) -> BackendCommand {
    BackendCommand::Release { ticket: 3, holding }
}

fn packet(domain: &Domain, session: usize, version: Family) -> Packet {
    Packet {
        source: host(version, false),
        destination: host(version, true),
        protocol: 17,
        ports: [9, port(session)],
        length: SIZE.into(),
        dscp: 0,
        mark: 0,
        interface: domain.edges[0].interface.clone(),
    }
}

/// The aggregates of copies that are held and forwarded.
type Carried = BTreeMap<LegId, AggregateId>;
/// The labels with which aggregates are forwarded.
type Labels = BTreeMap<AggregateId, u32>;

struct World {
    context: String,
    domain: Domain,
    edge: LinuxEdge,
    routers: Vec<Router>,
    labels: Labels,
}

/// A domain with two neighbours that has room for all aggregates, and one edge with addresses of both versions.
fn world(seed: u64) -> World {
    let mut random = Random::new(seed);
    std::iter::repeat_with(|| domain(&mut random))
        .find_map(|mut domain| {
            if domain.borders.len() != 2 || domain.ceilings.len() != 4 {
                return None;
            }
            domain.edges.truncate(1);
            domain.edges[0].addresses.push(Prefix { address: "fd10:1::1".parse().unwrap(), length: 64 });
            let mut edge = LinuxEdge::new(domain.clone()).unwrap();
            let fits = (1..=4).all(|number| {
                matches!(edge.handle(reserve(number)).answer, Some(BackendAnswer::Reserved { .. }))
            });
            let mut routers = vec![Router::default(); domain.routers.len()];
            for program in setup(&domain) {
                routers[program.router].set_up(&[program]);
            }
            let (edge, labels) = (LinuxEdge::new(domain.clone()).unwrap(), BTreeMap::new());
            fits.then_some(World { context: format!("seed {seed}"), domain, edge, routers, labels })
        })
        .unwrap()
}

impl World {
    fn carried(&self) -> Carried {
        let of = |holding| match holding {
            Holding::Flow(leg) => {
                let (record, _) = self.edge.flow(leg).unwrap();
                self.labels.contains_key(&record.aggregate).then_some((leg, record.aggregate))
            }
            Holding::Aggregate(_) => None,
        };
        self.edge.holdings().into_iter().filter_map(of).collect()
    }

    fn left(&self, session: usize, version: Family) -> Vec<Left> {
        self.routers[self.domain.edges[0].router].pass(packet(&self.domain, session, version))
    }

    /// Sends a packet of each session: it leaves once for each copy that was held before and is afterwards, at most once for one that is
    /// held either before or afterwards, and in no other tunnel.
    fn probe(&self, (before, labels): (&Carried, &Labels), after: &Carried) {
        for (session, (_, versions)) in SESSIONS.into_iter().enumerate() {
            for version in versions {
                let left = self.left(session, *version);
                let context = || format!("{}, session {session} {version:?}: {left:?}", self.context);
                let out: Vec<u32> = left
                    .iter()
                    .map(|left| {
                        assert_eq!(left.dscp, 46, "{}", context());
                        let bits = left.segment.unwrap().to_bits();
                        let of_version = if *version == Family::V4 { 4 } else { 6 };
                        assert_eq!((bits & 0xffff, bits >> 16 & 0xffff), (of_version, 3), "{}", context());
                        u32::try_from(bits >> 32 & 0xffff_ffff).unwrap()
                    })
                    .collect();
                let mut known = 0;
                for leg in [false, true].map(|is_second| leg(session, is_second)) {
                    let (was, is) = (before.get(&leg), after.get(&leg));
                    let may = |labels: &Labels, of: Option<&AggregateId>, label: u32| {
                        of.is_some_and(|id| labels.get(id) == Some(&label))
                    };
                    // Its tunnel may have another label by now, and it may go into another tunnel.
                    let is_of = |label: &&u32| {
                        may(labels, was, **label)
                            || may(&self.labels, was, **label)
                            || may(&self.labels, is, **label)
                    };
                    let count = out.iter().filter(is_of).count();
                    known += count;
                    let is_right = if was.is_some() && is.is_some() { count == 1 } else { count <= 1 };
                    assert!(is_right, "{leg:?} of {was:?} and {is:?}: {}", context());
                }
                assert_eq!(known, out.len(), "{before:?} {after:?}: {}", context());
            }
        }
    }

    /// What is held now and nothing else leaves.
    fn quiet(&self) {
        let carried = self.carried();
        self.probe((&carried, &self.labels), &carried);
    }

    fn step(&mut self, program: &Program) {
        let done = self.routers[program.router].step(&program.step);
        done.unwrap_or_else(|what| panic!("{}: {what}", self.context));
    }

    fn note(&mut self, command: &BackendCommand) {
        match command {
            BackendCommand::Commit { aggregate, label_out: Some(label), .. } => {
                self.labels.insert(*aggregate, *label);
            }
            BackendCommand::Release { holding: Holding::Aggregate(id), .. } => drop(self.labels.remove(id)),
            _ => {}
        }
    }

    /// Carries out commands, together or one by one, with packets between any two steps.
    fn run(&mut self, commands: &[BackendCommand], is_together: bool) {
        let mut rest = commands;
        while !rest.is_empty() {
            let (before, labels) = (self.carried(), self.labels.clone());
            let (count, programs) = if is_together {
                let done = self.edge.together(rest);
                (done.decided.len(), done.programs)
            } else {
                (1, self.edge.handle(rest[0].clone()).programs)
            };
            let (done, others) = rest.split_at(count);
            done.iter().for_each(|command| self.note(command));
            let after = self.carried();
            for program in &programs {
                self.step(program);
                self.probe((&before, &labels), &after);
            }
            self.quiet();
            rest = others;
        }
    }

    /// The manager starts again, and reads from its routers what they hold.
    fn restart(&mut self) {
        let listings: Vec<_> = self.routers.iter().map(Router::listing).collect();
        let (edge, told) = LinuxEdge::restored(self.domain.clone(), &Observed::read(&listings)).unwrap();
        assert!(told.is_empty(), "{}: {told:?}", self.context);
        self.edge = edge;
    }

    /// The manager is killed at some step of a command about a flow, starts again, and gives the same command.
    fn killed(&mut self, command: &BackendCommand, random: &mut Random) {
        let programs = self.edge.handle(command.clone()).programs;
        let steps = random.below(programs.len() + 1);
        programs.iter().take(steps).for_each(|program| self.step(program));
        self.restart();
        self.quiet();
        let programs = self.edge.handle(command.clone()).programs;
        programs.iter().for_each(|program| self.step(program));
        self.quiet();
    }

    /// What is held of a border link is what it would be if the domain had nothing else.
    fn judge_ledger(&self) {
        for (at, link) in [LinkId(1), LinkId(2)].into_iter().enumerate() {
            let mut alone = LinuxEdge::new(self.domain.clone()).unwrap();
            for holding in self.edge.holdings() {
                match holding {
                    Holding::Aggregate(id) if border(id.tunnel.number) == link => {
                        drop(alone.handle(reserve(id.tunnel.number)));
                    }
                    Holding::Flow(leg) => {
                        let number = self.edge.flow(leg).unwrap().0.aggregate.tunnel.number;
                        let session = usize::try_from(leg.session.number).unwrap();
                        if border(number) == link {
                            drop(alone.handle(open(session, leg.is_second_copy(), number)));
                        }
                    }
                    Holding::Aggregate(_) => {}
                }
            }
            let sum = |edge: &LinuxEdge| {
                let sum = edge.ledger().sum(PortId::Border(at), Class::Ef);
                (sum.rate, sum.burst)
            };
            assert_eq!(sum(&self.edge), sum(&alone), "{}, {link:?}", self.context);
        }
    }
}

fn command(world: &World, random: &mut Random, label: u32) -> BackendCommand {
    let number = random.range(1, 4);
    let session = random.below(SESSIONS.len());
    let is_second = SESSIONS[session].0 == 2 && random.chance(50);
    match random.range(0, 99) {
        0..15 => reserve(number),
        15..35 if world.edge.aggregate(aggregate(number)).is_some() => commit(number, label),
        35..70 => {
            let number = if random.chance(50) { 1 } else { 3 };
            open(session, is_second, number + u64::from(is_second))
        }
        70..92 => release(Holding::Flow(leg(session, is_second))),
        // Its flows are shut before, as managers do.
        92..96
            if !world.edge.holdings().iter().any(|holding| match holding {
                Holding::Flow(leg) => world.edge.flow(*leg).unwrap().0.aggregate == aggregate(number),
                Holding::Aggregate(_) => false,
            }) =>
        {
            release(Holding::Aggregate(aggregate(number)))
        }
        _ => BackendCommand::Observe { ticket: 9 },
    }
}

#[test]
fn whatever_is_done_in_which_order_each_copy_that_is_held_leaves_once_and_alone() {
    let (mut seeds, mut both, mut kills) = (0, 0, 0);
    for seed in tiers::current().seeds("linux-edge.copies") {
        seeds += 1;
        let mut world = world(seed);
        let empty = world.routers.clone();
        let mut random = Random::new(seed);
        let mut was_killed = false;
        for label in 0..60 {
            world.context = format!("seed {seed}, step {label}");
            let label = 16 + label;
            let first = command(&world, &mut random, label);
            let is_of_flow = matches!(
                first,
                BackendCommand::Open { .. } | BackendCommand::Release { holding: Holding::Flow(_), .. }
            );
            match random.below(10) {
                0 if is_of_flow => {
                    world.killed(&first, &mut random);
                    (was_killed, kills) = (true, kills + 1);
                }
                1 => {
                    world.run(&[first], false);
                    world.restart();
                    world.quiet();
                    world.judge_ledger();
                }
                2..=4 => {
                    let second = command(&world, &mut random, label + 1_000);
                    // What the first one releases is not there for the second one.
                    let is_release = |command: &BackendCommand| {
                        matches!(command, BackendCommand::Release { holding: Holding::Aggregate(_), .. })
                    };
                    let second = Some(second).filter(|second| !is_release(&first) && !is_release(second));
                    world.run(&[vec![first], Vec::from_iter(second)].concat(), true);
                }
                _ => world.run(&[first], false),
            }
            let carried = world.carried();
            let has_both = |session: usize| [false, true].map(|is_second| leg(session, is_second));
            both += (0..SESSIONS.len())
                .filter(|at| has_both(*at).iter().all(|leg| carried.contains_key(leg)))
                .count();
        }
        let mut holdings: Vec<Holding> = world.edge.holdings().into_iter().collect();
        // Flows before aggregates, in any order.
        for at in 0..holdings.len() {
            holdings.swap(at, random.below(at + 1));
        }
        holdings.sort_by_key(|holding| matches!(holding, Holding::Aggregate(_)));
        for holding in holdings {
            world.run(&[release(holding)], random.chance(50));
        }
        for (router, empty) in world.routers.iter().zip(&empty) {
            assert_eq!((&router.chains, &router.elements), (&empty.chains, &empty.elements), "seed {seed}");
            // Who is killed after the rules are gone leaves routes and policers that nothing uses.
            assert!(
                was_killed || router.clone().sorted() == empty.clone().sorted(),
                "seed {seed}: {router:?}"
            );
        }
    }
    assert!(both > 5 * seeds && kills > seeds, "of {seeds} seeds: {both} times two copies, {kills} kills");
}

/// What an arrival curve has room for up to a time: packets of one size.
fn room(demand: &Demand, nanoseconds: u64) -> u64 {
    let bytes = u128::from(demand.rate.next_multiple_of(8)) * u128::from(nanoseconds) / 8_000_000_000;
    (demand.burst + u64::try_from(bytes).unwrap()) / u64::from(SIZE)
}

/// A policer holds both copies to the contract before they part; where one tunnel brings more than its contract, it is that copy which loses packets.
#[test]
fn each_copy_is_held_to_its_own_contract() {
    for (seed, version) in (0..20).flat_map(|seed| [(seed, Family::V4), (seed, Family::V6)]) {
        let mut world = world(seed);
        let session = if version == Family::V4 { 0 } else { 2 };
        for number in [1, 2] {
            world.run(&[reserve(number), commit(number, 20 + u32::try_from(number).unwrap())], false);
        }
        world.run(&[open(session, false, 1), open(session, true, 2), open(1, false, 1)], false);
        // Ten times as many as the contract has, of one session; the other one keeps to it.
        let device = policer(&world.domain.edges[0].interface);
        let router = &world.routers[world.domain.edges[0].router];
        let sent = |of: usize, count: u64, separation: u64| {
            (0..count).map(move |number| (number * separation, of)).collect::<Vec<_>>()
        };
        let mut packets = [sent(session, 1_000, SEPARATION / 10), sent(1, 100, SEPARATION)].concat();
        packets.sort_unstable();
        let packets: Vec<(u64, Packet)> =
            packets.into_iter().map(|(at, of)| (at, packet(&world.domain, of, version))).collect();
        let mut came: BTreeMap<(u16, u32), Vec<u64>> = BTreeMap::new();
        for (at, packet) in router.policed(&device, &packets) {
            let port = packet.ports[1];
            for left in router.pass(packet) {
                let label = u32::try_from(left.segment.unwrap().to_bits() >> 32 & 0xffff_ffff).unwrap();
                came.entry((port, label)).or_default().push(at);
            }
        }
        let flow = Demand {
            from: Place::Edges,
            to: Place::Edges,
            class: Class::Ef,
            rate: traffic(SEPARATION).rate,
            burst: traffic(SEPARATION).bucket,
            least_packet: SIZE,
            largest_packet: SIZE,
        };
        let (first, second) = (&came[&(port(session), 21)], &came[&(port(session), 22)]);
        assert_eq!(first, second, "seed {seed}: both copies of each packet, or none");
        for (at, begun) in first.iter().enumerate() {
            for (count, until) in (1..).zip(&first[at..]) {
                assert!(count <= room(&flow, until - begun), "seed {seed}");
            }
        }
        assert!(first.len() > 90, "seed {seed}: {}", first.len());
        assert_eq!(came[&(port(1), 21)].len(), 100, "seed {seed}: the other session loses nothing");
        assert_eq!(came.len(), 3);
        closed(&world, session, version);
    }
}

/// A packet above the contract's size leaves in no tunnel, and by the addresses of doubles nothing from outside does.
fn closed(world: &World, session: usize, version: Family) {
    let router = &world.routers[world.domain.edges[0].router];
    let plain = || packet(&world.domain, session, version);
    assert_eq!(router.pass(Packet { length: u64::from(SIZE) + 1, ..plain() }), []);
    let borders =
        world.domain.borders.iter().filter(|border| border.end.router == world.domain.edges[0].router);
    let from = borders.map(|border| &border.end.interface).chain([&world.domain.edges[0].interface]);
    for interface in from {
        for tunnel in 1..=2 {
            let to =
                if version == Family::V4 { format!("240.0.0.{tunnel}") } else { format!("100::{tunnel}") };
            let packet = Packet { destination: to.parse().unwrap(), interface: interface.clone(), ..plain() };
            assert_eq!(router.pass(packet), [], "from {interface} to {to}");
        }
    }
}

#[test]
fn a_tunnel_that_brings_too_much_takes_nothing_from_the_other_copy() {
    for (seed, version) in (0..20).flat_map(|seed| [(seed, Family::V4), (seed, Family::V6)]) {
        let mut world = world(seed);
        let demand = |number| {
            let (from, to) = (Place::Border(border(number)), Place::Edges);
            let (class, rate, burst) = (Class::Ef, 16_000, 2 * u64::from(SIZE));
            Demand { from, to, class, rate, burst, least_packet: SIZE, largest_packet: SIZE }
        };
        // The third one comes by the same link as the first.
        for number in [1, 2, 3] {
            let command =
                BackendCommand::Reserve { ticket: 1, aggregate: aggregate(number), demand: demand(number) };
            for command in [
                command,
                BackendCommand::Commit {
                    aggregate: aggregate(number),
                    label_in: Some(30 + u32::try_from(number).unwrap()),
                    label_out: None,
                },
            ] {
                let programs = world.edge.handle(command).programs;
                programs.iter().for_each(|program| world.step(program));
            }
        }
        for number in [1, 2, 3] {
            let of = world.domain.borders.iter().find(|of| of.link == border(number)).unwrap();
            let router = &world.routers[of.end.router];
            let brought = |number: u64, count: u64, separation: u64| {
                let label = 30 + u32::try_from(number).unwrap();
                let of = world.domain.borders.iter().find(|of| of.link == border(number)).unwrap();
                let packet = Packet {
                    source: "fd10:9::1".parse().unwrap(),
                    destination: segment(of.locator, label, Class::Ef, version).into(),
                    protocol: 41,
                    interface: of.end.interface.clone(),
                    ..packet(&world.domain, 0, Family::V6)
                };
                (0..count).map(move |at| (at * separation, packet.clone())).collect::<Vec<_>>()
            };
            let mut packets = [
                brought(number, 1_000, SEPARATION / 10),
                if number == 1 { brought(3, 100, SEPARATION) } else { Vec::new() },
            ]
            .concat();
            packets.sort_by_key(|(at, _)| *at);
            let passed = router.policed(&policer(&of.end.interface), &packets);
            // Classes count what is inside tunnels, rules all of it.
            let is_let_in = |packet: &Packet| {
                router.pass(Packet { length: packet.length + 40, ..packet.clone() }).len() == 1
            };
            let count = |number: u64| {
                let label = u128::from(30 + number);
                let is_of = |packet: &Packet| match packet.destination {
                    IpAddr::V6(to) => to.to_bits() >> 32 & 0xffff_ffff == label,
                    IpAddr::V4(_) => false,
                };
                passed.iter().filter(|(_, packet)| is_of(packet) && is_let_in(packet)).count() as u64
            };
            let last = passed.last().map_or(0, |(at, _)| *at);
            assert!(
                (90..=room(&demand(number), last)).contains(&count(number)),
                "seed {seed}: {}",
                count(number)
            );
            if number == 1 {
                assert_eq!(count(3), 100, "seed {seed}: what keeps to its contract passes");
            }
        }
    }
}

/// Less room for one copy refuses that one, and leaves the other as it was.
#[test]
fn a_copy_without_a_tunnel_or_of_other_traffic_is_refused_and_the_first_one_stays() {
    let mut world = world(1);
    world.run(&[reserve(1), commit(1, 21), open(0, false, 1)], false);
    let before = (world.routers.clone(), world.carried());
    let refused = |world: &mut World, command: BackendCommand, what: &str| {
        let handled = world.edge.handle(command);
        assert!(handled.answer.is_none() && handled.programs.is_empty(), "{handled:?}");
        assert!(handled.trouble.as_ref().unwrap().contains(what), "{handled:?}");
        assert_eq!(world.carried(), before.1);
    };
    refused(&mut world, open(0, true, 2), "is not reserved");
    let BackendCommand::Open { ticket, leg, aggregate, mut flow, addresses } = open(0, true, 2) else {
        panic!()
    };
    world.run(&[reserve(2), commit(2, 22)], false);
    flow.desired = traffic(SEPARATION / 2);
    let other = BackendCommand::Open { ticket, leg, aggregate, flow, addresses };
    refused(&mut world, other, "other traffic");
    world.run(&[release(Holding::Aggregate(self::aggregate(2)))], false);
    assert!(
        world
            .routers
            .iter()
            .zip(&before.0)
            .all(|(one, other)| one.clone().sorted() == other.clone().sorted())
    );
}

/// Counters of both copies see the same packets: what is told is what hosts have sent.
#[test]
fn what_edges_have_let_in_counts_once_whichever_copies_there_are() {
    let mut world = world(1);
    world.run(&[reserve(1), commit(1, 21), reserve(2), commit(2, 22)], false);
    world.run(&[open(1, false, 1)], false);
    let delivered = |world: &World| {
        let listings = world.routers.iter().map(|router| {
            let counted = r#"{"counter":{"packets":5,"bytes":1000}}"#;
            let text = router.listing().to_string().replace(r#"{"counter":null}"#, counted);
            serde_json::from_str(&text).unwrap()
        });
        let told = Observed::read(&listings.collect::<Vec<_>>()).delivered;
        assert!(told.values().all(|of| (of.packets, of.bytes) == (5, 1_000)), "{told:?}");
        told.into_keys().collect::<Vec<_>>()
    };
    let copies = [false, true].map(|is_second| open(0, is_second, 1 + u64::from(is_second)));
    let firsts = [leg(0, false), leg(1, false)];
    world.run(&copies, false);
    assert_eq!(delivered(&world), firsts);
    // Each copy alone tells it, too.
    for is_second in [false, true] {
        world.run(&[release(Holding::Flow(leg(0, is_second)))], false);
        assert_eq!(delivered(&world), firsts);
        world.run(&copies, false);
    }
}
