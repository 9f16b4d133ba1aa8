//! Bounds against adversaries: no frame of any generated network may be above the bound that `latency` gives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod analysis;
mod babblers;
mod bundles;
mod clocks;
mod emission;
mod exhaustive;
mod ledger;
mod mutants;
mod networks;
mod one_port;
mod ratios;
mod tightness;
mod transitions;
mod worked;
