//! A change from one plan to another: started, prepared, performed part by part, and then held to or taken back by all.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use assembly::Plan;

use super::gate::Gate;
use super::quiescent::Quiescent;
use super::{Action, Incarnation, Outcome, Record, Supervisor, Target};
use crate::hand_over::HandedOver;
use crate::protocol::{Answer, Instruction, Phase};
use crate::steps::{Batch, Steps};

/// The purpose of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Another plan, as a request wants.
    Apply(u64),
    /// No plan any more.
    Stop(u64),
    /// A process is started again.
    Restart(String),
}

/// How far a change is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// New processes have to be there.
    Starting,
    /// All have to say that they can do their part.
    Preparing,
    /// One does something.
    Performing,
    /// Other hosts have to come as far.
    Waiting,
    /// It is decided; all are told, and what goes ends.
    Committing,
    /// It does not come about; all take back what they did.
    Aborting,
}

/// A change that is under way.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) purpose: Purpose,
    pub(super) epoch: u64,
    pub(super) target: Arc<Target>,
    pub(super) stage: Stage,
    /// Of a change of several hosts: how far it may go.
    pub(super) gate: Option<Gate>,
    pub(super) phase: Phase,
    /// Processes that are to be started, when those that they depend on are there.
    pub(super) waiting: BTreeSet<String>,
    /// Processes that were started for it.
    pub(super) fresh: BTreeMap<String, Incarnation>,
    /// Processes that end with it.
    pub(super) leaving: BTreeSet<Incarnation>,
    /// Processes that are to end when these others have, which depend on them.
    pub(super) held: BTreeMap<Incarnation, BTreeSet<Incarnation>>,
    /// Processes that have to take back what they did, or to hold to it.
    pub(super) prepared: BTreeSet<Incarnation>,
    /// The remaining steps.
    pub(super) batches: VecDeque<Batch>,
    /// What processes have handed over, by their names.
    pub(super) handed: BTreeMap<String, HandedOver>,
    /// How many parts each process was given.
    parts: BTreeMap<Incarnation, u32>,
    pub(super) awaited: BTreeSet<Incarnation>,
    /// Processes that take back what they did once those that were started for the change have ended: what these took over works once.
    pub(super) takes_back: BTreeSet<Incarnation>,
    pub(super) deadline: u64,
    /// Since when components rest so that what was published is handled, and which.
    pub(super) quiescent: Option<Quiescent>,
    pub(super) failure: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Change {
    /// A change of which nothing is done yet.
    pub(super) fn new(purpose: Purpose, epoch: u64, target: Arc<Target>, deadline: u64) -> Self {
        Self {
            purpose,
            epoch,
            target,
            stage: Stage::Starting,
            gate: None,
            phase: Phase::PreparePlan,
            waiting: BTreeSet::new(),
            fresh: BTreeMap::new(),
            awaited: BTreeSet::new(),
            takes_back: BTreeSet::new(),
            leaving: BTreeSet::new(),
            held: BTreeMap::new(),
            prepared: BTreeSet::new(),
            batches: VecDeque::new(),
            handed: BTreeMap::new(),
            parts: BTreeMap::new(),
            deadline,
            quiescent: None,
            failure: None,
            notes: Vec::new(),
        }
    }

    /// When those that have not answered are late, or something has rested for too long. While other hosts are waited for, no process of this one is.
    pub(super) fn deadline(&self) -> Option<u64> {
        let answers = (self.stage != Stage::Waiting).then_some(self.deadline);
        answers.into_iter().chain(self.quiescent_until()).min()
    }

    pub(super) const fn request(&self) -> Option<u64> {
        match self.purpose {
            Purpose::Apply(request) | Purpose::Stop(request) => Some(request),
            Purpose::Restart(_) => None,
        }
    }

    /// Whether it starts a process of this name.
    pub(super) fn starts(&self, process: &str) -> bool {
        self.fresh.contains_key(process) || self.waiting.contains(process)
    }

    /// Whether it can be taken back.
    pub(super) fn is_open(&self) -> bool {
        let is_open = match self.stage {
            Stage::Starting | Stage::Preparing | Stage::Performing | Stage::Waiting => true,
            Stage::Committing | Stage::Aborting => false,
        };
        is_open && self.gate.as_ref().is_none_or(Gate::is_open)
    }
}

