//! Whether the chains and connections of deployment plans keep their limits.
//!
//! [`admit`] makes a system of the response-time analysis (`response`) of one or more plans that run at the same time, and gives a verdict
//! for each chain and each connection: admitted, refused with the time that is missing, or no bound with the reason. What a plan does not say and a bound needs
//! is an [`Obstacle`], with the path in the plan and what to write there. Nothing is assumed in its place.
//!
//! A plan with modes is admitted in each mode, and on each way from one mode to another: what is active in either counts together there.
//!
//! [`changes`] looks for single changes of a plan that admit more, and [`improve`] makes such changes one after the other. [`assign`] fills in
//! lanes, cores, priorities and depths.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::string::String;

mod admission;
mod assign;
mod change;
mod connections;
mod handlers;
mod kept;
mod lanes;
mod links;
mod modes;
mod nearby;
mod obstacle;
mod parts;
mod paths;
mod system;
mod words;

pub use admission::{Admission, ChainVerdict, PortVerdict, ShareOfTime, State, admit};
pub use assign::{Assigned, Order, assign};
pub use change::{Change, Effect, Effort, Improved, Offered, changes, improve};
pub use connections::ConnectionVerdict;
pub use modes::Situation;
pub use obstacle::Obstacle;
pub use response::Stream;

/// A plan with the types of its components.
#[derive(Clone, Copy, Debug)]
pub struct Deployed<'p> {
    /// The plan; one that [`assembly::Plan::check`] finds nothing wrong with.
    pub plan: &'p assembly::Plan,
    /// Its component types.
    pub types: &'p assembly::Catalogue,
    /// The transfers that were computed for it, if that was done.
    pub transfers: Option<&'p Transfers>,
}

/// Computed transfers of connections that say none themselves, by the name of the connection and the number of its end; or why there is none,
/// and what to do.
pub type Transfers = BTreeMap<(String, usize), Result<assembly::Transfer, (String, String)>>;
