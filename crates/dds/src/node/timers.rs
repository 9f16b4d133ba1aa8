//! When which part of a participant has to be looked at next.
//!
//! An alarm that is set already is only ever moved forward, so that a write whose heartbeat is due later than the last one's costs
//! one atomic load. Looking too early is harmless.
use std::cmp::Reverse;
use std::sync::Arc;

use wire::{EntityId, Instant};

use crate::host::Host;
use crate::lock::lock;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The alarm of one part.
#[derive(Debug)]
pub(crate) struct Alarm(AtomicU64);

impl Alarm {
    /// One that is not set.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(Instant::NEVER.as_nanos())))
    }

    fn at(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Acquire))
    }

    fn set(&self, at: Instant) {
        self.0.store(at.as_nanos(), Ordering::Release);
    }
}

/// An alarm that is set.
#[derive(Debug)]
struct Entry {
    at: Instant,
    id: EntityId,
    alarm: Arc<Alarm>,
}

impl Entry {
    const fn key(&self) -> Reverse<(Instant, EntityId)> {
        Reverse((self.at, self.id))
    }
}

/// All alarms of a participant.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// Sorted, the earliest last: a list takes nothing from the heap where a tree would.
    queue: Mutex<Vec<Entry>>,
}

impl Timers {
    /// Looks at `id` at `at` or earlier.
    pub(crate) fn set(&self, host: &dyn Host, id: EntityId, alarm: &Arc<Alarm>, at: Instant) {
        if at >= alarm.at() {
            return;
        }
        let mut queue = lock(&self.queue);
        let old = alarm.at();
        if at >= old {
            return;
        }
        remove(&mut queue, old, id);
        let entry = Entry { at, id, alarm: Arc::clone(alarm) };
        let index = queue.partition_point(|other| other.key() < entry.key());
        let is_first = index == queue.len();
        queue.insert(index, entry);
        alarm.set(at);
        drop(queue);
        if is_first {
            host.wake_at(at);
        }
    }

    /// The next part whose time has come; its alarm is off.
    pub(crate) fn pop(&self, now: Instant) -> Option<EntityId> {
        let mut queue = lock(&self.queue);
        let Entry { id, alarm, .. } = queue.pop_if(|earliest| earliest.at <= now)?;
        alarm.set(Instant::NEVER);
        Some(id)
    }

    /// Turns an alarm off.
    pub(crate) fn forget(&self, id: EntityId, alarm: &Alarm) {
        let mut queue = lock(&self.queue);
        remove(&mut queue, alarm.at(), id);
        // No other call sets it again.
        alarm.set(Instant::START);
    }

    /// When the next alarm is due.
    pub(crate) fn next(&self) -> Instant {
        lock(&self.queue).last().map_or(Instant::NEVER, |earliest| earliest.at)
    }
}

fn remove(queue: &mut Vec<Entry>, at: Instant, id: EntityId) {
    if let Ok(index) = queue.binary_search_by_key(&Reverse((at, id)), Entry::key) {
        queue.remove(index);
    }
}
