//! The untyped DataReader: everything that does not depend on the type of samples (DDS 1.4, 2.2.2.5.3).
use std::sync::{Arc, Weak};

use dcps::assurance::PairAssurance;
use dcps::qos::DataReaderQos;
use dcps::reader::{DropCount, DropReason, Payload, Request, Sample as Octets};
use dcps::session::PairSession;
use dcps::status::{
    AssuranceChanged, BoundExceeded, DeadlineMissed, IncompatibleQos, LivelinessChanged, Matched, SampleLost,
    SampleRejected, SessionChanged, StatusMask,
};
use dcps::{Error, InstanceHandle, KeyError, ReturnCode, SampleInfo, States};
use rtps::reader::ReaderCounters;
use wire::cdr::Representation;
use wire::discovery::EndpointData;
use wire::qos::Durability;
use wire::{Duration, Guid, Now};

use super::entity::ReaderEntity;
use super::listener::AnyDataReaderListener;
use super::reader::DataReader;
use super::sample::SampleType;
use super::subscriber::Subscriber;
use crate::condition::{ReadCondition, StatusCondition, WaitSet};
use crate::content_filter::ContentFilteredTopic;
use crate::entity::{Held, QosKind, StatusSource, deleted, factory_not_enabled, not_matched};
use crate::node::reader::Cache;
use crate::topic::Topic;
use crate::transport::Transport;

/// A reader of serialized samples. Clones are the same reader.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(reader: &dds::RawDataReader) -> Result<(), dds::Error> {
/// use dds::serialized::Request;
///
/// let mut samples = Vec::new();
/// reader.access_serialized(&Request::TAKE, &mut samples)?;
/// for sample in &samples {
///     println!("{:?} bytes", sample.payload.as_ref().map(|payload| payload.bytes().len()));
/// }
/// reader.recycle(samples);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RawDataReader(Arc<Handle>);

/// What keeps a reader, its subscriber and its participant: one count for all three.
pub(super) struct Handle {
    entity: Arc<ReaderEntity>,
    subscriber: Subscriber,
}

impl RawDataReader {
    pub(super) fn of(entity: Arc<ReaderEntity>, subscriber: Subscriber) -> Self {
        let handle = Arc::new(Handle { entity, subscriber });
        handle.entity.handle.get_or_init(|| Arc::downgrade(&handle));
        Self(handle)
    }

    /// A handle of a reader whose subscriber and participant are still there: `handle` if that is one.
    pub(super) fn again(handle: Option<&Weak<Handle>>, entity: &Weak<ReaderEntity>) -> Option<Self> {
        if let Some(handle) = handle.and_then(Weak::upgrade) {
            return Some(Self(handle));
        }
        let entity = entity.upgrade()?;
        let subscriber = Subscriber::of(&entity.subscriber)?;
        Some(Self(Arc::new(Handle { entity, subscriber })))
    }

    pub(crate) fn entity(&self) -> &Arc<ReaderEntity> {
        &self.0.entity
    }

    /// The subscriber.
    pub fn get_subscriber(&self) -> &Subscriber {
        &self.0.subscriber
    }

    /// The topic.
    pub fn get_topicdescription(&self) -> Topic {
        Topic::new(Arc::clone(&self.0.entity.topic), self.0.subscriber.get_participant().clone())
    }

    /// Its content-filtered topic, if it was made with one.
    pub fn get_contentfilteredtopic(&self) -> Option<ContentFilteredTopic> {
        let filtered = Arc::clone(self.0.entity.filtered.as_ref()?);
        Some(ContentFilteredTopic::of(filtered, self.get_topicdescription()))
    }

