//! The history that a late reader gets: when it knows that it has all of it, and that this costs nothing twice.

use crate::pair::{Pair, Wire, path_to, reader_guid, writer_guid};
use rtps::reader::{MatchedWriter, Reader, ReaderConfig, Source};
use rtps::writer::WriterConfig;
use wire::message::{Data, Heartbeat, SerializedPayload};
use wire::{Duration, EntityId, Now, SequenceNumber, VendorId};

fn retaining(seed: u64, readers: u8) -> Pair {
    let config = WriterConfig { retain: true, ..WriterConfig::new(writer_guid(), true) };
    let readers: Vec<_> = (0..readers).map(|index| ReaderConfig::new(reader_guid(index), true)).collect();
    Pair::new(seed, config, &readers)
}

fn write(pair: &mut Pair, count: usize, len: usize) {
    for _ in 0..count {
        pair.write(&vec![0; len]).unwrap();
    }
}

fn has_history(pair: &Pair, reader: usize) -> bool {
    pair.readers[reader].0.has_history(writer_guid())
}

/// Runs until the reader says that it has its history, and gives the number of samples that it has then.
fn wait_for_history(pair: &mut Pair, reader: usize) -> usize {
    for _ in 0..200_000 {
        if has_history(pair, reader) {
            return pair.readers[reader].1.samples.len();
        }
        pair.run(Duration::from_micros(100));
    }
    panic!("the history does not end: {} samples", pair.readers[reader].1.samples.len());
}

#[test]
fn a_late_reader_has_its_history_when_all_of_it_has_come() {
    for seed in 0..200 {
        let mut pair = retaining(seed, 2);
        pair.receive_buffer = [None, Some(40_000)][seed as usize % 2];
        pair.mtu = 1_472;
        let chance = pair.random.below_u64(30);
        pair.wire = Wire { loss: chance, duplicate: chance / 2, jitter: chance * 40, delay: 0 };
        pair.connect(0, true);
        let (count, len) =
            (1 + pair.random.below_u64(400) as usize, 1 + pair.random.below_u64(4_000) as usize);
        let goes_on = pair.random.chance(50);
        write(&mut pair, count.min((1 << 19) / len), len);
        let head_start = pair.random.below_u64(4) as i64;
        pair.run(Duration::from_millis(head_start));
        let last = pair.writer.last().0 as usize;
        pair.connect(1, true);
        for _ in 0..30 * usize::from(goes_on) {
            write(&mut pair, 1, len);
            pair.run(Duration::from_micros(300));
            assert!(!has_history(&pair, 1) || pair.readers[1].1.samples.len() >= last, "seed {seed}");
        }
        let samples = wait_for_history(&mut pair, 1);
        assert!(samples >= last, "{samples} samples of {last}, seed {seed}");
        pair.run(Duration::from_secs(20));
        assert!(pair.writer.is_acknowledged(pair.writer.last()), "seed {seed}");
    }
}

#[test]
fn nothing_of_a_history_is_sent_twice_on_a_good_wire() {
    for (delay, receive_buffer) in
        [(0, None), (2_000, None), (2_000, Some(40_000)), (8_000, Some(400_000)), (30_000, None)]
    {
        let mut pair = retaining(1, 2);
        pair.mtu = 1_472;
        pair.wire.delay = delay;
        pair.receive_buffer = receive_buffer;
        pair.connect(0, true);
        write(&mut pair, 500, 1_000);
        pair.run(Duration::from_secs(5));
        let repairs = pair.writer.counters().repairs;
        pair.connect(1, true);
        assert_eq!(wait_for_history(&mut pair, 1), 500);
        assert_eq!(pair.writer.counters().repairs, repairs, "{delay} us, {receive_buffer:?}");
        assert_eq!(pair.readers[1].0.counters().duplicates, 0);
    }
}

#[test]
fn without_history_there_is_nothing_to_wait_for() {
    let mut empty = retaining(1, 1);
    empty.connect(0, true);
    assert!(!has_history(&empty, 0), "the writer has not been heard");
    empty.run(Duration::from_millis(1));
    assert!(has_history(&empty, 0));
    let mut removed = retaining(2, 1);
    write(&mut removed, 20, 100);
    removed.run(Duration::from_millis(1));
    removed.connect(0, true);
    for number in 1..=20 {
        removed.writer.remove(SequenceNumber(number));
    }
    removed.run(Duration::from_millis(50));
    assert!(has_history(&removed, 0), "all of it was removed");
    assert!(removed.readers[0].1.samples.is_empty());
    let mut unwanted = retaining(3, 1);
    write(&mut unwanted, 20, 100);
    unwanted.connect(0, false);
    unwanted.run(Duration::from_millis(1));
    assert!(has_history(&unwanted, 0));
    let best_effort = ReaderConfig::new(reader_guid(0), false);
    let mut best_effort = Pair::new(4, WriterConfig::new(writer_guid(), true), &[best_effort]);
    best_effort.connect(0, true);
    assert!(has_history(&best_effort, 0), "nobody says what there is");
}

#[test]
fn what_waits_to_leave_at_the_match_belongs_to_the_history() {
    let config = WriterConfig {
        retain: true,
        batch_delay: Duration::from_secs(1),
        ..WriterConfig::new(writer_guid(), true)
    };
    let readers = [0, 1].map(|index| ReaderConfig::new(reader_guid(index), true));
    let mut pair = Pair::new(1, config, &readers);
    pair.connect(0, true);
    pair.run(Duration::from_millis(1));
    write(&mut pair, 10, 100);
    pair.connect(1, true);
    // What it hears first is said to all.
    pair.writer.assert_liveliness();
    assert_eq!(wait_for_history(&mut pair, 1), 10);
}

#[test]
fn what_another_vendors_writer_says_first_is_its_history() {
    let mut reader = Reader::new(ReaderConfig::new(reader_guid(0), true));
    let mut delivered = crate::pair::Delivered::default();
    let (now, guid) = (Now::default(), writer_guid());
    reader.match_writer(now, MatchedWriter { guid, reliable: true, paths: vec![path_to(1, 1_472)] });
    let source = Source { prefix: guid.prefix, timestamp: None, vendor: VendorId([1, 0x10]) };
    let heartbeat = |count: i32, last: i64| Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: guid.entity_id,
        first: SequenceNumber::FIRST,
        last: SequenceNumber(last),
        count,
        is_final: false,
        liveliness: false,
    };
    reader.on_heartbeat(now, &source, &heartbeat(1, 3), &mut delivered);
    for number in 1..=3 {
        assert!(!reader.has_history(guid));
        let data = Data {
            reader_id: EntityId::UNKNOWN,
            writer_id: guid.entity_id,
            sequence_number: SequenceNumber(number),
            inline_qos: None,
            payload: Some(SerializedPayload { is_key: false, bytes: &[0, 1, 0, 0] }),
        };
        // What it writes meanwhile is no history.
        reader.on_heartbeat(now, &source, &heartbeat(1 + number as i32, 3 + number), &mut delivered);
        reader.on_data(now, &source, &data, &mut delivered);
    }
    assert!(reader.has_history(guid));
    assert_eq!(delivered.samples.len(), 3);
}
