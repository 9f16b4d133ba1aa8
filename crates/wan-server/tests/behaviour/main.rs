//! A domain's file, and back-ends: no network.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backends;
mod bgp_tables;
mod files;
mod lan;
mod simulated_lan;
