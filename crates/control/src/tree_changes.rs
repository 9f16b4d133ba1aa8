//! How trees take the place of what was there: of flows for one reader each, or of a tree with fewer or more ends.
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Offer, Plan};
use wire::admission::State;

use crate::action::Pair;
use crate::operations::{Chore, Kind, Step, Task, Timer};
use crate::requests::Progress;
use crate::reservations::{GrantPhase, Granted, GrantedHop};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Whether a pair has what a tree that comes takes the place of: it stays served whatever becomes of the tree.
    pub(crate) fn is_served(&self, pair: Pair, tree: &Granted) -> bool {
        // Who is of the former tree, or has joined it just now, is of this one.
        let changes = self.reservations.is_change(tree);
        let has_one = self.requests.get(pair).is_some_and(|asked| {
            let answered = matches!(asked.progress, Progress::Answered { .. });
            answered && asked.grant.is_some_and(|grant| tree.replaces.contains(&grant))
        });
        tree.is_tree() && (changes || has_one)
    }

    /// A tree is in force. Pairs of former grants are served by it from now on, if they have not asked for something else
    /// meanwhile; those are returned. Who neither has asked nor was served is not of it any more.
    pub(crate) fn take_over(&mut self, now: Duration, number: u64, former: &[u64]) -> Vec<Pair> {
        let Some(tree) = self.reservations.get(number).cloned() else { return Vec::new() };
        let mut moved = Vec::new();
        let mut strangers = Vec::new();
        for pair in &tree.pairs {
            let Some(asked) = self.requests.get(*pair) else { continue };
            let had = asked.grant.filter(|grant| former.contains(grant));
            let same =
                had.and_then(|had| self.reservations.get(had)).is_some_and(|had| had.is_same_flow(&tree));
            // What is under way for who has the same flow already is another grant: until that comes it keeps what it has.
            if asked.progress == Progress::Working && !same {
                continue;
            }
            let settled = matches!(asked.progress, Progress::Answered { .. })
                && asked.serial == asked.request.serial
                && asked.verdict.state == State::Admitted;
            let serial = asked.verdict.serial;
            let verdict =
                wire::admission::Verdict { serial, ..self.requests.admission(&tree, &asked.request) };
            let asks = matches!(asked.progress, Progress::Queued | Progress::Parked);
            // It has joined a former one a moment ago, for more than it would get here.
            let keeps = settled && !same && asked.wants_more_than(tree.promised_to(*pair));
            if had.is_some() && (same || settled) && !keeps {
                moved.push(*pair);
                self.reservations.set_serial(number, *pair, serial);
                self.requests.serve_by(*pair, number, settled.then_some(verdict));
            } else if had.is_some() || !asks {
                strangers.push(*pair);
            }
        }
        self.reservations.remove_pairs(number, &strangers);
        if let Some(pair) = strangers.first() {
            self.store_without(now, number, *pair);
        }
        moved
    }

    /// A grant gives way to another one that serves these pairs. Where packets go elsewhere from now on, it ends when all have heard
    /// that and what is under way has arrived.
    pub(crate) fn give_way(&mut self, now: Duration, old: u64, new: u64, pairs: &BTreeSet<Pair>) {
        let Some(flow) = self.reservations.get(new).map(|new| (new.source, new.destination)) else { return };
        let gone = self.reservations.remove_pairs(old, pairs);
        let Some(grant) = self.reservations.get(old) else { return };
        let same = (grant.source, grant.destination) == flow;
        let (is_empty, longest) = (grant.pairs.is_empty(), grant.longest());
        match grant.phase {
            // It was not to go before.
            GrantPhase::Leaving { .. } => self.release_waiting(old),
            GrantPhase::Held if is_empty && !same => {
                self.reservations.leave(old, BTreeSet::new());
                let asked = gone.iter().filter_map(|pair| self.requests.get(*pair));
                let announce = asked.filter(|asked| asked.grant == Some(new));
                let announce = announce.map(|asked| Task::Announce(Box::new(asked.verdict.clone())));
                let hold = Task::Hold(Duration::from_nanos(longest));
                let steps = [announce.collect(), alloc::vec![hold]].map(Step::of).to_vec();
                self.start(now, Kind::Farewell { number: old, pairs: Vec::new() }, steps);
            }
            // No reader is to hear that this one goes.
            GrantPhase::Held if is_empty => self.farewell(now, old, Vec::new()),
            GrantPhase::Held | GrantPhase::Restored => {
                if let Some(pair) = gone.first() {
                    self.store_without(now, old, *pair);
                }
                // It stays for others, so that no step waits until these have heard.
                gone.into_iter().filter(|_| !same).for_each(|pair| self.publish(pair));
            }
            GrantPhase::Installing { .. } => {
                if let Some(pair) = gone.first() {
                    self.reservations.lose_pair(old, *pair);
                }
            }
        }
    }

    /// What was to take the place of a grant has come or failed: its release begins if it has waited for that.
    pub(crate) fn release_waiting(&mut self, number: u64) {
        if self.reservations.end_wait_with_release(number) {
            self.operations.add_chore(Chore::Release(number));
        }
    }

    /// A tree did not come about for this pair: it gets a flow of its own.
    pub(crate) fn try_alone(&mut self, now: Duration, pair: Pair) {
        let until = now.saturating_add(self.config.grace);
        match self.requests.try_alone(pair, until) {
            Some(true) => self.operations.wake(until, Timer::Retry(pair)),
            Some(false) => {}
            None => self.refuse(now, pair, "", Offer::default(), false),
        }
    }

    /// What changes a tree is given up and undone, so that the tree stays as it was. False if the grant is nothing like that.
    pub(crate) fn undo_change(&mut self, number: u64, reason: &str) -> bool {
        let Some(grant) = self.reservations.get(number).filter(|grant| grant.is_tree()) else { return false };
        self.reservations.is_change(grant) && self.operations.give_up(number, reason)
    }

    /// A change of trees has failed: the next try waits for the grace, since what is in the way may stay.
    pub(crate) fn prune_later(&mut self, now: Duration, trees: &[u64]) {
        for number in trees {
            if self.reservations.prune_waits(*number) {
                self.operations.wake(now.saturating_add(self.config.grace), Timer::Prune(*number));
            }
        }
    }

    /// Branches may be cut off a tree again.
    pub(crate) fn prune_again(&mut self, number: u64) {
        if self.reservations.prune_waits_no_more(number) {
            self.want_pruning();
        }
    }

    /// Trees with an end that no reader needs get rid of it when nothing else changes them.
    pub(crate) fn want_pruning(&mut self) {
        let wanting = self.reservations.all().filter(|grant| self.can_be_pruned(grant));
        for number in wanting.map(|grant| grant.number).collect::<Vec<_>>() {
            if !self.operations.has_chore(Chore::Prune(number)) {
                self.operations.add_chore(Chore::Prune(number));
            }
        }
    }

    fn can_be_pruned(&self, grant: &Granted) -> bool {
        let needs = |end: usize| grant.pairs.iter().any(|pair| grant.at.get(pair) == Some(&end));
        grant.is_tree()
            && grant.is_held()
            && !grant.prune_waits
            && !grant.pairs.is_empty()
            && !(0..grant.ends.len()).all(needs)
            && self.requests.are_served_by(&grant.pairs, grant.number)
            && !self.reservations.is_entangled(grant.number)
    }

    /// Takes the branches of a tree away that no reader needs. It is always begun, or not needed.
    pub(crate) fn begin_prune(&mut self, now: Duration, number: u64) -> bool {
        let Some(tree) = self.reservations.get(number).filter(|grant| self.can_be_pruned(grant)) else {
            return true;
        };
        let mut pruned = without_branches(tree);
        pruned.number = self.reservations.next_number();
        // With no group left for the change it stays as it is.
        if self.reservations.numbers().give_groups(self.fabric.network(), &mut pruned.hops).is_err() {
            return true;
        }
        let Some(admitted) = self.reservations.admitted(number).cloned() else { return true };
        self.enter(now, Plan::still(pruned.number, admitted), pruned);
        true
    }
}

