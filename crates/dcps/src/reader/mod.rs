//! The DataReader: instances and their states, the cache, and what each policy does to a sample on its way (DDS 1.4, 2.2.2.5).
//!
//! A [`Delivery`] is the sink of an `rtps` reader; [`DataReader::access`] reads or takes. Payloads are handles that are moved
//! out on take; the caller gives one back by [`DataReader::recycle`].
//!
//! Identity is the canonical key. A key hash that was received decides only where there is nothing else: for a change
//! without payload, and then by what the same writer has said, or by what the hash should be.
mod access;
mod bounds;
mod cache;
mod deliver;
mod drops;
mod next;
mod payload;
mod shares;
mod time;
mod writers;

use alloc::vec::Vec;
use core::net::SocketAddr;

use rtps::discovery::Mismatch;
use rtps::writer::SampleFilter;
use wire::admission::InstanceOwner;
use wire::cdr::{KeyHash, Representation};
use wire::qos::{DestinationOrder, Ownership, ReliabilityKind};
use wire::sorted::SortedMap;
use wire::{Duration, Guid, Now};

use crate::error::{Error, ReturnCode};
use crate::instance_table::{Entry, Slot};
use crate::qos::{DataReaderQos, Limits};
use crate::status::{
    self, AssuranceChanged, BoundExceeded, Changes, DeadlineMissed, IncompatibleQos, LivelinessChanged,
    Matched, RejectedReason, SampleLost, SampleRejected, SessionChanged, StatusMask,
};
use crate::type_support::TypeSupport;
use crate::{InstanceHandle, SampleInfo, SampleState, States};
use bounds::Bounds;
use cache::{Cache, Instance};
use shares::Shares;
use writers::{Publication, RefusedOfLost};

pub use access::{Request, Sample, Which};
pub use bounds::{Bound, Measurement};
pub use deliver::Delivery;
pub use drops::{DropCount, DropReason};
pub use payload::Payload;
pub use writers::MatchedPublication;

/// A reader without input or output. See the module.
#[derive(Debug)]
pub struct DataReader<T> {
    guid: Guid,
    qos: DataReaderQos,
    limits: Limits,
    types: T,
    owner: Option<InstanceOwner>,
    /// Samples that do not pass it are dropped before they change anything.
    filter: Option<SampleFilter>,
    /// No policy, filter or bound has a say about samples of a known instance: `deliver_next` may take them.
    is_plain: bool,
    /// Samples are looked at before anything else: there are bounds, or a filter.
    inspects: bool,
    /// Sorted by guid.
    publications: Vec<Publication>,
    refused_of_lost: RefusedOfLost,
    cache: Cache,
    /// Instances by the hash of their key in XCDR version 1, where it is another one than in version 2.
    xcdr1: SortedMap<KeyHash, Slot>,
    /// Instances by the wrong hash that a writer uses for them.
    aliases: SortedMap<(Guid, KeyHash), Slot>,
    /// The canonical key that is being looked at.
    key: Vec<u8>,
    changed: Changes,
    deadline_missed: DeadlineMissed,
    incompatible_qos: IncompatibleQos,
    sample_lost: SampleLost,
    sample_rejected: SampleRejected,
    liveliness_changed: LivelinessChanged,
    matched: Matched,
    assurance_changed: AssuranceChanged,
    session_changed: SessionChanged,
    bound_exceeded: BoundExceeded,
    /// Writers whose samples are promised within a bound.
    bounds: Bounds,
}

impl<T: TypeSupport> DataReader<T> {
    /// A reader without writers and samples.
    ///
    /// # Errors
    /// What [`DataReaderQos::check`] says.
    pub fn new(guid: Guid, qos: DataReaderQos, types: T) -> Result<Self, Error> {
        qos.check()?;
        let limits = qos.limits();
        let by_source = qos.endpoint.destination_order == DestinationOrder::BySourceTimestamp;
        let mut reader = Self {
            guid,
            limits,
            qos,
            types,
            owner: None,
            filter: None,
            is_plain: false,
            inspects: false,
            publications: Vec::new(),
            refused_of_lost: RefusedOfLost::default(),
            cache: Cache::new(limits.bytes, by_source),
            xcdr1: SortedMap::new(),
            aliases: SortedMap::new(),
            key: Vec::new(),
            changed: Changes::NONE,
            deadline_missed: DeadlineMissed::default(),
            incompatible_qos: IncompatibleQos::default(),
            sample_lost: SampleLost::default(),
            sample_rejected: SampleRejected::default(),
            liveliness_changed: LivelinessChanged::default(),
            matched: Matched::default(),
            assurance_changed: AssuranceChanged::default(),
            session_changed: SessionChanged::default(),
            bound_exceeded: BoundExceeded::default(),
            bounds: Bounds::default(),
        };
        reader.simplify();
        Ok(reader)
    }

