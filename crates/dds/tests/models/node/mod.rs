//! The parts of a participant by which threads meet.
mod calls;
mod sending;
#[path = "../../../src/node/token.rs"]
mod token;
#[path = "../../../src/node/watch.rs"]
pub(crate) mod watch;
mod work;
