//! Diameter (RFC 6733): messages, peers, and sessions for authorization and accounting, as state machines. No sockets, no
//! clock.
//!
//! - [`header`], [`avp`], [`value`], [`structure`]: what messages are made of.
//! - [`command`], [`qos`], [`message`]: what both sides say, as values that are decoded from and encoded to whole messages.
//! - [`error`], [`result_code`]: what can be wrong, and the codes that tell it.
//! - [`framer`]: messages out of the bytes of a connection.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod avp;
pub mod command;
pub mod error;
pub mod framer;
pub mod header;
pub mod message;
pub mod qos;
pub mod result_code;
pub mod structure;
pub mod value;

pub use header::Header;
pub use message::Message;
pub use result_code::ResultCode;
