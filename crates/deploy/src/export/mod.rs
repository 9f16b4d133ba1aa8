//! `punctual deploy export`: the processes of a plan as files of another manager, which starts them and starts them again.
mod folder;
mod kubernetes;
mod names;
mod notes;
mod systemd;

use std::io::Write;
use std::path::PathBuf;

use assembly::{Plan, RestartPolicy, SchedulingClass};
use clap::{Args, ValueEnum};
use deployment::{RESTART, deployment_name, is_foreign, start_order};

use crate::children::sha256;
use crate::command::{BAD_NEWS, DONE, Failure, WRONG, print};
use crate::files::Loaded;
use crate::target::{absolute, chosen, opened, processes};
use folder::Written;

/// Who starts the processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Manager {
    /// Units for the systemd of this host
    Systemd,
    /// Manifests for a cluster
    Kubernetes,
}

/// Command line of the export.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy export tracker.toml --to systemd -o units\n  \
    punctual deploy export tracker.toml --to kubernetes --image registry/tracker:1 -o manifests\n\n\
    Exit code: 0 all files are written; 1 the plan is refused, or a file is in the way; 2 wrong command line; 3 a file cannot be read or written.\n\
    See docs/deploy-plan.md, \"Exporting a plan\".")]
pub(crate) struct ExportArguments {
    /// The plan (TOML or JSON)
    plan: PathBuf,
    /// Who starts the processes
    #[arg(long, value_enum)]
    to: Manager,
    /// The folder that gets the files
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Exports what is on this host of the plan; with kubernetes all hosts if not given
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Exports also plans with chains that are refused or have no bound; the processes then go on without what the system does not grant
    #[arg(long)]
    unproved: bool,
    /// systemd: the user that the processes run as; root if not given
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// kubernetes: the container image that has the programs of the plan
    #[arg(long, value_name = "NAME", required_if_eq("to", "kubernetes"))]
    image: Option<String>,
    /// kubernetes: the folder of the image in which programs are whose location is a relative path [default: /usr/local/bin]
    #[arg(long, value_name = "FOLDER")]
    programs: Option<String>,
    /// kubernetes: processor time that is requested for each process [default: 100m]
    #[arg(long, value_name = "QUANTITY")]
    cpu: Option<String>,
    /// kubernetes: memory that is requested for each process [default: 64Mi]
    #[arg(long, value_name = "QUANTITY")]
    memory: Option<String>,
}

/// A plan on its way into files.
struct Exported<'l> {
    loaded: &'l Loaded,
    /// The name of the deployment: letters, digits, `-` and `_`.
    deployment: String,
    /// The processes that are exported, in the order in which they start best.
    processes: Vec<String>,
    /// The plan as component servers read it.
    text: String,
    /// The first 16 hexadecimal digits of the SHA-256 of `text`.
    version: String,
    /// Whether the processes go on where the system does not grant what the proof rests on.
    unproved: bool,
}

/// A file in the making.
struct Made {
    name: String,
    text: String,
}

impl Exported<'_> {
    fn plan(&self) -> &Plan {
        &self.loaded.plan
    }

    /// The first argument of a process: what it is to do, by which plan. A foreign program gets none.
    fn order(&self, process: &str, plan: &str) -> Option<String> {
        let option = if self.unproved { "--serve-unproved" } else { "--serve" };
        (!is_foreign(self.plan(), process)).then(|| format!("{option}={process}@{plan}"))
    }

    /// The exported processes that a process depends on.
    fn dependencies<'e>(&'e self, process: &'e str) -> impl Iterator<Item = &'e String> {
        let said = self.plan().dependencies(process).iter();
        said.filter(|other| self.processes.contains(*other))
    }

    /// The highest real-time priority of the lanes of a process, if one has any.
    fn priority(&self, process: &str) -> Option<u8> {
        let own = self.plan().containers.values().filter(|container| container.process == process);
        own.flat_map(|container| container.lanes.values()).filter_map(|lane| lane.priority).max()
    }

    /// Whether a process has threads of the class deadline.
    fn has_deadline(&self, process: &str) -> bool {
        let mut own = self.plan().containers.values().filter(|container| container.process == process);
        own.any(|container| container.lanes.values().any(|lane| lane.class == SchedulingClass::Deadline))
    }

    /// Whether the memory of a process is locked.
    fn locks_memory(&self, process: &str) -> bool {
        self.plan().processes.get(process).is_some_and(|process| process.locks_memory)
    }

    /// When a process is started again.
    fn restart_policy(&self, process: &str) -> RestartPolicy {
        let said = self.plan().processes.get(process).and_then(|process| process.restart.as_ref());
        said.unwrap_or(&RESTART).policy
    }
}

