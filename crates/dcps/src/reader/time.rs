//! What happens to instances as time goes by: DEADLINE, LIFESPAN, TIME_BASED_FILTER, READER_DATA_LIFECYCLE.
use wire::{Instant, Now};

use super::{DataReader, DropReason};
use crate::InstanceState;
use crate::instance_table::Slot;
use crate::status::StatusMask;
use crate::type_support::TypeSupport;

impl<T: TypeSupport> DataReader<T> {
    /// When [`DataReader::on_timeout`] has to be called at the latest; `NEVER` if only a call of another method can make it necessary.
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        self.cache.timers.next()
    }

    /// Does what is due.
    pub fn on_timeout(&mut self, now: Now) {
        while let Some(slot) = self.cache.pop_due(now.monotonic) {
            self.cache.expire(slot, now.wall);
            let filter = self.qos.endpoint.time_based_filter;
            let instance = self.cache.table.get(slot).map(|entry| &entry.state);
            if instance.is_some_and(|instance| instance.filter_opens(filter) <= now.monotonic) {
                self.pass_pending(slot, now);
            }
            self.miss_deadline(slot, now);
            self.purge(slot, now);
            self.settle(slot, now);
        }
    }

    /// What was due before something else happens has happened before it: a period that a sample, or the end of its instance, does
    /// not save, an owner that a sample may follow.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Now) {
        if self.poll_timeout() <= now.monotonic {
            self.on_timeout(now);
        }
    }

    #[inline]
    pub(super) fn schedule(&mut self, slot: Slot, now: Now) {
        self.cache.schedule(slot, now, self.qos.endpoint.time_based_filter);
    }

    pub(super) fn restart_deadline(&mut self, slot: Slot, now: Now) {
        let deadline = self.deadline();
        if let Some(instance) = self.cache.table.state_mut(slot)
            && instance.state == InstanceState::Alive
        {
            instance.deadline_at = now.monotonic.after(deadline);
        }
    }

    /// Counts the periods that have passed without a sample (DDS 1.4, 2.2.3.7). An owner that misses its deadline
    /// does not own any more.
    fn miss_deadline(&mut self, slot: Slot, now: Now) {
        let period = self.deadline();
        let Some(entry) = self.cache.table.get_mut(slot) else { return };
        let Some(missed) = crate::timers::periods(&mut entry.state.deadline_at, period, now.monotonic) else {
            return;
        };
        entry.state.owner = None;
        self.deadline_missed.total.add(missed);
        self.deadline_missed.last_instance = Some(entry.handle);
        self.changed.raise(StatusMask::REQUESTED_DEADLINE_MISSED);
    }

    /// Forgets an instance that has not been alive for as long as its samples are kept.
    fn purge(&mut self, slot: Slot, now: Now) {
        let Some(instance) = self.cache.table.state_mut(slot) else { return };
        if instance.purge_at > now.monotonic {
            return;
        }
        self.cache.discard_where(slot, DropReason::Purged, now.wall, |_| true);
        if let Some(entry) = self.cache.forget(slot) {
            self.unlearn(slot, &entry);
        }
    }
}
