//! What rules ask of a topic.
use crate::topics::{Path, Topic, Written};

/// Some topic, to see whether a rule asks for what there is.
pub(crate) const ANY: Topic = Topic {
    name: String::new(),
    written: Written::OnEvent,
    size: 1,
    separation: 1,
    burst: 1,
    latency: None,
    every_sample: false,
    confirmed: false,
    late_joiners: false,
    stand_by: false,
    silence: None,
    valid_for: None,
    slowest_reader: None,
    path: Path::Lan,
    round_trip: None,
    from: Vec::new(),
    to: Vec::new(),
};

const SECOND: u64 = 1_000_000_000;
/// Bytes of a sample that fit into a frame of Ethernet with what RTPS, UDP and IP add.
const OF_A_FRAME: u32 = 1_372;
/// A sample of so many bytes is smaller than the headers around it, at more than so many a second.
const SMALL: u32 = 64;
const FAST: u64 = 20_000_000;

/// Whether a fact that is a word or yes and no is so.
pub(crate) fn is_so(topic: &Topic, fact: &str, wanted: &str) -> Option<bool> {
    let yes = |is: bool| Some(is == (wanted == "true"));
    match fact {
        "written" => Some(wanted == written(topic.written)),
        "path" => Some(wanted == path(topic.path)),
        "every-sample" => yes(topic.every_sample),
        "confirmed" => yes(topic.confirmed),
        "late-joiners" => yes(topic.late_joiners),
        "stand-by" => yes(topic.stand_by),
        "given" => Some(time(topic, wanted)?.is_some()),
        "is" => follows(topic, wanted),
        _ => None,
    }
}

/// A time that may have been given, in nanoseconds.
pub(crate) fn time(topic: &Topic, name: &str) -> Option<Option<u64>> {
    Some(match name {
        "latency" => topic.latency,
        "silence" => topic.silence,
        "valid-for" => topic.valid_for,
        "slowest-reader" => topic.slowest_reader,
        "three-separations" => Some(topic.separation.saturating_mul(3)),
        _ => return None,
    })
}

/// Properties that follow from numbers.
fn follows(topic: &Topic, wanted: &str) -> Option<bool> {
    let below = |one: Option<u64>, other: Option<u64>| one.zip(other).is_some_and(|(one, other)| one < other);
    Some(match wanted {
        "slow" => topic.separation > SECOND,
        "larger-than-a-frame" => topic.size > OF_A_FRAME,
        "small-and-fast" => topic.size <= SMALL && topic.separation <= FAST,
        "no-time-to-repeat" => below(topic.latency, topic.round_trip.map(|trip| trip.saturating_mul(2))),
        "valid-less-than-latency" => below(topic.valid_for, topic.latency),
        "filter-above-deadline" => below(Some(topic.separation.saturating_mul(3)), topic.slowest_reader),
        "silence-below-separation" => below(topic.silence, Some(topic.separation)),
        "latency-above-separation" => below(Some(topic.separation), topic.latency),
        _ => return None,
    })
}

const fn written(written: Written) -> &'static str {
    match written {
        Written::Continuously => "continuously",
        Written::OnChange => "on-change",
        Written::OnEvent => "on-event",
    }
}

const fn path(path: Path) -> &'static str {
    match path {
        Path::Lan => "lan",
        Path::Wan => "wan",
        Path::Lossy => "lossy",
    }
}
