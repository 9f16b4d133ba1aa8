//! The back-end without devices conforms, and what does not conform is seen.
use std::collections::BTreeMap;

use linux_edge::LinuxEdge;
use wan::{
    AggregateId, Asn, BackendAnswer, BackendCommand, Class, Demand, Holding, LinkId, Place, Terms, TunnelId,
};
use wan_server::conformance::{Course, conforms};
use wan_server::{Backend, Declared, DomainFile, InnerLink, Inside, Node, Within};

fn inner(name: &str) -> Node {
    Node::Inner(name.to_owned())
}

fn terms(rate: u64, burst: u64, delay: u64, jitter: u64) -> BTreeMap<Class, Terms> {
    BTreeMap::from([(Class::Ef, Terms { rate, burst, delay, jitter, loss: 0 })])
}

/// Two edges at one node, and from there a border link.
fn inside() -> Inside {
    let link = |from: Node, to: Node, terms| InnerLink { between: [from, to], terms };
    Inside {
        edges: vec!["a".to_owned(), "b".to_owned()],
        links: vec![
            link(inner("a"), inner("core"), terms(1_000_000, 10_000, 500, 1_000_000)),
            link(inner("core"), inner("b"), terms(800_000, 10_000, 700, 2_000_000)),
            link(inner("core"), Node::Border(LinkId(1)), terms(900_000, 5_000, 300, 0)),
            link(Node::Border(LinkId(1)), Node::Border(LinkId(2)), terms(300_000, 5_000, 900, 0)),
        ],
    }
}

const EDGES: Place = Place::Edges;
const fn border(link: u32) -> Place {
    Place::Border(LinkId(link))
}

fn courses() -> Vec<Course> {
    let pairs = [
        (EDGES, border(1)),
        (border(1), EDGES),
        (EDGES, EDGES),
        (border(1), border(2)),
        (border(2), border(1)),
    ];
    let course = |(from, to)| Course::new(from, to, Class::Ef, 100);
    pairs.into_iter().map(course).collect()
}

#[test]
fn the_declared_back_end_conforms_on_every_way_through_it() {
    for course in courses() {
        assert_eq!(conforms(&mut Declared::new(inside()), course), Ok(()), "{course:?}");
    }
}

/// The Linux routers of an example, without routers: what would be done at them is left out.
struct WithoutRouters(LinuxEdge);

impl Backend for WithoutRouters {
    fn execute(&mut self, commands: Vec<BackendCommand>) -> Vec<BackendAnswer> {
        commands.into_iter().filter_map(|command| self.0.handle(command).answer).collect()
    }

    fn caveat(&self) -> Option<&'static str> {
        None
    }
}

#[test]
fn linux_routers_conform_but_for_what_is_rounded() {
    let text = include_str!("../../examples/linux/west.toml");
    let Within::Linux(routers) = DomainFile::read("west.toml", text).unwrap().inside else { panic!() };
    // A second border link at the same router.
    let mut domain = routers.domain;
    let mut second = domain.borders[0].clone();
    second.link = LinkId(2);
    second.end.interface = "border2".to_owned();
    second.wire.rate = 3_333_333;
    domain.borders.push(second);
    // So much that rates alone decide.
    domain.ceilings.values_mut().for_each(|ceiling| ceiling.burst = 200_000);
    let addresses = ["10.1.0.2", "10.3.0.2"].map(|text| text.parse().unwrap());
    let mut rounded = 0;
    for packet in [64, 333, 1_028] {
        for class in [Class::Ef, Class::Af4] {
            for (from, to) in [
                (EDGES, border(1)),
                (border(1), EDGES),
                (EDGES, EDGES),
                (border(1), border(2)),
                (border(2), EDGES),
            ] {
                let course = Course { addresses, rounding: ROUNDING, ..Course::new(from, to, class, packet) };
                let mut backend = WithoutRouters(LinuxEdge::new(domain.clone()).unwrap());
                assert_eq!(conforms(&mut backend, course), Ok(()), "{course:?}");
                // Without room for it the suite sees what is rounded, wherever numbers do not happen to fit.
                let exact = Course { rounding: 0, ..course };
                let mut backend = WithoutRouters(LinuxEdge::new(domain.clone()).unwrap());
                rounded += usize::from(conforms(&mut backend, exact).is_err());
            }
        }
    }
    assert!(rounded > 0, "nothing is rounded: what is the room for?");
}

