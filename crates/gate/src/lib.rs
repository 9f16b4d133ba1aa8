//! The message gate: at most one message of so many bytes per separation, for each flow, where it enters the network; and a
//! bucket for discovery, whose excess is not admitted.
//!
//! - [`contract`]: what a flow may send, and the most that then leaves a gate.
//! - [`machine`]: the rule, frame by frame. A writer that asks it before it sends stays inside its contract.
//! - [`protocol`]: what the agent of a switch's gates is asked and answers.
//! - [`class`]: which codepoint of IPv4 stands for which level.
//! - [`metatraffic`]: the frames of discovery, which share one contract at a port.
//!
//! Decision 3 says why the rule is what it is. No sockets, no clock: time is nanoseconds that the caller gives.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod class;
pub mod contract;
pub mod machine;
pub mod metatraffic;
pub mod protocol;

pub use contract::{Contract, Key, Kind};
pub use machine::{Gate, Verdict};
