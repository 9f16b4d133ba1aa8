//! What is played with every implementation, in both directions.
use std::time::{Duration, Instant};

use crate::program::PATIENCE;
use crate::stage::{Stage, Terms, nothing_left};

/// Samples of a few instances arrive once each, whole, and in order within the instance.
pub(crate) fn stream(stage: &Stage) {
    let (mut writer, mut reader) = stage.start_both();
    for number in 1..=5 {
        for key in stage.terms.keys() {
            writer.order(&format!("write {key} {number} {}", 10 * number));
        }
    }
    for number in 1..=5 {
        for key in stage.terms.keys() {
            reader.expect(&stage.terms.sample(key, number, 10 * number));
        }
    }
    if stage.terms.reliable {
        writer.order("acknowledged");
    }
    stage.end(writer, reader);
}

/// Samples too large for a datagram arrive whole.
pub(crate) fn large(stage: &Stage) {
    let [key, ..] = stage.terms.keys();
    let (mut writer, mut reader) = stage.start_both();
    for number in 1..=3 {
        writer.order(&format!("write {key} {number} 100000"));
        // Two at once may be too much for the socket of a peer; then it has to ask for the rest.
        if !stage.terms.reliable {
            reader.expect(&stage.terms.sample(key, number, 100_000));
        }
    }
    for number in (1..=3).filter(|_| stage.terms.reliable) {
        reader.expect(&stage.terms.sample(key, number, 100_000));
    }
    if stage.terms.reliable {
        writer.order("acknowledged");
    }
    stage.end(writer, reader);
}

/// The content filter of [`filtered`].
pub(crate) const FILTER: &[&str] = &["x >= %0 AND color <> 'GREEN'", "3"];
/// Samples that do not pass, in [`filtered_at_the_writer`].
const KEPT_AWAY: u64 = 300;

/// What passes the reader's filter arrives, large samples too, and nothing else; so does the end of an instance.
pub(crate) fn filtered(stage: &Stage) {
    let (mut writer, mut reader) = stage.start_both();
    let [first, green, last] = stage.terms.keys();
    for (number, size) in [(1, 10), (2, 100_000), (3, 20), (4, 100_000), (1, 30), (5, 40)] {
        for key in [first, green, last] {
            writer.order(&format!("write {key} {number} {size}"));
        }
        for key in [first, last].into_iter().filter(|_| number >= 3) {
            reader.expect(&stage.terms.sample(key, number, size));
        }
    }
    writer.order("acknowledged");
    writer.order(&format!("dispose {first}"));
    // The program of Fast DDS 3 does not know the key.
    reader.wait("disposed", |line| line.starts_with("disposed"));
    writer.order("acknowledged");
    stage.end(writer, reader);
}

/// What does not pass does not leave the writer's side of a cable.
pub(crate) fn filtered_at_the_writer(stage: &Stage) {
    let (mut writer, mut reader) = stage.start_both();
    let [key, ..] = stage.terms.keys();
    let before = stage.sent();
    for _ in 0..KEPT_AWAY {
        writer.order(&format!("write {key} 1 1000"));
    }
    writer.order(&format!("write {key} 7 10"));
    reader.expect(&stage.terms.sample(key, 7, 10));
    writer.order("acknowledged");
    let sent = stage.sent() - before;
    assert!(sent < KEPT_AWAY / 2, "{sent} packets for {KEPT_AWAY} samples that do not pass");
    stage.end(writer, reader);
}

/// So does a picture of a camera, with the limits that both have by themselves.
pub(crate) fn picture(stage: &Stage) {
    let [key, ..] = stage.terms.keys();
    let (mut writer, mut reader) = stage.start_both();
    writer.order(&format!("write {key} 1 2000000"));
    reader.expect(&stage.terms.sample(key, 1, 2_000_000));
    writer.order("acknowledged");
    stage.end(writer, reader);
}

/// So they do if parts of them are lost.
pub(crate) fn large_with_losses(stage: &Stage) {
    large(stage);
    assert!(stage.lost() > 0, "nothing was lost, so that nothing was shown");
}

/// An instance ends and begins again, while another goes on.
pub(crate) fn dispose(stage: &Stage) {
    end_of_instance(stage, "dispose", "disposed");
}

/// Likewise, when the writer has no more to say about it.
pub(crate) fn unregister(stage: &Stage) {
    end_of_instance(stage, "unregister", "no-writers");
}

/// The last value of an instance, and its end, in one.
pub(crate) fn disposed_with_last_value(stage: &Stage) {
    let [key, ..] = stage.terms.keys();
    let (mut writer, mut reader) = stage.start_both();
    writer.order(&format!("write {key} 1 10"));
    reader.expect(&stage.terms.sample(key, 1, 10));
    writer.order(&format!("write-dispose {key} 2 20"));
    reader.expect(&stage.terms.sample(key, 2, 20));
    reader.expect(&format!("disposed {key}"));
    stage.end(writer, reader);
}

