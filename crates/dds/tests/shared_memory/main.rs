//! Shared memory between participants on real rings, sockets and threads, each test in a network namespace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod end;
mod kills;
mod loans;
#[path = "../driver/namespace.rs"]
mod namespace;
mod player;
mod samples;
mod scene;
mod strangers;

use std::time::Duration;

/// Longer than anything here takes on a busy machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;
