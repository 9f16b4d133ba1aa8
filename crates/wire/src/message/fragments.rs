//! DATA_FRAG, HEARTBEAT_FRAG and NACK_FRAG.
use super::data::{INLINE_QOS, inline_qos, inline_qos_position};
use super::reliability::bitmap;
use super::submessage::{SubmessageReason, change_number, entities};
use crate::cursor::Cursor;
use crate::guid::EntityId;
use crate::parameter::ParameterList;
use crate::sequence_number::{FragmentNumber, FragmentNumberSet, SequenceNumber};

/// DATA_FRAG: consecutive fragments of a sample (RTPS 2.5, 8.3.8.3, 9.4.5.5).
///
/// Checked here: the fragments lie within the sample, and `bytes` holds exactly them. Not checked here: that all fragments
/// of a sample tell the same sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataFrag<'a> {
    /// The reader it is for; unknown means every matched one.
    pub reader_id: EntityId,
    /// The writer it is from.
    pub writer_id: EntityId,
    /// Number of the change, 1 or more.
    pub sequence_number: SequenceNumber,
    /// The first fragment here, 1 or more.
    pub first_fragment: FragmentNumber,
    /// Fragments here, 1 or more.
    pub fragment_count: u16,
    /// Bytes of every fragment but the last of the sample, 1 or more.
    pub fragment_size: u16,
    /// Bytes of the whole payload, encapsulation header included; 1 or more. A claim of the peer: never allocate by it.
    pub sample_size: u32,
    /// QoS and status of this change.
    pub inline_qos: Option<ParameterList<'a>>,
    /// True if the sample has only key members.
    pub is_key: bool,
    /// The bytes of the fragments, without padding.
    pub bytes: &'a [u8],
}

/// HEARTBEAT_FRAG: which fragments of a change a writer has sent (RTPS 2.5, 8.3.8.7, 9.4.5.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeartbeatFrag {
    /// The reader it is for; unknown means every matched one.
    pub reader_id: EntityId,
    /// The writer it is from.
    pub writer_id: EntityId,
    /// Number of the change, 1 or more.
    pub sequence_number: SequenceNumber,
    /// All fragments up to this one have been sent; 1 or more.
    pub last_fragment: FragmentNumber,
    /// Grows with every new HEARTBEAT_FRAG.
    pub count: i32,
}

/// NACK_FRAG: which fragments of a change a reader lacks (RTPS 2.5, 8.3.8.12, 9.4.5.13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NackFrag {
    /// The reader it is from.
    pub reader_id: EntityId,
    /// The writer it is for.
    pub writer_id: EntityId,
    /// Number of the change, 1 or more.
    pub sequence_number: SequenceNumber,
    /// What is missing.
    pub missing: FragmentNumberSet,
    /// Grows with every new NACK_FRAG.
    pub count: i32,
}

pub(super) const FRAG_KEY: u8 = 0x04;
const FRAG_NON_STANDARD: u8 = 0x08;

impl<'a> DataFrag<'a> {
    /// `None` if the payload is not of the standard's form (flag N).
    #[inline]
    pub(super) fn read(flags: u8, fields: &mut Cursor<'a>) -> Result<Option<Self>, SubmessageReason> {
        if flags & FRAG_NON_STANDARD != 0 {
            return Ok(None);
        }
        let inline_qos_at = inline_qos_position(fields)?;
        let (reader_id, writer_id) = entities(fields)?;
        let sequence_number = change_number(fields)?;
        let first_fragment = fields.u32().ok_or(SubmessageReason::Truncated)?;
        let fragment_count = fields.u16().ok_or(SubmessageReason::Truncated)?;
        let fragment_size = fields.u16().ok_or(SubmessageReason::Truncated)?;
        let sample_size = fields.u32().ok_or(SubmessageReason::Truncated)?;
        let len = fragments_len(first_fragment, fragment_count, fragment_size, sample_size)
            .ok_or(SubmessageReason::Fragments)?;
        let inline_qos = inline_qos(flags & INLINE_QOS, fields, inline_qos_at)?;
        let bytes = fields.take(len).ok_or(SubmessageReason::Truncated)?;
        Ok(Some(Self {
            reader_id,
            writer_id,
            sequence_number,
            first_fragment: FragmentNumber(first_fragment),
            fragment_count,
            fragment_size,
            sample_size,
            inline_qos,
            is_key: flags & FRAG_KEY != 0,
            bytes,
        }))
    }
}

impl HeartbeatFrag {
    pub(super) fn read(fields: &mut Cursor<'_>) -> Result<Self, SubmessageReason> {
        let (reader_id, writer_id) = entities(fields)?;
        let sequence_number = change_number(fields)?;
        let last_fragment = FragmentNumber(fields.u32().ok_or(SubmessageReason::Truncated)?);
        let count = fields.i32().ok_or(SubmessageReason::Truncated)?;
        if last_fragment.0 == 0 {
            return Err(SubmessageReason::Fragments);
        }
        Ok(Self { reader_id, writer_id, sequence_number, last_fragment, count })
    }
}

impl NackFrag {
    pub(super) fn read(fields: &mut Cursor<'_>) -> Result<Self, SubmessageReason> {
        let (reader_id, writer_id) = entities(fields)?;
        let sequence_number = change_number(fields)?;
        let base = FragmentNumber(fields.u32().ok_or(SubmessageReason::Truncated)?);
        let missing = FragmentNumberSet::new(base, bitmap(fields)?).ok_or(SubmessageReason::Set)?;
        let count = fields.i32().ok_or(SubmessageReason::Truncated)?;
        Ok(Self { reader_id, writer_id, sequence_number, missing, count })
    }
}

/// How many bytes the fragments `first..first + count` of a sample have; `None` unless they all lie within it.
fn fragments_len(first: u32, count: u16, size: u16, sample: u32) -> Option<usize> {
    if first == 0 || count == 0 || size == 0 || sample == 0 {
        return None;
    }
    let (sample, size) = (u64::from(sample), u64::from(size));
    let last = u64::from(first - 1) + u64::from(count);
    if last > sample.div_ceil(size) {
        return None;
    }
    let end = last.saturating_mul(size).min(sample);
    usize::try_from(end.saturating_sub(u64::from(first - 1).saturating_mul(size))).ok()
}

#[cfg(test)]
mod tests {
    use super::fragments_len;

    #[test]
    fn the_last_fragment_may_be_short() {
        assert_eq!(fragments_len(1, 1, 1000, 2500), Some(1000));
        assert_eq!(fragments_len(2, 2, 1000, 2500), Some(1500));
        assert_eq!(fragments_len(3, 1, 1000, 2500), Some(500));
        assert_eq!(fragments_len(3, 2, 1000, 2500), None);
        assert_eq!(fragments_len(1, 1, 1000, 7), Some(7));
        assert_eq!(fragments_len(u32::MAX, u16::MAX, u16::MAX, u32::MAX), None);
        assert_eq!(fragments_len(u32::MAX, 1, 1, u32::MAX), Some(1));
    }

    #[test]
    fn zeros_are_refused() {
        for (first, count, size, sample) in [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)] {
            assert_eq!(fragments_len(first, count, size, sample), None);
        }
    }
}
