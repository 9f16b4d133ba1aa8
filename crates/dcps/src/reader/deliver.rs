//! What a received sample does to its instance, and whether it gets into the cache.
use alloc::sync::Arc;
use alloc::vec::Vec;

use rtps::reader::{Accept, Sample as Received, SamplePayload, Sink, Unusable};
use wire::admission::InstanceOwner;
use wire::cdr::{KeyHash, Representation};
use wire::parameter::StatusInfo;
use wire::{Duration, Guid, Now, SequenceNumber, Timestamp};

use super::cache::{Cache, Instance, Registration, Stored};
use super::shares::Shares;
use super::{DataReader, DropReason, MatchedPublication};
use crate::instance_table::Slot;
use crate::status::{RejectedReason, StatusMask};
use crate::timers::{NO_TIME, expiry, monotonic_at};
use crate::type_support::TypeSupport;
use crate::{InstanceHandle, InstanceState, ViewState};

/// The way of samples from an `rtps` reader into a [`DataReader`] at one moment.
#[derive(Debug)]
pub struct Delivery<'a, T> {
    pub(super) reader: &'a mut DataReader<T>,
    pub(super) now: Now,
    /// The buffer that the datagram lies in, if it may be kept.
    pub(super) buffer: Option<&'a Arc<Vec<u8>>>,
}

impl<'a, T> Delivery<'a, T> {
    /// The datagram lies in this buffer, which is kept if a sample is most of it: that saves a copy.
    #[must_use]
    pub const fn in_buffer(self, buffer: Option<&'a Arc<Vec<u8>>>) -> Self {
        Self { buffer, ..self }
    }
}

impl<T: TypeSupport> Sink for Delivery<'_, T> {
    fn deliver(&mut self, sample: &mut Received<'_>) -> Accept {
        self.reader.deliver(self.now, sample, self.buffer)
    }

    #[inline]
    fn deliver_next(
        &mut self,
        writer: Guid,
        number: SequenceNumber,
        source: Option<Timestamp>,
        bytes: &[u8],
    ) -> bool {
        self.reader.deliver_next(self.now, writer, number, source, bytes, self.buffer)
    }

    fn lost(&mut self, writer: Guid, first: SequenceNumber, count: u64) {
        let last = SequenceNumber(first.0.saturating_add_unsigned(count.saturating_sub(1)));
        self.reader.bounds.lose(writer, count);
        self.reader.lose(self.now, DropReason::Lost, count, writer, last);
    }

    fn refused(&mut self, writer: Guid, number: SequenceNumber, why: Unusable) {
        self.reader.bounds.lose(writer, 1);
        match why {
            Unusable::TooLarge { .. } => {
                self.reader.reject(RejectedReason::SampleSize, None);
                self.reader.lose(self.now, DropReason::TooLarge, 1, writer, number);
            }
            Unusable::InlineQos => self.reader.lose(self.now, DropReason::Malformed, 1, writer, number),
        }
    }
}

/// What is known of a received change beside its payload.
struct Arrival {
    writer: MatchedPublication,
    number: SequenceNumber,
    source: Timestamp,
    hash: Option<KeyHash>,
    related: Option<(Guid, SequenceNumber)>,
}

/// A sample does not get on.
enum Refusal {
    /// For good.
    Dropped(DropReason),
    /// A limit is reached.
    Rejected(RejectedReason),
}