/// Packets a second from an idle writer of ours, at most.
const IDLE: u64 = 10;
/// Seconds in which they are counted: nothing tells that nothing will come.
const SECONDS: u64 = 3;

/// When all is written and acknowledged, the writer's side is silent, whatever the other one answers.
pub(crate) fn silent_when_idle(stage: &Stage) {
    let [key, ..] = stage.terms.keys();
    let (mut writer, mut reader) = stage.start_both();
    for number in 1..=3 {
        writer.order(&format!("write {key} {number} 10"));
        reader.expect(&stage.terms.sample(key, number, 10));
    }
    writer.order("acknowledged");
    stage.must_be_idle();
    stage.end(writer, reader);
}

impl Stage {
    /// Hardly anything leaves the writer's side of a cable in some time, once what is still said because of samples is said.
    pub(crate) fn must_be_idle(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let before = self.sent();
            std::thread::sleep(Duration::from_secs(SECONDS));
            let sent = self.sent() - before;
            if sent <= IDLE * SECONDS {
                return;
            }
            assert!(Instant::now() < end, "{sent} packets in {SECONDS} s from an idle writer");
        }
    }
}

fn end_of_instance(stage: &Stage, command: &str, event: &str) {
    let (mut writer, mut reader) = stage.start_both();
    for key in stage.terms.keys() {
        writer.order(&format!("write {key} 1 10"));
        reader.expect(&stage.terms.sample(key, 1, 10));
    }
    let [_, ended, _] = stage.terms.keys();
    writer.order(&format!("{command} {ended}"));
    reader.expect(&format!("{event} {ended}"));
    for key in stage.terms.keys() {
        writer.order(&format!("write {key} 2 10"));
        reader.expect(&stage.terms.sample(key, 2, 10));
    }
    writer.order("acknowledged");
    stage.end(writer, reader);
}

/// A reader that comes late gets what a writer has kept for it, then what is new.
pub(crate) fn late(stage: &Stage) {
    let mut writer = stage.start_writer();
    for key in stage.terms.keys() {
        writer.order(&format!("write {key} 1 10"));
        writer.order(&format!("write {key} 2 3000"));
    }
    let mut reader = stage.start_reader();
    for key in stage.terms.keys() {
        reader.expect(&stage.terms.sample(key, 1, 10));
        reader.expect(&stage.terms.sample(key, 2, 3000));
    }
    writer.expect("matched 1");
    reader.expect("matched 1");
    let [key, ..] = stage.terms.keys();
    writer.order(&format!("write {key} 3 10"));
    reader.expect(&stage.terms.sample(key, 3, 10));
    writer.order("acknowledged");
    stage.end(writer, reader);
}

/// Both are out of reach for longer than their leases: the reader goes on where it was.
pub(crate) fn returns(stage: &Stage) {
    let (mut writer, mut reader) = stage.start_both();
    let keys = stage.terms.keys();
    for (key, number) in keys.into_iter().flat_map(|key| [(key, 1), (key, 2)]) {
        writer.order(&format!("write {key} {number} 10"));
        reader.expect(&stage.terms.sample(key, number, 10));
    }
    writer.order("acknowledged");
    stage.cut(true);
    writer.expect("matched 0");
    reader.expect("matched 0");
    let [key, ..] = keys;
    writer.order(&format!("write {key} 3 10"));
    stage.cut(false);
    writer.expect("matched 1");
    reader.expect("matched 1");
    reader.expect(&stage.terms.sample(key, 3, 10));
    writer.order(&format!("write {key} 4 10"));
    reader.expect(&stage.terms.sample(key, 4, 10));
    writer.order("acknowledged");
    stage.end(writer, reader);
}

/// Best effort offered, reliable asked for: both sides name the policy, and nothing is matched.
pub(crate) fn reliability_refused(stage: &Stage) {
    refused(stage, Terms { reliable: false, ..stage.terms }, "incompatible 11");
}

/// Volatile offered, transient local asked for.
pub(crate) fn durability_refused(stage: &Stage) {
    refused(stage, Terms { transient_local: false, ..stage.terms }, "incompatible 2");
}

/// One version of XCDR offered, the other asked for.
pub(crate) fn encoding_refused(stage: &Stage) {
    refused(stage, Terms { xcdr: 3 - stage.terms.xcdr, ..stage.terms }, "incompatible 23");
}

/// A member of the topic's type has another type on the other side.
pub(crate) fn types_refused(stage: &Stage) {
    refused(stage, stage.terms, "inconsistent 1");
}

fn refused(stage: &Stage, offered: Terms, event: &str) {
    let (mut writer, mut reader) = (stage.start_writer_with(offered), stage.start_reader());
    writer.expect(event);
    reader.expect(event);
    nothing_left(writer);
    nothing_left(reader);
}
