//! What the manager's own discovery says of programs that do not ask, and what a flow file says of their topics.
use std::collections::BTreeMap;

use control::foreign::{Described, Endpoint, Importance, Limit, Overhead, Separation, Topic};
use dds::DomainParticipant;
use dds::qos::ReliabilityKind;
use network::{FileLatency, FlowFile};
use wire::admission::Address;
use wire::discovery::EndpointData;
use wire::{Duration, GuidPrefix, Locator};

/// What a flow file describes.
pub fn described(file: &FlowFile) -> Described {
    let topic = |topic: &network::FileTopic| Topic {
        name: topic.name.clone(),
        from: topic.from.clone(),
        to: topic.to.clone(),
        largest: topic.size,
        fragment: topic.fragment,
        separation: topic.separation.map_or(Separation::Deadline, Separation::Fixed),
        burst: topic.burst,
        jitter: topic.jitter,
        emission: topic.emission,
        repairs: topic.repairs,
        latency: match topic.latency {
            FileLatency::None => None,
            FileLatency::Fixed(latency) => Some(Limit::Fixed(latency)),
            FileLatency::Budget => Some(Limit::Budget),
        },
        importance: topic.importance.map_or(Importance::Priority, Importance::Fixed),
    };
    let usual = Overhead::default();
    Described {
        topics: file.topics.iter().map(topic).collect(),
        overhead: Overhead {
            heartbeat: file.overhead.heartbeat.unwrap_or(usual.heartbeat),
            burst: file.overhead.burst.unwrap_or(usual.burst),
            separation: file.overhead.separation.unwrap_or(usual.separation),
        },
    }
}

/// Where a participant receives.
struct Receives {
    addresses: Vec<Address>,
    groups: Vec<Address>,
}

/// All writers and readers that are known, the manager's own among them. Requests and verdicts are left out: they go the way of discovery.
pub(crate) fn endpoints(participant: &DomainParticipant) -> Vec<Endpoint> {
    let found = participant.get_discovered_participants();
    let of = |unicast: &[Locator], multicast: &[Locator]| Receives {
        addresses: addresses(unicast),
        groups: addresses(multicast),
    };
    let mut participants: BTreeMap<GuidPrefix, Receives> = found
        .iter()
        .map(|found| (found.data.prefix, of(&found.data.default_unicast, &found.data.default_multicast)))
        .collect();
    participants.insert(participant.prefix(), of(&participant.get_unicast_locators(), &[]));
    let known = participant.get_discovered_endpoints();
    let known = known.iter().filter(|endpoint| !wire::admission::is_control(&endpoint.topic_name));
    let mut endpoints: Vec<Endpoint> =
        known.filter_map(|endpoint| Some(one(endpoint, participants.get(&endpoint.guid.prefix)?))).collect();
    // In an order that does not change by itself.
    endpoints.sort_unstable_by_key(|endpoint| endpoint.guid);
    endpoints
}

fn one(data: &EndpointData, participant: &Receives) -> Endpoint {
    let is_writer = data.guid.entity_id.is_writer();
    let own = addresses(&data.unicast);
    let own = if is_writer { Vec::new() } else { own };
    let mut groups = addresses(&data.multicast);
    groups.extend(&participant.groups);
    let qos = &data.qos;
    Endpoint {
        guid: data.guid,
        is_writer,
        topic: data.topic_name.clone(),
        kind: data.type_name.clone(),
        is_reliable: qos.reliability.kind == ReliabilityKind::Reliable,
        is_assured: data.offered_assurance.is_some() || data.requested_assurance.is_some(),
        addresses: if own.is_empty() { participant.addresses.clone() } else { own },
        groups,
        deadline: nanoseconds(qos.deadline),
        latency_budget: nanoseconds(qos.latency_budget),
        transport_priority: qos.transport_priority,
    }
}

/// 0 if it says nothing.
fn nanoseconds(time: Duration) -> u64 {
    if time.is_infinite() { 0 } else { u64::try_from(time.as_nanos()).unwrap_or(0) }
}

/// The addresses of locators of UDP, each once, without loopback. An address of IPv4 that is mapped into IPv6 counts as the one of IPv4, since IPv4 carries what is
/// sent there.
fn addresses(locators: &[Locator]) -> Vec<Address> {
    let address = |locator: &Locator| Some(Address::from(locator.socket_addr()?.ip()));
    let is_of_network = |address: &Address| !address.ip().is_loopback() && !address.is_unspecified();
    let mut addresses: Vec<Address> = locators.iter().filter_map(address).filter(is_of_network).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locators_of_both_versions_count_once_each_and_those_of_the_host_itself_do_not() {
        let locators = [
            "[fd00::1]:7411",
            "10.0.0.1:7411",
            "[::ffff:10.0.0.1]:7413",
            "[fd00::1]:7413",
            "[fe80::1]:7411",
            "[::1]:7411",
            "127.0.0.1:7411",
            "[::ffff:127.0.0.1]:7411",
        ]
        .map(|text| Locator::udp(text.parse().unwrap()));
        let other = Locator { kind: 0x10, ..locators[0] };
        let all: Vec<Locator> = locators.into_iter().chain([other]).collect();
        let found: Vec<String> = addresses(&all).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.1", "fd00::1", "fe80::1"]);
    }
}
