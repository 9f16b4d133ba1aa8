//! The resource manager of a network of OpenFlow switches, as a state machine: requests, events of switches and the time
//! go in; changes of switches and gates, things to store and verdicts come out. No sockets, no clock.
//!
//! [`ResourceManager`] decides, with a machine each for requests, reservations, the fabric and operations. [`session`] turns what it wants of a switch into bytes, and [`orders`] what it wants of gates into requests;
//! what comes back becomes what the manager is told.
//!
//! `docs/decisions/0009-admission.md` says who asks and what an answer means.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod action;
mod admit;
mod allowed;
mod answers;
pub mod askers;
mod cables;
pub mod cabling;
pub mod change_network;
pub mod config;
mod displace;
pub mod drain;
mod dropped;
mod fabric;
mod flow_entry;
mod flows;
pub mod foreign;
pub mod grant;
mod inspect;
mod install;
mod links;
mod losses;
mod moves;
pub mod network;
pub mod note;
mod operations;
pub mod operator;
pub mod orders;
pub mod others;
mod proceed;
mod quota;
mod rates;
mod release;
pub mod report;
mod requests;
mod reservations;
mod resource_manager;
mod restore;
mod room;
pub mod session;
pub mod survey;
mod switches;
mod tree_changes;
mod trees;
pub mod tunnels;
mod unite;
mod view;
pub mod what_if;

pub use fabric::SwitchRefusal;
pub use resource_manager::ResourceManager;
