//! What the manager's own discovery says of those who ask.
use std::net::IpAddr;
use std::sync::Arc;

use control::action::{Asker, Facts};
use dds::{DiscoveredParticipant, DomainParticipant};
use wire::admission::Request;
use wire::discovery::EndpointData;
use wire::{Guid, GuidPrefix, Locator};

/// All that is known at a moment, for as many requests as have come.
pub(crate) struct Discovered {
    participants: Vec<DiscoveredParticipant>,
    endpoints: Vec<Arc<EndpointData>>,
}

impl Discovered {
    pub(crate) fn by(participant: &DomainParticipant) -> Self {
        Self {
            participants: participant.get_discovered_participants(),
            endpoints: participant.get_discovered_endpoints(),
        }
    }

    /// What is known of the pair of a request.
    pub(crate) fn facts(&self, request: &Request) -> Facts {
        let (writer, reader) = request.pair();
        let announced = |guid: Guid| self.endpoints.iter().find(|endpoint| endpoint.guid == guid);
        Facts {
            contract: announced(writer)
                .and_then(|writer| writer.offered_assurance)
                .map(|offered| offered.contract),
            writer_addresses: self.addresses(writer.prefix),
            reader_addresses: self.addresses(reader.prefix),
            maximum_latency: announced(reader)
                .and_then(|reader| reader.requested_assurance)
                .map(|requested| requested.maximum_latency),
            aggregate: None,
            asker: Asker::Anyone,
        }
    }

    fn addresses(&self, prefix: GuidPrefix) -> Vec<[u8; 4]> {
        let found = self.participants.iter().find(|found| found.data.prefix == prefix);
        let locators = found.map(|found| found.data.default_unicast.as_slice()).unwrap_or_default();
        locators
            .iter()
            .filter_map(Locator::socket_addr)
            .filter_map(|address| match address.ip() {
                IpAddr::V4(v4) if !v4.is_loopback() => Some(v4.octets()),
                _ => None,
            })
            .collect()
    }
}
