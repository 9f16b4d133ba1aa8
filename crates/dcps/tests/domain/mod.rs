//! Two participants whose discovery, DataWriters and DataReaders are joined as a shell joins them, on a virtual clock and a
//! wire without delay.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this module")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at once")]
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use dcps::qos::{DataReaderQos, DataWriterQos, TopicQos};
use dcps::reader::{DataReader, MatchedPublication, Request, Sample};
use dcps::writer::{DataWriter, WriteError, WriteOptions};
use dcps::{CdrTypeSupport, Topic};
use derive::DdsType;
use rtps::discovery::{Discovery, DiscoveryConfig, Event};
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::{Context, Route, ToReader, ToWriter, interpret};
use rtps::writer::{Body, MatchedReader, WriterConfig};
use rtps::{Interface, Network, Transmit, route};
use wire::cdr::{DdsType as _, Encoding, Representation};
use wire::discovery::EndpointData;
use wire::qos::{DataRepresentation, Durability, EndpointQos, LivelinessKind, ReliabilityKind};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant, Locator, Now, SequenceNumber};

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
pub struct Reading {
    #[dds(key)]
    pub id: u32,
    pub value: u32,
}

pub type Types = CdrTypeSupport<Reading>;
pub type Payload = Arc<[u8]>;

pub const TOPIC: &str = "Readings";

pub const fn ms(millis: i64) -> Duration {
    Duration::from_millis(millis)
}

/// A participant. Its endpoints are of one topic.
pub struct Host {
    pub discovery: Discovery<Payload>,
    pub topic: Topic,
    pub writers: BTreeMap<EntityId, DataWriter<Types, Payload>>,
    pub readers: BTreeMap<EntityId, (Reader, DataReader<Types>)>,
    /// What it sends is lost.
    pub mute: bool,
    address: SocketAddr,
    next: u32,
}

pub struct Domain {
    pub now: Now,
    pub hosts: [Host; 2],
    transmit: Transmit<Payload>,
}

fn host(index: u8, type_name: &str) -> Host {
    let ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, index));
    let address = SocketAddr::new(ip, 7410);
    let interface = Interface { index: 2, addresses: vec![(ip, 24)], max_datagram: 1_472, multicast: true };
    let prefix = GuidPrefix([1, 0xfe, 9, 9, 9, 9, 9, 9, 9, 9, 9, index]);
    let config = DiscoveryConfig {
        metatraffic_unicast: vec![Locator::udp(address)],
        default_unicast: vec![Locator::udp(address)],
        ..DiscoveryConfig::new(prefix, 0, u64::from(index))
    };
    Host {
        discovery: Discovery::new(config, Network { interfaces: vec![interface] }).unwrap(),
        topic: Topic::new(TOPIC, type_name, TopicQos::default()).unwrap(),
        writers: BTreeMap::new(),
        readers: BTreeMap::new(),
        mute: false,
        address,
        next: 1,
    }
}

impl Domain {
    /// Two participants that know each other.
    pub fn new() -> Self {
        Self::of_types("Reading", "Reading")
    }

    /// The same, with names of the types that each means by the topic.
    pub fn of_types(first: &str, second: &str) -> Self {
        let hosts = [host(1, first), host(2, second)];
        let mut domain = Self { now: Now::default(), hosts, transmit: Transmit::new() };
        domain.wait(ms(500));
        assert!(domain.hosts.iter().all(|host| host.discovery.participant_counts().0 == 1));
        domain
    }

    pub fn writer(&mut self, on: usize, qos: DataWriterQos) -> EntityId {
        let guid = self.next_guid(on, EntityKind::WriterWithKey);
        let config = WriterConfig::new(guid, true);
        let endpoint = qos.endpoint.clone();
        let writer = DataWriter::new(self.now, config, qos, Types::new()).unwrap();
        self.hosts[on].writers.insert(guid.entity_id, writer);
        self.announce(on, guid.entity_id, endpoint);
        guid.entity_id
    }

