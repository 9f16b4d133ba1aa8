//! Writers and readers of one topic that do not match, of whatever participants.
use std::collections::BTreeMap;

use rtps::discovery::{Mismatch, compare_typed};
use wire::discovery::EndpointData;

use super::{About, Finding, Scene};
use crate::describe::{
    self, durability, liveliness, order, ownership, presentation, reliability, representation,
};
use crate::explain::{names, types};

/// Most pairs of a topic that are compared: beyond that the same mistakes repeat themselves.
pub(super) const MAX_PAIRS: usize = 100_000;

pub(super) fn findings(scene: &Scene) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, topic) in scene.topics() {
        if !scene.is_asked(name) {
            continue;
        }
        // Pairs with the same mistake are told once.
        let mut found: BTreeMap<(bool, String, String), (String, usize)> = BTreeMap::new();
        let pairs = topic
            .writers
            .iter()
            .flat_map(|writer| topic.readers.iter().map(move |reader| (*writer, *reader)));
        for (writer, reader) in pairs.take(MAX_PAIRS) {
            let verdict = xtypes::compare(&scene.types, writer, reader);
            let mismatches =
                compare_typed(writer, reader, &types::verdict(&verdict)).err().unwrap_or_default();
            let matched = mismatches.is_empty();
            let keys = keys(writer, reader).filter(|_| matched);
            let size = size(writer, reader).filter(|_| matched);
            let types = types::pair(writer, reader, &verdict, scene.topic.is_some()).filter(|_| matched);
            let mismatches = mismatches.iter().map(|mismatch| (true, told(mismatch)));
            let notes = keys.into_iter().chain(size).chain(types).map(|note| (false, note));
            for (problem, (what, todo)) in mismatches.chain(notes) {
                let both =
                    || format!("{} and {}", scene.people.endpoint(writer), scene.people.endpoint(reader));
                found.entry((problem, what, todo)).or_insert_with(|| (both(), 0)).1 += 1;
            }
        }
        for ((problem, what, todo), (both, count)) in found {
            let others = match count {
                1 => String::new(),
                2 => " (and 1 other pair)".to_owned(),
                more => format!(" (and {} other pairs)", more - 1),
            };
            findings.push(if problem {
                let what = format!("topic {name:?}: {both} do not match{others}: {what}");
                Finding::problem(About::Pairs, what, todo)
            } else {
                let what = format!("topic {name:?}: {both} match{others}, and differ: {what}");
                Finding::note(About::Pairs, what, todo)
            });
        }
    }
    findings
}

/// What is wrong, and what to do.
pub(super) fn told(mismatch: &Mismatch) -> (String, String) {
    let kinds = |policy: &str, offered: &str, requested: &str| {
        (
            format!("{policy}: offered {offered}, requested {requested}"),
            format!("Let the writer offer {requested}, or the reader ask for {offered}."),
        )
    };
    match mismatch {
        Mismatch::Topic { writer, reader } => {
            (format!("topic: written as {writer:?}, read as {reader:?}"), "Use one name for both.".to_owned())
        }
        Mismatch::Type { writer, reader } => (
            format!("type: written as {writer:?}, read as {reader:?}"),
            format!("Use one name of the type for both{}.", names::type_hint(writer, reader)),
        ),
        Mismatch::TypeObjects { writer, difference, .. } => (
            format!("type {writer:?}: {difference}"),
            "Let both sides have the same there, with the same name and id, or let the reader ask for less by TYPE_CONSISTENCY_ENFORCEMENT. What may differ is what types with @appendable have at their end, and the members of types with @mutable.".to_owned(),
        ),
        Mismatch::Reliability { offered, requested } => {
            kinds("RELIABILITY", reliability(*offered), reliability(*requested))
        }
        Mismatch::Durability { offered, requested } => {
            kinds("DURABILITY", durability(*offered), durability(*requested))
        }
        Mismatch::Deadline { offered, requested } => {
            let content = if offered.is_infinite() {
                "ask for no DEADLINE".to_owned()
            } else {
                format!("be content with {offered}")
            };
            (
                format!("DEADLINE: offered {offered}, requested {requested}"),
                format!(
                    "Let the writer promise a sample every {} or more often, or the reader {content}.",
                    *requested
                ),
            )
        }
        Mismatch::LatencyBudget { offered, requested } => (
            format!("LATENCY_BUDGET: offered {offered}, requested {requested}"),
            format!(
                "Let the writer's budget be at most {}, or the reader's at least {}.",
                *requested, *offered
            ),
        ),
        Mismatch::LivelinessKind { offered, requested } => {
            kinds("LIVELINESS kind", liveliness(*offered), liveliness(*requested))
        }
        Mismatch::LivelinessLease { offered, requested } => (
            format!("LIVELINESS lease: offered {offered}, requested {requested}"),
            format!(
                "Let the writer's lease be at most {}, or the reader's at least {}.",
                *requested, *offered
            ),
        ),
        Mismatch::Ownership { offered, requested } => {
            let (what, _) = kinds("OWNERSHIP", ownership(*offered), ownership(*requested));
            (what, "Give both the same kind.".to_owned())
        }
        Mismatch::DestinationOrder { offered, requested } => {
            kinds("DESTINATION_ORDER", order(*offered), order(*requested))
        }
        Mismatch::Presentation { offered, requested } => {
            kinds("PRESENTATION", &presentation(*offered), &presentation(*requested))
        }
        Mismatch::DataRepresentation { offered, accepted } => {
            let accepted: Vec<String> = accepted.iter().map(|id| representation(*id)).collect();
            let (offered, accepted) = (representation(*offered), accepted.join(" and "));
            (
                format!("DATA_REPRESENTATION: written as {offered}, read as {accepted}"),
                format!("Let the writer write {accepted}, or the reader accept {offered} as well."),
            )
        }
        Mismatch::Partition { writer, reader } => {
            let patterns = |names: &[String]| names.iter().any(|name| name.contains(['*', '?', '[']));
            let hint = if patterns(writer) && patterns(reader) {
                " Patterns match names, not other patterns."
            } else {
                ""
            };
            (
                format!(
                    "PARTITION: written in {}, read in {}",
                    describe::partition(writer),
                    describe::partition(reader)
                ),
                format!("Give publisher and subscriber a name in common.{hint}"),
            )
        }
    }
}

/// A writer whose samples may be larger than a reader can take: it passes these over, and the writer does not hear of it.
fn size(writer: &EndpointData, reader: &EndpointData) -> Option<(String, String)> {
    let (size, limit) = writer.max_serialized_size.zip(reader.largest_sample)?;
    (size > limit).then(|| {
        let what =
            format!("samples of the writer have up to {size} bytes, and the reader takes {limit} at most");
        (what, "Raise byte_limit of the reader, or write smaller samples.".to_owned())
    })
}

/// A topic with a key is another one than without. The standard's table does not say so, and such pairs match here; a keyless reader
/// gets all samples as those of one instance.
fn keys(writer: &EndpointData, reader: &EndpointData) -> Option<(String, String)> {
    use wire::EntityKind::{ReaderNoKey, ReaderWithKey, WriterNoKey, WriterWithKey};
    let (written, read) = match (writer.guid.entity_id.kind(), reader.guid.entity_id.kind()) {
        (WriterNoKey, ReaderWithKey) => ("without a key", "with a key"),
        (WriterWithKey, ReaderNoKey) => ("with a key", "without a key"),
        _ => return None,
    };
    Some((
        format!("key: written {written}, read {read}; Punctual matches them, others may not"),
        "Mark the same members with @key in both programs' types, or none in either: instances differ otherwise.".to_owned(),
    ))
}
