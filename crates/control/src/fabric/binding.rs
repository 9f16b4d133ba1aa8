//! Which port an address belongs to: frames that claim one elsewhere are dropped, and told.
//!
//! An IPv4, IPv6 or MAC address of the network file belongs to its host's port. A MAC address that a host's ARP has shown stays there as long
//! as its link is up and the switch has not forgotten it, so that the first to come keeps it.
//!
//! | table | priority | what | then |
//! |---|---|---|---|
//! | 0 | 430 | IPv4 or IPv6 from another switch | DSCP 0, table 1 |
//! | 0 | 428 | a neighbour advertisement for its address of a host, from that address or a link-local one | DSCP 0, a copy to the manager, table 1 |
//! | 0 | 427 | a neighbour advertisement for that address from anywhere else | to the manager only |
//! | 0 | 426 | a neighbour solicitation from a host with its address | DSCP 0, a copy to the manager, table 1 |
//! | 0 | 425 | IPv4 or IPv6 with DSCP 48 from a host with its address, behind a gate that is in order, if there is a reserved class | table 1 |
//! | 0 | 420 | IPv4 or IPv6 from a host with its address | DSCP 0, table 1 |
//! | 0 | 410 | IPv4 or IPv6 from anywhere else with that address, or without a tag with one of a VLAN | to the manager only |
//! | 0 | 330 | ARP from another switch | table 1 |
//! | 0 | 320 | ARP of a host that names its address as the sender's | a copy to the manager, table 1 |
//! | 0 | 310 | ARP from anywhere else that names it | to the manager only |
//! | 1 | 190 | a MAC address of the file by its host's port, or from another switch if the host is not here | table 2 |
//! | 1 | 180 | the same address from anywhere else | to the manager only |
//! | 1 | 150 | a learned MAC address by another host's port | dropped for [`REFUSED_FOR`] |
//! | 2 | 150 | to a MAC address of the file | out, along the tree |
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;
use wire::admission::Address;

use gate::class;
use openflow::Message;
use openflow::action::Action;
use openflow::flow::FlowMod;
use openflow::instruction::Instruction;
use openflow::meter::{Band, BandKind, MeterCommand, MeterFlags, MeterMod};
use openflow::multipart::{MeterConfig, MeterFeatures};
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::words::{MacAddress, MeterId, PortNo, TableId};

use super::entries::{self, ARP, Carried, DESTINATIONS, IPV4, IPV6, SOURCES, apply, entry, goto};
use super::{Fabric, Site, learning, spanning};
use crate::action::SwitchContent;
use crate::network::Network;
use crate::note::Note;

/// Packets a second, and at once, of which a switch sends the manager copies; it forwards the rest without.
const PACKETS: u32 = 250;
/// So often a switch is told to limit them; one that still does not have the limit cannot.
const TRIES: u32 = 3;
/// Seconds for which frames with a learned address of another host are dropped before one is looked at again.
const REFUSED_FOR: u16 = 10;
/// A false claim of a port is told once in this time.
const TOLD_AGAIN: Duration = Duration::from_secs(10);
/// Claims of which it is known when they were told.
const MOST_CLAIMS: usize = 256;

/// fe80::/10, which each interface has of its own and no file gives (RFC 4291, 2.5.6).
const LINK_LOCAL: u128 = 0xfe80 << 112;
const LINK_LOCAL_BITS: u128 = 0xffc0 << 112;

/// False claims by the link that they came by, and when each was told last.
#[derive(Default, Debug)]
pub(super) struct Claims(BTreeMap<(usize, Claim), Duration>);

/// An address that a frame names as its sender's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Claim {
    Ip(Address),
    Mac(MacAddress),
}

/// The limit of copies to the manager at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum PacketMeter {
    /// The switch has no such meters.
    #[default]
    Impossible,
    /// It has been told so often, and did not have it when it was read; whether it has had it before.
    Wanted(u32, bool),
    /// It has it.
    There,
}

impl PacketMeter {
    /// What a switch that says this of its meters can have.
    pub(super) fn of(features: Option<&MeterFeatures>) -> Self {
        let can = features.is_some_and(|features| {
            let flags = MeterFlags(u16::try_from(features.capabilities & 0xffff).unwrap_or(0));
            let counts = flags.contains(MeterFlags::PKTPS) && flags.contains(MeterFlags::BURST);
            counts && features.band_types & 2 != 0 && features.max_meters > 0 && features.max_bands > 0
        });
        if can { Self::Wanted(0, false) } else { Self::Impossible }
    }
}

/// The limit of copies to the manager.
fn packet_meter(command: MeterCommand) -> Message {
    Message::MeterMod(MeterMod {
        command,
        flags: MeterFlags(MeterFlags::PKTPS.0 | MeterFlags::BURST.0 | MeterFlags::STATS.0),
        meter: MeterId::CONTROLLER,
        bands: alloc::vec![Band::drop(PACKETS, PACKETS)],
    })
}

