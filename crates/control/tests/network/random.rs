//! Random numbers and choices from a seed.

pub(crate) struct Random(testkit::random::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(testkit::random::Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// From 0 to `most`, without it.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0.below_u64(most as u64) as usize
    }

    pub(crate) fn of<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }

    /// Puts a list into another order; true if it is another one.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) -> bool {
        let mut is_other = false;
        for end in (2..=list.len()).rev() {
            let at = self.below(end);
            list.swap(at, end - 1);
            is_other |= at != end - 1;
        }
        is_other
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