impl<T: TypeSupport> DataReader<T> {
    fn deliver(&mut self, now: Now, sample: &mut Received<'_>, buffer: Option<&Arc<Vec<u8>>>) -> Accept {
        self.catch_up(now);
        let Some(writer) = self.publication(sample.writer).copied() else {
            return self.drop_sample(now, sample, DropReason::NotMatched);
        };
        let arrival = Arrival {
            writer,
            number: sample.sequence_number,
            source: sample.source_timestamp.unwrap_or(now.wall),
            hash: sample.inline_qos.key_hash.map(KeyHash),
            related: sample.inline_qos.related_sample_identity,
        };
        if self.inspects && !self.inspect(now, sample) {
            return self.deliver_filtered(now, sample, &arrival);
        }
        let status = sample.inline_qos.status_info;
        let ends = status.contains(StatusInfo::DISPOSED) || status.contains(StatusInfo::UNREGISTERED);
        let mut slot = match self.identify(&arrival, sample) {
            Ok(slot) => slot,
            Err(reason) => return self.drop_sample(now, sample, reason),
        };
        let has_value = !sample.is_key && sample.payload.size() > 0;
        if ends && has_value {
            // A last value, and the end of the instance in one: write_dispose of other vendors.
            match self.receive_data(now, slot, &arrival, &mut sample.payload, buffer) {
                Ok(known) => slot = Some(known),
                Err((refusal, known)) => {
                    if self.refuse(now, sample, refusal, known) == Accept::Full {
                        return Accept::Full;
                    }
                    // An instance that was new is not known any more if nothing of it is kept.
                    slot = match self.types.has_key() {
                        true => self.cache.table.by_key(&self.key),
                        false => self.cache.table.keyless(),
                    };
                }
            }
        }
        let result = if ends {
            self.receive_end(now, slot, &arrival, status)
        } else if status.contains(StatusInfo::FILTERED) {
            Err(Refusal::Dropped(DropReason::ContentFilter))
        } else if !has_value {
            Err(Refusal::Dropped(DropReason::Malformed))
        } else {
            return match self.receive_data(now, slot, &arrival, &mut sample.payload, buffer) {
                Ok(slot) => {
                    self.settle(slot, now);
                    Accept::Taken
                }
                Err((refusal, slot)) => self.refuse(now, sample, refusal, slot),
            };
        };
        match result {
            Ok(()) => Accept::Taken,
            Err(refusal) => self.refuse(now, sample, refusal, slot),
        }
    }

    /// A sample that does not pass the content filter: of it the end of its instance is left, if it is one.
    #[cold]
    #[inline(never)]
    fn deliver_filtered(&mut self, now: Now, sample: &Received<'_>, arrival: &Arrival) -> Accept {
        let status = sample.inline_qos.status_info;
        if !status.contains(StatusInfo::DISPOSED) && !status.contains(StatusInfo::UNREGISTERED) {
            return self.drop_sample(now, sample, DropReason::ContentFilter);
        }
        let slot = match self.identify(arrival, sample) {
            Ok(slot) => slot,
            Err(reason) => return self.drop_sample(now, sample, reason),
        };
        match self.receive_end(now, slot, arrival, status) {
            Ok(()) => Accept::Taken,
            Err(refusal) => self.refuse(now, sample, refusal, slot),
        }
    }

    /// Whether a sample came in time, and whether it passes the content filter; what has no value does.
    #[cold]
    #[inline(never)]
    fn inspect(&mut self, now: Now, sample: &Received<'_>) -> bool {
        if let Some(late) = self.bounds.receive(now, sample) {
            self.bound_exceeded.total.add(1);
            self.bound_exceeded.last = Some(late);
            self.changed.raise(StatusMask::BOUND_EXCEEDED);
        }
        match &mut self.filter {
            Some(filter) if !sample.is_key && sample.payload.size() > 0 => {
                filter.passes(sample.payload.bytes())
            }
            _ => true,
        }
    }

    /// The instance of a sample, if it is known; `self.key` is its key, unless only its hash is there.
    #[inline]
    fn identify(&mut self, arrival: &Arrival, sample: &Received<'_>) -> Result<Option<Slot>, DropReason> {
        self.key.clear();
        if self.types.has_key() { self.identify_key(arrival, sample) } else { Ok(self.cache.table.keyless()) }
    }

    fn identify_key(&mut self, arrival: &Arrival, sample: &Received<'_>) -> Result<Option<Slot>, DropReason> {
        let slot = if let SamplePayload::Value(value) = &sample.payload {
            if !value.key(&mut self.key) {
                return Err(DropReason::Malformed);
            }
            self.cache.table.by_key(&self.key)
        } else if let bytes @ [_, ..] = sample.payload.bytes() {
            let read = self.types.key(bytes, sample.is_key, &mut self.key);
            read.map_err(|error| DropReason::undecodable(&error))?;
            self.cache.table.by_key(&self.key)
        } else {
            let hash = arrival.hash.ok_or(DropReason::Malformed)?;
            Some(self.by_hash(&arrival.writer, hash).ok_or(DropReason::UnknownInstance)?)
        };
        match self.owner {
            Some(owner) if !self.is_owner(owner, slot, arrival) => Err(DropReason::Unauthorized),
            _ => Ok(slot),
        }
    }

    /// Whether an instance, a known one or that with the key `self.key`, belongs to the participant of a writer.
    fn is_owner(&self, owner: InstanceOwner, slot: Option<Slot>, arrival: &Arrival) -> bool {
        let known = slot.and_then(|slot| self.cache.table.get(slot));
        let key = known.map_or(&*self.key, |entry| &entry.key);
        owner(key) == Some(arrival.writer.guid.prefix)
    }

