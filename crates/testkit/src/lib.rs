//! What tests of several crates share. Nothing of it ships.
//!
//! `random` are numbers from seeds, `conversation` is a program that is talked to in lines, `patience` waits for events. With the feature `participants`, `virtual_domain` is a domain of participants of the public API on one
//! thread: a virtual clock, and a network that loses, delays and is cut as a test says. With the feature `namespaces`, `namespace` gives a test a
//! network of its own, and `background` is a program that runs meanwhile, `diameter_agent` a freeDiameter. With the feature `switches`, `openflow_switch` is a switch without a network. With the
//! feature `etcd`, `etcd` is a member of etcd.
//! With the feature `instructions`, `instructions` counts machine instructions. With the feature `credentials`, `credentials` are keys without
//! cryptography. With the feature `types`, `types` is a type with a member of every kind. `changed` and `each_is_told` are for texts that are
//! wrong in one place.
#![forbid(unsafe_code)]
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a panic is the report of a test")]

#[cfg(feature = "namespaces")]
pub mod background;
pub mod conversation;
#[cfg(feature = "credentials")]
pub mod credentials;
#[cfg(feature = "namespaces")]
pub mod diameter_agent;
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
#[cfg(feature = "types")]
pub mod types;
#[cfg(feature = "participants")]
pub mod virtual_domain;

/// The text with one piece, where it stands first, in place of another.
///
/// # Panics
/// The text does not have the piece `from`.
pub fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "there is no {from} in:\n{text}");
    text.replacen(from, to, 1)
}

/// Makes each of the changes, `(from, to, expected)`, to a text that is right, and looks for `expected` in what is told of the result.
///
/// # Panics
/// It is not told, or the text does not have the piece `from`.
pub fn each_is_told(right: &str, changes: &[(&str, &str, &str)], told: impl Fn(&str) -> String) {
    for (from, to, expected) in changes {
        let told = told(&changed(right, from, to));
        assert!(told.contains(expected), "{to} is to be told by {expected:?}, and not by:\n{told}");
    }
}
