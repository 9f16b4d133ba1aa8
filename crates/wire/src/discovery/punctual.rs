//! Our own parameter of announcements, see `docs/wire.md`.
use alloc::vec::Vec;

use crate::cursor::{Cursor, Endianness};

/// Our vendor parameter (docs/wire.md): magic word, version, then (tag, length, value) triples. It is recognised by the magic
/// word alone. A parameter of another make or version, and a triple that is not as expected, count as absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extension {
    pub(super) receive_buffer: Option<u32>,
}

const MAGIC: [u8; 4] = *b"PNCT";
const VERSION: u8 = 1;
/// Ends the triples: the parameter's padding.
const TAG_END: u8 = 0;
const TAG_RECEIVE_BUFFER: u8 = 1;

impl Extension {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.push(VERSION);
        if let Some(octets) = self.receive_buffer {
            out.extend_from_slice(&[TAG_RECEIVE_BUFFER, 4]);
            out.extend_from_slice(&octets.to_le_bytes());
        }
    }

    pub(super) fn decode(value: &[u8]) -> Self {
        let mut extension = Self::default();
        let mut fields = Cursor::new(value, Endianness::Little);
        if fields.array() != Some(MAGIC) || fields.u8() != Some(VERSION) {
            return extension;
        }
        while let Some((tag, value)) = triple(&mut fields) {
            if tag == TAG_RECEIVE_BUFFER
                && let Ok(octets) = value.try_into()
            {
                extension.receive_buffer = Some(u32::from_le_bytes(octets));
            }
        }
        extension
    }
}

fn triple<'a>(fields: &mut Cursor<'a>) -> Option<(u8, &'a [u8])> {
    let tag = fields.u8().filter(|tag| *tag != TAG_END)?;
    let len = fields.u8()?;
    Some((tag, fields.take(usize::from(len))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tags_and_padding_are_skipped() {
        let value = [b'P', b'N', b'C', b'T', 1, 9, 2, 7, 7, 1, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(Extension::decode(&value).receive_buffer, Some(0x1_0000));
    }

    #[test]
    fn what_is_not_ours_or_broken_is_absent() {
        let good = [b'P', b'N', b'C', b'T', 1, 1, 4, 0, 0, 1, 0, 0];
        assert!(Extension::decode(&good).receive_buffer.is_some());
        for len in 0..11 {
            assert_eq!(Extension::decode(&good[..len]), Extension::default());
        }
        for at in 0..7 {
            let mut bad = good;
            bad[at] ^= 0x40;
            assert_eq!(Extension::decode(&bad), Extension::default(), "octet {at}");
        }
    }
}
