//! A path that swallows large frames without a word: no ICMP says so.
use std::time::Duration;

use crate::expected::faults;
use crate::program::{Got, Program};
use crate::relay::{Path, Relay};

/// Bytes of each sample: several frames of any size.
const SIZE: usize = 20_000;
/// Samples, and how long all of them may take.
const SAMPLES: u64 = 20;
const PATIENCE: Duration = Duration::from_secs(30);
/// Most frames until the path is known, and a second from then on.
const FRAMES: [u64; 2] = [8_000, 1_000];

#[test]
fn samples_find_their_way_where_large_frames_are_swallowed() {
    // 576 bytes of IP, 14 of Ethernet.
    let Some(relay) = Relay::new(Path { loss: 0, largest: 590, seed: 0 }) else { return };
    let reader = Program::start("the reader", &relay.hosts[1], "sub Swallowed");
    let mut writer = Program::start("the writer", &relay.hosts[0], "pub Swallowed");
    reader.wait("matched 1");
    writer.wait("matched 1");
    let (before, start) = (relay.frames(), std::time::Instant::now());
    for number in 1..=SAMPLES {
        writer.tell(&format!("write {number} {SIZE}"));
    }
    let came = reader.wait_within(&format!("got {SAMPLES} "), PATIENCE);
    let (frames, took) = (relay.frames() - before, start.elapsed());
    let got: Vec<Got> = reader.samples().into_iter().map(|(_, got)| got).collect();
    let faults = faults(&got, SAMPLES, SIZE);
    assert!(came.is_some() && faults.is_empty(), "{faults:#?} after {frames} frames in {took:?}");
    let allowed = FRAMES[0] + FRAMES[1] * took.as_secs();
    assert!(frames <= allowed, "{frames} frames in {took:?}");
}
