//! The four bytes before every serialized payload (RTPS 2.5, 10.5; XTypes 1.3, 7.6.3.1.2).
use super::{DecodeError, DecodeFault};
use crate::cursor::Endianness;
use crate::qos::DataRepresentation;

/// Bytes of the encapsulation header.
pub const ENCAPSULATION_SIZE: usize = 4;

/// The version of the CDR encoding (XTypes 1.3, 7.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Representation {
    /// Version 1: CDR and PL_CDR, values of eight bytes are aligned to eight.
    Xcdr1,
    /// Version 2: PLAIN_CDR2, DELIMITED_CDR2 and PL_CDR2, no alignment beyond four.
    Xcdr2,
}

impl From<Representation> for DataRepresentation {
    fn from(representation: Representation) -> Self {
        match representation {
            Representation::Xcdr1 => Self::XCDR1,
            Representation::Xcdr2 => Self::XCDR2,
        }
    }
}

/// How far a type may change while old and new programs talk (XTypes 1.3, 7.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extensibility {
    /// Not at all.
    Final,
    /// Members may be added at the end.
    Appendable,
    /// Members may come, go and change places.
    Mutable,
}

/// How a value is written: version and byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoding {
    /// CDR version.
    pub representation: Representation,
    /// Byte order.
    pub endianness: Endianness,
}

impl Encoding {
    /// XCDR version 1 in the byte order of this machine.
    pub const XCDR1: Self = Self { representation: Representation::Xcdr1, endianness: NATIVE };
    /// XCDR version 2 in the byte order of this machine.
    pub const XCDR2: Self = Self { representation: Representation::Xcdr2, endianness: NATIVE };

    /// The encapsulation header for a type and a number of padding bytes (0 to 3) after the value.
    pub const fn header(self, extensibility: Extensibility, padding: u8) -> [u8; ENCAPSULATION_SIZE] {
        let kind = match (self.representation, extensibility) {
            (Representation::Xcdr1, Extensibility::Final | Extensibility::Appendable) => 0,
            (Representation::Xcdr1, Extensibility::Mutable) => 2,
            (Representation::Xcdr2, Extensibility::Final) => 6,
            (Representation::Xcdr2, Extensibility::Appendable) => 8,
            (Representation::Xcdr2, Extensibility::Mutable) => 10,
        };
        let order = match self.endianness {
            Endianness::Big => 0,
            Endianness::Little => 1,
        };
        [0, kind | order, 0, padding & 3]
    }

    /// Reads the header of a payload of a type with this extensibility; gives the encoding and the bytes of the value,
    /// without the padding that the options tell of. The other bits of the options are ignored.
    pub fn open(payload: &[u8], extensibility: Extensibility) -> Result<(Self, &[u8]), DecodeError> {
        let Some((&[high, low, _, options], body)) = payload.split_first_chunk() else {
            return Err(DecodeError { fault: DecodeFault::Truncated, at: 0, member: None });
        };
        let id = u16::from_be_bytes([high, low]);
        let endianness = if low & 1 == 0 { Endianness::Big } else { Endianness::Little };
        let (representation, fits) = match id & !1 {
            0 => (Representation::Xcdr1, extensibility != Extensibility::Mutable),
            2 => (Representation::Xcdr1, extensibility == Extensibility::Mutable),
            6 => (Representation::Xcdr2, extensibility == Extensibility::Final),
            8 => (Representation::Xcdr2, extensibility == Extensibility::Appendable),
            10 => (Representation::Xcdr2, extensibility == Extensibility::Mutable),
            _ => {
                return Err(DecodeError {
                    fault: DecodeFault::UnknownEncapsulation(id),
                    at: 0,
                    member: None,
                });
            }
        };
        if !fits {
            return Err(DecodeError { fault: DecodeFault::WrongEncapsulation(id), at: 0, member: None });
        }
        let padding = usize::from(options & 3);
        let body = body.len().checked_sub(padding).and_then(|len| body.get(..len)).unwrap_or(&[]);
        Ok((Self { representation, endianness }, body))
    }
}

/// Bytes of a payload around a value of `size` bytes: header before, padding to a multiple of four after.
pub const fn payload_size(size: usize) -> usize {
    (size.saturating_add(3) & !3).saturating_add(ENCAPSULATION_SIZE)
}

const NATIVE: Endianness = if cfg!(target_endian = "big") { Endianness::Big } else { Endianness::Little };
