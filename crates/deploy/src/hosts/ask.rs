//! Commands that ask the execution manager.
use std::io::Write;
use std::path::Path;

use assembly::{Version, difference, steps};
use deployment::{Target, deployment_name, line};
use execution::{Answer, Bundle, Command, DeploymentStatus, HostStatus};
use keys::Identity;

use super::connection::{Reader, send, to_manager};
use super::{At, bundle, opened};
use crate::command::{BAD_NEWS, DONE, FAILED, Failure, WRONG, print, told_difference};
use crate::files::Loaded;
use crate::status::{meant, shown, suspended};

/// Asks a manager, and waits as long as that takes.
fn ask(at: &At, command: &Command) -> Result<Answer, Failure> {
    let Some((address, folder, operator)) = at.manager() else {
        return Err((WRONG, "no manager is named: add --manager HOST".to_owned()));
    };
    let (identity, _) =
        Identity::of_operator(folder, operator).map_err(|error| (WRONG, format!("--keys: {error}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| (FAILED, error.to_string()))?;
    let answered = runtime.block_on(async {
        let stream = to_manager(address, &identity).await?;
        let (from, mut to) = tokio::io::split(stream);
        send(&mut to, command).await.map_err(|error| format!("{address}: {error}"))?;
        match Reader::new(from).next::<Answer>().await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(format!(
                "{address}: the manager has ended before it answered: punctual deploy status --manager says what holds"
            )),
            Err(what) => Err(format!("{address}: {what}")),
        }
    });
    answered.map_err(|what: String| (FAILED, format!("the execution manager at {what}")))
}

fn strange() -> Failure {
    (FAILED, "the execution manager answered something else: both ends have to be of one version".to_owned())
}

fn decided(at: &At, command: &Command, done: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    match ask(at, command)? {
        Answer::Refused { what } => Err((BAD_NEWS, what)),
        Answer::Done { notes } => {
            for note in notes {
                print(out, format_args!("note: {note}\n"))?;
            }
            print(out, format_args!("{done}\n"))?;
            Ok(DONE)
        }
        Answer::Status { .. } | Answer::Plan { .. } => Err(strange()),
    }
}

/// Launches a plan on all of its hosts.
pub(crate) fn launch(at: &At, plan: &Path, unproved: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let loaded = Loaded::sound(plan)?;
    let done = format!("launched {}", deployment_name(&loaded.plan));
    decided(at, &Command::Launch(bundle(&loaded, plan, unproved)?), &done, out)
}

/// Goes on to another plan on all hosts.
pub(crate) fn apply(at: &At, plan: &Path, unproved: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let loaded = Loaded::sound(plan)?;
    let done = format!("applied {}", deployment_name(&loaded.plan));
    decided(at, &Command::Apply(bundle(&loaded, plan, unproved)?), &done, out)
}

/// Goes on to another mode on all hosts: to the same plan, which begins in it.
pub(crate) fn mode(at: &At, of: &str, name: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    change_held(at, of, |held| held.in_mode(name), &format!("in mode {name}:"), out)
}

/// Suspends a connection on all hosts, or resumes it: goes on to the same plan, which says so.
pub(crate) fn suspend(
    at: &At,
    of: &str,
    connection: &str,
    is_suspended: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let done = suspended(connection, is_suspended);
    change_held(at, of, |held| held.with_connection(connection, is_suspended), &done, out)
}

/// Goes on to what is made of the plan that holds.
fn change_held(
    at: &At,
    of: &str,
    make: impl FnOnce(&Target) -> Result<Target, String>,
    done: &str,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let deployment = meant(of)?;
    let held = match ask(at, &Command::Read { deployment: deployment.clone() })? {
        Answer::Plan { bundle, .. } => bundle,
        Answer::Refused { what } => return Err((BAD_NEWS, what)),
        Answer::Done { .. } | Answer::Status { .. } => return Err(strange()),
    };
    let loaded = opened(&held)?;
    let (plan, types) = (loaded.plan.clone(), loaded.types.clone());
    let target = make(&Target { plan, types, ..Target::default() }).map_err(|what| (BAD_NEWS, what))?;
    let next = Bundle { plan: target.plan.to_toml(), ..held };
    decided(at, &Command::Apply(next), &format!("{done} {deployment}"), out)
}

/// Ends a deployment on all hosts.
pub(crate) fn stop(at: &At, of: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    let deployment = meant(of)?;
    let done = format!("stopped {deployment}");
    decided(at, &Command::Stop { deployment }, &done, out)
}

/// What a plan differs in from the one of its deployment that holds.
pub(crate) fn diff(at: &At, next: &Path, out: &mut dyn Write) -> Result<u8, Failure> {
    let next = Loaded::sound(next)?;
    let command = Command::Read { deployment: deployment_name(&next.plan) };
    let old = match ask(at, &command)? {
        Answer::Plan { bundle, .. } => opened(&bundle)?,
        Answer::Refused { what } => return Err((BAD_NEWS, what)),
        Answer::Done { .. } | Answer::Status { .. } => return Err(strange()),
    };
    let [old, next] = [&old, &next].map(|loaded| Version::new(&loaded.plan, &loaded.types));
    told_difference(&difference(old, next), &steps(old, next), out)
}

/// Deployments on their hosts; and the hosts that are known, and whether they are there.
type States = (Vec<DeploymentStatus>, Vec<(String, bool)>);

/// The state of a deployment, or of all, on all hosts.
pub(crate) fn state(at: &At, deployment: Option<String>) -> Result<States, Failure> {
    match ask(at, &Command::Status { deployment })? {
        Answer::Status { deployments, hosts } => Ok((deployments, hosts)),
        Answer::Refused { what } => Err((BAD_NEWS, what)),
        Answer::Done { .. } | Answer::Plan { .. } => Err(strange()),
    }
}

/// Prints the state of a deployment, or of all, on all hosts.
pub(crate) fn status(
    at: &At,
    of: Option<&str>,
    json: bool,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    let (deployments, hosts) = state(at, of.map(meant).transpose()?)?;
    let mut is_bad = deployments.is_empty();
    if json {
        for deployment in &deployments {
            is_bad |= !is_whole(deployment);
            let text = line(deployment).map_err(|error| (FAILED, error.to_string()))?;
            print(out, format_args!("{text}"))?;
        }
        return Ok(if is_bad { BAD_NEWS } else { DONE });
    }
    for (host, is_there) in &hosts {
        let state = if *is_there { "there" } else { "away" };
        print(out, format_args!("host {host}: {state}\n"))?;
    }
    if hosts.is_empty() {
        print(told, format_args!("no host is there: punctual deploy node on each host connects it\n"))?;
    }
    if deployments.is_empty() {
        print(told, format_args!("no deployment runs: punctual deploy launch PLAN --manager starts one\n"))?;
    }
    for deployment in &deployments {
        is_bad |= !is_whole(deployment);
        let mode = deployment.hosts.iter().find_map(|host| host.status.as_ref()?.mode.as_ref());
        let mode = mode.map_or(String::new(), |mode| format!(", mode {mode}"));
        let epoch = deployment.epoch.map_or_else(|| "none".to_owned(), |epoch| epoch.to_string());
        print(
            out,
            format_args!("deployment {} ({}), epoch {epoch}{mode}\n", deployment.deployment, deployment.file),
        )?;
        if let Some(text) = &deployment.under_way {
            print(out, format_args!("  under way: {text}\n"))?;
        }
        for host in &deployment.hosts {
            on_host(host, deployment, out)?;
        }
    }
    Ok(if is_bad { BAD_NEWS } else { DONE })
}

/// Whether all processes of a deployment run, as the epoch that holds says.
fn is_whole(deployment: &DeploymentStatus) -> bool {
    let runs = |host: &HostStatus| {
        let processes = host.status.iter().flat_map(|status| &status.processes);
        host.is_there
            && host.runs == deployment.epoch
            && host.status.is_some()
            && processes.into_iter().all(|process| process.state == "running")
    };
    deployment.under_way.is_none() && deployment.hosts.iter().all(runs)
}

fn on_host(host: &HostStatus, of: &DeploymentStatus, out: &mut dyn Write) -> Result<(), Failure> {
    let runs = match host.runs {
        _ if !host.is_there => "away; what runs there goes on".to_owned(),
        Some(epoch) if Some(epoch) == of.epoch => "has followed".to_owned(),
        Some(epoch) => format!("has {epoch} still"),
        None => "has nothing of it yet".to_owned(),
    };
    print(out, format_args!("  host {}: {runs}\n", host.host))?;
    if let Some(trouble) = &host.trouble {
        print(out, format_args!("    {trouble}\n"))?;
    }
    match &host.status {
        Some(status) => shown(status, out),
        None => Ok(()),
    }
}
