//! Worst-case latency: bounds that hold for every behaviour the model allows, and the decisions that rest on them.
//!
//! All arithmetic is on integers: [`units`] says which, and every rounding is against us. A bound that cannot be
//! computed is `None`, never a guess.
//!
//! - [`framing`]: what a message weighs on the wire.
//! - [`port`]: one egress port and what arrives at it.
//! - [`linear`], [`busy`]: bounds of the delay at a port; [`backlog`]: of what its queues hold.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod backlog;
pub mod busy;
mod curve;
pub mod framing;
pub mod linear;
pub mod port;
pub mod units;
