//! Encoding straight into the history: as `write` in all that can be seen.

use crate::link::{Link, Reading, data, handle, ms, reader_guid};
use dcps::ReturnCode;
use dcps::status::StatusMask;
use dcps::writer::{InstanceOf, WriteError, WriteOptions, WriteWithError};
use rtps::writer::Body;
use wire::cdr::{DdsType, Encoding};
use wire::qos::{Durability, History};
use wire::{SequenceNumber, Timestamp};

/// A small generator of random numbers: splitmix64.
struct Random(testkit::random::Random);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0.below_u64(u64::from(limit)) as u32
    }
}

fn canonical(id: u32) -> [u8; 4] {
    id.to_be_bytes()
}

/// What `write_with` says, in the words of `write`.
fn plain(result: Result<SequenceNumber, WriteWithError<()>>) -> Result<SequenceNumber, WriteError> {
    result.map_err(|error| match error {
        WriteWithError::Write(error) => error,
        other => panic!("{other:?}"),
    })
}

/// Writers of random limits, one that is given bytes and one that encodes in place.
fn pair(random: &mut Random) -> [Link; 2] {
    let history = match random.below(3) {
        0 => History::KeepAll,
        depth => History::KeepLast(depth),
    };
    let limit = |random: &mut Random, most| (random.below(2) == 0).then(|| 3 + random.below(most));
    let (samples, instances) = (limit(random, 8), limit(random, 2));
    let bytes = [2_048, 8_192, 1 << 20][random.below(3) as usize];
    let durability = [Durability::Volatile, Durability::TransientLocal][random.below(2) as usize];
    let (batches, room) = (random.below(2) == 0, limit(random, 10));
    [(); 2].map(|()| {
        let mut link = Link::new(|qos, reader| {
            qos.endpoint.history = history;
            qos.endpoint.resource_limits.max_samples = samples;
            qos.endpoint.resource_limits.max_instances = instances;
            qos.endpoint.durability = durability;
            qos.endpoint.latency_budget = ms(i64::from(batches) * 2);
            qos.endpoint.deadline = ms(100);
            qos.byte_limit = bytes;
            reader.endpoint.durability = durability;
            reader.endpoint.resource_limits.max_samples = room;
        });
        link.connect();
        link
    })
}

/// Bytes of a sample, with some more behind it that a reader does not look at.
fn sample(random: &mut Random) -> (u32, Vec<u8>) {
    let id = random.below(4);
    let more = match random.below(8) {
        0 => random.below(20_000),
        1 | 2 => random.below(2_000),
        _ => random.below(40),
    };
    let mut payload = data(id, random.below(1_000));
    payload.resize(payload.len() + more as usize / 4 * 4, 0xee);
    (id, payload)
}

fn same_result(seed: u64, in_place: &mut Link, by_octets: &mut Link, random: &mut Random) {
    let (id, payload) = sample(random);
    let related = (random.below(4) == 0).then(|| (reader_guid(), SequenceNumber(7)));
    let instance = (random.below(5) == 0).then(|| handle(random.below(4)));
    let source_timestamp = (random.below(4) == 0).then(|| Timestamp::from_nanos(5_000_000_000));
    let options = WriteOptions { instance, related, source_timestamp };
    let expected = by_octets.writer.write(by_octets.now, Body::Copy(&payload), &options);
    let mut calls = 0;
    let encode = |out: &mut Vec<u8>| {
        calls += 1;
        out.extend_from_slice(&payload);
        Ok(())
    };
    let canonical = canonical(id);
    let known = in_place.writer.lookup_instance(&payload, false).unwrap();
    let named = match (random.below(3), known) {
        (0, Some(handle)) => InstanceOf::Handle(handle),
        (1, _) => InstanceOf::Sample(&payload),
        _ => InstanceOf::CanonicalKey(&canonical),
    };
    let now = in_place.now;
    let seen = plain(in_place.writer.write_with(now, named, payload.len(), encode, &options));
    assert_eq!(seen, expected, "seed {seed}");
    assert!(calls <= 1, "seed {seed}");
}

