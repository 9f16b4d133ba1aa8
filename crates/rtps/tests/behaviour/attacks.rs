//! Hostile messages to a matched writer and reader: each class of attack by name.
//!
//! What must hold: nothing panics or hangs, memory stays within its limit, and honest traffic goes on.

use crate::pair::{Delivered, Pair, ToTheReader, ToTheWriter, WRITER, Wire, reader_guid, writer_guid};
use rtps::Transmit;
use rtps::reader::{Reader, ReaderConfig};
use rtps::receiver::interpret;
use rtps::writer::WriterConfig;
use wire::message::encode::{self, DataFragHeader};
use wire::message::{AckNack, Gap, Header, Heartbeat, NackFrag};
use wire::{
    Duration, EntityId, FragmentNumber, FragmentNumberSet, GuidPrefix, SequenceNumber, SequenceNumberSet,
};

fn address() -> std::net::SocketAddr {
    "192.0.2.66:6666".parse().unwrap()
}

/// A message that claims to come from the writer.
fn forged(from: GuidPrefix, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode::header(&mut bytes, from);
    write(&mut bytes);
    bytes
}

fn to_reader(pair: &mut Pair, bytes: &[u8]) {
    let (reader, delivered) = &mut pair.readers[0];
    let prefix = reader.guid().prefix;
    let mut route = ToTheReader { now: pair.now, reader, delivered };
    interpret(prefix, address(), bytes, &mut route).unwrap();
}

fn to_writer(pair: &mut Pair, bytes: &[u8]) {
    let mut route = ToTheWriter { now: pair.now, writer: &mut pair.writer };
    interpret(WRITER, address(), bytes, &mut route).unwrap();
}

fn connected(seed: u64) -> Pair {
    let mut pair = Pair::reliable(seed);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    for _ in 0..10 {
        pair.write(&[0, 1, 0, 0, 9]).unwrap();
    }
    pair.run(Duration::from_secs(1));
    pair
}

/// Writes 100 more under loss: all must arrive.
fn goes_on(pair: &mut Pair, span: Duration) {
    pair.wire = Wire { loss: 30, duplicate: 5, jitter: 50, ..Wire::default() };
    for _ in 0..100 {
        pair.write(&[0, 1, 0, 0, 9]).unwrap();
        pair.run(Duration::from_micros(50));
    }
    pair.run(span);
    let delivered = &pair.readers[0].1;
    assert!(
        delivered.samples.iter().map(|(number, _)| number.0).eq(1..=110),
        "{:?}",
        delivered.samples.len()
    );
    assert_eq!(delivered.lost, 0);
    assert!(pair.writer.is_acknowledged(SequenceNumber(110)));
}

fn heartbeat(first: i64, last: i64, count: i32) -> Vec<u8> {
    let heartbeat = Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: writer_guid().entity_id,
        first: SequenceNumber(first),
        last: SequenceNumber(last),
        count,
        is_final: true,
        liveliness: false,
    };
    forged(WRITER, |out| encode::heartbeat(out, &heartbeat))
}

fn gap(start: i64, base: i64) -> Vec<u8> {
    let gap = Gap {
        reader_id: EntityId::UNKNOWN,
        writer_id: writer_guid().entity_id,
        start: SequenceNumber(start),
        list: SequenceNumberSet::empty(SequenceNumber(base)),
    };
    forged(WRITER, |out| encode::gap(out, &gap))
}

fn acknack(base: i64, wanted: std::ops::Range<i64>, count: i32) -> Vec<u8> {
    let mut set = SequenceNumberSet::empty(SequenceNumber(base));
    wanted.for_each(|number| {
        set.insert(SequenceNumber(number));
    });
    let (reader_id, writer_id) = (reader_guid(0).entity_id, writer_guid().entity_id);
    let acknack = AckNack { reader_id, writer_id, set, count, is_final: false };
    forged(reader_guid(0).prefix, |out| encode::acknack(out, &acknack))
}

#[test]
fn a05_a_giant_gap_is_not_believed() {
    let mut pair = connected(1);
    to_reader(&mut pair, &gap(1, 1 << 62));
    to_reader(&mut pair, &gap(11, i64::MAX));
    goes_on(&mut pair, Duration::from_secs(10));
}

#[test]
fn a05_many_small_gaps_take_little_memory() {
    let mut pair = connected(2);
    for number in 0..100_000 {
        to_reader(&mut pair, &gap(20 + 2 * number, 21 + 2 * number));
    }
    assert!(pair.readers[0].0.held_bytes() < 100_000);
    assert_eq!(pair.readers[0].0.next_expected(writer_guid()), Some(SequenceNumber(11)));
}

