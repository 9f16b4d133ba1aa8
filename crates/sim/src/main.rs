//! The command line of the simulator.
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use sim::report;
use sim::runner::{self, Options};
use sim::scenario::{self, Scenario};
use sim::trace::Trace;
use sim::violation::Invariant;

/// Prints to standard output; if the pipe is not read any more, ends the process quietly.
macro_rules! show {
    ($($argument:tt)*) => {
        if write!(std::io::stdout(), $($argument)*).is_err() {
            std::process::exit(1);
        }
    };
}

macro_rules! say {
    ($($argument:tt)*) => { show!("{}\n", format_args!($($argument)*)) };
}

/// Runs many participants on one thread, one virtual clock and one seed, and judges what they deliver.
///
/// Each seed draws a topology, QoS, sample sizes and a mix of faults: loss, bursts, duplicates, reordering, partitions, crashes,
/// stalls, slow readers, changing addresses and more. After each event the rules are checked (`sim list` names them).
/// The same seed gives the same run everywhere: a seed that fails is repeated by `sim replay`.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  \
    sim run --seeds 1000                            every scenario, seeds 0 to 999\n  \
    sim replay --scenario pair --seed 7             what seed 7 draws and what comes of it\n  \
    sim replay --scenario pair --seed 7 --trace     and every datagram of it\n\n\
    Exit code: 0 if no rule was broken, 1 if one was, 2 for a wrong command line."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs seeds and prints a report.
    Run {
        /// The scenario, or `all`.
        #[arg(long, default_value = "all")]
        scenario: String,
        /// Seeds of each scenario.
        #[arg(long, default_value_t = 1_000)]
        seeds: u64,
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        start: u64,
        /// Threads.
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// Does not stop after twenty failures.
        #[arg(long)]
        keep_going: bool,
    },
    /// Runs one seed twice, compares the traces, and says what it drew and what came of it.
    Replay {
        /// The scenario.
        #[arg(long)]
        scenario: String,
        /// The seed.
        #[arg(long)]
        seed: u64,
        /// Prints every datagram, fault and delivery.
        #[arg(long)]
        trace: bool,
    },
    /// Names scenarios and rules.
    List,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Run { scenario, seeds, start, jobs, keep_going } => {
            let Some(scenarios) = find(&scenario) else { return ExitCode::from(2) };
            let good = scenarios.into_iter().map(|scenario| {
                let progress = Progress::new(scenario.name(), seeds);
                let options = Options { jobs, keep_going };
                let end = start.saturating_add(seeds);
                let summary =
                    runner::run(scenario, start..end, options, &|done, bad| progress.tell(done, bad));
                progress.end();
                show!("{}", report::table(scenario, &summary));
                summary.is_good(scenario)
            });
            code(good.filter(|good| !good).count() == 0)
        }
        Command::Replay { scenario, seed, trace } => {
            let Some(scenario) = scenario::by_name(&scenario) else {
                find(&scenario);
                return ExitCode::from(2);
            };
            code(replay(scenario, seed, trace))
        }
        Command::List => {
            say!("scenarios:");
            for scenario in scenario::ALL {
                say!("  {:<10} {}", scenario.name(), scenario.about());
            }
            say!("\nrules:");
            for rule in Invariant::ALL {
                say!("  {:<18} {}", rule.name(), rule.about());
            }
            ExitCode::SUCCESS
        }
    }
}

fn find(name: &str) -> Option<Vec<&'static dyn Scenario>> {
    if name == "all" {
        return Some(scenario::ALL.to_vec());
    }
    let found = scenario::by_name(name).map(|scenario| vec![scenario]);
    if found.is_none() {
        let names: Vec<_> = scenario::ALL.iter().map(|scenario| scenario.name()).collect();
        eprintln!("no scenario is named {name}; there are: {}", names.join(", "));
    }
    found
}

fn replay(scenario: &dyn Scenario, seed: u64, verbose: bool) -> bool {
    say!("scenario {}, seed {seed}", scenario.name());
    show!("{}", scenario.describe(seed));
    let mut print = |line: &str| say!("{line}");
    let trace = if verbose { Trace::to(&mut print) } else { Trace::silent() };
    let outcome = scenario.run(seed, trace);
    say!("reached: {:?}", outcome.coverage);
    say!(
        "{} events, {} samples written, {} delivered, {} ms of virtual time, trace {:016x}",
        outcome.events,
        outcome.written,
        outcome.delivered,
        outcome.end.as_nanos() / 1_000_000,
        outcome.hash
    );
    let again = runner::guarded(scenario, seed);
    let broken = outcome.violation.clone().or_else(|| runner::difference(&outcome, &again));
    match &broken {
        Some(violation) => say!("BROKEN: {violation}"),
        None => say!("no rule was broken"),
    }
    broken.is_none()
}

fn code(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A line that counts, on a terminal; nothing elsewhere.
struct Progress {
    name: &'static str,
    seeds: u64,
    shown: Mutex<Instant>,
    terminal: bool,
}

impl Progress {
    fn new(name: &'static str, seeds: u64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { name, seeds, shown: Mutex::new(Instant::now()), terminal }
    }

    fn tell(&self, done: u64, failed: usize) {
        let mut shown = self.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.terminal && shown.elapsed() > Duration::from_millis(200) {
            *shown = Instant::now();
            eprint!("\r{}: {done} of {} seeds, {failed} failed ", self.name, self.seeds);
            // A line of progress that cannot be shown is no loss.
            let _ = std::io::stderr().flush();
        }
    }

    fn end(&self) {
        if self.terminal {
            eprint!("\r{:60}\r", "");
        }
    }
}
