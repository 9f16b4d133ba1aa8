//! Discovery in a class of its own: a flood does not starve it, and who floods it gains nothing.
use std::time::{Duration, Instant};

use gate::protocol::{Answer, ContractState, Request};
use gate::{Contract, Key, Kind, class};
use lab::Lab;

use crate::queues::sent;
use crate::three::{three, up};
use crate::traffic::{Counter, Flood, address, greet, send, socket};
use lab_turn::turn;

/// Four queues: best effort, two levels, control. The port to c has 20 Mb/s.
fn network() -> String {
    format!("control = {{ burst = 20_000, rate = \"4 Mb/s\" }}\n{}", three("gated"))
}

/// 4,000 bytes at once and 2 Mb/s.
const BUCKET: Contract = Contract {
    kind: Kind::Bucket,
    octets: 4_000,
    separation: 16_000_000,
    tolerance: 0,
    window: 0,
    dscp: class::CONTROL,
};

fn reserve(lab: &Lab, port: u32) {
    let (key, contract) = (Key::metatraffic(0).unwrap(), BUCKET);
    let answer = lab.gate("s1").unwrap().ask(&Request::Set { port, key, contract }).unwrap();
    assert_eq!(answer, Answer::Set { port, key, contract });
}

fn listed(lab: &Lab) -> ContractState {
    match lab.gate("s1").unwrap().ask(&Request::List).unwrap() {
        Answer::List { contracts, .. } if contracts.len() == 1 => contracts[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flood_does_not_starve_discovery() {
    let Some(_turn) = turn() else { return };
    let lab = up(&network());
    greet(&lab, "a", "c");
    greet(&lab, "b", "c");
    let _sink = socket(&lab, "c", 5_001, 0);
    // Three times what the port carries, so that two frames of three are lost.
    let flood = Flood::start(socket(&lab, "b", 0, 0), address(&lab, "c", 5_001), 60_000_000);
    let mut came = [false, true].map(|reserved| {
        if reserved {
            reserve(&lab, 1);
        }
        let counter = Counter::on(socket(&lab, "c", 7_410, 0));
        // Half of the bucket's rate.
        send(&socket(&lab, "a", 0, 0), address(&lab, "c", 7_410), 200, 300, Duration::from_millis(2));
        counter.numbers().len()
    });
    flood.stop();
    let counters = listed(&lab).counters;
    assert_eq!((counters.frames, counters.excess, counters.dropped()), (300, 0, 0));
    // A stall of the machine may cost some.
    assert!(came[1] > 290, "with the class: {came:?}");
    // A pause of the machine may be one of the flood.
    came[0] += came[0] / 2;
    assert!(came[0] < came[1], "without the class: {came:?}, and half as much more is counted");
}

#[test]
fn who_floods_discovery_with_the_codepoint_of_control_gets_its_bucket_and_no_more() {
    let Some(_turn) = turn() else { return };
    let lab = up(&network());
    greet(&lab, "a", "c");
    greet(&lab, "b", "c");
    let control = |lab: &Lab| sent(lab, 3)[3];
    let before = control(&lab);
    let begun = Instant::now();
    reserve(&lab, 2);
    let _sinks = [7_400, 5_000].map(|port| socket(&lab, "c", port, 0));
    let flood = Flood::start(socket(&lab, "b", 0, class::CONTROL), address(&lab, "c", 7_400), 60_000_000);
    // Who is no discovery, or has no bucket, gains nothing at all by the same mark.
    let others = [socket(&lab, "b", 0, class::CONTROL), socket(&lab, "a", 0, class::CONTROL)];
    send(&others[0], address(&lab, "c", 5_000), 64, 200, Duration::from_millis(2));
    send(&others[1], address(&lab, "c", 7_400), 64, 200, Duration::from_millis(2));
    let flooded = flood.stop();
    let counters = listed(&lab).counters;
    let passed = u64::try_from(begun.elapsed().as_nanos()).unwrap();
    assert!(counters.octets <= BUCKET.most_in(passed), "{counters:?} in {passed} ns");
    assert!(counters.frames > 10 && counters.excess > counters.frames, "{counters:?} of {flooded}");
    assert!(counters.frames + counters.excess <= flooded, "{counters:?} of {flooded}");
    // These frames went before all others by the next stop's count, and nothing else did. Some are lost if a stall of the machine lets the
    // flood fill the socket by which the switch receives.
    let after = control(&lab);
    let went = after.1 - before.1;
    assert!(went <= counters.frames && went > 10, "{went} frames of {counters:?}");
    assert_eq!(after.2, 0);
}
