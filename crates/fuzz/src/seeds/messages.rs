//! Messages: one for each kind of use.
use wire::message::encode::{self, DataFragHeader, DataHeader};
use wire::message::{AckNack, Gap, Header, Heartbeat, HeartbeatFrag, NackFrag, PayloadKind};
use wire::sequence_number::{FragmentNumber, FragmentNumberSet, SequenceNumber, SequenceNumberSet};
use wire::{EntityId, Timestamp};

use super::{PREFIX, READER, WRITER, discovery};

/// An inline QoS of a key hash and a status (disposed), little endian.
pub(super) const INLINE_QOS: [u8; 32] = [
    0x70, 0x00, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, //
    0x71, 0x00, 4, 0, 0, 0, 0, 1, //
    0x01, 0x00, 0, 0,
];
/// A short sample: CDR, little endian, a string and a number.
const SAMPLE: [u8; 16] = [0, 1, 0, 0, 3, 0, 0, 0, b'a', b'b', 0, 0, 42, 0, 0, 0];

/// One message for each kind of use; announcements are among them.
pub(super) fn messages() -> Vec<Vec<u8>> {
    vec![
        message(|out| {
            encode::info_timestamp(out, Some(Timestamp::from_nanos(1_700_000_000_123_456_789)));
            encode::data(out, &data_header(1, None, PayloadKind::Data), &SAMPLE);
            encode::heartbeat(out, &heartbeat(1, 1));
        }),
        message(|out| {
            encode::info_destination(out, PREFIX);
            encode::acknack(out, &acknack());
            encode::nack_frag(out, &nack_frag());
        }),
        message(|out| {
            encode::data(out, &data_header(3, Some(&INLINE_QOS), PayloadKind::Key), &SAMPLE);
            encode::data(out, &data_header(4, Some(&INLINE_QOS), PayloadKind::None), &[]);
            encode::gap(out, &gap());
        }),
        message(|out| {
            for first in [1, 3] {
                let header = data_frag_header(first, 2);
                encode::data_frag_header(out, &header, 200);
                out.extend((0..200).map(|octet| octet as u8));
            }
            encode::heartbeat_frag(out, &heartbeat_frag());
        }),
        message(|out| {
            encode::info_timestamp(out, None);
            for number in 1..=60 {
                encode::data(out, &data_header(number, None, PayloadKind::Data), &SAMPLE);
            }
        }),
        message(|out| {
            encode::info_source(out, &Header::ours(PREFIX));
            encode::heartbeat(out, &heartbeat(1, 0));
            for number in 1..=20 {
                encode::heartbeat(out, &heartbeat(number, number + 5));
                encode::acknack(out, &acknack());
                encode::gap(out, &gap());
            }
        }),
        announcement(EntityId::SPDP_WRITER, &discovery::participant()),
        announcement(EntityId::SEDP_PUBLICATIONS_WRITER, &discovery::writer()),
        announcement(EntityId::SEDP_SUBSCRIPTIONS_WRITER, &discovery::reader()),
        announcement(EntityId::PARTICIPANT_MESSAGE_WRITER, &discovery::participant_message()),
        message(others),
        message(big_endian),
    ]
}

fn message(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode::header(&mut out, PREFIX);
    fill(&mut out);
    out
}

/// A message with one DATA of a built-in writer.
fn announcement(writer_id: EntityId, payload: &[u8]) -> Vec<u8> {
    message(|out| {
        encode::info_timestamp(out, Some(Timestamp::from_nanos(1_700_000_000_000_000_000)));
        encode::data(out, &DataHeader { writer_id, ..data_header(1, None, PayloadKind::Data) }, payload);
    })
}

fn data_header(number: i64, inline_qos: Option<&[u8]>, kind: PayloadKind) -> DataHeader<'_> {
    DataHeader {
        reader_id: EntityId::UNKNOWN,
        writer_id: WRITER,
        sequence_number: SequenceNumber(number),
        inline_qos,
        kind,
    }
}

fn data_frag_header(first: u32, count: u16) -> DataFragHeader<'static> {
    DataFragHeader {
        reader_id: READER,
        writer_id: WRITER,
        sequence_number: SequenceNumber(5),
        first_fragment: FragmentNumber(first),
        fragment_count: count,
        fragment_size: 100,
        sample_size: 400,
        inline_qos: None,
        is_key: false,
    }
}

