//! Another dissector's view: what we write is put into a capture file, and tshark must find nothing wrong with it and the
//! same values. Without tshark the test is skipped, except on CI (environment variable CI), where it fails.

use std::process::Command;

use crate::samples::{PREFIX, full_endpoint, full_message, full_participant};
use wire::discovery::{EndpointRole, ParticipantMessage};
use wire::message::{PayloadKind, encode};
use wire::parameter::{InlineQos, StatusInfo};
use wire::{EntityId, Guid, SequenceNumber};

/// What tshark says that we know better. There is nothing yet.
const ALLOWED: [&str; 0] = [];

/// Writes the datagrams into a capture file and gives what tshark shows of it, one trimmed line each.
fn dissect(name: &str, datagrams: &[Vec<u8>]) -> Vec<String> {
    let path = std::env::temp_dir().join(format!("punctual-wire-{}-{name}.pcap", std::process::id()));
    std::fs::write(&path, crate::pcap::write(datagrams)).unwrap();
    let output = Command::new("tshark").arg("-r").arg(&path).args(["-V", "-O", "rtps"]).output();
    std::fs::remove_file(&path).unwrap();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<_> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.trim().to_owned()).collect();
    let found = lines.iter().filter(|line| line.starts_with("Frame ")).count();
    assert_eq!(found, datagrams.len());
    lines
}

/// What tshark complains about, apart from `ALLOWED`.
fn complaints(lines: &[String]) -> Vec<&String> {
    let complaint = |line: &&String| line.contains("Expert Info") || line.contains("Malformed");
    lines.iter().filter(complaint).filter(|line| !ALLOWED.iter().any(|text| line.contains(text))).collect()
}

/// Checks that these lines are there in this order, others between them allowed.
fn assert_shows(lines: &[String], expected: &[&str]) {
    let mut rest = lines.iter();
    for text in expected {
        assert!(
            rest.any(|line| line == text),
            "not shown, or not in this order: {text}\n{}",
            lines.join("\n")
        );
    }
}

fn available() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "tshark is not installed (Debian package tshark)");
    if !found {
        eprintln!("skipped: tshark is not installed");
    }
    found
}

/// A message with one DATA from a built-in writer.
fn builtin(
    writer_id: EntityId,
    kind: PayloadKind,
    inline: &InlineQos,
    payload: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let mut list = Vec::new();
    inline.encode(&mut list);
    let inline_qos = (!inline.is_empty()).then_some(&list[..]);
    let sequence_number = SequenceNumber(1);
    let header =
        encode::DataHeader { reader_id: EntityId::UNKNOWN, writer_id, sequence_number, inline_qos, kind };
    let mut out = Vec::new();
    encode::header(&mut out, PREFIX);
    let start = encode::begin_data(&mut out, &header);
    payload(&mut out);
    encode::finish_data(&mut out, start);
    out
}

fn discovery() -> Vec<Vec<u8>> {
    let none = InlineQos::default();
    let writer = full_endpoint(EndpointRole::Writer);
    let reader = full_endpoint(EndpointRole::Reader);
    let message =
        ParticipantMessage { prefix: PREFIX, kind: ParticipantMessage::AUTOMATIC, data: vec![1, 2, 3, 4] };
    let gone = InlineQos {
        status_info: StatusInfo::DISPOSED | StatusInfo::UNREGISTERED,
        key_hash: Some(Guid::new(PREFIX, EntityId::PARTICIPANT).to_bytes()),
        ..none
    };
    let data = PayloadKind::Data;
    vec![
        builtin(EntityId::SPDP_WRITER, data, &none, |out| full_participant().encode(out)),
        builtin(EntityId::SEDP_PUBLICATIONS_WRITER, data, &none, |out| writer.encode(out)),
        builtin(EntityId::SEDP_SUBSCRIPTIONS_WRITER, data, &none, |out| reader.encode(out)),
        builtin(EntityId::PARTICIPANT_MESSAGE_WRITER, data, &none, |out| message.encode(out)),
        builtin(EntityId::SPDP_WRITER, PayloadKind::Key, &gone, |out| full_participant().encode_key(out)),
        builtin(EntityId::SEDP_PUBLICATIONS_WRITER, PayloadKind::Key, &gone, |out| writer.encode_key(out)),
    ]
}