impl Supervisor {
    /// Goes on to something that is made of the plan that holds now: what this request has waited for may have brought that plan.
    pub(super) fn change_held(
        &mut self,
        now: u64,
        request: u64,
        make: impl FnOnce(&Target) -> Result<Target, String>,
    ) {
        if self.is_stopping {
            return self.finish(request, Outcome::Refused("everything ends".into()));
        }
        match make(&self.current) {
            Ok(target) => self.apply(now, request, Arc::new(target), None),
            Err(what) => self.finish(request, Outcome::Refused(what)),
        }
    }

    pub(super) fn begin(&mut self, now: u64, purpose: Purpose, target: Arc<Target>, gate: Option<Gate>) {
        self.epoch += 1;
        let steps = self.steps(&purpose, &target, gate.is_some());
        let local = self.local(&target.plan);
        let waiting = steps.start.iter().filter(|process| local.contains(*process)).cloned().collect();
        let leaving =
            steps.stop.iter().filter_map(|process| self.records.get(process)?.incarnation).collect();
        let deadline = now.saturating_add(self.patience);
        let gate = gate.map(|gate| gate.with_rounds(steps.rounds()));
        let batches = steps.batches.into();
        let change = Change::new(purpose, self.epoch, target, deadline);
        self.change = Some(Change { gate, waiting, leaving, batches, ..change });
        self.progress(now);
    }

    /// The steps of a change from what holds; `is_led` is whether others decide.
    pub(super) fn steps(&self, purpose: &Purpose, target: &Target, is_led: bool) -> Steps {
        let Purpose::Restart(name) = purpose else { return Steps::between(&self.current, target, is_led) };
        let mut steps = Steps::between(&Target::default(), target, is_led);
        steps.start.retain(|process| process == name);
        steps.batches.retain(|batch| batch.process == *name);
        steps
    }

    /// Goes on if nothing is awaited any more.
    pub(super) fn progress(&mut self, now: u64) {
        while let Some(change) = self.change.as_mut().filter(|change| change.awaited.is_empty()) {
            change.deadline = now.saturating_add(self.patience);
            match change.stage {
                Stage::Starting if !change.waiting.is_empty() => self.start_those_that_may(now),
                Stage::Starting => self.prepare(),
                Stage::Preparing | Stage::Performing => self.next_batch(now),
                Stage::Waiting => return,
                Stage::Aborting if !change.takes_back.is_empty() => self.take_back(),
                Stage::Committing | Stage::Aborting => self.close(now),
            }
        }
    }

    /// Starts the processes whose dependencies are there.
    fn start_those_that_may(&mut self, now: u64) {
        let Some(change) = &self.change else { return };
        let target = Arc::clone(&change.target);
        let is_missing = |other: &String| {
            let fresh = change.fresh.get(other);
            change.waiting.contains(other) || fresh.is_some_and(|of| change.awaited.contains(of))
        };
        let may = |name: &&String| !target.plan.dependencies(name).iter().any(is_missing);
        let mut ready: Vec<String> = change.waiting.iter().filter(may).cloned().collect();
        if ready.is_empty() && change.awaited.is_empty() {
            // A circle, which a plan that was checked does not have.
            ready.extend(change.waiting.iter().cloned());
        }
        for name in ready {
            let of = self.start(&name, &target);
            let Some(change) = &mut self.change else { return };
            change.waiting.remove(&name);
            change.fresh.insert(name, of);
            change.awaited.insert(of);
            change.deadline = now.saturating_add(self.patience);
        }
    }

