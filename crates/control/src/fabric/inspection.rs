//! What switches and gates have, compared with what they are to have.
//!
//! What is being changed meanwhile is left out: an operation under way sees to that itself. What was told and not confirmed is not expected, and
//! what was confirmed is.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use gate::protocol::ContractState;
use openflow::Message;
use openflow::flow::FlowCommand;
use openflow::group::GroupCommand;
use openflow::meter::MeterCommand;

use super::table::{Places, Table};
use super::{Fabric, Site, entries};
use crate::action::{GateChange, GateKey, SwitchContent};
use crate::operations::{Step, Task, installs};

/// Contracts that are put right at a time.
const MOST_CONTRACTS: usize = 64;
/// After so many tries that put nothing right the site has to come back and be prepared anew.
const MOST_FAILURES: u32 = 3;
/// Looks that follow each other at once as long as there is something to put right.
const MOST_ROUNDS: u32 = 16;

/// What a site has is read back and compared in turns.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Inspection<P> {
    /// When the next one is due.
    at: Option<Duration>,
    /// What is being changed since the reading began, if one is under way.
    touched: Option<P>,
    /// When that began.
    began: Duration,
    /// It found something: the next one follows at once.
    found: bool,
    /// How many in a row have found something.
    rounds: u32,
    /// How often in a row it has failed to put something right.
    failures: u32,
}

/// How a look at a site has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Inspected {
    /// It has found something to put right.
    pub(crate) found: bool,
    /// When the next one is due; `None` if the site has to come back and be prepared anew.
    pub(crate) next: Option<Duration>,
}

impl<P> Inspection<P> {
    /// The next one is due at this time.
    fn schedule(&mut self, at: Duration) {
        (self.touched, self.found, self.at) = (None, false, Some(at));
    }

    /// One begins, while this is being changed.
    fn begin(&mut self, now: Duration, touched: P) {
        (self.at, self.began, self.touched) = (None, now, Some(touched));
    }

    /// One has ended.
    fn end(&mut self, now: Duration, is_failed: bool, interval: Duration) -> Inspected {
        let found = self.found;
        self.rounds = if found { self.rounds + 1 } else { 0 };
        // What could only not be read may be right.
        self.failures = if is_failed && found { self.failures + 1 } else { 0 };
        if self.failures >= MOST_FAILURES {
            self.failures = 0;
            return Inspected { found, next: None };
        }
        // Where another program changes it all the time it is put right once in an interval.
        let at_once = found && !is_failed && !self.rounds.is_multiple_of(MOST_ROUNDS);
        // At most a tenth of the time.
        let pause = interval.max(now.saturating_sub(self.began).saturating_mul(10));
        Inspected { found, next: Some(if at_once { now } else { now.saturating_add(pause) }) }
    }
}

impl Fabric {
    /// When the next look at a site is due if it comes after the usual time.
    pub(crate) fn usual_look(&self, now: Duration, site: Site, interval: Duration) -> Duration {
        let sites = self.switches.len().max(1);
        // Not all at the same time.
        let turn = interval / u32::try_from(sites).unwrap_or(u32::MAX);
        let turn = turn.saturating_mul(u32::try_from(site.switch() % sites).unwrap_or(0));
        now.saturating_add(turn.max(interval / 2))
    }

    /// The next look at a site is due at this time. False if there is no such site.
    pub(crate) fn look_at(&mut self, at: Duration, site: Site) -> bool {
        let Some(state) = self.switches.get_mut(site.switch()) else { return false };
        match site {
            Site::Switch(_) => state.inspection.schedule(at),
            Site::Gates(_) => state.gates_inspection.schedule(at),
        }
        true
    }

