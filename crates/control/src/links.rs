//! Links that come and go: the ways that flows may take, and the tree that carries what is not admitted.
use alloc::vec::Vec;
use core::time::Duration;

use crate::operations::{Chore, Kind};
use crate::reservations::Granted;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Ports have gone up or down: flows over those that are down get another way, or cannot stay.
    pub(crate) fn links_changed(&mut self, now: Duration) {
        let is_cut = |grant: &&Granted| self.way_is_cut(grant).is_some();
        let cut: Vec<u64> = self.reservations.all().filter(is_cut).map(|grant| grant.number).collect();
        // The tree carries what is said to participants, and begins when no grant is being changed: if that takes a moment, nothing waits for it here.
        let waits = self.operations.changes_grants();
        self.want_rates();
        self.fabric.rebuild_topology();
        self.want_tree();
        for number in cut {
            if waits && !self.reservations.is_being_changed(number) {
                self.revoke_if_cut(now, number);
            } else if !self.operations.has_chore(Chore::Reroute(number)) {
                self.operations.add_chore(Chore::Reroute(number));
            }
        }
        self.requests.look_again();
    }

    /// The link that is down on the way of a grant.
    pub(crate) fn way_is_cut(&self, grant: &Granted) -> Option<usize> {
        grant.hops.iter().find(|hop| !self.fabric.is_up(hop.link)).map(|hop| hop.link)
    }

    /// A grant whose way is cut takes another one at once if there is a place for both: then no revocation is told, and none waits until
    /// what is queued on the former way is gone. Otherwise it is revoked, and decided anew when its place is free.
    pub(crate) fn begin_reroute(&mut self, now: Duration, number: u64) -> bool {
        let is_cut = self.reservations.get(number).is_some_and(|grant| self.way_is_cut(grant).is_some());
        // What is about to take its place has a way of its own, and ends here if it does not come.
        if is_cut
            && !self.reservations.is_being_changed(number)
            && self.leave_by_another_way(now, number).is_err()
        {
            self.revoke_if_cut(now, number);
        }
        true
    }

    /// Revokes a grant if a link on its way is down.
    pub(crate) fn revoke_if_cut(&mut self, now: Duration, number: u64) {
        let link = self.reservations.get(number).and_then(|grant| self.way_is_cut(grant));
        if let Some(link) = link {
            let reason = self.fabric.why_down(link);
            self.revoke(now, number, &reason);
        }
    }

    pub(crate) fn want_tree(&mut self) {
        if self.fabric.wants_tree() && !self.operations.has_chore(Chore::Tree) {
            self.operations.add_first(Chore::Tree);
        }
    }

    /// Changes the tree. False if something else has to end before.
    pub(crate) fn begin_tree(&mut self, now: Duration) -> bool {
        if self.operations.changing() > 0 {
            return false;
        }
        let (steps, actions) = self.fabric.change_tree();
        actions.into_iter().for_each(|action| self.operations.act(action));
        self.start(now, Kind::Tree, steps);
        true
    }
}
