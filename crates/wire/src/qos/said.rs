//! QoS as files say it: some policies, and the others are the default of a writer or of a reader, which differ. Durations are texts there
//! (`"100 ms"`, `"infinite"`), and data representations have names.
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    DataRepresentation, DestinationOrder, Durability, DurabilityService, EndpointQos, History, Liveliness,
    Ownership, Presentation, Reliability, ResourceLimits, TypeConsistency,
};
use crate::time::Duration;

/// The policies of an [`EndpointQos`] that were said.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SaidQos {
    durability: Option<Durability>,
    durability_service: Option<DurabilityService>,
    deadline: Option<Duration>,
    latency_budget: Option<Duration>,
    liveliness: Option<Liveliness>,
    reliability: Option<Reliability>,
    lifespan: Option<Duration>,
    user_data: Option<Vec<u8>>,
    topic_data: Option<Vec<u8>>,
    group_data: Option<Vec<u8>>,
    ownership: Option<Ownership>,
    ownership_strength: Option<i32>,
    destination_order: Option<DestinationOrder>,
    presentation: Option<Presentation>,
    partition: Option<Vec<String>>,
    time_based_filter: Option<Duration>,
    transport_priority: Option<i32>,
    history: Option<History>,
    resource_limits: Option<ResourceLimits>,
    representation: Option<Vec<DataRepresentation>>,
    type_consistency: Option<TypeConsistency>,
}

impl SaidQos {
    /// These policies, and the others as they are in `base`.
    pub fn over(self, base: EndpointQos) -> EndpointQos {
        EndpointQos {
            durability: self.durability.unwrap_or(base.durability),
            durability_service: self.durability_service.unwrap_or(base.durability_service),
            deadline: self.deadline.unwrap_or(base.deadline),
            latency_budget: self.latency_budget.unwrap_or(base.latency_budget),
            liveliness: self.liveliness.unwrap_or(base.liveliness),
            reliability: self.reliability.unwrap_or(base.reliability),
            lifespan: self.lifespan.unwrap_or(base.lifespan),
            user_data: self.user_data.unwrap_or(base.user_data),
            topic_data: self.topic_data.unwrap_or(base.topic_data),
            group_data: self.group_data.unwrap_or(base.group_data),
            ownership: self.ownership.unwrap_or(base.ownership),
            ownership_strength: self.ownership_strength.unwrap_or(base.ownership_strength),
            destination_order: self.destination_order.unwrap_or(base.destination_order),
            presentation: self.presentation.unwrap_or(base.presentation),
            partition: self.partition.unwrap_or(base.partition),
            time_based_filter: self.time_based_filter.unwrap_or(base.time_based_filter),
            transport_priority: self.transport_priority.unwrap_or(base.transport_priority),
            history: self.history.unwrap_or(base.history),
            resource_limits: self.resource_limits.unwrap_or(base.resource_limits),
            representation: self.representation.unwrap_or(base.representation),
            type_consistency: self.type_consistency.unwrap_or(base.type_consistency),
        }
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

const NAMES: [(DataRepresentation, &str); 3] = [
    (DataRepresentation::XCDR1, "xcdr1"),
    (DataRepresentation::XML, "xml"),
    (DataRepresentation::XCDR2, "xcdr2"),
];

impl Serialize for DataRepresentation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match NAMES.iter().find(|(known, _)| known == self) {
            Some((_, name)) => serializer.serialize_str(name),
            None => Err(serde::ser::Error::custom("a data representation that has no name")),
        }
    }
}

impl<'de> Deserialize<'de> for DataRepresentation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = NAMES.iter().find(|(_, known)| *known == name);
        let wrong = || D::Error::custom("give xcdr1, xcdr2 or xml as data representation");
        found.map(|(representation, _)| *representation).ok_or_else(wrong)
    }
}
