//! What is wrong with received bytes, where, and the Result-Code that tells the sender.
use alloc::vec::Vec;
use core::fmt;

use crate::avp::{AvpCode, HEADER_LEN as AVP_HEADER_LEN};
use crate::header::HEADER_LEN;
use crate::result_code::ResultCode;

/// Why bytes are no message that this crate reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// A version other than 1.
    Version(u8),
    /// A message length that is below 20, no multiple of four, above the limit, or not the number of bytes.
    MessageLength(usize),
    /// Header flags that contradict each other, or an error bit in a request.
    HeaderBits(u8),
    /// A command that this crate does not know, with its direction.
    Command {
        /// The command code.
        code: u32,
        /// True for a request.
        request: bool,
    },
    /// Fewer bytes than an AVP header, or an AVP length below its header or beyond the message.
    AvpLength,
    /// Reserved flags of an AVP that are set.
    AvpBits(u8),
    /// Grouped AVPs nested deeper than the limit.
    Nesting,
    /// A value of a length that its type does not have.
    ValueLength,
    /// A value that its type or its AVP does not allow.
    Value,
    /// An AVP with the M flag that the receiver does not know.
    Unsupported,
    /// An AVP that must be there.
    Missing,
    /// An AVP that occurs more often than it may.
    TooMany,
}

/// Bytes that cannot be read, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Bytes from the start of the message to the AVP or header field.
    pub offset: usize,
    /// The AVP, if it is about one.
    pub avp: Option<AvpCode>,
    /// What is wrong there.
    pub problem: Problem,
}

impl DecodeError {
    /// The Result-Code of the answer that refuses the message (RFC 6733, 7.1).
    pub const fn result_code(&self) -> ResultCode {
        match self.problem {
            Problem::Version(_) => ResultCode::UNSUPPORTED_VERSION,
            Problem::MessageLength(_) => ResultCode::INVALID_MESSAGE_LENGTH,
            Problem::HeaderBits(_) => ResultCode::INVALID_HDR_BITS,
            Problem::Command { .. } => ResultCode::COMMAND_UNSUPPORTED,
            Problem::AvpLength | Problem::ValueLength => ResultCode::INVALID_AVP_LENGTH,
            Problem::AvpBits(_) => ResultCode::INVALID_AVP_BITS,
            Problem::Nesting | Problem::Value => ResultCode::INVALID_AVP_VALUE,
            Problem::Unsupported => ResultCode::AVP_UNSUPPORTED,
            Problem::Missing => ResultCode::MISSING_AVP,
            Problem::TooMany => ResultCode::AVP_OCCURS_TOO_MANY_TIMES,
        }
    }

    /// The AVP that the answer carries inside Failed-AVP (RFC 6733, 7.5): the offending one as it came, or, where its
    /// length is wrong or it is missing, its header with a payload of zeros.
    pub fn failed_avp(&self, message: &[u8]) -> Option<Vec<u8>> {
        let code = self.avp?;
        let whole = match self.problem {
            Problem::Missing | Problem::AvpLength => None,
            _ => message.get(self.offset..).and_then(|rest| {
                let [_, _, _, _, _, high, middle, low] = *rest.first_chunk::<8>()?;
                rest.get(..u32::from_be_bytes([0, high, middle, low]) as usize)
            }),
        };
        let mut avp = whole.map(<[u8]>::to_vec).unwrap_or_else(|| {
            let mut header = code.0.to_be_bytes().to_vec();
            let vendor = match self.problem {
                Problem::AvpLength => message.get(self.offset..).and_then(vendor_of),
                _ => None,
            };
            let len = AVP_HEADER_LEN + if vendor.is_some() { 4 } else { 0 };
            header.extend_from_slice(&[if vendor.is_some() { 0x80 } else { 0 }, 0, 0, len as u8 + 4]);
            header.extend(vendor.into_iter().flatten());
            header.extend_from_slice(&[0; 4]);
            header
        });
        avp.resize(avp.len().next_multiple_of(4), 0);
        Some(avp)
    }
}

/// The vendor of an AVP header, if it has one and is whole.
fn vendor_of(avp: &[u8]) -> Option<[u8; 4]> {
    let header = avp.first_chunk::<12>()?;
    let [.., a, b, c, d] = *header;
    (header.get(4)? & 0x80 != 0).then_some([a, b, c, d])
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::Version(version) => return write!(f, "Diameter version {version} instead of 1"),
            Problem::MessageLength(len) => {
                return write!(
                    f,
                    "a message length of {len}: it must be a multiple of 4 from {HEADER_LEN} to the limit, and what there is"
                );
            }
            Problem::HeaderBits(flags) => {
                return write!(f, "header flags {flags:#04x} are not allowed together");
            }
            Problem::Command { code, request } => {
                let kind = if request { "request" } else { "answer" };
                return write!(f, "unknown {kind} with command code {code}");
            }
            _ => {}
        }
        write!(f, "byte {}: ", self.offset)?;
        match self.avp {
            Some(code) => write!(f, "{code} ")?,
            None => write!(f, "an AVP ")?,
        }
        match self.problem {
            Problem::AvpLength => write!(f, "has a length that does not fit into what encloses it"),
            Problem::AvpBits(flags) => write!(f, "has reserved flags set: {flags:#04x}"),
            Problem::Nesting => write!(f, "is nested too deep"),
            Problem::ValueLength => write!(f, "has a value of a length that its type does not have"),
            Problem::Value => write!(f, "has a value that is not allowed"),
            Problem::Unsupported => write!(f, "has the M flag and is not supported"),
            Problem::Missing => write!(f, "is missing in the message or group that begins there"),
            Problem::TooMany => write!(f, "occurs more often than it may"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for DecodeError {}

/// A message that would be longer than 2^24 - 4 bytes, or has a value that cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// The message or one of its AVPs has more bytes than a length of 24 bits can say.
    TooLong(usize),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(len) => {
                write!(f, "a message of {len} bytes, and Diameter ends at 16777212: send less")
            }
        }
    }
}

impl core::error::Error for EncodeError {}
