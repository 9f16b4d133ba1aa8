//! The Publisher (DDS 1.4, 2.2.2.4.1).
use std::sync::{Arc, Mutex, Weak};

use dcps::qos::{DataWriterQos, PublisherQos, TopicQos};
use dcps::status::StatusMask;
use dcps::{CdrTypeSupport, Error, ReturnCode, TypeSupport};
use wire::Duration;
use wire::cdr::DdsType;

use super::entity::WriterEntity;
use super::listener::{AnyDataWriterListener, DataWriterListener, PublisherListener, Typed};
use super::raw::RawDataWriter;
use super::writer::DataWriter;
use crate::entity::{QosKind, deleted, refuse_inside};
use crate::lock::lock;
use crate::participant::{DomainParticipant, ParticipantEntity};
use crate::topic::Topic;

/// Makes writers that share PARTITION and GROUP_DATA. Clones are the same publisher; it lives until it is deleted, or until
/// the last handle of its participant and of everything in it is gone.
#[derive(Clone)]
pub struct Publisher {
    entity: Arc<PublisherEntity>,
    participant: DomainParticipant,
}

/// A publisher as its participant keeps it.
pub(crate) struct PublisherEntity {
    participant: Weak<ParticipantEntity>,
    qos: Mutex<PublisherQos>,
    default_writer_qos: Mutex<DataWriterQos>,
    writers: Mutex<Vec<Arc<WriterEntity>>>,
    listener: Mutex<(StatusMask, Option<Arc<dyn PublisherListener>>)>,
    enabled: Mutex<bool>,
}

impl PublisherEntity {
    pub(crate) fn new(participant: &Arc<ParticipantEntity>, qos: PublisherQos) -> Result<Arc<Self>, Error> {
        qos.check()?;
        Ok(Arc::new(Self {
            participant: Arc::downgrade(participant),
            qos: Mutex::new(qos),
            default_writer_qos: Mutex::default(),
            writers: Mutex::default(),
            listener: Mutex::default(),
            enabled: Mutex::new(false),
        }))
    }

    pub(super) fn qos(&self) -> PublisherQos {
        lock(&self.qos).clone()
    }

    /// What this publisher's listener and the participant's are for.
    pub(super) fn listened(&self) -> StatusMask {
        let own = {
            let listener = lock(&self.listener);
            if listener.1.is_some() { listener.0 } else { StatusMask::NONE }
        };
        own | self.participant.upgrade().map_or(StatusMask::NONE, |participant| participant.listened())
    }

    /// Calls the listener for a status: this publisher's, or the participant's.
    pub(super) fn call(&self, bit: StatusMask, call: impl FnOnce(&dyn AnyDataWriterListener)) {
        let (mask, own) = lock(&self.listener).clone();
        if let Some(listener) = own.filter(|_| mask.intersects(bit)) {
            call(&*listener);
        } else if let Some(listener) =
            self.participant.upgrade().and_then(|participant| participant.listener_for(bit))
        {
            call(&*listener);
        }
    }

    pub(crate) fn writers(&self) -> Vec<Arc<WriterEntity>> {
        lock(&self.writers).clone()
    }

    pub(crate) fn refresh(&self) {
        self.writers().iter().for_each(WriterEntity::refresh);
    }

    pub(crate) fn enable(&self) -> Result<(), Error> {
        *lock(&self.enabled) = true;
        if self.qos().entity_factory.autoenable_created_entities {
            self.writers().iter().try_for_each(|writer| writer.enable())?;
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.writers).is_empty()
    }

    pub(crate) fn delete_all(&self) -> Result<(), Error> {
        let writers = self.writers();
        writers.iter().try_for_each(|writer| refuse_inside(&writer.watch, "delete_contained_entities"))?;
        writers.iter().for_each(|writer| self.delete(writer));
        Ok(())
    }

