//! `punctual deploy`: what is done with deployment plans from a command line. docs/deploy-plan.md says what plans are like.
#![forbid(unsafe_code)]

mod admit;
mod children;
mod command;
mod control;
mod control_groups;
mod describe;
mod export;
mod files;
mod graph;
mod hosts;
mod import;
mod in_force;
mod launch;
mod measure;
mod others;
mod page;
mod process_identity;
mod replay;
mod shown;
mod signatures;
mod status;
mod supervision;
mod target;
mod together;
mod transfers;

pub use command::{Arguments, run};
