//! Grants of flows with losses: three of them, of which one leads.
use latency::ledger::{Ledger, Plan};

use super::{Granted, Reservations};
use crate::network::Network;

impl Reservations {
    /// The ledger of what is promised.
    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The grant that leads another one, or that one itself.
    pub(crate) fn leader_of(&self, number: u64) -> u64 {
        let leader = self.grants.get(&number).and_then(|grant| grant.role.leader());
        leader.filter(|leader| self.grants.contains_key(leader)).unwrap_or(number)
    }

    /// A grant, and those that it leads.
    pub(crate) fn together(&self, number: u64) -> impl Iterator<Item = &Granted> {
        let leads = self.grants.get(&number).and_then(|grant| grant.role.together());
        let beside = leads.map(|together| together.beside).into_iter().flatten();
        let led = beside.filter_map(|other| self.grants.get(&other));
        self.grants
            .get(&number)
            .into_iter()
            .chain(led.filter(move |grant| grant.role.leader() == Some(number)))
    }

    /// Plans for which no other flow moves get their places in the ledger, all or none. False if they were made on another one.
    pub(crate) fn commit_all(&mut self, plans: &[Plan]) -> bool {
        let mut with = self.ledger.clone();
        let fits = plans.iter().all(|plan| plan.phases.is_empty() && with.commit(plan.clone()));
        if fits {
            self.ledger = with;
        }
        fits
    }

    /// The numbers of the grants that another one leads.
    pub(super) fn led_by(&self, number: u64) -> [Option<u64>; 2] {
        let mut led = self.together(number).skip(1).map(|grant| grant.number);
        [led.next(), led.next()]
    }

    /// Nothing of a grant and of those that it leads is left: their places are free. False if there was none.
    pub(crate) fn remove(&mut self, network: &Network, number: u64) -> bool {
        for led in self.led_by(number).into_iter().flatten() {
            self.remove_one(network, led);
        }
        self.remove_one(network, number)
    }
}
