//! `punctual midas`: the experiment of the MIDAS paper, and the programs that it starts on the hosts of its network.
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Subcommand};

use crate::exit;
use crate::output::progress;
use crate::stop::Stop;

/// How often the wish for an end is looked at, at least.
const LOOK: dds::Duration = dds::Duration::from_secs(1);

/// Command line of `punctual midas`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Midas {
    #[command(flatten)]
    experiment: experiment::Arguments,
    #[command(subcommand)]
    program: Option<Program>,
}

/// What runs on the hosts; `punctual midas` starts it.
#[derive(Subcommand, Debug)]
enum Program {
    /// Publishes a topic.
    #[command(hide = true)]
    Publisher(experiment::PublisherArguments),
    /// Subscribes to a topic.
    #[command(hide = true)]
    Subscriber(experiment::SubscriberArguments),
}

/// Runs the experiment, or one of its programs.
pub(crate) fn run(arguments: &Midas) -> ExitCode {
    let done = match &arguments.program {
        Some(Program::Publisher(arguments)) => experiment::publish(arguments),
        Some(Program::Subscriber(arguments)) => experiment::subscribe(arguments),
        None => {
            return conduct(|stopped, out| experiment::run(&arguments.experiment, stopped, &progress, out));
        }
    };
    ended("midas", done)
}

/// Runs an experiment until it is over or a signal ends it.
pub(crate) fn conduct(experiment: impl FnOnce(&Arc<AtomicBool>, &mut dyn Write) -> u8) -> ExitCode {
    let stop = match Stop::on_signals() {
        Ok(stop) => stop,
        Err(failure) => return exit::code(Err(failure)),
    };
    let mut out = std::io::stdout().lock();
    let stopped = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stopped);
    std::thread::spawn(move || {
        while !matches!(stop.wait(LOOK), Ok(true) | Err(_)) {}
        told.store(true, Ordering::Relaxed);
    });
    ExitCode::from(experiment(&stopped, &mut out))
}

/// How a program of an experiment ended.
pub(crate) fn ended(name: &str, done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("punctual {name}: {wrong}");
            ExitCode::from(experiment::VOID)
        }
    }
}
