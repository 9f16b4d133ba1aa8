//! Authorisation and accounting of sessions over Diameter: a server with users and contracts, and a client for resource managers.
//!
//! - [`users`], [`decision`]: who may do what, and whether a request is granted.
//! - [`server`], [`client`]: both ends as state machines; [`peers`] are their connections.
//! - [`journal`], [`entry`]: what both keep in files.
//! - [`node_file`], [`read_users`]: files of operators.
//! - [`run`]: sockets, TLS, clocks and files around the machines; [`run::handle`] is the client for programs.
//!
//! How to use it: `docs/aaa.md`. Why it is so: decision 40.
#![forbid(unsafe_code)]

pub mod client;
mod command;
pub mod decision;
pub mod entry;
pub mod journal;
pub mod node_file;
pub mod peers;
pub mod resources;
pub mod run;
pub mod server;
mod text;
pub mod users;
mod users_file;

pub use command::{AaaArguments, READY_LINE, run_aaa};
pub use users_file::{open_users, read_users};
