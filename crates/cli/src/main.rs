//! The binary `punctual`: everything is in the library beside it.
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    cli::run(&cli::Arguments::parse())
}
