//! The tree that carries what is not admitted, and the part of the reserved class that comes with it: what they should be, and how they change.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::entries::{self, Carried};
use super::{Fabric, Site, spanning};
use crate::action::Action;
use crate::operations::{Step, installs};

impl Fabric {
    /// The tree as it should be now.
    fn wanted_tree(&self) -> BTreeSet<usize> {
        // A switch that is away for a while goes on without us, and has what it had.
        let serves = |switch: usize| self.switches.get(switch).is_some_and(|state| !state.lost);
        spanning::tree(&self.network, serves, |link| self.is_up(link))
    }

    /// The switches whose hosts have a part of the reserved class. Once gates have been put right they stay in force when their agent
    /// goes.
    fn wanted_marked(&self) -> BTreeSet<usize> {
        let ready = |switch: &usize| self.has_gates(*switch) && self.is_ready(Site::Gates(*switch));
        let ready = (0..self.network.switches.len()).filter(ready);
        if self.reserved.is_ok() {
            self.marked.iter().copied().chain(ready).collect()
        } else {
            BTreeSet::new()
        }
    }

    /// What carries traffic that is not admitted, with this tree and these switches.
    pub(super) fn carried<'m>(&self, tree: &'m BTreeSet<usize>, marked: &'m BTreeSet<usize>) -> Carried<'m> {
        // Hosts whose ARP says something new: all, since the network file has no Ethernet addresses.
        let learning = (0..self.network.hosts.len()).collect();
        Carried { tree, learning, reserved: self.reserved.is_ok(), marked }
    }

    /// Whether the tree, or who has a part of the reserved class, is to change.
    pub(crate) fn wants_tree(&self) -> bool {
        self.wanted_tree() != self.tree || self.wanted_marked() != self.marked
    }

    /// Changes the tree: first links are closed that are not in the new one, everywhere; then others are opened, and hosts get their
    /// part of the reserved class. The steps, and what is to be done at once.
    pub(crate) fn change_tree(&mut self) -> (Vec<Step>, Vec<Action>) {
        let (wanted, marked) = (self.wanted_tree(), self.wanted_marked());
        let kept: BTreeSet<usize> = self.tree.intersection(&wanted).copied().collect();
        let [now_there, closed, opened] = [
            self.carried(&self.tree, &self.marked),
            self.carried(&kept, &self.marked),
            self.carried(&wanted, &marked),
        ];
        let mut steps = Vec::new();
        for (from, to) in [(&now_there, &closed), (&closed, &opened)] {
            let mut step = Step::default();
            for switch in 0..self.network.switches.len() {
                let before = entries::base(&self.network, switch, from);
                let after = entries::base(&self.network, switch, to);
                let (less, more) = before.changes_to(&after);
                if less.is_empty() && more.is_empty() {
                    continue;
                }
                let messages = [less, more].concat();
                step.tasks.extend(installs(switch, &messages, true).into_iter().flat_map(|step| step.tasks));
            }
            steps.push(step);
        }
        self.marked = marked;
        if self.tree == wanted {
            return (steps, Vec::new());
        }
        self.tree = wanted;
        // What was learned may lead the old way.
        for state in &mut self.switches {
            state.addresses.clear();
        }
        let ready = (0..self.network.switches.len()).filter(|switch| self.is_ready(Site::Switch(*switch)));
        let forget = ready.map(|switch| {
            let messages = alloc::vec![entries::all_unlearned()];
            Action::Send { switch: self.datapath(switch), messages }
        });
        (steps, forget.collect())
    }
}
