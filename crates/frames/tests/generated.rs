//! Rules that hold in every run of every generated network.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use frames::generate::{self, Shape, Topology};
use frames::{Bounds, Effort, Network, Search, run};

const EFFORT: Effort = Effort { aligned: 2, climbing: 2, random: 2, frames: 400 };

#[test]
fn nothing_is_lost_or_overtaken_and_everything_is_repeatable() {
    let mut seen = [0_u32; 5];
    let mut hops = [0_u32; 8];
    for seed in tiers::current().seeds("latency.networks") {
        let shape = Shape { babblers: seed % 4 == 0, ..Shape::SMALL };
        let generated = generate::network(seed, &shape).unwrap();
        let network = &generated.network;
        seen[Topology::ALL.iter().position(|topology| *topology == generated.topology).unwrap()] += 1;
        let flow = seed as usize % network.flows().len();
        let hop = *network.deliveries(flow).last().unwrap();
        hops[network.path(flow, hop).len()] += 1;
        let bounds = Bounds::default();
        let search = Search::new(network, &bounds, flow, hop, EFFORT);
        let found = search.worst(seed);
        assert_eq!(found.outcome.disordered, 0, "seed {seed}");
        for (index, source) in network.flows().iter().enumerate() {
            assert_eq!(found.outcome.lost[index], 0);
            for (hop, received) in found.outcome.received[index].iter().enumerate() {
                let dropped = if hop == 0 { 0 } else { found.outcome.policed[index] };
                assert_eq!(received + dropped, found.outcome.released[index], "seed {seed}");
            }
            assert!(source.babbles || found.outcome.policed[index] == 0);
        }
        let again = run(network, &found.attack, &bounds);
        assert_eq!(again.latency[flow][hop], found.latency, "seed {seed}");
        assert_eq!(search.worst(seed), found);
    }
    println!("topologies {seen:?}, hops {hops:?}");
    assert!(seen.iter().all(|count| *count > 0) && hops[2] > 0 && hops[3] > 0 && hops[4] > 0);
    assert_eq!(hops[5..], [0; 3]);
}

#[test]
fn the_busiest_port_has_the_load() {
    let mut highest = 0;
    for seed in tiers::current().seeds("property.cases") {
        let generated = match seed % 5 {
            0 => generate::junction(seed).unwrap(),
            _ => generate::network(seed, &Shape::SMALL).unwrap(),
        };
        let network = &generated.network;
        let busiest = (0..network.ports().len()).map(|port| network.load(port)).max().unwrap();
        assert!(busiest <= generated.load, "seed {seed}: {busiest} of {}", generated.load);
        // Separations that are rounded up to powers of two halve it at most.
        assert!(busiest * 2 + 10 >= generated.load, "seed {seed}: {busiest} of {}", generated.load);
        highest = highest.max(busiest);
    }
    assert!(highest > 900_000);
}

/// A latency is at least the time that the frames need without any other, and an outcome above a bound is reported.
#[test]
fn bounds_are_compared() {
    for seed in 0..50 {
        let network = generate::network(seed, &Shape::SMALL).unwrap().network;
        let hop = network.deliveries(0)[0];
        let free = Bounds::default();
        let found = Search::new(&network, &free, 0, hop, EFFORT).worst(seed);
        let least: u64 = network.path(0, hop).into_iter().map(|hop| least(&network, 0, hop)).sum();
        assert!(found.latency >= least, "seed {seed}: {} < {least}", found.latency);
        let claim = |latency| {
            let mut bounds = Bounds { latency: vec![Vec::new(); network.flows().len()] };
            bounds.latency[0] = vec![None; hop];
            bounds.latency[0].push(Some(latency));
            run(&network, &found.attack, &bounds)
        };
        assert_eq!(claim(found.latency).excess_count, 0, "seed {seed}");
        let refuted = claim(found.latency - 1);
        assert!(refuted.excess_count > 0, "seed {seed}");
        assert_eq!((refuted.excesses[0].flow, refuted.excesses[0].hop), (0, hop));
        assert_eq!(refuted.excesses[0].latency, found.latency);
    }
}

/// What the first frame of a message needs at a hop without any other frame.
fn least(network: &Network, flow: usize, hop: usize) -> u64 {
    let source = &network.flows()[flow];
    let port = &network.ports()[source.tree[hop].port];
    source.frames[0] * port.picoseconds_per_byte + port.propagation
}
