//! Diameter (RFC 6733): messages, peers, and sessions for authorization and accounting, as state machines. No sockets, no
//! clock.
//!
//! - [`header`], [`avp`], [`value`], [`structure`]: what messages are made of.
//! - [`command`], [`qos`], [`message`]: what both sides say, as values that are decoded from and encoded to whole messages.
//! - [`error`], [`result_code`]: what can be wrong, and the codes that tell it.
//! - [`framer`], [`incoming`]: messages out of the bytes of a connection, and the first one, which says who is there.
//! - [`local`], [`peer`], [`watchdog`]: this node, and its connections to others (RFC 6733, 5.6; RFC 3539).
//! - [`duplicates`], [`relay`]: requests that come twice, and requests for others.
//! - [`session`], [`accounting`]: authorised sessions (RFC 6733, 8.1) and their records (8.2), at client and server.
//!
//! What is left to the owner, and why, says `docs/decisions/0035-diameter.md`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod accounting;
pub mod avp;
pub mod command;
pub mod duplicates;
pub mod error;
pub mod framer;
pub mod header;
pub mod incoming;
pub mod local;
pub mod message;
pub mod peer;
pub mod qos;
pub mod relay;
pub mod result_code;
pub mod session;
pub mod structure;
pub mod value;
pub mod watchdog;

pub use header::Header;
pub use message::Message;
pub use result_code::ResultCode;
