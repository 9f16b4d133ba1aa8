//! A plan that is to be started, by a launch or by another manager: sound, proved, and carried out as it is written.
use std::collections::btree_map::Entry;
use std::io::Write;
use std::path::{Path, PathBuf};

use assembly::Named;
use deployment::{Target, launchable};

use crate::admit;
use crate::children::{executable, sha256_of};
use crate::command::{BAD_NEWS, FAILED, Failure, WRONG, print};
use crate::control_groups;
use crate::files::Loaded;
use crate::shown;
use crate::signatures::Signers;
use crate::transfers;

/// A plan that makes sense, with the transfers that its network file gives.
///
/// # Errors
/// A file cannot be read, or what is wrong with the plan; unless nothing has to be proved, what is wrong with the network file.
fn sound(plan: &Path, unproved: bool) -> Result<(Loaded, Vec<transfers::Shares>), Failure> {
    let loaded = Loaded::sound(plan)?;
    let computed = transfers::compute(std::slice::from_ref(&loaded));
    // Without a proof, what can be computed is shown beside what is measured.
    let shares = if unproved { computed.unwrap_or_default() } else { computed? };
    Ok((loaded, shares))
}

/// The same of a plan whose chains and connections are proved to keep their limits by themselves, unless that is not asked for. `verb` is the
/// command that opens it.
///
/// # Errors
/// Those of [`sound`], or the verdicts on what is not proved.
pub(crate) fn opened(plan: &Path, unproved: bool, verb: &str) -> Result<Loaded, Failure> {
    let (loaded, shares) = sound(plan, unproved)?;
    if !unproved {
        admit::demand(&loaded, &loaded.plan, &[], verb)?;
        transfers::demand(&loaded, 0, &shares)?;
    }
    Ok(loaded)
}

/// The host that is meant: what is said, or the only one that the plan has.
///
/// # Errors
/// The plan has no such host, or several.
pub(crate) fn chosen(loaded: &Loaded, host: Option<&str>) -> Result<Option<String>, Failure> {
    let parts = loaded.plan.split(&loaded.types);
    let names: Vec<&String> = parts.iter().filter_map(|part| part.host.as_ref()).collect();
    match host {
        Some(host) if names.iter().any(|name| *name == host) => Ok(Some(host.to_owned())),
        Some(host) => Err((WRONG, shown::no_such("host", host, names))),
        None if names.len() > 1 => {
            let all: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            let what = format!(
                "the plan has processes on {}: say which host this is, by --host NAME",
                all.join(", ")
            );
            Err((WRONG, what))
        }
        None => Ok(names.first().map(|name| (*name).clone())),
    }
}

/// The processes of a host, or of all hosts, all of which can be started. What the plan says in vain is told.
///
/// # Errors
/// There are none, or what of the plan nothing carries out.
pub(crate) fn processes(
    loaded: &Loaded,
    host: Option<&str>,
    told: &mut dyn Write,
) -> Result<Vec<String>, Failure> {
    let parts = loaded.plan.split(&loaded.types);
    let here =
        parts.iter().filter(|part| host.is_none() || part.host.is_none() || part.host.as_deref() == host);
    let processes: Vec<&str> =
        here.flat_map(|part| &part.processes).map(|process| process.name.as_str()).collect();
    if processes.is_empty() {
        return Err((WRONG, "the plan has no processes here: there is nothing to launch".to_owned()));
    }
    let (wrong, warnings) =
        launchable(&loaded.plan, loaded.source(), &loaded.places, &loaded.types, &processes);
    if !wrong.is_empty() {
        return Err((BAD_NEWS, loaded.show(&wrong)));
    }
    for warning in warnings {
        print(told, format_args!("note: {}\n", loaded.source().show(&warning)))?;
    }
    Ok(processes.into_iter().map(str::to_owned).collect())
}

/// The absolute path of a plan's file.
///
/// # Errors
/// It is not there.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(path).map_err(|error| (FAILED, format!("{}: {error}", path.display())))
}

/// The file that a process executes, on this host. `file` is that of the plan.
///
/// # Errors
/// It is not there, has another digest than the plan says, or none of the signers has signed it.
pub(crate) fn program(
    loaded: &Loaded,
    file: &Path,
    process: &str,
    signers: Option<&Signers>,
) -> Result<PathBuf, Failure> {
    let artefact = loaded.plan.processes.get(process).and_then(|process| process.artefact.as_ref());
    let artefact = artefact.and_then(|name| loaded.plan.artefacts.get_key_value(name));
    let (name, artefact) = artefact
        .ok_or_else(|| (BAD_NEWS, format!("nothing says what the process \"{process}\" executes")))?;
    executable(file, name, artefact, signers).map_err(|what| (BAD_NEWS, what))
}

/// Whether a process can be put into its control group on this host, if it has one.
///
/// # Errors
/// Why not.
pub(crate) fn group(loaded: &Loaded, process: &str) -> Result<(), Failure> {
    let said = loaded.plan.processes.get(process).and_then(|process| process.cgroup.as_ref());
    said.map_or(Ok(()), |group| control_groups::check(group))
        .map_err(|what| (BAD_NEWS, format!("process {process}: {what}")))
}

/// A plan that can be launched on this host. What it says in vain is told.
///
/// # Errors
/// Those of [`processes`], [`absolute`] and [`program`]: nothing is started if something is not there.
pub(crate) fn target(
    loaded: &Loaded,
    path: &Path,
    host: Option<&str>,
    told: &mut dyn Write,
) -> Result<Target, Failure> {
    let processes = processes(loaded, host, told)?;
    let computed = loaded.computed();
    if computed > 0 {
        let what = "count with flows that the manager of the network has to admit";
        let remedy = "punctual deploy admit --export-flows FILE writes them for punctual grm";
        print(told, format_args!("note: computed transfers: {computed}; they {what}; {remedy}\n"))?;
    }
    let file = absolute(path)?;
    let mut programs = Named::new();
    for process in &processes {
        group(loaded, process)?;
        let artefact = loaded.plan.processes.get(process).and_then(|process| process.artefact.clone());
        let artefact = artefact.unwrap_or_default();
        // Many processes execute one program: it is read once.
        if let Entry::Vacant(unread) = programs.entry(artefact) {
            let program = program(loaded, &file, process, None)?;
            let digest = sha256_of(&program);
            let digest = digest.map_err(|error| (FAILED, format!("{}: {error}", program.display())))?;
            // As it is read now: a program that is built anew has another one.
            unread.insert(digest);
        }
    }
    Ok(Target {
        plan: loaded.plan.clone(),
        types: loaded.types.clone(),
        file: file.to_string_lossy().into_owned(),
        proofs: admit::proofs(loaded),
        programs,
    })
}