    fn prepare(&mut self) {
        let Some(change) = &mut self.change else { return };
        change.stage = Stage::Preparing;
        let plan = change.target.plan.to_toml();
        let mut told: Vec<(Incarnation, String, String)> =
            change.fresh.iter().map(|(name, of)| (*of, name.clone(), plan.clone())).collect();
        if !matches!(change.purpose, Purpose::Restart(_)) {
            for (name, of) in
                self.records.iter().filter_map(|(name, record)| Some((name, record.incarnation?)))
            {
                // A process that leaves has no part in the new plan, even if a new process has its name.
                let plan = if change.leaving.contains(&of) { String::new() } else { plan.clone() };
                told.push((of, name.clone(), plan));
            }
        }
        // A program that is no component server has no part in it.
        told.retain(|(of, ..)| self.children.get(of).is_some_and(|child| !child.is_foreign));
        let epoch = change.epoch;
        change.awaited = told.iter().map(|(of, ..)| *of).collect();
        change.prepared.clone_from(&change.awaited);
        for (of, process, plan) in told {
            self.send(of, Instruction::PreparePlan { epoch, process, plan });
        }
    }

    fn next_batch(&mut self, now: u64) {
        let Some(change) = &mut self.change else { return };
        change.stage = Stage::Performing;
        while let Some(batch) = change.batches.front() {
            let of_record = self.records.get(&batch.process).and_then(|record| record.incarnation);
            // Steps that take something out are for the process as it was. One that leaves may have its successor on another host.
            let stays = of_record.filter(|of| !change.leaving.contains(of));
            let of = match batch.is_of_former() {
                true => of_record,
                false => change.fresh.get(&batch.process).copied().or(stays),
            };
            let (phase, round) = (batch.phase, batch.round);
            let of = of.filter(|of| change.prepared.contains(of));
            if of.is_some() && change.gate.as_ref().is_some_and(|gate| gate.stops(Some((phase, round)))) {
                return self.wait_for_others();
            }
            let batch = change.batches.pop_front();
            // A process of another host, or one that has ended already.
            let (Some(of), Some(Batch { process, mut orders, .. })) = (of, batch) else { continue };
            if let Some(handed) = change.handed.get(&process) {
                handed.fill(&mut orders);
            }
            change.quiesces(now, phase, &orders);
            change.fill_published(now, &mut orders);
            let part = change.parts.entry(of).or_default();
            let number = *part;
            *part += 1;
            change.phase = phase;
            change.awaited = [of].into();
            let epoch = change.epoch;
            return self.send(of, Instruction::Perform { epoch, number, phase, orders });
        }
        if change.gate.as_ref().is_some_and(|gate| gate.stops(None)) {
            return self.wait_for_others();
        }
        self.decide(now);
    }

    /// The change has come to the end of the phase that it may go to.
    fn wait_for_others(&mut self) {
        let Some(change) = &mut self.change else { return };
        change.stage = Stage::Waiting;
        let (request, gate) = (change.request(), change.gate.as_mut());
        if let (Some(request), Some(gate)) = (request, gate) {
            let action = match gate.reached() {
                (_, Some(round)) => {
                    let published = change.handed.values().flat_map(|handed| &handed.published);
                    Action::Quiesced(request, round, published.cloned().collect())
                }
                (phase, None) => Action::Reached(request, phase),
            };
            self.actions.push_back(action);
        }
    }

