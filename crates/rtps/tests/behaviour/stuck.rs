//! Pairs must never get stuck, whatever happens to the path, to the history and to other readers.

use crate::pair::{Pair, Random, reader_guid, writer_guid};
use rtps::reader::ReaderConfig;
use rtps::transmit::Transmit;
use rtps::writer::WriterConfig;
use wire::{Duration, SequenceNumber};

fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|index| if index < 4 { 0 } else { (index * 7) as u8 }).collect()
}

fn numbers(pair: &Pair, reader: usize) -> Vec<i64> {
    pair.readers[reader].1.samples.iter().map(|(number, _)| number.0).collect()
}

/// A writer that keeps what it wrote, and readers that are not connected yet.
fn retaining(readers: u8) -> Pair {
    let config = WriterConfig { retain: true, ..WriterConfig::new(writer_guid(), true) };
    let readers: Vec<_> = (0..readers).map(|index| ReaderConfig::new(reader_guid(index), true)).collect();
    Pair::new(1, config, &readers)
}

#[test]
fn changes_removed_before_they_left_do_not_fill_the_window() {
    let mut pair = Pair::reliable(1);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    // KEEP_LAST 1 while the socket takes nothing: nobody polls in between.
    for number in 1..=400 {
        pair.write(&sample(1_000)).unwrap();
        pair.writer.remove(SequenceNumber(number - 1));
    }
    pair.run(Duration::from_millis(5));
    assert_eq!(numbers(&pair, 0), [400]);
}

#[test]
fn a_datagram_fits_the_path_of_every_reader_that_it_goes_to() {
    let mut pair = retaining(2);
    pair.connect(0, true);
    pair.run(Duration::from_secs(1));
    for _ in 0..40 {
        pair.write(&sample(1_000)).unwrap();
    }
    // What waits to leave was laid out for the large path.
    pair.mtu = 1_472;
    pair.connect(1, true);
    pair.run(Duration::from_secs(5));
    for reader in 0..2 {
        assert!(numbers(&pair, reader).into_iter().eq(1..=40));
    }
    for _ in 0..40 {
        pair.write(&sample(1_000)).unwrap();
    }
    pair.connect(0, true);
    pair.run(Duration::from_secs(5));
    for reader in 0..2 {
        assert!(numbers(&pair, reader).into_iter().eq(1..=80));
    }
}

#[test]
fn what_waits_when_the_only_path_becomes_smaller_is_sent() {
    for reliable in [true, false] {
        let config = ReaderConfig::new(reader_guid(0), reliable);
        let mut pair = Pair::new(1, WriterConfig::new(writer_guid(), true), &[config]);
        pair.connect(0, false);
        pair.run(Duration::from_secs(1));
        for _ in 0..40 {
            pair.write(&sample(1_000)).unwrap();
        }
        pair.mtu = 1_472;
        pair.connect(0, false);
        pair.run(Duration::from_secs(5));
        assert!(numbers(&pair, 0).into_iter().eq(1..=40), "reliable: {reliable}");
    }
}

#[test]
fn readers_on_unlike_paths_get_fragments_in_sizes_of_their_own() {
    for seed in 0..20 {
        let mut pair = retaining(2);
        pair.random = Random::new(seed);
        pair.connect(0, true);
        pair.run(Duration::from_secs(1));
        pair.write(&sample(300_000)).unwrap();
        pair.mtu = 1_472;
        pair.connect(1, true);
        pair.wire.loss = 20;
        pair.run(Duration::from_secs(20));
        for reader in 0..2 {
            assert_eq!(numbers(&pair, reader), [1], "reader {reader}, seed {seed}");
            assert!(pair.readers[reader].1.samples[0].1 == sample(300_000));
            assert_eq!(pair.readers[reader].0.counters().implausible, 0, "fragments of another size came");
        }
    }
}

