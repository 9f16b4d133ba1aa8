//! Mistakes that people make, each staged, and what `punctual why` says of it, word for word. Participants are on virtual hosts in
//! virtual time; what needs real sockets is in `live`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod assurance;
#[path = "../../../dds/tests/desk/mod.rs"]
mod desk;
mod live;
mod mismatch;
#[path = "../../../dds/tests/driver/namespace.rs"]
mod namespace;
mod people;
mod samples;
mod stage;