    /// Finds out how simple the way of a sample is.
    fn simplify(&mut self) {
        self.inspects = !self.bounds.is_empty() || self.filter.is_some();
        self.is_plain = !self.inspects
            && !self.cache.by_source()
            && !self.is_exclusive()
            && self.deadline().is_infinite()
            && self.qos.endpoint.time_based_filter == Duration::ZERO;
    }

    /// From now on samples that do not pass are dropped before they change anything, [`DropReason::ContentFilter`]; the ends of instances
    /// that are known are told in any case. What is in the cache stays. `None`, the default, lets all pass.
    pub fn set_filter(&mut self, filter: Option<SampleFilter>) {
        self.filter = filter;
        self.simplify();
    }

    /// From now on a sample counts only if its writer belongs to the participant that its instance belongs to; another one is dropped
    /// before it changes anything: [`DropReason::Unauthorized`]. One participant may have a sixteenth of the instances of the reader:
    /// what begins another one is dropped, [`DropReason::Instances`]. Without an owner every matched writer counts.
    ///
    /// To be called before there are instances.
    pub fn set_instance_owner(&mut self, owner: Option<InstanceOwner>) {
        self.owner = owner;
        self.cache.shares = owner.map(Shares::new);
    }

    /// The reader's name.
    pub const fn guid(&self) -> Guid {
        self.guid
    }

    /// Its QoS.
    pub const fn qos(&self) -> &DataReaderQos {
        &self.qos
    }

    /// Changes the QoS of an enabled reader. DEADLINE periods begin anew.
    ///
    /// # Errors
    /// What [`DataReaderQos::check_change`] says; nothing is changed then.
    pub fn set_qos(&mut self, now: Now, qos: DataReaderQos) -> Result<(), Error> {
        self.qos.check_change(&qos)?;
        self.catch_up(now);
        let restarts = self.qos.endpoint.deadline != qos.endpoint.deadline;
        self.qos = qos;
        self.simplify();
        for slot in 0..self.cache.table.end() {
            if restarts {
                self.restart_deadline(slot, now);
            }
            self.schedule(slot, now);
        }
        Ok(())
    }

