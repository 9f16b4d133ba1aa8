//! Shared memory between participants on real rings, sockets and threads, each test in a network namespace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod end;
mod filters;
mod kills;
mod loans;
mod player;
#[path = "../driver/process.rs"]
mod process;
mod samples;
mod scarce;
mod scene;
mod strangers;

use testkit::namespace;

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;
