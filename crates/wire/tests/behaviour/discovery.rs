//! Discovery data: random records survive the wire, and vectors made by hand in both byte orders are read as the standard says.

use crate::samples::{PREFIX, Random, WRITER, full_endpoint, full_participant};
use wire::discovery::{
    BuiltinEndpointSet, DiscoveryError, EndpointData, EndpointRole, ParticipantData, ParticipantMessage,
};
use wire::parameter::{ParameterError, ParameterReason, pid};
use wire::qos::{
    DataRepresentation, Durability, EndpointQos, History, Ownership, ReliabilityKind, TypeConsistency,
};
use wire::{Duration, EntityId, Guid, GuidPrefix, ProtocolVersion, VendorId};

const ROLES: [EndpointRole; 2] = [EndpointRole::Writer, EndpointRole::Reader];

fn bytes(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    assert_eq!(out.len() % 4, 0);
    out
}

/// A PL_CDR_LE payload with these parameters, each padded by the caller.
fn payload(parameters: &[(u16, &[u8])]) -> Vec<u8> {
    let mut out = vec![0, 3, 0, 0];
    for (pid, value) in parameters {
        out.extend_from_slice(&pid.to_le_bytes());
        out.extend_from_slice(&(value.len() as u16).to_le_bytes());
        out.extend_from_slice(value);
    }
    out.extend_from_slice(&[1, 0, 0, 0]);
    out
}

fn writer_guid() -> [u8; 16] {
    Guid::new(PREFIX, WRITER).to_bytes()
}

/// A writer on topic "T" of type "U" with these parameters too.
fn writer(more: &[(u16, &[u8])]) -> Result<EndpointData, DiscoveryError> {
    let guid = writer_guid();
    let mut parameters: Vec<(u16, &[u8])> = more.to_vec();
    parameters.push((pid::TYPE_NAME, &[2, 0, 0, 0, b'U', 0, 0, 0]));
    parameters.push((pid::TOPIC_NAME, &[2, 0, 0, 0, b'T', 0, 0, 0]));
    parameters.push((pid::ENDPOINT_GUID, &guid));
    EndpointData::decode(&payload(&parameters), EndpointRole::Writer)
}

fn refused(pid: u16, reason: ParameterReason) -> DiscoveryError {
    DiscoveryError::Parameter(ParameterError { pid, reason })
}

#[test]
fn random_endpoints_survive_the_wire() {
    let mut random = Random::new(1);
    for round in 0..2_000 {
        for role in ROLES {
            let mut data = random.endpoint(role);
            let decoded = EndpointData::decode(&bytes(|out| data.encode(out)), role);
            data.unicast.truncate(16);
            data.multicast.truncate(16);
            assert_eq!(decoded.as_ref(), Ok(&data), "round {round}");
            assert_eq!(EndpointData::decode_key(&bytes(|out| data.encode_key(out))), Ok(data.guid));
        }
    }
}

#[test]
fn exclusive_ownership_is_announced_with_its_strength() {
    for role in ROLES {
        let mut data = Random::new(3).endpoint(role);
        let mut announced = |ownership, ownership_strength: i32| {
            (data.qos.ownership, data.qos.ownership_strength) = (ownership, ownership_strength);
            let mut parameter = pid::OWNERSHIP_STRENGTH.to_le_bytes().to_vec();
            parameter.extend([4, 0]);
            parameter.extend(ownership_strength.to_le_bytes());
            bytes(|out| data.encode(out)).windows(8).any(|window| window == parameter)
        };
        assert!(announced(Ownership::Exclusive, 0));
        assert!(announced(Ownership::Exclusive, 7));
        assert!(!announced(Ownership::Shared, 0));
    }
}

#[test]
fn random_participants_survive_the_wire() {
    let mut random = Random::new(2);
    for round in 0..2_000 {
        let data = random.participant();
        let decoded = ParticipantData::decode(&bytes(|out| data.encode(out)));
        assert_eq!(decoded.as_ref(), Ok(&data), "round {round}");
        assert_eq!(ParticipantData::decode_key(&bytes(|out| data.encode_key(out))), Ok(data.prefix));
    }
}

