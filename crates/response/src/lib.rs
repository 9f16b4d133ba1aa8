//! Proved bounds of chains of components: response and backlog of ports, latency of connections, reaction and data age of chains.
//!
//! What a bound is a bound of says docs/components-model.md; rules such as P3 or B4 are its rules. Every behaviour that the model
//! allows keeps the bounds. Where that is not proved there is no bound, with a [`Reason`]. All arithmetic is on integers of
//! nanoseconds, checked, rounded against us, and limited in steps.
//!
//! - [`System`] says what is analysed; [`problems`] what is wrong with it.
//! - [`analyse`] gives an [`Analysis`]: bounds with the parts that they consist of, and verdicts.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod analysis;
mod chains;
mod cores;
mod curve;
mod gaps;
mod locks;
mod model;
mod problems;
mod runs;
mod system;
mod windows;
mod work;

pub use analysis::{Analysis, ChainBounds, ConnectionBounds, PortBounds, Stream, Verdict, analyse};
pub use chains::Share;
pub use cores::Cause;
pub use problems::{Demand, MOST, MOST_STEPS, Problem, problems};
pub use system::{
    Chain, Component, Connection, Full, Host, Join, Keep, Lane, Order, Port, Register, Scheduling, Source,
    SourceKind, Stall, Step, System, Target, Throttling, Time, Transfer,
};
pub use work::{Bound, Limits, Reason};
