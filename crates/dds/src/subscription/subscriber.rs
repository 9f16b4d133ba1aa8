//! The Subscriber (DDS 1.4, 2.2.2.5.2).
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, Weak};

use dcps::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dcps::status::StatusMask;
use dcps::{CdrTypeSupport, Error, ReturnCode, States, TypeSupport};
use wire::cdr::DdsType;

use super::builder::ReaderBuilder;
use super::entity::ReaderEntity;
use super::listener::{AnyDataReaderListener, DataReaderListener, SubscriberListener, Typed};
use super::raw::RawDataReader;
use super::reader::DataReader;
use crate::condition::StatusCondition;
use crate::content_filter::TopicDescription;
use crate::entity::{Children, Listening, QosKind, StatusSource, deleted, refuse_inside};
use crate::host::Host;
use crate::lock::lock;
use crate::node::Node;
use crate::node::watch::{Callback, Watch};
use crate::participant::{DomainParticipant, ParticipantEntity};

/// Makes readers that share PARTITION and GROUP_DATA. Clones are the same subscriber; it lives until it is deleted, or until
/// the last handle of its participant and of everything in it is gone.
///
/// ```
/// # use dds::prelude::*;
/// # #[derive(DdsType, Clone, Debug, Default)]
/// # struct Reading { #[dds(key)] sensor: u32, celsius: f64 }
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// use dds::qos::SubscriberQos;
/// use dds::{NO_STATUS, QosKind};
///
/// let qos = SubscriberQos { partition: vec!["hall *".to_owned()], ..SubscriberQos::default() };
/// let subscriber = participant.create_subscriber(QosKind::Specific(qos), None, NO_STATUS)?;
/// let reader = subscriber.reader::<Reading>("Readings").reliable().create()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Subscriber {
    entity: Arc<SubscriberEntity>,
    participant: DomainParticipant,
}

/// A subscriber as its participant keeps it.
pub(crate) struct SubscriberEntity {
    node: Arc<Node>,
    participant: Weak<ParticipantEntity>,
    pub(super) watch: Arc<Watch>,
    qos: Mutex<SubscriberQos>,
    default_reader_qos: Mutex<DataReaderQos>,
    pub(crate) readers: Children<ReaderEntity>,
    listening: Listening<dyn SubscriberListener>,
    enabled: AtomicBool,
    /// It is the one of the built-in topics.
    pub(super) is_builtin: bool,
}

impl SubscriberEntity {
    pub(crate) fn new(participant: &Arc<ParticipantEntity>, qos: SubscriberQos) -> Result<Arc<Self>, Error> {
        Self::made(participant, qos, false)
    }

    pub(super) fn made(
        participant: &Arc<ParticipantEntity>,
        qos: SubscriberQos,
        is_builtin: bool,
    ) -> Result<Arc<Self>, Error> {
        qos.check()?;
        Ok(Arc::new(Self {
            node: Arc::clone(&participant.node),
            participant: Arc::downgrade(participant),
            watch: Arc::default(),
            qos: Mutex::new(qos),
            default_reader_qos: Mutex::default(),
            readers: Children::default(),
            listening: Listening::default(),
            enabled: AtomicBool::new(false),
            is_builtin,
        }))
    }

    pub(crate) fn qos(&self) -> SubscriberQos {
        lock(&self.qos).clone()
    }

    /// What this subscriber's listener and the participant's are for.
    pub(super) fn listened(&self) -> StatusMask {
        let above = self.participant.upgrade().map_or(StatusMask::NONE, |above| above.listened());
        self.listening.mask() | above
    }

    /// Calls the listener for a status: this subscriber's, or the participant's.
    pub(super) fn call(&self, bit: StatusMask, call: impl FnOnce(&dyn AnyDataReaderListener)) {
        if let Some(listener) = self.listening.listener_for(bit) {
            call(&*listener);
        } else if let Some(listener) = self.participant.upgrade().and_then(|above| above.listener_for(bit)) {
            call(&*listener);
        }
    }

    /// Calls the listener that asked for DATA_ON_READERS.
    fn call_data_on_readers(self: &Arc<Self>) {
        let Some(participant) = DomainParticipant::of(&self.participant) else { return };
        let subscriber = Subscriber::new(Arc::clone(self), participant);
        let bit = StatusMask::DATA_ON_READERS;
        self.watch.settle_data();
        if let Some(listener) = self.listening.listener_for(bit) {
            listener.on_data_on_readers(&subscriber);
        } else if let Some(listener) = subscriber.participant.entity().listener_for(bit) {
            listener.on_data_on_readers(&subscriber);
        }
    }

    /// Sees to it that listeners of every level are called.
    pub(crate) fn refresh(self: &Arc<Self>) {
        self.node.set_callback(&self.watch, || {
            let wanted = self.listened() & StatusMask::DATA_ON_READERS;
            if wanted == StatusMask::NONE {
                return (wanted, None);
            }
            let entity = Arc::downgrade(self);
            let callback: Callback = Arc::new(move |_| {
                if let Some(entity) = entity.upgrade() {
                    entity.call_data_on_readers();
                }
            });
            (wanted, Some(callback))
        });
        self.readers.all().iter().for_each(ReaderEntity::refresh);
    }

