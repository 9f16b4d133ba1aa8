//! Predictions are held against a simulation that shares no code with them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]

mod files;
mod held_out;
mod known_costs;
mod page;
mod simulation;
