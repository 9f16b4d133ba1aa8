//! Checkpoints: what a supervisor leaves behind, so that the next one adopts its processes and ends the change that was under way.
//!
//! A checkpoint is to be written before the actions are carried out that follow it. Then each process that may have been told something is in
//! it, and a vote is in it before others hear of the vote.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::change::{Change, Purpose, Stage};
use super::gate::Gate;
use super::{Child, Incarnation, Left, Record, Supervisor, Target};
use crate::protocol::Instruction;
use crate::restart::Restarts;

/// The state of a supervisor, without its plans.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Checkpoint {
    /// The number of the last change that began.
    pub epoch: u64,
    /// How many changes have held.
    pub changes: u64,
    /// The number of the next process.
    pub next_incarnation: u64,
    /// Everything is to end.
    pub is_stopping: bool,
    /// The processes of the plan that holds.
    pub records: Vec<ProcessRecord>,
    /// Processes that were started and have not ended.
    pub started: Vec<StartedProcess>,
    /// The change that is under way.
    pub change: Option<ChangeCheckpoint>,
}

/// A process of the plan that holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProcessRecord {
    /// Its name in the plan.
    pub process: String,
    /// Which start of it runs.
    pub incarnation: Option<u64>,
    /// It is to be started again.
    pub waits: bool,
    /// How often it was started again.
    pub restarts: u32,
    /// It ended, and is not started again.
    pub is_failed: bool,
    /// How it ended last.
    pub last: Option<String>,
}

/// A process that was started.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StartedProcess {
    /// Which start it is.
    pub incarnation: u64,
    /// Its name in its plan.
    pub process: String,
    /// Its process id, if it is known.
    pub pid: Option<u32>,
    /// It executes a program that is no component server.
    pub is_foreign: bool,
    /// It was told to end.
    pub is_ending: bool,
}

/// A change that is under way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChangeCheckpoint {
    /// Its purpose.
    pub purpose: ChangePurpose,
    /// Its number.
    pub epoch: u64,
    /// How far it has come.
    pub stage: ChangeStage,
    /// Processes that were started for it.
    pub fresh: Vec<(String, u64)>,
    /// Processes that end with it.
    pub leaving: Vec<u64>,
    /// Processes that end when these others have.
    pub held: Vec<(u64, Vec<u64>)>,
    /// Processes that have to hold to it, or to take it back.
    pub prepared: Vec<u64>,
    /// Processes that were started for it, and ended since the vote: how.
    pub fallen: Vec<(String, String)>,
}

/// The purpose of a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChangePurpose {
    /// Another plan on this host.
    Apply,
    /// Another plan on several hosts, of which this one has a part.
    Propose,
    /// The end of everything.
    Stop,
    /// Another start of a process.
    Restart(String),
}

/// How far a change has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeStage {
    /// It can be taken back here, or is.
    Open,
    /// This host can hold to it; what becomes of it is decided elsewhere.
    Voted,
    /// It holds, and processes follow.
    Committing,
}

impl Checkpoint {
    /// Whether another one, which was written down earlier, has a vote for the change that is under way in this one.
    pub fn is_voted_in(&self, earlier: &Self) -> bool {
        let voted = earlier.change.as_ref().filter(|change| change.stage == ChangeStage::Voted);
        self.change.as_ref().zip(voted).is_some_and(|(change, voted)| change.epoch == voted.epoch)
    }
}

fn numbers<'i>(of: impl IntoIterator<Item = &'i Incarnation>) -> Vec<u64> {
    of.into_iter().map(|of| of.0).collect()
}

impl Child {
    /// Why what a process says of itself is not what the supervisor before has left.
    pub(super) fn disagrees(
        &self,
        process: &str,
        pid: u32,
        last: Option<u64>,
        change: Option<u64>,
    ) -> Option<String> {
        let left = self.adopted?;
        if process != self.process || Some(pid) != self.pid {
            let (name, known) = (process.escape_debug(), self.pid.unwrap_or_default());
            return Some(format!(
                "it says that it is process \"{name}\" with pid {pid}, and is recorded as \"{}\" with pid {known}",
                self.process
            ));
        }
        if let Some(last) = last.filter(|last| *last > left.epoch) {
            return Some(format!(
                "it has followed change {last}, and change {} is the last one known",
                left.epoch
            ));
        }
        let change = change.filter(|change| left.change != Some(*change))?;
        Some(format!("it has change {change} under way, which is not known"))
    }
}

