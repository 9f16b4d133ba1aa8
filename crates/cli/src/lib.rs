//! The command `punctual`: what each verb does, in a file of its own, on the public API of Punctual.
#![forbid(unsafe_code)]

mod adapt;
mod advise;
mod assure;
mod colour;
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
mod joined;
mod log;
mod ls;
mod manual;
mod measure;
mod midas;
mod output;
mod prediction;
mod profile;
mod publish;
mod qos;
mod record;
mod replay;
mod reserve;
mod span;
mod stop;
mod types;
mod unmatched;
mod utc;
mod values;
mod velox;
mod why;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use describe::{People, Person};
pub use domain::DomainOptions;
pub use exit::{Failure, Outcome};
pub use output::{flush, print, progress};
pub use profile::ProfileOptions;
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
    /// Checks and shows QoS files in the XML of the OMG.
    Qos(profile::Arguments),
    /// Says what kind of data a topic is, which policies suit it, and what cannot be had together.
    Advise(advise::Arguments),
    /// Predicts percentiles of the latency of topics from write to read, with intervals.
    Predict(prediction::Arguments),
    /// Writes the types of an IDL file in Rust.
    Idl(idl::Arguments),
    /// Plans a network from a file: which flows keep their latency, with what bound, and why others cannot.
    Plan(plan::Arguments),
    /// Checks, explains, draws, compares, launches and exports deployment plans of components.
    Deploy(deploy::Arguments),
    /// Runs the experiment of the MIDAS paper: three topics through one switch, without and with a manager.
    Midas(midas::Midas),
    /// Runs figures 21 to 25 of the Velox paper: DDS between domains of Linux routers, without sessions and with them.
    Velox(velox::Velox),
    /// Builds and removes real test networks on this machine.
    Lab(lab::command::LabArguments),
    /// Holds flows to their contracts where they enter a switch.
    Gate(gate_agent::GateArguments),
    /// Gives assured flows queues of their own at an interface of this host.
    Host(lab::host::HostArguments),
    /// Authorises and accounts sessions over Diameter: a server, and what its operators do.
    Aaa(aaa::AaaArguments),
    /// Makes a Linux bridge a switch that a resource manager manages.
    Switch(bridge::SwitchArguments),
    /// Joins a domain to Zenoh, so that it reaches sites without a managed path.
    Bridge(joined::Arguments),
    /// Manages sessions of one domain over several domains, and asks its manager for them.
    Rm(Box<wan_server::Arguments>),
    /// Gives programs sessions over HTTP, as CAMARA Quality-on-Demand specifies it.
    Qod(quality_on_demand::Arguments),
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
    /// Gives writers and readers in different domains of a network sessions that they have not asked for.
    Reserve(Box<reserve::Arguments>),
    /// Measures round trips to participants that run `pong`.
    Ping(measure::ping::Arguments),
    /// Answers every `ping`.
    Pong(measure::pong::Arguments),
    /// Measures what a writer and a reader can carry.
    Perf(measure::perf::Arguments),
}

/// The command with all verbs, as the help shows it.
pub(crate) fn command() -> clap::Command {
    colour::of_help(Arguments::command())
}

impl Arguments {
    /// Reads the command line of this process. Where it is wrong, or asks for help, the answer is printed and the process ends.
    pub fn read() -> Self {
        Self::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit())
    }
}

