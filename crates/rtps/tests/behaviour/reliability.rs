//! A reliable writer and its readers over a faulty wire.

use crate::pair::{Pair, Random, Wire, reader_guid, writer_guid};
use rtps::reader::ReaderConfig;
use rtps::writer::{WriteError, WriterConfig};
use wire::{Duration, SequenceNumber};

/// A sample whose bytes follow from its number; the first four are an encapsulation header.
fn sample(number: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(number);
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend((4..len).map(|_| random.bits() as u8));
    bytes
}

/// Bytes of a received sample, without the padding and its count in the encapsulation options.
fn same(received: &[u8], sent: &[u8]) -> bool {
    received.len() >= sent.len() && received.len() < sent.len() + 4 && received[4..sent.len()] == sent[4..]
}

fn write_all(pair: &mut Pair, count: u64, len: impl Fn(u64) -> usize) {
    for number in 1..=count {
        while let Err(error) = pair.write(&sample(number, len(number))) {
            assert!(matches!(error, WriteError::Full { .. }), "{error}");
            pair.run(Duration::from_millis(1));
        }
        let pause = pair.random.below_u64(50) as i64;
        pair.run(Duration::from_micros(pause));
    }
}

fn check(pair: &Pair, reader: usize, first: u64, count: u64, len: impl Fn(u64) -> usize) {
    let samples = &pair.readers[reader].1.samples;
    assert_eq!(samples.len() as u64, count, "{:?}", pair.readers[reader].0.counters());
    for ((number, bytes), expected) in samples.iter().zip(first..) {
        assert_eq!(*number, SequenceNumber(expected as i64));
        assert!(same(bytes, &sample(expected, len(expected))), "sample {expected}");
    }
    assert_eq!(pair.readers[reader].1.lost, 0);
}

#[test]
fn nothing_is_lost_duplicated_or_reordered() {
    for seed in 0..60 {
        let mut pair = Pair::reliable(seed);
        pair.wire =
            Wire { loss: seed % 6 * 10, duplicate: seed % 3 * 10, jitter: seed % 4 * 300, ..Wire::default() };
        pair.connect(0, false);
        write_all(&mut pair, 300, |number| 8 + number as usize % 90);
        pair.run(Duration::from_secs(30));
        check(&pair, 0, 1, 300, |number| 8 + number as usize % 90);
        assert!(pair.writer.is_acknowledged(pair.writer.last()), "seed {seed}");
        assert_eq!(pair.writer.held_bytes(), 0);
    }
}

#[test]
fn fragments_arrive_whole_over_small_paths_with_loss() {
    let len = |number: u64| 900 + number as usize * 2_111 % 60_000;
    for seed in 0..40 {
        let mut pair = Pair::reliable(seed);
        pair.mtu = [1_472, 576, 8_972, 65_507][seed as usize % 4];
        pair.wire = Wire { loss: seed % 5 * 8, duplicate: 5, jitter: 200, ..Wire::default() };
        pair.connect(0, false);
        write_all(&mut pair, 40, len);
        pair.run(Duration::from_secs(60));
        check(&pair, 0, 1, 40, len);
        assert_eq!(pair.readers[0].0.held_bytes(), 0, "seed {seed}");
    }
}

#[test]
fn several_readers_each_get_all() {
    for seed in 0..20 {
        let configs: Vec<_> = (0..4).map(|index| ReaderConfig::new(reader_guid(index), true)).collect();
        let mut pair = Pair::new(seed, WriterConfig::new(writer_guid(), true), &configs);
        pair.wire = Wire { loss: 25, duplicate: 5, jitter: 100, ..Wire::default() };
        (0..4).for_each(|index| pair.connect(index, false));
        write_all(&mut pair, 200, |_| 40);
        pair.run(Duration::from_secs(30));
        (0..4).for_each(|index| check(&pair, index, 1, 200, |_| 40));
    }
}

