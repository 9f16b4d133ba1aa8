//! An egress port with its link: queues in strict priority, served one frame after the other at the rate of the link.
//!
//! Times are those of a clock that the caller keeps. What happens between two calls is worked out as it would have happened
//! at the time: a frame that was served late is no reason for the next one to be later.
//!
//! A port whose link had nothing to carry while those stood still who feed it makes up for that: a real switch would not have stood
//! still, and what it would have sent meanwhile comes in a heap. If that had to wait in a busy port it would take many times the
//! stall until it is gone.
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::classes::Queues;

/// Octets of the shortest frame without what is around it on the wire.
const SHORTEST: u64 = 60;
/// Octets around a frame on the wire: check sequence, preamble, gap.
const AROUND: u64 = 24;
/// Codepoints there are.
const CODEPOINTS: usize = 64;
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// A frame, from destination address to payload.
pub(crate) type Frame = Vec<u8>;

/// What a queue has done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct QueueCount {
    /// The codepoint of its frames.
    pub dscp: u8,
    /// Frames that it has sent.
    pub sent: u64,
    /// Frames for which it had no room.
    pub dropped: u64,
}

/// A port.
#[derive(Debug)]
pub(crate) struct Port {
    rate: u64,
    head_drop: bool,
    /// The lowest first.
    queues: Vec<Waiting>,
    /// The queue of each codepoint.
    places: [usize; CODEPOINTS],
    /// When the link has sent the last frame.
    free: u64,
    /// The frame on the link, and when its last bit has left.
    leaving: Option<(u64, usize, Frame)>,
    /// Time of a stall that the link may still make up for, and until when.
    idle: u64,
    idle_until: u64,
}

/// A queue of frames, with the times when they came.
#[derive(Debug)]
struct Waiting {
    room: usize,
    frames: VecDeque<(u64, Frame)>,
    count: QueueCount,
}

impl Port {
    pub(crate) fn new(queues: &Queues) -> Self {
        let mut places = [0; CODEPOINTS];
        for (index, queue) in queues.queues.iter().enumerate() {
            if let Some(place) = places.get_mut(usize::from(queue.dscp)) {
                *place = index;
            }
        }
        let waiting = queues.queues.iter().map(|queue| Waiting {
            room: usize::try_from(queue.frames).unwrap_or(usize::MAX),
            frames: VecDeque::new(),
            count: QueueCount { dscp: queue.dscp, ..QueueCount::default() },
        });
        Self {
            rate: queues.rate.max(1),
            head_drop: queues.head_drop,
            queues: waiting.collect(),
            places,
            free: 0,
            leaving: None,
            idle: 0,
            idle_until: 0,
        }
    }

    /// Those who feed it stood still until `now`, for `time`. What the link did not carry meanwhile it may carry at twice its rate, for as
    /// long again.
    pub(crate) fn fed_late(&mut self, now: u64, time: u64) {
        self.begin(now);
        let from = now.saturating_sub(time).max(self.free);
        self.idle = if self.leaving.is_some() { 0 } else { now.saturating_sub(from) };
        self.idle_until = now.saturating_add(time);
    }

    /// A frame has come, at `came`, which is not before the last one. What is given back has found no room: this frame, or the one
    /// that it took the place of.
    pub(crate) fn accept(&mut self, came: u64, frame: Frame) -> Option<Frame> {
        // What the link had begun by then is not in a queue any more.
        self.begin(came);
        let place = codepoint(&frame).and_then(|dscp| self.places.get(usize::from(dscp))).copied();
        let Some(queue) = self.queues.get_mut(place.unwrap_or(0)) else { return Some(frame) };
        if queue.frames.len() < queue.room {
            queue.frames.push_back((came, frame));
            return None;
        }
        queue.count.dropped += 1;
        let Some(_) = queue.frames.front().filter(|_| self.head_drop) else { return Some(frame) };
        queue.frames.push_back((came, frame));
        queue.frames.pop_front().map(|(_, oldest)| oldest)
    }

    /// When something is to be done next: the frame on the link has left, or another one can begin.
    pub(crate) fn due(&mut self, now: u64) -> Option<u64> {
        self.begin(now);
        let waits = self.queues.iter().any(|queue| !queue.frames.is_empty());
        self.leaving.as_ref().map(|(due, ..)| *due).or_else(|| waits.then_some(self.free))
    }

