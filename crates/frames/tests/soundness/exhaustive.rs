//! Small networks in which all phases can be tried: how near the bounds are to the worst case itself.
use frames::{Contract, Effort, Flow, Hop, Network, Node, Port, Random, Search};
use latency::network::Policing;

use crate::analysis::Model;
use crate::networks::EFFORT;
use crate::ratios::Ratios;

/// Bytes of every frame, and picoseconds of a byte at 1 Gb/s.
const FRAME: u64 = 1538;
const GIGABIT: u64 = 8_000;
/// Everything is a multiple of the time of a frame.
const UNIT: u64 = FRAME * GIGABIT;
/// How many combinations of phases a network may have.
const MOST: u64 = 100_000;

/// Two or three flows to one subscriber, by one switch or two: two hosts at a first switch, one at the last.
fn small(seed: u64) -> Network {
    let mut random = Random::new(seed);
    let switches = 1 + random.index(2);
    let count = 2 + usize::from(random.once_in(6));
    let last = count + switches - 1;
    let mut nodes = vec![Node::Host; count];
    nodes.extend(vec![Node::Switch { fastest: 0, slowest: 0, ordered: true }; switches]);
    nodes.push(Node::Host);
    let port = |from, to| Port::ideal(from, to, GIGABIT);
    // The last host is at the last switch, the others are at the first.
    let switch_of = |host: usize| if host + 1 == count { last } else { count };
    let mut ports: Vec<Port> = (0..count).map(|host| port(host, switch_of(host))).collect();
    ports.extend((count..=last).map(|switch| port(switch, switch + 1)));
    let load = random.between(300, 900);
    let mut flow = |host: usize| {
        let level = u8::try_from(random.below(3)).unwrap();
        // Ports of hosts have their indexes, and so have those of switches.
        let tree =
            std::iter::once(host).chain(switch_of(host)..=last).map(|port| Hop { port, level }).collect();
        let frames = random.between(1, 6);
        let separation = (frames * count as u64 * 1000 / load).max(frames + 1) * UNIT;
        let contract = Contract::Gated { separation, jitter: 0, emission: 0 };
        let frames = vec![FRAME; usize::try_from(frames).unwrap()];
        Flow::new(tree, frames, contract)
    };
    let flows = (0..count).map(&mut flow).collect();
    Network::new(nodes, ports, flows).unwrap()
}

#[test]
fn bounds_are_near_to_the_worst_of_all_phases() {
    let mut ratios = Ratios::default();
    for seed in tiers::current().seeds("latency.exhaustive") {
        let network = small(seed);
        let model = Model::new(&network, &vec![Policing::Trusted; network.flows().len()]);
        let Some(analysis) = model.shares().and_then(|shares| model.analyse(&shares)) else { continue };
        let bounds = analysis.bounds(&network);
        for (flow, source) in network.flows().iter().enumerate() {
            let hop = source.tree.len() - 1;
            let search = Search::new(&network, &bounds, flow, hop, Effort { frames: 120, ..EFFORT });
            // With n flows a grid of an nth of the unit has every order of events.
            let Ok(found) = search.exhaustive(UNIT / network.flows().len() as u64 + 1, MOST) else {
                continue;
            };
            assert_eq!(found.outcome.excess_count, 0, "seed {seed}: {:?}", found.outcome.excesses);
            let bound = analysis.paths[flow][hop].latency;
            ratios.add("all phases tried", hop + 1, bound, found.latency);
        }
    }
    print!("{ratios}");
    let median = ratios.median();
    assert!(median <= 1.05, "{median}");
}
