//! HELLO and the choice of a version. OpenFlow 1.3.5, 6.3.1, 7.5.1.
use alloc::vec::Vec;

use crate::read::{Problem, Reader, Result};
use crate::write::Put;

/// The version on the wire of OpenFlow 1.3, the only one that this crate speaks.
pub const VERSION: u8 = 4;

/// The element of HELLO that lists versions.
const VERSION_BITMAP: u16 = 1;

/// HELLO: which versions a side speaks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Hello {
    /// The highest version, from the header of the message.
    pub version: u8,
    /// Words of bits, `1 << version`, 32 versions each; empty if the side sent no such element.
    pub bitmap: Vec<u32>,
}

impl Hello {
    /// What we say: 1.3 and nothing else.
    pub fn ours() -> Self {
        Self { version: VERSION, bitmap: alloc::vec![1 << VERSION] }
    }

    /// True if the side speaks 1.3: its bitmap says so or, without one, its highest version is not below.
    pub fn speaks_1_3(&self) -> bool {
        match self.bitmap.first() {
            Some(word) => word >> VERSION & 1 == 1,
            // Without bitmaps the lower of both versions counts, and it must be one that we speak.
            None => self.version >= VERSION,
        }
    }

    pub(crate) fn read(version: u8, reader: &mut Reader<'_>) -> Result<Self> {
        let mut hello = Self { version, bitmap: Vec::new() };
        while !reader.is_empty() {
            let place = reader.clone();
            let len = usize::from(reader.peek_u16(2)?);
            let mut element = reader.counted(2, 4)?;
            // The padding of the last element may be missing.
            reader.skip((len.wrapping_neg() & 7).min(reader.remaining()))?;
            // Elements that are not known are skipped.
            if element.u16()? != VERSION_BITMAP || !hello.bitmap.is_empty() {
                continue;
            }
            element.skip(2)?;
            if !element.remaining().is_multiple_of(4) {
                return Err(place.error(Problem::Length));
            }
            hello.bitmap = element.list(|_| Ok(4), Reader::u32)?;
        }
        Ok(hello)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if self.bitmap.is_empty() {
            return;
        }
        let start = out.len();
        out.u16(VERSION_BITMAP);
        out.u16(0);
        for word in &self.bitmap {
            out.u32(*word);
        }
        out.fill_len(start, start.saturating_add(2));
        out.pad_8(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_common() {
        let speaks = |version, bitmap: &[u32]| Hello { version, bitmap: bitmap.to_vec() }.speaks_1_3();
        assert!(speaks(6, &[0x72]), "Open vSwitch with 1.0, 1.3, 1.4, 1.5");
        assert!(!speaks(6, &[0x62]) && !speaks(1, &[2]) && !speaks(4, &[0, 0x10]));
        assert!(speaks(4, &[]) && speaks(5, &[]) && !speaks(1, &[]));
    }
}