/// The routers of an example at both ends of an access, without routers.
#[test]
fn an_access_conforms_and_its_loss_is_that_of_each_way_over_it() {
    let text = include_str!("../../examples/access/site.toml");
    let Within::Linux(routers) = DomainFile::read("site.toml", text).unwrap().inside else { panic!() };
    let mut domain = routers.domain;
    // Rates alone are to decide.
    domain.ceilings.values_mut().for_each(|ceiling| ceiling.burst = 200_000);
    domain.edges.iter_mut().for_each(|edge| edge.wire.bursts = 8);
    let addresses = ["10.1.0.2", "10.1.1.2"].map(|text| text.parse().unwrap());
    for packet in [64, 333, 1_028] {
        for class in [Class::Ef, Class::Af4] {
            let course = Course::new(EDGES, EDGES, class, packet);
            let course = Course { addresses, rounding: ROUNDING, ..course };
            let mut backend = WithoutRouters(LinuxEdge::new(domain.clone()).unwrap());
            assert_eq!(conforms(&mut backend, course), Ok(()), "{course:?}");
        }
    }
    let told = |loss: u32, jitter: u64| {
        let mut domain = domain.clone();
        let access = domain.links[0].access.as_mut().unwrap();
        (access.loss, access.jitter) = (loss, jitter);
        let demand = Demand {
            from: EDGES,
            to: EDGES,
            class: Class::Ef,
            rate: 100_000,
            burst: 1_000,
            least_packet: 64,
            largest_packet: 1_000,
        };
        let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number: 1 }, class: Class::Ef };
        let reserve = BackendCommand::Reserve { ticket: 1, aggregate, demand };
        match LinuxEdge::new(domain).unwrap().handle(reserve).answer {
            Some(BackendAnswer::Reserved { delay, jitter, loss, .. }) => (delay, jitter, loss),
            other => panic!("{other:?}"),
        }
    };
    let (calm, shaken) = (told(20_000, 0), told(70_000, 9_000_000));
    assert_eq!((calm.2, shaken.2), (20_000, 70_000));
    // The port before the access keeps its queue at the slower rate, whatever the access does beside.
    assert_eq!((shaken.0 - calm.0, shaken.1 - calm.1), (9_000_000, 9_000_000));
}

/// The switches of an example, without switches.
struct WithoutSwitches(ovs_edge::OvsEdge);

impl Backend for WithoutSwitches {
    fn execute(&mut self, commands: Vec<BackendCommand>) -> Vec<BackendAnswer> {
        commands.into_iter().filter_map(|command| self.0.handle(command).answer).collect()
    }

    fn caveat(&self) -> Option<&'static str> {
        None
    }
}

#[test]
fn switches_conform_but_for_what_meters_round_up() {
    let text = include_str!("../../examples/ovs/transit.toml");
    let Within::Ovs(mut switches) = DomainFile::read("transit.toml", text).unwrap().inside else { panic!() };
    switches.domain.plan.ceilings.values_mut().for_each(|ceiling| ceiling.burst = 200_000);
    let mut rounded = 0;
    for packet in [64, 333, 1_028] {
        for class in [Class::Ef, Class::Af4] {
            for (from, to) in [(border(1), border(2)), (border(2), border(1))] {
                let course = Course::new(from, to, class, packet);
                let course = Course { rounding: 20_000, has_edges: false, ..course };
                let edge = || WithoutSwitches(ovs_edge::OvsEdge::new(switches.domain.clone()).unwrap());
                assert_eq!(conforms(&mut edge(), course), Ok(()), "{course:?}");
                rounded += usize::from(conforms(&mut edge(), Course { rounding: 32, ..course }).is_err());
            }
        }
    }
    assert!(rounded > 0, "nothing is rounded: what is the room for?");
}

