//! Parameter lists: (id, length, value) triples up to a sentinel (RTPS 2.5, 9.4.2.11).
//!
//! A list stands in the inline QoS of DATA and DATA_FRAG, and is the whole payload of discovery data. `ParameterList::parse`
//! walks it once and checks every length; after that no read of it can fail.
use core::fmt;

use crate::cursor::{Cursor, Endianness};

mod inline_qos;
pub mod pid;
pub(crate) mod value;
mod writer;

pub use inline_qos::{InlineQos, StatusInfo};
pub use writer::ParameterWriter;

/// One parameter of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter<'a> {
    /// The parameter id, with its vendor (0x8000) and must-understand (0x4000) bits.
    pub pid: u16,
    /// The value, a multiple of four bytes.
    pub value: &'a [u8],
    /// Byte order of the value.
    pub endianness: Endianness,
}

impl<'a> Parameter<'a> {
    /// A reader at the first byte of the value.
    #[inline]
    pub const fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.value, self.endianness)
    }
}

/// A checked parameter list: a borrowed view without the sentinel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterList<'a> {
    bytes: &'a [u8],
    endianness: Endianness,
}

impl<'a> ParameterList<'a> {
    /// The most parameters of one list, pads counted too.
    pub const MAX_PARAMETERS: usize = 512;
    /// The most bytes of one list, sentinel included.
    pub const MAX_LEN: usize = 65_536;

    /// Reads the list at the start of `bytes` and says how many bytes it takes, sentinel included.
    ///
    /// Every length must be a multiple of four, as RTPS 2.5, 9.4.2.11 demands; the length of the sentinel is not looked at.
    ///
    /// # Errors
    /// The list runs past `bytes`, has no sentinel, an unaligned length, or is over `MAX_PARAMETERS` or `MAX_LEN`.
    pub fn parse(bytes: &'a [u8], endianness: Endianness) -> Result<(Self, usize), ParameterError> {
        let mut cursor = Cursor::new(bytes, endianness);
        for _ in 0..=Self::MAX_PARAMETERS {
            let at = cursor.position();
            let fault = |pid, reason| ParameterError { pid, reason };
            let (Some(pid), Some(len)) = (cursor.u16(), cursor.u16()) else {
                return Err(fault(pid::SENTINEL, ParameterReason::NoSentinel));
            };
            if cursor.position() > Self::MAX_LEN {
                return Err(fault(pid, ParameterReason::TooLong));
            }
            if pid == pid::SENTINEL {
                let list = bytes.get(..at).unwrap_or(&[]);
                return Ok((Self { bytes: list, endianness }, cursor.position()));
            }
            if len % 4 != 0 {
                return Err(fault(pid, ParameterReason::Unaligned));
            }
            if cursor.take(usize::from(len)).is_none() {
                return Err(fault(pid, ParameterReason::Truncated));
            }
        }
        Err(ParameterError { pid: pid::PAD, reason: ParameterReason::TooMany })
    }

    /// The byte order of the list.
    pub const fn endianness(&self) -> Endianness {
        self.endianness
    }

    /// The parameters in the order of the list, pads left out.
    #[inline]
    pub const fn iter(&self) -> Parameters<'a> {
        Parameters { cursor: Cursor::new(self.bytes, self.endianness) }
    }
}

impl<'a> IntoIterator for &ParameterList<'a> {
    type Item = Parameter<'a>;
    type IntoIter = Parameters<'a>;

    fn into_iter(self) -> Parameters<'a> {
        self.iter()
    }
}

/// The parameters of a list, see [`ParameterList::iter`].
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Parameter<'a>;

    #[inline]
    fn next(&mut self) -> Option<Parameter<'a>> {
        loop {
            let pid = self.cursor.u16()?;
            let len = self.cursor.u16()?;
            let value = self.cursor.take(usize::from(len))?;
            if pid != pid::PAD {
                return Some(Parameter { pid, value, endianness: self.cursor.endianness() });
            }
        }
    }
}

