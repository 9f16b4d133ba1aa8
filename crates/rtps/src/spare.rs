//! Which of the idle buffers suits a sample.

/// How many of the last ones that came back are looked at.
const LOOK: usize = 16;
/// A buffer of this many bytes is not too large for any sample.
const SMALL: usize = 256;

/// The index of a buffer that holds `len` bytes without growing and is at most twice as large, so that small samples pin no large
/// buffers; of several the one that came back last. `capacities` are those of the idle ones, in the order in which they came back.
pub fn fitting(
    capacities: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator,
    len: usize,
) -> Option<usize> {
    capacities.enumerate().rev().take(LOOK).find(|(_, capacity)| fits(*capacity, len)).map(|(index, _)| index)
}

/// True if a buffer of this capacity holds `len` bytes without growing and is not far too large.
#[inline]
pub fn fits(capacity: usize, len: usize) -> bool {
    (len..=len.saturating_mul(2).max(SMALL)).contains(&capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_too_small_nor_far_too_large() {
        let idle = [100, 1_000, 5_000, 1_200];
        let found = |len| fitting(idle.into_iter(), len);
        assert_eq!(found(1_000), Some(3));
        assert_eq!(found(1_201), None);
        assert_eq!(found(3_000), Some(2));
        assert_eq!(found(3), Some(0));
        assert_eq!(found(110), None);
    }

    #[test]
    fn only_the_last_ones_are_looked_at() {
        let idle = (0..100).map(|index| if index < 90 { 1_000 } else { 10_000 });
        assert_eq!(fitting(idle, 1_000), Some(89));
        let idle = (0..100).map(|index| if index < 80 { 1_000 } else { 10_000 });
        assert_eq!(fitting(idle, 1_000), None);
    }
}
