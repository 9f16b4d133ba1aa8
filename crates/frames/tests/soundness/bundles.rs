//! Flows that the network cannot tell apart: the bounds of the bundle against adversaries that let its parts loose.
use frames::{Bounds, Contract, Flow, Hop, Network, Node, Port, Random, Search};
use latency::bundle::bundle;
use latency::network::Policing;

use crate::analysis::Model;
use crate::networks::EFFORT;
use crate::ratios::Ratios;

/// Picoseconds of a byte at 1 Gb/s.
const GIGABIT: u64 = 8000;

/// Two hosts at a switch whose link leads to another switch with two hosts. The first `parts` flows go from the first
/// host to the third at one level; the others go from the second host, to the third or fourth.
fn random_network(seed: u64) -> (Network, usize) {
    let mut random = Random::new(seed);
    let nodes = [
        vec![Node::Host; 4],
        vec![Node::Switch { fastest: 0, slowest: random.below(3_000_000), ordered: true }; 2],
    ];
    let best_effort = [0, 1538][random.index(2)];
    let port = |from, to| Port { best_effort, ..Port::ideal(from, to, GIGABIT) };
    let ports = vec![port(0, 4), port(1, 4), port(4, 5), port(5, 2), port(5, 3)];
    let parts = random.index(3) + 2;
    let (load, own, count) = (random.between(300, 900), random.between(1, 3), random.between(1, 3));
    let count = parts + usize::try_from(count).unwrap();
    let mut emissions = Random::new(seed ^ 5);
    let mut flow = |index: usize| {
        let way = if index < parts { [0, 2, 3] } else { [1, 2, 3 + random.index(2)] };
        let level = if index < parts { own } else { random.between(1, 3) };
        let mut frames = vec![1538; random.index(4)];
        frames.push(random.between(84, 1538));
        let bytes: u64 = frames.iter().sum();
        let separation = bytes * GIGABIT * count as u64 * 1000 / load * random.between(100, 300) / 100;
        let jitter = random.below(2) * random.below(separation);
        let tree = way.map(|port| Hop { port, level: u8::try_from(level).unwrap() }).to_vec();
        let emission = emissions.below(2) * emissions.below(separation / 2);
        let contract = Contract::Gated { separation, jitter, emission };
        Flow::new(tree, frames, contract)
    };
    let flows = (0..count).map(&mut flow).collect();
    (Network::new(nodes.concat(), ports, flows).unwrap(), parts)
}

#[test]
fn no_part_of_a_bundle_is_above_its_bound() {
    let mut ratios = Ratios::default();
    for seed in tiers::current().seeds("latency.networks") {
        let (network, parts) = random_network(seed);
        let single = Model::new(&network, &vec![Policing::Trusted; network.flows().len()]);
        let (members, others) = single.flows.split_at(parts);
        let mut model = single.clone();
        model.flows = [vec![bundle(members, &single.ports[0]).unwrap()], others.to_vec()].concat();
        model.levels.drain(1..parts);
        let Some(shares) = model.shares() else { continue };
        let Some(analysis) = model.analyse(&shares) else { continue };
        let paths = |flow: usize| match members.get(flow) {
            Some(part) => (0..3).map(|hop| model.bound_of_part(&shares, part, hop)).collect(),
            None => analysis.paths[flow + 1 - parts].iter().map(|path| Some(path.latency)).collect(),
        };
        let bounds = Bounds { latency: (0..network.flows().len()).map(paths).collect() };
        let target = Random::new(!seed).index(network.flows().len());
        let found = Search::new(&network, &bounds, target, 2, EFFORT).worst(seed);
        assert_eq!(found.outcome.excess_count, 0, "seed {seed}: {:?}", found.outcome.excesses);
        let kind = if target < parts { "part of a bundle" } else { "beside a bundle" };
        ratios.add(kind, 3, bounds.latency(target, 2).unwrap(), found.latency);
    }
    print!("{ratios}");
    assert!(ratios.count() > 50);
}
