//! A census for people.
use super::Census;
use crate::describe::{counted, policies};

/// Its lines.
pub(super) fn lines(census: &Census) -> Vec<String> {
    let mut lines = vec![format!(
        "domain {}: {}, {}, {} (heard in {})",
        census.domain,
        counted(census.participants.len(), "participant"),
        counted(census.topics.len(), "topic"),
        counted(census.topics.values().map(Vec::len).sum(), "endpoint"),
        census.time
    )];
    if census.participants.is_empty() {
        lines.push("no other participant is there; `punctual why` says what may be in the way".to_owned());
    }
    lines.extend(census.people.iter().map(|person| format!("participant {person}")));
    for (topic, endpoints) in &census.topics {
        let mut types: Vec<&str> = endpoints.iter().map(|data| data.type_name.as_str()).collect();
        types.sort_unstable();
        types.dedup();
        let types: Vec<String> = types.iter().map(|name| format!("{name:?}")).collect();
        lines.push(format!("topic {topic:?}, type {}", types.join(" and ")));
        for data in endpoints {
            let words: Vec<String> = policies(&data.qos)
                .iter()
                .map(|(name, value)| match *name {
                    // These say themselves what they are.
                    "RELIABILITY" | "DURABILITY" | "HISTORY" => value.clone(),
                    name => format!("{name} {value}"),
                })
                .collect();
            let of = if types.len() > 1 { format!(" type {:?}", data.type_name) } else { String::new() };
            lines.push(format!(
                "  {} [{}]{of}: {}",
                census.people.endpoint(data),
                data.guid.entity_id,
                words.join(", ")
            ));
        }
    }
    lines
}
