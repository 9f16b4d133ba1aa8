//! The command `punctual` as it is shipped, here so that the tests of this crate have it built.
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(&cli::Arguments::read())
}
