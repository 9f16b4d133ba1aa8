//! Server, clients and agents as processes, on sockets in a network namespace of each test (needs root).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crashes;
mod direct;
mod manual;
mod relayed;
mod scene;
mod secure;
