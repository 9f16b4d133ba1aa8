//! Domain participants (DDS 1.4, 2.2.2.2.1).
mod builder;
mod discovered;
mod entity;
mod implicit;
mod listener;

use std::any::TypeId;
use std::sync::{Arc, Weak};

use dcps::assurance::GateCounters;
use dcps::qos::{DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos};
use dcps::status::StatusMask;
use dcps::{Error, InstanceHandle, ReturnCode};
use wire::cdr::{DdsType, ENCAPSULATION_SIZE};
use wire::{GuidPrefix, Now};

use crate::condition::StatusCondition;
use crate::content_filter::ContentFilteredTopic;
use crate::entity::{QosKind, StatusSource, deleted, factory_not_enabled, refuse_inside};
use crate::lock::lock;
use crate::node::Node;
use crate::publication::{Publisher, PublisherEntity, PublisherListener};
use crate::subscription::{Subscriber, SubscriberEntity, SubscriberListener};
use crate::topic::{Carries, Topic, TopicEntity, TopicListener};
use crate::types::TypeOf;
use xtypes::Described;

pub use builder::ParticipantBuilder;
pub use discovered::{DiscoveredParticipant, FoundType, IgnoredTopic, NotMatched};
pub(crate) use entity::ParticipantEntity;
pub use listener::DomainParticipantListener;

/// A member of a domain. Clones are the same participant; it leaves the domain when it is deleted, or when the last handle of it and
/// of everything in it is gone.
///
/// Writers and readers are made by [`DomainParticipant::writer`] and [`DomainParticipant::reader`], or, in the words of the standard, by a
/// [`Publisher`] and a [`Subscriber`].
///
/// ```no_run
/// use dds::prelude::*;
///
/// let participant = Participant::new(0)?;
/// let name = |found: &dds::DiscoveredParticipant| found.data.entity_name.clone();
/// participant.wait_for_discovery(Duration::from_secs(1), |known| !known.get_discovered_participants().is_empty())?;
/// for found in participant.get_discovered_participants() {
///     println!("{:?}", name(&found));
/// }
/// # Ok::<(), dds::Error>(())
/// ```
#[derive(Clone)]
pub struct DomainParticipant {
    entity: Arc<ParticipantEntity>,
}

impl DomainParticipant {
    pub(crate) const fn of_entity(entity: Arc<ParticipantEntity>) -> Self {
        Self { entity }
    }

    pub(crate) fn of(entity: &Weak<ParticipantEntity>) -> Option<Self> {
        entity.upgrade().map(Self::of_entity)
    }

