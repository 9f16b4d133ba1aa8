//! What there is room for in the ledger, as things are and as they come to be.
use alloc::vec::Vec;

use latency::choice::along;
use latency::ledger::{Ledger, Offer, Plan, Reason, Refusal};
use latency::network::Flow;
use latency::routes::Tree;
use latency::units::scale_up;
use latency::work::Limits;

use super::{GrantPhase, Granted, Reservations};
use crate::action::Pair;

/// What is promised on a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Bits per second of the link.
    pub(crate) rate: u64,
    /// What is promised, in parts of a million of that.
    pub(crate) load: u64,
    /// So many flows.
    pub(crate) flows: usize,
}

impl Reservations {
    /// The plan of a flow along one of some trees, or why there is none.
    pub(crate) fn plan(&self, flow: &Flow, trees: &[Tree]) -> Result<Plan, Reason> {
        self.ledger.plan_among(self.next_number, flow, trees)
    }

    /// The refusal with what could be offered instead.
    pub(crate) fn refusal(&self, flow: &Flow, trees: &[Tree], reason: Reason) -> Refusal {
        let plan = |first| self.ledger.plan(self.next_number, &along(flow, first));
        let first = trees.first().and_then(|first| plan(first).err());
        first.unwrap_or(Refusal { reason, offer: Offer::default() })
    }

    /// Does something that takes no more steps of work than a request, and does not count among those of decisions; and how many it took.
    pub(crate) fn apart<T>(&self, act: impl FnOnce() -> T) -> (T, u64) {
        self.ledger.work().apart(Limits::REQUEST, act)
    }

    /// What is promised on a link.
    pub(crate) fn load(&self, link: usize) -> Load {
        let entries = self.ledger.entries(link);
        let rates = entries.iter().filter_map(|entry| entry.contender.arrival.rate());
        let rate = self.ledger.ports().get(link).map_or(0, |port| port.rate);
        let load = scale_up(rates.fold(0, u64::saturating_add), 1_000_000, rate).unwrap_or(u64::MAX);
        Load { rate, load, flows: entries.len() }
    }

    /// The worst case at the first end of a planned flow, in picoseconds, with the flows that there are now.
    pub(crate) fn foreseen(&self, plan: &Plan) -> Option<u64> {
        let mut with = self.ledger.clone();
        if !with.commit(plan.clone()) {
            return None;
        }
        // What the decision has cost makes the bound no coarser than the one in a report.
        let (bounds, _) = self.apart(|| with.bounds(plan.id));
        Some(bounds?.first()?.latency)
    }

    /// Whether the flow could be admitted if everything were gone that is on its way out.
    pub(crate) fn room_is_coming(
        &self,
        flow: &Flow,
        trees: &[Tree],
        is_asked: impl Fn(&Pair) -> bool,
    ) -> bool {
        if self.leaving(&is_asked).next().is_none() {
            return false;
        }
        let mut ledger = self.ledger.clone();
        self.leaving(&is_asked).for_each(|number| {
            ledger.remove(number);
        });
        ledger.plan_among(self.next_number, flow, trees).is_ok()
    }

    /// Whether a plan takes room that a flow needs of those that come before it, once everything is gone that is on its way out.
    ///
    /// In the order in which it would come about: who comes first decides whether both fit.
    pub(crate) fn takes_room(
        &self,
        plan: &Plan,
        before: impl Iterator<Item = Option<(Flow, Vec<Tree>)>>,
        is_asked: impl Fn(&Pair) -> bool,
    ) -> bool {
        let mut with = self.ledger.clone();
        if !with.commit(plan.clone()) {
            return true;
        }
        self.leaving(&is_asked).for_each(|number| {
            with.remove(number);
        });
        let mut without = with.clone();
        without.remove(plan.id);
        // Numbers that no grant has.
        (0..u64::MAX).rev().zip(before).any(|(number, before)| {
            let Some((flow, trees)) = before else { return false };
            let fits = |ledger: &mut Ledger| ledger.admit_among(number, &flow, &trees).is_ok();
            // Who fits in no case does not need the room.
            fits(&mut without) && !fits(&mut with)
        })
    }

    /// Whether all of some flows fit beside what there is; one that is none does not.
    pub(crate) fn fit_all(&self, flows: impl Iterator<Item = Option<(Flow, Vec<Tree>)>>) -> bool {
        let mut ledger = self.ledger.clone();
        // Numbers that no grant has.
        (0..u64::MAX).rev().zip(flows).all(|(number, flow)| {
            flow.is_some_and(|(flow, trees)| ledger.admit_among(number, &flow, &trees).is_ok())
        })
    }

    /// Grants whose place will be free before long, whatever else happens: nothing that is away has to come back for that.
    fn leaving(&self, is_asked: &impl Fn(&Pair) -> bool) -> impl Iterator<Item = u64> {
        // One that has its place in that of a former one has no other.
        let new = |grant: &&Granted| grant.is_installing() && grant.covered_by.is_none();
        let replaced = self.grants.values().filter(new).flat_map(|new| {
            let old = self.of(&new.replaces);
            old.filter(|old| old.pairs.is_subset(&new.pairs)).map(|old| old.number)
        });
        // A grant that another one leads serves the readers of its leader.
        let leader = |grant: &Granted| {
            let leader = grant.role.leader().and_then(|number| self.grants.get(&number));
            leader.map_or(grant.number, |leader| leader.number)
        };
        let leaves = move |grant: &&Granted| match &grant.phase {
            GrantPhase::Leaving { awaiting, .. } => awaiting.is_empty(),
            GrantPhase::Installing { doomed } => {
                let leader = self.grants.get(&leader(grant));
                doomed.is_some() || !leader.is_some_and(|leader| leader.pairs.iter().any(is_asked))
            }
            GrantPhase::Held | GrantPhase::Restored => false,
        };
        self.grants.values().filter(leaves).map(|grant| grant.number).chain(replaced)
    }
}
