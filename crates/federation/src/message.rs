//! Datagrams and their parts. docs/federation.md is their reference.
use alloc::vec::Vec;

use wire::cursor::{Cursor, Endianness};

const MAGIC: [u8; 4] = *b"PnFd";
const VERSION: u8 = 2;
/// Bytes of a header.
pub(crate) const HEADER: usize = 40;
/// Bytes before the body of a part.
pub(crate) const PART: usize = 4;
/// Bytes of a part with data, before the data.
pub(crate) const DATA: usize = PART + 12;
/// Ranges of missing messages that an acknowledgement names at most.
pub(crate) const MOST_RANGES: usize = 32;

/// What the payload of a stream begins with.
pub(crate) mod kind {
    /// A record.
    pub(crate) const RECORD: u8 = 1;
    /// An event.
    pub(crate) const EVENT: u8 = 2;
    /// The sender suspends the connection, or resumes it.
    pub(crate) const SUSPEND: u8 = 3;
    /// Where the receiver begins in the stream of a group, and its place in the group.
    pub(crate) const START: u8 = 4;
    /// An event for several receivers of a group.
    pub(crate) const GROUP_EVENT: u8 = 5;
}

/// The header of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Envelope {
    pub(crate) from: u64,
    pub(crate) from_session: u64,
    /// 0 for a group.
    pub(crate) to: u64,
    /// 0 if it is not known, and for a group.
    pub(crate) to_session: u64,
}

impl Envelope {
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.clear();
        to.extend_from_slice(&MAGIC);
        to.extend_from_slice(&[VERSION, 0, 0, 0]);
        for number in [self.from, self.from_session, self.to, self.to_session] {
            to.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// The header, and the cursor behind it.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, Cursor<'_>)> {
        let mut cursor = Cursor::new(bytes, Endianness::Little);
        if cursor.array()? != MAGIC || cursor.u8()? != VERSION {
            return None;
        }
        cursor.take(3)?;
        let (from, from_session) = (cursor.u64()?, cursor.u64()?);
        let (to, to_session) = (cursor.u64()?, cursor.u64()?);
        Some((Self { from, from_session, to, to_session }, cursor))
    }
}

/// A part of a datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece<'a> {
    /// The start of the gateway, and the groups in which it receives.
    Hello { incarnation: u64, groups: Groups<'a> },
    /// A fragment of a message of a stream: 0 is the one for this peer, others are those of groups.
    Data { stream: u32, number: u64, is_last: bool, bytes: &'a [u8] },
    /// All before `next` has come; of what came later, the ranges are missing.
    Ack { stream: u32, next: u64, ranges: Ranges<'a> },
    /// What has been sent ends here; asks for an acknowledgement.
    Beat { stream: u32, end: u64 },
}

/// Numbers of groups, four bytes each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Groups<'a>(&'a [u8]);

impl Groups<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let mut cursor = Cursor::new(self.0, Endianness::Little);
        core::iter::from_fn(move || cursor.u32())
    }
}

/// Ranges of numbers: begin, and length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ranges<'a>(&'a [u8]);

impl Ranges<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let mut cursor = Cursor::new(self.0, Endianness::Little);
        core::iter::from_fn(move || Some((cursor.u64()?, cursor.u32()?)))
    }
}

const HELLO_PART: u8 = 1;
const DATA_PART: u8 = 2;
const ACK_PART: u8 = 3;
const BEAT_PART: u8 = 4;
const IS_LAST: u8 = 1;

fn head(to: &mut Vec<u8>, part: u8, flags: u8, body: usize) {
    to.extend_from_slice(&[part, flags]);
    to.extend_from_slice(&(body as u16).to_le_bytes());
}

pub(crate) fn write_hello(to: &mut Vec<u8>, incarnation: u64, groups: &[u32]) {
    head(to, HELLO_PART, 0, 8 + 4 * groups.len());
    to.extend_from_slice(&incarnation.to_le_bytes());
    groups.iter().for_each(|group| to.extend_from_slice(&group.to_le_bytes()));
}

pub(crate) fn write_data(to: &mut Vec<u8>, stream: u32, number: u64, is_last: bool, bytes: &[u8]) {
    head(to, DATA_PART, u8::from(is_last) * IS_LAST, DATA - PART + bytes.len());
    to.extend_from_slice(&stream.to_le_bytes());
    to.extend_from_slice(&number.to_le_bytes());
    to.extend_from_slice(bytes);
}

