//! Writing, registering, disposing, unregistering (DDS 1.4, 2.2.2.4.2.5 to 2.2.2.4.2.14).
use rtps::Payload;
use rtps::writer::{Body, Change, WriteError as HistoryError, Writer};
use wire::cdr::{KeyHash, Representation};
use wire::message::PayloadKind;
use wire::parameter::{InlineQos, StatusInfo};
use wire::{Guid, Instant, Now, SequenceNumber, Timestamp};

use super::history::{Held, Instance};
use super::refusal::{above_contract, below_contract, exhausted, too_large};
use super::{Blocked, DataWriter, Limit, WriteError};
use crate::InstanceHandle;
use crate::error::{Error, ReturnCode};
use crate::instance_table::Slot;
use crate::qos::Publishing;
use crate::timers::{NO_TIME, expiry};
use crate::type_support::TypeSupport;

/// Least bytes of a serialized key with its encapsulation header. Fast DDS before 3.3 takes a payload of up to 16 bytes for the
/// key hash, whatever the inline QoS says, and finds no such instance.
const MIN_KEY_PAYLOAD: usize = 20;

/// What a write may say beside the sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteOptions {
    /// The instance that the sample must belong to.
    pub instance: Option<InstanceHandle>,
    /// When it was made; now if it does not say.
    pub source_timestamp: Option<Timestamp>,
    /// The sample that it answers.
    pub related: Option<(Guid, SequenceNumber)>,
}

