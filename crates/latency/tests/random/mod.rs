//! Repeatable random numbers for tests.
#![allow(dead_code, reason = "each test file uses some of it")]

/// A generator; equal seeds give equal numbers.
pub(crate) struct Random(testkit::random::Random);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(testkit::random::Random::new(seed))
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number from `low` to `high`, both possible.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        self.0.range(low, high)
    }
}
