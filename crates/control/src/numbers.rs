//! Numbers of meters and groups that grants have in switches.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use openflow::words::GroupId;

use crate::action::Room;
use crate::entries::FLOOD;
use crate::operations::Timer;
use crate::resource_manager::ResourceManager;
use crate::state::{Granted, GrantedHop, Scarce, Site};

impl ResourceManager {
    /// The switches that copy a flow, each with the number of its group.
    fn groups(&self, hops: &[GrantedHop]) -> Vec<(usize, u32)> {
        let group = |hop: &GrantedHop| {
            let switch = self.network.switch_of(self.network.links.get(hop.link)?.to)?;
            Some((switch, hop.group?))
        };
        hops.iter().filter_map(group).collect()
    }

    /// The hops behind which a flow forks, of hops by link and parent; each with the switch where it does.
    pub(crate) fn forks(&self, hops: &[(usize, Option<usize>)]) -> Vec<(usize, usize)> {
        let forks = |index: usize| hops.iter().filter(|(_, parent)| *parent == Some(index)).count() > 1;
        let forks = hops.iter().enumerate().filter(|(index, _)| forks(*index));
        forks.filter_map(|(index, (link, _))| Some((index, self.leads_to(*link)?))).collect()
    }

    /// Whether a switch has room for one more group of a flow.
    fn has_group(&self, switch: usize) -> bool {
        // One is for everything else.
        self.switches.get(switch).is_some_and(|state| {
            state.groups.len() + 1 < usize::try_from(state.most_groups).unwrap_or(usize::MAX)
        })
    }

    /// The switches without a free group where a flow would fork.
    pub(crate) fn lacking_groups(&self, hops: &[(usize, Option<usize>)]) -> BTreeSet<Scarce> {
        let lacking = self.forks(hops).into_iter().filter(|(_, switch)| !self.has_group(*switch));
        lacking.map(|(_, switch)| (Site::Switch(switch), Room::Groups)).collect()
    }

    /// Gives a free group to each hop behind which the flow forks.
    pub(crate) fn give_groups(&self, hops: &mut [GrantedHop]) -> Result<(), String> {
        let links: Vec<_> = hops.iter().map(|hop| (hop.link, hop.parent)).collect();
        hops.iter_mut().for_each(|hop| hop.group = None);
        for (index, switch) in self.forks(&links) {
            let state = self.switches.get(switch).filter(|_| self.has_group(switch));
            let free = state
                .and_then(|state| (FLOOD.0 + 1..GroupId::MAX.0).find(|group| !state.groups.contains(group)));
            if free.is_none() {
                return Err(format!("{} has no free group", self.network.site_name(Site::Switch(switch))));
            }
            if let Some(hop) = hops.get_mut(index) {
                hop.group = free;
            }
        }
        Ok(())
    }

    /// A switch has refused a group of a grant for want of room: for the grace it counts as having as many as the others need.
    pub(crate) fn learn_most_groups(&mut self, now: Duration, number: u64, switch: usize) {
        let Some(grant) = self.grants.get(&number) else { return };
        let own = self.groups(&grant.hops).iter().filter(|(at, _)| *at == switch).count();
        if let Some(state) = self.switches.get_mut(switch) {
            let most = state.groups.len().saturating_sub(own).saturating_add(1);
            state.most_groups = state.most_groups.min(u32::try_from(most).unwrap_or(u32::MAX));
            self.operations.wake(now.saturating_add(self.config.grace), Timer::Groups(switch));
        }
    }

    /// Whether a switch has more room for groups than it had is to be tried again.
    pub(crate) fn forget_most_groups(&mut self, switch: usize) {
        if let Some(state) = self.switches.get_mut(switch) {
            state.most_groups = state.said_groups;
        }
    }

    /// What a grant has is not given to others.
    pub(crate) fn take_numbers(&mut self, granted: &Granted) {
        if let (Some(meter), Some(switch)) = (granted.meter, self.first_switch(&granted.hops))
            && let Some(state) = self.switches.get_mut(switch)
        {
            state.meters.insert(meter);
        }
        for (switch, group) in self.groups(&granted.hops) {
            if let Some(state) = self.switches.get_mut(switch) {
                state.groups.insert(group);
            }
        }
    }

    /// What a grant had is free.
    pub(crate) fn return_numbers(&mut self, granted: &Granted) {
        if let (Some(meter), Some(switch)) = (granted.meter, self.first_switch(&granted.hops))
            && let Some(state) = self.switches.get_mut(switch)
        {
            state.meters.remove(&meter);
        }
        for (switch, group) in self.groups(&granted.hops) {
            if let Some(state) = self.switches.get_mut(switch) {
                state.groups.remove(&group);
            }
        }
    }

    /// Whether nobody has this meter, if a stored grant needs one. One that was released is given to others, whether its former grant could be
    /// taken out of the store or not.
    pub(crate) fn is_meter_free(&self, hops: &[GrantedHop], meter: Option<u32>) -> bool {
        meter.is_none_or(|meter| {
            let state = self.first_switch(hops).and_then(|switch| self.switches.get(switch));
            meter > 0 && state.is_some_and(|state| !state.meters.contains(&meter))
        })
    }

    /// Whether stored hops have groups where they fork, and nowhere else, that nobody has.
    pub(crate) fn are_groups_free(&self, hops: &[GrantedHop]) -> bool {
        let forks = |index: usize| hops.iter().filter(|hop| hop.parent == Some(index)).count() > 1;
        let wanted = hops.iter().enumerate().all(|(index, hop)| forks(index) == hop.group.is_some());
        let is_free = |(switch, group): (usize, u32)| {
            group > FLOOD.0 && self.switches.get(switch).is_some_and(|state| !state.groups.contains(&group))
        };
        wanted && self.groups(hops).into_iter().all(is_free)
    }
}
