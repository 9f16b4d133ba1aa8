//! Memory is proportional to the bytes given: reading messages allocates nothing, writing into a buffer with capacity
//! allocates nothing, and decoding discovery data stays within 16 KiB + 8 bytes per byte of input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod samples;

use alloc_meter::measure;
use samples::{PREFIX, Random, full_endpoint, full_message, full_participant};
use wire::discovery::{EndpointData, EndpointRole, ParticipantData, ParticipantMessage};
use wire::message::{Message, Submessage};
use wire::parameter::{InlineQos, pid};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// Reads all there is to read of a message.
fn read(bytes: &[u8]) -> usize {
    let Ok(message) = Message::parse(bytes) else { return 0 };
    let mut sum = 0;
    for submessage in message.submessages() {
        sum += match submessage {
            Ok(Submessage::Data(data)) => data
                .inline_qos
                .map_or(1, |list| usize::from(InlineQos::read(&list).is_ok()) + list.iter().count()),
            Ok(Submessage::AckNack(acknack)) => acknack.set.iter().count(),
            Ok(Submessage::NackFrag(nack)) => nack.missing.iter().count(),
            Ok(Submessage::Gap(gap)) => gap.list.iter().count(),
            Ok(Submessage::InfoReply(reply)) => reply.unicast.iter().count(),
            Ok(_) => 1,
            Err(_) => 0,
        };
    }
    sum
}

fn within_budget(bytes: &[u8]) {
    let budget = 16 * 1024 + 8 * bytes.len();
    for role in [EndpointRole::Writer, EndpointRole::Reader] {
        let spent = measure(|| EndpointData::decode(bytes, role)).1;
        assert!(spent.total <= budget, "{} octets for {}", spent.total, bytes.len());
        assert!(spent.largest <= 1 << 20);
    }
    let participant = measure(|| ParticipantData::decode(bytes)).1;
    let message = measure(|| ParticipantMessage::decode(bytes)).1;
    assert!(participant.total <= budget && message.total <= budget);
}

#[test]
fn reading_messages_allocates_nothing() {
    let bytes = full_message();
    let (sum, cost) = measure(|| read(&bytes));
    assert!(sum > 10);
    assert_eq!(cost.count, 0);
    let mut random = Random::new(11);
    let mut changed = bytes.clone();
    for _ in 0..20_000 {
        changed.copy_from_slice(&bytes);
        for _ in 0..4 {
            let at = 20 + random.below(bytes.len() as u64 - 20) as usize;
            changed[at] = random.next() as u8;
        }
        assert_eq!(measure(|| read(&changed)).1.count, 0);
    }
}

#[test]
fn writing_into_capacity_allocates_nothing() {
    let writer = full_endpoint(EndpointRole::Writer);
    let reader = full_endpoint(EndpointRole::Reader);
    let participant = full_participant();
    let message =
        ParticipantMessage { prefix: PREFIX, kind: ParticipantMessage::AUTOMATIC, data: vec![1; 100] };
    let inline = InlineQos { key_hash: Some([1; 16]), ..InlineQos::default() };
    let mut out = Vec::with_capacity(8_192);
    let cost = measure(|| {
        writer.encode(&mut out);
        reader.encode(&mut out);
        participant.encode(&mut out);
        writer.encode_key(&mut out);
        participant.encode_key(&mut out);
        message.encode(&mut out);
        inline.encode(&mut out);
    })
    .1;
    assert_eq!(cost.count, 0);
    assert!(out.len() > 1_000 && out.capacity() == 8_192);
}

#[test]
fn writing_messages_into_capacity_allocates_nothing() {
    let expected = full_message();
    let mut out = Vec::with_capacity(expected.len());
    let mut inline = Vec::with_capacity(InlineQos::MAX_ENCODED_LEN);
    let cost = measure(|| samples::write_full_message(&mut out, &mut inline)).1;
    assert_eq!(cost.count, 0);
    assert_eq!(out, expected);
}

#[test]
fn hostile_records_stay_within_the_budget() {
    let record = |pid: u16, value: &[u8], times: usize| {
        let mut bytes = vec![0, 3, 0, 0];
        for _ in 0..times {
            bytes.extend_from_slice(&pid.to_le_bytes());
            bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
            bytes.extend_from_slice(value);
        }
        bytes.extend_from_slice(&[1, 0, 0, 0]);
        bytes
    };
    let empty_names = |count: u32| [&count.to_le_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0].repeat(15)].concat();
    for bytes in [
        record(pid::PARTITION, &u32::MAX.to_le_bytes(), 1),
        record(pid::PARTITION, &empty_names(15), 500),
        record(pid::PARTITION, &empty_names(16), 500),
        record(
            pid::PARTITION,
            &[&256u32.to_le_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0].repeat(256)].concat(),
            30,
        ),
        record(pid::USER_DATA, &[&120u32.to_le_bytes()[..], &[0; 120]].concat(), 500),
        record(pid::DATA_REPRESENTATION, &[&60u32.to_le_bytes()[..], &[0; 120]].concat(), 500),
        record(pid::UNICAST_LOCATOR, &[0; 24], 500),
        record(pid::METATRAFFIC_UNICAST_LOCATOR, &[0; 24], 500),
        record(pid::TYPE_INFORMATION, &[0; 120], 500),
        record(pid::TOPIC_NAME, &[&100u32.to_le_bytes()[..], &[b'x'; 99], &[0]].concat(), 500),
        [&[0, 1, 0, 0][..], &[0; 16], &u32::MAX.to_le_bytes()].concat(),
    ] {
        within_budget(&bytes);
    }
}

#[test]
fn mutated_records_stay_within_the_budget() {
    let mut random = Random::new(12);
    let mut records = vec![Vec::new(); 3];
    full_endpoint(EndpointRole::Writer).encode(&mut records[0]);
    full_endpoint(EndpointRole::Reader).encode(&mut records[1]);
    full_participant().encode(&mut records[2]);
    for bytes in records {
        for _ in 0..10_000 {
            let mut changed = bytes.clone();
            for _ in 0..3 {
                let at = 4 + random.below(bytes.len() as u64 - 4) as usize;
                changed[at] = random.next() as u8;
            }
            within_budget(&changed);
        }
    }
}

#[test]
fn a02_repeated_parameters_are_decoded_once() {
    let lists = [
        [
            vec![0, 3, 0, 0],
            [[0x29, 0, 124, 0].as_slice(), &[15, 0, 0, 0], &[4, 0, 0, 0, b'a', b'b', b'c', 0].repeat(15)]
                .concat()
                .repeat(511),
        ]
        .concat(),
        [vec![0, 3, 0, 0], vec![0; 65_536]].concat(),
        [vec![0, 3, 0, 0], [[0x29, 0, 124, 0].as_slice(), &[0; 124]].concat().repeat(511)].concat(),
        [vec![0, 3, 0, 0], [[0x2f, 0, 124, 0].as_slice(), &[0; 124]].concat().repeat(511)].concat(),
    ];
    for mut bytes in lists {
        bytes.extend_from_slice(&[1, 0, 0, 0]);
        let (_, usage) = measure(|| EndpointData::decode(&bytes, EndpointRole::Writer).is_ok());
        assert!(usage.count <= 64, "{} allocations", usage.count);
    }
}
