//! The header of a message.
use core::fmt;

use crate::guid::GuidPrefix;
use crate::vendor::{ProtocolVersion, VendorId};

/// The twenty bytes that begin every message, and the source that INFO_SRC names (RTPS 2.5, 8.3.3.1, 9.4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Protocol version of the sender; its minor version is never a reason to refuse.
    pub version: ProtocolVersion,
    /// Vendor of the sender.
    pub vendor: VendorId,
    /// Participant that sent the submessages that follow.
    pub prefix: GuidPrefix,
}

impl Header {
    /// Bytes on the wire.
    pub const LEN: usize = 20;
    /// The first four bytes of a message.
    pub const MAGIC: [u8; 4] = *b"RTPS";

    /// The header of our messages.
    pub const fn ours(prefix: GuidPrefix) -> Self {
        Self { version: ProtocolVersion::OURS, vendor: VendorId::PUNCTUAL, prefix }
    }

    /// The bytes as they stand at the start of a message.
    #[inline]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let [r, t, p, s] = Self::MAGIC;
        let ProtocolVersion { major, minor } = self.version;
        let VendorId([v0, v1]) = self.vendor;
        let GuidPrefix([a, b, c, d, e, f, g, h, i, j, k, l]) = self.prefix;
        [r, t, p, s, major, minor, v0, v1, a, b, c, d, e, f, g, h, i, j, k, l]
    }

    /// Reads the bytes at the start of a message; `None` unless they begin with the magic word.
    #[inline]
    pub(crate) fn from_bytes(bytes: [u8; Self::LEN]) -> Option<Self> {
        let [r, t, p, s, major, minor, v0, v1, a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        ([r, t, p, s] == Self::MAGIC).then_some(Self {
            version: ProtocolVersion { major, minor },
            vendor: VendorId([v0, v1]),
            prefix: GuidPrefix([a, b, c, d, e, f, g, h, i, j, k, l]),
        })
    }
}

/// Why bytes are no message that can be read at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageError {
    /// Fewer bytes than a header.
    TooShort {
        /// How many there are.
        len: usize,
    },
    /// The first four bytes are not "RTPS".
    NotRtps,
    /// A major version other than 2.
    Version(ProtocolVersion),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { len } => write!(f, "{len} octets are too few for an RTPS header"),
            Self::NotRtps => write!(f, "not an RTPS message"),
            Self::Version(version) => {
                write!(f, "RTPS version {}.{} is unknown", version.major, version.minor)
            }
        }
    }
}

impl core::error::Error for MessageError {}
