//! The Subscriber (DDS 1.4, 2.2.2.5.2).
use std::sync::{Arc, Mutex, Weak};

use dcps::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dcps::status::StatusMask;
use dcps::{CdrTypeSupport, Error, ReturnCode, States, TypeSupport};
use wire::cdr::DdsType;

use super::entity::ReaderEntity;
use super::listener::{AnyDataReaderListener, DataReaderListener, SubscriberListener, Typed};
use super::raw::RawDataReader;
use super::reader::DataReader;
use crate::entity::{QosKind, deleted, refuse_inside};
use crate::lock::lock;
use crate::participant::{DomainParticipant, ParticipantEntity};
use crate::topic::Topic;

/// Makes readers that share PARTITION and GROUP_DATA. Clones are the same subscriber; it lives until it is deleted, or until
/// the last handle of its participant and of everything in it is gone.
#[derive(Clone)]
pub struct Subscriber {
    entity: Arc<SubscriberEntity>,
    participant: DomainParticipant,
}

/// A subscriber as its participant keeps it.
pub(crate) struct SubscriberEntity {
    participant: Weak<ParticipantEntity>,
    qos: Mutex<SubscriberQos>,
    default_reader_qos: Mutex<DataReaderQos>,
    readers: Mutex<Vec<Arc<ReaderEntity>>>,
    listener: Mutex<(StatusMask, Option<Arc<dyn SubscriberListener>>)>,
    enabled: Mutex<bool>,
}

impl SubscriberEntity {
    pub(crate) fn new(participant: &Arc<ParticipantEntity>, qos: SubscriberQos) -> Result<Arc<Self>, Error> {
        qos.check()?;
        Ok(Arc::new(Self {
            participant: Arc::downgrade(participant),
            qos: Mutex::new(qos),
            default_reader_qos: Mutex::default(),
            readers: Mutex::default(),
            listener: Mutex::default(),
            enabled: Mutex::new(false),
        }))
    }

    pub(super) fn qos(&self) -> SubscriberQos {
        lock(&self.qos).clone()
    }

    /// What this subscriber's listener and the participant's are for.
    pub(super) fn listened(&self) -> StatusMask {
        let own = {
            let listener = lock(&self.listener);
            if listener.1.is_some() { listener.0 } else { StatusMask::NONE }
        };
        own | self.participant.upgrade().map_or(StatusMask::NONE, |participant| participant.listened())
    }

    /// Calls the listener for a status: this subscriber's, or the participant's.
    pub(super) fn call(&self, bit: StatusMask, call: impl FnOnce(&dyn AnyDataReaderListener)) {
        let (mask, own) = lock(&self.listener).clone();
        if let Some(listener) = own.filter(|_| mask.intersects(bit)) {
            call(&*listener);
        } else if let Some(listener) =
            self.participant.upgrade().and_then(|participant| participant.listener_for(bit))
        {
            call(&*listener);
        }
    }

    /// Calls whoever asked for DATA_ON_READERS; false if nobody did.
    pub(super) fn call_data_on_readers(&self, subscriber: &Subscriber) -> bool {
        let bit = StatusMask::DATA_ON_READERS;
        let (mask, own) = lock(&self.listener).clone();
        if let Some(listener) = own.filter(|_| mask.intersects(bit)) {
            listener.on_data_on_readers(subscriber);
            return true;
        }
        let participant = self.participant.upgrade();
        match participant.and_then(|participant| participant.listener_for(bit)) {
            Some(listener) => {
                listener.on_data_on_readers(subscriber);
                true
            }
            None => false,
        }
    }

    pub(crate) fn readers(&self) -> Vec<Arc<ReaderEntity>> {
        lock(&self.readers).clone()
    }

    pub(crate) fn refresh(&self) {
        self.readers().iter().for_each(ReaderEntity::refresh);
    }

    pub(crate) fn enable(&self) -> Result<(), Error> {
        *lock(&self.enabled) = true;
        if self.qos().entity_factory.autoenable_created_entities {
            self.readers().iter().try_for_each(|reader| reader.enable())?;
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.readers).is_empty()
    }

    pub(crate) fn delete_all(&self) -> Result<(), Error> {
        let readers = self.readers();
        readers.iter().try_for_each(|reader| refuse_inside(&reader.watch, "delete_contained_entities"))?;
        readers.iter().for_each(|reader| self.delete(reader));
        Ok(())
    }

    fn delete(&self, reader: &Arc<ReaderEntity>) {
        lock(&self.readers).retain(|known| !Arc::ptr_eq(known, reader));
        reader.watch.set_callback(StatusMask::NONE, None);
        if let Some(cell) = reader.enabled() {
            reader.node.delete_reader(cell);
        }
    }
}

impl Subscriber {
    pub(crate) const fn new(entity: Arc<SubscriberEntity>, participant: DomainParticipant) -> Self {
        Self { entity, participant }
    }

    /// A handle of a subscriber whose participant is still there.
    pub(super) fn of(entity: &Weak<SubscriberEntity>) -> Option<Self> {
        let entity = entity.upgrade()?;
        let participant = DomainParticipant::of(&entity.participant)?;
        Some(Self { entity, participant })
    }

    pub(crate) const fn entity(&self) -> &Arc<SubscriberEntity> {
        &self.entity
    }

    /// The participant.
    pub const fn get_participant(&self) -> &DomainParticipant {
        &self.participant
    }

