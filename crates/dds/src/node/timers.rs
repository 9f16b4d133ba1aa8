//! When which part of a participant has to be looked at next.
//!
//! An alarm that is set already is only ever moved forward, so that a write whose heartbeat is due later than the last one's costs
//! one atomic load. Looking too early is harmless.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use wire::{EntityId, Instant};

use crate::host::Host;
use crate::lock::lock;

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

/// All alarms of a participant.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: Mutex<BTreeMap<(Instant, EntityId), Arc<Alarm>>>,
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
        queue.remove(&(old, id));
        queue.insert((at, id), Arc::clone(alarm));
        alarm.set(at);
        let is_first = queue.first_key_value().is_some_and(|(key, _)| *key == (at, id));
        drop(queue);
        if is_first {
            host.wake_at(at);
        }
    }

    /// The next part whose time has come; its alarm is off.
    pub(crate) fn pop(&self, now: Instant) -> Option<EntityId> {
        let mut queue = lock(&self.queue);
        let entry = queue.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((_, id), alarm) = entry.remove_entry();
        alarm.set(Instant::NEVER);
        Some(id)
    }

    /// Turns an alarm off.
    pub(crate) fn forget(&self, id: EntityId, alarm: &Alarm) {
        let mut queue = lock(&self.queue);
        queue.remove(&(alarm.at(), id));
        // Nobody sets it again.
        alarm.set(Instant::START);
    }

    /// When the next alarm is due.
    pub(crate) fn next(&self) -> Instant {
        lock(&self.queue).first_key_value().map_or(Instant::NEVER, |((at, _), _)| *at)
    }
}
