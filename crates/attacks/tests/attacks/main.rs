//! Attacks from outside on running programs, each in network namespaces of its own. What attacks, listens and judges here is made from the
//! documents of the OMG, raw sockets and the lines that programs print: it uses no crate that it judges.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod admission;
mod arsenal;
mod expected;
mod managed;
mod message;
mod peer;
mod place;
mod program;
mod random;
mod relay;
mod spdp;
mod watch;
mod wires;

mod addresses;
mod babbler;
mod behind;
mod claims;
mod crowd;
mod false_switch;
mod flood;
mod forged_admission;
mod idle;
mod limits;
mod lldp;
mod path;
mod reflection;
mod sizes;
