//! How much anybody may ask for, and how long that may take.
use std::time::Duration;

/// Connections at a time; who comes beyond them is told so and closed.
pub(crate) const CONNECTIONS: usize = 128;
/// Listeners to events at a time.
pub(crate) const LISTENERS: usize = 32;
/// Bytes of the body of a request.
pub(crate) const BODY: usize = 64 << 10;
/// Bytes and number of the headers of a request.
pub(crate) const HEAD: usize = 16 << 10;
pub(crate) const HEADERS: usize = 64;
/// The time for the headers of a request (so long a connection may be idle), and for its body.
pub(crate) const HEADING: Duration = Duration::from_secs(10);
pub(crate) const SENDING: Duration = Duration::from_secs(10);
/// A peer that takes nothing for so long is left.
pub(crate) const TAKING: Duration = Duration::from_secs(10);
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
/// Events that the manager may be ahead, and events that a listener may be behind.
pub(crate) const AHEAD: usize = 4_096;
pub(crate) const BEHIND: usize = 256;
/// Characters of an operator's name and of a reason.
pub(crate) const NAME: usize = 64;
pub(crate) const REASON: usize = 300;
/// How often a listener hears that the connection is alive.
pub(crate) const ALIVE: Duration = Duration::from_secs(15);
/// How long something that happened is an alarm, in milliseconds.
pub(crate) const RECENT: u64 = 60_000;
