//! Choices around an admission: which of several ways, and who yields to a more important flow.
use alloc::vec::Vec;

use crate::admission::may_find_room;
use crate::ledger::{FlowId, Ledger, Plan, Reason};
use crate::network::{Flow, Policing};
use crate::routes::Tree;

/// How many less important flows a flow may displace.
pub const MOST_YIELDING: usize = 64;

impl Ledger {
    /// The flow along the best of several trees: of those that are admitted the one with the fewest changes of levels,
    /// then with the fewest hops, then with the least load on its ports; of equals the first. Trees over a port that is declared full do
    /// not count. Only where none is admitted so, shares of others are split again.
    ///
    /// For each tree the subscribers of the flow are at its ends, in their order. The reason of the first tree if none is
    /// admitted; an error in the flow if there is no tree.
    pub fn plan_among(&self, id: FlowId, flow: &Flow, trees: &[Tree]) -> Result<Plan, Reason> {
        let full = |tree: &&Tree| self.full_port_of(tree.hops.iter()).is_some();
        if let Some(first) = trees.iter().find(full) {
            let open: Vec<Tree> = trees.iter().filter(|tree| !full(tree)).cloned().collect();
            let port = self.full_port_of(first.hops.iter()).unwrap_or(0);
            return if open.is_empty() {
                Err(Reason::Full { port })
            } else {
                self.plan_among(id, flow, &open)
            };
        }
        let mut refusal = None;
        let mut best = self.best_of(flow, trees, |along| {
            self.plan_beside(id, along).map_err(|reason| *refusal.get_or_insert(reason)).ok()
        });
        if best.is_none() && refusal.as_ref().is_some_and(may_find_room) {
            best = self.best_of(flow, trees, |along| self.take_down_for(id, along));
            best = best.or_else(|| self.best_of(flow, trees, |along| self.share_again_for(id, along)));
            best = best.or_else(|| self.best_of(flow, trees, |along| self.beyond_shares(id, along)));
        }
        best.ok_or(refusal.unwrap_or(Reason::Flow(crate::network::FlowError::Loop)))
    }

    fn best_of(
        &self,
        flow: &Flow,
        trees: &[Tree],
        mut plan: impl FnMut(&Flow) -> Option<Plan>,
    ) -> Option<Plan> {
        let mut best: Option<((usize, usize, u64), Plan)> = None;
        for tree in trees {
            let along = along(flow, tree);
            let Some(plan) = plan(&along) else { continue };
            let changes = plan.moves().count() + plan.shares().count();
            let rank = (changes, along.tree.len(), self.load_along(&along));
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, plan));
            }
        }
        best.map(|(_, plan)| plan)
    }

    /// Plans among trees and admits at once.
    pub fn admit_among(&mut self, id: FlowId, flow: &Flow, trees: &[Tree]) -> Result<Plan, Reason> {
        let plan = self.plan_among(id, flow, trees)?;
        self.enter(&plan);
        Ok(plan)
    }

    /// How much the ports of the flow are loaded by others, together, in parts of a million of one.
    fn load_along(&self, flow: &Flow) -> u64 {
        let load = |port: usize| {
            let rate = self.ports().get(port)?.rate;
            crate::units::scale_up(self.register(port)?.book().load(), 1_000_000, rate)
        };
        flow.tree.iter().filter_map(|hop| load(hop.port)).fold(0, u64::saturating_add)
    }

    /// Which less important flows would have to go so that the flow is admitted, those for a gate or meter before the others, and the plan
    /// that holds without them; no more of them than needed, in that none of them can stay if the others go.
    ///
    /// `None` if it is not admitted even then, or more than [`MOST_YIELDING`] would have to go. No flow is asked for if
    /// the flow is admitted as things are. Costs a copy of the ledger.
    pub fn yielding(&self, id: FlowId, flow: &Flow) -> Option<(Vec<FlowId>, Plan)> {
        if let Ok(plan) = self.plan_as_asked(id, flow) {
            return Some((Vec::new(), plan));
        }
        // A place that is given up at a full port is no other flow's.
        if self.full_port_of(flow.tree.iter()).is_some() {
            return None;
        }
        let mut less: Vec<(u8, FlowId)> = flow
            .tree
            .iter()
            .flat_map(|hop| self.entries(hop.port))
            .filter_map(|entry| Some((self.flow(entry.flow)?.flow.importance, entry.flow)))
            .filter(|(importance, _)| *importance < flow.importance)
            .collect();
        less.sort_unstable();
        less.dedup();
        // Without a gate or meter nothing else helps: the least important flow that has one goes first.
        let first = flow.tree.first().map(|hop| hop.port);
        let is_guarded = flow.policing != Policing::Trusted;
        if let Some(port) = first.filter(|port| is_guarded && self.guards_left(*port) == Some(0)) {
            let guarded = self.guarded_with(port).map(|(id, admitted)| (admitted.flow.importance, id));
            let least = guarded.filter(|(importance, _)| *importance < flow.importance).min()?;
            less.retain(|other| *other != least);
            less.insert(0, least);
        }
        let copied = self.ports().iter().enumerate().map(|(port, _)| 1 + self.entries(port).len()).sum();
        self.work().charge_each(copied)?;
        let mut trial = self.clone();
        let mut gone = Vec::new();
        let mut plan = None;
        for (_, other) in less.into_iter().take(MOST_YIELDING) {
            gone.push((other, trial.suspend(other)?));
            plan = trial.plan_as_asked(id, flow).ok();
            if plan.is_some() {
                break;
            }
        }
        let mut plan = plan?;
        // Who need not go after all, the most important first.
        let mut yielding = Vec::new();
        while let Some((other, suspended)) = gone.pop() {
            trial.resume(suspended);
            match trial.plan_as_asked(id, flow) {
                Ok(with) => plan = with,
                Err(_) => {
                    trial.remove(other);
                    yielding.push(other);
                }
            }
        }
        yielding.reverse();
        Some((yielding, plan))
    }
}

/// The flow along a tree.
pub fn along(flow: &Flow, tree: &Tree) -> Flow {
    let mut along = flow.clone();
    along.tree.clone_from(&tree.hops);
    for (subscriber, end) in along.subscribers.iter_mut().zip(&tree.ends) {
        subscriber.hop = *end;
    }
    along
}
