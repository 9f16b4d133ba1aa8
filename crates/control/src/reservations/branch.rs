//! Branches of trees: how a tree gets one more end, beside which all stays as it is, and how it keeps its place in the ledger meanwhile.
use alloc::vec::Vec;
use wire::admission::Address;

use latency::ledger::{Admitted, Ledger};
use latency::network::Hop;
use latency::routes::Tree;
use wire::admission::Socket;

use super::granted::shares_and_levels;
use super::{End, Granted, GrantedHop, Reservations};
use crate::network::Network;
use crate::requests::{Goal, Wish};

/// The groups of trees: 239.192.0.0/14 (RFC 2365, 6.2).
const FIRST_GROUP: u32 = 0xefc0_0000;
/// ff18::5000:0 and on: given out for a time, in the scope of an organisation (RFC 4291, 2.7).
const FIRST_GROUP_IPV6: u128 = 0xff18_0000_0000_0000_0000_0000_5000_0000;
const GROUPS: u64 = 1 << 18;

impl Reservations {
    /// A tree with a branch to a goal along the end of the first of some ways on which there is room for it.
    pub(crate) fn branch_to(
        &self,
        network: &Network,
        tree: &Granted,
        wish: &Wish,
        goal: Goal,
        ways: &[Tree],
    ) -> Option<(Admitted, Vec<GrantedHop>, Wish)> {
        let mut without = self.ledger.clone();
        without.remove(tree.number);
        // It is there already where it has hops.
        let is_new = |port: &usize| tree.hops.iter().all(|hop| hop.link != *port);
        without.declare_full(network.full.iter().copied().filter(is_new));
        ways.iter().find_map(|way| self.branch(network, &without, tree, wish, goal, way))
    }

    /// The tree with a branch along the end of a way, on a ledger that has neither.
    fn branch(
        &self,
        network: &Network,
        ledger: &Ledger,
        tree: &Granted,
        wish: &Wish,
        goal: Goal,
        way: &Tree,
    ) -> Option<(Admitted, Vec<GrantedHop>, Wish)> {
        let link = |hop: usize| network.links.get(hop);
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
        let mut single = network.flow(wish)?;
        let links = trunk.iter().map(|hop| hop.link).chain(branch.iter().map(|hop| hop.port));
        single.tree =
            links.enumerate().map(|(index, port)| Hop { port, parent: index.checked_sub(1) }).collect();
        single.subscribers.iter_mut().for_each(|one| one.hop = single.tree.len().saturating_sub(1));
        let id = self.next_number;
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
        let mut all = network.wish_of(tree)?;
        all.goals.push(goal);
        let last = hops.len().checked_sub(1)?;
        let ends = tree.ends.iter().map(|end| end.hop).chain([last]);
        let flow = network.flow_along(&all, &hops, ends)?;
        let (shares, levels) = shares_and_levels(&hops);
        let admitted = ledger.clone().restore(id, &flow, &shares, &levels).ok()?;
        Some((admitted, hops, all))
    }

    /// A tree that grows gets the place of the one that there is, which has its place in that from now on. False if there is no room for it,
    /// which would be a fault of this crate.
    pub(crate) fn grow(
        &mut self,
        network: &Network,
        number: u64,
        grown: &Granted,
        admitted: &Admitted,
    ) -> bool {
        self.ledger.remove(number);
        let (shares, levels) = shares_and_levels(&grown.hops);
        if self.ledger.restore(grown.number, &admitted.flow, &shares, &levels).is_err() {
            // It was found on this very ledger.
            self.book(network, number);
            return false;
        }
        if let Some(tree) = self.grants.get_mut(&number) {
            tree.covered_by = Some(grown.number);
        }
        true
    }

    /// Enters a grant into the ledger as it is. False if it does not fit, which would be a fault of this crate.
    fn book(&mut self, network: &Network, number: u64) -> bool {
        let Some(grant) = self.grants.get(&number) else { return false };
        let flow = network
            .wish_of(grant)
            .and_then(|wish| network.flow_along(&wish, &grant.hops, grant.ends.iter().map(|end| end.hop)));
        let (shares, levels) = shares_and_levels(&grant.hops);
        flow.is_some_and(|flow| self.ledger.put_back(number, &flow, &shares, &levels).is_ok())
    }

    /// A grant is gone: those in its place in the ledger get one of their own, which is a part of it. Those that do not get one.
    pub(crate) fn uncover(&mut self, network: &Network, gone: u64) -> Vec<u64> {
        let covered = self.grants.values().filter(|grant| grant.covered_by == Some(gone));
        let covered: Vec<u64> = covered.map(|grant| grant.number).collect();
        for number in &covered {
            if let Some(grant) = self.grants.get_mut(number) {
                grant.covered_by = None;
            }
        }
        covered.into_iter().filter(|number| !self.book(network, *number)).collect()
    }

    /// An address of a group that no grant has, of the version of IP of this destination, with its port.
    pub(crate) fn free_group(&self, Socket { address: like, port }: Socket) -> Option<Socket> {
        let used = |address: Address| self.grants.values().any(|grant| grant.destination.address == address);
        let group = |number: u64| {
            let offset = u32::try_from(number % GROUPS).unwrap_or(0);
            if like.is_ipv4() {
                return Address::from(FIRST_GROUP.saturating_add(offset).to_be_bytes());
            }
            Address::from_bytes((FIRST_GROUP_IPV6 | u128::from(offset)).to_be_bytes())
        };
        let number = self.next_number;
        let address = (number..number.saturating_add(GROUPS)).map(group).find(|address| !used(*address))?;
        Some(Socket { address, port })
    }
}
