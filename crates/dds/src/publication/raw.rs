//! The untyped DataWriter: everything that does not depend on the type of samples (DDS 1.4, 2.2.2.4.2).
use std::sync::Arc;

use dcps::assurance::PairAssurance;
use dcps::qos::DataWriterQos;
use dcps::session::PairSession;
use dcps::status::{
    AssuranceChanged, DeadlineMissed, IncompatibleQos, LivelinessLost, Matched, SessionChanged, StatusMask,
};
use dcps::writer::{InstanceOf, WriteOptions};
use dcps::{Error, InstanceHandle};
use rtps::writer::WriterCounters;
use wire::discovery::EndpointData;
use wire::{Duration, Guid, SequenceNumber, Timestamp};

use super::entity::WriterEntity;
use super::listener::AnyDataWriterListener;
use super::loan::Loan;
use super::publisher::Publisher;
use crate::bytes::Bytes;
use crate::condition::StatusCondition;
use crate::entity::{Held, QosKind, deleted, factory_not_enabled, not_matched};
use crate::node::write::End;
use crate::topic::Topic;
use crate::transport::Transport;

/// A writer of serialized samples. Clones are the same writer.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(writer: &dds::RawDataWriter, sample: &[u8]) -> Result<(), dds::Error> {
/// use dds::WriteOptions;
///
/// let mut loan = writer.loan(sample.len())?;
/// loan.copy_from_slice(sample);
/// writer.write_loaned(loan, &WriteOptions::default())?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RawDataWriter {
    entity: Arc<WriterEntity>,
    publisher: Publisher,
}

impl RawDataWriter {
    pub(super) const fn of(entity: Arc<WriterEntity>, publisher: Publisher) -> Self {
        Self { entity, publisher }
    }

    pub(crate) const fn entity(&self) -> &Arc<WriterEntity> {
        &self.entity
    }

    /// The publisher.
    pub const fn get_publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// The topic.
    pub fn get_topic(&self) -> Topic {
        Topic::new(Arc::clone(&self.entity.topic), self.publisher.get_participant().clone())
    }

    /// Its name in the domain.
    ///
    /// # Errors
    /// `NotEnabled`.
    pub fn guid(&self) -> Result<Guid, Error> {
        Ok(self.entity.cell("guid")?.guid)
    }

    /// Writes bytes that are a serialized sample, encapsulation header included, and gives its sequence number. Waits for room as
    /// long as RELIABILITY max_blocking_time says.
    ///
    /// # Errors
    /// `Timeout` if there was no room in that time; `BadParameter` if the bytes are no sample of the type; `OutOfResources` if
    /// they can never be held; `NotEnabled`; `AlreadyDeleted`.
    pub fn write_serialized(&self, sample: &Bytes, options: &WriteOptions) -> Result<SequenceNumber, Error> {
        self.entity.node.write_shared(self.entity.cell("write")?, sample, options)
    }

    /// Lends memory for a serialized sample of `len` bytes, encapsulation header included, to be written in place. It is for this writer,
    /// but any of the participant can write it. Nothing is taken from the heap where it is shared memory, or in steady state.
    ///
    /// # Errors
    /// `OutOfResources` if a sample of that length can never be held; `NotEnabled`; `AlreadyDeleted`.
    pub fn loan(&self, len: usize) -> Result<Loan, Error> {
        Ok(Loan::new(self.entity.node.lend(self.entity.cell("loan")?, len)?))
    }

    /// Writes a loan as [`RawDataWriter::write_serialized`] would write its bytes, without copying them: the history holds them where
    /// they are. After an error the loan is gone, too.
    ///
    /// # Errors
    /// As [`RawDataWriter::write_serialized`].
    pub fn write_loaned(&self, loan: Loan, options: &WriteOptions) -> Result<SequenceNumber, Error> {
        self.entity.node.write_lent(self.entity.cell("write")?, loan.into_memory(), options)
    }

    /// Registers the instance of a serialized sample, or of a serialized key.
    ///
    /// # Errors
    /// `BadParameter` if the bytes are no sample of the type, `OutOfResources` at the limit of instances, `NotEnabled`.
    pub fn register_serialized(&self, bytes: &[u8], is_key: bool) -> Result<InstanceHandle, Error> {
        self.entity.node.register(self.entity.cell("register_instance")?, bytes, is_key)
    }

    /// The instance of a serialized sample, or of a serialized key; `None` if this writer does not know it.
    ///
    /// # Errors
    /// As [`RawDataWriter::register_serialized`].
    pub fn lookup_serialized(&self, bytes: &[u8], is_key: bool) -> Result<Option<InstanceHandle>, Error> {
        self.entity.cell("lookup_instance")?.lock().machine.lookup_instance(bytes, is_key)
    }

