//! The caches, policies and entities, seen from outside.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

#[path = "../desk/mod.rs"]
mod desk;
#[path = "../domain/mod.rs"]
mod domain;
#[path = "../link/mod.rs"]
mod link;
#[path = "../play/mod.rs"]
mod play;

mod deliver_next;
mod entity_qos;
mod erased_types;
mod gate;
mod instance_owner;
mod losses;
mod policies;
mod qos;
mod qos_document;
mod reader_keys;
mod reader_losses;
mod reader_policies;
mod reader_property;
mod reader_states;
mod request_offered;
mod sessions;
mod topic;
mod trust;
mod write_over;
mod write_with;
mod writer;
mod writer_instances;
