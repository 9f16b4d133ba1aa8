//! What happens to a writer as time goes by: DEADLINE, LIFESPAN, LIVELINESS, clean-up of ended instances.
use rtps::Payload;
use wire::{Duration, Instant, Now};

use super::DataWriter;
use crate::instance_table::Slot;
use crate::status::StatusMask;
use crate::type_support::TypeSupport;

/// Wait before looking again whether the end of an instance is acknowledged.
const CLEANUP_RETRY: Duration = Duration::from_millis(100);

impl<T: TypeSupport, P: Payload> DataWriter<T, P> {
    /// When [`DataWriter::on_timeout`] has to be called, or the `rtps` writer polled, at the latest.
    pub fn poll_timeout(&self) -> Instant {
        self.rtps.poll_timeout().min(self.history.timers.next()).min(self.lost_at)
    }

    /// Does what is due, apart from what the `rtps` writer sends.
    pub fn on_timeout(&mut self, now: Now) {
        self.history.prune(&self.rtps);
        while let Some(slot) = self.history.pop_due(now.monotonic) {
            self.history.expire(slot, now.wall, &mut self.rtps);
            self.miss_deadline(slot, now);
            self.clean_up(slot, now);
            self.history.forget_if_over(slot);
            self.history.schedule(slot, now);
        }
        if self.lost_at <= now.monotonic {
            self.lost_at = Instant::NEVER;
            self.liveliness_lost.total.add(1);
            self.changed.raise(StatusMask::LIVELINESS_LOST);
        }
    }

    /// Does what was due before a change: a period that it does not save has passed, and liveliness that was lost is lost.
    pub(super) fn catch_up(&mut self, now: Now) {
        if self.history.timers.next().min(self.lost_at) <= now.monotonic {
            self.on_timeout(now);
        }
        self.history.prune(&self.rtps);
    }

    /// Counts the periods that have passed without a sample (DDS 1.4, 2.2.3.7).
    fn miss_deadline(&mut self, slot: Slot, now: Now) {
        let period = self.qos.endpoint.deadline;
        let Some(entry) = self.history.table.get_mut(slot) else { return };
        let Some(missed) = crate::timers::periods(&mut entry.state.deadline_at, period, now.monotonic) else {
            return;
        };
        self.deadline_missed.total.add(missed);
        self.deadline_missed.last_instance = Some(entry.handle);
        self.changed.raise(StatusMask::OFFERED_DEADLINE_MISSED);
    }

    /// Forgets an instance that was disposed and unregistered, once all readers know (DDS 1.4, 2.2.3.5).
    fn clean_up(&mut self, slot: Slot, now: Now) {
        let Some(instance) = self.history.table.state_mut(slot) else { return };
        if instance.forget_at > now.monotonic {
            return;
        }
        // Registered again meanwhile, as by another dispose: what was said since is for late joiners too.
        if instance.registered {
            instance.forget_at = Instant::NEVER;
            return;
        }
        if instance.newest().is_none_or(|number| self.rtps.is_acknowledged(number)) {
            self.history.forget(slot, &mut self.rtps);
        } else {
            instance.forget_at = now.monotonic.after(CLEANUP_RETRY);
        }
    }
}
