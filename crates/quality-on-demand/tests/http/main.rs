//! Clients over HTTP, the server and three managers as processes, in a network namespace for each test (needs root).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../web/tests/interface/conforms.rs"]
mod conforms;
#[path = "../../../wan-server/tests/live/domains.rs"]
#[allow(dead_code)]
mod domains;

mod clients;
mod denied;
mod documented;
mod faults;
mod notifications;
mod stage;