#[test]
fn participant_messages_survive_the_wire() {
    let mut random = Random::new(3);
    for kind in [ParticipantMessage::AUTOMATIC, ParticipantMessage::MANUAL, [0x80, 0, 0, 1]] {
        let message = ParticipantMessage { prefix: PREFIX, kind, data: random.octets(90) };
        assert_eq!(ParticipantMessage::decode(&bytes_unpadded(&message)), Ok(message));
    }
}

fn bytes_unpadded(message: &ParticipantMessage) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    out
}

#[test]
fn an_endpoint_that_announces_nothing_has_the_defaults_of_its_role() {
    for role in ROLES {
        let mut data = full_endpoint(role);
        data = EndpointData::new(data.guid, data.topic_name, data.type_name, role.default_qos());
        let encoded = bytes(|out| data.encode(out));
        assert_eq!(EndpointData::decode(&encoded, role), Ok(data));
        // Only guids, names, RELIABILITY and DURABILITY are sent.
        assert_eq!(encoded.len(), 4 + 20 + 20 + 16 + 20 + 16 + 8 + 4);
    }
    let absent = writer(&[]).unwrap();
    assert_eq!(absent.qos, EndpointQos::writer());
    assert_eq!(absent.qos.reliability.kind, ReliabilityKind::Reliable);
    assert!(absent.qos.representation.is_empty());
    let guid = Guid::new(PREFIX, EntityId([0, 0, 9, 4])).to_bytes();
    let reader = payload(&[
        (pid::ENDPOINT_GUID, &guid),
        (pid::TOPIC_NAME, &[1, 0, 0, 0, 0, 0, 0, 0]),
        (pid::TYPE_NAME, &[1, 0, 0, 0, 0, 0, 0, 0]),
    ]);
    assert_eq!(EndpointData::decode(&reader, EndpointRole::Reader).unwrap().qos, EndpointQos::reader());
}

#[test]
fn a_participant_that_announces_nothing_has_the_defaults() {
    let guid = Guid::new(PREFIX, EntityId::PARTICIPANT).to_bytes();
    let data = ParticipantData::decode(&payload(&[(pid::PARTICIPANT_GUID, &guid)])).unwrap();
    assert_eq!(data, ParticipantData::new(PREFIX));
    assert_eq!(data.lease_duration, Duration::from_secs(100));
    let missing = ParticipantData::decode(&payload(&[]));
    assert_eq!(missing, Err(DiscoveryError::Missing(pid::PARTICIPANT_GUID)));
}

#[test]
fn a_hand_made_participant_is_read_in_both_byte_orders() {
    let prefix = PREFIX.0;
    let mut big = vec![0, 2, 0, 0];
    big.extend_from_slice(&[0, 0x15, 0, 4, 2, 3, 0, 0, 0, 0x16, 0, 4, 1, 0x0f, 0, 0]);
    big.extend_from_slice(&[0, 0x50, 0, 16]);
    big.extend_from_slice(&prefix);
    big.extend_from_slice(&[0, 0, 1, 0xc1]);
    big.extend_from_slice(&[0, 0x58, 0, 4, 0, 0, 0x0c, 0x3f]);
    big.extend_from_slice(&[0, 0x02, 0, 8, 0, 0, 0, 20, 0x80, 0, 0, 0]);
    big.extend_from_slice(&[0, 0x32, 0, 24, 0, 0, 0, 1, 0, 0, 0x1c, 0xf2]);
    big.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
    big.extend_from_slice(&[0x40, 0x14, 0, 8, 0, 0, 0, 4, b'l', b'a', b'b', 0]);
    big.extend_from_slice(&[0, 1, 0, 0]);

    let mut little = vec![0, 3, 0, 0];
    little.extend_from_slice(&[0x15, 0, 4, 0, 2, 3, 0, 0, 0x16, 0, 4, 0, 1, 0x0f, 0, 0]);
    little.extend_from_slice(&[0x50, 0, 16, 0]);
    little.extend_from_slice(&prefix);
    little.extend_from_slice(&[0, 0, 1, 0xc1]);
    little.extend_from_slice(&[0x58, 0, 4, 0, 0x3f, 0x0c, 0, 0]);
    little.extend_from_slice(&[0x02, 0, 8, 0, 20, 0, 0, 0, 0, 0, 0, 0x80]);
    little.extend_from_slice(&[0x32, 0, 24, 0, 1, 0, 0, 0, 0xf2, 0x1c, 0, 0]);
    little.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
    little.extend_from_slice(&[0x14, 0x40, 8, 0, 4, 0, 0, 0, b'l', b'a', b'b', 0]);
    little.extend_from_slice(&[1, 0, 0, 0]);

    for bytes in [big, little] {
        let data = ParticipantData::decode(&bytes).unwrap();
        assert_eq!(data.prefix, PREFIX);
        assert_eq!(data.version, ProtocolVersion { major: 2, minor: 3 });
        assert_eq!(data.vendor, VendorId::EPROSIMA);
        assert_eq!(data.builtin_endpoints, BuiltinEndpointSet(0x0c3f));
        assert_eq!(data.lease_duration, Duration::from_millis(20_500));
        assert_eq!(data.metatraffic_unicast[0].to_string(), "udp/10.0.0.1:7410");
        assert_eq!(data.domain_tag, "lab");
    }
}

