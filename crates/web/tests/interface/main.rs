//! The interface over real sockets, in a network namespace for each test (needs root).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hostile;
mod schema;
mod secure;
mod stage;
