//! QoS policies as they are announced and compared (DDS 1.4, 2.2.3; RTPS 2.5, 9.6.3 for their bytes).
//!
//! Defaults are the standard's. Durations of zero in DEADLINE, LIFESPAN and lease durations mean what the standard says;
//! an absent parameter means the default of its kind of endpoint.
#[cfg(feature = "serde")]
mod said;

use alloc::string::String;
use alloc::vec::Vec;

#[cfg(feature = "serde")]
pub use said::SaidQos;

use crate::time::Duration;

/// DURABILITY kind, weakest first (DDS 1.4, 2.2.3.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Durability {
    /// Samples are for readers that are matched when they are written.
    #[default]
    Volatile,
    /// Late joiners get the history, while the writer lives.
    TransientLocal,
    /// History outlives the writer.
    Transient,
    /// History outlives the machine.
    Persistent,
}

/// DURABILITY_SERVICE (DDS 1.4, 2.2.3.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct DurabilityService {
    /// How long a disposed and unregistered instance is kept.
    pub cleanup_delay: Duration,
    /// History of the service.
    pub history: History,
    /// Limits of the service.
    pub limits: ResourceLimits,
}

impl Default for DurabilityService {
    fn default() -> Self {
        Self {
            cleanup_delay: Duration::ZERO,
            history: History::KeepLast(1),
            limits: ResourceLimits::default(),
        }
    }
}

/// RELIABILITY kind, weakest first (DDS 1.4, 2.2.3.14).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum ReliabilityKind {
    /// What is lost stays lost.
    #[default]
    BestEffort,
    /// What is lost is repeated.
    Reliable,
}

/// RELIABILITY: kind and how long a full writer may block (DDS 1.4, 2.2.3.14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields))]
pub struct Reliability {
    /// Kind.
    pub kind: ReliabilityKind,
    /// Longest blocking time of a write; default 100 ms.
    #[cfg_attr(feature = "serde", serde(default = "blocking_time"))]
    pub max_blocking_time: Duration,
}

impl Reliability {
    /// Best effort, the default of readers.
    pub const BEST_EFFORT: Self =
        Self { kind: ReliabilityKind::BestEffort, max_blocking_time: Duration::from_millis(100) };
    /// Reliable, the default of writers.
    pub const RELIABLE: Self =
        Self { kind: ReliabilityKind::Reliable, max_blocking_time: Duration::from_millis(100) };
}

/// What a file means that does not say it.
#[cfg(feature = "serde")]
const fn blocking_time() -> Duration {
    Reliability::RELIABLE.max_blocking_time
}

/// HISTORY (DDS 1.4, 2.2.3.18).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum History {
    /// The last samples of each instance; the depth is 1 or more.
    KeepLast(u32),
    /// All samples, within the resource limits.
    KeepAll,
}

impl Default for History {
    fn default() -> Self {
        Self::KeepLast(1)
    }
}

/// RESOURCE_LIMITS; `None` is unlimited (DDS 1.4, 2.2.3.19).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct ResourceLimits {
    /// Most samples of all instances.
    pub max_samples: Option<u32>,
    /// Most instances.
    pub max_instances: Option<u32>,
    /// Most samples of one instance.
    pub max_samples_per_instance: Option<u32>,
}

/// LIVELINESS kind, weakest first (DDS 1.4, 2.2.3.11).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum LivelinessKind {
    /// The service asserts while the process lives.
    #[default]
    Automatic,
    /// Any assertion of the participant counts for all its writers.
    ManualByParticipant,
    /// Each writer asserts for itself.
    ManualByTopic,
}

/// LIVELINESS (DDS 1.4, 2.2.3.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct Liveliness {
    /// Kind.
    pub kind: LivelinessKind,
    /// Longest time between two signs of life; infinite by default.
    pub lease_duration: Duration,
}

impl Default for Liveliness {
    fn default() -> Self {
        Self { kind: LivelinessKind::Automatic, lease_duration: Duration::INFINITE }
    }
}

/// OWNERSHIP kind (DDS 1.4, 2.2.3.9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Ownership {
    /// Every writer may update an instance.
    #[default]
    Shared,
    /// The strongest live writer of an instance owns it.
    Exclusive,
}

/// DESTINATION_ORDER kind, weakest first (DDS 1.4, 2.2.3.17).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DestinationOrder {
    /// By arrival.
    #[default]
    ByReceptionTimestamp,
    /// By source timestamp.
    BySourceTimestamp,
}

/// PRESENTATION access scope, smallest first (DDS 1.4, 2.2.3.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum AccessScope {
    /// Each instance for itself.
    #[default]
    Instance,
    /// All instances of a writer.
    Topic,
    /// All writers of a publisher.
    Group,
}

/// PRESENTATION (DDS 1.4, 2.2.3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct Presentation {
    /// Access scope.
    pub access_scope: AccessScope,
    /// Changes are visible as whole sets.
    pub coherent_access: bool,
    /// Changes are visible in order.
    pub ordered_access: bool,
}

