//! How near bounds are to the worst that a long search finds: flows along a line of switches, others that join and leave.
use frames::{Contract, Effort, Flow, Hop, Network, Node, Port, Random, Search};
use latency::bundle::bundle;
use latency::network::Policing;

use crate::analysis::Model;
use crate::ratios::Ratios;

/// Picoseconds of a byte at 1 Gb/s.
const GIGABIT: u64 = 8_000;
const EFFORT: Effort = Effort { aligned: 80, climbing: 1_200, random: 20, frames: 250 };

/// What contracts allow besides messages that come at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Plain,
    Jitter,
    Emission,
    Bundle,
    EmissionAndBundle,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Plain, Self::Jitter, Self::Emission, Self::Bundle, Self::EmissionAndBundle];

    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "without jitter",
            Self::Jitter => "with jitter",
            Self::Emission => "with emission",
            Self::Bundle => "with a bundle",
            Self::EmissionAndBundle => "with emission and a bundle",
        }
    }

    const fn bundles(self) -> bool {
        matches!(self, Self::Bundle | Self::EmissionAndBundle)
    }

    const fn emits(self) -> bool {
        matches!(self, Self::Emission | Self::EmissionAndBundle)
    }
}

/// A line of switches with two hosts at each. The first flow goes from the first to the last switch; others from and to anywhere on the way.
/// Of a bundle the first two flows are one.
fn line(seed: u64, hops: usize, kind: Kind) -> Network {
    let mut random = Random::new(seed);
    let switches = hops - 1;
    let (slowest, best_effort) = (random.below(3_000_000), [0, 1_538][random.index(2)]);
    let mut nodes = vec![Node::Switch { fastest: slowest, slowest, ordered: true }; switches];
    nodes.extend(vec![Node::Host; 4 * switches]);
    // Hosts of a switch: two that send, two that receive.
    let host = |switch: usize, number: usize| switches + 4 * switch + number;
    let port = |from, to| Port { best_effort, ..Port::ideal(from, to, GIGABIT) };
    let mut ports = Vec::new();
    for switch in 0..switches {
        ports.extend([0, 1].map(|number| port(host(switch, number), switch)));
        ports.extend([2, 3].map(|number| port(switch, host(switch, number))));
        ports.extend((switch + 1 < switches).then(|| port(switch, switch + 1)));
    }
    let at =
        |from: usize, to: usize| ports.iter().position(|port| (port.from, port.to) == (from, to)).unwrap();
    let count = random.between(2, 3 + hops as u64);
    let load = random.between(300, 850);
    let mut flows = Vec::new();
    for number in 0..count {
        let is_part = kind.bundles() && number == 1;
        let (first, last) = match number {
            0 => (0, switches - 1),
            _ if is_part => (0, switches - 1),
            _ => {
                let first = random.index(switches);
                (first, first + random.index(switches - first))
            }
        };
        let publisher = host(first, if number == 0 || is_part { 0 } else { random.index(2) });
        let subscriber = host(last, if number == 0 || is_part { 2 } else { 2 + random.index(2) });
        let way: Vec<usize> = [publisher].into_iter().chain(first..=last).chain([subscriber]).collect();
        let level = if is_part {
            flows.first().map_or(1, |flow: &Flow| flow.tree[0].level)
        } else {
            1 + random.index(3) as u8
        };
        let tree = way.windows(2).map(|pair| Hop { port: at(pair[0], pair[1]), level }).collect();
        let mut frames = vec![1_538; random.index(4)];
        frames.push(random.between(84, 1_538));
        let bytes: u64 = frames.iter().sum();
        let separation = bytes * GIGABIT * count * 1_000 / load * random.between(60, 250) / 100;
        let jitter = if kind == Kind::Jitter { random.below(separation / 2) } else { 0 };
        let emission = if kind.emits() { random.below(separation / 2) } else { 0 };
        let contract = Contract::Gated { separation, jitter, emission };
        flows.push(Flow::new(tree, frames, contract));
    }
    Network::new(nodes, ports, flows).unwrap()
}

/// The bound of the first flow, and the worst that was found; `None` without a bound.
fn found(seed: u64, hops: usize, kind: Kind) -> Option<(u64, u64)> {
    let network = line(seed, hops, kind);
    let mut model = Model::new(&network, &vec![Policing::Trusted; network.flows().len()]);
    let mut part = None;
    if kind.bundles() {
        let parts: Vec<_> = model.flows.drain(..2).collect();
        let together = bundle(&parts, &model.ports[0]).unwrap();
        part = Some(parts[0].clone());
        model.flows.insert(0, together);
        model.levels.remove(1);
    }
    let shares = model.shares()?;
    let bound = match &part {
        Some(part) => model.bound_of_part(&shares, part, hops - 1)?,
        None => model.analyse(&shares)?.paths[0].last()?.latency,
    };
    let mut bounds = frames::Bounds { latency: vec![Vec::new(); network.flows().len()] };
    bounds.latency[0] = vec![None; hops - 1];
    bounds.latency[0].push(Some(bound));
    let found = Search::new(&network, &bounds, 0, hops - 1, EFFORT).worst(seed);
    assert_eq!(
        found.outcome.excess_count, 0,
        "seed {seed}, {hops} hops, {kind:?}: {:?}",
        found.outcome.excesses
    );
    Some((bound, found.latency))
}

#[test]
fn bounds_are_near_to_what_a_long_search_finds() {
    for kind in Kind::ALL {
        let mut ratios = Ratios::default();
        let cases: Vec<(u64, usize)> =
            tiers::current().seeds("latency.tightness").map(|seed| (seed, 2 + seed as usize % 5)).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let part = |thread: usize| {
                let mut ratios = Ratios::default();
                for (seed, hops) in cases.iter().copied().skip(thread).step_by(threads) {
                    if let Some((bound, worst)) = found(seed, hops, kind) {
                        ratios.add(kind.name(), hops, bound, worst);
                    }
                }
                ratios
            };
            let parts: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
            parts.into_iter().for_each(|part| ratios.merge(part.join().unwrap()));
        });
        print!("{ratios}");
        let (median, most) = (ratios.median(), ratios.quantile(0.95));
        println!("{}, all: median {median:.3}, p95 {most:.3}", kind.name());
        assert!(ratios.count() >= cases.len() * 9 / 10);
        // Where contracts allow nothing else the search reaches what the bounds say.
        let (middle, high) = if kind == Kind::Plain { (1.05, 1.5) } else { (1.10, f64::MAX) };
        assert!(median <= middle && most <= high, "{kind:?}: {median} {most}");
    }
}
