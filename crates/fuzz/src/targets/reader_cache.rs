//! DataReaders behind writers that are matched and say whatever they like: any inline QoS, key hash and payload, in any order.
//!
//! The DATA of a datagram are handed to the caches as they are. What would go through the protocol of RTPS before, and mostly be
//! held up there, is the matter of the targets of participants.
use std::net::SocketAddr;
use std::sync::Arc;

use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::reader::{DataReader, MatchedPublication, Request, Sample};
use dcps::writer::{DataWriter, InstanceOf, WriteOptions};
use dcps::{CdrTypeSupport, States};
use derive::DdsType;
use rtps::reader::{Accept, Sample as Received, SamplePayload, Sink};
use rtps::receiver::{Context, Route, ToReader, ToWriter, interpret};
use rtps::writer::{Body, MatchedReader, WriterConfig};
use rtps::{Path, Transmit};
use wire::cdr::{BoundedString, BoundedVec, CdrType, DdsType, Encoding, Representation};
use wire::message::encode::{self, DataHeader};
use wire::message::{Data, PayloadKind};
use wire::parameter::{InlineQos, StatusInfo};
use wire::qos::{
    DataRepresentation, DestinationOrder, Durability, History, Ownership, Reliability, ReliabilityKind,
};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Now, SequenceNumber, Timestamp};

use crate::seeds::PREFIX;

/// A type whose key the two versions of CDR align differently, and whose hash is a digest. It is bounded, so that what is used
/// again of its values stays small.
#[derive(DdsType, Debug, PartialEq)]
struct Track {
    #[dds(key)]
    sensor: u8,
    #[dds(key)]
    object: u64,
    #[dds(key)]
    name: BoundedString<24>,
    points: BoundedVec<u16, 8>,
}

type Types = CdrTypeSupport<Track>;

const OURS: GuidPrefix = GuidPrefix(*b"\x01\xfeours-known");
/// One writer of each representation.
const WRITERS: [(EntityId, Representation); 2] = [
    (EntityId::user(1, EntityKind::WriterWithKey), Representation::Xcdr1),
    (EntityId::user(2, EntityKind::WriterWithKey), Representation::Xcdr2),
];
/// Bytes, instances and samples that a reader may hold. Small, so that three readers together stay within what one input may take.
const BYTE_LIMIT: usize = 4 * 1024;
const MAX_INSTANCES: u32 = 5;
const MAX_SAMPLES: u32 = 12;
/// How often the application takes: once per so many inputs.
const TAKES: u32 = 8;

/// Readers that see the same, and the time.
struct Readers {
    now: Now,
    readers: [DataReader<Types>; 3],
    taken: Vec<Sample>,
    /// Samples of each writer so far.
    numbers: [i64; WRITERS.len()],
    count: u32,
    /// Samples that were refused and came again.
    waited: u64,
}

pub(super) fn session() -> impl FnMut(&[u8]) {
    let mut readers = Readers::new();
    move |datagram| readers.hear(datagram)
}

impl Readers {
    fn new() -> Self {
        let limited: fn(&mut DataReaderQos) = |qos| {
            qos.endpoint.reliability = Reliability::RELIABLE;
            qos.endpoint.history = History::KeepAll;
            qos.endpoint.resource_limits.max_samples = Some(MAX_SAMPLES);
            qos.endpoint.resource_limits.max_samples_per_instance = Some(MAX_SAMPLES / 3);
            qos.endpoint.deadline = Duration::from_millis(20);
            qos.reader_data_lifecycle.autopurge_disposed_samples_delay = Duration::from_millis(30);
        };
        let ordered: fn(&mut DataReaderQos) = |qos| {
            qos.endpoint.history = History::KeepLast(3);
            qos.endpoint.destination_order = DestinationOrder::BySourceTimestamp;
            qos.endpoint.ownership = Ownership::Exclusive;
            qos.reader_data_lifecycle.autopurge_nowriter_samples_delay = Duration::from_millis(10);
        };
        let filtered: fn(&mut DataReaderQos) = |qos| {
            qos.endpoint.reliability = Reliability::RELIABLE;
            qos.endpoint.history = History::KeepLast(2);
            qos.endpoint.time_based_filter = Duration::from_millis(5);
        };
        let mut readers = Self {
            now: Now::default(),
            readers: [limited, ordered, filtered].map(reader),
            taken: Vec::with_capacity(64),
            numbers: [0; WRITERS.len()],
            count: 0,
            waited: 0,
        };
        let [.., filtered] = &mut readers.readers;
        filtered.set_instance_owner(Some(owner));
        for index in 0..WRITERS.len() {
            readers.meet(index);
        }
        readers
    }

