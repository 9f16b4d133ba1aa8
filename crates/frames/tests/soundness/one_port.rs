//! One port with messages, token buckets and traffic of control: the bounds of its levels against adversaries.
use frames::{Bounds, Contract, Effort, Flow, Hop, Network, Node, Port, Random, Search};
use latency::bound::{Method, level_bound, planned_bound};
use latency::port::{Arrival, Contender, Control, Server};

use crate::ratios::Ratios;

/// Picoseconds of a byte at 1 Gb/s.
const GIGABIT: u64 = 8000;
/// A period in which bytes times this are bits per second.
const MILLISECOND: u64 = 1_000_000_000;

/// So much is tried at a port with token buckets.
const QUICK: Effort = Effort { aligned: 6, climbing: 14, random: 2, frames: 600 };
/// And at one with messages only, until the worst case is found.
const THOROUGH: Effort = Effort { aligned: 60, climbing: 2_000, random: 20, frames: 600 };

/// Two to six flows of a host, and control as the last flow of the network, if any.
fn random_port(seed: u64) -> (Network, Server, Vec<Contender>) {
    let mut random = Random::new(seed);
    let count = random.between(2, 6);
    let load = random.between(300, 950);
    let best_effort = if random.once_in(2) { 0 } else { 1538 };
    let mut flows = Vec::new();
    let mut contenders = Vec::new();
    for _ in 0..count {
        let mut frames: Vec<u64> = (0..random.between(1, 4)).map(|_| random.between(84, 1538)).collect();
        // The last one is the smallest, as it is where a message is cut into full datagrams and a rest.
        frames.sort_unstable_by(|one, other| other.cmp(one));
        let bytes: u64 = frames.iter().sum();
        let level = u8::try_from(random.between(0, 3)).unwrap();
        let (smallest, largest) = (*frames.iter().min().unwrap() * 8, *frames.iter().max().unwrap() * 8);
        let (contract, arrival) = if random.once_in(2) {
            let separation = bytes * GIGABIT * count * 1000 / load * random.between(50, 300) / 100;
            let jitter = random.below(2) * random.below(separation * 3 / 2);
            let arrival = Arrival::Messages { bits: bytes * 8, separation, jitter };
            (Contract::Gated { separation, jitter, emission: 0 }, arrival)
        } else {
            let per_millisecond = (125_000 * load / 1000 / count).max(1);
            let burst = bytes + random.below(10_000);
            let arrival = Arrival::Bucket { burst: burst * 8, rate: per_millisecond * 8000 };
            (Contract::Bucket { burst, bytes: per_millisecond, period: MILLISECOND }, arrival)
        };
        contenders.push(Contender {
            level,
            arrival,
            smallest_frame: smallest,
            largest_frame: largest,
            ingress: None,
        });
        flows.push((level, frames, contract));
    }
    let control =
        random.once_in(3).then(|| Control { burst: random.between(1538, 6000) * 8, rate: 8_000_000 });
    if let Some(Control { burst, rate }) = control {
        let contract = Contract::Bucket { burst: burst / 8, bytes: rate / 8000, period: MILLISECOND };
        flows.push((7, vec![1538], contract));
    }
    let server = Server {
        control,
        control_frame: if control.is_some() { 1538 * 8 } else { 0 },
        ..Server::new(1_000_000_000, best_effort * 8)
    };
    let flow = |(level, frames, contract)| {
        let tree = vec![Hop { port: 0, level }];
        Flow::new(tree, frames, contract)
    };
    let port = Port { best_effort, ..Port::ideal(0, 1, GIGABIT) };
    let flows = flows.into_iter().map(flow).collect();
    (Network::new(vec![Node::Host; 2], vec![port], flows).unwrap(), server, contenders)
}

