//! The binary `punctual`: everything is in the library beside it.
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(&cli::Arguments::read())
}
