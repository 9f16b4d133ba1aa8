//! The flow entries of a switch: those of admitted flows, and those of everything else.
//!
//! | table | priority | what | then |
//! |---|---|---|---|
//! | 0 | 65,400 | an admitted flow in a VLAN: as below, with its tag in place of none | the same |
//! | 0 | 65,200 | with any other VLAN tag, by a known port | dropped, and counted for the port |
//! | 0 | 65,150 | the same as below from another switch: counted for the port | to the manager alone |
//! | 0 | 65,100 | LLDP to the nearest bridge (01:80:c2:00:00:0e) | to the manager alone |
//! | 0 | 65,000 | frames of the bridge protocols (01:80:c2:00:00:0x) | dropped |
//! | 0 | 64,000 | from another switch, IPv4 or IPv6 with DSCP 0: it was not admitted | on to table 1, or dropped if the link is not in the tree |
//! | 0 | 64,000 | from another switch, untagged, IPv4 or IPv6 with DSCP 48, if there is a reserved class | the same |
//! | 0 | 60,000 | an admitted flow: port, no tag, addresses, UDP ports; over IPv6 behind a gate the DSCP that gates give, too | meter, DSCP of its level, out; where it forks a group does that for each port |
//! | 0 | 60,000 | a tunnel, behind its first switch: port, no tag, IPv4, the destination address of Ethernet that it has on its way | DSCP of its level, at the last switch the station's address, out |
//! | 0 | 59,500, 59,000 | a tunnel at its first switch, of one flow or of a codepoint: port, no tag, the station that it goes to, UDP over IPv4 | meter, its address of Ethernet, DSCP of its level, out |
//! | 0 | 59,000 | an aggregate: port, no tag, addresses, over IPv4 UDP; at its first switch the DSCP that gates give | DSCP of its level, out |
//! | 0 | 40,000 | a link between switches that is not in the tree | dropped |
//! | 0 | 400 | from a host behind a gate that is in order, untagged, IPv4 or IPv6 with DSCP 48, if there is a reserved class | table 1 |
//! | 0 | 300 | ARP of a host | a copy to the manager, table 1 |
//! | 0 | 300 | neighbour solicitations and advertisements of a host (RFC 4861) | DSCP 0, a copy to the manager, table 1 |
//! | 0 | 200 | IPv4 and IPv6 of a known port | DSCP 0, table 1 |
//! | 0 | 100 | anything else of a known port | table 1 |
//! | 1 | 200 | from a group address | dropped |
//! | 1 | 100 | port and source that are known | table 2 |
//! | 1 | 0 | the rest | a copy to the manager, table 2 |
//! | 2 | 100 | a known destination | out |
//! | 2 | 0 | the rest | to all ports of the tree but the one it came by |
//!
//! Addresses of hosts are bound to their ports by more entries: `binding.rs`.
//!
//! Frames of VLANs in which the hosts of the network are have entries of their own: `vlans.rs`. Of others a switch takes no tagged frame.
//! Entries that lead to a level or to the reserved class match untagged frames besides, or those of one VLAN: they need not rely on another entry
//! that may be taken away.
//!
//! What has no entry in table 0 came by a port that is not in the network, and is dropped. Between switches the DSCP tells
//! what is admitted: every frame that is not has 0 there, or 48 in the reserved class, since the first switch has seen to that.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::IpAddr;

use gate::class;
use openflow::Message;
use openflow::action::Action;
use openflow::flow::{FlowFlags, FlowMod};
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::multipart::FlowStats;
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::words::{GroupId, MacAddress, PortNo, TableId};
use wire::admission::Address;

use super::table::Table;
use super::{binding, vlans};
use crate::network::Network;

/// Tables that are used.
pub(crate) const TABLES: u8 = 3;
pub(super) const SOURCES: TableId = TableId(1);
pub(super) const DESTINATIONS: TableId = TableId(2);
/// The group of all ports of the tree. Those of admitted flows have larger numbers.
pub(crate) const FLOOD: GroupId = GroupId(1);

const COOKIE: u64 = 0x5043 << 48;
const OF_FLOWS: u64 = COOKIE | 2 << 40;
/// The mark of flows that are learned.
pub(crate) const LEARNED: u64 = COOKIE | 1 << 40;
/// The mark of flows that give the manager alone what claims an address that is another port's.
pub(super) const REFUSED: u64 = COOKIE | 3 << 40;
/// The mark of flows that drop frames with a VLAN tag.
const TAGGED: u64 = COOKIE | 4 << 40;
const KIND: u64 = 0xffff_ff00_0000_0000;

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const ARP: u16 = 0x0806;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// Types of ICMPv6: a neighbour is asked for, and says where it is (RFC 4861, 4.3 and 4.4).
pub(crate) const SOLICITATION: u8 = 135;
pub(crate) const ADVERTISEMENT: u8 = 136;
const NEIGHBOURS: [u8; 2] = [SOLICITATION, ADVERTISEMENT];
/// The priority of admitted flows.
pub(crate) const OF_FLOW: u16 = 60_000;
/// And that of those in VLANs, which comes before what drops other tagged frames.
pub(crate) const OF_FLOW_IN_VLAN: u16 = 65_400;
/// And that of aggregates, which have what is left between two hosts.
pub(crate) const OF_AGGREGATE: u16 = 59_000;

