//! What a switch is told of an admitted flow: an entry that matches it, and a group of type all where its tree forks.
use alloc::vec::Vec;
use core::net::IpAddr;

use openflow::Message;
use openflow::action::Action;
use openflow::flow::FlowMod;
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::words::{GroupId, MacAddress, MeterId, PortNo, TableId};
use wire::admission::Socket;

use crate::fabric::entries;
use crate::fabric::{OF_AGGREGATE, OF_FLOW, OF_FLOW_IN_VLAN, OF_TUNNEL, UDP, cookie};
use crate::tunnels::Packets;

/// A way out of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Output {
    /// The port by which it leaves.
    pub(crate) port: u32,
    /// The DSCP of its level there.
    pub(crate) dscp: u8,
    /// Who is at the other end, if that is known; with the address and port there, where the frame has other ones until then.
    pub(crate) rewrite: Option<(MacAddress, Option<Socket>)>,
}

impl Output {
    fn actions(&self) -> Vec<Action> {
        let mut actions = alloc::vec![Action::SetField(FieldValue::ip_dscp(self.dscp))];
        if let Some((address, socket)) = self.rewrite {
            // The values fit their fields: none of these is `None`.
            let set = |field, value| FieldValue::new(field, value).ok().map(Action::SetField);
            actions.push(Action::SetField(FieldValue::eth_dst(address)));
            if let Some(socket) = socket {
                actions.extend(match socket.address.ip() {
                    IpAddr::V4(four) => set(OxmField::Ipv4Dst, four.to_bits().into()),
                    IpAddr::V6(six) => set(OxmField::Ipv6Dst, six.to_bits()),
                });
                actions.extend(set(OxmField::UdpDst, socket.port.into()));
            }
        }
        actions.push(Action::output(PortNo(self.port)));
        actions
    }
}

/// The part of a tunnel at a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tunnelled {
    /// The first switch: which packets go into it, and the Ethernet address of the station that they go to.
    Enters(Packets, MacAddress),
    /// A later one: the destination address of Ethernet that they have there.
    Passes(MacAddress),
}

/// An admitted flow at a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FlowEntry {
    /// The number of its grant.
    pub(crate) flow: u64,
    /// The port that it comes in by.
    pub(crate) in_port: u32,
    /// Where it comes from.
    pub(crate) source: Socket,
    /// Where it goes.
    pub(crate) destination: Socket,
    /// By which ports it leaves; several only with a group.
    pub(crate) outputs: Vec<Output>,
    /// The group that copies it, if it leaves by several ports.
    pub(crate) group: Option<u32>,
    /// The meter that it passes, if there is one.
    pub(crate) meter: Option<u32>,
    /// The DSCP that its gate gives it, if that is in front of the switch.
    pub(crate) marked: Option<u8>,
    /// What it has of a tunnel, if it is one.
    pub(crate) tunnelled: Option<Tunnelled>,
    /// The VLAN whose tag its frames have, in all switches; `None` if they have none.
    pub(crate) vlan: Option<u16>,
}

impl Tunnelled {
    /// Single flows of the network come first, then those of tunnels, then all with a codepoint.
    const fn priority(self) -> u16 {
        match self {
            Self::Enters(Packets::Codepoint(_), _) => OF_AGGREGATE,
            Self::Enters(Packets::Flow { .. }, _) => OF_TUNNEL,
            Self::Passes(_) => OF_FLOW,
        }
    }

    fn fields(self, in_port: u32) -> Match {
        let mut fields =
            alloc::vec![Oxm::in_port(PortNo(in_port)), Oxm::untagged(), Oxm::eth_type(entries::IPV4)];
        match self {
            Self::Passes(label) => fields.push(Oxm::eth_dst(label)),
            Self::Enters(packets, to) => {
                fields.extend([Oxm::eth_dst(to), Oxm::ip_proto(UDP)]);
                match packets {
                    Packets::Codepoint(dscp) => fields.push(Oxm::ip_dscp(dscp)),
                    Packets::Flow { source, source_port, destination, destination_port } => {
                        fields.extend([Oxm::ipv4_src(source.octets()), Oxm::ipv4_dst(destination.octets())]);
                        fields.extend(Some(source_port).filter(|port| *port > 0).map(Oxm::udp_src));
                        fields.extend(Some(destination_port).filter(|port| *port > 0).map(Oxm::udp_dst));
                    }
                }
            }
        }
        Match::of(&fields).unwrap_or_default()
    }
}

