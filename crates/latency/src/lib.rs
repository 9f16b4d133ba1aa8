//! Worst-case latency: bounds that hold for every behaviour the model allows, and the decisions that rest on them.
//!
//! All arithmetic is on integers: [`units`] says which, and every rounding is against us. A bound that cannot be
//! computed is `None`, never a guess.
//!
//! - [`framing`]: what a message weighs on the wire.
//! - [`port`]: one egress port and what arrives at it; [`linear`], [`busy`], [`bound`]: bounds of its delays;
//!   [`backlog`]: of what its queues hold; [`levels`]: which flow goes into which level.
//! - [`switch`]: models of devices; [`routes`]: trees through a network of them; [`bundle`]: flows that the network
//!   cannot tell apart.
//! - [`network`]: ports, flows and trees; [`policing`]: gates and meters; [`path`]: bounds from end to end.
//! - [`ledger`]: admission and removal; [`choice`]: among ways, and of who yields; [`split`]: of the latency over the hops; [`order`]: of changes.
//! - [`repair`]: how late what was lost may be.
//! - [`reserve`]: what hosts may send of the traffic above all levels, and the gates that this takes.
//! - [`program`], [`facts`]: linear programs along a way, for limits that no other method meets.
//! - [`words`]: refusals in words; [`work`]: how much work all that was.
//! - [`certificate`]: the evidence for an admission; [`check`]: a separate, exact check of it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admission;
mod arrivals;
pub mod backlog;
pub mod bound;
pub mod bundle;
pub mod busy;
pub mod certificate;
pub mod check;
pub mod choice;
mod curve;
pub mod facts;
pub mod framing;
mod full;
mod group;
pub mod ledger;
pub mod levels;
pub mod linear;
pub mod losses;
mod meeting;
mod nearest;
pub mod network;
mod offer;
pub mod order;
pub mod path;
mod plp;
pub mod policing;
pub mod port;
pub mod program;
mod register;
pub mod repair;
pub mod reserve;
mod reshare;
mod resting;
pub mod routes;
mod settle;
pub mod split;
mod stair;
mod sums;
pub mod switch;
mod tandem;
pub mod units;
mod verdict;
pub mod words;
pub mod work;
