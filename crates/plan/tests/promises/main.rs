//! What plans promise, judged by what shares nothing with them: networks that are drawn here, frames, gates and meters written from the
//! documents alone, and a simulation and a search of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attack;
mod claims;
#[path = "../command/mod.rs"]
mod command;
mod draw;
mod drawn;
mod guards;
mod judged;
mod losses;
mod messages;
mod repairs;
mod run;
mod schedule;
