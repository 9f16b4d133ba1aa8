//! The submessages of a message, one after the other.
use core::fmt;

use super::data::Data;
use super::fragments::{DataFrag, HeartbeatFrag, NackFrag};
use super::header::Header;
use super::info::{InfoReply, info_source, info_timestamp};
use super::reliability::{AckNack, Gap, Heartbeat};
use super::{Message, kind::*};
use crate::cursor::{Cursor, Endianness};
use crate::guid::{EntityId, GuidPrefix};
use crate::parameter::ParameterError;
use crate::sequence_number::SequenceNumber;
use crate::time::Timestamp;

/// Submessage ids (RTPS 2.5, 9.4.5.1.1; DDS Security 1.1, 7.3.7.3).
pub mod kind {
    /// Filler.
    pub const PAD: u8 = 0x01;
    /// ACKNACK.
    pub const ACKNACK: u8 = 0x06;
    /// HEARTBEAT.
    pub const HEARTBEAT: u8 = 0x07;
    /// GAP.
    pub const GAP: u8 = 0x08;
    /// INFO_TS.
    pub const INFO_TS: u8 = 0x09;
    /// INFO_SRC.
    pub const INFO_SRC: u8 = 0x0c;
    /// INFO_DST.
    pub const INFO_DST: u8 = 0x0e;
    /// INFO_REPLY.
    pub const INFO_REPLY: u8 = 0x0f;
    /// NACK_FRAG.
    pub const NACK_FRAG: u8 = 0x12;
    /// HEARTBEAT_FRAG.
    pub const HEARTBEAT_FRAG: u8 = 0x13;
    /// DATA.
    pub const DATA: u8 = 0x15;
    /// DATA_FRAG.
    pub const DATA_FRAG: u8 = 0x16;
    /// The first of the submessages of DDS Security.
    pub const SECURE_FIRST: u8 = 0x30;
    /// The last of the submessages of DDS Security.
    pub const SECURE_LAST: u8 = 0x35;
}

/// A submessage that has been checked (RTPS 2.5, 8.3.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Submessage<'a> {
    /// A sample, or a change of an instance.
    Data(Data<'a>),
    /// Some fragments of a sample.
    DataFrag(DataFrag<'a>),
    /// What a writer has.
    Heartbeat(Heartbeat),
    /// What a reader has and lacks.
    AckNack(AckNack),
    /// What a writer will not send.
    Gap(Gap),
    /// Which fragments a writer has sent.
    HeartbeatFrag(HeartbeatFrag),
    /// Which fragments a reader lacks.
    NackFrag(NackFrag),
    /// The source timestamp of what follows; `None` ends the effect of an earlier one.
    InfoTimestamp(Option<Timestamp>),
    /// The participant that what follows is for; unknown means every one.
    InfoDestination(GuidPrefix),
    /// The participant that what follows is from. It proves nothing about the sender.
    InfoSource(Header),
    /// Where answers should go.
    InfoReply(InfoReply<'a>),
    /// Filler.
    Pad,
    /// A submessage of DDS Security (0x30 to 0x35), not looked into.
    Secure {
        /// Submessage id.
        kind: u8,
        /// Flags.
        flags: u8,
        /// Everything after the submessage header.
        body: &'a [u8],
    },
    /// A submessage of a vendor (0x80 and above) or an unknown one, and DATA or DATA_FRAG with a payload that is not of
    /// the standard's form (flag N): skipped by length.
    Other {
        /// Submessage id.
        kind: u8,
        /// Flags.
        flags: u8,
        /// Everything after the submessage header.
        body: &'a [u8],
    },
}

/// The submessages of a message in order. The first error is the last item.
#[derive(Clone, Debug)]
pub struct Submessages<'a> {
    message: &'a [u8],
    /// Where the next submessage begins; the length of the message when there is none.
    position: usize,
    control: u16,
}

/// The submessages that samples are made of: a batch of small ones has thousands of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frequent<'a> {
    /// As [`Submessage::Data`].
    Data(Data<'a>),
    /// As [`Submessage::InfoTimestamp`].
    InfoTimestamp(Option<Timestamp>),
    /// As [`Submessage::Heartbeat`].
    Heartbeat(Heartbeat),
}

/// A submessage that was cut out, not yet read.
struct Cut<'a> {
    id: u8,
    flags: u8,
    endianness: Endianness,
    body: &'a [u8],
}

