//! Messages and the channel, against captures, `ovs-ofctl` and themselves.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

#[path = "../generate/mod.rs"]
mod generate;
#[path = "../pair/mod.rs"]
mod pair;

mod channel;
mod golden;
mod install;
mod open_vswitch;
mod order;
mod round_trip;
