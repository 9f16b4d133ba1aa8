//! A process with one participant.
use std::net::SocketAddr;
use std::sync::Arc;

use rtps::Transmit;
use rtps::discovery::{Event, LossReason};
use rtps::participant::{Participant, ParticipantSink};
use rtps::reader::{Accept, Sample};
use wire::{EntityId, Guid, GuidPrefix, Instant, Now, SequenceNumber};

use crate::coverage::{Coverage, Situation};
use crate::node::{Node, Observation, Outgoing};

/// A process with one participant.
pub struct DomainNode {
    participant: Participant<Arc<[u8]>>,
    transmit: Transmit<Arc<[u8]>>,
    application: Application,
    /// The participants that it believes to be there.
    known: Vec<GuidPrefix>,
    endpoints: Vec<EntityId>,
    events: Coverage,
}

/// What takes the samples.
struct Application {
    prefix: GuidPrefix,
    refuses: bool,
    events: Coverage,
    observations: Vec<Observation>,
}

impl DomainNode {
    /// A process around a participant.
    pub fn new(participant: Participant<Arc<[u8]>>) -> Self {
        let application = Application {
            prefix: participant.prefix(),
            refuses: false,
            events: Coverage::new(),
            observations: Vec::new(),
        };
        Self {
            participant,
            transmit: Transmit::new(),
            application,
            known: Vec::new(),
            endpoints: Vec::new(),
            events: Coverage::new(),
        }
    }

    /// The participant.
    pub const fn participant(&self) -> &Participant<Arc<[u8]>> {
        &self.participant
    }

    /// The participant, for commands; what they cause is seen at the next observation.
    pub const fn participant_mut(&mut self) -> &mut Participant<Arc<[u8]>> {
        &mut self.participant
    }

    /// Notes an endpoint, whose limits are watched from now on.
    pub fn watch(&mut self, endpoint: EntityId) {
        self.endpoints.push(endpoint);
    }

    /// The participants that it believes to be there.
    pub fn known(&self) -> &[GuidPrefix] {
        &self.known
    }

    /// From now on the application refuses samples.
    pub const fn refuse(&mut self) {
        self.application.refuses = true;
    }

    /// From now on the application takes samples again, first those that wait.
    pub fn accept(&mut self, now: Now) {
        if std::mem::take(&mut self.application.refuses) {
            for endpoint in &self.endpoints {
                self.participant.resume(now, *endpoint, &mut self.application);
            }
        }
    }

    /// Adds what its events and readers have shown.
    pub fn count(&self, coverage: &mut Coverage) {
        for (situation, count) in self.events.iter().chain(self.application.events.iter()) {
            coverage.add(situation, count);
        }
        for reader in self.endpoints.iter().filter_map(|id| self.participant.reader(*id)) {
            coverage.add(Situation::HeldBack, reader.counters().held_back);
        }
    }

    fn take_events(&mut self) {
        let prefix = self.participant.prefix();
        let own = |entity_id| Guid::new(prefix, entity_id);
        while let Some(event) = self.participant.poll_event() {
            let observation = match event {
                Event::ReaderMatched { writer, reader, .. } => {
                    Observation::ReaderMatched { writer: own(writer), reader: reader.guid }
                }
                Event::ReaderUnmatched { writer, reader } => {
                    Observation::ReaderUnmatched { writer: own(writer), reader }
                }
                Event::WriterMatched { reader, writer, .. } => {
                    Observation::WriterMatched { reader: own(reader), writer: writer.guid }
                }
                Event::WriterUnmatched { reader, writer } => {
                    Observation::WriterUnmatched { reader: own(reader), writer }
                }
                Event::ParticipantFound { participant } => {
                    self.known.push(participant.prefix);
                    continue;
                }
                Event::ParticipantLost { participant, reason } => {
                    self.known.retain(|known| *known != participant);
                    if reason == LossReason::LeaseExpired {
                        self.events.hit(Situation::LeaseExpired);
                    }
                    continue;
                }
                Event::NotMatched { .. } => {
                    self.events.hit(Situation::NotMatched);
                    continue;
                }
                Event::LivelinessChanged { reader, writer, alive: false } => {
                    Observation::LivelinessLost { reader: own(reader), writer }
                }
                Event::ParticipantChanged { .. }
                | Event::LivelinessChanged { .. }
                | Event::Rejected { .. } => continue,
            };
            self.application.observations.push(observation);
        }
    }
}

impl ParticipantSink for Application {
    fn deliver(&mut self, reader: EntityId, sample: &mut Sample<'_>) -> Accept {
        if self.refuses {
            self.events.hit(Situation::SlowReader);
            return Accept::Full;
        }
        self.observations.push(Observation::Delivered {
            reader: Guid::new(self.prefix, reader),
            writer: sample.writer,
            number: sample.sequence_number,
            payload: sample.payload.bytes().to_vec(),
            timestamp: sample.source_timestamp,
            key_hash: sample.inline_qos.key_hash,
        });
        Accept::Taken
    }

    fn lost(&mut self, reader: EntityId, writer: Guid, first: SequenceNumber, count: u64) {
        let reader = Guid::new(self.prefix, reader);
        self.observations.push(Observation::Lost { reader, writer, first, count });
    }
}

impl Node for DomainNode {
    fn handle_datagram(&mut self, now: Now, from: SocketAddr, _: SocketAddr, bytes: &[u8]) {
        // Nothing here makes malformed messages; one would show as a loss.
        let _ = self.participant.handle_datagram(now, from, bytes, &mut self.application);
        // What was delivered came before the matches that the same datagram began or ended.
        self.take_events();
    }

    fn poll_transmit(&mut self, now: Now, out: &mut Outgoing) -> bool {
        // Matches begin or end at the start of a poll, and samples for our own readers come after them.
        let mut delivered = std::mem::take(&mut self.application.observations);
        let found = self.participant.poll_transmit(now, &mut self.transmit, &mut self.application);
        let of_poll = std::mem::replace(&mut self.application.observations, std::mem::take(&mut delivered));
        self.take_events();
        self.application.observations.extend(of_poll);
        if found {
            out.paths.extend_from_slice(self.transmit.paths());
            self.transmit.copy_to(&mut out.bytes);
        }
        found
    }

    fn poll_timeout(&self) -> Instant {
        self.participant.poll_timeout()
    }

    fn take_observations(&mut self, out: &mut Vec<Observation>) {
        self.take_events();
        out.append(&mut self.application.observations);
    }

    fn excess(&self) -> Option<String> {
        self.endpoints.iter().find_map(|id| {
            let (held, limit) = match (self.participant.writer(*id), self.participant.reader(*id)) {
                (Some(writer), _) => (writer.held_bytes(), writer.config().byte_limit),
                (None, Some(reader)) => (reader.held_bytes(), reader.config().byte_limit),
                (None, None) => return None,
            };
            (held > limit).then(|| format!("{id}: {held} octets held, the limit is {limit}"))
        })
    }
}
