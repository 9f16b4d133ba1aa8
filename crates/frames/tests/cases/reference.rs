//! Published cases with known worst cases, at one port where the whole message arrives at once: the host's own.

use super::networks::{GIGABIT, MILLISECOND, gated, one_port, table_two};
use frames::{Bounds, Contract, Effort, Flow, Network, Search};

fn worst(network: &Network) -> Vec<u64> {
    let search = |flow| {
        let effort = Effort { frames: 6000, aligned: 12, climbing: 60, random: 4 };
        Search::new(network, &Bounds::default(), flow, 0, effort).worst(0).latency
    };
    (0..network.flows().len()).map(search).collect()
}

/// The counter-example to the CAN analysis of 1994 (Davis, Burns, Bril, Lukkien 2007): frames of one unit, periods of
/// 2.5, 3.5 and 3.5 units. The worst cases are 2, 3 and 3.5 units; the third is that of a second message.
fn can() -> Network {
    let unit = 1000 * GIGABIT;
    let flow = |separation| gated(vec![1000], separation, 0, Vec::new());
    one_port(vec![(3, flow(unit * 5 / 2)), (2, flow(unit * 7 / 2)), (1, flow(unit * 7 / 2))], 0)
}

#[test]
fn can_counter_example_by_search() {
    let found = worst(&can());
    println!("{found:?} ps");
    assert_eq!(found, [16_000_000, 24_000_000, 28_000_000]);
}

#[test]
fn can_counter_example_exhaustively() {
    // Everything is a multiple of half a unit, and there are three flows.
    let step = 500 * GIGABIT / 3 + 1;
    let network = can();
    let found = [0, 1, 2].map(|flow| {
        let bounds = Bounds::default();
        let search = Search::new(&network, &bounds, flow, 0, Effort::default());
        search.exhaustive(step, 10_000).unwrap().latency
    });
    println!("{found:?} ps");
    for (found, expected) in found.into_iter().zip([16_000_000, 24_000_000, 28_000_000_u64]) {
        assert!(found <= expected && expected - found < 500 * GIGABIT, "{found} of {expected}");
    }
}

/// Table II at one port: a message of T3 waits for T1 and T2; with best effort for one frame more.
#[test]
fn table_two_at_one_port() {
    for (jitter, best_effort, expected) in [
        (0, 0, [1_606_704_000, 2_409_552_000, 2_944_784_000_u64]),
        (0, 1538, [1_619_008_000, 2_421_856_000, 2_957_088_000]),
        (MILLISECOND / 10, 0, [1_606_704_000, 2_409_552_000, 5_354_336_000]),
        (MILLISECOND, 0, [1_606_704_000, 4_016_256_000, 7_763_888_000]),
    ] {
        let found = worst(&one_port(table_two([3, 2, 1], jitter), best_effort));
        println!("{found:?} ps");
        for (found, expected) in found.into_iter().zip(expected) {
            // Without best effort a frame of a lower level may be on the wire.
            let blocking = 1538 * GIGABIT;
            assert!(found.abs_diff(expected) <= blocking, "{found} of {expected}");
        }
    }
}

/// Whole messages that are not preempted: 2.305536, 2.817536, 2.817536 ms.
#[test]
fn table_two_without_preemption() {
    let payload = |bytes: u64, separation| gated(vec![bytes], separation * MILLISECOND, 0, Vec::new());
    let network =
        one_port(vec![(3, payload(192_192, 3)), (2, payload(96_000, 3)), (1, payload(64_000, 11))], 0);
    let found = worst(&network);
    println!("{found:?} ps");
    for (found, expected) in found.into_iter().zip([2_305_536_000, 2_817_536_000, 2_817_536_000_u64]) {
        // A limit: the search comes as near as a picosecond.
        assert!(found <= expected && expected - found <= 1, "{found} of {expected}");
    }
}

/// Token buckets, (rate, burst) = (4, 10) and (5, 25), at a server with rate 10 and latency 10: the delay of the first
/// under the second is (10 + 25 + 100) / (10 - 5) = 27 units for fluid data, and 13.5 in one queue.
/// A unit of data is 1000 bytes in frames of 100; the latency of the server is a frame that blocks.
#[test]
fn buckets_at_a_rate_latency_server() {
    let unit = 10_000 * GIGABIT;
    let bucket = |burst: u64, rate: u64| Flow {
        contract: Contract::Bucket { burst: burst * 1000, bytes: rate * 1000, period: unit },
        ..gated(vec![100], 1, 0, Vec::new())
    };
    for (levels, expected) in [([1, 2], 270), ([1, 1], 135)] {
        let flows = vec![(levels[0], bucket(10, 4)), (levels[1], bucket(25, 5))];
        let found = worst(&one_port(flows, 100_000))[0];
        println!("{found} ps: {:.3} of {}", found as f64 / unit as f64, expected as f64 / 10.0);
        let expected = expected * unit / 10;
        assert!(found <= expected && expected - found <= expected / 50, "{found} of {expected}");
    }
}

/// T2 under T1 and T3 under both, when those are greedy token buckets: 4.729421 and 12.171413 ms for fluid payloads.
/// With frames of 100 bytes the simulator comes close to that.
#[test]
fn table_two_with_buckets_at_one_port() {
    let bucket = |bytes: u64, separation: u64| {
        let contract = Contract::Bucket { burst: bytes, bytes, period: separation * MILLISECOND };
        Flow { contract, ..gated(vec![500], 1, 0, Vec::new()) }
    };
    let network = one_port(vec![(3, bucket(192_192, 3)), (2, bucket(96_000, 3)), (1, bucket(64_000, 11))], 0);
    let found = worst(&network);
    println!("{found:?} ps");
    for (found, expected) in found[1..].iter().zip([4_729_421_032, 12_171_412_773_u64]) {
        assert!(
            *found <= expected + 500 * GIGABIT && *found + expected / 100 >= expected,
            "{found} of {expected}"
        );
    }
}