#[test]
fn a_hand_made_writer_is_read_in_big_endian() {
    let mut bytes = vec![0, 2, 0, 0];
    bytes.extend_from_slice(&[0, 0x5a, 0, 16]);
    bytes.extend_from_slice(&writer_guid());
    bytes.extend_from_slice(&[0, 5, 0, 8, 0, 0, 0, 2, b'T', 0, 0, 0]);
    bytes.extend_from_slice(&[0, 7, 0, 8, 0, 0, 0, 2, b'U', 0, 0, 0]);
    bytes.extend_from_slice(&[0, 0x1a, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0x19, 0x99, 0x99, 0x99]);
    bytes.extend_from_slice(&[0, 0x1d, 0, 4, 0, 0, 0, 1]);
    bytes.extend_from_slice(&[0, 0x73, 0, 8, 0, 0, 0, 1, 0, 2, 0, 0]);
    bytes.extend_from_slice(&[
        0, 0x29, 0, 20, 0, 0, 0, 2, 0, 0, 0, 2, b'p', 0, 0, 0, 0, 0, 0, 2, b'q', 0, 0, 0,
    ]);
    bytes.extend_from_slice(&[0, 1, 0, 0]);
    let data = EndpointData::decode(&bytes, EndpointRole::Writer).unwrap();
    assert_eq!((data.topic_name.as_str(), data.type_name.as_str()), ("T", "U"));
    assert_eq!((data.guid, data.participant), (Guid::new(PREFIX, WRITER), PREFIX));
    assert_eq!(data.qos.reliability.kind, ReliabilityKind::BestEffort);
    assert_eq!(data.qos.durability, Durability::TransientLocal);
    assert_eq!(data.qos.representation, [DataRepresentation::XCDR2]);
    assert_eq!(data.qos.partition, ["p", "q"]);
}

#[test]
fn what_peers_send_without_meaning_is_tolerated() {
    // An all-zero DURABILITY_SERVICE, and HISTORY with depth 0.
    let zeros = writer(&[(pid::DURABILITY_SERVICE, &[0; 28]), (pid::HISTORY, &[0; 8])]).unwrap();
    assert_eq!(zeros.qos.durability_service, EndpointQos::writer().durability_service);
    assert_eq!(zeros.qos.history, History::KeepLast(1));
    // Unknown parameters of the standard and of vendors, a key hash, broken type information, a foreign 0x8f01.
    let unknown: [(u16, &[u8]); 5] = [
        (0x0059, &[0xff; 4]),
        (0xc123, &[]),
        (pid::KEY_HASH, &[1; 4]),
        (pid::TYPE_INFORMATION, &[0xff; 8]),
        (pid::PUNCTUAL, &[0xff; 8]),
    ];
    let data = writer(&unknown).unwrap();
    assert_eq!(data.type_information.as_deref(), Some(&[0xff; 8][..]));
    assert_eq!(data.receive_buffer, None);
    // TYPE_CONSISTENCY_ENFORCEMENT from before its last flag.
    let short = writer(&[(pid::TYPE_CONSISTENCY_ENFORCEMENT, &[1, 0, 0, 0])]).unwrap();
    let expected = TypeConsistency {
        ignore_sequence_bounds: false,
        ignore_string_bounds: false,
        ..TypeConsistency::default()
    };
    assert_eq!(short.qos.type_consistency, expected);
}