/// One data representation id (XTypes 1.3, 7.6.3.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DataRepresentation(pub i16);

impl DataRepresentation {
    /// XCDR version 1.
    pub const XCDR1: Self = Self(0);
    /// XML.
    pub const XML: Self = Self(1);
    /// XCDR version 2.
    pub const XCDR2: Self = Self(2);
}

/// TYPE_CONSISTENCY_ENFORCEMENT of a reader (XTypes 1.3, 7.6.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields, default))]
pub struct TypeConsistency {
    /// False: the types must be the same (DISALLOW_TYPE_COERCION).
    pub allow_type_coercion: bool,
    /// Bounds of sequences are not compared.
    pub ignore_sequence_bounds: bool,
    /// Bounds of strings are not compared.
    pub ignore_string_bounds: bool,
    /// Names of members are not compared.
    pub ignore_member_names: bool,
    /// A wider type does not match a narrower one.
    pub prevent_type_widening: bool,
    /// Without type information nothing matches.
    pub force_type_validation: bool,
}

impl Default for TypeConsistency {
    fn default() -> Self {
        Self {
            allow_type_coercion: true,
            ignore_sequence_bounds: true,
            ignore_string_bounds: true,
            ignore_member_names: false,
            prevent_type_widening: false,
            force_type_validation: false,
        }
    }
}

/// Every policy of an endpoint that its announcement carries. Fields that only one kind of endpoint has
/// (`lifespan`, `ownership_strength` of a writer; `time_based_filter`, `type_consistency` of a reader) keep their default on the other.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub struct EndpointQos {
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
    /// RELIABILITY.
    pub reliability: Reliability,
    /// LIFESPAN; infinite by default.
    pub lifespan: Duration,
    /// USER_DATA.
    pub user_data: Vec<u8>,
    /// TOPIC_DATA.
    pub topic_data: Vec<u8>,
    /// GROUP_DATA.
    pub group_data: Vec<u8>,
    /// OWNERSHIP.
    pub ownership: Ownership,
    /// OWNERSHIP_STRENGTH; 0 by default.
    pub ownership_strength: i32,
    /// DESTINATION_ORDER.
    pub destination_order: DestinationOrder,
    /// PRESENTATION.
    pub presentation: Presentation,
    /// PARTITION names, wildcards allowed; none is the partition with the empty name.
    pub partition: Vec<String>,
    /// TIME_BASED_FILTER minimum separation; zero by default.
    pub time_based_filter: Duration,
    /// TRANSPORT_PRIORITY; 0 by default.
    pub transport_priority: i32,
    /// HISTORY.
    pub history: History,
    /// RESOURCE_LIMITS.
    pub resource_limits: ResourceLimits,
    /// DATA_REPRESENTATION; empty means XCDR1 alone.
    pub representation: Vec<DataRepresentation>,
    /// TYPE_CONSISTENCY_ENFORCEMENT.
    pub type_consistency: TypeConsistency,
}

impl EndpointQos {
    /// The standard's defaults of a writer.
    pub const fn writer() -> Self {
        Self::with_reliability(Reliability::RELIABLE)
    }

    /// The standard's defaults of a reader.
    pub const fn reader() -> Self {
        Self::with_reliability(Reliability::BEST_EFFORT)
    }

    const fn with_reliability(reliability: Reliability) -> Self {
        Self {
            durability: Durability::Volatile,
            durability_service: DurabilityService {
                cleanup_delay: Duration::ZERO,
                history: History::KeepLast(1),
                limits: ResourceLimits {
                    max_samples: None,
                    max_instances: None,
                    max_samples_per_instance: None,
                },
            },
            deadline: Duration::INFINITE,
            latency_budget: Duration::ZERO,
            liveliness: Liveliness { kind: LivelinessKind::Automatic, lease_duration: Duration::INFINITE },
            reliability,
            lifespan: Duration::INFINITE,
            user_data: Vec::new(),
            topic_data: Vec::new(),
            group_data: Vec::new(),
            ownership: Ownership::Shared,
            ownership_strength: 0,
            destination_order: DestinationOrder::ByReceptionTimestamp,
            presentation: Presentation {
                access_scope: AccessScope::Instance,
                coherent_access: false,
                ordered_access: false,
            },
            partition: Vec::new(),
            time_based_filter: Duration::ZERO,
            transport_priority: 0,
            history: History::KeepLast(1),
            resource_limits: ResourceLimits {
                max_samples: None,
                max_instances: None,
                max_samples_per_instance: None,
            },
            representation: Vec::new(),
            type_consistency: TypeConsistency {
                allow_type_coercion: true,
                ignore_sequence_bounds: true,
                ignore_string_bounds: true,
                ignore_member_names: false,
                prevent_type_widening: false,
                force_type_validation: false,
            },
        }
    }
}
