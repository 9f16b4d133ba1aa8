//! `punctual bridge`: the program `punctual-bridge` beside this one, so that this one does not have Zenoh in it.
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;

use crate::exit::{Failure, Outcome};

/// What the program is called.
const PROGRAM: &str = "punctual-bridge";

/// Options of `punctual bridge`: those of the program.
#[derive(Args, Clone, Debug)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    after_help = "Examples:\n  \
    punctual bridge --help                                     what it can do: the program punctual-bridge says it\n  \
    punctual bridge --listen tcp/0.0.0.0:7447                  other sites connect to this one\n  \
    punctual bridge --connect tls/plant.example:7447 --ca ca.pem"
)]
pub(crate) struct Arguments {
    /// Options of punctual-bridge, which is installed beside punctual.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

/// Becomes the program.
///
/// # Errors
/// It is not there, or cannot be started.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::System(format!("{PROGRAM}: {error}")))?;
    let path = own.with_file_name(PROGRAM);
    let error = Command::new(&path).args(&arguments.options).exec();
    Err(Failure::System(format!(
        "{}: {error}; install the program {PROGRAM} beside punctual: `cargo build --release --package punctual-zenoh-bridge` makes it",
        path.display()
    )))
}