impl Supervisor {
    /// All that the next supervisor has to know, besides [`Supervisor::plans`].
    pub fn checkpoint(&self) -> Checkpoint {
        let record = |(process, record): (&String, &Record)| ProcessRecord {
            process: process.clone(),
            incarnation: record.incarnation.map(|of| of.0),
            waits: record.next_start.is_some(),
            restarts: record.restarts,
            is_failed: record.is_failed,
            last: record.last.clone(),
        };
        let started = |(of, child): (&Incarnation, &Child)| StartedProcess {
            incarnation: of.0,
            process: child.process.clone(),
            pid: child.pid,
            is_foreign: child.is_foreign,
            is_ending: child.is_ending,
        };
        Checkpoint {
            epoch: self.epoch,
            changes: self.changes,
            next_incarnation: self.next_incarnation,
            is_stopping: self.is_stopping,
            records: self.records.iter().map(record).collect(),
            started: self.children.iter().map(started).collect(),
            change: self.change.as_ref().map(Change::checkpoint),
        }
    }

    /// The plan that holds, and that of the change that is under way.
    pub fn plans(&self) -> (&Arc<Target>, Option<&Arc<Target>>) {
        (&self.current, self.change.as_ref().map(|change| &change.target))
    }

    /// A supervisor that adopts the processes of another one, which has left this checkpoint and these plans: the one that holds, and that of the
    /// change. `gone` says of each process that is not there any more how it ended. A change that was under way is ended as `request`: it holds if that was decided here, waits for the decision if this host has voted for
    /// it, and is taken back otherwise.
    ///
    /// # Errors
    /// The checkpoint is not of these plans.
    pub fn resume(
        self,
        now: u64,
        checkpoint: &Checkpoint,
        (current, next): (Arc<Target>, Option<Arc<Target>>),
        gone: Vec<(Incarnation, String)>,
        request: u64,
    ) -> Result<Self, String> {
        let mut supervisor = self;
        supervisor.current = current;
        (supervisor.epoch, supervisor.changes) = (checkpoint.epoch, checkpoint.changes);
        supervisor.is_stopping = checkpoint.is_stopping;
        supervisor.adopt(now, checkpoint);
        supervisor.records(now, checkpoint)?;
        if let Some(change) = &checkpoint.change {
            supervisor.resume_change(now, change, next, request)?;
        } else if supervisor.is_stopping {
            let all: Vec<Incarnation> = supervisor.children.keys().copied().collect();
            all.into_iter().for_each(|of| supervisor.kill_child(of, "everything is killed"));
        }
        // All of them before anything is started that depends on them.
        for (of, how) in gone {
            supervisor.ended(now, of, true, how);
        }
        supervisor.go_on(now);
        Ok(supervisor)
    }

    fn adopt(&mut self, now: u64, checkpoint: &Checkpoint) {
        let change = checkpoint.change.as_ref().map(|change| change.epoch);
        let left = Left { epoch: checkpoint.epoch, change };
        for started in &checkpoint.started {
            let child = Child {
                process: started.process.clone(),
                pid: started.pid,
                is_foreign: started.is_foreign,
                there_since: Some(now),
                is_ending: started.is_ending,
                adopted: Some(left),
            };
            self.children.insert(Incarnation(started.incarnation), child);
        }
        let last = checkpoint.started.iter().map(|started| started.incarnation).max().unwrap_or_default();
        self.next_incarnation = checkpoint.next_incarnation.max(last.saturating_add(1));
    }

    fn records(&mut self, now: u64, checkpoint: &Checkpoint) -> Result<(), String> {
        let local = self.local(&self.current.plan);
        for record in &checkpoint.records {
            if !local.contains(&record.process) {
                return Err(format!("the plan has no process \"{}\" here", record.process.escape_debug()));
            }
            let incarnation = record.incarnation.map(Incarnation);
            if incarnation.is_some_and(|of| self.process_of(of) != Some(record.process.as_str())) {
                return Err(format!("process {} runs, and was not started", record.process));
            }
            let record_of_it = Record {
                incarnation,
                next_start: record.waits.then_some(now),
                restarts: record.restarts,
                // How often it was started of late is not known any more.
                starts: Restarts::default(),
                is_failed: record.is_failed,
                last: record.last.clone(),
            };
            self.records.insert(record.process.clone(), record_of_it);
        }
        Ok(())
    }

    fn process_of(&self, of: Incarnation) -> Option<&str> {
        self.children.get(&of).map(|child| child.process.as_str())
    }