/// Does what the command line says, and says what went wrong.
pub fn run(arguments: &Arguments) -> ExitCode {
    let (mut out, mut told) = (std::io::stdout(), std::io::stderr());
    let command = match &arguments.command {
        Command::Config(arguments) => return exit::code(config::run(arguments)),
        Command::Qos(arguments) => return exit::code(profile::run(arguments)),
        Command::Advise(arguments) => return exit::code(advise::run(arguments)),
        Command::Predict(arguments) => return exit::code(prediction::run(arguments)),
        Command::Idl(arguments) => return exit::code(idl::run(arguments)),
        Command::Midas(arguments) => return midas::run(arguments),
        Command::Velox(arguments) => return velox::run(arguments),
        Command::Plan(arguments) => return plan::run(arguments, &mut out, &mut told).into(),
        Command::Deploy(arguments) => return deploy::run(arguments, &mut out, &mut told).into(),
        Command::Lab(arguments) => return lab::command::run_lab(arguments, &mut out, &mut told).into(),
        Command::Gate(arguments) => return gate_agent::run_gate(arguments, &mut out, &mut told).into(),
        Command::Host(arguments) => return lab::host::run_host(arguments, &mut out, &mut told).into(),
        Command::Aaa(arguments) => {
            log::to_stderr(tracing::Level::INFO);
            return aaa::run_aaa(arguments, &mut out, &mut told).into();
        }
        Command::Switch(arguments) => return bridge::run_switch(arguments, &mut out, &mut told).into(),
        Command::Qod(arguments) => {
            log::to_stderr(tracing::Level::INFO);
            return quality_on_demand::run(arguments, &mut out, &mut told).into();
        }
        Command::Rm(arguments) => return wan_server::run(arguments, &mut out, &mut told).into(),
        Command::Bridge(arguments) => return exit::code(joined::run(arguments)),
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
        InDomain::Reserve(arguments) => reserve::run(arguments, &stop),
        InDomain::Ping(arguments) => measure::ping::run(arguments, &stop),
        InDomain::Pong(arguments) => measure::pong::run(arguments, &stop),
        InDomain::Perf(arguments) => measure::perf::run(arguments, &stop),
    });
    exit::code(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `look` with a command and with all below it, by their full names; internal ones are left out.
    fn all(command: &clap::Command, name: &str, look: &mut impl FnMut(&str, &clap::Command)) {
        look(name, command);
        for below in command.get_subcommands() {
            if !below.is_hide_set() && below.get_name() != "help" {
                all(below, &format!("{name} {}", below.get_name()), look);
            }
        }
    }

    /// The words of a command line as a shell takes it, to where another program begins or a file is named.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for c in line.chars().chain([' ']) {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => {
                    match word.as_str() {
                        "" => {}
                        "|" | ">" | "<" | "&" => return words,
                        _ => words.push(word.clone()),
                    }
                    word.clear();
                }
                c => word.push(c),
            }
        }
        words
    }

    #[test]
    fn each_command_has_examples_that_are_understood() {
        let (mut looked, mut wrong) = (0, Vec::new());
        all(&Arguments::command(), "punctual", &mut |name, command| {
            let help = command.get_after_help().map(|text| text.to_string()).unwrap_or_default();
            let examples: Vec<&str> =
                help.lines().filter_map(|line| line.strip_prefix("  ")).map(str::trim_start).collect();
            assert!(help.starts_with("Example") && !examples.is_empty(), "{name} has no examples: {help}");
            for example in examples {
                let typed = example.split("  ").next().unwrap_or_default();
                let words = words(typed);
                let begin =
                    words.iter().position(|word| word == "punctual").unwrap_or_else(|| panic!("{typed}"));
                if words[begin..].get(1).is_some_and(|verb| verb == "help") {
                    continue;
                }
                looked += 1;
                let read = Arguments::command().try_get_matches_from(&words[begin..]);
                wrong.extend(read.err().map(|error| format!("{name}: {typed}: {error}")));
            }
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(looked > 60, "{looked}");
    }

    #[test]
    fn the_same_options_are_called_the_same() {
        let mut named = std::collections::BTreeMap::new();
        all(&Arguments::command(), "punctual", &mut |name, command| {
            for option in command.get_arguments().filter(|option| !option.is_positional()) {
                let long = option.get_long().unwrap_or_default();
                let value = option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
                if ["duration", "timeout", "lost-after", "delay", "start", "end", "batch", "spin"]
                    .contains(&long)
                {
                    assert_eq!(value.as_deref(), Some("TIME"), "{name} --{long}");
                }
                // One letter is one option, whatever the command.
                let Some(short) = option.get_short() else { continue };
                let earlier = named.entry(short).or_insert_with(|| (long.to_owned(), name.to_owned()));
                let same =
                    earlier.0 == long || ['k', 'w'].contains(&short) && long.starts_with(&earlier.0[..3]);
                assert!(same, "-{short} is --{} of {}, and --{long} of {name}", earlier.0, earlier.1);
            }
        });
    }
}