pub(crate) fn run(
    arguments: &ExportArguments,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    refuse_foreign_options(arguments)?;
    let loaded = opened(&arguments.plan, arguments.unproved, "export")?;
    let host = match arguments.to {
        Manager::Kubernetes if arguments.host.is_none() => None,
        _ => chosen(&loaded, arguments.host.as_deref())?,
    };
    let here = processes(&loaded, host.as_deref(), told)?;
    refuse_groups(&loaded, &here)?;
    let mut order = start_order(&loaded.plan, &loaded.types);
    order.retain(|process| here.contains(process));
    let text = loaded.plan.to_toml();
    let exported = Exported {
        loaded: &loaded,
        deployment: deployment_name(&loaded.plan),
        processes: order,
        version: hexadecimal(&text, 16),
        text,
        unproved: arguments.unproved,
    };
    let (files, notes, next) = match arguments.to {
        Manager::Systemd => {
            let file = absolute(&arguments.plan)?;
            let output = folder::made(&arguments.output)?;
            systemd::export(&exported, &file, &output, arguments.user.as_deref())?
        }
        Manager::Kubernetes => kubernetes::export(&exported, arguments)?,
    };
    let Written { files, left } = folder::write(&arguments.output, &exported.deployment, &files)?;
    for file in files {
        print(out, format_args!("written: {}\n", file.display()))?;
    }
    for file in left {
        print(out, format_args!("left from an earlier export: {}\n", file.display()))?;
    }
    for note in notes {
        print(out, format_args!("not kept: {note}\n"))?;
    }
    print(out, format_args!("next: {next}\n"))?;
    Ok(DONE)
}

/// What [`systemd::export`] and [`kubernetes::export`] make: files, what they do not keep of the plan, and what to do with them.
type Export = (Vec<Made>, Vec<String>, String);

/// An option of one manager is a mistake for the other one.
fn refuse_foreign_options(arguments: &ExportArguments) -> Result<(), Failure> {
    let ExportArguments { to, user, image, programs, cpu, memory, .. } = arguments;
    let (manager, options) = match to {
        Manager::Systemd => {
            let options =
                [("--image", image), ("--programs", programs), ("--cpu", cpu), ("--memory", memory)];
            ("kubernetes", options.to_vec())
        }
        Manager::Kubernetes => ("systemd", vec![("--user", user)]),
    };
    match options.iter().find(|(_, value)| value.is_some()) {
        Some((option, _)) => Err((WRONG, format!("{option} is for --to {manager}\n  leave it out"))),
        None => Ok(()),
    }
}

/// The first hexadecimal digits of the SHA-256 of a text.
fn hexadecimal(text: &str, digits: usize) -> String {
    sha256(text.as_bytes()).chars().take(digits).collect()
}

/// Other managers put processes into control groups of their own.
fn refuse_groups(loaded: &Loaded, processes: &[String]) -> Result<(), Failure> {
    let has_group = |name: &&String| loaded.plan.processes.get(*name).is_some_and(|it| it.cgroup.is_some());
    processes.iter().find(has_group).map_or(Ok(()), |name| {
        let what = format!(
            "process.{name}.cgroup: the manager of the processes puts each into a control group of its own"
        );
        Err(refused(what, "take it out, and say there what the group is to be"))
    })
}

/// What of a plan the files of another manager cannot say.
fn refused(what: impl std::fmt::Display, remedy: &str) -> Failure {
    (BAD_NEWS, format!("{what}\n  {remedy}"))
}
