//! The file of measurements: a line of JSON for each, as `punctual perf sub --json` prints them.
use alloc::format;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};
use serde::Deserialize;

use crate::calibration::MOST_RECORDS;
use crate::description::{Hop, Record, Reliability};
use crate::prediction::{MOST_LOSS, loss};
use crate::tables::{HopTable, TopicTable};

/// The most bytes of a file.
const LONGEST: usize = 4 << 20;
/// The most hops of a record.
const MOST_HOPS: usize = 16;
/// The most records of lost samples that are repeated: to predict one of them takes as much work as many others.
const MOST_LOSSY: usize = 60;
const REMEDY: &str = "docs/predict.md says what a record is";

/// A line. What else `perf` prints is passed over.
#[derive(Deserialize)]
struct Line {
    kind: Option<alloc::string::String>,
    samples_per_s: Option<f64>,
    megabytes_per_s: Option<f64>,
    latency_us: Option<Latencies>,
    #[serde(default)]
    hops: Vec<HopTable>,
    #[serde(default)]
    topic: TopicTable,
}

#[derive(Deserialize)]
struct Latencies {
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    #[serde(rename = "p99.9")]
    p999: Option<f64>,
    count: Option<u64>,
}

/// Fewer samples than these say nothing of p50, p90, p99, p99.9.
const SAMPLES: [u64; 4] = [20, 100, 1_000, 10_000];

/// Reads the records of a file. Lines of single seconds are passed over.
///
/// # Errors
/// The first thing that is wrong, and where.
pub fn read_records(file: &str, text: &str) -> Result<Vec<Record>, Problem> {
    let source = Source { file, text };
    if text.len() > LONGEST {
        return Err(source.problem(0, format!("more than {LONGEST} bytes"), "keep the sums only"));
    }
    let (mut records, mut lossy) = (Vec::new(), 0);
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let (begin, line) = (at, whole.trim());
        at += whole.len();
        if line.is_empty() {
            continue;
        }
        let read: Line = serde_json::from_str(line).map_err(|error| {
            let column = error.column().saturating_sub(1);
            let what = format!("{error}");
            source.problem(begin + column.min(whole.len().saturating_sub(1)), what, REMEDY)
        })?;
        if read.kind.as_deref().is_some_and(|kind| kind != "sum") {
            continue;
        }
        if records.len() == MOST_RECORDS {
            let what = format!("more than {MOST_RECORDS} records");
            return Err(source.problem(begin, what, "choose some of each size, rate and number of readers"));
        }
        let record = record(&read).map_err(|what| source.problem(begin, what, REMEDY))?;
        if record.topic.reliability == Reliability::Reliable && loss(&record.hops, record.topic.size) > 0.0 {
            lossy += 1;
            if lossy > MOST_LOSSY {
                let what = format!("more than {MOST_LOSSY} reliable records of paths that lose samples");
                return Err(source.problem(begin, what, "choose some of each size, rate and loss"));
            }
        }
        records.push(record);
    }
    Ok(records)
}

fn record(line: &Line) -> Result<Record, &'static str> {
    let positive = |number: Option<f64>| number.filter(|number| number.is_finite() && *number > 0.0);
    let rate = positive(line.samples_per_s);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limits are checked")]
    let size = match (&line.topic.size, rate, positive(line.megabytes_per_s)) {
        (Some(size), ..) => size.0,
        (None, Some(rate), Some(megabytes)) if (0.5..16e6).contains(&(megabytes * 1e6 / rate)) => {
            (megabytes * 1e6 / rate + 0.5) as u32
        }
        _ => return Err("the record has no size: neither topic.size, nor megabytes_per_s and samples_per_s"),
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limits are checked")]
    let separation = match (&line.topic.separation, rate) {
        (Some(separation), _) if separation.0 > 0 => separation.0,
        (None, Some(rate)) if (3e-4..1e9).contains(&rate) => (1e12 / rate) as u64,
        _ => return Err("the record has no rate: neither topic.separation nor samples_per_s"),
    };
    if line.hops.len() > MOST_HOPS {
        return Err("the record has more than 16 hops");
    }
    let latencies = line.latency_us.as_ref().ok_or("the record has no latency_us")?;
    let count = latencies.count.unwrap_or(u64::MAX);
    let measured = [latencies.p50, latencies.p90, latencies.p99, latencies.p999];
    let mut percentiles = [None; 4];
    for ((entry, micros), least) in percentiles.iter_mut().zip(measured).zip(SAMPLES) {
        // An hour, which is all that `perf` tells apart.
        *entry = positive(micros)
            .filter(|micros| count >= least && *micros <= 3.6e9)
            .map(|micros| micros * 1_000.0);
    }
    if percentiles.first().is_none_or(Option::is_none) {
        return Err("the record has no median: latency_us.p50 of at least 20 samples");
    }
    let hops: Vec<Hop> = line.hops.iter().map(HopTable::hop).collect();
    if loss(&hops, size) > MOST_LOSS {
        return Err(
            "the hops lose more than 75 % of the samples, which says nothing of stages: leave the record out",
        );
    }
    Ok(Record { hops, topic: line.topic.topic(size, separation), percentiles })
}
