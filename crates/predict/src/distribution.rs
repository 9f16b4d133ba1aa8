//! Distributions of times on a grid: what is at a multiple of a step, and what is beyond the end.
use alloc::vec;
use alloc::vec::Vec;

/// A distribution of a time that is not negative.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    step: f64,
    /// The probability of each multiple of the step.
    at: Vec<f64>,
    /// Entries from here on are 0.
    end: usize,
}

impl Distribution {
    /// No probability anywhere yet.
    pub(crate) fn empty(step: f64, points: usize) -> Self {
        Self { step, at: vec![0.0; points.max(2)], end: 0 }
    }

    /// Certainly none.
    pub(crate) fn zero(step: f64, points: usize) -> Self {
        let mut it = Self::empty(step, points);
        it.add(0.0, 1.0);
        it
    }

    /// Adds probability at a time, divided between both neighbours on the grid so that the mean is kept.
    pub(crate) fn add(&mut self, time: f64, weight: f64) {
        let place = time / self.step;
        if place < 0.0 || place >= index_to_f64(self.at.len() - 1) {
            return;
        }
        let (low, part) = split(place);
        for (index, share) in [(low, 1.0 - part), (low + 1, part)] {
            if share > 0.0
                && let Some(entry) = self.at.get_mut(index)
            {
                *entry += weight * share;
                self.end = self.end.max(index + 1);
            }
        }
    }

    /// Adds all probability of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (entry, more) in self.at.iter_mut().zip(&other.at) {
            *entry += more;
        }
        self.end = self.end.max(other.end);
    }

    /// Adds probability that is spread evenly from 0 to a time.
    pub(crate) fn add_uniform(&mut self, longest: f64, weight: f64) {
        const PIECES_OF_A_STEP: usize = 4;
        let steps = split((longest / self.step).min(index_to_f64(self.at.len()) * 4.0)).0 + 1;
        let pieces = steps * PIECES_OF_A_STEP;
        let each = weight / index_to_f64(pieces);
        for piece in 0..pieces {
            self.add(longest * (index_to_f64(piece) + 0.5) / index_to_f64(pieces), each);
        }
    }

    /// The sum with an independent exponentially distributed time of this mean.
    pub(crate) fn add_exponential(&mut self, mean: f64) {
        let steps = mean / self.step;
        if steps <= 1e-9 {
            return;
        }
        // A geometric distribution with the same mean.
        let stays = steps / (steps + 1.0);
        let mut carried = 0.0;
        for entry in &mut self.at {
            carried = carried * stays + *entry * (1.0 - stays);
            *entry = carried;
        }
        self.end = self.at.len();
    }

    /// The sum with an independent time that is 0 with probability `1 - weight`, and else a fixed time and an exponentially distributed one.
    pub(crate) fn add_at_times(&mut self, fixed: f64, varying: f64, weight: f64) {
        let mut other = self.later(fixed);
        other.add_exponential(varying);
        for (entry, with) in self.at.iter_mut().zip(&other.at) {
            *entry = *entry * (1.0 - weight) + with * weight;
        }
        self.end = self.at.len();
    }

    /// The sum with a fixed time, divided between two places of the grid so that the mean is kept.
    fn later(&self, fixed: f64) -> Self {
        let mut sum = Self::empty(self.step, self.at.len());
        let place = fixed / self.step;
        if place < index_to_f64(self.at.len()) {
            let (whole, part) = split(place);
            for (from, share) in [(whole, 1.0 - part), (whole + 1, part)] {
                let room = sum.at.get_mut(from..).unwrap_or_default();
                for (entry, weight) in room.iter_mut().zip(&self.at) {
                    *entry += weight * share;
                }
            }
        }
        sum.end = sum.at.len();
        sum
    }

    /// The time less one step, and none where there is no more.
    pub(crate) fn earlier_by_a_step(&mut self) {
        let none = self.at.first().copied().unwrap_or(0.0);
        self.at.rotate_left(1);
        if let Some(last) = self.at.last_mut() {
            *last = 0.0;
        }
        if let Some(first) = self.at.first_mut() {
            *first += none;
        }
    }

    /// The distance between two places of the grid.
    pub(crate) fn step(&self) -> f64 {
        self.step
    }

    /// How many places there are.
    pub(crate) fn points(&self) -> usize {
        self.at.len()
    }

    /// The sum of two independent times.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = Self::empty(self.step, self.at.len());
        for (index, weight) in self.at.iter().enumerate().take(self.end) {
            if *weight <= 1e-15 {
                continue;
            }
            let room = sum.at.get_mut(index..).unwrap_or_default();
            for (entry, share) in room.iter_mut().zip(other.at.iter().take(other.end)) {
                *entry += weight * share;
            }
        }
        sum.end = (self.end + other.end).min(sum.at.len());
        sum
    }

    /// The sum of a geometrically distributed number of independent times of this distribution, with `weight` as the probability of one more.
    pub(crate) fn compound(&self, weight: f64) -> Self {
        let mut sum = Self::empty(self.step, self.at.len());
        let none = self.at.first().copied().unwrap_or(0.0);
        let scale = 1.0 / (1.0 - weight * none);
        for index in 0..sum.at.len() {
            let value = if index == 0 {
                (1.0 - weight) * scale
            } else {
                let earlier = sum.at.get(..index).unwrap_or_default().iter().rev();
                let steps = self.at.get(1..self.end.max(1)).unwrap_or_default();
                steps.iter().zip(earlier).map(|(step, before)| step * before).sum::<f64>() * weight * scale
            };
            if let Some(entry) = sum.at.get_mut(index) {
                *entry = value;
            }
        }
        sum.end = sum.at.len();
        sum
    }

    /// The probability of what is beyond the end of the grid.
    pub(crate) fn beyond(&self) -> f64 {
        1.0 - self.at.iter().sum::<f64>()
    }

    /// The mean of what is on the grid.
    pub(crate) fn mean(&self) -> f64 {
        let places = self.at.iter().enumerate();
        places.map(|(index, weight)| index_to_f64(index) * self.step * weight).sum()
    }

    /// The time that is not exceeded with this probability. An entry stands for the times half a step around it.
    pub(crate) fn quantile(&self, wanted: f64) -> f64 {
        let mut before = 0.0;
        for (index, weight) in self.at.iter().enumerate() {
            if before + weight >= wanted && *weight > 0.0 {
                let part = (wanted - before) / weight;
                return ((index_to_f64(index) - 0.5 + part) * self.step).max(0.0);
            }
            before += weight;
        }
        index_to_f64(self.at.len()) * self.step
    }

    /// The distribution whose probability of at most each time on the grid is this.
    pub(crate) fn of_cumulative(step: f64, points: usize, at_most: impl Fn(f64) -> f64) -> Self {
        let mut it = Self::empty(step, points);
        let mut before = 0.0;
        for (index, entry) in it.at.iter_mut().enumerate() {
            // What is between two places counts for the nearer one.
            let now = at_most((index_to_f64(index) + 0.5) * step);
            *entry = (now - before).max(0.0);
            before = now;
        }
        it.end = it.at.len();
        it
    }
}

