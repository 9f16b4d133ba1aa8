//! OpenFlow 1.3 (ONF TS-023, 1.3.5): messages, and the channel to a switch as a state machine. No sockets, no clock.
//!
//! - [`message`]: what both sides say, as values that are decoded from and encoded to whole messages.
//! - [`oxm`], [`matching`], [`action`], [`instruction`]: what flows are made of.
//! - [`flow`], [`group`], [`meter`], [`port`], [`packet`], [`switch`], [`multipart`]: the bodies of messages.
//! - [`hello`], [`error_code`]: versions, and what can go wrong.
//! - [`stream`]: messages out of the bytes of a TCP connection.
//! - [`channel`]: handshake, keep-alive, replies that find their requests, and changes that are confirmed.
//!
//! What is refused and what is kept unread is listed in `docs/openflow.md`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod action;
pub mod channel;
pub mod error_code;
pub mod flow;
pub mod group;
pub mod hello;
pub mod instruction;
pub mod matching;
pub mod message;
pub mod meter;
pub mod multipart;
pub mod oxm;
pub mod packet;
pub mod port;
mod read;
pub mod stream;
pub mod switch;
mod told;
pub mod words;
mod write;

pub use channel::Channel;
pub use message::Message;
pub use read::{DecodeError, Problem};
pub use words::Xid;
pub use write::TooLong;
