//! Signs of life of a participant: the built-in topic of liveliness.
use alloc::vec::Vec;

use super::{DiscoveryError, encapsulated};
use crate::cursor::{Cursor, Endianness};
use crate::guid::GuidPrefix;
use crate::parameter::value;

/// A sign of life of a participant's writers, ParticipantMessageData (RTPS 2.5, 8.4.13, 9.6.2.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParticipantMessage {
    /// The participant.
    pub prefix: GuidPrefix,
    /// Whose liveliness is asserted: `AUTOMATIC`, `MANUAL` or a vendor's.
    pub kind: [u8; 4],
    /// For the vendors; empty in ours.
    pub data: Vec<u8>,
}

impl ParticipantMessage {
    /// The writers with AUTOMATIC liveliness are alive.
    pub const AUTOMATIC: [u8; 4] = [0, 0, 0, 1];
    /// The writers with MANUAL_BY_PARTICIPANT liveliness are alive.
    pub const MANUAL: [u8; 4] = [0, 0, 0, 2];

    /// Appends the message as a serialized payload (CDR_LE). Data of more than `u32::MAX` bytes is cut.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0, 1, 0, 0]);
        out.extend_from_slice(&self.prefix.0);
        out.extend_from_slice(&self.kind);
        value::put_octets(out, &self.data);
    }

    /// Reads a message in plain CDR, version 1 or 2, of either byte order. Some peers say PL_CDR and send the same: it counts too.
    ///
    /// # Errors
    /// The encapsulation is another one, or the fields end too early.
    pub fn decode(payload: &[u8]) -> Result<Self, DiscoveryError> {
        let (id, content) = encapsulated(payload)?;
        let endianness = match id {
            0 | 2 | 6 => Endianness::Big,
            1 | 3 | 7 => Endianness::Little,
            id => return Err(DiscoveryError::Encapsulation(id)),
        };
        let fields = &mut Cursor::new(content, endianness);
        let message = fields.array().zip(fields.array()).zip(value::octets(fields));
        let ((prefix, kind), data) = message.ok_or(DiscoveryError::TooShort)?;
        Ok(Self { prefix: GuidPrefix(prefix), kind, data })
    }
}