    /// The next frame that has left by now, or leaves within `early` from now, and when that is.
    pub(crate) fn next(&mut self, now: u64, early: u64) -> Option<(u64, Frame)> {
        self.begin(now);
        let (due, queue, frame) = self.leaving.take_if(|(due, ..)| *due <= now.saturating_add(early))?;
        self.free = due;
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.count.sent += 1;
        }
        Some((due, frame))
    }

    /// Since when the link has had nothing to carry; `None` if something is on it or waits.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        let waits = self.queues.iter().any(|queue| !queue.frames.is_empty());
        (self.leaving.is_none() && !waits).then_some(self.free)
    }

    pub(crate) fn counts(&self) -> Vec<QueueCount> {
        self.queues.iter().map(|queue| queue.count).collect()
    }

    /// Puts the next frame on the link if that is free and one has come: when it became free, or when the first one came after
    /// that; then the highest of those that were there.
    fn begin(&mut self, now: u64) {
        if self.leaving.is_some() || self.free > now {
            return;
        }
        let first = self.queues.iter().filter_map(|queue| queue.frames.front().map(|(came, _)| *came)).min();
        let Some(first) = first else { return };
        let start = first.max(self.free);
        let there = |queue: &Waiting| queue.frames.front().is_some_and(|(came, _)| *came <= start);
        let Some(highest) = self.queues.iter().rposition(there) else { return };
        let taken = self.queues.get_mut(highest).and_then(|queue| queue.frames.pop_front());
        if let Some((_, frame)) = taken {
            let bits = (SHORTEST.max(frame.len() as u64) + AROUND) * 8;
            let time = (bits * SECOND).div_ceil(self.rate);
            let saved = if start < self.idle_until { self.idle.min(time / 2) } else { 0 };
            self.idle -= saved;
            self.leaving = Some((start + time - saved, highest, frame));
        }
    }
}

