//! Samples that came to a reader here, and did not reach the application.
use dcps::reader::DropReason;

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
    if received.writers > 0 && received.samples == 0 && received.dropped.is_empty() {
        findings.push(Finding::note(
            About::Samples,
            format!(
                "topic {topic:?}: a reader here is matched with {}, and nothing was written in this time",
                counted(received.writers as usize, "writer")
            ),
            "Watch longer with --time, or see whether the writer writes at all.",
        ));
    }
    findings
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
        DropReason::Malformed => (
            true,
            "The octets are not of the type that is read here: compare the IDL of both, @final and @appendable too.",
        ),
        DropReason::UnknownInstance => {
            (false, "An instance was disposed that no sample came of: nothing to do.")
        }
        DropReason::KeyCollision => (true, "Two keys have one MD5: use a key of at most 16 octets."),
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
