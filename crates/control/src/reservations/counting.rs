//! What switches and gates have counted of grants, of what is read of them.
use alloc::vec::Vec;
use core::time::Duration;

use gate::protocol::ContractState;

use super::counted::{Place, Reading};
use super::{Granted, Reservations};
use crate::action::{GateKey, SwitchContent};
use crate::fabric::flow_of;
use crate::network::Network;

/// What is to be told of what was counted, each with the number of the grant and of frames.
#[derive(Default, Debug)]
pub(crate) struct Counts {
    /// Frames that have passed the first place and not this one.
    pub(crate) missing: Vec<(u64, u64)>,
    /// Frames that have been dropped here.
    pub(crate) dropped: Vec<(u64, u64)>,
}

impl Reservations {
    /// The entries and meters of a switch have counted this; it was asked for then.
    pub(crate) fn count_entries(
        &mut self,
        network: &Network,
        (asked, now): (Duration, Duration),
        switch: usize,
        content: &SwitchContent,
    ) -> Counts {
        let mut counts = Counts::default();
        for flow in &content.flows {
            let Some(number) = flow_of(flow.cookie) else { continue };
            let Some(grant) = self.grants.get(&number) else { continue };
            let age = Duration::new(flow.age.seconds.into(), 0);
            let since = now.saturating_sub(age);
            let reading = Reading { asked, answered: now, since, frames: flow.traffic.packets };
            if grant.gate.is_none() && network.first_switch(&grant.hops) == Some(switch) {
                self.counted.first(number, Place::Entry(switch), reading);
            } else if let Some(frames) = self.counted.behind(number, switch, reading) {
                counts.missing.push((number, frames));
            }
        }
        let of_meters = |grant: &Granted| Some((grant.meter?, grant.number));
        let at = |grant: &&Granted| network.first_switch(&grant.hops) == Some(switch);
        let meters: Vec<(u32, u64)> = self.grants.values().filter(at).filter_map(of_meters).collect();
        for (meter, number) in meters {
            let Some(stats) = content.counters.iter().find(|stats| stats.meter.0 == meter) else { continue };
            let dropped = stats.bands.iter().map(|band| band.packets).fold(0, u64::saturating_add);
            let told = self.counted.dropped(now, number, dropped);
            counts.dropped.extend(told.map(|frames| (number, frames)));
        }
        counts
    }

    /// The gates of a switch have counted this; it was asked for then.
    pub(crate) fn count_gates(
        &mut self,
        network: &Network,
        (asked, now): (Duration, Duration),
        switch: usize,
        there: &[ContractState],
    ) -> Counts {
        let gate = |grant: &Granted| {
            let (key, _) = grant.gate?;
            (network.first_switch(&grant.hops) == Some(switch)).then_some((key, grant.number))
        };
        let grants: Vec<(GateKey, u64)> = self.grants.values().filter_map(gate).collect();
        let mut counts = Counts::default();
        for (key, number) in grants {
            let Some(found) = there.iter().find(|found| (found.port, found.key) == (key.port, key.flow))
            else {
                continue;
            };
            let frames = found.counters.frames;
            let reading = Reading { asked, answered: now, since: Duration::ZERO, frames };
            self.counted.first(number, Place::Guard, reading);
            let told = self.counted.dropped(now, number, found.counters.dropped());
            counts.dropped.extend(told.map(|frames| (number, frames)));
        }
        counts
    }
}
