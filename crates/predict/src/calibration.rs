//! Costs of stages from measurements, and how far predictions are from measurements that had no part in them.
use alloc::vec::Vec;
use core::fmt;

use crate::comparison::{comparisons, middle};
use crate::description::{Cost, Idle, Path, Record, Stages};
use crate::distribution::index_to_f64;
use crate::prediction::{COARSE, FINE, predict_on};

/// The fewest records that are enough, and the most that are taken: work is in proportion.
pub const LEAST_RECORDS: usize = 12;
/// See [`LEAST_RECORDS`].
pub const MOST_RECORDS: usize = 300;

/// Records are divided into so many parts, each of which is left out once.
const PARTS: usize = 5;
/// The part of records that is inside an interval.
const INSIDE: f64 = 0.9;
/// How much an error of each percentile counts.
const WEIGHTS: [f64; 4] = [1.0, 0.3, 0.1, 0.0];
/// What a record counts for that has no prediction.
const NO_PREDICTION: f64 = 20.0;
/// A measured percentile that is so many times what was predicted counts no more than that: it came from something else.
const MOST_RATIO: f64 = 8.0;

/// Costs that are looked for: their number, and which may be exchanged for each other.
const COSTS: usize = 12;
/// The time between samples at which idling costs half, to begin with, in nanoseconds.
const IDLE: f64 = 5e6;
/// How often all costs are changed by one factor.
const SWEEPS: usize = 5;
const OF_A_SAMPLE: [usize; 4] = [1, 4, 6, 10];
const OF_A_BYTE: [usize; 3] = [0, 3, 5];

/// How wide the interval of each percentile is: from the prediction divided by a factor to the prediction multiplied by it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Intervals {
    /// At [`crate::PERCENTILES`]; `None` where too few records have that percentile.
    pub factors: [Option<f64>; 4],
}

impl Intervals {
    /// The interval of a predicted percentile: it has 90 % of the records that were left out.
    pub fn around(&self, index: usize, predicted: f64) -> Option<(f64, f64)> {
        let factor = self.factors.get(index).copied().flatten()?;
        Some((predicted / factor, predicted * factor))
    }
}

/// How good one way of predicting medians is, over records that were left out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// Whose it is.
    pub name: &'static str,
    /// By which factor medians are missed, in the mean: 1 is exact. A factor above 10 counts as 10.
    pub mean: f64,
    /// The same for the middle one of all.
    pub middle: f64,
}

/// What came out of measurements.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration {
    /// What stages cost.
    pub stages: Stages,
    /// How wide intervals are.
    pub intervals: Intervals,
    /// This model first, then what it is compared with.
    pub scores: Vec<Score>,
    /// How many records there were.
    pub records: usize,
    /// How many of them are of stored samples: without any, nothing is known of that stage.
    pub stored: usize,
}

/// Too few records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooFew {
    /// How many there are.
    pub records: usize,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} records are too few to tell stages apart: measure at least {LEAST_RECORDS}, of several sizes and rates",
            self.records
        )
    }
}

impl core::error::Error for TooFew {}

