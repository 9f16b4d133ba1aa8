//! The proof of a managed network: two and three switches in a line and three in a ring, pairs of ours, of Cyclone DDS and of Fast DDS, hosts that
//! send all that their links carry, and a link that is cut. Each sample is judged by what the manager has promised.
//!
//! What is judged is heard at the hosts of readers: when the last frame of a sample came, by the kernel's stamp, and when its program had written
//! it, by the stamp that the writer has put into the message; both are of one clock. What met a stall of the machine is told apart. Needs root, Open vSwitch
//! and the programs that `scripts/peers` installs; elsewhere the tests are passed over, but not in continuous integration. `scripts/proof` runs it three times.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod account;
mod networks;
mod packets;
mod peers;
mod stage;

use networks::Shape;
use peers::Vendor;
use stage::{Cut, Stage, interruptible};

/// How soon the samples of a pair are to come again after a link on their way has gone, in nanoseconds.
const BACK: i64 = 1_000_000_000;
/// How often samples are judged again if the machine stood still too often to tell.
const ATTEMPTS: u32 = 8;

/// Judges samples until the machine has let enough of them alone; none is lost, and none comes after its time.
fn keeps_all_promises(stage: &mut Stage) {
    let samples = usize::try_from(tiers::current().number("proof.samples")).unwrap();
    for _ in 0..ATTEMPTS {
        let judged = stage.measure(samples);
        if judged.iter().all(|(_, outcome)| outcome.disturbed * 2 < outcome.written) {
            return;
        }
        println!("  the machine stood still too often to tell; once more");
    }
    panic!("the machine stood still too often to tell, {ATTEMPTS} times");
}

/// Both vendors are there, and a lab can be built.
fn is_possible(fast: Vendor) -> bool {
    interruptible();
    Vendor::Cyclone.is_there() && fast.is_there()
}

fn in_a_flood(shape: Shape, fast: Vendor) -> Stage {
    println!("{shape:?}, {fast:?}");
    let mut stage = Stage::new(shape, fast);
    stage.babble(&shape.babblers());
    keeps_all_promises(&mut stage);
    stage
}

#[test]
fn two_switches_in_a_line_keep_all_promises_in_a_flood() {
    let Some(_turn) = lab_turn::turn() else { return };
    if is_possible(Vendor::FastDds) {
        in_a_flood(Shape::Line(2), Vendor::FastDds);
    }
}

#[test]
fn three_switches_in_a_line_keep_all_promises_in_a_flood() {
    let Some(_turn) = lab_turn::turn() else { return };
    if is_possible(Vendor::FastDds3) {
        in_a_flood(Shape::Line(3), Vendor::FastDds3);
    }
}

/// What became of a verdict.
fn told(reason: &str) -> String {
    if reason.is_empty() { "not revoked".to_owned() } else { format!("revoked: {reason}") }
}

#[test]
fn three_switches_in_a_ring_keep_all_promises_and_find_another_way_when_a_link_is_cut() {
    let Some(_turn) = lab_turn::turn() else { return };
    if !is_possible(Vendor::FastDds) {
        return;
    }
    let mut stage = in_a_flood(Shape::Ring, Vendor::FastDds);
    let cuts = stage.cut(&Shape::Ring.link());
    for Cut { topic, outage, stood_still, missing, reason } in &cuts {
        println!(
            "  {topic:<10} {missing:>3} samples are missing, in {:>4} ms; {}",
            outage / 1_000_000,
            told(reason)
        );
        let is_back = *outage <= BACK + stood_still;
        assert!(is_back || !reason.is_empty(), "{topic} is away for too long, and nothing says why");
    }
    // What was promised anew on the way that is left is kept, too.
    keeps_all_promises(&mut stage);
}
