//! The commands, as a user calls them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

#[path = "../command/mod.rs"]
mod command;

mod document;
mod full;
mod losses;
mod page;
mod plans;
mod refuted;
mod simulated;
mod wrong_files;
