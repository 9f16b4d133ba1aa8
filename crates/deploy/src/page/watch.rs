//! Asks the supervisors of this host, or an execution manager, what runs, again and again, as long as a page is open.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deployment::{Control, ControlAnswer, PlanStatus};
use page_server::{event, lock};
use serde::Serialize;
use tokio::time::{Instant, MissedTickBehavior};

use super::routes::App;
use crate::command::Failure;
use crate::control;
use crate::hosts::{self, At};
use crate::in_force::Proofs;

/// The time between two questions.
const BETWEEN: Duration = Duration::from_secs(1);

/// What is asked for, and who is asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The deployment; `None` for all.
    pub(super) of: Option<String>,
    /// The execution manager; without one the supervisors of this host.
    pub(super) at: At,
    /// What is proved of the chains of this host.
    pub(super) proofs: Arc<Mutex<Proofs>>,
}

/// What runs.
#[derive(Clone, Default, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Seen {
    /// When it was asked, in milliseconds since 1970 (UTC).
    time: u64,
    /// The deployments that have answered, on each host.
    deployments: Vec<Shown>,
    /// Why a deployment or host has not answered, or could not be asked.
    silent: Vec<String>,
}

/// A deployment on a host.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Shown {
    /// The host, if an execution manager was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(flatten)]
    status: PlanStatus,
}

impl Asked {
    /// Asks once.
    fn look(&self) -> Seen {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut seen = Seen { time: u64::try_from(since.as_millis()).unwrap_or(u64::MAX), ..Seen::default() };
        let looked = match self.at.manager() {
            Some(_) => self.of_manager(&mut seen),
            None => self.of_this_host(&mut seen),
        };
        if let Err((_, what)) = looked {
            seen.silent.push(what);
        }
        seen
    }

    fn of_this_host(&self, seen: &mut Seen) -> Result<(), Failure> {
        let all = match &self.of {
            Some(of) => vec![of.clone()],
            None => control::deployments()?,
        };
        let mut proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        proofs.refresh();
        for deployment in &all {
            match control::ask(deployment, &Control::Status) {
                Ok(ControlAnswer::Status(mut status)) => {
                    proofs.put(&mut status);
                    seen.deployments.push(Shown { host: None, status });
                }
                Ok(ControlAnswer::Refused { what }) | Err((_, what)) => seen.silent.push(what),
                Ok(ControlAnswer::Done { .. }) => {}
            }
        }
        Ok(())
    }

    fn of_manager(&self, seen: &mut Seen) -> Result<(), Failure> {
        let (deployments, hosts) = hosts::state(&self.at, self.of.clone())?;
        for (host, _) in hosts.iter().filter(|(_, is_there)| !is_there) {
            seen.silent.push(format!("host {host} is away; what runs there goes on"));
        }
        for deployment in deployments {
            let of = &deployment.deployment;
            for host in deployment.hosts {
                seen.silent.extend(host.trouble.map(|what| format!("{of} on host {}: {what}", host.host)));
                match host.status {
                    Some(status) => seen.deployments.push(Shown { host: Some(host.host), status }),
                    None => seen.silent.push(format!("{of} on host {}: it has not answered", host.host)),
                }
            }
        }
        Ok(())
    }
}

/// What runs now, or did half a second ago: many who ask cost the supervisors no more than one.
pub(super) async fn current(app: &App) -> Arc<Seen> {
    let mut last = app.last.lock().await;
    if let Some((when, seen)) = &*last
        && when.elapsed() < BETWEEN / 2
    {
        return Arc::clone(seen);
    }
    let asked = app.asked.clone();
    let asked = tokio::task::spawn_blocking(move || asked.look()).await;
    let seen = Arc::new(asked.unwrap_or_else(|error| Seen {
        silent: vec![format!("the deployments could not be asked: {error}")],
        ..Seen::default()
    }));
    *last = Some((Instant::now(), Arc::clone(&seen)));
    seen
}

/// Tells all who listen what runs, each second. No supervisor is asked while no page listens.
pub(super) async fn watch(app: Arc<App>) {
    let mut interval = tokio::time::interval(BETWEEN);
    // A supervisor may take seconds for an answer: what was missed meanwhile is not made up for.
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if lock(&app.hub).is_empty() {
            continue;
        }
        let seen = current(&app).await;
        lock(&app.hub).tell(&event("state", None, &*seen));
    }
}
