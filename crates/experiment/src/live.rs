//! The experiment on this machine: real programs and kernels, a switch, and links of a lab.
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use lab::awake::Awake;
use lab::layout::Carrying;
use lab::probe::Probes;
use lab::{Lab, Options};
use network::{Network, SwitchKind};

use crate::conduct::{Babbling, Played, Scene, Stage, Wish};
use crate::interrupts::Raised;
use crate::phases;
use crate::program::{Folder, Program, Stopped, own};
use crate::report::{Phase, Refusal, Report, Row};
use crate::scale::Scale;
use crate::setting::{FILE, Setting, Topic};
use crate::stalls::LATE;
use crate::text;

/// Beginning of the names of the labs of experiments; the number of the process follows.
const LAB: &str = "midas-";
/// Seconds that a phase is measured, and in short.
const SECONDS: f64 = 15.0;
const SHORT: f64 = 4.0;
/// How often a phase with promises is played if the machine stands still too often to tell.
const ATTEMPTS: u32 = 3;

/// How long the machine is watched before a scale is chosen, and how often it is looked whether the user wants an end.
const WATCHED: Duration = Duration::from_secs(4);
const LOOK: Duration = Duration::from_millis(100);

/// Hears a text.
pub(crate) type Told<'t> = dyn FnMut(&str) -> Result<(), String> + 't;

/// What the user asked for, and who hears of it.
pub(crate) struct Wishes<'w> {
    /// Why the links are as fast as they are.
    pub(crate) speed: String,
    pub(crate) short: bool,
    /// The phases to play; all if there are none.
    pub(crate) phases: &'w [u8],
    pub(crate) stopped: Stopped<'w>,
    pub(crate) progress: &'w dyn Fn(&str),
    /// Hears of each phase once it is over.
    pub(crate) told: &'w mut Told<'w>,
}

/// Watches for some seconds how the machine stands still: the scale that suits it, and why, in words.
///
/// # Errors
/// None does, or it could not be watched: why, in words.
pub(crate) fn suiting(stopped: Stopped<'_>, progress: &dyn Fn(&str)) -> Result<(Scale, String), String> {
    progress("watching for stalls of this machine");
    // As in the experiment: a machine that may not use its processors all the time is stopped more often then.
    let _awake = Awake::new();
    let probes = Probes::start(Duration::from_nanos(LATE)).map_err(|error| error.to_string())?;
    let begun = Instant::now();
    while begun.elapsed() < WATCHED && !stopped.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
    }
    let watched = begun.elapsed();
    Scale::suiting(&probes.stop(), watched)
}

/// Why it cannot be measured here with a switch of this kind; `None` if it can.
pub(crate) fn obstacle(kind: SwitchKind) -> Option<String> {
    let checked = lab::check_rights().and_then(|()| lab::check_programs_of(true, &[kind]));
    checked.err().map(|error| error.to_string())
}

