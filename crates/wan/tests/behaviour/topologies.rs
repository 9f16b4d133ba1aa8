//! Random worlds: domains in lines, rings and meshes, with agreements whose numbers tell them apart.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use testkit::random::Random;
use wan::{
    Agreement, Asn, BgpPath, Class, Config, Contract, Excess, Limits, LinkId, NetworkService, Prefix,
    SessionService, Terms,
};

use crate::domain::{Backend, Domain};
use crate::model::{Agreed, Topology};

pub(crate) const CLASSES: [Class; 3] = [Class::Af1, Class::Af4, Class::Ef];
pub(crate) const MICROSECOND: u64 = 1_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn address(domain: u32, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, domain as u8, 0, host))
}

/// Pairs of domains that are neighbours, some of them twice.
fn edges(random: &mut Random, count: u32) -> Vec<(u32, u32)> {
    let mut edges: Vec<(u32, u32)> = (1..count).map(|at| (at, at + 1)).collect();
    match random.below(4) {
        0 => {}
        1 => edges.push((1, count)),
        2 => {
            edges.push((1, count));
            edges.push((1, 1 + count / 2));
        }
        _ => {
            for from in 1..=count {
                for to in from + 2..=count {
                    if random.chance(40) {
                        edges.push((from, to));
                    }
                }
            }
        }
    }
    edges.dedup();
    if random.chance(40) {
        let twice = *random.pick(&edges).unwrap();
        edges.push(twice);
    }
    edges
}

/// All ways from a domain to all others, as neighbours of neighbours tell them.
fn ways(near: &BTreeMap<u32, BTreeSet<u32>>, from: u32) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    let mut open = vec![vec![from]];
    while let Some(way) = open.pop() {
        for next in &near[way.last().unwrap()] {
            if !way.contains(next) && way.len() < 6 && found.len() < 40 {
                let mut longer = way.clone();
                longer.push(*next);
                found.push(longer.clone());
                open.push(longer);
            }
        }
    }
    found
}

/// Where the numbers of a world come from.
pub(crate) trait Numbers {
    fn agreed(&mut self) -> Option<Agreed>;
    fn budget(&mut self) -> (u64, u64);
    /// Packets of a million that a domain loses inside.
    fn loss(&mut self, asn: u32, class: Class) -> u32;
    fn capacity(&mut self) -> u64;
    /// A domain tells its delay in a class.
    fn tells(&mut self) -> bool;
    /// An agreement lets a domain ask for itself.
    fn lets(&mut self) -> bool;
}

impl Numbers for Random {
    fn agreed(&mut self) -> Option<Agreed> {
        // Ends of numbers that nothing else has.
        (!self.one_in(15)).then(|| Agreed {
            rate: self.range(2_000, 12_000) * 1_000 + 11,
            burst: self.range(20, 200) * 1_000 + 13,
            delay: self.range(1_000, 4_000) * MICROSECOND + 7,
            jitter: self.range(10, 900) * MICROSECOND + 3,
            loss: if self.chance(30) { 0 } else { self.range(1, 900) as u32 },
        })
    }

    fn budget(&mut self) -> (u64, u64) {
        (self.range(5_000, 8_000) * MICROSECOND, self.range(1_000, 2_000) * MICROSECOND)
    }

    fn loss(&mut self, asn: u32, class: Class) -> u32 {
        // Numbers that tell domains and classes apart; most lose nothing.
        let number = asn * 97 + u32::from(class.dscp()) * 31;
        if number % 5 < 3 { 0 } else { 1 + number % 400 }
    }

    fn capacity(&mut self) -> u64 {
        self.range(4_000, 30_000) * 1_000
    }

    fn tells(&mut self) -> bool {
        !self.one_in(60)
    }

    fn lets(&mut self) -> bool {
        !self.one_in(8)
    }
}

/// What a link costs: a number that no other link has.
pub(crate) fn prices(from: u32, to: u32, link: u32) -> u64 {
    u64::from(from * 1_000_000 + to * 1_000 + link)
}

/// Its sender does not tell it.
pub(crate) fn hides(from: u32, to: u32, link: u32) -> bool {
    (from * 7 + to * 3 + link) % 11 == 7
}

