//! A switch: does what it is told, and what that means for packets. Shares no code with what tells it.
use std::collections::BTreeMap;

use openflow::Message;
use openflow::action::Action;
use openflow::error_code::ErrorCode;
use openflow::flow::{FlowCommand, FlowFlags, FlowMod};
use openflow::group::{GroupCommand, GroupMod};
use openflow::instruction::Instruction;
use openflow::matching::CanonicalMatch;
use openflow::meter::{MeterCommand, MeterMod};
use openflow::multipart::{FlowStats, GroupDescription, MeterConfig, Traffic};
use openflow::oxm::OxmField;
use openflow::words::{Age, MeterId, PortNo};

use control::action::SwitchContent;
use wire::admission::Address;

/// A VLAN tag (IEEE 802.1Q, 9.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// VLAN id, 0 to 4,095; 0 if the tag is for the priority alone.
    pub vid: u16,
    /// Priority code point, 0 to 7.
    pub pcp: u8,
}

/// What matters of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Source MAC address.
    pub from: [u8; 6],
    /// Destination MAC address.
    pub to: [u8; 6],
    /// The outer VLAN tag.
    pub tag: Option<Tag>,
    /// EtherType behind that tag: that of the inner tag if there are two, and nothing behind that is matched.
    pub kind: u16,
    /// Source address.
    pub source: Address,
    /// Destination address; of neighbour discovery, which goes to groups, its target.
    pub destination: Address,
    /// IP protocol. With 44 it is a fragment of UDP over IPv6 that is not the first one, as Open vSwitch sees it.
    pub protocol: u8,
    /// UDP source and destination port; of ICMPv6 the first is its type.
    pub ports: (u16, u16),
    /// DSCP, 0 to 63.
    pub dscp: u8,
}

impl Packet {
    fn field(&self, field: OxmField, in_port: u32) -> Option<u128> {
        let number = |bytes: &[u8]| bytes.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
        let (ip4, ip6) = (self.kind == 0x0800, self.kind == 0x86dd);
        let udp = (ip4 || ip6) && self.protocol == 17;
        let icmp = ip6 && self.protocol == 58;
        let four = |address: Address| number(&address.bytes()[12..]);
        Some(match field {
            OxmField::InPort => in_port.into(),
            OxmField::EthDst => number(&self.to),
            OxmField::EthSrc => number(&self.from),
            OxmField::EthType => self.kind.into(),
            OxmField::VlanVid => self.tag.map_or(0, |tag| 0x1000 | u128::from(tag.vid)),
            OxmField::VlanPcp => self.tag?.pcp.into(),
            OxmField::IpDscp if ip4 || ip6 => self.dscp.into(),
            OxmField::IpProto if ip4 || ip6 => self.protocol.into(),
            OxmField::Ipv4Src if ip4 => four(self.source),
            OxmField::ArpSpa if self.kind == 0x0806 => four(self.source),
            OxmField::Ipv4Dst if ip4 => four(self.destination),
            OxmField::Ipv6Src if ip6 => number(&self.source.bytes()),
            OxmField::Ipv6Dst if ip6 => number(&self.destination.bytes()),
            OxmField::Icmpv6Type if icmp => self.ports.0.into(),
            OxmField::Ipv6NdTarget if icmp && matches!(self.ports.0, 135 | 136) => {
                number(&self.destination.bytes())
            }
            OxmField::UdpSrc if udp => self.ports.0.into(),
            OxmField::UdpDst if udp => self.ports.1.into(),
            _ => return None,
        })
    }

    /// The frame as far as the manager looks at it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.to, self.from].concat();
        if let Some(Tag { vid, pcp }) = self.tag {
            bytes.extend([0x81, 0]);
            bytes.extend((u16::from(pcp) << 13 | vid).to_be_bytes());
        }
        bytes.extend(self.kind.to_be_bytes());
        match self.kind {
            0x0806 => {
                bytes.extend([0, 1, 8, 0, 6, 4, 0, 1]);
                bytes.extend(self.from);
                bytes.extend(&self.source.bytes()[12..]);
                bytes.extend([0; 6]);
                bytes.extend(&self.destination.bytes()[12..]);
            }
            0x0800 => {
                bytes.extend([0x45, self.dscp << 2, 0, 28, 0, 0, 0, 0, 64, self.protocol, 0, 0]);
                bytes.extend(&self.source.bytes()[12..]);
                bytes.extend(&self.destination.bytes()[12..]);
            }
            0x86dd => {
                bytes.extend([0x60 | self.dscp >> 2, self.dscp << 6, 0, 0, 0, 24, self.protocol, 255]);
                bytes.extend(self.source.bytes());
                bytes.extend(self.destination.bytes());
                bytes.extend([self.ports.0.to_be_bytes()[1], 0, 0, 0, 0, 0, 0, 0]);
                bytes.extend(self.destination.bytes());
            }
            _ => {}
        }
        bytes
    }
}

