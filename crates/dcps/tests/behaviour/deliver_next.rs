//! A reader that takes the next sample in one go where it may, and hands the only one out without ranking, holds, says and answers what one does that never does, whatever comes.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::play::{Keyed, Plain, Random};
use dcps::qos::DataReaderQos;
use dcps::reader::{DataReader, DropReason, MatchedPublication, Request};
use dcps::{CdrTypeSupport, States};
use rtps::familiar::Single;
use rtps::reader::{Accept, MatchedWriter, Reader, ReaderConfig, Sample, Sink, Source};
use rtps::{Path, Transmit};
use wire::cdr::{Encoding, Representation};
use wire::message::{Data, Gap, Heartbeat, SerializedPayload};
use wire::qos::{DestinationOrder, History, Ownership, Reliability};
use wire::{
    Duration, EntityId, EntityKind, Guid, GuidPrefix, Now, SequenceNumber, SequenceNumberSet, Timestamp,
    VendorId,
};

const READER: Guid = Guid::new(GuidPrefix([9; 12]), EntityId::user(1, EntityKind::ReaderWithKey));

fn writer(index: u64) -> Guid {
    Guid::new(GuidPrefix([1 + index as u8; 12]), EntityId::user(1, EntityKind::WriterWithKey))
}

fn qos(random: &mut Random) -> DataReaderQos {
    let mut qos = DataReaderQos::default();
    let endpoint = &mut qos.endpoint;
    endpoint.reliability = Reliability::RELIABLE;
    if random.chance(10) {
        endpoint.reliability = Reliability::BEST_EFFORT;
    }
    endpoint.history = match random.below(3) {
        0 => History::KeepLast(1),
        1 => History::KeepLast(3),
        _ => History::KeepAll,
    };
    if random.chance(10) {
        endpoint.deadline = Duration::from_millis(7);
    }
    if random.chance(10) {
        endpoint.destination_order = DestinationOrder::BySourceTimestamp;
    }
    if random.chance(10) {
        endpoint.ownership = Ownership::Exclusive;
    }
    if random.chance(10) {
        endpoint.time_based_filter = Duration::from_millis(1);
    }
    if random.chance(20) {
        qos.byte_limit = 1_500 + random.below(1_500) as usize;
    }
    if random.chance(20) {
        qos.endpoint.resource_limits.max_samples = Some(5);
        qos.endpoint.resource_limits.max_samples_per_instance = Some(4);
    }
    qos
}

struct Side<T> {
    rtps: Reader,
    cache: DataReader<CdrTypeSupport<T>>,
    transmit: Transmit<Arc<[u8]>>,
}

impl<T: wire::cdr::DdsType> Side<T> {
    fn new(qos: DataReaderQos, holds: bool) -> Self {
        let config = ReaderConfig {
            holds,
            ..ReaderConfig::new(READER, qos.endpoint.reliability == Reliability::RELIABLE)
        };
        let cache = DataReader::new(READER, qos, CdrTypeSupport::new()).unwrap();
        Self { rtps: Reader::new(config), cache, transmit: Transmit::new() }
    }

    /// What anybody can see of it.
    fn seen(&mut self, now: Now) -> String {
        if self.cache.poll_timeout() <= now.monotonic {
            self.cache.on_timeout(now);
        }
        if self.cache.wants_resume() {
            self.rtps.resume(now, &mut self.cache.sink(now));
        }
        let mut seen = format!("{:?} {:?}", self.rtps.poll_timeout(), self.rtps.holds());
        while self.rtps.poll_timeout() <= now.monotonic && self.rtps.poll_transmit(now, &mut self.transmit) {
            let mut bytes = Vec::new();
            self.transmit.copy_to(&mut bytes);
            seen += &format!(" {bytes:?}");
        }
        let cache = &mut self.cache;
        seen += &format!(
            " {:?} {:?} {:?} {} {} {} {} {:?} {:?}",
            self.rtps.counters(),
            [0, 1]
                .map(|index| (self.rtps.next_expected(writer(index)), self.rtps.has_history(writer(index)))),
            cache.poll_timeout(),
            self.rtps.held_bytes(),
            cache.held_bytes(),
            cache.samples(),
            cache.instances(),
            cache.status_changes(),
            cache.take_status_news()
        );
        for reason in [
            DropReason::Samples,
            DropReason::Replaced,
            DropReason::Filtered,
            DropReason::Expired,
            DropReason::Lost,
            DropReason::OutOfOrder,
            DropReason::Ownership,
        ] {
            seen += &format!(" {:?}", cache.dropped(reason));
        }
        seen
    }
}

/// Counts what was taken in one go.
struct Counting<'a, S> {
    sink: S,
    count: &'a mut u64,
}

