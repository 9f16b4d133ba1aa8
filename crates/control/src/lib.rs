//! The resource manager of a network of OpenFlow switches, as a state machine: requests, events of switches and the time
//! go in; changes of switches and gates, things to store and verdicts come out. No sockets, no clock.
//!
//! `docs/decisions/0009-admission.md` says who asks and what an answer means.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod action;
pub mod config;
pub mod grant;
pub mod network;
pub mod report;
