//! Paths that swallow large datagrams without a word: what passes is found out, and used.

use crate::pair::{Pair, Random, Wire, path_to, reader_guid, writer_guid};
use rtps::reader::ReaderConfig;
use rtps::writer::{PathNews, WriterConfig};
use wire::{Duration, SequenceNumber};

fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|index| if index < 4 { 0 } else { (index * 7) as u8 }).collect()
}

fn numbers(pair: &Pair, reader: usize) -> Vec<i64> {
    pair.readers[reader].1.samples.iter().map(|(number, _)| number.0).collect()
}

/// A matched pair on interfaces of `mtu`, whose path carries UDP payloads of at most `carries` bytes from the writer.
fn narrow(seed: u64, mtu: u32, carries: usize, receive_buffer: Option<u32>) -> Pair {
    let config = WriterConfig { byte_limit: 4 << 20, ..WriterConfig::new(writer_guid(), true) };
    let mut pair = Pair::new(seed, config, &[ReaderConfig::new(reader_guid(0), true)]);
    pair.mtu = mtu;
    pair.receive_buffer = receive_buffer;
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    pair.carries = Some(carries);
    pair
}

#[test]
fn samples_arrive_on_paths_that_swallow_large_datagrams() {
    let mut seed = 0;
    for (mtu, carries) in [(1_472, 548), (1_472, 1_232), (8_972, 1_472), (65_507, 1_472), (1_472, 300)] {
        for receive_buffer in [Some(200_000), None] {
            for loss in [0, 5] {
                for len in [700, 1_300, 20_000, 200_000] {
                    seed += 1;
                    let mut pair = narrow(seed, mtu, carries, receive_buffer);
                    pair.wire = Wire { loss, jitter: 100, ..Wire::default() };
                    for _ in 0..5 {
                        pair.write(&sample(len)).unwrap();
                    }
                    pair.run(Duration::from_secs(15));
                    let what = format!("{mtu} {carries} {receive_buffer:?} loss {loss} len {len}");
                    assert_eq!(numbers(&pair, 0), [1, 2, 3, 4, 5], "{what} {:?}", pair.writer.counters());
                    assert!(pair.writer.is_acknowledged(SequenceNumber(5)), "{what}");
                    // Once the size is known, others arrive at once.
                    let before = pair.datagrams;
                    pair.wire.loss = 0;
                    pair.write(&sample(len)).unwrap();
                    pair.run(Duration::from_millis(200));
                    assert_eq!(numbers(&pair, 0).last(), Some(&6), "{what}");
                    let smallest = 128.max(carries / 4) as u64;
                    assert!(pair.datagrams - before < 20 + 3 * len as u64 / smallest, "{what}");
                }
            }
        }
    }
}

