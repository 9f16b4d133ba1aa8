//! The ledger of other ports: all flows are put into it as they are, the more important ones first, and who finds no place any more is told.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;

use latency::ledger::Ledger;
use latency::network::Port;

use super::Reservations;

impl Reservations {
    /// The links whose port is another one in the ledger.
    pub(crate) fn differing(&self, ports: &[Port]) -> BTreeSet<usize> {
        let pairs = self.ledger.ports().iter().zip(ports).enumerate();
        pairs.filter(|(_, (has, wanted))| has != wanted).map(|(link, _)| link).collect()
    }

    /// The ports of the ledger become these, if all flows keep their promises with the shares and levels that they have.
    ///
    /// # Errors
    /// The grants that do not, the least important ones of those that compete; none if only such are in the way that are on their way out.
    pub(crate) fn change_ports(&mut self, ports: Vec<Port>) -> Result<(), Vec<u64>> {
        let mut target = self.ledger.emptied(ports);
        let mut order: Vec<(bool, Reverse<u8>, u64)> = self
            .grants
            .values()
            .filter(|grant| self.ledger.flow(grant.number).is_some())
            .map(|grant| (grant.is_leaving(), Reverse(grant.contract.importance), grant.number))
            .collect();
        order.sort_unstable();
        let mut victims = Vec::new();
        let mut is_blocked = false;
        for (is_leaving, _, number) in order {
            if !self.put_into(&mut target, number) {
                is_blocked = true;
                victims.extend((!is_leaving).then_some(number));
            }
        }
        if is_blocked {
            return Err(victims);
        }
        self.ledger = target;
        Ok(())
    }

    /// A flow gets its place in another ledger, as it is. False if it has none there, or would have to be held to something else.
    fn put_into(&self, target: &mut Ledger, number: u64) -> bool {
        let Some(admitted) = self.ledger.flow(number) else { return true };
        let level = |port: usize| {
            let entry = self.ledger.entries(port).iter().find(|entry| entry.flow == number);
            entry.map_or(0, |entry| entry.contender.level)
        };
        let levels: Vec<u8> = admitted.flow.tree.iter().map(|hop| level(hop.port)).collect();
        match target.put_back(number, &admitted.flow, &admitted.shares, &levels) {
            Ok(put) if put.enforcement == admitted.enforcement => true,
            Ok(_) => {
                target.remove(number);
                false
            }
            Err(_) => false,
        }
    }

    /// Grants over some links that are not on their way out.
    pub(crate) fn over(&self, mut is: impl FnMut(usize) -> bool) -> Vec<u64> {
        let mut crosses = |grant: &&super::Granted| grant.hops.iter().any(|hop| is(hop.link));
        let stay = self.grants.values().filter(|grant| !grant.is_leaving());
        stay.filter(|grant| crosses(grant)).map(|grant| grant.number).collect()
    }
}