/// The mark of an admitted flow's entries.
pub(crate) const fn cookie(flow: u64) -> u64 {
    OF_FLOWS | flow & !KIND
}

/// Whether it is the mark of an admitted flow's entry.
pub(crate) const fn is_of_flow(cookie: u64) -> bool {
    cookie & KIND == OF_FLOWS
}

/// The port of which an entry has dropped frames with a VLAN tag, if it is such an entry.
pub(super) fn tagged_at(flow: &FlowStats) -> Option<u32> {
    let port = flow.matching.get(OxmField::InPort).filter(|_| flow.cookie == TAGGED)?;
    u32::try_from(port.value()).ok()
}

/// The flow whose entry has this mark.
pub(crate) fn flow_of(cookie: u64) -> Option<u64> {
    is_of_flow(cookie).then_some(cookie & !KIND)
}

/// And that of single flows that come from elsewhere or go there.
pub(crate) const OF_TUNNEL: u16 = 59_500;

/// The EtherType of packets of an address.
pub(crate) const fn kind(address: Address) -> u16 {
    if address.is_ipv4() { IPV4 } else { IPV6 }
}

/// Matches packets from an address.
pub(crate) fn source(address: Address) -> Oxm {
    match address.ip() {
        IpAddr::V4(four) => Oxm::ipv4_src(four.octets()),
        IpAddr::V6(six) => Oxm::ipv6_src(six.octets()),
    }
}

/// Matches packets to an address.
pub(crate) fn destination(address: Address) -> Oxm {
    match address.ip() {
        IpAddr::V4(four) => Oxm::ipv4_dst(four.octets()),
        IpAddr::V6(six) => Oxm::ipv6_dst(six.octets()),
    }
}

/// Matches messages of neighbour discovery of a type (RFC 4861, 4.3 and 4.4).
pub(super) fn neighbour(kind: u8) -> Vec<Oxm> {
    let kind = Oxm::exact(OxmField::Icmpv6Type, kind.into());
    [Oxm::eth_type(IPV6), Oxm::ip_proto(ICMPV6)].into_iter().chain(kind).collect()
}

/// Further actions for neighbour discovery: the manager gets a copy, as of ARP.
pub(super) fn neighbour_copy() -> Vec<Action> {
    alloc::vec![Action::SetField(FieldValue::ip_dscp(0)), Action::controller()]
}

/// Fields that go together by the tables above: their prerequisites stand before them.
fn matching(fields: &[Oxm]) -> Match {
    Match::of(fields).unwrap_or_default()
}

fn masked(field: OxmField, value: u128, mask: u128) -> Vec<Oxm> {
    Oxm::masked(field, value, mask).into_iter().collect()
}

/// An entry that nothing but this file and `binding.rs` makes.
pub(super) fn entry(
    table: TableId,
    priority: u16,
    fields: &[Oxm],
    instructions: Vec<Instruction>,
) -> FlowMod {
    let mut flow = FlowMod::add(priority, matching(fields), instructions);
    flow.table = table;
    flow.cookie = COOKIE;
    flow
}

/// On to a table.
pub(super) fn goto(table: TableId) -> Vec<Instruction> {
    alloc::vec![Instruction::GotoTable(table)]
}

/// Actions, and on to a table.
pub(super) fn apply(actions: Vec<Action>, table: TableId) -> Vec<Instruction> {
    alloc::vec![Instruction::ApplyActions(actions), Instruction::GotoTable(table)]
}

/// What carries traffic that is not admitted.
#[derive(Debug)]
pub(crate) struct Carried<'m> {
    /// Links between switches that carry it.
    pub(crate) tree: &'m BTreeSet<usize>,
    /// Hosts whose addresses are to be learned.
    pub(crate) learning: BTreeSet<usize>,
    /// Whether there is a reserved class.
    pub(crate) reserved: bool,
    /// Switches whose hosts have a part of it.
    pub(crate) marked: &'m BTreeSet<usize>,
}

