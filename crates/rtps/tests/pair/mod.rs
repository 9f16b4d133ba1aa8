//! One writer, some readers and a faulty wire between them, on a virtual clock.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this module")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at once")]
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use rtps::Path;
use rtps::reader::{Accept, MatchedWriter, Reader, ReaderConfig, Sample, Sink, Unusable};
use rtps::receiver::{Context, Route, ToReader, ToWriter, interpret};
use rtps::transmit::Transmit;
use rtps::writer::{Body, Change, MatchedReader, WriteError, Writer, WriterConfig};
pub use testkit::random::Random;
use wire::message::{Heartbeat, PayloadKind};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant, Now, SequenceNumber, Timestamp};

pub type Payload = Arc<[u8]>;

pub const WRITER: GuidPrefix = GuidPrefix([1; 12]);

pub fn writer_guid() -> Guid {
    Guid::new(WRITER, EntityId::user(1, EntityKind::WriterWithKey))
}

pub fn reader_guid(index: u8) -> Guid {
    Guid::new(GuidPrefix([2 + index; 12]), EntityId::user(1, EntityKind::ReaderWithKey))
}

/// The writer's HEARTBEAT for the first reader, with its history from the first sample on.
pub fn heartbeat_of(last: i64, count: i32, is_final: bool) -> Heartbeat {
    Heartbeat {
        reader_id: reader_guid(0).entity_id,
        writer_id: writer_guid().entity_id,
        first: SequenceNumber(1),
        last: SequenceNumber(last),
        count,
        is_final,
        liveliness: false,
    }
}

pub fn path_to(host: u8, mtu: u32) -> Path {
    Path::routed(SocketAddr::from(([10, 0, 0, host], 7411)), mtu)
}

/// What a reader has delivered.
#[derive(Default)]
pub struct Delivered {
    pub samples: Vec<(SequenceNumber, Vec<u8>)>,
    pub lost: u64,
    /// What the reader could not take.
    pub refused: Vec<(SequenceNumber, Unusable)>,
    /// Refuses when this many have been delivered.
    pub limit: Option<usize>,
}

impl Sink for Delivered {
    fn deliver(&mut self, sample: &mut Sample<'_>) -> Accept {
        if self.limit.is_some_and(|limit| self.samples.len() >= limit) {
            return Accept::Full;
        }
        self.samples.push((sample.sequence_number, sample.payload.bytes().to_vec()));
        Accept::Taken
    }

    fn lost(&mut self, _writer: Guid, _first: SequenceNumber, count: u64) {
        self.lost += count;
    }

    fn refused(&mut self, _writer: Guid, number: SequenceNumber, why: Unusable) {
        self.refused.push((number, why));
    }
}

/// Percentages of faults, and delays in microseconds.
#[derive(Clone, Copy, Default)]
pub struct Wire {
    pub loss: u64,
    pub duplicate: u64,
    pub jitter: u64,
    /// On top of 20.
    pub delay: u64,
}

pub struct Pair {
    pub now: Now,
    pub writer: Writer<Payload>,
    pub readers: Vec<(Reader, Delivered)>,
    pub random: Random,
    pub wire: Wire,
    pub mtu: u32,
    /// Datagrams under way: arrival, order, destination host (1 is the writer) and bytes.
    flight: BTreeMap<(u64, u64), (u8, Vec<u8>)>,
    order: u64,
    transmit: Transmit<Payload>,
    pub datagrams: u64,
    /// What the readers announce.
    pub receive_buffer: Option<u32>,
    /// What goes to this host gets lost.
    pub cut: Option<u8>,
    /// Larger datagrams to readers are swallowed, or only those to one host.
    pub carries: Option<usize>,
    pub narrow_host: Option<u8>,
    /// Most bytes on the way to readers at any time, each datagram counted with 768 more.
    pub most_under_way: usize,
    /// What has left for readers, lost or not: when, in nanoseconds, for which host, and bytes of UDP payload.
    pub departures: Vec<(u64, u8, usize)>,
    /// Each datagram goes a second way at once, which has faults of its own: 1+1.
    pub beside: Option<Wire>,
    /// A send call of the writer takes up to so many microseconds if it says that this counts.
    pub send_call: u64,
}

