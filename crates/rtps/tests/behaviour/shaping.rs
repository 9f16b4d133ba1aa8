//! Writers with a token bucket. The judge knows packets and the definition of an arrival curve, and nothing of how tokens are counted.
use crate::pair::{Pair, Wire, reader_guid, writer_guid};
use rtps::reader::ReaderConfig;
use rtps::writer::{TokenBucket, WriteError, WriterConfig};
use wire::{Duration, SequenceNumber};

/// Headers of IPv4 and UDP.
const HEADERS: u128 = 28;

/// The first window in which a destination got more than the bucket and what the rate comes to.
fn excess(departures: &[(u64, u8, usize)], bucket: TokenBucket) -> Option<String> {
    let mut hosts: Vec<u8> = departures.iter().map(|(_, host, _)| *host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    for host in hosts {
        let of: Vec<(u64, u128)> = departures
            .iter()
            .filter(|(_, to, _)| *to == host)
            .map(|(at, _, len)| (*at, *len as u128 + HEADERS))
            .collect();
        for (first, (from, _)) in of.iter().enumerate() {
            let mut sum = 0;
            for (to, bytes) in &of[first..] {
                sum += bytes;
                // In bits times nanoseconds: nothing is rounded.
                let window = u128::from(to - from);
                let allowed = u128::from(bucket.bucket) * 8_000_000_000 + u128::from(bucket.rate) * window;
                if sum * 8_000_000_000 > allowed {
                    return Some(format!("host {host}: {sum} bytes within {window} ns after {from} ns"));
                }
            }
        }
    }
    None
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|index| if index < 4 { 0 } else { (index % 251) as u8 }).collect()
}

/// A writer with random bucket, readers, path, faults and samples; gives it after all has come to rest.
fn play(seed: u64, shaped: bool) -> (Pair, TokenBucket, Vec<Vec<u8>>) {
    let mut random = testkit::random::Random::new(seed);
    let bucket = TokenBucket {
        rate: 64_000 + random.below_u64(4_000_000),
        bucket: TokenBucket::LEAST + random.below_u64(6_000) as u32,
        largest_packet: TokenBucket::LEAST + random.below_u64(2_000) as u32,
    };
    let reliable = random.chance(70);
    let delay = if random.chance(40) { random.below_u64(20_000) } else { 0 };
    let writer = WriterConfig {
        token_bucket: shaped.then_some(bucket),
        batch_delay: Duration::from_micros(delay as i64),
        byte_limit: 4 << 20,
        ..WriterConfig::new(writer_guid(), reliable)
    };
    let count = 1 + random.below_u64(3) as u8;
    let readers: Vec<ReaderConfig> =
        (0..count).map(|index| ReaderConfig::new(reader_guid(index), reliable)).collect();
    let mut pair = Pair::new(seed, writer, &readers);
    pair.mtu = if random.chance(50) { 1_472 } else { 65_507 };
    (0..usize::from(count)).for_each(|index| pair.connect(index, false));
    pair.run(Duration::from_secs(5));
    if reliable {
        pair.wire = Wire {
            loss: random.below_u64(25),
            duplicate: random.below_u64(10),
            jitter: random.below_u64(3_000),
            delay: random.below_u64(10_000),
        };
    }
    pair.send_call = if random.chance(50) { random.below_u64(3_000) } else { 0 };
    let mut written = Vec::new();
    for _ in 0..10 + random.below_u64(40) {
        // Samples are padded to words.
        let words = 1 + if random.chance(15) { random.below_u64(2_250) } else { random.below_u64(150) };
        let len = 4 * words;
        let sample = payload(len as usize);
        match pair.write(&sample) {
            Ok(_) => written.push(sample),
            Err(error @ WriteError::Full { .. }) => panic!("{error}"),
            Err(error) => panic!("{error}"),
        }
        if random.chance(60) {
            pair.run(Duration::from_micros(random.below_u64(30_000) as i64));
        }
    }
    pair.run(Duration::from_secs(60));
    pair.wire = Wire::default();
    pair.run(Duration::from_secs(60));
    (pair, bucket, written)
}

