//! Random domains, and demands that fill them.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linux_edge::LinuxEdge;
use linux_edge::domain::{Access, Border, Ceiling, CoreLink, Demoted, Domain, Edge, End, Router, Wire};
use linux_edge::policing::Policing;
use testkit::random::Random;
use wan::{AggregateId, Asn, BackendAnswer, BackendCommand, Class, Demand, LinkId, Place, Prefix, TunnelId};

/// An aggregate that is held, and what was promised for it.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) demand: Demand,
    pub(crate) delay: u64,
    pub(crate) jitter: u64,
    pub(crate) loss: u32,
    /// The promise into which its packets are doubled, by its place.
    pub(crate) double: Option<usize>,
}

pub(crate) const RESERVABLE: [Class; 3] = [Class::Ef, Class::Af4, Class::Af1];

fn address(number: usize, last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, u16::try_from(number).unwrap(), 0, 0, 0, 0, 0, last)
}

fn wire(random: &mut Random) -> Wire {
    let rate = *random.pick(&[2_000_000, 10_000_003, 34_000_000, 100_000_000]).unwrap();
    Wire { rate, propagation: random.below_u64(3_000_000), mtu: 1_540, bursts: 1 }
}

/// Makes accesses of some links.
pub(crate) fn with_accesses(mut domain: Domain, random: &mut Random) -> Domain {
    for link in &mut domain.links {
        link.access = random.chance(60).then(|| Access {
            back: *random.pick(&[1_000_000, 8_000_003, 50_000_000]).unwrap(),
            jitter: random.below_u64(8_000_000),
            loss: u32::try_from(random.below_u64(400_000)).unwrap(),
        });
    }
    domain
}

/// A tree of routers with some links more.
pub(crate) fn domain(random: &mut Random) -> Domain {
    let count = 1 + random.below(4);
    let mut interfaces = 0;
    let mut end = |router: usize| {
        interfaces += 1;
        End { router, interface: format!("i{interfaces}"), address: address(interfaces, 1) }
    };
    let mut links = Vec::new();
    for router in 1..count {
        let ends = [end(router), end(random.below(router))];
        links.push(CoreLink { ends, wire: wire(random), access: None });
    }
    if count > 2 && random.chance(50) {
        links.push(CoreLink { ends: [end(0), end(count - 1)], wire: wire(random), access: None });
    }
    let mut edges = Vec::new();
    for at in 0..1 + random.below(3) {
        let network = Ipv4Addr::new(10, 1, u8::try_from(at).unwrap(), 1);
        let bursts = *random.pick(&[1, 1, 5]).unwrap();
        let wire = Wire { mtu: 1_500, bursts, ..wire(random) };
        let of = end(random.below(count));
        edges.push(Edge {
            router: of.router,
            interface: of.interface,
            addresses: vec![Prefix { address: IpAddr::V4(network), length: 24 }],
            wire,
        });
    }
    let mut borders = Vec::new();
    for number in 1..=random.below(3) {
        borders.push(Border {
            link: LinkId(u32::try_from(number).unwrap()),
            end: end(random.below(count)),
            neighbour: address(200 + number, 2),
            locator: address(300 + number, 0),
            neighbour_locator: address(400 + number, 0),
            beyond: Vec::new(),
            wire: wire(random),
        });
    }
    let mut ceiling = |most: u64| Ceiling {
        share: u32::try_from(random.range(30, most)).unwrap(),
        burst: random.range(2_000, 20_000),
    };
    let mut ceilings = BTreeMap::from([
        (Class::Ef, ceiling(350)),
        (Class::Af4, ceiling(300)),
        (Class::Af1, ceiling(200)),
        (Class::Control, ceiling(100)),
    ]);
    if random.chance(20) {
        ceilings.remove(random.pick(&[Class::Af1, Class::Control]).unwrap());
    }
    let routers =
        (0..count).map(|at| Router { name: format!("r{at}"), address: address(500 + at, 1) }).collect();
    let mut some = || -> BTreeSet<LinkId> {
        borders.iter().map(|border| border.link).filter(|_| random.chance(60)).collect()
    };
    let (from, to) = (some(), some());
    let demoted = Demoted { inside: random.chance(60), to, from };
    Domain {
        asn: Asn(1),
        routers,
        links,
        edges,
        borders,
        ceilings,
        processing: random.below_u64(300_000),
        policing: Policing::Classes,
        demoted,
    }
}

/// Asks for much, and for less where that is refused, until the domain is about full.
pub(crate) fn fill(edge: &mut LinuxEdge, random: &mut Random) -> Vec<Promise> {
    let mut places = vec![Place::Edges];
    places.extend(edge.domain().borders.iter().map(|border| Place::Border(border.link)));
    let mut promises = Vec::new();
    for number in 0..6_u64 {
        let class = *random.pick(&RESERVABLE).unwrap();
        let (from, to) = (*random.pick(&places).unwrap(), *random.pick(&places).unwrap());
        if from == to && from != Place::Edges {
            continue;
        }
        let largest_packet = u32::try_from(random.range(100, 1_500)).unwrap();
        let least_packet = if random.chance(50) {
            largest_packet
        } else {
            u32::try_from(random.range(60, largest_packet.into())).unwrap()
        };
        let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number }, class };
        let (mut rate, mut burst) = (random.range(100_000, 30_000_000), random.range(1_500, 20_000));
        for _ in 0..12 {
            let demand = Demand { from, to, class, rate, burst, least_packet, largest_packet };
            let command = BackendCommand::Reserve { ticket: number, aggregate, demand };
            match edge.handle(command).answer {
                Some(BackendAnswer::Reserved { delay, jitter, loss, .. }) => {
                    promises.push(Promise { demand, delay, jitter, loss, double: None });
                    break;
                }
                Some(BackendAnswer::Refused { offer: 0, .. }) => {
                    burst = (burst * 2 / 3).max(largest_packet.into())
                }
                Some(BackendAnswer::Refused { offer, .. }) => rate = offer,
                answer => panic!("{answer:?}"),
            }
        }
    }
    promises
}