impl Pair {
    pub fn new(seed: u64, writer: WriterConfig, readers: &[ReaderConfig]) -> Self {
        Self {
            now: Now::default(),
            writer: Writer::new(writer),
            readers: readers.iter().map(|config| (Reader::new(*config), Delivered::default())).collect(),
            random: Random::new(seed),
            wire: Wire::default(),
            mtu: Path::MAX_DATAGRAM,
            flight: BTreeMap::new(),
            order: 0,
            transmit: Transmit::new(),
            datagrams: 0,
            receive_buffer: None,
            cut: None,
            carries: None,
            narrow_host: None,
            most_under_way: 0,
            departures: Vec::new(),
            beside: None,
            send_call: 0,
        }
    }

    pub fn reliable(seed: u64) -> Self {
        Self::new(seed, WriterConfig::new(writer_guid(), true), &[ReaderConfig::new(reader_guid(0), true)])
    }

    pub fn connect(&mut self, index: usize, wants_history: bool) {
        let host = 2 + index as u8;
        let (reader, _) = &mut self.readers[index];
        let guid = reader.guid();
        let matched =
            MatchedWriter { guid: self.writer.guid(), reliable: true, paths: vec![path_to(1, self.mtu)] };
        reader.match_writer(self.now, matched);
        self.writer.match_reader(
            self.now,
            MatchedReader {
                guid,
                reliable: reader.config().reliable,
                wants_history,
                paths: vec![path_to(host, self.mtu)],
                direct: None,
                receive_buffer: self.receive_buffer,
            },
        );
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<SequenceNumber, WriteError> {
        let change = Change {
            kind: PayloadKind::Data,
            inline_qos: None,
            source_timestamp: Some(Timestamp::from_nanos(self.now.monotonic.as_nanos() as i64)),
        };
        let number = self.writer.write(self.now, &change, Body::Copy(bytes));
        assert!(self.writer.held_bytes() <= self.writer.config().byte_limit);
        number
    }

    /// Runs for a span of virtual time.
    pub fn run(&mut self, span: Duration) {
        let end = self.now.monotonic.after(span);
        let mut steps = 0u64;
        loop {
            self.send();
            let arrival =
                self.flight.first_key_value().map_or(Instant::NEVER, |((at, _), _)| Instant::from_nanos(*at));
            let timers =
                self.readers.iter().map(|(reader, _)| reader.poll_timeout().min(reader.next_expiry())).min();
            let next = arrival.min(self.writer.poll_timeout()).min(timers.unwrap_or(Instant::NEVER));
            if next > end {
                break;
            }
            steps += 1;
            assert!(steps < 5_000_000, "no end: the machines talk without need");
            self.now.monotonic = self.now.monotonic.max(next);
            for (reader, delivered) in &mut self.readers {
                reader.expire(self.now, delivered);
            }
            if arrival <= self.now.monotonic
                && let Some((_, (host, bytes))) = self.flight.pop_first()
            {
                self.arrive(host, &bytes);
            }
        }
        self.now.monotonic = self.now.monotonic.max(end);
    }

    fn send(&mut self) {
        while self.writer.poll_transmit(self.now, &mut self.transmit) {
            if self.send_call > 0 && self.transmit.is_message() {
                let takes = self.random.below_u64(self.send_call + 1);
                self.now.monotonic = self.now.monotonic.after(Duration::from_micros(takes as i64));
            }
            self.launch();
        }
        for index in 0..self.readers.len() {
            while self.readers[index].0.poll_transmit(self.now, &mut self.transmit) {
                self.launch();
            }
        }
    }

    fn launch(&mut self) {
        let mut bytes = Vec::new();
        self.transmit.copy_to(&mut bytes);
        self.datagrams += 1;
        for path in self.transmit.paths().to_vec() {
            assert!(bytes.len() <= path.max_datagram as usize, "{} bytes for {path:?}", bytes.len());
            let SocketAddr::V4(to) = path.destination else { panic!("unexpected {path:?}") };
            let host = to.ip().octets()[3];
            if host > 1 {
                self.departures.push((self.now.monotonic.as_nanos(), host, bytes.len()));
            }
            for wire in [Some(self.wire), self.beside].into_iter().flatten() {
                self.travel(host, &bytes, wire);
            }
        }
    }

    /// A datagram goes one way.
    fn travel(&mut self, host: u8, bytes: &[u8], wire: Wire) {
        let copies = if self.random.chance(wire.duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            let is_narrow = host > 1 && self.narrow_host.is_none_or(|narrow| narrow == host);
            let swallowed = is_narrow && self.carries.is_some_and(|most| bytes.len() > most);
            if self.random.chance(wire.loss) || self.cut == Some(host) || swallowed {
                continue;
            }
            let delay = 20 + wire.delay + self.random.below_u64(wire.jitter + 1);
            self.order += 1;
            let at = self.now.monotonic.after(Duration::from_micros(delay as i64)).as_nanos();
            self.flight.insert((at, self.order), (host, bytes.to_vec()));
            let to_readers = self.flight.values().filter(|(host, _)| *host > 1);
            let under_way = to_readers.map(|(_, bytes)| bytes.len() + 768).sum();
            self.most_under_way = self.most_under_way.max(under_way);
        }
    }

    fn arrive(&mut self, host: u8, bytes: &[u8]) {
        let from = SocketAddr::from(([10, 0, 0, 99], 7411));
        if host == 1 {
            let now = self.now;
            interpret(WRITER, from, bytes, &mut ToTheWriter { now, writer: &mut self.writer }).unwrap();
        } else {
            let (reader, delivered) = &mut self.readers[host as usize - 2];
            let prefix = reader.guid().prefix;
            let now = self.now;
            interpret(prefix, from, bytes, &mut ToTheReader { now, reader, delivered }).unwrap();
            assert!(reader.held_bytes() <= reader.config().byte_limit);
        }
    }
}

pub struct ToTheWriter<'a> {
    pub now: Now,
    pub writer: &'a mut Writer<Payload>,
}

