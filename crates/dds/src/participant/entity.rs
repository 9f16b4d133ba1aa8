//! A participant as its handles share it.
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, Weak};

use dcps::Error;
use dcps::qos::{DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos};
use dcps::status::StatusMask;
use rtps::discovery::Mismatch;
use wire::GuidPrefix;
use wire::discovery::EndpointData;

use super::implicit::Implicit;
use super::listener::DomainParticipantListener;
use crate::entity::{Children, Listening, StatusSource, refuse_inside};
use crate::host::Host;
use crate::lock::lock;
use crate::node::watch::Watch;
use crate::node::{Node, Topics};
use crate::publication::PublisherEntity;
use crate::subscription::SubscriberEntity;
use crate::topic::TopicEntity;

/// See the module.
pub(crate) struct ParticipantEntity {
    pub(crate) node: Arc<Node>,
    pub(crate) domain_id: u32,
    watch: Arc<Watch>,
    pub(super) qos: Mutex<DomainParticipantQos>,
    enabled: AtomicBool,
    pub(super) topics: Children<TopicEntity>,
    pub(super) publishers: Children<PublisherEntity>,
    pub(super) subscribers: Children<SubscriberEntity>,
    pub(super) implicit: Mutex<Implicit>,
    /// That of the built-in topics, once it was asked for.
    builtin: Mutex<Option<Arc<SubscriberEntity>>>,
    pub(super) listening: Listening<dyn DomainParticipantListener>,
    pub(super) default_topic_qos: Mutex<TopicQos>,
    pub(super) default_publisher_qos: Mutex<PublisherQos>,
    pub(super) default_subscriber_qos: Mutex<SubscriberQos>,
}

impl ParticipantEntity {
    pub(crate) fn new(node: Arc<Node>, domain_id: u32, qos: DomainParticipantQos) -> Arc<Self> {
        let entity = Arc::new(Self {
            node,
            domain_id,
            watch: Arc::default(),
            qos: Mutex::new(qos),
            enabled: AtomicBool::new(false),
            topics: Children::default(),
            publishers: Children::default(),
            subscribers: Children::default(),
            implicit: Mutex::default(),
            builtin: Mutex::default(),
            listening: Listening::default(),
            default_topic_qos: Mutex::default(),
            default_publisher_qos: Mutex::default(),
            default_subscriber_qos: Mutex::default(),
        });
        let topics: Weak<Self> = Arc::downgrade(&entity);
        entity.node.set_topics(topics);
        entity
    }

    /// The statuses that its listener is for.
    pub(crate) fn listened(&self) -> StatusMask {
        self.listening.mask()
    }

    /// Its listener, if that is for this status.
    pub(crate) fn listener_for(&self, bit: StatusMask) -> Option<Arc<dyn DomainParticipantListener>> {
        self.listening.listener_for(bit)
    }

    pub(super) fn refresh(&self) {
        self.publishers.all().iter().for_each(|publisher| publisher.refresh());
        self.subscribers.all().iter().chain(&self.builtin()).for_each(SubscriberEntity::refresh);
        self.topics.all().iter().for_each(TopicEntity::refresh);
    }

    /// The subscriber of the built-in topics, if it was asked for.
    pub(super) fn builtin(&self) -> Option<Arc<SubscriberEntity>> {
        lock(&self.builtin).clone()
    }

    /// The subscriber of the built-in topics, whose readers have what is known.
    pub(super) fn make_builtin(self: &Arc<Self>) -> Result<Arc<SubscriberEntity>, Error> {
        self.node.check_process("get_builtin_subscriber")?;
        let subscriber = {
            let mut builtin = lock(&self.builtin);
            self.node.check_open("get_builtin_subscriber")?;
            match &*builtin {
                Some(made) => Arc::clone(made),
                None => {
                    let (made, readers) = SubscriberEntity::builtin(self)?;
                    self.node.set_builtin(readers);
                    Arc::clone(builtin.insert(made))
                }
            }
        };
        // Both again, now that it is known: what another thread changes meanwhile is not missed.
        subscriber.refresh();
        self.node.update_builtin();
        Ok(subscriber)
    }

