//! `punctual rm` alone, without the rest of the command: what the tests of this package run.
use std::io::{stderr, stdout};
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: wan_server::Arguments,
}

fn main() -> ExitCode {
    let command = Command::parse();
    wan_server::run(&command.arguments, &mut stdout(), &mut stderr()).into()
}
