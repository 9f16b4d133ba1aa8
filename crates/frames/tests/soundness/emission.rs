//! Messages that a busy host hands over in parts: the last frame of one may come in the same busy period as the first, long after its start.
use frames::{Contract, Effort, Flow, Hop, Network, Node, Port, Random, Search};
use latency::network::Policing;

use crate::analysis::Model;
use crate::ratios::Ratios;

/// Picoseconds of a byte at 1 Gb/s.
const GIGABIT: u64 = 8_000;
const EFFORT: Effort = Effort { aligned: 20, climbing: 160, random: 10, frames: 250 };

/// A host that sends all flows to another one through a switch. The first flow is handed over for as long as others take to come again, more
/// or less.
fn crowded(seed: u64) -> Network {
    let mut random = Random::new(seed);
    let nodes = vec![
        Node::Host,
        Node::Switch { fastest: 0, slowest: random.below(2_000_000), ordered: true },
        Node::Host,
    ];
    let best_effort = [0, 1_538][random.index(2)];
    let port = |from, to| Port { best_effort, ..Port::ideal(from, to, GIGABIT) };
    let ports = vec![port(0, 1), port(1, 2)];
    let count = random.between(2, 4);
    let load = random.between(600, 970);
    let mut flows: Vec<Flow> = Vec::new();
    for number in 0..count {
        let mut frames = vec![1_538; random.index(3) + usize::from(number == 0)];
        frames.push(random.between(84, 1_538));
        let bytes: u64 = frames.iter().sum();
        let separation = bytes * GIGABIT * count * 1_000 / load * random.between(80, 150) / 100;
        let level = if number == 0 { 1 } else { random.between(1, 2) as u8 };
        let contract =
            Contract::Gated { separation, jitter: 0, emission: random.below(2) * random.below(separation) };
        let tree = [0, 1].map(|port| Hop { port, level }).to_vec();
        flows.push(Flow::new(tree, frames, contract));
    }
    let other = flows[1 + random.index(flows.len() - 1)].clone();
    let again = match other.contract {
        Contract::Gated { separation, .. } => separation * random.between(1, 2),
        Contract::Bucket { .. } => 0,
    };
    let meets = other.bytes() * GIGABIT * random.below(3);
    if let Contract::Gated { separation, emission, .. } = &mut flows[0].contract {
        *emission = again.saturating_sub(meets).min(*separation);
    }
    Network::new(nodes, ports, flows).unwrap()
}

#[test]
fn no_frame_of_a_message_in_parts_is_above_its_bound() {
    let mut ratios = Ratios::default();
    for seed in tiers::current().seeds("latency.networks") {
        let network = crowded(seed);
        let model = Model::new(&network, &vec![Policing::Trusted; network.flows().len()]);
        let Some(analysis) = model.shares().and_then(|shares| model.analyse(&shares)) else { continue };
        let bounds = analysis.bounds(&network);
        let found = Search::new(&network, &bounds, 0, 0, EFFORT).worst(seed);
        assert_eq!(found.outcome.excess_count, 0, "seed {seed}: {:?}", found.outcome.excesses);
        ratios.add("in parts, at the host", 1, bounds.latency(0, 0).unwrap(), found.latency);
    }
    print!("{ratios}");
    assert!(ratios.count() > 50 && ratios.median() <= 1.25);
}
