//! Numbers of meters and groups that grants have in switches.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use openflow::words::MeterId;

use super::{Granted, GrantedHop};
use crate::action::Room;
use crate::fabric::{FLOOD, Scarce, Site, VLAN_GROUPS};
use crate::network::Network;

/// The numbers in use, by the index of the switch.
#[derive(Debug)]
pub(crate) struct Numbers(Vec<OfSwitch>);

/// Those of a switch.
#[derive(Clone, Debug)]
struct OfSwitch {
    /// Numbers of meters in use.
    meters: BTreeSet<u32>,
    /// Numbers of groups of flows in use.
    groups: BTreeSet<u32>,
    /// Groups that it has room for: as many as it has said, or fewer for a while after it has refused one.
    most_groups: u32,
    said_groups: u32,
}

impl OfSwitch {
    /// Whether there is room for one more group of a flow.
    fn has_group(&self) -> bool {
        // One is for everything else.
        self.groups.len() + 1 < usize::try_from(self.most_groups).unwrap_or(usize::MAX)
    }
}

impl Numbers {
    /// Of so many switches, of which nothing is known.
    pub(crate) fn new(switches: usize) -> Self {
        let unknown = OfSwitch {
            meters: BTreeSet::new(),
            groups: BTreeSet::new(),
            most_groups: u32::MAX,
            said_groups: u32::MAX,
        };
        Self(alloc::vec![unknown; switches])
    }

    /// A switch says that it has room for so many groups.
    pub(crate) fn set_room_for_groups(&mut self, switch: usize, groups: u32) {
        if let Some(state) = self.0.get_mut(switch) {
            (state.said_groups, state.most_groups) = (groups, groups);
        }
    }

    /// How many groups of flows a switch has.
    pub(crate) fn groups_at(&self, switch: usize) -> usize {
        self.0.get(switch).map_or(0, |state| state.groups.len())
    }

    /// The switches without a free group where a flow would fork.
    pub(crate) fn lacking_groups(
        &self,
        network: &Network,
        hops: &[(usize, Option<usize>)],
    ) -> BTreeSet<Scarce> {
        let has_group = |switch: usize| self.0.get(switch).is_some_and(OfSwitch::has_group);
        let lacking = network.forks(hops).into_iter().filter(|(_, switch)| !has_group(*switch));
        lacking.map(|(_, switch)| (Site::Switch(switch), Room::Groups)).collect()
    }

    /// Gives a free group to each hop behind which the flow forks.
    pub(crate) fn give_groups(&self, network: &Network, hops: &mut [GrantedHop]) -> Result<(), String> {
        let links: Vec<_> = hops.iter().map(|hop| (hop.link, hop.parent)).collect();
        hops.iter_mut().for_each(|hop| hop.group = None);
        for (index, switch) in network.forks(&links) {
            let state = self.0.get(switch).filter(|state| state.has_group());
            let free = state
                .and_then(|state| (FLOOD.0 + 1..VLAN_GROUPS).find(|group| !state.groups.contains(group)));
            if free.is_none() {
                return Err(format!("{} has no free group", network.site_name(Site::Switch(switch))));
            }
            if let Some(hop) = hops.get_mut(index) {
                hop.group = free;
            }
        }
        Ok(())
    }

    /// A meter of a switch that no grant has.
    pub(crate) fn free_meter(&self, switch: usize) -> Option<u32> {
        let used = &self.0.get(switch)?.meters;
        (1..=MeterId::MAX.0).find(|meter| !used.contains(meter))
    }

    /// A switch has refused a group of a flow with these hops for want of room: it counts as having as many as the others need.
    pub(crate) fn learn_most_groups(&mut self, network: &Network, hops: &[GrantedHop], switch: usize) {
        let own = network.groups(hops).iter().filter(|(at, _)| *at == switch).count();
        if let Some(state) = self.0.get_mut(switch) {
            let most = state.groups.len().saturating_sub(own).saturating_add(1);
            state.most_groups = state.most_groups.min(u32::try_from(most).unwrap_or(u32::MAX));
        }
    }

    /// Whether a switch has more room for groups than it had is to be tried again.
    pub(crate) fn forget_most_groups(&mut self, switch: usize) {
        if let Some(state) = self.0.get_mut(switch) {
            state.most_groups = state.said_groups;
        }
    }

    /// What a grant has is not given to others.
    pub(crate) fn take(&mut self, network: &Network, granted: &Granted) {
        if let (Some(meter), Some(switch)) = (granted.meter, network.first_switch(&granted.hops))
            && let Some(state) = self.0.get_mut(switch)
        {
            state.meters.insert(meter);
        }
        for (switch, group) in network.groups(&granted.hops) {
            if let Some(state) = self.0.get_mut(switch) {
                state.groups.insert(group);
            }
        }
    }

    /// What a grant had is free.
    pub(crate) fn give_back(&mut self, network: &Network, granted: &Granted) {
        if let (Some(meter), Some(switch)) = (granted.meter, network.first_switch(&granted.hops))
            && let Some(state) = self.0.get_mut(switch)
        {
            state.meters.remove(&meter);
        }
        for (switch, group) in network.groups(&granted.hops) {
            if let Some(state) = self.0.get_mut(switch) {
                state.groups.remove(&group);
            }
        }
    }

    /// Whether no grant has this meter, if a stored grant needs one. One that was released is given to others, whether its former grant could be
    /// taken out of the store or not.
    pub(crate) fn is_meter_free(&self, network: &Network, hops: &[GrantedHop], meter: Option<u32>) -> bool {
        meter.is_none_or(|meter| {
            let state = network.first_switch(hops).and_then(|switch| self.0.get(switch));
            meter > 0 && state.is_some_and(|state| !state.meters.contains(&meter))
        })
    }

    /// Whether stored hops have groups where they fork, and nowhere else, that no grant has.
    pub(crate) fn are_groups_free(&self, network: &Network, hops: &[GrantedHop]) -> bool {
        let forks = |index: usize| hops.iter().filter(|hop| hop.parent == Some(index)).count() > 1;
        let wanted = hops.iter().enumerate().all(|(index, hop)| forks(index) == hop.group.is_some());
        let is_free = |(switch, group): (usize, u32)| {
            (FLOOD.0 + 1..VLAN_GROUPS).contains(&group)
                && self.0.get(switch).is_some_and(|state| !state.groups.contains(&group))
        };
        wanted && network.groups(hops).into_iter().all(is_free)
    }
}
