//! The queue of a consumer: its bound, its order, and what gives way when it is full.
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::batch::{Batch, Taken};
use crate::event::Part;

/// How a consumer's queue is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queue {
    /// How many deliveries wait at most; 1 or more.
    pub depth: u16,
    /// The policy when the queue is full.
    pub full: Full,
    /// Which delivery is next.
    pub order: Order,
}

/// When events may be delivered, counted from when they were made ([`crate::Header::created`]), in nanoseconds. A delivery of several events may be
/// when all of them may.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Window {
    /// Not sooner: until then an event waits, and later ones that may be delivered go before it.
    pub start: u64,
    /// Not from then on: an event that nothing has taken by then is dropped. `None` is never.
    pub stop: Option<u64>,
}

/// The policy when a queue is full. A timeout has no publisher that could wait or be refused, so where these would, the timeout itself gives way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// The publisher waits, for so many nanoseconds at most; no consumer gets the event meanwhile.
    Block {
        /// The longest wait, in nanoseconds.
        limit: u64,
    },
    /// The publisher is refused, and no consumer gets the event.
    Reject,
    /// The delivery that has waited longest gives way.
    DropOldest,
    /// The new delivery gives way.
    DropNewest,
    /// The delivery of the lowest priority gives way, the oldest of several; the new one if it has a lower priority than all.
    DropLowestPriority,
    /// The delivery with the latest deadline gives way, the oldest of several; the new one if it has a later deadline than all.
    DropLatestDeadline,
    /// The oldest delivery gives way that begins with an event of the same type and source; without one, the oldest.
    Coalesce,
}

/// Which delivery of a queue is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The one that has waited longest.
    Fifo,
    /// The one with the highest priority; of several, the one that has waited longest.
    Priority,
    /// The one with the earliest deadline; of several, the one that has waited longest.
    Deadline,
}

/// The parts of a delivery. Most deliveries are one event, which needs no buffer.
#[derive(Debug)]
pub(crate) enum Parts<E> {
    One(Part<E>),
    Several(Vec<Part<E>>),
}

impl<E> Parts<E> {
    fn as_slice(&self) -> &[Part<E>] {
        match self {
            Self::One(part) => core::slice::from_ref(part),
            Self::Several(parts) => parts,
        }
    }
}

/// A delivery that waits.
#[derive(Debug)]
pub(crate) struct Entry<E> {
    /// Deliveries of a channel are numbered as they are made.
    pub(crate) number: u64,
    since: u64,
    parts: Parts<E>,
}

impl<E> Entry<E> {
    /// The highest of its events.
    fn priority(&self) -> u8 {
        self.parts.as_slice().iter().map(Part::priority).max().unwrap_or(0)
    }

    /// The earliest of its events.
    pub(crate) fn deadline(&self) -> u64 {
        self.parts.as_slice().iter().map(Part::deadline).min().unwrap_or(u64::MAX)
    }

    /// When it may be delivered.
    fn start(&self, window: Window) -> u64 {
        let created = self.parts.as_slice().iter().filter_map(Part::created);
        created.max().map_or(0, |created| created.saturating_add(window.start))
    }

    /// When it may not be delivered any more.
    fn stop(&self, window: Window) -> u64 {
        let Some(stop) = window.stop else { return u64::MAX };
        let created = self.parts.as_slice().iter().filter_map(Part::created);
        created.min().map_or(u64::MAX, |created| created.saturating_add(stop))
    }

