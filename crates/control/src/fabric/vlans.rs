//! Best effort in VLANs: tagged frames of members to members, and what else has an allowed tag is dropped.
//!
//! | table | priority | what | then |
//! |---|---|---|---|
//! | 0 | 65,450 | from another switch, with the tag, IPv4 or IPv6 with DSCP 0: it was not admitted | on to table 2, or dropped if the link is not in the tree |
//! | 0 | 65,400 | an admitted flow in the VLAN: `entries.rs` | |
//! | 0 | 65,350 | from another switch by a link in the tree, with the tag, IPv4, IPv6 or ARP | DSCP 0, table 2 |
//! | 0 | 65,340 | from a member and its MAC address, with the tag, a neighbour advertisement for its address | DSCP 0, table 2 |
//! | 0 | 65,330 | a neighbour advertisement with the tag for an address of the VLAN from anywhere else | dropped |
//! | 0 | 65,320 | from a member and its MAC address, with the tag, IPv4, IPv6 or ARP with its address in the VLAN, a link-local one or none | DSCP 0, table 2 |
//! | 0 | 65,250 | anything else with the tag by the port of a member or from another switch | dropped |
//! | 2 | 170 | with the tag to the MAC address of a member | out, along the tree |
//! | 2 | 160 | with the tag to any other address | to all members of the VLAN and along the tree, but not back |
//!
//! Nothing of a VLAN is learned, and no frame of it is copied to the manager: the network file says which address is at which port.
use alloc::vec::Vec;
use core::net::IpAddr;

use openflow::action::Action;
use openflow::flow::FlowMod;
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::words::{GroupId, PortNo, TableId};

use super::binding::from_link_local;
use super::entries::{
    ADVERTISEMENT, ARP, Carried, DESTINATIONS, IPV4, IPV6, SOLICITATION, apply, entry, goto,
};
use super::entries::{kind, neighbour, source};
use super::spanning;
use crate::network::Network;

/// The group of a VLAN has this number more than its id; those of admitted flows have smaller ones.
pub(crate) const GROUPS: u32 = 0x0100_0000;

const UNADMITTED: u16 = 65_450;
const FROM_SWITCHES: u16 = 65_350;
const OWN_ADVERTISED: u16 = 65_340;
const ADVERTISED: u16 = 65_330;
const FROM_MEMBERS: u16 = 65_320;
const DROPPED: u16 = 65_250;
const TO_MEMBERS: u16 = 170;
const TO_ALL: u16 = 160;

/// Of IP what is not admitted has the lowest class.
fn lowest() -> Vec<Instruction> {
    apply(alloc::vec![Action::SetField(FieldValue::ip_dscp(0))], DESTINATIONS)
}

/// The entries of a switch for frames of all VLANs, besides those of admitted flows.
pub(super) fn entries(network: &Network, switch: usize, carried: &Carried<'_>) -> Vec<FlowMod> {
    let mut flows = Vec::new();
    for id in network.vlans() {
        between_switches(network, switch, carried, id, &mut flows);
        members(network, switch, id, &mut flows);
        destinations(network, switch, carried, id, &mut flows);
    }
    flows
}

/// The groups by which a switch floods within VLANs.
pub(super) fn groups(network: &Network, switch: usize, carried: &Carried<'_>) -> Vec<GroupMod> {
    let of = |id: u16| {
        let leaves = network.leaving(network.switch_node(switch)).filter(|(index, link)| {
            carried.tree.contains(index) || network.hosts.get(link.to).is_some_and(|host| host.is_in(id))
        });
        let buckets = leaves.map(|(_, link)| Bucket::of(alloc::vec![Action::output(PortNo(link.number))]));
        GroupMod {
            command: GroupCommand::Add,
            kind: GroupType::All,
            group: group(id),
            buckets: buckets.collect(),
        }
    };
    network.vlans().into_iter().map(of).collect()
}

const fn group(id: u16) -> GroupId {
    GroupId(GROUPS + id as u32)
}

