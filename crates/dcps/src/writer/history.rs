//! Which changes of which instance are held.
use alloc::collections::VecDeque;

use rtps::Payload;
use rtps::writer::Writer;
use wire::cdr::KeyHash;
use wire::{Duration, Instant, Now, SequenceNumber, Timestamp};

use crate::instance_table::{InstanceTable, Slot};
use crate::timers::{NO_TIME, Timers, monotonic_at};

/// A change that is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) number: SequenceNumber,
    pub(super) expires: Timestamp,
    /// False: the instance was disposed or unregistered.
    pub(super) is_data: bool,
}

#[derive(Debug)]
pub(super) struct Instance {
    /// The application has registered it, or written it.
    pub(super) registered: bool,
    /// The last that was written of it is that it is disposed.
    pub(super) disposed: bool,
    /// In the representation of the writer.
    pub(super) key_hash: KeyHash,
    changes: VecDeque<Held>,
    /// Those of them that are data.
    pub(super) data: usize,
    pub(super) deadline_at: Instant,
    /// When an instance that is disposed and not registered is forgotten; `NEVER` for any other.
    pub(super) forget_at: Instant,
    /// No change expires before.
    expires: Timestamp,
    scheduled: Instant,
}

impl Instance {
    pub(super) fn new(key_hash: KeyHash) -> Self {
        Self {
            registered: true,
            disposed: false,
            key_hash,
            changes: VecDeque::new(),
            data: 0,
            deadline_at: Instant::NEVER,
            forget_at: Instant::NEVER,
            expires: NO_TIME,
            scheduled: Instant::NEVER,
        }
    }

    pub(super) fn newest(&self) -> Option<SequenceNumber> {
        self.changes.back().map(|held| held.number)
    }
}

#[derive(Debug)]
pub(super) struct History {
    pub(super) table: InstanceTable<Instance>,
    pub(super) timers: Timers,
    /// Changes in their order, some of which are not held any more.
    log: VecDeque<(SequenceNumber, Slot)>,
    held: usize,
    /// Those of them that are data.
    pub(super) samples: usize,
}

impl History {
    pub(super) fn new() -> Self {
        Self {
            table: InstanceTable::new(),
            timers: Timers::default(),
            log: VecDeque::new(),
            held: 0,
            samples: 0,
        }
    }

    /// Changes that are held.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Files a change that was written.
    #[inline]
    pub(super) fn push(&mut self, slot: Slot, held: Held) {
        let Some(instance) = self.table.state_mut(slot) else { return };
        instance.changes.push_back(held);
        instance.data += usize::from(held.is_data);
        instance.expires = instance.expires.min(held.expires);
        self.held += 1;
        self.samples += usize::from(held.is_data);
        self.log.push_back((held.number, slot));
        if self.log.len() > self.held.saturating_mul(2).saturating_add(64) {
            self.tidy_log();
        }
    }

    /// The number of the only change that is held, if that is data of an instance that nothing is due for, now or later.
    #[inline]
    pub(super) fn only(&self, slot: Slot) -> Option<SequenceNumber> {
        let instance = &self.table.get(slot)?.state;
        let [held] = instance.changes.as_slices().0 else { return None };
        let is_timeless = held.expires == NO_TIME
            && instance.deadline_at == Instant::NEVER
            && instance.expires == NO_TIME
            && instance.forget_at == Instant::NEVER;
        (self.held == 1 && held.is_data && is_timeless && self.log.len() == 1).then_some(held.number)
    }

    /// The only change, as [`History::only`] says, was written over by this one.
    #[inline]
    pub(super) fn renew(&mut self, slot: Slot, number: SequenceNumber) {
        if let Some(newest) = self.log.back_mut() {
            newest.0 = number;
        }
        let Some(instance) = self.table.state_mut(slot) else { return };
        (instance.registered, instance.disposed) = (true, false);
        if let Some(held) = instance.changes.back_mut() {
            held.number = number;
        }
    }

    fn tidy_log(&mut self) {
        let table = &self.table;
        self.log.retain(|(number, slot)| {
            table.get(*slot).is_some_and(|entry| {
                entry.state.changes.binary_search_by_key(number, |held| held.number).is_ok()
            })
        });
    }