/// Measures all phases.
///
/// # Errors
/// In words: what could not be built or started, or that the user wants an end. Nothing is left then.
pub(crate) fn measure(setting: &Setting, wishes: &mut Wishes<'_>) -> Result<Report, String> {
    clear(LAB);
    let folder = Folder::new()?;
    let raised = Raised::new();
    let awake = Awake::new();
    let mut report = Report {
        place: format!(
            "Measured on this machine: programs in network namespaces, {} between them, and links of \
             {} Mb/s, which a program emulates frame by frame; where the switch holds a frame up for longer than one of hardware would, the link behind \
             it makes up for that as far as it can. Messages have a quarter of the size that the paper has, and all times are {} times as long.",
            match setting.kind {
                SwitchKind::OpenVswitch => "an Open vSwitch",
                SwitchKind::Bridge => "a Linux bridge with nftables",
            },
            setting.scale.megabits(),
            setting.scale.times()
        ),
        machine: machine(),
        topics: setting.topics.clone(),
        phases: Vec::new(),
        refusals: Vec::new(),
        broken: Vec::new(),
        remarks: Vec::new(),
    };
    report.machine.push(("speed of links", wishes.speed.clone()));
    report.machine.push(("soft interrupts", interrupts(&raised)));
    report.machine.push(("idle processors", self::awake(&awake)));
    (wishes.told)(&text::head(&report))?;
    let progress = wishes.progress;
    let wanted = |number: u8| wishes.phases.is_empty() || wishes.phases.contains(&number);
    let chosen = |first: u8, scenes: &'static [Scene]| -> Vec<&Scene> {
        (first..).zip(scenes).filter(|(number, _)| wanted(*number)).map(|(_, scene)| scene).collect()
    };
    let (alone, managed) = (chosen(1, &ALONE), chosen(3, &MANAGED));
    if !alone.is_empty() {
        let lab = up(&setting.text.replace("\nmanager = true\n", "\n"), wishes)?;
        for scene in alone {
            let played = stage(&lab, &folder, setting, wishes).play(scene)?;
            add(&mut report, played, false, wishes.told)?;
        }
        lab.down().map_err(|error| error.to_string())?;
    }
    if managed.is_empty() {
        return Ok(report);
    }
    // A network and a manager for each: a phase that follows at once would meet flows of the one before that are on their way out.
    for scene in managed {
        for attempt in 1..=ATTEMPTS {
            let lab = up(&setting.text, wishes)?;
            let manager = manager(&lab, &folder, &setting.text)?;
            let played = stage(&lab, &folder, setting, wishes).play(scene)?;
            let repeated = add(&mut report, played, attempt < ATTEMPTS, wishes.told)?;
            manager.end();
            lab.down().map_err(|error| error.to_string())?;
            if !repeated {
                break;
            }
        }
    }
    let lab = up(&setting.text, wishes)?;
    let manager = manager(&lab, &folder, &setting.text)?;
    for asked in &phases::asked(setting.scale) {
        progress(&format!("a subscriber asks for {}", asked.said));
        let Some(topic) = setting.topics.iter().find(|topic| topic.name == asked.topic) else { continue };
        let wish = Wish { latency: asked.latency, separation: asked.separation };
        let answer = stage(&lab, &folder, setting, wishes).wish(topic, wish, asked.promised)?;
        report.refusals.push(Refusal { asked: asked.said.clone(), verdict: answer.refusal });
    }
    manager.end();
    lab.down().map_err(|error| error.to_string())?;
    Ok(report)
}

/// The stage of the scenes.
fn stage<'s, 'w: 's>(
    lab: &'s Lab,
    folder: &'s Folder,
    setting: &'s Setting,
    wishes: &Wishes<'w>,
) -> Stage<'s> {
    Stage {
        lab,
        folder,
        topics: &setting.topics,
        seconds: setting.scale.seconds(if wishes.short { SHORT } else { SECONDS }),
        stood_still: setting.scale.stood_still(),
        stopped: wishes.stopped,
        progress: wishes.progress,
    }
}

/// The scenes without a manager, and those with it.
const ALONE: [Scene; 2] = [
    Scene { title: "Best effort", about: phases::BEST_EFFORT, babbling: Babbling::Nobody, managed: false },
    Scene {
        title: "Best effort, video and ECG babble",
        about: phases::BABBLE,
        babbling: Babbling::Samples(2),
        managed: false,
    },
];
const MANAGED: [Scene; 2] = [
    Scene { title: "Managed", about: phases::MANAGED, babbling: Babbling::Nobody, managed: true },
    Scene {
        title: "Managed, video and ECG babble",
        about: phases::HELD,
        babbling: Babbling::Flows(2),
        managed: true,
    },
];

/// Starts the manager on its host.
fn manager(lab: &Lab, folder: &Folder, network: &str) -> Result<Program, String> {
    let file = folder.file("midas.toml");
    fs::write(&file, network).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = lab.command("manager", own()?).map_err(|error| error.to_string())?;
    command.arg("grm").arg(&file).args(["--lab", "--interface", "eth0", "--store", "none"]);
    Program::start_deaf("manager", command, folder)
}