fn between_switches(
    network: &Network,
    switch: usize,
    carried: &Carried<'_>,
    id: u16,
    flows: &mut Vec<FlowMod>,
) {
    let mut add = |priority, fields: &[Oxm], then| flows.push(entry(TableId(0), priority, fields, then));
    let trunks = network.leaving(network.switch_node(switch)).filter(|(index, _)| network.is_trunk(*index));
    for (index, link) in trunks {
        let here = [Oxm::in_port(PortNo(link.number)), Oxm::vlan(id)];
        let carries = carried.tree.contains(&index);
        for kind in [IPV4, IPV6] {
            let then = if carries { goto(DESTINATIONS) } else { Vec::new() };
            add(UNADMITTED, &[&here[..], &[Oxm::eth_type(kind), Oxm::ip_dscp(0)]].concat(), then);
            if carries {
                add(FROM_SWITCHES, &[&here[..], &[Oxm::eth_type(kind)]].concat(), lowest());
            }
        }
        if carries {
            add(FROM_SWITCHES, &[&here[..], &[Oxm::eth_type(ARP)]].concat(), goto(DESTINATIONS));
        }
        add(DROPPED, &here, Vec::new());
    }
}

/// Entries for the frames that members at this switch may send.
fn members(network: &Network, switch: usize, id: u16, flows: &mut Vec<FlowMod>) {
    let mut add = |priority, fields: &[Oxm], then| flows.push(entry(TableId(0), priority, fields, then));
    let advertised = |target: u128| {
        let target = Oxm::exact(OxmField::Ipv6NdTarget, target);
        [Oxm::vlan(id)].into_iter().chain(neighbour(ADVERTISEMENT)).chain(target).collect::<Vec<_>>()
    };
    for host in &network.hosts {
        let addresses = host.all_addresses().filter(|(_, vlan)| *vlan == Some(id));
        for six in addresses.filter_map(|(address, _)| match address.ip() {
            IpAddr::V4(_) => None,
            IpAddr::V6(six) => Some(six),
        }) {
            add(ADVERTISED, &advertised(six.to_bits()), Vec::new());
        }
    }
    for (_, link) in network.leaving(network.switch_node(switch)) {
        let Some(host) = network.hosts.get(link.to).filter(|host| host.is_in(id)) else { continue };
        let port = Oxm::in_port(PortNo(link.number));
        add(DROPPED, &[port, Oxm::vlan(id)], Vec::new());
        let Some(mac) = host.mac else { continue };
        let with = |fields: &[Oxm]| [&[port, Oxm::eth_src(mac)][..], fields].concat();
        let here = |fields: &[Oxm]| with(&[&[Oxm::vlan(id)][..], fields].concat());
        for (address, _) in host.all_addresses().filter(|(_, vlan)| *vlan == Some(id)) {
            let packet = [Oxm::eth_type(kind(address)), source(address)];
            add(FROM_MEMBERS, &here(&packet), lowest());
            match address.ip() {
                // A host that looks whether its address is free has none yet (RFC 5227).
                IpAddr::V4(four) => {
                    for sender in [four.octets(), [0; 4]] {
                        let asks = [Oxm::eth_type(ARP), Oxm::arp_spa(sender)];
                        add(FROM_MEMBERS, &here(&asks), goto(DESTINATIONS));
                    }
                }
                // The same of IPv6 (RFC 4862, 5.4), and what it asks from its link-local address.
                IpAddr::V6(six) => {
                    add(OWN_ADVERTISED, &with(&advertised(six.to_bits())), lowest());
                    let local: Vec<Oxm> =
                        [Oxm::eth_type(IPV6)].into_iter().chain(from_link_local()).collect();
                    add(FROM_MEMBERS, &here(&local), lowest());
                    let none = Oxm::ipv6_src([0; 16]);
                    add(FROM_MEMBERS, &here(&[&neighbour(SOLICITATION)[..], &[none]].concat()), lowest());
                }
            }
        }
    }
}

fn destinations(network: &Network, switch: usize, carried: &Carried<'_>, id: u16, flows: &mut Vec<FlowMod>) {
    let mut add = |priority, fields: &[Oxm], action| {
        let out = alloc::vec![Instruction::ApplyActions(alloc::vec![action])];
        flows.push(entry(DESTINATIONS, priority, fields, out));
    };
    for (index, host) in network.hosts.iter().enumerate().filter(|(_, host)| host.is_in(id)) {
        let link = spanning::towards(network, carried.tree, switch, index);
        let link = link.and_then(|link| network.links.get(link));
        if let (Some(mac), Some(link)) = (host.mac, link) {
            let to = [Oxm::eth_dst(mac), Oxm::vlan(id)];
            add(TO_MEMBERS, &to, Action::output(PortNo(link.number)));
        }
    }
    add(TO_ALL, &[Oxm::vlan(id)], Action::Group(group(id)));
}
