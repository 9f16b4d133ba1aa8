//! Instances with their samples, and the lists that they are on.
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::size_of;

use wire::cdr::KeyHash;
use wire::{Duration, Guid, Instant, SequenceNumber, Timestamp};

use super::drops::{DropReason, Drops};
use super::payload::{Payload, Pool};
use super::shares::Shares;
use crate::instance_table::{Entry, InstanceTable, Slot};
use crate::timers::{NO_TIME, Timers, monotonic_at};
use crate::{InstanceState, ViewState};

/// Where a sample stands among those of its instance when they are ordered by source timestamp.
pub(super) type Position = (Timestamp, Guid, SequenceNumber);

/// A sample that waits to be read or taken.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) writer: Guid,
    pub(super) number: SequenceNumber,
    /// What it answers.
    pub(super) related: Option<(Guid, SequenceNumber)>,
    pub(super) source: Timestamp,
    pub(super) reception: Timestamp,
    pub(super) expires: Timestamp,
    pub(super) disposed_generations: u32,
    pub(super) no_writers_generations: u32,
    pub(super) read: bool,
    /// `None`: it only tells that the state of its instance has changed.
    pub(super) payload: Option<Payload>,
}

impl Stored {
    /// Bytes that it takes. One without data takes none: its instance, which has one at most, keeps room for it, so that
    /// the end of an instance can always be told.
    #[inline]
    pub(super) fn cost(&self) -> usize {
        self.payload.as_ref().map_or(0, |payload| size_of::<Self>().saturating_add(payload.capacity()))
    }

    pub(super) const fn position(&self) -> Position {
        (self.source, self.writer, self.number)
    }
}

/// A writer that has registered an instance.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) writer: Guid,
    /// The hash that it sends, if it is not the one that it should be.
    pub(super) alias: Option<KeyHash>,
}

impl Registration {
    /// Bytes that it takes, with its alias.
    pub(super) const COST: usize = 2 * size_of::<Self>() + size_of::<(Guid, KeyHash, Slot)>();
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    /// Alive and without samples.
    None,
    /// It has samples.
    Ready,
    /// Disposed and without samples: may be forgotten if there is no room.
    Idle,
}

#[derive(Debug)]
pub(super) struct Instance {
    pub(super) state: InstanceState,
    pub(super) view: ViewState,
    pub(super) disposed_generations: u32,
    pub(super) no_writers_generations: u32,
    pub(super) samples: VecDeque<Stored>,
    /// Those that have data.
    pub(super) valid: usize,
    pub(super) writers: Vec<Registration>,
    pub(super) owner: Option<Guid>,
    /// What the filter held back last.
    pub(super) pending: Option<Stored>,
    /// When the filter last let a sample pass.
    pub(super) passed_at: Option<Instant>,
    pub(super) deadline_at: Instant,
    pub(super) purge_at: Instant,
    /// No sample expires before.
    pub(super) expires: Timestamp,
    /// The newest position of data that was taken or replaced, or of a dispose; kept where DESTINATION_ORDER is by source timestamp.
    pub(super) gone: Option<Position>,
    pub(super) xcdr1_hash: Option<KeyHash>,
    scheduled: Instant,
    list: List,
    previous: Option<Slot>,
    next: Option<Slot>,
}

impl Instance {
    pub(super) fn new(xcdr1_hash: Option<KeyHash>) -> Self {
        Self {
            state: InstanceState::Alive,
            view: ViewState::New,
            disposed_generations: 0,
            no_writers_generations: 0,
            samples: VecDeque::new(),
            valid: 0,
            writers: Vec::new(),
            owner: None,
            pending: None,
            passed_at: None,
            deadline_at: Instant::NEVER,
            purge_at: Instant::NEVER,
            expires: NO_TIME,
            gone: None,
            xcdr1_hash,
            scheduled: Instant::NEVER,
            list: List::None,
            previous: None,
            next: None,
        }
    }

    /// The newest position of data that is or was here.
    pub(super) fn newest(&self) -> Option<Position> {
        let data = self.samples.iter().rev().find(|stored| stored.payload.is_some());
        data.map(Stored::position).max(self.gone)
    }

