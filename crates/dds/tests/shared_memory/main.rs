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

use std::time::{Duration, Instant};

use testkit::namespace;

/// Longer than anything here takes on a busy machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until there is an answer. Whether a test passes does not depend on how long that takes; `missing` says what one that fails never got.
fn patiently<T>(missing: impl Fn() -> String, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", missing());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;
