//! What the manager's own discovery says of those who ask.
use std::net::IpAddr;

use control::action::Facts;
use dds::DomainParticipant;
use wire::admission::Request;
use wire::{Guid, GuidPrefix, Locator};

/// What is known of the pair of a request.
pub(crate) fn of(participant: &DomainParticipant, request: &Request) -> Facts {
    let (writer, reader) = request.pair();
    let endpoints = participant.get_discovered_endpoints();
    let announced = |guid: Guid| endpoints.iter().find(|endpoint| endpoint.guid == guid);
    let addresses = |prefix: GuidPrefix| {
        let participants = participant.get_discovered_participants();
        let found = participants.iter().find(|found| found.data.prefix == prefix);
        let locators = found.map(|found| found.data.default_unicast.as_slice()).unwrap_or_default();
        locators
            .iter()
            .filter_map(Locator::socket_addr)
            .filter_map(|address| match address.ip() {
                IpAddr::V4(v4) if !v4.is_loopback() => Some(v4.octets()),
                _ => None,
            })
            .collect()
    };
    Facts {
        contract: announced(writer)
            .and_then(|writer| writer.offered_assurance)
            .map(|offered| offered.contract),
        writer_addresses: addresses(writer.prefix),
        reader_addresses: addresses(reader.prefix),
        maximum_latency: announced(reader)
            .and_then(|reader| reader.requested_assurance)
            .map(|requested| requested.maximum_latency),
    }
}
