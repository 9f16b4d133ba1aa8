//! RTPS behaviour as state machines without input or output.
//!
//! [`Writer`](writer::Writer), [`Reader`](reader::Reader) and `Discovery` are separate machines; a participant only routes between them.
//! Datagrams, commands and the time go in; [`Transmit`]s, samples, events and the next timeout come out. No machine
//! reads a clock, draws a random number or knows a socket.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod conduct;
mod count;
pub mod discovery;
pub mod familiar;
pub mod network;
mod pace;
pub mod path;
pub mod ports;
pub mod reader;
pub mod receiver;
pub mod route;
mod slab;
mod spacing;
pub mod spare;
pub mod transmit;
mod value;
pub mod writer;

use alloc::sync::Arc;

pub use conduct::Conduct;
pub use network::{Interface, Network};
pub use path::{Flow, Path};
pub use transmit::{Piece, Transmit};
pub use value::Value;

/// A handle of the bytes of a large sample. The machines pass it on and never look inside.
///
/// Large functions that are generic over it say `#[inline(never)]`: the compiler then makes them once for a program, and otherwise
/// once for each crate that uses them.
pub trait Payload: AsRef<[u8]> + Clone {
    /// A handle of a copy of these bytes.
    fn copied_from(bytes: &[u8]) -> Self;

    /// How many bytes it has.
    fn size(&self) -> usize {
        self.as_ref().len()
    }

    /// What readers of the same process get instead of bytes, if it is more than bytes.
    fn value(&self) -> Option<Arc<dyn Value>> {
        None
    }

    /// True if [`Payload::value`] gives something.
    fn is_value(&self) -> bool {
        false
    }
}

impl Payload for Arc<[u8]> {
    fn copied_from(bytes: &[u8]) -> Self {
        Self::from(bytes)
    }
}
