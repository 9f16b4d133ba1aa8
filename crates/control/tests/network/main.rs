//! The manager with model switches, end to end, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod cases;
mod changes;
mod faults;
mod judge;
mod networks;
mod random;
mod reserved;
mod room;
mod seeds;
mod switch;
mod trees;
mod world;
