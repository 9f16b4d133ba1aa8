//! What travels beside the bytes of a sample: its writer, number and time, what became of its instance, and its place in the stream of its bridge.
use alloc::vec::Vec;
use core::fmt;

use wire::{Guid, SequenceNumber, Timestamp};

use crate::key::BridgeId;

/// First bytes of each attachment.
const MAGIC: [u8; 2] = *b"Pz";
/// The form that is described here.
const VERSION: u8 = 1;
/// An instance belongs to the message: its key hash follows.
const HAS_HASH: u8 = 1;
/// The sample answers another one, whose identity follows.
const HAS_RELATED: u8 = 2;

/// What a message says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Here is a sample.
    Sample,
    /// The instance is disposed; the payload is its serialized key.
    Disposed,
    /// The writers of the instance have unregistered it; the payload is its serialized key.
    Unregistered,
    /// The writer is gone, as it was announced; the payload is the number of that announcement, in 8 bytes, little-endian.
    WriterGone,
    /// The end of an answer, which has all that there is up to `number`; `sequence` is the number of the last message that was sent under the key.
    Head,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Sample, Self::Disposed, Self::Unregistered, Self::WriterGone, Self::Head];

    const fn code(self) -> u8 {
        self as u8
    }
}

/// What travels beside the bytes of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// What the message says.
    pub kind: Kind,
    /// The bridge that sent it: one run of the program.
    pub bridge: BridgeId,
    /// Its place among what this bridge has sent under this key, from 1.
    pub number: u64,
    /// The writer of the sample.
    pub writer: Guid,
    /// Its number among the changes of that writer.
    pub sequence: SequenceNumber,
    /// When it was written, by the clock of its writer.
    pub source: Timestamp,
    /// The key hash of its instance, if the topic has a key that the sender could read.
    pub hash: Option<[u8; 16]>,
    /// The sample that it answers.
    pub related: Option<(Guid, SequenceNumber)>,
}

/// Why bytes are no attachment of a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttachmentError {
    /// They are not of a bridge at all.
    Foreign,
    /// Another version, whose number it is.
    Version(u8),
    /// They end too early, or go on.
    Length(usize),
    /// A value that has no meaning, at this byte.
    Value(usize),
}

impl fmt::Display for AttachmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("it is no attachment of a bridge"),
            Self::Version(version) => write!(f, "it is of version {version}, and {VERSION} is known here"),
            Self::Length(length) => write!(f, "{length} bytes are not its length"),
            Self::Value(at) => write!(f, "its byte {at} has no meaning"),
        }
    }
}

impl core::error::Error for AttachmentError {}

impl Attachment {
    /// Bytes of the longest.
    pub const MAX: usize = 2 + 1 + 1 + 1 + 16 + 8 + 16 + 8 + 8 + 16 + 24;

    /// Its bytes, all numbers little-endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::MAX);
        out.extend_from_slice(&MAGIC);
        let flags =
            (u8::from(self.hash.is_some()) * HAS_HASH) | (u8::from(self.related.is_some()) * HAS_RELATED);
        out.extend_from_slice(&[VERSION, self.kind.code(), flags]);
        out.extend_from_slice(&self.bridge.0);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.writer.to_bytes());
        out.extend_from_slice(&self.sequence.0.to_le_bytes());
        out.extend_from_slice(&self.source.as_nanos().to_le_bytes());
        if let Some(hash) = &self.hash {
            out.extend_from_slice(hash);
        }
        if let Some((writer, sequence)) = &self.related {
            out.extend_from_slice(&writer.to_bytes());
            out.extend_from_slice(&sequence.0.to_le_bytes());
        }
        out
    }

    /// Reads it; nothing is taken from the heap.
    ///
    /// # Errors
    /// They are not the bytes of one, and of nothing more.
    pub fn decode(bytes: &[u8]) -> Result<Self, AttachmentError> {
        let mut rest = bytes;
        let short = AttachmentError::Length(bytes.len());
        if take::<2>(&mut rest) != Some(MAGIC) {
            return Err(AttachmentError::Foreign);
        }
        let [version, kind, flags] = take(&mut rest).ok_or(short)?;
        if version != VERSION {
            return Err(AttachmentError::Version(version));
        }
        let kind =
            Kind::ALL.into_iter().find(|known| known.code() == kind).ok_or(AttachmentError::Value(3))?;
        if flags & !(HAS_HASH | HAS_RELATED) != 0 {
            return Err(AttachmentError::Value(4));
        }
        let bridge = BridgeId(take(&mut rest).ok_or(short)?);
        let number = u64::from_le_bytes(take(&mut rest).ok_or(short)?);
        let writer = Guid::from_bytes(take(&mut rest).ok_or(short)?);
        let sequence = SequenceNumber(i64::from_le_bytes(take(&mut rest).ok_or(short)?));
        let source = Timestamp::from_nanos(i64::from_le_bytes(take(&mut rest).ok_or(short)?));
        let hash = if flags & HAS_HASH == 0 { None } else { Some(take(&mut rest).ok_or(short)?) };
        let related = if flags & HAS_RELATED == 0 {
            None
        } else {
            let writer = Guid::from_bytes(take(&mut rest).ok_or(short)?);
            Some((writer, SequenceNumber(i64::from_le_bytes(take(&mut rest).ok_or(short)?))))
        };
        // The last number is kept free, so that the next one is always a number.
        if number == u64::MAX || kind != Kind::Head && (number == 0 || sequence.0 < 0) {
            return Err(AttachmentError::Value(21));
        }
        if !rest.is_empty() {
            return Err(short);
        }
        Ok(Self { kind, bridge, number, writer, sequence, source, hash, related })
    }
}

/// The next bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Attachment {
        Attachment {
            kind: Kind::Disposed,
            bridge: BridgeId([7; 16]),
            number: 9,
            writer: Guid::from_bytes([3; 16]),
            sequence: SequenceNumber(12),
            source: Timestamp::from_nanos(1_700_000_000_123_456_789),
            hash: Some([5; 16]),
            related: Some((Guid::from_bytes([4; 16]), SequenceNumber(2))),
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for hash in [None, Some([5; 16])] {
            for related in [None, example().related] {
                for kind in Kind::ALL {
                    let told = Attachment { kind, hash, related, ..example() };
                    assert_eq!(Attachment::decode(&told.encode()), Ok(told));
                }
            }
        }
        assert_eq!(example().encode().len(), Attachment::MAX);
    }

    #[test]
    fn bytes_that_are_cut_lengthened_or_of_another_meaning_are_refused() {
        let whole = example().encode();
        for length in 0..whole.len() {
            assert!(Attachment::decode(&whole[..length]).is_err(), "{length}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(Attachment::decode(&longer), Err(AttachmentError::Length(longer.len())));
        let with = |at: usize, byte: u8| {
            let mut changed = whole.clone();
            changed[at] = byte;
            Attachment::decode(&changed)
        };
        assert_eq!(with(0, b'Q'), Err(AttachmentError::Foreign));
        assert_eq!(with(2, 2), Err(AttachmentError::Version(2)));
        assert_eq!(with(3, 5), Err(AttachmentError::Value(3)));
        assert_eq!(with(4, 4), Err(AttachmentError::Value(4)));
        assert_eq!(with(21, 0), Err(AttachmentError::Value(21)));
    }
}
