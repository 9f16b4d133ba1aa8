//! The deliveries that a worker has taken: one or several, of one consumer.
use alloc::vec::Vec;

use crate::event::Part;

/// Deliveries of one consumer, in a buffer that is used again.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch<E> {
    pub(crate) parts: Vec<Part<E>>,
    /// Where each delivery ends in `parts`.
    pub(crate) ends: Vec<usize>,
}

impl<E> Default for Batch<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Batch<E> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { parts: Vec::new(), ends: Vec::new() }
    }

    /// The deliveries, in their order: each is what a subscription gave at once.
    pub fn deliveries(&self) -> impl Iterator<Item = &[Part<E>]> {
        let starts = core::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.parts.get(start..*end))
    }

    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.ends.clear();
    }
}