/// Ports count whole bytes per second of packets on the wire: both is rounded up, and what is offered is rounded down.
const ROUNDING: u64 = 32;

/// A back-end whose commands or answers are changed on their way.
struct Faulty {
    within: Declared,
    commands: fn(&BackendCommand, &mut Vec<BackendCommand>),
    answers: fn(BackendAnswer) -> BackendAnswer,
}

impl Backend for Faulty {
    fn execute(&mut self, commands: Vec<BackendCommand>) -> Vec<BackendAnswer> {
        let mut changed = Vec::new();
        commands.iter().for_each(|command| (self.commands)(command, &mut changed));
        // What a fault has asked for itself has the ticket 0.
        let of_fault = |answer: &BackendAnswer| {
            matches!(
                answer,
                BackendAnswer::Reserved { ticket: 0, .. } | BackendAnswer::Refused { ticket: 0, .. }
            )
        };
        let answers = self.within.execute(changed).into_iter().filter(|answer| !of_fault(answer));
        answers.map(self.answers).collect()
    }

    fn caveat(&self) -> Option<&'static str> {
        None
    }
}

fn beside(id: AggregateId) -> AggregateId {
    AggregateId { tunnel: TunnelId { origin: Asn(9), number: id.tunnel.number + 100 }, ..id }
}

/// A change of commands.
type Commands = fn(&BackendCommand, &mut Vec<BackendCommand>);
/// A change of answers.
type Answers = fn(BackendAnswer) -> BackendAnswer;

#[test]
fn what_does_not_conform_is_seen() {
    let same: Commands = |command, all| all.push(command.clone());
    let honest: Answers = |answer| answer;
    let faults: [(&str, Commands, Answers); 11] = [
        // An offer reserves.
        (
            "an offer is no reservation",
            |command, all| {
                all.push(command.clone());
                if let BackendCommand::Offer { demand, .. } = command {
                    let id = AggregateId { tunnel: TunnelId { origin: Asn(9), number: 1 }, class: Class::Ef };
                    all.push(BackendCommand::Reserve { ticket: 0, aggregate: id, demand: *demand });
                }
            },
            honest,
        ),
        // What is reserved is beside what was, not in its place.
        (
            "with the budget that was offered: Err",
            |command, all| match command {
                BackendCommand::Reserve { ticket, aggregate, demand } if demand.rate > 500_000 => {
                    let command = BackendCommand::Reserve {
                        ticket: *ticket,
                        aggregate: beside(*aggregate),
                        demand: *demand,
                    };
                    all.push(command);
                }
                _ => all.push(command.clone()),
            },
            honest,
        ),
        // Everything is granted.
        (
            "",
            |command, all| match command {
                BackendCommand::Reserve { ticket, aggregate, demand } => {
                    let demand = Demand { rate: demand.rate.min(1_000), ..*demand };
                    all.push(BackendCommand::Reserve { ticket: *ticket, aggregate: *aggregate, demand });
                }
                _ => all.push(command.clone()),
            },
            honest,
        ),
        // A refusal tells less than there is.
        ("is not refused so", same, |answer| match answer {
            BackendAnswer::Refused { ticket, missing, offer } => {
                BackendAnswer::Refused { ticket, missing: missing + 1, offer: offer.saturating_sub(1) }
            }
            answer => answer,
        }),
        // The budget grows with what is reserved.
        ("with the budget that was offered", same, |answer| match answer {
            BackendAnswer::Reserved { ticket, delay, jitter, loss } => {
                BackendAnswer::Reserved { ticket, delay: delay + ticket % 2, jitter, loss }
            }
            answer => answer,
        }),
        // What is lost is told by the offer, and no more when it is reserved.
        ("with the budget that was offered", same, |answer| match answer {
            BackendAnswer::Offered { ticket, rate, delay, jitter, loss } => {
                BackendAnswer::Offered { ticket, rate, delay, jitter, loss: loss + 1 }
            }
            answer => answer,
        }),
        // Nothing is ever released.
        (
            "",
            |command, all| match command {
                BackendCommand::Release { ticket, .. } => {
                    let holding = Holding::Aggregate(AggregateId {
                        tunnel: TunnelId { origin: Asn(9), number: 0 },
                        class: Class::Ef,
                    });
                    all.push(BackendCommand::Release { ticket: *ticket, holding });
                }
                _ => all.push(command.clone()),
            },
            honest,
        ),
        // Flows are not told of.
        ("it says that it holds", same, |answer| match answer {
            BackendAnswer::Observed { ticket, holdings } => BackendAnswer::Observed {
                ticket,
                holdings: holdings.into_iter().filter(|it| matches!(it, Holding::Aggregate(_))).collect(),
            },
            answer => answer,
        }),
        // Aggregates are not told of.
        ("it says that it holds", same, |answer| match answer {
            BackendAnswer::Observed { ticket, .. } => {
                BackendAnswer::Observed { ticket, holdings: Vec::new() }
            }
            answer => answer,
        }),
        // Answers of others.
        ("no observation", same, |answer| match answer {
            BackendAnswer::Observed { ticket, holdings } => {
                BackendAnswer::Observed { ticket: ticket + 1, holdings }
            }
            answer => answer,
        }),
        // Commands that come together are carried out from the last on.
        ("", |command, all| all.insert(0, command.clone()), honest),
    ];
    for (number, (what, commands, answers)) in faults.into_iter().enumerate() {
        let mut faulty = Faulty { within: Declared::new(inside()), commands, answers };
        let said = conforms(&mut faulty, courses()[0]).expect_err(&format!("fault {number} is not seen"));
        assert!(said.contains(what), "fault {number}: {said}");
    }
}

