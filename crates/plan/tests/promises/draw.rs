//! Numbers from a seed: a linear congruential generator whose upper bits are turned (the construction of PCG).

/// A sequence of numbers, the same for a seed on every machine.
#[derive(Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        let mut draw = Self(seed.wrapping_mul(2).wrapping_add(0x5851_f42d_4c95_7f2d));
        draw.half();
        draw.half();
        draw
    }

    fn half(&mut self) -> u64 {
        let before = self.0;
        self.0 = before.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let turned = u32::try_from((((before >> 18) ^ before) >> 27) & u64::from(u32::MAX)).unwrap();
        u64::from(turned.rotate_right(u32::try_from(before >> 59).unwrap()))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        (self.half() << 32) | self.half()
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        u64::try_from((u128::from(self.bits()) * u128::from(end)) >> 64).unwrap()
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// A number from `low` to `high` whose magnitude is drawn first, so that small ones are as frequent as large ones.
    pub(crate) fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let doublings = (high / low.max(1)).max(1).ilog2();
        let top = low.max(1).saturating_mul(2 << self.below(u64::from(doublings) + 1)).min(high);
        self.range(low, top.max(low))
    }

    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.place(all.len())]
    }
}