/// Finds what stages cost, and how wide intervals are: each fifth of the records is predicted from the other ones, and the interval has nine tenths
/// of what was measured (the conformal prediction of cross-validation). The records are taken in turn, so their order matters little.
///
/// # Errors
/// There are too few.
pub fn calibrate(records: &[Record]) -> Result<Calibration, TooFew> {
    if records.len() < LEAST_RECORDS {
        return Err(TooFew { records: records.len() });
    }
    let mut ratios: [Vec<f64>; 4] = Default::default();
    let mut errors: Vec<(&'static str, Vec<f64>)> = Vec::new();
    let mut note = |name: &'static str, error: f64| match errors.iter_mut().find(|(known, _)| *known == name)
    {
        Some((_, all)) => all.push(error),
        None => errors.push((name, [error].to_vec())),
    };
    for part in 0..PARTS {
        let is_left_out = |index: usize| index % PARTS == part;
        let known: Vec<&Record> =
            records.iter().enumerate().filter(|(index, _)| !is_left_out(*index)).map(|(_, it)| it).collect();
        let stages = fit(&known);
        let others = comparisons(&known);
        for (_, record) in records.iter().enumerate().filter(|(index, _)| is_left_out(*index)) {
            let predicted = percentiles(record, &stages, FINE);
            for (index, measured) in record.percentiles.iter().enumerate() {
                let (Some(measured), Some(all)) = (measured, ratios.get_mut(index)) else { continue };
                let value = predicted.and_then(|it| it.get(index).copied());
                all.push(value.map_or(f64::INFINITY, |value| ratio(value, *measured)));
            }
            let Some(measured) = record.percentiles.first().copied().flatten() else { continue };
            let own = predicted.and_then(|it| it.first().copied());
            note("this model", own.map_or(f64::INFINITY, |own| ratio(own, measured)));
            for other in &others {
                note(other.name(), ratio(other.median(&record.hops, &record.topic), measured));
            }
        }
    }
    let all: Vec<&Record> = records.iter().collect();
    Ok(Calibration {
        stages: fit(&all),
        intervals: Intervals { factors: ratios.map(factor) },
        scores: errors.into_iter().map(|(name, errors)| score(name, errors)).collect(),
        records: records.len(),
        stored: records.iter().filter(|record| record.topic.durability.is_stored()).count(),
    })
}

/// The least factor that enough of these are not above: with a new one, nine tenths of all.
fn factor(mut ratios: Vec<f64>) -> Option<f64> {
    ratios.sort_unstable_by(f64::total_cmp);
    let wanted = INSIDE * (index_to_f64(ratios.len()) + 1.0);
    let rank = (0..=ratios.len() + 1).find(|rank| index_to_f64(*rank) >= wanted - 1e-9)?;
    ratios.get(rank.checked_sub(1)?).copied().filter(|factor| factor.is_finite())
}

fn score(name: &'static str, errors: Vec<f64>) -> Score {
    let sum: f64 = errors.iter().map(|error| error.min(10.0)).sum();
    Score { name, mean: sum / index_to_f64(errors.len()).max(1.0), middle: middle(errors) }
}

/// What stages cost: as records say, or the file where there are none. Where samples are stored and no record is of such samples, the file says what
/// that costs.
///
/// # Errors
/// Neither says it: what to do.
pub fn known_stages(path: &Path, calibration: Option<&Calibration>) -> Result<Stages, &'static str> {
    let Some(calibration) = calibration else {
        return path
            .stages
            .ok_or("nothing says what stages cost: give --calibrate RECORDS, or write a table [stages]");
    };
    let mut stages = calibration.stages;
    if calibration.stored == 0 && path.topics.iter().any(|topic| topic.durability.is_stored()) {
        let said = path.stages.map(|said| said.store).filter(|store| *store != Cost::default());
        stages.store = said.ok_or(
            "a topic is stored, and no record is of stored samples: add records whose topic has a durability, or say store in [stages]",
        )?;
    }
    Ok(stages)
}

/// By which factor one is above the other, or below.
fn ratio(one: f64, other: f64) -> f64 {
    (one / other).max(other / one)
}

fn percentiles(record: &Record, stages: &Stages, points: usize) -> Option<[f64; 4]> {
    let topics = core::slice::from_ref(&record.topic);
    predict_on(&record.hops, topics, stages, 0, points).ok().map(|it| it.percentiles)
}

/// How wrong these costs are; it ends where they are more so than the best ones.
fn wrongness(records: &[&Record], costs: &[f64; COSTS], best: f64) -> f64 {
    let stages = stages(costs);
    let of = |record: &&Record| {
        let Some(predicted) = percentiles(record, &stages, COARSE) else { return NO_PREDICTION };
        let pairs = predicted.iter().zip(&record.percentiles).zip(WEIGHTS);
        pairs
            .map(|((predicted, measured), weight)| {
                let excess =
                    measured.map_or(0.0, |measured| ratio(*predicted, measured).min(MOST_RATIO) - 1.0);
                // Small errors count by their square, large ones as they are.
                weight * excess * excess / (excess + 0.1)
            })
            .sum()
    };
    let mut sum = 0.0;
    for record in records {
        sum += of(record);
        if sum >= best {
            break;
        }
    }
    sum
}