    /// A sample with data.
    #[inline]
    fn receive_data(
        &mut self,
        now: Now,
        slot: Option<Slot>,
        arrival: &Arrival,
        payload: &mut SamplePayload<'_>,
        buffer: Option<&Arc<Vec<u8>>>,
    ) -> Result<Slot, (Refusal, Option<Slot>)> {
        let expires = expiry(arrival.source, arrival.writer.lifespan);
        if expires <= now.wall {
            return Err((Refusal::Dropped(DropReason::Expired), slot));
        }
        let slot = match slot {
            Some(slot) => slot,
            None => self.add_instance().map_err(|refusal| (refusal, None))?,
        };
        if !self.register(slot, &arrival.writer, arrival.hash) {
            return Err((Refusal::Rejected(RejectedReason::Samples), Some(slot)));
        }
        let refused = |reason| (Refusal::Dropped(reason), Some(slot));
        if !self.owns(slot, &arrival.writer) {
            return Err(refused(DropReason::Ownership));
        }
        let position = (arrival.source, arrival.writer.guid, arrival.number);
        let by_source = self.cache.by_source();
        let Some(instance) = self.cache.table.get(slot).map(|entry| &entry.state) else {
            return Err(refused(DropReason::UnknownInstance));
        };
        if by_source && instance.gone.is_some_and(|gone| position <= gone) {
            return Err(refused(DropReason::OutOfOrder));
        }
        // Without a separation nothing is too soon, not even what another thread received a moment before the last one.
        let separation = self.qos.endpoint.time_based_filter;
        let filtered = separation > Duration::ZERO
            && instance.state == InstanceState::Alive
            && instance.passed_at.is_some_and(|at| now.monotonic < at.after(separation));
        if filtered && !self.is_reliable() {
            return Err(refused(DropReason::Filtered));
        }
        self.cache.ages |= expires != NO_TIME;
        let kept = self.cache.pool.keep(payload, buffer);
        let mut stored = Stored {
            writer: arrival.writer.guid,
            number: arrival.number,
            related: arrival.related,
            source: arrival.source,
            reception: now.wall,
            expires,
            disposed_generations: 0,
            no_writers_generations: 0,
            read: false,
            payload: Some(kept),
        };
        if filtered {
            let waiting = instance.pending.as_ref().map(Stored::position);
            if by_source && waiting.is_some_and(|waiting| position < waiting) {
                self.cache.discard(stored, DropReason::Filtered, now.wall);
                return Ok(slot);
            }
            // The last sample gets through when the filter opens; it takes the place of the one that waited.
            if let Some(old) = self.cache.replace_pending(slot, None) {
                self.cache.discard(old, DropReason::Filtered, now.wall);
            }
            if self.cache.samples >= self.limits.samples
                || self.cache.bytes.saturating_add(stored.cost()) > self.limits.bytes
            {
                self.reject(RejectedReason::Samples, self.cache.table.get(slot).map(|entry| entry.handle));
                self.cache.discard(stored, DropReason::Samples, now.wall);
            } else {
                self.cache.replace_pending(slot, Some(stored));
            }
            return Ok(slot);
        }
        if let Err(refusal) = self.has_room(slot, &stored) {
            if let Some(kept) = stored.payload.take() {
                self.cache.pool.put_back(kept, payload);
            }
            return Err((refusal, Some(slot)));
        }
        self.admit(slot, now, stored);
        Ok(slot)
    }

    /// Whether a sample finds room in its instance and in the cache.
    #[inline]
    fn has_room(&mut self, slot: Slot, stored: &Stored) -> Result<(), Refusal> {
        let limits = self.limits;
        let Some(instance) = self.cache.table.get(slot).map(|entry| &entry.state) else { return Ok(()) };
        let replaces = limits.depth.is_some_and(|depth| instance.valid >= depth);
        let oldest = match replaces {
            true => instance.samples.iter().find(|other| other.payload.is_some()),
            false => None,
        };
        if self.cache.by_source() && oldest.is_some_and(|oldest| stored.position() < oldest.position()) {
            return Err(Refusal::Dropped(DropReason::OutOfOrder));
        }
        let freed = oldest.map_or(0, Stored::cost);
        if stored.cost() > limits.bytes.saturating_sub(Cache::instance_cost(&[])) {
            return Err(Refusal::Rejected(RejectedReason::SampleSize));
        }
        if !replaces && instance.valid >= limits.per_instance {
            return Err(Refusal::Rejected(RejectedReason::SamplesPerInstance));
        }
        let held = self.cache.bytes.saturating_sub(freed);
        if !replaces && self.cache.samples >= limits.samples
            || held.saturating_add(stored.cost()) > limits.bytes
        {
            return Err(Refusal::Rejected(RejectedReason::Samples));
        }
        Ok(())
    }

