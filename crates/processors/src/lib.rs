//! Processors, lanes, components and chains, simulated event by event and driven by adversaries: the judge of
//! response-time bounds.
//!
//! What is simulated is `docs/components-model.md`; names such as P11 or B4 in this crate are rules of that page. The
//! crate shares no code and no formula with an analysis. Time is in nanoseconds and counted in integers. The same
//! system and the same attack always give the same outcome.
//!
//! - [`System`] is what is simulated, checked from a [`Description`].
//! - [`Attack`] is everything that an adversary may choose. [`run`] gives its [`Outcome`], [`explain`] says in words
//!   how the worst case came about.
//! - [`Search`] looks for the attack that is worst for one goal. [`refute`] takes [`Claims`] and gives the first
//!   value that is above what is claimed.
//! - [`generate`] makes random systems.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod attack;
#[cfg(test)]
mod audit;
mod check;
mod engine;
pub mod generate;
mod moves;
mod outcome;
mod search;
mod story;
mod system;

pub use attack::{Attack, Emission, Extent, Pattern, Ties};
pub use check::SystemError;
pub use engine::run;
pub use outcome::{Claims, Exceedance, Goal, Outcome, Seen};
pub use search::{Effort, Found, Refutation, Search, SearchError, refute, refute_some};
pub use story::explain;
pub use system::{
    Chain, Component, Connection, Description, Entry, Full, Host, Join, Keep, Lane, LaneOrder, MOST_CHAINS,
    Output, Port, Scheduling, Source, SourceKind, Stall, Step, System, Target, Throttling,
};
