//! What one writer of liveliness messages has said, as far as an ACKNACK needs it.
//!
//! Of a repeated message only the sign of life counts, so that no more than the last numbers is remembered: what the writer says last is so.
use wire::message::{Gap, Heartbeat};
use wire::sequence_number::Bitmap;
use wire::{SequenceNumber, SequenceNumberSet};

/// Positions of a set.
const MAX_MISSING: u64 = Bitmap::MAX_LEN as u64;

#[derive(Clone, Copy, Debug)]
pub(super) struct MessageReader {
    /// The next number.
    expected: SequenceNumber,
    /// The last number that the writer says it has.
    last: SequenceNumber,
    /// The first and the last of the numbers that were received last, without one missing between them.
    received: [SequenceNumber; 2],
    /// The last GAP.
    gap: Option<Gap>,
    /// The writer was heard.
    heard: bool,
}

impl MessageReader {
    pub(super) const fn new() -> Self {
        Self {
            expected: SequenceNumber::FIRST,
            last: SequenceNumber::ZERO,
            received: [SequenceNumber::ZERO; 2],
            gap: None,
            heard: false,
        }
    }

    pub(super) const fn is_heard(&self) -> bool {
        self.heard
    }

    pub(super) fn on_data(&mut self, number: SequenceNumber) {
        self.heard = true;
        let [first, last] = self.received;
        self.received = [if number == last.next() { first } else { number }, number];
        self.skip();
    }

    pub(super) fn on_gap(&mut self, gap: &Gap) {
        self.heard = true;
        self.gap = Some(*gap);
        self.skip();
    }

    /// True if the writer is to be answered.
    pub(super) fn on_heartbeat(&mut self, heartbeat: &Heartbeat) -> bool {
        self.heard = true;
        let end = heartbeat.last.next();
        self.expected = self.expected.min(end).max(heartbeat.first);
        self.last = heartbeat.last;
        self.skip();
        !heartbeat.is_final || self.expected < end
    }

    /// What an ACKNACK says: the next number, and those that are missing.
    pub(super) fn set(&self) -> SequenceNumberSet {
        let mut set = SequenceNumberSet::empty(self.expected);
        let numbers = (0..MAX_MISSING).map(|position| self.expected.plus(position));
        let held = numbers.take_while(|number| self.heard && *number <= self.last);
        for number in held.filter(|number| !self.is_settled(*number)) {
            set.insert(number);
        }
        set
    }

    fn is_settled(&self, number: SequenceNumber) -> bool {
        let is_in = |gap: &Gap| gap.start <= number && number < gap.list.base() || gap.list.contains(number);
        let [first, last] = self.received;
        (first <= number && number <= last) || self.gap.as_ref().is_some_and(is_in)
    }

    fn skip(&mut self) {
        if let Some(gap) = &self.gap
            && gap.start <= self.expected
        {
            self.expected = self.expected.max(gap.list.base());
        }
        let mut passed = 0;
        while self.is_settled(self.expected) && passed < MAX_MISSING {
            self.expected = self.expected.next();
            passed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::probe::Window;
    use super::*;

    #[test]
    fn a_probe_is_answered_and_what_follows_goes_on() {
        let mut reader = MessageReader::new();
        for (round, random) in [0_u64, u64::MAX, 0x5555_1234_0000_ffff, 9].into_iter().enumerate() {
            let window = Window::new(SequenceNumber(1 + 70 * round as i64), random);
            reader.on_gap(&window.gap());
            assert!(reader.on_heartbeat(&window.heartbeat(1)));
            assert!(window.is_answered_by(&reader.set()));
            // The next message ends the window.
            let next = SequenceNumber(window.last().0 + 3);
            reader.on_heartbeat(&Heartbeat { first: next, last: next, ..window.heartbeat(2) });
            assert!(reader.set().iter().eq([next]));
            reader.on_data(next);
            assert_eq!(reader.set(), SequenceNumberSet::empty(next.next()));
        }
    }

    #[test]
    fn messages_after_a_number_that_never_comes_are_not_asked_for_again() {
        let mut reader = MessageReader::new();
        let window = Window::new(SequenceNumber(1), 5);
        let heartbeat = |first, last| Heartbeat {
            first: SequenceNumber(first),
            last: SequenceNumber(last),
            ..window.heartbeat(1)
        };
        reader.on_heartbeat(&heartbeat(1, 0));
        // Numbers 1 to 9 were those of a probe that got lost.
        reader.on_data(SequenceNumber(10));
        reader.on_data(SequenceNumber(11));
        assert!(!reader.on_heartbeat(&Heartbeat { is_final: true, ..heartbeat(10, 11) }));
        assert_eq!(reader.set(), SequenceNumberSet::empty(SequenceNumber(12)));
        // The first of two got lost.
        reader.on_data(SequenceNumber(13));
        reader.on_heartbeat(&heartbeat(12, 13));
        assert!(reader.set().iter().eq([SequenceNumber(12)]));
        reader.on_data(SequenceNumber(12));
        reader.on_heartbeat(&heartbeat(12, 12));
        assert_eq!(reader.set(), SequenceNumberSet::empty(SequenceNumber(13)));
    }

    #[test]
    fn endless_gaps_end_at_once() {
        let mut reader = MessageReader::new();
        let window = Window::new(SequenceNumber(1), 0);
        let list = SequenceNumberSet::empty(SequenceNumber::MAX);
        reader.on_gap(&Gap { list, ..window.gap() });
        reader.on_heartbeat(&Heartbeat { last: SequenceNumber::MAX, ..window.heartbeat(1) });
        assert!(reader.set().iter().count() <= 256);
    }
}
