//! DATA.
use super::submessage::{SubmessageReason, change_number, entities};
use crate::cursor::Cursor;
use crate::guid::EntityId;
use crate::parameter::ParameterList;
use crate::sequence_number::SequenceNumber;

/// DATA: a sample, or with a key or key hash alone a change of an instance (RTPS 2.5, 8.3.8.2, 9.4.5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data<'a> {
    /// The reader it is for; unknown means every matched one.
    pub reader_id: EntityId,
    /// The writer it is from.
    pub writer_id: EntityId,
    /// Number of the change, 1 or more.
    pub sequence_number: SequenceNumber,
    /// QoS and status of this change.
    pub inline_qos: Option<ParameterList<'a>>,
    /// The data or the key. `None` without the D and K flags, and also when there is a flag but no byte after it:
    /// peers that dispose by key hash alone differ in whether they set one.
    pub payload: Option<SerializedPayload<'a>>,
}

/// The payload of DATA (RTPS 2.5, 9.4.2.12): its first four bytes are the encapsulation header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SerializedPayload<'a> {
    /// True if only the key members are there.
    pub is_key: bool,
    /// Four bytes or more, up to the end of the submessage: padding to a multiple of four is still in.
    pub bytes: &'a [u8],
}

/// What a DATA carries after its inline QoS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadKind {
    /// Nothing.
    None,
    /// A whole sample.
    Data,
    /// The key members of one.
    Key,
}

pub(super) const INLINE_QOS: u8 = 0x02;
pub(super) const DATA_PAYLOAD: u8 = 0x04;
pub(super) const DATA_KEY: u8 = 0x08;
const DATA_NON_STANDARD: u8 = 0x10;

impl<'a> Data<'a> {
    /// False if the payload is not of the standard's form (flag N).
    #[inline]
    pub(super) const fn is_standard(flags: u8) -> bool {
        flags & DATA_NON_STANDARD == 0
    }

    #[inline]
    pub(super) fn read(flags: u8, fields: &mut Cursor<'a>) -> Result<Self, SubmessageReason> {
        let inline_qos_at = inline_qos_position(fields)?;
        let (reader_id, writer_id) = entities(fields)?;
        let sequence_number = change_number(fields)?;
        let inline_qos = inline_qos(flags, fields, inline_qos_at)?;
        let is_key = match flags & (DATA_PAYLOAD | DATA_KEY) {
            0 => None,
            DATA_PAYLOAD => Some(false),
            DATA_KEY => Some(true),
            _ => return Err(SubmessageReason::DataAndKey),
        };
        let bytes = fields.rest();
        let payload = is_key.filter(|_| !bytes.is_empty()).map(|is_key| SerializedPayload { is_key, bytes });
        if payload.is_some_and(|payload| payload.bytes.len() < 4) {
            return Err(SubmessageReason::ShortPayload);
        }
        Ok(Self { reader_id, writer_id, sequence_number, inline_qos, payload })
    }
}

/// Reads `extraFlags` and `octetsToInlineQos`, and gives the position that the latter points to: bytes are counted from
/// the end of that field (RTPS 2.5, 9.4.5.4.3).
#[inline]
pub(super) fn inline_qos_position(fields: &mut Cursor<'_>) -> Result<usize, SubmessageReason> {
    fields.u16().ok_or(SubmessageReason::Truncated)?;
    let bytes = fields.u16().ok_or(SubmessageReason::Truncated)?;
    Ok(fields.position().saturating_add(usize::from(bytes)))
}

/// Skips fields of later versions up to `position`, then reads the inline QoS if flag Q says there is one.
#[inline]
pub(super) fn inline_qos<'a>(
    flags: u8,
    fields: &mut Cursor<'a>,
    position: usize,
) -> Result<Option<ParameterList<'a>>, SubmessageReason> {
    let unknown = position.checked_sub(fields.position()).ok_or(SubmessageReason::InlineQosOffset)?;
    fields.take(unknown).ok_or(SubmessageReason::InlineQosOffset)?;
    if flags & INLINE_QOS == 0 {
        return Ok(None);
    }
    let (list, consumed) =
        ParameterList::parse(fields.rest(), fields.endianness()).map_err(SubmessageReason::InlineQos)?;
    fields.take(consumed).ok_or(SubmessageReason::Truncated)?;
    Ok(Some(list))
}
