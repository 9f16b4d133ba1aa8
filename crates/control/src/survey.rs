//! A survey: which switches, links and hosts there are, found without a network file, as a proposal for one.
//!
//! [`Survey`] is told what switches say, and says what they are told. Each switch gets two entries that hand LLDP and ARP to the survey alone, and loses
//! them at the end; it forwards nothing that it did not forward before. A link is what two ports say of each other, by frames that only this survey can make
//! ([`crate::cabling`]); a host is who speaks ARP or LLDP at a port that is no end of a link.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use wire::admission::Address;

use lldp::Frame;
use openflow::Message;
use openflow::action::Action as Forward;
use openflow::flow::FlowMod;
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::oxm::{Oxm, OxmField};
use openflow::packet::{PacketIn, PacketOut};
use openflow::port::{Port, PortConfig, PortReason, PortState, PortStatus};
use openflow::words::{BufferId, PortNo, TableId};

use crate::action::SwitchReport;
use crate::cabling::{Digest, Seal, Whose};
use crate::fabric::{ARP, sender};

/// How often ports tell who they are.
const PERIOD: Duration = Duration::from_secs(1);
/// How old an own frame may be that counts.
const FRESH: Duration = Duration::from_secs(5);
/// The mark of the survey's entries, and their priority: above all others.
const COOKIE: u64 = 0x5044 << 48;
const PRIORITY: u16 = 65_535;
/// Switches, ports of one, and addresses of a port that are known at most.
const MOST_SWITCHES: usize = 1_024;
const MOST_PORTS: usize = 4_096;
const MOST_ADDRESSES: usize = 64;

/// A port: datapath id of its switch, and its number.
pub type Place = (u64, u32);

/// A switch that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundSwitch {
    /// Its datapath id.
    pub datapath: u64,
    /// Queues of each of its ports at least; `None` if it does not say.
    pub queues: Option<usize>,
    /// Whether it has meters.
    pub meters: bool,
}

/// A link between switches that was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FoundLink {
    /// Its ends, the lesser first.
    pub ends: [Place; 2],
    /// Bits per second of its slower end; 0 if neither end says.
    pub rate: u64,
}

/// What was found at a port that is no end of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundHost {
    /// The port.
    pub at: Place,
    /// IPv4 addresses that speak there.
    pub addresses: Vec<Address>,
    /// The name that it gives itself by LLDP.
    pub name: Option<String>,
    /// Bits per second of the port; 0 if the switch does not say.
    pub rate: u64,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// By datapath id.
    pub switches: Vec<FoundSwitch>,
    /// By their ends.
    pub links: Vec<FoundLink>,
    /// By their ports.
    pub hosts: Vec<FoundHost>,
    /// What makes no sense, in words.
    pub odd: Vec<String>,
}

#[derive(Debug)]
struct Seen {
    queues: Option<usize>,
    meters: bool,
    /// Ports that are up, with address and bits per second.
    ports: BTreeMap<u32, ([u8; 6], u64)>,
}

#[derive(Default, Debug)]
struct AtPort {
    addresses: BTreeSet<Address>,
    name: Option<String>,
}

/// A survey of a network; times are since any moment, the same one in all calls.
#[derive(Debug)]
pub struct Survey {
    seal: Seal,
    switches: BTreeMap<u64, Seen>,
    /// Which ports each port has heard.
    heard: BTreeMap<Place, BTreeSet<Place>>,
    hosts: BTreeMap<Place, AtPort>,
    due: Duration,
}

impl Survey {
    /// A survey that has found nothing. `secret` is random: with its keyed digest the survey knows its own frames.
    pub const fn new(secret: [u8; 32], digest: Digest) -> Self {
        Self {
            seal: Seal { secret, digest },
            switches: BTreeMap::new(),
            heard: BTreeMap::new(),
            hosts: BTreeMap::new(),
            due: Duration::ZERO,
        }
    }