    /// Makes a reader of a topic. `mask` names the statuses that `listener` is for.
    ///
    /// # Errors
    /// `PreconditionNotMet` if the topic is of another type or participant; what [`DataReaderQos::check`] says;
    /// `OutOfResources` if it cannot be announced.
    pub fn create_datareader<T: DdsType + Send + Sync + 'static>(
        &self,
        topic: &Topic,
        qos: QosKind<DataReaderQos>,
        listener: Option<Arc<dyn DataReaderListener<T>>>,
        mask: StatusMask,
    ) -> Result<DataReader<T>, Error> {
        topic.check_type::<T>("create_datareader")?;
        let listener = listener.map(|listener| Arc::new(Typed(listener)) as Arc<dyn AnyDataReaderListener>);
        let types = Box::new(CdrTypeSupport::<T>::new());
        self.create_raw_datareader(topic, types, qos, listener, mask).map(DataReader::of)
    }

    /// Makes a reader of serialized samples.
    ///
    /// # Errors
    /// As [`Subscriber::create_datareader`].
    pub fn create_raw_datareader(
        &self,
        topic: &Topic,
        types: Box<dyn TypeSupport + Send>,
        qos: QosKind<DataReaderQos>,
        listener: Option<Arc<dyn AnyDataReaderListener>>,
        mask: StatusMask,
    ) -> Result<RawDataReader, Error> {
        topic.check_participant(&self.participant, "create_datareader")?;
        let qos = qos.or_else(|| self.get_default_datareader_qos());
        let node = Arc::clone(self.participant.node());
        let entity = ReaderEntity::new(node, Arc::clone(topic.entity()), &self.entity, qos, types)?;
        entity.set_listener(listener, mask);
        // Before it is enabled: no change of status is missed.
        entity.refresh();
        if *lock(&self.entity.enabled) && self.entity.qos().entity_factory.autoenable_created_entities {
            entity.enable()?;
        }
        lock(&self.entity.readers).push(Arc::clone(&entity));
        Ok(RawDataReader::of(entity, self.clone()))
    }

    /// Deletes a reader. Handles of it that are left say so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it is of another subscriber, or this is called from its own listener; `AlreadyDeleted`.
    pub fn delete_datareader(&self, reader: &RawDataReader) -> Result<(), Error> {
        if !Arc::ptr_eq(reader.get_subscriber().entity(), &self.entity) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "delete_datareader",
                "the reader is of another subscriber",
                "delete it by the subscriber that made it",
            ));
        }
        refuse_inside(&reader.entity().watch, "delete_datareader")?;
        let known = lock(&self.entity.readers).iter().any(|known| Arc::ptr_eq(known, reader.entity()));
        if !known {
            return Err(deleted("delete_datareader"));
        }
        self.entity.delete(reader.entity());
        Ok(())
    }

    /// Deletes all readers.
    ///
    /// # Errors
    /// `PreconditionNotMet` if this is called from the listener of one of them; then none is deleted.
    pub fn delete_contained_entities(&self) -> Result<(), Error> {
        self.entity.delete_all()
    }

    /// A reader of the topic of this name, if there is one.
    pub fn lookup_datareader(&self, topic_name: &str) -> Option<RawDataReader> {
        let found = self.entity.readers().into_iter().find(|reader| reader.topic.name() == topic_name)?;
        Some(RawDataReader::of(found, self.clone()))
    }

    /// The readers that have samples in these states.
    pub fn get_datareaders(&self, states: States) -> Vec<RawDataReader> {
        let mut found = Vec::new();
        for entity in self.entity.readers() {
            let reader = RawDataReader::of(entity, self.clone());
            if reader.has_samples(states) {
                found.push(reader);
            }
        }
        found
    }

    /// Calls `on_data_available` of the readers that have samples; for use in `on_data_on_readers`.
    pub fn notify_datareaders(&self) {
        for reader in self.get_datareaders(States::NOT_READ) {
            reader.entity().notify_data_available(&reader);
        }
    }

    /// Its QoS.
    pub fn get_qos(&self) -> SubscriberQos {
        self.entity.qos()
    }

    /// Changes the QoS. PARTITION and GROUP_DATA are announced anew for every reader.
    ///
    /// # Errors
    /// What [`SubscriberQos::check_change`](dcps::qos::GroupQos::check_change) says; nothing is changed then.
    pub fn set_qos(&self, qos: QosKind<SubscriberQos>) -> Result<(), Error> {
        let qos = qos.or_else(|| self.participant.get_default_subscriber_qos());
        {
            let mut current = lock(&self.entity.qos);
            if *lock(&self.entity.enabled) {
                current.check_change(&qos)?;
            } else {
                qos.check()?;
            }
            *current = qos;
        }
        self.entity.readers().iter().try_for_each(|reader| reader.announce_again())
    }

    /// The QoS that readers get by default.
    pub fn get_default_datareader_qos(&self) -> DataReaderQos {
        lock(&self.entity.default_reader_qos).clone()
    }

    /// Sets the QoS that readers get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// What [`DataReaderQos::check`] says.
    pub fn set_default_datareader_qos(&self, qos: QosKind<DataReaderQos>) -> Result<(), Error> {
        let qos = qos.or_else(DataReaderQos::default);
        qos.check()?;
        *lock(&self.entity.default_reader_qos) = qos;
        Ok(())
    }

    /// Copies the policies of a topic into the QoS of a reader.
    pub fn copy_from_topic_qos(&self, reader: &mut DataReaderQos, topic: &TopicQos) {
        reader.copy_from_topic_qos(topic);
    }

    /// Sets or takes away the listener. Waits for calls in progress.
    pub fn set_listener(&self, listener: Option<Arc<dyn SubscriberListener>>, mask: StatusMask) {
        *lock(&self.entity.listener) = (mask, listener);
        self.entity.refresh();
    }

    /// Enables the subscriber, and its readers if ENTITY_FACTORY says so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if the participant is not enabled; `OutOfResources` if a reader cannot be announced.
    pub fn enable(&self) -> Result<(), Error> {
        self.participant.check_enabled("enable a subscriber")?;
        self.entity.enable()
    }
}