    /// The change holds, from now on.
    pub(super) fn decide(&mut self, now: u64) {
        let Some(change) = &mut self.change else { return };
        change.stage = Stage::Committing;
        change.tell_rest(now);
        let (epoch, leaving) = (change.epoch, change.leaving.clone());
        let (fresh, prepared) = (change.fresh.clone(), change.prepared.clone());
        let (former, target) = (Arc::clone(&self.current), Arc::clone(&change.target));
        let is_restart = matches!(change.purpose, Purpose::Restart(_));
        let fallen = change.gate.as_mut().map(|gate| core::mem::take(&mut gate.fallen)).unwrap_or_default();
        change.awaited = prepared.union(&leaving).copied().collect();
        if !is_restart {
            let local = self.local(&target.plan);
            self.records.retain(|name, _| local.contains(name));
            self.current = target;
            self.changes += 1;
        }
        for (name, of) in fresh {
            if is_restart {
                self.records.entry(name).or_default().incarnation = Some(of);
            } else {
                self.records.insert(name, Record { incarnation: Some(of), ..Record::default() });
            }
        }
        for (name, how) in fallen {
            self.records.insert(name.clone(), Record::default());
            self.fell(now, &name, true, how);
        }
        for of in prepared.difference(&leaving) {
            self.send(*of, Instruction::Commit { epoch });
        }
        self.end_in_order(&former.plan, &leaving);
    }

    /// Ends processes of a plan: each when those that depend on it have ended.
    pub(super) fn end_in_order(&mut self, plan: &Plan, ending: &BTreeSet<Incarnation>) {
        let named = |of: &Incarnation| Some((self.children.get(of)?.process.as_str(), *of));
        let names: BTreeMap<&str, Incarnation> = ending.iter().filter_map(named).collect();
        let mut held: BTreeMap<Incarnation, BTreeSet<Incarnation>> = BTreeMap::new();
        for (name, of) in &names {
            for other in plan.dependencies(name).iter().filter_map(|other| names.get(other.as_str())) {
                held.entry(*other).or_default().insert(*of);
            }
        }
        for of in ending {
            self.end_of(*of);
            if self.children.get(of).is_none_or(|child| child.there_since.is_none()) {
                held.remove(of);
                self.kill_child(*of, "it was started in vain");
            } else if !held.contains_key(of) {
                self.send(*of, Instruction::Stop);
            }
        }
        if let Some(change) = &mut self.change {
            change.held = held;
        }
    }

    /// A process has ended: those that it depended on may end.
    fn let_end(&mut self, now: u64, of: Incarnation) {
        let Some(change) = &mut self.change else { return };
        change.held.remove(&of);
        let mut free = Vec::new();
        change.held.retain(|other, after| {
            after.remove(&of);
            if after.is_empty() {
                free.push(*other);
            }
            !after.is_empty()
        });
        if !free.is_empty() {
            change.deadline = now.saturating_add(self.patience);
        }
        for other in free {
            self.send(other, Instruction::Stop);
        }
    }

    /// All have done what was decided.
    fn close(&mut self, now: u64) {
        let Some(change) = self.change.take() else { return };
        match (change.purpose, change.failure) {
            (Purpose::Apply(request), None) | (Purpose::Stop(request), _) => {
                self.finish(request, Outcome::Done(change.notes));
            }
            (Purpose::Apply(request), Some(why)) => self.finish(request, Outcome::Refused(why)),
            (Purpose::Restart(name), None) => self.tell(format!("process {name} runs again")),
            (Purpose::Restart(name), Some(why)) => {
                self.tell(format!("process {name} was not started again: {why}"));
                if !self.is_stopping {
                    self.fell(now, &name, true, why);
                }
            }
        }
    }

    /// A process that was started is there.
    pub(super) fn is_there(&mut self, now: u64, of: Incarnation) {
        let Some(change) = &mut self.change else { return };
        if change.stage == Stage::Starting && change.awaited.remove(&of) {
            self.start_those_that_may(now);
            self.progress(now);
        }
    }

