//! Links that come and go: the ways that flows may take, and the tree that carries what is not admitted.
use alloc::vec::Vec;
use core::time::Duration;

use crate::operations::{Chore, Kind};
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Ports have gone up or down: flows over those that are down cannot stay.
    pub(crate) fn links_changed(&mut self, now: Duration) {
        let cut: Vec<(u64, usize)> = self
            .reservations
            .all()
            .filter_map(|grant| {
                let hop = grant.hops.iter().find(|hop| !self.fabric.is_up(hop.link))?;
                Some((grant.number, hop.link))
            })
            .collect();
        for (number, link) in cut {
            let reason = self.fabric.why_down(link);
            self.revoke(now, number, &reason);
        }
        self.want_rates();
        self.fabric.rebuild_topology();
        self.want_tree();
        self.requests.look_again();
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
