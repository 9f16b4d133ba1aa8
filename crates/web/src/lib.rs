//! The resource manager's page and HTTP interface: what it does, live, and what operators do by hand.
//!
//! The manager hands over immutable snapshots and events through a bounded channel that it never waits for ([`Publisher`]), and takes
//! [`Command`]s from another one. Everything else is on a thread of its own. See `docs/web.md`.
#![forbid(unsafe_code)]

mod answers;
mod changes;
mod drains;
mod limits;
mod metrics;
mod model;
mod record;
mod reload;
mod routes;
mod serve;
mod tunnels;

pub use model::{Alarm, Command, Place, Refused, Said, Snapshot, TunnelsHeld};
pub use page_server::Settings;
pub use serve::{Publisher, Running, start};

/// Reads the body of a question (`POST /api/v1/requests`).
///
/// # Errors
/// What is wrong with it.
pub fn question(body: &[u8]) -> Result<control::what_if::Question, String> {
    changes::question(body)
}

/// Reads the body of what an owner of tunnels wants (`PUT /api/v1/tunnels/{owner}`).
///
/// # Errors
/// What is wrong with it.
pub fn tunnels_wanted(body: &[u8]) -> Result<control::tunnels::TunnelsWanted, String> {
    tunnels::wanted(body)
}

/// What the interface is, for programs: every path with its parameters and answers.
pub const OPENAPI: &str = include_str!("openapi.json");
