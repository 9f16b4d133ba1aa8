//! Choices around an admission: which of several ways, and who yields to a more important flow.
use alloc::vec::Vec;

use crate::ledger::{FlowId, Ledger, Plan, Reason};
use crate::network::{Flow, Policing};
use crate::routes::Tree;

/// How many less important flows a flow may displace.
pub const MOST_YIELDING: usize = 64;

impl Ledger {
    /// The flow along the best of several trees: of those that are admitted the one with the fewest changes of levels,
    /// then with the fewest hops, then with the least load on its ports; of equals the first.
    ///
    /// For each tree the subscribers of the flow are at its ends, in their order. The reason of the first tree if none is
    /// admitted; an error in the flow if there is no tree.
    pub fn plan_among(&self, id: FlowId, flow: &Flow, trees: &[Tree]) -> Result<Plan, Reason> {
        let mut best: Option<((usize, usize, u64), Plan)> = None;
        let mut refusal = None;
        for tree in trees {
            let along = along(flow, tree);
            match self.plan_as_asked(id, &along) {
                Ok(plan) => {
                    let rank = (plan.moves.len(), along.tree.len(), self.load_along(&along));
                    if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                        best = Some((rank, plan));
                    }
                }
                Err(reason) => {
                    refusal.get_or_insert(reason);
                }
            }
        }
        best.map(|(_, plan)| plan).ok_or(refusal.unwrap_or(Reason::Flow(crate::network::FlowError::Loop)))
    }

    /// Plans among trees and admits at once.
    pub fn admit_among(&mut self, id: FlowId, flow: &Flow, trees: &[Tree]) -> Result<Plan, Reason> {
        let plan = self.plan_among(id, flow, trees)?;
        self.enter(&plan);
        Ok(plan)
    }

    /// Counts what a copy of this ledger has done since.
    fn adopt_work(&self, copy: &Self) {
        // If that is beyond the limit, whoever asks next is told.
        let _ = self.work().charge(copy.work().done().saturating_sub(self.work().done()));
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
        let Some(mut plan) = plan else {
            self.adopt_work(&trial);
            return None;
        };
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
        self.adopt_work(&trial);
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
