//! The next thing that is due, one entry per instance.
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use wire::{Instant, Now, Timestamp};

use crate::instance_table::Slot;

/// Due times of instances. An instance remembers the time of its newest entry; others are stale and skipped.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, Slot)>>,
}

impl Timers {
    /// The earliest entry, stale or not.
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Moves an instance's entry to `due`, if that is earlier than its entry at `scheduled`.
    pub(crate) fn schedule(&mut self, slot: Slot, due: Instant, scheduled: &mut Instant) {
        if due < *scheduled {
            *scheduled = due;
            self.heap.push(Reverse((due, slot)));
        }
    }

    /// Takes the next entry that is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, Slot)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Drops stale entries once they are many.
    pub(crate) fn tidy(&mut self, instances: usize, scheduled: impl Fn(Slot) -> Option<Instant>) {
        if self.heap.len() > instances.saturating_mul(2).saturating_add(64) {
            self.heap.retain(|Reverse((at, slot))| scheduled(*slot) == Some(*at));
        }
    }
}

/// The monotonic time at which the wall clock will show `at`, unless it is set meanwhile.
pub(crate) fn monotonic_at(now: Now, at: Timestamp) -> Instant {
    if at == NO_TIME {
        return Instant::NEVER;
    }
    let wait = at.as_nanos().saturating_sub(now.wall.as_nanos()).clamp(0, i64::MAX - 1);
    now.monotonic.after(wire::Duration::from_nanos(wait))
}

/// A wall-clock time that never comes: nothing expires then.
pub(crate) const NO_TIME: Timestamp = Timestamp::from_nanos(i64::MAX);

/// When something of this time expires; never with an infinite lifespan.
pub(crate) fn expiry(at: Timestamp, lifespan: wire::Duration) -> Timestamp {
    if lifespan.is_infinite() { NO_TIME } else { at.after(lifespan) }
}

/// How many periods have passed at `now` if the first ends at `due`, which is moved on; `None` if none has.
pub(crate) fn periods(due: &mut Instant, period: wire::Duration, now: Instant) -> Option<u64> {
    let nanos = u64::try_from(period.as_nanos()).ok().filter(|nanos| *nanos > 0 && !period.is_infinite())?;
    if *due > now {
        return None;
    }
    let passed = (now.as_nanos().saturating_sub(due.as_nanos()) / nanos).saturating_add(1);
    *due = Instant::from_nanos(due.as_nanos().saturating_add(passed.saturating_mul(nanos)));
    Some(passed)
}
