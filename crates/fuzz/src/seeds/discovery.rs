//! Announcements with everything in them that an announcement can have.
use wire::discovery::{
    BuiltinEndpointSet, ContentFilterProperty, EndpointData, EndpointRole, EndpointsSummary, ParticipantData,
    ParticipantMessage,
};
use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, EndpointQos, History, LivelinessKind,
    Ownership,
};
use wire::{Duration, EntityId, Guid, Locator, ProtocolVersion, SequenceNumber, VendorId};

use super::{PREFIX, READER, WRITER};

/// Every payload of this module, and the keys alone.
pub(super) fn all() -> Vec<Vec<u8>> {
    let (mut participant_key, mut writer_key) = (Vec::new(), Vec::new());
    ParticipantData::new(PREFIX).encode_key(&mut participant_key);
    endpoint(WRITER, EndpointQos::writer()).encode_key(&mut writer_key);
    let plain = encoded(|out| endpoint(READER, EndpointQos::reader()).encode(out));
    vec![participant(), writer(), reader(), plain, participant_message(), participant_key, writer_key]
}

/// A participant.
pub(super) fn participant() -> Vec<u8> {
    let mut data = ParticipantData::new(PREFIX);
    data.version = ProtocolVersion::OURS;
    data.vendor = VendorId::PUNCTUAL;
    data.builtin_endpoints = BuiltinEndpointSet(0xc3f);
    data.metatraffic_unicast = vec![locator(7410), locator(7411)];
    data.metatraffic_multicast = vec![locator(7400)];
    data.default_unicast = vec![locator(7412)];
    data.default_multicast = vec![locator(7401)];
    data.lease_duration = Duration::from_secs(10);
    data.manual_liveliness_count = 3;
    data.domain_id = Some(7);
    data.domain_tag = "tag".to_owned();
    data.entity_name = Some("name".to_owned());
    data.user_data = vec![1, 2, 3, 4, 5];
    data.expects_inline_qos = true;
    let summary = EndpointsSummary { last: SequenceNumber(2), digest: [9; 16] };
    data.endpoints = Some([summary; 2]);
    encoded(|out| data.encode(out))
}

/// A writer.
pub(super) fn writer() -> Vec<u8> {
    let mut qos = EndpointRole::Writer.default_qos();
    qos.durability = Durability::TransientLocal;
    qos.durability_service.history = History::KeepAll;
    qos.deadline = Duration::from_millis(20);
    qos.latency_budget = Duration::from_micros(500);
    qos.liveliness.kind = LivelinessKind::ManualByTopic;
    qos.lifespan = Duration::from_secs(1);
    qos.ownership = Ownership::Exclusive;
    qos.ownership_strength = -3;
    qos.destination_order = DestinationOrder::BySourceTimestamp;
    qos.presentation.access_scope = AccessScope::Topic;
    qos.presentation.coherent_access = true;
    qos.partition = vec!["a".to_owned(), "b*".to_owned(), String::new()];
    qos.transport_priority = 46;
    qos.history = History::KeepLast(8);
    qos.resource_limits.max_samples = Some(100);
    qos.user_data = vec![1; 7];
    qos.topic_data = vec![2; 8];
    qos.group_data = vec![3];
    qos.representation = vec![DataRepresentation(2)];
    let mut data = endpoint(WRITER, qos);
    data.unicast = vec![locator(7413)];
    data.max_serialized_size = Some(64);
    data.type_information = Some(vec![0; 40]);
    data.entity_name = Some("writer".to_owned());
    data.group = Some(EntityId([0, 0, 1, 8]));
    encoded(|out| data.encode(out))
}

/// A reader.
pub(super) fn reader() -> Vec<u8> {
    let mut qos = EndpointRole::Reader.default_qos();
    qos.time_based_filter = Duration::from_millis(5);
    qos.representation = vec![DataRepresentation(0), DataRepresentation(2)];
    qos.type_consistency.ignore_string_bounds = !qos.type_consistency.ignore_string_bounds;
    let mut data = endpoint(READER, qos);
    data.multicast = vec![locator(7401)];
    data.expects_inline_qos = true;
    data.receive_buffer = Some(1 << 20);
    data.content_filter = Some(Box::new(ContentFilterProperty {
        filtered_topic: "Near".to_owned(),
        related_topic: "Square".to_owned(),
        class: ContentFilterProperty::DDSSQL.to_owned(),
        expression: "x BETWEEN %0 AND 9".to_owned(),
        parameters: vec!["1".to_owned(), String::new()],
    }));
    encoded(|out| data.encode(out))
}

/// A sign of life.
pub(super) fn participant_message() -> Vec<u8> {
    let message =
        ParticipantMessage { prefix: PREFIX, kind: ParticipantMessage::MANUAL, data: vec![1, 2, 3] };
    encoded(|out| message.encode(out))
}

fn endpoint(id: EntityId, qos: EndpointQos) -> EndpointData {
    EndpointData::new(Guid::new(PREFIX, id), "Square".to_owned(), "ShapeType".to_owned(), qos)
}

fn locator(port: u32) -> Locator {
    Locator { kind: 1, port, address: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127, 0, 0, 1] }
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_valid() {
        assert!(ParticipantData::decode(&participant()).is_ok());
        assert!(EndpointData::decode(&writer(), EndpointRole::Writer).is_ok());
        assert!(EndpointData::decode(&reader(), EndpointRole::Reader).is_ok());
        assert!(ParticipantMessage::decode(&participant_message()).is_ok());
    }
}
