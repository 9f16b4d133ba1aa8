//! What tests of several crates share. Nothing of it ships.
//!
//! [`random`] are numbers from seeds. With the feature `participants`, [`virtual_domain`] is a domain of participants of the public API on one
//! thread: a virtual clock, and a network that loses, delays and is cut as a test says.
#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a panic is the report of a test")]

pub mod random;
#[cfg(feature = "participants")]
pub mod virtual_domain;
