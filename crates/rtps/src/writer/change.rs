//! What is written, and why it may not be.
use core::fmt;

use wire::Timestamp;
use wire::message::PayloadKind;

use crate::Payload;

/// What is written, apart from its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change<'a> {
    /// Whether the payload is data, a key or absent.
    pub kind: PayloadKind,
    /// An encoded parameter list with its sentinel.
    pub inline_qos: Option<&'a [u8]>,
    /// When the application wrote it.
    pub source_timestamp: Option<Timestamp>,
}

/// The payload of a change, encapsulation header included; empty for a change without payload.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a, P> {
    /// Bytes to copy.
    Copy(&'a [u8]),
    /// A handle to keep. Small ones are copied all the same.
    Shared(P),
    /// A handle to keep, however small: it stays at the place that its sender chooses. It shares its datagram with no other change.
    Kept(P),
}

impl<P: Payload> Body<'_, P> {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Copy(bytes) => bytes,
            Self::Shared(payload) | Self::Kept(payload) => payload.as_ref(),
        }
    }

    /// How many bytes they are.
    pub fn size(&self) -> usize {
        match self {
            Self::Copy(bytes) => bytes.len(),
            Self::Shared(payload) | Self::Kept(payload) => payload.size(),
        }
    }
}

/// Why a change was not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The history has reached its byte limit: wait for acknowledgements, or remove a change.
    Full {
        /// Bytes held.
        held: usize,
        /// Bytes that the change needs on top.
        needed: usize,
        /// The limit.
        limit: usize,
    },
    /// The sample can never be held or sent: it is larger than the byte limit or than 2^32 - 1 bytes.
    TooLarge {
        /// Bytes of the payload.
        len: usize,
        /// The most that is possible.
        limit: usize,
    },
    /// It is larger than the writer's contract says.
    AboveContract {
        /// Bytes of the payload and of inline QoS in each of its fragments.
        len: usize,
        /// The most that was declared.
        limit: usize,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { held, needed, limit } => {
                write!(f, "history is full: {held} octets held, {needed} more needed, the limit is {limit}")
            }
            Self::TooLarge { len, limit } => {
                write!(f, "a sample of {len} octets is larger than the limit of {limit}")
            }
            Self::AboveContract { len, limit } => {
                write!(
                    f,
                    "a message of {len} octets is larger than the {limit} that the writer's contract allows"
                )
            }
        }
    }
}

impl core::error::Error for WriteError {}

/// Why `write_in_place` wrote nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InPlaceError<E> {
    /// The history refused.
    Write(WriteError),
    /// The encoder failed.
    Encode(E),
    /// The encoder wrote more than it had said.
    Overrun {
        /// What it had said, in bytes.
        max_len: usize,
    },
}