    fn delete(&self, writer: &Arc<WriterEntity>) {
        lock(&self.writers).retain(|known| !Arc::ptr_eq(known, writer));
        writer.watch.set_callback(StatusMask::NONE, None);
        if let Some(cell) = writer.enabled() {
            writer.node.delete_writer(cell);
        }
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
        topic.check_participant(&self.participant, "create_datawriter")?;
        let qos = qos.or_else(|| self.get_default_datawriter_qos());
        let node = Arc::clone(self.participant.node());
        let entity = WriterEntity::new(node, Arc::clone(topic.entity()), &self.entity, qos, types)?;
        entity.set_listener(listener, mask);
        // Before it is enabled: no change of status is missed.
        entity.refresh();
        if *lock(&self.entity.enabled) && self.entity.qos().entity_factory.autoenable_created_entities {
            entity.enable()?;
        }
        lock(&self.entity.writers).push(Arc::clone(&entity));
        Ok(RawDataWriter::of(entity, self.clone()))
    }

    /// Deletes a writer. Handles of it that are left say so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it is of another publisher, or this is called from its own listener; `AlreadyDeleted`.
    pub fn delete_datawriter(&self, writer: &RawDataWriter) -> Result<(), Error> {
        if !Arc::ptr_eq(writer.get_publisher().entity(), &self.entity) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "delete_datawriter",
                "the writer is of another publisher",
                "delete it by the publisher that made it",
            ));
        }
        refuse_inside(&writer.entity().watch, "delete_datawriter")?;
        let known = lock(&self.entity.writers).iter().any(|known| Arc::ptr_eq(known, writer.entity()));
        if !known {
            return Err(deleted("delete_datawriter"));
        }
        self.entity.delete(writer.entity());
        Ok(())
    }

    /// Deletes all writers.
    ///
    /// # Errors
    /// `PreconditionNotMet` if this is called from the listener of one of them; then none is deleted.
    pub fn delete_contained_entities(&self) -> Result<(), Error> {
        self.entity.delete_all()
    }

    /// A writer of the topic of this name, if there is one.
    pub fn lookup_datawriter(&self, topic_name: &str) -> Option<RawDataWriter> {
        let found = self.entity.writers().into_iter().find(|writer| writer.topic.name() == topic_name)?;
        Some(RawDataWriter::of(found, self.clone()))
    }

    /// Its QoS.
    pub fn get_qos(&self) -> PublisherQos {
        self.entity.qos()
    }

    /// Changes the QoS. PARTITION and GROUP_DATA are announced anew for every writer.
    ///
    /// # Errors
    /// What [`PublisherQos::check_change`](dcps::qos::GroupQos::check_change) says; nothing is changed then.
    pub fn set_qos(&self, qos: QosKind<PublisherQos>) -> Result<(), Error> {
        let qos = qos.or_else(|| self.participant.get_default_publisher_qos());
        {
            let mut current = lock(&self.entity.qos);
            if *lock(&self.entity.enabled) {
                current.check_change(&qos)?;
            } else {
                qos.check()?;
            }
            *current = qos;
        }
        self.entity.writers().iter().try_for_each(|writer| writer.announce_again())
    }

    /// The QoS that writers get by default.
    pub fn get_default_datawriter_qos(&self) -> DataWriterQos {
        lock(&self.entity.default_writer_qos).clone()
    }

    /// Sets the QoS that writers get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// What [`DataWriterQos::check`] says.
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
        *lock(&self.entity.listener) = (mask, listener);
        self.entity.refresh();
    }

    /// Enables the publisher, and its writers if ENTITY_FACTORY says so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if the participant is not enabled; `OutOfResources` if a writer cannot be announced.
    pub fn enable(&self) -> Result<(), Error> {
        self.participant.check_enabled("enable a publisher")?;
        self.entity.enable()
    }

    /// Waits until every reliable reader of every writer has acknowledged all that was written so far.
    ///
    /// # Errors
    /// `Timeout`.
    pub fn wait_for_acknowledgments(&self, max_wait: Duration) -> Result<(), Error> {
        let until = self.participant.node().host().now().monotonic.after(max_wait);
        for writer in self.entity.writers() {
            let left = until.since(self.participant.node().host().now().monotonic);
            if let Some(cell) = writer.enabled() {
                writer.node.wait_for_acknowledgments(cell, left.max(Duration::ZERO))?;
            }
        }
        Ok(())
    }
}