impl FlowEntry {
    /// Whether it is all UDP between two addresses that is in no other flow.
    const fn is_aggregate(&self) -> bool {
        self.source.port == 0 && self.destination.port == 0
    }

    /// The EtherType of its packets.
    const fn kind(&self) -> u16 {
        entries::kind(self.source.address)
    }

    /// Those of single flows come before those of aggregates, which would match them, too.
    const fn priority(&self) -> u16 {
        if let Some(tunnelled) = self.tunnelled {
            return tunnelled.priority();
        }
        match self.vlan {
            Some(_) => OF_FLOW_IN_VLAN,
            None if self.is_aggregate() => OF_AGGREGATE,
            None => OF_FLOW,
        }
    }

    /// An aggregate has no ports, since fragments have none. What exceeds its contract comes by its gate, too, but is not marked. Nor is what has
    /// extension headers of IPv6 before UDP: switches look behind them, gates do not.
    ///
    /// Over IPv6 the entry of an aggregate does not match the protocol either. Of a fragment that is not the first one of its datagram Open vSwitch takes the header
    /// of the fragment (44) for the protocol, and other switches what follows it. The gate marks nothing but UDP and its fragments, and what is not
    /// marked does not come to the entries of later switches.
    fn fields(&self) -> Match {
        if let Some(tunnelled) = self.tunnelled {
            return tunnelled.fields(self.in_port);
        }
        let port = Oxm::in_port(PortNo(self.in_port));
        let mut fields =
            alloc::vec![port, self.vlan.map_or(Oxm::untagged(), Oxm::vlan), Oxm::eth_type(self.kind())];
        if self.is_aggregate() || !self.source.address.is_ipv4() {
            fields.extend(self.marked.map(Oxm::ip_dscp));
        }
        if !self.is_aggregate() || self.source.address.is_ipv4() {
            fields.push(Oxm::ip_proto(UDP));
        }
        fields.extend([entries::source(self.source.address), entries::destination(self.destination.address)]);
        if !self.is_aggregate() {
            fields.extend([Oxm::udp_src(self.source.port), Oxm::udp_dst(self.destination.port)]);
        }
        Match::of(&fields).unwrap_or_default()
    }

    /// The flow entry, in place of any for the same packets.
    pub(crate) fn flow(&self) -> Message {
        let actions = match self.group {
            Some(group) => alloc::vec![Action::Group(GroupId(group))],
            None => self.outputs.iter().flat_map(Output::actions).collect(),
        };
        let meter = self.meter.map(|meter| Instruction::Meter(MeterId(meter)));
        let instructions = meter.into_iter().chain([Instruction::ApplyActions(actions)]).collect();
        let mut flow = FlowMod::add(self.priority(), self.fields(), instructions);
        flow.cookie = cookie(self.flow);
        Message::FlowMod(flow)
    }

    fn group(&self, command: GroupCommand) -> Option<Message> {
        let buckets = self.outputs.iter().map(|output| Bucket::of(output.actions()));
        Some(Message::GroupMod(GroupMod {
            command,
            kind: GroupType::All,
            group: GroupId(self.group?),
            buckets: buckets.collect(),
        }))
    }

    /// All that a switch needs that has nothing of it: a group is there before what uses it.
    pub(crate) fn add(&self) -> Vec<Message> {
        self.group(GroupCommand::Add).into_iter().chain([self.flow()]).collect()
    }

    /// The same where the switch has it with other levels.
    pub(crate) fn change(&self) -> Vec<Message> {
        match self.group(GroupCommand::Modify) {
            Some(group) => alloc::vec![group],
            None => alloc::vec![self.flow()],
        }
    }

    /// Takes the entry away, and leaves the group.
    pub(crate) fn delete(&self) -> Message {
        Message::FlowMod(FlowMod::delete_strict(TableId(0), self.priority(), self.fields()))
    }

    /// Takes the group away. A switch takes what uses it away, too.
    pub(crate) fn delete_group(&self) -> Option<Message> {
        self.group.map(|group| Message::GroupMod(GroupMod::delete(GroupId(group))))
    }
}
