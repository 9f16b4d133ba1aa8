//! How grants change: they come, serve other pairs, make room for others, and go.
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use latency::ledger::{Admitted, Plan};
use latency::network::Flow;
use wire::admission::Socket;

use super::granted::shares_and_levels;
use super::{GrantPhase, Granted, GrantedHop, Reservations, with_level, with_shares};
use crate::action::Pair;
use crate::fabric::Site;
use crate::network::Network;

impl Reservations {
    fn change(&mut self, number: u64, change: impl FnOnce(&mut Granted)) {
        if let Some(grant) = self.grants.get_mut(&number) {
            change(grant);
        }
    }

    /// A plan gets its place in the ledger. False if it was made on another one.
    pub(crate) fn commit(&mut self, plan: Plan) -> bool {
        self.ledger.commit(plan)
    }

    /// What a plan has taken its place with is undone, but for so many changes of others ([`Plan::kept`]). True if that has freed its place.
    pub(crate) fn undo_but(&mut self, plan: &Plan, kept: usize) -> bool {
        !plan.phases.is_empty() && self.ledger.undo_but(plan, kept)
    }

    /// A stored flow gets its place in the ledger again.
    pub(crate) fn put_back(&mut self, number: u64, flow: &Flow, hops: &[GrantedHop]) -> Option<Admitted> {
        let (shares, levels) = shares_and_levels(hops);
        self.ledger.put_back(number, flow, &shares, &levels).ok()
    }

    /// A place in the ledger is free.
    pub(crate) fn free(&mut self, number: u64) {
        self.ledger.remove(number);
    }

    /// A grant that has its place in the ledger is there.
    pub(crate) fn insert(&mut self, network: &Network, granted: Granted) {
        self.use_number(granted.number);
        self.tuples.insert((granted.source, granted.destination), granted.number);
        self.numbers.take(network, &granted);
        self.grants.insert(granted.number, granted);
    }

    /// Nothing of one grant is left.
    pub(super) fn remove_one(&mut self, network: &Network, number: u64) -> bool {
        self.ledger.remove(number);
        let Some(grant) = self.grants.remove(&number) else { return false };
        let tuple = (grant.source, grant.destination);
        if self.tuples.get(&tuple) == Some(&number) {
            self.tuples.remove(&tuple);
        }
        self.numbers.give_back(network, &grant);
        self.counted.forget(number);
        true
    }

    /// What was to take the place of a grant for the same flow has failed: the flow is that one's again.
    pub(crate) fn give_back_flow(&mut self, (source, destination): (Socket, Socket), number: u64) {
        self.tuples.insert((source, destination), number);
    }

    /// A grant is in force. Why it cannot stay, if it cannot.
    pub(crate) fn hold(&mut self, number: u64) -> Option<String> {
        for led in self.led_by(number).into_iter().flatten() {
            self.change(led, |grant| grant.phase = GrantPhase::Held);
        }
        let grant = self.grants.get_mut(&number)?;
        match core::mem::replace(&mut grant.phase, GrantPhase::Held) {
            GrantPhase::Installing { doomed } => doomed,
            _ => None,
        }
    }

    /// A grant is on its way out, and these sites have to come back before it is gone.
    pub(crate) fn leave(&mut self, number: u64, missed: BTreeSet<Site>) {
        for led in self.led_by(number).into_iter().flatten() {
            self.leave_one(led, missed.clone());
        }
        self.leave_one(number, missed);
    }

    fn leave_one(&mut self, number: u64, missed: BTreeSet<Site>) {
        self.change(number, |grant| match &mut grant.phase {
            GrantPhase::Leaving { awaiting, .. } => *awaiting = missed,
            phase => *phase = GrantPhase::Leaving { awaiting: missed, release_waits: false },
        });
    }

    /// A site is there again and has nothing of grants that are on their way out. Those that have waited for nothing else.
    pub(crate) fn site_is_back(&mut self, site: Site) -> Vec<u64> {
        let mut gone = Vec::new();
        for grant in self.grants.values_mut() {
            if let GrantPhase::Leaving { awaiting, .. } = &mut grant.phase
                && awaiting.remove(&site)
                && awaiting.is_empty()
            {
                gone.push(grant.number);
            }
        }
        gone
    }

    /// Restored grants that have been seen everywhere are in force again.
    pub(crate) fn hold_restored(&mut self, there: &BTreeSet<u64>) {
        let restored = self.grants.values_mut().filter(|grant| grant.is_restored());
        restored
            .filter(|grant| there.contains(&grant.number))
            .for_each(|grant| grant.phase = GrantPhase::Held);
    }