    /// Disposes an instance: it does not exist any more.
    ///
    /// # Errors
    /// As [`RawDataWriter::write_serialized`]; `BadParameter` for a handle that is not known.
    pub fn dispose_of(
        &self,
        instance: InstanceOf<'_>,
        timestamp: Option<Timestamp>,
    ) -> Result<SequenceNumber, Error> {
        let cell = self.entity.cell("dispose")?;
        self.entity.node.end_instance(cell, End::Dispose, instance, timestamp)
    }

    /// Unregisters an instance: this writer has no more to say about it.
    ///
    /// # Errors
    /// As [`RawDataWriter::dispose_of`]; `PreconditionNotMet` if it is not registered.
    pub fn unregister_of(
        &self,
        instance: InstanceOf<'_>,
        timestamp: Option<Timestamp>,
    ) -> Result<SequenceNumber, Error> {
        let cell = self.entity.cell("unregister_instance")?;
        self.entity.node.end_instance(cell, End::Unregister, instance, timestamp)
    }

    /// Sends now what LATENCY_BUDGET lets wait for company.
    ///
    /// # Errors
    /// `NotEnabled`.
    pub fn flush(&self) -> Result<(), Error> {
        let cell = self.entity.cell("flush")?;
        cell.lock().machine.rtps_mut().flush();
        self.entity.node.touch_writer(cell);
        Ok(())
    }

    /// Waits until every reliable reader has acknowledged all that was written so far.
    ///
    /// # Errors
    /// `Timeout`, `NotEnabled`, `AlreadyDeleted`.
    pub fn wait_for_acknowledgments(&self, max_wait: impl Into<Duration>) -> Result<(), Error> {
        let cell = self.entity.cell("wait_for_acknowledgments")?;
        self.entity.node.wait_for_acknowledgments(cell, max_wait.into())
    }

    /// Says that the application lives, for LIVELINESS of the manual kinds.
    ///
    /// # Errors
    /// `NotEnabled`, `AlreadyDeleted`.
    pub fn assert_liveliness(&self) -> Result<(), Error> {
        self.entity.node.assert_writer(self.entity.cell("assert_liveliness")?)
    }

    /// Its QoS, without what its publisher and its topic add.
    pub fn get_qos(&self) -> DataWriterQos {
        self.entity.qos()
    }

    /// Changes the QoS.
    ///
    /// # Errors
    /// The errors of [`DataWriterQos::check_change`], once it is enabled; nothing is changed then.
    pub fn set_qos(&self, qos: QosKind<DataWriterQos>) -> Result<(), Error> {
        self.entity.node.check_process("set_qos")?;
        self.entity.set_qos(qos.or_else(|| self.publisher.get_default_datawriter_qos()))
    }

    /// Sets or takes away the listener. Waits for a call in progress.
    pub fn set_raw_listener(&self, listener: Option<Arc<dyn AnyDataWriterListener>>, mask: StatusMask) {
        self.entity.set_listener(listener, mask);
        self.entity.refresh();
    }

    /// Enables the writer: it is announced, and can write.
    ///
    /// # Errors
    /// `PreconditionNotMet` if its publisher is not enabled; `OutOfResources` if it cannot be announced.
    pub fn enable(&self) -> Result<(), Error> {
        self.entity.node.check_process("enable")?;
        if !self.publisher.entity().is_enabled() {
            return Err(factory_not_enabled("enable a writer"));
        }
        self.entity.enable()
    }

    /// The condition that a status of this writer has changed.
    pub fn get_statuscondition(&self) -> StatusCondition {
        StatusCondition::new(Arc::clone(&self.entity) as _)
    }

    /// The statuses that changed since they were last read.
    pub fn get_status_changes(&self) -> StatusMask {
        crate::entity::StatusSource::status_changes(&*self.entity)
    }

    /// OFFERED_DEADLINE_MISSED.
    pub fn get_offered_deadline_missed_status(&self) -> DeadlineMissed {
        self.entity
            .enabled()
            .map_or_else(Default::default, |cell| cell.lock().machine.offered_deadline_missed())
    }

    /// OFFERED_INCOMPATIBLE_QOS.
    pub fn get_offered_incompatible_qos_status(&self) -> IncompatibleQos {
        self.entity
            .enabled()
            .map_or_else(Default::default, |cell| cell.lock().machine.offered_incompatible_qos())
    }

    /// LIVELINESS_LOST.
    pub fn get_liveliness_lost_status(&self) -> LivelinessLost {
        self.entity.enabled().map_or_else(Default::default, |cell| cell.lock().machine.liveliness_lost())
    }

