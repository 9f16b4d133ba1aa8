//! Topics that only one side has.
use rtps::discovery::compare;

use super::pairs::MAX_PAIRS;
use super::scene::Topic;
use super::{About, Finding, Scene, names};
use crate::describe::counted;

pub(super) fn findings(scene: &Scene) -> Vec<Finding> {
    let topics = scene.topics();
    let lonely = |topic: &Topic<'_>| topic.writers.is_empty() != topic.readers.is_empty();
    let mut findings = Vec::new();
    // A topic that is only written, and one that is only read.
    for (one, topic) in topics.iter().filter(|(_, topic)| lonely(topic) && topic.readers.is_empty()) {
        for (other, counterpart) in
            topics.iter().filter(|(_, topic)| lonely(topic) && topic.writers.is_empty())
        {
            let Some(how) = names::difference(one, other) else { continue };
            if !scene.is_asked(one) && !scene.is_asked(other) {
                continue;
            }
            let first = |data: &[&wire::discovery::EndpointData]| {
                data.first().map(|data| scene.people.endpoint(data)).unwrap_or_default()
            };
            findings.push(Finding::problem(About::Topics,
                format!(
                    "topic {one:?} of the {} is only written, topic {other:?} of the {} is only read: the names differ {how}",
                    first(&topic.writers),
                    first(&counterpart.readers),
                ),
                "Use one name for both; names are compared byte by byte.",
            ));
        }
    }
    if let Some(asked) = &scene.topic
        && findings.is_empty()
    {
        findings.extend(asked_for(scene, asked, topics.get(asked.as_str())));
    }
    findings
}

/// What is missing of a topic that was asked for.
fn asked_for(scene: &Scene, asked: &str, topic: Option<&Topic<'_>>) -> Option<Finding> {
    let elsewhere = format!(
        "Start one in domain {}; if it runs, it may have another domain, tag, interface or multicast group. Some announce themselves every 30 s only: --duration 35s.",
        scene.domain
    );
    match topic {
        None => {
            let mut near = scene.endpoints.iter().map(|data| data.topic_name.as_str());
            let near = near.find(|name| names::difference(asked, name).is_some());
            let what = format!(
                "topic {asked:?}: no endpoint writes or reads it in domain {} (heard for {})",
                scene.domain, scene.time
            );
            Some(match near {
                Some(near) => Finding::problem(
                    About::Topics,
                    what,
                    format!("There is a topic {near:?}: is that the one?"),
                ),
                None => Finding::problem(About::Topics, what, elsewhere),
            })
        }
        Some(topic) if topic.writers.is_empty() => Some(Finding::problem(
            About::Topics,
            format!("topic {asked:?}: {} and no writer", counted(topic.readers.len(), "reader")),
            elsewhere,
        )),
        Some(topic) if topic.readers.is_empty() => Some(Finding::problem(
            About::Topics,
            format!("topic {asked:?}: {} and no reader", counted(topic.writers.len(), "writer")),
            elsewhere,
        )),
        Some(_) => None,
    }
}

/// What a topic has.
pub(super) struct Counts {
    pub(super) writers: usize,
    pub(super) readers: usize,
    /// Pairs of a writer and a reader that were compared, and those that match.
    pub(super) pairs: usize,
    pub(super) matched: usize,
}

/// The topics that are asked about, with what they have.
pub(super) fn counts(scene: &Scene) -> Vec<(&str, Counts)> {
    let asked = scene.topics().into_iter().filter(|(name, _)| scene.is_asked(name));
    asked
        .map(|(name, topic)| {
            let pairs = topic
                .writers
                .iter()
                .flat_map(|writer| topic.readers.iter().map(move |reader| (writer, reader)));
            let matched =
                pairs.take(MAX_PAIRS).filter(|(writer, reader)| compare(writer, reader).is_ok()).count();
            let (writers, readers) = (topic.writers.len(), topic.readers.len());
            let pairs = writers.saturating_mul(readers).min(MAX_PAIRS);
            (name, Counts { writers, readers, pairs, matched })
        })
        .collect()
}

pub(super) fn summary(scene: &Scene) -> Vec<String> {
    let told = |(name, counts): (&str, Counts)| {
        let Counts { writers, readers, pairs, matched } = counts;
        let (writers, readers) = (counted(writers, "writer"), counted(readers, "reader"));
        format!("topic {name:?}: {writers}, {readers}, {matched} of {pairs} pairs match")
    };
    counts(scene).into_iter().map(told).collect()
}
