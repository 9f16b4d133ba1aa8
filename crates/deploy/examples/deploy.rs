//! The command `punctual deploy` alone, for tests that launch plans.
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    arguments: deploy::Arguments,
}

fn main() -> ExitCode {
    let (mut out, mut told) = (std::io::stdout(), std::io::stderr());
    deploy::run(&Typed::parse().arguments, &mut out, &mut told).into()
}