    /// A process answers what it was told about a change.
    pub(super) fn told(&mut self, now: u64, from: Incarnation, answer: Answer) {
        let name = self.children.get(&from).map(|child| child.process.clone()).unwrap_or_default();
        let Some(change) = &mut self.change else { return };
        if !change.awaited.contains(&from) {
            return;
        }
        let current = change.epoch;
        let part = change.parts.get(&from).copied().unwrap_or_default();
        match (change.stage, answer) {
            (Stage::Preparing, Answer::Prepared { epoch, warnings }) if epoch == current => {
                change.notes.extend(warnings.into_iter().map(|text| format!("process {name}: {text}")));
                change.awaited.remove(&from);
            }
            (Stage::Performing, Answer::Done { epoch, number, handed })
                if epoch == current && number + 1 == part =>
            {
                change.handed.entry(name).or_default().extend(handed.unwrap_or_default());
                change.awaited.remove(&from);
            }
            // A supervisor before this one has told it already what became of the change.
            (
                Stage::Preparing | Stage::Performing,
                Answer::Committed { epoch } | Answer::Aborted { epoch },
            ) if epoch == current => {
                change.awaited.remove(&from);
            }
            (Stage::Preparing | Stage::Performing, Answer::Failed { epoch, what })
                if epoch == current && change.is_open() =>
            {
                return self.abort(now, format!("process {name}: {what}"));
            }
            (Stage::Committing, Answer::Committed { epoch }) if epoch == current => {
                if !change.leaving.contains(&from) {
                    change.awaited.remove(&from);
                }
            }
            (Stage::Aborting, Answer::Aborted { epoch }) if epoch == current => {
                let is_fresh = change.fresh.values().any(|of| *of == from);
                if !is_fresh {
                    change.awaited.remove(&from);
                }
            }
            // It is started again, with the plan that holds.
            (Stage::Performing | Stage::Committing, Answer::Failed { epoch, what })
            | (Stage::Aborting, Answer::Failed { epoch, what } | Answer::Broken { epoch, what })
                if epoch == current =>
            {
                self.tell(format!("process {name} cannot follow, and is killed: {what}"));
                return self.kill_child(from, "it cannot follow");
            }
            _ => return,
        }
        self.progress(now);
    }

    /// A process has ended.
    pub(super) fn ended_in_change(&mut self, now: u64, of: Incarnation, name: &str, how: &str) {
        let Some(change) = &mut self.change else { return };
        let is_fresh = change.fresh.get(name) == Some(&of);
        let is_part = is_fresh || change.prepared.contains(&of) || change.leaving.contains(&of);
        let is_expected = change.stage == Stage::Starting && !is_fresh;
        // Before it is prepared, every process of the old plan is a part of a change to another one.
        let is_part = is_part || (is_expected && !matches!(change.purpose, Purpose::Restart(_)));
        change.awaited.remove(&of);
        change.prepared.remove(&of);
        change.takes_back.remove(&of);
        change.leaving.remove(&of);
        let is_decided = matches!(change.stage, Stage::Committing | Stage::Aborting);
        if is_fresh && !is_decided {
            change.fresh.remove(name);
            change.fallen(name, how);
        }
        self.let_end(now, of);
        if is_part && self.change.as_ref().is_some_and(Change::is_open) {
            return self.abort(now, format!("process {name} ended: {how}"));
        }
        self.progress(now);
    }

    /// The time for answers is over.
    pub(super) fn late_change(&mut self, now: u64) {
        if self.rested_too_long(now) {
            return;
        }
        let late = |change: &&mut Change| change.stage != Stage::Waiting && change.deadline <= now;
        let Some(change) = self.change.as_mut().filter(late) else { return };
        let mut late: Vec<Incarnation> = change.awaited.iter().copied().collect();
        if change.is_open() {
            let names: Vec<&str> =
                late.iter().filter_map(|of| Some(self.children.get(of)?.process.as_str())).collect();
            let seconds = self.patience / 1_000_000_000_000;
            let why = format!("{} did not answer within {seconds} s", names.join(", "));
            return self.abort(now, why);
        }
        change.deadline = now.saturating_add(self.patience);
        // Those that wait for the end of others are not late.
        late.retain(|of| !change.held.contains_key(of));
        for of in late {
            self.kill_child(of, "it does not answer");
        }
    }
}
