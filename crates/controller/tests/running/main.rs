//! A manager that runs, with a fake switch at the other end of its connection and participants that ask: in a network namespace of its own.
//! Needs root; elsewhere the tests are passed over, but not in continuous integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod fake;
mod load;
mod reports;
mod roles;
mod secure;
mod site;