#[test]
fn whatever_is_written_gives_the_same() {
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random(testkit::random::Random::new(seed));
        let [mut by_octets, mut in_place] = pair(&mut random);
        for step in 0..120 {
            match random.below(12) {
                0 => {
                    let id = random.below(4);
                    for link in [&mut by_octets, &mut in_place] {
                        // Whether it can be is the same for both: it is compared by what follows.
                        let _ = link.writer.dispose(link.now, InstanceOf::CanonicalKey(&canonical(id)), None);
                    }
                }
                1 => {
                    let sample = data(random.below(4), 0);
                    for link in [&mut by_octets, &mut in_place] {
                        let _ = link.writer.unregister_instance(link.now, InstanceOf::Sample(&sample), None);
                    }
                }
                2 => {
                    let cut = random.below(2) == 0;
                    (by_octets.cut, in_place.cut) = (cut, cut);
                }
                3 | 4 => {
                    let span = ms(i64::from(random.below(60)));
                    by_octets.wait(span);
                    in_place.wait(span);
                }
                5 => assert_eq!(by_octets.take(), in_place.take(), "seed {seed}, step {step}"),
                _ => same_result(seed, &mut in_place, &mut by_octets, &mut random),
            }
            let [left, right] = [&mut by_octets, &mut in_place].map(|link| {
                let writer = &mut link.writer;
                let statuses = (writer.status_changes(), writer.offered_deadline_missed());
                (
                    writer.held(),
                    writer.instances(),
                    writer.rtps().held_bytes(),
                    writer.rtps().last(),
                    statuses,
                )
            });
            assert_eq!(left, right, "seed {seed}, step {step}");
        }
        for link in [&mut by_octets, &mut in_place] {
            link.cut = false;
            link.wait(ms(2_000));
        }
        assert_eq!(by_octets.take(), in_place.take(), "seed {seed}");
    }
}

#[test]
fn what_was_promised_and_not_used_is_given_back() {
    let mut link = Link::connected(|qos, _| {
        qos.endpoint.latency_budget = ms(1);
        qos.endpoint.history = History::KeepLast(100);
    });
    for value in 0..100 {
        let encode = |out: &mut Vec<u8>| Reading { id: 1, value }.encode_payload(Encoding::XCDR1, out);
        let key = InstanceOf::CanonicalKey(&[0, 0, 0, 1]);
        link.writer.write_with(link.now, key, 1_000, encode, &WriteOptions::default()).unwrap();
    }
    assert!(link.writer.rtps().held_bytes() < 50_000, "a thousand octets each would be twice that");
    link.wait(ms(100));
    assert_eq!(link.values(), (0..100).map(Some).collect::<Vec<_>>());
}

#[test]
fn large_samples_take_the_way_of_large_samples() {
    let mut link = Link::connected(|_, _| {});
    // Above a datagram, and above what is copied into slabs; and a small one of a type that may be large.
    for (value, more, max_len) in [(1, 4_000, 5_000), (2, 40_000, 50_000), (3, 0, usize::MAX)] {
        let encode = |out: &mut Vec<u8>| {
            Reading { id: 1, value }.encode_payload(Encoding::XCDR1, out)?;
            out.resize(out.len() + more, 0);
            Ok::<(), wire::cdr::EncodeError>(())
        };
        let key = InstanceOf::CanonicalKey(&[0, 0, 0, 1]);
        link.writer.write_with(link.now, key, max_len, encode, &WriteOptions::default()).unwrap();
    }
    link.wait(ms(500));
    let samples = link.take();
    let lengths: Vec<_> =
        samples.iter().map(|sample| sample.payload.as_ref().unwrap().bytes().len()).collect();
    assert_eq!(lengths, [4_012, 40_012, 12]);
    assert_eq!(samples.iter().map(crate::link::value).collect::<Vec<_>>(), [1, 2, 3].map(Some));
}

