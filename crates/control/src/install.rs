//! Installation: from a plan to steps, and what happens when they are done.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Move, Offer, Plan};
use latency::order::settling;
use latency::units::NANOSECOND;
use openflow::Message;
use openflow::meter::MeterMod;
use openflow::words::MeterId;

use crate::action::{GateChange, Pair, StoreChange};
use crate::flow_entry::FlowEntry;
use crate::resource_manager::ResourceManager;
use crate::state::{Asked, GrantPhase, Granted, Kind, Progress, Site, Step, Task, Timer};

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

impl ResourceManager {
    /// Enters the plan into the ledger and begins to install it.
    pub(crate) fn install(&mut self, now: Duration, plan: Plan, granted: Granted) {
        let pairs = granted.pairs.clone();
        if !self.ledger.commit(plan.clone()) {
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
        self.next_grant = self.next_grant.max(number.saturating_add(1));
        let mut old = granted.replaces.iter().filter_map(|old| self.grants.get(old));
        let old = old.find(|old| old.is_same_flow(&granted)).cloned();
        self.tuples.insert((granted.source, granted.destination), number);
        self.take_numbers(&granted);
        // Who is served already hears of it when it is in force.
        let pairs: Vec<Pair> =
            granted.pairs.iter().filter(|pair| !self.is_served(**pair, &granted)).copied().collect();
        self.grants.insert(number, granted);
        for pair in &pairs {
            if let Some(asked) = self.asked.get_mut(pair) {
                asked.progress = Progress::Working;
                asked.serial = asked.request.serial;
            }
        }
        let mut steps = self.moving(&plan);
        steps.extend(self.entering(number, old.as_ref()));
        self.start(now, Kind::Admit { number, plan: Box::new(plan) }, steps);
    }

    /// Others change their levels, one after the other, each stored before the next and settled: what is queued at the former level has
    /// left, and with it what the former bounds rest on.
    fn moving(&self, plan: &Plan) -> Vec<Step> {
        let settles = Task::Hold(self.settles(plan));
        let mut moved: BTreeMap<u64, Granted> = BTreeMap::new();
        let mut steps = Vec::new();
        for change in &plan.moves {
            let Some(before) = moved.get(&change.flow).or(self.grants.get(&change.flow)).cloned() else {
                continue;
            };
            let mut after = before.clone();
            after.hops.iter_mut().filter(|hop| hop.link == change.port).for_each(|hop| hop.level = change.to);
            let node = self.network.links.get(change.port).map(|link| link.from);
            let at = node.and_then(|node| self.network.switch_of(node));
            let entry = |grant: &Granted| {
                let entry = self.flow_entries(grant).into_iter().find(|(switch, _)| Some(*switch) == at);
                entry.map(|(switch, entry)| (switch, entry.change()))
            };
            match (entry(&before), entry(&after)) {
                (Some((switch, from)), Some((_, to))) => {
                    let install = |messages, sure| alloc::vec![Task::Install { switch, messages, sure }];
                    steps.push(Step { tasks: install(to, false), undo: install(from, true) });
                }
                _ => {
                    let say = |grant: &Granted| self.announcements(grant);
                    steps.push(Step { tasks: say(&after), undo: say(&before) });
                }
            }
            let put = |grant: &Granted, sure| {
                let grant = Box::new(self.to_store(grant));
                alloc::vec![Task::Store { change: StoreChange::Put(grant), sure }]
            };
            steps.push(Step { tasks: put(&after, false), undo: put(&before, true) });
            steps.push(Step { tasks: alloc::vec![settles.clone()], undo: alloc::vec![settles.clone()] });
            moved.insert(change.flow, after);
        }
        steps
    }

    /// How long frames that were queued before a move of the plan, or before it is undone, are still there.
    fn settles(&self, plan: &Plan) -> Duration {
        let settles = |step: &Move| {
            let entry = self.ledger.entries(step.port).iter().find(|entry| entry.flow == step.flow)?;
            let back = Move { from: step.to, to: step.from, ..*step };
            let longest = settling(&entry.contender, entry.share, step)?;
            Some(longest.max(settling(&entry.contender, entry.share, &back)?))
        };
        // What has no such time does not fit into it; nor would it have been admitted.
        let longest = plan.moves.iter().map(|step| settles(step).unwrap_or(u64::MAX)).max().unwrap_or(0);
        Duration::from_nanos(longest.div_ceil(NANOSECOND))
    }

    /// The verdicts of all pairs of a grant.
    fn announcements(&self, grant: &Granted) -> Vec<Task> {
        let asked = grant.pairs.iter().filter_map(|pair| self.asked.get(pair));
        asked
            .map(|asked| {
                let verdict = self.admission(grant, &asked.request);
                let serial = asked.verdict.serial;
                Task::Announce(Box::new(wire::admission::Verdict { serial, ..verdict }))
            })
            .collect()
    }

    /// The grant goes into gates and switches and is stored. Where it takes the place of one between the same ends, the
    /// switches change first, the last one first, since the gate is what holds the flow to its former contract until then.
    fn entering(&self, number: u64, old: Option<&Granted>) -> Vec<Step> {
        let Some(grant) = self.grants.get(&number) else { return Vec::new() };
        let entries = self.flow_entries(grant);
        let before = old.map(|old| self.flow_entries(old)).unwrap_or_default();
        let former = |switch: usize, entry: &FlowEntry| {
            before.iter().find(|(at, other)| (*at, other.in_port) == (switch, entry.in_port))
        };
        let mut installs = Vec::new();
        for (index, (switch, entry)) in entries.iter().enumerate() {
            let meter = self.meter_of(number, grant.meter).filter(|_| index == 0);
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
            });
        }
        // What the gate has already it is not told again.
        let same_gate = old.is_some_and(|old| old.gate == grant.gate);
        let gate = grant.gate.filter(|_| !same_gate).and_then(|(key, contract)| {
            let switch = self.first_switch(&grant.hops)?;
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
            })
        });
        let mut steps = Vec::new();
        if old.is_some() {
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
        steps.push(Step {
            tasks: alloc::vec![Task::Store { change: put, sure: false }],
            undo: alloc::vec![Task::Store { change: StoreChange::Remove(number), sure: true }],
        });
        steps
    }

    /// A grant has been installed, or has failed to be. Then `again` says how its pairs go on.
    pub(crate) fn installed_grant(
        &mut self,
        now: Duration,
        number: u64,
        plan: &Plan,
        failed: Option<String>,
        missed: BTreeSet<Site>,
        again: Again,
    ) {
        let Some(grant) = self.grants.get_mut(&number) else { return };
        if let Some(reason) = failed {
            let (pairs, old) = (core::mem::take(&mut grant.pairs), grant.replaces.clone());
            let (tuple, is_tree) = ((grant.source, grant.destination), grant.is_tree());
            self.prune_later(now, &old);
            let same = |old: &&Granted| (old.source, old.destination) == tuple;
            let old = old.iter().filter_map(|old| self.grants.get(old)).find(same);
            // Without an older one it keeps its ends to itself until it is gone.
            if let Some(old) = old {
                let old = old.number;
                self.tuples.insert(tuple, old);
                self.release_waiting(old);
            }
            for pair in pairs {
                let is_working =
                    self.asked.get(&pair).is_some_and(|asked| asked.progress == Progress::Working);
                if again == Again::WithRoom && (is_working || !is_tree) {
                    self.refuse_meanwhile(now, pair, &reason, Offer::default(), false);
                    self.timers.insert((now.saturating_add(SOON), Timer::Retry(pair)));
                } else if again == Again::WithoutGroups && is_working {
                    self.enqueue(pair);
                } else if is_tree {
                    self.try_alone(now, pair);
                } else {
                    self.refuse_for_now(now, pair, &reason);
                }
            }
            // Others are back where they were; what has missed that has to come back before this is gone.
            if !plan.moves.is_empty() && self.ledger.undo(plan) || missed.is_empty() {
                self.gone(now, number);
            } else if let Some(grant) = self.grants.get_mut(&number) {
                grant.phase = GrantPhase::Leaving(BTreeSet::new());
                self.still_missing(number, missed);
            }
        } else {
            grant.phase = GrantPhase::Held;
            for change in &plan.moves {
                if let Some(moved) = self.grants.get_mut(&change.flow) {
                    let hops = moved.hops.iter_mut().filter(|hop| hop.link == change.port);
                    hops.for_each(|hop| hop.level = change.to);
                }
                self.moved(now, change.flow);
            }
            self.in_force(now, number);
        }
    }

    /// The verdicts of a flow that has moved say where it is now, and so does what was stored of it meanwhile.
    fn moved(&mut self, now: Duration, number: u64) {
        let Some(grant) = self.grants.get_mut(&number) else { return };
        if let Some(lost) = grant.lost_pair.take() {
            self.store_without(now, number, lost);
        }
        let Some(grant) = self.grants.get(&number) else { return };
        for pair in grant.pairs.clone() {
            let (Some(asked), Some(grant)) = (self.asked.get(&pair), self.grants.get(&number)) else {
                continue;
            };
            let verdict = self.admission(grant, &asked.request);
            if asked.grant == Some(number)
                && let Some(asked) = self.asked.get_mut(&pair)
            {
                asked.verdict.dscp = verdict.dscp;
            }
        }
    }

    /// A grant is in force: its pairs are told, and what it takes the place of goes.
    fn in_force(&mut self, now: Duration, number: u64) {
        let Some(grant) = self.grants.get_mut(&number) else { return };
        let former = core::mem::take(&mut grant.replaces);
        if let Some(reason) = grant.doomed.take() {
            // It cannot stay: it is as if it had not come.
            let (pairs, is_tree) = (core::mem::take(&mut grant.pairs), grant.is_tree());
            for pair in pairs {
                // Who has been served by others stays there.
                if !is_tree || self.asked.get(&pair).is_none_or(|asked| asked.progress == Progress::Working) {
                    self.refuse(now, pair, &reason, Offer::default(), true);
                }
            }
            for old in former {
                self.release_waiting(old);
            }
            self.farewell(now, number, Vec::new());
            self.look_again();
            return;
        }
        let moved = if grant.is_tree() { self.take_over(now, number, &former) } else { Vec::new() };
        let Some(grant) = self.grants.get_mut(&number) else { return };
        if let Some(lost) = grant.lost_pair.take() {
            self.store_without(now, number, lost);
        }
        self.leave_to_others(now, number, &former);
        let Some(grant) = self.grants.get(&number) else { return };
        let pairs = grant.pairs.clone();
        for pair in pairs.iter().filter(|pair| !moved.contains(pair)) {
            match self.asked.get_mut(pair) {
                Some(asked) if asked.progress == Progress::Working => self.admitted(now, *pair, number),
                // It was withdrawn and asked for again meanwhile: its turn comes.
                Some(asked) => asked.grant = Some(number),
                None => {}
            }
        }
        // What was to be replaced may have been replaced by another one meanwhile. For who waits for another one it is not this one
        // that comes next.
        let waits = |asked: &Asked| asked.grant != Some(number) || asked.progress == Progress::Working;
        let mut served = pairs.clone();
        served.retain(|pair| self.asked.get(pair).is_some_and(|asked| !waits(asked)));
        let others = self.grants.values().filter(|other| {
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
            if !self.asked.contains_key(&pair) {
                self.leave(now, number, pair, "nobody asks for it any more");
            }
        }
        let is_idle = |grant: &Granted| grant.pairs.is_empty() && grant.phase == GrantPhase::Held;
        if self.grants.get(&number).is_some_and(is_idle) {
            self.farewell(now, number, Vec::new());
        }
    }

    /// Pairs that another grant has come to serve while this one was on its way in stay there.
    fn leave_to_others(&mut self, now: Duration, number: u64, former: &[u64]) {
        let Some(grant) = self.grants.get(&number) else { return };
        let is_elsewhere = |pair: &Pair| {
            let Some(asked) = self.asked.get(pair) else { return false };
            match asked.progress {
                Progress::Answered { .. } => {
                    asked.grant.is_some_and(|other| other != number && !former.contains(&other))
                }
                _ => grant.gives_too_little(*pair, asked) && self.joins_other(*pair, number),
            }
        };
        let elsewhere: Vec<Pair> = grant.pairs.iter().filter(|pair| is_elsewhere(pair)).copied().collect();
        let Some(pair) = elsewhere.first() else { return };
        if let Some(grant) = self.grants.get_mut(&number) {
            grant.pairs.retain(|pair| !elsewhere.contains(pair));
        }
        self.store_without(now, number, *pair);
    }
}
