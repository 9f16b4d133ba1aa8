//! A participant as its handles share it.
use std::sync::{Arc, Mutex};

use dcps::Error;
use dcps::qos::{DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos};
use dcps::status::StatusMask;

use super::listener::DomainParticipantListener;
use crate::entity::deleted;
use crate::lock::lock;
use crate::node::Node;
use crate::publication::PublisherEntity;
use crate::subscription::SubscriberEntity;
use crate::topic::TopicEntity;

/// See the module.
pub(crate) struct ParticipantEntity {
    pub(crate) node: Arc<Node>,
    pub(crate) domain_id: u32,
    pub(super) qos: Mutex<DomainParticipantQos>,
    pub(super) enabled: Mutex<bool>,
    pub(super) topics: Mutex<Vec<Arc<TopicEntity>>>,
    pub(super) publishers: Mutex<Vec<Arc<PublisherEntity>>>,
    pub(super) subscribers: Mutex<Vec<Arc<SubscriberEntity>>>,
    pub(super) listener: Mutex<(StatusMask, Option<Arc<dyn DomainParticipantListener>>)>,
    pub(super) default_topic_qos: Mutex<TopicQos>,
    pub(super) default_publisher_qos: Mutex<PublisherQos>,
    pub(super) default_subscriber_qos: Mutex<SubscriberQos>,
}

impl ParticipantEntity {
    pub(crate) fn new(node: Arc<Node>, domain_id: u32, qos: DomainParticipantQos) -> Arc<Self> {
        let entity = Arc::new(Self {
            node,
            domain_id,
            qos: Mutex::new(qos),
            enabled: Mutex::new(false),
            topics: Mutex::default(),
            publishers: Mutex::default(),
            subscribers: Mutex::default(),
            listener: Mutex::default(),
            default_topic_qos: Mutex::default(),
            default_publisher_qos: Mutex::default(),
            default_subscriber_qos: Mutex::default(),
        });
        let weak = Arc::downgrade(&entity);
        entity.node.on_not_matched(Box::new(move |other, reasons| {
            let Some(entity) = weak.upgrade() else { return Vec::new() };
            let topics = lock(&entity.topics).clone();
            let named = topics.iter().filter(|topic| topic.name() == other.topic_name);
            named.filter_map(|topic| topic.not_matched(other, reasons).cloned()).collect()
        }));
        entity
    }

    /// The statuses that its listener is for.
    pub(crate) fn listened(&self) -> StatusMask {
        let listener = lock(&self.listener);
        if listener.1.is_some() { listener.0 } else { StatusMask::NONE }
    }

    /// Its listener, if that is for this status.
    pub(crate) fn listener_for(&self, bit: StatusMask) -> Option<Arc<dyn DomainParticipantListener>> {
        let listener = lock(&self.listener);
        listener.1.clone().filter(|_| listener.0.intersects(bit))
    }

    pub(super) fn refresh(&self) {
        self.publishers().iter().for_each(|publisher| publisher.refresh());
        self.subscribers().iter().for_each(|subscriber| subscriber.refresh());
        lock(&self.topics).clone().iter().for_each(TopicEntity::refresh);
    }

    pub(super) fn publishers(&self) -> Vec<Arc<PublisherEntity>> {
        lock(&self.publishers).clone()
    }

    pub(super) fn subscribers(&self) -> Vec<Arc<SubscriberEntity>> {
        lock(&self.subscribers).clone()
    }

    pub(super) fn topic(&self, name: &str) -> Option<Arc<TopicEntity>> {
        lock(&self.topics).iter().find(|topic| topic.name() == name).cloned()
    }

    pub(super) fn is_used(&self, topic: &Arc<TopicEntity>) -> bool {
        let is = |used: &Arc<TopicEntity>| Arc::ptr_eq(used, topic);
        self.publishers().iter().any(|group| group.writers().iter().any(|writer| is(&writer.topic)))
            || self.subscribers().iter().any(|group| group.readers().iter().any(|reader| is(&reader.topic)))
    }

    pub(super) fn forget_topic(&self, topic: &Arc<TopicEntity>) -> Result<(), Error> {
        let mut topics = lock(&self.topics);
        let index = topics.iter().position(|known| Arc::ptr_eq(known, topic));
        topics.swap_remove(index.ok_or_else(|| deleted("delete_topic"))?);
        Ok(())
    }

    /// TOPIC_DATA of a topic has changed.
    pub(crate) fn announce_again(&self, topic: &Arc<TopicEntity>) -> Result<(), Error> {
        for publisher in self.publishers() {
            let writers = publisher.writers();
            let mut used = writers.iter().filter(|writer| Arc::ptr_eq(&writer.topic, topic));
            used.try_for_each(|writer| writer.announce_again())?;
        }
        for subscriber in self.subscribers() {
            let readers = subscriber.readers();
            let mut used = readers.iter().filter(|reader| Arc::ptr_eq(&reader.topic, topic));
            used.try_for_each(|reader| reader.announce_again())?;
        }
        Ok(())
    }

    pub(super) fn enables_children(&self) -> bool {
        *lock(&self.enabled) && lock(&self.qos).entity_factory.autoenable_created_entities
    }

    pub(super) fn enable(&self) -> Result<(), Error> {
        if std::mem::replace(&mut *lock(&self.enabled), true) {
            return Ok(());
        }
        self.node.start()?;
        if self.enables_children() {
            self.publishers().iter().try_for_each(|publisher| publisher.enable())?;
            self.subscribers().iter().try_for_each(|subscriber| subscriber.enable())?;
        }
        Ok(())
    }

    pub(super) fn delete_contained(&self) -> Result<(), Error> {
        self.publishers().iter().try_for_each(|publisher| publisher.delete_all())?;
        self.subscribers().iter().try_for_each(|subscriber| subscriber.delete_all())?;
        lock(&self.publishers).clear();
        lock(&self.subscribers).clear();
        lock(&self.topics).clear();
        Ok(())
    }
}

impl Drop for ParticipantEntity {
    fn drop(&mut self) {
        self.node.close();
    }
}
