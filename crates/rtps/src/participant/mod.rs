//! A participant in one piece: discovery, writers and readers, each a machine of its own, and the routes between them.
//!
//! It only routes. A shell with a lock per endpoint composes the same machines with the functions of [`crate::route`];
//! this composition is the one for a single thread.
mod apply;
mod router;
mod schedule;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;

use wire::discovery::EndpointData;
use wire::qos::{Durability, EndpointQos};
use wire::{EntityId, EntityKind, Guid, GuidPrefix, Instant, Locator, Now, SequenceNumber};

use crate::Payload;
use crate::discovery::{AnnounceError, ConfigError, Discovery, DiscoveryConfig, Event};
use crate::network::Network;
use crate::path::Path;
use crate::reader::{Accept, Reader, ReaderConfig, Sample};
use crate::receiver::{ReceiveError, interpret, interpret_own};
use crate::route::is_reliable;
use crate::transmit::Transmit;
use crate::writer::{Body, Change, WriteError, Writer, WriterConfig};
use router::{Router, ToSink};
use schedule::Schedule;

/// Where the samples of a participant's readers go.
pub trait ParticipantSink {
    /// Takes the next sample for a reader, or refuses it; see [`crate::reader::Sink`].
    fn deliver(&mut self, reader: EntityId, sample: &mut Sample<'_>) -> Accept;
    /// `count` samples from `first` on will never come to a reader.
    fn lost(&mut self, reader: EntityId, writer: Guid, first: SequenceNumber, count: u64);
}

/// What a new endpoint is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointSpec {
    /// Topic name.
    pub topic_name: String,
    /// Type name.
    pub type_name: String,
    /// True if the type has a key.
    pub keyed: bool,
    /// Its QoS.
    pub qos: EndpointQos,
}

