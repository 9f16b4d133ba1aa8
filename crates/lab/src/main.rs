//! The verbs `lab`, `gate`, `host` and `switch` of the command `punctual` in a program of their own, for experiments that are built without it.
use std::process::ExitCode;

use bridge::{SwitchArguments, run_switch};
use clap::{Parser, Subcommand};
use gate_agent::{GateArguments, run_gate};
use lab::command::{LabArguments, run_lab};
use lab::host::{HostArguments, run_host};

/// Real test networks on this machine.
#[derive(Parser)]
#[command(name = "punctual-lab", version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Lab(LabArguments),
    Gate(GateArguments),
    Host(HostArguments),
    Switch(SwitchArguments),
}

fn main() -> ExitCode {
    let (mut out, mut told) = (std::io::stdout(), std::io::stderr());
    ExitCode::from(match Arguments::parse().verb {
        Verb::Lab(arguments) => run_lab(&arguments, &mut out, &mut told),
        Verb::Gate(arguments) => run_gate(&arguments, &mut out, &mut told),
        Verb::Host(arguments) => run_host(&arguments, &mut out, &mut told),
        Verb::Switch(arguments) => run_switch(&arguments, &mut out, &mut told),
    })
}
