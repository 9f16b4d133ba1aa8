//! A DataWriter and a DataReader with the machines of `rtps` between them, on a virtual clock.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this module")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at once")]
use std::net::SocketAddr;
use std::sync::Arc;

use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::reader::{DataReader, MatchedPublication, Request, Sample};
use dcps::writer::{DataWriter, WriteError, WriteOptions};
use dcps::{CdrTypeSupport, InstanceHandle};
use derive::DdsType;
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::receiver::{Context, Route, ToReader, ToWriter, interpret};
use rtps::writer::{Body, MatchedReader, WriterConfig};
use rtps::{Path, Transmit};
use wire::cdr::{DdsType as _, Encoding, Representation};
use wire::qos::{Durability, History, Reliability, ReliabilityKind};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant, Now, SequenceNumber};

#[derive(DdsType, Debug, PartialEq, Clone, Copy)]
pub struct Reading {
    #[dds(key)]
    pub id: u32,
    pub value: u32,
}

pub type Types = CdrTypeSupport<Reading>;
pub type Payload = Arc<[u8]>;

pub fn writer_guid() -> Guid {
    Guid::new(GuidPrefix([1; 12]), EntityId::user(1, EntityKind::WriterWithKey))
}

pub fn reader_guid() -> Guid {
    Guid::new(GuidPrefix([2; 12]), EntityId::user(1, EntityKind::ReaderWithKey))
}

pub fn data(id: u32, value: u32) -> Vec<u8> {
    let mut out = Vec::new();
    Reading { id, value }.encode_payload(Encoding::XCDR1, &mut out).unwrap();
    out
}

pub fn handle(id: u32) -> InstanceHandle {
    Reading { id, value: 0 }.key_hash(Representation::Xcdr2, &mut Vec::new()).unwrap().into()
}

pub fn value(sample: &Sample) -> Option<u32> {
    Some(Reading::decode_payload(sample.payload.as_ref()?.bytes()).unwrap().value)
}

pub const fn ms(millis: i64) -> Duration {
    Duration::from_millis(millis)
}

pub struct Link {
    pub now: Now,
    pub writer: DataWriter<Types, Payload>,
    pub rtps_reader: Reader,
    pub reader: DataReader<Types>,
    transmit: Transmit<Payload>,
    datagram: Vec<u8>,
    /// Datagrams to the reader vanish.
    pub cut: bool,
    pub datagrams: u64,
    /// The class of the last datagram of the writer.
    pub class: Option<u8>,
}

impl Link {
    /// Reliable and KEEP_ALL on both sides, unless changed; not connected yet.
    pub fn new(change: impl FnOnce(&mut DataWriterQos, &mut DataReaderQos)) -> Self {
        let (mut offered, mut requested) = (DataWriterQos::default(), DataReaderQos::default());
        offered.endpoint.history = History::KeepAll;
        requested.endpoint.history = History::KeepAll;
        requested.endpoint.reliability = Reliability::RELIABLE;
        change(&mut offered, &mut requested);
        let now = Now::default();
        let reliable = requested.endpoint.reliability.kind == ReliabilityKind::Reliable;
        let config = WriterConfig::new(writer_guid(), true);
        Self {
            now,
            writer: DataWriter::new(now, config, offered, Types::new()).unwrap(),
            rtps_reader: Reader::new(ReaderConfig::new(reader_guid(), reliable)),
            reader: DataReader::new(reader_guid(), requested, Types::new()).unwrap(),
            transmit: Transmit::new(),
            datagram: Vec::with_capacity(70_000),
            cut: false,
            datagrams: 0,
            class: None,
        }
    }

    pub fn connected(change: impl FnOnce(&mut DataWriterQos, &mut DataReaderQos)) -> Self {
        let mut link = Self::new(change);
        link.connect();
        link
    }

    pub fn connect(&mut self) {
        let path = |host| vec![Path::routed(SocketAddr::from(([10, 0, 0, host], 7411)), 1_472)];
        let (offered, requested) = (&self.writer.qos().endpoint, &self.reader.qos().endpoint);
        let reliable = |kind| kind == ReliabilityKind::Reliable;
        let wants_history = requested.durability >= Durability::TransientLocal;
        let writer_reliable = reliable(offered.reliability.kind);
        let reader_reliable = reliable(requested.reliability.kind);
        self.reader.match_publication(MatchedPublication {
            guid: writer_guid(),
            ownership_strength: offered.ownership_strength,
            lifespan: offered.lifespan,
            representation: Representation::Xcdr1,
        });
        let matched = MatchedWriter { guid: writer_guid(), reliable: writer_reliable, paths: path(1) };
        self.rtps_reader.match_writer(self.now, matched);
        let matched = MatchedReader {
            guid: reader_guid(),
            reliable: reader_reliable,
            wants_history,
            paths: path(2),
            direct: None,
            receive_buffer: None,
        };
        self.writer.match_subscription(self.now, matched);
    }

