//! Who could go so that another one is admitted: less important ones, of those as many and as unimportant as will do.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;

use latency::choice::along;
use latency::network::Flow;
use latency::routes::Tree;

use super::{Granted, Reservations};
use crate::action::Room;
use crate::fabric::Scarce;
use crate::network::Network;

impl Reservations {
    /// Grants that have to go so that the flow is admitted, and why: the one that it takes the place of, or less important
    /// ones.
    pub(crate) fn victims(
        &self,
        flow: &Flow,
        trees: &[Tree],
        replaces: Option<u64>,
    ) -> Option<(Vec<u64>, &'static str)> {
        let number = self.next_number;
        if let Some(old) = replaces {
            let mut without = self.ledger.clone();
            without.remove(old);
            if without.plan_among(number, flow, trees).is_ok() {
                return Some((alloc::vec![old], "it is being changed"));
            }
        }
        let first = trees.first()?;
        let (victims, _) = self.ledger.yielding(number, &along(flow, first))?;
        // What waits for something that is away may never be gone.
        let movable = |victim: &u64| {
            self.grants.get(victim).is_some_and(|grant| !grant.is_leaving() || grant.will_be_gone())
        };
        let is_movable = !victims.is_empty() && victims.iter().all(movable);
        let mut victims: Vec<u64> = victims.into_iter().map(|victim| self.leader_of(victim)).collect();
        victims.sort_unstable();
        victims.dedup();
        is_movable.then_some((victims, "it yields to a more important flow"))
    }

    /// Those that go so that there is room at each of some places; none for a place that another one leaves already. `None` if one has none.
    pub(crate) fn victims_at(
        &self,
        network: &Network,
        importance: u8,
        full: &BTreeSet<Scarce>,
    ) -> Option<BTreeSet<u64>> {
        let leaves = |grant: &&Granted| grant.will_be_gone();
        let is_left = |scarce: &Scarce| {
            self.grants.values().filter(leaves).any(|grant| has_some(network, grant, *scarce))
        };
        let least = |scarce: &Scarce| self.least(network, importance, *scarce);
        full.iter().filter(|scarce| !is_left(scarce)).map(least).collect()
    }

    /// The least important grant in force that has some of what is scarce, if it is less important than that; of equals the youngest.
    fn least(&self, network: &Network, importance: u8, scarce: Scarce) -> Option<u64> {
        let held = self.grants.values().filter(|grant| grant.is_held());
        let less = held.filter(|grant| grant.contract.importance < importance);
        let less = less.filter(|grant| has_some(network, grant, scarce));
        let least = less.min_by_key(|grant| (grant.contract.importance, Reverse(grant.number)));
        least.map(|grant| self.leader_of(grant.number))
    }
}

/// Whether a grant has some of what is scarce.
fn has_some(network: &Network, grant: &Granted, (site, room): Scarce) -> bool {
    let switch = site.switch();
    let leads_there = |link: usize| network.leads_to(link) == Some(switch);
    let begins_there = || network.first_switch(&grant.hops) == Some(switch);
    match room {
        Room::Entries => network.flow_entries(grant).iter().any(|(at, _)| *at == switch),
        Room::Groups => grant.hops.iter().any(|hop| hop.group.is_some() && leads_there(hop.link)),
        Room::Meters => grant.meter.is_some() && begins_there(),
        Room::Gates => grant.gate.is_some() && begins_there(),
    }
}