/// Somebody who can send from the writer's own address forges GAPs: about what is written next, and about what is further ahead.
#[test]
fn a05_forged_gaps_cost_at_most_what_is_lost_anyway_and_last_no_longer_than_a_heartbeat_period() {
    let period = WriterConfig::new(writer_guid(), true).max_heartbeat_period;
    for seed in 0..200 {
        let mut pair = connected(seed);
        let is_lossy = seed % 4 == 3;
        pair.wire = if is_lossy { Wire { loss: 10, jitter: 50, ..Wire::default() } } else { Wire::default() };
        let (mut written, mut forged) = (10, std::collections::BTreeSet::new());
        for round in 0..8 {
            let start = written + 1 + (seed as i64 * 3 + round) % 5;
            let end = start + 1 + (seed as i64 * 7 + round * 13) % 60;
            to_reader(&mut pair, &gap(start, end));
            forged.extend(start..end);
            for _ in 0..4 {
                pair.write(&[0, 1, 0, 0, 9]).unwrap();
                written += 1;
                pair.run(Duration::from_millis((seed as i64 * 7 + round) % 40));
            }
            pair.run(period);
            assert!(
                is_lossy || pair.writer.is_acknowledged(SequenceNumber(written)),
                "seed {seed}, round {round}"
            );
        }
        pair.run(Duration::from_secs(10));
        let came: Vec<_> = pair.readers[0].1.samples.iter().map(|(number, _)| number.0).collect();
        assert!(came.is_sorted_by(|a, b| a < b), "seed {seed}: {came:?}");
        let missing = Vec::from_iter((1..=written).filter(|number| !came.contains(number)));
        // What is lost as well while something behind it comes cannot be told from what is irrelevant.
        let excused = |number: &i64| is_lossy && forged.contains(number);
        assert!(missing.iter().all(excused), "seed {seed}: {missing:?}");
        assert!(pair.writer.is_acknowledged(SequenceNumber(written)), "seed {seed}");
    }
}

#[test]
fn a06_a_heartbeat_that_jumps_is_not_believed_at_once() {
    for (first, last) in [(1 << 61, 1 << 61), (1 << 40, i64::MAX - 1), (1, i64::MAX - 1), (200_000, 300_000)]
    {
        let mut pair = connected(3);
        to_reader(&mut pair, &heartbeat(first, last, i32::MAX / 2));
        goes_on(&mut pair, Duration::from_secs(10));
    }
}

#[test]
fn a06_a_reader_that_was_led_astray_comes_back_at_the_next_heartbeat() {
    let mut pair = connected(4);
    to_reader(&mut pair, &heartbeat(1 << 61, 1 << 61, 500_000));
    to_reader(&mut pair, &heartbeat(1 << 61, 1 << 61, 500_001));
    let next = pair.readers[0].0.next_expected(writer_guid()).unwrap();
    assert!(next > SequenceNumber(1 << 60), "two forged messages do lead it astray without security");
    assert!(pair.readers[0].1.lost > 0, "and it says so");
    for _ in 0..20 {
        pair.write(&[0, 1, 0, 0, 9]).unwrap();
    }
    pair.run(Duration::from_secs(2));
    let numbers: Vec<_> = pair.readers[0].1.samples.iter().map(|(number, _)| number.0).collect();
    assert_eq!(numbers.last(), Some(&30));
}

#[test]
fn a06_a_small_step_astray_stops_the_writer_for_some_seconds_only() {
    let mut pair = connected(4);
    // Little enough to be believed at once.
    to_reader(&mut pair, &heartbeat(5_000, 5_000, 500_000));
    assert_eq!(pair.readers[0].0.next_expected(writer_guid()), Some(SequenceNumber(5_000)));
    assert!(pair.readers[0].1.lost > 0, "and it says so");
    for _ in 0..20 {
        pair.write(&[0, 1, 0, 0, 9]).unwrap();
        pair.run(Duration::from_millis(200));
    }
    pair.run(Duration::from_secs(5));
    assert!(pair.writer.is_acknowledged(SequenceNumber(30)), "the writer waits for ever");
    assert_eq!(pair.readers[0].1.samples.last().map(|(number, _)| number.0), Some(30));
    assert!(pair.readers[0].1.samples.is_sorted_by(|a, b| a.0 < b.0));
}

