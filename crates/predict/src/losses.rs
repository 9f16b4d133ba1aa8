//! How much later samples are delivered since some were lost.
//!
//! A reader notices a loss when the next sample arrives, or a heartbeat; that of a repetition, by a heartbeat. Samples are delivered in
//! order, so that a sample waits for each earlier one that is still missing.
use alloc::vec::Vec;

use crate::description::Topic;
use crate::distribution::{Distribution, index_to_f64, nanoseconds, power};

/// How often a sample is looked at as lost again.
const ATTEMPTS: usize = 64;
/// How many earlier samples a sample may wait for.
const EARLIER: usize = 4096;
/// Earlier samples are looked at one by one at first, and then each time by this part of their number more: of those in between there are as many
/// like the one before as like the one after.
const STRIDE: usize = 8;
/// A probability that changes nothing.
const NEGLIGIBLE: f64 = 1e-12;

/// What losses do.
pub(crate) struct Losses {
    /// The part of samples that is lost.
    loss: f64,
    separation: f64,
    /// When a loss is noticed, with probabilities.
    noticed: Vec<(f64, f64)>,
    /// From when a loss is noticed to when the first repetition arrives, and from each repetition to the next one.
    first: f64,
    further: f64,
    /// The probabilities that so many repetitions are lost.
    lost: [f64; ATTEMPTS + 1],
}

impl Losses {
    /// `first` is the time in which a repetition arrives. Times that are not far from each other on a grid with this step count as one.
    pub(crate) fn new(topic: &Topic, loss: f64, first: f64, step: f64) -> Self {
        let separation = nanoseconds(topic.separation).max(1.0);
        let heartbeat = nanoseconds(topic.heartbeat).max(1.0);
        let mut noticed: Vec<(f64, f64)> = Vec::new();
        // Where entries began that count as one.
        let mut began = f64::NEG_INFINITY;
        let mut rest = 1.0;
        // The next samples may be lost, too.
        for later in 1..=ATTEMPTS {
            let next = index_to_f64(later) * separation;
            let is_last = next >= heartbeat || later == ATTEMPTS || rest < NEGLIGIBLE;
            let (time, weight) =
                if is_last { (heartbeat.min(next), rest) } else { (next, rest * (1.0 - loss)) };
            match noticed.last_mut() {
                Some((before, sum)) if time - began < step / 4.0 => {
                    *before = (*before * *sum + time * weight) / (*sum + weight);
                    *sum += weight;
                }
                _ => {
                    noticed.push((time, weight));
                    began = time;
                }
            }
            if is_last {
                break;
            }
            rest *= loss;
        }
        let mut lost = [1.0; ATTEMPTS + 1];
        let mut all = 1.0;
        for entry in lost.iter_mut().skip(1) {
            all *= loss;
            *entry = all;
        }
        Self { loss, separation, noticed, first, further: heartbeat + first, lost }
    }

    /// The probability that a sample has arrived by this time after it would have without a loss.
    pub(crate) fn by(&self, time: f64) -> f64 {
        let mut missing = 0.0;
        for (noticed, weight) in &self.noticed {
            let since = time - noticed - self.first;
            let again = if since < 0.0 { 0.0 } else { 1.0 + since / self.further };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
            let attempts = (again as usize).min(ATTEMPTS);
            missing += weight * self.lost.get(attempts).copied().unwrap_or(0.0);
        }
        1.0 - self.loss * missing
    }

    /// How much later a sample is delivered since it, or one before it, was lost.
    pub(crate) fn late(&self, step: f64, points: usize) -> Distribution {
        Distribution::of_cumulative(step, points, |time| {
            let (mut all, mut earlier, mut one) = (1.0, 0, self.by(time));
            while earlier < EARLIER && one <= 1.0 - NEGLIGIBLE && all > NEGLIGIBLE {
                let count = (earlier / STRIDE).clamp(1, EARLIER - earlier);
                earlier += count;
                let next = self.by(time + index_to_f64(earlier) * self.separation);
                all *= power(one, count.div_ceil(2)) * power(next, count / 2);
                one = next;
            }
            all
        })
    }
}