    /// Matches a writer. How strong it is, and how long its samples last, is another thing each time.
    fn meet(&mut self, index: usize) {
        let Some((entity, representation)) = WRITERS.get(index) else { return };
        let millis = i64::from(self.count % 5) * 20;
        for reader in &mut self.readers {
            reader.match_publication(MatchedPublication {
                guid: Guid::new(PREFIX, *entity),
                ownership_strength: (self.count % 3).cast_signed(),
                lifespan: if millis == 0 { Duration::INFINITE } else { Duration::from_millis(millis) },
                representation: *representation,
            });
        }
    }

    fn hear(&mut self, datagram: &[u8]) {
        self.count += 1;
        // A malformed datagram is an error, and what was read of it before counts.
        let from = SocketAddr::from(([10, 0, 0, 2], 7410));
        let _ = interpret(OURS, from, datagram, self);
        let span = Duration::from_micros(1_000 + (datagram.len() % 64 * 100) as i64);
        self.now = Now { monotonic: self.now.monotonic.after(span), wall: self.now.wall.after(span) };
        for reader in &mut self.readers {
            reader.on_timeout(self.now);
            assert!(reader.poll_timeout() > self.now.monotonic, "a timer that was served is due again");
            check(reader);
        }
        if self.count.is_multiple_of(TAKES) {
            self.take();
        }
    }

    fn take(&mut self) {
        for reader in &mut self.readers {
            let has_some = reader.has_samples(self.now, States::ANY);
            let taken = reader.access(self.now, &Request::TAKE, &mut self.taken);
            assert_eq!(taken, Ok(self.taken.len()));
            assert_eq!(has_some, !self.taken.is_empty(), "what is there is taken");
            assert!(!reader.has_samples(self.now, States::ANY), "what was taken is there");
            for Sample { info, payload, key } in self.taken.drain(..) {
                assert_eq!((info.valid_data, key.is_some()), (payload.is_some(), payload.is_none()));
                if let Some(payload) = &payload {
                    // What follows the key is judged where the sample is decoded.
                    let key = Track::initial().decode_payload_to_key(payload.bytes());
                    assert!(key.is_ok(), "its key was read from it");
                    let _ = Track::decode_payload(payload.bytes());
                }
                if let Some(key) = &key {
                    assert!(
                        Track::decode_key_payload(key.bytes()).is_ok(),
                        "the key of an end cannot be read"
                    );
                }
                payload.into_iter().chain(key).for_each(|payload| reader.recycle(payload));
            }
            check(reader);
        }
    }