    /// The sink of what an `rtps` reader receives at `now`.
    pub const fn sink(&mut self, now: Now) -> Delivery<'_, T> {
        Delivery { reader: self, now, buffer: None }
    }

    /// True, once, if a sample was refused and there is room since: call `resume` of the `rtps` reader.
    pub const fn wants_resume(&mut self) -> bool {
        core::mem::replace(&mut self.cache.resume, false)
    }

    /// True if [`DataReader::wants_resume`] would be: it stays so.
    pub const fn has_room_again(&self) -> bool {
        self.cache.resume
    }

    /// True if what is read or taken depends on the time, because there has been a sample with a LIFESPAN. Else any time will do for
    /// [`DataReader::access`] and [`DataReader::has_samples`], and no clock has to be read.
    pub const fn ages(&self) -> bool {
        self.cache.ages
    }

    /// The application knows of its data: DATA_AVAILABLE is not set any more, until more come.
    pub const fn settle_data_available(&mut self) {
        self.changed.clear(StatusMask::DATA_AVAILABLE);
    }

    /// Takes a payload back, so that its memory is used again.
    pub fn recycle(&mut self, payload: Payload) {
        self.cache.pool.give(payload);
    }

    /// The instance of a serialized sample, or of a serialized key if `is_key`; `None` if this reader does not know it.
    ///
    /// # Errors
    /// `BadParameter` if the bytes are no sample of the type.
    pub fn lookup_instance(&mut self, payload: &[u8], is_key: bool) -> Result<Option<InstanceHandle>, Error> {
        self.key.clear();
        self.types.key(payload, is_key, &mut self.key).map_err(|error| {
            let what = alloc::format!("{error}");
            Error::new(ReturnCode::BadParameter, "lookup_instance", what, "pass a sample of the topic's type")
        })?;
        let slot = self.cache.table.by_key(&self.key);
        Ok(slot.and_then(|slot| self.cache.table.get(slot)).map(|entry| entry.handle))
    }

    /// Appends the serialized key of an instance, encapsulation header included.
    ///
    /// # Errors
    /// `BadParameter` if the instance is not known, `PreconditionNotMet` if the type has no key.
    pub fn key_value(
        &mut self,
        instance: InstanceHandle,
        representation: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if !self.types.has_key() {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "key_value",
                "the type has no key",
                "use it for topics with a key",
            ));
        }
        let slot = self.slot(instance, "key_value")?;
        let Some(entry) = self.cache.table.get(slot) else { return Ok(()) };
        self.types.key_payload(&entry.key, representation, out).map_err(|error| {
            Error::new(
                ReturnCode::Error,
                "key_value",
                alloc::format!("{error}"),
                "check that the type support is that of the topic",
            )
        })
    }

    /// Forgets every instance without samples, also those that are alive: for a reader that takes all at once, and to whom an instance
    /// means nothing beyond its samples.
    pub fn forget_empty_instances(&mut self) {
        for slot in 0..self.cache.table.end() {
            let entry = self.cache.table.get(slot).map(|entry| &entry.state);
            if entry.is_some_and(|state| state.samples.is_empty() && state.pending.is_none())
                && let Some(entry) = self.cache.forget(slot)
            {
                self.unlearn(slot, &entry);
            }
        }
    }

    /// Bytes of samples and instances.
    pub const fn held_bytes(&self) -> usize {
        self.cache.bytes
    }

    /// Samples with data in the cache.
    pub const fn samples(&self) -> usize {
        self.cache.samples
    }

    /// Instances that are known.
    pub fn instances(&self) -> usize {
        self.cache.table.len()
    }

    /// How many samples did not reach the application for a reason, and the last of them.
    pub fn dropped(&self, reason: DropReason) -> DropCount {
        self.cache.drops.get(reason)
    }

    /// The application could not decode a sample that it got; one that it has read before was counted then.
    pub fn not_decoded(&mut self, now: Now, sample: &SampleInfo, reason: DropReason) {
        if sample.sample_state == SampleState::NotRead {
            let writer = Guid::from_bytes(sample.publication_handle.to_bytes());
            self.lose(now, reason, 1, writer, sample.sequence_number);
        }
    }

    /// The statuses that changed since they were last read.
    pub const fn status_changes(&self) -> StatusMask {
        self.changed.set()
    }

    /// The statuses that changed since this was last asked, read meanwhile or not: for callers that tell others of them.
    pub const fn take_status_news(&mut self) -> StatusMask {
        self.changed.take_news()
    }

    /// A writer of the same topic does not match.
    pub fn not_matched(&mut self, reasons: &[Mismatch]) {
        if self.incompatible_qos.add(reasons) {
            self.changed.raise(StatusMask::REQUESTED_INCOMPATIBLE_QOS);
        }
    }

    /// Reads REQUESTED_DEADLINE_MISSED.
    pub fn requested_deadline_missed(&mut self) -> DeadlineMissed {
        let bit = StatusMask::REQUESTED_DEADLINE_MISSED;
        status::read(&mut self.deadline_missed, &mut self.changed, bit)
    }

    /// Reads REQUESTED_INCOMPATIBLE_QOS.
    pub fn requested_incompatible_qos(&mut self) -> IncompatibleQos {
        let bit = StatusMask::REQUESTED_INCOMPATIBLE_QOS;
        status::read(&mut self.incompatible_qos, &mut self.changed, bit)
    }

    /// Reads SAMPLE_LOST.
    pub fn sample_lost(&mut self) -> SampleLost {
        status::read(&mut self.sample_lost, &mut self.changed, StatusMask::SAMPLE_LOST)
    }

    /// Reads SAMPLE_REJECTED.
    pub fn sample_rejected(&mut self) -> SampleRejected {
        status::read(&mut self.sample_rejected, &mut self.changed, StatusMask::SAMPLE_REJECTED)
    }

    /// Reads LIVELINESS_CHANGED.
    pub fn liveliness_changed(&mut self) -> LivelinessChanged {
        status::read(&mut self.liveliness_changed, &mut self.changed, StatusMask::LIVELINESS_CHANGED)
    }

    /// Reads SUBSCRIPTION_MATCHED.
    pub fn subscription_matched(&mut self) -> Matched {
        status::read(&mut self.matched, &mut self.changed, StatusMask::SUBSCRIPTION_MATCHED)
    }

    /// The samples of a writer are promised within a bound from now on, or not any more. Counts go on while there is one.
    pub fn set_bound(&mut self, writer: Guid, bound: Option<Bound>) {
        self.bounds.set(writer, bound);
        self.simplify();
    }

    /// True if a bound is promised for some writer: then [`DataReader::set_origin`] is wanted for each datagram.
    pub const fn has_bounds(&self) -> bool {
        !self.bounds.is_empty()
    }

    /// Where the datagram that is about to be received comes from, and how long it was in this host before, if the kernel has told.
    pub const fn set_origin(&mut self, from: SocketAddr, waited: Option<Duration>) {
        self.bounds.set_origin(from, waited);
    }

    /// What was seen of an assured writer. The median is that of the samples since this was last asked.
    pub fn take_measurement(&mut self, writer: Guid) -> Option<Measurement> {
        self.bounds.take_measurement(writer)
    }

    /// The assurance with a writer is another.
    pub fn assurance_changed(&mut self, writer: Guid) {
        self.assurance_changed.total.add(1);
        self.assurance_changed.last_endpoint = Some(writer.into());
        self.changed.raise(StatusMask::ASSURANCE_CHANGED);
    }

    /// Reads ASSURANCE_CHANGED.
    pub fn read_assurance_changed(&mut self) -> AssuranceChanged {
        status::read(&mut self.assurance_changed, &mut self.changed, StatusMask::ASSURANCE_CHANGED)
    }

    /// The session over domains with a writer is another.
    pub fn session_changed(&mut self, writer: Guid) {
        self.session_changed.total.add(1);
        self.session_changed.last_endpoint = Some(writer.into());
        self.changed.raise(StatusMask::SESSION_CHANGED);
    }

    /// Reads SESSION_CHANGED.
    pub fn read_session_changed(&mut self) -> SessionChanged {
        status::read(&mut self.session_changed, &mut self.changed, StatusMask::SESSION_CHANGED)
    }

    /// Reads BOUND_EXCEEDED.
    pub fn bound_exceeded(&mut self) -> BoundExceeded {
        status::read(&mut self.bound_exceeded, &mut self.changed, StatusMask::BOUND_EXCEEDED)
    }

    fn is_reliable(&self) -> bool {
        self.qos.endpoint.reliability.kind == ReliabilityKind::Reliable
    }

    fn is_exclusive(&self) -> bool {
        self.qos.endpoint.ownership == Ownership::Exclusive
    }

    const fn deadline(&self) -> Duration {
        self.qos.endpoint.deadline
    }

    fn slot(&self, instance: InstanceHandle, operation: &'static str) -> Result<Slot, Error> {
        self.cache.table.by_handle(instance).ok_or_else(|| {
            Error::new(
                ReturnCode::BadParameter,
                operation,
                alloc::format!("no instance {instance:?}"),
                "use a handle from a SampleInfo or lookup_instance; an instance is forgotten once it has no writers and \
                 no samples",
            )
        })
    }

    fn reject(&mut self, reason: RejectedReason, instance: Option<InstanceHandle>) {
        self.sample_rejected.total.add(1);
        self.sample_rejected.last_reason = Some(reason);
        self.sample_rejected.last_instance = instance;
        self.changed.raise(StatusMask::SAMPLE_REJECTED);
    }

    /// After a change of an instance: lists, timers, and the end of the instance if it is over.
    #[inline]
    fn settle(&mut self, slot: Slot, now: Now) {
        match self.cache.settle(slot) {
            Some(entry) => self.unlearn(slot, &entry),
            None => self.schedule(slot, now),
        }
    }

    /// Forgets the hashes of an instance that is gone.
    fn unlearn(&mut self, slot: Slot, entry: &Entry<Instance>) {
        if let Some(hash) = entry.state.xcdr1_hash
            && self.xcdr1.get(&hash) == Some(&slot)
        {
            self.xcdr1.remove(&hash);
        }
        for registration in &entry.state.writers {
            if let Some(alias) = registration.alias {
                self.aliases.remove(&(registration.writer, alias));
            }
        }
    }

    /// True if a read with these states would find something.
    pub fn has_samples(&self, now: Now, states: States) -> bool {
        self.has_samples_where(now, states, |_| true)
    }

    /// As `has_samples`, but only for samples of whose payload `matches` is true (there is none if a sample has no data).
    pub fn has_samples_where(
        &self,
        now: Now,
        states: States,
        mut matches: impl FnMut(Option<&Payload>) -> bool,
    ) -> bool {
        let mut slot = self.cache.first_ready();
        while let Some(at) = slot {
            let Some(entry) = self.cache.table.get(at) else { return false };
            if access::any_of(&entry.state, now, states, &mut matches) {
                return true;
            }
            slot = self.cache.next_ready(at);
        }
        false
    }
}
