//! What packets, ports and flows that have gone say: where hosts and Ethernet addresses are, and which links are up.
use alloc::vec::Vec;
use core::time::Duration;
use wire::admission::Address;

use openflow::Message;
use openflow::flow::FlowRemoved;
use openflow::oxm::OxmField;
use openflow::packet::PacketIn;
use openflow::port::{Port, PortConfig, PortState};
use openflow::words::MacAddress;

use super::learning::{self, Lesson};
use super::{Fabric, Site, entries};
use crate::config::Config;
use crate::note::Note;

/// Most addresses that are learned of one host, of IP and of Ethernet each.
pub(crate) const MOST_OF_A_HOST: usize = 64;

/// What a packet has said.
#[derive(Default, Debug)]
pub(crate) struct Heard {
    /// So many new things of hosts, for which requests may have waited.
    pub(crate) news: usize,
    /// What its switch is to be told.
    pub(crate) learned: Vec<Message>,
    /// The host of an address has another MAC address than before.
    pub(crate) renewed: Option<(Address, MacAddress)>,
    /// What the operator should know.
    pub(crate) note: Option<Note>,
    /// The link of a host by which more Ethernet addresses speak than are learned of one.
    pub(crate) crowded: Option<usize>,
}

impl Fabric {
    /// A port of a switch is so now, or is not there any more.
    pub(crate) fn see_port(&mut self, switch: usize, port: &Port, deleted: bool) {
        let Some(link) = self.network.link_at(switch, port.number.0) else { return };
        if deleted || port.state.contains(PortState::LINK_DOWN) || port.config.contains(PortConfig::PORT_DOWN)
        {
            self.down.insert(link);
            // Another machine may be there when it comes back.
            let host = self.network.links.get(link).map_or(usize::MAX, |link| link.to);
            if self.network.hosts.get(host).is_none_or(|host| host.mac.is_none()) {
                let located = &self.located;
                self.ethernet.retain(|address, _| located.get(address) != Some(&host));
            }
        } else {
            self.down.remove(&link);
        }
    }

    /// A packet of a switch that is ready has come: where an address is. `None` if it says nothing.
    pub(crate) fn packet_in(
        &mut self,
        now: Duration,
        datapath: u64,
        packet: &PacketIn,
        config: &Config,
    ) -> Option<Heard> {
        let switch = self.switch_index(datapath)?;
        let port = packet.matching.get(OxmField::InPort).and_then(|oxm| u32::try_from(oxm.value()).ok());
        let number = port?;
        let link = self.network.link_at(switch, number)?;
        if !self.is_ready(Site::Switch(switch)) {
            return None;
        }
        let mut heard = Heard::default();
        if Self::has_refused(packet) {
            (heard.learned, heard.note) = self.false_claim(now, (switch, link), &packet.data, true);
            return Some(heard);
        }
        let host = self.network.links.get(link).map_or(usize::MAX, |link| link.to);
        if let Some(address) = learning::sender(&packet.data) {
            heard.news += usize::from(self.locate(host, address));
            let source = learning::source(&packet.data).filter(|source| source[0] & 1 == 0);
            // One of the file is known, and another host's is not this one's.
            let may_be = |source: &MacAddress| {
                self.located.get(&address) == Some(&host)
                    && self.network.hosts.get(host).is_some_and(|host| host.mac.is_none())
                    && self.may_come(switch, link, *source)
            };
            if let Some(source) = source.filter(may_be) {
                match self.ethernet.insert(address, source) {
                    None => heard.news += 1,
                    Some(before) if before != source => heard.renewed = Some((address, source)),
                    Some(_) => {}
                }
            }
        }
        // A copy of ARP is for the address of the host only.
        let is_trunk = self.network.is_trunk(link);
        if packet.table.0 == 0 || is_trunk && !self.tree.contains(&link) {
            return Some(heard);
        }
        let address = learning::source(&packet.data)?;
        if !self.may_come(switch, link, address) {
            (heard.learned, heard.note) = self.false_claim(now, (switch, link), &packet.data, false);
            return Some(heard);
        }
        let state = self.switches.get_mut(switch)?;
        let most_here = if is_trunk { usize::MAX } else { MOST_OF_A_HOST };
        let lesson = state.addresses.see(now, address, number, config.most_addresses, most_here);
        heard.crowded = (lesson == Lesson::Crowded).then_some(link);
        if let Lesson::Learned { before, forgotten } = lesson {
            heard.learned = before.map(|before| entries::unlearned(address, before)).unwrap_or_default();
            heard.learned.extend(forgotten.into_iter().flat_map(|(old, at)| entries::unlearned(old, at)));
            heard.learned.extend(entries::learned(address, number, config.address_timeout));
        }
        Some(heard)
    }

    /// Whether a packet has come to the manager alone, since its port may not send it.
    pub(crate) fn has_refused(packet: &PacketIn) -> bool {
        packet.cookie == entries::REFUSED
    }

    /// The sender of a packet at a host's port has this address. Addresses that the network file gives are not learned,
    /// and one that is learned stays where it was first seen. True if that is new.
    fn locate(&mut self, host: usize, address: Address) -> bool {
        let learns = self.network.hosts.get(host).is_some_and(|host| host.addresses.is_empty());
        let has = self.located.values().filter(|other| **other == host).count();
        let is_new = learns && has < MOST_OF_A_HOST && !self.located.contains_key(&address);
        if is_new {
            self.located.insert(address, host);
        }
        is_new
    }

    /// A stored flow has this address at a host: it is there until it speaks elsewhere, which is a move then. False if a later flow, or the
    /// network file, has it elsewhere.
    pub(crate) fn remember(&mut self, address: Address, host: usize, ethernet: Option<MacAddress>) -> bool {
        if self.locate(host, address)
            && let Some(ethernet) = ethernet
        {
            self.ethernet.insert(address, ethernet);
        }
        self.located.get(&address).is_none_or(|at| *at == host)
    }

    /// A flow has gone from a switch: a source that was quiet for long is forgotten, with the way to it. What the switch is to be told.
    pub(crate) fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved) -> Option<Vec<Message>> {
        let switch = self.switch_index(datapath)?;
        let state = self.switches.get_mut(switch)?;
        let field = |field| removed.matching.get(field).map(|oxm| oxm.value());
        let (address, port) = (field(OxmField::EthSrc)?, field(OxmField::InPort)?);
        let [_, _, address @ ..] = (address as u64).to_be_bytes();
        let port = u32::try_from(port).ok()?;
        let is_forgotten = removed.cookie == entries::LEARNED && state.addresses.forget(address, port);
        is_forgotten.then(|| entries::unlearned(address, port))
    }
}