    pub(crate) fn enable(&self) -> Result<(), Error> {
        self.enabled.store(true, SeqCst);
        if self.enables_children() {
            self.readers.all().iter().try_for_each(|reader| reader.enable())?;
        }
        Ok(())
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(SeqCst)
    }

    fn enables_children(&self) -> bool {
        self.is_enabled() && lock(&self.qos).entity_factory.autoenable_created_entities
    }

    /// An error on the thread of a callback of one of its readers.
    pub(crate) fn check_readers_outside(&self, operation: &'static str) -> Result<(), Error> {
        self.readers.all().iter().try_for_each(|reader| refuse_inside(&reader.watch, operation))
    }

    /// An error on the thread of a callback of its own, or of one of its readers.
    pub(crate) fn check_outside(&self, operation: &'static str) -> Result<(), Error> {
        refuse_inside(&self.watch, operation)?;
        self.check_readers_outside(operation)
    }

    pub(crate) fn delete_all(&self) {
        for reader in self.readers.all() {
            self.delete(&reader);
        }
    }

    /// The subscriber is deleted: no listener is called any more.
    pub(crate) fn detach(&self) {
        self.node.set_callback(&self.watch, || (StatusMask::NONE, None));
    }

    /// False if it was deleted before.
    fn delete(&self, reader: &Arc<ReaderEntity>) -> bool {
        if !self.readers.remove(reader) {
            return false;
        }
        self.node.set_callback(&reader.watch, || (StatusMask::NONE, None));
        if let Some(cell) = reader.enabled() {
            self.node.delete_reader(cell);
        }
        true
    }
}

impl StatusSource for SubscriberEntity {
    /// DATA_ON_READERS while a reader has data that was not looked for, unless `on_data_on_readers` was called for them.
    fn status_changes(&self) -> StatusMask {
        let is_available =
            |reader: &Arc<ReaderEntity>| reader.status_changes().intersects(StatusMask::DATA_AVAILABLE);
        if self.watch.has_data() && self.readers.all().iter().any(is_available) {
            return StatusMask::DATA_ON_READERS;
        }
        StatusMask::NONE
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    fn host(&self) -> Option<Arc<dyn Host>> {
        Some(self.node.shared_host())
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

    /// Makes a reader of a topic, or of a content-filtered topic. `mask` names the statuses that `listener` is for.
    ///
    /// # Errors
    /// `PreconditionNotMet` if the topic is of another type or participant; what [`DataReaderQos::check`] says;
    /// `OutOfResources` if it cannot be announced.
    pub fn create_datareader<T: DdsType + Send + Sync + 'static>(
        &self,
        topic: &impl TopicDescription,
        qos: QosKind<DataReaderQos>,
        listener: Option<Arc<dyn DataReaderListener<T>>>,
        mask: StatusMask,
    ) -> Result<DataReader<T>, Error> {
        topic.parts().0.check_type::<T>("create_datareader")?;
        let listener = listener.map(|listener| Arc::new(Typed(listener)) as Arc<dyn AnyDataReaderListener>);
        let types = Box::new(CdrTypeSupport::<T>::new());
        self.create_raw_datareader(topic, types, qos, listener, mask).map(DataReader::of)
    }

    /// Begins a reader of the topic of this name, which is made if the participant has none of that name and type yet. The QoS begins as
    /// that which readers get by default.
    pub fn reader<T: DdsType + Send + Sync + 'static>(&self, topic: impl Into<String>) -> ReaderBuilder<T> {
        ReaderBuilder::of_subscriber(self.clone(), topic.into())
    }

    /// Makes a reader of serialized samples.
    ///
    /// # Errors
    /// As [`Subscriber::create_datareader`].
    pub fn create_raw_datareader(
        &self,
        topic: &impl TopicDescription,
        types: Box<dyn TypeSupport + Send>,
        qos: QosKind<DataReaderQos>,
        listener: Option<Arc<dyn AnyDataReaderListener>>,
        mask: StatusMask,
    ) -> Result<RawDataReader, Error> {
        self.participant.node().check_process("create_datareader")?;
        self.entity.refuse_builtin("create_datareader")?;
        let (topic, filtered) = topic.parts();
        topic.check_participant(&self.participant, "create_datareader")?;
        let qos = qos.or_else(|| self.get_default_datareader_qos());
        let node = Arc::clone(self.participant.node());
        let filtered = filtered.map(|filtered| Arc::clone(filtered.entity()));
        let entity = ReaderEntity::new(node, Arc::clone(topic.entity()), &self.entity, qos, types, filtered)?;
        entity.set_listener(listener, mask);
        // Known first, then listened to, then enabled: nothing that another thread changes meanwhile is missed.
        self.entity.readers.add(&entity, "create_datareader")?;
        let reader = RawDataReader::of(Arc::clone(&entity), self.clone());
        entity.refresh();
        if self.entity.enables_children()
            && let Err(error) = entity.enable()
        {
            self.entity.delete(&entity);
            return Err(error);
        }
        Ok(reader)
    }

