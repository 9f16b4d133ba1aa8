//! `punctual aaa` as a program of its own: tests of this crate run it as a process.
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    aaa: aaa::AaaArguments,
}

fn main() -> ExitCode {
    let log = tracing_subscriber::fmt().with_ansi(false).with_target(false).log_internal_errors(false);
    let _ = log.with_writer(std::io::stderr).try_init();
    let (mut out, mut told) = (std::io::stdout(), std::io::stderr());
    aaa::run_aaa(&Arguments::parse().aaa, &mut out, &mut told).into()
}
