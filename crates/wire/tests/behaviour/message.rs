//! Messages: what is written is read back, and vectors made by hand from the layouts of RTPS 2.5, 9.4.5 in both byte orders.

use crate::samples::{PREFIX, READER, Random, WRITER};
use wire::message::{
    AckNack, Data, DataFrag, Gap, Header, Heartbeat, HeartbeatFrag, Message, MessageError, NackFrag,
    PayloadKind, Submessage, SubmessageReason, encode,
};
use wire::{
    EntityId, FragmentNumber, FragmentNumberSet, ProtocolVersion, SequenceNumber, SequenceNumberSet,
    Timestamp, VendorId,
};

fn message(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode::header(&mut out, PREFIX);
    write(&mut out);
    out
}

fn read(bytes: &[u8]) -> Vec<Submessage<'_>> {
    let message = Message::parse(bytes).unwrap();
    message.submessages().map(Result::unwrap).collect()
}

/// A message of another vendor with these submessages.
fn hand_made(submessages: &[u8]) -> Vec<u8> {
    let mut bytes = b"RTPS\x02\x03\x01\x0f".to_vec();
    bytes.extend_from_slice(&PREFIX.0);
    bytes.extend_from_slice(submessages);
    bytes
}

fn reason(submessages: &[u8]) -> SubmessageReason {
    let bytes = hand_made(submessages);
    let mut found = Message::parse(&bytes).unwrap().submessages();
    let reason = found.by_ref().find_map(Result::err).unwrap().reason;
    assert!(found.next().is_none(), "an error is the last item");
    reason
}

const fn data_header(kind: PayloadKind) -> encode::DataHeader<'static> {
    let sequence_number = SequenceNumber(4);
    encode::DataHeader { reader_id: READER, writer_id: WRITER, sequence_number, inline_qos: None, kind }
}

const fn frag_header() -> encode::DataFragHeader<'static> {
    encode::DataFragHeader {
        reader_id: READER,
        writer_id: WRITER,
        sequence_number: SequenceNumber(1),
        first_fragment: FragmentNumber(2),
        fragment_count: 2,
        fragment_size: 8,
        sample_size: 21,
        inline_qos: None,
        is_key: false,
    }
}

#[test]
fn everything_written_is_read_back() {
    let (reader_id, writer_id, sequence_number) = (READER, WRITER, SequenceNumber(9));
    let mut set = SequenceNumberSet::empty(SequenceNumber(5));
    assert!(
        set.insert(SequenceNumber(5)) && set.insert(SequenceNumber(40)) && set.insert(SequenceNumber(260))
    );
    let mut missing = FragmentNumberSet::empty(FragmentNumber(2));
    assert!(missing.insert(FragmentNumber(3)) && missing.insert(FragmentNumber(34)));
    let (first, last) = (SequenceNumber(1 << 33), SequenceNumber((1 << 33) - 1));
    let heartbeat =
        Heartbeat { reader_id, writer_id, first, last, count: -7, is_final: true, liveliness: false };
    let liveliness = Heartbeat { is_final: false, liveliness: true, ..heartbeat };
    let acknack = AckNack { reader_id, writer_id, set, count: 3, is_final: true };
    let empty = AckNack { set: SequenceNumberSet::empty(SequenceNumber::ZERO), is_final: false, ..acknack };
    let gap = Gap { reader_id, writer_id, start: SequenceNumber(2), list: set };
    let heartbeat_frag =
        HeartbeatFrag { reader_id, writer_id, sequence_number, last_fragment: FragmentNumber(77), count: 1 };
    let nack_frag = NackFrag { reader_id, writer_id, sequence_number, missing, count: 2 };
    let time = Timestamp::from_nanos(1_700_000_000_123_456_789);
    let source =
        Header { version: ProtocolVersion { major: 2, minor: 1 }, vendor: VendorId::RTI, prefix: PREFIX };
    let bytes = message(|out| {
        encode::info_timestamp(out, Some(time));
        encode::info_timestamp(out, None);
        encode::info_destination(out, PREFIX);
        encode::info_source(out, &source);
        encode::heartbeat(out, &heartbeat);
        encode::heartbeat(out, &liveliness);
        encode::acknack(out, &acknack);
        encode::acknack(out, &empty);
        encode::gap(out, &gap);
        encode::heartbeat_frag(out, &heartbeat_frag);
        encode::nack_frag(out, &nack_frag);
    });
    assert_eq!(bytes.len() % 4, 0);
    assert_eq!(*Message::parse(&bytes).unwrap().header(), Header::ours(PREFIX));
    let expected = [
        Submessage::InfoTimestamp(Some(time)),
        Submessage::InfoTimestamp(None),
        Submessage::InfoDestination(PREFIX),
        Submessage::InfoSource(source),
        Submessage::Heartbeat(heartbeat),
        Submessage::Heartbeat(liveliness),
        Submessage::AckNack(acknack),
        Submessage::AckNack(empty),
        Submessage::Gap(gap),
        Submessage::HeartbeatFrag(heartbeat_frag),
        Submessage::NackFrag(nack_frag),
    ];
    assert_eq!(read(&bytes), expected);
}

