//! What a node manager leaves behind of each deployment, and what the next one makes of it.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use deployment::{ChangePurpose, ChangeStage, Checkpoint};
use serde::{Deserialize, Serialize};

use crate::messages::{Bundle, Epoch};

/// The version of [`DeploymentState`].
const VERSION: u32 = 1;

/// A deployment of a host, as its node manager leaves it to the next one: written before the actions are carried out that follow it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeploymentState {
    /// The version of what is written: 1.
    pub version: u32,
    /// The host.
    pub host: String,
    /// The start of the system: process ids of another one mean nothing.
    pub boot: String,
    /// The deployment.
    pub deployment: String,
    /// The plan that holds.
    pub runs: Option<EpochPlan>,
    /// That of the change that is under way.
    pub next: Option<EpochPlan>,
    /// The state of its supervisor.
    pub checkpoint: Checkpoint,
    /// Processes that were started.
    pub processes: Vec<ProcessIdentity>,
}

/// A plan with its epoch.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EpochPlan {
    /// The epoch.
    pub epoch: Epoch,
    /// The plan.
    pub bundle: Bundle,
}

/// A process, whatever process gets its id later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProcessIdentity {
    /// Which start it is.
    pub incarnation: u64,
    /// Its process id.
    pub pid: u32,
    /// When it was started, as the system counts.
    pub started: u64,
}

/// What is under way with a deployment that is adopted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adopted {
    /// Nothing.
    Nothing,
    /// The supervisor takes the change to this epoch back.
    TakingBack(Epoch),
    /// The host has voted for the change to this epoch, and waits for the decision.
    Voted(Epoch),
    /// The supervisor holds to the change to this epoch.
    Holding(Epoch),
    /// The supervisor ends the launch of this epoch, or takes it back.
    Launching(Epoch),
    /// The supervisor ends.
    Stopping,
}

impl DeploymentState {
    /// The state of a deployment of this host, in this start of the system.
    pub fn new(host: &str, boot: &str, deployment: &str) -> Self {
        let (host, boot, deployment) = (host.to_string(), boot.to_string(), deployment.to_string());
        Self { version: VERSION, host, boot, deployment, ..Self::default() }
    }

    /// Whether it is of a start of the system that is over, so that nothing of it runs any more.
    pub fn is_over(&self, boot: &str) -> bool {
        self.boot != boot
    }

    /// What is under way, for [`NodeManager::adopt`](crate::NodeManager::adopt). `deployment` is what the name of the file says.
    ///
    /// # Errors
    /// It is of another version, host or deployment, or says what no node manager writes.
    pub fn adopted(&self, host: &str, deployment: &str) -> Result<Adopted, String> {
        if self.version != VERSION {
            return Err(format!("it has version {}, and not {VERSION}", self.version));
        }
        if self.host != host || self.deployment != deployment {
            let (of, at) = (self.deployment.escape_debug(), self.host.escape_debug());
            return Err(format!("it is of the deployment \"{of}\" on the host \"{at}\""));
        }
        let mut ids: Vec<u64> = self.processes.iter().map(|process| process.incarnation).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|two| two.first() == two.last()) {
            return Err("it names a process twice".to_string());
        }
        // Each process that may run is known by more than its id.
        for started in &self.checkpoint.started {
            let of_it = self.processes.iter().find(|process| process.incarnation == started.incarnation);
            if started.pid != of_it.map(|process| process.pid) {
                return Err(format!("it does not say when process {} was started", started.process));
            }
        }
        let is_known = |id: &u64| self.checkpoint.started.iter().any(|started| started.incarnation == *id);
        if let Some(id) = ids.iter().find(|id| !is_known(id)) {
            return Err(format!("it does not say what start {id} is of"));
        }
        let Some(change) = &self.checkpoint.change else {
            let stopping = if self.checkpoint.is_stopping { Adopted::Stopping } else { Adopted::Nothing };
            return Ok(stopping);
        };
        // A change that holds has its plan in force.
        let plan = if change.stage == ChangeStage::Committing { &self.runs } else { &self.next };
        let epoch = plan.as_ref().map(|plan| plan.epoch).ok_or("it has a change without its plan");
        Ok(match (&change.purpose, change.stage) {
            (ChangePurpose::Stop, _) => Adopted::Stopping,
            (ChangePurpose::Restart(_), _) => Adopted::Nothing,
            (ChangePurpose::Apply, _) => Adopted::Launching(epoch?),
            (ChangePurpose::Propose, ChangeStage::Open) => Adopted::TakingBack(epoch?),
            (ChangePurpose::Propose, ChangeStage::Voted) => Adopted::Voted(epoch?),
            (ChangePurpose::Propose, ChangeStage::Committing) => Adopted::Holding(epoch?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deployment::{ChangeCheckpoint, line, read};

    fn state(purpose: ChangePurpose, stage: ChangeStage) -> DeploymentState {
        let (runs, next) = (Epoch { manager: 1, change: 1 }, Epoch { manager: 1, change: 2 });
        let plan = |epoch| Some(EpochPlan { epoch, bundle: Bundle::default() });
        let change = ChangeCheckpoint {
            purpose,
            epoch: 4,
            stage,
            fresh: [("p".to_string(), 3)].into(),
            leaving: [1].into(),
            held: [(1, [3].into())].into(),
            prepared: [2, 3].into(),
            fallen: Vec::new(),
        };
        let checkpoint = Checkpoint { epoch: 4, change: Some(change), ..Checkpoint::default() };
        DeploymentState {
            runs: plan(runs),
            next: plan(next),
            checkpoint,
            ..DeploymentState::new("east", "b", "tracker")
        }
    }

    #[test]
    fn what_was_under_way_is_told_by_the_change() {
        let (runs, next) = (Epoch { manager: 1, change: 1 }, Epoch { manager: 1, change: 2 });
        use ChangePurpose::{Apply, Propose, Restart, Stop};
        use ChangeStage::{Committing, Open, Voted};
        for (purpose, stage, expected) in [
            (Propose, Open, Adopted::TakingBack(next)),
            (Propose, Voted, Adopted::Voted(next)),
            (Propose, Committing, Adopted::Holding(runs)),
            (Apply, Open, Adopted::Launching(next)),
            (Apply, Committing, Adopted::Launching(runs)),
            (Restart("p".to_string()), Open, Adopted::Nothing),
            (Stop, Open, Adopted::Stopping),
            (Stop, Committing, Adopted::Stopping),
        ] {
            let left = state(purpose.clone(), stage);
            assert_eq!(left.adopted("east", "tracker"), Ok(expected), "{purpose:?} {stage:?}");
            assert_eq!(read(&line(&left).unwrap()), Ok(left));
        }
    }

    #[test]
    fn a_state_of_something_else_is_refused() {
        let left = state(ChangePurpose::Propose, ChangeStage::Voted);
        let refused = |left: &DeploymentState, part: &str| {
            let what = left.adopted("east", "tracker").unwrap_err();
            assert!(what.contains(part), "{what}");
        };
        refused(
            &DeploymentState { host: "west".to_string(), ..left.clone() },
            "\"tracker\" on the host \"west\"",
        );
        refused(&DeploymentState { deployment: "t".to_string(), ..left.clone() }, "deployment \"t\"");
        refused(&DeploymentState { version: 2, ..left.clone() }, "version 2");
        refused(&DeploymentState { next: None, ..left.clone() }, "without its plan");
        let process = ProcessIdentity { incarnation: 3, pid: 9, started: 1 };
        refused(&DeploymentState { processes: [process, process].into(), ..left.clone() }, "twice");
        assert!(left.is_over("c") && !left.is_over("b"));
    }
}