/// Makes a random world.
pub(crate) fn make(random: &mut Random) -> (Topology, Vec<Domain>) {
    let count = random.range(3, 7) as u32;
    let edges = edges(random, count);
    build(count, &edges, random)
}

/// Makes a world of these neighbours.
pub(crate) fn build(count: u32, edges: &[(u32, u32)], numbers: &mut impl Numbers) -> (Topology, Vec<Domain>) {
    let all: Vec<Asn> = (1..=count).map(Asn).collect();
    let mut topology = Topology::default();
    let mut agreements: Vec<Agreement> = Vec::new();
    let mut near: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (at, (one, other)) in edges.iter().enumerate() {
        near.entry(*one).or_default().insert(*other);
        near.entry(*other).or_default().insert(*one);
        for (from, to) in [(*one, *other), (*other, *one)] {
            let link = at as u32 + 1;
            let mut terms = BTreeMap::new();
            for class in CLASSES {
                let Some(agreed) = numbers.agreed() else { continue };
                topology.agreed.insert((from, to, link, class.dscp()), agreed);
                let Agreed { rate, burst, delay, jitter, loss } = agreed;
                terms.insert(class, Terms { rate, burst, delay, jitter, loss });
            }
            agreements.push(Agreement {
                from: Asn(from),
                to: Asn(to),
                link: LinkId(link),
                terms,
                begins: 0,
                ends: u64::MAX,
                price: prices(from, to, link),
                hides_price: hides(from, to, link),
                destinations: all.clone(),
                excess: Excess::Drop,
                direct: all.iter().copied().filter(|_| numbers.lets()).collect(),
            });
        }
    }
    let mut backends = Vec::new();
    for asn in 1..=count {
        let mut backend = Backend::default();
        for class in CLASSES {
            let (budget, loss) = (numbers.budget(), numbers.loss(asn, class));
            topology.inside.insert((asn, class.dscp()), (budget.0, budget.1, loss));
            backend.budget.insert(class, budget);
            backend.loss.insert(class, loss);
            backend.capacity.insert(class, numbers.capacity());
        }
        backends.push(backend);
    }
    let addresses: Vec<(Prefix, Asn)> =
        all.iter().map(|asn| (Prefix { address: address(asn.0, 0), length: 16 }, *asn)).collect();
    let domains = backends.into_iter().zip(1_u32..).map(|(backend, asn)| {
        let mut paths = Vec::new();
        for way in ways(&near, asn) {
            let as_path: Vec<Asn> = way[1..].iter().map(|asn| Asn(*asn)).collect();
            let mut communities = Vec::new();
            for asn in &as_path {
                for class in CLASSES {
                    let delay = topology.inside[&(asn.0, class.dscp())].0 + 4 * MILLISECOND;
                    if numbers.tells() {
                        communities.push((*asn, class, (delay / 1_000) as u32));
                    }
                }
            }
            paths.push(BgpPath { as_path, communities });
        }
        let contract = |quota, most_sessions| Contract {
            begins: 0,
            ends: u64::MAX,
            classes: CLASSES.to_vec(),
            destinations: all.clone(),
            quota,
            most_sessions,
        };
        let network = |id, bandwidth| NetworkService { id, destinations: all.clone(), bandwidth };
        let session = |id, network_service| SessionService {
            id,
            network_service,
            classes: CLASSES.to_vec(),
            most_rate: 5_000_000,
        };
        let config = Config {
            asn: Asn(asn),
            addresses: addresses.clone(),
            agreements: agreements
                .iter()
                .filter(|one| one.from.0 == asn || one.to.0 == asn)
                .cloned()
                .collect(),
            users: vec![(1, contract(1 << 40, 1_000)), (2, contract(9_000_000, 3))],
            network_services: vec![network(1, 1 << 40), network(2, 8_000_000)],
            session_services: vec![session(1, 1), session(2, 2)],
            needs_grants: false,
            can_duplicate: true,
            limits: Limits::default(),
        };
        Domain::new(config, paths, backend)
    });
    let domains = domains.collect();
    (topology, domains)
}