/// What a switch does with a packet.
#[derive(Default, Debug)]
pub struct Fate {
    /// Out by these ports.
    pub out: Vec<(u32, Packet)>,
    /// To the manager, from this table and with this cookie.
    pub copies: Vec<(u8, u64, Packet)>,
    /// Meters passed.
    pub meters: Vec<u32>,
    /// Entries that it came to by which it did not leave: they are counted.
    passed: Vec<Place>,
}

/// Where an entry stands: table, priority and what it matches.
type Place = (u8, u16, CanonicalMatch);

/// A switch.
#[derive(Default, Debug)]
pub struct Switch {
    /// Flow entries, as they were added.
    pub flows: Vec<FlowMod>,
    /// Groups by number.
    pub groups: BTreeMap<u32, GroupMod>,
    /// Meters by number.
    pub meters: BTreeMap<u32, MeterMod>,
    /// The most flows that it takes.
    pub most_flows: Option<usize>,
    /// The most groups that it takes.
    pub most_groups: Option<usize>,
    /// It has no meter for what goes to the manager, and refuses it.
    pub refuses_packet_meter: bool,
    /// How often it has.
    pub refused: u32,
    /// The counts of entries that send nothing.
    counted: BTreeMap<Place, u64>,
    /// The generation of its master, if it has had one.
    pub generation: Option<u64>,
}

fn place(flow: &FlowMod) -> Place {
    (flow.table.0, flow.priority, flow.matching.canonical())
}

/// Whether packets leave by an entry, other than to the manager.
fn leaves(flow: &FlowMod) -> bool {
    actions(flow).any(|action| match action {
        Action::Output { port, .. } => *port != PortNo::CONTROLLER,
        Action::Group(_) => true,
        _ => false,
    })
}

fn same_place(one: &FlowMod, other: &FlowMod) -> bool {
    one.table == other.table && one.priority == other.priority && one.matching.is_same_as(&other.matching)
}

impl Switch {
    /// Does what a message says; an error as the switch would tell it.
    pub fn take(&mut self, message: &Message) -> Result<(), ErrorCode> {
        match message {
            Message::FlowMod(flow) => self.take_flow(flow),
            Message::GroupMod(group) => {
                let known = self.groups.contains_key(&group.group.0);
                match group.command {
                    GroupCommand::Add if known => return Err(ErrorCode::GroupExists),
                    GroupCommand::Add if self.most_groups.is_some_and(|most| self.groups.len() >= most) => {
                        return Err(ErrorCode::GroupOutOfGroups);
                    }
                    GroupCommand::Modify if !known => return Err(ErrorCode::GroupUnknown),
                    GroupCommand::Delete => {
                        self.groups.remove(&group.group.0);
                        let uses = |flow: &FlowMod| {
                            actions(flow).any(|action| *action == Action::Group(group.group))
                        };
                        self.flows.retain(|flow| !uses(flow));
                    }
                    _ => {
                        self.groups.insert(group.group.0, group.clone());
                    }
                }
                Ok(())
            }
            Message::MeterMod(meter) => {
                let known = self.meters.contains_key(&meter.meter.0);
                if self.refuses_packet_meter && meter.meter == MeterId::CONTROLLER {
                    self.refused += 1;
                    return Err(ErrorCode::MeterInvalid);
                }
                match meter.command {
                    MeterCommand::Add if known => return Err(ErrorCode::MeterExists),
                    MeterCommand::Modify if !known => return Err(ErrorCode::MeterUnknown),
                    MeterCommand::Delete => {
                        self.meters.remove(&meter.meter.0);
                        let uses =
                            |flow: &FlowMod| flow.instructions.contains(&Instruction::Meter(meter.meter));
                        self.flows.retain(|flow| !uses(flow));
                    }
                    _ => {
                        self.meters.insert(meter.meter.0, meter.clone());
                    }
                }
                Ok(())
            }
            // Where it goes is not known here: a switch has no cables.
            Message::PacketOut(_) => Ok(()),
            other => panic!("not expected: {other:?}"),
        }
    }

    fn take_flow(&mut self, flow: &FlowMod) -> Result<(), ErrorCode> {
        match flow.command {
            FlowCommand::Add => {
                for action in actions(flow) {
                    if let Action::Group(group) = action
                        && !self.groups.contains_key(&group.0)
                    {
                        return Err(ErrorCode::ActionBadOutGroup);
                    }
                }
                for instruction in &flow.instructions {
                    if let Instruction::Meter(meter) = instruction
                        && !self.meters.contains_key(&meter.0)
                    {
                        return Err(ErrorCode::MeterUnknown);
                    }
                    if let Instruction::GotoTable(table) = instruction
                        && *table <= flow.table
                    {
                        return Err(ErrorCode::InstructionBadTable);
                    }
                }
                let at = self.flows.iter().position(|other| same_place(other, flow));
                match at {
                    Some(at) => self.flows[at] = flow.clone(),
                    None if self.most_flows.is_some_and(|most| self.flows.len() >= most) => {
                        return Err(ErrorCode::FlowTableFull);
                    }
                    None => self.flows.push(flow.clone()),
                }
            }
            FlowCommand::DeleteStrict => self.flows.retain(|other| !same_place(other, flow)),
            FlowCommand::Delete => {
                assert!(flow.matching.is_empty(), "deletions by match are not expected");
                self.flows.retain(|other| other.cookie & flow.cookie_mask != flow.cookie & flow.cookie_mask);
            }
            FlowCommand::Modify | FlowCommand::ModifyStrict => panic!("not expected: {flow:?}"),
        }
        Ok(())
    }

