//! Clients over HTTP, the server and three managers as processes, in a network namespace for each test (needs root).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod conforms;
mod denied;
mod documented;
mod domains;
mod faults;
mod notifications;
mod stage;
