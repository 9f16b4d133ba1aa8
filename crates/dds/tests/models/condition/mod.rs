//! A thread that waits for conditions.
#[path = "../../../src/condition/signal.rs"]
pub(crate) mod signal;
mod sleepers;