/// Names an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstanceOf<'a> {
    /// By its handle.
    Handle(InstanceHandle),
    /// By a serialized sample of it.
    Sample(&'a [u8]),
    /// By its serialized key.
    Key(&'a [u8]),
    /// By its canonical key, as [`TypeSupport::key`] gives it; none for a type without key. It is not checked for an
    /// instance that is known.
    CanonicalKey(&'a [u8]),
}

/// Why a change did not get into the history of the `rtps` writer.
pub(super) enum Failure<E> {
    /// The history refused; there may be room once older samples are gone.
    History(HistoryError),
    /// Something else.
    Other(E),
}

impl<T: TypeSupport, P: Payload> DataWriter<T, P> {
    /// Writes a serialized sample, encapsulation header included. Its instance is registered by that.
    ///
    /// # Errors
    /// `Blocked` if there is no room yet. `Refused`: `BadParameter` if the bytes are no sample of the type,
    /// `PreconditionNotMet` if it is not of the instance that the options name, `OutOfResources` if it can never be held.
    pub fn write(
        &mut self,
        now: Now,
        body: Body<'_, P>,
        options: &WriteOptions,
    ) -> Result<SequenceNumber, WriteError> {
        self.catch_up(now);
        self.read_key(body.bytes(), false, "write")?;
        self.write_of_key(now, body, options)
    }

    /// As [`DataWriter::write`], of a sample whose canonical key (see [`TypeSupport`]) is known: it is not read from the bytes.
    ///
    /// # Errors
    /// As [`DataWriter::write`].
    pub fn write_keyed(
        &mut self,
        now: Now,
        key: &[u8],
        body: Body<'_, P>,
        options: &WriteOptions,
    ) -> Result<SequenceNumber, WriteError> {
        self.catch_up(now);
        self.key.clear();
        self.key.extend_from_slice(key);
        self.write_of_key(now, body, options)
    }

    /// Writes a sample whose key is in `self.key`.
    fn write_of_key(
        &mut self,
        now: Now,
        body: Body<'_, P>,
        options: &WriteOptions,
    ) -> Result<SequenceNumber, WriteError> {
        let len = body.size();
        if let Some(samples) = &self.samples {
            if len > *samples.end() as usize {
                return Err(above_contract(len, *samples.end() as usize).into());
            }
            if len < *samples.start() as usize {
                return Err(below_contract(len, *samples.start()).into());
            }
        }
        let known = self.history.table.by_key(&self.key);
        self.write_to(now, known, options, |rtps, change| {
            rtps.write(now, change, body.clone()).map_err(Failure::History)
        })
    }

    /// Writes a sample of the instance `known`, or of a new one with the key `self.key`. `put` hands it to the `rtps` writer.
    pub(super) fn write_to<E: From<WriteError>>(
        &mut self,
        now: Now,
        known: Option<Slot>,
        options: &WriteOptions,
        put: impl FnMut(&mut Writer<P>, &Change<'_>) -> Result<SequenceNumber, Failure<E>>,
    ) -> Result<SequenceNumber, E> {
        if let Some(named) = options.instance {
            let handle = known.and_then(|slot| self.history.table.get(slot)).map(|entry| entry.handle);
            if handle != Some(named) {
                return Err(WriteError::from(not_of_instance(named)).into());
            }
        }
        let was_registered = self.is_registered(known);
        let slot = self.obtain(known, "write").map_err(WriteError::from)?;
        let number = self.write_data(now, slot, options, put).inspect_err(|_| {
            self.set_registered(slot, was_registered);
        })?;
        self.sign_of_life(now);
        Ok(number)
    }

    /// Registers the instance of a serialized sample, or of a serialized key if `is_key`.
    ///
    /// # Errors
    /// `BadParameter` if the bytes are no sample of the type, `OutOfResources` at the limit of instances.
    pub fn register_instance(
        &mut self,
        now: Now,
        payload: &[u8],
        is_key: bool,
    ) -> Result<InstanceHandle, Error> {
        self.history.prune(&self.rtps);
        self.read_key(payload, is_key, "register_instance")?;
        let known = self.history.table.by_key(&self.key);
        let slot = self.obtain(known, "register_instance")?;
        let deadline_at = now.monotonic.after(self.qos.endpoint.deadline);
        if let Some(instance) = self.history.table.state_mut(slot) {
            instance.forget_at = Instant::NEVER;
            if instance.deadline_at == Instant::NEVER {
                instance.deadline_at = deadline_at;
            }
        }
        self.history.schedule(slot, now);
        let entry = self.history.table.get(slot);
        Ok(entry.map_or(InstanceHandle::KEYLESS, |entry| entry.handle))
    }

    /// The instance of a serialized sample, or of a serialized key if `is_key`; `None` if this writer does not know it.
    ///
    /// # Errors
    /// `BadParameter` if the bytes are no sample of the type.
    pub fn lookup_instance(&mut self, payload: &[u8], is_key: bool) -> Result<Option<InstanceHandle>, Error> {
        self.read_key(payload, is_key, "lookup_instance")?;
        let slot = self.history.table.by_key(&self.key);
        Ok(slot.and_then(|slot| self.history.table.get(slot)).map(|entry| entry.handle))
    }

    /// Disposes an instance: it does not exist any more. One that is named by its key or a sample need not be registered.
    ///
    /// # Errors
    /// As `write`; `BadParameter` also for a handle that is not known.
    pub fn dispose(
        &mut self,
        now: Now,
        instance: InstanceOf<'_>,
        source_timestamp: Option<Timestamp>,
    ) -> Result<SequenceNumber, WriteError> {
        self.catch_up(now);
        let known = self.find(instance, "dispose")?;
        let was_registered = self.is_registered(known);
        let slot = self.obtain(known, "dispose")?;
        let number = self.write_end(now, slot, StatusInfo::DISPOSED, source_timestamp).inspect_err(|_| {
            self.set_registered(slot, was_registered);
        })?;
        self.sign_of_life(now);
        Ok(number)
    }

    /// Unregisters an instance: this writer has no more to say about it. It is disposed too if
    /// WRITER_DATA_LIFECYCLE says so.
    ///
    /// # Errors
    /// As `dispose`; `PreconditionNotMet` if it is not registered.
    pub fn unregister_instance(
        &mut self,
        now: Now,
        instance: InstanceOf<'_>,
        source_timestamp: Option<Timestamp>,
    ) -> Result<SequenceNumber, WriteError> {
        self.catch_up(now);
        let found = self.find(instance, "unregister_instance")?;
        let Some(slot) = found.filter(|slot| self.is_registered(Some(*slot))) else {
            return Err(WriteError::Refused(Error::new(
                ReturnCode::PreconditionNotMet,
                "unregister_instance",
                "the instance is not registered",
                "write or register it before",
            )));
        };
        let disposes = self.qos.writer_data_lifecycle.autodispose_unregistered_instances;
        let status = match disposes {
            true => StatusInfo::UNREGISTERED | StatusInfo::DISPOSED,
            false => StatusInfo::UNREGISTERED,
        };
        let number = self.write_end(now, slot, status, source_timestamp)?;
        let delay = self.qos.endpoint.durability_service.cleanup_delay;
        if let Some(instance) = self.history.table.state_mut(slot) {
            instance.registered = false;
            if instance.disposed && self.rtps.config().retain {
                instance.forget_at = now.monotonic.after(delay);
            }
        }
        self.history.schedule(slot, now);
        self.history.prune(&self.rtps);
        self.sign_of_life(now);
        Ok(number)
    }

    /// The writer is about to be deleted, which unregisters its instances: they are disposed too if WRITER_DATA_LIFECYCLE says so
    /// (DDS 1.4, 2.2.3.21). What finds no room any more is not waited for.
    pub fn end_instances(&mut self, now: Now) {
        let disposes = self.qos.writer_data_lifecycle.autodispose_unregistered_instances;
        if !disposes || !self.types.has_key() || self.rtps.readers().next().is_none() {
            // Readers leave the instances of a writer that is gone by themselves.
            return;
        }
        for slot in 0..self.history.table.end() {
            let entry = self.history.table.get(slot).filter(|entry| entry.state.registered);
            let Some(handle) = entry.map(|entry| entry.handle) else { continue };
            if self.unregister_instance(now, InstanceOf::Handle(handle), None).is_err() {
                return;
            }
        }
    }

    fn write_data<E: From<WriteError>>(
        &mut self,
        now: Now,
        slot: Slot,
        options: &WriteOptions,
        put: impl FnMut(&mut Writer<P>, &Change<'_>) -> Result<SequenceNumber, Failure<E>>,
    ) -> Result<SequenceNumber, E> {
        self.check_limits(now, slot)?;
        let source = options.source_timestamp.unwrap_or(now.wall);
        let qos = options
            .related
            .map(|related| InlineQos { related_sample_identity: Some(related), ..InlineQos::default() });
        let number = self.send(now, slot, PayloadKind::Data, qos.as_ref(), source, put)?;
        let expires = expiry(source, self.qos.endpoint.lifespan);
        self.history.push(slot, Held { number, expires, is_data: true });
        self.trim(slot);
        let deadline_at = now.monotonic.after(self.qos.endpoint.deadline);
        if let Some(instance) = self.history.table.state_mut(slot) {
            instance.registered = true;
            instance.disposed = false;
            instance.deadline_at = deadline_at;
            instance.forget_at = Instant::NEVER;
        }
        self.history.schedule(slot, now);
        Ok(number)
    }

    /// Writes that an instance is disposed, unregistered or both: with its serialized key for those who want it, and its
    /// hash for those who only look at that.
    fn write_end(
        &mut self,
        now: Now,
        slot: Slot,
        status_info: StatusInfo,
        source_timestamp: Option<Timestamp>,
    ) -> Result<SequenceNumber, WriteError> {
        self.history.prune(&self.rtps);
        let source = source_timestamp.unwrap_or(now.wall);
        let mut qos = InlineQos { status_info, ..InlineQos::default() };
        let mut payload = core::mem::take(&mut self.key_payload);
        payload.clear();
        let mut kind = PayloadKind::None;
        if self.types.has_key()
            && let Some(entry) = self.history.table.get(slot)
        {
            qos.key_hash = Some(entry.state.key_hash.0);
            kind = PayloadKind::Key;
            let key = self.types.key_payload(&entry.key, self.representation, &mut payload);
            key.map_err(|error| bad_payload("dispose", &error))?;
            // Zeros after a key mean nothing to a reader.
            payload.resize(payload.len().max(MIN_KEY_PAYLOAD), 0);
        }
        let sent = self.send(now, slot, kind, Some(&qos), source, |rtps, change| {
            rtps.write(now, change, Body::Copy(&payload)).map_err(Failure::<WriteError>::History)
        });
        self.key_payload = payload;
        let number = sent?;
        self.history.push(slot, Held { number, expires: NO_TIME, is_data: false });
        self.trim(slot);
        if let Some(instance) = self.history.table.state_mut(slot) {
            instance.disposed |= status_info.contains(StatusInfo::DISPOSED);
            instance.deadline_at = Instant::NEVER;
            instance.forget_at = Instant::NEVER;
        }
        Ok(number)
    }

    /// Hands a change to the `rtps` writer. If there are too many bytes, older samples of the instance make room as far as
    /// HISTORY lets them go.
    fn send<E: From<WriteError>>(
        &mut self,
        now: Now,
        slot: Slot,
        kind: PayloadKind,
        qos: Option<&InlineQos>,
        source: Timestamp,
        mut put: impl FnMut(&mut Writer<P>, &Change<'_>) -> Result<SequenceNumber, Failure<E>>,
    ) -> Result<SequenceNumber, E> {
        self.inline_qos.clear();
        let qos = qos.filter(|qos| !qos.is_empty());
        if let Some(qos) = qos {
            qos.encode(&mut self.inline_qos);
        }
        let change =
            Change { kind, inline_qos: qos.map(|_| &*self.inline_qos), source_timestamp: Some(source) };
        loop {
            let error = match put(&mut self.rtps, &change) {
                Ok(number) => return Ok(number),
                Err(Failure::Other(error)) => return Err(error),
                Err(Failure::History(error)) => error,
            };
            let HistoryError::Full { needed, limit, .. } = error else { return Err(too_large(error).into()) };
            let data = self.history.table.get(slot).map_or(0, |entry| entry.state.data);
            if needed > limit {
                return Err(too_large(error).into());
            }
            let replaces = self.limits.depth.is_some_and(|depth| data >= depth);
            let oldest = if replaces { self.history.pop_oldest(slot) } else { None };
            let Some(number) = oldest else { return Err(self.no_room(now, Limit::Octets).into()) };
            self.rtps.remove(number);
        }
    }

    /// RESOURCE_LIMITS, unless the new sample replaces one.
    fn check_limits(&mut self, now: Now, slot: Slot) -> Result<(), WriteError> {
        if self.rtps.waits_for_tokens() && self.is_synchronous() {
            let until = now.monotonic.after(self.qos.endpoint.reliability.max_blocking_time);
            return Err(WriteError::Blocked(Blocked { limit: Limit::Tokens, until }));
        }
        let data = self.history.table.get(slot).map_or(0, |entry| entry.state.data);
        if self.limits.depth.is_some_and(|depth| data >= depth) {
            return Ok(());
        }
        if data >= self.limits.per_instance {
            return Err(self.no_room(now, Limit::SamplesPerInstance));
        }
        if self.history.samples >= self.limits.samples {
            return Err(self.no_room(now, Limit::Samples));
        }
        Ok(())
    }

    fn is_synchronous(&self) -> bool {
        let of_session = self.qos.session_flow_controller;
        let publishing = self.qos.flow_controller.map(|flow| flow.publishing).or(of_session);
        publishing == Some(Publishing::Synchronous)
    }

    fn no_room(&self, now: Now, limit: Limit) -> WriteError {
        let qos = &self.qos.endpoint;
        if self.rtps.config().retain && qos.lifespan.is_infinite() {
            return exhausted(limit);
        }
        WriteError::Blocked(Blocked { limit, until: now.monotonic.after(qos.reliability.max_blocking_time) })
    }

    /// HISTORY.
    fn trim(&mut self, slot: Slot) {
        if let Some(depth) = self.limits.depth {
            self.history.keep_last(slot, depth, &mut self.rtps);
        }
    }

    fn is_registered(&self, slot: Option<Slot>) -> bool {
        slot.and_then(|slot| self.history.table.get(slot)).is_some_and(|entry| entry.state.registered)
    }

    fn set_registered(&mut self, slot: Slot, registered: bool) {
        if let Some(instance) = self.history.table.state_mut(slot) {
            instance.registered = registered;
        }
        self.history.forget_if_over(slot);
    }

    /// Puts the canonical key into `self.key`.
    fn read_key(&mut self, payload: &[u8], is_key: bool, place: &'static str) -> Result<(), Error> {
        self.key.clear();
        if !self.types.has_key() {
            return Ok(());
        }
        self.types.key(payload, is_key, &mut self.key).map_err(|error| bad_payload(place, &error))
    }

    pub(super) fn find(
        &mut self,
        instance: InstanceOf<'_>,
        place: &'static str,
    ) -> Result<Option<Slot>, Error> {
        self.history.prune(&self.rtps);
        match instance {
            InstanceOf::Handle(handle) => match self.history.table.by_handle(handle) {
                Some(slot) => Ok(Some(slot)),
                None => Err(unknown(place, handle)),
            },
            InstanceOf::CanonicalKey(key) => {
                self.key.clear();
                if self.types.has_key() {
                    self.key.extend_from_slice(key);
                }
                Ok(self.history.table.by_key(&self.key))
            }
            InstanceOf::Sample(payload) => {
                self.read_key(payload, false, place)?;
                Ok(self.history.table.by_key(&self.key))
            }
            InstanceOf::Key(payload) => {
                self.read_key(payload, true, place)?;
                Ok(self.history.table.by_key(&self.key))
            }
        }
    }

    /// The instance of `self.key`, registered; a new one if it is not known.
    fn obtain(&mut self, known: Option<Slot>, place: &'static str) -> Result<Slot, Error> {
        if let Some(slot) = known {
            if let Some(instance) = self.history.table.state_mut(slot) {
                instance.registered = true;
            }
            return Ok(slot);
        }
        self.add_instance(place)
    }

    /// A new instance with the key `self.key`.
    fn add_instance(&mut self, place: &'static str) -> Result<Slot, Error> {
        let limit = self.limits.instances;
        if self.history.table.len() >= limit {
            return Err(Error::new(
                ReturnCode::OutOfResources,
                place,
                alloc::format!("there are {limit} instances, as many as allowed"),
                "unregister instances that are not written any more, or raise max_instances",
            ));
        }
        let (mut handle, mut key_hash) = (InstanceHandle::KEYLESS, KeyHash::default());
        if self.types.has_key() {
            let hash = self.types.key_hash(&self.key, Representation::Xcdr2);
            handle = hash.map_err(|error| bad_payload(place, &error))?.into();
            let hash = self.types.key_hash(&self.key, self.representation);
            key_hash = hash.map_err(|error| bad_payload(place, &error))?;
        }
        self.history.table.insert(&self.key, handle, Instance::new(key_hash)).ok_or_else(|| {
            Error::new(
                ReturnCode::Error,
                place,
                alloc::format!("the key hash {handle:?} is that of another key too"),
                "use another key: instances are named by a digest of 128 bits",
            )
        })
    }
}

fn bad_payload(place: &'static str, error: &crate::KeyError) -> Error {
    let what = alloc::format!("{error}");
    Error::new(ReturnCode::BadParameter, place, what, "pass a serialized sample or key of the topic's type")
}

fn unknown(place: &'static str, handle: InstanceHandle) -> Error {
    Error::new(
        ReturnCode::BadParameter,
        place,
        alloc::format!("no instance {handle:?}"),
        "use a handle that register_instance or lookup_instance gave",
    )
}

fn not_of_instance(handle: InstanceHandle) -> Error {
    Error::new(
        ReturnCode::PreconditionNotMet,
        "write",
        alloc::format!("the sample is not of instance {handle:?}"),
        "register the instance of this sample, or leave the handle out",
    )
}
