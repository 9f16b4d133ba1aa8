//! Where participants are reached and from where they speak: paths, what the owner is told, probes and answers to probes.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use wire::admission::Socket;
use wire::discovery::{EndpointData, ParticipantData};
use wire::{GuidPrefix, Now};

use super::Discovery;
use super::events::Event;
use super::probe::PROBE_LEN;
use crate::Payload;
use crate::network::canonical;
use crate::transmit::Transmit;

/// Most sources of flows of one participant: of samples, and of repairs or questions.
const MAX_FLOWS: usize = 128;

/// Where the flows of an endpoint leave: of samples and repairs, or of questions.
pub(super) fn flows_of(data: &EndpointData) -> impl Iterator<Item = Socket> + use<> {
    let (offered, wanted) = (data.offered_assurance, data.requested_assurance);
    let repairs = offered.and_then(|offered| offered.repairs).map(|repairs| repairs.source);
    let questions = wanted.and_then(|wanted| wanted.losses).map(|losses| losses.source);
    [offered.map(|offered| offered.source), repairs, questions].into_iter().flatten()
}

impl<P: Payload> Discovery<P> {
    /// Chooses the paths to a participant and its endpoints, for the first time or anew.
    pub(super) fn reroute(&mut self, now: Now, data: &ParticipantData) {
        let path = self.ledger.get(data.prefix).and_then(|known| known.metatraffic_path(&self.network));
        self.tell_sources(data.prefix);
        self.sedp.match_participant(now, data, path);
        self.lookup.reroute(now, data.prefix, path);
        self.messages.match_participant(now.monotonic, data, path);
        let (endpoints, mut around) = self.split(now.monotonic);
        endpoints.reroute(data.prefix, &mut around);
    }

    /// Tells from where a participant speaks, if that has changed.
    pub(super) fn tell_sources(&mut self, participant: GuidPrefix) {
        let Some(known) = self.ledger.get(participant) else { return };
        let flows = self.endpoints.of(participant).flat_map(|data| flows_of(data));
        let flows = flows.filter(|source| source.port != 0);
        let flows = flows.map(|source| SocketAddr::new(source.address.ip(), source.port));
        let mut sources: Vec<SocketAddr> = Vec::new();
        for source in known.sources().chain(flows.take(MAX_FLOWS)) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        if self.told.get(&participant).is_none_or(|told| **told != *sources) {
            let sources: Arc<[SocketAddr]> = sources.into();
            self.told.insert(participant, Arc::clone(&sources));
            self.events.push(Event::SourcesChanged { participant, sources });
        }
    }

    /// Fills `out` with the next answer to a participant that is not validated, and with a probe of ours if one is due there: then what
    /// follows is heard by a participant that knows us. False if there is none.
    pub(super) fn poll_echo(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        let Some(key) = self.messages.poll_echo(&self.network, out) else { return false };
        let strangers = &mut self.ledger.strangers;
        let is_short = strangers.get(key).is_some_and(|known| known.names_us && !known.is_mute());
        let is_there = out.paths().iter().any(|path| canonical(path.destination) == key.1);
        if is_short
            && is_there
            && self.messages.numbers.probed_after(key.0, key.1.ip(), false) <= now.monotonic
            && self.announcer.takes_answer(key)
            && strangers.spend(&self.network, key, PROBE_LEN).is_some()
        {
            let window = self.ledger.ask_stranger(now.monotonic, key, key.1, &mut self.messages.numbers);
            self.messages.put_probe(&window, out);
        }
        true
    }

    /// Fills `out` with the next probe; false if there is none.
    pub(super) fn poll_probe(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        let numbers = &mut self.messages.numbers;
        let Some((probe, window)) = self.ledger.poll_probe(now.monotonic, &self.network, numbers) else {
            return false;
        };
        self.messages.probe(now.monotonic, probe.prefix, probe.path, &window, out);
        if probe.is_mute
            && let Some(question) = self.sedp.invitation()
        {
            self.messages.ask(probe.prefix, probe.path, &question, out);
        }
        true
    }
}