    /// Type and source of the event that it begins with.
    fn key(&self) -> Option<(u32, u32)> {
        match self.parts.as_slice().first() {
            Some(Part::Event { header, .. }) => Some((header.kind, header.source)),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Waiting<E> {
    pub(crate) settings: Queue,
    window: Window,
    /// The next one is at the front, unless it has to wait for its start.
    entries: VecDeque<Entry<E>>,
    /// Emptied buffers, so that nothing is allocated anew.
    spare: Vec<Vec<Part<E>>>,
}

impl<E> Waiting<E> {
    pub(crate) const fn new(settings: Queue, window: Window) -> Self {
        Self { settings, window, entries: VecDeque::new(), spare: Vec::new() }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= usize::from(self.settings.depth.max(1))
    }

    /// The next delivery.
    #[inline]
    pub(crate) fn first(&self, now: u64) -> Option<&Entry<E>> {
        if self.window.start == 0 { self.entries.front() } else { self.first_started(now) }
    }

    #[cold]
    fn first_started(&self, now: u64) -> Option<&Entry<E>> {
        self.entries.iter().find(|entry| entry.start(self.window) <= now)
    }

    /// How many deliveries can be taken.
    pub(crate) fn ready(&self, now: u64) -> usize {
        if self.window.start == 0 {
            return self.entries.len();
        }
        self.entries.iter().filter(|entry| entry.start(self.window) <= now).count()
    }

    /// The time since when the oldest delivery of those that can be taken waits to be.
    pub(crate) fn oldest(&self, now: u64) -> Option<u64> {
        let window = self.window;
        let since = |entry: &Entry<E>| match window.start {
            0 => entry.since,
            _ => entry.since.max(entry.start(window)),
        };
        self.entries.iter().map(since).filter(|since| *since <= now).min()
    }

    /// When time changes what can be taken of it: a delivery may be from then on, or not any more.
    pub(crate) fn changes_at(&self, now: u64) -> u64 {
        if self.window == Window::default() {
            return u64::MAX;
        }
        let start = |entry: &Entry<E>| Some(entry.start(self.window)).filter(|start| *start > now);
        let times =
            self.entries.iter().map(|entry| entry.stop(self.window).min(start(entry).unwrap_or(u64::MAX)));
        times.min().unwrap_or(u64::MAX)
    }

    /// Drops what is too late; says how much.
    pub(crate) fn lapse(&mut self, now: u64) -> u64 {
        if self.window.stop.is_none() {
            return 0;
        }
        let before = self.entries.len();
        let mut index = 0;
        while let Some(entry) = self.entries.get(index) {
            if entry.stop(self.window) <= now {
                self.drop_at(index);
            } else {
                index += 1;
            }
        }
        (before - self.entries.len()) as u64
    }

    /// What a subscription has put out, as the parts of one delivery.
    pub(crate) fn gather(&mut self, out: &mut Vec<Part<E>>) -> Parts<E> {
        if out.len() == 1
            && let Some(part) = out.pop()
        {
            return Parts::One(part);
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.append(out);
        Parts::Several(buffer)
    }

    /// Adds a delivery. Says whether a delivery gave way, this one or another. One that `is_owed` is added above the depth where the
    /// publisher would have been refused. Without room for another one in the channel, the queue counts as full.
    #[inline]
    pub(crate) fn add(
        &mut self,
        number: u64,
        now: u64,
        parts: Parts<E>,
        is_owed: bool,
        has_room: bool,
    ) -> bool {
        let entry = Entry { number, since: now, parts };
        if self.is_full() || !has_room {
            return self.add_to_full(entry, is_owed);
        }
        self.insert(entry);
        false
    }

    /// Adds the delivery of an event to an empty queue, in which it was all the time.
    pub(crate) fn restore(&mut self, number: u64, since: u64, part: Part<E>) {
        self.entries.push_back(Entry { number, since, parts: Parts::One(part) });
    }

    fn add_to_full(&mut self, entry: Entry<E>, is_owed: bool) -> bool {
        let is_strict = matches!(self.settings.full, Full::Block { .. } | Full::Reject);
        if is_owed && is_strict {
            self.insert(entry);
            return false;
        }
        match self.victim(Some(&entry)) {
            Some(index) => {
                self.drop_at(index);
                self.insert(entry);
            }
            None => self.recycle(entry.parts),
        }
        true
    }

    /// Puts deliveries back in their places that were taken, above the depth, too.
    pub(crate) fn put_back(&mut self, batch: &mut Batch<E>) {
        let (mut parts, mut start) = (batch.parts.drain(..), 0);
        for taken in batch.taken.drain(..) {
            let count = taken.end.saturating_sub(start);
            start = taken.end;
            let mut of_one = parts.by_ref().take(count);
            let parts = match (count, of_one.next()) {
                (1, Some(part)) => Parts::One(part),
                (_, first) => {
                    let mut buffer = self.spare.pop().unwrap_or_default();
                    buffer.extend(first.into_iter().chain(of_one));
                    Parts::Several(buffer)
                }
            };
            let entry = Entry { number: taken.number, since: taken.since, parts };
            self.insert_between(entry);
        }
    }

    #[inline]
    fn insert(&mut self, entry: Entry<E>) {
        // New ones have the largest number.
        match self.settings.order {
            Order::Fifo => self.entries.push_back(entry),
            Order::Priority | Order::Deadline => self.insert_between(entry),
        }
    }

    fn insert_between(&mut self, entry: Entry<E>) {
        let (number, priority, deadline) = (entry.number, entry.priority(), entry.deadline());
        let index = self.entries.partition_point(|other| match self.settings.order {
            Order::Fifo => other.number < number,
            Order::Priority => (other.priority(), number) > (priority, other.number),
            Order::Deadline => (other.deadline(), other.number) < (deadline, number),
        });
        self.entries.insert(index, entry);
    }

    /// Which delivery gives way to a new one, or to none; `None` is the new one.
    fn victim(&self, new: Option<&Entry<E>>) -> Option<usize> {
        let oldest_of = |fits: &dyn Fn(&Entry<E>) -> bool| {
            let entries = self.entries.iter().enumerate().filter(|(_, entry)| fits(entry));
            entries.min_by_key(|(_, entry)| entry.number).map(|(index, _)| index)
        };
        match self.settings.full {
            Full::Block { .. } | Full::Reject | Full::DropNewest => None,
            Full::DropOldest => oldest_of(&|_| true),
            Full::DropLowestPriority => {
                let lowest = self.entries.iter().map(|entry| entry.priority()).min()?;
                let is_lower = new.is_some_and(|new| new.priority() < lowest);
                if is_lower { None } else { oldest_of(&|entry| entry.priority() == lowest) }
            }
            Full::DropLatestDeadline => {
                let latest = self.entries.iter().map(|entry| entry.deadline()).max()?;
                let is_later = new.is_some_and(|new| new.deadline() > latest);
                if is_later { None } else { oldest_of(&|entry| entry.deadline() == latest) }
            }
            Full::Coalesce => {
                let key = new.and_then(|new| new.key());
                let same = key.and_then(|key| oldest_of(&|entry| entry.key() == Some(key)));
                same.or_else(|| oldest_of(&|_| true))
            }
        }
    }

    /// Takes new settings. Says how many deliveries gave way to a smaller depth; with a policy that drops nothing, or only what is new, all stay.
    pub(crate) fn change(&mut self, settings: Queue, window: Window) -> u64 {
        (self.settings, self.window) = (settings, window);
        let mut dropped = 0;
        while self.entries.len() > usize::from(settings.depth.max(1)) {
            let Some(index) = self.victim(None) else { break };
            self.drop_at(index);
            dropped += 1;
        }
        let entries = core::mem::take(&mut self.entries);
        let mut entries = Vec::from(entries);
        entries.sort_by_key(|entry| entry.number);
        for entry in entries {
            self.insert(entry);
        }
        dropped
    }

    /// Drops all that waits. Says how many deliveries that were.
    pub(crate) fn clear(&mut self) -> u64 {
        let mut dropped = 0;
        while let Some(last) = self.entries.len().checked_sub(1) {
            self.drop_at(last);
            dropped += 1;
        }
        dropped
    }

    fn drop_at(&mut self, index: usize) {
        if let Some(entry) = self.entries.remove(index) {
            self.recycle(entry.parts);
        }
    }

    /// Takes the next delivery out, and adds it to a batch.
    #[inline]
    pub(crate) fn take(&mut self, now: u64, batch: &mut Batch<E>) -> bool {
        if self.window.start > 0 && !self.bring_forward(now) {
            return false;
        }
        let Some(Entry { number, since, parts }) = self.entries.pop_front() else { return false };
        match parts {
            Parts::One(part) => batch.parts.push(part),
            Parts::Several(mut parts) => {
                batch.parts.append(&mut parts);
                self.spare.push(parts);
            }
        }
        batch.taken.push(Taken { end: batch.parts.len(), number, since });
        true
    }

    /// Puts the next delivery that may be taken to the front; says whether there is one.
    #[cold]
    fn bring_forward(&mut self, now: u64) -> bool {
        let index = self.entries.iter().position(|entry| entry.start(self.window) <= now);
        let entry = index.and_then(|index| self.entries.remove(index));
        let is_there = entry.is_some();
        if let Some(entry) = entry {
            self.entries.push_front(entry);
        }
        is_there
    }

    fn recycle(&mut self, parts: Parts<E>) {
        if let Parts::Several(mut buffer) = parts {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
