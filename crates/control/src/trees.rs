//! Trees: one flow of a writer for readers at several places, copied by switches. A second reader makes one, others join it, and
//! what nobody needs any more is cut off. Where there is none, each reader has a flow of its own.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Admitted, Ledger, Plan};
use latency::network::Hop;
use latency::routes::Tree;
use latency::switch::Guard;
use wire::admission::Socket;

use crate::action::Pair;
use crate::admit::suits;
use crate::requests::{Goal, Wish};
use crate::resource_manager::ResourceManager;
use crate::state::{End, GrantPhase, Granted, GrantedHop, Progress};

/// Ends of a tree, at most: copies of a group.
const MOST_ENDS: usize = 64;
/// The groups of trees: 239.192.0.0/14 (RFC 2365, 6.2).
const FIRST_GROUP: u32 = 0xefc0_0000;
const GROUPS: u64 = 1 << 18;

impl ResourceManager {
    /// Serves a pair by a tree of its writer that there is. False if it has to have a flow of its own, or found a tree.
    pub(crate) fn served_by_tree(&mut self, now: Duration, wish: &Wish, own: Option<u64>) -> bool {
        let pair = wish.pair;
        let is_ours = |grant: &&Granted| {
            let last = self.tuples.get(&(grant.source, grant.destination)) == Some(&grant.number);
            let same = (grant.writer, grant.source, grant.contract) == (pair.0, wish.source, wish.contract);
            let leaves = matches!(grant.phase, GrantPhase::Leaving(_));
            grant.is_tree() && last && same && !leaves
        };
        let Some(tree) = self.grants.values().find(is_ours) else { return false };
        // Whoever is served by one that was restored has to say so before it changes.
        let known = self.all_have_asked(tree);
        let is_here = tree.ends.iter().any(|end| end.to == wish.destination);
        if tree.phase != GrantPhase::Held || !known && !is_here {
            self.park(pair);
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
        if self.tuples.contains_key(&(wish.source, wish.destination)) || self.is_alone(now, pair) {
            return false;
        }
        if self.is_entangled(number) {
            let ends_soon = |grant: &Granted| match &grant.phase {
                GrantPhase::Leaving(awaiting) => awaiting.is_empty(),
                _ => true,
            };
            let soon = self.grants.values().filter(|grant| grant.is_same_flow(tree)).all(ends_soon);
            if soon {
                self.park(pair);
            }
            return soon;
        }
        self.graft(now, number, wish, own)
    }

    /// A reader joins a tree by a branch, beside which all stays as it is. False if there is no room for it.
    pub(crate) fn graft(&mut self, now: Duration, number: u64, wish: &Wish, own: Option<u64>) -> bool {
        let Some(tree) = self.grants.get(&number).cloned() else { return false };
        let Some(goal) = wish.goals.first().copied().filter(|goal| goal.address.is_some()) else {
            return false;
        };
        let is_settled = own.is_some_and(|own| self.is_settled(wish.pair, own));
        let is_there = |end: &End| self.fabric.network().host_at(&tree, end) == Some(goal.host);
        let first_in_turn = self.room_for.iter().filter_map(|other| self.turn(*other)).min();
        if tree.ends.len() >= MOST_ENDS
            || tree.ends.iter().any(is_there)
            || first_in_turn.is_some_and(|first| self.turn(wish.pair).is_some_and(|own| first < own))
        {
            return false;
        }
        let mut without = self.ledger.clone();
        without.remove(number);
        let ways = self.fabric.trees(wish, self.config.ways);
        let branch = ways.iter().find_map(|way| self.branch(&without, &tree, wish, goal, way));
        let Some((admitted, mut hops, mut all)) = branch else { return false };
        if self.numbers.give_groups(self.fabric.network(), &mut hops).is_err() {
            let links: Vec<_> = hops.iter().map(|hop| (hop.link, hop.parent)).collect();
            let lacking = self.numbers.lacking_groups(self.fabric.network(), &links);
            // Who has what it asks for takes nothing from others.
            let pairs = BTreeSet::from_iter((!is_settled).then_some(wish.pair));
            return !self.fit_alone(&pairs) && self.yields_groups(now, &pairs, &lacking);
        }
        all.pair = wish.pair;
        let mut at = tree.at.clone();
        at.retain(|pair, _| tree.pairs.contains(pair));
        at.insert(wish.pair, tree.ends.len());
        let id = self.next_grant;
        let Ok(granted) = self.grant_of(id, &admitted, hops, &all, at) else { return false };
        // What is promised stays so, and the gate is the same.
        let keeps = |(end, former): (&End, &End)| end.promised <= former.promised;
        if granted.gate != tree.gate || !granted.ends.iter().zip(&tree.ends).all(keeps) {
            return false;
        }
        let replaces = [number].into_iter().chain(own.filter(|own| *own != number)).collect();
        self.ledger.remove(number);
        let (shares, levels) = shares_and_levels(&granted.hops);
        if self.ledger.restore(id, &admitted.flow, &shares, &levels).is_err() {
            // It was found on this very ledger.
            self.book(number);
            return false;
        }
        if let Some(tree) = self.grants.get_mut(&number) {
            tree.covered_by = Some(id);
        }
        if let Some(asked) = self.asked.get_mut(&wish.pair).filter(|_| !is_settled) {
            asked.progress = Progress::Working;
        }
        self.enter(now, Plan::still(id, admitted), Granted { replaces, ..granted });
        true
    }

    /// The tree with a branch along the end of a way, on a ledger that has neither.
    fn branch(
        &self,
        ledger: &Ledger,
        tree: &Granted,
        wish: &Wish,
        goal: Goal,
        way: &Tree,
    ) -> Option<(Admitted, Vec<GrantedHop>, Wish)> {
        let link = |hop: usize| self.fabric.network().links.get(hop);
        // Where the way leaves the tree for good.
        let leads_to =
            |node: usize| tree.hops.iter().position(|hop| link(hop.link).map(|link| link.to) == Some(node));
        let (at, from) = way.hops.iter().enumerate().rev().find_map(|(index, hop)| {
            let from = leads_to(link(hop.port)?.from)?;
            Some((index, from))
        })?;
        let branch = way.hops.get(at..)?;
        let trunk = tree.way_to(&End { hop: from, ..*tree.ends.first()? });
        // By itself it says which levels suit, and whether the reader's separation is kept.
        let mut single = self.fabric.network().flow(wish)?;
        let links = trunk.iter().map(|hop| hop.link).chain(branch.iter().map(|hop| hop.port));
        single.tree =
            links.enumerate().map(|(index, port)| Hop { port, parent: index.checked_sub(1) }).collect();
        single.subscribers.iter_mut().for_each(|one| one.hop = single.tree.len().saturating_sub(1));
        let id = self.next_grant;
        let plan = ledger.plan_beside(id, &single).ok().filter(|plan| plan.phases.is_empty())?;
        // What the trunk leaves is shared out in the same proportion.
        let alone = plan.admitted.shares.get(trunk.len()..)?;
        let ports = single.tree.iter().filter_map(|hop| ledger.ports().get(hop.port));
        let limit = single.subscribers.first()?.limit;
        let left = limit
            .checked_sub(latency::path::fixed_latency(&single, ports)?)?
            .checked_sub(trunk.iter().try_fold(0_u64, |sum, hop| sum.checked_add(hop.share))?)?;
        let whole = alone.iter().map(|share| u128::from(*share)).sum::<u128>().max(1);
        let mut hops = tree.hops.clone();
        for (index, ((hop, share), contender)) in
            branch.iter().zip(alone).zip(plan.contenders.get(trunk.len()..)?).enumerate()
        {
            let parent = if index == 0 { from } else { hops.len().checked_sub(1)? };
            let share = u64::try_from(u128::from(*share) * u128::from(left) / whole).ok()?;
            let level = contender.level;
            hops.push(GrantedHop { link: hop.port, parent: Some(parent), share, level, group: None });
        }
        let mut all = self.fabric.network().wish_of(tree)?;
        all.goals.push(goal);
        let last = hops.len().checked_sub(1)?;
        let ends = tree.ends.iter().map(|end| end.hop).chain([last]);
        let flow = self.fabric.network().flow_along(&all, &hops, ends)?;
        let (shares, levels) = shares_and_levels(&hops);
        let admitted = ledger.clone().restore(id, &flow, &shares, &levels).ok()?;
        Some((admitted, hops, all))
    }

    /// Makes a tree for a pair and for others that have or want a flow of the same writer. `None` if there is nobody, or no room;
    /// false if something else has to end before.
    pub(crate) fn found_tree(&mut self, now: Duration, wish: &Wish, own: Option<u64>) -> Option<bool> {
        let pair = wish.pair;
        let (_, entry) = self.fabric.network().access(wish.from)?;
        let first = self.fabric.network().switch_of(self.fabric.network().links.get(entry)?.from)?;
        let guard = self.fabric.network().switches.get(first)?.model.guard;
        if matches!(guard, Guard::Meters { .. }) || self.is_alone(now, pair) {
            return None;
        }
        let mut all = wish.clone();
        all.goals.retain(|goal| goal.address.is_some());
        let mut at = BTreeMap::from([(pair, 0)]);
        let mut replaces: Vec<u64> = own.into_iter().collect();
        let siblings = self.grants.values().filter(|grant| {
            let same = (grant.writer, grant.source, grant.contract) == (pair.0, wish.source, wish.contract);
            same && !grant.is_tree()
        });
        for grant in siblings {
            match grant.phase {
                GrantPhase::Held => {}
                GrantPhase::Installing | GrantPhase::Restored => {
                    self.park(pair);
                    return Some(true);
                }
                GrantPhase::Leaving(_) => continue,
            }
            let (Some(end), Some(mut goal)) =
                (grant.ends.first(), self.fabric.network().wish_of(grant)?.goals.pop())
            else {
                continue;
            };
            goal.address = self.fabric.ethernet_of(end.to.address);
            // What it was promised is what it keeps.
            goal.maximum_latency = end.promised;
            let settled = grant.pairs.iter().all(|pair| self.is_settled(*pair, grant.number));
            if settled && Some(grant.number) != own && may_reach(&all, &goal) {
                at.extend(grant.pairs.iter().map(|pair| (*pair, all.goals.len())));
                all.goals.push(goal);
                replaces.push(grant.number);
            }
        }
        for (other, asked) in self.asked.range((pair.0, wire::Guid::UNKNOWN)..) {
            if other.0 != pair.0 {
                break;
            }
            let waits = matches!(asked.progress, Progress::Queued | Progress::Parked);
            if !waits || asked.grant.is_some() || at.contains_key(other) || self.is_alone(now, *other) {
                continue;
            }
            let Ok(theirs) = self.examine(*other) else { continue };
            let same = (theirs.source, theirs.contract) == (wish.source, wish.contract);
            let Some(goal) = theirs.goals.first().filter(|_| same) else { continue };
            if let Some(index) = all.goals.iter().position(|known| known.to == goal.to) {
                at.insert(*other, index);
                let known = all.goals.get_mut(index)?;
                known.tighten(goal.maximum_latency, goal.maximum_separation);
            } else if may_reach(&all, goal) {
                at.insert(*other, all.goals.len());
                all.goals.push(*goal);
            }
        }
        if all.goals.len() < 2 || at.is_empty() || all.goals.first()?.to != wish.destination {
            return None;
        }
        all.destination = self.free_group(wish.destination.port)?;
        let trees = self.fabric.trees(&all, self.config.ways);
        let plan =
            self.ledger.plan_among(self.next_grant, &self.fabric.network().flow(&all)?, &trees).ok()?;
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
        let unserved = |pair: &&Pair| self.asked.get(*pair).is_some_and(|asked| asked.grant.is_none());
        let pairs: BTreeSet<Pair> = at.keys().filter(unserved).copied().collect();
        let Ok(granted) = self.granted(&plan, &all, replaces, at) else {
            let links: Vec<_> = plan.admitted.flow.tree.iter().map(|hop| (hop.port, hop.parent)).collect();
            let lacking = self.numbers.lacking_groups(self.fabric.network(), &links);
            return (!self.fit_alone(&pairs) && self.yields_groups(now, &pairs, &lacking)).then_some(true);
        };
        self.install(now, plan, granted);
        Some(true)
    }

    /// Whether each of these pairs could have a flow of its own beside what there is.
    fn fit_alone(&self, pairs: &BTreeSet<Pair>) -> bool {
        let mut ledger = self.ledger.clone();
        // Numbers that no grant has.
        (0..u64::MAX).rev().zip(pairs).all(|(number, pair)| {
            let wish = self.examine(*pair).ok();
            let flow = wish.and_then(|wish| {
                Some((self.fabric.network().flow(&wish)?, self.fabric.trees(&wish, self.config.ways)))
            });
            flow.is_some_and(|(flow, trees)| ledger.admit_among(number, &flow, &trees).is_ok())
        })
    }

    /// An address of a group that no grant has.
    fn free_group(&self, port: u16) -> Option<Socket> {
        let used = |address: [u8; 4]| self.grants.values().any(|grant| grant.destination.address == address);
        let group = |number: u64| {
            let offset = u32::try_from(number % GROUPS).unwrap_or(0);
            FIRST_GROUP.saturating_add(offset).to_be_bytes()
        };
        let number = self.next_grant;
        let address = (number..number.saturating_add(GROUPS)).map(group).find(|address| !used(*address))?;
        Some(Socket { address, port })
    }

    /// Enters a grant into the ledger as it is. False if it does not fit, which would be a fault of this crate.
    fn book(&mut self, number: u64) -> bool {
        let Some(grant) = self.grants.get(&number) else { return false };
        let flow = self.fabric.network().wish_of(grant).and_then(|wish| {
            self.fabric.network().flow_along(&wish, &grant.hops, grant.ends.iter().map(|end| end.hop))
        });
        let (shares, levels) = shares_and_levels(&grant.hops);
        flow.is_some_and(|flow| self.ledger.put_back(number, &flow, &shares, &levels).is_ok())
    }

    /// A grant is gone: those in its place in the ledger get one of their own, which is a part of it.
    pub(crate) fn uncover(&mut self, now: Duration, gone: u64) {
        let covered = self.grants.values().filter(|grant| grant.covered_by == Some(gone));
        for number in covered.map(|grant| grant.number).collect::<Vec<_>>() {
            if let Some(grant) = self.grants.get_mut(&number) {
                grant.covered_by = None;
            }
            if !self.book(number) {
                self.revoke(now, number, "its place is not there any more");
            }
        }
    }

    /// Whether a grant has its place in that of another one, or another one in its.
    pub(crate) fn is_entangled(&self, number: u64) -> bool {
        let covers = self.grants.values().any(|grant| grant.covered_by == Some(number));
        covers || self.grants.get(&number).is_some_and(|grant| grant.covered_by.is_some())
    }

    pub(crate) fn is_alone(&self, now: Duration, pair: Pair) -> bool {
        self.asked.get(&pair).is_some_and(|asked| now < asked.alone_until)
    }

    /// Whether a pair has been answered, is served by this grant, and asks for nothing else.
    pub(crate) fn is_settled(&self, pair: Pair, number: u64) -> bool {
        self.asked.get(&pair).is_some_and(|asked| {
            let answered = matches!(asked.progress, Progress::Answered { .. });
            answered && asked.grant == Some(number) && asked.serial == asked.request.serial
        })
    }
}

/// Whether a wish may have this goal, too: one for each host.
fn may_reach(wish: &Wish, goal: &Goal) -> bool {
    let apart = wish.goals.iter().all(|known| known.host != goal.host);
    apart && goal.address.is_some() && wish.goals.len() < MOST_ENDS
}

fn shares_and_levels(hops: &[GrantedHop]) -> (Vec<u64>, Vec<u8>) {
    hops.iter().map(|hop| (hop.share, hop.level)).unzip()
}
