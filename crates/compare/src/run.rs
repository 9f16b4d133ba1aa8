//! The command: who is there, the passes, and the report in the forms that are wanted.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cell::{Cell, Kind, Placement};
use crate::conduct::{Cores, Effort, play};
use crate::contender::{Contender, FLOOR, Program, Scope};
use crate::install::{self, RECIPES};
use crate::report::{Report, Who, rows};
use crate::stage::Stage;
use crate::{cell, page, stage, text};

/// Command line of `punctual perf compare`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual perf compare --with none               Punctual beside raw UDP: two minutes, nothing is built\n  \
    punctual perf compare --html comparison.html    with all peers; the first time they are downloaded and built\n  \
    punctual perf compare --with cyclone --cells rtt-s --passes 9   one peer, some cells, a narrower interval\n  \
    punctual perf compare --with none --cells ciao  the figures of the CIAO paper: components and what they stand on\n\n\
    Needs root, for a network of its own. See docs/compare.md.")]
pub struct Arguments {
    /// Peers to compare with, by name; all or none.
    #[arg(long, value_delimiter = ',', default_value = "all", value_name = "NAMES")]
    with: Vec<String>,
    /// Cells to measure: those that have one of these texts in their names. Default: all but the figures of the CIAO paper (ciao).
    #[arg(long, value_delimiter = ',', value_name = "TEXTS")]
    cells: Vec<String>,
    /// How often everything is measured.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    passes: u16,
    /// Round trips for each figure and pass.
    #[arg(long, default_value_t = 4_000, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    count: u32,
    /// How long a writer writes for each figure and pass.
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = writing)]
    duration: Duration,
    /// Begin no measurement after this time.
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = lasting)]
    timeout: Duration,
    /// Where the drivers of peers are kept. Default: punctual/compare in the user's cache.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Take only drivers that are there: nothing is downloaded or built.
    #[arg(long)]
    offline: bool,
    /// The report as JSON.
    #[arg(long)]
    json: bool,
    /// Write a page with plots as well.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn writing(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_millis(10), Duration::from_secs(60))
}

fn lasting(text: &str) -> Result<Duration, String> {
    between(text, Duration::from_secs(1), Duration::from_secs(24 * 3_600))
}

/// Reads a time; a number alone is seconds.
fn between(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let time = text.parse::<dds::Duration>().map_err(|error| error.to_string())?;
    let nanos = u64::try_from(time.as_nanos()).ok().filter(|_| !time.is_infinite());
    let time = nanos.map(Duration::from_nanos).filter(|time| (least..=most).contains(time));
    time.ok_or_else(|| format!("{text:?} is not between {least:?} and {most:?}"))
}

/// What the command line or the system does not allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The command line makes no sense.
    Usage(String),
    /// Something could not be done.
    System(String),
}

