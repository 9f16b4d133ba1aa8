//! Type, length and value: what an LLDPDU is made of (IEEE 802.1AB-2016, 8.4).
use alloc::vec::Vec;
use core::fmt;

/// Why a frame is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no frame of LLDP: it is too short, or of another EtherType.
    Other,
    /// It ends within a TLV.
    Cut,
    /// Chassis, port and time to live are not the first three, in this order and once each.
    Order,
    /// A TLV is shorter or longer than its type allows.
    Length(u8),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("it is no frame of LLDP"),
            Self::Cut => f.write_str("it ends within a TLV"),
            Self::Order => {
                f.write_str("chassis, port and time to live do not stand first, in this order and once each")
            }
            Self::Length(kind) => write!(f, "a TLV of type {kind} has another length than it may"),
        }
    }
}

impl core::error::Error for ReadError {}

/// The TLVs of an LLDPDU, one after the other; those after the end are padding.
pub(crate) struct Tlvs<'b> {
    rest: &'b [u8],
}

impl<'b> Tlvs<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next one, with its type. `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u8, &'b [u8])>, ReadError> {
        let (head, rest) = match self.rest {
            [] => return Ok(None),
            [_] => return Err(ReadError::Cut),
            [first, second, rest @ ..] => ([*first, *second], rest),
        };
        let word = u16::from_be_bytes(head);
        let (kind, length) = ((word >> 9) as u8, usize::from(word & 0x1ff));
        let value = rest.get(..length).ok_or(ReadError::Cut)?;
        self.rest = rest.get(length..).unwrap_or_default();
        match (kind, length) {
            (0, 0) => Ok(None),
            (0, _) => Err(ReadError::Length(0)),
            _ => Ok(Some((kind, value))),
        }
    }
}

/// Writes a TLV of up to 511 bytes in parts. False, and nothing is written, if it is longer.
pub(crate) fn put(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) -> bool {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let Some(length) = u16::try_from(length).ok().filter(|length| *length < 512) else { return false };
    out.extend((u16::from(kind) << 9 | length).to_be_bytes());
    parts.iter().for_each(|part| out.extend(*part));
    true
}
