//! The experiment on this machine: real programs and kernels, an Open vSwitch, and links of a lab.
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use lab::{Lab, Options};
use plan::Network;

use crate::conduct::{Babbling, Played, Scene, Stage};
use crate::phases;
use crate::program::{Folder, Stopped};
use crate::report::Report;
use crate::setting::{FILE, NETWORK, Setting};
use crate::text;

/// Beginning of the names of the labs of experiments; the number of the process follows.
const LAB: &str = "midas-";
/// Seconds that a phase is measured, and in short.
const SECONDS: f64 = 15.0;
const SHORT: f64 = 4.0;

/// Hears a text.
pub(crate) type Told<'t> = dyn FnMut(&str) -> Result<(), String> + 't;

/// What the user asked for, and who hears of it.
pub(crate) struct Wishes<'w> {
    pub(crate) short: bool,
    pub(crate) stopped: Stopped<'w>,
    pub(crate) progress: &'w dyn Fn(&str),
    /// Hears of each phase once it is over.
    pub(crate) told: &'w mut Told<'w>,
}

/// Why it cannot be measured here; `None` if it can.
pub(crate) fn obstacle() -> Option<String> {
    let checked = lab::check_rights().and_then(|()| lab::check_programs(true));
    checked.err().map(|error| error.to_string())
}

/// Measures all phases.
///
/// # Errors
/// In words: what could not be built or started, or that the user wants an end. Nothing is left then.
pub(crate) fn measure(setting: &Setting, wishes: &mut Wishes<'_>) -> Result<Report, String> {
    clear();
    let folder = Folder::new()?;
    let mut report = Report {
        place: "Measured on this machine: programs in network namespaces, an Open vSwitch between them, every link 100 Mb/s."
            .to_owned(),
        machine: machine(),
        topics: setting.topics.clone(),
        phases: Vec::new(),
        refusals: Vec::new(),
        broken: Vec::new(),
        remarks: Vec::new(),
    };
    (wishes.told)(&text::head(&report))?;
    let (stopped, progress) = (wishes.stopped, wishes.progress);
    let seconds = if wishes.short { SHORT } else { SECONDS };
    let stage = |lab| Stage { lab, folder: &folder, topics: &setting.topics, seconds, stopped, progress };
    let alone = NETWORK.replace("\nmanager = true\n", "\n");
    let lab = up(&alone, wishes)?;
    for scene in [
        Scene {
            title: "Best effort",
            about: phases::BEST_EFFORT,
            babbling: Babbling::Nobody,
            managed: false,
        },
        Scene {
            title: "Best effort, video and ECG babble",
            about: phases::BABBLE,
            babbling: Babbling::Samples(2),
            managed: false,
        },
    ] {
        let played = stage(&lab).play(&scene)?;
        add(&mut report, played, wishes.told)?;
    }
    lab.down().map_err(|error| error.to_string())?;
    Ok(report)
}

fn add(report: &mut Report, played: Played, told: &mut Told<'_>) -> Result<(), String> {
    let Played { phase, real_time, stalls: (stalls, longest) } = played;
    if !real_time {
        let remark = "Real-time priority was not granted to everything that is measured: other programs of this machine are in the latencies.";
        if !report.remarks.iter().any(|there| there == remark) {
            report.remarks.push(remark.to_owned());
        }
    }
    if stalls > 0 {
        report.remarks.push(format!(
            "{}: the probes saw the machine stand still {stalls} times, {} ms at most.",
            phase.title,
            text::milliseconds(longest)
        ));
    }
    let shown = text::phase(report.phases.len() + 1, &phase, &report.topics);
    report.phases.push(phase);
    told(&shown)
}

fn up(text: &str, wishes: &Wishes<'_>) -> Result<Lab, String> {
    (wishes.progress)("building the network");
    let none = |_: &Path| Err("the experiment's network file names no other".to_owned());
    let network = Network::parse(FILE, text, none).map_err(|problem| problem.to_string())?;
    let name = format!("{LAB}{}", std::process::id());
    let options = Options { interrupted: Arc::clone(wishes.stopped), ..Options::default() };
    Lab::up_with(&network, &name, &options).map_err(|error| error.to_string())
}

/// Removes what experiments have left that were killed.
fn clear() {
    for name in lab::names().unwrap_or_default() {
        let process = name.strip_prefix(LAB).and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // Whoever builds the next lab says what cannot be removed.
            let _ = lab::down(&name);
        }
    }
}

/// The facts of the machine.
fn machine() -> Vec<(&'static str, String)> {
    let line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let processor = line("/proc/cpuinfo");
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")).map(|rest| {
        rest.trim_start_matches(|character: char| character.is_whitespace() || character == ':').to_owned()
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut facts = vec![
        ("processor", format!("{}, {cores} cores", model.unwrap_or_else(|| "unknown".to_owned()))),
        ("kernel", line("/proc/sys/kernel/osrelease")),
    ];
    let load = line("/proc/loadavg");
    let mut words = String::new();
    for word in load.split(' ').take(3) {
        let _ = write!(words, "{word} ");
    }
    facts.push(("load average before", words.trim().to_owned()));
    facts
}