#[test]
fn what_never_arrives_is_repeated_ever_less() {
    for receive_buffer in [Some(200_000), None] {
        // Smaller than all that is tried; HEARTBEATs and questions pass.
        let mut pair = narrow(3, 1_472, 200, receive_buffer);
        for _ in 0..5 {
            pair.write(&sample(20_000)).unwrap();
        }
        pair.run(Duration::from_secs(1));
        let first = pair.datagrams;
        assert!(first < 3_000, "{first} datagrams in the first second");
        pair.run(Duration::from_secs(9));
        let before = pair.datagrams;
        pair.run(Duration::from_secs(10));
        let later = pair.datagrams - before;
        assert!(later < 500, "{later} datagrams in ten seconds, {:?}", pair.writer.counters());
        // The path is repaired.
        pair.carries = None;
        pair.run(Duration::from_secs(5));
        assert_eq!(numbers(&pair, 0), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn larger_datagrams_are_tried_again_when_all_is_quiet() {
    let mut pair = narrow(4, 1_472, 548, Some(200_000));
    pair.write(&sample(20_000)).unwrap();
    pair.run(Duration::from_secs(10));
    assert_eq!(numbers(&pair, 0), [1]);
    assert!(pair.writer.counters().narrowed > 0);
    pair.run(Duration::from_secs(3_000));
    assert_eq!(pair.writer.counters().widened, 0);
    pair.carries = None;
    pair.run(Duration::from_secs(1_300));
    assert!(pair.writer.counters().widened > 0);
    let before = pair.datagrams;
    pair.write(&sample(20_000)).unwrap();
    pair.run(Duration::from_secs(5));
    assert_eq!(numbers(&pair, 0), [1, 2]);
    assert!(pair.datagrams - before < 30, "{}", pair.datagrams - before);
    // And then it is silent.
    let before = pair.datagrams;
    pair.run(Duration::from_secs(3_600));
    assert_eq!(pair.datagrams, before);
}

#[test]
fn heavy_loss_and_long_ways_are_not_taken_for_a_narrow_path() {
    for seed in 0..10 {
        let mut pair = narrow(seed, 1_472, 65_507, Some(200_000));
        pair.wire = Wire { loss: 20, jitter: 1_000, delay: 50_000, ..Wire::default() };
        let mut random = Random::new(seed);
        for _ in 0..100 {
            while pair.write(&sample(1_000 + random.below_u64(20_000) as usize)).is_err() {
                pair.run(Duration::from_millis(50));
            }
            pair.run(Duration::from_millis(10));
        }
        pair.run(Duration::from_secs(60));
        assert_eq!(numbers(&pair, 0).len(), 100, "seed {seed}");
        assert_eq!(pair.writer.counters().narrowed, 0, "seed {seed}");
    }
}

#[test]
fn one_narrow_path_does_not_stop_the_reader_on_a_wide_one() {
    let config = WriterConfig { byte_limit: 4 << 20, ..WriterConfig::new(writer_guid(), true) };
    let readers = [0, 1].map(|index| ReaderConfig::new(reader_guid(index), true));
    let mut pair = Pair::new(9, config, &readers);
    pair.mtu = 1_472;
    (0..2).for_each(|index| pair.connect(index, false));
    pair.run(Duration::from_secs(1));
    pair.carries = Some(548);
    pair.narrow_host = Some(2);
    for _ in 0..20 {
        pair.write(&sample(20_000)).unwrap();
        pair.run(Duration::from_millis(50));
    }
    pair.run(Duration::from_secs(10));
    assert_eq!((numbers(&pair, 0).len(), numbers(&pair, 1).len()), (20, 20));
}

#[test]
fn a_reader_whose_application_takes_nothing_is_not_taken_for_a_narrow_path() {
    for (byte_limit, len) in [(200_000, 20_000), (200_000, 700), (65_536, 20_000), (1 << 20, 200_000)] {
        for receive_buffer in [Some(200_000), None] {
            let config = WriterConfig { byte_limit: 64 << 20, ..WriterConfig::new(writer_guid(), true) };
            let reader = ReaderConfig { byte_limit, ..ReaderConfig::new(reader_guid(0), true) };
            let mut pair = Pair::new(11, config, &[reader]);
            (pair.mtu, pair.receive_buffer) = (1_472, receive_buffer);
            pair.connect(0, false);
            pair.run(Duration::from_secs(1));
            pair.readers[0].1.limit = Some(0);
            let count = 4_000_000 / len;
            for _ in 0..count {
                pair.write(&sample(len)).unwrap();
                pair.run(Duration::from_millis(1));
            }
            pair.run(Duration::from_secs(30));
            let what = format!("{byte_limit} {len} {receive_buffer:?} {:?}", pair.writer.counters());
            assert_eq!(pair.writer.counters().narrowed, 0, "{what}");
            let (reader, delivered) = &mut pair.readers[0];
            delivered.limit = None;
            reader.resume(pair.now, delivered);
            pair.run(Duration::from_secs(10));
            assert_eq!(numbers(&pair, 0).len(), count, "{what}");
        }
    }
}

#[test]
fn a_writer_that_is_told_serves_readers_that_do_not_answer() {
    let mut finds = narrow(12, 1_472, 548, None);
    finds.write(&sample(20_000)).unwrap();
    finds.run(Duration::from_secs(5));
    let news = finds.writer.take_path_news();
    let [found] = news[..] else { panic!("{news:?}") };
    assert_eq!((found.path, found.datagram), (path_to(2, 1_472), 548));
    assert_eq!(finds.writer.take_path_news(), []);
    let readers = [0, 1].map(|index| ReaderConfig::new(reader_guid(index), false));
    let mut follows = Pair::new(13, WriterConfig::new(writer_guid(), true), &readers);
    (follows.mtu, follows.carries, follows.narrow_host) = (1_472, Some(548), Some(2));
    follows.connect(0, false);
    follows.write(&sample(20_000)).unwrap();
    follows.run(Duration::from_secs(2));
    assert_eq!(numbers(&follows, 0), [0; 0]);
    assert!(follows.writer.on_path_news(follows.now, &found));
    follows.write(&sample(20_000)).unwrap();
    follows.write(&sample(1_000)).unwrap();
    follows.run(Duration::from_secs(2));
    assert_eq!(numbers(&follows, 0), [2, 3]);
    assert_eq!(follows.writer.take_path_news(), [], "it has found out nothing by itself");
    // Another path is another matter.
    let other = PathNews { path: path_to(3, 1_472), datagram: 300 };
    assert!(!follows.writer.on_path_news(follows.now, &other));
}

#[test]
fn news_that_nobody_takes_are_no_more_than_there_are_readers() {
    let mut pair = narrow(14, 1_472, 300, None);
    for mtu in [1_472, 1_460, 1_450, 1_440] {
        pair.mtu = mtu;
        pair.connect(0, false);
        let before = pair.writer.counters().narrowed;
        pair.write(&sample(3_000)).unwrap();
        pair.run(Duration::from_secs(5));
        assert!(pair.writer.counters().narrowed > before, "{mtu}");
    }
    let news = pair.writer.take_path_news();
    let [newest] = news[..] else { panic!("{news:?}") };
    assert_eq!(newest.path.max_datagram, 1_440);
}