    /// PUBLICATION_MATCHED.
    pub fn get_publication_matched_status(&self) -> Matched {
        self.entity.enabled().map_or_else(Default::default, |cell| cell.lock().machine.publication_matched())
    }

    /// ASSURANCE_CHANGED.
    pub fn get_assurance_changed_status(&self) -> AssuranceChanged {
        let cell = self.entity.enabled();
        cell.map_or_else(Default::default, |cell| cell.lock().machine.read_assurance_changed())
    }

    /// The assured readers of the topic with what was decided about each, those that are not matched too.
    pub fn assurance(&self) -> Vec<PairAssurance> {
        let cell = self.entity.enabled();
        cell.map_or_else(Vec::new, |cell| self.entity.node.assurance_of(cell.guid.entity_id))
    }

    /// SESSION_CHANGED.
    pub fn get_session_changed_status(&self) -> SessionChanged {
        let cell = self.entity.enabled();
        cell.map_or_else(Default::default, |cell| cell.lock().machine.read_session_changed())
    }

    /// What was told of the sessions over domains of its readers: those that were granted, refused, or are over since a moment.
    /// Nothing is told without `punctual reserve` in the domain, and to writers alone that ask for it: by a flow controller of sessions in their QoS,
    /// by a listener for SESSION_CHANGED when they are enabled, or by `assurance.sessions` in the configuration of the participant.
    pub fn sessions(&self) -> Vec<PairSession> {
        let cell = self.entity.enabled();
        cell.map_or_else(Vec::new, |cell| self.entity.node.sessions_of(cell.guid.entity_id))
    }

    /// The matched readers.
    pub fn get_matched_subscriptions(&self) -> Vec<InstanceHandle> {
        self.entity.enabled().map_or_else(Vec::new, |cell| cell.lock().machine.subscriptions().collect())
    }

    /// True if the participants of all matched readers have acknowledged that this writer is there. A best-effort reader may miss what is
    /// written before. Participants of some vendors never acknowledge it.
    pub fn is_announced(&self) -> bool {
        let Some(cell) = self.entity.enabled() else { return false };
        let readers: Vec<InstanceHandle> = cell.lock().machine.subscriptions().collect();
        let discovery = self.entity.node.lock_discovery();
        let mut prefixes = readers.iter().map(|handle| Guid::from_bytes(handle.to_bytes()).prefix);
        prefixes.all(|prefix| discovery.is_announced_to(cell.guid.entity_id, prefix))
    }

    /// The announcement of a matched reader.
    ///
    /// # Errors
    /// `BadParameter` if it is not matched.
    pub fn get_matched_subscription_data(&self, handle: InstanceHandle) -> Result<Arc<EndpointData>, Error> {
        let matched = self.get_matched_subscriptions().contains(&handle);
        let guid = Guid::from_bytes(handle.to_bytes());
        let found = matched.then(|| self.entity.node.lock_discovery().endpoint(guid).cloned()).flatten();
        found.ok_or_else(|| not_matched("get_matched_subscription_data", "reader", handle))
    }

    /// How samples travel to a matched reader now; it changes when shared memory with its process begins or ends.
    ///
    /// # Errors
    /// `NotEnabled`; `BadParameter` if it is not matched.
    pub fn get_matched_subscription_transport(&self, handle: InstanceHandle) -> Result<Transport, Error> {
        let operation = "get_matched_subscription_transport";
        let state = self.entity.cell(operation)?.lock();
        let path = state.machine.rtps().path_to(Guid::from_bytes(handle.to_bytes()));
        path.map(Transport::of).ok_or_else(|| not_matched(operation, "reader", handle))
    }

    /// Changes, instances and bytes in its history.
    ///
    /// # Errors
    /// `NotEnabled`, `AlreadyDeleted`.
    pub fn held(&self) -> Result<Held, Error> {
        let mut state = self.entity.cell("held")?.lock();
        if state.deleted {
            return Err(deleted("held"));
        }
        let (samples, instances) = (state.machine.held(), state.machine.instances());
        Ok(Held { bytes: state.machine.rtps().held_bytes(), waiting: 0, samples, instances })
    }

    /// How often something notable happened in the protocol: repairs, full windows.
    ///
    /// # Errors
    /// `NotEnabled`, `AlreadyDeleted`.
    pub fn counters(&self) -> Result<WriterCounters, Error> {
        let state = self.entity.cell("counters")?.lock();
        if state.deleted { Err(deleted("counters")) } else { Ok(*state.machine.rtps().counters()) }
    }
}