/// What a switch has besides admitted flows and what is learned.
pub(crate) fn base(network: &Network, switch: usize, carried: &Carried<'_>) -> Table {
    let mut table = Table::default();
    let mut add = |flow: FlowMod| table.apply(&Message::FlowMod(flow));
    let bridge_neighbour = [Oxm::eth_dst(lldp::NEAREST_BRIDGE), Oxm::eth_type(lldp::ETHER_TYPE)];
    let told = alloc::vec![Instruction::ApplyActions(alloc::vec![Action::controller()])];
    add(entry(TableId(0), 65_100, &bridge_neighbour, told.clone()));
    let bridge = masked(OxmField::EthDst, 0x0180_c200_0000, 0xffff_ffff_fff0);
    add(entry(TableId(0), 65_000, &bridge, Vec::new()));
    let mut flood = Vec::new();
    for (index, link) in network.leaving(network.switch_node(switch)) {
        let port = Oxm::in_port(PortNo(link.number));
        let mut tagged = entry(TableId(0), 65_200, &[port, Oxm::tagged()], Vec::new());
        tagged.cookie = TAGGED;
        add(tagged);
        if network.is_trunk(index) {
            let heard = [&[port][..], &bridge_neighbour].concat();
            add(entry(TableId(0), 65_150, &heard, told.clone()));
            let carries = carried.tree.contains(&index);
            let classes = [Some(class::BEST_EFFORT), carried.reserved.then_some(class::CONTROL)];
            for dscp in classes.into_iter().flatten() {
                for kind in [IPV4, IPV6] {
                    let mut unadmitted = alloc::vec![port, Oxm::eth_type(kind), Oxm::ip_dscp(dscp)];
                    unadmitted.extend((dscp == class::CONTROL).then(Oxm::untagged));
                    let then = if carries { goto(SOURCES) } else { Vec::new() };
                    add(entry(TableId(0), 64_000, &unadmitted, then));
                }
            }
            if !carries {
                add(entry(TableId(0), 40_000, &[port], Vec::new()));
                continue;
            }
        } else if carried.reserved && carried.marked.contains(&switch) {
            for kind in [IPV4, IPV6] {
                let reserved = [port, Oxm::untagged(), Oxm::eth_type(kind), Oxm::ip_dscp(class::CONTROL)];
                add(entry(TableId(0), 400, &reserved, goto(SOURCES)));
            }
        }
        flood.push(Bucket::of(alloc::vec![Action::output(PortNo(link.number))]));
        if carried.learning.contains(&link.to) {
            let copy = alloc::vec![Action::controller()];
            add(entry(TableId(0), 300, &[port, Oxm::eth_type(ARP)], apply(copy, SOURCES)));
            for kind in NEIGHBOURS {
                let fields = [&[port][..], &neighbour(kind)].concat();
                add(entry(TableId(0), 300, &fields, apply(neighbour_copy(), SOURCES)));
            }
        }
        for kind in [IPV4, IPV6] {
            let lowest = alloc::vec![Action::SetField(FieldValue::ip_dscp(0))];
            add(entry(TableId(0), 200, &[port, Oxm::eth_type(kind)], apply(lowest, SOURCES)));
        }
        add(entry(TableId(0), 100, &[port], goto(SOURCES)));
    }
    let group_source = masked(OxmField::EthSrc, 1 << 40, 1 << 40);
    add(entry(SOURCES, 200, &group_source, Vec::new()));
    add(entry(SOURCES, 0, &[], apply(alloc::vec![Action::controller()], DESTINATIONS)));
    let all = alloc::vec![Instruction::ApplyActions(alloc::vec![Action::Group(FLOOD)])];
    add(entry(DESTINATIONS, 0, &[], all));
    binding::bound(network, switch, carried).into_iter().for_each(&mut add);
    vlans::entries(network, switch, carried).into_iter().for_each(add);
    table.apply(&Message::GroupMod(GroupMod {
        command: GroupCommand::Add,
        kind: GroupType::All,
        group: FLOOD,
        buckets: flood,
    }));
    for group in vlans::groups(network, switch, carried) {
        table.apply(&Message::GroupMod(group));
    }
    table
}

/// The flows by which a switch knows where an Ethernet address is, for so many seconds without a packet.
pub(crate) fn learned(address: MacAddress, port: u32, timeout: u16) -> Vec<Message> {
    let onward = alloc::vec![Instruction::GotoTable(DESTINATIONS)];
    let out = alloc::vec![Instruction::ApplyActions(alloc::vec![Action::output(PortNo(port))])];
    let mut flows = [
        entry(SOURCES, 100, &[Oxm::in_port(PortNo(port)), Oxm::eth_src(address)], onward),
        entry(DESTINATIONS, 100, &[Oxm::eth_dst(address)], out),
    ];
    for flow in &mut flows {
        flow.cookie = LEARNED;
    }
    // When the switch forgets the source it says so, and the destination is taken away.
    let [source, _] = &mut flows;
    source.idle_timeout = timeout;
    source.flags = FlowFlags::SEND_FLOW_REM;
    flows.into_iter().map(Message::FlowMod).collect()
}

/// Takes away what [`learned`] gives.
pub(crate) fn unlearned(address: MacAddress, port: u32) -> Vec<Message> {
    let source = matching(&[Oxm::in_port(PortNo(port)), Oxm::eth_src(address)]);
    let destination = matching(&[Oxm::eth_dst(address)]);
    alloc::vec![
        Message::FlowMod(FlowMod::delete_strict(SOURCES, 100, source)),
        Message::FlowMod(FlowMod::delete_strict(DESTINATIONS, 100, destination)),
    ]
}

/// Takes away all that is learned.
pub(crate) fn all_unlearned() -> Message {
    Message::FlowMod(FlowMod::delete_by_cookie(LEARNED, u64::MAX))
}