/// Whether a meter limits copies to the manager at least as far.
fn is_packet_meter(meter: &MeterConfig) -> bool {
    let is = |band: &Band| band.kind == BandKind::Drop && band.rate <= PACKETS && band.burst <= PACKETS;
    meter.flags.contains(MeterFlags::PKTPS) && meter.bands.iter().any(is)
}

/// Matches IPv6 from a link-local address.
pub(super) fn from_link_local() -> Option<Oxm> {
    Oxm::masked(OxmField::Ipv6Src, LINK_LOCAL, LINK_LOCAL_BITS).ok()
}

/// What binds addresses of the network file to ports, at a switch.
pub(super) fn bound(network: &Network, switch: usize, carried: &Carried<'_>) -> Vec<FlowMod> {
    let node = network.switch_node(switch);
    let first = TableId(0);
    let unadmitted = || apply(alloc::vec![Action::SetField(FieldValue::ip_dscp(0))], SOURCES);
    let (mut flows, mut refusing) = (Vec::new(), Vec::new());
    let mut refuse = |table, priority, fields: &[Oxm]| {
        let then = alloc::vec![Instruction::ApplyActions(alloc::vec![Action::controller()])];
        let mut flow = entry(table, priority, fields, then);
        flow.cookie = entries::REFUSED;
        refusing.push(flow);
    };
    let mut add = |table, priority, fields: &[Oxm], then| flows.push(entry(table, priority, fields, then));
    let trunks = network.leaving(node).filter(|(index, _)| carried.tree.contains(index));
    let trunks: Vec<Oxm> = trunks.map(|(_, link)| Oxm::in_port(PortNo(link.number))).collect();
    if network.hosts.iter().any(|host| host.all_addresses().next().is_some()) {
        for port in &trunks {
            add(first, 430, &[*port, Oxm::eth_type(IPV4)], unadmitted());
            add(first, 430, &[*port, Oxm::eth_type(IPV6)], unadmitted());
            add(first, 330, &[*port, Oxm::eth_type(ARP)], goto(SOURCES));
        }
    }
    for (host, of) in network.hosts.iter().enumerate() {
        let here = network.leaving(node).find(|(_, link)| link.to == host);
        let here = here.map(|(_, link)| Oxm::in_port(PortNo(link.number)));
        for (address, vlan) in of.all_addresses() {
            let address = &address;
            // Of a VLAN no frame without its tag has the address: those with it have other entries.
            let here = here.filter(|_| vlan.is_none());
            let (kind, packet) = (Oxm::eth_type(entries::kind(*address)), entries::source(*address));
            if let Some(port) = here {
                add(first, 420, &[port, kind, packet], unadmitted());
                if carried.reserved && carried.marked.contains(&switch) {
                    let reserved = [port, Oxm::untagged(), kind, Oxm::ip_dscp(class::CONTROL), packet];
                    add(first, 425, &reserved, goto(SOURCES));
                }
            }
            refuse(first, 410, &[kind, packet]);
            match address.ip() {
                IpAddr::V4(four) => {
                    let sender = Oxm::arp_spa(four.octets());
                    let copied = apply(alloc::vec![Action::controller()], SOURCES);
                    here.iter().for_each(|port| {
                        add(first, 320, &[*port, Oxm::eth_type(ARP), sender], copied.clone());
                    });
                    refuse(first, 310, &[Oxm::eth_type(ARP), sender]);
                }
                IpAddr::V6(six) => {
                    let target: Vec<Oxm> =
                        Oxm::exact(OxmField::Ipv6NdTarget, six.to_bits()).into_iter().collect();
                    let advertised = [entries::neighbour(entries::ADVERTISEMENT), target].concat();
                    if let Some(port) = here {
                        let copied = || apply(entries::neighbour_copy(), SOURCES);
                        for from in from_link_local().into_iter().chain([packet]) {
                            add(first, 428, &[&[port], &advertised[..], &[from]].concat(), copied());
                        }
                        let asks = entries::neighbour(entries::SOLICITATION);
                        add(first, 426, &[&[port], &asks[..], &[packet]].concat(), copied());
                    }
                    refuse(first, 427, &advertised);
                }
            }
        }
        let Some(mac) = of.mac else { continue };
        let from: &[Oxm] = here.as_ref().map_or(&trunks, core::slice::from_ref);
        for port in from {
            add(SOURCES, 190, &[*port, Oxm::eth_src(mac)], goto(DESTINATIONS));
        }
        refuse(SOURCES, 180, &[Oxm::eth_src(mac)]);
        if let Some(link) = spanning::towards(network, carried.tree, switch, host) {
            let number = network.links.get(link).map_or(0, |link| link.number);
            let out = alloc::vec![Action::output(PortNo(number))];
            let out = alloc::vec![Instruction::ApplyActions(out)];
            add(DESTINATIONS, 150, &[Oxm::eth_dst(mac)], out);
        }
    }
    flows.append(&mut refusing);
    flows
}