impl Route for ToTheWriter<'_> {
    fn to_reader(&mut self, _: &Context, _: EntityId, _: Guid, _: &ToReader<'_>) {}

    fn to_writer(&mut self, context: &Context, _: EntityId, submessage: &ToWriter) {
        match submessage {
            ToWriter::AckNack(acknack) => self.writer.on_acknack(self.now, context.source.prefix, acknack),
            ToWriter::NackFrag(nack) => self.writer.on_nack_frag(self.now, context.source.prefix, nack),
        }
    }
}

pub struct ToTheReader<'a, S> {
    pub now: Now,
    pub reader: &'a mut Reader,
    pub delivered: &'a mut S,
}

impl<S: Sink> Route for ToTheReader<'_, S> {
    fn to_reader(&mut self, context: &Context, _: EntityId, _: Guid, submessage: &ToReader<'_>) {
        let (now, source, sink) = (self.now, &context.source, &mut *self.delivered);
        match submessage {
            ToReader::Data(data) => self.reader.on_data(now, source, data, sink),
            ToReader::DataFrag(fragment) => self.reader.on_data_frag(now, source, fragment, sink),
            ToReader::Heartbeat(heartbeat) => self.reader.on_heartbeat(now, source, heartbeat, sink),
            ToReader::HeartbeatFrag(heartbeat) => self.reader.on_heartbeat_frag(now, source, heartbeat, sink),
            ToReader::Gap(gap) => self.reader.on_gap(now, source, gap, sink),
        }
    }

    fn to_writer(&mut self, _: &Context, _: EntityId, _: &ToWriter) {}
}
