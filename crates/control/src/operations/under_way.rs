//! An operation under way: steps one after the other, each of tasks at the same time, confirmed before the next, undone after a
//! failure.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::task::{Kind, Purpose, Step, Task};
use crate::action::{Done, GatesContent, SwitchContent, Token};
use crate::fabric::{Scarce, Site};

/// An operation under way.
#[derive(Debug)]
pub(super) struct Operation {
    kind: Kind,
    /// What is to be done yet.
    steps: VecDeque<Step>,
    /// What undoes what has been done or begun, the last first.
    undo: Vec<Vec<Task>>,
    /// What is under way.
    waiting: BTreeMap<Token, Task>,
    /// Why it has failed.
    failed: Option<String>,
    /// What had no room, and of what.
    full: BTreeSet<Scarce>,
    undoing: bool,
    /// How many steps have come that keep what was done before.
    kept: usize,
    /// Sites that have missed something sure.
    missed: BTreeSet<Site>,
    /// What a site was read to have.
    found: Option<Found>,
}

/// What a site was read to have.
#[derive(Debug)]
pub(crate) enum Found {
    Content(SwitchContent),
    Gates(GatesContent),
}

/// How an operation has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) kind: Kind,
    pub(crate) failed: Option<String>,
    /// What had no room, if that was why.
    pub(crate) full: BTreeSet<Scarce>,
    pub(crate) missed: BTreeSet<Site>,
    /// How many steps have come that keep what was done before.
    pub(crate) kept: usize,
}

/// What comes next of an operation.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing, until something under way is answered.
    Wait,
    /// These begin.
    Begin(Vec<Task>),
    /// A site has been read, to be compared or to be prepared: what follows from that is what it goes on with.
    Read(Site, Purpose, Found),
    /// It is over.
    Ended(Ended),
}

impl Operation {
    pub(super) fn new(kind: Kind, steps: Vec<Step>) -> Self {
        Self {
            kind,
            steps: steps.into(),
            undo: Vec::new(),
            waiting: BTreeMap::new(),
            failed: None,
            full: BTreeSet::new(),
            undoing: false,
            kept: 0,
            missed: BTreeSet::new(),
            found: None,
        }
    }

    pub(super) const fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(super) const fn purpose(&self) -> Purpose {
        match self.kind {
            Kind::Prepare { .. } | Kind::PrepareGates { .. } => Purpose::Prepare,
            Kind::Inspect(_) => Purpose::Inspect,
            _ => Purpose::Change,
        }
    }

    pub(super) fn has_missed(&self, site: Site) -> bool {
        self.missed.contains(&site)
    }

    /// Whether it installs this grant.
    pub(super) fn admits(&self, grant: u64) -> bool {
        matches!(&self.kind, Kind::Admit { number, .. } if *number == grant)
    }

    /// What comes next; `None` if it has ended.
    pub(super) fn next(&mut self, name: impl Fn(Site) -> String) -> Option<Next> {
        if !self.waiting.is_empty() {
            return Some(Next::Wait);
        }
        // What follows in an admission rests on what is sure, too.
        if let (Kind::Admit { .. }, Some(site), false) = (&self.kind, self.missed.first(), self.undoing) {
            self.failed.get_or_insert_with(|| format!("{} is away", name(*site)));
        }
        if self.failed.is_some() && !self.undoing {
            self.undoing = true;
            let undo = core::mem::take(&mut self.undo).into_iter().rev();
            self.steps = undo.map(Step::of).collect();
        }
        let Some(step) = self.steps.pop_front() else {
            let site = match self.kind {
                Kind::Inspect(site) => site,
                Kind::Prepare { switch, .. } => Site::Switch(switch),
                _ => return None,
            };
            return self.found.take().map(|found| Next::Read(site, self.purpose(), found));
        };
        if step.keeps {
            self.undo.clear();
            self.kept += 1;
        }
        if !step.undo.is_empty() {
            self.undo.push(step.undo);
        }
        Some(Next::Begin(step.tasks))
    }

    pub(super) fn go_on(&mut self, steps: Vec<Step>) {
        self.steps.extend(steps);
    }

    pub(super) fn wait(&mut self, token: Token, task: Task) {
        self.waiting.insert(token, task);
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = (Token, &Task)> {
        self.waiting.iter().map(|(token, task)| (*token, task))
    }

    /// A task that is under way.
    pub(super) fn task(&self, token: Token) -> Option<&Task> {
        self.waiting.get(&token)
    }

    /// Whether only time has to pass.
    pub(super) fn only_holds(&self) -> bool {
        let mut waiting = self.waiting.values();
        !self.waiting.is_empty() && waiting.all(|task| matches!(task, Task::Hold(_)))
    }

    pub(super) fn answer(&mut self, token: Token, done: &Done) -> Option<Task> {
        let task = self.waiting.remove(&token)?;
        if let Done::Full(room, _) = done {
            self.full.extend(task.site().map(|site| (site, *room)));
        }
        Some(task)
    }

    pub(super) fn found(&mut self, found: Found) {
        self.found = Some(found);
    }

    /// A task has failed. True if it is not known what its site has, had it begun.
    pub(super) fn failed(&mut self, task: &Task, why: impl FnOnce() -> String) -> bool {
        let (is_sure, prepares) = (task.is_sure(), self.purpose() == Purpose::Prepare);
        if is_sure && !prepares {
            self.missed.extend(task.site());
        } else {
            self.failed.get_or_insert_with(why);
        }
        is_sure || prepares
    }

    pub(super) fn give_up(&mut self, reason: &str) {
        self.failed.get_or_insert_with(|| reason.to_string());
    }

    pub(super) fn ended(self) -> Ended {
        let Self { kind, failed, full, missed, kept, .. } = self;
        Ended { kind, failed, full, missed, kept }
    }
}
