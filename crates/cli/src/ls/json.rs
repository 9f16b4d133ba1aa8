//! A census for programs.
use serde_json::{Map, Value, json};
use wire::discovery::{EndpointData, ParticipantData};

use super::Census;
use crate::describe::{policies, vendor};

/// One object: domain, participants, topics with their endpoints.
pub(super) fn json(census: &Census) -> Value {
    let topics = census.topics.iter().map(|(name, endpoints)| {
        json!({ "name": name, "endpoints": endpoints.iter().map(|data| endpoint(data)).collect::<Vec<_>>() })
    });
    json!({
        "domain": census.domain,
        "heard_ns": census.time.as_nanos(),
        "participants": census.participants.iter().map(|data| participant(data)).collect::<Vec<_>>(),
        "topics": topics.collect::<Vec<_>>(),
    })
}

fn participant(data: &ParticipantData) -> Value {
    let lists = [
        &data.metatraffic_unicast,
        &data.default_unicast,
        &data.metatraffic_multicast,
        &data.default_multicast,
    ];
    let locators = lists.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
    let [metatraffic_unicast, default_unicast, metatraffic_multicast, default_multicast] = locators;
    json!({
        "guid_prefix": data.prefix.to_string(),
        "name": data.entity_name,
        "vendor": vendor(data.vendor),
        "protocol_version": format!("{}.{}", data.version.major, data.version.minor),
        "lease_duration_ns": data.lease_duration.as_nanos(),
        "domain_tag": data.domain_tag,
        "metatraffic_unicast": metatraffic_unicast,
        "default_unicast": default_unicast,
        "metatraffic_multicast": metatraffic_multicast,
        "default_multicast": default_multicast,
    })
}

fn endpoint(data: &EndpointData) -> Value {
    let qos: Map<String, Value> =
        policies(&data.qos).into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    json!({
        "guid": data.guid.to_string(),
        "kind": if data.guid.entity_id.is_writer() { "writer" } else { "reader" },
        "type": data.type_name,
        "qos": qos,
        "max_serialized_size": data.max_serialized_size,
    })
}
