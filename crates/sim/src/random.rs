//! Random numbers from a seed: the same on every platform and in every build.
use std::ops::RangeInclusive;

/// A probability of one in parts per million.
pub const CERTAIN: u32 = 1_000_000;

/// The xoshiro256** generator (Blackman and Vigna), its state filled by splitmix64.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// The generator of a seed; near seeds give unrelated sequences.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Self(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        }))
    }

    /// A generator of its own, so that drawing more from one part of a simulation does not shift the draws of another.
    pub fn fork(&mut self) -> Self {
        Self::new(self.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number within the range, ends included.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (first, last) = range.into_inner();
        let span = last.saturating_sub(first);
        first + if span == u64::MAX { self.next_u64() } else { self.below(span + 1) }
    }

    /// True with a probability of `ppm` parts per million.
    pub fn chance(&mut self, ppm: u32) -> bool {
        ppm != 0 && self.below(u64::from(CERTAIN)) < u64::from(ppm)
    }

    /// True half of the time.
    pub fn coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// One of the values; `None` if there is none.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> Option<T> {
        values.get(self.below(values.len() as u64) as usize).copied()
    }

    /// Twelve random bytes, for the prefix of a participant; never all zero.
    pub fn octets(&mut self) -> [u8; 12] {
        let mut octets = [0; 12];
        octets[..8].copy_from_slice(&self.next_u64().to_le_bytes());
        octets[8..].copy_from_slice(&(self.next_u64() as u32 | 1).to_le_bytes());
        octets
    }
}

/// The finalizer of splitmix64: a bijection in which every input bit changes about half of the output's.
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_sequence() {
        // splitmix64 of seed 0 begins with this published value, and it is the first word of the state.
        assert_eq!(Random::new(0).0[0], 0xe220_a839_7b1d_cdaf);
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn chances_and_ranges_hold_their_promise() {
        let mut random = Random::new(1);
        let hits = (0..100_000).filter(|_| random.chance(250_000)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| !random.chance(0) && random.chance(CERTAIN)));
        let mut seen = [false; 5];
        for _ in 0..1_000 {
            seen[random.within(3..=7) as usize - 3] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!((random.below(0), random.within(9..=9)), (0, 9));
    }
}
