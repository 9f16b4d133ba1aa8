//! The command `punctual`: what each verb does, in a file of its own, on the public API of Punctual.
#![forbid(unsafe_code)]

mod adapt;
mod assure;
mod config;
mod describe;
mod domain;
mod echo;
mod exit;
pub mod explain;
mod format;
mod grm;
mod hex;
mod idl;
mod log;
mod ls;
mod manual;
mod measure;
mod midas;
mod output;
mod publish;
mod qos;
mod record;
mod replay;
mod span;
mod stop;
mod types;
mod unmatched;
mod utc;
mod why;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use describe::{People, Person};
pub use domain::DomainOptions;
pub use exit::{Failure, Outcome};
pub use output::{flush, print, progress};
pub use qos::QosOptions;
pub use stop::Stop;
pub use types::TypeOptions;

/// Writes, shows, lists and explains what is in a DDS domain.
#[derive(Parser, Debug)]
#[command(
    name = "punctual",
    version,
    propagate_version = true,
    after_help = "Examples:\n  \
    punctual ls                    who is there, and what is written and read\n  \
    punctual echo Square           the samples of a topic\n  \
    punctual why Square            why none come, and what to do\n  \
    punctual help ls               what a command can do, with examples\n\n\
    Exit code: 0 done; 1 done, and the answer is bad news (a problem was found, too little came in time);\n\
    2 wrong command line; 3 it could not be done. Ctrl-C ends every command cleanly."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    #[command(flatten)]
    InDomain(InDomain),
    /// Explains what programs are told by files and environment variables.
    Config(config::Arguments),
    /// Writes the types of an IDL file in Rust.
    Idl(idl::Arguments),
    /// Plans a network from a file: which flows keep their latency, with what bound, and why others cannot.
    Plan(plan::Arguments),
    /// Runs the experiment of the MIDAS paper: three topics through one switch, without and with a manager.
    Midas(midas::Midas),
    /// Builds and removes real test networks on this machine.
    Lab(lab::command::LabArguments),
    /// Holds flows to their contracts where they enter a switch.
    Gate(lab::command::GateArguments),
    /// Gives assured flows queues of their own at an interface of this host.
    Host(lab::host::HostArguments),
    /// Writes the manual pages of all commands into a folder.
    Man(manual::ManArguments),
    /// Prints a script for a shell, which completes commands and options.
    Completions(manual::CompletionArguments),
}

/// What takes part in a domain, and ends cleanly on Ctrl-C.
#[derive(Subcommand, Debug)]
enum InDomain {
    /// Writes samples that are given as text.
    Pub(Box<publish::Arguments>),
    /// Shows the samples of a topic.
    Echo(Box<echo::Arguments>),
    /// Lists participants, topics, and endpoints with their QoS.
    Ls(ls::Arguments),
    /// Watches a domain, and says what is wrong and what to do.
    Why(Box<why::Arguments>),
    /// Writes the samples of topics into a file.
    Record(record::Arguments),
    /// Writes the samples of a recording again.
    Replay(replay::Arguments),
    /// Manages a network: answers requests for assured flows, and sets switches up so that the answers hold.
    Grm(Box<grm::Arguments>),
    /// Measures round trips to whoever runs `pong`.
    Ping(measure::ping::Arguments),
    /// Answers every `ping`.
    Pong(measure::pong::Arguments),
    /// Measures what a writer and a reader can carry.
    Perf(measure::perf::Arguments),
}

/// Does what the command line says, and says what went wrong.
pub fn run(arguments: &Arguments) -> ExitCode {
    let (mut out, mut told) = (std::io::stdout(), std::io::stderr());
    let command = match &arguments.command {
        Command::Config(arguments) => return exit::code(config::run(arguments)),
        Command::Idl(arguments) => return exit::code(idl::run(arguments)),
        Command::Midas(arguments) => return midas::run(arguments),
        Command::Plan(arguments) => return plan::run(arguments, &mut out, &mut told).into(),
        Command::Lab(arguments) => return lab::command::run_lab(arguments, &mut out, &mut told).into(),
        Command::Gate(arguments) => return lab::command::run_gate(arguments, &mut out, &mut told).into(),
        Command::Host(arguments) => return lab::host::run_host(arguments, &mut out, &mut told).into(),
        Command::Man(arguments) => return exit::code(manual::man(arguments)),
        Command::Completions(arguments) => return exit::code(manual::completions(arguments)),
        Command::InDomain(command) => command,
    };
    let done = Stop::on_signals().and_then(|stop| match command {
        InDomain::Pub(arguments) => publish::run(arguments, &stop),
        InDomain::Echo(arguments) => echo::run(arguments, &stop),
        InDomain::Ls(arguments) => ls::run(arguments, &stop),
        InDomain::Why(arguments) => why::run(arguments, &stop),
        InDomain::Record(arguments) => record::run(arguments, &stop),
        InDomain::Replay(arguments) => replay::run(arguments, &stop),
        InDomain::Grm(arguments) => grm::run(arguments, &stop),
        InDomain::Ping(arguments) => measure::ping::run(arguments, &stop),
        InDomain::Pong(arguments) => measure::pong::run(arguments, &stop),
        InDomain::Perf(arguments) => measure::perf::run(arguments, &stop),
    });
    exit::code(done)
}
