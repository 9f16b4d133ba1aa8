//! Messages out of the bytes of a TCP connection, which come in any pieces.
use alloc::vec::Vec;
use core::fmt;

use crate::message::{HEADER_LEN, Header};

/// A length in a header that ends the connection: after it the begin of the next message is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadLength {
    /// The length in the header.
    pub len: u16,
    /// The longest that is taken.
    pub limit: u16,
}

impl fmt::Display for BadLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of {} octets, allowed are {HEADER_LEN} to {}", self.len, self.limit)
    }
}

impl core::error::Error for BadLength {}

/// Cuts bytes into messages. It keeps at most the bytes of one unfinished message.
#[derive(Clone, Debug)]
pub struct Framer {
    /// The beginning of a message, or a whole one that was given out last.
    partial: Vec<u8>,
    given: bool,
    limit: u16,
}

impl Framer {
    /// Refuses messages of more bytes than the limit.
    pub const fn new(limit: u16) -> Self {
        Self { partial: Vec::new(), given: false, limit }
    }

    /// The next whole message; what was used is taken from the front of `input`. `None` when more bytes are needed: then
    /// all of `input` has been used. A message that lies whole in `input` is not copied.
    ///
    /// # Errors
    /// A length that is too small or above the limit; the connection is then of no more use.
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<&'s [u8]>, BadLength> {
        if self.given {
            self.partial.clear();
            self.given = false;
        }
        if self.partial.is_empty()
            && let Some(len) = self.len_of(input)?
            && let Some((message, rest)) = input.split_at_checked(len)
        {
            *input = rest;
            return Ok(Some(message));
        }
        self.fill(input, HEADER_LEN);
        let Some(len) = self.len_of(&self.partial)? else { return Ok(None) };
        self.fill(input, len);
        if self.partial.len() < len {
            return Ok(None);
        }
        self.given = true;
        Ok(Some(&self.partial))
    }

    /// Takes bytes until the message has `len`.
    fn fill(&mut self, input: &mut &[u8], len: usize) {
        let missing = len.saturating_sub(self.partial.len()).min(input.len());
        let (taken, rest) = input.split_at_checked(missing).unwrap_or((input, &[]));
        self.partial.extend_from_slice(taken);
        *input = rest;
    }

    /// The length in a header, if it is there.
    fn len_of(&self, bytes: &[u8]) -> Result<Option<usize>, BadLength> {
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
        let [_, _, high, low, ..] = *header;
        let len = u16::from_be_bytes([high, low]);
        match Header::read(header) {
            Ok(_) if len <= self.limit => Ok(Some(usize::from(len))),
            _ => Err(BadLength { len, limit: self.limit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: [u8; 28] = [
        4, 2, 0, 8, 0, 0, 0, 1, // an echo without octets
        4, 2, 0, 12, 0, 0, 0, 2, 1, 2, 3, 4, // one with four
        4, 2, 0, 8, 0, 0, 0, 3,
    ];

    #[test]
    fn pieces_of_any_size_give_the_same_messages() {
        for size in 1..=STREAM.len() {
            let mut framer = Framer::new(u16::MAX);
            let mut messages = Vec::new();
            for piece in STREAM.chunks(size) {
                let mut input = piece;
                while let Some(message) = framer.next(&mut input).unwrap() {
                    messages.push(message.to_vec());
                }
                assert!(input.is_empty());
            }
            let expected: [&[u8]; 3] = [&STREAM[..8], &STREAM[8..20], &STREAM[20..]];
            assert_eq!(messages, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn lengths_that_cannot_be_end_it() {
        let next = |bytes: &[u8], limit| Framer::new(limit).next(&mut &*bytes).map(|_| ());
        assert_eq!(next(&[4, 2, 0, 7, 0, 0, 0, 0], 100), Err(BadLength { len: 7, limit: 100 }));
        assert_eq!(next(&[4, 2, 0, 101, 0, 0, 0, 0], 100), Err(BadLength { len: 101, limit: 100 }));
        assert_eq!(next(&[4, 2, 0, 100, 0, 0, 0, 0], 100), Ok(()));
        assert_eq!(next(&[4, 2, 0, 7], 100), Ok(()), "half a header says nothing");
    }
}