    /// A sample with data reaches its instance, which is alive by that.
    #[inline]
    pub(super) fn admit(&mut self, slot: Slot, now: Now, mut stored: Stored) {
        let deadline_at = now.monotonic.after(self.deadline());
        let waits = self.cache.table.get(slot).is_some_and(|entry| entry.state.pending.is_some());
        if waits && let Some(waiting) = self.cache.replace_pending(slot, None) {
            self.cache.discard(waiting, DropReason::Filtered, now.wall);
        }
        let Some(instance) = self.cache.table.state_mut(slot) else { return };
        match instance.state {
            InstanceState::Alive => {}
            InstanceState::NotAliveDisposed => instance.disposed_generations += 1,
            InstanceState::NotAliveNoWriters => instance.no_writers_generations += 1,
        }
        if instance.state != InstanceState::Alive {
            instance.state = InstanceState::Alive;
            instance.view = ViewState::New;
            instance.purge_at = wire::Instant::NEVER;
        }
        instance.passed_at = Some(now.monotonic);
        instance.deadline_at = deadline_at;
        stored.disposed_generations = instance.disposed_generations;
        stored.no_writers_generations = instance.no_writers_generations;
        if self.limits.depth.is_some_and(|depth| instance.valid >= depth)
            && let Some(oldest) = instance.samples.iter().position(|other| other.payload.is_some())
            && let Some(oldest) = self.cache.remove(slot, oldest)
        {
            self.cache.discard(oldest, DropReason::Replaced, now.wall);
        }
        self.cache.insert(slot, stored);
        self.changed.raise(StatusMask::DATA_AVAILABLE);
    }

    /// A writer disposes an instance, unregisters it, or both.
    fn receive_end(
        &mut self,
        now: Now,
        slot: Option<Slot>,
        arrival: &Arrival,
        status: StatusInfo,
    ) -> Result<(), Refusal> {
        let guid = arrival.writer.guid;
        let disposes = status.contains(StatusInfo::DISPOSED);
        let unregisters = status.contains(StatusInfo::UNREGISTERED);
        let slot = match slot {
            Some(slot) => slot,
            // A late reader learns that the instance is gone. Of one that was never seen, or did not pass, it need not hear the end.
            None if disposes && self.filter.is_none() => self.add_instance()?,
            None => return Err(Refusal::Dropped(DropReason::UnknownInstance)),
        };
        let mut refusal = Ok(());
        if disposes {
            if !self.register(slot, &arrival.writer, arrival.hash) {
                return Err(Refusal::Rejected(RejectedReason::Samples));
            }
            let position = (arrival.source, guid, arrival.number);
            let newest = self.cache.table.get(slot).and_then(|entry| entry.state.newest());
            let state = self.cache.table.get(slot).map(|entry| entry.state.state);
            if !self.owns(slot, &arrival.writer) {
                refusal = Err(Refusal::Dropped(DropReason::Ownership));
            } else if self.cache.by_source() && newest.is_some_and(|newest| position < newest) {
                refusal = Err(Refusal::Dropped(DropReason::OutOfOrder));
            } else if state != Some(InstanceState::NotAliveDisposed) {
                self.end(slot, now, InstanceState::NotAliveDisposed, guid, arrival.number, arrival.source);
                // What was written before it comes too late.
                if let Some(instance) = self.cache.table.state_mut(slot) {
                    instance.gone = instance.gone.max(Some(position));
                }
            }
        }
        if unregisters {
            self.leave(slot, now, guid, arrival.number, arrival.source);
        } else {
            self.settle(slot, now);
        }
        refusal
    }

    /// Whether there is no room for an instance with the key `self.key`, or its participant has all that it may have.
    fn is_full(&self) -> bool {
        let most = Shares::most(self.limits.instances);
        let has_all = self.cache.shares.as_ref().is_some_and(|shares| shares.of(&self.key) >= most);
        has_all || self.cache.table.len() >= self.limits.instances
    }