#[test]
fn submessages_are_dissected_as_we_mean_them() {
    if !available() {
        return;
    }
    let lines = dissect("submessages", &[full_message()]);
    assert_eq!(complaints(&lines), [""; 0]);
    let expected = [
        "Protocol version: 2.5",
        "guidPrefix: 0102030405060708090a0b0c",
        "submessageId: INFO_DST (0x0e)",
        "guidPrefix: 090909090909090909090909",
        "submessageId: INFO_TS (0x09)",
        "Timestamp: Nov 14, 2023 22:13:20.500000000 UTC",
        "submessageId: DATA (0x15)",
        "Flags: 0x05, Data present, Endianness bit",
        "readerEntityId: 0x00000907 (Application-defined reader (with key): 0x000009)",
        "writerEntityId: 0x00000802 (Application-defined writer (with key): 0x000008)",
        "writerSeqNumber: 9",
        "encapsulation kind: CDR_LE (0x0001)",
        "Padding bytes: 3",
        "submessageId: DATA (0x15)",
        "Flags: 0x0b, Serialized Key, Inline QoS, Endianness bit",
        "guid: 07070707:07070707:07070707:07070707",
        "Flags: 0x00000003, Unregistered, Disposed",
        "parameterData: 0102030405060708090a0b0c000008020000000004000000",
        "sequenceNumber: 3",
        "submessageId: DATA (0x15)",
        "Flags: 0x03, Inline QoS, Endianness bit",
        "submessageId: INFO_TS (0x09)",
        "Flags: 0x03, Timestamp flag, Endianness bit",
        "submessageId: DATA_FRAG (0x16)",
        "fragmentStartingNum: 1",
        "fragmentsInSubmessage: 2",
        "fragmentSize: 8",
        "sampleSize: 40",
        "serializedData: 05060708090a0b0c",
        "submessageId: HEARTBEAT (0x07)",
        "firstAvailableSeqNumber: 3",
        "lastSeqNumber: 9",
        "count: 5",
        "submessageId: HEARTBEAT_FRAG (0x13)",
        "lastFragmentNum: 5",
        "Count: 6",
        "submessageId: ACKNACK (0x06)",
        "Flags: 0x03, Final flag, Endianness bit",
        "bitmapBase: 5",
        "numBits: 36",
        "bitmap: 100000000000000000000000000000000001",
        "Count: 7",
        "submessageId: NACK_FRAG (0x12)",
        "bitmapBase: 2",
        "numBits: 33",
        "Count: 8",
        "submessageId: GAP (0x08)",
        "gapStart: 3",
        "bitmap: 100000000000000000000000000000000001",
        "submessageId: INFO_SRC (0x0c)",
        "guidPrefix: 0102030405060708090a0b0c",
    ];
    assert_shows(&lines, &expected);
}

