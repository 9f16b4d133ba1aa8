//! Random numbers from a seed: SplitMix64 (Steele, Lea, Flood 2014), small and good enough to pick what tests try.

/// A generator; equal seeds give equal numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The generator of the case `index` of a run that began with `seed`.
    pub fn of_case(seed: u64, index: u64) -> Self {
        let mut outer = Self { state: seed };
        let state = outer.bits() ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut random = Self { state };
        random.bits();
        random
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // The high bits of a product: no bias that matters here, and no division.
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// A number in `0..limit`; 0 if `limit` is 0.
    pub fn below_u64(&mut self, limit: u64) -> u64 {
        self.bits() % limit.max(1)
    }

    /// A number from `low` to `high`, both possible; `low` if `high` is less.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below_u64(high.saturating_sub(low).saturating_add(1))
    }

    /// True so many times of a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below_u64(100) < percent
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the items; `None` if there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(items.len());
        items.get(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_repeat_and_differ() {
        let first = |seed, index| Random::of_case(seed, index).bits();
        assert_eq!(first(1, 2), first(1, 2));
        let mut seen: Vec<u64> =
            (0..10).flat_map(|seed| (0..100).map(move |index| first(seed, index))).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
    }

    #[test]
    fn numbers_stay_below_the_limit_and_reach_all_of_it() {
        let mut random = Random::of_case(0, 0);
        let mut hits = [0_u32; 7];
        for _ in 0..7000 {
            hits[random.below(7)] += 1;
        }
        assert!(hits.iter().all(|hits| (800..1200).contains(hits)), "{hits:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
