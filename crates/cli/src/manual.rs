//! `punctual man` and `punctual completions`: pages and scripts made from the same definitions as the help.
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Failure, Outcome};

/// Options of `punctual man`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  punctual man ~/.local/share/man/man1    then: man punctual-echo")]
pub(crate) struct ManArguments {
    /// Where the pages go: a folder that exists. Pages of the same names there are written anew.
    folder: PathBuf,
}

/// Options of `punctual completions`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  punctual completions bash > /etc/bash_completion.d/punctual    in the next shell Tab completes commands and options"
)]
pub(crate) struct CompletionArguments {
    /// For which shell.
    shell: Shell,
}

/// Writes a page for the command and one for each verb.
pub(crate) fn man(arguments: &ManArguments) -> Result<Outcome, Failure> {
    let folder = &arguments.folder;
    clap_mangen::generate_to(crate::Arguments::command(), folder).map_err(|error| {
        Failure::System(format!("{}: {error}; name a folder that can be written to", folder.display()))
    })?;
    crate::print(format_args!("manual pages of all commands are in {}", folder.display()));
    Ok(Outcome::Done)
}

/// Writes the script that completes command lines.
pub(crate) fn completions(arguments: &CompletionArguments) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "punctual", &mut script);
    // Nothing is left to do if what reads it has gone.
    let _ = std::io::stdout().write_all(&script);
    Ok(Outcome::Done)
}
