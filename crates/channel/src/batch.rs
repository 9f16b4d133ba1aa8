//! The deliveries that a worker has taken: one or several, of one consumer.
use alloc::vec::Vec;

use crate::event::Part;
use crate::peers::ConsumerId;
use crate::ready::Key;

/// Deliveries of one consumer, in a buffer that is used again.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch<E> {
    pub(crate) parts: Vec<Part<E>>,
    pub(crate) taken: Vec<Taken>,
}

/// A delivery of a batch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Taken {
    /// Where it ends in `parts`.
    pub(crate) end: usize,
    pub(crate) number: u64,
    /// Since when it waited.
    pub(crate) since: u64,
}

impl<E> Default for Batch<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Batch<E> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { parts: Vec::new(), taken: Vec::new() }
    }

    /// The deliveries, in their order: each is what a subscription gave at once.
    pub fn deliveries(&self) -> impl Iterator<Item = &[Part<E>]> {
        let ends = self.taken.iter().map(|taken| taken.end);
        let starts = core::iter::once(0).chain(ends.clone());
        starts.zip(ends).filter_map(|(start, end)| self.parts.get(start..end))
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.taken.clear();
    }

    /// Makes it one delivery of one part.
    #[inline]
    pub(crate) fn set(&mut self, part: Part<E>, number: u64, since: u64) {
        self.clear();
        self.parts.push(part);
        self.taken.push(Taken { end: 1, number, since });
    }
}

/// One event that a worker has taken for several consumers at once, each of which gets a delivery of it: [`crate::Channel::take_multicast`].
#[derive(Clone, Debug)]
pub struct Multicast<E> {
    pub(crate) part: Option<Part<E>>,
    /// With the numbers of their deliveries.
    pub(crate) consumers: Vec<(ConsumerId, u64)>,
    /// Since when they waited.
    pub(crate) since: u64,
}

impl<E> Multicast<E> {
    /// That of no consumer.
    pub const fn new() -> Self {
        Self { part: None, consumers: Vec::new(), since: 0 }
    }

    /// The event; `None` if there is no consumer.
    pub fn part(&self) -> Option<&Part<E>> {
        self.part.as_ref()
    }

    /// The consumers, in the order in which they are to get it.
    pub fn consumers(&self) -> impl ExactSizeIterator<Item = ConsumerId> {
        self.consumers.iter().map(|(consumer, _)| *consumer)
    }

    /// Lets go of the event.
    pub fn clear(&mut self) {
        self.part = None;
        self.consumers.clear();
    }
}

impl<E: Clone> Multicast<E> {
    /// The delivery of the consumer at a place, by itself: so it can be given back.
    pub fn single(&self, place: usize, batch: &mut Batch<E>) {
        batch.clear();
        if let (Some(part), Some((_, number))) = (&self.part, self.consumers.get(place)) {
            batch.set(part.clone(), *number, self.since);
        }
    }
}

impl<E> Default for Multicast<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes of a worker that takes for several consumers before it handles anything: [`crate::Channel::take_next`].
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub(crate) is_begun: bool,
    /// What comes later than this has to wait until the run is done.
    pub(crate) until: Key,
}

impl Run {
    /// The beginning of a run.
    pub const fn new() -> Self {
        Self { is_begun: false, until: (u64::MAX, u64::MAX) }
    }
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}
