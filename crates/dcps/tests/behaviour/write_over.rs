//! A writer that writes over its only sample where it may sends and says what one does that never does, in every order of calls.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::play::{Keyed, Plain, Random};
use dcps::CdrTypeSupport;
use dcps::qos::DataWriterQos;
use dcps::writer::{DataWriter, InstanceOf, WriteOptions};
use rtps::writer::{Body, MatchedReader, WriterConfig};
use rtps::{Path, Transmit};
use wire::cdr::Encoding;
use wire::message::AckNack;
use wire::qos::{Durability, History, Liveliness, LivelinessKind, Reliability};
use wire::{
    Duration, EntityId, EntityKind, Guid, GuidPrefix, Now, SequenceNumber, SequenceNumberSet, Timestamp,
};

type Writer<T> = DataWriter<CdrTypeSupport<T>, Arc<[u8]>>;

const WRITER: Guid = Guid::new(GuidPrefix([1; 12]), EntityId::user(1, EntityKind::WriterWithKey));

fn reader(index: u64) -> Guid {
    Guid::new(GuidPrefix([2 + index as u8; 12]), EntityId::user(1, EntityKind::ReaderWithKey))
}

fn qos(random: &mut Random) -> DataWriterQos {
    let mut qos = DataWriterQos::default();
    let endpoint = &mut qos.endpoint;
    endpoint.reliability = Reliability::RELIABLE;
    if random.chance(10) {
        endpoint.reliability = Reliability::BEST_EFFORT;
    }
    endpoint.history = match random.below(6) {
        0 => History::KeepLast(2),
        1 => History::KeepAll,
        _ => History::KeepLast(1),
    };
    if random.chance(25) {
        endpoint.durability = Durability::TransientLocal;
    }
    if random.chance(10) {
        endpoint.lifespan = Duration::from_millis(5);
    }
    if random.chance(10) {
        endpoint.deadline = Duration::from_millis(7);
    }
    if random.chance(10) {
        let lease_duration = Duration::from_millis(30);
        endpoint.liveliness = Liveliness { kind: LivelinessKind::ManualByTopic, lease_duration };
    }
    if random.chance(25) {
        qos.byte_limit = 1_024 + random.below(1_536) as usize;
    }
    qos
}

fn matched(random: &mut Random, index: u64) -> MatchedReader {
    let address = SocketAddr::from(([10, 0, 0, 1 + index as u8], 7411));
    let mut path = Path::routed(address, if random.chance(20) { 300 } else { 65_507 });
    path.link = if random.chance(90) { NonZeroU32::new(1 + index as u32) } else { None };
    let mut paths = vec![path];
    if random.chance(5) {
        paths.push(Path::routed(address, 1_472));
    }
    MatchedReader {
        guid: reader(index),
        reliable: random.chance(90),
        wants_history: random.chance(30),
        paths,
        direct: None,
        receive_buffer: random.chance(50).then_some(if random.chance(50) { 4_096 } else { 1 << 20 }),
    }
}

/// One of the two, and all that it has sent: the bytes, where to, in which class.
struct Side<T> {
    writer: Writer<T>,
    transmit: Transmit<Arc<[u8]>>,
    sent: Vec<(Vec<Path>, u8, Vec<u8>)>,
    over: usize,
}

impl<T: wire::cdr::DdsType> Side<T> {
    fn new(now: Now, qos: DataWriterQos) -> Self {
        let config = WriterConfig::new(WRITER, true);
        let writer = DataWriter::new(now, config, qos, CdrTypeSupport::new()).unwrap();
        Self { writer, transmit: Transmit::new(), sent: Vec::new(), over: 0 }
    }

    fn poll(&mut self, now: Now) {
        while self.writer.rtps_mut().poll_transmit(now, &mut self.transmit) {
            let mut bytes = Vec::new();
            self.transmit.copy_to(&mut bytes);
            self.sent.push((self.transmit.paths().to_vec(), self.transmit.class(), bytes));
        }
    }

    fn write(&mut self, now: Now, sample: &T, options: &WriteOptions, may: bool) -> String {
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        dcps::canonical_key(sample, &mut key).unwrap();
        sample.encode_payload(Encoding::XCDR1, &mut payload).unwrap();
        // Whoever sends clears it before it writes over.
        self.transmit.clear();
        let might = self.writer.may_write_over();
        let over = if may { self.writer.write_over(now, &key, &payload, options) } else { None };
        let Some((number, link)) = over else {
            let written = self.writer.write_keyed(now, &key, Body::Copy(&payload), options);
            return format!("{written:?}");
        };
        self.over += 1;
        assert!(might, "nobody would have asked");
        let bytes = self.writer.rtps().written_over().unwrap().to_vec();
        let path = *self.writer.rtps().only_path().unwrap();
        assert_eq!(path.link, Some(link));
        let mut transmit = Transmit::new();
        self.writer.rtps().put_over(&mut transmit);
        let mut same = Vec::new();
        transmit.copy_to(&mut same);
        assert_eq!((transmit.paths(), &same), ([path].as_slice(), &bytes));
        self.sent.push((vec![path], transmit.class(), bytes));
        format!("{:?}", Ok::<SequenceNumber, dcps::writer::WriteError>(number))
    }

    /// What anybody can see of it.
    fn seen(&mut self) -> String {
        let rtps = self.writer.rtps();
        let below = format!(
            "{:?} {:?} {:?} {} {:?}",
            rtps.last(),
            rtps.first_held(),
            rtps.counters(),
            rtps.held_bytes(),
            rtps.poll_timeout()
        );
        let writer = &mut self.writer;
        let timeout = writer.poll_timeout();
        format!(
            "{below} {} {} {} {timeout:?} {:?}",
            writer.is_acknowledged(),
            writer.held(),
            writer.instances(),
            writer.status_changes()
        )
    }
}

