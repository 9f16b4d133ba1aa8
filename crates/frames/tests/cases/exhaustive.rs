//! Small networks, all phases: the search finds what trying everything finds.
use super::networks::gated;
use frames::{Bounds, Effort, Hop, Network, Node, Port, Random, Search, SearchError};

/// Everything is a multiple of this, in picoseconds.
const UNIT: u64 = 300;

/// Two hosts at a first switch, one at a second, behind which is the subscriber; three flows of one or two frames.
/// Ports: 0 and 1 from the hosts, 2 between the switches, 3 from the third host, 4 to the subscriber.
fn small(seed: u64) -> Network {
    let mut random = Random::new(seed);
    let switch = Node::Switch { fastest: 0, slowest: 0, ordered: true };
    let nodes = vec![Node::Host, Node::Host, switch, switch, Node::Host, Node::Host];
    let port = |(from, to)| Port::ideal(from, to, UNIT);
    let ports = [(0, 2), (1, 2), (2, 3), (4, 3), (3, 5)].into_iter().map(port).collect();
    let mut flow = |ports: &[usize]| {
        let level = u8::try_from(random.below(3)).unwrap();
        let tree = ports.iter().map(|port| Hop { port: *port, level }).collect();
        let frames = vec![1; usize::try_from(random.between(1, 2)).unwrap()];
        let separation = random.between(frames.len() as u64 * 2 + 1, 6) * UNIT;
        gated(frames, separation, 0, tree)
    };
    let flows = vec![flow(&[0, 2, 4]), flow(&[1, 2, 4]), flow(&[3, 4])];
    Network::new(nodes, ports, flows).unwrap()
}

#[test]
fn the_search_finds_what_trying_everything_finds() {
    let (mut all, mut reached, mut more) = (0, 0, 0);
    for seed in 0..40 {
        let network = small(seed);
        if network.load(4) >= 1_000_000 {
            continue;
        }
        let bounds = Bounds::default();
        let effort = Effort { aligned: 12, climbing: 100, random: 10, frames: 120 };
        let search = Search::new(&network, &bounds, 0, 2, effort);
        let everything = search.exhaustive(UNIT / 3, 10_000).unwrap();
        let found = search.worst(seed);
        // The grid is less than a unit below the worst of periodic runs.
        println!(
            "{seed}: everything {} in {} runs, search {}",
            everything.latency, everything.runs, found.latency
        );
        all += 1;
        reached += u32::from(found.latency + UNIT > everything.latency);
        more += u32::from(found.latency > everything.latency);
    }
    println!("{reached} of {all} reached, {more} exceeded");
    assert!(all >= 10);
    assert_eq!(reached, all);
}

#[test]
fn too_much_is_refused() {
    let network = small(0);
    let bounds = Bounds::default();
    let search = Search::new(&network, &bounds, 0, 2, Effort::default());
    assert_eq!(search.exhaustive(0, 1000), Err(SearchError::NoStep));
    assert_eq!(search.exhaustive(1, 1_000_000), Err(SearchError::TooMany));
}