/// The whole part, and the rest.
fn split(place: f64) -> (usize, f64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let whole = place as usize;
    (whole, place - index_to_f64(whole))
}

/// A count as a number: exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts here are small")]
pub(crate) fn index_to_f64(index: usize) -> f64 {
    index as f64
}

/// A number to the power of a count.
pub(crate) fn power(number: f64, count: usize) -> f64 {
    let (mut result, mut square, mut left) = (1.0, number, count);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
}

/// Picoseconds as nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "a prediction has no sixteen digits")]
pub(crate) fn nanoseconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1_000.0
}

/// e to the power of a number that is not positive.
pub(crate) fn exp_of_negative(power: f64) -> f64 {
    if power < -700.0 {
        return 0.0;
    }
    // e^x is (e^(x / 1024))^1024, and the series of a small power is short.
    let small = power / 1024.0;
    let mut value = 1.0 + small * (1.0 + small / 2.0 * (1.0 + small / 3.0 * (1.0 + small / 4.0)));
    for _ in 0..10 {
        value *= value;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64, part: f64) {
        assert!((found - wanted).abs() <= wanted.abs() * part + 1e-9, "{found} is not {wanted}");
    }

    #[test]
    fn powers_of_e() {
        for (power, wanted) in [(0.0, 1.0), (-1.0, 0.367_879_441), (-10.0, 4.539_993e-5), (-800.0, 0.0)] {
            near(exp_of_negative(power), wanted, 1e-6);
        }
    }

    #[test]
    fn sums_have_the_sum_of_means() {
        let mut one = Distribution::empty(1.0, 400);
        one.add(10.5, 0.5);
        one.add_uniform(20.0, 0.5);
        near(one.mean(), 10.25, 1e-9);
        let mut sum = one.plus(&one);
        near(sum.mean(), 20.5, 1e-9);
        sum.add_exponential(7.0);
        near(sum.mean(), 27.5, 1e-6);
        near(sum.beyond(), 0.0, 1e-6);
    }

    #[test]
    fn quantiles_of_an_exponential_distribution() {
        let mut it = Distribution::zero(0.05, 4_000);
        it.add_exponential(10.0);
        near(it.quantile(0.5), 6.931, 0.01);
        near(it.quantile(0.99), 46.05, 0.01);
    }

    #[test]
    fn a_compound_is_a_sum_of_a_random_number() {
        // Exponential steps, continued with probability 0.5: 0 or an exponential time of twice the mean.
        let mut step = Distribution::zero(0.02, 4_000);
        step.add_exponential(1.0);
        let sum = step.compound(0.5);
        near(sum.mean(), 1.0, 0.01);
        near(sum.quantile(0.9), 3.219, 0.02);
    }
}
