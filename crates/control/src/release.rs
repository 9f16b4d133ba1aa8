//! How grants end: participants hear of it, then switches and gates forget the flow, then its place is free.
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use openflow::Message;
use openflow::meter::MeterMod;
use openflow::words::MeterId;
use wire::admission::{State, Verdict};

use crate::action::{Action, GateChange, Pair, Room, StoreChange};
use crate::fabric::Site;
use crate::install::{Again, Outcome};
use crate::operations::{Chore, Ended, Kind, Step, Task, Timer};
use crate::requests::{Progress, cut};
use crate::reservations::{GrantPhase, Granted};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// An operation has ended.
    pub(crate) fn ended(&mut self, now: Duration, ended: Ended) {
        let Ended { kind, failed, full, missed, kept } = ended;
        match kind {
            Kind::Admit { number, plan } => {
                let waits = failed.is_some() && self.yields_place(now, number, &full);
                let mut lacks_groups = false;
                for (site, room) in full {
                    if let (Site::Switch(switch), Room::Groups) = (site, room) {
                        self.learn_most_groups(now, number, switch);
                        lacks_groups = true;
                    }
                }
                let again = match (waits, lacks_groups) {
                    (true, _) => Again::WithRoom,
                    (false, true) => Again::WithoutGroups,
                    (false, false) => Again::Later,
                };
                self.installed_grant(now, number, &plan, Outcome { failed, missed, kept, again });
                self.requests.room_is_settled();
            }
            Kind::Join { number, pair, serial } => self.joined(now, number, pair, serial, failed),
            Kind::Farewell { number, pairs } => {
                pairs.into_iter().for_each(|pair| self.say_last(pair));
                self.operations.add_chore(Chore::Release(number));
            }
            Kind::Release { number } => {
                if missed.is_empty() {
                    self.gone(now, number);
                } else {
                    self.still_missing(number, missed);
                }
            }
            Kind::Tree | Kind::Store => {}
            Kind::Inspect(site) => self.inspected(now, site, failed),
            Kind::Prepare { switch, version } => {
                self.prepared(now, Site::Switch(switch), version, failed);
            }
            Kind::PrepareGates { switch, version } => {
                self.prepared(now, Site::Gates(switch), version, failed);
            }
        }
        self.want_pruning();
        self.requests.unpark();
    }

    /// A switch has refused a group of a grant for want of room: for the grace it counts as having as many as the others need.
    fn learn_most_groups(&mut self, now: Duration, number: u64, switch: usize) {
        if self.reservations.learn_most_groups(self.fabric.network(), number, switch) {
            self.operations.wake(now.saturating_add(self.config.grace), Timer::Groups(switch));
        }
    }

    /// What is stored of a grant knows a pair now, unless that has failed.
    pub(crate) fn joined(
        &mut self,
        now: Duration,
        number: u64,
        pair: Pair,
        serial: u64,
        failed: Option<String>,
    ) {
        let Some(asked) = self.requests.get(pair) else { return };
        // It may have left, or asked for something else meanwhile.
        let grant = self.reservations.get(number).filter(|grant| grant.pairs.contains(&pair));
        if asked.progress != Progress::Working || asked.serial != serial {
            return;
        }
        // A grant that is about to take the place of this one, for this pair too, answers it.
        let takes = |new: &Granted| {
            let comes = new.is_installing() && !new.is_tree();
            comes && new.replaces.contains(&number) && new.pairs.contains(&pair)
        };
        if grant.is_some()
            && asked.grant.is_none_or(|had| had == number)
            && self.reservations.all().any(takes)
        {
            self.requests.serve_by(pair, number, None);
            return;
        }
        match failed {
            None if grant.is_some_and(|grant| grant.is_held()) => {
                let former = asked.grant.filter(|former| *former != number);
                self.admitted(now, pair, number);
                if let Some(former) = former {
                    self.give_way(now, former, number, &BTreeSet::from([pair]));
                }
            }
            None => self.requests.park(pair),
            Some(reason) => {
                self.refuse_for_now(now, pair, &reason);
                self.leave(now, number, pair, &reason);
            }
        }
    }

    /// A pair does not need its grant any more; without pairs the grant goes.
    pub(crate) fn leave(&mut self, now: Duration, number: u64, pair: Pair, reason: &str) {
        if !self.reservations.remove_pair(number, pair) {
            return;
        }
        let verdict = self.revocation(number, pair, reason);
        let Some(grant) = self.reservations.get(number) else { return };
        match grant.phase {
            GrantPhase::Installing { .. } | GrantPhase::Leaving { .. } => {}
            GrantPhase::Held | GrantPhase::Restored if grant.pairs.is_empty() => {
                self.farewell(now, number, verdict.into_iter().collect());
            }
            GrantPhase::Held | GrantPhase::Restored => {
                if let Some(verdict) = verdict {
                    self.operations.act(Action::Publish { token: None, verdict: Box::new(verdict) });
                }
                self.say_last(pair);
                self.store_without(now, number, pair);
            }
        }
    }

    /// What is stored of a grant does not know a pair any more.
    pub(crate) fn store_without(&mut self, now: Duration, number: u64, pair: Pair) {
        if self.operations.is_moving(number) {
            self.reservations.lose_pair(number, pair);
        }
        let change = StoreChange::Put(Box::new(self.stored_grant(number)));
        let store = Step::of(alloc::vec![Task::Store { change, sure: true }]);
        self.start(now, Kind::Join { number, pair, serial: 0 }, alloc::vec![store]);
    }

    /// What a pair without a request hears when its grant goes; one with a request hears what becomes of that.
    fn revocation(&self, number: u64, pair: Pair, reason: &str) -> Option<Verdict> {
        let grant = self.reservations.get(number).filter(|_| !self.requests.contains(pair))?;
        if let Some(verdict) = self.requests.turned_away(pair) {
            let was_admitted = grant.serials.contains_key(&pair);
            let state = if was_admitted { State::Revoked } else { State::Refused };
            return Some(Verdict { state, ..verdict.clone() });
        }
        Some(Verdict {
            writer: pair.0.to_bytes(),
            reader: pair.1.to_bytes(),
            serial: grant.serials.get(&pair).copied().unwrap_or(0),
            epoch: self.requests.epoch(),
            state: State::Revoked,
            source: grant.source,
            destination: grant.destination,
            reason: cut(reason),
            ..Verdict::default()
        })
    }

    /// A pair's grant is gone, or is being taken from it. If it has no request, it was turned away, or nothing is left to say.
    pub(crate) fn say_last(&mut self, pair: Pair) {
        if self.requests.contains(pair) {
            return;
        }
        let action = match self.requests.turned_away(pair) {
            Some(verdict) => Action::Publish { token: None, verdict: Box::new(verdict.clone()) },
            None => Action::Dispose(pair),
        };
        self.operations.act(action);
        self.forget_turned_away();
    }

    /// Forgets requests that were turned away, once no flow of them is left and none is told that it goes: the refusal has to be the last verdict.
    pub(crate) fn forget_turned_away(&mut self) {
        let (reservations, operations) = (&self.reservations, &self.operations);
        let is_there = |pair| !reservations.serving(pair).is_empty() || operations.says_farewell_to(pair);
        self.requests.keep_turned_away(is_there);
    }

    /// A grant cannot stay; its requests are looked at again.
    pub(crate) fn revoke(&mut self, now: Duration, number: u64, reason: &str) {
        let number = self.reservations.leader_of(number);
        let Some(grant) = self.reservations.get(number) else { return };
        match grant.phase {
            GrantPhase::Leaving { .. } => return,
            GrantPhase::Installing { .. } => {
                if !self.undo_change(number, reason) {
                    self.reservations.doom(number, reason);
                }
                return;
            }
            GrantPhase::Held | GrantPhase::Restored => {}
        }
        let pairs = self.reservations.take_pairs(number);
        let (mut verdicts, mut revoked) = (Vec::new(), Vec::new());
        for pair in pairs {
            match self.requests.revoke(pair, reason) {
                Some(verdict) => {
                    verdicts.extend(verdict);
                    revoked.push(pair);
                }
                None => verdicts.extend(self.revocation(number, pair, reason)),
            }
        }
        revoked.into_iter().for_each(|pair| self.note_verdict(pair));
        self.farewell(now, number, verdicts);
        self.requests.look_again();
    }

    /// The participants hear that the grant goes; then it does.
    pub(crate) fn farewell(&mut self, now: Duration, number: u64, verdicts: Vec<Verdict>) {
        self.reservations.leave(number, BTreeSet::new());
        let pairs = verdicts.iter().map(Verdict::pair).collect();
        let tasks = verdicts.into_iter().map(|verdict| Task::Announce(Box::new(verdict))).collect();
        self.start(now, Kind::Farewell { number, pairs }, alloc::vec![Step::of(tasks)]);
    }

    /// Takes a grant out of switches and gates. False if another one is about to take its place: the entries and gates are that one's if it comes,
    /// and this one's again if it fails.
    pub(crate) fn begin_release(&mut self, now: Duration, number: u64) -> bool {
        let Some(grant) = self.reservations.get(number) else { return true };
        if !grant.will_be_gone() {
            return true;
        }
        if grant.role.together().is_some() {
            self.release_together(now, number);
            return true;
        }
        if self.reservations.is_being_changed(number) {
            self.reservations.wait_with_release(number);
            return true;
        }
        // What another grant between the same ends has put in its place stays.
        let heir = self.reservations.at(grant.source, grant.destination).filter(|heir| *heir != number);
        let heir = heir.and_then(|heir| self.reservations.get(heir));
        let kept = heir.map(|heir| self.fabric.network().flow_entries(heir)).unwrap_or_default();
        let mut deletes = Step::default();
        for (index, (switch, entry)) in self.fabric.network().flow_entries(grant).into_iter().enumerate() {
            let is_kept = kept.iter().any(|(at, other)| (*at, other.in_port) == (switch, entry.in_port));
            let mut messages: Vec<Message> = if is_kept { Vec::new() } else { alloc::vec![entry.delete()] };
            messages.extend(entry.delete_group());
            if let Some(meter) = grant.meter.filter(|_| index == 0) {
                messages.push(Message::MeterMod(MeterMod::delete(MeterId(meter))));
            }
            if !messages.is_empty() {
                deletes.tasks.push(Task::Install { switch, messages, sure: true });
            }
        }
        let mut steps = alloc::vec![deletes];
        if let (Some((key, _)), Some(switch)) = (grant.gate, self.fabric.network().first_switch(&grant.hops))
            && heir.and_then(|heir| heir.gate).is_none_or(|(other, _)| other != key)
        {
            let change = GateChange::Remove(key);
            steps.push(Step::of(alloc::vec![Task::Gate { switch, change, sure: true }]));
        }
        // Frames that are queued are still before others, and what they have delayed is until the link pauses.
        let busy = self.reservations.longest_busy(number);
        let longest = Duration::from_nanos(grant.longest());
        steps.push(Step::of(alloc::vec![Task::Hold(longest.saturating_add(busy))]));
        let change = StoreChange::Remove(number);
        steps.push(Step::of(alloc::vec![Task::Store { change, sure: true }]));
        self.start(now, Kind::Release { number }, steps);
        true
    }

    /// A grant is gone, but for places that are away; those that have come back since have nothing of it.
    pub(crate) fn still_missing(&mut self, number: u64, missed: BTreeSet<Site>) {
        let missed: BTreeSet<Site> = missed.into_iter().filter(|site| !self.fabric.is_ready(*site)).collect();
        let again = missed.is_empty();
        self.reservations.leave(number, missed);
        if again {
            self.operations.add_chore(Chore::Release(number));
        } else {
            // Who has waited for its place does not get it soon.
            self.requests.look_again();
        }
    }

    /// Nothing of a grant is left: its place is free.
    pub(crate) fn gone(&mut self, now: Duration, number: u64) {
        if !self.reservations.remove(self.fabric.network(), number) {
            return;
        }
        for covered in self.reservations.uncover(self.fabric.network(), number) {
            self.revoke(now, covered, "its place is not there any more");
        }
        self.forget_turned_away();
        self.want_rates();
        self.requests.look_again();
    }

    /// A grant as it is stored.
    pub(crate) fn stored_grant(&self, number: u64) -> crate::grant::Grant {
        match self.reservations.get(number) {
            Some(grant) => self.to_store(grant),
            None => crate::grant::Grant::default(),
        }
    }

    /// How many requests and grants there are, for those who log.
    pub fn summary(&self) -> String {
        let held = self.reservations.held();
        format!(
            "{} requests, {held} grants in force, {} under way",
            self.requests.len(),
            self.operations.len()
        )
    }
}