fn stages(costs: &[f64; COSTS]) -> Stages {
    let [
        serialise,
        write,
        send,
        send_byte,
        receive,
        deserialise,
        deliver,
        spread,
        store,
        store_byte,
        idle,
        half,
    ] = *costs;
    let (base, byte) = (|base| Cost { base, byte: 0.0 }, |byte| Cost { base: 0.0, byte });
    Stages {
        serialise: byte(serialise),
        write: base(write),
        store: Cost { base: store, byte: store_byte },
        send: Cost { base: send, byte: send_byte },
        receive: base(receive),
        deserialise: byte(deserialise),
        deliver: base(deliver),
        idle: Idle { most: idle, half },
        spread: spread.min(1.0),
    }
}

/// The costs that predict these records best: a search that changes one cost at a time, or two of a kind against each other, by ever smaller factors.
fn fit(records: &[&Record]) -> Stages {
    let medians =
        || records.iter().filter_map(|record| Some((record, record.percentiles.first().copied()??)));
    let least = medians().map(|(_, median)| median).fold(f64::INFINITY, f64::min);
    let least = if least.is_finite() { least } else { 1.0 };
    let byte = medians().map(|(record, median)| median / f64::from(record.topic.size.max(100)));
    let byte = byte.fold(f64::INFINITY, f64::min).min(least) / 4.0;
    let base = least / 5.0;
    let is_stored = records.iter().any(|record| record.topic.durability.is_stored());
    let store = if is_stored { 1.0 } else { 0.0 };
    let mut costs = [byte, base, base, byte, base, byte, base, 0.3, base * store, byte * store, base, IDLE];
    let mut least = wrongness(records, &costs, f64::INFINITY);
    for factor in [4.0, 2.0, 1.3, 1.08, 1.03] {
        for _ in 0..SWEEPS {
            let before = least;
            let mut try_costs = |tried: [f64; COSTS], costs: &mut [f64; COSTS]| {
                let found = wrongness(records, &tried, least);
                if found < least {
                    least = found;
                    *costs = tried;
                }
            };
            for index in 0..COSTS {
                for change in [factor, 1.0 / factor] {
                    let mut tried = costs;
                    if let Some(cost) = tried.get_mut(index).filter(|cost| **cost > 0.0) {
                        *cost *= change;
                        try_costs(tried, &mut costs);
                    }
                }
            }
            for kind in [&OF_A_SAMPLE[..], &OF_A_BYTE[..]] {
                for from in kind.iter().copied() {
                    for to in kind.iter().copied().filter(|to| *to != from) {
                        let mut tried = costs;
                        let part = tried.get(from).copied().unwrap_or(0.0) * (1.0 - 1.0 / factor);
                        tried.iter_mut().enumerate().for_each(|(index, cost)| {
                            *cost += part
                                * (f64::from(u8::from(index == to)) - f64::from(u8::from(index == from)));
                        });
                        try_costs(tried, &mut costs);
                    }
                }
            }
            if least >= before * 0.99 {
                break;
            }
        }
    }
    stages(&costs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn an_interval_has_nine_tenths_of_what_was_left_out_and_of_a_new_one() {
        let ratios: Vec<f64> = (1..=19).map(f64::from).collect();
        assert_eq!(factor(ratios), Some(18.0));
        assert_eq!(factor(vec![1.0; 8]), None, "eight are too few for nine tenths");
        assert_eq!(factor((1..=9).map(f64::from).collect()), Some(9.0));
        assert_eq!(factor(vec![f64::INFINITY; 20]), None);
    }
}
