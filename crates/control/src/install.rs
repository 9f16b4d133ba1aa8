//! Installation: from a plan to steps, and what happens when they are done.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Move, Offer, Phase, Plan};
use latency::units::NANOSECOND;
use openflow::Message;
use openflow::meter::MeterMod;
use openflow::words::MeterId;

use crate::action::{GateChange, Pair, StoreChange};
use crate::fabric::Site;
use crate::flow_entry::FlowEntry;
use crate::operations::{Kind, Step, Task, Timer};
use crate::requests::{Asked, Progress};
use crate::reservations::{Granted, with_level, with_shares};
use crate::resource_manager::ResourceManager;

/// The wait before something is tried again for which room is being made at a switch.
const SOON: Duration = Duration::from_millis(100);

/// When the pairs of a grant that could not be installed are looked at again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Again {
    /// Soon: room is being made for it.
    WithRoom,
    /// At once: a switch has fewer groups than it has said, which is known now.
    WithoutGroups,
    /// After the grace, trees as flows for each reader before that.
    Later,
}

/// How an installation has ended.
pub(crate) struct Outcome {
    /// Why it has failed, if it has; then the rest counts.
    pub(crate) failed: Option<String>,
    /// Sites that have missed something sure.
    pub(crate) missed: BTreeSet<Site>,
    /// How many changes of others have come, which stay: see [`Plan::kept`].
    pub(crate) kept: usize,
    pub(crate) again: Again,
}

impl ResourceManager {
    /// Enters the plan into the ledger and begins to install it.
    pub(crate) fn install(&mut self, now: Duration, plan: Plan, granted: Granted) {
        let pairs = granted.pairs.clone();
        if !self.reservations.commit(plan.clone()) {
            // It was made on this very ledger.
            for pair in pairs {
                self.refuse(now, pair, "the plan did not hold: ask again", Offer::default(), true);
            }
            return;
        }
        self.enter(now, plan, granted);
    }

    /// Begins to install a grant that has its place in the ledger.
    pub(crate) fn enter(&mut self, now: Duration, plan: Plan, granted: Granted) {
        let number = granted.number;
        let old = self.reservations.of(&granted.replaces).find(|old| old.is_same_flow(&granted)).cloned();
        // Who is served already hears of it when it is in force.
        let pairs: Vec<Pair> =
            granted.pairs.iter().filter(|pair| !self.is_served(**pair, &granted)).copied().collect();
        self.reservations.insert(self.fabric.network(), granted);
        pairs.iter().for_each(|pair| self.requests.work_on_latest(*pair));
        let mut steps = self.making_room(&plan);
        steps.extend(self.entering(number, old.as_ref()));
        self.start(now, Kind::Admit { number, plan: Box::new(plan) }, steps);
    }

    /// Others make room, phase by phase: first they share their latency out anew, then they change their levels.
    fn making_room(&self, plan: &Plan) -> Vec<Step> {
        let mut now: BTreeMap<u64, Granted> = BTreeMap::new();
        let mut steps = Vec::new();
        for phase in &plan.phases {
            steps.extend(self.sharing(phase, &mut now));
            for change in &phase.moves {
                steps.extend(self.moving(change, time_of(phase.pause), &mut now));
            }
        }
        steps
    }

    /// Flows share their latency out anew. Gates that let less through come first, and what came by them before is gone when others let
    /// more through. As soon as the new shares are stored they are those in force, whatever becomes of the rest: all promises are kept with
    /// them, and a gate that is narrower than it may be does no harm, since what it gets does not depend on other gates.
    fn sharing(&self, phase: &Phase, now: &mut BTreeMap<u64, Granted>) -> Vec<Step> {
        let (mut narrow, mut wide) = (Step::default(), Step::default());
        let (mut before_all, mut after_all) = (Vec::new(), Vec::new());
        for change in &phase.shares {
            let Some(before) = now.get(&change.flow).or(self.reservations.get(change.flow)).cloned() else {
                continue;
            };
            let after = with_shares(&before, &change.to);
            if let (Some((key, old)), Some((_, new))) = (before.gate, after.gate)
                && old != new
                && let Some(switch) = self.fabric.network().first_switch(&after.hops)
            {
                let set =
                    |contract, sure| Task::Gate { switch, change: GateChange::Set(key, contract), sure };
                if new.tolerance < old.tolerance || new.window < old.window {
                    narrow.tasks.push(set(new, false));
                    narrow.undo.push(set(old, true));
                } else {
                    wide.tasks.push(set(new, true));
                }
            }
            before_all.push(self.to_store(&before));
            after_all.push(self.to_store(&after));
            now.insert(change.flow, after);
        }
        let wait = (!narrow.tasks.is_empty()).then(|| {
            let hold = Task::Hold(time_of(phase.settles));
            Step::of(alloc::vec![hold])
        });
        let put = |grants, sure| alloc::vec![Task::Store { change: StoreChange::PutAll(grants), sure }];
        let stored = (!after_all.is_empty()).then(|| Step {
            tasks: put(after_all, false),
            undo: put(before_all, true),
            ..Step::default()
        });
        let keep = Step { keeps: true, ..Step::default() };
        [Some(narrow), wait, stored, Some(keep), Some(wide)].into_iter().flatten().collect()
    }

