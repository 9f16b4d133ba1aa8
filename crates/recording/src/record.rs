//! Those records of a file that matter here. They are read by hand: what a record claims takes no memory before it is there.
use std::collections::BTreeMap;

use wire::cursor::{Cursor, Endianness};

/// A record, with what it borrows from the file.
pub(crate) enum Record<'a> {
    /// A type as the file describes it.
    Schema { id: u16, name: &'a str, encoding: &'a str, data: &'a [u8] },
    /// A channel.
    Channel { id: u16, schema: u16, topic: &'a str, encoding: &'a str, metadata: BTreeMap<String, String> },
    /// A message.
    Message { channel: u16, time: u64, data: &'a [u8] },
    /// Anything else.
    Other,
}

const SCHEMA: u8 = 0x03;
const CHANNEL: u8 = 0x04;
const MESSAGE: u8 = 0x05;

impl<'a> Record<'a> {
    /// Reads a record; `None` if it is not as long as it says, or a text is none.
    pub(crate) fn read(opcode: u8, bytes: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, Endianness::Little);
        Some(match opcode {
            SCHEMA => {
                let id = cursor.u16()?;
                let (name, encoding) = (text(&mut cursor)?, text(&mut cursor)?);
                Self::Schema { id, name, encoding, data: piece(&mut cursor)? }
            }
            CHANNEL => {
                let (id, schema) = (cursor.u16()?, cursor.u16()?);
                let (topic, encoding) = (text(&mut cursor)?, text(&mut cursor)?);
                let mut entries = Cursor::new(piece(&mut cursor)?, Endianness::Little);
                let mut metadata = BTreeMap::new();
                while entries.remaining() > 0 {
                    let (key, value) = (text(&mut entries)?, text(&mut entries)?);
                    metadata.insert(key.to_owned(), value.to_owned());
                }
                Self::Channel { id, schema, topic, encoding, metadata }
            }
            MESSAGE => {
                let channel = cursor.u16()?;
                let _sequence = cursor.u32()?;
                let (time, _published) = (cursor.u64()?, cursor.u64()?);
                Self::Message { channel, time, data: cursor.rest() }
            }
            _ => Self::Other,
        })
    }
}

/// Bytes with their number before them.
fn piece<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(cursor.u32()?).ok()?;
    cursor.take(length)
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Option<&'a str> {
    str::from_utf8(piece(cursor)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_claims_more_than_it_has_is_none() {
        // An id, and the length of a name.
        assert!(Record::read(SCHEMA, &[1, 0, 255, 255, 255, 127, b'a']).is_none());
        assert!(Record::read(CHANNEL, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255]).is_none());
        assert!(Record::read(MESSAGE, &[1, 0, 0, 0]).is_none());
        assert!(matches!(Record::read(0x01, &[]), Some(Record::Other)));
    }
}