    pub fn reader(&mut self, on: usize, qos: DataReaderQos) -> EntityId {
        let guid = self.next_guid(on, EntityKind::ReaderWithKey);
        let reliable = qos.endpoint.reliability.kind == ReliabilityKind::Reliable;
        let endpoint = qos.endpoint.clone();
        let reader = DataReader::new(guid, qos, Types::new()).unwrap();
        self.hosts[on]
            .readers
            .insert(guid.entity_id, (Reader::new(ReaderConfig::new(guid, reliable)), reader));
        self.announce(on, guid.entity_id, endpoint);
        guid.entity_id
    }

    pub fn set_writer_qos(&mut self, on: usize, id: EntityId, change: impl FnOnce(&mut DataWriterQos)) {
        let writer = self.hosts[on].writers.get_mut(&id).unwrap();
        let mut qos = writer.qos().clone();
        change(&mut qos);
        writer.set_qos(self.now, qos.clone()).unwrap();
        self.announce(on, id, qos.endpoint);
    }

    pub fn set_reader_qos(&mut self, on: usize, id: EntityId, change: impl FnOnce(&mut DataReaderQos)) {
        let (_, reader) = self.hosts[on].readers.get_mut(&id).unwrap();
        let mut qos = reader.qos().clone();
        change(&mut qos);
        reader.set_qos(self.now, qos.clone()).unwrap();
        self.announce(on, id, qos.endpoint);
    }

    /// Announces an endpoint with this QoS, whatever its machine has.
    pub fn announce(&mut self, on: usize, id: EntityId, qos: EndpointQos) {
        let host = &mut self.hosts[on];
        let guid = Guid::new(host.discovery.prefix(), id);
        let data = EndpointData::new(guid, TOPIC.into(), host.topic.type_name().into(), qos);
        host.discovery.put_endpoint(self.now, data).unwrap();
        self.wait(ms(50));
    }

    pub fn guid(&self, on: usize, id: EntityId) -> Guid {
        Guid::new(self.hosts[on].discovery.prefix(), id)
    }

    pub fn data_writer(&mut self, on: usize, id: EntityId) -> &mut DataWriter<Types, Payload> {
        self.hosts[on].writers.get_mut(&id).unwrap()
    }

    pub fn data_reader(&mut self, on: usize, id: EntityId) -> &mut DataReader<Types> {
        &mut self.hosts[on].readers.get_mut(&id).unwrap().1
    }

    pub fn write(
        &mut self,
        on: usize,
        writer: EntityId,
        id: u32,
        value: u32,
    ) -> Result<SequenceNumber, WriteError> {
        let (now, guid) = (self.now, self.guid(on, writer));
        let mut payload = Vec::new();
        Reading { id, value }.encode_payload(Encoding::XCDR1, &mut payload).unwrap();
        let machine = self.data_writer(on, writer);
        let number = machine.write(now, Body::Copy(&payload), &WriteOptions::default())?;
        let kind = machine.qos().endpoint.liveliness.kind;
        self.hosts[on].discovery.writer_asserted(now, guid);
        if kind == LivelinessKind::ManualByParticipant {
            self.hosts[on].assert_writers(now);
        }
        self.exchange();
        Ok(number)
    }

    /// The application of a participant says that it lives.
    pub fn assert_participant(&mut self, on: usize) {
        self.hosts[on].discovery.assert_liveliness(self.now);
        self.hosts[on].assert_writers(self.now);
        self.exchange();
    }

    /// The application says that one writer lives.
    pub fn assert_writer(&mut self, on: usize, id: EntityId) {
        let (now, guid) = (self.now, self.guid(on, id));
        self.data_writer(on, id).assert_liveliness(now);
        self.hosts[on].discovery.writer_asserted(now, guid);
        self.exchange();
    }

    pub fn take(&mut self, on: usize, reader: EntityId) -> Vec<Sample> {
        let (now, mut out) = (self.now, Vec::new());
        self.data_reader(on, reader).access(now, &Request::TAKE, &mut out).unwrap();
        out
    }

