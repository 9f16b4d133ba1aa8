//! What the headers of members say.

/// The greatest member id that a short parameter header of XCDR version 1 can hold (XTypes 1.3, table 34).
pub(super) const FITS_SHORT_PARAMETER_ID: u32 = 0x3f00;
/// The parameter id that announces a long header.
pub(super) const PID_EXTENDED: u16 = 0x3f01;
/// The parameter id that ends a list.
pub(super) const PID_LIST_END: u16 = 0x3f02;
/// Must understand, in the id word of a short parameter header.
pub(super) const SHORT_MUST_UNDERSTAND: u16 = 0x4000;
/// The id in the id word of a short parameter header, and the flag for ids of implementations.
pub(super) const SHORT_ID_MASK: u16 = 0xbfff;
/// Must understand, in the id word of a long parameter header.
pub(super) const LONG_MUST_UNDERSTAND: u32 = 0x4000_0000;
/// The id in the id word of a long parameter header, and the flag for ids of implementations.
pub(super) const LONG_ID_MASK: u32 = 0x8fff_ffff;
/// Must understand, in an EMHEADER.
pub(super) const EMHEADER_MUST_UNDERSTAND: u32 = 0x8000_0000;
/// The id in an EMHEADER, and thus the greatest member id.
pub(super) const MEMBER_ID_MASK: u32 = 0x0fff_ffff;

/// What the encoder needs to know of a member besides its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The name, for errors.
    pub name: &'static str,
    /// The member id, at most 0x0fffffff.
    pub id: u32,
    /// A receiver that does not know the member must not use the sample.
    pub must_understand: bool,
    /// Most elements of a string or collection whose type has no bound of its own.
    pub bound: Option<usize>,
}

/// The length code (LC) of an EMHEADER: how the length of a member is told (XTypes 1.3, 7.4.3.4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthCode {
    /// One byte.
    One = 0,
    /// Two bytes.
    Two = 1,
    /// Four bytes.
    Four = 2,
    /// Eight bytes.
    Eight = 3,
    /// A length follows the EMHEADER.
    NextInt = 4,
    /// The value begins with its own length in bytes.
    OwnOctets = 5,
    /// The value begins with a count of elements of four bytes.
    OwnFours = 6,
    /// The value begins with a count of elements of eight bytes.
    OwnEights = 7,
}

impl LengthCode {
    /// The code of a primitive of `size` bytes.
    pub const fn primitive(size: usize) -> Self {
        match size {
            1 => Self::One,
            2 => Self::Two,
            4 => Self::Four,
            8 => Self::Eight,
            _ => Self::NextInt,
        }
    }

    /// The code of a sequence whose elements are encoded with `element`; `delimited` if it begins with a DHEADER.
    pub const fn sequence(element: Self, delimited: bool) -> Self {
        match element {
            _ if delimited => Self::OwnOctets,
            Self::One => Self::OwnOctets,
            Self::Four => Self::OwnFours,
            Self::Eight => Self::OwnEights,
            _ => Self::NextInt,
        }
    }

    /// The code of an array or map; `delimited` if it begins with a DHEADER.
    pub const fn delimited(delimited: bool) -> Self {
        if delimited { Self::OwnOctets } else { Self::NextInt }
    }
}
