//! The one reader of received bytes: every read is checked, none can panic, and errors say where.
use alloc::vec::Vec;
use core::fmt;

use crate::oxm::OxmField;

/// Why bytes are no message that this crate reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end before the field.
    Short,
    /// A length that is smaller than what must be there, larger than what is, or no multiple of eight where it must be.
    Length,
    /// Bytes are left after the last field.
    Trailing,
    /// A version other than 1.3 (in anything but HELLO and ERROR).
    Version(u8),
    /// A message, multipart, action, instruction, band or property of a type that OpenFlow 1.3 does not know, and which.
    UnknownType(&'static str, u16),
    /// A field holds what the specification forbids; which field.
    Value(&'static str),
    /// A match field whose prerequisite does not stand before it (7.2.3.6).
    Prerequisite(OxmField),
    /// A match field that occurs twice.
    Duplicate(OxmField),
    /// A value of a match field that has more bits than the field, or bits where its mask has none.
    Bits(OxmField),
}

/// Bytes that cannot be read, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Bytes from the start of the message to the trouble.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        match self.problem {
            Problem::Short => write!(f, "the message ends at octet {offset}, in the middle of a field"),
            Problem::Length => write!(f, "octet {offset}: a length that cannot be"),
            Problem::Trailing => write!(f, "octet {offset}: more octets than the message has fields"),
            Problem::Version(version) => write!(f, "version {version:#04x} instead of 0x04"),
            Problem::UnknownType(what, number) => write!(f, "octet {offset}: unknown {what} type {number}"),
            Problem::Value(what) => write!(f, "octet {offset}: forbidden value of {what}"),
            Problem::Prerequisite(field) => {
                write!(f, "octet {offset}: {field:?} without the field that it needs before it")
            }
            Problem::Duplicate(field) => write!(f, "octet {offset}: {field:?} occurs twice"),
            Problem::Bits(field) => write!(f, "octet {offset}: {field:?} has bits that it may not have"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// What every decoder gives.
pub(crate) type Result<T> = core::result::Result<T, DecodeError>;

/// A position in received bytes. Numbers are in network byte order.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Bytes of the message before `bytes`.
    base: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, base: 0 }
    }

    pub(crate) const fn remaining(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// An error at this position.
    pub(crate) const fn error(&self, problem: Problem) -> DecodeError {
        DecodeError { offset: self.base, problem }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or(self.error(Problem::Short))?;
        self.bytes = rest;
        self.base = self.base.saturating_add(len);
        Ok(taken)
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes;
        self.base = self.base.saturating_add(rest.len());
        self.bytes = &[];
        rest
    }

    pub(crate) fn skip(&mut self, len: usize) -> Result<()> {
        self.take(len).map(|_| ())
    }

    /// The bytes left, as a vector.
    pub(crate) fn rest_owned(&mut self) -> Vec<u8> {
        self.rest().to_vec()
    }

    /// A reader of the next `len` bytes, which are skipped here. Too few of them are a wrong length.
    pub(crate) fn part(&mut self, len: usize) -> Result<Reader<'a>> {
        let base = self.base;
        let length = self.error(Problem::Length);
        Ok(Reader { bytes: self.take(len).map_err(|_| length)?, base })
    }

    /// The number of two bytes at `at` bytes from here, without reading on.
    pub(crate) fn peek_u16(&self, at: usize) -> Result<u16> {
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| u16::from_be_bytes(*bytes)).ok_or(self.error(Problem::Short))
    }

    /// A part that says its own length, at `length_at` bytes from its start; its length is at least `least`.
    pub(crate) fn counted(&mut self, length_at: usize, least: usize) -> Result<Reader<'a>> {
        let len = usize::from(self.peek_u16(length_at)?);
        if len < least {
            return Err(self.error(Problem::Length));
        }
        self.part(len)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let array = *self.bytes.first_chunk::<N>().ok_or(self.error(Problem::Short))?;
        self.skip(N)?;
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[octet]| octet)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// `Ok` if nothing is left.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.error(Problem::Trailing)) }
    }

    /// All values up to the end. Room is taken once, for as many as `length_of` finds, so that the heap follows the bytes.
    pub(crate) fn list<T>(
        &mut self,
        length_of: impl Fn(&Self) -> Result<usize>,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut ahead = self.clone();
        let mut count = 0_usize;
        while !ahead.is_empty() {
            let len = length_of(&ahead)?;
            if len == 0 {
                return Err(ahead.error(Problem::Length));
            }
            ahead.part(len)?;
            count = count.saturating_add(1);
        }
        let mut list = Vec::with_capacity(count);
        while !self.is_empty() {
            list.push(read(self)?);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end_and_say_where() {
        let mut reader = Reader::new(&[0, 1, 2, 3, 4]);
        assert_eq!(reader.u16(), Ok(1));
        assert_eq!(reader.u32(), Err(DecodeError { offset: 2, problem: Problem::Short }));
        assert_eq!(reader.part(4).map(|_| ()), Err(DecodeError { offset: 2, problem: Problem::Length }));
        assert_eq!(reader.finish(), Err(DecodeError { offset: 2, problem: Problem::Trailing }));
        assert_eq!(reader.rest(), [2, 3, 4]);
        assert_eq!(reader.finish(), Ok(()));
        assert_eq!(reader.peek_u16(0), Err(DecodeError { offset: 5, problem: Problem::Short }));
    }

    #[test]
    fn a_list_that_does_not_advance_ends() {
        let mut reader = Reader::new(&[0, 0, 0, 0]);
        let list = reader.list(|ahead| ahead.peek_u16(0).map(usize::from), Reader::u16);
        assert_eq!(list, Err(DecodeError { offset: 0, problem: Problem::Length }));
    }
}