/// The codepoint of an untagged IPv4 frame.
fn codepoint(frame: &[u8]) -> Option<u8> {
    match frame.get(12..16)? {
        [0x08, 0x00, version, service] if version >> 4 == 4 => Some(service >> 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::{Purpose, Queue};

    const LOW: u8 = 0;
    const HIGH: u8 = 46;
    /// Nanoseconds of a frame of 101 octets, 125 on the wire, at 100 Mb/s.
    const FRAME: u64 = 10_000;

    fn port(room: u64, head_drop: bool) -> Port {
        let queue = |purpose, dscp, class| Queue { purpose, dscp, frames: room, class };
        let queues = vec![queue(Purpose::BestEffort, LOW, 1), queue(Purpose::Level(0), HIGH, 2)];
        Port::new(&Queues { rate: 100_000_000, queues, head_drop })
    }

    fn frame(dscp: u8, number: u8) -> Frame {
        let mut frame = vec![number; 101];
        frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, dscp << 2]);
        frame
    }

    fn left(port: &mut Port, now: u64) -> Vec<(u64, u8)> {
        std::iter::from_fn(|| port.next(now, 0)).map(|(due, frame)| (due, frame[0])).collect()
    }

    #[test]
    fn frames_leave_one_after_the_other_at_the_rate_of_the_link() {
        let mut port = port(9, false);
        assert_eq!((port.due(5), port.idle_since()), (None, Some(0)));
        for number in 0..3 {
            assert_eq!(port.accept(1_000, frame(LOW, number)), None);
        }
        assert_eq!((port.due(1_000), port.idle_since()), (Some(1_000 + FRAME), None));
        assert_eq!(left(&mut port, 1_000 + FRAME - 1), []);
        assert_eq!(left(&mut port, 1_000 + FRAME), [(1_000 + FRAME, 0)]);
        assert!(port.next(1_000 + 2 * FRAME - 100, 99).is_none());
        // Whoever comes late finds what should have left at its time.
        assert_eq!(left(&mut port, 90_000), [(1_000 + 2 * FRAME, 1), (1_000 + 3 * FRAME, 2)]);
        assert_eq!(port.idle_since(), Some(1_000 + 3 * FRAME));
        // An idle link begins when a frame comes, and the shortest one takes the time of 84 octets.
        assert_eq!(port.accept(100_000, vec![0; 20]), None);
        assert_eq!(port.due(100_000), Some(100_000 + 84 * 80));
    }

    #[test]
    fn the_highest_of_those_that_are_there_goes_first_and_waits_for_the_one_on_the_link() {
        let mut port = port(9, false);
        for (came, dscp, number) in [(0, LOW, 0), (0, LOW, 1), (5_000, HIGH, 2), (29_999, HIGH, 3)] {
            assert_eq!(port.accept(came, frame(dscp, number)), None);
        }
        let times = [(FRAME, 0), (2 * FRAME, 2), (3 * FRAME, 1), (4 * FRAME, 3)];
        assert_eq!(left(&mut port, 100_000), times);
        let counts: Vec<(u8, u64)> = port.counts().iter().map(|count| (count.dscp, count.sent)).collect();
        assert_eq!(counts, [(LOW, 2), (HIGH, 2)]);
    }

    #[test]
    fn a_frame_that_is_handed_over_early_keeps_the_link_for_its_time() {
        let mut port = port(9, false);
        for number in 0..2 {
            assert_eq!(port.accept(0, frame(LOW, number)), None);
        }
        assert_eq!(port.next(FRAME - 100, 100).map(|(due, _)| due), Some(FRAME));
        assert_eq!(port.due(FRAME - 100), Some(FRAME));
        // Who comes before the link is free is not late.
        assert_eq!(port.accept(FRAME - 1, frame(HIGH, 2)), None);
        assert_eq!(left(&mut port, 100_000), [(2 * FRAME, 2), (3 * FRAME, 1)]);
    }

    #[test]
    fn a_full_queue_drops_its_newest_or_its_oldest() {
        for (head_drop, lost, kept) in [(false, 3, [1, 2]), (true, 1, [2, 3])] {
            let mut port = port(2, head_drop);
            // The first one is on the link at once.
            for number in 0..3 {
                assert_eq!(port.accept(0, frame(HIGH, number)), None);
            }
            assert_eq!(port.accept(0, frame(HIGH, 3)).map(|frame| frame[0]), Some(lost));
            assert_eq!(port.accept(0, frame(LOW, 4)), None);
            let numbers: Vec<u8> = left(&mut port, 100_000).iter().map(|(_, number)| *number).collect();
            assert_eq!(numbers, [0, kept[0], kept[1], 4]);
            assert_eq!(port.counts()[1], QueueCount { dscp: HIGH, sent: 3, dropped: 1 });
        }
        // A queue without room takes nothing.
        assert!(port(0, true).accept(0, frame(LOW, 1)).is_some());
    }

    #[test]
    fn a_link_makes_up_for_what_it_did_not_carry_while_those_who_feed_it_stood_still() {
        // It was busy for half of the stall, until 10,000.
        let mut port = port(99, false);
        assert_eq!(port.accept(0, frame(LOW, 0)), None);
        assert_eq!(left(&mut port, FRAME), [(FRAME, 0)]);
        port.fed_late(2 * FRAME, 2 * FRAME);
        for number in 1..5 {
            assert_eq!(port.accept(2 * FRAME, frame(LOW, number)), None);
        }
        let half = FRAME / 2;
        let times = [(5, 1), (6, 2), (8, 3), (10, 4)].map(|(halves, number)| (halves * half, number));
        assert_eq!(left(&mut port, 99 * FRAME), times);
        // It does so for as long again as the stall was, and not at all if it was busy.
        port.fed_late(200 * FRAME, 2 * FRAME);
        assert_eq!(port.accept(202 * FRAME, frame(LOW, 0)), None);
        port.fed_late(202 * FRAME + 1, FRAME);
        assert_eq!(port.accept(202 * FRAME + 1, frame(LOW, 1)), None);
        assert_eq!(left(&mut port, 999 * FRAME), [(203 * FRAME, 0), (204 * FRAME, 1)]);
    }

    #[test]
    fn what_has_no_codepoint_of_a_queue_is_in_the_lowest() {
        let mut port = port(1, false);
        for frame in [frame(17, 0), vec![0; 60], Vec::new()] {
            port.accept(0, frame);
        }
        assert_eq!(port.counts()[0].dropped, 1);
        assert_eq!(
            (port.counts()[1], left(&mut port, 99_999).len()),
            (QueueCount { dscp: HIGH, ..QueueCount::default() }, 2)
        );
    }
}
