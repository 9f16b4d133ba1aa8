//! Table II of the MIDAS paper on one gigabit switch: the simulator reaches the worst cases that theory gives.

use super::networks::{GIGABIT, MILLISECOND, one_switch, table_two};
use frames::{Bounds, Contract, Counts, Effort, Flow, Network, Policer, Search};

fn worst(network: &Network) -> [u64; 3] {
    [0, 1, 2].map(|flow| {
        let effort = Effort { frames: 4000, ..Effort::default() };
        Search::new(network, &Bounds::default(), flow, 1, effort).worst(0).latency
    })
}

/// Within a share of `expected` in parts per million below it, and not above.
fn reaches(found: u64, expected: u64, parts: u64) -> bool {
    found <= expected && (expected - found) * 1_000_000 <= expected * parts
}

#[test]
fn each_topic_on_its_own_level() {
    let found = worst(&one_switch(table_two([3, 2, 1], 0)));
    println!("{found:?} ps");
    for (found, expected) in found.into_iter().zip([1_631_312_000, 2_434_160_000, 2_969_392_000]) {
        assert!(reaches(found, expected, 2000), "{found} of {expected}");
    }
}

/// T2 never waits for all of T1, although they share a queue: its frames come one after the other over its own link,
/// so that its last one finds no more than twice its own message.
#[test]
fn two_topics_in_one_queue() {
    let found = worst(&one_switch(table_two([2, 2, 1], 0)));
    println!("{found:?} ps");
    for (found, expected) in found.into_iter().zip([2_434_160_000, 1_630_304_000, 2_969_392_000]) {
        assert!(reaches(found, expected, 2000), "{found} of {expected}");
    }
}

/// Release jitter of 100 us lets a second message of T1 and T2 into the window of T3.
#[test]
fn jitter_lets_more_messages_in() {
    let found = worst(&one_switch(table_two([3, 2, 1], MILLISECOND / 10)));
    println!("{found:?} ps");
    assert!(reaches(found[2], 5_354_336_000 + 24_608_000, 1000), "{}", found[2]);
    let found = worst(&one_switch(table_two([3, 2, 1], MILLISECOND)));
    println!("{found:?} ps");
    assert!(reaches(found[1], 4_016_256_000 + 24_608_000, 1000), "{}", found[1]);
    assert!(reaches(found[2], 7_763_888_000 + 24_608_000, 1000), "{}", found[2]);
}

/// A babbling source behind a policer that is made for its contract.
fn babbling(level: u8, flow: Flow, gate: bool) -> (u8, Flow) {
    let (bytes, period) = (flow.bytes(), flow.separation());
    let policer = if gate {
        Policer::Gate { bytes, window: bytes * GIGABIT, separation: period, tolerance: 0 }
    } else {
        Policer::Meter { burst: bytes, bytes, period, counts: Counts::Wire, tick: MILLISECOND }
    };
    (level, Flow { policer: Some(policer), babbles: true, ..flow })
}

fn with_babblers(count: usize, gate: bool) -> Network {
    let flows = table_two([3, 2, 1], 0).into_iter().enumerate();
    one_switch(
        flows
            .map(|(index, (l, flow))| if index < count { babbling(l, flow, gate) } else { (l, flow) })
            .collect(),
    )
}

/// A gate keeps what was promised to the others; a meter does not, although both let the same rate through.
#[test]
fn babblers_behind_gates_and_meters() {
    let [_, behind_gate, _] = worst(&with_babblers(1, true));
    let [_, _, behind_gates] = worst(&with_babblers(2, true));
    let [_, behind_meter, _] = worst(&with_babblers(1, false));
    let [_, _, behind_meters] = worst(&with_babblers(2, false));
    println!("{behind_gate} {behind_gates} {behind_meter} {behind_meters} ps");
    assert!(reaches(behind_gate, 2_434_160_000, 1000));
    assert!(reaches(behind_gates, 2_969_392_000, 1000));
    assert!(reaches(behind_meter, 5_227_000_000, 10_000), "{behind_meter}");
    assert!(reaches(behind_meters, 15_037_000_000, 10_000), "{behind_meters}");
}

/// The same, when the sources of the upper levels are greedy but keep to their bucket.
#[test]
fn greedy_buckets() {
    let flows = table_two([3, 2, 1], 0).into_iter().enumerate();
    let bucket = |flow: Flow| {
        let (bytes, period) = (flow.bytes(), flow.separation());
        Flow { contract: Contract::Bucket { burst: bytes, bytes, period }, ..flow }
    };
    let network = one_switch(
        flows.map(|(index, (level, flow))| (level, if index < 2 { bucket(flow) } else { flow })).collect(),
    );
    let [_, _, found] = worst(&network);
    println!("{found} ps");
    assert!(reaches(found, 15_037_000_000, 10_000), "{found}");
}
