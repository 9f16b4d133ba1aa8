//! Requests that come twice: after a failover the same request may arrive by another peer (RFC 6733, 3, End-to-End
//! Identifier).
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::value::Identity;

/// The shortest time for which RFC 6733 wants End-to-End Identifiers to be unique: four minutes, in nanoseconds.
pub const UNIQUE_FOR: u64 = 240_000_000_000;

/// Makes End-to-End Identifiers: the low 12 bits of the time in seconds, then 20 bits that begin at random and grow.
#[derive(Clone, Debug)]
pub struct EndToEnd(u32);

impl EndToEnd {
    /// Begins anew after a start of the program.
    pub const fn new(unix_seconds: u64, random: u32) -> Self {
        Self((unix_seconds as u32) << 20 | random & 0xf_ffff)
    }

    /// The next one.
    pub const fn take(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(1);
        self.0
    }
}

/// What is known of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen<'a> {
    /// It has not come before.
    New,
    /// It has come before and is still worked on: answer the one that came last, and tell the peer of the other that it is
    /// not answered ([`crate::peer::Peer::drop_request`]).
    InWork,
    /// It has been answered by this message: answer the same, with the hop-by-hop number of the request.
    Answered(&'a [u8]),
}

#[derive(Clone, Debug)]
struct Entry {
    at: u64,
    answer: Option<Vec<u8>>,
}

/// The requests of the last minutes by Origin-Host and End-to-End Identifier, within limits. What was forgotten counts as
/// new: records of accounting are told apart by their numbers as well.
#[derive(Clone, Debug)]
pub struct Duplicates {
    entries: BTreeMap<(Identity, u32), Entry>,
    order: VecDeque<(u64, Identity, u32)>,
    most: usize,
    most_bytes: usize,
    bytes: usize,
}

impl Duplicates {
    /// Remembers so many requests, and answers of so many bytes together.
    pub const fn new(most: usize, most_bytes: usize) -> Self {
        Self { entries: BTreeMap::new(), order: VecDeque::new(), most, most_bytes, bytes: 0 }
    }

    /// How many requests are remembered.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Looks at a request, and remembers it if it is new.
    pub fn check(&mut self, now: u64, origin: &Identity, end_to_end: u32) -> Seen<'_> {
        self.forget(now, 0);
        let key = (origin.clone(), end_to_end);
        if !self.entries.contains_key(&key) {
            self.forget(now, 1);
            if self.most > 0 {
                self.order.push_back((now, origin.clone(), end_to_end));
                self.entries.insert(key, Entry { at: now, answer: None });
            }
            return Seen::New;
        }
        match self.entries.get(&key).and_then(|entry| entry.answer.as_deref()) {
            Some(answer) => Seen::Answered(answer),
            None => Seen::InWork,
        }
    }

    /// The answer to a request that was new. It is not kept if the bytes of all answers would be above the limit.
    pub fn answered(&mut self, origin: &Identity, end_to_end: u32, answer: &[u8]) {
        let room = self.most_bytes.saturating_sub(self.bytes);
        if let Some(entry) = self.entries.get_mut(&(origin.clone(), end_to_end))
            && entry.answer.is_none()
        {
            if answer.len() <= room {
                self.bytes = self.bytes.saturating_add(answer.len());
                entry.answer = Some(answer.to_vec());
            } else {
                // Without its answer it would be taken for one in work, and never be answered.
                self.retract(origin, end_to_end);
            }
        }
    }

    /// Forgets a request, because its answer is not final: a record that found no space comes again with the same identifier.
    pub fn retract(&mut self, origin: &Identity, end_to_end: u32) {
        if let Some(entry) = self.entries.remove(&(origin.clone(), end_to_end)) {
            self.bytes = self.bytes.saturating_sub(entry.answer.map_or(0, |answer| answer.len()));
        }
    }

    /// Forgets what is old, and the oldest while there is no room for so many more.
    fn forget(&mut self, now: u64, more: usize) {
        while let Some((at, _, _)) = self.order.front() {
            let old = now.saturating_sub(*at) > UNIQUE_FOR;
            if !old && self.order.len().saturating_add(more) <= self.most.max(1) {
                return;
            }
            let Some((at, origin, end_to_end)) = self.order.pop_front() else { return };
            let key = (origin, end_to_end);
            // Removed and added again since: that one has its own place in the order.
            if self.entries.get(&key).is_some_and(|entry| entry.at == at)
                && let Some(entry) = self.entries.remove(&key)
            {
                self.bytes = self.bytes.saturating_sub(entry.answer.map_or(0, |answer| answer.len()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_comes_again_gets_the_same_answer_for_minutes() {
        let (host, other) = (Identity::new("a.x").unwrap(), Identity::new("b.x").unwrap());
        let mut seen = Duplicates::new(10, 1000);
        assert_eq!(seen.check(0, &host, 7), Seen::New);
        assert_eq!(seen.check(1, &host, 7), Seen::InWork);
        seen.answered(&host, 7, b"yes");
        assert_eq!(seen.check(UNIQUE_FOR, &Identity::new("A.X").unwrap(), 7), Seen::Answered(b"yes"));
        assert_eq!(seen.check(2, &other, 7), Seen::New);
        seen.retract(&host, 7);
        assert_eq!(seen.check(UNIQUE_FOR, &host, 7), Seen::New);
        assert_eq!(seen.check(2 * UNIQUE_FOR + 1, &host, 7), Seen::New, "minutes have passed");
    }

    #[test]
    fn what_is_remembered_has_limits() {
        let host = Identity::new("a.x").unwrap();
        let mut seen = Duplicates::new(3, 10);
        for number in 0..100 {
            assert_eq!(seen.check(0, &host, number), Seen::New);
            seen.answered(&host, number, &[0; 4]);
            assert!(seen.len() <= 3 && seen.bytes <= 10 && seen.order.len() <= 3);
        }
        let mut seen = Duplicates::new(3, 10);
        for number in 0..3 {
            seen.check(0, &host, number);
            seen.answered(&host, number, &[0; 4]);
        }
        assert_eq!(seen.check(0, &host, 1), Seen::Answered(&[0; 4]));
        assert_eq!(seen.check(0, &host, 2), Seen::New, "there was no room for its answer");
    }

    #[test]
    fn end_to_end_numbers_begin_with_the_time() {
        let mut numbers = EndToEnd::new(0x1234, 0xabcd_ef01);
        assert_eq!((numbers.take(), numbers.take()), (0x234d_ef02, 0x234d_ef03));
    }
}