fn reserve(
    backend: &mut Declared,
    number: u64,
    from: Place,
    to: Place,
    rate: u64,
    burst: u64,
) -> BackendAnswer {
    let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number }, class: Class::Ef };
    let demand = Demand { from, to, class: Class::Ef, rate, burst, least_packet: 64, largest_packet: 100 };
    backend.execute(vec![BackendCommand::Reserve { ticket: 1, aggregate, demand }]).remove(0)
}

fn refused(answer: &BackendAnswer) -> Option<(u64, u64)> {
    match answer {
        BackendAnswer::Refused { missing, offer, .. } => Some((*missing, *offer)),
        _ => None,
    }
}

#[test]
fn all_that_goes_to_the_edges_may_go_to_each_and_counts_once_on_what_they_share() {
    let mut backend = Declared::new(inside());
    // 900 kbit/s fit through the link to the border, and not to the edge b.
    let answer = reserve(&mut backend, 1, EDGES, border(1), 900_000, 100);
    assert_eq!(refused(&answer), Some((100_000, 800_000)));
    // The slowest way is the budget: b, the core, the border.
    let answer = reserve(&mut backend, 1, EDGES, border(1), 600_000, 100);
    assert_eq!(answer, BackendAnswer::Reserved { ticket: 1, delay: 1_000, jitter: 2_000_000, loss: 0 });
    // From the core to the border it is there once: 300 kbit/s are left. The other direction is free.
    assert_eq!(refused(&reserve(&mut backend, 2, EDGES, border(1), 300_001, 100)), Some((100_001, 200_000)));
    let answer = reserve(&mut backend, 2, border(1), EDGES, 800_000, 100);
    assert_eq!(refused(&answer), None);
    // Between edges: from a to b and back, of which the other direction is taken.
    assert_eq!(refused(&reserve(&mut backend, 3, EDGES, EDGES, 1, 100)), Some((1, 0)));
}

