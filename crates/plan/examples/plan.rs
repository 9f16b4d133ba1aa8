//! The command by itself.
use std::io::{stderr, stdout};
use std::process::ExitCode;

use clap::Parser;

/// Says which flows of a network keep their latency, with what bound, and why others cannot.
#[derive(Parser)]
#[command(name = "plan")]
struct Command {
    #[command(flatten)]
    arguments: plan::Arguments,
}

fn main() -> ExitCode {
    ExitCode::from(plan::run(&Command::parse().arguments, &mut stdout().lock(), &mut stderr().lock()))
}
