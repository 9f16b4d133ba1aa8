//! `punctual velox`: figures 21 to 25 of the Velox paper, and the programs that it starts on the hosts of its domains.
use std::process::ExitCode;

use clap::{Args, Subcommand};
use experiment::velox;

use crate::midas::{conduct, ended};
use crate::output::progress;

/// Command line of `punctual velox`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Velox {
    #[command(flatten)]
    experiment: velox::Arguments,
    #[command(subcommand)]
    program: Option<Program>,
}

/// What runs on the hosts; `punctual velox` starts it.
#[derive(Subcommand, Debug)]
enum Program {
    /// Writes a topic.
    #[command(hide = true)]
    Writer(velox::WriterArguments),
    /// Reads a topic, and makes copies of it.
    #[command(hide = true)]
    Reader(velox::ReaderArguments),
}

/// Runs the experiment, or one of its programs.
pub(crate) fn run(arguments: &Velox) -> ExitCode {
    let done = match &arguments.program {
        Some(Program::Writer(arguments)) => velox::write(arguments),
        Some(Program::Reader(arguments)) => velox::read(arguments),
        None => return conduct(|stopped, out| velox::run(&arguments.experiment, stopped, &progress, out)),
    };
    ended("velox", done)
}
