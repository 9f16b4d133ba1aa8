//! What can go wrong between a value and its bytes, and where.
use core::fmt;

/// Why a value has no encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncodeFault {
    /// The given space is too small.
    BufferTooSmall,
    /// A string, sequence or map has more elements than its type allows.
    OverBound {
        /// Most elements of the type.
        bound: usize,
        /// Elements of the value.
        actual: usize,
    },
    /// A length does not fit into the 32 bits that CDR has for it.
    TooLong,
    /// A string contains the character NUL, which ends strings on the wire.
    EmbeddedNul,
    /// Bits outside of the bit bound of a bitmask are set.
    UnknownBits,
    /// The label that a union keeps is not one of its case.
    WrongDiscriminator,
    /// Structures and unions are nested deeper than `MAX_DEPTH`.
    TooDeep,
    /// The type has no key.
    NoKey,
}

/// A value that could not be encoded: what is wrong, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodeError {
    /// What is wrong.
    pub fault: EncodeFault,
    /// Bytes written before, counted after the encapsulation header.
    pub at: usize,
    /// The innermost member that was being written.
    pub member: Option<&'static str>,
}

impl EncodeError {
    /// Names the member, if no inner one is named yet.
    pub fn in_member(mut self, name: &'static str) -> Self {
        self.member.get_or_insert(name);
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            EncodeFault::BufferTooSmall => f.write_str("the buffer is too small")?,
            EncodeFault::OverBound { bound, actual } => {
                write!(f, "{actual} elements exceed the bound {bound}")?
            }
            EncodeFault::TooLong => f.write_str("the length exceeds 32 bits")?,
            EncodeFault::EmbeddedNul => f.write_str("the string contains NUL")?,
            EncodeFault::UnknownBits => f.write_str("bits outside of the bitmask's bit bound are set")?,
            EncodeFault::WrongDiscriminator => f.write_str("the label is not one of the union's case")?,
            EncodeFault::TooDeep => f.write_str("values are nested too deeply")?,
            EncodeFault::NoKey => f.write_str("the type has no key")?,
        }
        place(f, self.at, self.member)
    }
}

impl core::error::Error for EncodeError {}

/// Why bytes are not an encoding of the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeFault {
    /// The bytes end before the value does.
    Truncated,
    /// An encapsulation identifier that is no CDR encoding (RTPS 2.5, 10.5), as it was received.
    UnknownEncapsulation(u16),
    /// The encapsulation identifier is not that of the type's extensibility.
    WrongEncapsulation(u16),
    /// More elements than the type allows.
    OverBound {
        /// Most elements of the type.
        bound: usize,
        /// Elements announced.
        actual: usize,
    },
    /// More elements are announced than the bytes can hold.
    ImpossibleCount(u32),
    /// A boolean that is neither 0 nor 1.
    NotABool(u8),
    /// A string without the NUL at its end.
    MissingNul,
    /// A string with a NUL before its end.
    EmbeddedNul,
    /// A string that is not UTF-8.
    NotUtf8,
    /// A wide string whose length is no whole number of UTF-16 code units.
    OddWideString,
    /// No literal of the enumeration has this value.
    UnknownLiteral(i64),
    /// No case of the union has the discriminator's value, and there is no default case.
    UnknownDiscriminator,
    /// Bits outside of the bit bound of a bitmask are set.
    UnknownBits,
    /// A member that is unknown here and must be understood.
    MustUnderstand(u32),
    /// A member id that is not the expected one.
    UnexpectedMember(u32),
    /// A parameter header of XCDR version 1 that makes no sense.
    BadParameterHeader,
    /// A key member is missing.
    MissingKey,
    /// Structures and unions are nested deeper than `MAX_DEPTH`.
    TooDeep,
    /// The type has no key.
    NoKey,
}

/// Bytes that could not be decoded: what is wrong, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// What is wrong.
    pub fault: DecodeFault,
    /// Bytes read before, counted after the encapsulation header.
    pub at: usize,
    /// The innermost member that was being read.
    pub member: Option<&'static str>,
}

impl DecodeError {
    /// Names the member, if no inner one is named yet.
    pub fn in_member(mut self, name: &'static str) -> Self {
        self.member.get_or_insert(name);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            DecodeFault::Truncated => f.write_str("the bytes end too early")?,
            DecodeFault::UnknownEncapsulation(id) => write!(f, "unknown encapsulation identifier {id:#06x}")?,
            DecodeFault::WrongEncapsulation(id) => {
                write!(f, "encapsulation identifier {id:#06x} does not fit the type's extensibility")?;
            }
            DecodeFault::OverBound { bound, actual } => {
                write!(f, "{actual} elements exceed the bound {bound}")?
            }
            DecodeFault::ImpossibleCount(count) => write!(f, "{count} elements do not fit into the bytes")?,
            DecodeFault::NotABool(octet) => write!(f, "{octet} is no boolean")?,
            DecodeFault::MissingNul => f.write_str("the string does not end with NUL")?,
            DecodeFault::EmbeddedNul => f.write_str("the string contains NUL")?,
            DecodeFault::NotUtf8 => f.write_str("the string is not UTF-8")?,
            DecodeFault::OddWideString => f.write_str("the wide string ends inside of a code unit")?,
            DecodeFault::UnknownLiteral(value) => write!(f, "no literal has the value {value}")?,
            DecodeFault::UnknownDiscriminator => f.write_str("no case has the discriminator's value")?,
            DecodeFault::UnknownBits => f.write_str("bits outside of the bitmask's bit bound are set")?,
            DecodeFault::MustUnderstand(id) => write!(f, "unknown member {id:#x} must be understood")?,
            DecodeFault::UnexpectedMember(id) => write!(f, "member {id:#x} is not the expected one")?,
            DecodeFault::BadParameterHeader => f.write_str("bad parameter header")?,
            DecodeFault::MissingKey => f.write_str("a key member is missing")?,
            DecodeFault::TooDeep => f.write_str("values are nested too deeply")?,
            DecodeFault::NoKey => f.write_str("the type has no key")?,
        }
        place(f, self.at, self.member)
    }
}

impl core::error::Error for DecodeError {}

fn place(f: &mut fmt::Formatter<'_>, at: usize, member: Option<&'static str>) -> fmt::Result {
    match member {
        Some(member) => write!(f, ", member {member:?} at octet {at}"),
        None => write!(f, ", at octet {at}"),
    }
}