#[test]
fn random_submessages_survive_the_wire() {
    let mut random = Random::new(5);
    for _ in 0..5_000 {
        let (reader_id, writer_id) = (EntityId(random.array()), EntityId(random.array()));
        let positive = |random: &mut Random| SequenceNumber(1 + random.below((1 << 62) - 1) as i64);
        let (sequence_number, count) = (positive(&mut random), random.next() as i32);
        let (is_final, liveliness) = (random.coin(), random.coin());
        let last = SequenceNumber(sequence_number.0 - 1 + random.below(1 << 40) as i64);
        let heartbeat =
            Heartbeat { reader_id, writer_id, first: sequence_number, last, count, is_final, liveliness };
        let mut set =
            SequenceNumberSet::empty(SequenceNumber(sequence_number.0 + random.below(1 << 30) as i64));
        let mut missing = FragmentNumberSet::empty(FragmentNumber(1 + random.below(1 << 31) as u32));
        for _ in 0..random.below(40) {
            assert!(set.insert(set.base().plus(random.below(256))));
            assert!(missing.insert(FragmentNumber(missing.base().0 + random.below(256) as u32)));
        }
        let acknack = AckNack { reader_id, writer_id, set, count, is_final };
        let gap = Gap { reader_id, writer_id, start: sequence_number, list: set };
        let nack_frag = NackFrag { reader_id, writer_id, sequence_number, missing, count };
        let fragment_size = 4 * (1 + random.below(300) as u16);
        let payload: Vec<u8> = (0..4 + random.below(5_000)).map(|_| random.next() as u8).collect();
        let first_fragment = random.below(payload.len().div_ceil(usize::from(fragment_size)) as u64) as usize;
        let bytes = payload[first_fragment * usize::from(fragment_size)..]
            .chunks(usize::from(fragment_size))
            .next()
            .unwrap();
        let frag = encode::DataFragHeader {
            reader_id,
            writer_id,
            sequence_number,
            first_fragment: FragmentNumber(first_fragment as u32 + 1),
            fragment_count: 1,
            fragment_size,
            sample_size: payload.len() as u32,
            inline_qos: None,
            is_key: is_final,
        };
        let sent = message(|out| {
            encode::heartbeat(out, &heartbeat);
            encode::acknack(out, &acknack);
            encode::gap(out, &gap);
            encode::nack_frag(out, &nack_frag);
            encode::data_frag_header(out, &frag, bytes.len());
            out.extend_from_slice(bytes);
        });
        let expected = [
            Submessage::Heartbeat(heartbeat),
            Submessage::AckNack(acknack),
            Submessage::Gap(gap),
            Submessage::NackFrag(nack_frag),
            Submessage::DataFrag(DataFrag {
                reader_id,
                writer_id,
                sequence_number,
                first_fragment: frag.first_fragment,
                fragment_count: 1,
                fragment_size,
                sample_size: frag.sample_size,
                inline_qos: None,
                is_key: is_final,
                bytes,
            }),
        ];
        assert_eq!(read(&sent), expected);
    }
}

