//! Random numbers from a seed, and bytes of them.

/// A generator.
pub(crate) struct Random(testkit::random::Random);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(testkit::random::Random::new(seed))
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.below_u64(limit)
    }

    /// Random bytes.
    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.number().to_le_bytes()[0])
    }
}