    pub(crate) const fn entity(&self) -> &Arc<ParticipantEntity> {
        &self.entity
    }

    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.entity.node
    }

    /// The domain.
    pub fn get_domain_id(&self) -> u32 {
        self.entity.domain_id
    }

    /// Its GUID prefix.
    pub fn prefix(&self) -> GuidPrefix {
        self.entity.node.prefix()
    }

    /// The time, as it is used for timestamps and timeouts.
    pub fn get_current_time(&self) -> Now {
        self.entity.node.host().now()
    }

    /// A report of what the system granted and refused: interfaces, ports, buffers, threads, and failures so far; a line each.
    pub fn report(&self) -> Vec<String> {
        if let Err(error) = self.node().check_process("report") {
            return vec![error.to_string()];
        }
        let mut lines = self.entity.node.host().report();
        let (malformed, put_off) = self.entity.node.troubles();
        if let (Some(asked), count) = self.entity.node.managers() {
            lines.push(format!(
                "the resource manager is the participant {asked}, of {count} that claim to be one"
            ));
        }
        let gate = self.entity.node.gate_counters();
        if gate != GateCounters::default() {
            let GateCounters { other_manager, old_epoch, old_serial, implausible, expired, unauthorized } =
                gate;
            lines.push(format!(
                "verdicts of resource managers: {other_manager} of other managers than the one that is asked, {old_epoch} of an \
                 earlier start, {old_serial} about an earlier request, \
                 {implausible} not believed; {expired} leases ended; {unauthorized} requests of participants that they \
                 are not about"
            ));
        }
        lines.push(format!("{malformed} datagrams could not be read"));
        let forged = self.entity.node.forged();
        if forged > 0 {
            lines.push(format!(
                "{forged} messages for writers and readers came from addresses that are not known for the participant they name, and \
                 were dropped"
            ));
        }
        lines.push(format!("{put_off} answers and announcements were put off because a socket was full"));
        lines
    }

    /// Makes a topic for samples of a Rust type. `mask` names the statuses that `listener` is for.
    ///
    /// # Errors
    /// `PreconditionNotMet` if there is a topic of this name with another type; what [`TopicQos::check`] says; `BadParameter` for
    /// a name that cannot be one.
    pub fn create_topic<T: DdsType + 'static>(
        &self,
        name: &str,
        type_name: &str,
        qos: QosKind<TopicQos>,
        listener: Option<Arc<dyn TopicListener>>,
        mask: StatusMask,
    ) -> Result<Topic, Error> {
        let largest = match (T::MAX_SERIALIZED_SIZE_XCDR1, T::MAX_SERIALIZED_SIZE_XCDR2) {
            (Some(one), Some(two)) => u32::try_from(one.max(two).saturating_add(ENCAPSULATION_SIZE)).ok(),
            _ => None,
        };
        let ty = TypeOf::Compiled(T::DESCRIPTION);
        let carries = Carries { type_id: Some(TypeId::of::<T>()), max_serialized_size: largest, ty };
        self.make_topic(name, type_name, carries, qos, listener, mask)
    }

    /// Makes a topic for serialized samples.
    ///
    /// # Errors
    /// As [`DomainParticipant::create_topic`].
    pub fn create_raw_topic(
        &self,
        name: &str,
        type_name: &str,
        qos: QosKind<TopicQos>,
    ) -> Result<Topic, Error> {
        let carries = Carries { type_id: None, max_serialized_size: None, ty: TypeOf::Unknown };
        self.make_topic(name, type_name, carries, qos, None, StatusMask::NONE)
    }

    /// As [`DomainParticipant::create_raw_topic`], with a type that is announced.
    ///
    /// # Errors
    /// As [`DomainParticipant::create_topic`].
    pub fn create_described_topic(
        &self,
        name: &str,
        type_name: &str,
        described: Arc<Described>,
        qos: QosKind<TopicQos>,
    ) -> Result<Topic, Error> {
        let carries = Carries { type_id: None, max_serialized_size: None, ty: TypeOf::Given(described) };
        self.make_topic(name, type_name, carries, qos, None, StatusMask::NONE)
    }

    fn make_topic(
        &self,
        name: &str,
        type_name: &str,
        carries: Carries,
        qos: QosKind<TopicQos>,
        listener: Option<Arc<dyn TopicListener>>,
        mask: StatusMask,
    ) -> Result<Topic, Error> {
        self.node().check_open("create_topic")?;
        let qos = qos.or_else(|| self.get_default_topic_qos());
        if let Some(other) = self.entity.topic(name).filter(|other| other.subject().type_name != type_name) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "create_topic",
                format!(
                    "topic {name:?} exists in this participant with type {:?}, not {type_name:?}",
                    other.subject().type_name
                ),
                "use the same type, or another topic name",
            ));
        }
        let node = Arc::clone(self.node());
        let topic = TopicEntity::new(&self.entity, node, name, type_name, carries, qos)?;
        topic.set_listener(listener, mask);
        self.entity.topics.add(&topic, "create_topic")?;
        topic.refresh();
        Ok(Topic::new(topic, self.clone()))
    }

    /// Makes a topic of which readers get only the samples that pass a filter expression (DDS 1.4, Annex B), with the texts of its parameters
    /// `%0`, `%1` and so on: see [`ContentFilteredTopic`].
    ///
    /// # Errors
    /// `BadParameter` if the expression or a parameter does not fit the type, with the byte where; `PreconditionNotMet` if a topic has this
    /// name, or the topic is of another participant; `Unsupported` if nothing is known of the type but its name.
    pub fn create_contentfilteredtopic<S: Into<String>>(
        &self,
        name: &str,
        related_topic: &Topic,
        expression: &str,
        parameters: impl IntoIterator<Item = S>,
    ) -> Result<ContentFilteredTopic, Error> {
        let operation = "create_contentfilteredtopic";
        self.node().check_open(operation)?;
        related_topic.check_participant(self, operation)?;
        if self.entity.topic(name).is_some() {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                operation,
                format!("this participant has a topic {name:?}"),
                "use another name: that of a content-filtered topic is its own",
            ));
        }
        let parameters = parameters.into_iter().map(Into::into).collect();
        ContentFilteredTopic::new(related_topic, name, expression, parameters, operation)
    }

    /// A topic of this name that this participant has made, if there is one.
    pub fn lookup_topicdescription(&self, name: &str) -> Option<Topic> {
        Some(Topic::new(self.entity.topic(name)?, self.clone()))
    }

    /// Deletes a topic.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it still has writers or readers, is of another participant, or this is called from its own listener;
    /// `AlreadyDeleted`.
    pub fn delete_topic(&self, topic: &Topic) -> Result<(), Error> {
        self.node().check_process("delete_topic")?;
        topic.check_participant(self, "delete_topic")?;
        refuse_inside(topic.entity().watch(), "delete_topic")?;
        if self.entity.is_used(topic.entity()) {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "delete_topic",
                format!("topic {:?} has writers or readers", topic.get_name()),
                "delete them first",
            ));
        }
        if !self.entity.topics.remove(topic.entity()) {
            return Err(deleted("delete_topic"));
        }
        topic.entity().detach();
        Ok(())
    }

    /// Makes a publisher. `mask` names the statuses that `listener` is for.
    ///
    /// # Errors
    /// The errors of [`PublisherQos::check`](dcps::qos::GroupQos::check); `AlreadyDeleted`.
    pub fn create_publisher(
        &self,
        qos: QosKind<PublisherQos>,
        listener: Option<Arc<dyn PublisherListener>>,
        mask: StatusMask,
    ) -> Result<Publisher, Error> {
        self.node().check_open("create_publisher")?;
        let qos = qos.or_else(|| self.get_default_publisher_qos());
        let entity = PublisherEntity::new(&self.entity, qos)?;
        let publisher = Publisher::new(Arc::clone(&entity), self.clone());
        publisher.set_listener(listener, mask);
        self.entity.publishers.add(&entity, "create_publisher")?;
        // Both again, now that it is known: what another thread changes meanwhile is not missed.
        publisher.entity().refresh();
        if self.entity.enables_children() {
            entity.enable()?;
        }
        Ok(publisher)
    }

    /// Deletes a publisher.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it still has writers, or is of another participant; `AlreadyDeleted`.
    pub fn delete_publisher(&self, publisher: &Publisher) -> Result<(), Error> {
        self.node().check_process("delete_publisher")?;
        if !Arc::ptr_eq(publisher.get_participant().entity(), &self.entity) {
            return Err(not_ours("delete_publisher"));
        }
        if !self.entity.publishers.contains(publisher.entity()) {
            return Err(deleted("delete_publisher"));
        }
        if !publisher.entity().writers.close_if_empty() {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "delete_publisher",
                "the publisher has writers",
                "delete them first: delete_contained_entities",
            ));
        }
        self.entity.publishers.remove(publisher.entity());
        Ok(())
    }

    /// Makes a subscriber. `mask` names the statuses that `listener` is for.
    ///
    /// # Errors
    /// The errors of [`SubscriberQos::check`](dcps::qos::GroupQos::check); `AlreadyDeleted`.
    pub fn create_subscriber(
        &self,
        qos: QosKind<SubscriberQos>,
        listener: Option<Arc<dyn SubscriberListener>>,
        mask: StatusMask,
    ) -> Result<Subscriber, Error> {
        self.node().check_open("create_subscriber")?;
        let qos = qos.or_else(|| self.get_default_subscriber_qos());
        let entity = SubscriberEntity::new(&self.entity, qos)?;
        let subscriber = Subscriber::new(Arc::clone(&entity), self.clone());
        subscriber.set_listener(listener, mask);
        self.entity.subscribers.add(&entity, "create_subscriber")?;
        // Both again, now that it is known: what another thread changes meanwhile is not missed.
        subscriber.entity().refresh();
        if self.entity.enables_children() {
            entity.enable()?;
        }
        Ok(subscriber)
    }

    /// The subscriber of the built-in topics (DDS 1.4, 2.2.5): participants, topics, writers and readers of others as samples. Its readers
    /// are found by [`Subscriber::lookup_datareader`] under the names of [`BuiltinTopic`](crate::BuiltinTopic), and read as
    /// [`ParticipantBuiltinTopicData`](crate::ParticipantBuiltinTopicData) and so on by [`RawDataReader::typed`](crate::RawDataReader::typed).
    /// They are made when this is first called, and have what is known by then.
    ///
    /// # Errors
    /// `AlreadyDeleted`.
    pub fn get_builtin_subscriber(&self) -> Result<Subscriber, Error> {
        Ok(Subscriber::new(self.entity.make_builtin()?, self.clone()))
    }

    /// Deletes a subscriber.
    ///
    /// # Errors
    /// `PreconditionNotMet` if it still has readers, is of another participant or built in, or this is called from its own listener;
    /// `AlreadyDeleted`.
    pub fn delete_subscriber(&self, subscriber: &Subscriber) -> Result<(), Error> {
        self.node().check_process("delete_subscriber")?;
        if !Arc::ptr_eq(subscriber.get_participant().entity(), &self.entity) {
            return Err(not_ours("delete_subscriber"));
        }
        subscriber.entity().refuse_builtin("delete_subscriber")?;
        if !self.entity.subscribers.contains(subscriber.entity()) {
            return Err(deleted("delete_subscriber"));
        }
        refuse_inside(subscriber.entity().watch(), "delete_subscriber")?;
        if !subscriber.entity().readers.close_if_empty() {
            return Err(Error::new(
                ReturnCode::PreconditionNotMet,
                "delete_subscriber",
                "the subscriber has readers",
                "delete them first: delete_contained_entities",
            ));
        }
        self.entity.subscribers.remove(subscriber.entity());
        subscriber.entity().detach();
        Ok(())
    }

    /// Deletes all writers, readers, publishers, subscribers and topics.
    ///
    /// # Errors
    /// `PreconditionNotMet` if this is called from a callback of one of them; then none is deleted.
    pub fn delete_contained_entities(&self) -> Result<(), Error> {
        self.node().check_process("delete_contained_entities")?;
        self.entity.check_outside("delete_contained_entities")?;
        self.entity.delete_contained();
        Ok(())
    }

    /// Leaves the domain: everything in it is deleted, and others are told.
    ///
    /// # Errors
    /// `PreconditionNotMet` if this is called from a listener of the participant.
    pub(crate) fn delete(&self) -> Result<(), Error> {
        self.entity.check_outside("delete_participant")?;
        if let Some(builtin) = self.entity.builtin() {
            builtin.check_outside("delete_participant")?;
        }
        self.entity.delete();
        Ok(())
    }

    /// Says that the application lives, for all writers whose LIVELINESS is by participant.
    ///
    /// # Errors
    /// `AlreadyDeleted`.
    pub fn assert_liveliness(&self) -> Result<(), Error> {
        self.node().check_open("assert_liveliness")?;
        self.node().assert_participant();
        Ok(())
    }

    /// Its QoS.
    pub fn get_qos(&self) -> DomainParticipantQos {
        lock(&self.entity.qos).clone()
    }

    /// Changes the QoS. USER_DATA is announced anew.
    ///
    /// # Errors
    /// The errors of [`DomainParticipantQos::check_change`]; nothing is changed then.
    pub fn set_qos(&self, qos: QosKind<DomainParticipantQos>) -> Result<(), Error> {
        self.node().check_process("set_qos")?;
        let qos = qos.or_else(DomainParticipantQos::default);
        let node = self.node();
        // Callbacks come after the command, with no lock held.
        node.command(|work| {
            let mut current = lock(&self.entity.qos);
            current.check_change(&qos)?;
            node.set_user_data(&qos.user_data, work);
            *current = qos;
            Ok(())
        })
    }

    /// Sets or takes away the listener. Waits for calls in progress.
    pub fn set_listener(&self, listener: Option<Arc<dyn DomainParticipantListener>>, mask: StatusMask) {
        self.entity.listening.set(listener, mask);
        self.entity.refresh();
    }

    /// Enables the participant: it announces itself; and what is in it, if ENTITY_FACTORY says so.
    ///
    /// # Errors
    /// `OutOfResources` if an endpoint cannot be announced.
    pub fn enable(&self) -> Result<(), Error> {
        self.node().check_process("enable")?;
        self.entity.enable()
    }

    pub(crate) fn check_enabled(&self, operation: &'static str) -> Result<(), Error> {
        if self.entity.is_enabled() { Ok(()) } else { Err(factory_not_enabled(operation)) }
    }

    /// The condition that a status of this participant has changed. It has no statuses of its own (DDS 1.4, 2.2.4.1).
    pub fn get_statuscondition(&self) -> StatusCondition {
        StatusCondition::new(Arc::clone(&self.entity) as _)
    }

    /// True if a handle is that of an entity in this participant.
    pub fn contains_entity(&self, handle: InstanceHandle) -> bool {
        let routes = self.node().routes();
        let is =
            |guid: wire::Guid| InstanceHandle::from(guid) == handle && !self.node().is_hidden(guid.entity_id);
        routes.writers.values().any(|cell| is(cell.guid)) || routes.readers.values().any(|cell| is(cell.guid))
    }

    /// The QoS that topics get by default.
    pub fn get_default_topic_qos(&self) -> TopicQos {
        lock(&self.entity.default_topic_qos).clone()
    }

    /// Sets the QoS that topics get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// The errors of [`TopicQos::check`].
    pub fn set_default_topic_qos(&self, qos: QosKind<TopicQos>) -> Result<(), Error> {
        let qos = qos.or_else(TopicQos::default);
        qos.check()?;
        *lock(&self.entity.default_topic_qos) = qos;
        Ok(())
    }

    /// The QoS that publishers get by default.
    pub fn get_default_publisher_qos(&self) -> PublisherQos {
        lock(&self.entity.default_publisher_qos).clone()
    }

    /// Sets the QoS that publishers get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// The errors of [`PublisherQos::check`](dcps::qos::GroupQos::check).
    pub fn set_default_publisher_qos(&self, qos: QosKind<PublisherQos>) -> Result<(), Error> {
        let qos = qos.or_else(PublisherQos::default);
        qos.check()?;
        *lock(&self.entity.default_publisher_qos) = qos;
        Ok(())
    }

    /// The QoS that subscribers get by default.
    pub fn get_default_subscriber_qos(&self) -> SubscriberQos {
        lock(&self.entity.default_subscriber_qos).clone()
    }

    /// Sets the QoS that subscribers get by default; [`QosKind::Default`] is the standard's.
    ///
    /// # Errors
    /// The errors of [`SubscriberQos::check`](dcps::qos::GroupQos::check).
    pub fn set_default_subscriber_qos(&self, qos: QosKind<SubscriberQos>) -> Result<(), Error> {
        let qos = qos.or_else(SubscriberQos::default);
        qos.check()?;
        *lock(&self.entity.default_subscriber_qos) = qos;
        Ok(())
    }
}

fn not_ours(operation: &'static str) -> Error {
    Error::new(
        ReturnCode::PreconditionNotMet,
        operation,
        "it is an entity of another participant",
        "delete it by the participant that made it",
    )
}
