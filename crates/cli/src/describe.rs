//! Participants, endpoints and QoS in words. What comes from the network is quoted and escaped: a terminal obeys control characters.
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use dds::GuidPrefix;
use dds::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, EndpointQos, History, LivelinessKind,
    Ownership, Presentation, ReliabilityKind, ResourceLimits,
};
use wire::discovery::{EndpointData, ParticipantData};
use wire::{Locator, VendorId};

/// A participant, as people call it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Person {
    /// Its GUID prefix.
    pub prefix: GuidPrefix,
    /// The name that it announces.
    pub name: Option<String>,
    /// Its vendor.
    pub vendor: VendorId,
    /// Where it listens first.
    pub address: Option<IpAddr>,
}

/// The participants of a domain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct People(BTreeMap<GuidPrefix, Person>);

impl Person {
    /// From what it announces.
    pub fn of(data: &ParticipantData) -> Self {
        let lists = data.metatraffic_unicast.iter().chain(&data.default_unicast);
        Self {
            prefix: data.prefix,
            name: data.entity_name.clone().filter(|name| !name.is_empty()),
            vendor: data.vendor,
            address: lists.filter_map(Locator::socket_addr).map(|address: SocketAddr| address.ip()).next(),
        }
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name:?}")?,
            None => write!(f, "{}", self.prefix)?,
        }
        write!(f, " ({}", vendor(self.vendor))?;
        if let Some(address) = self.address {
            write!(f, " at {address}")?;
        }
        f.write_str(")")
    }
}

impl People {
    /// From all of them.
    pub fn new(people: impl IntoIterator<Item = Person>) -> Self {
        Self(people.into_iter().map(|person| (person.prefix, person)).collect())
    }

    /// In the order of their prefixes.
    pub fn iter(&self) -> impl Iterator<Item = &Person> {
        self.0.values()
    }

    /// A participant, if it is there.
    pub fn get(&self, prefix: GuidPrefix) -> Option<&Person> {
        self.0.get(&prefix)
    }

    /// `writer of "talker" (Cyclone DDS at 192.0.2.7)`.
    pub fn endpoint(&self, data: &EndpointData) -> String {
        let role = if data.guid.entity_id.is_writer() { "writer" } else { "reader" };
        format!("{role} of {}", self.participant(data.participant))
    }

    /// `"talker" (Cyclone DDS at 192.0.2.7)`, or the prefix of one that is not known.
    pub fn participant(&self, prefix: GuidPrefix) -> String {
        self.0.get(&prefix).map_or_else(|| prefix.to_string(), Person::to_string)
    }
}

/// A number of things.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// The vendor of an implementation.
pub(crate) fn vendor(id: VendorId) -> String {
    let known = match id {
        VendorId::PUNCTUAL => "Punctual",
        VendorId::RTI => "RTI Connext",
        VendorId::OPENDDS => "OpenDDS",
        VendorId::EPROSIMA => "Fast DDS",
        VendorId::CYCLONE => "Cyclone DDS",
        VendorId::RUSTDDS => "RustDDS",
        VendorId::DUST => "Dust DDS",
        VendorId::UNKNOWN => "unknown vendor",
        VendorId([high, low]) => return format!("vendor {high:02x}.{low:02x}"),
    };
    known.to_owned()
}

pub(crate) const fn reliability(kind: ReliabilityKind) -> &'static str {
    match kind {
        ReliabilityKind::BestEffort => "BEST_EFFORT",
        ReliabilityKind::Reliable => "RELIABLE",
    }
}

pub(crate) const fn durability(kind: Durability) -> &'static str {
    match kind {
        Durability::Volatile => "VOLATILE",
        Durability::TransientLocal => "TRANSIENT_LOCAL",
        Durability::Transient => "TRANSIENT",
        Durability::Persistent => "PERSISTENT",
    }
}

pub(crate) const fn liveliness(kind: LivelinessKind) -> &'static str {
    match kind {
        LivelinessKind::Automatic => "AUTOMATIC",
        LivelinessKind::ManualByParticipant => "MANUAL_BY_PARTICIPANT",
        LivelinessKind::ManualByTopic => "MANUAL_BY_TOPIC",
    }
}

pub(crate) const fn ownership(kind: Ownership) -> &'static str {
    match kind {
        Ownership::Shared => "SHARED",
        Ownership::Exclusive => "EXCLUSIVE",
    }
}

pub(crate) const fn order(kind: DestinationOrder) -> &'static str {
    match kind {
        DestinationOrder::ByReceptionTimestamp => "BY_RECEPTION_TIMESTAMP",
        DestinationOrder::BySourceTimestamp => "BY_SOURCE_TIMESTAMP",
    }
}

pub(crate) fn presentation(presentation: Presentation) -> String {
    let scope = match presentation.access_scope {
        AccessScope::Instance => "INSTANCE",
        AccessScope::Topic => "TOPIC",
        AccessScope::Group => "GROUP",
    };
    let coherent = if presentation.coherent_access { " coherent" } else { "" };
    let ordered = if presentation.ordered_access { " ordered" } else { "" };
    format!("{scope}{coherent}{ordered}")
}

