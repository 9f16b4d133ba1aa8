//! Each datagram travels two ways at once, as the network does for flows with two copies (1+1): readers take each sample once, report nothing lost that comes by
//! one of the ways, and neither end talks more because of doubles.
use crate::pair::{Delivered, Pair, Random, Wire, reader_guid, writer_guid};
use rtps::reader::ReaderConfig;
use rtps::writer::{WriteError, WriterConfig};
use wire::{Duration, SequenceNumber};

/// From one sample to the next, in microseconds: more than one way is later than the other.
const PACE: i64 = 20_000;

/// Sizes of samples: within a datagram, and several fragments.
const SIZES: [usize; 2] = [100, 9_000];

fn pair(seed: u64, reliable: bool) -> Pair {
    let writer = WriterConfig::new(writer_guid(), reliable);
    let mut pair = Pair::new(seed, writer, &[ReaderConfig::new(reader_guid(0), reliable)]);
    pair.mtu = 1_472;
    pair.connect(0, false);
    pair
}

/// A sample whose bytes follow from its number; the first four are an encapsulation header.
fn sample(number: u64, size: usize) -> Vec<u8> {
    let mut random = Random::new(number);
    [0, 1, 0, 0].into_iter().chain((4..size).map(|_| random.bits() as u8)).collect()
}

fn write(pair: &mut Pair, number: u64, size: usize) {
    while let Err(error) = pair.write(&sample(number, size)) {
        assert!(matches!(error, WriteError::Full { .. }), "{error}");
        pair.run(Duration::from_millis(1));
    }
}

/// Each number of these was taken once and in order, and is what was written; nothing is reported, and nothing is kept of doubles.
fn check(pair: &Pair, count: u64, size: usize, context: &str) {
    let (reader, Delivered { samples, lost, refused, .. }) = &pair.readers[0];
    let numbers: Vec<i64> = samples.iter().map(|(number, _)| number.0).collect();
    assert_eq!(numbers, (1..=count.cast_signed()).collect::<Vec<_>>(), "{context}");
    for (SequenceNumber(number), bytes) in samples {
        assert_eq!(bytes[4..size], sample(number.cast_unsigned(), size)[4..], "{context}: sample {number}");
    }
    assert_eq!((*lost, refused.len(), reader.held_bytes()), (0, 0, 0), "{context}");
}

/// What comes by the second way is always later here, so it changes nothing: both ends send what they send without it.
#[test]
fn doubles_that_come_later_add_no_word_of_either_end() {
    for seed in 0..40 {
        for (reliable, size) in [false, true].into_iter().flat_map(|of| SIZES.map(|size| (of, size))) {
            let context = format!("seed {seed}, reliable {reliable}, {size} bytes");
            let [alone, doubled] = [false, true].map(|has_two| {
                let mut pair = pair(seed, reliable);
                pair.wire = Wire { delay: 100, ..Wire::default() };
                let later = Wire {
                    delay: 100 + seed * 300,
                    jitter: seed * 200,
                    loss: seed % 4 * 20,
                    duplicate: seed % 3 * 30,
                };
                pair.beside = has_two.then_some(later);
                for number in 1..=100 {
                    write(&mut pair, number, size);
                    // In bursts, so that doubles come among samples that are newer by far.
                    if number % 7 == 0 {
                        pair.run(Duration::from_micros(3_000));
                    }
                }
                pair.run(Duration::from_secs(10));
                check(&pair, 100, size, &context);
                pair
            });
            assert_eq!(doubled.datagrams, alone.datagrams, "{context}");
            assert_eq!(doubled.writer.held_bytes(), alone.writer.held_bytes(), "{context}");
        }
    }
}

/// Either way may lose, delay and reorder: a reliable reader has all of it.
#[test]
fn whatever_two_ways_do_a_reliable_reader_takes_each_sample_once() {
    for seed in 0..60 {
        for size in SIZES {
            let context = format!("seed {seed}, {size} bytes");
            let mut random = Random::new(seed);
            let mut faults = || Wire {
                loss: random.below_u64(60),
                duplicate: random.below_u64(30),
                jitter: random.below_u64(30_000),
                delay: random.below_u64(5_000),
            };
            let (one, other) = (faults(), faults());
            let mut pair = pair(seed, true);
            (pair.wire, pair.beside) = (one, Some(other));
            for number in 1..=60 {
                write(&mut pair, number, size);
                let pause = pair.random.below_u64(1_000).cast_signed();
                pair.run(Duration::from_micros(pause));
            }
            pair.run(Duration::from_secs(60));
            check(&pair, 60, size, &context);
            assert!(pair.writer.is_acknowledged(pair.writer.last()), "{context}");
        }
    }
}

