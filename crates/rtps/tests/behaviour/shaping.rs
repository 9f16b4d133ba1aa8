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