    pub fn write(&mut self, id: u32, value: u32) -> Result<SequenceNumber, WriteError> {
        self.writer.write(self.now, Body::Copy(&data(id, value)), &WriteOptions::default())
    }

    /// Time passes; datagrams arrive at once, unless the link is cut.
    pub fn wait(&mut self, span: Duration) {
        let end = self.now.monotonic.after(span);
        let wall_end = self.now.wall.after(span);
        let mut steps = 0;
        loop {
            self.exchange();
            let next = self
                .writer
                .poll_timeout()
                .min(self.rtps_reader.poll_timeout())
                .min(self.reader.poll_timeout());
            if next > end {
                break;
            }
            steps += 1;
            assert!(steps < 100_000, "no end: a timer is due and nothing happens");
            let next = next.max(self.now.monotonic);
            self.now.wall = self.now.wall.after(next.since(self.now.monotonic));
            self.now.monotonic = next;
            self.writer.on_timeout(self.now);
            self.reader.on_timeout(self.now);
        }
        (self.now.monotonic, self.now.wall) = (end, wall_end);
    }

    /// What is ready to leave leaves, and arrives.
    pub fn exchange(&mut self) {
        let (now, from) = (self.now, SocketAddr::from(([10, 0, 0, 9], 7411)));
        loop {
            let mut quiet = true;
            while self.writer.rtps_mut().poll_transmit(now, &mut self.transmit) {
                quiet = false;
                self.datagrams += 1;
                self.class = Some(self.transmit.class());
                self.datagram.clear();
                self.transmit.copy_to(&mut self.datagram);
                if self.cut {
                    continue;
                }
                let mut route = ToTheReader { now, rtps: &mut self.rtps_reader, reader: &mut self.reader };
                interpret(reader_guid().prefix, from, &self.datagram, &mut route).unwrap();
            }
            if self.reader.wants_resume() {
                self.rtps_reader.resume(now, &mut self.reader.sink(now));
            }
            while self.rtps_reader.poll_transmit(now, &mut self.transmit) {
                quiet = false;
                self.datagram.clear();
                self.transmit.copy_to(&mut self.datagram);
                let mut route = ToTheWriter { now, writer: &mut self.writer };
                interpret(writer_guid().prefix, from, &self.datagram, &mut route).unwrap();
            }
            if quiet {
                return;
            }
        }
    }

    pub fn take(&mut self) -> Vec<Sample> {
        let mut out = Vec::new();
        self.reader.access(self.now, &Request::TAKE, &mut out).unwrap();
        out
    }

    pub fn values(&mut self) -> Vec<Option<u32>> {
        self.take().iter().map(value).collect()
    }

    pub fn at(&self) -> Instant {
        self.now.monotonic
    }
}

struct ToTheReader<'a> {
    now: Now,
    rtps: &'a mut Reader,
    reader: &'a mut DataReader<Types>,
}

impl Route for ToTheReader<'_> {
    fn to_reader(&mut self, context: &Context, _: EntityId, _: Guid, submessage: &ToReader<'_>) {
        let (now, source) = (self.now, &context.source);
        let sink = &mut self.reader.sink(now);
        match submessage {
            ToReader::Data(data) => self.rtps.on_data(now, source, data, sink),
            ToReader::DataFrag(fragment) => self.rtps.on_data_frag(now, source, fragment, sink),
            ToReader::Heartbeat(heartbeat) => self.rtps.on_heartbeat(now, source, heartbeat, sink),
            ToReader::HeartbeatFrag(heartbeat) => self.rtps.on_heartbeat_frag(now, source, heartbeat, sink),
            ToReader::Gap(gap) => self.rtps.on_gap(now, source, gap, sink),
        }
    }

    fn to_writer(&mut self, _: &Context, _: EntityId, _: &ToWriter) {}
}

struct ToTheWriter<'a> {
    now: Now,
    writer: &'a mut DataWriter<Types, Payload>,
}

impl Route for ToTheWriter<'_> {
    fn to_reader(&mut self, _: &Context, _: EntityId, _: Guid, _: &ToReader<'_>) {}

    fn to_writer(&mut self, context: &Context, _: EntityId, submessage: &ToWriter) {
        let (now, prefix) = (self.now, context.source.prefix);
        match submessage {
            ToWriter::AckNack(acknack) => self.writer.rtps_mut().on_acknack(now, prefix, acknack),
            ToWriter::NackFrag(nack) => self.writer.rtps_mut().on_nack_frag(now, prefix, nack),
        }
    }
}