pub(crate) fn write_ack(to: &mut Vec<u8>, stream: u32, next: u64, ranges: impl Iterator<Item = (u64, u32)>) {
    let start = to.len();
    head(to, ACK_PART, 0, 0);
    to.extend_from_slice(&stream.to_le_bytes());
    to.extend_from_slice(&next.to_le_bytes());
    for (first, count) in ranges.take(MOST_RANGES) {
        to.extend_from_slice(&first.to_le_bytes());
        to.extend_from_slice(&count.to_le_bytes());
    }
    let body = ((to.len() - start - PART) as u16).to_le_bytes();
    if let Some(length) = to.get_mut(start + 2..start + PART) {
        length.copy_from_slice(&body);
    }
}

/// Bytes of the largest acknowledgement.
pub(crate) const LARGEST_ACK: usize = PART + 12 + 12 * MOST_RANGES;

pub(crate) fn write_beat(to: &mut Vec<u8>, stream: u32, end: u64) {
    head(to, BEAT_PART, 0, 12);
    to.extend_from_slice(&stream.to_le_bytes());
    to.extend_from_slice(&end.to_le_bytes());
}

/// The next part. Unknown ones are passed over; `None` at the end, or where it is broken.
pub(crate) fn next_piece<'a>(cursor: &mut Cursor<'a>) -> Option<Piece<'a>> {
    loop {
        let (part, flags, length) = (cursor.u8()?, cursor.u8()?, cursor.u16()?);
        let mut body = Cursor::new(cursor.take(usize::from(length))?, Endianness::Little);
        return Some(match part {
            HELLO_PART => Piece::Hello { incarnation: body.u64()?, groups: Groups(body.rest()) },
            DATA_PART => Piece::Data {
                stream: body.u32()?,
                number: body.u64()?,
                is_last: flags & IS_LAST != 0,
                bytes: body.rest(),
            },
            ACK_PART => Piece::Ack { stream: body.u32()?, next: body.u64()?, ranges: Ranges(body.rest()) },
            BEAT_PART => Piece::Beat { stream: body.u32()?, end: body.u64()? },
            _ => continue,
        });
    }
}

/// A message of a stream that a gateway says of itself, besides records and events.
pub(crate) fn suspend(is_suspended: bool) -> Vec<u8> {
    Vec::from([kind::SUSPEND, u8::from(is_suspended)])
}

/// Where a receiver begins in the stream of a group, and its place there.
pub(crate) fn start(group: u32, number: u64, place: u16) -> Vec<u8> {
    let mut bytes = Vec::from([kind::START]);
    bytes.extend_from_slice(&group.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&place.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        let envelope = Envelope { from: 1, from_session: 2, to: 3, to_session: 4 };
        envelope.write(&mut bytes);
        assert_eq!(bytes.len(), HEADER);
        write_hello(&mut bytes, 9, &[5, 6]);
        let before = bytes.len();
        write_data(&mut bytes, 7, 8, true, b"abc");
        assert_eq!(bytes.len(), before + DATA + 3);
        bytes.extend_from_slice(&[99, 0, 1, 0, 42]);
        write_ack(&mut bytes, 0, 5, [(6, 2), (9, 1)].into_iter());
        write_beat(&mut bytes, 7, 10);
        let (read, mut cursor) = Envelope::read(&bytes).unwrap();
        assert_eq!(read, envelope);
        let Some(Piece::Hello { incarnation: 9, groups }) = next_piece(&mut cursor) else { panic!() };
        assert!(groups.iter().eq([5, 6]));
        let data = Piece::Data { stream: 7, number: 8, is_last: true, bytes: b"abc" };
        assert_eq!(next_piece(&mut cursor), Some(data));
        let Some(Piece::Ack { stream: 0, next: 5, ranges }) = next_piece(&mut cursor) else { panic!() };
        assert!(ranges.iter().eq([(6, 2), (9, 1)]));
        assert_eq!(next_piece(&mut cursor), Some(Piece::Beat { stream: 7, end: 10 }));
        assert_eq!(next_piece(&mut cursor), None);
        for length in 0..bytes.len() {
            if let Some((_, mut cursor)) = Envelope::read(&bytes[..length]) {
                while next_piece(&mut cursor).is_some() {}
            }
        }
    }
}
