//! A network simulated frame by frame, driven by adversaries: the judge of latency bounds.
//!
//! Time is in picoseconds and counted in integers; sizes are bytes on the wire. The same network and the same
//! attack always give the same outcome. This crate shares no code and no formula with the analysis that it judges.
//!
//! - [`Network`] is what is simulated: hosts, store-and-forward switches, ports with non-preemptive strict priority
//!   over FIFO levels and finite buffers, multicast trees, gates and meters.
//! - [`Attack`] is everything that an adversary may choose within the contracts: when messages come, how ties are
//!   resolved, when best-effort frames start, how long switches take. [`run`] gives its [`Outcome`].
//! - [`Clocks`] says whose clocks run fast or slow.
//! - [`Search`] looks for the attack that is worst for one delivery.
//! - [`wire`] says which frames a sample becomes; [`generate`] makes random networks.
//!
//! Instants that are equal are resolved as the attack says. What it says is always the limit of a run without ties
//! (a frame that starts "at the instant at which" another arrives stands for one that starts just before), so a
//! bound that holds for every run holds for these too.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod adversary;
mod attack;
mod clocks;
mod engine;
mod events;
pub mod generate;
mod network;
mod outcome;
mod policer;
mod random;
pub mod wire;

pub use adversary::{Effort, Found, Search, SearchError};
pub use attack::{
    Attack, Becomes, BestEffort, Change, Message, Multiplexing, Parts, Pattern, Spacing, Ties, Timing,
};
pub use clocks::Clocks;
pub use engine::run;
pub use network::{Contract, Flow, Hop, Imperfections, LARGEST, LEVELS, Network, NetworkError, Node, Port};
pub use outcome::{Bounds, Delivery, Excess, Outcome};
pub use policer::{Counts, MILLISECOND, Policer};
pub use random::Random;