#[test]
fn a06_a_small_step_astray_is_undone_by_the_next_heartbeats_and_nothing_is_lost() {
    for seed in 0..50 {
        let mut pair = connected(seed);
        for round in 0..5_i64 {
            let forged = 200 + 1_000 * round + 37 * seed as i64;
            to_reader(&mut pair, &heartbeat(forged, forged, 500_000 + 2_000 * round as i32));
            for _ in 0..4 {
                pair.write(&[0, 1, 0, 0, 9]).unwrap();
                pair.run(Duration::from_millis(1 + (seed as i64 * 7 + round) % 40));
            }
            pair.run(Duration::from_secs(1));
            let last = SequenceNumber(10 + 4 * (round + 1));
            assert!(pair.writer.is_acknowledged(last), "seed {seed}, round {round}");
        }
        let numbers: Vec<_> = pair.readers[0].1.samples.iter().map(|(number, _)| number.0).collect();
        assert_eq!(numbers, Vec::from_iter(1..=30), "seed {seed}");
    }
}

#[test]
fn a06_replayed_heartbeats_change_nothing() {
    let mut pair = connected(5);
    let replayed = heartbeat(1, 10, 1);
    let before = pair.readers[0].0.counters().acknacks;
    for _ in 0..1_000 {
        to_reader(&mut pair, &replayed);
    }
    pair.run(Duration::from_millis(100));
    assert_eq!(pair.readers[0].0.counters().acknacks, before);
    goes_on(&mut pair, Duration::from_secs(10));
}

#[test]
fn a07_implausible_acknowledgements_free_nothing() {
    let mut pair = connected(6);
    for base in [12, 1_000, 1 << 62, i64::MAX] {
        to_writer(&mut pair, &acknack(base, 0..0, 1_000_000));
    }
    assert_eq!(pair.writer.counters().implausible, 4);
    // A stranger's acknowledgement counts for nothing either.
    let stranger = AckNack {
        reader_id: reader_guid(0).entity_id,
        writer_id: writer_guid().entity_id,
        set: SequenceNumberSet::empty(SequenceNumber(11)),
        count: 1,
        is_final: true,
    };
    to_writer(&mut pair, &forged(GuidPrefix([77; 12]), |out| encode::acknack(out, &stranger)));
    assert_eq!(pair.writer.counters().implausible, 5);
    goes_on(&mut pair, Duration::from_secs(10));
}

#[test]
fn a08_a_storm_of_requests_is_repeated_within_a_budget() {
    let config = WriterConfig { retain: true, ..WriterConfig::new(writer_guid(), true) };
    let mut pair = Pair::new(7, config, &[ReaderConfig::new(reader_guid(0), true)]);
    pair.connect(0, true);
    to_writer(&mut pair, &acknack(1, 0..0, 1));
    // Nothing arrives, so nothing is acknowledged and all may be asked for.
    pair.wire.loss = 100;
    for _ in 0..100 {
        pair.write(&[0; 1_000]).unwrap();
    }
    pair.run(Duration::from_secs(1));
    let mut transmit = Transmit::new();
    let mut bytes = 0;
    for count in 0..10_000 {
        to_writer(&mut pair, &acknack(1, 1..101, 1_000 + count));
        while pair.writer.poll_transmit(pair.now, &mut transmit) {
            bytes += transmit.len() as u64;
        }
        pair.now.monotonic = pair.now.monotonic.after(Duration::from_micros(100));
    }
    // One window in ten milliseconds, and a heartbeat for each question.
    let budget = 101 * (u64::from(config.window) + 65_507) + 10_000 * 100;
    assert!(bytes <= budget, "{bytes} bytes, the budget is {budget}");
    assert!(bytes > 200_000, "the storm did not reach the writer");
}

fn fragment(number: i64, first: u32, size: u16, sample_size: u32) -> Vec<u8> {
    let header = DataFragHeader {
        reader_id: EntityId::UNKNOWN,
        writer_id: writer_guid().entity_id,
        sequence_number: SequenceNumber(number),
        first_fragment: FragmentNumber(first),
        fragment_count: 1,
        fragment_size: size,
        sample_size,
        inline_qos: None,
        is_key: false,
    };
    forged(WRITER, |out| {
        encode::data_frag_header(out, &header, usize::from(size));
        out.resize(out.len() + usize::from(size), 7);
    })
}

