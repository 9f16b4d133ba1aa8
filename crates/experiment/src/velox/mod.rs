//! The command `punctual velox`: figures 21 to 25 of the Velox paper, measured over domains of Linux routers, and judged.
mod cases;
mod domain_file;
mod fans;
mod judge;
mod member;
mod page;
mod play;
mod plots;
mod report;
mod site;
mod words;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use lab::awake::Awake;

use crate::interrupts::Raised;
use crate::outcome::{self, save, say};
use crate::program::Folder;
use cases::Run;
pub use member::{ReaderArguments, WriterArguments, read, write};
use report::Report;

/// Runs figures 21 to 25 of the Velox paper on this machine: DDS between domains of Linux routers, beside floods, without sessions and with them.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
#[command(after_help = "Examples:\n  \
    punctual velox                               all figures, in some minutes (needs root)\n  \
    punctual velox --figure 21 --figure classes  some of them\n  \
    punctual velox --html /tmp/v.html            where the page with the plots goes\n  \
    punctual velox --json v.json --csv v.csv     the numbers and all samples, too\n\n\
    Exit code: 0 every bound was kept; 1 one was broken; 2 wrong command line; 3 it could not be done, or the machine stood\n\
    still too often to tell. See docs/velox-experiment.md.")]
pub struct Arguments {
    /// This figure alone; may be repeated
    #[arg(long, value_enum, value_name = "FIGURE")]
    pub figure: Vec<Which>,
    /// Measures some seconds of each phase, for tests of the experiment itself
    #[arg(long)]
    pub short: bool,
    /// Where the page with the plots goes
    #[arg(long, value_name = "FILE", default_value = "velox.html")]
    pub html: PathBuf,
    /// Where the numbers go as JSON, times in nanoseconds
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where all samples go as a table
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Which {
    /// Figures 21 and 22: rate and latency beside a flood
    #[value(name = "21")]
    Protection,
    /// Figures 23 to 25: several writers and readers
    #[value(name = "23")]
    Fans,
    /// Three classes at 1.9 times what links of 1, 10 and 100 Mbit/s carry
    Classes,
    /// A tunnel through five domains under flood
    Tunnels,
    /// Three hundred sessions through a domain in between
    Transit,
}

/// Runs the command; the result is its exit code. It ends early once `stopped` is true; `progress` shows what is being done.
pub fn run(
    arguments: &Arguments,
    stopped: &Arc<AtomicBool>,
    progress: &dyn Fn(&str),
    out: &mut dyn Write,
) -> u8 {
    let tried = attempt(arguments, stopped, progress, out);
    outcome::code("velox", progress, tried)
}

fn attempt(
    arguments: &Arguments,
    stopped: &Arc<AtomicBool>,
    progress: &dyn Fn(&str),
    out: &mut dyn Write,
) -> Result<u8, String> {
    let Arguments { figure, short, html, json, csv } = arguments;
    outcome::check(&[("--html", Some(html)), ("--json", json.as_deref()), ("--csv", csv.as_deref())])?;
    lab::check_rights().map_err(|error| error.to_string())?;
    crate::live::clear(site::LAB);
    let folder = Folder::new()?;
    let (raised, awake) = (Raised::new(), Awake::new());
    let mut report = Report { facts: crate::live::machine(), ..Report::default() };
    report.facts.push(("soft interrupts", crate::live::interrupts(&raised)));
    report.facts.push(("idle processors", crate::live::awake(&awake)));
    let mut run = Run { folder: &folder, stopped, progress, short: *short, report };
    let wanted = |which: Which| figure.is_empty() || figure.contains(&which);
    let rates: &[u64] = if *short { &[10] } else { &[1, 10, 100] };
    let mut shown = 0;
    let mut told = |run: &Run<'_>| {
        progress("");
        for figure in run.report.figures.iter().skip(shown) {
            say(out, &words::figure(figure))?;
        }
        shown = run.report.figures.len();
        Ok::<(), String>(())
    };
    let mut played = || {
        if wanted(Which::Protection) {
            run.protection()?;
            told(&run)?;
        }
        if wanted(Which::Fans) {
            run.fans()?;
            told(&run)?;
        }
        if wanted(Which::Classes) {
            for rate in rates {
                run.classes(*rate)?;
                told(&run)?;
            }
        }
        if wanted(Which::Tunnels) {
            run.tunnels()?;
            told(&run)?;
        }
        if wanted(Which::Transit) {
            run.transit()?;
            told(&run)?;
        }
        Ok::<(), String>(())
    };
    // What was measured before it went wrong, or was interrupted, is not lost.
    let ended = played().err();
    let mut report = run.report;
    if report.figures.is_empty()
        && let Some(wrong) = ended
    {
        return Err(wrong);
    }
    report.ended = ended;
    save(html, page::page(&report))?;
    json.as_deref().map_or(Ok(()), |path| save(path, words::json(&report)))?;
    csv.as_deref().map_or(Ok(()), |path| save(path, words::csv(&report)))?;
    say(out, &format!("{}\nThe page with the plots: {}", words::tail(&report), html.display()))?;
    Ok(report.conclusion().code())
}
