//! Which consumers a worker can serve, the next one first.
use alloc::vec::Vec;

use crate::peers::Worker;

/// By what consumers are served: first by the rank, then by the number of the delivery.
pub(crate) type Key = (u64, u64);

#[derive(Debug)]
pub(crate) struct Ready {
    workers: Vec<(Worker, Vec<(Key, u32)>)>,
}

impl Ready {
    pub(crate) const fn new() -> Self {
        Self { workers: Vec::new() }
    }

    /// Enters a consumer.
    pub(crate) fn insert(&mut self, worker: Worker, key: Key, consumer: u32) {
        let at = match self.workers.binary_search_by_key(&worker, |(worker, _)| *worker) {
            Ok(at) => at,
            Err(at) => {
                self.workers.insert(at, (worker, Vec::new()));
                at
            }
        };
        if let Some((_, consumers)) = self.workers.get_mut(at) {
            // The next one is the last, so that it goes without moving the others.
            let place = consumers.partition_point(|other| *other > (key, consumer));
            consumers.insert(place, (key, consumer));
        }
    }

    /// Takes a consumer out that was entered so.
    pub(crate) fn remove(&mut self, worker: Worker, key: Key, consumer: u32) {
        if let Some(consumers) = self.of(worker)
            && let Ok(place) = consumers.binary_search_by(|other| (key, consumer).cmp(other))
        {
            consumers.remove(place);
        }
    }

    /// The consumer whose turn it is.
    pub(crate) fn first(&mut self, worker: Worker) -> Option<u32> {
        self.of(worker)?.last().map(|(_, consumer)| *consumer)
    }

    /// Forgets a worker.
    pub(crate) fn forget(&mut self, worker: Worker) {
        self.workers.retain(|(other, _)| *other != worker);
    }

    fn of(&mut self, worker: Worker) -> Option<&mut Vec<(Key, u32)>> {
        let at = self.workers.binary_search_by_key(&worker, |(worker, _)| *worker).ok()?;
        self.workers.get_mut(at).map(|(_, consumers)| consumers)
    }
}
