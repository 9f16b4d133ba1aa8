//! What a prediction has to be better than: a constant, a straight line over the size, and the sum of the Velox paper.
use alloc::vec::Vec;

use crate::description::{Hop, Record, Topic};
use crate::distribution::nanoseconds;

/// A way of predicting a median that knows less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The median of all records.
    Constant,
    /// A straight line over the size, by least squares of the relative error.
    Regression,
    /// Equations 4 and 6 of the Velox paper as they are used there: time between application and middleware and processing, which records give,
    /// the time between two samples, and the delay of idle links.
    Velox,
}

/// One that has seen records.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Model {
    /// Which.
    pub kind: Kind,
    /// Nanoseconds.
    base: f64,
    /// Nanoseconds for each byte.
    byte: f64,
}

impl Model {
    /// Its name, for people.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Constant => "a constant",
            Kind::Regression => "a line over the size",
            Kind::Velox => "the sum of the Velox paper",
        }
    }

    /// The median that it predicts, in nanoseconds.
    pub fn median(&self, hops: &[Hop], topic: &Topic) -> f64 {
        let value = match self.kind {
            Kind::Constant => self.base,
            Kind::Regression => self.base + self.byte * f64::from(topic.size),
            Kind::Velox => self.base + sum_of_velox(hops, topic),
        };
        value.max(1.0)
    }
}

/// The terms that depend on the case: 1/lambda, and M L + N T + (M - 1) T + (M - 1) P for one packet size and the slowest link.
fn sum_of_velox(hops: &[Hop], topic: &Topic) -> f64 {
    const PACKET: f64 = 1_500.0;
    let size = f64::from(topic.size);
    let travel: f64 = hops.iter().map(|hop| nanoseconds(hop.propagation)).sum();
    let held: f64 = hops.iter().skip(1).map(|hop| nanoseconds(hop.delay)).sum();
    let slowest = |bytes: f64| hops.iter().map(|hop| hop.transmission(bytes)).fold(0.0, f64::max);
    let further: f64 = hops.iter().skip(1).map(|_| slowest(size.min(PACKET))).sum();
    nanoseconds(topic.separation) + travel + slowest(size) + further + held
}

/// All of them, made from these records.
pub fn comparisons(records: &[&Record]) -> Vec<Model> {
    let medians =
        || records.iter().filter_map(|record| Some((record, record.percentiles.first().copied()??)));
    let constant = middle(medians().map(|(_, median)| median).collect());
    let (mut all, mut x, mut xx, mut y, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (record, median) in medians() {
        let (weight, size) = (1.0 / (median * median), f64::from(record.topic.size));
        all += weight;
        x += weight * size;
        xx += weight * size * size;
        y += weight * median;
        xy += weight * size * median;
    }
    let determinant = all * xx - x * x;
    let (base, byte) = if determinant > 0.0 && determinant.is_finite() {
        ((xx * y - x * xy) / determinant, (all * xy - x * y) / determinant)
    } else {
        (constant, 0.0)
    };
    let rest = medians().map(|(record, median)| median - sum_of_velox(&record.hops, &record.topic));
    let rest = middle(rest.collect()).max(0.0);
    [
        Model { kind: Kind::Constant, base: constant, byte: 0.0 },
        Model { kind: Kind::Regression, base, byte },
        Model { kind: Kind::Velox, base: rest, byte: 0.0 },
    ]
    .to_vec()
}

/// The middle one of these numbers; 0 if there is none.
pub(crate) fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}