    /// Takes the oldest change of an instance out.
    pub(super) fn pop_oldest(&mut self, slot: Slot) -> Option<SequenceNumber> {
        let instance = self.table.state_mut(slot)?;
        let held = instance.changes.pop_front()?;
        instance.data -= usize::from(held.is_data);
        self.held -= 1;
        self.samples -= usize::from(held.is_data);
        Some(held.number)
    }

    /// Keeps the last `depth` samples of an instance, and what ended it between and after them.
    pub(super) fn keep_last<P: Payload>(&mut self, slot: Slot, depth: usize, rtps: &mut Writer<P>) {
        let changes = depth.saturating_mul(2).saturating_add(2);
        while self
            .table
            .get(slot)
            .is_some_and(|entry| entry.state.data > depth || entry.state.changes.len() > changes)
            && let Some(number) = self.pop_oldest(slot)
        {
            rtps.remove(number);
        }
    }

    /// Forgets the changes that the `rtps` writer holds no more, and instances that are over by that.
    #[inline]
    pub(super) fn prune<P: Payload>(&mut self, rtps: &Writer<P>) {
        let first = rtps.first_held().unwrap_or(rtps.last().next());
        if self.log.front().is_some_and(|(number, _)| *number < first) {
            self.prune_before(first);
        }
    }

    fn prune_before(&mut self, first: SequenceNumber) {
        while let Some((number, slot)) = self.log.pop_front_if(|(number, _)| *number < first) {
            let oldest = self.table.get(slot).and_then(|entry| entry.state.changes.front());
            if oldest.is_some_and(|held| held.number == number) {
                self.pop_oldest(slot);
                self.forget_if_over(slot);
            }
        }
    }

    /// Removes what has expired.
    pub(super) fn expire<P: Payload>(&mut self, slot: Slot, now: Timestamp, rtps: &mut Writer<P>) {
        let Some(instance) = self.table.state_mut(slot) else { return };
        if instance.expires > now {
            return;
        }
        let (mut data, mut gone) = (0, 0);
        instance.changes.retain(|held| {
            let expired = held.expires <= now;
            if expired {
                rtps.remove(held.number);
                gone += 1;
                data += usize::from(held.is_data);
            }
            !expired
        });
        instance.data -= data;
        instance.expires = instance.changes.iter().map(|held| held.expires).min().unwrap_or(NO_TIME);
        self.samples -= data;
        self.held -= gone;
    }

    /// Removes all changes of an instance and the instance.
    pub(super) fn forget<P: Payload>(&mut self, slot: Slot, rtps: &mut Writer<P>) {
        while let Some(number) = self.pop_oldest(slot) {
            rtps.remove(number);
        }
        self.forget_if_over(slot);
    }

    /// Forgets an instance that is not registered and of which nothing is held.
    pub(super) fn forget_if_over(&mut self, slot: Slot) {
        let over = self
            .table
            .get(slot)
            .is_some_and(|entry| !entry.state.registered && entry.state.changes.is_empty());
        if over {
            self.table.remove(slot);
        }
    }

    pub(super) fn restart_deadlines(&mut self, now: Now, deadline: Duration) {
        for slot in 0..self.table.end() {
            if let Some(instance) = self.table.state_mut(slot)
                && instance.registered
            {
                instance.deadline_at = now.monotonic.after(deadline);
                self.schedule(slot, now);
            }
        }
    }

    /// Makes sure that the instance's next due time is known.
    #[inline]
    pub(super) fn schedule(&mut self, slot: Slot, now: Now) {
        let Some(instance) = self.table.state_mut(slot) else { return };
        let due = instance.deadline_at.min(instance.forget_at).min(monotonic_at(now, instance.expires));
        if due >= instance.scheduled {
            return;
        }
        self.timers.schedule(slot, due, &mut instance.scheduled);
        let table = &self.table;
        self.timers.tidy(table.len(), |slot| Some(table.get(slot)?.state.scheduled));
    }

    /// The next instance for which something may be due.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Slot> {
        while let Some((at, slot)) = self.timers.pop(now) {
            if let Some(instance) = self.table.state_mut(slot).filter(|instance| instance.scheduled == at) {
                instance.scheduled = Instant::NEVER;
                return Some(slot);
            }
        }
        None
    }
}
