//! How much anybody may ask the manager for, and how long that may take; those of connections are in `page_server::limits`.
use std::time::Duration;

/// Bytes of the body of a request.
pub(crate) const BODY: usize = 64 << 10;
/// The time for the body of a request.
pub(crate) const SENDING: Duration = Duration::from_secs(10);
/// The time that the manager has for an answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);
/// The time between two questions to the manager: each may cost it some tens of milliseconds.
pub(crate) const BETWEEN: Duration = Duration::from_millis(250);
/// How long a question waits for those before it.
pub(crate) const WAITING: Duration = Duration::from_secs(2);
/// Entries of the history, readings of a flow, and the least time between these.
pub(crate) const HISTORY: usize = 1_000;
pub(crate) const READINGS: usize = 120;
pub(crate) const APART: u64 = 1_000;
/// Places with dropped or missing frames.
pub(crate) const PLACES: usize = 256;
/// Events that the manager may be ahead.
pub(crate) const AHEAD: usize = 4_096;
/// Characters of an operator's name and of a reason.
pub(crate) const NAME: usize = 64;
pub(crate) const REASON: usize = 300;
/// How long something that happened is an alarm, in milliseconds.
pub(crate) const RECENT: u64 = 60_000;
