//! Which events of an origin have come, so that none is delivered twice.
/// Numbers that are told apart below the largest that has come. Lower ones are taken as known.
const WINDOW: u64 = 4_096;
const WORDS: usize = (WINDOW / 64) as usize;

/// The numbers of an origin that have come.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    incarnation: u64,
    /// One more than the largest number.
    end: u64,
    /// A bit for each number of the window, at its remainder.
    bits: [u64; WORDS],
}

impl Seen {
    pub(crate) const fn new() -> Self {
        Self { incarnation: 0, end: 0, bits: [0; WORDS] }
    }

    fn place(number: u64) -> (usize, u64) {
        ((number % WINDOW / 64) as usize, 1 << (number % 64))
    }

    /// Notes a number; false if it has come before, or may have.
    pub(crate) fn is_new(&mut self, incarnation: u64, number: u64) -> bool {
        if incarnation < self.incarnation || number == u64::MAX {
            return false;
        }
        if incarnation > self.incarnation {
            *self = Self { incarnation, ..Self::new() };
        }
        if number >= self.end {
            if number - self.end >= WINDOW {
                self.bits = [0; WORDS];
            } else {
                // The numbers between have not come; the number itself is noted below.
                for skipped in self.end..=number {
                    let (word, bit) = Self::place(skipped);
                    if let Some(word) = self.bits.get_mut(word) {
                        *word &= !bit;
                    }
                }
            }
            self.end = number + 1;
        } else if self.end - number > WINDOW {
            return false;
        }
        let (word, bit) = Self::place(number);
        let Some(word) = self.bits.get_mut(word) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::BTreeSet;
    use testkit::random::Random;

    #[test]
    fn a_number_is_new_once_and_later_incarnations_begin_anew() {
        for case in 0..200 {
            let mut random = Random::of_case(7, case);
            let (mut seen, mut model, mut top) = (Seen::new(), BTreeSet::new(), 0);
            for _ in 0..2_000 {
                let number = match random.below(4) {
                    0 => top + random.range(0, 3),
                    1 => top + random.range(0, 2 * WINDOW),
                    _ => u64::saturating_sub(top, random.range(0, WINDOW * 3 / 2)),
                };
                let is_low = number < top && top - number >= WINDOW;
                top = top.max(number);
                assert_eq!(seen.is_new(3, number), !is_low && model.insert(number), "{case}: {number}");
            }
            assert!(!seen.is_new(2, top + 1));
            assert!(seen.is_new(4, 0));
        }
    }
}
