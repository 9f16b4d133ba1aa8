//! Medians, and intervals for them that assume nothing about how values are distributed.

/// What several passes say of one figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// The middle value; of an even number, the mean of the two in the middle.
    pub(crate) median: f64,
    /// An interval that has the true median with probability [`Estimate::confidence`], if passes are independent of each other.
    pub(crate) low: f64,
    /// Its end.
    pub(crate) high: f64,
    /// 0 to 1; a single pass says nothing, and has 0.
    pub(crate) confidence: f64,
}

/// What is aimed at, if there are passes enough.
const WANTED: f64 = 0.95;

impl Estimate {
    /// Of values in any order; `None` if there are none, or if one is no finite number.
    ///
    /// The interval is between two order statistics: the number of values below the true median has a binomial distribution with 1/2,
    /// so from the k-th smallest to the k-th greatest of n values the probability is 1 - 2 P(B(n, 1/2) < k). It is the narrowest such
    /// interval with at least 95 %, and where so few values cannot give that, the widest there is: the smallest to the greatest.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let median = at((count - 1) / 2).midpoint(at(count / 2));
        let (cut, confidence) = cut(count);
        Some(Self { median, low: at(cut), high: at(count - 1 - cut), confidence })
    }
}

/// How many values are left out on each side, and the confidence of what remains.
fn cut(count: usize) -> (usize, f64) {
    // Probabilities of 0, 1, 2, ... values below the median, one after the other; above a thousand values they are too small for the
    // type, and the widest interval is right in any case.
    let mut term = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut below = term;
    let mut best = (0, (1.0 - 2.0 * below).max(0.0));
    for index in 1..count.div_ceil(2) {
        term *= ratio(count - index + 1, index);
        below += term;
        let confidence = 1.0 - 2.0 * below;
        if confidence < WANTED || term == 0.0 {
            break;
        }
        best = (index, confidence);
    }
    best
}

/// One count by another.
#[expect(clippy::cast_precision_loss, reason = "counts of passes")]
fn ratio(above: usize, below: usize) -> f64 {
    above as f64 / below.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator for tests (xorshift64*), the same for the same seed.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
        }

        /// 0 to 1, far from evenly: the true median is a half to the fourth power.
        fn skewed(&mut self) -> f64 {
            let even = f64::from(u32::try_from(self.next() >> 32).unwrap_or(0)) / f64::from(u32::MAX);
            even.powi(4)
        }
    }

    #[test]
    fn known_intervals() {
        // From tables of the binomial distribution: 1 - 2 / 2^n for the whole range; from six values on it has 95 %.
        for (count, cut_off, confidence) in
            [(1, 0, 0.0), (2, 0, 0.5), (3, 0, 0.75), (5, 0, 0.9375), (6, 0, 0.968_75), (8, 0, 0.992_187_5)]
        {
            assert_eq!(cut(count), (cut_off, confidence), "{count}");
        }
        let (cut_off, confidence) = cut(9);
        assert_eq!(cut_off, 1);
        assert!((confidence - 0.960_937_5).abs() < 1e-9);
        let (cut_off, confidence) = cut(20);
        assert_eq!(cut_off, 5);
        assert!((confidence - 0.958_6).abs() < 1e-4);
    }

    #[test]
    fn what_is_no_number_has_no_estimate() {
        for values in [&[][..], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(Estimate::of(values), None);
        }
        let one = Estimate::of(&[7.0]);
        assert_eq!(one, Some(Estimate { median: 7.0, low: 7.0, high: 7.0, confidence: 0.0 }));
        let even = Estimate::of(&[4.0, 1.0, 2.0, 3.0]).map(|estimate| estimate.median);
        assert_eq!(even, Some(2.5));
    }

    #[test]
    fn order_does_not_matter_and_the_median_is_inside() {
        for seed in tiers::current().seeds("property.cases") {
            let mut random = Random(seed.wrapping_mul(2) + 1);
            let count = usize::try_from(random.next() % 2_500).unwrap_or(0) + 1;
            let mut values: Vec<f64> = (0..count).map(|_| random.skewed()).collect();
            let Some(estimate) = Estimate::of(&values) else { panic!("seed {seed}: no estimate") };
            assert!(estimate.low <= estimate.median && estimate.median <= estimate.high, "seed {seed}");
            assert!((0.0..=1.0).contains(&estimate.confidence), "seed {seed}");
            values.reverse();
            assert_eq!(Estimate::of(&values), Some(estimate), "seed {seed}");
            // Twice everything is twice everything.
            let twice: Vec<f64> = values.iter().map(|value| value * 2.0).collect();
            assert_eq!(
                Estimate::of(&twice).map(|twice| twice.median),
                Some(estimate.median * 2.0),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn the_interval_has_the_true_median_as_often_as_it_says() {
        let truth = 0.5_f64.powi(4);
        for count in [3_usize, 5, 9, 20] {
            let mut random = Random(u64::try_from(count).unwrap_or(1) * 77);
            let (mut inside, mut confidence) = (0_u32, 0.0);
            for _ in 0..4_000 {
                let values: Vec<f64> = (0..count).map(|_| random.skewed()).collect();
                let Some(estimate) = Estimate::of(&values) else { panic!("no estimate") };
                confidence = estimate.confidence;
                inside += u32::from((estimate.low..=estimate.high).contains(&truth));
            }
            // Three standard deviations of 4000 trials are at most 2.4 %.
            let share = f64::from(inside) / 4_000.0;
            assert!((share - confidence).abs() < 0.024, "{count}: {share} instead of {confidence}");
        }
    }
}
