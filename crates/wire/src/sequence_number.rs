//! Sequence numbers, fragment numbers, and the bitmap sets of ACKNACK, GAP and NACK_FRAG (RTPS 2.5, 9.4.2).
use core::fmt;

/// The number of a change of one writer; the first is 1 (RTPS 2.5, 8.3.5.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SequenceNumber(pub i64);

impl SequenceNumber {
    /// Before the first change.
    pub const ZERO: Self = Self(0);
    /// The first change of a writer.
    pub const FIRST: Self = Self(1);
    /// Unknown: the high word all ones, the low word zero.
    pub const UNKNOWN: Self = Self(-1 << 32);
    /// The largest number.
    pub const MAX: Self = Self(i64::MAX);

    /// From the wire's signed high and unsigned low word.
    pub const fn from_words(high: i32, low: u32) -> Self {
        Self(((high as i64) << 32) | low as i64)
    }

    /// The wire's signed high and unsigned low word.
    pub const fn to_words(self) -> (i32, u32) {
        ((self.0 >> 32) as i32, self.0 as u32)
    }

    /// The number after this one, saturating.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The number before this one, saturating.
    pub const fn prev(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// This number plus `count`, saturating.
    pub const fn plus(self, count: u64) -> Self {
        Self(self.0.saturating_add_unsigned(count))
    }

    /// How many numbers lie in `earlier..self`; zero if `earlier` is not earlier.
    pub const fn distance_from(self, earlier: Self) -> u64 {
        if self.0 <= earlier.0 { 0 } else { self.0.abs_diff(earlier.0) }
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// The number of a fragment of a sample; the first is 1 (RTPS 2.5, 8.3.5.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FragmentNumber(pub u32);

/// At most 256 positions from a base, each in the set or not: the first position is the most significant bit of the first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bitmap {
    /// Positions counted, 0 to 256; bits past them are zero.
    len: u16,
    words: [u32; 8],
}

impl Bitmap {
    /// The most positions a set can have.
    pub const MAX_LEN: u32 = 256;

    /// No position.
    pub const EMPTY: Self = Self { len: 0, words: [0; 8] };

    /// From `len` positions and their words; `None` if `len` is over 256. Bits past `len` are cleared.
    pub fn from_words(len: u32, words: [u32; 8]) -> Option<Self> {
        let mut bitmap = Self { len: u16::try_from(len).ok().filter(|len| *len <= 256)?, words };
        for (index, word) in bitmap.words.iter_mut().enumerate() {
            let used = len.saturating_sub(index as u32 * 32).min(32);
            *word &= u32::MAX.checked_shl(32 - used).unwrap_or(0);
        }
        Some(bitmap)
    }

    /// Positions counted, 0 to 256.
    pub const fn len(&self) -> u32 {
        self.len as u32
    }

    /// True if no position is counted.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many words of the wire hold the positions: `len` / 32, rounded up.
    pub const fn word_count(&self) -> usize {
        (self.len as usize).div_ceil(32)
    }

    /// All eight words; those past `word_count` are zero.
    pub const fn words(&self) -> &[u32; 8] {
        &self.words
    }

    /// Puts a position (0 to 255) into the set and counts positions up to it; larger ones are refused with `false`.
    pub fn insert(&mut self, position: u32) -> bool {
        let Some(word) = self.words.get_mut(position as usize / 32) else { return false };
        *word |= 1 << (31 - position % 32);
        self.len = self.len.max(position as u16 + 1);
        true
    }

    /// True if the position is in the set.
    pub fn contains(&self, position: u32) -> bool {
        self.words.get(position as usize / 32).is_some_and(|word| word >> (31 - position % 32) & 1 == 1)
    }

    /// The positions in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len as u32).filter(|position| self.contains(*position))
    }
}

/// Sequence numbers near a base (RTPS 2.5, 9.4.2.6): `base` itself is position 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SequenceNumberSet {
    base: SequenceNumber,
    bitmap: Bitmap,
}

impl SequenceNumberSet {
    /// Joins base and bitmap. `None` unless `base` is 0 (some peers begin there) or more and `base + len` does not overflow.
    pub fn new(base: SequenceNumber, bitmap: Bitmap) -> Option<Self> {
        (base.0 >= 0 && base.0.checked_add(i64::from(bitmap.len())).is_some())
            .then_some(Self { base, bitmap })
    }

    /// The set without any number: read as an acknowledgement it stands for everything below `base`.
    /// A base below zero is raised to zero.
    pub fn empty(base: SequenceNumber) -> Self {
        Self { base: base.max(SequenceNumber::ZERO), bitmap: Bitmap::EMPTY }
    }

