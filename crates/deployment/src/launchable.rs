//! Parts of a plan that a launch does not carry out, and whether the plan can be launched all the same.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use assembly::{ArtefactKind, Catalogue, Places, Plan};
use diagnostics::{Problem, Source};

use crate::deadline::overfull_cores;
use crate::foreign::{far_dependencies, foreign_troubles, is_foreign};
use crate::part::Part;

/// The longest name of a deployment, in bytes.
const LONGEST_NAME: usize = 64;

/// A part of a plan that a launch cannot carry out, or not as the plan says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Where the plan says it.
    pub path: String,
    /// What cannot be launched, and why.
    pub what: String,
    /// What to change.
    pub remedy: String,
    /// Whether the plan can be launched all the same.
    pub is_warning: bool,
}

impl Trouble {
    pub(crate) fn wrong(path: String, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { path, what: what.into(), remedy: remedy.into(), is_warning: false }
    }

    pub(crate) fn warning(path: String, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::wrong(path, what, remedy) }
    }
}

/// The name of the deployment that a plan is of: its id, or else its name, with letters, digits, `-` and `_` only. It is in the names of
/// its topics and of its socket.
pub fn deployment_name(plan: &Plan) -> String {
    plain_name(plan.id.as_deref().or(plan.name.as_deref()).unwrap_or("plan"))
}

/// The name of the deployment that a plan with this id is of.
pub fn plain_name(said: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let plain: String = said.chars().take(LONGEST_NAME).map(|c| if is_plain(c) { c } else { '_' }).collect();
    if plain.is_empty() { "plan".into() } else { plain }
}

/// Parts of a plan that a launch with these processes does not carry out: first those that forbid a launch, then warnings.
pub fn launchable(
    plan: &Plan,
    source: Source<'_>,
    places: &Places,
    types: &Catalogue,
    processes: &[&str],
) -> (Vec<Problem>, Vec<Problem>) {
    let mut troubles = Vec::new();
    for process in processes {
        let of_part = if is_foreign(plan, process) {
            foreign_troubles(plan, process)
        } else {
            Part::of(plan, process, types).1
        };
        let of_process = far_dependencies(plan, process).into_iter().chain(executed(plan, process));
        for trouble in of_part.into_iter().chain(of_process) {
            if !troubles.contains(&trouble) {
                troubles.push(trouble);
            }
        }
    }
    troubles.extend(overfull_cores(plan, processes));
    let mut lists = (Vec::new(), Vec::new());
    for trouble in troubles {
        let problem = source.problem(places.at(&trouble.path), trouble.what, trouble.remedy);
        if trouble.is_warning { lists.1.push(problem) } else { lists.0.push(problem) }
    }
    lists.0.sort_by_key(|problem| problem.place);
    lists.1.sort_by_key(|problem| problem.place);
    lists
}

/// Whether there is something that the process can execute.
fn executed(plan: &Plan, process: &str) -> Option<Trouble> {
    let path = format!("process.{process}");
    let Some(name) = plan.processes.get(process).and_then(|process| process.artefact.as_ref()) else {
        let remedy = format!(
            "add [process.{process}] with artefact = \"NAME\", and [artefact.NAME] with its location"
        );
        return Some(Trouble::wrong(
            path,
            format!("nothing says what the process \"{process}\" executes"),
            remedy,
        ));
    };
    let artefact = plan.artefacts.get(name)?;
    let path = format!("artefact.{name}");
    if artefact.kind == ArtefactKind::Library {
        let remedy = "name a component server (executable) or any other program (foreign)";
        return Some(Trouble::wrong(path, format!("\"{name}\" is a library, and no program"), remedy));
    }
    let is_local = artefact.location.iter().any(|location| !location.contains("://"));
    let remedy = "add a path of this host to its location";
    (!is_local).then(|| Trouble::wrong(path, format!("\"{name}\" is nowhere on this host"), remedy))
}
