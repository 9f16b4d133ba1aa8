//! HEARTBEAT, ACKNACK and GAP.
use super::submessage::{SubmessageReason, change_number, entities, sequence_number};
use crate::cursor::Cursor;
use crate::guid::EntityId;
use crate::sequence_number::{Bitmap, SequenceNumber, SequenceNumberSet};

/// HEARTBEAT: which changes a writer has (RTPS 2.5, 8.3.8.6, 9.4.5.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heartbeat {
    /// The reader it is for; unknown means every matched one.
    pub reader_id: EntityId,
    /// The writer it is from.
    pub writer_id: EntityId,
    /// First change that the writer has, 1 or more.
    pub first: SequenceNumber,
    /// Last change that the writer has; `first - 1` when it has none.
    pub last: SequenceNumber,
    /// Grows with every new HEARTBEAT, so that repeated ones are recognised.
    pub count: i32,
    /// No answer is needed.
    pub is_final: bool,
    /// The writer asserts its liveliness by hand.
    pub liveliness: bool,
}

/// ACKNACK: which changes a reader has and lacks (RTPS 2.5, 8.3.8.1, 9.4.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckNack {
    /// The reader it is from.
    pub reader_id: EntityId,
    /// The writer it is for.
    pub writer_id: EntityId,
    /// Everything below the base is there; what is in the set is missing. Base 0 and an empty set are legal here:
    /// peers send both.
    pub set: SequenceNumberSet,
    /// Grows with every new ACKNACK.
    pub count: i32,
    /// No answer is needed.
    pub is_final: bool,
}

/// GAP: which changes a writer will not send (RTPS 2.5, 8.3.8.4, 9.4.5.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The reader it is for; unknown means every matched one.
    pub reader_id: EntityId,
    /// The writer it is from.
    pub writer_id: EntityId,
    /// First irrelevant change, 1 or more.
    pub start: SequenceNumber,
    /// Irrelevant are also all changes below the base, which is `start` or more, and those in the set.
    pub list: SequenceNumberSet,
}

pub(super) const FINAL: u8 = 0x02;
pub(super) const LIVELINESS: u8 = 0x04;

impl Heartbeat {
    #[inline]
    pub(super) fn read(flags: u8, fields: &mut Cursor<'_>) -> Result<Self, SubmessageReason> {
        let (reader_id, writer_id) = entities(fields)?;
        let first = change_number(fields)?;
        let last = sequence_number(fields)?;
        let count = fields.i32().ok_or(SubmessageReason::Truncated)?;
        if last < first.prev() {
            return Err(SubmessageReason::Range);
        }
        let is_final = flags & FINAL != 0;
        Ok(Self { reader_id, writer_id, first, last, count, is_final, liveliness: flags & LIVELINESS != 0 })
    }
}

impl AckNack {
    #[inline]
    pub(super) fn read(flags: u8, fields: &mut Cursor<'_>) -> Result<Self, SubmessageReason> {
        let (reader_id, writer_id) = entities(fields)?;
        let set = sequence_number_set(fields)?;
        let count = fields.i32().ok_or(SubmessageReason::Truncated)?;
        Ok(Self { reader_id, writer_id, set, count, is_final: flags & FINAL != 0 })
    }
}

impl Gap {
    #[inline]
    pub(super) fn read(fields: &mut Cursor<'_>) -> Result<Self, SubmessageReason> {
        let (reader_id, writer_id) = entities(fields)?;
        let start = change_number(fields)?;
        let list = sequence_number_set(fields)?;
        if list.base() < start {
            return Err(SubmessageReason::Range);
        }
        Ok(Self { reader_id, writer_id, start, list })
    }
}

fn sequence_number_set(fields: &mut Cursor<'_>) -> Result<SequenceNumberSet, SubmessageReason> {
    let base = sequence_number(fields)?;
    SequenceNumberSet::new(base, bitmap(fields)?).ok_or(SubmessageReason::Set)
}

/// Reads `numBits` and as many words as it needs.
pub(super) fn bitmap(fields: &mut Cursor<'_>) -> Result<Bitmap, SubmessageReason> {
    let len = fields.u32().ok_or(SubmessageReason::Truncated)?;
    if len > Bitmap::MAX_LEN {
        return Err(SubmessageReason::Set);
    }
    let mut words = [0; 8];
    for word in words.iter_mut().take(len.div_ceil(32) as usize) {
        *word = fields.u32().ok_or(SubmessageReason::Truncated)?;
    }
    Bitmap::from_words(len, words).ok_or(SubmessageReason::Set)
}
