//! Links that come and go: the ways that flows may take, and the tree that carries what is not admitted.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use latency::routes::Topology;
use openflow::port::{Port, PortState};

use crate::action::Action;
use crate::entries::{self, Carried};
use crate::network::Network;
use crate::operations::{Chore, Kind, Step, installs};
use crate::resource_manager::ResourceManager;
use crate::spanning;
use crate::state::{Phase, Site};

impl ResourceManager {
    pub(crate) fn see_port(&mut self, switch: usize, port: &Port, deleted: bool) {
        let Some(link) = self.network.link_at(switch, port.number.0) else { return };
        let down = openflow::port::PortConfig::PORT_DOWN;
        if deleted || port.state.contains(PortState::LINK_DOWN) || port.config.contains(down) {
            self.down.insert(link);
            // Another machine may be there when it comes back.
            let host = self.network.links.get(link).map_or(usize::MAX, |link| link.to);
            let located = &self.located;
            self.ethernet.retain(|address, _| located.get(address) != Some(&host));
        } else {
            self.down.remove(&link);
        }
    }

    /// A cable is down if either end is.
    pub(crate) fn is_up(&self, link: usize) -> bool {
        !self.down.contains(&link) && !self.down.contains(&Network::back(link))
    }

    /// Ports have gone up or down: flows over those that are down cannot stay.
    pub(crate) fn links_changed(&mut self, now: Duration) {
        let cut: Vec<(u64, usize)> = self
            .grants
            .values()
            .filter_map(|grant| {
                let hop = grant.hops.iter().find(|hop| !self.is_up(hop.link))?;
                Some((grant.number, hop.link))
            })
            .collect();
        for (number, link) in cut {
            let reason = format!("the link from {} is down", self.network.port_name(link));
            self.revoke(now, number, &reason);
        }
        self.rebuild_topology();
        self.want_tree();
        self.look_again();
    }

    /// Ways lead through what is there: links that are up between switches that are ready, with the gates of the first.
    pub(crate) fn rebuild_topology(&mut self) {
        let ready = |node: usize| {
            let switch = self.network.switch_of(node);
            switch.is_none_or(|switch| self.phase(Site::Switch(switch)) == Phase::Ready)
        };
        let guarded = |link: &crate::network::Link| {
            let first = self.network.switch_of(link.from).is_none();
            let switch = self.network.switch_of(link.to).filter(|_| first);
            switch.is_none_or(|switch| self.phase(Site::Gates(switch)) == Phase::Ready)
        };
        let links = self.network.links.iter().enumerate();
        let usable = links.map(|(index, link)| {
            let good = self.is_up(index) && ready(link.from) && ready(link.to) && guarded(link);
            if good { (link.from, link.to) } else { (usize::MAX, usize::MAX) }
        });
        let usable = usable.collect();
        self.topology = Topology::new(usable, self.forwards());
    }

    /// For each node, whether it forwards.
    pub(crate) fn forwards(&self) -> Vec<bool> {
        let nodes = self.network.hosts.len() + self.network.switches.len();
        (0..nodes).map(|node| self.network.switch_of(node).is_some()).collect()
    }

    /// The tree as it should be now.
    fn wanted_tree(&self) -> BTreeSet<usize> {
        // A switch that is away for a while goes on without us, and has what it had.
        let serves = |switch: usize| self.switches.get(switch).is_some_and(|state| !state.lost);
        spanning::tree(&self.network, serves, |link| self.is_up(link))
    }

    /// The switches whose hosts have a part of the reserved class. Once gates have been put right they stay in force when their agent
    /// goes.
    fn wanted_marked(&self) -> BTreeSet<usize> {
        let ready =
            |switch: &usize| self.has_gates(*switch) && self.phase(Site::Gates(*switch)) == Phase::Ready;
        let ready = (0..self.network.switches.len()).filter(ready);
        if self.reserved.is_ok() {
            self.marked.iter().copied().chain(ready).collect()
        } else {
            BTreeSet::new()
        }
    }

    /// What carries traffic that is not admitted, with this tree and these switches.
    pub(crate) fn carried<'m>(&self, tree: &'m BTreeSet<usize>, marked: &'m BTreeSet<usize>) -> Carried<'m> {
        Carried { tree, learning: self.learning(), reserved: self.reserved.is_ok(), marked }
    }

    pub(crate) fn want_tree(&mut self) {
        let differs = self.wanted_tree() != self.tree || self.wanted_marked() != self.marked;
        if differs && !self.operations.has_chore(Chore::Tree) {
            self.operations.add_first(Chore::Tree);
        }
    }

    /// Changes the tree: first links are closed that are not in the new one, everywhere; then others are opened, and hosts get their
    /// part of the reserved class. False if something else has to end before.
    pub(crate) fn begin_tree(&mut self, now: Duration) -> bool {
        if self.operations.changing() > 0 {
            return false;
        }
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
            self.start(now, Kind::Tree, steps);
            return true;
        }
        // What was learned may lead the old way.
        for switch in 0..self.network.switches.len() {
            if self.phase(Site::Switch(switch)) == Phase::Ready {
                let messages = alloc::vec![entries::all_unlearned()];
                self.operations.act(Action::Send { switch: self.datapath(switch), messages });
            }
        }
        self.tree = wanted;
        for state in &mut self.switches {
            state.addresses.clear();
        }
        self.start(now, Kind::Tree, steps);
        true
    }
}
