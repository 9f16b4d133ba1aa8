//! The simulator against systems that are worked out by hand, against an analysis that others wrote, and with claims
//! that are wrong on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chains;
mod claims;
mod connections;
mod draft;
mod generated;
mod oracle;
mod queues;
mod scheduling;
