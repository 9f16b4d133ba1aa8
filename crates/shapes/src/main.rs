//! `shape_main`: publishes or subscribes to coloured shapes that move about, as the programs do that vendors of DDS test each other
//! with. Options, printed lines and exit codes are the same as theirs, so that one test can drive any two of them.
//!
//! Exit codes: 0 it ended normally or was interrupted, 1 the options are wrong, 2 it could not begin, 3 it failed later.
#![forbid(unsafe_code)]

mod listener;
mod options;
mod output;
mod publisher;
mod qos;
mod shape;
mod stop;
mod subscriber;

use std::process::ExitCode;

use dds::{DomainParticipant, DomainParticipantFactory, Error, NO_STATUS, QosKind};

use options::{Asked, Options, Role};
use output::say;
use stop::Stop;

/// What ends the program early.
pub(crate) enum Failure {
    /// Before it had everything that it needs.
    Begin(Error),
    /// A policy or an option that is asked for does not exist here.
    Unsupported(&'static str),
    /// Later.
    Run(Error),
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args_os()) {
        Asked::For(options) => options,
        Asked::Help(text) => {
            say(format_args!("{text}"));
            return ExitCode::SUCCESS;
        }
        Asked::Wrong(text) => {
            say(format_args!("{text}"));
            return ExitCode::from(1);
        }
    };
    match run(&options) {
        Ok(()) => {
            say(format_args!("Done."));
            ExitCode::SUCCESS
        }
        Err(Failure::Begin(error)) => {
            eprintln!("shape_main: {error}");
            ExitCode::from(2)
        }
        Err(Failure::Unsupported(what)) => {
            say(format_args!("{what} is not supported"));
            ExitCode::from(2)
        }
        Err(Failure::Run(error)) => {
            eprintln!("shape_main: {error}");
            ExitCode::from(3)
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    options.unsupported().map_or(Ok(()), |what| Err(Failure::Unsupported(what)))?;
    let stop = Stop::on_interrupt().map_err(Failure::Begin)?;
    let participant = participant(options).map_err(Failure::Begin)?;
    if options.is_verbose() {
        participant.report().iter().for_each(|line| eprintln!("shape_main: {line}"));
    }
    match options.role() {
        Role::Publisher => publisher::run(&participant, options, &stop)?,
        Role::Subscriber => subscriber::run(&participant, options, &stop)?,
    }
    DomainParticipantFactory::get_instance().delete_participant(&participant).map_err(Failure::Run)
}

fn participant(options: &Options) -> Result<DomainParticipant, Error> {
    let factory = DomainParticipantFactory::get_instance();
    let config = qos::config(options);
    factory.create_participant_with(options.domain, QosKind::Default, &config, None, NO_STATUS)
}
