//! The hot paths take nothing from the heap once they are warm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at once")]
mod pair;

use std::num::NonZeroU16;
use std::sync::Arc;

use pair::{Random, ToTheReader, ToTheWriter, WRITER, path_to, reader_guid, writer_guid};
use rtps::reader::{Accept, MatchedWriter, Reader, ReaderConfig, Sample, Sink};
use rtps::receiver::interpret;
use rtps::writer::{Body, Change, MatchedReader, Writer, WriterConfig};
use rtps::{Flow, Path, Transmit};
use wire::message::PayloadKind;
use wire::parameter::{InlineQos, StatusInfo};
use wire::{Duration, Guid, Now, SequenceNumber, Timestamp};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// Counts and checks the order; takes nothing from the heap itself.
#[derive(Default)]
struct Count {
    samples: u64,
    octets: u64,
}

impl Sink for Count {
    fn deliver(&mut self, sample: &mut Sample<'_>) -> Accept {
        self.samples += 1;
        assert_eq!(sample.sequence_number, SequenceNumber(self.samples as i64));
        self.octets += sample.payload.bytes().len() as u64;
        Accept::Taken
    }

    fn lost(&mut self, _: Guid, first: SequenceNumber, count: u64) {
        panic!("{count} lost from {first}");
    }
}

/// A writer and a reader that hand each other datagrams through one buffer.
struct Link {
    now: Now,
    writer: Writer<Arc<[u8]>>,
    reader: Reader,
    count: Count,
    transmit: Transmit<Arc<[u8]>>,
    datagram: Vec<u8>,
    random: Random,
    /// Percentage of the writer's datagrams that are lost.
    loss: u64,
}

impl Link {
    fn new(config: WriterConfig, mtu: u32) -> Self {
        let mut link = Self {
            now: Now::default(),
            writer: Writer::new(config),
            reader: Reader::new(ReaderConfig::new(reader_guid(0), true)),
            count: Count::default(),
            transmit: Transmit::new(),
            datagram: Vec::with_capacity(70_000),
            random: Random::new(1),
            loss: 0,
        };
        let writer = MatchedWriter { guid: writer_guid(), reliable: true, paths: vec![path_to(1, mtu)] };
        link.reader.match_writer(link.now, writer);
        let reader = MatchedReader {
            guid: reader_guid(0),
            reliable: true,
            wants_history: false,
            paths: vec![path_to(2, mtu)],
            direct: None,
            receive_buffer: None,
        };
        link.writer.match_reader(link.now, reader);
        link
    }

    /// The reader is admitted: fresh changes come along a flow, 600 us apart.
    fn admit(&mut self, mtu: u32) {
        let flow = Flow { port: NonZeroU16::new(50_000).unwrap(), class: 46 };
        let reader = MatchedReader {
            guid: reader_guid(0),
            reliable: true,
            wants_history: false,
            paths: vec![Path { flow: Some(flow), ..path_to(2, mtu) }],
            direct: Some(path_to(2, mtu)),
            receive_buffer: None,
        };
        self.writer.match_reader(self.now, reader);
        self.writer.set_separation(Duration::from_micros(600));
    }

    fn exchange(&mut self) {
        let from = path_to(9, 1_472).destination;
        let now = self.now;
        while self.writer.poll_transmit(now, &mut self.transmit) {
            for slices in self.transmit.datagrams() {
                self.datagram.clear();
                slices.for_each(|slice| self.datagram.extend_from_slice(slice));
                if self.random.chance(self.loss) {
                    continue;
                }
                let mut route = ToTheReader { now, reader: &mut self.reader, delivered: &mut self.count };
                interpret(reader_guid(0).prefix, from, &self.datagram, &mut route).unwrap();
            }
        }
        while self.reader.poll_transmit(now, &mut self.transmit) {
            self.datagram.clear();
            self.transmit.copy_to(&mut self.datagram);
            let mut route = ToTheWriter { now, writer: &mut self.writer };
            interpret(WRITER, from, &self.datagram, &mut route).unwrap();
        }
        self.now.monotonic = now.monotonic.after(Duration::from_micros(700));
        self.now.wall = Timestamp::from_nanos(self.now.monotonic.as_nanos() as i64);
    }

    /// Writes `rounds` times `per_round` samples; says how many allocations that took.
    fn run(
        &mut self,
        rounds: u64,
        per_round: u64,
        body: &Body<'_, Arc<[u8]>>,
        inline_qos: Option<&[u8]>,
    ) -> u64 {
        let ((), usage) = alloc_meter::measure(|| {
            for _ in 0..rounds {
                for _ in 0..per_round {
                    let change =
                        Change { kind: PayloadKind::Data, inline_qos, source_timestamp: Some(self.now.wall) };
                    while self.writer.write(self.now, &change, body.clone()).is_err() {
                        self.exchange();
                    }
                }
                self.exchange();
            }
        });
        usage.count
    }
}

fn none_once_warm(mut link: Link, per_round: u64, body: &Body<'_, Arc<[u8]>>, inline_qos: Option<&[u8]>) {
    link.run(3_000, per_round, body, inline_qos);
    let before = link.count.samples;
    assert_eq!(link.run(2_000, per_round, body, inline_qos), 0);
    assert!(link.count.samples > before + 1_000 * per_round);
}

#[test]
fn single_samples() {
    let link = Link::new(WriterConfig::new(writer_guid(), true), 65_507);
    none_once_warm(link, 1, &Body::Copy(&[7; 68]), None);
}

#[test]
fn samples_with_inline_qos() {
    let mut inline_qos = Vec::new();
    let status_info = StatusInfo::DISPOSED;
    InlineQos { key_hash: Some([3; 16]), status_info, ..InlineQos::default() }.encode(&mut inline_qos);
    let link = Link::new(WriterConfig::new(writer_guid(), true), 1_472);
    none_once_warm(link, 1, &Body::Copy(&[7; 20]), Some(&inline_qos));
}

#[test]
fn batches() {
    let config =
        WriterConfig { batch_delay: Duration::from_micros(500), ..WriterConfig::new(writer_guid(), true) };
    none_once_warm(Link::new(config, 65_507), 700, &Body::Copy(&[7; 20]), None);
}

#[test]
fn fragments_by_handle() {
    let link = Link::new(WriterConfig::new(writer_guid(), true), 1_472);
    none_once_warm(link, 1, &Body::Shared(Arc::from([5; 40_000])), None);
}

#[test]
fn messages_along_a_flow() {
    for bytes in [68, 40_000] {
        let config = WriterConfig {
            max_datagram: 1_472,
            largest_message: Some(bytes),
            ..WriterConfig::new(writer_guid(), true)
        };
        let mut link = Link::new(config, 1_472);
        link.admit(1_472);
        none_once_warm(link, 1, &Body::Shared(Arc::from(vec![5; bytes as usize])), None);
    }
}

#[test]
fn repairs_of_lost_samples() {
    let mut link = Link::new(WriterConfig::new(writer_guid(), true), 1_472);
    link.loss = 20;
    // The rarest patterns of loss need the longest to warm up.
    link.run(60_000, 3, &Body::Copy(&[7; 68]), None);
    assert_eq!(link.run(2_000, 3, &Body::Copy(&[7; 68]), None), 0);
    assert!(link.writer.counters().repairs > 1_000);
}