    pub(super) const fn generation(&self) -> u32 {
        self.disposed_generations.saturating_add(self.no_writers_generations)
    }

    /// When a TIME_BASED_FILTER opens for what it holds back.
    #[inline]
    pub(super) fn filter_opens(&self, filter: Duration) -> Instant {
        let waits = self.passed_at.filter(|_| self.pending.is_some());
        waits.map_or(Instant::NEVER, |at| at.after(filter))
    }

    /// When something is to be done, the filter apart.
    #[inline]
    fn due(&self, now: wire::Now) -> Instant {
        self.deadline_at.min(self.purge_at).min(monotonic_at(now, self.expires))
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.samples.is_empty()
            && self.pending.is_none()
            && match self.state {
                InstanceState::Alive => false,
                InstanceState::NotAliveDisposed => self.writers.is_empty(),
                InstanceState::NotAliveNoWriters => true,
            }
    }
}

/// A list of instances, first in first out.
#[derive(Debug, Default)]
struct Ends {
    head: Option<Slot>,
    tail: Option<Slot>,
}

#[derive(Debug)]
pub(super) struct Cache {
    pub(super) table: InstanceTable<Instance>,
    ready: Ends,
    idle: Ends,
    pub(super) timers: Timers,
    /// Samples with data, those that the filter holds back included.
    pub(super) samples: usize,
    /// Bytes of samples and instances.
    pub(super) bytes: usize,
    /// Bytes of the queues of all instances, whether samples are in them or not.
    queues: usize,
    /// How many of those may stay behind when the samples are gone, so that the next ones need no memory.
    idle_queues: usize,
    pub(super) pool: Pool,
    pub(super) drops: Drops,
    /// A sample was refused for want of room.
    pub(super) blocked: bool,
    /// There is room again.
    pub(super) resume: bool,
    /// There has been a sample that expires.
    pub(super) ages: bool,
    /// DESTINATION_ORDER is by source timestamp.
    by_source: bool,
    /// Where instances belong to participants.
    pub(super) shares: Option<Shares>,
}

impl Cache {
    /// Most bytes of empty queues.
    const IDLE_QUEUES: usize = 8 << 20;

    /// An empty cache of at most `limit` bytes, of which the samples of an instance are in the order of their source timestamps or, else,
    /// in that of their reception.
    pub(super) fn new(limit: usize, by_source: bool) -> Self {
        Self {
            table: InstanceTable::new(),
            ready: Ends::default(),
            idle: Ends::default(),
            timers: Timers::default(),
            samples: 0,
            bytes: 0,
            queues: 0,
            idle_queues: (limit / 4).min(Self::IDLE_QUEUES),
            pool: Pool::new(limit),
            drops: Drops::default(),
            blocked: false,
            resume: false,
            ages: false,
            by_source,
            shares: None,
        }
    }

    /// The first instance with samples: the one that has had some for longest.
    pub(super) fn first_ready(&self) -> Option<Slot> {
        self.ready.head
    }

    /// The only instance with samples, unless queues are to be made smaller.
    #[inline]
    pub(super) fn only_ready(&self) -> Option<Slot> {
        self.ready.head.filter(|_| self.ready.head == self.ready.tail && self.queues <= self.idle_queues)
    }

    /// The next instance with samples.
    pub(super) fn next_ready(&self, slot: Slot) -> Option<Slot> {
        let state = &self.table.get(slot)?.state;
        if state.list == List::Ready { state.next } else { None }
    }

    /// The instance that has been disposed and empty for longest.
    pub(super) fn first_idle(&self) -> Option<Slot> {
        self.idle.head
    }

    /// Bytes that an instance takes beside its writers and its samples with data.
    pub(super) fn instance_cost(key: &[u8]) -> usize {
        let fixed = const { size_of::<Entry<Instance>>() + size_of::<Stored>() };
        fixed.saturating_add(key.len())
    }

