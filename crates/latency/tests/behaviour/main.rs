//! Bounds and decisions, on drawn and on random networks.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

#[path = "../networks/mod.rs"]
mod networks;
#[path = "../random/mod.rs"]
mod random;
#[path = "../tfa/mod.rs"]
mod tfa;

mod admission;
mod between;
mod beyond;
mod certificates;
mod choices;
mod full;
mod given;
mod hostile;
mod level_assignment;
mod one_port;
mod path;
mod policing;
mod reconfiguration;
mod restore;
mod tagged;
