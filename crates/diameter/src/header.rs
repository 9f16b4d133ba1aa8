//! The header of 20 bytes that every message has. RFC 6733, 3.
use alloc::vec::Vec;
use core::fmt;

use crate::error::{DecodeError, Problem};

/// Bytes of the header.
pub const HEADER_LEN: usize = 20;
/// The longest message that a length of 24 bits, a multiple of four, can say.
pub const LONGEST: usize = 0xff_fffc;
/// The only version.
const VERSION: u8 = 1;

/// The flags of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// R: a request; without it, an answer.
    pub const REQUEST: Self = Self(0x80);
    /// P: agents may forward the message.
    pub const PROXIABLE: Self = Self(0x40);
    /// E: an answer that tells of a protocol error, with the AVPs of RFC 6733, 7.2.
    pub const ERROR: Self = Self(0x20);
    /// T: a request that may have been received before.
    pub const RETRANSMITTED: Self = Self(0x10);

    /// True if all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in `self` and not in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The number of a command; request and answer share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommandCode(pub u32);

macro_rules! commands {
    ($($(#[$doc:meta])* $constant:ident = $code:literal, $name:literal;)*) => {
        impl CommandCode {
            $($(#[$doc])* pub const $constant: Self = Self($code);)*
        }
        impl fmt::Display for CommandCode {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($code => f.write_str($name),)*
                    other => write!(f, "command {other}"),
                }
            }
        }
    };
}

commands! {
    /// CER and CEA: what a peer is and can.
    CAPABILITIES_EXCHANGE = 257, "Capabilities-Exchange";
    /// RAR and RAA: the server wants the client to authorise again.
    RE_AUTH = 258, "Re-Auth";
    /// AAR and AAA of NASREQ: may this session be?
    AA = 265, "AA";
    /// ACR and ACA: an accounting record.
    ACCOUNTING = 271, "Accounting";
    /// ASR and ASA: the server ends a session.
    ABORT_SESSION = 274, "Abort-Session";
    /// STR and STA: the client has ended a session.
    SESSION_TERMINATION = 275, "Session-Termination";
    /// DWR and DWA: is the peer alive?
    DEVICE_WATCHDOG = 280, "Device-Watchdog";
    /// DPR and DPA: the connection is about to be closed.
    DISCONNECT_PEER = 282, "Disconnect-Peer";
}

/// The number of an application.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ApplicationId(pub u32);

impl ApplicationId {
    /// The base protocol between peers.
    pub const BASE: Self = Self(0);
    /// NASREQ (RFC 7155), whose AA command authorises sessions.
    pub const NASREQ: Self = Self(1);
    /// Accounting of the base protocol.
    pub const ACCOUNTING: Self = Self(3);
    /// The QoS application (RFC 5866).
    pub const QOS: Self = Self(9);
    /// What a relay says: it forwards every application.
    pub const RELAY: Self = Self(0xffff_ffff);
}

/// The header of a message, without its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    /// Request, proxiable, error, retransmitted.
    pub flags: Flags,
    /// What is asked or answered.
    pub command: CommandCode,
    /// The application that the command belongs to.
    pub application: ApplicationId,
    /// Matches answers with requests on one connection.
    pub hop_by_hop: u32,
    /// Tells duplicates, together with Origin-Host, on the whole path.
    pub end_to_end: u32,
}

impl Header {
    /// A request with numbers still to be set: senders of requests set them.
    pub const fn request(command: CommandCode, application: ApplicationId, proxiable: bool) -> Self {
        let flags = if proxiable { Flags::REQUEST.with(Flags::PROXIABLE) } else { Flags::REQUEST };
        Self { flags, command, application, hop_by_hop: 0, end_to_end: 0 }
    }

    /// The header of the answer to this request: same numbers, without R and T.
    pub const fn answer(&self) -> Self {
        let flags = self.flags.without(Flags::REQUEST).without(Flags::RETRANSMITTED).without(Flags::ERROR);
        Self { flags, ..*self }
    }

    /// The same with the error bit.
    pub const fn with_error(self) -> Self {
        Self { flags: self.flags.with(Flags::ERROR), ..self }
    }

    /// True for a request.
    pub const fn is_request(&self) -> bool {
        self.flags.contains(Flags::REQUEST)
    }

    /// Reads the first 20 bytes, and the length that they claim. The length is not compared with the bytes that follow, nor are
    /// the flags judged.
    ///
    /// # Errors
    /// Fewer bytes, another version, or a length that no message has.
    pub fn read(bytes: &[u8]) -> Result<(Self, usize), DecodeError> {
        let error = |offset, problem| DecodeError { offset, avp: None, problem };
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(error(0, Problem::MessageLength(bytes.len())));
        };
        let word = |at: usize| {
            header.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_be_bytes(*four))
        };
        let (first, second) = (word(0), word(4));
        let version = (first >> 24) as u8;
        if version != VERSION {
            return Err(error(0, Problem::Version(version)));
        }
        let len = (first & 0xff_ffff) as usize;
        if len < HEADER_LEN || !len.is_multiple_of(4) {
            return Err(error(1, Problem::MessageLength(len)));
        }
        let header = Self {
            flags: Flags((second >> 24) as u8),
            command: CommandCode(second & 0xff_ffff),
            application: ApplicationId(word(8)),
            hop_by_hop: word(12),
            end_to_end: word(16),
        };
        Ok((header, len))
    }

    /// Refuses a request with the error bit or an answer with the T flag (RFC 6733, 3). Reserved flags are ignored.
    ///
    /// # Errors
    /// The flags, as [`Problem::HeaderBits`].
    pub const fn check_flags(&self) -> Result<(), DecodeError> {
        let request = self.is_request();
        let wrong = (request && self.flags.contains(Flags::ERROR))
            || (!request && self.flags.contains(Flags::RETRANSMITTED));
        if wrong {
            return Err(DecodeError { offset: 4, avp: None, problem: Problem::HeaderBits(self.flags.0) });
        }
        Ok(())
    }

    /// Appends the header of a message of `len` bytes.
    pub(crate) fn write(&self, len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&(u32::from(VERSION) << 24 | (len as u32 & 0xff_ffff)).to_be_bytes());
        out.extend_from_slice(&(u32::from(self.flags.0) << 24 | (self.command.0 & 0xff_ffff)).to_be_bytes());
        for word in [self.application.0, self.hop_by_hop, self.end_to_end] {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}