pub(crate) fn representation(id: DataRepresentation) -> String {
    match id {
        DataRepresentation::XCDR1 => "XCDR1".to_owned(),
        DataRepresentation::XCDR2 => "XCDR2".to_owned(),
        DataRepresentation::XML => "XML".to_owned(),
        DataRepresentation(other) => format!("representation {other}"),
    }
}

/// Names of partitions; none is that of the empty name.
pub(crate) fn partition(names: &[String]) -> String {
    if names.is_empty() {
        return "none (the same as \"\")".to_owned();
    }
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

fn history(history: History) -> String {
    match history {
        History::KeepLast(depth) => format!("KEEP_LAST {depth}"),
        History::KeepAll => "KEEP_ALL".to_owned(),
    }
}

fn limits(limits: ResourceLimits) -> String {
    let number = |limit: Option<u32>| limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    format!(
        "samples {}, instances {}, samples per instance {}",
        number(limits.max_samples),
        number(limits.max_instances),
        number(limits.max_samples_per_instance)
    )
}

/// The policies of an endpoint by their names: RELIABILITY and DURABILITY, and what is not the standard's default.
pub(crate) fn policies(qos: &EndpointQos) -> Vec<(&'static str, String)> {
    let default = EndpointQos::reader();
    let mut found = vec![
        ("RELIABILITY", reliability(qos.reliability.kind).to_owned()),
        ("DURABILITY", durability(qos.durability).to_owned()),
    ];
    let mut add = |differs: bool, name, value: &dyn Fn() -> String| {
        if differs {
            found.push((name, value()));
        }
    };
    add(qos.history != default.history, "HISTORY", &|| history(qos.history));
    add(qos.resource_limits != default.resource_limits, "RESOURCE_LIMITS", &|| limits(qos.resource_limits));
    add(qos.deadline != default.deadline, "DEADLINE", &|| qos.deadline.to_string());
    add(qos.latency_budget != default.latency_budget, "LATENCY_BUDGET", &|| qos.latency_budget.to_string());
    add(qos.liveliness != default.liveliness, "LIVELINESS", &|| {
        format!("{} {}", liveliness(qos.liveliness.kind), qos.liveliness.lease_duration)
    });
    add(qos.lifespan != default.lifespan, "LIFESPAN", &|| qos.lifespan.to_string());
    add(qos.ownership != default.ownership, "OWNERSHIP", &|| {
        format!("{} strength {}", ownership(qos.ownership), qos.ownership_strength)
    });
    add(qos.destination_order != default.destination_order, "DESTINATION_ORDER", &|| {
        order(qos.destination_order).to_owned()
    });
    add(qos.presentation != default.presentation, "PRESENTATION", &|| presentation(qos.presentation));
    add(!qos.partition.is_empty(), "PARTITION", &|| partition(&qos.partition));
    add(qos.time_based_filter != default.time_based_filter, "TIME_BASED_FILTER", &|| {
        qos.time_based_filter.to_string()
    });
    add(qos.transport_priority != 0, "TRANSPORT_PRIORITY", &|| qos.transport_priority.to_string());
    add(!qos.representation.is_empty(), "DATA_REPRESENTATION", &|| {
        qos.representation.iter().map(|id| representation(*id)).collect::<Vec<_>>().join(", ")
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_names_makers_and_addresses() {
        let mut data = ParticipantData::new(GuidPrefix([0xab; 12]));
        data.vendor = VendorId::CYCLONE;
        assert_eq!(Person::of(&data).to_string(), "abababababababababababab (Cyclone DDS)");
        data.entity_name = Some("tal\u{1b}ker".to_owned());
        data.default_unicast.push(Locator::udp("192.0.2.7:7411".parse().unwrap()));
        data.vendor = VendorId([1, 0x42]);
        assert_eq!(Person::of(&data).to_string(), "\"tal\\u{1b}ker\" (vendor 01.42 at 192.0.2.7)");
    }

    #[test]
    fn only_what_is_special_is_shown() {
        let mut qos = EndpointQos::writer();
        let shown = |qos: &EndpointQos| {
            policies(qos).iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(shown(&qos), "RELIABILITY RELIABLE; DURABILITY VOLATILE");
        qos.history = History::KeepAll;
        qos.deadline = dds::Duration::from_millis(20);
        qos.partition = vec!["a".to_owned(), "b*".to_owned()];
        qos.representation = vec![DataRepresentation::XCDR2];
        assert_eq!(
            shown(&qos),
            "RELIABILITY RELIABLE; DURABILITY VOLATILE; HISTORY KEEP_ALL; DEADLINE 20 ms; PARTITION \"a\", \"b*\"; DATA_REPRESENTATION XCDR2"
        );
    }
}
