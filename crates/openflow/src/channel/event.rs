//! What a channel tells its owner.
use alloc::vec::Vec;
use core::fmt;

use crate::error_code::{ErrorCode, ErrorMessage};
use crate::hello::Hello;
use crate::message::{Header, Message, MessageType};
use crate::read::DecodeError;
use crate::stream::BadLength;
use crate::switch::Features;
use crate::words::Xid;
use crate::write::TooLong;

/// A change that the switch refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The transaction of the change.
    pub xid: Xid,
    /// Why: the first error that the switch gave for it.
    pub code: ErrorCode,
}

/// What has happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Both sides speak 1.3.
    Up {
        /// Who the switch is; `None` at the switch's side.
        features: Option<Features>,
        /// Which versions the other side speaks.
        peer: Hello,
    },
    /// A message that is no answer: PACKET_IN, PORT_STATUS, FLOW_REMOVED, or a request of the controller. It may come
    /// before `Up`.
    Message {
        /// Its transaction, which an answer must have.
        xid: Xid,
        /// What it says.
        message: Message,
    },
    /// The answer to a request, put together if it came in parts.
    Reply {
        /// That of the request.
        xid: Xid,
        /// The answer.
        message: Message,
    },
    /// A barrier was answered: all changes before it are done, or refused.
    Confirmed {
        /// The transaction of the barrier.
        barrier: Xid,
        /// The changes before it, since the last barrier that was answered, that were refused.
        refused: Vec<Refusal>,
    },
    /// An ERROR came.
    Refused {
        /// The transaction that it names.
        xid: Xid,
        /// What was refused: a request, which is over, or a change; `None` if there is no such transaction.
        request: Option<MessageType>,
        /// Why.
        error: ErrorMessage,
    },
    /// No answer, or not all of it, came in time. If it comes later it is a `Stray`.
    TimedOut {
        /// The transaction of the request.
        xid: Xid,
        /// What was asked.
        request: MessageType,
    },
    /// An answer was longer than `max_reply`, or its parts did not fit together; what comes of it later is a `Stray`.
    ReplyTooLong {
        /// The transaction of the request.
        xid: Xid,
    },
    /// An answer to nothing that was asked.
    Stray {
        /// Its transaction.
        xid: Xid,
        /// Its type.
        kind: MessageType,
    },
    /// A message that cannot be read. The channel goes on: its length was right.
    Unreadable {
        /// Its header.
        header: Header,
        /// Why.
        error: DecodeError,
        /// The request that it was the answer to, which is over.
        request: Option<MessageType>,
    },
    /// The channel has ended, and with it all requests and unconfirmed changes: it is not known whether they were done.
    Down(DownReason),
}

/// Why a channel has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DownReason {
    /// The connection was closed.
    Closed,
    /// No HELLO, or no features, in time.
    HandshakeTimeout,
    /// The first message was no HELLO, or an unreadable one.
    NoHello,
    /// The other side does not speak 1.3.
    NoVersionInCommon(Hello),
    /// The other side says that it cannot speak with us.
    HelloRefused {
        /// Why.
        code: ErrorCode,
        /// What it says about it.
        text: Vec<u8>,
    },
    /// The switch refused to tell its features.
    NoFeatures,
    /// Nothing came after an ECHO_REQUEST.
    EchoTimeout,
    /// The other side does not read what we send.
    OutputFull,
    /// A length that is no length: it is not known where the next message begins.
    BadLength(BadLength),
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::HandshakeTimeout => f.write_str("no HELLO or no features in time: is there a switch?"),
            Self::NoHello => f.write_str("the first message was no HELLO: this is no OpenFlow"),
            Self::NoVersionInCommon(hello) => {
                write!(
                    f,
                    "the other side speaks version {:#04x} and not 1.3: allow OpenFlow13",
                    hello.version
                )
            }
            Self::HelloRefused { code, .. } => write!(f, "the other side refused our HELLO: {code}"),
            Self::NoFeatures => f.write_str("the switch refused to tell its features"),
            Self::EchoTimeout => f.write_str("no answer to an echo request"),
            Self::OutputFull => f.write_str("the other side does not read what is sent"),
            Self::BadLength(bad) => bad.fmt(f),
        }
    }
}

/// Why nothing was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The channel is not up.
    NotUp,
    /// The message is too long: split it.
    TooLong(TooLong),
    /// Too many requests wait for their answers: wait for some.
    TooManyOutstanding,
    /// Too many changes wait for a barrier: send one, and wait for its answer.
    TooManyUnconfirmed,
    /// Too many bytes wait to be sent: send some.
    OutputFull,
    /// HELLO and requests in parts are not for the owner; [`commit`](crate::Channel::commit) is for changes only.
    Reserved(MessageType),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUp => f.write_str("the channel is not up: wait for its event"),
            Self::TooLong(error) => error.fmt(f),
            Self::TooManyOutstanding => f.write_str("too many requests wait for answers: wait for some"),
            Self::TooManyUnconfirmed => f.write_str("too many changes without a barrier: send one and wait"),
            Self::OutputFull => f.write_str("too many octets wait to be sent: send some first"),
            Self::Reserved(kind) => write!(f, "{kind:?} cannot be sent in this way"),
        }
    }
}

impl core::error::Error for SendError {}
