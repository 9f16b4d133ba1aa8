//! Built-in topics (DDS 1.4, 2.2.5): what a participant knows of others, as samples of readers.
//!
//! The data are those of discovery; serialized, they are the parameter lists that it exchanges.
mod support;

use std::ops::Deref;

use dcps::qos::{DataReaderQos, TopicQos};
use dcps::{InstanceHandle, KeyError};
use wire::discovery::{EndpointData, EndpointRole, ParticipantData};
use wire::qos::{Durability, EndpointQos, History, Reliability};
use wire::{EntityId, Guid};

use crate::subscription::SampleType;

pub(crate) use support::Support;

/// A built-in topic: what a participant knows of others, as samples.
///
/// ```
/// # use dds::prelude::*;
/// # fn example(participant: &Participant) -> Result<(), dds::Error> {
/// use dds::{BuiltinTopic, PublicationBuiltinTopicData};
///
/// let builtin = participant.get_builtin_subscriber()?;
/// if let Some(reader) = builtin.lookup_datareader(BuiltinTopic::Publication.name()) {
///     for writer in reader.typed::<PublicationBuiltinTopicData>()?.samples() {
///         println!("a writer of {} of type {}", writer.topic_name, writer.type_name);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BuiltinTopic {
    /// Participants, as [`ParticipantBuiltinTopicData`].
    Participant,
    /// Topics, as [`TopicBuiltinTopicData`].
    Topic,
    /// Writers, as [`PublicationBuiltinTopicData`].
    Publication,
    /// Readers, as [`SubscriptionBuiltinTopicData`].
    Subscription,
}

impl BuiltinTopic {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Participant, Self::Topic, Self::Publication, Self::Subscription];

    /// Its name in the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Participant => "DCPSParticipant",
            Self::Topic => "DCPSTopic",
            Self::Publication => "DCPSPublication",
            Self::Subscription => "DCPSSubscription",
        }
    }

    pub(crate) const fn type_name(self) -> &'static str {
        match self {
            Self::Participant => "ParticipantBuiltinTopicData",
            Self::Topic => "TopicBuiltinTopicData",
            Self::Publication => "PublicationBuiltinTopicData",
            Self::Subscription => "SubscriptionBuiltinTopicData",
        }
    }

    pub(crate) const fn reader_id(self) -> EntityId {
        match self {
            Self::Participant => EntityId::SPDP_READER,
            Self::Topic => EntityId::SEDP_TOPICS_READER,
            Self::Publication => EntityId::SEDP_PUBLICATIONS_READER,
            Self::Subscription => EntityId::SEDP_SUBSCRIPTIONS_READER,
        }
    }

    /// The QoS that the standard gives the readers of built-in topics.
    pub(crate) fn reader_qos() -> DataReaderQos {
        let mut qos = DataReaderQos::default();
        qos.endpoint.durability = Durability::TransientLocal;
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.history = History::KeepLast(1);
        qos
    }
}

/// Data of "DCPSParticipant": another participant. The instance handle of a sample names the participant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParticipantBuiltinTopicData(pub ParticipantData);

/// Data of "DCPSPublication": a writer of another participant. The instance handle of a sample names the writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicationBuiltinTopicData(pub EndpointData);

/// Data of "DCPSSubscription": a reader of another participant. The instance handle of a sample names the reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubscriptionBuiltinTopicData(pub EndpointData);

/// Data of "DCPSTopic": a topic that others write or read. An instance is a name with the name of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicBuiltinTopicData {
    /// The topic's name.
    pub name: String,
    /// The name of its type.
    pub type_name: String,
    /// The QoS that one of its writers or readers has: the topic's own does not reach others.
    pub qos: TopicQos,
}

macro_rules! announcements {
    ($($name:ident, $of:ty, $decode:expr, $key:expr;)+) => {
        $(impl Deref for $name {
            type Target = $of;

            fn deref(&self) -> &$of {
                &self.0
            }
        }

        impl SampleType for $name {
            type Fault = KeyError;

            fn read_payload(payload: &[u8]) -> Result<Self, KeyError> {
                $decode(payload).map(Self).map_err(KeyError::Announcement)
            }

            fn read_payload_into(&mut self, payload: &[u8]) -> Result<(), KeyError> {
                *self = Self::read_payload(payload)?;
                Ok(())
            }

            fn read_key_payload(payload: &[u8]) -> Result<Self, KeyError> {
                $key(payload).map(Self).map_err(KeyError::Announcement)
            }

            fn write_payload(&self, out: &mut Vec<u8>) -> Result<(), KeyError> {
                self.0.encode(out);
                Ok(())
            }
        })+
    };
}

announcements! {
    ParticipantBuiltinTopicData, ParticipantData, ParticipantData::decode,
        |payload| ParticipantData::decode_key(payload).map(ParticipantData::new);
    PublicationBuiltinTopicData, EndpointData, |payload| EndpointData::decode(payload, EndpointRole::Writer),
        |payload| EndpointData::decode_key(payload).map(unnamed);
    SubscriptionBuiltinTopicData, EndpointData, |payload| EndpointData::decode(payload, EndpointRole::Reader),
        |payload| EndpointData::decode_key(payload).map(unnamed);
}

/// An endpoint of which nothing but the GUID is known.
fn unnamed(guid: Guid) -> EndpointData {
    let role = EndpointRole::of(guid.entity_id).unwrap_or(EndpointRole::Reader);
    EndpointData::new(guid, String::new(), String::new(), role.default_qos())
}

impl SampleType for TopicBuiltinTopicData {
    type Fault = KeyError;

    fn read_payload(payload: &[u8]) -> Result<Self, KeyError> {
        let endpoint = support::endpoint_of_topic(payload)?;
        let qos = topic_qos(endpoint.qos);
        Ok(Self { name: endpoint.topic_name, type_name: endpoint.type_name, qos })
    }

    fn read_payload_into(&mut self, payload: &[u8]) -> Result<(), KeyError> {
        *self = Self::read_payload(payload)?;
        Ok(())
    }

    fn read_key_payload(payload: &[u8]) -> Result<Self, KeyError> {
        Self::read_payload(payload)
    }

    fn write_payload(&self, out: &mut Vec<u8>) -> Result<(), KeyError> {
        support::nobodys_endpoint(&self.name, &self.type_name).encode(out);
        Ok(())
    }
}

/// The instance of "DCPSTopic" that an endpoint is an example of.
pub(crate) fn topic_handle(endpoint: &EndpointData) -> Option<InstanceHandle> {
    support::topic_hash(endpoint).map(InstanceHandle::from)
}

fn topic_qos(qos: EndpointQos) -> TopicQos {
    TopicQos {
        topic_data: qos.topic_data,
        durability: qos.durability,
        durability_service: qos.durability_service,
        deadline: qos.deadline,
        latency_budget: qos.latency_budget,
        liveliness: qos.liveliness,
        reliability: qos.reliability,
        destination_order: qos.destination_order,
        history: qos.history,
        resource_limits: qos.resource_limits,
        transport_priority: qos.transport_priority,
        lifespan: qos.lifespan,
        ownership: qos.ownership,
        representation: qos.representation,
    }
}