    /// Gives a change to every reader.
    fn deliver(&mut self, context: &Context, index: usize, data: &Data<'_>) {
        // A list that cannot be read stops the sample before it gets here.
        let qos = data.inline_qos.as_ref().map_or(Ok(InlineQos::default()), InlineQos::read);
        let (Ok(inline_qos), Some((entity, _))) = (qos, WRITERS.get(index)) else { return };
        let Some(number) = self.numbers.get_mut(index) else { return };
        *number += 1;
        let number = *number;
        for reader in &mut self.readers {
            let payload = data.payload.map_or(SamplePayload::None, |payload| match number % 4 {
                // As a sample of several fragments comes.
                0 => SamplePayload::Owned(payload.bytes.to_vec()),
                _ => SamplePayload::Datagram(payload.bytes),
            });
            let mut sample = Received {
                writer: Guid::new(PREFIX, *entity),
                sequence_number: SequenceNumber(number),
                source_timestamp: context.source.timestamp.map(|at| near(self.now, at)),
                inline_qos,
                is_key: data.payload.is_some_and(|payload| payload.is_key),
                payload,
            };
            let accept = reader.sink(self.now).deliver(&mut sample);
            if accept == Accept::Full {
                self.waited += 1;
                make_room(reader, self.now, &mut sample, &mut self.taken);
            }
            check(reader);
        }
    }
}

/// Some instances belong to the participant of the writers, some to no participant.
fn owner(key: &[u8]) -> Option<GuidPrefix> {
    let sum = key.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    (!sum.is_multiple_of(8)).then_some(PREFIX)
}

/// A sample that a reader refuses finds room, or is dropped, once everything is taken; otherwise its writer would wait for ever.
fn make_room(reader: &mut DataReader<Types>, now: Now, sample: &mut Received<'_>, taken: &mut Vec<Sample>) {
    assert!(reader.qos().endpoint.reliability.kind == ReliabilityKind::Reliable && reader.samples() > 0);
    let count = reader.access(now, &Request::TAKE, taken);
    assert!(count.is_ok_and(|count| count > 0), "nothing to take, and no room");
    for Sample { payload, key, .. } in taken.drain(..) {
        payload.into_iter().chain(key).for_each(|payload| reader.recycle(payload));
    }
    assert!(reader.wants_resume(), "there is room, and nobody is told");
    assert_eq!(reader.sink(now).deliver(sample), Accept::Taken, "an empty cache is full");
}

fn check(reader: &DataReader<Types>) {
    let held = (reader.held_bytes(), reader.instances(), reader.samples());
    assert!(held.0 <= BYTE_LIMIT, "{} bytes", held.0);
    assert!(held.1 <= MAX_INSTANCES as usize, "{} instances", held.1);
    let limits = reader.qos().endpoint.resource_limits;
    assert!(limits.max_samples.is_none_or(|limit| held.2 <= limit as usize), "{} samples", held.2);
}

/// A timestamp that mostly lies within some milliseconds of now, so that order and lifespan count.
fn near(now: Now, at: Timestamp) -> Timestamp {
    match at.as_nanos() & 7 {
        0 => at,
        _ => now.wall.after(Duration::from_nanos(at.as_nanos() % 40_000_000 - 20_000_000)),
    }
}

impl Route for Readers {
    fn to_reader(&mut self, context: &Context, _: EntityId, writer: Guid, submessage: &ToReader<'_>) {
        let last = writer.entity_id.0.last().copied().unwrap_or_default();
        let index =
            usize::from(writer.entity_id.0.get(2).copied().unwrap_or_default() ^ last) % WRITERS.len();
        let Some((entity, _)) = WRITERS.get(index) else { return };
        let guid = Guid::new(PREFIX, *entity);
        match submessage {
            ToReader::Data(data) => self.deliver(context, index, data),
            // What a writer does beside its samples: it goes silent, leaves, comes with other QoS, loses samples.
            ToReader::Heartbeat(heartbeat) => {
                for reader in &mut self.readers {
                    reader.set_liveliness(self.now, guid, heartbeat.is_final);
                }
            }
            ToReader::HeartbeatFrag(_) | ToReader::DataFrag(_) => {
                for reader in &mut self.readers {
                    reader.unmatch_publication(self.now, guid);
                }
                self.meet(index);
            }
            ToReader::Gap(gap) => {
                let now = self.now;
                self.readers.iter_mut().for_each(|reader| reader.sink(now).lost(guid, gap.start, 3));
                self.meet(index);
            }
        }
    }

