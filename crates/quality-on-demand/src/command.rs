//! The command line.
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use diagnostics::Source;

use crate::server;
use crate::service_file::ServiceFile;

const DONE: u8 = 0;
/// The command line or a file is wrong.
const WRONG: u8 = 2;
/// It could not be done.
const FAILED: u8 = 3;

/// Gives programs sessions over HTTP, as CAMARA Quality-on-Demand specifies it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual qod serve qod.toml --store qod.redb     the server, beside the manager of the domain\n\n\
    Exit code: 2 wrong command line or file; 3 it could not be done. See docs/quality-on-demand.md.")]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Clone, Debug)]
enum Verb {
    /// Runs the server, until Ctrl-C
    #[command(after_help = "Examples:\n  \
        punctual qod serve qod.toml --store qod.redb     sessions stay in the store\n  \
        punctual qod serve qod.toml --check              says whether the file makes sense, and ends\n\n\
        The manager of the domain (`punctual rm serve`) runs on the same host, as the same user.")]
    Serve {
        /// Clients, profiles and where to listen; docs/quality-on-demand.md tells how to write one
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The file that keeps sessions
        #[arg(long, value_name = "FILE", required_unless_present = "check")]
        store: Option<PathBuf>,
        /// Says what is wrong with the file, or that nothing is, and ends
        #[arg(long)]
        check: bool,
    },
}

/// Does what the command line says: the exit code.
pub fn run(arguments: &Arguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    match act(&arguments.verb, out) {
        Ok(()) => DONE,
        Err((code, what)) => {
            // Who does not read it has the exit code.
            let _ = told.write_all(format!("punctual: {}\n", what.trim_end()).as_bytes());
            code
        }
    }
}

fn read(file: &Path) -> Result<ServiceFile, (u8, String)> {
    let text = network::load(file).map_err(|what| (WRONG, what))?;
    let name = file.to_string_lossy();
    let read = ServiceFile::read(&name, &text);
    let mut read = read.map_err(|problem| (WRONG, Source { file: &name, text: &text }.show(&problem)))?;
    // Paths begin at the folder of the file.
    let folder = file.parent().unwrap_or(Path::new(""));
    for path in read.tls.iter_mut().flat_map(|(certificate, key)| [certificate, key]) {
        *path = folder.join(&*path);
    }
    if let Some(sinks) = &mut read.sinks {
        sinks.authorities = folder.join(&sinks.authorities);
    }
    Ok(read)
}

/// A reader that has gone is none of our business.
fn print(out: &mut dyn Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn act(verb: &Verb, out: &mut dyn Write) -> Result<(), (u8, String)> {
    let failed = |error: io::Error| (FAILED, error.to_string());
    match verb {
        Verb::Serve { file, check: true, .. } => {
            let read = read(file)?;
            let (clients, profiles) = (read.clients.len(), read.profiles.len());
            print(out, &format!("AS {}: {clients} clients, {profiles} profiles\n", read.asn)).map_err(failed)
        }
        Verb::Serve { file, store: Some(store), .. } => {
            let read = read(file)?;
            let ready = |url: &str| print(out, &format!("quality on demand is at {url}\n"));
            server::run(read, store, ready).map_err(|what| (FAILED, what))
        }
        Verb::Serve { .. } => Err((WRONG, "give --store".to_owned())),
    }
}