/// Compares. What is printed is given to `print`, line by line. True if every cell was measured with a contender, or if the user wanted
/// an end before that.
///
/// # Errors
/// What is wrong, and what to do.
pub fn run(
    arguments: &Arguments,
    stopped: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
    print: &dyn Fn(&str),
) -> Result<bool, Wrong> {
    let cells = cell::select(&arguments.cells).map_err(Wrong::Usage)?;
    let wanted = wanted(&arguments.with).map_err(Wrong::Usage)?;
    let folder = match &arguments.folder {
        Some(folder) => std::path::absolute(folder).map_err(|error| Wrong::Usage(error.to_string()))?,
        None => install::folder().map_err(Wrong::Usage)?,
    };
    // Found out before anything takes minutes.
    if let Some(page) = &arguments.html
        && !page.parent().is_some_and(|folder| folder.as_os_str().is_empty() || folder.is_dir())
    {
        return Err(Wrong::Usage(format!("--html {}: there is no such folder", page.display())));
    }
    let cores = udp::thread::cores().map_err(|error| Wrong::System(error.to_string()))?;
    let first = *cores.first().ok_or_else(|| Wrong::System("no core to run on".to_owned()))?;
    let cores = Cores { first, second: cores.get(1).copied() };
    // The rights are found out before minutes of building, too.
    on_stage(|_| ())?;
    let mut contenders = own();
    for recipe in RECIPES.iter().filter(|recipe| wanted.contains(&recipe.name)) {
        match recipe.ensure(&folder, !arguments.offline, stopped, progress) {
            Some(contender) => contenders.push(contender),
            None => {
                progress("");
                print("interrupted before anything was measured");
                return Ok(true);
            }
        }
    }
    let effort = Effort {
        passes: usize::from(arguments.passes),
        count: usize::try_from(arguments.count).unwrap_or(usize::MAX),
        time: arguments.duration,
        limit: arguments.timeout,
    };
    let (start, load) = (Instant::now(), load());
    let all = on_stage(|stage| play(stage, &cells, &contenders, &effort, cores, stopped, progress))?;
    progress("");
    let report = Report {
        machine: machine(&effort, cores, &load, start.elapsed()),
        remarks: remarks(&effort, &cells, stopped.load(Ordering::Relaxed)),
        contenders: contenders.iter().map(|one| who(one, &folder)).collect(),
        rows: rows(&cells, &contenders, &all),
    };
    if arguments.json {
        print(&report.json().to_string());
    } else {
        text::lines(&report).iter().for_each(|line| print(line));
    }
    if let Some(path) = &arguments.html {
        let said = |error: std::io::Error| Wrong::System(format!("{}: {error}", path.display()));
        std::fs::write(path, page::page(&report)).map_err(said)?;
        if !arguments.json {
            print(&format!("page: {}", path.display()));
        }
    }
    let stopped = stopped.load(Ordering::Relaxed);
    Ok(stopped || report.rows.iter().all(|row| row.entries.iter().any(|entry| entry.figure.is_some())))
}

