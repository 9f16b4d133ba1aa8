//! What is told of predictions: for people, and as JSON.
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::calibration::{Calibration, Intervals};
use crate::description::{Arrivals, Cost, Path, Reliability, Stages, Topic};
use crate::distribution::nanoseconds;
use crate::prediction::{FINE, Overload, Prediction, predict};

/// Names of [`crate::PERCENTILES`].
const NAMES: [&str; 4] = ["p50", "p90", "p99", "p99.9"];

/// A topic with what is predicted for it.
pub type Predicted<'p> = (&'p Topic, Result<Prediction, Overload>);

/// A text for people.
pub fn text(predicted: &[Predicted<'_>], calibration: Option<&Calibration>) -> String {
    let mut out = String::new();
    match calibration {
        Some(calibration) => {
            let _ = writeln!(
                out,
                "calibrated by {} records; medians of records that were left out are missed by",
                calibration.records
            );
            for score in &calibration.scores {
                let _ = writeln!(
                    out,
                    "  {:.2} times by {} (the middle one by {:.2})",
                    score.mean, score.name, score.middle
                );
            }
        }
        None => out.push_str("not calibrated: by the stages of the file, and without intervals\n"),
    }
    for (topic, prediction) in predicted {
        let _ = writeln!(out, "{}", topic.name);
        let prediction = match prediction {
            Ok(prediction) => prediction,
            Err(overload) => {
                let _ = writeln!(out, "  no prediction: {overload}");
                continue;
            }
        };
        for (index, (name, value)) in NAMES.iter().zip(prediction.percentiles).enumerate() {
            let interval = calibration.and_then(|it| it.intervals.around(index, value));
            let _ = match interval {
                Some((low, high)) => {
                    writeln!(
                        out,
                        "  {name:<6} {:>10}  90 % interval {} to {}",
                        micros(value),
                        micros(low),
                        micros(high)
                    )
                }
                None => writeln!(out, "  {name:<6} {:>10}", micros(value)),
            };
        }
        let sum: f64 = prediction.stages.iter().map(|stage| stage.mean).sum();
        // What does not matter is left out.
        for stage in prediction.stages.iter().filter(|stage| stage.mean * 1_000.0 >= sum) {
            let _ = writeln!(
                out,
                "    {:>10} {:>3.0} %  {}",
                micros(stage.mean),
                stage.mean / sum * 100.0,
                stage.name
            );
        }
        if prediction.lost > 0.0 {
            let _ = writeln!(out, "  {:.2} % of the samples never arrive", prediction.lost * 100.0);
        }
        let (busiest, load) = &prediction.busiest;
        let _ = writeln!(out, "  busiest: {busiest}, {:.0} %", load * 100.0);
    }
    out.push_str("a prediction is no bound: punctual plan gives bounds\n");
    out
}

/// Nanoseconds as microseconds, with three digits at least.
fn micros(nanoseconds: f64) -> String {
    let micros = nanoseconds / 1_000.0;
    if micros < 10.0 { format!("{micros:.2} us") } else { format!("{micros:.1} us") }
}

/// The same for programs, in nanoseconds.
pub fn json(predicted: &[Predicted<'_>], calibration: Option<&Calibration>) -> Value {
    let topics: Vec<Value> = predicted
        .iter()
        .map(|(topic, prediction)| match prediction {
            Err(overload) => json!({ "topic": topic.name, "no_prediction": overload.to_string() }),
            Ok(prediction) => {
                let mut percentiles = Map::new();
                for (index, (name, value)) in NAMES.iter().zip(prediction.percentiles).enumerate() {
                    let interval = calibration.and_then(|it| it.intervals.around(index, value));
                    let interval = interval.map(|(low, high)| json!([low, high]));
                    percentiles
                        .insert((*name).to_string(), json!({ "ns": value, "interval_90_ns": interval }));
                }
                let stages: Vec<Value> = prediction
                    .stages
                    .iter()
                    .map(|stage| json!({ "stage": stage.name, "mean_ns": stage.mean }))
                    .collect();
                json!({
                    "topic": topic.name,
                    "percentiles": percentiles,
                    "stages": stages,
                    "lost": prediction.lost,
                    "busiest": { "server": prediction.busiest.0, "load": prediction.busiest.1 },
                })
            }
        })
        .collect();
    let calibration = calibration.map(|calibration| {
        let scores: Vec<Value> = calibration
            .scores
            .iter()
            .map(|score| json!({ "name": score.name, "mean_factor": score.mean, "middle_factor": score.middle }))
            .collect();
        json!({ "records": calibration.records, "scores": scores })
    });
    json!({ "is_bound": false, "calibration": calibration, "topics": topics })
}

/// The QoS that a prediction supports, as policies of `punctual advise` with times in nanoseconds; and why others are left out.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Supported {
    /// LATENCY_BUDGET: the upper end of the interval of p99.
    pub latency_budget: Option<u64>,
    /// DEADLINE: the time between two samples of a periodic topic, and the upper end of the interval of p99.9; where that is not known, p99.9 with the factor
    /// of p99.
    pub deadline: Option<u64>,
    /// What is left out.
    pub left_out: Vec<String>,
}

/// What a host takes of a latency, in nanoseconds: the upper end of the interval of p99 of what a topic takes before it is on the wire, or of
/// what it takes after that, whichever is more, and of all topics the most. None if too few records have p99, or a host has too much to do.
///
/// A host that was idle counts on both sides, since it is not known which of them it was.
pub fn host_share(path: &Path, stages: &Stages, intervals: &Intervals) -> Option<u64> {
    let alone = Path { hops: Vec::new(), ..path.clone() };
    let nothing = Cost::default();
    let writer = Stages { receive: nothing, deserialise: nothing, deliver: nothing, ..*stages };
    let reader = Stages { serialise: nothing, write: nothing, store: nothing, send: nothing, ..*stages };
    let mut most = 0;
    for side in [writer, reader] {
        for number in 0..path.topics.len() {
            let p99 = predict(&alone, &side, number, FINE).ok()?.percentiles.get(2).copied()?;
            let (_, high) = intervals.around(2, p99)?;
            most = most.max(whole_microseconds(high));
        }
    }
    Some(most)
}

/// What a prediction says of QoS. Without intervals it says nothing.
pub fn supported(topic: &Topic, prediction: &Prediction, intervals: &Intervals) -> Supported {
    let mut supported = Supported::default();
    let upper = |index: usize, like: usize| {
        let value = prediction.percentiles.get(index).copied()?;
        intervals.around(like, value).map(|(_, high)| whole_microseconds(high))
    };
    supported.latency_budget = upper(2, 2);
    if supported.latency_budget.is_none() {
        supported.left_out.push(format!("{}: no LATENCY_BUDGET, since too few records have p99", topic.name));
    }
    let why_not = if topic.arrivals == Arrivals::Random {
        Some("samples come at random times")
    } else if topic.reliability == Reliability::BestEffort && prediction.lost > 0.0 {
        Some("lost samples are not repeated")
    } else if upper(2, 2).is_none() {
        Some("too few records have p99")
    } else {
        None
    };
    match (why_not, upper(3, 3).or_else(|| upper(3, 2))) {
        (None, Some(latest)) => {
            let period = nanoseconds(topic.separation.saturating_mul(u64::from(topic.burst)));
            supported.deadline = Some(whole_microseconds(period).saturating_add(latest));
        }
        (why, _) => {
            let why = why.unwrap_or("too few records have p99");
            supported.left_out.push(format!("{}: no DEADLINE, since {why}", topic.name));
        }
    }
    supported
}

/// Nanoseconds, rounded up to whole microseconds.
fn whole_microseconds(nanoseconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let whole = (nanoseconds / 1_000.0) as u64;
    whole.saturating_add(1).saturating_mul(1_000)
}
