//! `punctual aaa`: authorisation and accounting of sessions over Diameter.
mod ask;
mod operate;
mod show;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use keys::Authority;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::run::serve::{Around, serve};
use crate::text::hex;
use crate::{node_file, users_file};

/// What is printed once a server accepts connections.
pub const READY_LINE: &str = "ready";

/// Exit codes: done; done, with bad news; wrong command line; could not be done.
const DONE: u8 = 0;
const BAD_NEWS: u8 = 1;
const USAGE: u8 = 2;
const FAILED: u8 = 3;

/// Why a command failed: the exit code and what to tell.
type Failure = (u8, String);

/// Command line of `punctual aaa`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual aaa serve aaa.toml                  answers resource managers, and keeps their records\n  \
    punctual aaa records aaa.toml                what was reserved and delivered\n  \
    punctual aaa sessions aaa.toml               which sessions are granted, and who is connected\n  \
    punctual aaa abort aaa.toml 'rm.example.net;1;2'\n\n\
    See docs/aaa.md.")]
pub struct AaaArguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Runs a server until Ctrl-C.
    #[command(
        after_help = "Examples:\n  punctual aaa serve aaa.toml\n\nIt prints \"ready\" once it accepts connections."
    )]
    Serve {
        /// The file of the server.
        file: PathBuf,
    },
    /// Reads the file of a server and its file of users, and says what is wrong.
    #[command(after_help = "Examples:\n  punctual aaa check aaa.toml")]
    Check {
        /// The file of the server or of a client.
        file: PathBuf,
    },
    /// Asks a server for a session as a resource manager does, holds it and accounts it.
    Ask(ask::AskArguments),
    /// Prints the records that a server has taken.
    Records(show::RecordsArguments),
    /// Prints the sessions that are granted, and the peers of a server that runs.
    Sessions(show::SessionsArguments),
    /// Ends a session: its client is told, and nothing more is granted to it.
    #[command(after_help = "Examples:\n  punctual aaa abort aaa.toml 'rm.example.net;1;2'")]
    Abort {
        /// The file of the server.
        file: PathBuf,
        /// The session, as `punctual aaa sessions` prints it.
        session: String,
    },
    /// Has the client of a session ask for it again.
    #[command(after_help = "Examples:\n  punctual aaa again aaa.toml 'rm.example.net;1;2'")]
    Again {
        /// The file of the server.
        file: PathBuf,
        /// The session, as `punctual aaa sessions` prints it.
        session: String,
    },
    /// Has a server read its file of users again. Sessions go on; those that would not be granted any more have to ask again.
    #[command(after_help = "Examples:\n  punctual aaa reload aaa.toml")]
    Reload {
        /// The file of the server.
        file: PathBuf,
    },
    /// Makes a secret for a user, and its SHA-256 for the file of users.
    #[command(after_help = "Examples:\n  punctual aaa secret")]
    Secret,
    /// Makes keys and certificates for servers and clients, by the names of their hosts.
    #[command(after_help = "Examples:\n  punctual aaa keys keys aaa.example.net rm.example.net\n\n\
        What is there already is kept. authority.key can sign any certificate: keep it where the network cannot reach it.")]
    Keys {
        /// The folder; it is made if it is not there.
        folder: PathBuf,
        /// The hosts.
        #[arg(required = true, value_name = "HOST")]
        hosts: Vec<String>,
        /// For how many days certificates that are made now hold.
        #[arg(long, value_name = "NUMBER", default_value_t = 3_650, value_parser = clap::value_parser!(i64).range(1..=36_500))]
        days: i64,
    },
}

/// Does what the command line says; the exit code.
pub fn run_aaa(arguments: &AaaArguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    let done = match &arguments.verb {
        Verb::Serve { file } => run_server(file),
        Verb::Check { file } => check(file, out),
        Verb::Ask(arguments) => ask::run(arguments, out),
        Verb::Records(arguments) => show::records(arguments, out),
        Verb::Sessions(arguments) => show::sessions(arguments, out),
        Verb::Abort { file, session } => operate::abort(file, session, out),
        Verb::Again { file, session } => operate::ask_again(file, session, out),
        Verb::Reload { file } => operate::reload(file, out),
        Verb::Secret => secret(out),
        Verb::Keys { folder, hosts, days } => keys(folder, hosts, *days, out),
    };
    match done {
        Ok(code) => code,
        Err((code, text)) => {
            // There is nowhere else to tell it.
            let _ = writeln!(told, "punctual: {text}");
            code
        }
    }
}

/// Prints a line. If it is not read any more, the command has nothing left to do.
fn print(out: &mut dyn Write, line: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| (DONE, error.to_string()))
}

fn open(file: &std::path::Path) -> Result<node_file::Node, Failure> {
    node_file::open(file).map_err(|text| (USAGE, text))
}

fn run_server(file: &std::path::Path) -> Result<u8, Failure> {
    let node = open(file)?;
    if let Some(users) = &node.users {
        users_file::open_users(users).map_err(|text| (USAGE, text))?;
    }
    let (end, stop) = tokio::sync::mpsc::unbounded_channel();
    ctrlc::set_handler(move || {
        // The second one ends a server that does not.
        if end.send(()).is_err() {
            std::process::exit(130);
        }
    })
    .map_err(|error| (FAILED, format!("Ctrl-C cannot be handled: {error}")))?;
    let ready = Box::new(|| {
        // If it is not read, the server runs all the same.
        let mut out = std::io::stdout();
        let _ = writeln!(out, "{READY_LINE}");
        let _ = out.flush();
    });
    serve(&node, Around { stop, ready }).map_err(|error| (FAILED, error.to_string()))?;
    Ok(DONE)
}

fn check(file: &std::path::Path, out: &mut dyn Write) -> Result<u8, Failure> {
    let node = open(file)?;
    print(out, format_args!("{} of {}: {} peers", node.host, node.realm, node.peers.len()))?;
    if let Some(users) = &node.users {
        let users = users_file::open_users(users).map_err(|text| (USAGE, text))?;
        print(out, format_args!("{} users", users.len()))?;
    }
    Ok(DONE)
}

fn secret(out: &mut dyn Write) -> Result<u8, Failure> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| (FAILED, "the system gives no random numbers".to_owned()))?;
    let secret = hex(&bytes);
    print(out, format_args!("secret         {secret}"))?;
    print(out, format_args!("secret-sha256  {}", hex(digest(&SHA256, secret.as_bytes()).as_ref())))?;
    Ok(DONE)
}

fn keys(folder: &std::path::Path, hosts: &[String], days: i64, out: &mut dyn Write) -> Result<u8, Failure> {
    let failed = |error: system::Error| (FAILED, error.to_string());
    let authority = Authority::open(folder).map_err(failed)?;
    for host in hosts {
        let said = if authority.issue_host(host, days).map_err(failed)? { "made" } else { "kept" };
        print(out, format_args!("{said} {}", folder.join(format!("{host}.pem")).display()))?;
    }
    Ok(DONE)
}
