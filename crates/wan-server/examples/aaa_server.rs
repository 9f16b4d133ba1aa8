//! `punctual aaa` alone: the AAA server that the tests of this package run.
use std::io::{stderr, stdout};
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: aaa::AaaArguments,
}

fn main() -> ExitCode {
    let command = Command::parse();
    aaa::run_aaa(&command.arguments, &mut stdout(), &mut stderr()).into()
}
