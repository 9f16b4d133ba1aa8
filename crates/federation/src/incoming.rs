//! The receiving half of a stream: fragments in order, whole messages out of them, and what is missing.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Fragments that come after one acknowledgement before the next one.
const ACK_EVERY: u32 = 32;
/// Fragments that are kept while one before them is missing.
const MOST_AHEAD: usize = 4_096;

/// What has come of a stream.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// All before it has come.
    next: u64,
    /// The number behind the last one that has been sent, as far as that is known.
    end: u64,
    ahead: BTreeMap<u64, (bool, Vec<u8>)>,
    ahead_bytes: usize,
    /// The fragments of the message that is not whole.
    partial: Vec<u8>,
    unacknowledged: u32,
    ack_at: Option<u64>,
    /// When something missing may be asked for again.
    ask_again_at: u64,
}

/// What a fragment has led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Offered {
    /// It is the next one: a message is whole, which is the fragment itself or in [`Incoming::whole`], or not yet.
    Next,
    /// It has come before, or is kept for later, or there is no room for it.
    Done,
}

impl Incoming {
    pub(crate) fn new(start: u64) -> Self {
        Self { next: start, end: start, ..Self::default() }
    }

    /// A fragment has come. `most` is how many bytes are kept at most.
    pub(crate) fn offer(
        &mut self,
        now: u64,
        pause: u64,
        number: u64,
        is_last: bool,
        bytes: &[u8],
        most: usize,
    ) -> Offered {
        self.ack_by(now.saturating_add(pause / 2));
        if number < self.next || number - self.next >= MOST_AHEAD as u64 {
            return Offered::Done;
        }
        self.end = self.end.max(number + 1);
        self.unacknowledged += 1;
        if self.unacknowledged >= ACK_EVERY {
            self.ack_by(now);
        }
        if number == self.next {
            self.next += 1;
            return Offered::Next;
        }
        // Something is missing: it is asked for at once, but not with each fragment that follows.
        if now >= self.ask_again_at {
            self.ask_again_at = now.saturating_add(pause / 2);
            self.ack_by(now);
        }
        // What came first counts: a peer that says it again in other bytes lies.
        if self.ahead_bytes + bytes.len() <= most && !self.ahead.contains_key(&number) {
            self.ahead.insert(number, (is_last, bytes.to_vec()));
            self.ahead_bytes += bytes.len();
        }
        Offered::Done
    }

    /// The next fragment of those that came too soon, if it is the next one now.
    pub(crate) fn pop(&mut self) -> Option<(bool, Vec<u8>)> {
        let entry = self.ahead.remove(&self.next)?;
        self.ahead_bytes -= entry.1.len();
        self.next += 1;
        Some(entry)
    }

    pub(crate) fn has_partial(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Adds a fragment to the message that is not whole; false if it is larger than it may be.
    pub(crate) fn add(&mut self, bytes: &[u8], most: usize) -> bool {
        if self.partial.len() + bytes.len() > most {
            return false;
        }
        self.partial.extend_from_slice(bytes);
        true
    }

    /// Takes the message that has become whole.
    pub(crate) fn take_whole(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.partial)
    }

    /// Gives the memory of a message back.
    pub(crate) fn give_back(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() <= 64 << 10 {
            bytes.clear();
            self.partial = bytes;
        }
    }

    /// The sender says where its stream ends, and asks for an acknowledgement.
    pub(crate) fn beat(&mut self, now: u64, end: u64) {
        self.end = self.end.max(end.min(self.next.saturating_add(MOST_AHEAD as u64)));
        self.ack_by(now);
    }

    fn ack_by(&mut self, at: u64) {
        self.ack_at = Some(self.ack_at.map_or(at, |before| before.min(at)));
    }

    pub(crate) const fn ack_at(&self) -> Option<u64> {
        self.ack_at
    }

    /// What an acknowledgement says, which is sent now.
    pub(crate) fn ack(&mut self) -> (u64, impl Iterator<Item = (u64, u32)>) {
        self.ack_at = None;
        self.unacknowledged = 0;
        let (mut at, end) = (self.next, self.end);
        let mut there = self.ahead.keys().copied();
        let ranges = core::iter::from_fn(move || {
            while at < end {
                let present = there.next().unwrap_or(end).min(end);
                let (first, count) = (at, present - at);
                at = present + 1;
                if count > 0 {
                    return Some((first, u32::try_from(count).unwrap_or(u32::MAX)));
                }
            }
            None
        });
        (self.next, ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(incoming: &mut Incoming) -> (u64, Vec<(u64, u32)>) {
        let (next, ranges) = incoming.ack();
        (next, ranges.collect())
    }

    #[test]
    fn what_is_missing_is_told_and_what_waits_comes_out_in_order() {
        let mut incoming = Incoming::new(3);
        assert_eq!(incoming.offer(0, 10, 3, true, b"d", 10), Offered::Next);
        assert_eq!(incoming.ack_at(), Some(5));
        assert_eq!(ranges(&mut incoming), (4, Vec::new()));
        for number in [5, 8, 8, 2, 9] {
            assert_eq!(incoming.offer(1, 10, number, true, &[number as u8], 10), Offered::Done);
        }
        assert_eq!(incoming.ack_at(), Some(1));
        incoming.beat(2, 12);
        assert_eq!(ranges(&mut incoming), (4, [(4, 1), (6, 2), (10, 2)].into()));
        assert_eq!(incoming.pop(), None);
        assert_eq!(incoming.offer(3, 10, 4, false, b"x", 10), Offered::Next);
        assert_eq!(incoming.pop(), Some((true, [5].into())));
        assert_eq!(incoming.pop(), None);
        assert_eq!(incoming.ahead_bytes, 2);
        // What is said again in other bytes changes nothing.
        incoming.offer(3, 10, 8, false, b"longer", 10);
        assert_eq!((incoming.ahead_bytes, &incoming.ahead[&8]), (2, &(true, [8].into())));
        // There is no room for more, and nothing is kept that is too far ahead.
        assert_eq!(incoming.offer(3, 10, 11, true, b"nine bytes", 10), Offered::Done);
        assert_eq!(incoming.offer(3, 10, 1 << 40, true, b"", 10), Offered::Done);
        incoming.beat(3, u64::MAX);
        assert_eq!(ranges(&mut incoming).1[..2], [(6, 2), (10, 4_092)]);
    }
}
