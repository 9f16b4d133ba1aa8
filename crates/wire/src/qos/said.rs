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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SaidQos {
    /// DURABILITY.
    durability: Option<Durability>,
    /// DURABILITY_SERVICE.
    durability_service: Option<DurabilityService>,
    /// DEADLINE: longest time between two samples of an instance.
    deadline: Option<Duration>,
    /// LATENCY_BUDGET: how long samples may wait for company.
    latency_budget: Option<Duration>,
    /// LIVELINESS.
    liveliness: Option<Liveliness>,
    /// RELIABILITY.
    reliability: Option<Reliability>,
    /// LIFESPAN, of writers: how long samples are worth something.
    lifespan: Option<Duration>,
    /// USER_DATA, as bytes.
    user_data: Option<Vec<u8>>,
    /// TOPIC_DATA, as bytes.
    topic_data: Option<Vec<u8>>,
    /// GROUP_DATA, as bytes.
    group_data: Option<Vec<u8>>,
    /// OWNERSHIP.
    ownership: Option<Ownership>,
    /// OWNERSHIP_STRENGTH, of writers.
    ownership_strength: Option<i32>,
    /// DESTINATION_ORDER.
    destination_order: Option<DestinationOrder>,
    /// PRESENTATION.
    presentation: Option<Presentation>,
    /// PARTITION: names, for readers and writers of a group.
    partition: Option<Vec<String>>,
    /// TIME_BASED_FILTER, of readers: least time between two samples of an instance.
    time_based_filter: Option<Duration>,
    /// TRANSPORT_PRIORITY.
    transport_priority: Option<i32>,
    /// HISTORY.
    history: Option<History>,
    /// RESOURCE_LIMITS.
    resource_limits: Option<ResourceLimits>,
    /// DATA_REPRESENTATION: the first one is written, all of them are read.
    representation: Option<Vec<DataRepresentation>>,
    /// TYPE_CONSISTENCY_ENFORCEMENT, of readers.
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

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Duration {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A time, as \"100 ms\", \"1.5 s\", \"2 min\" or \"infinite\".",
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for DataRepresentation {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "DataRepresentation".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": ["xcdr1", "xcdr2", "xml"] })
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