    fn to_writer(&mut self, _: &Context, _: EntityId, _: &ToWriter) {}
}

fn reader(change: fn(&mut DataReaderQos)) -> DataReader<Types> {
    let mut qos = DataReaderQos { byte_limit: BYTE_LIMIT, ..DataReaderQos::default() };
    qos.endpoint.resource_limits.max_instances = Some(MAX_INSTANCES);
    qos.endpoint.representation = vec![DataRepresentation::XCDR1, DataRepresentation::XCDR2];
    change(&mut qos);
    let guid = Guid::new(OURS, EntityId::user(1, EntityKind::ReaderWithKey));
    let made = DataReader::new(guid, qos, Types::new());
    assert!(made.is_ok(), "{:?}", made.err());
    let Ok(reader) = made else { unreachable!() };
    reader
}

/// What honest writers of both representations send: samples, answers, and ends of instances of each kind.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (entity, representation) in WRITERS {
        seeds.extend(written(entity, representation));
        seeds.extend(told(entity, encoding(representation)));
    }
    seeds.extend(crate::seeds::messages());
    seeds
}

const fn encoding(representation: Representation) -> Encoding {
    match representation {
        Representation::Xcdr1 => Encoding::XCDR1,
        Representation::Xcdr2 => Encoding::XCDR2,
    }
}

/// A sample of one of five instances.
fn payload(step: u16, encoding: Encoding) -> Vec<u8> {
    let object = u64::from(step % 5);
    let name = BoundedString::try_from(format!("object {object}")).unwrap_or_default();
    let points = BoundedVec::try_from(vec![step; 3]).unwrap_or_default();
    let track = Track { sensor: 1, object, name, points };
    let mut payload = Vec::new();
    assert_eq!(track.encode_payload(encoding, &mut payload), Ok(()));
    payload
}

/// What no writer of ours says: hashes of its own making, ends by hash alone, samples that did not pass a filter.
fn told(writer_id: EntityId, encoding: Encoding) -> Vec<Vec<u8>> {
    let hash = |octet| InlineQos { key_hash: Some([octet; 16]), ..InlineQos::default() };
    let ends = |qos, status_info| InlineQos { status_info, ..qos };
    let all = [
        (hash(1), PayloadKind::Data),
        (ends(hash(1), StatusInfo::UNREGISTERED), PayloadKind::None),
        (hash(2), PayloadKind::Data),
        (ends(hash(2), StatusInfo::DISPOSED), PayloadKind::None),
        (ends(hash(2), StatusInfo::DISPOSED | StatusInfo::UNREGISTERED), PayloadKind::None),
        (ends(InlineQos::default(), StatusInfo::FILTERED), PayloadKind::Data),
        (ends(hash(3), StatusInfo::FILTERED | StatusInfo::DISPOSED), PayloadKind::Data),
    ];
    let message = |(step, (qos, kind)): (u16, (InlineQos, PayloadKind))| {
        let (mut out, mut inline_qos) = (Vec::new(), Vec::new());
        qos.encode(&mut inline_qos);
        encode::header(&mut out, PREFIX);
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            sequence_number: SequenceNumber(1),
            inline_qos: Some(&inline_qos),
            kind,
        };
        let payload = if kind == PayloadKind::None { Vec::new() } else { payload(step / 2, encoding) };
        encode::data(&mut out, &header, &payload);
        out
    };
    (0..).zip(all).map(message).collect()
}