    /// Takes everything and gives the values, `None` for samples without data.
    pub fn values(&mut self, on: usize, reader: EntityId) -> Vec<Option<u32>> {
        let value = |sample: Sample| Some(Reading::decode_payload(sample.payload?.bytes()).unwrap().value);
        self.take(on, reader).into_iter().map(value).collect()
    }

    pub fn wait(&mut self, span: Duration) {
        let end = self.now.monotonic.after(span);
        let wall_end = self.now.wall.after(span);
        let mut steps = 0;
        loop {
            self.exchange();
            let next = self.hosts.iter().map(Host::poll_timeout).min().unwrap();
            if next > end {
                break;
            }
            steps += 1;
            assert!(steps < 100_000, "no end: a timer is due and nothing happens");
            let next = next.max(self.now.monotonic);
            self.now.wall = self.now.wall.after(next.since(self.now.monotonic));
            self.now.monotonic = next;
            for host in &mut self.hosts {
                host.writers.values_mut().for_each(|writer| writer.on_timeout(self.now));
                host.readers.values_mut().for_each(|(_, reader)| reader.on_timeout(self.now));
            }
        }
        (self.now.monotonic, self.now.wall) = (end, wall_end);
    }

    /// Everything that is ready to leave leaves, and arrives.
    pub fn exchange(&mut self) {
        loop {
            let mut quiet = true;
            for from in 0..self.hosts.len() {
                while self.hosts[from].poll_transmit(self.now, &mut self.transmit) {
                    quiet = false;
                    let mut datagram = Vec::new();
                    self.transmit.copy_to(&mut datagram);
                    let (address, mute) = (self.hosts[from].address, self.hosts[from].mute);
                    for to in self.transmit.paths().iter().map(|path| path.destination) {
                        for host in self.hosts.iter_mut().filter(|_| !mute) {
                            if to == host.address || to.ip().is_multicast() {
                                host.receive(self.now, address, &datagram);
                            }
                        }
                    }
                }
                self.hosts[from].apply_events(self.now);
            }
            if quiet {
                return;
            }
        }
    }

    fn next_guid(&mut self, on: usize, kind: EntityKind) -> Guid {
        let host = &mut self.hosts[on];
        host.next += 1;
        Guid::new(host.discovery.prefix(), EntityId::user(host.next, kind))
    }
}

impl Host {
    /// A sign of life of one MANUAL_BY_PARTICIPANT writer is one of all of them.
    fn assert_writers(&mut self, now: Now) {
        for writer in self.writers.values_mut() {
            if writer.qos().endpoint.liveliness.kind == LivelinessKind::ManualByParticipant {
                writer.assert_liveliness(now);
            }
        }
    }

    fn poll_timeout(&self) -> Instant {
        let writers = self.writers.values().map(DataWriter::poll_timeout);
        let readers =
            self.readers.values().map(|(rtps, reader)| rtps.poll_timeout().min(reader.poll_timeout()));
        writers.chain(readers).min().unwrap_or(Instant::NEVER).min(self.discovery.poll_timeout())
    }

    fn poll_transmit(&mut self, now: Now, out: &mut Transmit<Payload>) -> bool {
        self.discovery.poll_transmit(now, out)
            || self.writers.values_mut().any(|writer| writer.rtps_mut().poll_transmit(now, out))
            || self.readers.values_mut().any(|(rtps, reader)| {
                if reader.wants_resume() {
                    rtps.resume(now, &mut reader.sink(now));
                }
                rtps.poll_transmit(now, out)
            })
    }

    fn receive(&mut self, now: Now, from: SocketAddr, datagram: &[u8]) {
        let prefix = self.discovery.prefix();
        interpret(prefix, from, datagram, &mut Router { now, host: self }).unwrap();
        self.apply_events(now);
    }

    fn apply_events(&mut self, now: Now) {
        while let Some(event) = self.discovery.poll_event() {
            self.apply(now, &event);
        }
    }