fn heartbeat(first: i64, last: i64) -> Heartbeat {
    Heartbeat {
        reader_id: READER,
        writer_id: WRITER,
        first: SequenceNumber(first),
        last: SequenceNumber(last),
        count: 1,
        is_final: last % 2 == 0,
        liveliness: false,
    }
}

fn heartbeat_frag() -> HeartbeatFrag {
    HeartbeatFrag {
        reader_id: READER,
        writer_id: WRITER,
        sequence_number: SequenceNumber(5),
        last_fragment: FragmentNumber(4),
        count: 1,
    }
}

fn numbers() -> SequenceNumberSet {
    let mut set = SequenceNumberSet::empty(SequenceNumber(3));
    for number in [3, 5, 40, 258] {
        set.insert(SequenceNumber(number));
    }
    set
}

fn acknack() -> AckNack {
    AckNack { reader_id: READER, writer_id: WRITER, set: numbers(), count: 1, is_final: true }
}

fn gap() -> Gap {
    Gap { reader_id: READER, writer_id: WRITER, start: SequenceNumber(2), list: numbers() }
}

fn nack_frag() -> NackFrag {
    let mut missing = FragmentNumberSet::empty(FragmentNumber(1));
    missing.insert(FragmentNumber(2));
    missing.insert(FragmentNumber(90));
    NackFrag { reader_id: READER, writer_id: WRITER, sequence_number: SequenceNumber(5), missing, count: 1 }
}

/// INFO_REPLY with two and one locators, PAD, a secure submessage, one of a vendor, and an unknown one.
fn others(out: &mut Vec<u8>) {
    out.extend([0x0f, 0x03, 80, 0, 2, 0, 0, 0]);
    for (port, count) in [(7410_u32, 0), (7411, 1), (7400, 0)] {
        out.extend([1, 0, 0, 0]);
        out.extend(port.to_le_bytes());
        out.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1]);
        if count == 1 {
            out.extend([1, 0, 0, 0]);
        }
    }
    out.extend([0x01, 0x01, 4, 0, 0, 0, 0, 0]);
    out.extend([0x31, 0x01, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    out.extend([0x80, 0x01, 4, 0, 1, 2, 3, 4]);
    out.extend([0x40, 0x01, 4, 0, 1, 2, 3, 4]);
}

/// DATA with inline QoS, HEARTBEAT and ACKNACK as a big-endian peer writes them.
fn big_endian(out: &mut Vec<u8>) {
    let ids: Vec<u8> = [READER.0, WRITER.0].concat();
    out.extend([0x15, 0x06, 0, 48, 0, 0, 0, 16]);
    out.extend(&ids);
    out.extend([0, 0, 0, 0, 0, 0, 0, 7]);
    out.extend([0, 0x71, 0, 4, 0, 0, 0, 1, 0, 1, 0, 0]);
    out.extend([0, 0, 0, 0, 0, 0, 0, 3, b'a', b'b', 0, 0, 0, 0, 0, 42]);
    out.extend([0x07, 0x00, 0, 28]);
    out.extend(&ids);
    out.extend([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9]);
    out.extend([0x06, 0x02, 0, 28]);
    out.extend(&ids);
    out.extend([0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 12, 0x30, 0, 0, 0, 0, 0, 0, 2]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::message::{Message, Submessage};

    #[test]
    fn messages_are_valid_and_have_every_kind_of_submessage() {
        let messages = messages();
        let mut kinds = std::collections::BTreeSet::new();
        for message in &messages {
            for submessage in Message::parse(message).unwrap().submessages() {
                kinds.insert(match submessage.unwrap() {
                    Submessage::Data(data) => {
                        format!("Data {:?}", data.payload.map(|payload| payload.is_key))
                    }
                    Submessage::Secure { .. } => "Secure".to_owned(),
                    Submessage::Other { kind, .. } => format!("Other {kind:x}"),
                    other => format!("{other:?}").split(['(', ' ']).next().unwrap().to_owned(),
                });
            }
        }
        assert_eq!(kinds.len(), 17, "{kinds:?}");
    }
}
