//! What switches and gates have is read back while they are connected, in turns, compared with what they are to have, and put right.
//!
//! What is being changed meanwhile is left out: an operation under way sees to that itself. What was told and not confirmed is not expected, and
//! what was confirmed is.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use gate::protocol::ContractState;
use latency::switch::Guard;
use openflow::Message;
use openflow::flow::FlowCommand;
use openflow::group::GroupCommand;
use openflow::meter::MeterCommand;

use crate::action::{GateChange, GateKey, SwitchContent};
use crate::counted::{Place, Reading};
use crate::entries;
use crate::note::Note;
use crate::operations::{Kind, Step, Task, Timer, installs};
use crate::resource_manager::ResourceManager;
use crate::state::{Granted, Phase, Site};
use crate::table::{Places, Table};

/// Contracts that are put right at a time.
const MOST_CONTRACTS: usize = 64;
/// After so many tries that put nothing right the site has to come back and be prepared anew.
const MOST_FAILURES: u32 = 3;
/// Looks that follow each other at once as long as there is something to put right.
const MOST_ROUNDS: u32 = 16;

impl ResourceManager {
    /// The next look at a site is due after the usual time.
    pub(crate) fn inspect_later(&mut self, now: Duration, site: Site) {
        let sites = self.switches.len().max(1);
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        // Not all at the same time.
        let turn = self.config.inspection / u32::try_from(sites).unwrap_or(u32::MAX);
        let turn = turn.saturating_mul(u32::try_from(switch % sites).unwrap_or(0));
        self.inspect_at(now.saturating_add(turn.max(self.config.inspection / 2)), site);
    }

    fn inspect_at(&mut self, at: Duration, site: Site) {
        if self.config.inspection.is_zero() {
            return;
        }
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        let Some(state) = self.switches.get_mut(switch) else { return };
        let due = match site {
            Site::Switch(_) => {
                (state.inspection.touched, state.inspection.found) = (None, false);
                &mut state.inspection.at
            }
            Site::Gates(_) => {
                (state.gates_inspection.touched, state.gates_inspection.found) = (None, false);
                &mut state.gates_inspection.at
            }
        };
        *due = Some(at);
        self.operations.wake(at, Timer::Inspect(site));
    }

    /// It is time to look at a site, if this is the time that was set last.
    pub(crate) fn inspect(&mut self, now: Duration, time: Duration, site: Site) {
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        let Some(state) = self.switches.get(switch) else { return };
        let due = match site {
            Site::Switch(_) => state.inspection.at,
            Site::Gates(_) => state.gates_inspection.at,
        };
        if due != Some(time) || self.phase(site) != Phase::Ready {
            return;
        }
        let task = match site {
            Site::Switch(_) => {
                let mut places = Places::default();
                for task in self.operations.tasks_at(site) {
                    touch_places(&mut places, task);
                }
                if let Some(state) = self.switches.get_mut(switch) {
                    (state.inspection.at, state.inspection.began) = (None, now);
                    state.inspection.touched = Some(places);
                }
                Task::Read(switch)
            }
            Site::Gates(_) => {
                let mut keys = BTreeSet::new();
                for task in self.operations.tasks_at(site) {
                    touch_keys(&mut keys, task);
                }
                if let Some(state) = self.switches.get_mut(switch) {
                    (state.gates_inspection.at, state.gates_inspection.began) = (None, now);
                    state.gates_inspection.touched = Some(keys);
                }
                Task::ReadGates(switch)
            }
        };
        self.start(now, Kind::Inspect(site), alloc::vec![Step::of(alloc::vec![task])]);
    }

    /// A task begins: what it is about is not compared by a reading that has begun before.
    pub(crate) fn touch(&mut self, task: &Task) {
        let Some(Site::Switch(switch) | Site::Gates(switch)) = task.site() else { return };
        let Some(state) = self.switches.get_mut(switch) else { return };
        if let Some(places) = &mut state.inspection.touched {
            touch_places(places, task);
        }
        if let Some(keys) = &mut state.gates_inspection.touched {
            touch_keys(keys, task);
        }
    }

    /// A switch was read: what has to be done first to put it right, if anything.
    pub(crate) fn compare(&mut self, now: Duration, switch: usize, content: &SwitchContent) -> Option<Step> {
        self.count_entries(now, switch, content);
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
        let site = self.network.site_name(Site::Switch(switch));
        self.note(Note::Different { site, what });
        first
    }

    /// Gates were read: what has to be done to put them right, if anything.
    pub(crate) fn compare_gates(
        &mut self,
        now: Duration,
        switch: usize,
        there: &[ContractState],
    ) -> Option<Step> {
        self.count_gates(now, switch, there);
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
        let site = self.network.site_name(Site::Gates(switch));
        self.note(Note::Different { site, what });
        Some(step)
    }