    /// Changes the parameters of its filter: [`ContentFilteredTopic::set_expression_parameters`], for all readers of the same
    /// content-filtered topic.
    ///
    /// # Errors
    /// As there; `PreconditionNotMet` if the reader has no filter.
    pub fn set_expression_parameters<S: Into<String>>(
        &self,
        parameters: impl IntoIterator<Item = S>,
    ) -> Result<(), Error> {
        let Some(filtered) = self.get_contentfilteredtopic() else {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "set_expression_parameters",
                "the reader has no content filter",
                "make it with filter(…), or of a content-filtered topic",
            ));
        };
        filtered.set_expression_parameters(parameters)
    }

    /// The same reader for samples of a type.
    ///
    /// # Errors
    /// `PreconditionNotMet` if its topic was made for another type.
    pub fn typed<T: SampleType + 'static>(&self) -> Result<DataReader<T>, Error> {
        self.get_topicdescription().check_type::<T>("typed")?;
        Ok(DataReader::of(self.clone()))
    }

    /// Its name in the domain.
    ///
    /// # Errors
    /// `NotEnabled`.
    pub fn guid(&self) -> Result<Guid, Error> {
        Ok(self.0.entity.cell("guid")?.guid)
    }

    /// Reads or takes serialized samples: appends them to `out` and says how many.
    ///
    /// # Errors
    /// `BadParameter` if an instance is asked for that is not known; `NotEnabled`; `AlreadyDeleted`.
    pub fn access_serialized(&self, request: &Request, out: &mut Vec<Octets>) -> Result<usize, Error> {
        self.access_by(|cache, now| cache.access(now, request, out))
    }

    /// As [`RawDataReader::access_serialized`], but only samples for which `matches` says true.
    ///
    /// # Errors
    /// As [`RawDataReader::access_serialized`].
    pub fn access_where(
        &self,
        request: &Request,
        matches: impl FnMut(&SampleInfo, Option<&Payload>) -> bool,
        out: &mut Vec<Octets>,
    ) -> Result<usize, Error> {
        self.access_by(|cache, now| cache.access_where(now, request, matches, out))
    }

    #[inline]
    fn access_by(
        &self,
        access: impl FnOnce(&mut Cache, Now) -> Result<usize, Error>,
    ) -> Result<usize, Error> {
        let cell = self.0.entity.cell("read or take")?;
        let mut state = cell.lock();
        if state.deleted {
            return Err(deleted("read or take"));
        }
        let now = self.time_for(&state.cache);
        let count = access(&mut state.cache, now)?;
        let resumes = state.cache.has_room_again();
        let are_left = state.cache.samples() > 0;
        drop(state);
        if count > 0 && are_left {
            // Others may wait for samples that were read, or instances that are not new any more.
            self.0.entity.watch.wake_waiters();
        }
        if resumes {
            // There is room again for what the protocol holds back.
            self.0.entity.node.touch_reader(cell);
        }
        Ok(count)
    }

    /// Gives memory of samples back, so that it is used again.
    pub fn recycle(&self, samples: impl IntoIterator<Item = Octets>) {
        if let Some(cell) = self.0.entity.enabled() {
            let mut state = cell.lock();
            for Octets { payload, key, .. } in samples {
                payload.into_iter().chain(key).for_each(|payload| state.cache.recycle(payload));
            }
        }
    }

    /// True if there are samples in these states.
    pub fn has_samples(&self, states: States) -> bool {
        self.has_samples_where(states, |_| true)
    }

    /// True if there are samples in these states of whose bytes `matches` is true; it is asked while the reader is locked.
    pub fn has_samples_where(&self, states: States, matches: impl FnMut(Option<&Payload>) -> bool) -> bool {
        let cell = self.0.entity.enabled();
        cell.is_some_and(|cell| {
            let state = cell.lock();
            state.cache.has_samples_where(self.time_for(&state.cache), states, matches)
        })
    }

    /// A look at the clocks costs as much as the rest of taking a small sample.
    fn time_for(&self, cache: &Cache) -> Now {
        if cache.ages() { self.0.entity.node.host().now() } else { Now::default() }
    }

    /// A sample that was handed out turned out to be none of the type: it is counted, and SAMPLE_LOST tells of it.
    #[cold]
    pub(super) fn count_undecodable(&self, sample: &SampleInfo, why: &KeyError) {
        if let Some(cell) = self.0.entity.enabled() {
            let now = self.0.entity.node.host().now();
            cell.lock().cache.not_decoded(now, sample, DropReason::undecodable(why));
            self.0.entity.node.touch_reader(cell);
        }
    }

    /// The instance of a serialized sample, or of a serialized key; `None` if this reader does not know it.
    ///
    /// # Errors
    /// `BadParameter` if the bytes are no sample of the type, `NotEnabled`.
    pub fn lookup_serialized(&self, bytes: &[u8], is_key: bool) -> Result<Option<InstanceHandle>, Error> {
        self.0.entity.cell("lookup_instance")?.lock().cache.lookup_instance(bytes, is_key)
    }

    /// Appends the serialized key of an instance in XCDR version 2, encapsulation header included.
    ///
    /// # Errors
    /// `BadParameter` if the instance is not known, `PreconditionNotMet` if the type has no key, `NotEnabled`.
    pub fn serialized_key(&self, instance: InstanceHandle, out: &mut Vec<u8>) -> Result<(), Error> {
        self.0.entity.cell("get_key_value")?.lock().cache.key_value(instance, Representation::Xcdr2, out)
    }

    /// ASSURANCE_CHANGED.
    pub fn get_assurance_changed_status(&self) -> AssuranceChanged {
        let cell = self.0.entity.enabled();
        cell.map_or_else(Default::default, |cell| cell.lock().cache.read_assurance_changed())
    }

    /// SESSION_CHANGED.
    pub fn get_session_changed_status(&self) -> SessionChanged {
        let cell = self.0.entity.enabled();
        cell.map_or_else(Default::default, |cell| cell.lock().cache.read_session_changed())
    }

    /// What was told of the sessions over domains of its writers: those that were granted, refused, or are over since a moment. Nothing is told
    /// without `punctual reserve` in the domain of the writer, and to readers alone that ask for it: by a listener for SESSION_CHANGED when they
    /// are enabled, or by `assurance.sessions` in the configuration of the participant.
    pub fn sessions(&self) -> Vec<PairSession> {
        let cell = self.0.entity.enabled();
        cell.map_or_else(Vec::new, |cell| self.0.entity.node.sessions_of(cell.guid.entity_id))
    }

    /// BOUND_EXCEEDED.
    pub fn get_bound_exceeded_status(&self) -> BoundExceeded {
        let cell = self.0.entity.enabled();
        cell.map_or_else(Default::default, |cell| cell.lock().cache.bound_exceeded())
    }

    /// The writers of the topic with what was decided about each, if the reader has ASSURANCE, those that are not matched too. Writers of
    /// the reader's own participant are not among them: between them there is no network.
    pub fn assurance(&self) -> Vec<PairAssurance> {
        let cell = self.0.entity.enabled();
        cell.map_or_else(Vec::new, |cell| self.0.entity.node.assurance_of(cell.guid.entity_id))
    }

    /// The condition that there are samples in these states.
    pub fn create_readcondition(&self, states: States) -> ReadCondition {
        ReadCondition::new(self.clone(), states)
    }

    /// The condition that a status of this reader has changed.
    pub fn get_statuscondition(&self) -> StatusCondition {
        StatusCondition::new(Arc::clone(&self.0.entity) as _)
    }

    /// The statuses that changed since they were last read.
    pub fn get_status_changes(&self) -> StatusMask {
        self.0.entity.status_changes()
    }

    /// Waits until a matched writer's history has come: for DURABILITY of TRANSIENT_LOCAL, until at least one writer is matched, and
    /// every matched reliable writer has said what it held at the match, and all of that was delivered or will never come. What is
    /// written later is not waited for. Returns at once for DURABILITY of VOLATILE.
    ///
    /// # Errors
    /// `Timeout`, also if no writer was matched in time; `NotEnabled`, `AlreadyDeleted`.
    pub fn wait_for_historical_data(&self, max_wait: impl Into<Duration>) -> Result<(), Error> {
        self.wait_for_history(max_wait.into())
    }

    fn wait_for_history(&self, max_wait: Duration) -> Result<(), Error> {
        let cell = self.0.entity.cell("wait_for_historical_data")?;
        // A built-in topic's data are there as soon as they are known.
        let is_volatile = self.get_qos().endpoint.durability < Durability::TransientLocal;
        if is_volatile || self.0.subscriber.entity().is_builtin {
            return Ok(());
        }
        let waits = WaitSet::new();
        waits.attach_condition(self.create_readcondition(States::ANY).into())?;
        let has_all = || {
            let state = cell.lock();
            let mut writers = state.rtps.writers().peekable();
            state.deleted || writers.peek().is_some() && writers.all(|writer| state.rtps.has_history(writer))
        };
        let has_come = cell.await_history(|| waits.wait_until_true(max_wait, has_all));
        if cell.lock().deleted {
            return Err(deleted("wait_for_historical_data"));
        }
        if has_come? {
            return Ok(());
        }
        Err(Error::new(
            ReturnCode::Timeout,
            "wait_for_historical_data",
            "the history of a matched writer has not come, or no writer is matched",
            "wait longer, or see with `punctual why` what is in the way",
        ))
    }

    /// Its QoS, without what its subscriber and its topic add.
    pub fn get_qos(&self) -> DataReaderQos {
        self.0.entity.qos()
    }

    /// Changes the QoS.
    ///
    /// # Errors
    /// The errors of [`DataReaderQos::check_change`], once it is enabled; nothing is changed then. `PreconditionNotMet` for the reader of a
    /// built-in topic.
    pub fn set_qos(&self, qos: QosKind<DataReaderQos>) -> Result<(), Error> {
        self.0.entity.node.check_process("set_qos")?;
        self.0.subscriber.entity().refuse_builtin("set_qos")?;
        self.0.entity.set_qos(qos.or_else(|| self.0.subscriber.get_default_datareader_qos()))
    }

    /// Sets or takes away the listener. Waits for a call in progress.
    pub fn set_raw_listener(&self, listener: Option<Arc<dyn AnyDataReaderListener>>, mask: StatusMask) {
        self.0.entity.set_listener(listener, mask);
        self.0.entity.refresh();
    }

    /// Enables the reader: it is announced, and receives.
    ///
    /// # Errors
    /// `PreconditionNotMet` if its subscriber is not enabled; `OutOfResources` if it cannot be announced.
    pub fn enable(&self) -> Result<(), Error> {
        self.0.entity.node.check_process("enable")?;
        if !self.0.subscriber.entity().is_enabled() {
            return Err(factory_not_enabled("enable a reader"));
        }
        self.0.entity.enable()
    }

    pub(super) fn settle_data_available(&self) {
        if let Some(cell) = self.0.entity.enabled() {
            cell.settle_data_available();
        }
    }

    /// REQUESTED_DEADLINE_MISSED.
    pub fn get_requested_deadline_missed_status(&self) -> DeadlineMissed {
        self.status(|cache| cache.requested_deadline_missed())
    }

    /// REQUESTED_INCOMPATIBLE_QOS.
    pub fn get_requested_incompatible_qos_status(&self) -> IncompatibleQos {
        self.status(|cache| cache.requested_incompatible_qos())
    }

    /// SAMPLE_LOST.
    pub fn get_sample_lost_status(&self) -> SampleLost {
        self.status(|cache| cache.sample_lost())
    }

    /// SAMPLE_REJECTED.
    pub fn get_sample_rejected_status(&self) -> SampleRejected {
        self.status(|cache| cache.sample_rejected())
    }

    /// LIVELINESS_CHANGED.
    pub fn get_liveliness_changed_status(&self) -> LivelinessChanged {
        self.status(|cache| cache.liveliness_changed())
    }

    /// SUBSCRIPTION_MATCHED.
    pub fn get_subscription_matched_status(&self) -> Matched {
        self.status(|cache| cache.subscription_matched())
    }

    fn status<S: Default>(&self, read: impl FnOnce(&mut Cache) -> S) -> S {
        self.0.entity.enabled().map_or_else(S::default, |cell| read(&mut cell.lock().cache))
    }

    /// The matched writers.
    pub fn get_matched_publications(&self) -> Vec<InstanceHandle> {
        self.0
            .entity
            .enabled()
            .map_or_else(Vec::new, |cell| cell.lock().rtps.writers().map(InstanceHandle::from).collect())
    }

    /// True if all matched writers send to this reader: each reliable one has told it what it holds, so that nothing that is written later is missed,
    /// and the reader has that. Best-effort writers do not tell it.
    pub fn is_served(&self) -> bool {
        let Some(cell) = self.0.entity.enabled() else { return false };
        let state = cell.lock();
        state.rtps.writers().all(|writer| state.rtps.has_history(writer))
    }

    /// From which number on the changes of a matched writer come: all before were delivered, or were written before the match and are not for this
    /// reader. `None` if it is not matched, or has not said yet where it is.
    pub fn served_from(&self, writer: InstanceHandle) -> Option<wire::SequenceNumber> {
        let state = self.0.entity.enabled()?.lock();
        let writer = Guid::from_bytes(writer.to_bytes());
        state.rtps.next_expected(writer).filter(|_| state.rtps.has_history(writer))
    }

    /// How samples of a matched writer travel now; it changes when shared memory with its process begins or ends.
    ///
    /// # Errors
    /// `NotEnabled`; `BadParameter` if it is not matched.
    pub fn get_matched_publication_transport(&self, handle: InstanceHandle) -> Result<Transport, Error> {
        let operation = "get_matched_publication_transport";
        let state = self.0.entity.cell(operation)?.lock();
        let path = state.rtps.path_to(Guid::from_bytes(handle.to_bytes()));
        path.map(Transport::of).ok_or_else(|| not_matched(operation, "writer", handle))
    }

    /// The announcement of a matched writer.
    ///
    /// # Errors
    /// `BadParameter` if it is not matched.
    pub fn get_matched_publication_data(&self, handle: InstanceHandle) -> Result<Arc<EndpointData>, Error> {
        let matched = self.get_matched_publications().contains(&handle);
        let guid = Guid::from_bytes(handle.to_bytes());
        let found = matched.then(|| self.0.entity.node.lock_discovery().endpoint(guid).cloned()).flatten();
        found.ok_or_else(|| not_matched("get_matched_publication_data", "writer", handle))
    }

    /// How many samples did not reach the application for a reason, and the last of them.
    pub fn dropped(&self, reason: DropReason) -> DropCount {
        self.status(|cache| cache.dropped(reason))
    }

    /// Samples, instances and bytes in its cache.
    ///
    /// # Errors
    /// `NotEnabled`, `AlreadyDeleted`.
    pub fn held(&self) -> Result<Held, Error> {
        let state = self.0.entity.cell("held")?.lock();
        if state.deleted {
            return Err(deleted("held"));
        }
        let (cache, waiting) = (&state.cache, state.rtps.held_bytes());
        Ok(Held {
            bytes: cache.held_bytes(),
            waiting,
            samples: cache.samples(),
            instances: cache.instances(),
        })
    }

    /// How often something notable happened in the protocol: duplicates, what had to wait, what is lost.
    ///
    /// # Errors
    /// `NotEnabled`, `AlreadyDeleted`.
    pub fn counters(&self) -> Result<ReaderCounters, Error> {
        let state = self.0.entity.cell("counters")?.lock();
        if state.deleted { Err(deleted("counters")) } else { Ok(*state.rtps.counters()) }
    }
}
