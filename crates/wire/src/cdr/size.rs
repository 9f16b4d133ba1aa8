//! How large the encoding of any value of a type can become, computed by the compiler.
//!
//! CDR pads: how many bytes a value takes depends on where it starts. A bound is therefore kept for each start
//! offset modulo 8. The end of an encoding never moves back when its start moves forward, so the greatest end after
//! each part is the greatest end of the whole, and bounds of parts can be chained without losing exactness.
use super::Extensibility;
use super::member::{FITS_SHORT_PARAMETER_ID, LengthCode};

/// The least and the greatest number of bytes that values of a type take, for every alignment of their start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeBound {
    min: usize,
    /// Greatest size, padding before included, for each start offset modulo 8. `None`: without bound.
    max: Option<[usize; 8]>,
}

impl SizeBound {
    /// Nothing is written.
    pub const EMPTY: Self = Self { min: 0, max: Some([0; 8]) };
    /// Anything from no bytes upwards. For types that contain themselves.
    pub const UNBOUNDED: Self = Self { min: 0, max: None };

    /// `size` bytes aligned to `alignment` (1, 2, 4 or 8).
    pub const fn primitive(size: usize, alignment: usize) -> Self {
        let mut max = [0; 8];
        let mut start = 0;
        while start < 8 {
            let padding = (alignment - start % alignment) % alignment;
            max[start] = padding + size;
            start += 1;
        }
        Self { min: size, max: Some(max) }
    }

    /// The greatest size from the start of a serialized payload, in bytes after the encapsulation header.
    pub const fn max(self) -> Option<usize> {
        match self.max {
            Some(max) => Some(max[0]),
            None => None,
        }
    }

    /// The least size in bytes, padding left out.
    pub const fn min(self) -> usize {
        self.min
    }

    /// This, followed by another.
    pub const fn then(self, next: Self) -> Self {
        Self { min: self.min.saturating_add(next.min), max: chain(self.max, next.max) }
    }

    /// This, `count` times.
    pub const fn repeat(self, count: usize) -> Self {
        // Square and multiply: the compiler must not loop once per element.
        let mut whole = Self::EMPTY.max;
        let mut power = self.max;
        let mut left = count;
        while left > 0 {
            if left % 2 == 1 {
                whole = chain(whole, power);
            }
            left /= 2;
            if left > 0 {
                power = chain(power, power);
            }
        }
        Self { min: self.min.saturating_mul(count), max: whole }
    }

    /// Either this or another.
    pub const fn or(self, other: Self) -> Self {
        let min = if self.min < other.min { self.min } else { other.min };
        let max = match (self.max, other.max) {
            (Some(mut ours), Some(theirs)) => {
                let mut start = 0;
                while start < 8 {
                    if ours[start] < theirs[start] {
                        ours[start] = theirs[start];
                    }
                    start += 1;
                }
                Some(ours)
            }
            _ => None,
        };
        Self { min, max }
    }

    /// The same greatest size, and a least size of `min`.
    pub const fn with_min(self, min: usize) -> Self {
        Self { min, max: self.max }
    }

    /// A sequence or map: a count and up to `bound` elements, after a DHEADER if `delimited`.
    pub const fn sequence(element: Self, bound: Option<usize>, delimited: bool) -> Self {
        let head = Self::primitive(if delimited { 8 } else { 4 }, 4);
        let max = match bound {
            Some(bound) => head.then(element.repeat(bound)).max,
            None => None,
        };
        Self { min: head.min, max }
    }

    /// An array of `count` elements, after a DHEADER if `delimited`.
    pub const fn array(element: Self, count: usize, delimited: bool) -> Self {
        let elements = element.repeat(count);
        if delimited { Self::primitive(4, 4).then(elements) } else { elements }
    }