    /// The base.
    pub const fn base(&self) -> SequenceNumber {
        self.base
    }

    /// The bitmap.
    pub const fn bitmap(&self) -> &Bitmap {
        &self.bitmap
    }

    /// Puts a number in; `false` if it is below the base or 256 or more above it.
    pub fn insert(&mut self, number: SequenceNumber) -> bool {
        number >= self.base
            && u32::try_from(number.distance_from(self.base))
                .is_ok_and(|position| self.bitmap.insert(position))
    }

    /// True if the number is in the set.
    pub fn contains(&self, number: SequenceNumber) -> bool {
        number >= self.base
            && u32::try_from(number.distance_from(self.base))
                .is_ok_and(|position| self.bitmap.contains(position))
    }

    /// The numbers in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = SequenceNumber> + '_ {
        self.bitmap.iter().map(|position| self.base.plus(u64::from(position)))
    }
}

/// Fragment numbers near a base (RTPS 2.5, 9.4.2.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FragmentNumberSet {
    base: FragmentNumber,
    bitmap: Bitmap,
}

impl FragmentNumberSet {
    /// Joins base and bitmap. `None` unless `base` is 1 or more and `base + len` does not overflow.
    pub fn new(base: FragmentNumber, bitmap: Bitmap) -> Option<Self> {
        (base.0 >= 1 && base.0.checked_add(bitmap.len()).is_some()).then_some(Self { base, bitmap })
    }

    /// The set without any number; a base of zero is raised to one.
    pub fn empty(base: FragmentNumber) -> Self {
        Self { base: FragmentNumber(base.0.max(1)), bitmap: Bitmap::EMPTY }
    }

    /// The base.
    pub const fn base(&self) -> FragmentNumber {
        self.base
    }

    /// The bitmap.
    pub const fn bitmap(&self) -> &Bitmap {
        &self.bitmap
    }

    /// Puts a number in; `false` if it is below the base or 256 or more above it.
    pub fn insert(&mut self, number: FragmentNumber) -> bool {
        number.0.checked_sub(self.base.0).is_some_and(|position| self.bitmap.insert(position))
    }

    /// The numbers in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = FragmentNumber> + '_ {
        self.bitmap.iter().map(|position| FragmentNumber(self.base.0.saturating_add(position)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for number in [0, 1, i64::from(u32::MAX), 1 << 32, i64::MAX, -1 << 32] {
            let (high, low) = SequenceNumber(number).to_words();
            assert_eq!(SequenceNumber::from_words(high, low), SequenceNumber(number));
        }
        assert_eq!(SequenceNumber::UNKNOWN.to_words(), (-1, 0));
    }

    #[test]
    fn the_first_position_is_the_most_significant_bit() {
        // The example of RTPS 2.5, 9.4.2.6: 1234:/12:00110 is base 1234 with 1236 and 1237 in the set.
        let bitmap = Bitmap::from_words(12, [0x3000_0000, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let set = SequenceNumberSet::new(SequenceNumber(1234), bitmap).unwrap();
        assert!(set.iter().eq([SequenceNumber(1236), SequenceNumber(1237)]));
        assert!(set.contains(SequenceNumber(1236)) && !set.contains(SequenceNumber(1235)));
    }

    #[test]
    fn wrong_sets_cannot_be_made() {
        assert!(Bitmap::from_words(257, [0; 8]).is_none());
        assert!(SequenceNumberSet::new(SequenceNumber(-1), Bitmap::EMPTY).is_none());
        let full = Bitmap::from_words(256, [u32::MAX; 8]).unwrap();
        assert!(SequenceNumberSet::new(SequenceNumber(i64::MAX - 255), full).is_none());
        assert!(FragmentNumberSet::new(FragmentNumber(0), Bitmap::EMPTY).is_none());
        assert!(FragmentNumberSet::new(FragmentNumber(u32::MAX), full).is_none());
        assert_eq!(full.iter().count(), 256);
    }

    #[test]
    fn bits_past_the_length_are_cleared() {
        for len in 0..=256 {
            assert_eq!(Bitmap::from_words(len, [u32::MAX; 8]).unwrap().iter().count(), len as usize);
        }
    }

    #[test]
    fn insertion_respects_the_window() {
        let mut set = SequenceNumberSet::empty(SequenceNumber(10));
        assert!(!set.insert(SequenceNumber(9)) && !set.insert(SequenceNumber(266)));
        assert!(set.insert(SequenceNumber(10)) && set.insert(SequenceNumber(265)));
        assert_eq!(set.bitmap().len(), 256);
        assert_eq!(set.bitmap().word_count(), 8);
    }
}
