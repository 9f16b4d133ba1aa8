//! Ports that are declared full: they take no further flows.
//!
//! A share that is more than what the port needs keeps room for flows to come, and is jitter at every later hop all the same. Where no flow
//! is to come it may be taken down to the present bound: what arrives at later ports becomes less, and the time is free for later hops that
//! may get further flows, the more the more load is there. No earlier hop gets any of it, since that would be jitter at the ports between. So on
//! its way no flow has spent more of its limit at any hop than before, no port is offered more, and no share at a port that is not full is
//! less. The share at the end of a way is jitter nowhere and stays what it is, as a reserve for when others have to be split again.
//!
//! That is a phase like those of [`reshare`](crate::reshare), with the same states between. No promise rests on the declaration: once it
//! is withdrawn, ports take flows that leave all shares as they are.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::group::Group;
use crate::ledger::{FlowId, Ledger, Phase, Plan};
use crate::network::{Flow, Hop};
use crate::units::scale_down;

/// Flows whose shares are taken down together, at most.
const MOST_FLOWS: usize = 256;
/// Up to so many flows are taken down for a new flow whatever work that takes.
const FEW_FLOWS: usize = 32;
/// How often full ports are looked at one by one: what one of them frees may make another one's bound less.
const ROUNDS: usize = 3;

impl Ledger {
    /// From now on these ports take no further flows, and no others are full. Flows that they have stay, and may be put back.
    pub fn declare_full(&mut self, ports: impl IntoIterator<Item = usize>) {
        self.full = ports.into_iter().collect();
    }

    /// Whether a port takes no further flows.
    pub fn is_full(&self, port: usize) -> bool {
        self.full.contains(&port)
    }

    /// The first of some hops whose port takes no further flows.
    pub(crate) fn full_port_of<'h>(&self, mut hops: impl Iterator<Item = &'h Hop>) -> Option<usize> {
        if self.full.is_empty() {
            return None;
        }
        hops.find(|hop| self.is_full(hop.port)).map(|hop| hop.port)
    }

    /// Takes shares at full ports down to what these need now, and gives the time to later hops. Flows keep what they are promised, at each step of
    /// each of the phases in the order in which they come; they have been carried out in this ledger.
    pub fn take_down(&mut self) -> Vec<Phase> {
        let mut phases = Vec::new();
        let all = self.passing(self.full.iter().copied());
        if all.len() <= MOST_FLOWS {
            self.take_down_these(&all, &mut phases);
            return phases;
        }
        let full: Vec<usize> = self.full.iter().copied().collect();
        for _ in 0..ROUNDS {
            let known = phases.len();
            for port in &full {
                let flows = self.passing(core::iter::once(*port));
                self.take_down_these(&flows, &mut phases);
            }
            if phases.len() == known {
                break;
            }
        }
        phases
    }

    fn take_down_these(&mut self, flows: &BTreeSet<FlowId>, phases: &mut Vec<Phase>) {
        if let Some(phase) = self.taken_down(flows, true) {
            self.change(&phase);
            phases.push(phase);
        }
    }

    /// The flows that go on behind one of some full ports.
    fn passing(&self, ports: impl Iterator<Item = usize>) -> BTreeSet<FlowId> {
        let goes_on = |entry: &&crate::ledger::Entry| {
            self.flow(entry.flow).is_some_and(|admitted| has_later(&admitted.flow, entry.hop))
        };
        ports.flat_map(|port| self.entries(port)).filter(goes_on).map(|entry| entry.flow).collect()
    }

    /// A plan for a new flow for which shares are taken down at full ports, as far as that makes less arrive at its own.
    pub(crate) fn take_down_for(&self, id: FlowId, flow: &Flow) -> Option<Plan> {
        if self.full.is_empty() || self.work().is_sparing() {
            return None;
        }
        let passes_full = |id: &FlowId, hop: usize| {
            let flow = self.flow(*id).map(|admitted| &admitted.flow);
            flow.is_some_and(|flow| {
                let before = ancestors(flow, hop).filter_map(|hop| flow.tree.get(hop));
                self.full_port_of(before).is_some()
            })
        };
        let mut flows = BTreeSet::new();
        for hop in &flow.tree {
            let entries = self.entries(hop.port);
            self.charge(hop.port, 8 * entries.len()).ok()?;
            let here = entries.iter().filter(|entry| passes_full(&entry.flow, entry.hop));
            flows.extend(here.map(|entry| entry.flow));
        }
        if flows.is_empty() || flows.len() > MOST_FLOWS {
            return None;
        }
        let most = if flows.len() <= FEW_FLOWS { u64::MAX } else { self.work().again() };
        // Changes that free no guard are tried first.
        self.work().part(most, || {
            [false, true].into_iter().find_map(|frees_guards| {
                let phase = self.taken_down(&flows, frees_guards)?;
                self.behind(phase, id, flow)
            })
        })
    }

    /// A plan for a flow that begins with a phase of others.
    fn behind(&self, phase: Phase, id: FlowId, flow: &Flow) -> Option<Plan> {
        let copied = self.ports().iter().enumerate().map(|(port, _)| 1 + self.entries(port).len()).sum();
        self.work().charge_each(copied)?;
        let mut then = self.clone();
        then.change(&phase);
        let mut plan = then.plan_beside(id, flow).ok()?;
        let changed = phase.shares.iter().flat_map(|change| &change.to.flow.tree);
        let seen: BTreeSet<usize> = changed.chain(&flow.tree).map(|hop| hop.port).collect();
        plan.basis = seen.into_iter().filter_map(|port| self.seen(port)).collect();
        plan.phases.insert(0, phase);
        self.leaves_all(plan).ok()
    }

    /// What these flows change so that their shares at full ports are what these need; `None` if that is nothing, or takes more work than
    /// there may be. Unless guards are free, nothing that holds a flow to its contract becomes narrower.
    fn taken_down(&self, flows: &BTreeSet<FlowId>, frees_guards: bool) -> Option<Phase> {
        let having = || flows.iter().filter_map(|id| Some((*id, self.admitted(*id)?)));
        [true, false].into_iter().find_map(|gives| {
            let members = having().map(|(id, admitted)| (&admitted.flow, id, Arc::clone(admitted)));
            let mut group = Group::new(self, members, None, frees_guards)?;
            group.take_down(gives)?;
            let phase = group.phase().filter(Phase::changes_something)?;
            let first = phase.shares.first()?;
            // Limits that rest on more than shares also hold.
            let still = Plan::still(first.flow, (*first.to).clone());
            let plan = self.leaves_all(Plan { phases: alloc::vec![phase], ..still }).ok()?;
            plan.phases.into_iter().next()
        })
    }
}

