//! What tests of several crates share. Nothing of it ships.
//!
//! `random` are numbers from seeds, `conversation` is a program that is talked to in lines, `patience` waits for events. With the feature `participants`, `virtual_domain` is a domain of participants of the public API on one
//! thread: a virtual clock, and a network that loses, delays and is cut as a test says. With the feature `namespaces`, `namespace` gives a test a
//! network of its own, and `background` is a program that runs meanwhile. With the feature `switches`, `openflow_switch` is a switch without a network. With the
//! feature `etcd`, `etcd` is a member of etcd.
//! With the feature `instructions`, `instructions` counts machine instructions. With the feature `credentials`, `credentials` are keys without cryptography.
#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a panic is the report of a test")]

#[cfg(feature = "namespaces")]
pub mod background;
pub mod conversation;
#[cfg(feature = "credentials")]
pub mod credentials;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "instructions")]
pub mod instructions;
#[cfg(feature = "namespaces")]
pub mod namespace;
#[cfg(feature = "switches")]
pub mod openflow_switch;
pub mod patience;
pub mod random;
#[cfg(feature = "participants")]
pub mod virtual_domain;