#[test]
fn of_two_the_last_counts_but_locators_accumulate() {
    let locator = [1, 0, 0, 0, 0xe8, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1];
    let many = [(pid::UNICAST_LOCATOR, &locator[..]); 20];
    assert_eq!(writer(&many[..3]).unwrap().unicast.len(), 3);
    assert_eq!(writer(&many).unwrap().unicast.len(), 16);
    let data = writer(&[(pid::OWNERSHIP_STRENGTH, &[1, 0, 0, 0]), (pid::OWNERSHIP_STRENGTH, &[2, 0, 0, 0])])
        .unwrap();
    assert_eq!(data.qos.ownership_strength, 2);
}

#[test]
fn wrong_records_are_refused_with_the_reason() {
    assert_eq!(writer(&[(0x4123, &[])]), Err(refused(0x4123, ParameterReason::MustUnderstand)));
    for (pid, value) in [
        (pid::RELIABILITY, &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..]),
        (pid::RELIABILITY, &[1, 0, 0, 0]),
        (pid::DURABILITY, &[4, 0, 0, 0]),
        (pid::LIVELINESS, &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (pid::OWNERSHIP, &[2, 0, 0, 0]),
        (pid::DESTINATION_ORDER, &[2, 0, 0, 0]),
        (pid::PRESENTATION, &[3, 0, 0, 0, 0, 0, 0, 0]),
        (pid::HISTORY, &[2, 0, 0, 0, 1, 0, 0, 0]),
        (pid::RESOURCE_LIMITS, &[0; 8]),
        (pid::UNICAST_LOCATOR, &[0; 20]),
        (pid::USER_DATA, &[5, 0, 0, 0, 1, 2, 3, 4]),
        (pid::PARTITION, &[0xff, 0xff, 0xff, 0xff]),
        (pid::DATA_REPRESENTATION, &[3, 0, 0, 0, 0, 0, 2, 0]),
    ] {
        assert_eq!(writer(&[(pid, value)]), Err(refused(pid, ParameterReason::Value)), "{pid:#x}");
    }
    let encoded = bytes(|out| full_endpoint(EndpointRole::Writer).encode(out));
    let role = EndpointData::decode(&encoded, EndpointRole::Reader);
    assert_eq!(role, Err(DiscoveryError::Role(WRITER)));
    let other = Guid::new(GuidPrefix([3; 12]), EntityId::PARTICIPANT);
    let participant = writer(&[(pid::PARTICIPANT_GUID, &other.to_bytes())]);
    assert_eq!(participant, Err(DiscoveryError::Participant(other.prefix)));
    assert_eq!(
        EndpointData::decode(&payload(&[]), EndpointRole::Writer),
        Err(DiscoveryError::Missing(pid::TOPIC_NAME))
    );
    assert_eq!(EndpointData::decode_key(&payload(&[])), Err(DiscoveryError::Missing(pid::ENDPOINT_GUID)));
    assert_eq!(ParticipantData::decode(&[0, 3]), Err(DiscoveryError::TooShort));
}

#[test]
fn a_participant_may_be_disposed_under_the_endpoint_parameter() {
    let own = Guid::new(PREFIX, EntityId::PARTICIPANT).to_bytes();
    let key = ParticipantData::decode_key(&payload(&[(pid::ENDPOINT_GUID, &own)]));
    assert_eq!(key, Ok(PREFIX));
    let endpoint = ParticipantData::decode_key(&payload(&[(pid::ENDPOINT_GUID, &writer_guid())]));
    assert_eq!(endpoint, Err(DiscoveryError::Missing(pid::PARTICIPANT_GUID)));
}

#[test]
fn the_full_records_use_every_field() {
    for role in ROLES {
        let data = full_endpoint(role);
        assert_eq!(EndpointData::decode(&bytes(|out| data.encode(out)), role), Ok(data));
    }
    let data = full_participant();
    assert_eq!(ParticipantData::decode(&bytes(|out| data.encode(out))), Ok(data));
}

#[test]
fn errors_name_parameter_and_reason() {
    let text = writer(&[(pid::DURABILITY, &[9, 0, 0, 0])]).unwrap_err().to_string();
    assert_eq!(text, "parameter 0x001d: has an invalid value");
}