    /// All that it has, in forms of its own: instructions in another order, lengths in outputs.
    pub fn content(&self) -> SwitchContent {
        let flow = |flow: &FlowMod| FlowStats {
            table: flow.table,
            age: Age::default(),
            priority: flow.priority,
            idle_timeout: flow.idle_timeout,
            hard_timeout: flow.hard_timeout,
            flags: FlowFlags(flow.flags.0),
            cookie: flow.cookie,
            traffic: if leaves(flow) {
                Traffic { packets: 7, octets: 700 }
            } else {
                let packets = self.counted.get(&place(flow)).copied().unwrap_or(0);
                Traffic { packets, octets: 100 * packets }
            },
            matching: flow.matching.clone(),
            instructions: flow.instructions.iter().rev().cloned().collect(),
        };
        SwitchContent {
            flows: self.flows.iter().map(flow).collect(),
            groups: self
                .groups
                .values()
                .map(|group| GroupDescription {
                    kind: group.kind,
                    group: group.group,
                    buckets: group.buckets.clone(),
                })
                .collect(),
            meters: self
                .meters
                .values()
                .map(|meter| MeterConfig {
                    flags: meter.flags,
                    meter: meter.meter,
                    bands: meter.bands.clone(),
                })
                .collect(),
            counters: Vec::new(),
        }
    }

    /// Counts a packet with this fate.
    pub fn count(&mut self, fate: &Fate) {
        for place in &fate.passed {
            *self.counted.entry(place.clone()).or_default() += 1;
        }
    }

    /// What becomes of a packet that comes in by a port.
    pub fn forward(&self, in_port: u32, packet: Packet) -> Fate {
        let mut fate = Fate::default();
        let (mut table, mut packet) = (0, packet);
        loop {
            let matches = |flow: &&FlowMod| {
                flow.table.0 == table
                    && flow.matching.known().all(|oxm| {
                        let mask = oxm.mask().unwrap_or(oxm.field().all_bits());
                        packet.field(oxm.field(), in_port).is_some_and(|value| value & mask == oxm.value())
                    })
            };
            let Some(flow) = self.flows.iter().filter(matches).max_by_key(|flow| flow.priority) else {
                return fate;
            };
            if !leaves(flow) {
                fate.passed.push(place(flow));
            }
            let mut next = None;
            for instruction in &flow.instructions {
                match instruction {
                    Instruction::Meter(meter) => fate.meters.push(meter.0),
                    Instruction::ApplyActions(actions) => {
                        for action in actions {
                            match action {
                                Action::Output { port, .. } if *port == PortNo::CONTROLLER => {
                                    fate.copies.push((table, flow.cookie, packet));
                                }
                                _ => self.apply(action, in_port, &mut packet, &mut fate.out),
                            }
                        }
                    }
                    Instruction::GotoTable(table) => next = Some(table.0),
                    other => panic!("not expected: {other:?}"),
                }
            }
            match next {
                Some(next) => table = next,
                None => return fate,
            }
        }
    }

    fn apply(&self, action: &Action, in_port: u32, packet: &mut Packet, out: &mut Vec<(u32, Packet)>) {
        match action {
            Action::Output { port, .. } if port.0 != in_port => out.push((port.0, *packet)),
            Action::Output { .. } => {}
            Action::SetField(value) => match value.field() {
                OxmField::IpDscp => packet.dscp = value.value() as u8,
                OxmField::EthDst => packet.to = value.value().to_be_bytes()[10..].try_into().unwrap(),
                OxmField::Ipv4Dst => packet.destination = (value.value() as u32).to_be_bytes().into(),
                OxmField::Ipv6Dst => packet.destination = Address::from_bytes(value.value().to_be_bytes()),
                OxmField::UdpDst => packet.ports.1 = value.value() as u16,
                other => panic!("not expected: {other:?}"),
            },
            Action::Group(group) => {
                for bucket in &self.groups[&group.0].buckets {
                    let mut copy = *packet;
                    for action in &bucket.actions {
                        self.apply(action, in_port, &mut copy, out);
                    }
                }
            }
            other => panic!("not expected: {other:?}"),
        }
    }
}

fn actions(flow: &FlowMod) -> impl Iterator<Item = &Action> {
    flow.instructions.iter().flat_map(|instruction| match instruction {
        Instruction::ApplyActions(actions) => actions.as_slice(),
        _ => &[],
    })
}
