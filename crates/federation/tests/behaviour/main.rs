//! Gateways on networks in virtual time, and a slow model that says who has to get what.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod connections;
mod federations;
mod hostile;
mod marks;
mod model;
mod slow;
mod world;