    /// A flow changes its level. From when that is stored it is so, whatever becomes of the rest: the way back may not be one on which all
    /// promises are kept. Then what is queued at the former level leaves, and with it what the former bounds rest on.
    fn moving(&self, change: &Move, pause: Duration, now: &mut BTreeMap<u64, Granted>) -> Vec<Step> {
        let Some(before) = now.get(&change.flow).or(self.reservations.get(change.flow)).cloned() else {
            return Vec::new();
        };
        let after = with_level(&before, change);
        let put = |grant: &Granted, sure| {
            let grant = Box::new(self.to_store(grant));
            alloc::vec![Task::Store { change: StoreChange::Put(grant), sure }]
        };
        let stored = Step { tasks: put(&after, false), undo: put(&before, true), ..Step::default() };
        let hold = || alloc::vec![Task::Hold(pause)];
        // If it is the last step, others wait as well.
        let keep = Step { undo: hold(), keeps: true, ..Step::default() };
        let node = self.fabric.network().links.get(change.port).map(|link| link.from);
        let at = node.and_then(|node| self.fabric.network().switch_of(node));
        let entry =
            self.fabric.network().flow_entries(&after).into_iter().find(|(switch, _)| Some(*switch) == at);
        let tasks = match entry {
            Some((switch, entry)) => {
                alloc::vec![Task::Install { switch, messages: entry.change(), sure: true }]
            }
            None => self.announcements(&after),
        };
        now.insert(change.flow, after);
        Vec::from([stored, keep, Step::of(tasks), Step::of(hold())])
    }

    /// So many changes of others are so from now on.
    fn have_made_room(&mut self, now: Duration, plan: &Plan, kept: usize) {
        let changed = self.reservations.have_made_room(plan, kept);
        changed.into_iter().for_each(|number| self.moved(now, number));
    }

    /// The verdicts of all pairs of a grant.
    fn announcements(&self, grant: &Granted) -> Vec<Task> {
        if grant.role.leader().is_some() {
            return self.announcements_beside(grant);
        }
        let asked = grant.pairs.iter().filter_map(|pair| self.requests.get(*pair));
        asked
            .map(|asked| {
                let verdict = self.admission(grant, &asked.request);
                let serial = asked.verdict.serial;
                Task::Announce(Box::new(wire::admission::Verdict { serial, ..verdict }))
            })
            .collect()
    }

