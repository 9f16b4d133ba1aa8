//! What is to happen, ordered by time and then by the order in which it was scheduled.
use std::cmp::Ordering;
use std::collections::BinaryHeap;

use wire::Instant;

/// Events of a virtual time. Two events of one instant come out in the order that they went in.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Entry<E>>,
    scheduled: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Instant,
    sequence: u64,
    event: E,
}

impl<E> Queue<E> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }

    /// Schedules an event. `Instant::NEVER` is never reached and therefore not kept.
    pub fn schedule(&mut self, at: Instant, event: E) {
        if at != Instant::NEVER {
            self.scheduled += 1;
            self.heap.push(Entry { at, sequence: self.scheduled, event });
        }
    }

    /// Takes the next event that happens at `until` or before.
    pub fn next(&mut self, until: Instant) -> Option<(Instant, E)> {
        if self.heap.peek()?.at > until {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// The heap gives its greatest entry, so the earliest must be the greatest.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_by_order_of_scheduling() {
        let mut queue = Queue::new();
        for (at, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (9, 'e'), (1, 'b')] {
            queue.schedule(Instant::from_nanos(at), event);
        }
        queue.schedule(Instant::NEVER, 'x');
        assert_eq!(queue.len(), 5);
        let order: String =
            std::iter::from_fn(|| queue.next(Instant::from_nanos(5)).map(|(_, e)| e)).collect();
        assert_eq!(order, "abcd");
        assert_eq!(queue.next(Instant::NEVER), Some((Instant::from_nanos(9), 'e')));
        assert!(queue.is_empty());
    }
}
