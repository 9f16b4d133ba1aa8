//! Assured writers and readers of the public API, and a resource manager that is an ordinary participant: in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at once")]

#[path = "../desk/mod.rs"]
mod desk;

mod fixture;
mod flow;
mod lies;
mod states;
