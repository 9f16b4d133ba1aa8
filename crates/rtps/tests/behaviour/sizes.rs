//! Samples of every size against the limits of both sides: each arrives or is told, and afterwards the topic works.

use crate::pair::{Pair, Wire, reader_guid, writer_guid};
use rtps::reader::{ReaderConfig, Unusable};
use rtps::writer::{WriteError, WriterConfig};
use wire::{Duration, SequenceNumber};

/// A payload that repeats every 251 bytes and begins with an encapsulation header.
fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|index| if index < 4 { 0 } else { (index % 251) as u8 }).collect()
}

/// One writer and one reader with byte limits of their own.
struct Case {
    reliable: bool,
    size: usize,
    writer_limit: usize,
    reader_limit: usize,
    mtu: u32,
    loss: u64,
    receive_buffer: Option<u32>,
}

impl Case {
    fn pair(&self, seed: u64) -> Pair {
        let writer =
            WriterConfig { byte_limit: self.writer_limit, ..WriterConfig::new(writer_guid(), self.reliable) };
        let reader = ReaderConfig {
            byte_limit: self.reader_limit,
            ..ReaderConfig::new(reader_guid(0), self.reliable)
        };
        let mut pair = Pair::new(seed, writer, &[reader]);
        pair.mtu = self.mtu;
        pair.receive_buffer = self.receive_buffer;
        pair.connect(0, false);
        pair.run(Duration::from_secs(1));
        // What overtakes a best-effort sample makes it late.
        let jitter = if self.reliable { 50 } else { 0 };
        pair.wire = Wire { loss: self.loss, jitter, ..Wire::default() };
        pair
    }