    /// A pair is served by a grant, at this end.
    pub(crate) fn add_pair(&mut self, number: u64, pair: Pair, end: usize) {
        self.change(number, |grant| {
            grant.pairs.insert(pair);
            grant.at.insert(pair, end);
        });
    }

    /// A pair is not served by a grant any more; one on its way in is looked at when it is there. False if it was not served.
    pub(crate) fn remove_pair(&mut self, number: u64, pair: Pair) -> bool {
        let Some(grant) = self.grants.get_mut(&number) else { return false };
        if grant.is_installing() { grant.pairs.contains(&pair) } else { grant.pairs.remove(&pair) }
    }

    /// These pairs are not served by a grant any more: those that were, in order.
    pub(crate) fn remove_pairs<'p>(
        &mut self,
        number: u64,
        pairs: impl IntoIterator<Item = &'p Pair>,
    ) -> Vec<Pair> {
        let Some(grant) = self.grants.get_mut(&number) else { return Vec::new() };
        pairs.into_iter().filter(|pair| grant.pairs.remove(*pair)).copied().collect()
    }

    /// No pair is served by a grant any more: those that were.
    pub(crate) fn take_pairs(&mut self, number: u64) -> BTreeSet<Pair> {
        self.grants.get_mut(&number).map(|grant| core::mem::take(&mut grant.pairs)).unwrap_or_default()
    }

    /// This was last answered to a pair.
    pub(crate) fn set_serial(&mut self, number: u64, pair: Pair, serial: u64) {
        self.change(number, |grant| {
            grant.serials.insert(pair, serial);
        });
    }

    /// What is stored of a grant may know a pair that it has lost.
    pub(crate) fn lose_pair(&mut self, number: u64, pair: Pair) {
        self.change(number, |grant| grant.lost_pair = Some(pair));
    }

    pub(crate) fn take_lost_pair(&mut self, number: u64) -> Option<Pair> {
        self.grants.get_mut(&number)?.lost_pair.take()
    }

    /// A grant that is on its way in cannot stay once it is in force; why.
    pub(crate) fn doom(&mut self, number: u64, reason: &str) {
        self.change(number, |grant| {
            if let GrantPhase::Installing { doomed } = &mut grant.phase {
                doomed.get_or_insert_with(|| reason.into());
            }
        });
    }

    /// The grants that this one has taken the place of, once.
    pub(crate) fn take_replaced(&mut self, number: u64) -> Vec<u64> {
        self.grants.get_mut(&number).map(|grant| core::mem::take(&mut grant.replaces)).unwrap_or_default()
    }

    /// A grant that is on its way out is to be released when what changes it has come or failed.
    pub(crate) fn wait_with_release(&mut self, number: u64) {
        self.change(number, |grant| {
            if let GrantPhase::Leaving { release_waits, .. } = &mut grant.phase {
                *release_waits = true;
            }
        });
    }

    /// What changes a grant has come or failed. True if its release has waited for that.
    pub(crate) fn end_wait_with_release(&mut self, number: u64) -> bool {
        match self.grants.get_mut(&number).map(|grant| &mut grant.phase) {
            Some(GrantPhase::Leaving { release_waits, .. }) => core::mem::take(release_waits),
            _ => false,
        }
    }

    /// A change of a tree has failed: no branch is cut off for now. False if it is no tree.
    pub(crate) fn prune_waits(&mut self, number: u64) -> bool {
        let tree = self.grants.get_mut(&number).filter(|grant| grant.is_tree());
        tree.map(|tree| tree.prune_waits = true).is_some()
    }

    /// Branches may be cut off a tree again. False if it is gone.
    pub(crate) fn prune_waits_no_more(&mut self, number: u64) -> bool {
        self.grants.get_mut(&number).map(|tree| tree.prune_waits = false).is_some()
    }

    /// So many changes of others that a plan rests on have come: the grants that are otherwise from now on.
    pub(crate) fn have_made_room(&mut self, plan: &Plan, kept: usize) -> BTreeSet<u64> {
        let mut changed = BTreeSet::new();
        for (phase, (shares, moves)) in plan.phases.iter().zip(plan.kept(kept)) {
            for change in phase.shares.iter().filter(|_| shares) {
                self.change(change.flow, |grant| *grant = with_shares(grant, &change.to));
                changed.insert(change.flow);
            }
            for change in phase.moves.iter().take(moves) {
                self.change(change.flow, |grant| *grant = with_level(grant, change));
                changed.insert(change.flow);
            }
        }
        changed
    }
}
