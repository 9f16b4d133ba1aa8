//! The back-end of a domain, judged by frames that are simulated one by one, and what it answers and programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod budgets;
mod copies;
mod keep_alive;
mod networks;
mod packets;
mod routers;
mod simulation;
mod together;
