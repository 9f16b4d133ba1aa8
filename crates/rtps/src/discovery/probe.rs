//! What a probe asks and what answers it: a window of numbers of the liveliness writer of which a random part is irrelevant.
//!
//! A probe is a GAP that names the irrelevant numbers and a HEARTBEAT over the whole window. A reliable reader answers with an ACKNACK
//! that asks for exactly the other numbers: only a participant that received the probe knows which they are.
use wire::message::{Gap, Header, Heartbeat};
use wire::{EntityId, SequenceNumber, SequenceNumberSet};

/// Bytes of a probe that leaves alone: header, INFO_DST, GAP, HEARTBEAT.
pub(super) const PROBE_LEN: u64 = (Header::LEN + 16 + 40 + 32) as u64;

/// The window of one probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    first: SequenceNumber,
    /// Bit i: number `first` + i is irrelevant. The first number always is, so that the GAP is in its plainest form; the last never is,
    /// so that there is something to ask for.
    gaps: u64,
}

impl Window {
    /// How many numbers it has.
    pub(super) const LEN: u64 = 64;

    /// The window that begins at `first`; 62 of the random bits decide which numbers are irrelevant.
    pub(super) const fn new(first: SequenceNumber, random: u64) -> Self {
        Self { first, gaps: random & !(1 << (Self::LEN - 1)) | 1 }
    }

    /// Its last number.
    pub(super) const fn last(&self) -> SequenceNumber {
        self.first.plus(Self::LEN - 1)
    }

    /// True if an ACKNACK with this set asks for the first number alone.
    pub(super) fn begins_with(&self, set: &SequenceNumberSet) -> bool {
        set.base() == self.first && set.iter().eq([self.first])
    }

    fn numbers(&self, irrelevant: bool) -> impl Iterator<Item = SequenceNumber> + '_ {
        let chosen = (0..Self::LEN).filter(move |at| (self.gaps >> at & 1 == 1) == irrelevant);
        chosen.map(|at| self.first.plus(at))
    }

    /// What names the irrelevant numbers.
    pub(super) fn gap(&self) -> Gap {
        let mut list = SequenceNumberSet::empty(self.first.next());
        for number in self.numbers(true) {
            // The first one is below the base.
            list.insert(number);
        }
        Gap {
            reader_id: EntityId::PARTICIPANT_MESSAGE_READER,
            writer_id: EntityId::PARTICIPANT_MESSAGE_WRITER,
            start: self.first,
            list,
        }
    }

    /// The HEARTBEAT over the window.
    pub(super) const fn heartbeat(&self, count: i32) -> Heartbeat {
        Heartbeat {
            reader_id: EntityId::PARTICIPANT_MESSAGE_READER,
            writer_id: EntityId::PARTICIPANT_MESSAGE_WRITER,
            first: self.first,
            last: self.last(),
            count,
            is_final: false,
            liveliness: false,
        }
    }

    /// True if an ACKNACK with this set answers the probe: it asks for every number that is relevant and for no other.
    pub(super) fn is_answered_by(&self, set: &SequenceNumberSet) -> bool {
        self.numbers(false).next() == Some(set.base()) && self.numbers(false).eq(set.iter())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use wire::sequence_number::Bitmap;

    use super::*;

    fn answer(window: &Window) -> SequenceNumberSet {
        let mut numbers = window.numbers(false);
        let mut set = SequenceNumberSet::empty(numbers.next().unwrap());
        set.insert(set.base());
        numbers.for_each(|number| assert!(set.insert(number)));
        set
    }

    #[test]
    fn the_answer_that_leaves_out_what_the_gap_names_is_taken() {
        for random in [0, u64::MAX, 0x1234_5678_9abc_def0, 1 << 63] {
            let window = Window::new(SequenceNumber(1_000), random);
            let gap = window.gap();
            let mut expected = Vec::new();
            for number in 1_000..1_064 {
                let is_irrelevant = number < gap.list.base().0 || gap.list.contains(SequenceNumber(number));
                expected.extend((!is_irrelevant).then_some(number));
            }
            assert!(expected.last() == Some(&1_063) && expected[0] > 1_000);
            assert_eq!((gap.start.0, window.heartbeat(1).last.0), (1_000, 1_063));
            let mut set = SequenceNumberSet::empty(SequenceNumber(expected[0]));
            expected.iter().for_each(|number| assert!(set.insert(SequenceNumber(*number))));
            assert!(window.is_answered_by(&set));
            // Positions that are counted and not set say nothing.
            let longer = Bitmap::from_words(128, *set.bitmap().words()).unwrap();
            assert!(window.is_answered_by(&SequenceNumberSet::new(set.base(), longer).unwrap()));
        }
    }

    #[test]
    fn near_misses_are_refused() {
        let window = Window::new(SequenceNumber(500), 0x00ff_13b7_7700_a5a5);
        let right = answer(&window);
        assert!(window.is_answered_by(&right));
        for position in 0..64 {
            // One bit is wrong, or the base is.
            let mut words = *right.bitmap().words();
            words[position / 32] ^= 1 << (31 - position % 32);
            let wrong = Bitmap::from_words(64, words).unwrap();
            assert!(!window.is_answered_by(&SequenceNumberSet::new(right.base(), wrong).unwrap()));
            let base = SequenceNumber(500 + position as i64);
            let shifted = SequenceNumberSet::new(base, *right.bitmap()).unwrap();
            assert_eq!(window.is_answered_by(&shifted), base == right.base());
            assert!(!window.is_answered_by(&SequenceNumberSet::empty(base)));
        }
        // More than the window, everything in it, and the answer to another one.
        let mut more = right;
        assert!(more.insert(SequenceNumber(564)) && !window.is_answered_by(&more));
        let mut all = SequenceNumberSet::empty(SequenceNumber(500));
        (500..564).for_each(|number| assert!(all.insert(SequenceNumber(number))));
        assert!(!window.is_answered_by(&all));
        assert!(!Window::new(SequenceNumber(500), 0x00ff_13b7_7700_a5e5).is_answered_by(&right));
        assert!(!Window::new(SequenceNumber(564), 0x00ff_13b7_7700_a5a5).is_answered_by(&right));
    }
}
