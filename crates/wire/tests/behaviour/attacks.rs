//! Hostile input, one named test per class: what each class of known attacks on DDS implementations sends, and what it gets.

use crate::samples::{PREFIX, READER, Random, WRITER, full_message, full_participant};
use wire::cursor::Endianness;
use wire::discovery::{DiscoveryError, EndpointData, EndpointRole, ParticipantData, ParticipantMessage};
use wire::message::{Message, Submessage, SubmessageReason};
use wire::parameter::{InlineQos, ParameterError, ParameterList, ParameterReason, pid};
use wire::{Duration, Guid, SequenceNumber, Timestamp};

/// A message that has `submessages` after a valid header.
fn message(submessages: &[u8]) -> Vec<u8> {
    let mut bytes = b"RTPS\x02\x05\x01\xfe".to_vec();
    bytes.extend_from_slice(&PREFIX.0);
    bytes.extend_from_slice(submessages);
    bytes
}

/// One little-endian submessage whose length is right.
fn submessage(kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, flags | 1];
    bytes.extend_from_slice(&(body.len() as u16).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn ids() -> Vec<u8> {
    [READER.0, WRITER.0].concat()
}

fn number(number: i64) -> Vec<u8> {
    let (high, low) = SequenceNumber(number).to_words();
    [high.to_le_bytes(), low.to_le_bytes()].concat()
}

fn refusal(submessages: &[u8]) -> Option<SubmessageReason> {
    let bytes = message(submessages);
    Message::parse(&bytes).unwrap().submessages().find_map(Result::err).map(|error| error.reason)
}

/// A PL_CDR_LE payload with one parameter, and for an endpoint what else it needs.
fn payload(pid: u16, value: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 3, 0, 0];
    let guid = Guid::new(PREFIX, WRITER).to_bytes();
    let name = [2, 0, 0, 0, b'T', 0, 0, 0];
    let known: [(u16, &[u8]); 4] =
        [(pid::ENDPOINT_GUID, &guid), (pid::TOPIC_NAME, &name), (pid::TYPE_NAME, &name), (pid, value)];
    for (pid, value) in known {
        out.extend_from_slice(&pid.to_le_bytes());
        out.extend_from_slice(&(value.len() as u16).to_le_bytes());
        out.extend_from_slice(value);
    }
    out.extend_from_slice(&[1, 0, 0, 0]);
    out
}