/// Adds what was played to the report; whether it says nothing and is to be played again, if it may be.
fn add(report: &mut Report, played: Played, again: bool, told: &mut Told<'_>) -> Result<bool, String> {
    let Played { mut phase, real_time, stalls: (stalls, longest), lost, broken } = played;
    report.broken.extend(broken);
    if !real_time {
        phase.notes.push(
            "Real-time priority was not granted to all that is measured: other programs of this machine are in the latencies."
                .to_owned(),
        );
    }
    if stalls > 0 {
        let longest = text::milliseconds(longest);
        phase
            .notes
            .push(format!("The probes saw the machine stand still {stalls} times, {longest} ms at most."));
    }
    phase.notes.extend(lost.map(|lost| format!("Frames were lost: {lost}.")));
    beyond_the_plan(&mut phase, &report.topics);
    let repeated = again && phase.repeat(&report.topics);
    let shown = text::phase(report.phases.len() + 1, &phase, &report.topics);
    report.phases.push(phase);
    told(&shown)?;
    Ok(repeated)
}

/// Says where samples took longer than the plan's worst case, and yet perhaps not longer than promised: the model of the switch is too
/// good then.
fn beyond_the_plan(phase: &mut Phase, topics: &[Topic]) {
    if !phase.promised {
        return;
    }
    for row in &phase.rows {
        let Row::Measured { topic, judged, .. } = row else { continue };
        let Some(topic) = topics.get(*topic) else { continue };
        let Ok(planned) = topic.planned.as_ref().map(|planned| planned.cast_signed()) else { continue };
        let quiet = judged.points.iter().filter(|point| !point.disturbed);
        let above = quiet.filter(|point| point.latency > planned).count();
        if above > 0 {
            phase.notes.push(format!(
                "{above} of {} samples of {} took longer than the plan's worst case of {} ms: this machine was slower than the model says.",
                judged.sent,
                topic.name,
                text::milliseconds(planned)
            ));
        }
    }
}

fn up(text: &str, wishes: &Wishes<'_>) -> Result<Lab, String> {
    (wishes.progress)("building the network");
    let none = |_: &Path| Err("the experiment's network file names no other".to_owned());
    let network = Network::parse(FILE, text, none).map_err(|problem| problem.to_string())?;
    let name = format!("{LAB}{}", std::process::id());
    let options = Options {
        interrupted: Arc::clone(wishes.stopped),
        carrying: Carrying::Emulated,
        ..Options::default()
    };
    Lab::up_with(&network, &name, &options).map_err(|error| error.to_string())
}

/// Removes what experiments have left that were killed; names of their labs begin so.
pub(crate) fn clear(labs: &str) {
    Raised::restore_if_left();
    Folder::clear();
    for name in lab::names().unwrap_or_default() {
        let process = name.strip_prefix(labs).and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // The next lab that is built says what cannot be removed.
            let _ = lab::down(&name);
        }
    }
}

/// What became of the priorities of soft interrupts, in words.
pub(crate) fn interrupts(raised: &Result<Raised, String>) -> String {
    match raised {
        Ok(_) => "real-time priority during the experiment".to_owned(),
        Err(wrong) => format!("{wrong}: other programs delay the frames of the lab"),
    }
}

/// What became of processors that are to wait awake, in words.
pub(crate) fn awake(awake: &Result<Awake, String>) -> String {
    match awake {
        Ok(_) => "wait awake during the experiment".to_owned(),
        Err(wrong) => format!("{wrong}: they sleep, and waking takes its time"),
    }
}

/// The facts of the machine.
pub(crate) fn machine() -> Vec<(&'static str, String)> {
    let line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let processor = line("/proc/cpuinfo");
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")).map(|rest| {
        rest.trim_start_matches(|character: char| character.is_whitespace() || character == ':').to_owned()
    });
    let cores = thread::available_parallelism().map_or(1, usize::from);
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