/// Does something on a thread that is on the stage.
fn on_stage<T: Send>(act: impl FnOnce(&Stage) -> T + Send) -> Result<T, Wrong> {
    let done = std::thread::scope(|scope| scope.spawn(|| stage::enter().map(|stage| act(&stage))).join());
    match done {
        Ok(done) => done.map_err(Wrong::System),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The names of the peers that are asked for.
fn wanted(with: &[String]) -> Result<Vec<&'static str>, String> {
    let names = || RECIPES.iter().map(|recipe| recipe.name);
    match with {
        [all] if all == "all" => Ok(names().collect()),
        [none] if none == "none" => Ok(Vec::new()),
        some => some
            .iter()
            .map(|text| {
                names().find(|name| name == text).ok_or_else(|| {
                    format!(
                        "--with {text}: give all, none, or some of {}",
                        names().collect::<Vec<_>>().join(", ")
                    )
                })
            })
            .collect(),
    }
}

/// Those that this program has in itself.
fn own() -> Vec<Contender> {
    let path = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"));
    let version = concat!("this program, ", env!("CARGO_PKG_VERSION"));
    let between = Scope::Figures(&[15, 16, 17]);
    let (process, nodes) = (Scope::Figures(&[13, 14]), Scope::Figures(&[18]));
    [
        ("raw-udp", "UDP, a call for each datagram: what the ratios refer to", Scope::All),
        ("raw-sendmmsg", "UDP, a call for 32 datagrams", Scope::Rates),
        ("raw-gso", "UDP, one datagram that the kernel cuts into 64", Scope::Rates),
        ("punctual", version, Scope::All),
        (
            FLOOR,
            "calls by a table; between processes behind a datagram for each event: what the ratios of figures refer to",
            Scope::Lossless(&[13, 14, 15, 16, 17, 18]),
        ),
        ("channel", "the channel as a state machine, without a container", process),
        ("ports", "components, connected directly", process),
        ("ports-channel", "components, connected by their container's channel", process),
        ("dds", "DDS by shared memory, a reader for each subscriber", between),
        ("ports-dds", "components, connected by DDS: a reader for each process", between),
        ("dds-apart", "DDS, a participant for each subscriber", Scope::Figures(&[17])),
        ("ports-dds-apart", "components, each connected by a participant of its own", Scope::Figures(&[17])),
        ("gateway", "gateways by UDP", between),
        ("ports-gateway", "components, federated by UDP", between),
        ("gateway-tcp", "gateways by TCP", nodes),
        ("ports-gateway-tcp", "components, federated by TCP", nodes),
        ("gateway-group", "gateways by multicast", nodes),
        ("ports-gateway-group", "components, federated by multicast", nodes),
    ]
    .map(|(name, about, scope)| Contender::own(name, about, scope, &path))
    .to_vec()
}

fn who(contender: &Contender, folder: &Path) -> Who {
    let bytes = RECIPES.iter().find(|recipe| recipe.name == contender.name).and_then(|recipe| {
        let Ok(Program { path, .. }) = &contender.program else { return None };
        // A line for each library that is its own.
        let libraries =
            std::fs::read_to_string(folder.join(recipe.name).join("libraries")).unwrap_or_default();
        let size = |path: &Path| std::fs::metadata(path).map(|facts| facts.len()).ok();
        libraries.lines().map(Path::new).try_fold(size(path)?, |sum, library| Some(sum + size(library)?))
    });
    Who { name: contender.name.clone(), about: contender.about.clone(), bytes }
}

/// The load averages.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn machine(effort: &Effort, cores: Cores, before: &str, took: Duration) -> Vec<(&'static str, String)> {
    let read = |path: &str| crate::protocol::shown(&std::fs::read_to_string(path).unwrap_or_default());
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    vec![
        ("processor", name.map(|(_, name)| name.to_owned()).unwrap_or_default()),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        (
            "cores",
            format!(
                "{}, {}",
                cores.first,
                cores.second.map_or("no other".to_owned(), |core| core.to_string())
            ),
        ),
        ("load average before and after", format!("{before}; {}", load())),
        (
            "measured",
            format!(
                "{} passes, {} round trips, {} ms of writing, in {} s",
                effort.passes,
                effort.count,
                effort.time.as_millis(),
                took.as_secs()
            ),
        ),
    ]
}

fn remarks(effort: &Effort, cells: &[Cell], stopped: bool) -> Vec<String> {
    let confidence = crate::statistics::Estimate::of(&vec![0.0; effort.passes]);
    let percent = confidence.map_or(0.0, |estimate| estimate.confidence * 100.0);
    let mut remarks = vec![format!(
        "A figure is the median over {} passes; its interval has the true median with {percent:.1} % if passes are independent.",
        effort.passes
    )];
    remarks.push(
        "Ratios are formed inside each pass; under other load compare them, not the figures.".to_owned(),
    );
    if cells.iter().any(|cell| cell.kind == Kind::OneWay && cell.placement != Placement::Alone) {
        remarks.push(
            "Figures 15 and 16: floor, dds, gateway and ports are times from the push to the last consumer, 1,000 events a second. The others are \
             half of a round trip, and the next one follows at once: caches and threads are warmer then."
                .to_owned(),
        );
    }
    if cfg!(debug_assertions) {
        remarks.push(
            "This program was built with debug assertions: its figures are worse than those of a release build.".to_owned(),
        );
    }
    if stopped {
        remarks.push("The comparison was interrupted: cells have fewer passes than asked for.".to_owned());
    }
    remarks
}

#[cfg(test)]
mod times {
    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        assert_eq!(writing("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(lasting("90min"), Ok(Duration::from_secs(5_400)));
        assert_eq!(lasting("2"), Ok(Duration::from_secs(2)));
        for text in ["9ms", "61s", "infinite", "soon", "-1s"] {
            assert!(writing(text).is_err(), "{text}");
        }
    }
}