/// Plays one seed with a type; says how often a sample was written over.
fn play<T: wire::cdr::DdsType>(seed: u64, make: impl Fn(u32, Vec<u8>) -> T) -> usize {
    let mut random = Random::new(seed);
    let mut now = Now::default();
    let after =
        |now: Now, span: Duration| Now { monotonic: now.monotonic.after(span), wall: now.wall.after(span) };
    now = after(now, Duration::from_secs(1));
    let qos = qos(&mut random);
    let mut sides = [Side::new(now, qos.clone()), Side::new(now, qos.clone())];
    let instances = if random.chance(50) { 1 } else { 3 };
    let first = matched(&mut random, 0);
    // Almost all of the time there is one reader, which is up to date.
    sides.iter_mut().for_each(|side| side.writer.match_subscription(now, first.clone()));
    for step in 1..=150 {
        let what = random.below(100);
        let (a, b, c) = (random.below(1 << 32), random.below(1 << 32), random.chance(30));
        let mut told = Vec::new();
        let matched = matched(&mut random, if a.is_multiple_of(8) { 1 } else { 0 });
        let larger = (1, 20, 900, 5_000);
        let len = match b % 16 {
            0 => larger.3 + b / 16 % larger.3,
            1..=3 => b / 16 % larger.2,
            4..=8 => b / 16 % larger.1,
            _ => larger.1 + larger.0,
        };
        let sample = make((a % instances) as u32, vec![b as u8; len as usize]);
        let mut payload = Vec::new();
        sample.encode_payload(Encoding::XCDR1, &mut payload).unwrap();
        let mut polls = what >= 60 || a % 20 != 3;
        for (index, side) in sides.iter_mut().enumerate() {
            let before = side.over;
            let writer = &mut side.writer;
            let did = match what {
                0..60 => {
                    let options = WriteOptions {
                        instance: None,
                        source_timestamp: (a % 10 == 1).then_some(Timestamp::from_nanos(a as i64)),
                        related: (a % 50 == 2).then_some((WRITER, SequenceNumber(7))),
                    };
                    side.write(now, &sample, &options, index == 0)
                }
                60..75 => {
                    // Of the reader that there mostly is, up to somewhere near the last.
                    let base = writer.rtps().last().0 + 1 - i64::from(c) * (b % 3) as i64;
                    let mut set = SequenceNumberSet::empty(SequenceNumber(base.max(1)));
                    if a % 5 == 0 {
                        set.insert(SequenceNumber(base.max(1)));
                    }
                    let guid = reader(0);
                    let acknack = AckNack {
                        reader_id: guid.entity_id,
                        writer_id: WRITER.entity_id,
                        set,
                        count: step,
                        is_final: a % 7 != 0,
                    };
                    writer.rtps_mut().on_acknack(now, guid.prefix, &acknack);
                    String::new()
                }
                75 => format!("{:?}", writer.dispose(now, InstanceOf::Sample(&payload), None)),
                76 => format!("{:?}", writer.unregister_instance(now, InstanceOf::Sample(&payload), None)),
                77 => format!("{:?}", writer.register_instance(now, &payload, false)),
                78 => {
                    writer.match_subscription(now, matched.clone());
                    String::new()
                }
                79 if c => format!("{}", writer.unmatch_subscription(now, reader(a % 2))),
                80 => {
                    writer.rtps_mut().flush();
                    String::new()
                }
                81 => {
                    writer.rtps_mut().ask(now);
                    String::new()
                }
                82 => {
                    writer.assert_liveliness(now);
                    String::new()
                }
                83 => {
                    let mut changed = qos.clone();
                    changed.endpoint.latency_budget = Duration::from_millis((a % 2) as i64);
                    changed.endpoint.transport_priority = (a % 3) as i32;
                    if c {
                        changed.endpoint.deadline = Duration::INFINITE;
                    }
                    format!("{:?}", writer.set_qos(now, changed))
                }
                84 if c => {
                    writer.set_contract(1..=10_000, 10_000);
                    String::new()
                }
                _ => {
                    if writer.poll_timeout() <= now.monotonic {
                        writer.on_timeout(now);
                    }
                    String::new()
                }
            };
            // Sometimes more than one sample waits, unless it was polled by being written.
            polls |= side.over > before;
            if polls {
                side.poll(now);
            }
            told.push((did, side.seen()));
        }
        assert_eq!(told[0], told[1], "seed {seed}, step {step}");
        let [over, general] = &mut sides;
        assert_eq!(over.sent, general.sent, "seed {seed}, step {step}");
        sides.iter_mut().for_each(|side| side.sent.clear());
        if what >= 85 {
            now = after(now, Duration::from_micros(1 + (b % 12_000) as i64));
        } else if c {
            now = after(now, Duration::from_nanos((a % 50_000) as i64));
        }
    }
    assert_eq!(sides[1].over, 0);
    sides[0].over
}

#[test]
fn writing_over_the_only_sample_is_writing_it() {
    let mut over = [0, 0];
    for seed in tiers::current().seeds("property.cases") {
        over[0] += play(seed, |id, data| Keyed { id, data });
        over[1] += play(seed.wrapping_mul(3), |id, data| Plain { id, data });
    }
    assert!(over.iter().all(|over| *over > 500), "it hardly ever did: {over:?}");
}
