//! `punctual qod` alone, without the rest of the command: what the tests of this package run.
use std::io::{stderr, stdout};
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: quality_on_demand::Arguments,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(stderr).with_ansi(false).init();
    let command = Command::parse();
    quality_on_demand::run(&command.arguments, &mut stdout(), &mut stderr()).into()
}