/// A tree with only the ends that readers need, to take the place of the one there is.
fn without_branches(tree: &Granted) -> Granted {
    let needed = |end: &usize| tree.pairs.iter().any(|pair| tree.at.get(pair) == Some(end));
    let ends: Vec<usize> = (0..tree.ends.len()).filter(needed).collect();
    let kept = ends.iter().filter_map(|end| tree.ends.get(*end));
    let links: Vec<usize> = kept.flat_map(|end| tree.way_to(end)).map(|hop| hop.link).collect();
    // Where each hop is now.
    let hops = tree.hops.iter().enumerate().filter(|(_, hop)| links.contains(&hop.link));
    let places: Vec<usize> = hops.clone().map(|(index, _)| index).collect();
    let place = |hop: usize| places.iter().position(|kept| *kept == hop);
    let hops = hops.map(|(_, hop)| GrantedHop { parent: hop.parent.and_then(place), ..*hop }).collect();
    let mut pruned = Granted {
        hops,
        phase: GrantPhase::Installing { doomed: None },
        replaces: alloc::vec![tree.number],
        covered_by: Some(tree.number),
        ..tree.clone()
    };
    pruned.ends = ends.iter().filter_map(|end| tree.ends.get(*end).copied()).collect();
    for end in &mut pruned.ends {
        end.hop = place(end.hop).unwrap_or_default();
    }
    pruned.at.retain(|pair, _| tree.pairs.contains(pair));
    for at in pruned.at.values_mut() {
        *at = ends.iter().position(|end| end == at).unwrap_or_default();
    }
    pruned
}