#[test]
fn late_readers_get_the_history_or_only_what_is_new() {
    for seed in 0..20 {
        let config = WriterConfig { retain: true, ..WriterConfig::new(writer_guid(), true) };
        let readers: Vec<_> = (0..3).map(|index| ReaderConfig::new(reader_guid(index), true)).collect();
        let mut pair = Pair::new(seed, config, &readers);
        pair.wire = Wire { loss: 20, duplicate: 5, jitter: 100, ..Wire::default() };
        pair.connect(0, true);
        write_all(&mut pair, 150, |_| 100);
        pair.connect(1, true);
        pair.connect(2, false);
        for number in 151..=200 {
            pair.write(&sample(number, 100)).unwrap();
            pair.run(Duration::from_micros(30));
        }
        pair.run(Duration::from_secs(30));
        check(&pair, 0, 1, 200, |_| 100);
        check(&pair, 1, 1, 200, |_| 100);
        check(&pair, 2, 151, 50, |_| 100);
    }
}

#[test]
fn removed_changes_become_gaps_and_the_rest_arrives() {
    for seed in 0..30 {
        let mut pair = Pair::reliable(seed);
        pair.wire = Wire { loss: 30, duplicate: 0, jitter: 50, ..Wire::default() };
        pair.connect(0, false);
        for number in 1..=200u64 {
            pair.write(&sample(number, 32)).unwrap();
            if number > 3 {
                pair.writer.remove(SequenceNumber(number as i64 - 3));
            }
            pair.run(Duration::from_micros(10));
        }
        pair.run(Duration::from_secs(20));
        let samples = &pair.readers[0].1.samples;
        assert_eq!(samples.last().unwrap().0, SequenceNumber(200));
        assert!(samples.is_sorted_by(|a, b| a.0 < b.0));
        for (number, bytes) in samples {
            assert!(same(bytes, &sample(number.0 as u64, 32)));
        }
        for kept in 198..=200 {
            assert!(samples.iter().any(|(number, _)| number.0 == kept), "seed {seed}");
        }
        assert!(pair.writer.is_acknowledged(SequenceNumber(200)));
    }
}

#[test]
fn a_full_reader_stops_the_writer_and_goes_on_later() {
    for seed in 0..10 {
        let config = WriterConfig { byte_limit: 20_000, ..WriterConfig::new(writer_guid(), true) };
        let mut pair = Pair::new(seed, config, &[ReaderConfig::new(reader_guid(0), true)]);
        pair.wire = Wire { loss: 10, duplicate: 0, jitter: 50, ..Wire::default() };
        pair.connect(0, false);
        pair.readers[0].1.limit = Some(5);
        let mut written = 0;
        for _ in 0..200 {
            if pair.write(&sample(written + 1, 100)).is_ok() {
                written += 1;
            }
            pair.run(Duration::from_millis(2));
        }
        assert!(written < 200 && written > 5, "{written}");
        assert_eq!(pair.readers[0].1.samples.len(), 5);
        pair.readers[0].1.limit = None;
        let now = pair.now;
        let (reader, delivered) = &mut pair.readers[0];
        reader.resume(now, delivered);
        pair.run(Duration::from_secs(10));
        check(&pair, 0, 1, written, |_| 100);
    }
}

#[test]
fn a_batch_waits_for_its_delay_and_is_one_datagram() {
    let config =
        WriterConfig { batch_delay: Duration::from_millis(5), ..WriterConfig::new(writer_guid(), true) };
    let mut pair = Pair::new(1, config, &[ReaderConfig::new(reader_guid(0), true)]);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    let before = pair.datagrams;
    for number in 1..=500 {
        pair.write(&sample(number, 20)).unwrap();
    }
    pair.run(Duration::from_micros(4_900));
    assert!(pair.readers[0].1.samples.is_empty());
    pair.run(Duration::from_micros(200));
    check(&pair, 0, 1, 500, |_| 20);
    // The batch, which asks after the silence before it, and the answer.
    assert_eq!(pair.datagrams - before, 2);
}