    /// A member of a structure or union in XCDR version 1 (XTypes 1.3, 7.4.1.1.5).
    pub const fn member_xcdr1(self, extensibility: Extensibility, id: u32, optional: bool) -> Self {
        if !optional && !matches!(extensibility, Extensibility::Mutable) {
            return self;
        }
        let max = match self.max {
            // The value is aligned as if it were the first byte.
            Some(max) => {
                let short = id <= FITS_SHORT_PARAMETER_ID && max[0] <= u16::MAX as usize;
                let header = Self::primitive(if short { 4 } else { 12 }, 4);
                chain(header.max, Some([max[0]; 8]))
            }
            None => None,
        };
        Self { min: if matches!(extensibility, Extensibility::Mutable) { 0 } else { 4 }, max }
    }

    /// A member of a structure or union in XCDR version 2 (XTypes 1.3, 7.4.3.4).
    pub const fn member_xcdr2(self, extensibility: Extensibility, code: LengthCode, optional: bool) -> Self {
        match extensibility {
            Extensibility::Mutable => {
                let header = if matches!(code, LengthCode::NextInt) { 8 } else { 4 };
                Self::primitive(header, 4).then(self).with_min(0)
            }
            _ if optional => Self::primitive(1, 1).then(self).with_min(1),
            _ => self,
        }
    }

    /// A structure or union around its members, in XCDR version 1.
    pub const fn aggregate_xcdr1(self, extensibility: Extensibility) -> Self {
        match extensibility {
            Extensibility::Mutable => self.then(Self::primitive(4, 4)).with_min(4),
            _ => self,
        }
    }

    /// A structure or union around its members, in XCDR version 2.
    pub const fn aggregate_xcdr2(self, extensibility: Extensibility) -> Self {
        match extensibility {
            Extensibility::Final => self,
            _ => Self::primitive(4, 4).then(self).with_min(4),
        }
    }
}

/// The greatest sizes of one part followed by another; a size that a `usize` cannot hold counts as unbounded.
const fn chain(first: Option<[usize; 8]>, second: Option<[usize; 8]>) -> Option<[usize; 8]> {
    let (Some(first), Some(second)) = (first, second) else { return None };
    let mut max = [0; 8];
    let mut start = 0;
    while start < 8 {
        let next = (start + first[start] % 8) % 8;
        match first[start].checked_add(second[next]) {
            Some(sum) => max[start] = sum,
            None => return None,
        }
        start += 1;
    }
    Some(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_counted_for_every_start() {
        let octet = SizeBound::primitive(1, 1);
        let double = SizeBound::primitive(8, 8);
        assert_eq!(octet.then(double).max(), Some(16));
        assert_eq!(octet.then(SizeBound::primitive(8, 4)).max(), Some(12));
        assert_eq!(octet.then(double).repeat(3).max(), Some(48));
        assert_eq!(octet.then(double).then(octet).repeat(2).max(), Some(17 + 7 + 8 + 1));
        assert_eq!(SizeBound::sequence(double, Some(0), false).max(), Some(4));
        assert_eq!(SizeBound::sequence(double, Some(2), false).max(), Some(24));
    }

    #[test]
    fn repetition_equals_a_chain_of_that_many() {
        let element =
            SizeBound::primitive(2, 2).then(SizeBound::primitive(8, 8)).then(SizeBound::primitive(1, 1));
        let mut chained = SizeBound::EMPTY;
        for count in 0..40 {
            assert_eq!(element.repeat(count), chained);
            chained = chained.then(element);
        }
    }

    #[test]
    fn sizes_beyond_the_machine_are_unbounded() {
        assert_eq!(SizeBound::primitive(8, 8).repeat(usize::MAX).max(), None);
        assert_eq!(SizeBound::UNBOUNDED.then(SizeBound::primitive(1, 1)).max(), None);
        assert_eq!(SizeBound::primitive(1, 1).or(SizeBound::UNBOUNDED).max(), None);
    }

    #[test]
    fn long_members_need_a_long_header_in_version_1() {
        let short = SizeBound::primitive(1, 1).repeat(65535).member_xcdr1(Extensibility::Mutable, 1, false);
        assert_eq!(short.max(), Some(65539));
        let long = SizeBound::primitive(1, 1).repeat(65536).member_xcdr1(Extensibility::Mutable, 1, false);
        assert_eq!(long.max(), Some(65548));
    }
}