impl<'a> Submessages<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self { message, position: Header::LEN, control: 0 }
    }

    /// Reads the next submessage if it is a DATA, INFO_TS or HEARTBEAT without fault. If this is `None`, `next` says what else is there. It gives
    /// nothing that `next` would not give, and costs less than that.
    #[inline]
    pub fn next_frequent(&mut self) -> Option<Frequent<'a>> {
        let Cut { id, flags, endianness, body } = cut(self.message.get(self.position..)?).ok()?;
        let fields = &mut Cursor::new(body, endianness);
        let found = match id {
            DATA if Data::is_standard(flags) => Frequent::Data(Data::read(flags, fields).ok()?),
            INFO_TS => Frequent::InfoTimestamp(info_timestamp(flags, fields).ok()?),
            HEARTBEAT if self.control < Message::MAX_CONTROL => {
                let heartbeat = Heartbeat::read(flags, fields).ok()?;
                self.control += 1;
                Frequent::Heartbeat(heartbeat)
            }
            _ => return None,
        };
        self.position = self.position.saturating_add(4).saturating_add(body.len());
        Some(found)
    }

    fn step(&mut self, rest: &'a [u8]) -> Result<Submessage<'a>, (u8, SubmessageReason)> {
        let Cut { id, flags, endianness, body } = cut(rest)?;
        if !matches!(id, DATA | DATA_FRAG | INFO_TS) {
            self.control = self.control.saturating_add(1);
            if self.control > Message::MAX_CONTROL {
                return Err((id, SubmessageReason::TooMany));
            }
        }
        self.position = self.position.saturating_add(4).saturating_add(body.len());
        read(id, flags, body, endianness).map_err(|reason| (id, reason))
    }
}

#[inline]
fn cut(rest: &[u8]) -> Result<Cut<'_>, (u8, SubmessageReason)> {
    let Some((&[id, flags, low, high], after)) = rest.split_first_chunk::<4>() else {
        return Err((rest.first().copied().unwrap_or(0), SubmessageReason::Truncated));
    };
    let endianness = if flags & 1 == 0 { Endianness::Big } else { Endianness::Little };
    let len = match endianness {
        Endianness::Big => u16::from_be_bytes([low, high]),
        Endianness::Little => u16::from_le_bytes([low, high]),
    };
    let len = match len {
        0 if id != PAD && id != INFO_TS => after.len(),
        len => usize::from(len),
    };
    let Some(body) = after.get(..len) else {
        return Err((id, SubmessageReason::LengthPastEnd));
    };
    Ok(Cut { id, flags, endianness, body })
}

impl<'a> Iterator for Submessages<'a> {
    type Item = Result<Submessage<'a>, SubmessageError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.position;
        let rest = self.message.get(offset..)?;
        if rest.is_empty() {
            return None;
        }
        Some(self.step(rest).map_err(|(kind, reason)| {
            self.position = self.message.len();
            SubmessageError { offset, kind, reason }
        }))
    }
}

impl core::iter::FusedIterator for Submessages<'_> {}

#[inline]
fn read(id: u8, flags: u8, body: &[u8], endianness: Endianness) -> Result<Submessage<'_>, SubmessageReason> {
    let mut cursor = Cursor::new(body, endianness);
    let fields = &mut cursor;
    let other = Submessage::Other { kind: id, flags, body };
    Ok(match id {
        DATA if Data::is_standard(flags) => Submessage::Data(Data::read(flags, fields)?),
        INFO_TS => Submessage::InfoTimestamp(info_timestamp(flags, fields)?),
        HEARTBEAT => Submessage::Heartbeat(Heartbeat::read(flags, fields)?),
        ACKNACK => Submessage::AckNack(AckNack::read(flags, fields)?),
        DATA_FRAG => DataFrag::read(flags, fields)?.map_or(other, Submessage::DataFrag),
        GAP => Submessage::Gap(Gap::read(fields)?),
        INFO_DST => {
            Submessage::InfoDestination(GuidPrefix(fields.array().ok_or(SubmessageReason::Truncated)?))
        }
        HEARTBEAT_FRAG => Submessage::HeartbeatFrag(HeartbeatFrag::read(fields)?),
        NACK_FRAG => Submessage::NackFrag(NackFrag::read(fields)?),
        INFO_SRC => Submessage::InfoSource(info_source(fields)?),
        INFO_REPLY => Submessage::InfoReply(InfoReply::read(flags, fields)?),
        PAD => Submessage::Pad,
        SECURE_FIRST..=SECURE_LAST => Submessage::Secure { kind: id, flags, body },
        _ => other,
    })
}