#[test]
fn a09_samples_that_never_complete_stay_within_the_limit() {
    let config = ReaderConfig { byte_limit: 1 << 20, ..ReaderConfig::new(reader_guid(0), true) };
    let mut pair = Pair::new(8, WriterConfig::new(writer_guid(), true), &[config]);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    for number in 0..2_000 {
        to_reader(&mut pair, &fragment(1 + number % 8_000, 1 + number as u32 % 9, 60_000, 10_000_000));
        to_reader(&mut pair, &fragment(1 + number, 1, 8, u32::MAX));
        assert!(pair.readers[0].0.held_bytes() <= config.byte_limit);
    }
    assert!(pair.readers[0].0.counters().too_large >= 2_000);
    for _ in 0..20 {
        // The forged sizes give way to the honest ones after a second.
        while pair.write(&vec![0; 100_000]).is_err() {
            pair.run(Duration::from_millis(100));
        }
    }
    pair.run(Duration::from_secs(60));
    assert!(pair.readers[0].1.samples.iter().map(|(number, _)| number.0).eq(1..=20));
}

#[test]
fn a09_sizes_that_change_between_fragments_do_not_mix() {
    let mut pair = connected(9);
    to_reader(&mut pair, &fragment(11, 1, 64, 200));
    to_reader(&mut pair, &fragment(11, 1, 32, 64));
    to_reader(&mut pair, &fragment(11, 2, 32, 64));
    assert_eq!(pair.readers[0].0.counters().implausible, 2);
    assert_eq!(pair.readers[0].1.samples.len(), 10);
}

#[test]
fn a04_requests_for_unwritten_changes_and_fragments_are_ignored() {
    let mut pair = connected(10);
    let mut missing = FragmentNumberSet::empty(FragmentNumber(u32::MAX - 256));
    missing.insert(FragmentNumber(u32::MAX - 200));
    for (number, count) in [(1, 1), (11, 2), (1 << 60, 3)] {
        let nack = NackFrag {
            reader_id: reader_guid(0).entity_id,
            writer_id: writer_guid().entity_id,
            sequence_number: SequenceNumber(number),
            missing,
            count,
        };
        to_writer(&mut pair, &forged(reader_guid(0).prefix, |out| encode::nack_frag(out, &nack)));
    }
    to_writer(&mut pair, &acknack(11, 11..267, 1_000));
    goes_on(&mut pair, Duration::from_secs(10));
}

#[test]
fn a21_a_relayed_message_proves_nothing_and_ours_come_back_unread() {
    struct Addressed(Vec<bool>);
    impl rtps::receiver::Route for Addressed {
        fn to_reader(
            &mut self,
            context: &rtps::receiver::Context,
            _: EntityId,
            _: wire::Guid,
            _: &rtps::receiver::ToReader<'_>,
        ) {
            self.0.push(context.addressed);
        }
        fn to_writer(&mut self, _: &rtps::receiver::Context, _: EntityId, _: &rtps::receiver::ToWriter) {}
    }
    let ours = reader_guid(0).prefix;
    let beat = heartbeat(1, 0, 1)[20..].to_vec();
    let mut seen = Addressed(Vec::new());
    let direct = forged(WRITER, |out| {
        encode::info_destination(out, ours);
        out.extend_from_slice(&beat);
        encode::info_source(out, &Header::ours(GuidPrefix([55; 12])));
        out.extend_from_slice(&beat);
        encode::info_destination(out, GuidPrefix([56; 12]));
        out.extend_from_slice(&beat);
    });
    interpret(ours, address(), &direct, &mut seen).unwrap();
    assert_eq!(seen.0, [true, false]);
    let own = forged(ours, |out| out.extend_from_slice(&beat));
    interpret(ours, address(), &own, &mut seen).unwrap();
    let relayed = forged(WRITER, |out| {
        encode::info_source(out, &Header::ours(ours));
        out.extend_from_slice(&beat);
    });
    interpret(ours, address(), &relayed, &mut seen).unwrap();
    assert_eq!(seen.0.len(), 2);
}

#[test]
fn a21_thousands_of_tiny_submessages_are_read_in_proportion() {
    let mut reader = Reader::new(ReaderConfig::new(reader_guid(0), true));
    let mut delivered = Delivered::default();
    let many = forged(WRITER, |out| {
        while out.len() < 65_000 {
            encode::info_timestamp(out, None);
        }
    });
    let mut route = ToTheReader { now: wire::Now::default(), reader: &mut reader, delivered: &mut delivered };
    interpret(reader_guid(0).prefix, address(), &many, &mut route).unwrap();
    assert!(delivered.samples.is_empty());
}
