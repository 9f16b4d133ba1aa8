//! Whether the samples of assured writers come in time, and how they come: latencies are from the source timestamp to the reception, by
//! the clocks of both hosts.
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;

use rtps::reader::Sample as Received;
use wire::{Duration, Guid, Now, SequenceNumber, Timestamp};

use crate::status::LateSample;

/// What is promised for the samples of a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Most time from the send call to the reception of the last frame.
    pub latency: Duration,
    /// Where first transmissions come from.
    pub source: SocketAddr,
    /// Least time between two samples by the writer's contract.
    pub separation: Duration,
}

/// What was seen of an assured writer since its bound was first set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measurement {
    /// Samples received.
    pub samples: u64,
    /// Samples later than the bound.
    pub late: u64,
    /// Samples lost.
    pub lost: u64,
    /// Latency of the worst one.
    pub worst: Duration,
    /// Median latency since the last measurement was taken, at most 1/16 above the true one; zero without samples.
    pub median: Duration,
}

/// All of a reader.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    writers: Vec<Assured>,
    /// Of the datagram that is being received.
    from: Option<SocketAddr>,
    waited: Option<Duration>,
}

#[derive(Debug)]
struct Assured {
    writer: Guid,
    bound: Bound,
    seen: Measurement,
    /// The last sample that was counted: one that found no room is offered again.
    last: SequenceNumber,
    /// When the last sample can have left at the earliest, if every sample waits for its contract.
    left: Option<Timestamp>,
    recent: Histogram,
}

impl Bounds {
    pub(super) const fn is_empty(&self) -> bool {
        self.writers.is_empty()
    }

    pub(super) fn set(&mut self, writer: Guid, bound: Option<Bound>) {
        let known = self.writers.iter().position(|assured| assured.writer == writer);
        match (known, bound) {
            (Some(index), Some(bound)) => {
                if let Some(assured) = self.writers.get_mut(index) {
                    assured.bound = bound;
                }
            }
            (Some(index), None) => drop(self.writers.swap_remove(index)),
            (None, Some(bound)) => self.writers.push(Assured {
                writer,
                bound,
                seen: Measurement::default(),
                last: SequenceNumber::ZERO,
                left: None,
                recent: Histogram::new(),
            }),
            (None, None) => {}
        }
    }

    pub(super) const fn set_origin(&mut self, from: SocketAddr, waited: Option<Duration>) {
        self.from = Some(from);
        self.waited = waited;
    }

    pub(super) fn take_measurement(&mut self, writer: Guid) -> Option<Measurement> {
        let assured = self.writers.iter_mut().find(|assured| assured.writer == writer)?;
        Some(Measurement { median: assured.recent.take_median(), ..assured.seen })
    }

    pub(super) fn lose(&mut self, writer: Guid, count: u64) {
        if let Some(assured) = self.writers.iter_mut().find(|assured| assured.writer == writer) {
            assured.seen.lost = assured.seen.lost.saturating_add(count);
        }
    }

    /// Counts a sample whose reception is now; gives what there is to say if it is late.
    pub(super) fn receive(&mut self, now: Now, sample: &Received<'_>) -> Option<LateSample> {
        if self.writers.is_empty() {
            return None;
        }
        let assured = self.writers.iter_mut().find(|assured| assured.writer == sample.writer)?;
        let written = sample.source_timestamp?;
        if sample.sequence_number <= assured.last {
            return None;
        }
        assured.last = sample.sequence_number;
        let waited_for_contract = assured.wait(written);
        let latency = between(written, now.wall);
        assured.seen.samples = assured.seen.samples.saturating_add(1);
        assured.seen.worst = assured.seen.worst.max(latency);
        assured.recent.add(latency);
        if latency <= assured.bound.latency {
            return None;
        }
        assured.seen.late = assured.seen.late.saturating_add(1);
        Some(LateSample {
            writer: sample.writer,
            sequence_number: sample.sequence_number,
            latency,
            bound: assured.bound.latency,
            waited_for_contract,
            repaired: self.from != Some(assured.bound.source),
            host: self.waited,
        })
    }
}

impl Assured {
    /// How long a sample that was written at this time has waited in its writer at least.
    fn wait(&mut self, written: Timestamp) -> Duration {
        let opens = self.left.map_or(written, |left| left.after(self.bound.separation));
        let left = opens.max(written);
        self.left = Some(left);
        between(written, left)
    }
}

/// Zero if the clocks say that it came before it was written.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_nanos(to.as_nanos().saturating_sub(from.as_nanos()).max(0))
}

/// Counts of latencies in steps of a sixteenth.
#[derive(Debug)]
struct Histogram {
    /// By step.
    counts: Vec<u32>,
    sum: u64,
}

impl Histogram {
    fn new() -> Self {
        Self { counts: vec![0; STEPS], sum: 0 }
    }

    fn add(&mut self, latency: Duration) {
        let step = step(u64::try_from(latency.as_nanos()).unwrap_or(0));
        if let Some(count) = self.counts.get_mut(step) {
            *count = count.saturating_add(1);
            self.sum = self.sum.saturating_add(1);
        }
    }

    /// The median, and zero counts from here on.
    fn take_median(&mut self) -> Duration {
        let mut left = self.sum.div_ceil(2);
        let mut median = 0;
        for (step, count) in self.counts.iter_mut().enumerate() {
            let count = u64::from(core::mem::take(count));
            if left > 0 && count >= left {
                median = upper_end(step);
            }
            left = left.saturating_sub(count);
        }
        self.sum = 0;
        Duration::from_nanos(i64::try_from(median).unwrap_or(i64::MAX))
    }
}

/// Sixteen steps for each power of two, and one for each value below 16.
const STEPS: usize = 61 * 16;

fn step(value: u64) -> usize {
    let Some(exponent) = value.checked_ilog2().filter(|exponent| *exponent >= 4) else {
        return usize::try_from(value).unwrap_or(0);
    };
    let within = (value >> (exponent - 4)) & 15;
    (exponent as usize - 3) * 16 + usize::try_from(within).unwrap_or(0)
}

/// The largest value of a step.
fn upper_end(step: usize) -> u64 {
    if step < 16 {
        return step as u64;
    }
    let (exponent, within) = (step / 16 + 3, step as u64 % 16);
    let width = 1_u64 << (exponent - 4);
    (width * 16).saturating_add(within * width).saturating_add(width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_in_a_step_that_ends_at_most_a_sixteenth_above() {
        for exponent in 0..63 {
            for value in [(1_u64 << exponent) - 1, 1 << exponent, (1 << exponent) + 1] {
                let end = upper_end(step(value));
                assert!(end >= value && end - value <= value / 16, "{value} {end}");
                assert!(step(value) < STEPS);
            }
        }
        assert!(step(i64::MAX as u64) < STEPS);
    }

    #[test]
    fn the_median_is_that_since_the_last_one() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.take_median(), Duration::ZERO);
        (1..=9).for_each(|value| histogram.add(Duration::from_nanos(value)));
        assert_eq!(histogram.take_median(), Duration::from_nanos(5));
        [3, 1_000_000, 2].into_iter().for_each(|value| histogram.add(Duration::from_nanos(value)));
        assert_eq!(histogram.take_median(), Duration::from_nanos(3));
        assert_eq!(histogram.take_median(), Duration::ZERO);
    }
}
