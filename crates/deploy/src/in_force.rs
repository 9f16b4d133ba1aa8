//! Plans that hold on this host: what each was launched with is kept beside its control socket, with its network file, so that the chains of all
//! of them are proved together, and the flows of those that have one network.
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use assembly::Plan;
use deployment::PlanStatus;
use execution::Bundle;
use schedulability::Deployed;
use serde::{Deserialize, Serialize};

use crate::admit::{self, Other};
use crate::command::{BAD_NEWS, FAILED, Failure};
use crate::control;
use crate::files::{Loaded, read};
use crate::hosts;
use crate::together::Together;
use crate::transfers;

/// How long a command waits for another one that launches; processes may take their time to start.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// What is kept of a plan.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// Which host of the plan this one is.
    host: Option<String>,
    /// As it was launched: its files may be others by now.
    bundle: Bundle,
}

/// A plan that holds on this host.
pub(crate) struct InForce {
    pub(crate) deployment: String,
    host: Option<String>,
    pub(crate) unproved: bool,
    loaded: Loaded,
}

/// While it is there, no other command changes what holds on this host.
pub(crate) struct Change {
    _lock: File,
}

impl Change {
    /// Waits until nothing else is under way, but not for long.
    ///
    /// # Errors
    /// Something is still under way.
    pub(crate) fn begin() -> Result<Self, Failure> {
        let limit = Instant::now() + PATIENCE;
        loop {
            match Self::try_begin() {
                Err((BAD_NEWS, _)) if Instant::now() < limit => std::thread::sleep(PAUSE),
                done => return done,
            }
        }
    }