    /// When [`Self::tell`] wants to be called.
    pub const fn poll_timeout(&self) -> Duration {
        self.due
    }

    /// A switch has connected: what it is told. Nothing if there are too many.
    pub fn switch_up(&mut self, now: Duration, report: &SwitchReport) -> Vec<Message> {
        let datapath = report.features.datapath_id;
        if self.switches.len() >= MOST_SWITCHES && !self.switches.contains_key(&datapath) {
            return Vec::new();
        }
        let queues = report.queues.iter().map(|(_, queues)| *queues).min();
        let meters = report.meters.as_ref().is_some_and(|meters| meters.max_meters > 0);
        self.switches.insert(datapath, Seen { queues, meters, ports: BTreeMap::new() });
        for port in &report.ports {
            self.see_port(datapath, port, false);
        }
        let mut told: Vec<Message> = entries().into_iter().map(Message::FlowMod).collect();
        told.extend(self.of_switch(now, datapath));
        told
    }

    /// A port of a switch has changed.
    pub fn port_status(&mut self, datapath: u64, status: &PortStatus) {
        self.see_port(datapath, &status.port, status.reason == PortReason::Delete);
    }

    fn see_port(&mut self, datapath: u64, port: &Port, deleted: bool) {
        let Some(seen) = self.switches.get_mut(&datapath) else { return };
        let number = port.number.0;
        let is_down =
            port.state.contains(PortState::LINK_DOWN) || port.config.contains(PortConfig::PORT_DOWN);
        if deleted || is_down {
            seen.ports.remove(&number);
        } else if (1..=PortNo::MAX.0).contains(&number) && seen.ports.len() < MOST_PORTS {
            seen.ports.insert(number, (port.address, u64::from(port.current_speed) * 1_000));
        }
    }

    /// Time has passed: what switches are told.
    pub fn tell(&mut self, now: Duration) -> Vec<(u64, Vec<Message>)> {
        if now < self.due {
            return Vec::new();
        }
        self.due = now.saturating_add(PERIOD);
        self.switches.keys().map(|datapath| (*datapath, self.of_switch(now, *datapath))).collect()
    }

    /// The frames by which the ports of a switch tell who they are.
    fn of_switch(&self, now: Duration, datapath: u64) -> Vec<Message> {
        let ports = self.switches.get(&datapath).into_iter().flat_map(|seen| &seen.ports);
        let frames = ports.filter_map(|(number, (address, _))| {
            let data = self.seal.frame(datapath, *number, *address, now)?;
            let actions = alloc::vec![Forward::output(PortNo(*number))];
            let packet = PacketOut { buffer: BufferId::NONE, in_port: PortNo::CONTROLLER, actions, data };
            Some(Message::PacketOut(packet))
        });
        frames.collect()
    }

    /// A packet has come from a switch.
    pub fn packet_in(&mut self, now: Duration, datapath: u64, packet: &PacketIn) {
        let port = packet.matching.get(OxmField::InPort).and_then(|oxm| u32::try_from(oxm.value()).ok());
        let known =
            |port: &u32| self.switches.get(&datapath).is_some_and(|seen| seen.ports.contains_key(port));
        let Some(at) = port.filter(known).map(|port| (datapath, port)) else { return };
        if Frame::is_one(&packet.data) {
            let Ok(frame) = Frame::read(&packet.data) else { return };
            match self.seal.whose(&frame) {
                Whose::Own(other, port, sent) if sent <= now && now.saturating_sub(sent) <= FRESH => {
                    let heard = self.heard.entry(at).or_default();
                    if heard.len() < MOST_ADDRESSES {
                        heard.insert((other, port));
                    }
                }
                Whose::Own(..) | Whose::Forged => {}
                Whose::Foreign => {
                    let host = self.hosts.entry(at).or_default();
                    host.name = frame.system_name.filter(|name| !name.is_empty());
                }
            }
        } else if packet.data.get(12..14) == Some(&ARP.to_be_bytes())
            && let Some(address) = sender(&packet.data)
        {
            let host = self.hosts.entry(at).or_default();
            if host.addresses.len() < MOST_ADDRESSES {
                host.addresses.insert(address);
            }
        }
    }