/// Disorder makes a reader ask for what is under way on the slower way; doubles do not multiply that.
#[test]
fn doubles_out_of_order_make_no_storm_of_repairs() {
    for seed in 0..40 {
        for size in SIZES {
            let [alone, doubled] = [false, true].map(|has_two| {
                let mut pair = pair(seed, true);
                // Alike, so that each is first as often as the other.
                let disorder = Wire { delay: 200, jitter: 3_000, ..Wire::default() };
                pair.wire = disorder;
                pair.beside = has_two.then_some(disorder);
                for number in 1..=200 {
                    write(&mut pair, number, size);
                    pair.run(Duration::from_micros(500));
                }
                pair.run(Duration::from_secs(10));
                check(&pair, 200, size, &format!("seed {seed}, {size} bytes"));
                pair.datagrams
            });
            assert!(doubled <= alone + alone / 2, "seed {seed}, {size} bytes: {doubled} and not {alone}");
        }
    }
}

/// The case that 1+1 is for: one way after the other is cut. Best effort has no repairs, and loses nothing.
#[test]
fn while_one_way_or_the_other_is_cut_nothing_is_lost_without_repairs() {
    const CUT: Wire = Wire { loss: 100, duplicate: 0, jitter: 0, delay: 0 };
    for seed in 0..40 {
        for (reliable, size) in [false, true].into_iter().flat_map(|of| SIZES.map(|size| (of, size))) {
            let context = format!("seed {seed}, reliable {reliable}, {size} bytes");
            let mut pair = pair(seed, reliable);
            // One way is later than the other by less than the time between samples.
            let faults = |delay| Wire { delay, jitter: 2_000, duplicate: seed % 3 * 20, loss: 0 };
            let ways = [faults(seed * 100), faults(4_000)];
            let mut departures = None;
            for number in 1..=90_u64 {
                (pair.wire, pair.beside) = match number / 10 % 4 {
                    0 | 2 => (ways[0], Some(ways[1])),
                    1 => (CUT, Some(ways[1])),
                    _ => (ways[0], Some(CUT)),
                };
                write(&mut pair, number, size);
                pair.run(Duration::from_micros(PACE));
                let since = pair.departures.len();
                if !reliable {
                    // As many datagrams for each sample: none is sent again.
                    assert_eq!(since % number as usize, 0, "{context}");
                    assert_eq!(*departures.get_or_insert(since), since / number as usize, "{context}");
                }
            }
            pair.run(Duration::from_secs(10));
            check(&pair, 90, size, &context);
        }
    }
}

/// Fragments of one sample come by both ways, each of which loses some: what one lacks the other has. A sample of which something is lost on both ways is
/// lost once, and its doubles bring back nothing.
#[test]
fn fragments_of_both_ways_make_one_sample_and_what_is_lost_is_lost_once() {
    let (mut whole, mut given_up) = (0, 0);
    for seed in 0..60 {
        let mut pair = pair(seed, false);
        let faults = |delay| Wire { loss: 15, duplicate: 10, jitter: 3_000, delay };
        (pair.wire, pair.beside) = (faults(0), Some(faults(3_000)));
        for number in 1..=50 {
            write(&mut pair, number, SIZES[1]);
            pair.run(Duration::from_micros(PACE));
        }
        pair.run(Duration::from_secs(10));
        let (reader, delivered) = &pair.readers[0];
        let numbers: Vec<SequenceNumber> = delivered.samples.iter().map(|(number, _)| *number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "seed {seed}: {numbers:?}");
        // Of the last ones nothing may have come at all.
        let last = numbers.last().map_or(0, |number| number.0.cast_unsigned());
        let before = last - numbers.len() as u64;
        assert!(
            (before..=50 - numbers.len() as u64).contains(&delivered.lost),
            "seed {seed}: {}",
            delivered.lost
        );
        assert_eq!(reader.held_bytes(), 0, "seed {seed}");
        whole += numbers.len();
        given_up += delivered.lost;
    }
    // Seven fragments, each lost with one chance of 44: one way alone would lose two samples of three.
    assert!(whole > 60 * 35 && given_up > 60, "{whole} {given_up}");
}
