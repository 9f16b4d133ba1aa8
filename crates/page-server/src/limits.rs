//! How much any client may take, and how long that may last.
use std::time::Duration;

/// Connections at a time; who comes beyond them is told so and closed.
pub const CONNECTIONS: usize = 128;
/// Listeners to events at a time.
pub const LISTENERS: usize = 32;
/// Bytes and number of the headers of a request.
pub const HEAD: usize = 16 << 10;
/// See [`HEAD`].
pub const HEADERS: usize = 64;
/// The time for the headers of a request; so long a connection may be idle.
pub const HEADING: Duration = Duration::from_secs(10);
/// A peer that takes nothing for so long is left.
pub const TAKING: Duration = Duration::from_secs(10);
/// How long a client that is turned away has to take the reason.
pub const FAREWELL: Duration = Duration::from_millis(250);
/// Events that a listener may be behind.
pub const BEHIND: usize = 256;
/// How often a listener hears that the connection is alive.
pub const ALIVE: Duration = Duration::from_secs(15);