#[test]
fn a_promise_above_the_byte_limit_does_not_stop_a_small_sample() {
    let mut link = Link::connected(|qos, _| qos.byte_limit = 2_048);
    let write = |link: &mut Link, len| {
        let encode = |out: &mut Vec<u8>| {
            let start = out.len();
            out.extend_from_slice(&data(1, 5));
            out.resize(start + len, 0);
            Ok(())
        };
        let key = InstanceOf::CanonicalKey(&[0, 0, 0, 1]);
        plain(link.writer.write_with(link.now, key, 10_000, encode, &WriteOptions::default()))
    };
    assert_eq!(write(&mut link, 12), Ok(SequenceNumber(1)));
    match write(&mut link, 3_000) {
        Err(WriteError::Refused(error)) => assert_eq!(error.code, ReturnCode::OutOfResources),
        other => panic!("{other:?}"),
    }
    link.wait(ms(10));
    assert_eq!(link.values(), [Some(5)]);
}

#[test]
fn nothing_is_encoded_for_a_full_history() {
    let mut link = Link::connected(|qos, _| qos.byte_limit = 1_024);
    link.cut = true;
    let (mut calls, mut written) = (0, 0);
    let refusal = loop {
        let encode = |out: &mut Vec<u8>| {
            calls += 1;
            out.extend_from_slice(&data(1, 1));
            Ok(())
        };
        let key = InstanceOf::CanonicalKey(&[0, 0, 0, 1]);
        let result = plain(link.writer.write_with(link.now, key, 12, encode, &WriteOptions::default()));
        match result {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        link.exchange();
    };
    assert!(matches!(refusal, WriteError::Blocked(_)) && written > 3, "{refusal}");
    assert_eq!(calls, written);
}

#[test]
fn an_encoder_that_fails_or_says_too_little_writes_nothing() {
    let mut link = Link::connected(|_, _| {});
    let key = [0, 0, 0, 9];
    let write = |link: &mut Link, max_len, len, fails| {
        let encode = |out: &mut Vec<u8>| {
            out.resize(out.len() + len, 0);
            if fails { Err("no") } else { Ok(()) }
        };
        let instance = InstanceOf::CanonicalKey(&key);
        link.writer.write_with(link.now, instance, max_len, encode, &WriteOptions::default())
    };
    for (max_len, len) in [(100, 50), (100_000, 50_000)] {
        assert_eq!(write(&mut link, max_len, len, true), Err(WriteWithError::Encode("no")));
        assert_eq!(write(&mut link, len - 1, len, false), Err(WriteWithError::Overrun { max_len: len - 1 }));
        assert_eq!((link.writer.instances(), link.writer.held()), (0, 0));
    }
    link.write(9, 5).unwrap();
    link.wait(ms(10));
    let samples = link.take();
    assert_eq!((samples.len(), samples[0].info.sequence_number), (1, SequenceNumber(1)));
    assert_eq!(crate::link::value(&samples[0]), Some(5));
}

#[test]
fn unknown_handles_and_keys_of_another_form_are_refused() {
    let mut link = Link::connected(|_, _| {});
    let mut code = |instance| {
        let never = |_: &mut Vec<u8>| -> Result<(), ()> { panic!("nothing is to be encoded") };
        match plain(link.writer.write_with(link.now, instance, 12, never, &WriteOptions::default())) {
            Err(WriteError::Refused(error)) => error.code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(code(InstanceOf::Handle(handle(1))), ReturnCode::BadParameter);
    assert_eq!(code(InstanceOf::CanonicalKey(&[1, 2])), ReturnCode::BadParameter);
    assert_eq!(code(InstanceOf::Sample(&[9])), ReturnCode::BadParameter);
    assert!(!link.writer.status_changes().intersects(StatusMask::LIVELINESS_LOST));
}