/// Sets the flags and the hop-by-hop number of a message that is already encoded. Shorter bytes stay as they are.
pub fn readdress(message: &mut [u8], flags: Flags, hop_by_hop: u32) {
    if let Some(place) = message.get_mut(4) {
        *place = flags.0;
    }
    if let Some(place) = message.get_mut(12..16) {
        place.copy_from_slice(&hop_by_hop.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let header = Header {
            flags: Flags::REQUEST.with(Flags::PROXIABLE),
            command: CommandCode::AA,
            application: ApplicationId::NASREQ,
            hop_by_hop: 0x0102_0304,
            end_to_end: 0x0506_0708,
        };
        let mut bytes = Vec::new();
        header.write(20, &mut bytes);
        let expected = [1, 0, 0, 20, 0xc0, 0, 1, 9, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(bytes, expected);
        assert_eq!(Header::read(&bytes), Ok((header, 20)));
        assert_eq!(header.answer().flags, Flags::PROXIABLE);
    }

    #[test]
    fn lengths_and_versions_that_cannot_be_are_refused() {
        let mut bytes = [1, 0, 0, 20, 0xc0, 0, 1, 9, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8];
        for len in [0, 16, 19, 21, 22, 23] {
            bytes[3] = len;
            let error = Header::read(&bytes).unwrap_err();
            assert_eq!(error.problem, Problem::MessageLength(usize::from(len)));
        }
        bytes[0] = 2;
        assert_eq!(Header::read(&bytes).unwrap_err().problem, Problem::Version(2));
        assert!(Header::read(&bytes[..19]).is_err());
    }

    #[test]
    fn flags_that_contradict_are_seen() {
        let request = Header::request(CommandCode::AA, ApplicationId::NASREQ, true);
        assert!(request.check_flags().is_ok());
        assert!(request.with_error().check_flags().is_err());
        let answer = request.answer();
        assert!(answer.with_error().check_flags().is_ok());
        let flags = answer.flags.with(Flags::RETRANSMITTED);
        assert!(Header { flags, ..answer }.check_flags().is_err());
    }
}
