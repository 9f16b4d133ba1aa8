//! Matched writers: liveliness, registration and ownership (DDS 1.4, 2.2.3.9, 2.2.3.11, 2.2.3.23).
use alloc::collections::VecDeque;

use wire::cdr::{KeyHash, Representation};
use wire::{Duration, Guid, Now, SequenceNumber, Timestamp};

use super::DataReader;
use super::cache::{Registration, Stored};
use crate::instance_table::Slot;
use crate::status::StatusMask;
use crate::timers::NO_TIME;
use crate::type_support::TypeSupport;
use crate::{InstanceHandle, InstanceState};

/// What a reader has to know about a writer that it is matched with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchedPublication {
    /// The writer's name.
    pub guid: Guid,
    /// Its OWNERSHIP_STRENGTH.
    pub ownership_strength: i32,
    /// Its LIFESPAN.
    pub lifespan: Duration,
    /// The representation that it writes.
    pub representation: Representation,
}

/// A matched writer.
#[derive(Debug)]
pub(super) struct Publication {
    pub(super) matched: MatchedPublication,
    alive: bool,
    /// The last of its samples that was refused, and may be offered again.
    refused: SequenceNumber,
}

/// Which samples of writers that were lost with their participants were refused last: they may come back and offer these again.
#[derive(Debug, Default)]
pub(super) struct RefusedOfLost(VecDeque<(Guid, SequenceNumber)>);

impl RefusedOfLost {
    /// Most writers that are remembered, at 24 bytes each; those that were lost first make room.
    const MOST: usize = 1_024;

    fn remember(&mut self, writer: Guid, number: SequenceNumber) {
        if self.0.len() >= Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back((writer, number));
    }

    /// The sample of a writer, which is forgotten here.
    fn take(&mut self, writer: Guid) -> Option<SequenceNumber> {
        let index = self.0.iter().position(|(lost, _)| *lost == writer)?;
        self.0.remove(index).map(|(_, number)| number)
    }
}

impl<T: TypeSupport> DataReader<T> {
    /// Matches a writer, or gives a matched one new QoS.
    pub fn match_publication(&mut self, matched: MatchedPublication) {
        match self.position(matched.guid) {
            Ok(index) => {
                if let Some(publication) = self.publications.get_mut(index) {
                    publication.matched = matched;
                }
            }
            Err(index) => {
                let refused = self.refused_of_lost.take(matched.guid).unwrap_or(SequenceNumber::ZERO);
                self.publications.insert(index, Publication { matched, alive: true, refused });
                self.matched.up(matched.guid.into());
                self.liveliness_changed.alive.up();
                self.liveliness_changed.last_publication = Some(matched.guid.into());
                self.changed.raise(StatusMask::SUBSCRIPTION_MATCHED | StatusMask::LIVELINESS_CHANGED);
            }
        }
    }

    /// A writer is lost with its participant, which may come back: as [`DataReader::unmatch_publication`], but a sample of it that
    /// was refused counts only once if it is refused again. False if it was not matched.
    pub fn lose_publication(&mut self, now: Now, writer: Guid) -> bool {
        let Ok(index) = self.position(writer) else { return false };
        let refused = self.publications.get(index).map_or(SequenceNumber::ZERO, |lost| lost.refused);
        self.unmatch_publication(now, writer);
        if refused > SequenceNumber::ZERO {
            self.refused_of_lost.remember(writer, refused);
        }
        true
    }

    /// A writer is gone for good: it has nothing registered any more. False if it was not matched.
    pub fn unmatch_publication(&mut self, now: Now, writer: Guid) -> bool {
        self.refused_of_lost.take(writer);
        let Ok(index) = self.position(writer) else { return false };
        self.catch_up(now);
        let publication = self.publications.remove(index);
        let handle = writer.into();
        self.matched.down(handle);
        match publication.alive {
            true => self.liveliness_changed.alive.down(),
            false => self.liveliness_changed.not_alive.down(),
        }
        self.liveliness_changed.last_publication = Some(handle);
        self.changed.raise(StatusMask::SUBSCRIPTION_MATCHED | StatusMask::LIVELINESS_CHANGED);
        self.leave_all(now, writer);
        true
    }

