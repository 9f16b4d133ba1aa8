//! Labs as they really are: built, used, broken and removed. Needs root and the packages that `scripts/setup` installs; elsewhere
//! the tests are passed over, but not in continuous integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent;
mod control;
mod emulated;
mod gate_program;
mod gates;
mod gates_six;
mod host;
mod life;
mod links;
mod pair;
mod queues;
mod reserved;
mod three;
mod traffic;