fn writer_reason(pid: u16, value: &[u8]) -> ParameterReason {
    match EndpointData::decode(&payload(pid, value), EndpointRole::Writer).unwrap_err() {
        DiscoveryError::Parameter(ParameterError { pid: named, reason }) if named == pid => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a01_lengths_lie() {
    let bytes = full_message();
    let whole = Message::parse(&bytes).unwrap();
    let count = whole.submessages().count();
    // Every submessage in turn claims every other length: short, long, zero and past the end.
    let mut offset = 20;
    for (index, _) in whole.submessages().enumerate() {
        let len = u16::from_le_bytes([bytes[offset + 2], bytes[offset + 3]]);
        for lie in (0..=bytes.len() as u16 + 8).chain([u16::MAX, 0x8000]) {
            let mut lying = bytes.clone();
            lying[offset + 2..offset + 4].copy_from_slice(&lie.to_le_bytes());
            let found: Vec<_> = Message::parse(&lying).unwrap().submessages().collect();
            assert!(found.len() > index, "what stood before it is kept");
            assert!(found.len() <= bytes.len() / 4);
            assert!(found.iter().rev().skip(1).all(Result::is_ok), "an error is the last item");
        }
        offset += 4 + usize::from(len);
    }
    assert!(offset == bytes.len() && count > 10);
    // octetsToInlineQos before the end of the fields, past the end, and the largest.
    for octets in [0u16, 4, 15, 17, 21, 0xffff] {
        let body = [&[0, 0][..], &octets.to_le_bytes(), &ids(), &number(1), &[0; 4]].concat();
        let reason = refusal(&submessage(0x15, 0, &body));
        let expected = (octets != 17).then_some(SubmessageReason::InlineQosOffset);
        assert_eq!(reason, expected, "{octets}");
    }
    // Fewer bytes than a submessage header at the end.
    for rest in [&[0x15][..], &[0x15, 1], &[0x15, 1, 0]] {
        assert_eq!(refusal(rest), Some(SubmessageReason::Truncated));
    }
}

#[test]
fn a02_parameter_lists_lie() {
    let reason =
        |bytes: &[u8]| ParameterList::parse(bytes, Endianness::Little).map(|_| ()).map_err(|e| e.reason);
    assert_eq!(reason(&[0x70, 0, 0xfc, 0xff, 1, 2, 3, 4]), Err(ParameterReason::Truncated));
    assert_eq!(reason(&[0x70, 0, 2, 0, 1, 2, 1, 0, 0, 0]), Err(ParameterReason::Unaligned));
    assert_eq!(reason(&[0x70, 0, 4, 0, 1, 2, 3, 4]), Err(ParameterReason::NoSentinel));
    assert_eq!(reason(&[0x70, 0, 0, 0].repeat(65_535)), Err(ParameterReason::TooMany));
    assert_eq!(reason(&[0, 0, 0, 0].repeat(65_535)), Err(ParameterReason::TooMany), "pads count too");
    let most = [[0x70, 0, 0, 0].repeat(512), vec![1, 0, 0, 0]].concat();
    assert!(reason(&most).is_ok());
    let long = [&[0, 0x80, 0xfc, 0xff][..], &[0; 65_532], &[1, 0, 0, 0]].concat();
    assert_eq!(reason(&long), Err(ParameterReason::TooLong));
    let longest = [&[0, 0x80, 0xf8, 0xff][..], &[0; 65_528], &[1, 0, 0, 0]].concat();
    assert!(reason(&longest).is_ok());
    // Unknown and must be understood: the record is refused, wherever the list stands.
    let inline = [0x99, 0x40, 0, 0, 1, 0, 0, 0];
    let list = ParameterList::parse(&inline, Endianness::Little).unwrap().0;
    assert_eq!(InlineQos::read(&list).unwrap_err().reason, ParameterReason::MustUnderstand);
    assert_eq!(writer_reason(0x4099, &[]), ParameterReason::MustUnderstand);
    // The last of two counts.
    let twice =
        [[0x71, 0, 4, 0, 0, 0, 0, 1].as_slice(), &[0x71, 0, 4, 0, 0, 0, 0, 2], &[1, 0, 0, 0]].concat();
    let list = ParameterList::parse(&twice, Endianness::Little).unwrap().0;
    assert_eq!(InlineQos::read(&list).unwrap().status_info.0, 2);
}

#[test]
fn a03_counts_are_checked_against_the_bytes() {
    for count in [2u32, 255, 0x1000_0000, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        let value = [count.to_le_bytes(), [0; 4]].concat();
        for pid in [pid::USER_DATA, pid::TOPIC_DATA, pid::GROUP_DATA, pid::DATA_REPRESENTATION] {
            let decoded = EndpointData::decode(&payload(pid, &value), EndpointRole::Writer);
            assert_eq!(decoded.is_ok(), count == 2, "{pid:#x} {count}");
        }
        assert_eq!(writer_reason(pid::PARTITION, &value), ParameterReason::Value);
        let reply = submessage(0x0f, 0, &value);
        assert_eq!(refusal(&reply), Some(SubmessageReason::LocatorCount));
        let message = [&[0, 1, 0, 0][..], &PREFIX.0, &[0, 0, 0, 1], &count.to_le_bytes()].concat();
        assert_eq!(ParticipantMessage::decode(&message), Err(DiscoveryError::TooShort));
    }
    // As many partition names as fit are read, one more is not.
    let names = |count: u32| [&count.to_le_bytes()[..], &[1, 0, 0, 0, 0, 0, 0, 0].repeat(200)].concat();
    assert!(EndpointData::decode(&payload(pid::PARTITION, &names(200)), EndpointRole::Writer).is_ok());
    assert_eq!(writer_reason(pid::PARTITION, &names(201)), ParameterReason::Value);
}

#[test]
fn a04_bitmaps_lie() {
    let words = [0xff; 40];
    for (base, bits, words, expected) in [
        (1, 256, 32, None),
        (0, 0, 0, None),
        (i64::MAX - 256, 256, 32, None),
        (1, 257, 40, Some(SubmessageReason::Set)),
        (1, u32::MAX, 40, Some(SubmessageReason::Set)),
        (1, u32::MAX - 30, 40, Some(SubmessageReason::Set)),
        (-1, 32, 4, Some(SubmessageReason::Set)),
        (i64::MIN, 0, 0, Some(SubmessageReason::Set)),
        (i64::MAX, 1, 4, Some(SubmessageReason::Set)),
        (i64::MAX - 255, 256, 32, Some(SubmessageReason::Set)),
        (1, 256, 24, Some(SubmessageReason::Truncated)),
    ]
    .map(|(base, bits, len, expected)| (base, bits, &words[..len], expected))
    {
        let set = [&number(base)[..], &bits.to_le_bytes(), words].concat();
        let acknack = submessage(0x06, 0, &[&ids()[..], &set, &[0; 4]].concat());
        assert_eq!(refusal(&acknack), expected, "{base} {bits}");
        let gap = submessage(0x08, 0, &[&ids()[..], &number(1), &set].concat());
        let in_gap = if base == 0 { Some(SubmessageReason::Range) } else { expected };
        assert_eq!(refusal(&gap), in_gap, "{base} {bits}");
    }
    for (base, bits, expected) in [
        (1, 256, None),
        (u32::MAX - 256, 256, None),
        (0, 1, Some(SubmessageReason::Set)),
        (u32::MAX, 1, Some(SubmessageReason::Set)),
        (1, 257, Some(SubmessageReason::Set)),
    ] {
        let set = [&u32::to_le_bytes(base)[..], &u32::to_le_bytes(bits), &words[..32]].concat();
        let nack = submessage(0x12, 0, &[&ids()[..], &number(1), &set, &[0; 4]].concat());
        assert_eq!(refusal(&nack), expected, "{base} {bits}");
    }
}

#[test]
fn a06_heartbeats_contradict_themselves() {
    for (first, last, expected) in [
        (1, 0, None),
        (1, i64::MAX, None),
        (i64::MAX, i64::MAX - 1, None),
        (0, 5, Some(SubmessageReason::SequenceNumber)),
        (i64::MIN, 5, Some(SubmessageReason::SequenceNumber)),
        (3, 1, Some(SubmessageReason::Range)),
        (1, i64::MIN, Some(SubmessageReason::Range)),
    ] {
        let body = [&ids()[..], &number(first), &number(last), &[0; 4]].concat();
        assert_eq!(refusal(&submessage(0x07, 0, &body)), expected, "{first} {last}");
    }
}

#[test]
fn a07_an_acknack_far_ahead_is_read_as_it_stands() {
    // Whether the writer ever sent that far is for the writer to judge: here no arithmetic on it may overflow.
    for base in [1, 1 << 62, i64::MAX - 256, i64::MAX] {
        let bits = if base == i64::MAX { 0u32 } else { 256 };
        let words = vec![0xff; bits as usize / 8];
        let body = [&ids()[..], &number(base), &bits.to_le_bytes(), &words, &[0; 4]].concat();
        let bytes = message(&submessage(0x06, 0, &body));
        let found = Message::parse(&bytes).unwrap().submessages().next().unwrap().unwrap();
        let Submessage::AckNack(acknack) = found else { panic!("{found:?}") };
        assert_eq!(acknack.set.base(), SequenceNumber(base));
        assert_eq!(acknack.set.iter().count(), bits as usize);
        assert!(acknack.set.iter().all(|number| number >= acknack.set.base()));
    }
}

#[test]
fn a09_fragments_lie() {
    let frag = |first: u32, count: u16, size: u16, sample: u32, len: usize| {
        let mut body = [&[0, 0, 28, 0][..], &ids(), &number(1), &first.to_le_bytes()].concat();
        body.extend_from_slice(&count.to_le_bytes());
        body.extend_from_slice(&size.to_le_bytes());
        body.extend_from_slice(&sample.to_le_bytes());
        body.resize(body.len() + len, 0xab);
        submessage(0x16, 0, &body)
    };
    let wrong = Some(SubmessageReason::Fragments);
    for (first, count, size, sample, len, expected) in [
        (1, 1, 100, 250, 100, None),
        (3, 1, 100, 250, 50, None),
        (3, 1, 100, 250, 52, None),
        (0, 1, 100, 250, 100, wrong),
        (1, 0, 100, 250, 100, wrong),
        (1, 1, 0, 250, 100, wrong),
        (1, 1, 100, 0, 100, wrong),
        (3, 2, 100, 250, 100, wrong),
        (4, 1, 100, 250, 100, wrong),
        (u32::MAX, u16::MAX, u16::MAX, u32::MAX, 100, wrong),
        (1, u16::MAX, u16::MAX, u32::MAX, 100, Some(SubmessageReason::Truncated)),
        (1, 1, 100, 250, 99, Some(SubmessageReason::Truncated)),
        (1, 1, u16::MAX, u32::MAX, 0, Some(SubmessageReason::Truncated)),
    ] {
        assert_eq!(
            refusal(&frag(first, count, size, sample, len)),
            expected,
            "{first} {count} {size} {sample}"
        );
    }
    // A claim of 4 GiB is a number in a view: the bytes are those of the datagram.
    let bytes = message(&frag(1, 1, 1_000, u32::MAX, 1_000));
    let found = Message::parse(&bytes).unwrap().submessages().next().unwrap().unwrap();
    let Submessage::DataFrag(frag) = found else { panic!("{found:?}") };
    assert_eq!((frag.sample_size, frag.bytes.len()), (u32::MAX, 1_000));
    let zero = [&ids()[..], &number(1), &[0; 8]].concat();
    assert_eq!(refusal(&submessage(0x13, 0, &zero)), wrong, "HEARTBEAT_FRAG with last fragment 0");
}

#[test]
fn a10_all_encapsulation_ids() {
    let mut participant = Vec::new();
    full_participant().encode(&mut participant);
    let mut endpoint = payload(pid::PAD, &[]);
    let mut message = Vec::new();
    ParticipantMessage { prefix: PREFIX, kind: ParticipantMessage::MANUAL, data: Vec::new() }
        .encode(&mut message);
    for id in 0..=u16::MAX {
        for bytes in [&mut participant, &mut endpoint, &mut message] {
            bytes[..2].copy_from_slice(&id.to_be_bytes());
        }
        assert_eq!(ParticipantData::decode(&participant).is_ok(), id == 3, "{id:#x}");
        assert_eq!(EndpointData::decode(&endpoint, EndpointRole::Writer).is_ok(), id == 3, "{id:#x}");
        assert_eq!(ParticipantMessage::decode(&message).is_ok(), matches!(id, 0..=3 | 6 | 7), "{id:#x}");
        if !matches!(id, 2 | 3) {
            let error = ParticipantData::decode(&participant).unwrap_err();
            assert_eq!(error, DiscoveryError::Encapsulation(id));
        }
    }
}

#[test]
fn a12_every_time_has_a_value() {
    let secs = [i32::MIN, -1, 0, 1, i32::MAX - 1, i32::MAX];
    let fractions = [0, 1, 999_999_999, 1_000_000_000, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX];
    for (secs, fraction) in secs.iter().flat_map(|secs| fractions.map(|fraction| (*secs, fraction))) {
        let value = [secs.to_le_bytes(), fraction.to_le_bytes()].concat();
        for pid in [pid::DEADLINE, pid::LATENCY_BUDGET, pid::LIFESPAN] {
            let data = EndpointData::decode(&payload(pid, &value), EndpointRole::Writer).unwrap();
            let qos = data.qos;
            let duration = match pid {
                pid::DEADLINE => qos.deadline,
                pid::LATENCY_BUDGET => qos.latency_budget,
                _ => qos.lifespan,
            };
            assert_eq!(duration, Duration::from_wire(secs, fraction));
            assert!(duration.saturating_add(Duration::INFINITE) <= Duration::INFINITE);
        }
        let bytes = message(&submessage(0x09, 0, &value));
        let found = Message::parse(&bytes).unwrap().submessages().next().unwrap().unwrap();
        let Submessage::InfoTimestamp(time) = found else { panic!("{found:?}") };
        assert_eq!(time, Timestamp::from_wire(secs.cast_unsigned(), fraction));
    }
}

#[test]
fn a13_strings_lie() {
    for pid in [pid::TOPIC_NAME, pid::TYPE_NAME, pid::ENTITY_NAME] {
        for (value, reason) in [
            (&[0, 0, 0, 0][..], ParameterReason::TextWithoutNul),
            (&[2, 0, 0, 0, b'a', b'b', 0, 0], ParameterReason::TextWithoutNul),
            (&[9, 0, 0, 0, b'a', b'b', 0, 0], ParameterReason::TextWithoutNul),
            (&[4, 0, 0, 0, b'a', 0, b'b', 0], ParameterReason::TextWithNul),
            (&[4, 0, 0, 0, 0xff, 0xfe, b'b', 0], ParameterReason::TextNotUtf8),
            (&[0xff, 0xff, 0xff, 0xff], ParameterReason::TextTooLong),
            (&[0xff, 0xff, 0xff, 0x7f], ParameterReason::TextTooLong),
        ] {
            assert_eq!(writer_reason(pid, value), reason, "{pid:#x} {value:?}");
        }
        for (len, fits) in [(256usize, true), (257, false)] {
            let mut value = (len as u32 + 1).to_le_bytes().to_vec();
            value.resize(4 + len, b'x');
            value.resize((4 + len + 1).next_multiple_of(4), 0);
            let decoded = EndpointData::decode(&payload(pid, &value), EndpointRole::Writer);
            assert_eq!(decoded.is_ok(), fits, "{pid:#x} {len}");
        }
    }
}

#[test]
fn a21_floods_of_tiny_submessages_are_cut() {
    // Of submessages that carry no data, 256 are read, whatever their kind.
    let reply = submessage(0x0f, 0, &[0; 4]);
    let destination = submessage(0x0e, 0, &PREFIX.0);
    let source = submessage(0x0c, 0, &[0; 20]);
    for flood in [&reply[..], &destination, &source, &[0x01, 1, 0, 0], &[0x80, 1, 4, 0, 0, 0, 0, 0]] {
        let bytes = message(&flood.repeat(3_000));
        let found: Vec<_> = Message::parse(&bytes).unwrap().submessages().collect();
        assert_eq!(found.len(), 257);
        assert_eq!(found.last().unwrap().unwrap_err().reason, SubmessageReason::TooMany);
    }
    // A batch of small samples, each with its timestamp, is no flood.
    let data = submessage(0x15, 0x04, &[&[0, 0, 16, 0][..], &ids(), &number(1), &[0, 1, 0, 0]].concat());
    let sample = [submessage(0x09, 0, &[0; 8]), data].concat();
    let bytes = message(&sample.repeat(1_500));
    assert_eq!(Message::parse(&bytes).unwrap().submessages().filter(Result::is_ok).count(), 3_000);
}

#[test]
fn random_bytes_are_refused_or_read() {
    let mut random = Random::new(7);
    for _ in 0..50_000 {
        let bytes = random.octets(300);
        let mut headed = message(&bytes);
        let steps = Message::parse(&headed).unwrap().submessages().count();
        assert!(steps <= bytes.len() / 4 + 1);
        headed.splice(..0, [0, 3, 0, 0]);
        assert!(ParticipantData::decode(&headed).is_err(), "random octets name no participant");
    }
}