    /// The grant goes into gates and switches and is stored. Where it takes the place of one between the same ends, the
    /// switches change first, the last one first, since the gate is what holds the flow to its former contract until then. A new one is stored
    /// first while the store takes none: nothing is put in, at each try, to be taken out again.
    fn entering(&self, number: u64, old: Option<&Granted>) -> Vec<Step> {
        let Some(grant) = self.reservations.get(number) else { return Vec::new() };
        let entries = self.fabric.network().flow_entries(grant);
        let before = old.map(|old| self.fabric.network().flow_entries(old)).unwrap_or_default();
        let former = |switch: usize, entry: &FlowEntry| {
            before.iter().find(|(at, other)| (*at, other.in_port) == (switch, entry.in_port))
        };
        let mut installs = Vec::new();
        for (index, (switch, entry)) in entries.iter().enumerate() {
            let meter = self.reservations.meter_of(number, grant.meter).filter(|_| index == 0);
            let back = match former(*switch, entry) {
                Some((_, former)) => former.flow(),
                None => entry.delete(),
            };
            let mut undo = alloc::vec![back];
            undo.extend(entry.delete_group());
            undo.extend(
                meter.as_ref().and_then(|_| Some(Message::MeterMod(MeterMod::delete(MeterId(grant.meter?))))),
            );
            let messages = meter.into_iter().chain(entry.add()).collect();
            let switch = *switch;
            installs.push(Step {
                tasks: alloc::vec![Task::Install { switch, messages, sure: false }],
                undo: alloc::vec![Task::Install { switch, messages: undo, sure: true }],
                ..Step::default()
            });
        }
        // What the gate has already it is not told again.
        let same_gate = old.is_some_and(|old| old.gate == grant.gate);
        let gate = grant.gate.filter(|_| !same_gate).and_then(|(key, contract)| {
            let switch = self.fabric.network().first_switch(&grant.hops)?;
            let back = match old.and_then(|old| old.gate).filter(|(old, _)| *old == key) {
                Some((key, contract)) => GateChange::Set(key, contract),
                None => GateChange::Remove(key),
            };
            Some(Step {
                tasks: alloc::vec![Task::Gate {
                    switch,
                    change: GateChange::Set(key, contract),
                    sure: false
                }],
                undo: alloc::vec![Task::Gate { switch, change: back, sure: true }],
                ..Step::default()
            })
        });
        let mut steps = Vec::new();
        if let Some(old) = old
            && self.way_is_cut(old).is_some()
        {
            // Frames that passed the former gate are gone, or lost on the former path, before any frame takes the new one.
            steps.extend(gate);
            steps.push(Step::of(alloc::vec![Task::Hold(Duration::from_nanos(old.longest()))]));
            steps.extend(installs);
        } else if old.is_some() {
            installs.reverse();
            steps.extend(installs);
            steps.extend(gate);
        } else {
            steps.extend(gate);
            let mut all = Step::default();
            for step in installs {
                all.tasks.extend(step.tasks);
                all.undo.extend(step.undo);
            }
            steps.push(all);
        }
        let put = StoreChange::Put(Box::new(self.to_store(grant)));
        let stored = Step {
            tasks: alloc::vec![Task::Store { change: put, sure: false }],
            undo: alloc::vec![Task::Store { change: StoreChange::Remove(number), sure: true }],
            ..Step::default()
        };
        let is_first = old.is_none() && self.operations.takes_no_grant();
        steps.insert(if is_first { 0 } else { steps.len() }, stored);
        steps
    }

    /// A grant has been installed, or has failed to be.
    pub(crate) fn installed_grant(&mut self, now: Duration, number: u64, plan: &Plan, outcome: Outcome) {
        let Outcome { failed, missed, kept, again } = outcome;
        let Some(grant) = self.reservations.get(number) else { return };
        if let Some(reason) = failed {
            let (old, tuple, is_tree) =
                (grant.replaces.clone(), (grant.source, grant.destination), grant.is_tree());
            let pairs = self.reservations.take_pairs(number);
            self.prune_later(now, &old);
            let same = |old: &&Granted| (old.source, old.destination) == tuple;
            let old = self.reservations.of(&old).find(same).map(|old| old.number);
            // Without an older one it keeps its ends to itself until it is gone.
            if let Some(old) = old {
                self.reservations.give_back_flow(tuple, old);
                self.release_waiting(old);
            }
            let cut = old.filter(|old| {
                self.reservations.get(*old).is_some_and(|grant| self.way_is_cut(grant).is_some())
            });
            if let Some(old) = cut {
                self.revoke_if_cut(now, old);
            }
            for pair in pairs {
                let is_working = self.requests.is_working(pair);
                if again == Again::WithRoom && (is_working || !is_tree) {
                    self.refuse_meanwhile(now, pair, &reason, Offer::default(), false);
                    self.operations.wake(now.saturating_add(SOON), Timer::Retry(pair));
                } else if again == Again::WithoutGroups && is_working {
                    self.requests.enqueue(pair);
                } else if is_tree {
                    self.try_alone(now, pair);
                } else if self.keeps_former(pair, old) {
                    // It was to leave a switch that is drained, and stays for now.
                } else {
                    self.refuse_for_now(now, pair, &reason);
                }
            }
            // Others are where they were, or as far as they have come. If that is all the way, this may have come as well: what has missed that it
            // is over has to come back before it is gone.
            self.have_made_room(now, plan, kept);
            let mut phases = plan.phases.iter().zip(plan.kept(kept));
            let may_be_there = phases.all(|(phase, (shares, moves))| shares && moves == phase.moves.len());
            let takes_back = missed.is_empty() || !may_be_there;
            if takes_back && self.reservations.undo_but(plan, kept) || missed.is_empty() {
                self.gone(now, number);
            } else {
                self.still_missing(number, missed);
            }
        } else {
            let doomed = self.reservations.hold(number);
            self.have_made_room(now, plan, usize::MAX);
            self.in_force(now, number, doomed);
            // Where others would have had to change levels in no safe order, they may have to change others now.
            self.requests.look_again();
        }
    }

