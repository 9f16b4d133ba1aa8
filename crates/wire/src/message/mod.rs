//! RTPS messages: one header and a row of submessages (RTPS 2.5, 8.3 and 9.4).
//!
//! Reading gives borrowed views: [`Message::parse`] looks at the header only, [`Message::submessages`] checks and reads one
//! submessage per step and allocates nothing. Writing is in [`encode`]: free functions that append to a buffer of the caller.
//!
//! Rules of reading:
//! - Each submessage is first cut out by its length, then its fields are read inside of that slice.
//! - `octetsToNextHeader` of 0 means "to the end of the message", except for PAD and INFO_TS, where it means 0.
//! - An unknown submessage is skipped by its length. A bad one ends the message: what stood before it is kept.
//! - At most [`Message::MAX_CONTROL`] submessages other than DATA, DATA_FRAG and INFO_TS are read from one message.
mod data;
pub mod encode;
mod fragments;
mod header;
mod info;
mod reliability;
mod submessage;

pub use data::{Data, PayloadKind, SerializedPayload};
pub use fragments::{DataFrag, HeartbeatFrag, NackFrag};
pub use header::{Header, MessageError};
pub use info::{InfoReply, Locators};
pub use reliability::{AckNack, Gap, Heartbeat};
pub use submessage::{Frequent, Submessage, SubmessageError, SubmessageReason, Submessages, kind};

/// A received message: its header is checked, its submessages are not yet.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    header: Header,
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// The most submessages other than DATA, DATA_FRAG and INFO_TS that are read from one message. Those three are
    /// limited by the size of the message alone, since a batch of small samples has thousands of them.
    pub const MAX_CONTROL: u16 = 256;

    /// Reads the header.
    ///
    /// # Errors
    /// The bytes are shorter than a header, are not RTPS, or are of a major version other than 2.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let Some(first) = bytes.first_chunk() else {
            return Err(MessageError::TooShort { len: bytes.len() });
        };
        let header = Header::from_bytes(*first).ok_or(MessageError::NotRtps)?;
        if header.version.major != 2 {
            return Err(MessageError::Version(header.version));
        }
        Ok(Self { header, bytes })
    }

    /// The header.
    #[inline]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The submessages in order.
    #[inline]
    pub const fn submessages(&self) -> Submessages<'a> {
        Submessages::new(self.bytes)
    }
}
