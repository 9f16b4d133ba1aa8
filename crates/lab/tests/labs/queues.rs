//! Frames go to the queue of their codepoint, and higher queues first.
use std::time::Duration;

use gate::class;
use lab::Lab;

use crate::three::{three, up};
use crate::traffic::{Counter, Flood, address, greet, send, socket};
use lab_turn::turn;

/// Frames that each class of a port has sent, and dropped, by its minor number.
pub(crate) fn sent(lab: &Lab, port: u32) -> Vec<(u32, u64, u64)> {
    let text = lab.classes("s1", port).unwrap();
    let mut found = Vec::new();
    let mut class = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["class", "htb", id, "parent", ..] => class = Some(id),
            ["Sent", _, "bytes", frames, ..] => {
                let minor = class.take().and_then(|id| id.strip_prefix("1:"));
                let minor = u32::from_str_radix(minor.unwrap_or("fffe"), 16).unwrap();
                let dropped =
                    words.iter().position(|word| *word == "(dropped").map_or("0", |at| words[at + 1]);
                let dropped = dropped.trim_end_matches(',').parse().unwrap();
                found.push((minor, frames.parse().unwrap(), dropped));
            }
            _ => {}
        }
    }
    found.retain(|(minor, ..)| *minor != 0xfffe);
    found.sort_unstable();
    found
}

#[test]
fn each_codepoint_has_its_queue() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("plain"));
    greet(&lab, "a", "c");
    let codepoints =
        [0, class::of_level(0).unwrap(), class::of_level(1).unwrap(), class::of_level(2).unwrap()];
    // What has no queue of its own goes to the lowest.
    for (dscp, queue) in codepoints.into_iter().zip(1..).chain([(63, 1), (class::CONTROL, 1)]) {
        let before = sent(&lab, 3);
        let counter = Counter::on(socket(&lab, "c", 5_000, 0));
        send(&socket(&lab, "a", 0, dscp), address(&lab, "c", 5_000), 64, 40, Duration::from_micros(500));
        assert_eq!(counter.numbers().len(), 40, "codepoint {dscp}");
        let after = sent(&lab, 3);
        assert_eq!(after.iter().map(|(minor, ..)| *minor).collect::<Vec<_>>(), [1, 2, 3, 4]);
        for ((minor, before, _), (_, after, _)) in before.into_iter().zip(after) {
            // Somebody may ask who has an address meanwhile, in the lowest.
            let more = if minor == queue {
                40..44
            } else if minor == 1 {
                0..4
            } else {
                0..1
            };
            assert!(more.contains(&(after - before)), "codepoint {dscp} queue {minor}: {}", after - before);
        }
    }
}

#[test]
fn a_flood_takes_nothing_from_higher_queues() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("plain"));
    greet(&lab, "a", "c");
    greet(&lab, "b", "c");
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    let _sink = socket(&lab, "c", 5_001, 0);
    // One and a half times what the port carries.
    let flood = Flood::start(socket(&lab, "b", 0, 0), address(&lab, "c", 5_001), 30_000_000);
    let highest = class::of_level(2).unwrap();
    send(&socket(&lab, "a", 0, highest), address(&lab, "c", 5_000), 64, 1_000, Duration::from_millis(1));
    let flooded = flood.stop();
    assert_eq!(counter.numbers().len(), 1_000, "of the assured flow");
    let classes = sent(&lab, 3);
    let (_, frames, dropped) = classes[0];
    assert!(dropped > flooded / 10, "the flood was one: {frames} sent, {dropped} dropped of {flooded}");
    assert!(classes[1..].iter().all(|(_, _, dropped)| *dropped == 0), "{classes:?}");
}