/// Reads the reader and the writer that a submessage is between.
#[inline]
pub(super) fn entities(fields: &mut Cursor<'_>) -> Result<(EntityId, EntityId), SubmessageReason> {
    let reader = fields.array().ok_or(SubmessageReason::Truncated)?;
    let writer = fields.array().ok_or(SubmessageReason::Truncated)?;
    Ok((EntityId(reader), EntityId(writer)))
}

/// Reads a sequence number, whatever its value.
#[inline]
pub(super) fn sequence_number(fields: &mut Cursor<'_>) -> Result<SequenceNumber, SubmessageReason> {
    let high = fields.i32().ok_or(SubmessageReason::Truncated)?;
    let low = fields.u32().ok_or(SubmessageReason::Truncated)?;
    Ok(SequenceNumber::from_words(high, low))
}

/// Reads the sequence number of a change: 1 or more.
#[inline]
pub(super) fn change_number(fields: &mut Cursor<'_>) -> Result<SequenceNumber, SubmessageReason> {
    let number = sequence_number(fields)?;
    if number < SequenceNumber::FIRST { Err(SubmessageReason::SequenceNumber) } else { Ok(number) }
}

/// A submessage that was refused, and with it the rest of its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubmessageError {
    /// Where in the message it begins.
    pub offset: usize,
    /// Submessage id.
    pub kind: u8,
    /// What is wrong with it.
    pub reason: SubmessageReason,
}

/// What is wrong with a submessage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubmessageReason {
    /// It ends before its last field.
    Truncated,
    /// Its length runs past the end of the message.
    LengthPastEnd,
    /// The message has more than [`Message::MAX_CONTROL`] submessages without data.
    TooMany,
    /// Its `octetsToInlineQos` points before the end of its fields, or past its own end.
    InlineQosOffset,
    /// Its inline QoS is no parameter list.
    InlineQos(ParameterError),
    /// Both the data and the key flag are set.
    DataAndKey,
    /// Its payload is shorter than an encapsulation header.
    ShortPayload,
    /// Its sequence number is below 1.
    SequenceNumber,
    /// First and last sequence number of a HEARTBEAT, or start and list of a GAP, contradict each other.
    Range,
    /// Its set has more than 256 positions, a base that is too small, or numbers past the largest.
    Set,
    /// Its fragment numbers, fragment size and sample size contradict each other.
    Fragments,
    /// It claims more locators than it holds.
    LocatorCount,
}

impl fmt::Display for SubmessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "submessage {:#04x} at byte {}: ", self.kind, self.offset)?;
        f.write_str(match self.reason {
            SubmessageReason::Truncated => "ends before its last field",
            SubmessageReason::LengthPastEnd => "length runs past the message",
            SubmessageReason::TooMany => "more than 256 submessages without data",
            SubmessageReason::InlineQosOffset => "octetsToInlineQos is out of range",
            SubmessageReason::InlineQos(error) => return write!(f, "inline QoS: {error}"),
            SubmessageReason::DataAndKey => "data and key flag are both set",
            SubmessageReason::ShortPayload => "payload is shorter than its encapsulation header",
            SubmessageReason::SequenceNumber => "sequence number is below 1",
            SubmessageReason::Range => "sequence numbers contradict each other",
            SubmessageReason::Set => "set of numbers is out of range",
            SubmessageReason::Fragments => "fragment numbers and sizes contradict each other",
            SubmessageReason::LocatorCount => "claims more locators than it holds",
        })
    }
}

impl core::error::Error for SubmessageError {}
