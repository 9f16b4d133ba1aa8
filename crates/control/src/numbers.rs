//! Numbers of meters and groups that grants have in switches.
use crate::entries::FLOOD;
use crate::resource_manager::ResourceManager;
use crate::state::{Granted, GrantedHop};

impl ResourceManager {
    /// The switches that copy a flow, each with the number of its group.
    fn groups(&self, hops: &[GrantedHop]) -> alloc::vec::Vec<(usize, u32)> {
        let group = |hop: &GrantedHop| {
            let switch = self.network.switch_of(self.network.links.get(hop.link)?.to)?;
            Some((switch, hop.group?))
        };
        hops.iter().filter_map(group).collect()
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