    /// Those of these processes that were started.
    fn known(&self, numbers: &[u64]) -> BTreeSet<Incarnation> {
        let all = numbers.iter().copied().map(Incarnation);
        all.filter(|of| self.children.contains_key(of)).collect()
    }

    fn resume_change(
        &mut self,
        now: u64,
        left: &ChangeCheckpoint,
        next: Option<Arc<Target>>,
        request: u64,
    ) -> Result<(), String> {
        let purpose = match &left.purpose {
            ChangePurpose::Apply | ChangePurpose::Propose => Purpose::Apply(request),
            ChangePurpose::Stop => Purpose::Stop(request),
            ChangePurpose::Restart(name) => Purpose::Restart(name.clone()),
        };
        let target = match &purpose {
            Purpose::Apply(_) => next.ok_or("the plan of the change that is under way is missing")?,
            Purpose::Stop(_) => Arc::default(),
            Purpose::Restart(_) => Arc::clone(&self.current),
        };
        if matches!(purpose, Purpose::Stop(_)) && left.stage == ChangeStage::Open {
            // All is told again: what a process has done it does not do twice.
            self.epoch = left.epoch.saturating_sub(1);
            self.begin(now, purpose, target, None);
            return Ok(());
        }
        let is_led = left.purpose == ChangePurpose::Propose;
        let steps = self.steps(&purpose, &target, is_led);
        let mut change = Change::new(purpose, left.epoch, target, now.saturating_add(self.patience));
        let fresh = left.fresh.iter().map(|(name, of)| (name.clone(), Incarnation(*of)));
        change.fresh = fresh.filter(|(name, of)| self.process_of(*of) == Some(name.as_str())).collect();
        change.leaving = self.known(&left.leaving);
        change.prepared = self.known(&left.prepared);
        match left.stage {
            ChangeStage::Open => {
                // Whoever was told nothing of it takes nothing back.
                let records = self.records.values().filter_map(|record| record.incarnation);
                let servers = records.filter(|of| self.children.get(of).is_some_and(|it| !it.is_foreign));
                change.prepared = servers.collect();
                if matches!(change.purpose, Purpose::Restart(_)) {
                    change.prepared.clear();
                }
                self.change = Some(change);
                self.abort(now, "its node manager ended in the middle of it".to_string());
            }
            ChangeStage::Voted => {
                // All is told again, up to the vote.
                change.batches = steps.batches.into();
                change.gate = Some(Gate::voted(left.fallen.clone()));
                self.change = Some(change);
                self.progress(now);
            }
            ChangeStage::Committing => {
                change.stage = Stage::Committing;
                change.awaited = change.prepared.union(&change.leaving).copied().collect();
                let held = left.held.iter().map(|(of, others)| (Incarnation(*of), self.known(others)));
                let held: BTreeMap<_, _> = held.filter(|(_, others)| !others.is_empty()).collect();
                let epoch = change.epoch;
                for of in change.prepared.difference(&change.leaving).copied().collect::<Vec<_>>() {
                    self.send(of, Instruction::Commit { epoch });
                }
                for of in change.leaving.iter().copied().collect::<Vec<_>>() {
                    self.end_of(of);
                    if !held.contains_key(&of) {
                        self.send(of, Instruction::Stop);
                    }
                }
                change.held = held;
                self.change = Some(change);
                self.progress(now);
            }
        }
        Ok(())
    }
}

impl Change {
    fn checkpoint(&self) -> ChangeCheckpoint {
        let purpose = match &self.purpose {
            Purpose::Apply(_) if self.gate.is_some() => ChangePurpose::Propose,
            Purpose::Apply(_) => ChangePurpose::Apply,
            Purpose::Stop(_) => ChangePurpose::Stop,
            Purpose::Restart(name) => ChangePurpose::Restart(name.clone()),
        };
        let stage = match self.stage {
            Stage::Committing => ChangeStage::Committing,
            Stage::Aborting => ChangeStage::Open,
            _ if self.is_open() => ChangeStage::Open,
            _ => ChangeStage::Voted,
        };
        ChangeCheckpoint {
            purpose,
            epoch: self.epoch,
            stage,
            fresh: self.fresh.iter().map(|(name, of)| (name.clone(), of.0)).collect(),
            leaving: numbers(&self.leaving),
            held: self.held.iter().map(|(of, others)| (of.0, numbers(others))).collect(),
            prepared: numbers(&self.prepared),
            fallen: self.gate.as_ref().map(|gate| gate.fallen.clone()).unwrap_or_default(),
        }
    }
}
