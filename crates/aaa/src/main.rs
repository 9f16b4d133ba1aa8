//! The command `punctual` with the verb `aaa` alone: tests of this crate run it as a process.
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "punctual")]
enum Arguments {
    /// Authorises and accounts sessions over Diameter.
    Aaa(aaa::AaaArguments),
}

fn main() -> ExitCode {
    let log = tracing_subscriber::fmt().with_ansi(false).with_target(false).log_internal_errors(false);
    let _ = log.with_writer(std::io::stderr).try_init();
    let (mut out, mut told) = (std::io::stdout(), std::io::stderr());
    let Arguments::Aaa(arguments) = Arguments::parse();
    aaa::run_aaa(&arguments, &mut out, &mut told).into()
}
