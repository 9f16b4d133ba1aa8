//! The protocol, seen from outside: in virtual time, with bytes that peers sent or could send.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test stops at once")]

#[path = "../domain/mod.rs"]
mod domain;
#[path = "../pair/mod.rs"]
mod pair;

mod answers;
mod attacks;
mod attacks_discovery;
mod attacks_spoofed;
mod captured;
mod convergence;
mod discovery;
mod doubles;
mod endless;
mod familiar;
mod framing;
mod history;
mod hold;
mod liveliness;
mod losses;
mod overtaken;
mod path_size;
mod reader;
mod reliability;
mod returning;
mod shaping;
mod sizes;
mod stuck;