#[test]
fn a_change_that_joins_others_that_wait_leaves_nothing_to_do() {
    let config =
        WriterConfig { batch_delay: Duration::from_millis(5), ..WriterConfig::new(writer_guid(), true) };
    let mut pair = Pair::new(1, config, &[ReaderConfig::new(reader_guid(0), true)]);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    pair.write(&sample(1, 20)).unwrap();
    assert!(pair.writer.poll_timeout() <= pair.now.monotonic);
    pair.run(Duration::from_millis(1));
    let due = pair.writer.poll_timeout();
    assert!(due > pair.now.monotonic);
    pair.write(&sample(2, 20)).unwrap();
    assert_eq!(pair.writer.poll_timeout(), due);
    // One for which there is no room there, and one that comes when they should have left.
    pair.write(&sample(3, 60_000)).unwrap();
    pair.write(&sample(4, 60_000)).unwrap();
    assert!(pair.writer.poll_timeout() <= pair.now.monotonic);
    pair.run(Duration::from_millis(1));
    let due = pair.writer.poll_timeout();
    pair.now.monotonic = due;
    pair.write(&sample(5, 20)).unwrap();
    assert!(pair.writer.poll_timeout() <= pair.now.monotonic);
}

#[test]
fn an_idle_pair_falls_silent() {
    let mut pair = Pair::reliable(3);
    pair.connect(0, false);
    write_all(&mut pair, 10, |_| 16);
    pair.run(Duration::from_secs(5));
    let before = pair.datagrams;
    pair.run(Duration::from_secs(3_600));
    assert_eq!(pair.datagrams, before);
}

#[test]
fn samples_larger_than_the_window_arrive_and_never_flood_the_reader() {
    for seed in 0..12 {
        let mut pair = Pair::reliable(seed);
        pair.mtu = [1_472, 8_972, 65_507][seed as usize % 3];
        pair.wire = Wire { loss: seed % 4 * 10, duplicate: 0, jitter: 100, ..Wire::default() };
        // Half of the readers are of another make: they do not answer inside of a sample.
        pair.receive_buffer = (seed % 2 == 0).then_some(200_000);
        pair.connect(0, false);
        let len = |number: u64| 300_000 + number as usize * 70_000;
        for number in 1..=5 {
            while pair.write(&sample(number, len(number))).is_err() {
                pair.run(Duration::from_millis(20));
            }
        }
        pair.run(Duration::from_secs(60));
        check(&pair, 0, 1, 5, len);
        if seed % 2 == 0 {
            assert!(
                pair.most_under_way <= 200_000,
                "{} octets under way, seed {seed} {:?}",
                pair.most_under_way,
                pair.writer.counters()
            );
        }
    }
}

#[test]
fn what_was_gone_before_a_late_reader_came_is_not_lost_to_it() {
    for seed in 0..20 {
        let config = WriterConfig { retain: true, ..WriterConfig::new(writer_guid(), true) };
        let mut pair = Pair::new(seed, config, &[ReaderConfig::new(reader_guid(0), true)]);
        pair.wire = Wire { loss: 20, duplicate: 0, jitter: 300, ..Wire::default() };
        for number in 1..=12 {
            pair.write(&sample(number, 32)).unwrap();
        }
        for number in [1, 2, 3, 5, 6, 7, 8, 9, 10] {
            pair.writer.remove(SequenceNumber(number));
        }
        pair.connect(0, true);
        pair.run(Duration::from_secs(5));
        let numbers: Vec<_> = pair.readers[0].1.samples.iter().map(|(number, _)| number.0).collect();
        assert_eq!(numbers, [4, 11, 12], "seed {seed}");
        assert_eq!(pair.readers[0].1.lost, 0, "seed {seed}");
    }
}

#[test]
fn a_lost_batch_of_thousands_is_repeated_at_once() {
    let config =
        WriterConfig { batch_delay: Duration::from_millis(5), ..WriterConfig::new(writer_guid(), true) };
    let mut pair = Pair::new(1, config, &[ReaderConfig::new(reader_guid(0), true)]);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    pair.wire.loss = 100;
    for number in 1..=1_400 {
        pair.write(&sample(number, 20)).unwrap();
    }
    pair.run(Duration::from_millis(10));
    pair.wire.loss = 0;
    assert!(pair.readers[0].1.samples.is_empty());
    // One question of the timer, one request, one repair.
    pair.run(Duration::from_millis(25));
    check(&pair, 0, 1, 1_400, |_| 20);
    assert!(pair.readers[0].0.counters().duplicates == 0);
}
