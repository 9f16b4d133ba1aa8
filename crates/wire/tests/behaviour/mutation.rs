//! Every valid message and record, cut at every position and changed at every byte: reading returns, and what it returns is sound.

use crate::samples::{PREFIX, Random, full_endpoint, full_message, full_participant};
use wire::discovery::{
    EndpointData, EndpointRole, MAX_LOCATORS, MAX_NAME, ParticipantData, ParticipantMessage,
};
use wire::message::{Frequent, Heartbeat, Message, Submessage, SubmessageError, SubmessageReason, encode};
use wire::parameter::{InlineQos, ParameterList};
use wire::{EntityId, SequenceNumber};

/// Reads everything that can be read from a message, checks what must hold of it, and counts the submessages.
fn read_message(bytes: &[u8]) -> usize {
    let Ok(message) = Message::parse(bytes) else { return 0 };
    assert!(frequent_first(&message).eq(message.submessages()));
    let mut count = 0;
    for submessage in message.submessages() {
        count += 1;
        match submessage {
            Ok(Submessage::Data(data)) => {
                assert!(data.sequence_number.0 >= 1);
                assert!(data.payload.is_none_or(|payload| payload.bytes.len() >= 4));
                read_inline_qos(data.inline_qos);
            }
            Ok(Submessage::DataFrag(frag)) => {
                let before = u64::from(frag.first_fragment.0 - 1) * u64::from(frag.fragment_size);
                assert!(before + frag.bytes.len() as u64 <= u64::from(frag.sample_size));
                assert!(
                    frag.bytes.len() <= usize::from(frag.fragment_count) * usize::from(frag.fragment_size)
                );
                assert!(!frag.bytes.is_empty());
                read_inline_qos(frag.inline_qos);
            }
            Ok(Submessage::Heartbeat(heartbeat)) => {
                assert!(heartbeat.first.0 >= 1 && heartbeat.last.0 >= heartbeat.first.0 - 1);
            }
            Ok(Submessage::AckNack(acknack)) => assert!(acknack.set.iter().all(|n| n >= acknack.set.base())),
            Ok(Submessage::Gap(gap)) => assert!(gap.start.0 >= 1 && gap.list.base() >= gap.start),
            Ok(Submessage::NackFrag(nack)) => assert!(nack.missing.iter().all(|n| n >= nack.missing.base())),
            Ok(Submessage::HeartbeatFrag(heartbeat)) => assert!(heartbeat.last_fragment.0 >= 1),
            Ok(Submessage::InfoReply(reply)) => {
                assert_eq!(reply.unicast.iter().count(), reply.unicast.len());
            }
            Ok(_) => {}
            Err(error) => assert!(error.offset < bytes.len() && !error.to_string().is_empty()),
        }
    }
    assert!(count <= bytes.len() / 4);
    count
}

/// The submessages, the frequent ones read apart wherever that can be.
fn frequent_first<'a>(
    message: &Message<'a>,
) -> impl Iterator<Item = Result<Submessage<'a>, SubmessageError>> {
    let mut submessages = message.submessages();
    std::iter::from_fn(move || match submessages.next_frequent() {
        Some(Frequent::Data(data)) => Some(Ok(Submessage::Data(data))),
        Some(Frequent::InfoTimestamp(timestamp)) => Some(Ok(Submessage::InfoTimestamp(timestamp))),
        Some(Frequent::Heartbeat(heartbeat)) => Some(Ok(Submessage::Heartbeat(heartbeat))),
        None => submessages.next(),
    })
}

#[test]
fn too_many_heartbeats_are_refused_however_they_are_read() {
    let heartbeat = Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: EntityId::UNKNOWN,
        first: SequenceNumber(1),
        last: SequenceNumber(1),
        count: 1,
        is_final: true,
        liveliness: false,
    };
    let mut bytes = Vec::new();
    encode::header(&mut bytes, PREFIX);
    (0..300).for_each(|_| encode::heartbeat(&mut bytes, &heartbeat));
    let message = Message::parse(&bytes).unwrap();
    let read: Vec<_> = frequent_first(&message).collect();
    assert_eq!(read.len(), usize::from(Message::MAX_CONTROL) + 1);
    assert_eq!(read.last().unwrap().unwrap_err().reason, SubmessageReason::TooMany);
    assert!(read.into_iter().eq(message.submessages()));
}

fn read_inline_qos(list: Option<ParameterList<'_>>) {
    if let Some(list) = list {
        assert!(list.iter().count() <= ParameterList::MAX_PARAMETERS);
        let _ = InlineQos::read(&list);
    }
}

fn read_records(bytes: &[u8]) -> usize {
    let mut decoded = 0;
    if let Ok(data) = ParticipantData::decode(bytes) {
        assert!(data.metatraffic_unicast.len() <= MAX_LOCATORS && data.domain_tag.len() <= MAX_NAME);
        decoded += 1;
    }
    for role in [EndpointRole::Writer, EndpointRole::Reader] {
        if let Ok(data) = EndpointData::decode(bytes, role) {
            assert!(data.topic_name.len() <= MAX_NAME && data.type_name.len() <= MAX_NAME);
            assert!(data.unicast.len() <= MAX_LOCATORS && data.guid.prefix == data.participant);
            assert_eq!(EndpointRole::of(data.guid.entity_id), Some(role));
            decoded += 1;
        }
    }
    decoded + usize::from(ParticipantMessage::decode(bytes).is_ok())
}

/// Calls `read` with every cut, every single changed bit, some whole bytes and many random changes of `bytes`.
fn torment(bytes: &[u8], seed: u64, read: fn(&[u8]) -> usize) {
    assert!(read(bytes) > 0, "the sample itself is good");
    for len in 0..bytes.len() {
        read(&bytes[..len]);
    }
    let mut changed = bytes.to_vec();
    for at in 0..bytes.len() {
        let good = bytes[at];
        let bits = (0..8).map(|bit| good ^ 1 << bit);
        for octet in bits.chain([0, 0xff, 0x7f, 0x80, good.wrapping_add(1), good.wrapping_sub(1)]) {
            changed[at] = octet;
            read(&changed);
        }
        changed[at] = good;
    }
    let mut random = Random::new(seed);
    for _ in 0..20_000 {
        let mut changed = bytes.to_vec();
        for _ in 0..1 + random.below(6) {
            let at = random.below(changed.len() as u64) as usize;
            changed[at] = random.next() as u8;
        }
        if random.coin() {
            let from = random.below(changed.len() as u64) as usize;
            let to = from + random.below((changed.len() - from) as u64) as usize;
            changed.drain(from..to);
        }
        read(&changed);
    }
}

#[test]
fn messages() {
    torment(&full_message(), 1, read_message);
}

#[test]
fn participants() {
    let mut bytes = Vec::new();
    full_participant().encode(&mut bytes);
    torment(&bytes, 2, read_records);
}

#[test]
fn endpoints() {
    for role in [EndpointRole::Writer, EndpointRole::Reader] {
        let mut bytes = Vec::new();
        full_endpoint(role).encode(&mut bytes);
        torment(&bytes, 3, read_records);
    }
}

#[test]
fn participant_messages() {
    let mut bytes = Vec::new();
    let message =
        ParticipantMessage { prefix: PREFIX, kind: ParticipantMessage::MANUAL, data: vec![1, 2, 3] };
    message.encode(&mut bytes);
    torment(&bytes, 4, read_records);
}