/// Why a parameter list, or one parameter of it, was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterError {
    /// The parameter.
    pub pid: u16,
    /// What is wrong with it.
    pub reason: ParameterReason,
}

/// The rule for a parameter that is not known here: it is skipped, unless it must be understood and is of the standard.
/// Those of vendors are skipped in any case, since their meaning depends on the vendor.
pub(crate) const fn skip_unknown(pid: u16) -> Result<(), ParameterError> {
    if pid & (pid::MUST_UNDERSTAND | pid::VENDOR) == pid::MUST_UNDERSTAND {
        return Err(ParameterError { pid, reason: ParameterReason::MustUnderstand });
    }
    Ok(())
}

/// What is wrong with a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterReason {
    /// Its value runs past the end of the bytes.
    Truncated,
    /// The list ends without a sentinel.
    NoSentinel,
    /// Its length is no multiple of four.
    Unaligned,
    /// The list has more than [`ParameterList::MAX_PARAMETERS`].
    TooMany,
    /// The list has more than [`ParameterList::MAX_LEN`] bytes.
    TooLong,
    /// It must be understood, and is not known here.
    MustUnderstand,
    /// Its value is too short or not one of the allowed values.
    Value,
    /// Its text is longer than is allowed here.
    TextTooLong,
    /// Its text does not end with a NUL, or is longer than the value.
    TextWithoutNul,
    /// Its text has a NUL before its end.
    TextWithNul,
    /// Its text is not UTF-8.
    TextNotUtf8,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            ParameterReason::Truncated => "runs past the end",
            ParameterReason::NoSentinel => "the list has no sentinel",
            ParameterReason::Unaligned => "length is no multiple of four",
            ParameterReason::TooMany => "the list has more than 512 parameters",
            ParameterReason::TooLong => "the list is longer than 64 KiB",
            ParameterReason::MustUnderstand => "must be understood and is unknown",
            ParameterReason::Value => "has an invalid value",
            ParameterReason::TextTooLong => "text is too long",
            ParameterReason::TextWithoutNul => "text does not end with a NUL",
            ParameterReason::TextWithNul => "text has a NUL inside",
            ParameterReason::TextNotUtf8 => "text is not UTF-8",
        };
        write!(f, "parameter {:#06x}: {reason}", self.pid)
    }
}

impl core::error::Error for ParameterError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_walked_in_both_byte_orders() {
        let little = [0, 0, 4, 0, 9, 9, 9, 9, 0x70, 0, 4, 0, 1, 2, 3, 4, 1, 0, 0, 0, 7];
        let (list, consumed) = ParameterList::parse(&little, Endianness::Little).unwrap();
        assert_eq!(consumed, 20);
        let found: alloc::vec::Vec<_> = list.iter().map(|p| (p.pid, p.value)).collect();
        assert_eq!(found, [(pid::KEY_HASH, &[1, 2, 3, 4][..])]);

        let big = [0, 0x70, 0, 4, 1, 2, 3, 4, 0, 1, 0xff, 0xff];
        let (list, consumed) = ParameterList::parse(&big, Endianness::Big).unwrap();
        assert_eq!((list.iter().count(), consumed), (1, 12));
    }

    #[test]
    fn wrong_lists_are_refused_with_the_parameter() {
        let reason = |bytes: &[u8]| ParameterList::parse(bytes, Endianness::Little).unwrap_err();
        assert_eq!(reason(&[]).reason, ParameterReason::NoSentinel);
        assert_eq!(reason(&[0x70, 0, 0, 0]).reason, ParameterReason::NoSentinel);
        assert_eq!(
            reason(&[0x70, 0, 8, 0, 1, 2, 3, 4]),
            ParameterError { pid: 0x70, reason: ParameterReason::Truncated }
        );
        assert_eq!(reason(&[0x70, 0, 3, 0, 1, 2, 3, 4]).reason, ParameterReason::Unaligned);
    }
}
