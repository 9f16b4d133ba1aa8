//! Discovery, and as much of writers and readers as shows whom it has matched: each sample is sent once and acknowledged by nobody.
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use rtps::discovery::{AnnounceError, ConfigError, Discovery, DiscoveryConfig, Event};
use rtps::receiver::{Context, ReceiveError, Route, ToReader, ToWriter, interpret};
use rtps::{Network, Path, Transmit, route};
use wire::discovery::EndpointData;
use wire::message::encode::{self, DataHeader};
use wire::message::{Heartbeat, PayloadKind};
use wire::qos::EndpointQos;
use wire::{EntityId, EntityKind, Guid, GuidPrefix, Instant, Locator, Now, SequenceNumber};

use super::{Payload, Recorder};

/// See the module.
pub struct BareParticipant {
    discovery: Discovery<Payload>,
    events: VecDeque<Event>,
    next_key: u32,
    /// The endpoints that each of ours was told to be matched with, and where samples for them go; no path to those of our own.
    served: BTreeMap<EntityId, BTreeMap<Guid, Vec<Path>>>,
    numbers: BTreeMap<EntityId, i64>,
    /// Samples and assertions that have not left yet.
    data: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl BareParticipant {
    pub fn new(config: DiscoveryConfig, network: Network) -> Result<Self, ConfigError> {
        Ok(Self {
            discovery: Discovery::new(config, network)?,
            events: VecDeque::new(),
            next_key: 1,
            served: BTreeMap::new(),
            numbers: BTreeMap::new(),
            data: VecDeque::new(),
        })
    }

    pub const fn prefix(&self) -> GuidPrefix {
        self.discovery.prefix()
    }

    pub const fn discovery(&self) -> &Discovery<Payload> {
        &self.discovery
    }

    /// The endpoints that one of ours was told to be matched with.
    pub fn served(&self, id: EntityId) -> Vec<Guid> {
        self.served.get(&id).into_iter().flat_map(|others| others.keys().copied()).collect()
    }

    pub fn create(
        &mut self,
        now: Now,
        kind: EntityKind,
        topic: &str,
        type_name: &str,
        qos: EndpointQos,
    ) -> Result<EntityId, AnnounceError> {
        let guid = Guid::new(self.prefix(), EntityId::user(self.next_key, kind));
        self.next_key += 1;
        self.discovery.put_endpoint(now, EndpointData::new(guid, topic.into(), type_name.into(), qos))?;
        self.apply_events();
        Ok(guid.entity_id)
    }

    pub fn set_qos(&mut self, now: Now, id: EntityId, qos: EndpointQos) -> Result<bool, AnnounceError> {
        let Some(data) = self.discovery.endpoint(Guid::new(self.prefix(), id)) else { return Ok(false) };
        let data = EndpointData { qos, ..EndpointData::clone(data) };
        self.discovery.put_endpoint(now, data)?;
        self.apply_events();
        Ok(true)
    }

    pub fn delete(&mut self, now: Now, id: EntityId) -> bool {
        let removed = self.discovery.remove_endpoint(now, id);
        self.apply_events();
        self.served.remove(&id);
        removed
    }

    /// Sends a sample to each matched reader, and gives it to those of our own.
    pub fn write(
        &mut self,
        now: Now,
        writer: EntityId,
        payload: &[u8],
        sink: &mut Recorder,
    ) -> SequenceNumber {
        let number = self.numbers.entry(writer).or_default();
        *number += 1;
        let number = SequenceNumber(*number);
        let mut datagram = Vec::new();
        encode::header(&mut datagram, self.prefix());
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer,
            sequence_number: number,
            inline_qos: None,
            kind: PayloadKind::Data,
        };
        encode::data(&mut datagram, &header, payload);
        let own = Guid::new(self.prefix(), writer);
        for reader in self.served(writer).into_iter().filter(|reader| reader.prefix == own.prefix) {
            sink.samples.push((reader.entity_id, own, number, payload.to_vec()));
        }
        self.send(now, writer, &datagram);
        number
    }

