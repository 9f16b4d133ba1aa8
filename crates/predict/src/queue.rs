//! How long a sample waits at a server: the queue M/G/1, in the form of Pollaczek and Khinchine, and D/G/1 for service that varies exponentially.
use alloc::vec::Vec;

use crate::distribution::{Distribution, exp_of_negative, index_to_f64};

/// Work of one kind: its service takes a fixed time and an exponentially distributed one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Work {
    /// How often it arrives, for each nanosecond.
    pub(crate) rate: f64,
    /// Nanoseconds.
    pub(crate) fixed: f64,
    /// Mean nanoseconds.
    pub(crate) varying: f64,
}

impl Work {
    /// The part of its server that it takes.
    pub(crate) fn load(self) -> f64 {
        self.rate * self.mean()
    }

    fn mean(self) -> f64 {
        self.fixed + self.varying
    }

    /// What is left of a service at a random moment of it, with a weight.
    fn residual(self, step: f64, points: usize, weight: f64) -> Distribution {
        let mean = self.mean();
        let mut left = Distribution::empty(step, points);
        left.add(self.fixed, weight * self.varying / mean);
        left.add_exponential(self.varying);
        left.add_uniform(self.fixed, weight * self.fixed / mean);
        left
    }
}

/// The wait for work that arrives at random, at a server of which `regular` is taken by work that does not: this lets the rest be served more slowly.
/// The sum of all loads is below 1.
pub(crate) fn wait_of_random(step: f64, points: usize, work: &[Work], regular: f64) -> Distribution {
    let load: f64 = work.iter().map(|work| work.load()).sum();
    if load <= 0.0 {
        return Distribution::zero(step, points);
    }
    let mut ladder = Distribution::empty(step, points);
    for kind in work.iter().filter(|kind| kind.load() > 0.0) {
        ladder.merge(&kind.residual(step, points, kind.load() / load));
    }
    ladder.compound((load / (1.0 - regular)).min(0.999_999))
}

/// How many kinds of random work are followed one by one.
const KINDS: usize = 3;

/// The wait of samples that arrive once in a period at a server where other work arrives at random. `wait` is what it is without the samples
/// themselves. From one sample to the next the backlog is followed step by step, until it is the same in each period.
pub(crate) fn wait_of_periodic_beside(
    mut wait: Distribution,
    period: f64,
    own: Work,
    random: &[Work],
) -> Distribution {
    /// How many times the range of the grid is followed at most: what there was before is forgotten.
    const RANGES: usize = 6;
    /// The backlog is the same if its mean differs by less than this part.
    const SAME: f64 = 1e-3;
    let (step, points) = (wait.step(), wait.points());
    let random = few(random);
    let is_same = |one: f64, other: f64| (one - other).abs() <= SAME * one.max(step);
    let mut followed = 0;
    while followed < RANGES * points {
        let at_last_sample = wait.mean();
        wait.add_at_times(own.fixed, own.varying, 1.0);
        let (mut since, mut before) = (0, wait.mean());
        while index_to_f64(since) * step < period {
            wait.earlier_by_a_step();
            for kind in &random {
                // None or this many: mean and variance are those of a Poisson distribution.
                let arrivals = kind.rate * step;
                let at_once = 1.0 + arrivals;
                wait.add_at_times(kind.fixed * at_once, kind.varying * at_once, arrivals / at_once);
            }
            since += 1;
            if since % points == 0 {
                // The sample is forgotten before the next one comes.
                let now = wait.mean();
                if is_same(now, before) || since >= 2 * RANGES * points {
                    return wait;
                }
                before = now;
            }
        }
        followed += since;
        if is_same(wait.mean(), at_last_sample) {
            break;
        }
    }
    wait
}

/// A few kinds of work in place of many: those that matter most, and one with the load of the others and the wait that they cause.
fn few(random: &[Work]) -> Vec<Work> {
    let second = |work: &Work| work.rate * work.mean() * work.mean();
    let mut all = random.to_vec();
    all.sort_by(|one, other| second(other).total_cmp(&second(one)));
    let rest = all.split_off(all.len().min(KINDS));
    let load: f64 = rest.iter().map(|work| work.load()).sum();
    if load > 0.0 {
        let fixed = rest.iter().map(second).sum::<f64>() / load;
        all.push(Work { rate: load / fixed, fixed, varying: 0.0 });
    }
    all
}

/// Samples arrive once in a period, their service takes a fixed time and an exponentially distributed one: the probability that one waits, and the
/// mean of the wait, which is exponentially distributed, of those that do.
///
/// The varying part waits as in the queue D/M/1 whose period is shorter by the fixed part: this follows from Lindley's recursion.
pub(crate) fn wait_of_periodic(period: f64, fixed: f64, varying: f64) -> (f64, f64) {
    let spare = period - fixed;
    if varying <= 0.0 || spare <= varying {
        return (0.0, 0.0);
    }
    // The root below 1 of s = e^(-(1 - s) spare / varying): the iteration rises from 0 towards it.
    let mut root = 0.0;
    for _ in 0..200 {
        root = exp_of_negative(-(1.0 - root) * spare / varying);
    }
    (root, varying / (1.0 - root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64, part: f64) {
        assert!((found - wanted).abs() <= wanted.abs() * part + 1e-9, "{found} is not {wanted}");
    }

    #[test]
    fn waits_of_random_work_have_the_mean_of_pollaczek_and_khinchine() {
        for load in [0.1, 0.5, 0.9] {
            let fixed = Work { rate: load / 10.0, fixed: 10.0, varying: 0.0 };
            let wait = wait_of_random(0.5, 4_000, &[fixed], 0.0);
            near(wait.mean(), load * 10.0 / 2.0 / (1.0 - load), 0.02);
            let varying = Work { rate: load / 10.0, fixed: 0.0, varying: 10.0 };
            let wait = wait_of_random(0.5, 4_000, &[varying], 0.0);
            near(wait.mean(), load * 10.0 / (1.0 - load), 0.03);
        }
        // Half of the server is taken by regular work.
        let work = Work { rate: 0.03, fixed: 10.0, varying: 0.0 };
        near(wait_of_random(0.5, 4_000, &[work], 0.5).mean(), 0.3 * 5.0 / 0.2, 0.02);
    }

    #[test]
    fn waits_of_periodic_samples_are_those_of_d_m_1() {
        // D/M/1 at load 0.8: the root is 0.6286.
        let (waits, mean) = wait_of_periodic(10.0, 0.0, 8.0);
        near(waits, 0.6286, 0.001);
        near(mean, 8.0 / (1.0 - 0.6286), 0.001);
        assert_eq!(wait_of_periodic(10.0, 4.0, 0.0).0, 0.0);
    }
}
