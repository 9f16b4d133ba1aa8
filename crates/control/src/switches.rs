//! Switches that come, go and change, and the tree that carries what is not admitted.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use latency::switch::Guard;
use openflow::flow::FlowRemoved;
use openflow::group::GroupType;
use openflow::meter::MeterFlags;
use openflow::oxm::OxmField;
use openflow::packet::PacketIn;
use openflow::port::{PortReason, PortStatus};

use crate::action::{Action, GateChange, SwitchReport};
use crate::entries;
use crate::learning::{self, Lesson};
use crate::note::Note;
use crate::operations::{Chore, Kind, Step, Task, Timer};
use crate::resource_manager::ResourceManager;
use crate::state::{GrantPhase, Phase, Site};

/// Most addresses that are learned of one host.
const MOST_OF_A_HOST: usize = 64;
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
    /// The port is slower than its link, in bits per second.
    Rate {
        /// The switch.
        switch: String,
        /// Number of the port.
        number: u32,
        /// What it says.
        has: u64,
        /// What the network says.
        needs: u64,
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
            Self::Rate { switch, number, has, needs } => {
                write!(f, "port {number} of {switch} has {has} b/s, and the network file says {needs}")
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

impl ResourceManager {
    /// A switch has connected and said what it is. It is read, put right, and used after that.
    ///
    /// # Errors
    /// It is not what the network says; its connection should be closed. Nothing has been changed in it.
    pub fn switch_up(&mut self, now: Duration, report: &SwitchReport) -> Result<(), SwitchRefusal> {
        let datapath = report.features.datapath_id;
        let checked = self.switch_index(datapath).ok_or(SwitchRefusal::Unknown(datapath));
        let checked = checked.and_then(|switch| self.check_switch(switch, report).map(|()| switch));
        let switch = match checked {
            Ok(switch) => switch,
            Err(refusal) => {
                if self.refused_switches.len() < MOST_REFUSED {
                    self.refused_switches.insert(datapath, refusal.to_string());
                }
                return Err(refusal);
            }
        };
        self.refused_switches.remove(&datapath);
        self.goes_away(now, Site::Switch(switch));
        for port in &report.ports {
            self.see_port(switch, port, false);
        }
        if let Some(state) = self.switches.get_mut(switch) {
            state.addresses.clear();
            state.said_groups = report.groups.as_ref().map_or(u32::MAX, |groups| groups.max_groups[0]);
            state.most_groups = state.said_groups;
        }
        self.links_changed(now);
        self.prepare(now, switch);
        self.work(now);
        Ok(())
    }

    fn check_switch(&self, switch: usize, report: &SwitchReport) -> Result<(), SwitchRefusal> {
        let Some(model) = self.network.switches.get(switch).map(|switch| &switch.model) else {
            return Ok(());
        };
        let name = || self.network.node_name(self.network.switch_node(switch)).to_string();
        for (_, link) in self.network.leaving(self.network.switch_node(switch)) {
            let number = link.number;
            let port = report.ports.iter().find(|port| port.number.0 == number);
            let port = port.ok_or_else(|| SwitchRefusal::Port { switch: name(), number })?;
            let has = u64::from(port.current_speed) * 1_000;
            if has != 0 && has < link.port.rate {
                return Err(SwitchRefusal::Rate { switch: name(), number, has, needs: link.port.rate });
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
            if groups.types & 1 << GroupType::All.number() == 0 || all == 0 {
                return few("groups of type all", 0, 1);
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

    /// The connection to a switch has ended. What it forwards it forwards; its grants are held for a while.
    pub fn switch_down(&mut self, now: Duration, datapath: u64) {
        if let Some(switch) = self.switch_index(datapath) {
            self.goes_away(now, Site::Switch(switch));
        }
        self.work(now);
    }

    /// The agent of a switch's gates has connected; it has room for so many contracts, if it says so.
    ///
    /// # Errors
    /// The switch is unknown, has no gates, or too few; the connection should be closed.
    pub fn gates_up(&mut self, now: Duration, datapath: u64, room: Option<u32>) -> Result<(), SwitchRefusal> {
        let switch = self.switch_index(datapath).ok_or(SwitchRefusal::Unknown(datapath))?;
        let Some(found) = self.network.switches.get(switch) else { return Ok(()) };
        let Guard::Gates { count, .. } = found.model.guard else {
            return Err(SwitchRefusal::NoGates(found.name.clone()));
        };
        if !self.has_gates(switch) {
            return Err(SwitchRefusal::NoGates(found.name.clone()));
        }
        let needs = count.unwrap_or(0);
        if let Some(has) = room.filter(|has| *has < needs) {
            return Err(SwitchRefusal::TooFew { switch: found.name.clone(), what: "gates", has, needs });
        }
        self.goes_away(now, Site::Gates(switch));
        self.prepare_gates(now, switch);
        self.work(now);
        Ok(())
    }

    /// The connection to the agent of a switch's gates has ended.
    pub fn gates_down(&mut self, now: Duration, datapath: u64) {
        if let Some(switch) = self.switch_index(datapath).filter(|switch| self.has_gates(*switch)) {
            self.goes_away(now, Site::Gates(switch));
        }
        self.work(now);
    }

    fn goes_away(&mut self, now: Duration, site: Site) {
        if !matches!(self.phase(site), Phase::Away(_)) {
            self.set_phase(site, Phase::Away(Some(now)));
            self.operations.wake(now.saturating_add(self.config.grace), Timer::Away(site));
            self.abandon(now, site);
            self.rebuild_topology();
        }
    }

    /// Nobody knows what a site has: it has to come back and be put right.
    pub(crate) fn disconnect(&mut self, now: Duration, site: Site) {
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        if matches!(self.phase(site), Phase::Away(_)) {
            return;
        }
        self.operations.act(Action::Disconnect { switch: self.datapath(switch) });
        self.goes_away(now, Site::Switch(switch));
        if self.has_gates(switch) {
            self.goes_away(now, Site::Gates(switch));
        }
    }

    fn prepare(&mut self, now: Duration, switch: usize) {
        self.set_phase(Site::Switch(switch), Phase::Preparing);
        let version = self.switches.get(switch).map_or(0, |state| state.version);
        let steps = alloc::vec![Step::of(alloc::vec![Task::Read(switch)])];
        self.start(now, Kind::Prepare { switch, version }, steps);
    }

    fn prepare_gates(&mut self, now: Duration, switch: usize) {
        self.set_phase(Site::Gates(switch), Phase::Preparing);
        let Some(state) = self.switches.get(switch) else { return };
        let version = state.gates_version;
        let change =
            GateChange::Replace(state.gates.iter().map(|(key, contract)| (*key, *contract)).collect());
        let steps = alloc::vec![Step::of(alloc::vec![Task::Gate { switch, change, sure: true }])];
        self.start(now, Kind::PrepareGates { switch, version }, steps);
    }

    /// A site has been put right, or has failed to be.
    pub(crate) fn prepared(&mut self, now: Duration, site: Site, version: u64, failed: Option<String>) {
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        if let Some(why) = failed {
            if self.phase(site) == Phase::Preparing {
                let site = self.network.site_name(site);
                self.note(Note::NotReady { site, why });
            }
            self.disconnect(now, site);
            return;
        }
        if self.phase(site) != Phase::Preparing {
            return;
        }
        let Some(state) = self.switches.get(switch) else { return };
        let now_wanted = match site {
            Site::Switch(_) => state.version,
            Site::Gates(_) => state.gates_version,
        };
        if now_wanted != version {
            match site {
                Site::Switch(_) => self.prepare(now, switch),
                Site::Gates(_) => self.prepare_gates(now, switch),
            }
            return;
        }
        self.set_phase(site, Phase::Ready);
        let name = self.network.site_name(site);
        self.note(Note::Ready(name));
        self.inspect_later(now, site);
        if let (Site::Switch(_), Some(state)) = (site, self.switches.get_mut(switch)) {
            state.lost = false;
        }
        let mut gone = Vec::new();
        for grant in self.grants.values_mut() {
            if let GrantPhase::Leaving(awaiting) = &mut grant.phase
                && awaiting.remove(&site)
                && awaiting.is_empty()
            {
                gone.push(Chore::Release(grant.number));
            }
        }
        gone.into_iter().for_each(|chore| self.operations.add_chore(chore));
        self.rebuild_topology();
        self.want_tree();
        self.hold_restored();
        self.look_again();
    }

    /// A packet for the manager: where an address is.
    pub fn packet_in(&mut self, now: Duration, datapath: u64, packet: &PacketIn) {
        let Some(switch) = self.switch_index(datapath) else { return };
        let port = packet.matching.get(OxmField::InPort).and_then(|oxm| u32::try_from(oxm.value()).ok());
        let Some((number, link)) =
            port.and_then(|number| Some((number, self.network.link_at(switch, number)?)))
        else {
            return;
        };
        if self.phase(Site::Switch(switch)) != Phase::Ready {
            return;
        }
        let host = self.network.links.get(link).map_or(usize::MAX, |link| link.to);
        if let Some(address) = learning::sender(&packet.data) {
            self.locate(host, address);
            let source = learning::source(&packet.data).filter(|source| source[0] & 1 == 0);
            if let Some(source) = source.filter(|_| self.located.get(&address) == Some(&host))
                && self.ethernet.insert(address, source).is_none()
            {
                self.look_again();
            }
        }
        // A copy of ARP is for the address of the host only.
        let is_trunk = self.network.is_trunk(link);
        if packet.table.0 == 0 || is_trunk && !self.tree.contains(&link) {
            self.work(now);
            return;
        }
        let most = self.config.most_addresses;
        let (Some(state), Some(address)) = (self.switches.get_mut(switch), learning::source(&packet.data))
        else {
            return;
        };
        if let Lesson::Learned { before, forgotten } = state.addresses.see(now, address, number, most) {
            let mut messages: Vec<_> =
                before.map(|before| entries::unlearned(address, before)).unwrap_or_default();
            messages.extend(forgotten.into_iter().flat_map(|(old, at)| entries::unlearned(old, at)));
            messages.extend(entries::learned(address, number, self.config.address_timeout));
            self.operations.act(Action::Send { switch: datapath, messages });
        }
        self.work(now);
    }

    /// A flow has gone from a switch: a source that was quiet for long is forgotten, with the way to it.
    pub fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved) {
        let Some(state) = self
            .network
            .switches
            .iter()
            .position(|switch| switch.datapath == datapath)
            .and_then(|switch| self.switches.get_mut(switch))
        else {
            return;
        };
        let field = |field| removed.matching.get(field).map(|oxm| oxm.value());
        let (Some(address), Some(port)) = (field(OxmField::EthSrc), field(OxmField::InPort)) else { return };
        let [_, _, address @ ..] = (address as u64).to_be_bytes();
        let Ok(port) = u32::try_from(port) else { return };
        if removed.cookie == entries::LEARNED && state.addresses.forget(address, port) {
            let messages = entries::unlearned(address, port);
            self.operations.act(Action::Send { switch: datapath, messages });
        }
    }

    /// The sender of a packet at a host's port has this address. Addresses that the network file gives are not learned,
    /// and one that is learned stays where it was first seen.
    fn locate(&mut self, host: usize, address: [u8; 4]) {
        let learns = self.network.hosts.get(host).is_some_and(|host| host.addresses.is_empty());
        let has = self.located.values().filter(|other| **other == host).count();
        if learns && has < MOST_OF_A_HOST && !self.located.contains_key(&address) {
            self.located.insert(address, host);
            self.look_again();
        }
    }

    /// A port of a switch has changed.
    pub fn port_status(&mut self, now: Duration, datapath: u64, status: &PortStatus) {
        let Some(switch) = self.switch_index(datapath) else { return };
        self.see_port(switch, &status.port, status.reason == PortReason::Delete);
        self.links_changed(now);
        self.work(now);
    }

    /// A site has been away for as long as grants can wait for it.
    pub(crate) fn away_for_long(&mut self, now: Duration, site: Site) {
        let Phase::Away(Some(since)) = self.phase(site) else { return };
        if now < since.saturating_add(self.config.grace) {
            return;
        }
        let (Site::Switch(switch) | Site::Gates(switch)) = site;
        let node = self.network.switch_node(switch);
        let uses = |link: usize, first: bool| {
            self.network.links.get(link).is_some_and(|link| match site {
                Site::Switch(_) => link.from == node,
                Site::Gates(_) => first && link.to == node,
            })
        };
        let gone: Vec<u64> = self
            .grants
            .values()
            .filter(|grant| grant.hops.iter().enumerate().any(|(index, hop)| uses(hop.link, index == 0)))
            .map(|grant| grant.number)
            .collect();
        if let (Site::Switch(_), Some(state)) = (site, self.switches.get_mut(switch)) {
            state.lost = true;
        }
        let reason = format!("{} has been away for too long", self.network.site_name(site));
        for number in gone {
            self.revoke(now, number, &reason);
        }
        self.want_tree();
    }
}
