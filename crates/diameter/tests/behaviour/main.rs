//! Messages, peers, sessions and records, against bytes by hand, a codec of the tests, and a simulated network.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

#[path = "../independent/mod.rs"]
mod independent;

mod golden;
mod grammar;
mod peers;
mod records;
mod sessions;
mod simulation;