/// Why a participant did not write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PublishError {
    /// There is no such writer.
    UnknownWriter(EntityId),
    /// The writer refused.
    Write(WriteError),
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownWriter(id) => write!(f, "there is no writer {id}"),
            Self::Write(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for PublishError {}

/// A participant without input or output. See the module.
#[derive(Debug)]
pub struct Participant<P> {
    discovery: Discovery<P>,
    writers: BTreeMap<EntityId, Writer<P>>,
    readers: BTreeMap<EntityId, Reader>,
    /// The local readers that are matched with a writer.
    routes: BTreeMap<Guid, Vec<EntityId>>,
    events: VecDeque<Event>,
    next_key: u32,
    schedule: Schedule,
    /// Datagrams to ourselves are put together here.
    scratch: Vec<u8>,
}

impl<P: Payload> Participant<P> {
    /// A participant without endpoints, its first announcement due at once.
    ///
    /// # Errors
    /// A value of the configuration is outside of its range.
    pub fn new(config: DiscoveryConfig, network: Network) -> Result<Self, ConfigError> {
        Ok(Self {
            discovery: Discovery::new(config, network)?,
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            routes: BTreeMap::new(),
            events: VecDeque::new(),
            next_key: 1,
            schedule: Schedule::default(),
            scratch: Vec::new(),
        })
    }

    /// Our GUID prefix.
    pub const fn prefix(&self) -> GuidPrefix {
        self.discovery.prefix()
    }

    /// What is known of the domain.
    pub const fn discovery(&self) -> &Discovery<P> {
        &self.discovery
    }

    /// Makes a writer, announces and matches it. `tune` may change what follows from the QoS: how the writer behaves, and
    /// what is announced besides.
    ///
    /// # Errors
    /// There is no room for its announcement.
    pub fn create_writer(
        &mut self,
        now: Now,
        spec: EndpointSpec,
        tune: impl FnOnce(&mut WriterConfig, &mut EndpointData),
    ) -> Result<EntityId, AnnounceError> {
        let kind = if spec.keyed { EntityKind::WriterWithKey } else { EntityKind::WriterNoKey };
        let (guid, reliable) = (self.next_guid(kind), is_reliable(&spec.qos));
        let retain = spec.qos.durability >= Durability::TransientLocal;
        let mut config = WriterConfig { retain, ..WriterConfig::new(guid, reliable) };
        let mut data = EndpointData::new(guid, spec.topic_name, spec.type_name, spec.qos);
        tune(&mut config, &mut data);
        let config = WriterConfig { guid, ..config };
        self.writers.insert(guid.entity_id, Writer::new(config));
        self.announce(now, EndpointData { guid, ..data })
    }

    /// Makes a reader, announces and matches it. `tune` may change what follows from the QoS: how the reader behaves, and
    /// what is announced besides.
    ///
    /// # Errors
    /// There is no room for its announcement.
    pub fn create_reader(
        &mut self,
        now: Now,
        spec: EndpointSpec,
        tune: impl FnOnce(&mut ReaderConfig, &mut EndpointData),
    ) -> Result<EntityId, AnnounceError> {
        let kind = if spec.keyed { EntityKind::ReaderWithKey } else { EntityKind::ReaderNoKey };
        let (guid, reliable) = (self.next_guid(kind), is_reliable(&spec.qos));
        let mut config = ReaderConfig::new(guid, reliable);
        let mut data = EndpointData::new(guid, spec.topic_name, spec.type_name, spec.qos);
        tune(&mut config, &mut data);
        self.readers.insert(guid.entity_id, Reader::new(ReaderConfig { guid, ..config }));
        self.announce(now, EndpointData { guid, ..data })
    }

    /// Changes the QoS of an endpoint, announces it and matches anew; false if there is no such endpoint. What can be changed at
    /// all (DDS 1.4, 2.2.3) is for the caller to know.
    ///
    /// # Errors
    /// There is no room for its announcement; nothing is changed then.
    pub fn set_qos(&mut self, now: Now, id: EntityId, qos: EndpointQos) -> Result<bool, AnnounceError> {
        let guid = Guid::new(self.prefix(), id);
        let Some(data) = self.discovery.endpoint(guid) else { return Ok(false) };
        let data = EndpointData { qos, ..EndpointData::clone(data) };
        self.discovery.put_endpoint(now, data)?;
        self.apply_events(now);
        Ok(true)
    }

    /// Unmatches and forgets an endpoint; false if there is no such endpoint.
    pub fn delete(&mut self, now: Now, id: EntityId) -> bool {
        let removed = self.discovery.remove_endpoint(now, id);
        self.apply_events(now);
        self.writers.remove(&id);
        self.readers.remove(&id);
        self.schedule.forget(id);
        removed
    }

    /// Writes a change.
    ///
    /// # Errors
    /// There is no such writer, or it refused.
    pub fn write(
        &mut self,
        now: Now,
        writer: EntityId,
        change: &Change<'_>,
        body: Body<'_, P>,
    ) -> Result<SequenceNumber, PublishError> {
        let machine = self.writers.get_mut(&writer).ok_or(PublishError::UnknownWriter(writer))?;
        let number = machine.write(now, change, body).map_err(PublishError::Write)?;
        self.schedule.wake(writer);
        self.discovery.writer_asserted(now, Guid::new(self.prefix(), writer));
        Ok(number)
    }

    /// Asserts the liveliness of one writer, whatever its kind (MANUAL_BY_TOPIC); false if there is no such writer.
    pub fn assert_writer(&mut self, now: Now, writer: EntityId) -> bool {
        let Some(machine) = self.writers.get_mut(&writer) else { return false };
        machine.assert_liveliness();
        self.schedule.wake(writer);
        self.discovery.writer_asserted(now, Guid::new(self.prefix(), writer));
        true
    }

    /// Asserts the liveliness of the MANUAL_BY_PARTICIPANT writers.
    pub fn assert_liveliness(&mut self, now: Now) {
        self.discovery.assert_liveliness(now);
    }

    /// A writer.
    pub fn writer(&self, id: EntityId) -> Option<&Writer<P>> {
        self.writers.get(&id)
    }

    /// A writer, to remove changes from it or to flush it.
    pub fn writer_mut(&mut self, id: EntityId) -> Option<&mut Writer<P>> {
        let writer = self.writers.get_mut(&id)?;
        self.schedule.wake(id);
        Some(writer)
    }

    /// A reader.
    pub fn reader(&self, id: EntityId) -> Option<&Reader> {
        self.readers.get(&id)
    }

    /// Offers again what `sink` had refused for a reader.
    pub fn resume(&mut self, now: Now, reader: EntityId, sink: &mut impl ParticipantSink) {
        if let Some(machine) = self.readers.get_mut(&reader) {
            machine.resume(now, &mut ToSink { reader, sink });
            self.schedule.wake(reader);
        }
    }

    /// Takes a buffer back that came with a sample of a reader.
    pub fn recycle(&mut self, reader: EntityId, buffer: Vec<u8>) {
        if let Some(machine) = self.readers.get_mut(&reader) {
            machine.recycle(buffer);
        }
    }

    /// Takes over the interfaces and our own addresses, as they are now; see [`Discovery::set_network`].
    pub fn set_network(
        &mut self,
        now: Now,
        network: Network,
        metatraffic_unicast: Vec<Locator>,
        default_unicast: Vec<Locator>,
    ) {
        self.discovery.set_network(now, network, metatraffic_unicast, default_unicast);
        self.apply_events(now);
    }

    /// Leaves the domain: the next polls send goodbyes, then nothing more is sent.
    pub fn shutdown(&mut self, now: Now) {
        self.discovery.shutdown(now);
        self.apply_events(now);
        self.writers.clear();
        self.readers.clear();
        self.routes.clear();
        self.schedule = Schedule::default();
    }

    /// A datagram arrived.
    ///
    /// # Errors
    /// It is malformed; submessages before the malformed one were taken.
    pub fn handle_datagram(
        &mut self,
        now: Now,
        from: SocketAddr,
        datagram: &[u8],
        sink: &mut impl ParticipantSink,
    ) -> Result<(), ReceiveError> {
        let prefix = self.prefix();
        let result = interpret(prefix, from, datagram, &mut self.router(now, sink));
        self.apply_events(now);
        result
    }

    /// Does what is due at `now` and fills `out` with the next datagram; false if there is none. To be called until it is false.
    /// Discovery comes first, then the endpoints in turn. What goes to our own readers is delivered to `sink` right here, a bounded
    /// number of datagrams per call: if more are left, `poll_timeout` is due at once.
    pub fn poll_transmit(
        &mut self,
        now: Now,
        out: &mut Transmit<P>,
        sink: &mut impl ParticipantSink,
    ) -> bool {
        let sent = self.discovery.poll_transmit(now, out);
        self.apply_events(now);
        if sent {
            return true;
        }
        for _ in 0..MAX_OWN {
            if !self.poll_endpoints(now, out) {
                return false;
            }
            if out.take_path(&Path::IN_PROCESS) {
                self.deliver_own(now, out, sink);
            }
            if !out.paths().is_empty() {
                return true;
            }
        }
        false
    }

    /// When `poll_transmit` has to be called at the latest.
    pub fn poll_timeout(&self) -> Instant {
        self.discovery.poll_timeout().min(self.schedule.timeout())
    }

    /// The next event. Endpoints have been matched and unmatched as it says.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Octets in all caches.
    pub fn held_bytes(&self) -> usize {
        let writers: usize = self.writers.values().map(Writer::held_bytes).sum();
        let readers: usize = self.readers.values().map(Reader::held_bytes).sum();
        self.discovery.held_bytes().saturating_add(writers).saturating_add(readers)
    }

    fn next_guid(&mut self, kind: EntityKind) -> Guid {
        let id = EntityId::user(self.next_key, kind);
        // After 2^24 endpoints keys come round; those that are still in use are passed over.
        self.next_key = self.next_key.wrapping_add(1) & 0xff_ffff;
        let guid = Guid::new(self.prefix(), id);
        if self.discovery.endpoint(guid).is_some() { self.next_guid(kind) } else { guid }
    }

    fn announce(&mut self, now: Now, data: EndpointData) -> Result<EntityId, AnnounceError> {
        let id = data.guid.entity_id;
        let result = self.discovery.put_endpoint(now, data);
        if result.is_err() {
            self.writers.remove(&id);
            self.readers.remove(&id);
            self.schedule.forget(id);
        }
        self.apply_events(now);
        result.map(|()| id)
    }

    fn router<'a, S: ParticipantSink>(&'a mut self, now: Now, sink: &'a mut S) -> Router<'a, P, S> {
        Router {
            now,
            discovery: &mut self.discovery,
            writers: &mut self.writers,
            readers: &mut self.readers,
            routes: &self.routes,
            schedule: &mut self.schedule,
            sink,
        }
    }

    /// Asks the endpoints that have something to do, in turn.
    fn poll_endpoints(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        while let Some(id) = self.schedule.next(now.monotonic) {
            let (sent, at) = if let Some(writer) = self.writers.get_mut(&id) {
                (writer.poll_transmit(now, out), writer.poll_timeout())
            } else if let Some(reader) = self.readers.get_mut(&id) {
                (reader.poll_transmit(now, out), reader.poll_timeout())
            } else {
                continue;
            };
            if sent {
                self.schedule.wake(id);
                return true;
            }
            self.schedule.wait(id, now.monotonic, at);
        }
        false
    }

    fn deliver_own(&mut self, now: Now, out: &Transmit<P>, sink: &mut impl ParticipantSink) {
        let mut datagram = core::mem::take(&mut self.scratch);
        datagram.clear();
        out.copy_to(&mut datagram);
        let prefix = self.prefix();
        let read = interpret_own(prefix, &datagram, &mut self.router(now, sink));
        debug_assert!(read.is_ok(), "our own machines write what can be read");
        self.scratch = datagram;
    }
}

/// Most datagrams to ourselves that one poll delivers.
const MAX_OWN: usize = 1_024;