    /// A look at a site has ended.
    pub(crate) fn inspected(&mut self, now: Duration, site: Site, failed: Option<String>) {
        if self.phase(site) != Phase::Ready {
            return;
        }
        let interval = self.config.inspection;
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        let name = self.network.site_name(site);
        let Some(state) = self.switches.get_mut(switch) else { return };
        let (found, began, failures, rounds) = match site {
            Site::Switch(_) => {
                let inspection = &mut state.inspection;
                (inspection.found, inspection.began, &mut inspection.failures, &mut inspection.rounds)
            }
            Site::Gates(_) => {
                let inspection = &mut state.gates_inspection;
                (inspection.found, inspection.began, &mut inspection.failures, &mut inspection.rounds)
            }
        };
        *rounds = if found { *rounds + 1 } else { 0 };
        // What could only not be read may be right.
        *failures = if failed.is_some() && found { *failures + 1 } else { 0 };
        let gives_up = *failures >= MOST_FAILURES;
        if gives_up {
            *failures = 0;
        }
        // Where somebody else changes it all the time it is put right once in an interval.
        let at_once = found && failed.is_none() && *rounds % MOST_ROUNDS != 0;
        match failed {
            Some(why) => self.note(Note::NotPutRight { site: name, why }),
            None if found => self.note(Note::PutRight(name)),
            None => {}
        }
        if gives_up {
            self.disconnect(now, site);
            return;
        }
        // At most a tenth of the time.
        let pause = interval.max(now.saturating_sub(began).saturating_mul(10));
        let at = if at_once { now } else { now.saturating_add(pause) };
        self.inspect_at(at, site);
    }

    /// Whether flows pass meters at a switch.
    pub(crate) fn has_meters(&self, switch: usize) -> bool {
        let switch = self.network.switches.get(switch);
        switch.is_some_and(|switch| matches!(switch.model.guard, Guard::Meters { .. }))
    }

    fn count_entries(&mut self, now: Duration, switch: usize, content: &SwitchContent) {
        let Some(asked) = self.switches.get(switch).map(|state| state.inspection.began) else { return };
        let mut missing = Vec::new();
        for flow in &content.flows {
            let Some(number) = entries::flow_of(flow.cookie) else { continue };
            let Some(grant) = self.grants.get(&number) else { continue };
            let age = Duration::new(flow.age.seconds.into(), 0);
            let since = now.saturating_sub(age);
            let reading = Reading { asked, answered: now, since, frames: flow.traffic.packets };
            if grant.gate.is_none() && self.first_switch(&grant.hops) == Some(switch) {
                self.counted.first(number, Place::Entry(switch), reading);
            } else if let Some(frames) = self.counted.behind(number, switch, reading) {
                missing.push((number, frames));
            }
        }
        let place = self.network.site_name(Site::Switch(switch));
        for (number, frames) in missing {
            if let Some(ends) = self.ends_of_grant(number) {
                self.note(Note::Missing { ends, place: place.clone(), frames });
            }
        }
        let of_meters = |grant: &Granted| Some((grant.meter?, grant.number));
        let at = |grant: &&Granted| self.first_switch(&grant.hops) == Some(switch);
        let meters: Vec<(u32, u64)> = self.grants.values().filter(at).filter_map(of_meters).collect();
        for (meter, number) in meters {
            let Some(stats) = content.counters.iter().find(|stats| stats.meter.0 == meter) else { continue };
            let dropped = stats.bands.iter().map(|band| band.packets).fold(0, u64::saturating_add);
            self.count_dropped(now, number, dropped, &place);
        }
    }

    fn count_gates(&mut self, now: Duration, switch: usize, there: &[ContractState]) {
        let gate = |grant: &Granted| {
            let (key, _) = grant.gate?;
            (self.first_switch(&grant.hops) == Some(switch)).then_some((key, grant.number))
        };
        let Some(asked) = self.switches.get(switch).map(|state| state.gates_inspection.began) else { return };
        let grants: Vec<(GateKey, u64)> = self.grants.values().filter_map(gate).collect();
        let place = self.network.site_name(Site::Gates(switch));
        for (key, number) in grants {
            let Some(found) = there.iter().find(|found| (found.port, found.key) == (key.port, key.flow))
            else {
                continue;
            };
            let frames = found.counters.frames;
            let reading = Reading { asked, answered: now, since: Duration::ZERO, frames };
            self.counted.first(number, Place::Guard, reading);
            self.count_dropped(now, number, found.counters.dropped(), &place);
        }
    }

    fn count_dropped(&mut self, now: Duration, number: u64, dropped: u64, place: &str) {
        let Some(frames) = self.counted.dropped(now, number, dropped) else { return };
        if let Some(ends) = self.ends_of_grant(number) {
            self.note(Note::Dropped { ends, place: place.into(), frames });
        }
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
