//! The execution manager and node managers: on a network that loses, doubles and reorders what they say, with crashes of all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod host;
mod judge;
mod scenarios;
mod seeds;
mod world;
