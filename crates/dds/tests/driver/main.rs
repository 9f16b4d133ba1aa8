//! The driver on real sockets, each test in a network namespace of its own: nothing reaches the machine's network.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cable;
mod calls;
mod closing;
mod finding;
mod fork;
mod heap;
mod leading;
mod logging;
mod nesting;
mod network;
mod node;
mod opening;
mod process;
mod samples;
mod shaped;
mod spinning;
mod strace;
mod traffic;

use std::time::Duration;

use testkit::namespace;

/// Longer than anything here takes on a busy machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);
