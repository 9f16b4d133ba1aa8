//! `punctual perf`: what a writer and a reader can carry, and how others compare.
use clap::Subcommand;

use super::{compare, publish, subscribe};
use crate::exit::{Failure, Outcome};
use crate::stop::Stop;

/// Command line of `punctual perf`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual perf sub &                          the other side, on this host or another\n  \
    punctual perf pub --duration 10s             64 bytes, as fast as the reader takes them\n  \
    punctual perf pub --rate 20k --size 1k       at a rate: latencies of `perf sub` count from when samples were due\n  \
    punctual perf pub --batch 200us --keys 100   100 instances (`perf sub --keyed`), samples wait up to 200 us for others\n  \
    punctual perf compare --with none            beside raw UDP on this machine (needs root)")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    side: Side,
}

#[derive(Subcommand, Clone, Debug)]
enum Side {
    /// Writes, and prints each second and at the end how much.
    Pub(publish::Arguments),
    /// Reads, and prints each second and at the end how much, what is lost, and how late it came.
    Sub(subscribe::Arguments),
    /// Measures Punctual, the raw limits of this machine and other middleware in turn.
    Compare(::compare::Arguments),
    /// A process of `punctual perf compare`.
    #[command(hide = true)]
    Driver(::compare::DriverArguments),
}

/// Does one side.
pub(crate) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    match &arguments.side {
        Side::Pub(arguments) => publish::run(arguments, stop),
        Side::Sub(arguments) => subscribe::run(arguments, stop),
        Side::Compare(arguments) => compare::run(arguments, stop),
        Side::Driver(arguments) => {
            ::compare::drive(arguments).map(|()| Outcome::Done).map_err(Failure::System)
        }
    }
}