    /// Deletes a reader. Handles of it that are left say so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it is of another subscriber, or this is called from its own listener; `AlreadyDeleted`.
    pub fn delete_datareader(&self, reader: &RawDataReader) -> Result<(), Error> {
        self.participant.node().check_process("delete_datareader")?;
        if !Arc::ptr_eq(reader.get_subscriber().entity(), &self.entity) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "delete_datareader",
                "the reader is of another subscriber",
                "delete it by the subscriber that made it",
            ));
        }
        self.entity.refuse_builtin("delete_datareader")?;
        refuse_inside(&reader.entity().watch, "delete_datareader")?;
        let is_there = self.entity.delete(reader.entity());
        if is_there { Ok(()) } else { Err(deleted("delete_datareader")) }
    }

    /// Deletes all readers.
    ///
    /// # Errors
    /// `PreconditionNotMet` if this is called from the listener of one of them, or for the built-in subscriber; then none is deleted.
    pub fn delete_contained_entities(&self) -> Result<(), Error> {
        self.participant.node().check_process("delete_contained_entities")?;
        self.entity.refuse_builtin("delete_contained_entities")?;
        self.entity.check_readers_outside("delete_contained_entities")?;
        self.entity.delete_all();
        Ok(())
    }

    /// A reader of the topic of this name, if there is one.
    pub fn lookup_datareader(&self, topic_name: &str) -> Option<RawDataReader> {
        let found = self.entity.readers.all().into_iter().find(|reader| reader.topic.name() == topic_name)?;
        Some(RawDataReader::of(found, self.clone()))
    }

    /// The readers that have samples in these states.
    pub fn get_datareaders(&self, states: States) -> Vec<RawDataReader> {
        let mut found = Vec::new();
        for entity in self.entity.readers.all() {
            let reader = RawDataReader::of(entity, self.clone());
            if reader.has_samples(states) {
                found.push(reader);
            }
        }
        found
    }

    /// Calls `on_data_available` for the readers that have samples which were not read; for use in `on_data_on_readers`.
    pub fn notify_datareaders(&self) {
        for reader in self.get_datareaders(States::NOT_READ) {
            reader.entity().watch.notify(StatusMask::DATA_AVAILABLE);
        }
    }

    /// Its QoS.
    pub fn get_qos(&self) -> SubscriberQos {
        self.entity.qos()
    }

    /// Changes the QoS. PARTITION and GROUP_DATA are announced anew for every reader.
    ///
    /// # Errors
    /// The errors of [`SubscriberQos::check_change`](dcps::qos::GroupQos::check_change); nothing is changed then. `PreconditionNotMet` for
    /// the built-in subscriber.
    pub fn set_qos(&self, qos: QosKind<SubscriberQos>) -> Result<(), Error> {
        self.participant.node().check_process("set_qos")?;
        self.entity.refuse_builtin("set_qos")?;
        let qos = qos.or_else(|| self.participant.get_default_subscriber_qos());
        let former = {
            let mut current = lock(&self.entity.qos);
            if self.entity.is_enabled() {
                current.check_change(&qos)?;
            } else {
                qos.check()?;
            }
            std::mem::replace(&mut *current, qos)
        };
        let readers = self.entity.readers.all();
        let announced = readers.iter().try_for_each(|reader| reader.announce_again());
        announced.inspect_err(|_| {
            *lock(&self.entity.qos) = former;
            // What was announced before fits again.
            readers.iter().for_each(|reader| drop(reader.announce_again()));
        })
    }

    /// The QoS that readers get by default.
    pub fn get_default_datareader_qos(&self) -> DataReaderQos {
        lock(&self.entity.default_reader_qos).clone()
    }

    /// Sets the QoS that readers get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// The errors of [`DataReaderQos::check`].
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
        self.entity.listening.set(listener, mask);
        self.entity.refresh();
    }

    /// The condition that a status of this subscriber has changed: DATA_ON_READERS, while a reader has data that was not looked for.
    pub fn get_statuscondition(&self) -> StatusCondition {
        StatusCondition::new(Arc::clone(&self.entity) as _)
    }

    /// The statuses that changed since they were last read: DATA_ON_READERS, while a reader has data that was not looked for and that
    /// `on_data_on_readers` was not called for.
    pub fn get_status_changes(&self) -> StatusMask {
        self.entity.status_changes()
    }

    /// Enables the subscriber, and its readers if ENTITY_FACTORY says so.
    ///
    /// # Errors
    /// `PreconditionNotMet` if the participant is not enabled; `OutOfResources` if a reader cannot be announced.
    pub fn enable(&self) -> Result<(), Error> {
        self.participant.node().check_process("enable")?;
        self.participant.check_enabled("enable a subscriber")?;
        self.entity.enable()
    }
}