    fn apply(&mut self, now: Now, event: &Event) {
        let reliable = |qos: &EndpointQos| qos.reliability.kind == ReliabilityKind::Reliable;
        match event {
            Event::WriterMatched { reader, writer, paths, .. } => {
                let (rtps, reader) = self.readers.get_mut(reader).unwrap();
                let (guid, reliable) = (writer.guid, reliable(&writer.qos));
                rtps.match_writer(now, MatchedWriter { guid, reliable, paths: paths.clone() });
                reader.match_publication(MatchedPublication {
                    guid,
                    ownership_strength: writer.qos.ownership_strength,
                    lifespan: writer.qos.lifespan,
                    representation: match writer.qos.representation.first() {
                        Some(&DataRepresentation::XCDR2) => Representation::Xcdr2,
                        _ => Representation::Xcdr1,
                    },
                });
            }
            Event::ReaderMatched { writer, reader, paths, direct, .. } => {
                let matched = MatchedReader {
                    guid: reader.guid,
                    reliable: reliable(&reader.qos),
                    wants_history: reader.qos.durability >= Durability::TransientLocal,
                    paths: paths.clone(),
                    direct: *direct,
                    receive_buffer: reader.receive_buffer,
                };
                self.writers.get_mut(writer).unwrap().match_subscription(now, matched);
            }
            Event::WriterUnmatched { reader, writer, .. } => {
                let (rtps, reader) = self.readers.get_mut(reader).unwrap();
                rtps.unmatch_writer(*writer);
                assert!(reader.unmatch_publication(now, *writer));
            }
            Event::ReaderUnmatched { writer, reader } => {
                assert!(self.writers.get_mut(writer).unwrap().unmatch_subscription(now, *reader));
            }
            Event::NotMatched { local, remote, reasons } => {
                self.topic.not_matched(remote, reasons);
                match local.is_writer() {
                    true => self.writers.get_mut(local).unwrap().not_matched(reasons),
                    false => self.readers.get_mut(local).unwrap().1.not_matched(reasons),
                }
            }
            Event::LivelinessChanged { reader, writer, alive } => {
                self.readers.get_mut(reader).unwrap().1.set_liveliness(now, *writer, *alive);
            }
            Event::ParticipantLost { participant, .. } => self.topic.forget_participant(*participant),
            Event::ParticipantFound { .. }
            | Event::ParticipantChanged { .. }
            | Event::SourcesChanged { .. }
            | Event::Rejected { .. } => {}
        }
    }
}

struct Router<'a> {
    now: Now,
    host: &'a mut Host,
}

impl Route for Router<'_> {
    fn to_reader(&mut self, context: &Context, reader_id: EntityId, writer: Guid, submessage: &ToReader<'_>) {
        let discovery = &mut self.host.discovery;
        if writer.entity_id.is_builtin() {
            return discovery.to_reader(self.now, context, writer.entity_id, submessage);
        }
        let lives = match submessage {
            ToReader::Data(_) | ToReader::DataFrag(_) => true,
            ToReader::Heartbeat(heartbeat) => heartbeat.liveliness,
            ToReader::HeartbeatFrag(_) | ToReader::Gap(_) => false,
        };
        if lives {
            discovery.writer_asserted(self.now, writer);
        }
        for (id, (rtps, reader)) in &mut self.host.readers {
            let is_matched = discovery.matches(*id).any(|other| other == writer);
            if is_matched && (reader_id == EntityId::UNKNOWN || reader_id == *id) {
                let sink = &mut reader.sink(self.now);
                route::to_reader(self.now, &context.source, rtps, submessage, sink);
            }
        }
    }

    fn to_writer(&mut self, context: &Context, writer_id: EntityId, submessage: &ToWriter) {
        if writer_id.is_builtin() {
            return self.host.discovery.to_writer(self.now, context, writer_id, submessage);
        }
        if let Some(writer) = self.host.writers.get_mut(&writer_id) {
            route::to_writer(self.now, &context.source, writer.rtps_mut(), submessage);
        }
    }
}