    /// Asserts the liveliness of one writer, whatever its kind.
    pub fn assert_writer(&mut self, now: Now, writer: EntityId) -> bool {
        let mut datagram = Vec::new();
        encode::header(&mut datagram, self.prefix());
        let last = SequenceNumber(self.numbers.get(&writer).copied().unwrap_or(0));
        let heartbeat = Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id: writer,
            first: last.next(),
            last,
            count: 1,
            is_final: true,
            liveliness: true,
        };
        encode::heartbeat(&mut datagram, &heartbeat);
        self.send(now, writer, &datagram);
        self.discovery.endpoint(Guid::new(self.prefix(), writer)).is_some()
    }

    fn send(&mut self, now: Now, writer: EntityId, datagram: &[u8]) {
        let mut ways: Vec<SocketAddr> = self
            .served
            .get(&writer)
            .into_iter()
            .flat_map(BTreeMap::values)
            .flatten()
            .map(|path| path.destination)
            .collect();
        ways.sort();
        ways.dedup();
        self.data.extend(ways.into_iter().map(|to| (to, datagram.to_vec())));
        self.discovery.writer_asserted(now, Guid::new(self.prefix(), writer));
    }

    pub fn assert_liveliness(&mut self, now: Now) {
        self.discovery.assert_liveliness(now);
    }

    pub fn set_network(
        &mut self,
        now: Now,
        network: Network,
        metatraffic_unicast: Vec<Locator>,
        default_unicast: Vec<Locator>,
    ) {
        self.discovery.set_network(now, network, metatraffic_unicast, default_unicast);
        self.apply_events();
    }

    pub fn shutdown(&mut self, now: Now) {
        self.discovery.shutdown(now);
        self.apply_events();
        self.served.clear();
    }

    pub fn handle_datagram(
        &mut self,
        now: Now,
        from: SocketAddr,
        datagram: &[u8],
        sink: &mut Recorder,
    ) -> Result<(), ReceiveError> {
        let prefix = self.prefix();
        let mut router = Router { now, discovery: &mut self.discovery, served: &self.served, sink };
        let result = interpret(prefix, from, datagram, &mut router);
        self.apply_events();
        result
    }

    /// The next datagram of discovery.
    pub fn poll_transmit(&mut self, now: Now, out: &mut Transmit<Payload>) -> bool {
        let sent = self.discovery.poll_transmit(now, out);
        self.apply_events();
        sent
    }

    /// The next datagram of a writer.
    pub fn poll_data(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.data.pop_front()
    }

    pub fn poll_timeout(&self) -> Instant {
        self.discovery.poll_timeout()
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub fn held_bytes(&self) -> usize {
        self.discovery.held_bytes()
    }

    /// As an owner does: while nobody takes the events they stay with discovery, which then takes no input.
    fn apply_events(&mut self) {
        while self.events.len() < self.discovery.config().limits.events {
            let Some(event) = self.discovery.poll_event() else { return };
            match &event {
                Event::WriterMatched { reader, writer, .. } => {
                    self.served.entry(*reader).or_default().insert(writer.guid, Vec::new());
                }
                Event::ReaderMatched { writer, reader, paths, .. } => {
                    self.served.entry(*writer).or_default().insert(reader.guid, paths.clone());
                }
                Event::WriterUnmatched { reader: own, writer: other, .. }
                | Event::ReaderUnmatched { writer: own, reader: other } => {
                    self.served.entry(*own).or_default().remove(other);
                }
                _ => {}
            }
            self.events.push_back(event);
        }
    }
}

/// Where the submessages of a datagram go.
struct Router<'a> {
    now: Now,
    discovery: &'a mut Discovery<Payload>,
    served: &'a BTreeMap<EntityId, BTreeMap<Guid, Vec<Path>>>,
    sink: &'a mut Recorder,
}

impl Route for Router<'_> {
    fn to_reader(&mut self, context: &Context, reader_id: EntityId, writer: Guid, submessage: &ToReader<'_>) {
        if writer.entity_id.is_builtin() {
            return self.discovery.to_reader(self.now, context, writer.entity_id, submessage);
        }
        let matched =
            self.served.iter().filter(|(id, others)| id.is_reader() && others.contains_key(&writer));
        let matched: Vec<EntityId> = matched.map(|(id, _)| *id).collect();
        if !matched.is_empty() && route::shows_life(submessage) {
            self.discovery.writer_asserted(self.now, writer);
        }
        let ToReader::Data(data) = submessage else { return };
        let payload = data.payload.map_or_else(Vec::new, |payload| payload.bytes.to_vec());
        for reader in matched.into_iter().filter(|id| reader_id == EntityId::UNKNOWN || reader_id == *id) {
            self.sink.samples.push((reader, writer, data.sequence_number, payload.clone()));
        }
    }

    fn to_writer(&mut self, context: &Context, writer_id: EntityId, submessage: &ToWriter) {
        if writer_id.is_builtin() {
            self.discovery.to_writer(self.now, context, writer_id, submessage);
        }
    }
}