    /// The same without waiting, for a supervisor at work.
    ///
    /// # Errors
    /// Something is under way.
    pub(crate) fn try_begin() -> Result<Self, Failure> {
        let path = control::folder()?.join("changes.lock");
        let failed = |error: io::Error| (FAILED, format!("{}: {error}", path.display()));
        let lock = File::create(&path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let what = "another plan is being launched or changed on this host: try again";
                Err((BAD_NEWS, what.to_owned()))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

fn place(deployment: &str) -> Result<PathBuf, Failure> {
    Ok(control::folder()?.join(format!("{deployment}.plan")))
}

/// Keeps what a deployment holds from now on.
///
/// # Errors
/// It cannot be written.
pub(crate) fn keep(
    deployment: &str,
    loaded: &Loaded,
    host: Option<&str>,
    unproved: bool,
) -> Result<(), Failure> {
    let path = place(deployment)?;
    let failed = |error: &dyn std::fmt::Display| (FAILED, format!("{}: {error}", path.display()));
    let kept = Kept {
        host: host.map(str::to_owned),
        bundle: hosts::bundle(loaded, Path::new(loaded.source().file), unproved)?,
    };
    let text = serde_json::to_string(&kept).map_err(|error| failed(&error))?;
    let new = path.with_extension("plan-new");
    std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).map_err(|error| failed(&error))
}

/// The deployment holds nothing any more.
pub(crate) fn forget(deployment: &str) {
    if let Ok(path) = place(deployment) {
        let _ = std::fs::remove_file(path);
    }
}

/// Whether a supervisor holds the lock beside its socket: what one that was killed has left counts for nothing.
fn is_alive(deployment: &str, folder: &Path) -> bool {
    let lock = File::open(folder.join(format!("{deployment}.lock")));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The files of plans that hold, with the time of their last change, in the order of their names.
fn files() -> Result<Vec<(PathBuf, SystemTime)>, Failure> {
    let folder = control::folder()?;
    let entries =
        std::fs::read_dir(&folder).map_err(|error| (FAILED, format!("{}: {error}", folder.display())))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_plan = path.extension().is_some_and(|extension| extension == "plan");
            let changed = path.metadata().and_then(|about| about.modified()).ok()?;
            (is_plan && is_alive(&path.file_stem()?.to_string_lossy(), &folder)).then_some((path, changed))
        })
        .collect();
    files.sort();
    Ok(files)
}

/// What holds on this host.
///
/// # Errors
/// A file of it cannot be read.
pub(crate) fn all() -> Result<Vec<InForce>, Failure> {
    let files = files()?;
    let mut all = Vec::new();
    for (path, _) in files {
        let deployment = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |what: String| (FAILED, format!("{}: {what}", path.display()));
        let text = match read(&path) {
            // It has ended meanwhile.
            Err(_) if !path.exists() => continue,
            read => read?,
        };
        let Kept { host, bundle } = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let loaded = hosts::opened(&bundle).map_err(|(_, what)| failed(what))?;
        all.push(InForce { deployment, host, unproved: bundle.is_unproved, loaded });
    }
    Ok(all)
}

/// The plan as one about this host, which other plans may call otherwise; its other hosts are none of theirs.
fn renamed(plan: &Plan, here: Option<&str>, name: &str, deployment: &str) -> Plan {
    let mut plan = plan.clone();
    let new = |old: &str| if Some(old) == here { name.to_owned() } else { format!("{old} of {deployment}") };
    plan.hosts = plan.hosts.into_iter().map(|(old, host)| (new(&old), host)).collect();
    let of_processes = plan.processes.values_mut().map(|process| &mut process.host);
    let of_components = plan.components.values_mut().map(|component| &mut component.host);
    for host in of_processes.chain(of_components).flatten() {
        *host = new(host);
    }
    plan
}

/// The name of this host while plans are compared.
const HERE: &str = "this host";

/// Nothing if all chains of a plan, which are proved if it is alone, keep their limits beside what holds on this host, and the chains of that do
/// with it, as far as they were proved.
///
/// # Errors
/// The verdicts on those that do not.
pub(crate) fn demand(loaded: &Loaded, host: Option<&str>, own: &str, verb: &str) -> Result<(), Failure> {
    let own_plan = loaded.plan.clone();
    let others: Vec<InForce> = all()?.into_iter().filter(|other| other.deployment != own).collect();
    if others.is_empty() {
        return Ok(());
    }
    let of_others =
        others.iter().map(|other| (&other.loaded, other.host.as_deref(), other.deployment.as_str()));
    let (mut all, shares) = computed(&of_others.chain([(loaded, host, own)]).collect::<Vec<_>>())?;
    let Some(loaded) = all.pop() else { return Ok(()) };
    let plans: Vec<Plan> = others
        .iter()
        .map(|other| renamed(&other.loaded.plan, other.host.as_deref(), HERE, &other.deployment))
        .collect();
    let others: Vec<Other<'_>> = others
        .iter()
        .zip(&all)
        .zip(&plans)
        .map(|((other, computed), plan)| Other {
            name: &other.deployment,
            is_proved: !other.unproved,
            deployed: Deployed { plan, ..computed.deployed() },
        })
        .collect();
    admit::demand(&loaded, &renamed(&own_plan, host, HERE, own), &others, verb)?;
    transfers::demand(&loaded, others.len(), &shares)
}

/// Plans that run on this host at the same time, each with its name for the host and its deployment: with the transfers that their networks give
/// all of them together.
///
/// # Errors
/// What of them does not fit together.
fn computed(all: &[(&Loaded, Option<&str>, &str)]) -> Result<(Vec<Loaded>, Vec<transfers::Shares>), Failure> {
    // Hosts of a network have its names. A plan without one may call this host as it likes, and what it does here makes events late all the same.
    let mut of_networks = all.iter().filter(|(loaded, ..)| loaded.plan.network.is_some());
    let first = of_networks.next();
    if let (Some((_, Some(one), of)), Some((loaded, Some(other), _))) =
        (first, of_networks.find(|(_, host, _)| first.is_some_and(|(_, first, _)| first != host)))
    {
        let what = format!(
            "this host is \"{other}\" here, and \"{one}\" in the plan of {of}, which runs on it, too"
        );
        return Err(loaded.wrong(
            "network",
            what,
            "give it one name in the network file that all plans of this host name",
        ));
    }
    let here = first.and_then(|(_, host, _)| *host).unwrap_or(HERE);
    let with_names = |(loaded, host, deployment): &(&Loaded, Option<&str>, &str)| match loaded.plan.network {
        Some(_) => loaded.with_plan(loaded.plan.clone()),
        None => loaded.with_plan(renamed(&loaded.plan, *host, here, deployment)),
    };
    let all: Vec<Loaded> = all.iter().map(with_names).collect();
    let shares = transfers::compute(&all)?;
    Ok((all, shares))
}

/// Chains of all plans that hold on this host, proved together, as their statuses tell them.
#[derive(Default, Debug)]
pub(crate) struct Proofs {
    of: Vec<(PathBuf, SystemTime)>,
    proofs: Together,
}

impl Proofs {
    /// Looks for changes, and proves anew if there are any. What cannot be read or proved is proved no more.
    pub(crate) fn refresh(&mut self) {
        let files = files().unwrap_or_default();
        if files == self.of {
            return;
        }
        let all = all().unwrap_or_default();
        let named: Vec<_> =
            all.iter().map(|it| (&it.loaded, it.host.as_deref(), it.deployment.as_str())).collect();
        // What does not fit together has no transfers, and no bound.
        let computed = computed(&named).map(|(computed, _)| computed).unwrap_or_default();
        let plans: Vec<Plan> =
            all.iter().map(|it| renamed(&it.loaded.plan, it.host.as_deref(), HERE, &it.deployment)).collect();
        let deployed: Vec<Deployed<'_>> = all
            .iter()
            .enumerate()
            .zip(&plans)
            .map(|((index, it), plan)| Deployed {
                plan,
                ..computed.get(index).unwrap_or(&it.loaded).deployed()
            })
            .collect();
        self.proofs = Together::of(all.iter().map(|it| it.deployment.clone()), &deployed);
        self.of = files;
    }

    /// Puts what is proved of the chains into a status.
    pub(crate) fn put(&self, status: &mut PlanStatus) {
        let deployment = status.deployment.clone();
        self.proofs.put(&deployment, status);
    }
}