#[test]
fn the_stated_lengths_are_those_written() {
    let len = |write: &dyn Fn(&mut Vec<u8>)| message(|out| write(out)).len() - Header::LEN;
    let (reader_id, writer_id, sequence_number) = (READER, WRITER, SequenceNumber(1));
    let mut set = SequenceNumberSet::empty(SequenceNumber(1));
    assert!(set.insert(SequenceNumber(256)));
    let mut missing = FragmentNumberSet::empty(FragmentNumber(1));
    assert!(missing.insert(FragmentNumber(256)));
    let time = Timestamp::from_nanos(1);
    let (first, last) = (SequenceNumber(1), SequenceNumber(1));
    let heartbeat =
        Heartbeat { reader_id, writer_id, first, last, count: 0, is_final: false, liveliness: true };
    let frag =
        HeartbeatFrag { reader_id, writer_id, sequence_number, last_fragment: FragmentNumber(1), count: 0 };
    let acknack = AckNack { reader_id, writer_id, set, count: 0, is_final: false };
    let nack = NackFrag { reader_id, writer_id, sequence_number, missing, count: 0 };
    let gap = Gap { reader_id, writer_id, start: first, list: set };
    let none = data_header(PayloadKind::None);
    assert_eq!(len(&|out| encode::data(out, &none, &[])), encode::DATA_HEADER_LEN);
    assert_eq!(len(&|out| encode::data_frag_header(out, &frag_header(), 0)), encode::DATA_FRAG_HEADER_LEN);
    assert_eq!(len(&|out| encode::info_timestamp(out, Some(time))), encode::INFO_TIMESTAMP_LEN);
    assert_eq!(len(&|out| encode::info_destination(out, PREFIX)), encode::INFO_DESTINATION_LEN);
    assert_eq!(len(&|out| encode::heartbeat(out, &heartbeat)), encode::HEARTBEAT_LEN);
    assert_eq!(len(&|out| encode::heartbeat_frag(out, &frag)), encode::HEARTBEAT_FRAG_LEN);
    assert_eq!(len(&|out| encode::acknack(out, &acknack)), encode::MAX_ACKNACK_LEN);
    assert_eq!(len(&|out| encode::nack_frag(out, &nack)), encode::MAX_NACK_FRAG_LEN);
    assert_eq!(len(&|out| encode::gap(out, &gap)), encode::MAX_GAP_LEN);
}

#[test]
fn data_is_padded_and_says_so_in_the_encapsulation_options() {
    let qos = [0x70, 0, 4, 0, 1, 2, 3, 4, 1, 0, 0, 0];
    for (kind, len, options) in [
        (PayloadKind::Data, 5, 3),
        (PayloadKind::Key, 6, 2),
        (PayloadKind::Data, 7, 1),
        (PayloadKind::Data, 8, 0),
    ] {
        for inline_qos in [None, Some(&qos[..])] {
            let payload: Vec<u8> = [0, 1, 0, 0, 9, 9, 9, 9].into_iter().take(len).collect();
            let header = encode::DataHeader { inline_qos, ..data_header(kind) };
            let bytes = message(|out| {
                encode::data(out, &header, &payload);
                encode::info_timestamp(out, None);
            });
            let found = read(&bytes);
            let [Submessage::Data(data), Submessage::InfoTimestamp(None)] = found[..] else {
                panic!("{found:?}")
            };
            let read = data.payload.unwrap();
            assert_eq!(read.bytes.len(), 8);
            assert_eq!((read.bytes[1], read.bytes[3], read.is_key), (1, options, kind == PayloadKind::Key));
            assert_eq!(read.bytes[4..len], payload[4..]);
            assert_eq!(data.inline_qos.map(|list| list.iter().count()), inline_qos.map(|_| 1));
            assert_eq!(
                (data.reader_id, data.writer_id, data.sequence_number),
                (READER, WRITER, SequenceNumber(4))
            );
        }
    }
}

#[test]
fn padding_of_other_encapsulations_is_not_claimed() {
    let bytes = message(|out| encode::data(out, &data_header(PayloadKind::Data), &[0, 4, 0, 0, b'<']));
    let found = read(&bytes);
    let [Submessage::Data(Data { payload: Some(payload), .. })] = found[..] else { panic!("{found:?}") };
    assert_eq!(payload.bytes, [0, 4, 0, 0, b'<', 0, 0, 0]);
}

#[test]
fn a_data_too_long_for_its_length_field_reaches_to_the_end() {
    for len in [65_508, 65_512, 65_516, 200_000] {
        let bytes = message(|out| encode::data(out, &data_header(PayloadKind::Data), &vec![0; len]));
        let found = read(&bytes);
        let [Submessage::Data(Data { payload: Some(payload), .. })] = found[..] else { panic!("{found:?}") };
        assert_eq!(payload.bytes.len(), len);
        assert_eq!(bytes[22..24] == [0, 0], len + 20 > 65_532);
    }
}