#[test]
fn no_destination_gets_more_than_bucket_and_rate_in_any_window_and_all_samples_arrive() {
    let mut repaired = 0;
    for seed in 0..150 {
        let (pair, bucket, written) = play(seed, true);
        assert_eq!(excess(&pair.departures, bucket), None, "seed {seed}: {bucket:?}");
        for (_, delivered) in &pair.readers {
            let got: Vec<&Vec<u8>> = delivered.samples.iter().map(|(_, bytes)| bytes).collect();
            assert!(got.iter().copied().eq(&written), "seed {seed}: {} of {}", got.len(), written.len());
        }
        repaired += pair.writer.counters().repairs + pair.writer.counters().fragment_repairs;
        assert!(pair.writer.counters().shaped > 0);
    }
    assert!(repaired > 100, "{repaired} repairs have passed the bucket");
}

/// The judge sees writers without a bucket.
#[test]
fn the_same_writers_without_a_bucket_exceed_it() {
    let exceeding = (0..50).filter(|seed| {
        let (pair, bucket, _) = play(*seed, false);
        excess(&pair.departures, bucket).is_some()
    });
    assert!(exceeding.count() > 25);
}

#[test]
fn a_writer_that_has_more_to_send_than_its_rate_uses_nearly_all_of_it() {
    let bucket = TokenBucket::new(1_000_000, 3_000);
    let config = WriterConfig { token_bucket: Some(bucket), ..WriterConfig::new(writer_guid(), false) };
    let mut pair = Pair::new(1, config, &[ReaderConfig::new(reader_guid(0), false)]);
    pair.connect(0, false);
    (0..400).for_each(|_| {
        pair.write(&payload(1_000)).unwrap();
    });
    pair.run(Duration::from_secs(2));
    assert!(pair.writer.waits_for_tokens());
    let sent: usize = pair.departures.iter().map(|(_, _, len)| len + HEADERS as usize).sum();
    // 250,000 bytes in two seconds, less than one packet of which waits.
    assert!((250_000 - 1_500..=253_000).contains(&sent), "{sent}");
    assert_eq!(excess(&pair.departures, bucket), None);
}

/// What waits for tokens and is removed, as KEEP_LAST does, takes no tokens and never arrives.
#[test]
fn a_newer_sample_takes_the_place_of_one_that_waits() {
    let bucket = TokenBucket::new(8_000, 600);
    let config = WriterConfig { token_bucket: Some(bucket), ..WriterConfig::new(writer_guid(), true) };
    let mut pair = Pair::new(1, config, &[ReaderConfig::new(reader_guid(0), true)]);
    pair.connect(0, false);
    pair.run(Duration::from_secs(5));
    let first = pair.write(&payload(400)).unwrap();
    pair.run(Duration::ZERO);
    let mut last = first;
    for _ in 0..20 {
        let number = pair.write(&payload(400)).unwrap();
        if last > first {
            assert!(pair.writer.remove(last));
        }
        last = number;
        pair.run(Duration::from_millis(5));
    }
    pair.run(Duration::from_secs(10));
    let got: Vec<SequenceNumber> = pair.readers[0].1.samples.iter().map(|(number, _)| *number).collect();
    assert_eq!(got, [first, last]);
    assert_eq!(excess(&pair.departures, bucket), None);
}

