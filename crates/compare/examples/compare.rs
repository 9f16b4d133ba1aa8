//! The command `punctual perf compare` alone, with its drivers, for tests.
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Typed {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// As the command calls itself.
    #[command(subcommand)]
    Perf(Perf),
}

#[derive(Subcommand)]
enum Perf {
    Compare(compare::Arguments),
    Driver(compare::DriverArguments),
}

fn main() -> ExitCode {
    let Verb::Perf(perf) = Typed::parse().verb;
    let done = match perf {
        Perf::Compare(arguments) => {
            let print = |line: &str| println!("{line}");
            compare::run(&arguments, &AtomicBool::new(false), &|_| (), &print)
                .map_err(|wrong| format!("{wrong:?}"))
        }
        Perf::Driver(arguments) => compare::drive(&arguments).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(3)
        }
    }
}