impl<S: Sink> Sink for Counting<'_, S> {
    fn deliver(&mut self, sample: &mut Sample<'_>) -> Accept {
        self.sink.deliver(sample)
    }

    fn deliver_next(
        &mut self,
        writer: Guid,
        number: SequenceNumber,
        source: Option<Timestamp>,
        bytes: &[u8],
    ) -> bool {
        let taken = self.sink.deliver_next(writer, number, source, bytes);
        *self.count += u64::from(taken);
        taken
    }

    fn lost(&mut self, writer: Guid, first: SequenceNumber, count: u64) {
        self.sink.lost(writer, first, count);
    }
}

/// What happens to both.
enum Event<'a> {
    Datagram(Single<'a>),
    Heartbeat(Heartbeat),
    Gap(Gap),
    Match(u64, bool, bool),
    Unmatch(u64),
    Access(bool, usize),
    Carry,
    Release,
    /// Of TIME_BASED_FILTER.
    Change(u64),
    Time,
}

fn play<T: wire::cdr::DdsType>(seed: u64, make: impl Fn(u32, Vec<u8>) -> T) -> u64 {
    let mut random = Random::new(seed);
    let now = |nanos: u64| Now {
        monotonic: wire::Instant::from_nanos(nanos),
        wall: Timestamp::from_nanos(1_700_000_000_000_000_000 + nanos as i64),
    };
    let mut clock = 1_000_000_000;
    let (qos, holds) = (qos(&mut random), random.chance(50));
    let mut sides = [Side::<T>::new(qos.clone(), holds), Side::new(qos.clone(), holds)];
    let (mut last, mut count) = ([0_i64; 2], 0_i32);
    let path = Path {
        link: std::num::NonZeroU32::new(1),
        ..Path::routed(SocketAddr::from(([10, 0, 0, 1], 7411)), 1_472)
    };
    let mut plain = 0;
    for step in 0..150 {
        let (a, b) = (random.below(1 << 32), random.below(1 << 32));
        let from = u64::from(a % 8 == 0);
        let place = from as usize;
        let mut payload = Vec::new();
        let sample = make(if a % 10 < 8 { 1 } else { 2 }, vec![b as u8; (b % 16 * (b / 16 % 20)) as usize]);
        sample.encode_payload(Encoding::XCDR1, &mut payload).unwrap();
        let event = match random.below(100) {
            _ if step == 0 => Event::Match(0, true, false),
            0..50 => {
                // Mostly the next one, or one that is missing.
                let next = sides[0].rtps.next_expected(writer(from)).map_or(i64::MAX, |next| next.0);
                let number = match b % 20 {
                    2..14 if next <= last[place] => next,
                    0 => last[place] + 1 + (a % 3) as i64,
                    1 => 1.max(last[place] - (a % 3) as i64),
                    _ => last[place] + 1,
                };
                last[place] = last[place].max(number);
                count += i32::from(b % 31 != 5);
                let (reader_id, writer_id) =
                    (if b % 7 == 0 { READER.entity_id } else { EntityId::UNKNOWN }, writer(from).entity_id);
                let end = if b % 23 == 0 { number + 2 } else { number };
                let heartbeat = Heartbeat {
                    reader_id,
                    writer_id,
                    first: SequenceNumber(if b % 29 == 0 { end + 1 } else { 1.max(number - (b % 5) as i64) }),
                    last: SequenceNumber(end),
                    count,
                    is_final: b % 11 != 3,
                    liveliness: false,
                };
                let source = Source {
                    prefix: writer(from).prefix,
                    timestamp: (b % 13 != 0).then(|| now(clock - b % 20_000).wall),
                    vendor: if a % 9 == 0 { VendorId([1, 2]) } else { VendorId::PUNCTUAL },
                };
                let data = Data {
                    reader_id,
                    writer_id,
                    sequence_number: SequenceNumber(number),
                    inline_qos: None,
                    payload: Some(SerializedPayload {
                        is_key: false,
                        bytes: if b % 97 == 0 { &payload[..4] } else { &payload },
                    }),
                };
                Event::Datagram(Single { source, data, heartbeat: (b % 17 != 0).then_some(heartbeat) })
            }
            50..52 => Event::Gap(Gap {
                reader_id: READER.entity_id,
                writer_id: writer(from).entity_id,
                start: SequenceNumber(last[place] + 1),
                list: SequenceNumberSet::empty(SequenceNumber(last[place] + 2)),
            }),
            92 => {
                count += 1;
                let end = [last[place], last[place] + 4, 1, last[place] + 100_000][(b / 4 % 4) as usize];
                Event::Heartbeat(Heartbeat {
                    reader_id: if b % 3 == 0 { EntityId::UNKNOWN } else { READER.entity_id },
                    writer_id: writer(from).entity_id,
                    first: SequenceNumber(1.max(end - [0, 1, 3, 90_000][(b / 16 % 4) as usize])),
                    last: SequenceNumber(end),
                    count,
                    is_final: b % 5 != 0,
                    liveliness: false,
                })
            }
            72 => Event::Match(b / 2 % 2, b % 8 != 0, b % 5 == 0),
            73 => Event::Unmatch(b / 2 % 2),
            52..72 | 74..90 => Event::Access(a % 8 != 0, (b % 4) as usize),
            90 => Event::Release,
            93 if a % 2 == 0 => Event::Change(b % 3),
            91 => Event::Carry,
            _ => Event::Time,
        };
        let at = now(clock);
        let source = Source { prefix: writer(from).prefix, timestamp: None, vendor: VendorId::PUNCTUAL };
        let told = [0, 1].map(|index| {
            let side = &mut sides[index];
            let mut did = String::new();
            match &event {
                Event::Datagram(single) => {
                    if index == 0 {
                        let mut sink = Counting { sink: side.cache.sink(at), count: &mut plain };
                        side.rtps.on_single(at, single, &mut sink);
                    } else {
                        let mut sink = side.cache.sink(at);
                        side.rtps.on_data(at, &single.source, &single.data, &mut sink);
                        if let Some(heartbeat) = &single.heartbeat {
                            side.rtps.on_heartbeat(at, &single.source, heartbeat, &mut sink);
                        }
                    }
                }
                Event::Heartbeat(heartbeat) => {
                    side.rtps.on_heartbeat(at, &source, heartbeat, &mut side.cache.sink(at));
                }
                Event::Gap(gap) => {
                    side.rtps.on_gap(at, &source, gap, &mut side.cache.sink(at));
                }
                Event::Match(from, reliable, ages) => {
                    let guid = writer(*from);
                    side.cache.match_publication(MatchedPublication {
                        guid,
                        ownership_strength: *from as i32,
                        lifespan: if *ages { Duration::from_millis(2) } else { Duration::INFINITE },
                        representation: Representation::Xcdr1,
                    });
                    side.rtps
                        .match_writer(at, MatchedWriter { guid, reliable: *reliable, paths: vec![path] });
                }
                Event::Unmatch(from) => {
                    side.rtps.unmatch_writer(writer(*from));
                    did = format!("{:?}", side.cache.unmatch_publication(at, writer(*from)));
                }
                Event::Access(take, max) => {
                    let mut out = Vec::new();
                    let max = if *max == 3 { 100 } else { *max };
                    let states = if a % 3 == 0 { States::ANY } else { States::NOT_READ };
                    let request = Request { take: *take, max, states, ..Request::TAKE };
                    let taken = if index == 0 {
                        side.cache.access(at, &request, &mut out)
                    } else {
                        side.cache.access_where(at, &request, |_, _| true, &mut out)
                    };
                    did = format!("{taken:?} {out:?}");
                    out.into_iter()
                        .filter_map(|sample| sample.payload)
                        .for_each(|payload| side.cache.recycle(payload));
                }
                Event::Carry => {
                    side.transmit.clear();
                    side.rtps.carry(&path, 1_000, &mut side.transmit);
                    let mut octets = Vec::new();
                    side.transmit.copy_to(&mut octets);
                    did = format!("{octets:?}");
                }
                Event::Release => side.rtps.release(at),
                Event::Change(millis) => {
                    let mut changed = qos.clone();
                    changed.endpoint.time_based_filter = Duration::from_millis(*millis as i64 / 2);
                    did = format!("{:?}", side.cache.set_qos(at, changed));
                }
                Event::Time => {}
            }
            did + &side.seen(at)
        });
        assert_eq!(told[0], told[1], "seed {seed}, step {step}");
        if let Event::Unmatch(from) = event {
            last[from as usize] = 0;
        }
        clock += match event {
            Event::Time if b % 8 == 0 => 700_000_000,
            Event::Time => b % 12_000_000,
            _ => a % 3_000,
        };
    }
    plain
}

#[test]
fn taking_the_next_sample_in_one_go_is_taking_it() {
    let mut taken = [0, 0];
    for seed in tiers::current().seeds("property.cases") {
        taken[0] += play(seed, |id, data| Keyed { id, data });
        taken[1] += play(seed.wrapping_mul(3), |id, data| Plain { id, data });
    }
    assert!(taken.iter().all(|taken| *taken > 1_000), "it hardly ever did: {taken:?}");
}