#[test]
fn a_sample_arrives_though_the_path_grows_while_it_is_under_way() {
    // In larger fragments than before, or even whole.
    for (seed, len) in (0..40).map(|seed| (seed, if seed % 2 == 0 { 200_000 } else { 12_000 })) {
        let mut pair = retaining(2);
        pair.random = Random::new(seed);
        pair.connect(1, true);
        pair.write(&sample(len)).unwrap();
        pair.run(Duration::from_secs(1));
        pair.mtu = 1_472;
        pair.wire.loss = 10;
        pair.connect(0, true);
        let has_begun =
            |pair: &Pair| pair.readers[0].0.held_bytes() > 0 || !pair.readers[0].1.samples.is_empty();
        for _ in 0..10_000 {
            if !has_begun(&pair) {
                pair.run(Duration::from_micros(30));
            }
        }
        assert!(has_begun(&pair), "it has begun to arrive");
        pair.mtu = 65_507;
        pair.connect(0, true);
        pair.run(Duration::from_secs(20));
        assert_eq!(numbers(&pair, 0), [1], "seed {seed}");
    }
}

#[test]
fn a_silent_reader_does_not_keep_another_from_being_asked_inside_a_sample() {
    let mut pair = retaining(2);
    pair.receive_buffer = Some(20_000);
    pair.mtu = 1_472;
    (0..2).for_each(|index| pair.connect(index, false));
    pair.run(Duration::from_secs(1));
    pair.cut = Some(2);
    pair.wire.loss = 20;
    pair.write(&sample(100_000)).unwrap();
    pair.write(&sample(100_000)).unwrap();
    pair.run(Duration::from_secs(20));
    assert_eq!(numbers(&pair, 1), [1, 2]);
}

#[test]
fn a_change_that_is_removed_in_the_middle_of_its_fragments_ends() {
    let readers: Vec<_> = (0..2).map(|index| ReaderConfig::new(reader_guid(index), true)).collect();
    let mut pair = Pair::new(1, WriterConfig::new(writer_guid(), true), &readers);
    pair.mtu = 1_472;
    pair.receive_buffer = Some(8_000);
    pair.connect(0, false);
    pair.receive_buffer = Some(20_000);
    pair.connect(1, false);
    pair.run(Duration::from_secs(1));
    pair.cut = Some(3);
    pair.write(&sample(100_000)).unwrap();
    for step in 0..200 {
        pair.run(Duration::from_micros(100));
        if step == 20 {
            pair.writer.remove(SequenceNumber(1));
            pair.write(&sample(100)).unwrap();
        }
        let mut transmit = Transmit::new();
        let mut polls = 0;
        while pair.writer.poll_transmit(pair.now, &mut transmit) {
            polls += 1;
            assert!(polls < 1_000, "the writer talks without end");
        }
    }
    pair.cut = None;
    pair.run(Duration::from_secs(5));
    assert_eq!((numbers(&pair, 0), numbers(&pair, 1)), (vec![2], vec![2]));
}

#[test]
fn a_lagging_reader_is_asked_while_another_is_busy() {
    let readers: Vec<_> = (0..2).map(|index| ReaderConfig::new(reader_guid(index), true)).collect();
    let mut pair = Pair::new(1, WriterConfig::new(writer_guid(), true), &readers);
    pair.receive_buffer = Some(100_000);
    (0..2).for_each(|index| pair.connect(index, false));
    pair.run(Duration::from_secs(1));
    for number in 1..=1_000 {
        pair.write(&sample(8_000)).unwrap();
        pair.writer.remove(SequenceNumber(number - 1));
        pair.cut = (number < 100).then_some(3);
        pair.run(Duration::from_millis(1));
    }
    assert!(numbers(&pair, 0).len() > 900);
    assert!(numbers(&pair, 1).len() > 700, "{} samples came", numbers(&pair, 1).len());
}

#[test]
fn a_reader_that_announces_no_buffer_still_gets_all() {
    for seed in 0..10 {
        let mut pair = Pair::reliable(seed);
        pair.receive_buffer = Some(0);
        pair.wire.loss = 40;
        pair.connect(0, false);
        for _ in 0..20 {
            pair.write(&sample(100)).unwrap();
            pair.run(Duration::from_millis(1));
        }
        pair.run(Duration::from_secs(60));
        assert!(numbers(&pair, 0).into_iter().eq(1..=20), "seed {seed}");
    }
}