#[test]
fn fragments_are_cut_to_their_size() {
    let bytes = message(|out| {
        encode::data_frag_header(out, &frag_header(), 16);
        // Fragments 2 and 3 of a sample of 21 bytes are 13 bytes; three more are padding.
        out.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 0, 0]);
        encode::info_timestamp(out, None);
    });
    let found = read(&bytes);
    let [Submessage::DataFrag(frag), Submessage::InfoTimestamp(None)] = found[..] else {
        panic!("{found:?}")
    };
    let expected = DataFrag {
        reader_id: READER,
        writer_id: WRITER,
        sequence_number: SequenceNumber(1),
        first_fragment: FragmentNumber(2),
        fragment_count: 2,
        fragment_size: 8,
        sample_size: 21,
        inline_qos: None,
        is_key: false,
        bytes: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
    };
    assert_eq!(frag, expected);
}

#[test]
fn hand_made_data_in_both_byte_orders() {
    let big = [
        0x15, 0x06, 0, 44, // DATA, flags Q and D, 44 octets
        0, 0, 0, 20, // extra flags; octetsToInlineQos skips four octets of a later version
        0, 0, 9, 7, 0, 0, 8, 2, // reader, writer
        0, 0, 0, 1, 0, 0, 0, 2, // 2^32 + 2
        0xee, 0xee, 0xee, 0xee, // the later version's field
        0, 0x71, 0, 4, 0, 0, 0, 3, // PID_STATUS_INFO
        0, 1, 0, 0, // sentinel
        0, 0, 0, 0, 0, 0, 0, 5, // CDR_BE and a number
    ];
    let little = [
        0x15, 0x07, 44, 0, 0, 0, 20, 0, 0, 0, 9, 7, 0, 0, 8, 2, 1, 0, 0, 0, 2, 0, 0, 0, 0xee, 0xee, 0xee,
        0xee, 0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 1, 0, 0, 5, 0, 0, 0,
    ];
    for bytes in [big, little] {
        let bytes = hand_made(&bytes);
        let found = read(&bytes);
        let [Submessage::Data(data)] = found[..] else { panic!("{found:?}") };
        assert_eq!(data.sequence_number, SequenceNumber((1 << 32) + 2));
        assert_eq!((data.reader_id, data.writer_id), (READER, WRITER));
        let parameter = data.inline_qos.unwrap().iter().next().unwrap();
        assert_eq!((parameter.pid, parameter.value), (0x71, &[0, 0, 0, 3][..]));
        assert_eq!(data.payload.unwrap().bytes.len(), 8);
    }
}

#[test]
fn hand_made_acknack_of_the_standard_in_both_byte_orders() {
    // The set 1234:/12:00110 of RTPS 2.5, 9.4.2.6.
    let big = [
        0x06, 0x02, 0, 28, 0, 0, 9, 7, 0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0x04, 0xd2, 0, 0, 0, 12, 0x30, 0, 0, 0,
        0, 0, 0, 9,
    ];
    let little = [
        0x06, 0x03, 28, 0, 0, 0, 9, 7, 0, 0, 8, 2, 0, 0, 0, 0, 0xd2, 0x04, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0x30,
        9, 0, 0, 0,
    ];
    for bytes in [big, little] {
        let bytes = hand_made(&bytes);
        let found = read(&bytes);
        let [Submessage::AckNack(acknack)] = found[..] else { panic!("{found:?}") };
        assert!(acknack.is_final);
        assert_eq!((acknack.reader_id, acknack.writer_id, acknack.count), (READER, WRITER, 9));
        assert!(acknack.set.iter().eq([SequenceNumber(1236), SequenceNumber(1237)]));
    }
}

#[test]
fn info_reply_lists_its_locators() {
    let mut bytes = vec![0x0f, 0x03, 56, 0, 1, 0, 0, 0];
    bytes
        .extend_from_slice(&[1, 0, 0, 0, 0xe8, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 7]);
    bytes.extend_from_slice(&[1, 0, 0, 0]);
    bytes.extend_from_slice(&[
        1, 0, 0, 0, 0xe8, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 239, 255, 0, 1,
    ]);
    let message = hand_made(&bytes);
    let found = read(&message);
    let [Submessage::InfoReply(reply)] = found[..] else { panic!("{found:?}") };
    let unicast: Vec<_> = reply.unicast.iter().map(|locator| locator.to_string()).collect();
    assert_eq!(unicast, ["udp/192.0.2.7:7400"]);
    let multicast = reply.multicast.unwrap();
    assert!(multicast.len() == 1 && multicast.iter().all(|locator| locator.is_multicast()));
    bytes[4] = 3;
    assert_eq!(reason(&bytes), SubmessageReason::LocatorCount);
    bytes[4..8].fill(0xff);
    assert_eq!(reason(&bytes), SubmessageReason::LocatorCount);
}