#[test]
fn no_level_of_a_port_is_above_its_bound() {
    let (mut messages_only, mut with_buckets) = (Ratios::default(), Ratios::default());
    for seed in tiers::current().seeds("latency.networks") {
        let (network, server, contenders) = random_port(seed);
        let target = Random::new(!seed).index(contenders.len());
        let level = contenders[target].level;
        let Some(bound) = level_bound(&server, &contenders, level) else { continue };
        assert!(
            planned_bound(&server, &contenders, level).is_none_or(|planned| planned.delay >= bound.delay)
        );
        let mut bounds = Bounds { latency: vec![vec![None]; network.flows().len()] };
        for (latency, contender) in bounds.latency.iter_mut().zip(&contenders) {
            latency[0] = level_bound(&server, &contenders, contender.level).map(|bound| bound.delay);
        }
        // A bucket is a line to the bounds, and lets only whole frames through.
        let messages = server.control.is_none()
            && contenders.iter().all(|flow| matches!(flow.arrival, Arrival::Messages { .. }));
        let effort = if messages { THOROUGH } else { QUICK };
        let found = Search::new(&network, &bounds, target, 0, effort).worst(seed);
        assert_eq!(found.outcome.excess_count, 0, "seed {seed}: {:?}", found.outcome.excesses);
        let all = if messages { &mut messages_only } else { &mut with_buckets };
        let method = match bound.method {
            Method::Linear => "linear",
            Method::BusyPeriod => "busy period",
        };
        all.add(method, 1, bound.delay, found.latency);
    }
    print!("messages only:\n{messages_only}with token buckets:\n{with_buckets}");
    assert!(messages_only.count() > 10 && messages_only.largest() < 1.01, "{}", messages_only.largest());
    assert!(with_buckets.count() > 100);
}

/// A host with one queue for its flows and all that it sends besides, and a link that sleeps; or one with levels behind a card with a ring.
fn imperfect_port(seed: u64) -> (Network, Server, Vec<Contender>) {
    let (network, mut server, mut contenders) = random_port(seed);
    let mut random = Random::new(seed ^ 5);
    let mut flows = network.flows().to_vec();
    let mut port = network.ports()[0].clone();
    port.imperfections.wake = random.below(2) * random.below(30_000_000);
    server.ahead = port.imperfections.wake.div_ceil(1_000);
    if seed.is_multiple_of(2) {
        let beside =
            Control { burst: random.between(84, 20_000) * 8, rate: random.between(1, 40) * 1_000_000 };
        server.beside = Some(beside);
        contenders.iter_mut().for_each(|contender| contender.level = 0);
        flows.iter_mut().take(contenders.len()).for_each(|flow| flow.tree[0].level = 0);
        flows.push(Flow {
            tree: vec![Hop { port: 0, level: 0 }],
            frames: vec![(beside.burst / 8).min(1538)],
            others: vec![vec![84]],
            contract: Contract::Bucket {
                burst: beside.burst / 8,
                bytes: beside.rate,
                period: 8_000 * MILLISECOND,
            },
            policer: None,
            tag: 0,
            babbles: false,
        });
    } else {
        port.imperfections.ring = random.between(1, 6_000);
        server.ahead += port.imperfections.ring * 8;
        server.best_effort = 1538 * 8;
    }
    (Network::new(network.nodes().to_vec(), vec![port], flows).unwrap(), server, contenders)
}

#[test]
fn no_level_of_an_imperfect_port_is_above_its_bound() {
    let mut ratios = Ratios::default();
    // For each term, the networks in which a frame is above what is claimed without it.
    let mut refuted = [0; 3];
    for seed in tiers::current().seeds("latency.networks") {
        let (network, server, contenders) = imperfect_port(seed);
        let target = Random::new(!seed).index(contenders.len());
        let level = contenders[target].level;
        let Some(bound) = level_bound(&server, &contenders, level) else { continue };
        let mut bounds = Bounds { latency: vec![vec![None]; network.flows().len()] };
        for (latency, contender) in bounds.latency.iter_mut().zip(&contenders) {
            latency[0] = level_bound(&server, &contenders, contender.level).map(|bound| bound.delay);
        }
        let found = Search::new(&network, &bounds, target, 0, QUICK).worst(seed);
        assert_eq!(found.outcome.excess_count, 0, "seed {seed}: {:?}", found.outcome.excesses);
        ratios.add("imperfect", 1, bound.delay, found.latency);
        let imperfections = network.ports()[0].imperfections;
        let (wake, ring) = (imperfections.wake.div_ceil(1_000), imperfections.ring * 8);
        let without = [
            Server { beside: None, ..server },
            Server { ahead: ring, ..server },
            Server { ahead: wake, ..server },
        ];
        for (count, less) in refuted.iter_mut().zip(without) {
            let claim = level_bound(&less, &contenders, level).map_or(0, |bound| bound.delay);
            *count += u32::from(found.latency > claim);
        }
    }
    print!("{ratios}without what is beside, wake, ring: {refuted:?} refuted");
    assert!(refuted.iter().all(|count| *count > 10), "{refuted:?}");
}
