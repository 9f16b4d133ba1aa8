//! The Publisher (DDS 1.4, 2.2.2.4.1).
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, Weak};

use dcps::qos::{DataWriterQos, PublisherQos, TopicQos};
use dcps::status::StatusMask;
use dcps::{CdrTypeSupport, Error, ReturnCode, TypeSupport};
use wire::Duration;
use wire::cdr::DdsType;

use super::builder::WriterBuilder;
use super::entity::WriterEntity;
use super::listener::{AnyDataWriterListener, DataWriterListener, PublisherListener, Typed};
use super::raw::RawDataWriter;
use super::writer::DataWriter;
use crate::condition::StatusCondition;
use crate::entity::{Children, Listening, QosKind, StatusSource, deleted, refuse_inside};
use crate::host::Host;
use crate::lock::lock;
use crate::node::Node;
use crate::node::watch::Watch;
use crate::participant::{DomainParticipant, ParticipantEntity};
use crate::topic::Topic;

/// Makes writers that share PARTITION and GROUP_DATA. Clones are the same publisher; it lives until it is deleted, or until
/// the last handle of its participant and of everything in it is gone.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// use dds::qos::PublisherQos;
/// use dds::{NO_STATUS, QosKind};
///
/// let qos = PublisherQos { partition: vec!["hall 1".to_owned()], ..PublisherQos::default() };
/// let publisher = participant.create_publisher(QosKind::Specific(qos), None, NO_STATUS)?;
/// let writer = publisher.writer::<Reading>("Readings").create()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Publisher {
    entity: Arc<PublisherEntity>,
    participant: DomainParticipant,
}

/// A publisher as its participant keeps it.
pub(crate) struct PublisherEntity {
    node: Arc<Node>,
    participant: Weak<ParticipantEntity>,
    watch: Arc<Watch>,
    qos: Mutex<PublisherQos>,
    default_writer_qos: Mutex<DataWriterQos>,
    pub(crate) writers: Children<WriterEntity>,
    listening: Listening<dyn PublisherListener>,
    enabled: AtomicBool,
}

impl PublisherEntity {
    pub(crate) fn new(participant: &Arc<ParticipantEntity>, qos: PublisherQos) -> Result<Arc<Self>, Error> {
        qos.check()?;
        Ok(Arc::new(Self {
            node: Arc::clone(&participant.node),
            participant: Arc::downgrade(participant),
            watch: Arc::default(),
            qos: Mutex::new(qos),
            default_writer_qos: Mutex::default(),
            writers: Children::default(),
            listening: Listening::default(),
            enabled: AtomicBool::new(false),
        }))
    }

    pub(crate) fn qos(&self) -> PublisherQos {
        lock(&self.qos).clone()
    }

    /// What this publisher's listener and the participant's are for.
    pub(super) fn listened(&self) -> StatusMask {
        let above = self.participant.upgrade().map_or(StatusMask::NONE, |above| above.listened());
        self.listening.mask() | above
    }

    /// Calls the listener for a status: this publisher's, or the participant's.
    pub(super) fn call(&self, bit: StatusMask, call: impl FnOnce(&dyn AnyDataWriterListener)) {
        if let Some(listener) = self.listening.listener_for(bit) {
            call(&*listener);
        } else if let Some(listener) = self.participant.upgrade().and_then(|above| above.listener_for(bit)) {
            call(&*listener);
        }
    }

    pub(crate) fn refresh(&self) {
        self.writers.all().iter().for_each(WriterEntity::refresh);
    }

    pub(crate) fn enable(&self) -> Result<(), Error> {
        self.enabled.store(true, SeqCst);
        if self.enables_children() {
            self.writers.all().iter().try_for_each(|writer| writer.enable())?;
        }
        Ok(())
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(SeqCst)
    }

    fn enables_children(&self) -> bool {
        self.is_enabled() && lock(&self.qos).entity_factory.autoenable_created_entities
    }

    /// An error on the thread of a callback of one of its writers.
    pub(crate) fn check_outside(&self, operation: &'static str) -> Result<(), Error> {
        self.writers.all().iter().try_for_each(|writer| refuse_inside(&writer.watch, operation))
    }

    pub(crate) fn delete_all(&self) {
        for writer in self.writers.all() {
            self.delete(&writer);
        }
    }