    /// What takes the survey's entries out of a switch again.
    pub fn end() -> Vec<Message> {
        alloc::vec![Message::FlowMod(FlowMod::delete_by_cookie(COOKIE, u64::MAX))]
    }

    /// What was found so far.
    pub fn found(&self) -> Found {
        let mut odd = Vec::new();
        let links = self.links(&mut odd);
        let ends: BTreeSet<Place> = links.iter().flat_map(|link| link.ends).collect();
        let mut owners: BTreeMap<Address, Place> = BTreeMap::new();
        let mut hosts = Vec::new();
        for (at, host) in self.hosts.iter().filter(|(at, _)| !ends.contains(at)) {
            let mut addresses = Vec::new();
            for address in &host.addresses {
                match owners.get(address) {
                    None => {
                        owners.insert(*address, *at);
                        addresses.push(*address);
                    }
                    Some(first) => odd.push(format!(
                        "{} speaks at {} and at {}: it is at the first one here",
                        crate::requests::dotted(*address),
                        name(*first),
                        name(*at)
                    )),
                }
            }
            hosts.push(FoundHost { at: *at, addresses, name: host.name.clone(), rate: self.rate(*at) });
        }
        let switches = self.switches.iter().map(|(datapath, seen)| FoundSwitch {
            datapath: *datapath,
            queues: seen.queues,
            meters: seen.meters,
        });
        Found { switches: switches.collect(), links, hosts, odd }
    }

    /// Links: what two ports say of each other, and of no third one.
    fn links(&self, odd: &mut Vec<String>) -> Vec<FoundLink> {
        let mut links = Vec::new();
        for (at, heard) in &self.heard {
            if heard.len() > 1 {
                odd.push(format!("{} hears several ports: it is no link here", name(*at)));
                continue;
            }
            let Some(other) = heard.first() else { continue };
            if self.heard.get(other).is_none_or(|back| !back.iter().eq([at])) {
                odd.push(format!(
                    "{} hears {}, which does not hear it: it is no link here",
                    name(*at),
                    name(*other)
                ));
            } else if self.hosts.contains_key(at) || self.hosts.contains_key(other) {
                // Hosts that pass on to each other what they hear look like a link.
                if at < other {
                    let (at, other) = (name(*at), name(*other));
                    odd.push(format!(
                        "{at} and {other} hear each other, and a host speaks there: it is no link here"
                    ));
                }
            } else if at < other {
                let rate = [self.rate(*at), self.rate(*other)].into_iter().filter(|rate| *rate > 0).min();
                links.push(FoundLink { ends: [*at, *other], rate: rate.unwrap_or(0) });
            }
        }
        links
    }

    fn rate(&self, (datapath, port): Place) -> u64 {
        let seen = self.switches.get(&datapath).and_then(|seen| seen.ports.get(&port));
        seen.map_or(0, |(_, rate)| *rate)
    }
}

fn name((datapath, port): Place) -> String {
    format!("port {port} of the switch {datapath:#x}")
}

/// What a switch has for the time of the survey.
fn entries() -> Vec<FlowMod> {
    let entry = |fields: &[Oxm]| {
        let told = alloc::vec![Instruction::ApplyActions(alloc::vec![Forward::controller()])];
        let mut flow = FlowMod::add(PRIORITY, Match::of(fields).unwrap_or_default(), told);
        flow.table = TableId(0);
        flow.cookie = COOKIE;
        flow
    };
    let neighbour = [Oxm::eth_dst(lldp::NEAREST_BRIDGE), Oxm::eth_type(lldp::ETHER_TYPE)];
    alloc::vec![entry(&neighbour), entry(&[Oxm::eth_type(ARP)])]
}
