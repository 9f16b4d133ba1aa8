//! QoS of a topic: what its writers and readers may take over.
use alloc::vec::Vec;

use wire::Duration;
use wire::qos::{
    DataRepresentation, DestinationOrder, Durability, DurabilityService, EndpointQos, History, Liveliness,
    Ownership, Reliability, ResourceLimits,
};

use super::check::immutable;
use super::{DataReaderQos, DataWriterQos};
use crate::error::Error;

/// QoS of a Topic. But for TOPIC_DATA it binds no entity: it is there to be copied into the QoS of writers and readers, by
/// `copy_from_topic_qos`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct TopicQos {
    /// TOPIC_DATA, announced with each writer and reader of the topic; at most 32,768 bytes. Default none.
    pub topic_data: Vec<u8>,
    /// DURABILITY.
    pub durability: Durability,
    /// DURABILITY_SERVICE.
    pub durability_service: DurabilityService,
    /// DEADLINE period; infinite by default.
    pub deadline: Duration,
    /// LATENCY_BUDGET; zero by default.
    pub latency_budget: Duration,
    /// LIVELINESS.
    pub liveliness: Liveliness,
    /// RELIABILITY; best effort by default, as the standard has it, so that a writer that takes over an unchanged topic's QoS is
    /// best effort too.
    pub reliability: Reliability,
    /// DESTINATION_ORDER.
    pub destination_order: DestinationOrder,
    /// HISTORY.
    pub history: History,
    /// RESOURCE_LIMITS.
    pub resource_limits: ResourceLimits,
    /// TRANSPORT_PRIORITY; 0 by default.
    pub transport_priority: i32,
    /// LIFESPAN; infinite by default.
    pub lifespan: Duration,
    /// OWNERSHIP.
    pub ownership: Ownership,
    /// DATA_REPRESENTATION; empty means XCDR1 alone.
    pub representation: Vec<DataRepresentation>,
}

impl Default for TopicQos {
    fn default() -> Self {
        let standard = EndpointQos::reader();
        Self {
            topic_data: standard.topic_data,
            durability: standard.durability,
            durability_service: standard.durability_service,
            deadline: standard.deadline,
            latency_budget: standard.latency_budget,
            liveliness: standard.liveliness,
            reliability: standard.reliability,
            destination_order: standard.destination_order,
            history: standard.history,
            resource_limits: standard.resource_limits,
            transport_priority: standard.transport_priority,
            lifespan: standard.lifespan,
            ownership: standard.ownership,
            representation: standard.representation,
        }
    }
}

impl TopicQos {
    /// Checks every value, and the values against each other.
    ///
    /// # Errors
    /// `BadParameter`, `InconsistentPolicy` or `Unsupported`, with the policy and its values.
    pub fn check(&self) -> Result<(), Error> {
        self.as_writer().check()
    }

    /// Checks whether an enabled topic may change from this QoS to `new`, which is checked too.
    ///
    /// # Errors
    /// `ImmutablePolicy`, or what `check` says of `new`.
    pub fn check_change(&self, new: &Self) -> Result<(), Error> {
        immutable(&self.as_writer().endpoint, &new.as_writer().endpoint)?;
        new.check()
    }

    /// Puts TOPIC_DATA into the QoS of a writer or reader of the topic. After a change it has to be done for all of them, and the
    /// result given to the writer or reader and to discovery.
    pub fn apply(&self, endpoint: &mut EndpointQos) {
        endpoint.topic_data.clone_from(&self.topic_data);
    }

    /// A writer has every policy of a topic.
    fn as_writer(&self) -> DataWriterQos {
        let mut qos = DataWriterQos::default();
        qos.copy_from_topic_qos(self);
        self.apply(&mut qos.endpoint);
        qos
    }

    /// Copies what writers and readers have in common. A topic that names no representation leaves theirs.
    fn copy_to(&self, endpoint: &mut EndpointQos) {
        endpoint.durability = self.durability;
        endpoint.deadline = self.deadline;
        endpoint.latency_budget = self.latency_budget;
        endpoint.liveliness = self.liveliness;
        endpoint.reliability = self.reliability;
        endpoint.destination_order = self.destination_order;
        endpoint.history = self.history;
        endpoint.resource_limits = self.resource_limits;
        endpoint.ownership = self.ownership;
        if !self.representation.is_empty() {
            endpoint.representation.clone_from(&self.representation);
        }
    }
}

impl DataWriterQos {
    /// Takes over every policy that topics and writers have in common (DDS 1.4, 2.2.2.4.1).
    pub fn copy_from_topic_qos(&mut self, topic: &TopicQos) {
        topic.copy_to(&mut self.endpoint);
        self.endpoint.durability_service = topic.durability_service;
        self.endpoint.transport_priority = topic.transport_priority;
        self.endpoint.lifespan = topic.lifespan;
    }
}

impl DataReaderQos {
    /// Takes over every policy that topics and readers have in common (DDS 1.4, 2.2.2.5.2).
    pub fn copy_from_topic_qos(&mut self, topic: &TopicQos) {
        topic.copy_to(&mut self.endpoint);
    }
}