    /// The verdicts of a flow that has made room say where it is now, and so does what was stored of it meanwhile.
    fn moved(&mut self, now: Duration, number: u64) {
        if let Some(lost) = self.reservations.take_lost_pair(number) {
            self.store_without(now, number, lost);
        }
        self.moved_beside(number);
        let Some(grant) = self.reservations.get(number) else { return };
        for pair in grant.pairs.clone() {
            let (Some(asked), Some(grant)) = (self.requests.get(pair), self.reservations.get(number)) else {
                continue;
            };
            let verdict = self.requests.admission(grant, &asked.request);
            self.requests.set_dscp(pair, number, verdict.dscp);
        }
    }

    /// A grant is in force: its pairs are told, and what it takes the place of goes.
    fn in_force(&mut self, now: Duration, number: u64, doomed: Option<String>) {
        let Some(is_tree) = self.reservations.get(number).map(Granted::is_tree) else { return };
        let former = self.reservations.take_replaced(number);
        if let Some(reason) = doomed {
            // It cannot stay: it is as if it had not come.
            let pairs = self.reservations.take_pairs(number);
            for pair in pairs {
                // Who has been served by others stays there.
                if !is_tree || self.requests.get(pair).is_none_or(|asked| asked.progress == Progress::Working)
                {
                    self.refuse(now, pair, &reason, Offer::default(), true);
                }
            }
            for old in former {
                self.release_waiting(old);
            }
            self.farewell(now, number, Vec::new());
            self.requests.look_again();
            return;
        }
        let moved = if is_tree { self.take_over(now, number, &former) } else { Vec::new() };
        if let Some(lost) = self.reservations.take_lost_pair(number) {
            self.store_without(now, number, lost);
        }
        self.leave_to_others(now, number, &former);
        let Some(grant) = self.reservations.get(number) else { return };
        let pairs = grant.pairs.clone();
        for pair in pairs.iter().filter(|pair| !moved.contains(pair)) {
            match self.requests.get(*pair).map(Asked::is_working) {
                Some(true) => self.admitted(now, *pair, number),
                // It was withdrawn and asked for again meanwhile: its turn comes.
                Some(false) => self.requests.serve_by(*pair, number, None),
                None => {}
            }
        }
        // What was to be replaced may have been replaced by another one meanwhile. For who waits for another one it is not this one
        // that comes next.
        let waits = |asked: &Asked| asked.grant != Some(number) || asked.progress == Progress::Working;
        let mut served = pairs.clone();
        served.retain(|pair| self.requests.get(*pair).is_some_and(|asked| !waits(asked)));
        let others = self.reservations.all().filter(|other| {
            other.number != number && !former.contains(&other.number) && !other.pairs.is_disjoint(&served)
        });
        let others: Vec<u64> = others.map(|other| other.number).collect();
        for old in former {
            self.give_way(now, old, number, &pairs);
        }
        for old in others {
            self.give_way(now, old, number, &served);
        }
        for pair in pairs {
            if !self.requests.contains(pair) {
                self.leave(now, number, pair, "no reader asks for it any more");
            }
        }
        let is_idle = |grant: &Granted| grant.pairs.is_empty() && grant.is_held();
        if self.reservations.get(number).is_some_and(is_idle) {
            self.farewell(now, number, Vec::new());
        }
    }

    /// Pairs that another grant has come to serve while this one was on its way in stay there.
    fn leave_to_others(&mut self, now: Duration, number: u64, former: &[u64]) {
        let Some(grant) = self.reservations.get(number) else { return };
        let is_elsewhere = |pair: &Pair| {
            let Some(asked) = self.requests.get(*pair) else { return false };
            match asked.progress {
                Progress::Answered { .. } => {
                    asked.grant.is_some_and(|other| other != number && !former.contains(&other))
                }
                _ => {
                    asked.wants_more_than(grant.promised_to(*pair))
                        && self.operations.joins_other(*pair, number)
                }
            }
        };
        let elsewhere: Vec<Pair> = grant.pairs.iter().filter(|pair| is_elsewhere(pair)).copied().collect();
        let Some(pair) = elsewhere.first() else { return };
        self.reservations.remove_pairs(number, &elsewhere);
        self.store_without(now, number, *pair);
    }
}

fn time_of(picoseconds: u64) -> Duration {
    Duration::from_nanos(picoseconds.div_ceil(NANOSECOND))
}
