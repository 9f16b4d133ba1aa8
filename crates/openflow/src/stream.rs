//! Messages out of the bytes of a TCP connection, which come in any pieces.
use core::fmt;

use framing::Framing;

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
        write!(f, "a message of {} bytes, allowed are {HEADER_LEN} to {}", self.len, self.limit)
    }
}

impl core::error::Error for BadLength {}

/// The longest message that is taken, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Longest(pub u16);

impl Framing for Longest {
    type Error = BadLength;
    const HEADER_LEN: usize = HEADER_LEN;

    fn message_len(&self, header: &[u8]) -> Result<usize, BadLength> {
        let header = header.first_chunk::<HEADER_LEN>();
        let len = header.map_or(0, |[_, _, high, low, ..]| u16::from_be_bytes([*high, *low]));
        match header.map(|header| Header::read(header)) {
            Some(Ok(_)) if len <= self.0 => Ok(usize::from(len)),
            _ => Err(BadLength { len, limit: self.0 }),
        }
    }
}

/// Cuts bytes into messages.
pub type Framer = framing::Framer<Longest>;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const STREAM: [u8; 28] = [
        4, 2, 0, 8, 0, 0, 0, 1, // an echo without octets
        4, 2, 0, 12, 0, 0, 0, 2, 1, 2, 3, 4, // one with four
        4, 2, 0, 8, 0, 0, 0, 3,
    ];

    #[test]
    fn pieces_of_any_size_give_the_same_messages() {
        for size in 1..=STREAM.len() {
            let mut framer = Framer::of(Longest(u16::MAX));
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
        let next = |bytes: &[u8], limit| Framer::of(Longest(limit)).next(&mut &*bytes).map(|_| ());
        assert_eq!(next(&[4, 2, 0, 7, 0, 0, 0, 0], 100), Err(BadLength { len: 7, limit: 100 }));
        assert_eq!(next(&[4, 2, 0, 101, 0, 0, 0, 0], 100), Err(BadLength { len: 101, limit: 100 }));
        assert_eq!(next(&[4, 2, 0, 100, 0, 0, 0, 0], 100), Ok(()));
        assert_eq!(next(&[4, 2, 0, 7], 100), Ok(()), "half a header says nothing");
    }
}
