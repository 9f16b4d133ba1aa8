//! The command: reads files, plans, and writes what was asked for.
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use network::{Network, load, printable};
use serde::Serialize;

use crate::certify::{Certificates, certify};
use crate::change::{Changes, apply};
use crate::explain::{self, Detail, explain};
use crate::page::{Shown, page};
use crate::planning::{Plan, steps};
use crate::report::{Bounds, Report};
use crate::sections::{self, Section};
use crate::simulate::{Simulation, simulate};
use crate::text;

/// All flows are admitted, and nothing was found against that.
pub const ADMITTED: u8 = 0;
/// A flow is refused.
pub const REFUSED: u8 = 1;
/// A file or an argument is wrong, or a file cannot be written.
pub const WRONG: u8 = 2;
/// A simulated frame was above its bound, or evidence does not hold: a bound is wrong.
pub const VIOLATED: u8 = 3;

/// Work that takes longer says so this often.
const PROGRESS: Duration = Duration::from_secs(1);

/// Says which flows of a network keep their latency, with what bound, and why others cannot.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
#[command(after_help = "Examples:\n  \
    punctual plan plant.toml                              verdict and bound of every flow, load of every port\n  \
    punctual plan plant.toml --explain camera             the bound of a flow with every term\n  \
    punctual plan plant.toml --what-if more.toml --html plan.html\n  \
    punctual plan plant.toml --certify --simulate         two checks that share no code with the plan\n\n\
    Exit code: 0 all flows are admitted; 1 a flow is refused; 2 a file or an argument is wrong, or a file cannot be written;\n\
    3 a simulated frame was above its bound, or evidence does not hold. See docs/plan.md.")]
pub struct Arguments {
    /// The network file (TOML); - reads standard input
    pub network: PathBuf,
    /// Writes the report as JSON
    #[arg(long, conflicts_with = "explain")]
    pub json: bool,
    /// Writes a page: the network with its flows, bounds against limits, why others are refused
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Shows the bound of a flow with every term
    #[arg(long, value_name = "FLOW")]
    pub explain: Option<String>,
    /// Takes flows out and adds others, as the file says, and shows what that does
    #[arg(long, value_name = "FILE")]
    pub what_if: Option<PathBuf>,
    /// Checks the evidence for every admission with a slow, separate checker
    #[arg(long)]
    pub certify: bool,
    /// Lets the plan take so many times the work that the size of its files allows
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub effort: u32,
    /// Looks for frames above their bound in a simulation, with so many seeds for each subscriber
    #[arg(long, value_name = "SEEDS", num_args = 0..=1, default_missing_value = "3", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub simulate: Option<u64>,
}

/// Everything that JSON says.
#[derive(Serialize)]
struct Whole<'w> {
    #[serde(flatten)]
    report: &'w Report,
    /// The work of planning and reporting, and how much of it exact tests may have been.
    steps: u64,
    most_steps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if: Option<&'w Changes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificates: Option<&'w Certificates>,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<&'w Simulation>,
}

/// Runs the command; the result is its exit code: [`ADMITTED`], [`REFUSED`], [`WRONG`] or [`VIOLATED`].
pub fn run(arguments: &Arguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    match attempt(arguments, out, told) {
        Ok(code) => code,
        Err(wrong) => {
            // If even that cannot be written, the exit code says it.
            let _ = writeln!(told, "{wrong}");
            WRONG
        }
    }
}

