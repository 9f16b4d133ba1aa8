//! The program `punctual-bridge`: joins a DDS domain to Zenoh. What is bridged, and in which order, `zenoh-routes` decides; here are the participant,
//! the session, and the loop between them.
//!
//! `docs/zenoh.md` says what it is for; `docs/decisions/0048-zenoh.md` why it is as it is.
#![forbid(unsafe_code)]

pub mod arguments;
mod domain;
mod lines;
mod proxies;
mod run;
mod session;
mod talks;
mod tls;
mod types;
mod workers;

use std::process::ExitCode;

use clap::Parser as _;

use self::arguments::Arguments;

/// Why a bridge could not do what it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The command line, or the file, makes no sense: exit code 2.
    Usage(String),
    /// The system, the middleware or Zenoh refused something: exit code 3.
    System(String),
}

impl From<dds::Error> for Failure {
    fn from(error: dds::Error) -> Self {
        Self::System(error.to_string())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(text) | Self::System(text) => f.write_str(text),
        }
    }
}

/// Reads the command line of this process and bridges until it is asked to end.
pub fn main() -> ExitCode {
    let done = Arguments::parse().choices().and_then(|choices| run::run(&choices));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("punctual-bridge: {failure}");
            ExitCode::from(if matches!(failure, Failure::Usage(_)) { 2 } else { 3 })
        }
    }
}
