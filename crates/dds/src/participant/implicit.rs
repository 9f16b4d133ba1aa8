//! What a participant makes by itself for the builders of writers and readers: topics, publishers and subscribers.
use std::any::TypeId;
use std::sync::Arc;

use dcps::Error;
use dcps::qos::GroupQos;
use dcps::status::StatusMask;
use wire::cdr::DdsType;

use super::DomainParticipant;
use crate::entity::QosKind;
use crate::lock::lock;
use crate::publication::{Publisher, PublisherEntity};
use crate::subscription::{Subscriber, SubscriberEntity};
use crate::topic::Topic;

/// The groups that builders have made.
#[derive(Default)]
pub(super) struct Implicit {
    publishers: Vec<Arc<PublisherEntity>>,
    subscribers: Vec<Arc<SubscriberEntity>>,
}

impl DomainParticipant {
    /// The topic of this name that was made for the Rust type, or a new one.
    pub(crate) fn topic_of<T: DdsType + 'static>(&self, name: &str, type_name: &str) -> Result<Topic, Error> {
        // Held until it is made: of two threads the second one finds what the first one has made.
        let _implicit = lock(&self.entity.implicit);
        let known = self.entity.topics.find(|topic| topic.carries(name, type_name, TypeId::of::<T>()));
        match known {
            Some(known) => Ok(Topic::new(known, self.clone())),
            None => self.create_topic::<T>(name, type_name, QosKind::Default, None, StatusMask::NONE),
        }
    }

    /// The publisher of builders with these partitions.
    pub(crate) fn implicit_publisher(&self, partition: Option<Vec<String>>) -> Result<Publisher, Error> {
        let qos = with(self.get_default_publisher_qos(), partition);
        let mut implicit = lock(&self.entity.implicit);
        implicit.publishers.retain(|known| self.entity.publishers.contains(known));
        if let Some(known) = implicit.publishers.iter().find(|known| known.qos() == qos) {
            return Ok(Publisher::new(Arc::clone(known), self.clone()));
        }
        let made = self.create_publisher(QosKind::Specific(qos), None, StatusMask::NONE)?;
        implicit.publishers.push(Arc::clone(made.entity()));
        Ok(made)
    }

    /// The subscriber of builders with these partitions.
    pub(crate) fn implicit_subscriber(&self, partition: Option<Vec<String>>) -> Result<Subscriber, Error> {
        let qos = with(self.get_default_subscriber_qos(), partition);
        let mut implicit = lock(&self.entity.implicit);
        implicit.subscribers.retain(|known| self.entity.subscribers.contains(known));
        if let Some(known) = implicit.subscribers.iter().find(|known| known.qos() == qos) {
            return Ok(Subscriber::new(Arc::clone(known), self.clone()));
        }
        let made = self.create_subscriber(QosKind::Specific(qos), None, StatusMask::NONE)?;
        implicit.subscribers.push(Arc::clone(made.entity()));
        Ok(made)
    }
}

fn with(mut qos: GroupQos, partition: Option<Vec<String>>) -> GroupQos {
    if let Some(partition) = partition {
        qos.partition = partition;
    }
    qos
}
