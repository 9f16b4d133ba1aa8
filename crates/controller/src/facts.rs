//! What the manager's own discovery says of those who ask.
use std::sync::Arc;

use control::action::{Asker, Facts};
use dds::{DiscoveredParticipant, DomainParticipant};
use wire::admission::{Address, Request};
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
            repairs: announced(writer)
                .and_then(|writer| writer.offered_assurance)
                .and_then(|offered| offered.repairs),
            losses: announced(reader)
                .and_then(|reader| reader.requested_assurance)
                .and_then(|requested| requested.losses),
            aggregate: None,
            tunnel: None,
            asker: Asker::Anyone,
        }
    }

    fn addresses(&self, prefix: GuidPrefix) -> Vec<Address> {
        let found = self.participants.iter().find(|found| found.data.prefix == prefix);
        let locators = found.map(|found| found.data.default_unicast.as_slice()).unwrap_or_default();
        locators
            .iter()
            .filter_map(Locator::socket_addr)
            .filter(|address| !address.ip().is_loopback())
            .map(|address| address.ip().into())
            .collect()
    }
}