    /// Puts a sample in its place among those of its instance.
    #[inline]
    pub(super) fn insert(&mut self, slot: Slot, stored: Stored) {
        let cost = stored.cost();
        let Some(instance) = self.table.state_mut(slot) else { return };
        instance.expires = instance.expires.min(stored.expires);
        let has_data = stored.payload.is_some();
        instance.valid += usize::from(has_data);
        let before = instance.samples.capacity();
        match instance.samples.back() {
            // What only tells of the end of an instance stands behind the data that is there.
            Some(newest) if self.by_source && has_data && newest.position() > stored.position() => {
                let index = instance.samples.partition_point(|other| other.position() < stored.position());
                instance.samples.insert(index, stored);
            }
            _ => instance.samples.push_back(stored),
        }
        let more = instance.samples.capacity().saturating_sub(before);
        self.queues = self.queues.saturating_add(more.saturating_mul(size_of::<Stored>()));
        self.samples += usize::from(has_data);
        self.bytes = self.bytes.saturating_add(cost);
    }

    /// Takes a sample out.
    pub(super) fn remove(&mut self, slot: Slot, index: usize) -> Option<Stored> {
        let instance = self.table.state_mut(slot)?;
        let stored = instance.samples.remove(index)?;
        if stored.payload.is_some() {
            if self.by_source {
                instance.gone = instance.gone.max(Some(stored.position()));
            }
            instance.valid -= 1;
        }
        self.account_gone(stored.cost(), stored.payload.is_some());
        Some(stored)
    }

