//! The listener of a participant.
use crate::publication::PublisherListener;
use crate::subscription::SubscriberListener;
use crate::topic::TopicListener;

/// Called when a status changes that no listener of the entity itself, or of its publisher or subscriber, is for.
pub trait DomainParticipantListener: TopicListener + PublisherListener + SubscriberListener {}
