//! An egress port with its link: queues in strict priority, served one frame after the other at the rate of the link.
//!
//! Times are the caller's. What happens between two calls is worked out as it would have happened at the time: a frame that was served late
//! is no reason for the next one to be later. One that is heard of late takes the place that it would have had before those of lower
//! queues: what of them is on the link waits, and what has left already is taken for waiting, so that it takes its time later.
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use bridge::classes::Queues;

/// Bytes of the shortest frame without what is around it on the wire.
const SHORTEST: u64 = 60;
/// Bytes around a frame on the wire: check sequence, preamble, gap.
const AROUND: u64 = 24;
/// Codepoints there are.
const CODEPOINTS: usize = 64;
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Frames that have left and may have to be taken for waiting, at most.
const PAST: usize = 64;

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
    leaving: Option<Leaving>,
    /// What has left before, the last one last.
    past: VecDeque<Leaving>,
}

/// A frame in a queue.
#[derive(Debug)]
struct Waits {
    came: u64,
    bytes: u64,
    /// `None` if it has left already, before others that came earlier and were heard of later.
    frame: Option<Frame>,
}

/// The frame on the link, or one that has left.
#[derive(Debug)]
struct Leaving {
    queue: usize,
    waited: Waits,
    /// When the link became free before, when its first bit left, and when its last one has.
    free: u64,
    began: u64,
    due: u64,
}

/// A queue of frames.
#[derive(Debug)]
struct Waiting {
    room: usize,
    frames: VecDeque<Waits>,
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
            past: VecDeque::with_capacity(PAST),
        }
    }

    /// A frame has come, at `came`, and is heard of now. What is given back has found no room: this frame, or the one that it took
    /// the place of.
    pub(crate) fn accept(&mut self, came: u64, frame: Frame) -> Option<Frame> {
        // What the link had begun by then is not in a queue any more.
        self.begin(came);
        let place =
            codepoint(&frame).and_then(|dscp| self.places.get(usize::from(dscp))).copied().unwrap_or(0);
        self.take_back(place, came);
        let Some(queue) = self.queues.get_mut(place) else { return Some(frame) };
        // Frames of a queue do not overtake each other.
        let came = queue.frames.back().map_or(came, |last| came.max(last.came));
        let waits = |frame: Frame| Waits { came, bytes: frame.len() as u64, frame: Some(frame) };
        if queue.frames.len() < queue.room {
            queue.frames.push_back(waits(frame));
            return None;
        }
        queue.count.dropped += 1;
        let Some(_) = queue.frames.front().filter(|_| self.head_drop) else { return Some(frame) };
        queue.frames.push_back(waits(frame));
        let oldest = queue.frames.pop_front().and_then(|oldest| oldest.frame);
        // What has left is not lost.
        queue.count.dropped -= u64::from(oldest.is_none());
        oldest
    }

    /// When something is to be done next: the frame on the link has left, or another one can begin.
    pub(crate) fn due(&mut self, now: u64) -> Option<u64> {
        self.begin(now);
        let waits = self.queues.iter().any(|queue| !queue.frames.is_empty());
        self.leaving.as_ref().map(|leaving| leaving.due).or_else(|| waits.then_some(self.free))
    }

    /// The next frame that has left by now, or leaves within `early` from now, and when that is.
    pub(crate) fn next(&mut self, now: u64, early: u64) -> Option<(u64, Frame)> {
        loop {
            self.begin(now);
            let mut left = self.leaving.take_if(|leaving| leaving.due <= now.saturating_add(early))?;
            self.free = left.due;
            let (due, queue, frame) = (left.due, left.queue, left.waited.frame.take());
            if self.past.len() == PAST {
                self.past.pop_front();
            }
            self.past.push_back(left);
            if let Some(frame) = frame {
                if let Some(queue) = self.queues.get_mut(queue) {
                    queue.count.sent += 1;
                }
                return Some((due, frame));
            }
        }
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
        let first = self.queues.iter().filter_map(|queue| queue.frames.front().map(|waits| waits.came)).min();
        let Some(first) = first else { return };
        let began = first.max(self.free);
        let there = |queue: &Waiting| queue.frames.front().is_some_and(|waits| waits.came <= began);
        let Some(queue) = self.queues.iter().rposition(there) else { return };
        let taken = self.queues.get_mut(queue).and_then(|queue| queue.frames.pop_front());
        if let Some(waited) = taken {
            let bits = (SHORTEST.max(waited.bytes) + AROUND) * 8;
            let time = (bits * SECOND).div_ceil(self.rate);
            self.leaving = Some(Leaving { queue, waited, free: self.free, began, due: began + time });
        }
    }

    /// A frame for this queue came at `came`: those of lower queues that began after that would have waited for it, and what followed them
    /// would have been later, too.
    fn take_back(&mut self, place: usize, came: u64) {
        let after = self.past.partition_point(|past| past.began <= came);
        let lower = self.past.iter().skip(after).position(|past| past.queue < place);
        let on_link =
            self.leaving.as_ref().is_some_and(|leaving| leaving.queue < place && leaving.began > came);
        if lower.is_none() && !on_link {
            return;
        }
        let first = lower.map_or(self.past.len(), |lower| after + lower);
        if let Some(leaving) = self.leaving.take() {
            self.put_back(leaving);
        }
        while self.past.len() > first {
            let Some(last) = self.past.pop_back() else { return };
            self.put_back(last);
        }
    }

    fn put_back(&mut self, leaving: Leaving) {
        self.free = leaving.free;
        if let Some(queue) = self.queues.get_mut(leaving.queue) {
            queue.frames.push_front(leaving.waited);
        }
    }
}