    /// It is time to look at a site: what reads it, if this is the time that was set last. These tasks are under way there.
    pub(crate) fn inspect<'t>(
        &mut self,
        now: Duration,
        time: Duration,
        site: Site,
        tasks: impl Iterator<Item = &'t Task>,
    ) -> Option<Task> {
        let is_ready = self.is_ready(site);
        let state = self.switches.get_mut(site.switch())?;
        let due = match site {
            Site::Switch(_) => state.inspection.at,
            Site::Gates(_) => state.gates_inspection.at,
        };
        if due != Some(time) || !is_ready {
            return None;
        }
        Some(match site {
            Site::Switch(switch) => {
                let mut places = Places::default();
                tasks.for_each(|task| touch_places(&mut places, task));
                state.inspection.begin(now, places);
                Task::Read(switch)
            }
            Site::Gates(switch) => {
                let mut keys = BTreeSet::new();
                tasks.for_each(|task| touch_keys(&mut keys, task));
                state.gates_inspection.begin(now, keys);
                Task::ReadGates(switch)
            }
        })
    }

    /// A task begins: what it is about is not compared by a reading that has begun before.
    pub(crate) fn touch(&mut self, task: &Task) {
        let Some(state) = task.site().and_then(|site| self.switches.get_mut(site.switch())) else { return };
        if let Some(places) = &mut state.inspection.touched {
            touch_places(places, task);
        }
        if let Some(keys) = &mut state.gates_inspection.touched {
            touch_keys(keys, task);
        }
    }

    /// When the latest look at a site began.
    pub(crate) fn looked_at(&self, site: Site) -> Option<Duration> {
        let state = self.switches.get(site.switch())?;
        Some(match site {
            Site::Switch(_) => state.inspection.began,
            Site::Gates(_) => state.gates_inspection.began,
        })
    }

    /// A switch was read: what has to be done first to put it right, if anything, and what is wrong, in words.
    pub(crate) fn compare(&mut self, switch: usize, content: &SwitchContent) -> Option<(Step, String)> {
        let state = self.switches.get_mut(switch)?;
        let places = state.inspection.touched.take()?;
        let is_learned = |cookie| cookie == entries::LEARNED;
        let (less, more) = state.table.repair_but(content, &places, is_learned);
        if less.is_empty() && more.is_empty() {
            return None;
        }
        state.inspection.found = true;
        let what = differences(&less, &more, content, &state.table);
        // What comes after is found by the next reading: in between others may change what they like.
        let first = installs(switch, &less, false).into_iter().chain(installs(switch, &more, false)).next();
        Some((first?, what))
    }

    /// Gates were read: what has to be done to put them right, if anything, and what is wrong, in words.
    pub(crate) fn compare_gates(&mut self, switch: usize, there: &[ContractState]) -> Option<(Step, String)> {
        let state = self.switches.get_mut(switch)?;
        let touched = state.gates_inspection.touched.take()?;
        let mut changes = Vec::new();
        let (mut missing, mut other, mut unknown) = (0, 0, 0);
        for found in there {
            let key = GateKey { port: found.port, flow: found.key };
            if !touched.contains(&key) && !state.gates.contains_key(&key) {
                unknown += 1;
                changes.push(GateChange::Remove(key));
            }
        }
        for (key, contract) in state.gates.iter().filter(|(key, _)| !touched.contains(key)) {
            let found = there.iter().find(|found| (found.port, found.key) == (key.port, key.flow));
            match found {
                Some(found) if found.contract == *contract => continue,
                Some(_) => other += 1,
                None => missing += 1,
            }
            changes.push(GateChange::Set(*key, *contract));
        }
        if changes.is_empty() {
            return None;
        }
        state.gates_inspection.found = true;
        changes.truncate(MOST_CONTRACTS);
        let tasks = changes.into_iter().map(|change| Task::Gate { switch, change, sure: false });
        let step = Step::of(tasks.collect());
        let what = told(&[("contracts", missing, other, unknown)]);
        Some((step, what))
    }

    /// A look at a site that is ready has ended.
    pub(crate) fn inspected(
        &mut self,
        now: Duration,
        site: Site,
        is_failed: bool,
        interval: Duration,
    ) -> Option<Inspected> {
        if !self.is_ready(site) {
            return None;
        }
        let state = self.switches.get_mut(site.switch())?;
        Some(match site {
            Site::Switch(_) => state.inspection.end(now, is_failed, interval),
            Site::Gates(_) => state.gates_inspection.end(now, is_failed, interval),
        })
    }
}

fn touch_places(places: &mut Places, task: &Task) {
    if let Task::Install { messages, .. } = task {
        Table::touch(places, messages);
    }
}

fn touch_keys(keys: &mut BTreeSet<GateKey>, task: &Task) {
    if let Task::Gate { change, .. } = task {
        match change {
            GateChange::Set(key, _) | GateChange::Remove(key) => {
                keys.insert(*key);
            }
            GateChange::Replace(list) => keys.extend(list.iter().map(|(key, _)| *key)),
        }
    }
}

/// How what a switch has differs from what it is to have, in words.
fn differences(less: &[Message], more: &[Message], content: &SwitchContent, wanted: &Table) -> String {
    let mut counts = [("flow entries", 0, 0, 0), ("groups", 0, 0, 0), ("meters", 0, 0, 0)];
    for message in less.iter().chain(more) {
        let (index, is_removed, is_there) = match message {
            Message::FlowMod(flow) => {
                let is_there = content.flows.iter().any(|found| {
                    (found.table, found.priority) == (flow.table, flow.priority)
                        && found.matching.is_same_as(&flow.matching)
                });
                (0, flow.command != FlowCommand::Add, is_there)
            }
            Message::GroupMod(group) => {
                (1, group.command == GroupCommand::Delete, group.command == GroupCommand::Modify)
            }
            Message::MeterMod(meter) => {
                (2, meter.command == MeterCommand::Delete, meter.command == MeterCommand::Modify)
            }
            _ => continue,
        };
        let Some((_, missing, other, unknown)) = counts.get_mut(index) else { continue };
        match (is_removed, is_there) {
            (true, _) => *unknown += 1,
            (false, true) => *other += 1,
            (false, false) => *missing += 1,
        }
    }
    let all = wanted.count(|_| true);
    format!("{} (of {all} entries)", told(&counts))
}

/// What is missing, different and unknown of each kind, in words.
fn told(counts: &[(&str, usize, usize, usize)]) -> String {
    let mut words: Vec<String> = Vec::new();
    for (kind, missing, other, unknown) in counts {
        for (count, what) in [(missing, "missing"), (other, "different"), (unknown, "unknown")] {
            if *count > 0 {
                words.push(format!("{kind}: {count} {what}"));
            }
        }
    }
    words.join(", ")
}
