//! Whether a writer and a reader go together: topic, type, partition and the requested/offered table (DDS 1.4, 2.2.3;
//! XTypes 1.3, 7.6.3.1 for representations).
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use wire::Duration;
use wire::discovery::EndpointData;
use wire::qos::{
    DataRepresentation, DestinationOrder, Durability, LivelinessKind, Ownership, Presentation,
    ReliabilityKind,
};

use super::partition;
use super::types::TypeVerdict;

/// Number of a policy, as statuses report it (DDS 1.4, 2.3.3, and XTypes 1.3, annex on the DDS built-in types for the last ones).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PolicyId(pub u32);

impl PolicyId {
    /// DURABILITY.
    pub const DURABILITY: Self = Self(2);
    /// PRESENTATION.
    pub const PRESENTATION: Self = Self(3);
    /// DEADLINE.
    pub const DEADLINE: Self = Self(4);
    /// LATENCY_BUDGET.
    pub const LATENCY_BUDGET: Self = Self(5);
    /// OWNERSHIP.
    pub const OWNERSHIP: Self = Self(6);
    /// LIVELINESS.
    pub const LIVELINESS: Self = Self(8);
    /// PARTITION. A difference here is no incompatible QoS: the endpoints just do not meet.
    pub const PARTITION: Self = Self(10);
    /// RELIABILITY.
    pub const RELIABILITY: Self = Self(11);
    /// DESTINATION_ORDER.
    pub const DESTINATION_ORDER: Self = Self(12);
    /// DATA_REPRESENTATION.
    pub const DATA_REPRESENTATION: Self = Self(23);
}

/// One reason why a writer and a reader do not match, with what both sides said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// Different topics.
    Topic {
        /// The writer's topic.
        writer: String,
        /// The reader's topic.
        reader: String,
    },
    /// Same topic, but different types.
    Type {
        /// The writer's type.
        writer: String,
        /// The reader's type.
        reader: String,
    },
    /// Same topic, and what is written cannot be read, as the announced type objects say.
    TypeObjects {
        /// The writer's type.
        writer: String,
        /// The reader's type.
        reader: String,
        /// What stands in the way.
        difference: String,
    },
    /// RELIABILITY: the reader asks for more than the writer offers.
    Reliability {
        /// What the writer offers.
        offered: ReliabilityKind,
        /// What the reader asks for.
        requested: ReliabilityKind,
    },
    /// DURABILITY: the reader asks for more than the writer offers.
    Durability {
        /// What the writer offers.
        offered: Durability,
        /// What the reader asks for.
        requested: Durability,
    },
    /// DEADLINE: the writer may take longer than the reader accepts.
    Deadline {
        /// The writer's period.
        offered: Duration,
        /// The reader's period.
        requested: Duration,
    },
    /// LATENCY_BUDGET: the writer may delay more than the reader accepts.
    LatencyBudget {
        /// The writer's budget.
        offered: Duration,
        /// The reader's budget.
        requested: Duration,
    },
    /// LIVELINESS: the reader asks for a stronger kind.
    LivelinessKind {
        /// What the writer offers.
        offered: LivelinessKind,
        /// What the reader asks for.
        requested: LivelinessKind,
    },
    /// LIVELINESS: the writer's lease is longer than the reader accepts.
    LivelinessLease {
        /// The writer's lease.
        offered: Duration,
        /// The reader's lease.
        requested: Duration,
    },
    /// OWNERSHIP: the kinds differ.
    Ownership {
        /// The writer's kind.
        offered: Ownership,
        /// The reader's kind.
        requested: Ownership,
    },
    /// DESTINATION_ORDER: the reader asks for more than the writer offers.
    DestinationOrder {
        /// What the writer offers.
        offered: DestinationOrder,
        /// What the reader asks for.
        requested: DestinationOrder,
    },
    /// PRESENTATION: the reader asks for a wider scope, or for coherent or ordered access that the writer does not offer.
    Presentation {
        /// What the writer offers.
        offered: Presentation,
        /// What the reader asks for.
        requested: Presentation,
    },
    /// DATA_REPRESENTATION: the reader does not read what the writer writes.
    DataRepresentation {
        /// The representation that the writer uses.
        offered: DataRepresentation,
        /// Those that the reader accepts, at most 16 of them.
        accepted: Vec<DataRepresentation>,
    },
    /// PARTITION: no name in common.
    Partition {
        /// The writer's names, at most 16 of them.
        writer: Vec<String>,
        /// The reader's names, at most 16 of them.
        reader: Vec<String>,
    },
}

