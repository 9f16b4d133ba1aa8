//! The bridge as a state machine, from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod anew;
mod handover;
mod limits;
mod queues;
mod simulation;
mod world;