fn attempt(arguments: &Arguments, out: &mut dyn Write, told: &mut dyn Write) -> Result<u8, String> {
    let file = arguments.network.to_string_lossy();
    // Before work that takes long.
    arguments.html.as_deref().map_or(Ok(()), check_output).map_err(|wrong| format!("--html {wrong}"))?;
    let text = load(&arguments.network)?;
    let network = Network::parse(&file, &text, load).map_err(|problem| problem.to_string())?;
    let mut progress = Progress::new(told);
    let flows = network.flows().len();
    let change = arguments.what_if.as_ref().map(|path| Ok::<_, String>((path, load(path)?))).transpose()?;
    let bytes = network.bytes() + change.as_ref().map_or(0, |(_, text)| text.len() as u64);
    let limit = Some((steps(bytes, arguments.effort), arguments.effort));
    let mut plan = Plan::new(&network, limit, |count| progress.tell("flows planned", count, flows));
    plan.finished()?;
    let changes = match &change {
        None => None,
        Some((path, text)) => {
            let applied = apply(&mut plan, &path.to_string_lossy(), text);
            Some(applied.map_err(|problem| problem.to_string())?)
        }
    };
    plan.finished()?;
    let bounds = Bounds::new(&plan);
    let report = Report::new(&plan, &bounds);
    plan.finished()?;
    let planned = plan.flows.len();
    let certificates =
        arguments.certify.then(|| certify(&plan, |count| progress.tell("flows checked", count, planned)));
    let simulation = match arguments.simulate {
        None => None,
        Some(seeds) => {
            let tell = |count, of| progress.tell("subscribers attacked", count, of);
            Some(simulate(&plan, &bounds, seeds, tell)?)
        }
    };
    let sections: Vec<Section> = [
        changes.as_ref().map(sections::changed),
        certificates.as_ref().map(sections::certified),
        simulation.as_ref().map(sections::simulated),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(path) = &arguments.html {
        let shown = Shown { plan: &plan, bounds: &bounds, report: &report, changes: changes.as_ref() };
        let written = fs::write(path, page(shown, &sections));
        written.map_err(|error| format!("{}: {error}", printable(&path.to_string_lossy())))?;
    }
    let shown = match &arguments.explain {
        Some(name) => explained(&plan, &bounds, name)?,
        None if arguments.json => {
            let whole = Whole {
                report: &report,
                steps: plan.steps(),
                most_steps: plan.ledger.work().most().exact,
                what_if: changes.as_ref(),
                certificates: certificates.as_ref(),
                simulation: simulation.as_ref(),
            };
            serde_json::to_string_pretty(&whole).map_err(|error| error.to_string())? + "\n"
        }
        None => {
            let mut shown = text::report(&report);
            sections.iter().for_each(|section| shown.push_str(&section.text()));
            shown
        }
    };
    out.write_all(printable(&shown).as_bytes()).map_err(|error| error.to_string())?;
    let wrong = certificates.is_some_and(|certificates| !certificates.wrong.is_empty());
    Ok(match simulation {
        _ if wrong => VIOLATED,
        Some(simulation) if simulation.violations > 0 => VIOLATED,
        _ if report.refused > 0 => REFUSED,
        _ => ADMITTED,
    })
}

fn explained(plan: &Plan<'_>, bounds: &Bounds, name: &str) -> Result<String, String> {
    let id = plan.find(name).ok_or_else(|| {
        let known: Vec<&str> = plan.flows.iter().take(20).map(|(asked, _)| asked.name.as_str()).collect();
        format!("there is no flow \"{}\"; flows are {}", printable(name), printable(&known.join(", ")))
    })?;
    let explained = explain(plan, bounds, id, Detail::Whole).ok_or_else(|| {
        format!("\"{}\" is not admitted; the report without --explain says why", printable(name))
    })?;
    Ok(explain::text(plan.name(id), &explained))
}

/// Whether a file of this name can be written; what it has is left as it is.
///
/// # Errors
/// What is wrong, with the name.
pub fn check_output(path: &Path) -> Result<(), String> {
    let existed = path.exists();
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| format!("{}: {error}", printable(&path.to_string_lossy())))?;
    if !existed {
        // If it stays, it is written over at the end.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Tells how far long work is.
struct Progress<'t> {
    told: &'t mut dyn Write,
    last: Instant,
}

impl<'t> Progress<'t> {
    fn new(told: &'t mut dyn Write) -> Self {
        Self { told, last: Instant::now() }
    }

    fn tell(&mut self, what: &str, count: usize, of: usize) {
        if self.last.elapsed() >= PROGRESS && count < of {
            self.last = Instant::now();
            // Work goes on if its output cannot be printed.
            let _ = writeln!(self.told, "{what}: {count} of {of}");
        }
    }
}
