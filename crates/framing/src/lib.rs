//! Messages out of the bytes of a connection, which come in any pieces: for every protocol whose headers say how long a message is.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;

/// What a protocol says of the length of its messages.
pub trait Framing {
    /// A length that ends the connection: after it the begin of the next message is not known.
    type Error;
    /// Bytes of a header, which is part of the message.
    const HEADER_LEN: usize;

    /// The length of a message, its header included, from the bytes of its header, which are all there.
    ///
    /// # Errors
    /// No message has such a header, or the message is longer than is taken.
    fn message_len(&self, header: &[u8]) -> Result<usize, Self::Error>;
}

/// Cuts bytes into messages. It keeps at most the bytes of one unfinished message, and takes room only for bytes that came.
#[derive(Clone, Debug)]
pub struct Framer<F> {
    framing: F,
    /// The beginning of a message, or a whole one that was given out last.
    partial: Vec<u8>,
    given: bool,
}

impl<F: Framing> Framer<F> {
    /// One that has had no bytes.
    pub const fn of(framing: F) -> Self {
        Self { framing, partial: Vec::new(), given: false }
    }

    /// The next whole message; what was used is taken from the front of `input`. `None` when more bytes are needed: then all
    /// of `input` has been used. A message that lies whole in `input` is not copied.
    ///
    /// # Errors
    /// As [`Framing::message_len`]; the connection is then of no more use.
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<&'s [u8]>, F::Error> {
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
        self.fill(input, F::HEADER_LEN);
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

    /// The length in a header, if all of it is there.
    fn len_of(&self, bytes: &[u8]) -> Result<Option<usize>, F::Error> {
        let header = bytes.get(..F::HEADER_LEN);
        header.map(|header| self.framing.message_len(header).map(|len| len.max(F::HEADER_LEN))).transpose()
    }
}
