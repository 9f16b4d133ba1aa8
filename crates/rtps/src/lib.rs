//! RTPS behaviour as state machines without input or output.
//!
//! [`Writer`](writer::Writer), [`Reader`](reader::Reader) and `Discovery` are separate machines; a participant only routes between them.
//! Datagrams, commands and the time go in; [`Transmit`]s, samples, events and the next timeout come out. No machine
//! reads a clock, draws a random number or knows a socket.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod path;
pub mod transmit;

pub use path::Path;
pub use transmit::Transmit;
