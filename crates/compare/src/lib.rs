//! `punctual perf compare`: Punctual, the raw limits of the machine, and other middleware, measured in turn in one run.
//! `docs/compare.md` says how to use it and how to read it.
#![forbid(unsafe_code)]

mod cell;
mod conduct;
mod contender;
mod driver;
mod install;
mod nodes;
mod page;
mod process;
mod protocol;
mod report;
mod run;
mod stage;
mod statistics;
mod summary;
mod text;

pub use driver::{DriverArguments, drive};
pub use run::{Arguments, Wrong, run};