    /// A matched writer has gone silent for as long as its lease, or is heard again.
    pub fn set_liveliness(&mut self, now: Now, writer: Guid, alive: bool) {
        let Ok(index) = self.position(writer) else { return };
        self.catch_up(now);
        let Some(publication) = self.publications.get_mut(index) else { return };
        if core::mem::replace(&mut publication.alive, alive) == alive {
            return;
        }
        let status = &mut self.liveliness_changed;
        if alive {
            status.alive.up();
            status.not_alive.down();
        } else {
            status.alive.down();
            status.not_alive.up();
        }
        status.last_publication = Some(writer.into());
        self.changed.raise(StatusMask::LIVELINESS_CHANGED);
        if !alive {
            self.leave_all(now, writer);
        }
    }

    /// The matched writers.
    pub fn publications(&self) -> impl Iterator<Item = InstanceHandle> + '_ {
        self.publications.iter().map(|publication| publication.matched.guid.into())
    }

    #[inline]
    pub(super) fn publication(&self, writer: Guid) -> Option<&MatchedPublication> {
        Some(&self.publications.get(self.position(writer).ok()?)?.matched)
    }

    /// True unless this sample was refused before.
    pub(super) fn refuses_first(&mut self, writer: Guid, number: SequenceNumber) -> bool {
        let Ok(index) = self.position(writer) else { return false };
        let Some(publication) = self.publications.get_mut(index) else { return false };
        core::mem::replace(&mut publication.refused, number) != number
    }

    #[inline]
    fn position(&self, writer: Guid) -> Result<usize, usize> {
        match self.publications.as_slice() {
            [only] if only.matched.guid == writer => Ok(0),
            all => all.binary_search_by_key(&writer, |publication| publication.matched.guid),
        }
    }

    /// The writer has registered the instance; `hash` is what it calls it. False if there is no room to remember that.
    #[inline]
    pub(super) fn register(
        &mut self,
        slot: Slot,
        writer: &MatchedPublication,
        hash: Option<KeyHash>,
    ) -> bool {
        let is_known = hash.is_none()
            && self.cache.table.get(slot).is_some_and(|entry| {
                entry.state.writers.iter().any(|registration| registration.writer == writer.guid)
            });
        is_known || self.register_as(slot, writer, hash)
    }

    fn register_as(&mut self, slot: Slot, writer: &MatchedPublication, hash: Option<KeyHash>) -> bool {
        let guid = writer.guid;
        let Some(entry) = self.cache.table.get_mut(slot) else { return true };
        let own = match writer.representation {
            Representation::Xcdr1 => entry.state.xcdr1_hash.map(InstanceHandle::from),
            Representation::Xcdr2 => None,
        };
        let alias = hash.filter(|hash| InstanceHandle::from(*hash) != own.unwrap_or(entry.handle));
        let writers = &mut entry.state.writers;
        let index = writers.iter().position(|registration| registration.writer == guid);
        let registration = match index.and_then(|index| writers.get_mut(index)) {
            Some(registration) => registration,
            None => {
                if self.cache.bytes.saturating_add(Registration::COST) > self.limits.bytes {
                    return false;
                }
                self.cache.bytes = self.cache.bytes.saturating_add(Registration::COST);
                writers.push(Registration { writer: guid, alias: None });
                let Some(last) = writers.last_mut() else { return true };
                last
            }
        };
        if registration.alias == alias || alias.is_none() {
            return true;
        }
        if let Some(old) = core::mem::replace(&mut registration.alias, alias) {
            self.aliases.remove(&(guid, old));
        }
        let Some(alias) = alias else { return true };
        // Another instance of this writer may have had the hash: what it says last counts.
        if let Some(other) = self.aliases.insert((guid, alias), slot)
            && other != slot
            && let Some(instance) = self.cache.table.state_mut(other)
        {
            for registration in instance.writers.iter_mut().filter(|other| other.writer == guid) {
                registration.alias = None;
            }
        }
        true
    }

    /// The instance that a writer means by a hash.
    pub(super) fn by_hash(&self, writer: &MatchedPublication, hash: KeyHash) -> Option<Slot> {
        let known = match writer.representation {
            Representation::Xcdr1 => self.xcdr1.get(&hash).copied(),
            Representation::Xcdr2 => None,
        };
        let known = known.or_else(|| {
            // Without a hash of its own in version 1, the hash of an instance is the same in both.
            let slot = self.cache.table.by_handle(hash.into())?;
            let differs = self.cache.table.get(slot)?.state.xcdr1_hash.is_some();
            (writer.representation == Representation::Xcdr2 || !differs).then_some(slot)
        });
        known.or_else(|| self.aliases.get(&(writer.guid, hash)).copied())
    }

    /// True if the writer may change the instance; it may become its owner by that (DDS 1.4, 2.2.3.9.2).
    #[inline]
    pub(super) fn owns(&mut self, slot: Slot, writer: &MatchedPublication) -> bool {
        !self.is_exclusive() || self.may_own(slot, writer)
    }

    fn may_own(&mut self, slot: Slot, writer: &MatchedPublication) -> bool {
        let Some(owner) = self.cache.table.get(slot).map(|entry| entry.state.owner) else { return false };
        // Of two that are equally strong the one with the lower guid owns, so that every reader decides alike.
        let rank = |strength: i32, guid: Guid| (strength, core::cmp::Reverse(guid));
        let is_weaker = owner
            .filter(|owner| *owner != writer.guid)
            .and_then(|owner| self.publication(owner))
            .is_some_and(|owner| {
                rank(owner.ownership_strength, owner.guid) > rank(writer.ownership_strength, writer.guid)
            });
        if is_weaker {
            return false;
        }
        if let Some(instance) = self.cache.table.state_mut(slot) {
            instance.owner = Some(writer.guid);
        }
        true
    }

    /// The writer does not write the instance any more.
    pub(super) fn leave(
        &mut self,
        slot: Slot,
        now: Now,
        writer: Guid,
        number: SequenceNumber,
        source: Timestamp,
    ) {
        let Some(instance) = self.cache.table.state_mut(slot) else { return };
        if instance.owner == Some(writer) {
            instance.owner = None;
        }
        let index = instance.writers.iter().position(|registration| registration.writer == writer);
        if let Some(registration) = index.map(|index| instance.writers.swap_remove(index)) {
            self.cache.bytes = self.cache.bytes.saturating_sub(Registration::COST);
            if let Some(alias) = registration.alias {
                self.aliases.remove(&(writer, alias));
            }
        }
        if instance.writers.is_empty() && instance.state == InstanceState::Alive {
            self.end(slot, now, InstanceState::NotAliveNoWriters, writer, number, source);
        }
        self.settle(slot, now);
    }

    /// An instance is not alive any more: the application is told by a sample without data.
    pub(super) fn end(
        &mut self,
        slot: Slot,
        now: Now,
        state: InstanceState,
        writer: Guid,
        number: SequenceNumber,
        source: Timestamp,
    ) {
        let lifecycle = &self.qos.reader_data_lifecycle;
        let delay = match state {
            InstanceState::NotAliveDisposed => lifecycle.autopurge_disposed_samples_delay,
            _ => lifecycle.autopurge_nowriter_samples_delay,
        };
        if state == InstanceState::NotAliveNoWriters {
            // The last value counts: nothing later comes that the filter could wait for.
            self.pass_pending(slot, now);
        } else if let Some(stored) = self.cache.replace_pending(slot, None) {
            self.cache.discard(stored, super::DropReason::Filtered, now.wall);
        }
        self.cache
            .discard_where(slot, super::DropReason::Replaced, now.wall, |stored| stored.payload.is_none());
        let Some(instance) = self.cache.table.state_mut(slot) else { return };
        instance.state = state;
        instance.deadline_at = wire::Instant::NEVER;
        instance.purge_at = now.monotonic.after(delay);
        instance.passed_at = None;
        let stored = Stored {
            writer,
            number,
            related: None,
            // It stands behind the data that is there.
            source: instance.samples.back().map_or(source, |newest| source.max(newest.source)),
            reception: now.wall,
            expires: NO_TIME,
            disposed_generations: instance.disposed_generations,
            no_writers_generations: instance.no_writers_generations,
            read: false,
            payload: None,
        };
        self.cache.insert(slot, stored);
        self.changed.raise(StatusMask::DATA_AVAILABLE);
    }

    /// The writer writes nothing any more. Instances end in the order of their handles.
    fn leave_all(&mut self, now: Now, writer: Guid) {
        let mut after = None;
        loop {
            let next = self.cache.table.after(after).next();
            let Some((slot, entry)) = next.and_then(|slot| Some((slot, self.cache.table.get(slot)?))) else {
                return;
            };
            after = Some(entry.handle);
            if entry.state.writers.iter().any(|other| other.writer == writer) {
                self.leave(slot, now, writer, SequenceNumber::ZERO, now.wall);
            }
        }
    }
}
