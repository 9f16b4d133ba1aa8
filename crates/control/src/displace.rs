//! Who goes so that another one is admitted, and why nothing goes and comes back without end.
//!
//! A grant is displaced in two cases: by a more important request, where there is too little of anything (`victims`,
//! [`ResourceManager::yields_place`], [`ResourceManager::yields_groups`]); and by a request for the same flow that needs it to be another one, where both
//! cannot be there at once ("it is being changed").
//!
//! Let no request come, change or end, and the network stay as it is. Then grants are displaced a finite number of times, up to rule 3:
//!
//! 1. *More important.* All that go are strictly less important than what comes. So, of the numbers of admitted pairs of each importance, the
//!    highest first, the first one that changes grows. Such a list can only grow so often, since the network has room for so many.
//! 2. *The same flow.* All pairs of the flow that goes wait together with the one that needs it otherwise, and the first of them that has its turn
//!    takes all others along (`same_flow`). What comes serves all of them, so the pairs of the flow only become more. If there is no room for all any
//!    more, who came between has it, and the next one ends the flow again only after something else has gone.
//! 3. *In vain.* What the others went for may not come about after all: a switch further on has no room, the store fails. Then they come back, and
//!    it would begin again. So the request displaces no flow for twice as long after each time, up to `MOST_WAITS` times the grace.
//!
//! What becomes free is kept for the request that it was made free for ([`crate::requests`]): in the ledger by `room_for`, in switches and gates
//! by `Displaces::at`. Otherwise others would take it, and would have to go next.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::Plan;

use crate::action::{Pair, Room};
use crate::fabric::{Scarce, Site};
use crate::operations::Timer;
use crate::requests::Turn;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Some places had no room for a grant. At each of them the least important one that has some of it goes, if that is less important. False if one
    /// of them has none: then none goes.
    pub(crate) fn yields_place(&mut self, now: Duration, number: u64, full: &BTreeSet<Scarce>) -> bool {
        let Some(grant) = self.reservations.get(number) else { return false };
        // Who has what it asks for takes nothing from others, and waits for nothing.
        let is_working = |pair: &&Pair| self.requests.is_working(**pair);
        let pairs: BTreeSet<Pair> = grant.pairs.iter().filter(is_working).copied().collect();
        let importance = grant.contract.importance;
        // Without a group its readers may still have flows of their own.
        let lacks_groups = full.iter().any(|(_, room)| *room == Room::Groups);
        if full.is_empty()
            || pairs.is_empty()
            || lacks_groups
            || !pairs.iter().all(|pair| self.requests.may_displace(now, *pair))
        {
            return false;
        }
        let Some(victims) = self.reservations.victims_at(self.fabric.network(), importance, full) else {
            return false;
        };
        self.make_places(now, &victims, full, &pairs);
        true
    }

    /// Some switches have no free group for a tree without which not all of these pairs are admitted: at each of them the least important tree that
    /// has one goes, if that is less important, and the pairs wait for that. False if there is none at one of them.
    pub(crate) fn yields_groups(
        &mut self,
        now: Duration,
        pairs: &BTreeSet<Pair>,
        lacking: &BTreeSet<Scarce>,
    ) -> bool {
        let importance = pairs.first().and_then(|pair| self.requests.get(*pair));
        let Some(importance) = importance.map(|asked| asked.request.contract.importance) else {
            return false;
        };
        if lacking.is_empty() || !pairs.iter().all(|pair| self.requests.may_displace(now, *pair)) {
            return false;
        }
        let Some(victims) = self.reservations.victims_at(self.fabric.network(), importance, lacking) else {
            return false;
        };
        self.make_places(now, &victims, lacking, pairs);
        for pair in pairs {
            self.requests.park(*pair);
            self.put_off(*pair, "room is being made for it");
        }
        true
    }

    /// Victims go, and what they leave is kept for the pairs until they have their turn.
    fn make_places(
        &mut self,
        now: Duration,
        victims: &BTreeSet<u64>,
        full: &BTreeSet<Scarce>,
        pairs: &BTreeSet<Pair>,
    ) {
        let places: BTreeSet<_> = full.iter().map(|(site, _)| self.fabric.site_name(*site)).collect();
        let places = places.into_iter().collect::<Vec<_>>().join(", ");
        let reason = format!("{places} has no room for more, and it yields to a more important flow");
        for victim in victims.iter().copied() {
            let displaced =
                self.reservations.get(victim).map(|grant| grant.pairs.clone()).unwrap_or_default();
            self.revoke(now, victim, &reason);
            // They do not take the place again as soon as it is free. Without a group each may have a flow of its own at once.
            let waits = full.iter().any(|(_, room)| *room != Room::Groups);
            for pair in displaced {
                if waits && self.requests.stays_away(pair) {
                    self.operations.wake(now.saturating_add(self.config.grace), Timer::Retry(pair));
                }
            }
        }
        pairs.iter().for_each(|pair| self.requests.displaces_at(*pair, full));
    }

    /// Whether a plan needs some of what is kept for a request that comes before this turn.
    pub(crate) fn needs_what_is_kept(&self, turn: Turn, plan: &Plan) -> bool {
        let tree = &plan.admitted.flow.tree;
        let needs = |(site, room): &Scarce| {
            let (Site::Switch(switch) | Site::Gates(switch)) = site;
            let mut hops =
                tree.iter().filter(|hop| self.fabric.network().leads_to(hop.port) == Some(*switch));
            match room {
                Room::Entries => hops.next().is_some(),
                Room::Gates | Room::Meters => hops.any(|hop| hop.parent.is_none()),
                Room::Groups => {
                    let links: Vec<_> = tree.iter().map(|hop| (hop.port, hop.parent)).collect();
                    self.fabric.network().forks(&links).iter().any(|(_, at)| at == switch)
                }
            }
        };
        self.requests.is_kept_before(turn, needs)
    }
}