fn written(entity: EntityId, representation: Representation) -> Vec<Vec<u8>> {
    let id = match representation {
        Representation::Xcdr1 => DataRepresentation::XCDR1,
        Representation::Xcdr2 => DataRepresentation::XCDR2,
    };
    let mut qos = DataWriterQos::default();
    qos.endpoint.representation = vec![id];
    qos.endpoint.durability = Durability::TransientLocal;
    let mut now = Now { wall: Timestamp::from_nanos(1_700_000_000_000_000_000), ..Now::default() };
    let guid = Guid::new(PREFIX, entity);
    let made = DataWriter::<_, Arc<[u8]>>::new(now, WriterConfig::new(guid, true), qos, Types::new());
    assert!(made.is_ok(), "{:?}", made.err());
    let Ok(mut writer) = made else { unreachable!() };
    let path = Path::routed(SocketAddr::from(([10, 0, 0, 1], 7411)), 1_472);
    let matched = MatchedReader {
        guid: Guid::new(OURS, EntityId::user(1, EntityKind::ReaderWithKey)),
        reliable: true,
        wants_history: false,
        paths: vec![path],
        direct: None,
        receive_buffer: None,
    };
    writer.match_subscription(now, matched);
    let mut seeds = Vec::new();
    let mut transmit = Transmit::new();
    for step in 0..24_u16 {
        let payload = payload(step, encoding(representation));
        let related = step.is_multiple_of(4).then_some((guid, SequenceNumber(1)));
        let options = WriteOptions { related, ..WriteOptions::default() };
        let instance = InstanceOf::Sample(&payload);
        let done = match step % 6 {
            4 => writer.dispose(now, instance, None),
            5 => writer
                .unregister_instance(now, instance, None)
                .or_else(|_| writer.dispose(now, instance, None)),
            _ => writer.write(now, Body::Copy(&payload), &options),
        };
        assert!(done.is_ok(), "{done:?}");
        // Now and then several samples are of one datagram.
        if step % 3 != 1 {
            while writer.rtps_mut().poll_transmit(now, &mut transmit) {
                let mut datagram = Vec::new();
                transmit.copy_to(&mut datagram);
                seeds.push(datagram);
            }
        }
        let span = Duration::from_millis(1);
        now = Now { monotonic: now.monotonic.after(span), wall: now.wall.after(span) };
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcps::reader::DropReason;

    #[test]
    fn honest_writers_reach_the_caches() {
        let mut readers = Readers::new();
        let mut seen = 0;
        for seed in seeds() {
            // What comes again is another sample here.
            for _ in 0..4 {
                readers.hear(&seed);
                seen = seen.max(readers.readers[0].samples());
            }
        }
        assert!(
            seen > 3 && readers.numbers.iter().all(|number| *number > 20),
            "{seen} {:?}",
            readers.numbers
        );
        let dropped = |reason| readers.readers.iter().map(|reader| reader.dropped(reason).count).sum::<u64>();
        for reason in [DropReason::Replaced, DropReason::Filtered, DropReason::OutOfOrder] {
            assert!(dropped(reason) > 0, "{reason:?} is never met");
        }
    }

    #[test]
    fn mutated_samples_meet_every_limit() {
        use crate::mutation::Mutator;
        use crate::structure::Structure;
        use testkit::random::Random;
        let mut mutator = Mutator::new(Structure::Message, seeds());
        let (mut readers, mut input) = (Readers::new(), Vec::new());
        for case in 0..20_000 {
            mutator.make(&mut Random::of_case(1, case), &mut input);
            readers.hear(&input);
        }
        // Only samples of writers that are matched get here; no two keys of one digest are known; the one limit that has to do with
        // an instance is that of the reader that waits; no instance here belongs to a participant.
        let never = [
            DropReason::NotMatched,
            DropReason::KeyCollision,
            DropReason::SamplesPerInstance,
            DropReason::Unauthorized,
        ];
        for reason in DropReason::ALL.into_iter().filter(|reason| !never.contains(reason)) {
            let dropped: u64 = readers.readers.iter().map(|reader| reader.dropped(reason).count).sum();
            assert!(dropped > 0, "{reason:?} is never met");
        }
        assert!(readers.waited > 0, "no reader ever refuses");
    }
}
