//! Submessages that say something about those after them: INFO_TS, INFO_DST, INFO_SRC, INFO_REPLY.
use super::header::Header;
use super::submessage::SubmessageReason;
use crate::cursor::Cursor;
use crate::guid::GuidPrefix;
use crate::locator::Locator;
use crate::parameter::value::locator;
use crate::time::Timestamp;
use crate::vendor::{ProtocolVersion, VendorId};

/// INFO_REPLY: where answers to what follows should go (RTPS 2.5, 8.3.8.10, 9.4.5.11). Nothing has been proved about
/// these addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InfoReply<'a> {
    /// Unicast addresses.
    pub unicast: Locators<'a>,
    /// Multicast addresses, if the multicast flag is set.
    pub multicast: Option<Locators<'a>>,
}

/// A list of locators, a borrowed view: its count has been checked against its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Locators<'a> {
    fields: Cursor<'a>,
}

impl<'a> Locators<'a> {
    /// Bytes of one locator.
    const LOCATOR_LEN: usize = 24;

    fn read(fields: &mut Cursor<'a>) -> Result<Self, SubmessageReason> {
        let count = fields.u32().ok_or(SubmessageReason::Truncated)?;
        let len = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(Self::LOCATOR_LEN))
            .ok_or(SubmessageReason::LocatorCount)?;
        let bytes = fields.take(len).ok_or(SubmessageReason::LocatorCount)?;
        Ok(Self { fields: Cursor::new(bytes, fields.endianness()) })
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.fields.remaining() / Self::LOCATOR_LEN
    }

    /// True if there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The locators in order.
    pub fn iter(&self) -> impl Iterator<Item = Locator> + use<'a> {
        let mut fields = self.fields;
        core::iter::from_fn(move || locator(&mut fields))
    }
}

impl<'a> InfoReply<'a> {
    pub(super) fn read(flags: u8, fields: &mut Cursor<'a>) -> Result<Self, SubmessageReason> {
        const MULTICAST: u8 = 0x02;
        let unicast = Locators::read(fields)?;
        let multicast = if flags & MULTICAST == 0 { None } else { Some(Locators::read(fields)?) };
        Ok(Self { unicast, multicast })
    }
}

/// INFO_TS (RTPS 2.5, 8.3.8.11, 9.4.5.12). The invalid and the infinite time count as none.
#[inline]
pub(super) fn info_timestamp(
    flags: u8,
    fields: &mut Cursor<'_>,
) -> Result<Option<Timestamp>, SubmessageReason> {
    if flags & INVALIDATE != 0 {
        return Ok(None);
    }
    let secs = fields.u32().ok_or(SubmessageReason::Truncated)?;
    let fraction = fields.u32().ok_or(SubmessageReason::Truncated)?;
    Ok(Timestamp::from_wire(secs, fraction))
}

/// INFO_SRC (RTPS 2.5, 8.3.8.9, 9.4.5.10).
pub(super) fn info_source(fields: &mut Cursor<'_>) -> Result<Header, SubmessageReason> {
    let [_, _, _, _, major, minor, v0, v1] = fields.array::<8>().ok_or(SubmessageReason::Truncated)?;
    let prefix = GuidPrefix(fields.array().ok_or(SubmessageReason::Truncated)?);
    Ok(Header { version: ProtocolVersion { major, minor }, vendor: VendorId([v0, v1]), prefix })
}

pub(super) const INVALIDATE: u8 = 0x02;