    /// One sample of the size, then ten small ones. Gives what came of the large one.
    fn play(&self, seed: u64) -> Outcome {
        let what = format!(
            "reliable {} size {} limits {} and {} mtu {} loss {} buffer {:?} seed {seed}",
            self.reliable,
            self.size,
            self.writer_limit,
            self.reader_limit,
            self.mtu,
            self.loss,
            self.receive_buffer
        );
        let mut pair = self.pair(seed);
        let large = match pair.write(&payload(self.size)) {
            Ok(number) => Some(number),
            Err(WriteError::TooLarge { .. }) => None,
            Err(error) => panic!("{error}: {what}"),
        };
        let mut small = Vec::new();
        for _ in 0..10 {
            loop {
                match pair.write(&payload(10)) {
                    Ok(number) => break small.push(number),
                    Err(WriteError::Full { .. }) => pair.run(Duration::from_millis(20)),
                    Err(error) => panic!("{error}: {what}"),
                }
                assert!(pair.now.monotonic.as_nanos() < 600_000_000_000, "blocked for ever: {what}");
            }
        }
        pair.run(Duration::from_secs(60));
        let (reader, delivered) = &pair.readers[0];
        let came = large.is_some_and(|number| delivered.samples.iter().any(|(other, _)| *other == number));
        let refused = large.is_some_and(|number| delivered.refused.iter().any(|(other, _)| *other == number));
        if came {
            let (_, bytes) = delivered.samples.iter().find(|(other, _)| Some(*other) == large).unwrap();
            assert!(bytes[4..self.size] == payload(self.size)[4..], "other bytes: {what}");
        }
        assert_eq!(delivered.refused.len(), usize::from(refused), "told once: {what}");
        let arrived =
            small.iter().filter(|number| delivered.samples.iter().any(|(other, _)| other == *number));
        if self.reliable {
            assert_eq!(arrived.count(), 10, "the topic works afterwards: {what} {:?}", reader.counters());
            assert!(pair.writer.is_acknowledged(pair.writer.last()), "{what}");
            assert_eq!((reader.held_bytes(), pair.writer.held_bytes()), (0, 0), "{what}");
            assert_eq!(delivered.lost, 0, "{what}");
            assert!(
                large.is_none() || came != refused,
                "neither came nor told: {what} {:?}",
                reader.counters()
            );
        } else {
            let told = delivered.lost + delivered.refused.len() as u64 + delivered.samples.len() as u64;
            let written = small.len() as u64 + u64::from(large.is_some());
            // Of the last ones that are lost nothing tells.
            assert!(told <= written && told + if self.loss > 0 { 3 } else { 0 } >= written, "{what}: {told}");
        }
        let before = pair.datagrams;
        pair.run(Duration::from_secs(60));
        assert_eq!(pair.datagrams, before, "silent afterwards: {what}");
        match (large, came) {
            (None, _) => Outcome::RefusedByWriter,
            (_, true) => Outcome::Came,
            (_, false) => Outcome::Told,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    RefusedByWriter,
    Came,
    Told,
}

#[test]
fn every_size_arrives_or_is_told_at_limits_below_at_and_above() {
    const LIMIT: usize = 1 << 20;
    // What a reader keeps about a sample that waits, and what a history keeps.
    const ABOUT: usize = 1_024;
    let mut seed = 0;
    for reliable in [true, false] {
        for loss in [0, 1] {
            for (mtu, receive_buffer) in [(1_472, Some(200_000)), (65_507, Some(200_000)), (65_507, None)] {
                let sizes = [
                    (4, Outcome::Came),
                    (1_000, Outcome::Came),
                    (70_000, Outcome::Came),
                    (LIMIT - ABOUT, Outcome::Came),
                    (LIMIT + 1, Outcome::Told),
                    (4 * LIMIT, Outcome::Told),
                    (8 * LIMIT + 1, Outcome::RefusedByWriter),
                ];
                for (size, expected) in sizes {
                    seed += 1;
                    let case = Case {
                        reliable,
                        size,
                        writer_limit: 8 * LIMIT,
                        reader_limit: LIMIT,
                        mtu,
                        loss,
                        receive_buffer,
                    };
                    let outcome = case.play(seed);
                    if reliable || loss == 0 {
                        assert_eq!(outcome, expected, "{size} reliable {reliable} mtu {mtu} loss {loss}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_sample_above_sixteen_mebibytes_is_bound_by_the_limits_of_both_sides_alone() {
    let largest = tiers::current().number("rtps.largest_sample") as usize;
    for loss in [0, 1] {
        let case = Case {
            reliable: true,
            size: largest,
            writer_limit: largest,
            reader_limit: largest + 1_024,
            mtu: 65_507,
            loss,
            receive_buffer: Some(2 << 20),
        };
        assert_eq!(case.play(7), Outcome::Came);
        let small = Case { reader_limit: largest / 2, ..case };
        assert_eq!(small.play(8), Outcome::Told);
    }
}

#[test]
fn what_can_never_be_held_is_told_with_its_size_before_all_of_it_was_sent() {
    let case = Case {
        reliable: true,
        size: 20 << 20,
        writer_limit: 64 << 20,
        reader_limit: 1 << 20,
        mtu: 65_507,
        loss: 0,
        receive_buffer: Some(400_000),
    };
    let mut pair = case.pair(3);
    let before = pair.datagrams;
    pair.write(&payload(case.size)).unwrap();
    pair.run(Duration::from_secs(1));
    let refused = &pair.readers[0].1.refused;
    assert!(
        matches!(refused.as_slice(), [(SequenceNumber(1), Unusable::TooLarge { size, limit })]
            if *size == case.size && *limit <= case.reader_limit),
        "{refused:?}"
    );
    // It would be more than 320.
    assert!(pair.datagrams - before < 40, "{}", pair.datagrams - before);
}

#[test]
fn another_reader_gets_what_one_can_not_hold() {
    for seed in 0..10 {
        let writer = WriterConfig { byte_limit: 8 << 20, ..WriterConfig::new(writer_guid(), true) };
        let readers = [4 << 20, 1 << 20].map(|byte_limit| byte_limit);
        let readers: Vec<_> = (0..2)
            .map(|index| ReaderConfig {
                byte_limit: readers[usize::from(index)],
                ..ReaderConfig::new(reader_guid(index), true)
            })
            .collect();
        let mut pair = Pair::new(seed, writer, &readers);
        pair.receive_buffer = Some(200_000);
        pair.wire = Wire { loss: seed, jitter: 50, ..Wire::default() };
        (0..2).for_each(|index| pair.connect(index, false));
        for len in [100, 3 << 20, 100] {
            pair.write(&payload(len)).unwrap();
        }
        pair.run(Duration::from_secs(60));
        let numbers = |index: usize| {
            pair.readers[index].1.samples.iter().map(|(number, _)| number.0).collect::<Vec<_>>()
        };
        assert_eq!((numbers(0), numbers(1)), (vec![1, 2, 3], vec![1, 3]), "seed {seed}");
        assert_eq!(pair.writer.held_bytes(), 0, "seed {seed}");
    }
}

#[test]
fn a_large_sample_that_a_full_application_refuses_is_not_repeated_meanwhile() {
    let case = Case {
        reliable: true,
        size: 700_000,
        writer_limit: 8 << 20,
        reader_limit: 1 << 20,
        mtu: 65_507,
        loss: 0,
        receive_buffer: Some(200_000),
    };
    let mut pair = case.pair(5);
    pair.readers[0].1.limit = Some(0);
    for _ in 0..3 {
        pair.write(&payload(case.size)).unwrap();
    }
    pair.run(Duration::from_secs(2));
    let before = pair.datagrams;
    pair.run(Duration::from_secs(10));
    // The writer asks twice a second, and is answered.
    assert!(pair.datagrams - before <= 60, "{}", pair.datagrams - before);
    let now = pair.now;
    let (reader, delivered) = &mut pair.readers[0];
    delivered.limit = None;
    reader.resume(now, delivered);
    pair.run(Duration::from_secs(10));
    assert_eq!(pair.readers[0].1.samples.len(), 3);
}

#[test]
fn a_best_effort_sample_that_never_completes_is_lost_after_a_while() {
    let case = Case {
        reliable: false,
        size: 700_000,
        writer_limit: 8 << 20,
        reader_limit: 1 << 20,
        mtu: 1_472,
        loss: 20,
        receive_buffer: None,
    };
    let mut pair = case.pair(6);
    pair.write(&payload(case.size)).unwrap();
    pair.run(Duration::from_millis(500));
    assert_eq!(pair.readers[0].1.lost, 0);
    pair.run(Duration::from_secs(2));
    assert_eq!((pair.readers[0].1.lost, pair.readers[0].0.held_bytes()), (1, 0));
}