    pub(super) fn topic(&self, name: &str) -> Option<Arc<TopicEntity>> {
        self.topics.find(|topic| topic.name() == name)
    }

    pub(super) fn is_used(&self, topic: &Arc<TopicEntity>) -> bool {
        let is = |used: &Arc<TopicEntity>| Arc::ptr_eq(used, topic);
        self.publishers.all().iter().any(|group| group.writers.all().iter().any(|writer| is(&writer.topic)))
            || self.subscribers.all().iter().any(|group| {
                let readers = group.readers.all();
                readers.iter().any(|reader| is(&reader.topic))
            })
    }

    /// TOPIC_DATA of a topic has changed.
    pub(crate) fn announce_again(&self, topic: &Arc<TopicEntity>) -> Result<(), Error> {
        for publisher in self.publishers.all() {
            let writers = publisher.writers.all();
            let mut used = writers.iter().filter(|writer| Arc::ptr_eq(&writer.topic, topic));
            used.try_for_each(|writer| writer.announce_again())?;
        }
        for subscriber in self.subscribers.all() {
            let readers = subscriber.readers.all();
            let mut used = readers.iter().filter(|reader| Arc::ptr_eq(&reader.topic, topic));
            used.try_for_each(|reader| reader.announce_again())?;
        }
        Ok(())
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.enabled.load(SeqCst)
    }

    pub(super) fn enables_children(&self) -> bool {
        self.is_enabled() && lock(&self.qos).entity_factory.autoenable_created_entities
    }

    pub(super) fn enable(&self) -> Result<(), Error> {
        self.node.start()?;
        self.enabled.store(true, SeqCst);
        if self.enables_children() {
            self.publishers.all().iter().try_for_each(|publisher| publisher.enable())?;
            self.subscribers.all().iter().try_for_each(|subscriber| subscriber.enable())?;
        }
        Ok(())
    }

    /// An error on the thread of a callback of something in it.
    pub(super) fn check_outside(&self, operation: &'static str) -> Result<(), Error> {
        self.publishers.all().iter().try_for_each(|publisher| publisher.check_outside(operation))?;
        self.subscribers.all().iter().try_for_each(|subscriber| subscriber.check_outside(operation))?;
        self.topics.all().iter().try_for_each(|topic| refuse_inside(topic.watch(), operation))
    }

    pub(super) fn delete_contained(&self) {
        for publisher in self.publishers.all() {
            self.publishers.remove(&publisher);
            publisher.delete_all();
            publisher.writers.close();
        }
        for subscriber in self.subscribers.all() {
            self.subscribers.remove(&subscriber);
            subscriber.detach();
            subscriber.delete_all();
            subscriber.readers.close();
        }
        for topic in self.topics.all() {
            self.topics.remove(&topic);
            topic.detach();
        }
    }

    /// Deletes everything, and makes nothing any more.
    pub(super) fn delete(&self) {
        self.delete_contained();
        if let Some(builtin) = self.builtin() {
            builtin.detach();
            builtin.delete_all();
        }
        self.publishers.close();
        self.subscribers.close();
        self.topics.close();
        self.node.close();
    }
}

impl Topics for ParticipantEntity {
    fn not_matched(&self, other: &EndpointData, reasons: &[Mismatch]) -> Vec<Arc<Watch>> {
        let topics = self.topics.all();
        let named = topics.iter().filter(|topic| topic.name() == other.topic_name);
        named.filter_map(|topic| topic.not_matched(other, reasons).cloned()).collect()
    }

    fn participant_lost(&self, prefix: GuidPrefix) {
        self.topics.all().iter().for_each(|topic| topic.forget_participant(prefix));
    }
}

impl StatusSource for ParticipantEntity {
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

impl Drop for ParticipantEntity {
    fn drop(&mut self) {
        self.node.close();
    }
}
