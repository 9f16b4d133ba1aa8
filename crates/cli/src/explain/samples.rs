//! Samples that came to a reader here, and did not reach the application.
use std::collections::BTreeMap;

use dcps::reader::DropReason;
use dds::Guid;

use super::{About, Finding, Scene};
use crate::describe::counted;

pub(super) fn findings(scene: &Scene) -> Vec<Finding> {
    let (Some(received), Some(topic)) = (&scene.received, &scene.topic) else { return Vec::new() };
    let mut findings = Vec::new();
    for (reason, count) in &received.dropped {
        let (problem, todo) = advice(*reason);
        let samples = counted(usize::try_from(*count).unwrap_or(usize::MAX), "sample");
        let what = format!("topic {topic:?}: {samples} did not get through to a reader here: {reason}");
        findings.push(if problem {
            Finding::problem(About::Samples, what, todo)
        } else {
            Finding::note(About::Samples, what, todo)
        });
    }
    if let Some((count, why)) = &received.unreadable {
        let samples = counted(usize::try_from(*count).unwrap_or(usize::MAX), "sample");
        let what = format!("topic {topic:?}: {samples} cannot be read as the type that was described: {why}");
        findings.push(Finding::problem(About::Samples, what, UNREADABLE));
    }
    findings.extend(forms(scene, topic, &received.encapsulations));
    if received.writers > 0 && received.samples == 0 && received.dropped.is_empty() {
        findings.push(Finding::note(
            About::Samples,
            format!(
                "topic {topic:?}: a reader here is matched with {}, and nothing was written in this time",
                counted(received.writers as usize, "writer")
            ),
            "Watch longer with --duration, or see whether the writer writes at all.",
        ));
    }
    findings
}

/// What to do where the bytes of a sample cannot be read.
pub(crate) const UNREADABLE: &str = "The bytes are not of the type that is read: compare the members of both types, and how far they may change. \
    The derive macro and IDL without annotation make types appendable, some others (Cyclone DDS, older Fast DDS) make them final: give both \
    the same, #[dds(final)] in Rust, @final in IDL.";

/// Writers of one vendor whose samples readers of another can read only if their types may change equally far. No participant announces that, and
/// what such a reader drops is seen by that reader alone.
fn forms(scene: &Scene, topic: &str, encapsulations: &BTreeMap<Guid, u16>) -> Vec<Finding> {
    let makers: BTreeMap<_, _> = scene.people.iter().map(|person| (person.prefix, person.vendor)).collect();
    let topics = scene.topics();
    let readers = topics.get(topic).map(|topic| topic.readers.as_slice()).unwrap_or_default();
    let mut told: BTreeMap<(&str, &str, &str), String> = BTreeMap::new();
    for (writer, identifier) in encapsulations {
        // The lowest bit is the byte order.
        let form = match identifier & 0xfffe {
            0x0002 => ("PL_CDR", "mutable", "final or appendable"),
            0x0006 => ("PLAIN_CDR2", "final", "appendable or mutable"),
            0x0008 => ("DELIMITED_CDR2", "appendable", "final or mutable"),
            0x000a => ("PL_CDR2", "mutable", "final or appendable"),
            _ => continue,
        };
        let Some(data) = scene.endpoints.iter().find(|data| data.guid == *writer) else { continue };
        let maker = makers.get(&data.participant);
        let Some(reader) = readers.iter().find(|reader| makers.get(&reader.participant) != maker) else {
            continue;
        };
        let pair = || format!("{} and {}", scene.people.endpoint(data), scene.people.endpoint(reader));
        told.entry(form).or_insert_with(pair);
    }
    let finding = |((name, is, others), pair): ((&str, &str, &str), String)| {
        Finding::note(
            About::Samples,
            format!(
                "topic {topic:?}: {pair}: samples come as {name}, those of {is} types: a reader whose type is {others} drops each of them, which cannot be seen from here"
            ),
            format!(
                "If the reader gets nothing, make its type {is} too: #[dds({is})] in Rust, @{is} in IDL."
            ),
        )
    };
    told.into_iter().map(finding).collect()
}

/// Whether it is a problem, and what to do.
const fn advice(reason: DropReason) -> (bool, &'static str) {
    match reason {
        DropReason::Lost => (
            true,
            "Make writer and reader RELIABLE, or keep more at the writer (HISTORY, RESOURCE_LIMITS); larger buffers (net.core.rmem_max) help BEST_EFFORT.",
        ),
        DropReason::Instances => {
            (true, "Raise RESOURCE_LIMITS max_instances of the reader, or take and dispose instances.")
        }
        DropReason::Samples => {
            (true, "Raise RESOURCE_LIMITS max_samples of the reader, or take samples more often.")
        }
        DropReason::SamplesPerInstance => (
            true,
            "Raise RESOURCE_LIMITS max_samples_per_instance of the reader, or take samples more often.",
        ),
        DropReason::Replaced => (false, "Raise HISTORY depth of the reader, or take samples more often."),
        DropReason::Filtered => {
            (false, "The reader asked for that: lower TIME_BASED_FILTER minimum_separation to get more.")
        }
        DropReason::ContentFilter => (false, "The reader asked for that: change its filter to get more."),
        DropReason::Ownership => (
            false,
            "The strongest writer owns an instance: raise the other's OWNERSHIP_STRENGTH, or use SHARED.",
        ),
        DropReason::OutOfOrder => {
            (false, "Clocks of the writers differ: synchronise them, or use BY_RECEPTION_TIMESTAMP.")
        }
        DropReason::Expired => (
            true,
            "Raise LIFESPAN of the writer, or synchronise the clocks of the two hosts: the age is counted by both.",
        ),
        DropReason::Purged => {
            (false, "Raise the delays of READER_DATA_LIFECYCLE, or take samples more often.")
        }
        DropReason::Malformed => (true, UNREADABLE),
        DropReason::UnknownInstance => {
            (false, "An instance was disposed that no sample came of: nothing to do.")
        }
        DropReason::KeyCollision => (true, "Two keys have one MD5: use a key of at most 16 bytes."),
        DropReason::NotMatched => {
            (false, "A writer sends to a reader that it is not matched with: it has yet to hear of a change.")
        }
        DropReason::Unauthorized => (
            true,
            "A participant writes what only another one may say: look for it by punctual ls, and stop it.",
        ),
        _ => (false, "See the documentation of readers."),
    }
}
