//! Authorised sessions whose server keeps state: RFC 6733, 8.1, at both ends.
//!
//! A session is open at the client only while a grant of the server holds. The client counts a grant from when it asked, the
//! server from when it answers, so that the client ends first. Without an answer nothing opens.
pub mod client;
pub mod server;

use alloc::string::String;
use core::fmt::Write;

use crate::value::Identity;

/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// What Authorization-Lifetime says when a grant does not run out (RFC 6733, 8.9).
pub(crate) const NO_END: u32 = u32::MAX;

/// The time so many seconds after another; `None` for never.
pub(crate) fn after(start: u64, seconds: u32) -> Option<u64> {
    (seconds != NO_END).then(|| start.saturating_add(u64::from(seconds).saturating_mul(SECOND)))
}

/// A Session-Id (RFC 6733, 8.8): the name of the node that makes it, and two numbers. `high` grows with each start of the
/// program, such as the time, and `low` with each session.
pub fn session_id(host: &Identity, high: u32, low: u32) -> String {
    let mut id = String::from(host.as_str());
    // Writing into a string does not fail.
    let _ = write!(id, ";{high};{low}");
    id
}
