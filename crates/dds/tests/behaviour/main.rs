//! What the public API promises, from entity to entity: in virtual time, or on threads where threads are what is tested.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at once")]

/// Under the name that the tests know it by.
mod desk {
    pub(crate) use testkit::virtual_domain::{Left, VirtualDomain as Desk};
}
#[path = "../loft/mod.rs"]
mod loft;

mod access;
mod bad_use;
mod builders;
mod builtin;
mod changes;
mod conditions;
mod delivery;
mod domains;
mod entities;
mod exchange;
mod filters;
mod fixture;
mod flow_controllers;
mod forged;
mod listener_once;
mod listeners;
mod paths;
mod presence;
mod returning;
mod round_trips;
mod sessions;
mod shared;
mod streams;
mod threads;
mod types;