#[test]
fn discovery_data_is_dissected_as_we_mean_it() {
    if !available() {
        return;
    }
    let lines = dissect("discovery", &discovery());
    assert_eq!(complaints(&lines), [""; 0]);
    let participant = [
        "writerEntityId: ENTITYID_BUILTIN_PARTICIPANT_WRITER (0x000100c2)",
        "encapsulation kind: PL_CDR_LE (0x0003)",
        "Participant GUID: 01020304 05060708 090a0b0c 000001c1",
        "lease_duration: 11.000000 sec (11s + 0x00000000)",
        "parameterData: 2a000000",
        "parameterData: 040000006c616200",
        "PID_METATRAFFIC_UNICAST_LOCATOR (LOCATOR_KIND_UDPV4, 192.0.2.7:7410)",
        "PID_METATRAFFIC_MULTICAST_LOCATOR (LOCATOR_KIND_UDPV4, 239.255.0.1:7400)",
        "PID_DEFAULT_UNICAST_LOCATOR (LOCATOR_KIND_UDPV4, 192.0.2.7:7411)",
        "PID_DEFAULT_MULTICAST_LOCATOR (LOCATOR_KIND_UDPV4, 239.255.0.1:7401)",
        "Inline QoS: True",
        "Manual Liveliness Count: 0x00000003",
        "entityName: robot",
        "userData: 64617461",
    ];
    let writer = [
        "writerEntityId: ENTITYID_BUILTIN_PUBLICATIONS_WRITER (0x000003c2)",
        "Endpoint GUID: 01020304 05060708 090a0b0c 00000802",
        "topic: Square",
        "typeName: ShapeType",
        "Kind: RELIABLE_RELIABILITY_QOS (0x00000002)",
        "Durability: TRANSIENT_LOCAL_DURABILITY_QOS (0x00000001)",
        "PID_DURABILITY_SERVICE",
        "lease_duration: 1.500000 sec (1s + 0x80000000)",
        "History Depth: 3",
        "Max Samples: 10",
        "Max Instances: -1",
        "PID_DEADLINE",
        "lease_duration: 0.250000 sec (0s + 0x40000000)",
        "PID_LATENCY_BUDGET",
        "PID_LIFESPAN",
        "lease_duration: 9.000000 sec (9s + 0x00000000)",
        "Kind: MANUAL_BY_TOPIC_LIVELINESS_QOS (0x00000002)",
        "Kind: EXCLUSIVE_OWNERSHIP_QOS (0x00000001)",
        "strength: 17",
        "Kind: BY_SOURCE_TIMESTAMP_DESTINATIONORDER_QOS (0x00000001)",
        "Value: 46",
        "Access Scope: TOPIC_PRESENTATION_QOS (0x00000001)",
        "Coherent Access: True",
        "userData: 75736572",
        "topicData: 746f706963",
        "groupData: 67726f7570",
        "name[0]: left",
        "name[1]: right*",
        "[0]: XCDR2_DATA_REPRESENTATION (0x2)",
        "[1]: XCDR_DATA_REPRESENTATION (0x0)",
        "Kind: KEEP_LAST_HISTORY_QOS (0x00000000)",
        "Depth: 8",
        "Max Samples Per Instance: 10",
        "PID_UNICAST_LOCATOR (LOCATOR_KIND_UDPV6, 2001:db8::1:7411)",
        "PID_MULTICAST_LOCATOR (LOCATOR_KIND_UDPV4, 239.255.0.5:7420)",
        "Value: 1000",
        "entityName: camera",
        "parameterData: 504e435401010400001000070400000004000000",
    ];
    let rest = [
        "writerEntityId: ENTITYID_BUILTIN_SUBSCRIPTIONS_WRITER (0x000004c2)",
        "Kind: BEST_EFFORT_RELIABILITY_QOS (0x00000001)",
        "PID_TIME_BASED_FILTER",
        "parameterData: 0100010101000000",
        "Inline QoS: True",
        "ParticipantMessageData",
        "kind: PARTICIPANT_MESSAGE_DATA_KIND_AUTOMATIC_LIVELINESS_UPDATE (0x0001)",
        "serializedData: 01020304",
        "guid: 01020304:05060708:090a0b0c:000001c1",
        "serializedKey",
        "Participant GUID: 01020304 05060708 090a0b0c 000001c1",
        "serializedKey",
        "Endpoint GUID: 01020304 05060708 090a0b0c 00000802",
    ];
    assert_shows(&lines, &[&participant[..], &writer, &rest].concat());
}

#[test]
fn a_complaint_is_noticed() {
    if !available() {
        return;
    }
    let mut datagram = discovery().swap_remove(0);
    // The length of the first parameter, PROTOCOL_VERSION, runs past the message.
    datagram[50..52].copy_from_slice(&[0xfc, 0x7f]);
    assert_ne!(complaints(&dissect("complaint", &[datagram])), [""; 0]);
}
