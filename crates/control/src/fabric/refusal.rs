//! Which switches and gates are taken, and why others are not.
use alloc::string::{String, ToString};
use core::fmt;

use latency::switch::Guard;
use openflow::group::GroupType;
use openflow::meter::MeterFlags;

use super::binding::PacketMeter;
use super::{Fabric, entries};
use crate::action::SwitchReport;

/// Most switches that are named as refused.
const MOST_REFUSED: usize = 64;

/// Why a switch or its gates are not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SwitchRefusal {
    /// The network has no switch of this number.
    Unknown(u64),
    /// The switch does not have this port.
    Port {
        /// The switch.
        switch: String,
        /// Number of the port.
        number: u32,
    },
    /// Something that the switch has too few of.
    TooFew {
        /// The switch.
        switch: String,
        /// Of what.
        what: &'static str,
        /// How many it says.
        has: u32,
        /// How many are needed.
        needs: u32,
    },
    /// Its meters cannot drop what is above a rate in kb/s and a burst.
    Meters {
        /// The switch.
        switch: String,
    },
    /// The switch has no gates according to its model, or no host, so that its gates have nothing to do.
    NoGates(String),
}

impl fmt::Display for SwitchRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(number) => {
                write!(
                    f,
                    "the network has no switch with the datapath id {number:#x}: add it to the network file"
                )
            }
            Self::Port { switch, number } => {
                write!(f, "{switch} does not have port {number}, which the network file says it has")
            }
            Self::TooFew { switch, what, has, needs } => {
                write!(f, "{switch} has {has} {what}, and {needs} are needed: take another model or switch")
            }
            Self::Meters { switch } => {
                write!(
                    f,
                    "meters of {switch} cannot drop above a rate in kb/s with a burst, which its model says"
                )
            }
            Self::NoGates(switch) => {
                write!(f, "{switch} has no gates according to its model, or no hosts: no agent is needed")
            }
        }
    }
}

impl core::error::Error for SwitchRefusal {}

impl Fabric {
    /// A switch has connected and says this of itself: its index, if it is one of the network.
    pub(crate) fn take_switch(&mut self, report: &SwitchReport) -> Result<usize, SwitchRefusal> {
        let datapath = report.features.datapath_id;
        let checked = self.switch_index(datapath).ok_or(SwitchRefusal::Unknown(datapath));
        let checked = checked.and_then(|switch| self.check_switch(switch, report).map(|()| switch));
        match &checked {
            Ok(switch) => {
                self.refused_switches.remove(&datapath);
                if let Some(state) = self.switches.get_mut(*switch) {
                    state.packet_meter = PacketMeter::of(report.meters.as_ref());
                }
            }
            Err(refusal) => {
                if self.refused_switches.len() < MOST_REFUSED {
                    self.refused_switches.insert(datapath, refusal.to_string());
                }
            }
        }
        checked
    }

    fn check_switch(&self, switch: usize, report: &SwitchReport) -> Result<(), SwitchRefusal> {
        let Some(model) = self.network.switches.get(switch).map(|switch| &switch.model) else {
            return Ok(());
        };
        let name = || self.network.node_name(self.network.switch_node(switch)).to_string();
        for (_, link) in self.network.leaving(self.network.switch_node(switch)) {
            let number = link.number;
            if report.ports.iter().all(|port| port.number.0 != number) {
                return Err(SwitchRefusal::Port { switch: name(), number });
            }
            let queues = report.queues.iter().find(|(port, _)| *port == number);
            if let Some((_, has)) = queues.filter(|(_, has)| *has < usize::from(model.queues)) {
                let has = u32::try_from(*has).unwrap_or(u32::MAX);
                let needs = u32::from(model.queues);
                return Err(SwitchRefusal::TooFew { switch: name(), what: "queues at a port", has, needs });
            }
        }
        let few = |what, has, needs| Err(SwitchRefusal::TooFew { switch: name(), what, has, needs });
        if report.features.tables < entries::TABLES {
            return few("tables", report.features.tables.into(), entries::TABLES.into());
        }
        if let Some(groups) = &report.groups {
            let [all, ..] = groups.max_groups;
            let needs = u32::try_from(self.network.vlans().len() + 1).unwrap_or(u32::MAX);
            let has = if groups.types & 1 << GroupType::All.number() == 0 { 0 } else { all };
            if has < needs {
                return few("groups of type all", has, needs);
            }
        }
        if let Guard::Meters { count, .. } = model.guard {
            let Some(meters) = &report.meters else { return few("meters", 0, count.unwrap_or(1)) };
            if meters.max_meters < count.unwrap_or(1) {
                return few("meters", meters.max_meters, count.unwrap_or(1));
            }
            let flags = MeterFlags(u16::try_from(meters.capabilities & 0xffff).unwrap_or(0));
            let good = flags.contains(MeterFlags::KBPS) && flags.contains(MeterFlags::BURST);
            if !good || meters.band_types & 2 == 0 || meters.max_bands == 0 {
                return Err(SwitchRefusal::Meters { switch: name() });
            }
        }
        Ok(())
    }

    /// The agent of gates has connected, with room for so many contracts if it says so: the index of its switch.
    pub(crate) fn take_gates(&self, datapath: u64, room: Option<u32>) -> Result<usize, SwitchRefusal> {
        let unknown = SwitchRefusal::Unknown(datapath);
        let Some(switch) = self.switch_index(datapath) else { return Err(unknown) };
        let Some(found) = self.network.switches.get(switch) else { return Err(unknown) };
        let Guard::Gates { count, .. } = found.model.guard else {
            return Err(SwitchRefusal::NoGates(found.name.clone()));
        };
        if !self.has_gates(switch) {
            return Err(SwitchRefusal::NoGates(found.name.clone()));
        }
        let needs = count.unwrap_or(0);
        match room.filter(|has| *has < needs) {
            Some(has) => Err(SwitchRefusal::TooFew { switch: found.name.clone(), what: "gates", has, needs }),
            None => Ok(switch),
        }
    }
}