/// The codepoint of a frame of IPv4 or IPv6, with a tag of IEEE 802.1Q or without one.
fn codepoint(frame: &[u8]) -> Option<u8> {
    let packet = match frame.get(12..14)? {
        [0x81, 0x00] => frame.get(16..20)?,
        _ => frame.get(12..16)?,
    };
    match packet {
        [0x08, 0x00, version, service] if version >> 4 == 4 => Some(service >> 2),
        // The four bits of the version, then the eight of the class (RFC 8200, 3), of which the last two are not the codepoint's.
        [0x86, 0xdd, first, second] if first >> 4 == 6 => Some((first & 0xf) << 2 | second >> 6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge::classes::{Purpose, Queue};

    const LOW: u8 = 0;
    const HIGH: u8 = 46;
    /// Nanoseconds of a frame of 101 bytes, 125 on the wire, at 100 Mb/s.
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
        assert_eq!(port.due(5), None);
        for number in 0..3 {
            assert_eq!(port.accept(1_000, frame(LOW, number)), None);
        }
        assert_eq!(port.due(1_000), Some(1_000 + FRAME));
        assert_eq!(left(&mut port, 1_000 + FRAME - 1), []);
        assert_eq!(left(&mut port, 1_000 + FRAME), [(1_000 + FRAME, 0)]);
        assert!(port.next(1_000 + 2 * FRAME - 100, 99).is_none());
        // A thread that comes late finds what should have left, with its times.
        assert_eq!(left(&mut port, 90_000), [(1_000 + 2 * FRAME, 1), (1_000 + 3 * FRAME, 2)]);
        // An idle link begins when a frame comes, and the shortest one takes the time of 84 bytes.
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
    fn a_frame_that_is_heard_of_late_takes_the_place_that_it_would_have_had() {
        let mut port = port(9, false);
        for number in 0..2 {
            assert_eq!(port.accept(1_000, frame(LOW, number)), None);
        }
        assert_eq!(left(&mut port, 1_000 + FRAME), [(1_000 + FRAME, 0)]);
        // The second one is on the link by now, and would have waited; one on the link at the time goes on.
        assert_eq!(port.due(2_000 + FRAME), Some(1_000 + 2 * FRAME));
        assert_eq!(port.accept(FRAME, frame(HIGH, 2)), None);
        assert_eq!(port.accept(1_500 + 2 * FRAME, frame(HIGH, 3)), None);
        assert_eq!(left(&mut port, 1_000 + 2 * FRAME), [(1_000 + 2 * FRAME, 2)]);
        let times = [(1_000 + 3 * FRAME, 1), (1_000 + 4 * FRAME, 3)];
        assert_eq!(left(&mut port, 99 * FRAME), times);
        // On an idle link it is sent when it would have been; what is lower has no other place.
        assert_eq!(port.accept(50 * FRAME, frame(HIGH, 4)), None);
        assert_eq!(left(&mut port, 51 * FRAME), [(51 * FRAME, 4)]);
        assert_eq!(port.accept(45 * FRAME, frame(LOW, 5)), None);
        assert_eq!(left(&mut port, 99 * FRAME), [(52 * FRAME, 5)]);
        // Those of a queue keep their order.
        for (came, number) in [(80 * FRAME, 6), (70 * FRAME, 7)] {
            assert_eq!(port.accept(came, frame(HIGH, number)), None);
        }
        assert_eq!(left(&mut port, 99 * FRAME), [(81 * FRAME, 6), (82 * FRAME, 7)]);
    }

    #[test]
    fn what_has_left_before_one_that_was_held_up_takes_its_time_later() {
        let mut port = port(2, true);
        for number in 0..2 {
            assert_eq!(port.accept(0, frame(LOW, number)), None);
        }
        assert_eq!(left(&mut port, 2 * FRAME), [(FRAME, 0), (2 * FRAME, 1)]);
        // It would have been second, and the next one third had it come in time.
        assert_eq!(port.accept(FRAME / 2, frame(HIGH, 2)), None);
        assert_eq!(port.accept(2 * FRAME, frame(LOW, 3)), None);
        assert_eq!(left(&mut port, 99 * FRAME), [(2 * FRAME, 2), (4 * FRAME, 3)]);
        assert_eq!(port.counts()[0], QueueCount { dscp: LOW, sent: 3, dropped: 0 });
        // One that has left is no loss to a queue without room.
        for number in 4..7 {
            assert_eq!(port.accept(100 * FRAME, frame(LOW, number)), None);
        }
        assert_eq!(left(&mut port, 102 * FRAME), [(101 * FRAME, 4), (102 * FRAME, 5)]);
        assert_eq!(port.accept(100 * FRAME, frame(HIGH, 7)), None);
        assert_eq!(port.accept(102 * FRAME, frame(LOW, 8)), None);
        assert_eq!(port.counts()[0].dropped, 0);
        assert_eq!(left(&mut port, 999 * FRAME).len(), 3);
    }

    #[test]
    fn whoever_is_held_up_leaves_when_it_would_have_or_when_it_is_heard_of() {
        let mut random = 5_u64;
        let mut below = |end: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) % end
        };
        for _ in 0..300 {
            let (mut ideal, mut real) = (port(999, false), port(999, false));
            let (mut came, mut heard) = (0, 0);
            // When each frame is heard of, and when it has left.
            let (mut hearing, mut leaving) = (Vec::new(), Vec::new());
            for number in 0..60 {
                came += below(2 * FRAME);
                let asked = heard;
                // A switch that keeps the order of frames and now and then stands still.
                heard = (came + if below(4) == 0 { below(9 * FRAME) } else { 0 }).max(heard);
                let dscp = if below(2) == 0 { LOW } else { HIGH };
                assert_eq!(ideal.accept(came, frame(dscp, number)), None);
                for now in (asked..heard).step_by(977) {
                    leaving
                        .extend(std::iter::from_fn(|| real.next(now, 0)).map(|(_, frame)| (frame[0], now)));
                }
                assert_eq!(real.accept(came, frame(dscp, number)), None);
                hearing.push(heard);
            }
            for now in (heard..heard + 99 * FRAME).step_by(977) {
                leaving.extend(std::iter::from_fn(|| real.next(now, 0)).map(|(_, frame)| (frame[0], now)));
            }
            assert_eq!(leaving.len(), hearing.len());
            for (due, number) in left(&mut ideal, u64::MAX) {
                let (_, at) = leaving.iter().find(|(left, _)| *left == number).unwrap();
                assert!(*at < due.max(hearing[usize::from(number)]) + 977, "{number}");
            }
            assert_eq!(real.counts(), ideal.counts());
        }
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

    #[test]
    fn codepoints_are_found_in_both_versions_of_ip_behind_a_tag_or_none() {
        let frame = |rest: &[u8]| [&[2; 12][..], rest].concat();
        let (four, six) = ([0x08, 0x00, 0x45, 0xb8], [0x86, 0xdd, 0x6b, 0x80]);
        for packet in [four, six] {
            assert_eq!(codepoint(&frame(&packet)), Some(46));
            assert_eq!(codepoint(&frame(&[&[0x81, 0x00, 0x00, 0x07], &packet[..]].concat())), Some(46));
        }
        assert_eq!(codepoint(&frame(&[0x86, 0xdd, 0x4b, 0x80])), None, "version 4");
        assert_eq!(codepoint(&frame(&[0x08, 0x06, 0x45, 0xb8])), None, "ARP");
        assert_eq!(codepoint(&frame(&[0x81, 0x00, 0x00])), None);
    }
}