#[test]
fn jitter_of_links_before_counts_as_burst() {
    // On the last link the burst has grown by what 2 ms at this rate are: 800,000 bit/s by 2 ms are 200 bytes.
    let mut backend = Declared::new(inside());
    assert_eq!(refused(&reserve(&mut backend, 1, EDGES, border(1), 800_000, 4_800)), None);
    let mut backend = Declared::new(inside());
    let answer = reserve(&mut backend, 1, EDGES, border(1), 800_000, 4_801);
    assert_eq!(refused(&answer), Some((800_000, 0)), "one byte more does not fit");
    // With half the burst each, the third does not fit, though its rate does.
    let mut backend = Declared::new(inside());
    for number in [1, 2] {
        assert_eq!(refused(&reserve(&mut backend, number, border(1), border(2), 100_000, 2_500)), None);
    }
    assert_eq!(refused(&reserve(&mut backend, 3, border(1), border(2), 100_000, 100)), Some((100_000, 0)));
    // Of what is there a lower rate is never refused, and a larger burst is.
    assert_eq!(refused(&reserve(&mut backend, 1, border(1), border(2), 50_000, 2_501)), Some((1, 100_000)));
    assert_eq!(refused(&reserve(&mut backend, 1, border(1), border(2), 50_000, 2_500)), None);
}

#[test]
fn a_class_or_a_border_that_is_not_declared_carries_nothing() {
    let mut backend = Declared::new(inside());
    assert_eq!(refused(&reserve(&mut backend, 1, EDGES, border(7), 1, 100)), Some((1, 0)));
    let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number: 1 }, class: Class::Af1 };
    let (from, to, class) = (EDGES, border(1), Class::Af1);
    let demand = Demand { from, to, class, rate: 1, burst: 100, least_packet: 64, largest_packet: 100 };
    let answer = backend.execute(vec![BackendCommand::Reserve { ticket: 1, aggregate, demand }]).remove(0);
    assert_eq!(refused(&answer), Some((1, 0)));
}

/// Sites behind accesses that lose packets: a satellite of 2 %, a line of 0.5 %, and a border link after 100 ppm.
fn lossy() -> Inside {
    let link = |from: Node, to: Node, delay, loss| InnerLink {
        between: [from, to],
        terms: BTreeMap::from([(
            Class::Ef,
            Terms { rate: 1_000_000, burst: 10_000, delay, jitter: delay / 10, loss },
        )]),
    };
    Inside {
        edges: vec!["satellite".to_owned(), "line".to_owned()],
        links: vec![
            link(inner("satellite"), inner("core"), 250_000_000, 20_000),
            link(inner("line"), inner("core"), 300_000_000, 5_000),
            link(inner("core"), Node::Border(LinkId(1)), 1_000_000, 100),
        ],
    }
}

#[test]
fn losses_of_links_add_up_on_the_way_that_loses_most_and_are_told_beside_the_bound() {
    let mut backend = Declared::new(lossy());
    // The line is slower, and the satellite loses more: each is at most what is told.
    let told = |delay, jitter, loss| BackendAnswer::Reserved { ticket: 1, delay, jitter, loss };
    let answer = reserve(&mut backend, 1, EDGES, border(1), 100_000, 100);
    assert_eq!(answer, told(301_000_000, 30_100_000, 20_100));
    let answer = reserve(&mut backend, 2, EDGES, EDGES, 100_000, 100);
    assert_eq!(answer, told(550_000_000, 55_000_000, 25_000));
    // That packets are lost is said with each bound; where none are, it is not.
    assert!(backend.caveat().unwrap().contains("only for packets that arrive"));
    assert!(!Declared::new(inside()).caveat().unwrap().contains("arrive"));
    for (from, to) in [(EDGES, border(1)), (border(1), EDGES), (EDGES, EDGES)] {
        let course = Course::new(from, to, Class::Ef, 100);
        assert_eq!(conforms(&mut Declared::new(lossy()), course), Ok(()), "{course:?}");
    }
}

#[test]
fn ways_that_lose_all_lose_no_more_than_all() {
    let mut inside = lossy();
    for terms in inside.links.iter_mut().flat_map(|link| link.terms.values_mut()) {
        terms.loss = 900_000;
    }
    let answer = reserve(&mut Declared::new(inside), 1, EDGES, border(1), 1, 100);
    assert!(matches!(answer, BackendAnswer::Reserved { loss: 1_000_000, .. }), "{answer:?}");
}
