//! Messages out of the bytes of a connection, which come in any pieces.
use alloc::vec::Vec;

use crate::error::{DecodeError, Problem};
use crate::header::{HEADER_LEN, Header};

/// Cuts bytes into messages. It keeps at most the bytes of one unfinished message, and takes room only for bytes that came.
#[derive(Clone, Debug)]
pub struct Framer {
    /// The beginning of a message, or a whole one that was given out last.
    partial: Vec<u8>,
    given: bool,
    limit: usize,
}

impl Framer {
    /// Refuses messages of more bytes than the limit.
    pub const fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), given: false, limit }
    }

    /// The next whole message; what was used is taken from the front of `input`. `None` when more bytes are needed: then all
    /// of `input` has been used. A message that lies whole in `input` is not copied.
    ///
    /// # Errors
    /// Another version, or a length that no message has or that is above the limit. The begin of the next message is not
    /// known then: the connection is of no more use.
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<&'s [u8]>, DecodeError> {
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
    fn len_of(&self, bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
        if bytes.len() < HEADER_LEN {
            return Ok(None);
        }
        let (_, len) = Header::read(bytes)?;
        if len > self.limit {
            return Err(DecodeError { offset: 1, avp: None, problem: Problem::MessageLength(len) });
        }
        Ok(Some(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Vec<u8> {
        let mut stream = Vec::new();
        for len in [20_u8, 24, 20] {
            stream.extend_from_slice(&[1, 0, 0, len, 0x80, 0, 1, 24]);
            stream.resize(stream.len() + usize::from(len) - 8, len);
        }
        stream
    }

    #[test]
    fn pieces_of_any_size_give_the_same_messages() {
        let stream = stream();
        for size in 1..=stream.len() {
            let mut framer = Framer::new(1000);
            let mut messages = Vec::new();
            for piece in stream.chunks(size) {
                let mut input = piece;
                while let Some(message) = framer.next(&mut input).unwrap() {
                    messages.push(message.to_vec());
                }
                assert!(input.is_empty());
            }
            assert_eq!(messages, [&stream[..20], &stream[20..44], &stream[44..]], "in pieces of {size}");
        }
    }

    #[test]
    fn lengths_that_cannot_be_end_it_before_room_is_taken() {
        for (len, bytes) in [(0xff_fffc, [1, 0xff, 0xff, 0xfc]), (1004, [1, 0, 3, 0xec]), (16, [1, 0, 0, 16])]
        {
            let mut framer = Framer::new(1000);
            let mut header = bytes.to_vec();
            header.resize(20, 0);
            let mut refused = false;
            for piece in header.chunks(7) {
                let mut input = piece;
                match framer.next(&mut input) {
                    Ok(message) => assert_eq!(message, None),
                    Err(error) => {
                        assert_eq!(error.problem, Problem::MessageLength(len));
                        refused = true;
                    }
                }
            }
            assert!(refused, "{len}");
            assert!(framer.partial.capacity() < 100);
        }
    }
    #[test]
    fn room_is_taken_for_what_has_come() {
        let mut framer = Framer::new(1 << 20);
        let mut header: &[u8] = &[[1, 0x10, 0, 0].as_slice(), &[0; 16]].concat();
        assert_eq!(framer.next(&mut header), Ok(None));
        assert!(framer.partial.capacity() < 100, "and not for the mebibyte that is claimed");
    }
}
