//! Rings, chunks and doorbells under every schedule of a few threads, with what the memory model lets each load see: the shipped files, on
//! memory and a futex that are modelled. What a process that dies has not done is what a thread has not done yet, so that such deaths are
//! among the schedules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, unreachable_pub)]

#[path = "../../src/chunks.rs"]
mod chunks;
mod copies;
#[path = "../../src/doorbell.rs"]
mod doorbell;
mod map;
mod messages;
#[path = "../../src/process.rs"]
mod process;
#[path = "../../src/ring.rs"]
mod ring;
mod segment;
mod sleep;

mod sync {
    pub(crate) use models::{Mutex, MutexGuard, atomic};
}

use models::futex;