impl Fabric {
    /// The host to which a MAC address belongs: that of the file, or the one whose ARP has shown it and whose switch still knows it there.
    fn owner_of(&self, mac: MacAddress) -> Option<usize> {
        let of_file = self.network.hosts.iter().position(|host| host.mac == Some(mac));
        of_file.or_else(|| {
            let (address, _) = self.ethernet.iter().find(|(_, known)| **known == mac)?;
            let host = *self.located.get(address)?;
            let (_, access) = self.network.access(host)?;
            let link = self.network.links.get(access)?;
            let state = self.switches.get(self.network.switch_of(link.from)?)?;
            (state.addresses.at(mac) == Some(link.number)).then_some(host)
        })
    }

    /// Whether a frame from a MAC address may come by a link to a switch: no other host has the address, or it comes from the owner.
    pub(super) fn may_come(&self, switch: usize, link: usize, mac: MacAddress) -> bool {
        let Some(owner) = self.owner_of(mac) else { return true };
        spanning::towards(&self.network, &self.tree, switch, owner) == Some(link)
    }

    /// A frame has come by a port that may not send it: what its switch is to be told, and what the operator is, if that is new.
    pub(super) fn false_claim(
        &mut self,
        now: Duration,
        (switch, link): (usize, usize),
        frame: &[u8],
        is_refused: bool,
    ) -> (Vec<Message>, Option<Note>) {
        let Some(mac) = learning::source(frame) else { return Default::default() };
        let host_of = |address: &Address| self.network.hosts.iter().position(|host| host.has(*address));
        let Some(from) = self.network.links.get(link) else { return Default::default() };
        let mut named = [learning::sender(frame), learning::source_address(frame)].into_iter().flatten();
        let address = named.find(|address| host_of(address).is_some_and(|host| host != from.to));
        let (claim, owner) = match address {
            Some(address) if is_refused => (Claim::Ip(address), host_of(&address)),
            _ => (Claim::Mac(mac), self.owner_of(mac)),
        };
        // What comes from another switch has been looked at there.
        // A host that sends from its own address of a VLAN without a tag harms itself alone.
        let Some(owner) = owner.filter(|owner| !self.network.is_trunk(link) && *owner != from.to) else {
            return Default::default();
        };
        let messages = if is_refused || switch >= self.switches.len() {
            Vec::new()
        } else {
            let mut drop =
                entry(SOURCES, 150, &[Oxm::in_port(PortNo(from.number)), Oxm::eth_src(mac)], Vec::new());
            (drop.cookie, drop.hard_timeout) = (entries::LEARNED, REFUSED_FOR);
            alloc::vec![Message::FlowMod(drop)]
        };
        let is_old = |told: &Duration| now.saturating_sub(*told) >= TOLD_AGAIN;
        let known = &mut self.false_claims.0;
        let is_news = known.get(&(link, claim)).is_none_or(is_old);
        if !is_news {
            return (messages, None);
        }
        if known.len() >= MOST_CLAIMS {
            known.retain(|_, told| !is_old(told));
        }
        if known.len() < MOST_CLAIMS {
            known.insert((link, claim), now);
        }
        let note = Note::FalseClaim {
            place: self.network.port_name(link),
            from: self.network.node_name(from.to).into(),
            claim: told(claim),
            owner: self.network.node_name(owner).into(),
        };
        (messages, Some(note))
    }

    /// A switch was read: what it is to be told if it does not limit copies to the manager although it can, and what the operator is.
    /// A switch that refuses the limit is used without.
    pub(crate) fn packet_limit(
        &mut self,
        switch: usize,
        content: &SwitchContent,
    ) -> (Option<Message>, Option<Note>) {
        let site = self.network.site_name(Site::Switch(switch));
        let Some(state) = self.switches.get_mut(switch) else { return (None, None) };
        let there = content.meters.iter().find(|meter| meter.meter == MeterId::CONTROLLER);
        let is_there = there.is_some_and(is_packet_meter);
        let (tries, was_there) = match state.packet_meter {
            PacketMeter::Impossible => return (None, None),
            PacketMeter::There if is_there => return (None, None),
            PacketMeter::There => (0, true),
            PacketMeter::Wanted(_, was_there) if is_there => {
                state.packet_meter = PacketMeter::There;
                return (None, was_there.then_some(Note::PutRight(site)));
            }
            PacketMeter::Wanted(tries, was_there) => (tries, was_there),
        };
        if tries >= TRIES {
            return (None, None);
        }
        state.packet_meter = PacketMeter::Wanted(tries + 1, was_there);
        let what = "the limit of what goes to the manager is missing or different".into();
        let note = (was_there && tries == 0).then_some(Note::Different { site, what });
        let command = if there.is_some() { MeterCommand::Modify } else { MeterCommand::Add };
        (Some(packet_meter(command)), note)
    }
}

/// An address in words.
fn told(claim: Claim) -> String {
    match claim {
        Claim::Ip(address) if address.is_ipv4() => format!("the IPv4 address {address}"),
        Claim::Ip(address) => format!("the IPv6 address {address}"),
        Claim::Mac([a, b, c, d, e, f]) => {
            format!("the MAC address {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
        }
    }
}