/// Compares a writer with a reader, their types by name.
///
/// # Errors
/// Every reason against the match, except that endpoints of different topics are not compared further.
pub fn compare(writer: &EndpointData, reader: &EndpointData) -> Result<(), Vec<Mismatch>> {
    compare_typed(writer, reader, &TypeVerdict::ByName)
}

/// Compares a writer with a reader, of whose types that is known.
///
/// # Errors
/// Those of [`compare`].
pub fn compare_typed(
    writer: &EndpointData,
    reader: &EndpointData,
    types: &TypeVerdict,
) -> Result<(), Vec<Mismatch>> {
    if writer.topic_name != reader.topic_name {
        return Err([Mismatch::Topic {
            writer: writer.topic_name.clone(),
            reader: reader.topic_name.clone(),
        }]
        .into());
    }
    let mut reasons = Vec::new();
    let names = || (writer.type_name.clone(), reader.type_name.clone());
    match types {
        TypeVerdict::ByName if writer.type_name != reader.type_name => {
            let (writer, reader) = names();
            reasons.push(Mismatch::Type { writer, reader });
        }
        TypeVerdict::Different(difference) => {
            let (writer, reader) = names();
            reasons.push(Mismatch::TypeObjects { writer, reader, difference: difference.clone() });
        }
        TypeVerdict::ByName | TypeVerdict::Assignable | TypeVerdict::Pending => {}
    }
    let (offer, request) = (&writer.qos, &reader.qos);
    let (offered, requested) = (offer.reliability.kind, request.reliability.kind);
    if offered < requested {
        reasons.push(Mismatch::Reliability { offered, requested });
    }
    let (offered, requested) = (offer.durability, request.durability);
    if offered < requested {
        reasons.push(Mismatch::Durability { offered, requested });
    }
    let (offered, requested) = (offer.deadline, request.deadline);
    if offered > requested {
        reasons.push(Mismatch::Deadline { offered, requested });
    }
    let (offered, requested) = (offer.latency_budget, request.latency_budget);
    if offered > requested {
        reasons.push(Mismatch::LatencyBudget { offered, requested });
    }
    let (offered, requested) = (offer.liveliness.kind, request.liveliness.kind);
    if offered < requested {
        reasons.push(Mismatch::LivelinessKind { offered, requested });
    }
    let (offered, requested) = (offer.liveliness.lease_duration, request.liveliness.lease_duration);
    if offered > requested {
        reasons.push(Mismatch::LivelinessLease { offered, requested });
    }
    let (offered, requested) = (offer.ownership, request.ownership);
    if offered != requested {
        reasons.push(Mismatch::Ownership { offered, requested });
    }
    let (offered, requested) = (offer.destination_order, request.destination_order);
    if offered < requested {
        reasons.push(Mismatch::DestinationOrder { offered, requested });
    }
    let (offered, requested) = (offer.presentation, request.presentation);
    if offered.access_scope < requested.access_scope
        || requested.coherent_access && !offered.coherent_access
        || requested.ordered_access && !offered.ordered_access
    {
        reasons.push(Mismatch::Presentation { offered, requested });
    }
    let offered =
        representations(&offer.representation).first().copied().unwrap_or(DataRepresentation::XCDR1);
    let accepted = representations(&request.representation);
    if !accepted.contains(&offered) {
        let accepted = accepted.iter().take(SHOWN).copied().collect();
        reasons.push(Mismatch::DataRepresentation { offered, accepted });
    }
    if !partition::intersect(&offer.partition, &request.partition) {
        let shown = |names: &[String]| names.iter().take(SHOWN).cloned().collect();
        let (writer, reader) = (shown(&offer.partition), shown(&request.partition));
        reasons.push(Mismatch::Partition { writer, reader });
    }
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}

