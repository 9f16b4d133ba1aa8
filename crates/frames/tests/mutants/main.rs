//! Is the adversary strong enough? Known mistakes in bounds are made on purpose, and each must be refuted by a run.
//! The right formulas, written down here a second time, must not be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../cases/networks.rs"]
mod networks;
mod one_port;
mod paths;
