//! The wire behind a port: holds every frame for a time, and loses some.
use std::collections::VecDeque;

use super::port::Frame;

/// The most frames on a wire, in each direction.
const MOST: usize = 16_384;

/// A wire in one direction. Times are nanoseconds of the caller's clock.
#[derive(Debug)]
pub(crate) struct Wire {
    delay: u64,
    /// Frames of a million that are lost.
    loss: u32,
    frames: VecDeque<(u64, Frame)>,
    random: u64,
}

impl Wire {
    pub(crate) fn new(delay: u64, loss: u32, seed: u64) -> Self {
        Self { delay, loss, frames: VecDeque::new(), random: seed | 1 }
    }

    /// A frame comes on the wire. What is given back is lost.
    pub(crate) fn accept(&mut self, at: u64, frame: Frame) -> Option<Frame> {
        if self.loses() || self.frames.len() >= MOST {
            return Some(frame);
        }
        self.frames.push_back((at.saturating_add(self.delay), frame));
        None
    }

    /// When the next frame is at the other end.
    pub(crate) fn due(&self) -> Option<u64> {
        self.frames.front().map(|(due, _)| *due)
    }

    /// A frame that is at the other end by now, and when it is.
    pub(crate) fn next(&mut self, now: u64) -> Option<(u64, Frame)> {
        self.frames.pop_front_if(|(due, _)| *due <= now)
    }

    /// xorshift64: the same frames are lost each time.
    fn loses(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % 1_000_000 < u64::from(self.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: u64 = 5_000_000;

    #[test]
    fn frames_leave_in_order_after_the_delay() {
        let mut wire = Wire::new(DELAY, 0, 1);
        assert_eq!(wire.accept(7, b"one".to_vec()), None);
        assert_eq!(wire.accept(7 + DELAY / 2, b"two".to_vec()), None);
        assert_eq!(wire.due(), Some(7 + DELAY));
        assert_eq!(wire.next(7 + DELAY - 1), None);
        assert_eq!(wire.next(7 + DELAY), Some((7 + DELAY, b"one".to_vec())));
        assert_eq!(wire.next(7 + DELAY), None);
        assert_eq!(wire.next(7 + DELAY * 2), Some((7 + DELAY + DELAY / 2, b"two".to_vec())));
        assert_eq!(wire.due(), None);
    }

    #[test]
    fn so_many_are_lost_and_no_more_are_kept_than_there_is_room_for() {
        let mut wire = Wire::new(DELAY, 100_000, 1);
        let lost = (0..10_000).filter(|_| wire.accept(0, b"frame".to_vec()).is_some()).count();
        assert!((800..1_200).contains(&lost), "{lost}");
        let mut wire = Wire::new(DELAY, 0, 1);
        let lost = (0..=MOST).filter(|_| wire.accept(0, b"frame".to_vec()).is_some()).count();
        assert_eq!((lost, wire.frames.len()), (1, MOST));
    }
}