    /// A new instance with the key `self.key`.
    fn add_instance(&mut self) -> Result<Slot, Refusal> {
        let collision = |_| Refusal::Dropped(DropReason::KeyCollision);
        let (mut handle, mut xcdr1_hash) = (InstanceHandle::KEYLESS, None);
        if self.types.has_key() {
            let hash = self.types.key_hash(&self.key, Representation::Xcdr2).map_err(collision)?;
            let other = self.types.key_hash(&self.key, Representation::Xcdr1).map_err(collision)?;
            (handle, xcdr1_hash) = (hash.into(), (other != hash).then_some(other));
        }
        while self.is_full() {
            let Some(idle) = self.cache.first_idle() else {
                return Err(Refusal::Rejected(RejectedReason::Instances));
            };
            if let Some(entry) = self.cache.forget(idle) {
                self.unlearn(idle, &entry);
            }
        }
        let cost = Cache::instance_cost(&self.key);
        // With the writer that it comes from: without one it would never end.
        if self.cache.bytes.saturating_add(cost).saturating_add(Registration::COST) > self.limits.bytes {
            return Err(Refusal::Rejected(RejectedReason::Samples));
        }
        let slot = self
            .cache
            .table
            .insert(&self.key, handle, Instance::new(xcdr1_hash))
            .ok_or(Refusal::Dropped(DropReason::KeyCollision))?;
        self.cache.bytes = self.cache.bytes.saturating_add(cost);
        if let Some(shares) = &mut self.cache.shares {
            shares.add(&self.key);
        }
        if let Some(hash) = xcdr1_hash {
            self.xcdr1.get_or_insert_with(hash, || slot);
        }
        Ok(slot)
    }

    /// Decides whether a refused sample may come again, and remembers why it did not get on.
    fn refuse(&mut self, now: Now, sample: &Received<'_>, refusal: Refusal, slot: Option<Slot>) -> Accept {
        if let Some(slot) = slot {
            self.settle(slot, now);
        }
        let reason = match refusal {
            Refusal::Dropped(reason) => return self.drop_sample(now, sample, reason),
            Refusal::Rejected(reason) => reason,
        };
        let instance = slot.and_then(|slot| self.cache.table.get(slot)).map(|entry| entry.handle);
        if self.refuses_first(sample.writer, sample.sequence_number) {
            self.reject(reason, instance);
        }
        // Waiting helps if taking a sample makes room. An instance is not freed by taking, and the writer that would
        // unregister one could not be heard while this sample waits.
        let waits = self.is_reliable() && self.limits.depth.is_none() && self.cache.samples > 0;
        if waits && !matches!(reason, RejectedReason::Instances | RejectedReason::SampleSize) {
            self.cache.blocked = true;
            return Accept::Full;
        }
        self.drop_sample(now, sample, dropped_by(reason))
    }

    fn drop_sample(&mut self, now: Now, sample: &Received<'_>, reason: DropReason) -> Accept {
        self.lose(now, reason, 1, sample.writer, sample.sequence_number);
        Accept::Taken
    }

    /// Counts samples that do not reach the application, of which the last is `last`; SAMPLE_LOST tells of those that no QoS keeps away.
    pub(super) fn lose(
        &mut self,
        now: Now,
        reason: DropReason,
        count: u64,
        writer: Guid,
        last: SequenceNumber,
    ) {
        self.cache.drops.add(reason, count, writer, last, now.wall);
        if reason.is_loss() {
            self.sample_lost.total.add(count);
            self.sample_lost.last_reason = Some(reason);
            self.changed.raise(StatusMask::SAMPLE_LOST);
        }
    }

    /// Lets through what the filter holds back of an instance.
    pub(super) fn pass_pending(&mut self, slot: Slot, now: Now) {
        let Some(stored) = self.cache.replace_pending(slot, None) else { return };
        if monotonic_at(now, stored.expires) <= now.monotonic {
            return self.cache.discard(stored, DropReason::Expired, now.wall);
        }
        match self.has_room(slot, &stored) {
            Ok(()) => self.admit(slot, now, stored),
            Err(Refusal::Dropped(reason)) => self.cache.discard(stored, reason, now.wall),
            Err(Refusal::Rejected(reason)) => {
                self.reject(reason, self.cache.table.get(slot).map(|entry| entry.handle));
                self.cache.discard(stored, dropped_by(reason), now.wall);
            }
        }
    }
}

const fn dropped_by(limit: RejectedReason) -> DropReason {
    match limit {
        RejectedReason::Instances => DropReason::Instances,
        RejectedReason::Samples => DropReason::Samples,
        RejectedReason::SamplesPerInstance => DropReason::SamplesPerInstance,
        RejectedReason::SampleSize => DropReason::TooLarge,
    }
}