/// How many entries of a list a reason shows.
const SHOWN: usize = 16;

/// No list means XCDR1 alone.
fn representations(list: &[DataRepresentation]) -> &[DataRepresentation] {
    if list.is_empty() { &[DataRepresentation::XCDR1] } else { list }
}

impl Mismatch {
    /// The policy, for those reasons that are a QoS policy.
    pub const fn policy_id(&self) -> Option<PolicyId> {
        Some(match self {
            Self::Topic { .. } | Self::Type { .. } | Self::TypeObjects { .. } => return None,
            Self::Reliability { .. } => PolicyId::RELIABILITY,
            Self::Durability { .. } => PolicyId::DURABILITY,
            Self::Deadline { .. } => PolicyId::DEADLINE,
            Self::LatencyBudget { .. } => PolicyId::LATENCY_BUDGET,
            Self::LivelinessKind { .. } | Self::LivelinessLease { .. } => PolicyId::LIVELINESS,
            Self::Ownership { .. } => PolicyId::OWNERSHIP,
            Self::DestinationOrder { .. } => PolicyId::DESTINATION_ORDER,
            Self::Presentation { .. } => PolicyId::PRESENTATION,
            Self::DataRepresentation { .. } => PolicyId::DATA_REPRESENTATION,
            Self::Partition { .. } => PolicyId::PARTITION,
        })
    }

    /// True if it counts as incompatible QoS (OFFERED_INCOMPATIBLE_QOS, REQUESTED_INCOMPATIBLE_QOS);
    /// another topic, type or partition does not.
    pub const fn is_incompatible_qos(&self) -> bool {
        !self.is_inconsistent_topic() && !matches!(self, Self::Topic { .. } | Self::Partition { .. })
    }

    /// True if both mean something else by the name of the topic (INCONSISTENT_TOPIC).
    pub const fn is_inconsistent_topic(&self) -> bool {
        matches!(self, Self::Type { .. } | Self::TypeObjects { .. })
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let two =
            |f: &mut fmt::Formatter<'_>, name: &str, offered: &dyn fmt::Debug, requested: &dyn fmt::Debug| {
                write!(f, "{name}: offered {offered:?}, requested {requested:?}")
            };
        let span = |f: &mut fmt::Formatter<'_>, name: &str, offered: Duration, requested: Duration| {
            write!(f, "{name}: offered {offered}, requested {requested}")
        };
        match self {
            Self::Topic { writer, reader } => write!(f, "topic: writer {writer:?}, reader {reader:?}"),
            Self::Type { writer, reader } => write!(f, "type: writer {writer:?}, reader {reader:?}"),
            Self::TypeObjects { writer, reader, difference } => {
                write!(f, "type: {difference} (writer {writer:?}, reader {reader:?})")
            }
            Self::Reliability { offered, requested } => two(f, "RELIABILITY", offered, requested),
            Self::Durability { offered, requested } => two(f, "DURABILITY", offered, requested),
            Self::Deadline { offered, requested } => span(f, "DEADLINE", *offered, *requested),
            Self::LatencyBudget { offered, requested } => span(f, "LATENCY_BUDGET", *offered, *requested),
            Self::LivelinessKind { offered, requested } => two(f, "LIVELINESS kind", offered, requested),
            Self::LivelinessLease { offered, requested } => span(f, "LIVELINESS lease", *offered, *requested),
            Self::Ownership { offered, requested } => two(f, "OWNERSHIP", offered, requested),
            Self::DestinationOrder { offered, requested } => two(f, "DESTINATION_ORDER", offered, requested),
            Self::Presentation { offered, requested } => two(f, "PRESENTATION", offered, requested),
            Self::DataRepresentation { offered, accepted } => {
                write!(f, "DATA_REPRESENTATION: written as {offered:?}, read as {accepted:?}")
            }
            Self::Partition { writer, reader } => {
                write!(f, "PARTITION: writer {writer:?}, reader {reader:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
