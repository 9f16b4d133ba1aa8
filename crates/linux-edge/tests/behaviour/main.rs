//! The back-end of a domain, judged by frames that are simulated one by one, and what it answers and programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod budgets;
mod keep_alive;
mod networks;
mod simulation;
mod together;
