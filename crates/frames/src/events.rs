//! What is due, in order: the nearest events sorted, the others in a heap.
//!
//! Most runs have about ten events at a time, and for so few a sorted list is twice as fast as a heap.
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

/// How many events are kept sorted at most.
const NEAR: usize = 32;

/// Something that happens to `what` at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<T> {
    /// The instant, then the class that gives the order within it, then a number that no other event has.
    order: u128,
    pub(crate) what: T,
}

impl<T> Event<T> {
    /// `class` is below 16 and `number` below 2^60.
    pub(crate) fn new(at: u64, class: u8, number: u64, what: T) -> Self {
        let within = u64::from(class) << 60 | number;
        Self { order: u128::from(at) << 64 | u128::from(within), what }
    }

    pub(crate) fn at(&self) -> u64 {
        (self.order >> 64) as u64
    }
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<T> Eq for Event<T> {}

impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Event<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

/// Events by order.
#[derive(Debug)]
pub(crate) struct Events<T> {
    /// The latest first. Empty only if there are no events at all.
    near: Vec<Event<T>>,
    /// None of them is before one that is near.
    far: BinaryHeap<Reverse<Event<T>>>,
}

impl<T: Copy> Events<T> {
    pub(crate) fn new() -> Self {
        Self { near: Vec::with_capacity(NEAR + 1), far: BinaryHeap::new() }
    }

    pub(crate) fn push(&mut self, event: Event<T>) {
        if self.far.peek().is_some_and(|Reverse(first)| *first < event) {
            self.far.push(Reverse(event));
            return;
        }
        let place = self.near.iter().rposition(|other| *other > event).map_or(0, |last| last + 1);
        self.near.insert(place, event);
        if self.near.len() > NEAR {
            self.far.push(Reverse(self.near.remove(0)));
        }
    }

    /// The first event, which stays.
    pub(crate) fn first(&self) -> Option<&Event<T>> {
        self.near.last()
    }

    /// Takes the first event.
    pub(crate) fn pop(&mut self) -> Option<Event<T>> {
        let event = self.near.pop()?;
        if self.near.is_empty() {
            while self.near.len() < NEAR / 2
                && let Some(Reverse(next)) = self.far.pop()
            {
                self.near.push(next);
            }
            self.near.reverse();
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Pushes and pops in any order, against a heap alone.
    #[test]
    fn events_come_in_order() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let (mut events, mut heap) = (Events::new(), BinaryHeap::new());
            let most = random.between(1, 150);
            let mut number = 0;
            for _ in 0..2000 {
                if random.below(most) >= heap.len() as u64 {
                    let class = random.below(4) as u8;
                    let event = Event::new(random.below(500), class, number, number);
                    number += 1;
                    events.push(event);
                    heap.push(Reverse(event));
                } else {
                    assert_eq!(events.first(), heap.peek().map(|Reverse(first)| first));
                    assert_eq!(events.pop().map(|event| event.what), heap.pop().map(|event| event.0.what));
                }
            }
            while let Some(Reverse(event)) = heap.pop() {
                let next = events.pop().unwrap();
                assert_eq!((next.what, next.at()), (event.what, event.at()));
            }
            assert!(events.pop().is_none() && events.first().is_none());
        }
    }

    #[test]
    fn an_instant_is_ordered_by_class_and_number() {
        let first = Event::new(7, 1, 5, ());
        assert!(
            first < Event::new(8, 0, 0, ())
                && first < Event::new(7, 2, 0, ())
                && first < Event::new(7, 1, 6, ())
        );
        assert_eq!(first.at(), 7);
    }
}
