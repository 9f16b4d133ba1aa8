//! Latencies, kept as a histogram with three significant digits.
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::exit::Failure;

/// Longest latency that is told apart: an hour. It takes some 300 kB.
const LONGEST: u64 = 3_600_000_000_000;

/// What is shown between the least and the greatest: names and quantiles.
pub(super) const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// Latencies of one kind.
pub(super) struct Latencies {
    /// In nanoseconds.
    histogram: Histogram<u64>,
}

impl Latencies {
    /// None yet.
    pub(super) fn new() -> Result<Self, Failure> {
        let histogram = Histogram::new_with_bounds(1, LONGEST, 3)
            .map_err(|error| Failure::System(format!("no histogram can be made: {error}")))?;
        Ok(Self { histogram })
    }

    /// One more.
    pub(super) fn record(&mut self, latency: Duration) {
        self.histogram.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.histogram.reset();
    }

    /// The least, the quantiles, and the greatest, in microseconds.
    pub(super) fn micros(&self) -> impl Iterator<Item = (&'static str, f64)> + use<'_> {
        let micros =
            |nanos: u64| f64::from(u32::try_from(nanos / 1000).unwrap_or(u32::MAX)) + nanos_part(nanos);
        let quantiles =
            QUANTILES.iter().map(move |(name, at)| (*name, micros(self.histogram.value_at_quantile(*at))));
        let least = std::iter::once(("min", micros(self.histogram.min())));
        least.chain(quantiles).chain(std::iter::once(("max", micros(self.histogram.max()))))
    }

    /// For programs: microseconds by name, and how many there are.
    pub(super) fn json(&self) -> Value {
        let mut object: serde_json::Map<String, Value> =
            self.micros().map(|(name, micros)| (name.to_owned(), json!(micros))).collect();
        object.insert("count".to_owned(), json!(self.count()));
        Value::Object(object)
    }

    /// For a line of progress: the median, p99 and the greatest.
    pub(super) fn brief(&self) -> String {
        let all: Vec<_> = self.micros().filter(|(name, _)| ["p50", "p99", "max"].contains(name)).collect();
        let texts: Vec<String> = all.iter().map(|(name, micros)| format!("{name} {micros:.1}")).collect();
        format!("{} us", texts.join("  "))
    }
}

/// What is below a microsecond.
fn nanos_part(nanos: u64) -> f64 {
    f64::from(u32::try_from(nanos % 1000).unwrap_or(0)) / 1000.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_thousandth() {
        let mut latencies = Latencies::new().unwrap();
        for micros in 1..=10_000 {
            latencies.record(Duration::from_micros(micros));
        }
        for (name, wanted) in
            [("min", 1.0), ("p50", 5_000.0), ("p99", 9_900.0), ("p99.9", 9_990.0), ("max", 10_000.0)]
        {
            let (_, found) = latencies.micros().find(|(found, _)| *found == name).unwrap();
            assert!((found - wanted).abs() <= wanted / 1000.0 + 0.001, "{name}: {found}");
        }
        assert_eq!(latencies.count(), 10_000);
        latencies.clear();
        assert_eq!(latencies.count(), 0);
    }

    #[test]
    fn what_is_too_long_counts_as_the_longest() {
        let mut latencies = Latencies::new().unwrap();
        latencies.record(Duration::from_secs(10_000));
        assert_eq!(latencies.count(), 1);
        assert!(latencies.json()["max"].as_f64().unwrap() >= 3.5e9);
    }
}