    /// False if it was deleted before.
    fn delete(&self, writer: &Arc<WriterEntity>) -> bool {
        if !self.writers.remove(writer) {
            return false;
        }
        self.node.set_callback(&writer.watch, || (StatusMask::NONE, None));
        if let Some(cell) = writer.enabled() {
            self.node.delete_writer(cell);
        }
        true
    }
}

impl StatusSource for PublisherEntity {
    fn status_changes(&self) -> StatusMask {
        StatusMask::NONE
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        Some(self.node.shared_host())
    }
}

impl Publisher {
    pub(crate) const fn new(entity: Arc<PublisherEntity>, participant: DomainParticipant) -> Self {
        Self { entity, participant }
    }

    /// A handle of a publisher whose participant is still there.
    pub(super) fn of(entity: &Weak<PublisherEntity>) -> Option<Self> {
        let entity = entity.upgrade()?;
        let participant = DomainParticipant::of(&entity.participant)?;
        Some(Self { entity, participant })
    }

    pub(crate) const fn entity(&self) -> &Arc<PublisherEntity> {
        &self.entity
    }

    /// The participant.
    pub const fn get_participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// Makes a writer of a topic. `mask` names the statuses that `listener` is for.
    ///
    /// # Errors
    /// `PreconditionNotMet` if the topic is of another type or participant; what [`DataWriterQos::check`] says;
    /// `OutOfResources` if it cannot be announced.
    pub fn create_datawriter<T: DdsType + Send + Sync + 'static>(
        &self,
        topic: &Topic,
        qos: QosKind<DataWriterQos>,
        listener: Option<Arc<dyn DataWriterListener<T>>>,
        mask: StatusMask,
    ) -> Result<DataWriter<T>, Error> {
        topic.check_type::<T>("create_datawriter")?;
        let listener = listener.map(|listener| Arc::new(Typed(listener)) as Arc<dyn AnyDataWriterListener>);
        let types = Box::new(CdrTypeSupport::<T>::new());
        self.create_raw_datawriter(topic, types, qos, listener, mask).map(DataWriter::of)
    }

    /// Begins a writer of the topic of this name, which is made if the participant has none of that name and type yet. The QoS begins as
    /// that which writers get by default.
    pub fn writer<T: DdsType + Send + Sync + 'static>(&self, topic: impl Into<String>) -> WriterBuilder<T> {
        WriterBuilder::of_publisher(self.clone(), topic.into())
    }

    /// Makes a writer of serialized samples.
    ///
    /// # Errors
    /// As [`Publisher::create_datawriter`].
    pub fn create_raw_datawriter(
        &self,
        topic: &Topic,
        types: Box<dyn TypeSupport + Send>,
        qos: QosKind<DataWriterQos>,
        listener: Option<Arc<dyn AnyDataWriterListener>>,
        mask: StatusMask,
    ) -> Result<RawDataWriter, Error> {
        self.participant.node().check_process("create_datawriter")?;
        topic.check_participant(&self.participant, "create_datawriter")?;
        let qos = qos.or_else(|| self.get_default_datawriter_qos());
        let node = Arc::clone(self.participant.node());
        let entity = WriterEntity::new(node, Arc::clone(topic.entity()), &self.entity, qos, types)?;
        entity.set_listener(listener, mask);
        // Known first, then listened to, then enabled: nothing that another thread changes meanwhile is missed.
        self.entity.writers.add(&entity, "create_datawriter")?;
        entity.refresh();
        if self.entity.enables_children()
            && let Err(error) = entity.enable()
        {
            self.entity.delete(&entity);
            return Err(error);
        }
        Ok(RawDataWriter::of(entity, self.clone()))
    }

    /// Deletes a writer. Handles of it that are left say so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it is of another publisher, or this is called from its own listener; `AlreadyDeleted`.
    pub fn delete_datawriter(&self, writer: &RawDataWriter) -> Result<(), Error> {
        self.participant.node().check_process("delete_datawriter")?;
        if !Arc::ptr_eq(writer.get_publisher().entity(), &self.entity) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "delete_datawriter",
                "the writer is of another publisher",
                "delete it by the publisher that made it",
            ));
        }
        refuse_inside(&writer.entity().watch, "delete_datawriter")?;
        let is_there = self.entity.delete(writer.entity());
        if is_there { Ok(()) } else { Err(deleted("delete_datawriter")) }
    }

    /// Deletes all writers.
    ///
    /// # Errors
    /// `PreconditionNotMet` if this is called from the listener of one of them; then none is deleted.
    pub fn delete_contained_entities(&self) -> Result<(), Error> {
        self.participant.node().check_process("delete_contained_entities")?;
        self.entity.check_outside("delete_contained_entities")?;
        self.entity.delete_all();
        Ok(())
    }

    /// A writer of the topic of this name, if there is one.
    pub fn lookup_datawriter(&self, topic_name: &str) -> Option<RawDataWriter> {
        let found = self.entity.writers.all().into_iter().find(|writer| writer.topic.name() == topic_name)?;
        Some(RawDataWriter::of(found, self.clone()))
    }

    /// Its QoS.
    pub fn get_qos(&self) -> PublisherQos {
        self.entity.qos()
    }

    /// Changes the QoS. PARTITION and GROUP_DATA are announced anew for every writer.
    ///
    /// # Errors
    /// The errors of [`PublisherQos::check_change`](dcps::qos::GroupQos::check_change); nothing is changed then.
    pub fn set_qos(&self, qos: QosKind<PublisherQos>) -> Result<(), Error> {
        self.participant.node().check_process("set_qos")?;
        let qos = qos.or_else(|| self.participant.get_default_publisher_qos());
        let former = {
            let mut current = lock(&self.entity.qos);
            if self.entity.is_enabled() {
                current.check_change(&qos)?;
            } else {
                qos.check()?;
            }
            std::mem::replace(&mut *current, qos)
        };
        let writers = self.entity.writers.all();
        let announced = writers.iter().try_for_each(|writer| writer.announce_again());
        announced.inspect_err(|_| {
            *lock(&self.entity.qos) = former;
            // What was announced before fits again.
            writers.iter().for_each(|writer| drop(writer.announce_again()));
        })
    }

    /// The QoS that writers get by default.
    pub fn get_default_datawriter_qos(&self) -> DataWriterQos {
        lock(&self.entity.default_writer_qos).clone()
    }

    /// Sets the QoS that writers get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// The errors of [`DataWriterQos::check`].
    pub fn set_default_datawriter_qos(&self, qos: QosKind<DataWriterQos>) -> Result<(), Error> {
        let qos = qos.or_else(DataWriterQos::default);
        qos.check()?;
        *lock(&self.entity.default_writer_qos) = qos;
        Ok(())
    }

    /// Copies the policies of a topic into the QoS of a writer.
    pub fn copy_from_topic_qos(&self, writer: &mut DataWriterQos, topic: &TopicQos) {
        writer.copy_from_topic_qos(topic);
    }

    /// Sets or takes away the listener. Waits for calls in progress.
    pub fn set_listener(&self, listener: Option<Arc<dyn PublisherListener>>, mask: StatusMask) {
        self.entity.listening.set(listener, mask);
        self.entity.refresh();
    }

    /// The condition that a status of this publisher has changed. It has no statuses of its own (DDS 1.4, 2.2.4.1).
    pub fn get_statuscondition(&self) -> StatusCondition {
        StatusCondition::new(Arc::clone(&self.entity) as _)
    }

    /// Enables the publisher, and its writers if ENTITY_FACTORY says so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if the participant is not enabled; `OutOfResources` if a writer cannot be announced.
    pub fn enable(&self) -> Result<(), Error> {
        self.participant.node().check_process("enable")?;
        self.participant.check_enabled("enable a publisher")?;
        self.entity.enable()
    }

    /// Waits until every reliable reader of every writer has acknowledged all that was written so far.
    ///
    /// # Errors
    /// `Timeout`.
    pub fn wait_for_acknowledgments(&self, max_wait: impl Into<Duration>) -> Result<(), Error> {
        self.participant.node().check_process("wait_for_acknowledgments")?;
        let until = self.participant.node().host().now().monotonic.after(max_wait.into());
        for writer in self.entity.writers.all() {
            let left = until.since(self.participant.node().host().now().monotonic);
            if let Some(cell) = writer.enabled() {
                writer.node.wait_for_acknowledgments(cell, left.max(Duration::ZERO))?;
            }
        }
        Ok(())
    }
}