/// Asks for two copies of the same traffic, each toward its own neighbour, until both have room, and then fills the rest.
pub(crate) fn doubled(edge: &mut LinuxEdge, random: &mut Random) -> Option<Vec<Promise>> {
    let largest_packet = u32::try_from(random.range(200, 1_400)).unwrap();
    let (mut rate, mut burst) = (random.range(100_000, 10_000_000), random.range(1_500, 10_000));
    for _ in 0..12 {
        let reserved = [1, 2].map(|link| {
            let aggregate =
                AggregateId { tunnel: TunnelId { origin: Asn(1), number: 100 + link }, class: Class::Ef };
            let to = Place::Border(LinkId(u32::try_from(link).unwrap()));
            let (from, class, least_packet) = (Place::Edges, Class::Ef, largest_packet);
            let demand = Demand { from, to, class, rate, burst, least_packet, largest_packet };
            match edge.handle(BackendCommand::Reserve { ticket: link, aggregate, demand }).answer {
                Some(BackendAnswer::Reserved { delay, jitter, loss, .. }) => {
                    Some(Promise { demand, delay, jitter, loss, double: (link == 1).then_some(1) })
                }
                _ => None,
            }
        });
        if let [Some(first), Some(second)] = reserved {
            return Some([vec![first, second], fill(edge, random)].concat());
        }
        (rate, burst) = (rate * 2 / 3, (burst * 3 / 4).max(largest_packet.into()));
    }
    None
}

/// A border and an edge, with a link between their routers: 10 Mbit/s everywhere, and EF may have half of it.
pub(crate) fn chain() -> Domain {
    let mut found = narrow(&mut Random::new(1));
    let wire = Wire { rate: 10_000_000, propagation: 0, mtu: 1_540, bursts: 1 };
    found.routers.push(Router { name: "last".to_owned(), address: address(600, 1) });
    let end = |router, interface: &str, last| End {
        router,
        interface: interface.to_owned(),
        address: address(601, last),
    };
    found.links = vec![CoreLink { ends: [end(0, "core0", 1), end(1, "core1", 2)], wire, access: None }];
    found.edges[0].router = 1;
    found.edges[0].wire = wire;
    found.ceilings = BTreeMap::from([(Class::Ef, Ceiling { share: 500, burst: 10_000 })]);
    found.processing = 100_000;
    found
}

/// A domain of one router with one way through it.
pub(crate) fn narrow(random: &mut Random) -> Domain {
    let mut found = domain(random);
    while found.borders.is_empty() || found.ceilings.len() < 4 {
        found = domain(random);
    }
    found.routers.truncate(1);
    found.links.clear();
    found.edges.truncate(1);
    found.borders.truncate(1);
    found.edges[0].router = 0;
    found.borders[0].end.router = 0;
    found.edges[0].wire.rate = *random.pick(&[2_000_000, 5_000_000]).unwrap();
    if random.chance(70) {
        found.processing = 0;
    }
    // Alone, a class has nothing below it but best effort.
    if random.chance(30) {
        let alone = *random.pick(&RESERVABLE).unwrap();
        found.ceilings.retain(|class, _| *class == alone);
    }
    found
}

/// Takes all that each class may have of a narrow domain, in packets of one size or of several.
pub(crate) fn stuff(edge: &mut LinuxEdge, random: &mut Random) -> Vec<Promise> {
    let from = *random.pick(&[Place::Edges, Place::Border(LinkId(1))]).unwrap();
    let mut promises = Vec::new();
    for class in
        RESERVABLE.into_iter().filter(|class| edge.domain().ceilings.contains_key(class)).collect::<Vec<_>>()
    {
        let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number: 1 }, class };
        let largest_packet = u32::try_from(random.range(200, 1_400)).unwrap();
        let least_packet = if random.chance(60) { largest_packet } else { largest_packet / 2 };
        let (mut rate, mut burst) = (1 << 40, 20_000);
        for _ in 0..200 {
            let demand = Demand { from, to: Place::Edges, class, rate, burst, least_packet, largest_packet };
            match edge.handle(BackendCommand::Reserve { ticket: 1, aggregate, demand }).answer {
                Some(BackendAnswer::Reserved { delay, jitter, loss, .. }) => {
                    promises.push(Promise { demand, delay, jitter, loss, double: None });
                    break;
                }
                Some(BackendAnswer::Refused { offer: 0, .. }) => burst = burst * 39 / 40,
                Some(BackendAnswer::Refused { offer, .. }) => rate = offer,
                answer => panic!("{answer:?}"),
            }
        }
    }
    promises
}
