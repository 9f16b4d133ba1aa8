//! The last event, as long as it waits for consumers that were free and had nothing waiting: it lies here once, and in none of their queues.
//!
//! All that is said of it holds as if each of these queues had one delivery. Whatever would make a difference puts it there first.
use alloc::vec::Vec;

use crate::event::Part;
use crate::matching::Offer;
use crate::peers::ConsumerId;
use crate::ready::{Key, Place};

#[derive(Debug)]
pub(crate) struct FanOut<E> {
    part: Option<Part<E>>,
    /// Since when it waits.
    pub(crate) since: u64,
    /// The rank of each of its deliveries.
    rank: u64,
    /// The line that its consumers wait in: all of them in one.
    pub(crate) line: u32,
    /// Its consumers, with the numbers of their deliveries, which grow.
    pub(crate) members: Vec<(ConsumerId, u64)>,
    /// The first member that no worker has taken it for.
    next: usize,
}

impl<E: Clone> FanOut<E> {
    pub(crate) const fn new() -> Self {
        Self { part: None, since: 0, rank: 0, line: 0, members: Vec::new(), next: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.members.len()
    }

    /// Whether it has a delivery for this consumer.
    pub(crate) fn holds(&self, consumer: ConsumerId) -> bool {
        self.members.iter().skip(self.next).any(|(member, _)| *member == consumer)
    }

    /// Whether a consumer that waits there can become a member of the event that is pushed.
    #[inline]
    pub(crate) fn is_of(&mut self, place: Place) -> bool {
        let Place::Line(line) = place else { return false };
        if self.members.is_empty() {
            self.line = line;
        }
        self.line == line
    }

    /// Its members are complete.
    #[inline]
    pub(crate) fn begin(&mut self, offer: &Offer<'_, E>, rank: u64) {
        (self.part, self.since, self.rank) = (Some(offer.part()), offer.now, rank);
    }

    /// What comes next of it in this line.
    #[inline]
    pub(crate) fn key(&self, line: u32) -> Option<Key> {
        let (_, number) = self.members.get(self.next)?;
        (self.line == line).then_some((self.rank, *number))
    }

    /// The next deliveries of it in this line, so many at most, that come before what else waits there.
    #[inline]
    pub(crate) fn ahead(&self, line: u32, first: Option<Key>, most: usize) -> &[(ConsumerId, u64)] {
        if self.line != line {
            return &[];
        }
        let rest = self.members.get(self.next..).unwrap_or_default();
        let ahead = match first {
            Some(first) => rest.partition_point(|(_, number)| (self.rank, *number) < first),
            None => rest.len(),
        };
        rest.get(..ahead.min(most)).unwrap_or_default()
    }

    /// So many deliveries were taken.
    #[inline]
    pub(crate) fn pass(&mut self, count: usize) {
        self.next = self.members.len().min(self.next + count);
    }

    /// The next delivery: its consumer, and its number.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(ConsumerId, u64)> {
        let member = self.members.get(self.next).copied()?;
        self.next += 1;
        Some(member)
    }

    /// The event, for what was taken by [`FanOut::next`]. Nothing is left of it after the last one.
    #[inline]
    pub(crate) fn part(&mut self) -> Option<Part<E>> {
        if !self.is_empty() {
            return self.part.clone();
        }
        self.members.clear();
        self.next = 0;
        self.part.take()
    }
}