#[test]
fn unknown_vendor_and_secure_submessages_are_skipped_by_length() {
    let bytes = hand_made(&[
        0x80, 0x01, 4, 0, 1, 2, 3, 4, // statistics of eProsima
        0x30, 0x01, 4, 0, 5, 6, 7, 8, // SEC_BODY
        0x01, 0x01, 0, 0, // PAD without content
        0x01, 0x01, 4, 0, 0, 0, 0, 0, // PAD with content
        0x7f, 0x01, 0, 0, 9, 9, 9, // unknown, to the end
    ]);
    let expected = [
        Submessage::Other { kind: 0x80, flags: 1, body: &[1, 2, 3, 4] },
        Submessage::Secure { kind: 0x30, flags: 1, body: &[5, 6, 7, 8] },
        Submessage::Pad,
        Submessage::Pad,
        Submessage::Other { kind: 0x7f, flags: 1, body: &[9, 9, 9] },
    ];
    assert_eq!(read(&bytes), expected);
}

#[test]
fn headers_are_refused_with_their_reason() {
    assert_eq!(Message::parse(b"RTPS").unwrap_err(), MessageError::TooShort { len: 4 });
    assert_eq!(Message::parse(&[0; 20]).unwrap_err(), MessageError::NotRtps);
    let mut bytes = hand_made(&[]);
    bytes[4] = 3;
    let version = ProtocolVersion { major: 3, minor: 3 };
    assert_eq!(Message::parse(&bytes).unwrap_err(), MessageError::Version(version));
    bytes[4..6].copy_from_slice(&[2, 99]);
    assert!(Message::parse(&bytes).is_ok());
}

#[test]
fn a_payload_flag_without_payload_means_no_payload() {
    let data = |flags: u8, payload: &[u8]| {
        let mut bytes = vec![0x15, flags, 20 + payload.len() as u8, 0, 0, 0, 16, 0, 0, 0, 9, 7, 0, 0, 8, 2];
        bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        bytes.extend_from_slice(payload);
        bytes
    };
    for flags in [0x01, 0x05, 0x09] {
        let bytes = hand_made(&data(flags, &[]));
        let found = read(&bytes);
        assert!(matches!(found[..], [Submessage::Data(Data { payload: None, .. })]), "{found:?}");
    }
    assert_eq!(reason(&data(0x05, &[0, 1, 0])), SubmessageReason::ShortPayload);
    assert_eq!(reason(&data(0x0d, &[0, 1, 0, 0])), SubmessageReason::DataAndKey);
    let bytes = hand_made(&data(0x15, &[1, 2, 3, 4]));
    assert!(matches!(read(&bytes)[..], [Submessage::Other { kind: 0x15, .. }]));
}

#[test]
fn a_sample_is_written_over_another_of_the_same_length_as_if_it_were_the_first() {
    let datagram = |number: i64, payload: &[u8], with_heartbeat: bool| {
        let sequence_number = SequenceNumber(number);
        let (timestamp, writer_id) = (Timestamp::from_nanos(number * 999_937), WRITER);
        let header = encode::DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            sequence_number,
            inline_qos: None,
            kind: PayloadKind::Data,
        };
        let heartbeat = Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            first: SequenceNumber(number / 2),
            last: sequence_number,
            count: number as i32,
            is_final: number % 2 == 0,
            liveliness: false,
        };
        let mut out = Vec::new();
        encode::header(&mut out, PREFIX);
        encode::info_timestamp(&mut out, Some(timestamp));
        encode::data(&mut out, &header, payload);
        if with_heartbeat {
            encode::heartbeat(&mut out, &heartbeat);
        }
        (out, timestamp, sequence_number, heartbeat)
    };
    for len in [4, 8, 76, 1_000] {
        let before = datagram(7, &vec![1; len], true).0;
        for number in [8, 9, 1 << 40] {
            let (mut over, payload) = (before.clone(), vec![number as u8; len]);
            let (wanted, timestamp, number, heartbeat) = datagram(number, &payload, true);
            assert!(encode::data_over(&mut over, timestamp, number, &payload, &heartbeat));
            assert_eq!(over, wanted);
            for other in [len - 4, len + 4, len - 1] {
                let mut over = before.clone();
                assert!(!encode::data_over(&mut over, timestamp, number, &vec![2; other], &heartbeat));
                assert_eq!(over, before);
            }
            let mut alone = datagram(7, &payload, false).0;
            assert!(!encode::data_over(&mut alone, timestamp, number, &payload, &heartbeat));
        }
    }
}
