//! A Linux bridge as an OpenFlow switch: the second kind of switch that a resource manager manages.
//!
//! ```text
//! manager -- OpenFlow 1.3 --> Switch (switch.rs) over DataPath (datapath.rs)
//!                                 tables.rs      what was told
//!                                 translate.rs   as rules (ruleset.rs)
//!                                 nft.rs         in the kernel, read back by listing.rs
//! network file --> queues.rs, of classes.rs          queues of ports, read back by disciplines.rs
//! ```
//!
//! How to use it: docs/bridge.md. Why it is so: decision 21.
pub mod agent;
pub mod classes;
mod command;
mod copies;
pub mod datapath;
pub mod disciplines;
pub mod listing;
pub mod nft;
pub mod path;
pub mod ports;
pub mod queues;
pub mod ruleset;
mod session;
pub mod switch;
pub mod tables;
pub mod translate;

pub use command::{READY_LINE, SwitchArguments, run_switch};
