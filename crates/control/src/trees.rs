//! Trees: one flow of a writer for readers at several places, copied by switches. A second reader makes one, others join it, and
//! branches that no reader needs any more are cut off. Where there is none, each reader has a flow of its own.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::Plan;
use latency::switch::Guard;

use crate::action::Pair;
use crate::losses::Role;
use crate::requests::{Goal, Progress, Wish};
use crate::reservations::{End, GrantPhase, Granted, suits};
use crate::resource_manager::ResourceManager;

/// Ends of a tree, at most: copies of a group.
const MOST_ENDS: usize = 64;

impl ResourceManager {
    /// Serves a pair by a tree of its writer that there is. False if it has to have a flow of its own, or found a tree.
    pub(crate) fn served_by_tree(&mut self, now: Duration, wish: &Wish, own: Option<u64>) -> bool {
        let pair = wish.pair;
        let is_ours = |grant: &&Granted| {
            let last = self.reservations.at(grant.source, grant.destination) == Some(grant.number);
            let same = (grant.writer, grant.source, grant.contract) == (pair.0, wish.source, wish.contract);
            let leaves = grant.is_leaving();
            grant.is_tree() && last && same && !leaves
        };
        let Some(tree) = self.reservations.all().find(is_ours) else { return false };
        if tree.hops.iter().any(|hop| self.fabric.leads_to_drained(hop.link)) {
            return false;
        }
        // Readers that are served by one that was restored have to say so before it changes.
        let known = self.requests.are_served_by(&tree.pairs, tree.number);
        let is_here = tree.ends.iter().any(|end| end.to == wish.destination);
        if !tree.is_held() || !known && !is_here {
            self.requests.park(pair);
            return true;
        }
        let number = tree.number;
        if let Some(at) = tree.ends.iter().position(|end| end.to == wish.destination) {
            if !suits(tree.ends.get(at), wish) {
                return false;
            }
            self.join(now, number, pair, at);
            return true;
        }
        // A flow of its own that serves it is as good as a branch.
        if self.reservations.at(wish.source, wish.destination).is_some() || self.requests.is_alone(now, pair)
        {
            return false;
        }
        if self.reservations.is_entangled(number) {
            let ends_soon = |grant: &Granted| match &grant.phase {
                GrantPhase::Leaving { awaiting, .. } => awaiting.is_empty(),
                _ => true,
            };
            let soon = self.reservations.all().filter(|grant| grant.is_same_flow(tree)).all(ends_soon);
            if soon {
                self.requests.park(pair);
            }
            return soon;
        }
        self.graft(now, number, wish, own)
    }

    /// A reader joins a tree by a branch, beside which all stays as it is. False if there is no room for it.
    pub(crate) fn graft(&mut self, now: Duration, number: u64, wish: &Wish, own: Option<u64>) -> bool {
        let Some(tree) = self.reservations.get(number).cloned() else { return false };
        let Some(goal) = wish.goals.first().copied().filter(|goal| goal.address.is_some()) else {
            return false;
        };
        let is_settled = own.is_some_and(|own| self.requests.is_settled(wish.pair, own));
        let is_there = |end: &End| self.fabric.network().host_at(&tree, end) == Some(goal.host);
        if tree.ends.len() >= MOST_ENDS
            || tree.ends.iter().any(is_there)
            || self.requests.has_before(wish.pair)
        {
            return false;
        }
        let ways = self.fabric.trees(wish, self.config.ways);
        let branch = self.reservations.branch_to(self.fabric.network(), &tree, wish, goal, &ways);
        let Some((admitted, mut hops, mut all)) = branch else { return false };
        if self.reservations.numbers().give_groups(self.fabric.network(), &mut hops).is_err() {
            let links: Vec<_> = hops.iter().map(|hop| (hop.link, hop.parent)).collect();
            let lacking = self.reservations.numbers().lacking_groups(self.fabric.network(), &links);
            // Who has what it asks for takes nothing from others.
            let pairs = BTreeSet::from_iter((!is_settled).then_some(wish.pair));
            return !self.fit_alone(&pairs) && self.yields_groups(now, &pairs, &lacking);
        }
        all.pair = wish.pair;
        let mut at = tree.at.clone();
        at.retain(|pair, _| tree.pairs.contains(pair));
        at.insert(wish.pair, tree.ends.len());
        let id = self.reservations.next_number();
        let Ok(granted) = self.reservations.grant_of(self.fabric.network(), id, &admitted, hops, &all, at)
        else {
            return false;
        };
        // What is promised stays so, and the gate is the same.
        let keeps = |(end, former): (&End, &End)| end.promised <= former.promised;
        if granted.gate != tree.gate || !granted.ends.iter().zip(&tree.ends).all(keeps) {
            return false;
        }
        let replaces = [number].into_iter().chain(own.filter(|own| *own != number)).collect();
        if !self.reservations.grow(self.fabric.network(), number, &granted, &admitted) {
            return false;
        }
        if !is_settled {
            self.requests.work_on(wish.pair);
        }
        self.enter(now, Plan::still(id, admitted), Granted { replaces, ..granted });
        true
    }

