//! An explanation for programs.
use serde_json::{Value, json};

use super::{Finding, Scene, topics, ways};
use crate::describe::{Person, vendor};

/// One object: what was watched, participants, topics and endpoints, and the findings in the order in which they are told. Without a scene, because
/// the domain could not be joined, there are findings alone.
pub fn json(scene: Option<&Scene>, findings: &[Finding]) -> Value {
    let mut object = scene.map_or_else(|| json!({}), seen);
    let findings = findings.iter().map(|finding| {
        json!({
            "problem": finding.problem,
            "about": finding.about.name(),
            "what": finding.what,
            "todo": finding.todo,
        })
    });
    if let Value::Object(members) = &mut object {
        members.insert("findings".to_owned(), findings.collect());
    }
    object
}

fn seen(scene: &Scene) -> Value {
    let topics = topics::counts(scene).into_iter().map(|(name, counts)| {
        json!({
            "name": name,
            "writers": counts.writers,
            "readers": counts.readers,
            "pairs": counts.pairs,
            "pairs_matched": counts.matched,
        })
    });
    let pairs = ways::ways(scene).map(|way| {
        json!({
            "topic": way.writer.topic_name,
            "writer": way.writer.guid.to_string(),
            "reader": way.reader.guid.to_string(),
            "transport": way.transport.name(),
            "addresses": way.addresses.iter().map(ToString::to_string).collect::<Value>(),
            "not_shared_memory": way.obstacle,
        })
    });
    let neighbours = scene.neighbours.iter().map(|neighbour| {
        json!({ "domain": neighbour.domain, "domain_tag": neighbour.tag, "participant": person(&neighbour.person) })
    });
    let strangers = scene
        .strangers
        .iter()
        .map(|(from, who)| json!({ "heard_from": from.to_string(), "participant": person(who) }));
    let received = scene.received.as_ref().map(|received| {
        let dropped = received.dropped.iter();
        let dropped = dropped.map(|(reason, count)| json!({ "reason": reason.to_string(), "count": count }));
        json!({ "writers": received.writers, "samples": received.samples, "ways": received.ways, "dropped": dropped.collect::<Value>(),
            "unreadable": received.unreadable.as_ref().map_or(0, |(count, _)| *count) })
    });
    json!({
        "domain": scene.domain,
        "domain_tag": scene.tag,
        "topic": scene.topic,
        "watched_ns": scene.time.as_nanos(),
        "participants": scene.people.iter().map(person).collect::<Value>(),
        "topics": topics.collect::<Value>(),
        "matched_pairs": pairs.collect::<Value>(),
        "strangers": strangers.collect::<Value>(),
        "neighbours": neighbours.collect::<Value>(),
        "received": received,
        "host": scene.host,
    })
}

fn person(person: &Person) -> Value {
    json!({
        "guid_prefix": person.prefix.to_string(),
        "name": person.name,
        "vendor": vendor(person.vendor),
        "address": person.address.map(|address| address.to_string()),
    })
}
