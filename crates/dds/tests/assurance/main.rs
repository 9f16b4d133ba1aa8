//! Assured writers and readers of the public API, and a resource manager that is an ordinary participant: in virtual time, and
//! once on real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at once")]

#[allow(dead_code, reason = "each test program uses a part of it")]
#[path = "../driver/cable.rs"]
mod cable;
/// Under the name that the tests know it by.
mod desk {
    pub(crate) use testkit::virtual_domain::{Left, VirtualDomain as Desk};
}

mod fixture;
mod flow;
mod lies;
mod live;
mod managers;
mod returning;
mod states;

use testkit::namespace;

/// Longer than anything on real sockets takes on a busy machine; only a failing test waits so long.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);