    /// Takes a sample out for the application, which gets its payload.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot, index: usize) -> Option<Payload> {
        if index > 0 {
            return self.remove(slot, index)?.payload;
        }
        let instance = self.table.state_mut(slot)?;
        let stored = instance.samples.front_mut()?;
        let cost = stored.cost();
        let payload = stored.payload.take();
        if payload.is_some() {
            if self.by_source {
                instance.gone = instance.gone.max(Some(stored.position()));
            }
            instance.valid -= 1;
        }
        drop(instance.samples.pop_front());
        self.account_gone(cost, payload.is_some());
        payload
    }

    /// Takes the last sample of [`Cache::only_ready`] out for the application, and settles that, which is alive.
    #[inline]
    pub(super) fn take_last(&mut self, slot: Slot) -> Option<Payload> {
        let payload = self.take(slot, 0);
        self.ready = Ends::default();
        if let Some(instance) = self.table.state_mut(slot) {
            instance.list = List::None;
        }
        payload
    }

    /// What the filter holds back makes room for another, or for nothing.
    pub(super) fn replace_pending(&mut self, slot: Slot, stored: Option<Stored>) -> Option<Stored> {
        if let Some(stored) = &stored {
            self.samples += 1;
            self.bytes = self.bytes.saturating_add(stored.cost());
        }
        let instance = self.table.state_mut(slot)?;
        let old = core::mem::replace(&mut instance.pending, stored);
        if let Some(old) = &old {
            self.account_gone(old.cost(), old.payload.is_some());
        }
        old
    }

    /// Drops a sample that was taken out, with its reason unless it was read.
    pub(super) fn discard(&mut self, stored: Stored, reason: DropReason, at: Timestamp) {
        if let Some(payload) = stored.payload {
            if !stored.read {
                self.drops.add(reason, 1, stored.writer, stored.number, at);
            }
            self.pool.give(payload);
        }
    }

    /// Drops the samples of an instance that `goes` names.
    pub(super) fn discard_where(
        &mut self,
        slot: Slot,
        reason: DropReason,
        at: Timestamp,
        goes: impl Fn(&Stored) -> bool,
    ) {
        let mut index = 0;
        while let Some(stored) = self.table.get(slot).and_then(|entry| entry.state.samples.get(index)) {
            if !goes(stored) {
                index += 1;
            } else if let Some(stored) = self.remove(slot, index) {
                self.discard(stored, reason, at);
            }
        }
    }

    /// Drops what has expired.
    #[inline]
    pub(super) fn expire(&mut self, slot: Slot, now: Timestamp) {
        if self.table.get(slot).is_some_and(|entry| entry.state.expires <= now) {
            self.drop_expired(slot, now);
        }
    }

    fn drop_expired(&mut self, slot: Slot, now: Timestamp) {
        self.discard_where(slot, DropReason::Expired, now, |stored| stored.expires <= now);
        if let Some(instance) = self.table.state_mut(slot) {
            instance.expires = instance.samples.iter().map(|stored| stored.expires).min().unwrap_or(NO_TIME);
        }
    }

    /// Puts an instance on the list where it belongs now; gives it back if it is over.
    #[inline]
    pub(super) fn settle(&mut self, slot: Slot) -> Option<Entry<Instance>> {
        let instance = &mut self.table.get_mut(slot)?.state;
        if instance.is_over() {
            return self.forget(slot);
        }
        // Else one instance after the other could be filled and emptied, and each keep the room for all.
        let (held, room) = (instance.samples.len(), instance.samples.capacity());
        if self.queues > self.idle_queues && (held == 0 || room > held.saturating_mul(4)) {
            instance.samples.shrink_to(held);
            let less = room.saturating_sub(instance.samples.capacity());
            self.queues = self.queues.saturating_sub(less.saturating_mul(size_of::<Stored>()));
        }
        let wanted = match (instance.samples.is_empty(), instance.state) {
            (false, _) => List::Ready,
            (true, InstanceState::Alive) => List::None,
            (true, _) => List::Idle,
        };
        if wanted != instance.list {
            self.unlink(slot);
            self.link(slot, wanted);
        }
        None
    }

    /// DESTINATION_ORDER is by source timestamp.
    #[inline]
    pub(super) const fn by_source(&self) -> bool {
        self.by_source
    }

    /// Takes an instance out that has no samples any more.
    pub(super) fn forget(&mut self, slot: Slot) -> Option<Entry<Instance>> {
        self.unlink(slot);
        let entry = self.table.remove(slot)?;
        if let Some(shares) = &mut self.shares {
            shares.remove(&entry.key);
        }
        let writers = entry.state.writers.len().saturating_mul(Registration::COST);
        self.bytes = self.bytes.saturating_sub(Self::instance_cost(&entry.key)).saturating_sub(writers);
        let room = entry.state.samples.capacity().saturating_mul(size_of::<Stored>());
        self.queues = self.queues.saturating_sub(room);
        Some(entry)
    }

    /// Makes sure that the instance's next due time is known; `filter` is the TIME_BASED_FILTER.
    #[inline]
    pub(super) fn schedule(&mut self, slot: Slot, now: wire::Now, filter: Duration) {
        let Some(instance) = self.table.state_mut(slot) else { return };
        let due = instance.due(now).min(instance.filter_opens(filter));
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

    #[inline]
    fn account_gone(&mut self, cost: usize, has_data: bool) {
        self.samples -= usize::from(has_data);
        self.bytes = self.bytes.saturating_sub(cost);
        if core::mem::take(&mut self.blocked) {
            self.resume = true;
        }
    }

    fn ends(&mut self, list: List) -> Option<&mut Ends> {
        match list {
            List::None => None,
            List::Ready => Some(&mut self.ready),
            List::Idle => Some(&mut self.idle),
        }
    }

    fn link(&mut self, slot: Slot, list: List) {
        let tail = self.ends(list).and_then(|ends| {
            let tail = ends.tail.replace(slot);
            ends.head.get_or_insert(slot);
            tail
        });
        if let Some(before) = tail.and_then(|tail| self.table.state_mut(tail)) {
            before.next = Some(slot);
        }
        if let Some(instance) = self.table.state_mut(slot) {
            (instance.list, instance.previous, instance.next) = (list, tail, None);
        }
    }

    fn unlink(&mut self, slot: Slot) {
        let Some(instance) = self.table.state_mut(slot) else { return };
        let (list, previous, next) = (instance.list, instance.previous.take(), instance.next.take());
        instance.list = List::None;
        if let Some(before) = previous.and_then(|slot| self.table.state_mut(slot)) {
            before.next = next;
        }
        if let Some(after) = next.and_then(|slot| self.table.state_mut(slot)) {
            after.previous = previous;
        }
        if let Some(ends) = self.ends(list) {
            if ends.head == Some(slot) {
                ends.head = next;
            }
            if ends.tail == Some(slot) {
                ends.tail = previous;
            }
        }
    }
}