impl Group<'_> {
    /// Members that have shares get the least ones at full ports from which they go on, and the time goes to later hops, if `gives`.
    fn take_down(&mut self, gives: bool) -> Option<()> {
        let ledger = self.ledger;
        for member in &mut self.members {
            let before = &member.before.as_ref()?.shares;
            let all = member.flow.tree.iter().zip(before).zip(&mut member.least).enumerate();
            for (hop, ((place, so_far), least)) in all {
                if !(ledger.is_full(place.port) && has_later(member.flow, hop)) {
                    *least = *so_far;
                }
            }
        }
        self.raise_all().ok()?;
        let lowest: Vec<Vec<u64>> = self.members.iter().map(|member| member.shares.clone()).collect();
        let given: Vec<Vec<u64>> = self.given()?;
        // Quarters of it.
        let parts: &[u64] = if gives { &[4, 2, 1] } else { &[0] };
        for parts in parts {
            for (at, (lowest, given)) in lowest.iter().zip(&given).enumerate() {
                let with = |(lowest, given): (&u64, &u64)| {
                    lowest.saturating_add(scale_down(*given, *parts, 4).unwrap_or(0))
                };
                self.set_shares(at, lowest.iter().zip(given).map(with).collect()).ok()?;
            }
            if self.raise_further().is_ok() && self.spends_no_more() == Some(true) && self.all_keep() {
                return Some(());
            }
        }
        None
    }

    /// For each member and hop the part of what is free before it. Of a flow whose limits rest on more than its shares nothing is free.
    fn given(&self) -> Option<Vec<Vec<u64>>> {
        let of = |member: &crate::group::Member<'_>| {
            let before = member.before.as_ref()?;
            let tree = &member.flow.tree;
            let mut given = alloc::vec![0_u64; tree.len()];
            if !before.by_sum {
                return Some(given);
            }
            let weights: Vec<u64> =
                tree.iter().enumerate().map(|(hop, place)| self.ledger.weight(hop, place.port)).collect();
            // By hop, the largest sum of the weights behind it.
            let mut behind = alloc::vec![0_u64; tree.len()];
            for (hop, place) in tree.iter().enumerate().rev() {
                let own = weights.get(hop)?.saturating_add(*behind.get(hop)?);
                if let Some(parent) = place.parent {
                    let known = behind.get_mut(parent)?;
                    *known = own.max(*known);
                }
            }
            // By hop, what is free behind it.
            let mut free: Vec<u64> = Vec::with_capacity(tree.len());
            for (hop, place) in tree.iter().enumerate() {
                let come = place.parent.and_then(|parent| free.get(parent)).copied().unwrap_or(0);
                let weight = *weights.get(hop)?;
                let all = weight.saturating_add(*behind.get(hop)?);
                let part = if weight > 0 { scale_down(come, weight, all)? } else { 0 };
                *given.get_mut(hop)? = part;
                let (so_far, now) = (before.shares.get(hop)?, member.shares.get(hop)?);
                free.push(come.checked_sub(part)?.checked_add(so_far.saturating_sub(*now))?);
            }
            Some(given)
        };
        self.members.iter().map(of).collect()
    }

    /// Whether no member spends more of its limit up to any of its hops than before.
    fn spends_no_more(&self) -> Option<bool> {
        for member in &self.members {
            let before = &member.before.as_ref()?.shares;
            let mut spent: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
            for (hop, (place, shares)) in
                member.flow.tree.iter().zip(before.iter().zip(&member.shares)).enumerate()
            {
                let (so_far, now) =
                    place.parent.and_then(|parent| spent.get(&parent)).copied().unwrap_or((0, 0));
                let (so_far, now) = (so_far.checked_add(*shares.0)?, now.checked_add(*shares.1)?);
                if now > so_far {
                    return Some(false);
                }
                spent.insert(hop, (so_far, now));
            }
        }
        Some(true)
    }
}

/// Whether a flow goes on behind a hop.
fn has_later(flow: &Flow, hop: usize) -> bool {
    flow.tree.iter().any(|later| later.parent == Some(hop))
}

/// The hops before one, the next first.
fn ancestors(flow: &Flow, hop: usize) -> impl Iterator<Item = usize> {
    let parent = |hop: usize| flow.tree.get(hop).and_then(|hop| hop.parent);
    core::iter::successors(parent(hop), move |hop| parent(*hop))
}