/// Buckets that come, change and go while samples are written and repaired. What leaves after a change keeps to the bucket from then on, as
/// if nothing had left before; what is sent is no larger than its packets, and all arrives.
#[test]
fn a_bucket_that_is_changed_holds_from_the_change_on_and_loses_nothing() {
    let (mut repaired, mut changes) = (0, 0);
    for seed in 0..150 {
        let mut random = testkit::random::Random::of_case(54, seed);
        let reliable = random.chance(70);
        let writer = WriterConfig { byte_limit: 4 << 20, ..WriterConfig::new(writer_guid(), reliable) };
        let count = 1 + random.below_u64(3) as u8;
        let readers: Vec<ReaderConfig> =
            (0..count).map(|index| ReaderConfig::new(reader_guid(index), reliable)).collect();
        let mut pair = Pair::new(seed, writer, &readers);
        pair.mtu = if random.chance(50) { 1_472 } else { 65_507 };
        (0..usize::from(count)).for_each(|index| pair.connect(index, false));
        pair.run(Duration::from_secs(5));
        if reliable {
            let (loss, duplicate) = (random.below_u64(20), random.below_u64(10));
            pair.wire = Wire { loss, duplicate, jitter: 0, delay: random.below_u64(5_000) };
        }
        let (mut written, changes_before) = (Vec::new(), changes);
        // When a bucket began, and where its departures begin.
        let mut held: Option<(TokenBucket, usize)> = None;
        let judge = |held: &Option<(TokenBucket, usize)>, departures: &[(u64, u8, usize)]| {
            let Some((bucket, from)) = held else { return };
            let of = &departures[*from..];
            assert_eq!(excess(of, *bucket), None, "seed {seed}: {bucket:?}");
            // A packet of IPv4 has smaller headers than what is counted with.
            let most = (bucket.largest_packet.min(bucket.bucket).min(TokenBucket::LARGEST)) as usize;
            assert!(of.iter().all(|(.., len)| len + HEADERS as usize <= most), "seed {seed}: {bucket:?}");
        };
        for _ in 0..30 {
            if random.chance(25) {
                judge(&held, &pair.departures);
                let bucket = TokenBucket {
                    rate: 64_000 + random.below_u64(4_000_000),
                    bucket: TokenBucket::LEAST + random.below_u64(6_000) as u32,
                    largest_packet: TokenBucket::LEAST + random.below_u64(1_200) as u32,
                };
                let bucket = random.chance(75).then_some(bucket);
                pair.writer.set_token_bucket(pair.now, bucket);
                held = bucket.map(|bucket| (bucket, pair.departures.len()));
                changes += 1;
            }
            let words = 1 + if random.chance(15) { random.below_u64(2_250) } else { random.below_u64(150) };
            let sample = payload(4 * words as usize);
            pair.write(&sample).unwrap();
            written.push(sample);
            if random.chance(60) {
                pair.run(Duration::from_micros(random.below_u64(30_000) as i64));
            }
        }
        pair.run(Duration::from_secs(60));
        pair.wire = Wire::default();
        pair.run(Duration::from_secs(60));
        judge(&held, &pair.departures);
        for (_, delivered) in &pair.readers {
            let got: Vec<&Vec<u8>> = delivered.samples.iter().map(|(_, bytes)| bytes).collect();
            // One that is on its way in fragments when the bucket changes goes on in others, and nothing is repeated for best effort.
            let missing = written.len() - got.len();
            let excused = if reliable { 0 } else { changes - changes_before };
            assert!(missing <= excused, "seed {seed}: {} of {}", got.len(), written.len());
            assert!(reliable || got.iter().all(|bytes| written.contains(bytes)));
            assert!(!reliable || got.iter().copied().eq(&written), "seed {seed}: in order");
        }
        repaired += pair.writer.counters().repairs + pair.writer.counters().fragment_repairs;
    }
    assert!(repaired > 100 && changes > 500, "{repaired} repairs, {changes} changes");
}

/// A bucket begins empty: what left before the change is no part of what the new one lets through.
#[test]
fn a_bucket_that_takes_over_is_empty_at_first() {
    let config = WriterConfig::new(writer_guid(), false);
    let mut pair = Pair::new(1, config, &[ReaderConfig::new(reader_guid(0), false)]);
    pair.connect(0, false);
    pair.run(Duration::from_secs(1));
    // 1,000 bytes a second.
    pair.writer
        .set_token_bucket(pair.now, Some(TokenBucket { rate: 8_000, bucket: 1_000, largest_packet: 400 }));
    pair.write(&payload(100)).unwrap();
    pair.run(Duration::from_millis(390));
    assert!(pair.departures.is_empty() && pair.writer.waits_for_tokens());
    pair.run(Duration::from_millis(20));
    assert_eq!(pair.departures.len(), 1);
    // Without one nothing waits.
    pair.writer.set_token_bucket(pair.now, None);
    (0..9).for_each(|_| {
        pair.write(&payload(100)).unwrap();
    });
    pair.run(Duration::ZERO);
    assert!(!pair.writer.waits_for_tokens());
}
