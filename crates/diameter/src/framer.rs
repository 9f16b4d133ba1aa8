//! Messages out of the bytes of a connection, which come in any pieces.
use framing::Framing;

use crate::error::{DecodeError, Problem};
use crate::header::{HEADER_LEN, Header};

/// The longest message that is taken, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Longest(pub usize);

impl Framing for Longest {
    type Error = DecodeError;
    const HEADER_LEN: usize = HEADER_LEN;

    fn message_len(&self, header: &[u8]) -> Result<usize, DecodeError> {
        let (_, len) = Header::read(header)?;
        if len > self.0 {
            return Err(DecodeError { offset: 1, avp: None, problem: Problem::MessageLength(len) });
        }
        Ok(len)
    }
}

/// Cuts bytes into messages.
pub type Framer = framing::Framer<Longest>;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

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
            let mut framer = Framer::of(Longest(1000));
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
    fn lengths_that_cannot_be_end_it() {
        for (len, bytes) in [(0xff_fffc, [1, 0xff, 0xff, 0xfc]), (1004, [1, 0, 3, 0xec]), (16, [1, 0, 0, 16])]
        {
            let mut framer = Framer::of(Longest(1000));
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
        }
    }
}
