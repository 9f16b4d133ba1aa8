//! Enumerations in the spelling of the standard.
use alloc::vec::Vec;

use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, LivelinessKind, Ownership, ReliabilityKind,
};

/// An enumeration and what the standard calls its values.
pub(crate) trait Words: Copy + PartialEq + 'static {
    const ALL: &'static [(Self, &'static str)];
}

/// HISTORY kind without its depth, which is said by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HistoryKind {
    KeepLast,
    KeepAll,
}

/// TYPE_CONSISTENCY_ENFORCEMENT kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Coercion {
    Disallowed,
    Allowed,
}

impl Words for Durability {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Volatile, "VOLATILE_DURABILITY_QOS"),
        (Self::TransientLocal, "TRANSIENT_LOCAL_DURABILITY_QOS"),
        (Self::Transient, "TRANSIENT_DURABILITY_QOS"),
        (Self::Persistent, "PERSISTENT_DURABILITY_QOS"),
    ];
}

impl Words for AccessScope {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Instance, "INSTANCE_PRESENTATION_QOS"),
        (Self::Topic, "TOPIC_PRESENTATION_QOS"),
        (Self::Group, "GROUP_PRESENTATION_QOS"),
    ];
}

impl Words for Ownership {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Shared, "SHARED_OWNERSHIP_QOS"), (Self::Exclusive, "EXCLUSIVE_OWNERSHIP_QOS")];
}

impl Words for LivelinessKind {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Automatic, "AUTOMATIC_LIVELINESS_QOS"),
        (Self::ManualByParticipant, "MANUAL_BY_PARTICIPANT_LIVELINESS_QOS"),
        (Self::ManualByTopic, "MANUAL_BY_TOPIC_LIVELINESS_QOS"),
    ];
}

impl Words for ReliabilityKind {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::BestEffort, "BEST_EFFORT_RELIABILITY_QOS"), (Self::Reliable, "RELIABLE_RELIABILITY_QOS")];
}

impl Words for DestinationOrder {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::ByReceptionTimestamp, "BY_RECEPTION_TIMESTAMP_DESTINATIONORDER_QOS"),
        (Self::BySourceTimestamp, "BY_SOURCE_TIMESTAMP_DESTINATIONORDER_QOS"),
    ];
}

impl Words for HistoryKind {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::KeepLast, "KEEP_LAST_HISTORY_QOS"), (Self::KeepAll, "KEEP_ALL_HISTORY_QOS")];
}

impl Words for Coercion {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Disallowed, "DISALLOW_TYPE_COERCION"), (Self::Allowed, "ALLOW_TYPE_COERCION")];
}

impl Words for DataRepresentation {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::XCDR1, "XCDR_DATA_REPRESENTATION"),
        (Self::XML, "XML_DATA_REPRESENTATION"),
        (Self::XCDR2, "XCDR2_DATA_REPRESENTATION"),
    ];
}

/// All words of an enumeration.
pub(crate) fn words<W: Words>() -> Vec<&'static str> {
    W::ALL.iter().map(|(_, word)| *word).collect()
}

/// What a word means.
pub(crate) fn meaning<W: Words>(word: &str) -> Option<W> {
    W::ALL.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
}

/// The word for a value; the empty one if there is none.
pub(crate) fn word<W: Words>(value: W) -> &'static str {
    W::ALL.iter().find(|(known, _)| *known == value).map_or("", |(_, word)| word)
}