    /// Makes a tree for a pair and for others that have or want a flow of the same writer. `None` if there is no such pair, or no room;
    /// false if something else has to end before.
    pub(crate) fn found_tree(&mut self, now: Duration, wish: &Wish, own: Option<u64>) -> Option<bool> {
        let pair = wish.pair;
        let (_, entry) = self.fabric.network().access(wish.from)?;
        let first = self.fabric.network().switch_of(self.fabric.network().links.get(entry)?.from)?;
        let guard = self.fabric.network().switches.get(first)?.model.guard;
        if matches!(guard, Guard::Meters { .. }) || self.requests.is_alone(now, pair) {
            return None;
        }
        let mut all = wish.clone();
        all.goals.retain(|goal| goal.address.is_some());
        let mut at = BTreeMap::from([(pair, 0)]);
        let mut replaces: Vec<u64> = own.into_iter().collect();
        let siblings = self.reservations.all().filter(|grant| {
            let same = (grant.writer, grant.source, grant.contract) == (pair.0, wish.source, wish.contract);
            same && !grant.is_tree() && grant.role == Role::Alone
        });
        for grant in siblings {
            match grant.phase {
                GrantPhase::Held => {}
                GrantPhase::Installing { .. } | GrantPhase::Restored => {
                    self.requests.park(pair);
                    return Some(true);
                }
                GrantPhase::Leaving { .. } => continue,
            }
            let (Some(end), Some(mut goal)) =
                (grant.ends.first(), self.fabric.network().wish_of(grant)?.goals.pop())
            else {
                continue;
            };
            goal.address = self.fabric.ethernet_of(end.to.address);
            // What it was promised is what it keeps.
            goal.maximum_latency = end.promised;
            let settled = grant.pairs.iter().all(|pair| self.requests.is_settled(*pair, grant.number));
            if settled && Some(grant.number) != own && may_reach(&all, &goal) {
                at.extend(grant.pairs.iter().map(|pair| (*pair, all.goals.len())));
                all.goals.push(goal);
                replaces.push(grant.number);
            }
        }
        for (other, asked) in self.requests.of_writer(pair.0) {
            let waits = matches!(asked.progress, Progress::Queued | Progress::Parked);
            if !waits
                || asked.grant.is_some()
                || at.contains_key(&other)
                || self.requests.is_alone(now, other)
            {
                continue;
            }
            // The policy may allow each of them, and not all together.
            let beside: BTreeSet<Pair> = at.keys().copied().collect();
            let Ok(theirs) = self.examine_with(other, &beside) else { continue };
            let same =
                theirs.losses.is_none() && (theirs.source, theirs.contract) == (wish.source, wish.contract);
            let Some(goal) = theirs.goals.first().filter(|_| same) else { continue };
            if let Some(index) = all.goals.iter().position(|known| known.to == goal.to) {
                at.insert(other, index);
                let known = all.goals.get_mut(index)?;
                known.tighten(goal.maximum_latency, goal.maximum_separation);
            } else if may_reach(&all, goal) {
                at.insert(other, all.goals.len());
                all.goals.push(*goal);
            }
        }
        if all.goals.len() < 2 || at.is_empty() || all.goals.first()?.to != wish.destination {
            return None;
        }
        all.destination = self.reservations.free_group(wish.destination)?;
        let trees = self.fabric.trees(&all, self.config.ways);
        let plan = self.reservations.plan(&self.fabric.network().flow(&all)?, &trees).ok()?;
        if self.is_behind_others(pair, &plan) {
            return None;
        }
        if !plan.phases.is_empty() {
            if self.immovable(&plan).is_some() {
                return None;
            }
            if self.operations.changing() > 0 {
                return Some(false);
            }
        }
        let unserved = |pair: &&Pair| self.requests.get(**pair).is_some_and(|asked| asked.grant.is_none());
        let pairs: BTreeSet<Pair> = at.keys().filter(unserved).copied().collect();
        let Ok(granted) = self.reservations.granted(self.fabric.network(), &plan, &all, replaces, at) else {
            let links: Vec<_> = plan.admitted.flow.tree.iter().map(|hop| (hop.port, hop.parent)).collect();
            let lacking = self.reservations.numbers().lacking_groups(self.fabric.network(), &links);
            return (!self.fit_alone(&pairs) && self.yields_groups(now, &pairs, &lacking)).then_some(true);
        };
        self.install(now, plan, granted);
        Some(true)
    }

    /// Whether each of these pairs could have a flow of its own beside what there is.
    fn fit_alone(&self, pairs: &BTreeSet<Pair>) -> bool {
        self.reservations.fit_all(pairs.iter().map(|pair| self.flow_and_trees(*pair)))
    }
}

/// Whether a wish may have this goal, too: one for each host.
fn may_reach(wish: &Wish, goal: &Goal) -> bool {
    let apart = wish.goals.iter().all(|known| known.host != goal.host);
    apart && goal.address.is_some() && wish.goals.len() < MOST_ENDS
}
