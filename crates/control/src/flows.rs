//! What flows, wishes and grants come to in a network: switches, entries, forks, hosts, and what the analysis is asked.
use alloc::vec::Vec;

use latency::framing::{Framing, Ip};
use latency::network::{Flow, Hop, Subscriber};
use latency::units::NANOSECOND;

use crate::flow_entry::{FlowEntry, Output, Tunnelled};
use crate::losses::Part;
use crate::network::Network;
use crate::requests::{Goal, Wish};
use crate::reservations::{End, Granted, GrantedHop, dscp};
use crate::tunnels;

/// Bytes of the tag of a frame in a VLAN (IEEE 802.1Q).
const VLAN_TAG: u32 = 4;

impl Network {
    /// The switch behind the writer's host.
    pub(crate) fn first_switch(&self, hops: &[GrantedHop]) -> Option<usize> {
        let link = self.links.get(hops.first()?.link)?;
        self.switch_of(link.to)
    }

    /// The switch that a link leads to.
    pub(crate) fn leads_to(&self, link: usize) -> Option<usize> {
        self.links.get(link).and_then(|link| self.switch_of(link.to))
    }

    /// The switches that copy a flow, each with the number of its group.
    pub(crate) fn groups(&self, hops: &[GrantedHop]) -> Vec<(usize, u32)> {
        let group = |hop: &GrantedHop| {
            let switch = self.switch_of(self.links.get(hop.link)?.to)?;
            Some((switch, hop.group?))
        };
        hops.iter().filter_map(group).collect()
    }

    /// The hops behind which a flow forks, of hops by link and parent; each with the switch where it does.
    pub(crate) fn forks(&self, hops: &[(usize, Option<usize>)]) -> Vec<(usize, usize)> {
        let forks = |index: usize| hops.iter().filter(|(_, parent)| *parent == Some(index)).count() > 1;
        let forks = hops.iter().enumerate().filter(|(index, _)| forks(*index));
        forks.filter_map(|(index, (link, _))| Some((index, self.leads_to(*link)?))).collect()
    }

    /// What each switch of the way is to have, from the writer on.
    pub(crate) fn flow_entries(&self, grant: &Granted) -> Vec<(usize, FlowEntry)> {
        let label = tunnels::label(grant.number);
        let last = grant.ends.first().and_then(|end| end.address);
        let entry = |(index, before): (usize, &GrantedHop)| {
            let tunnelled = grant.tunnel.zip(last).map(|(tunnel, last)| match index {
                0 => Tunnelled::Enters(tunnel.packets, last),
                _ => Tunnelled::Passes(label),
            });
            let entry = self.links.get(Network::back(before.link))?;
            let switch = self.switch_of(entry.from)?;
            let outputs = grant.hops.iter().enumerate().filter(|(_, hop)| hop.parent == Some(index));
            let outputs = outputs.filter_map(|(at, hop)| {
                let end = grant.ends.iter().find(|end| end.hop == at);
                Some(Output {
                    port: self.links.get(hop.link)?.number,
                    dscp: dscp(hop.level),
                    rewrite: match end {
                        Some(end) => end
                            .address
                            .map(|address| (address, Some(end.to).filter(|to| *to != grant.destination))),
                        None => grant.tunnel.filter(|_| index == 0).map(|_| (label, None)),
                    },
                })
            });
            let entry = FlowEntry {
                flow: grant.number,
                in_port: entry.number,
                source: grant.source,
                destination: grant.destination,
                outputs: outputs.collect(),
                group: before.group,
                meter: grant.meter.filter(|_| index == 0),
                vlan: self.vlan_of(grant.source.address),
                tunnelled,
                marked: grant.gate.filter(|_| index == 0).map(|(_, contract)| contract.dscp),
            };
            Some((switch, entry))
        };
        grant.hops.iter().enumerate().filter_map(entry).collect()
    }

    /// What a grant was admitted for.
    pub(crate) fn wish_of(&self, grant: &Granted) -> Option<Wish> {
        let first = self.links.get(grant.hops.first()?.link)?;
        let goal = |end: &End| {
            Some(Goal {
                host: self.host_at(grant, end)?,
                to: end.to,
                address: end.address,
                maximum_latency: end.maximum_latency,
                maximum_separation: end.maximum_separation,
            })
        };
        Some(Wish {
            pair: (grant.writer, wire::Guid::UNKNOWN),
            from: first.from,
            source: grant.source,
            destination: grant.destination,
            contract: grant.contract,
            aggregate: grant.aggregate,
            tunnel: grant.tunnel,
            losses: None,
            part: grant.role.part(),
            goals: grant.ends.iter().map(goal).collect::<Option<_>>()?,
        })
    }

    /// The host at an end of a grant.
    pub(crate) fn host_at(&self, grant: &Granted, end: &End) -> Option<usize> {
        Some(self.links.get(grant.hops.get(end.hop)?.link)?.to)
    }

    /// The flow of a wish, without its way; `None` if its numbers are out of range.
    pub(crate) fn flow(&self, wish: &Wish) -> Option<Flow> {
        let contract = &wish.contract;
        let time = |nanoseconds: u64| nanoseconds.checked_mul(NANOSECOND);
        let some = |nanoseconds: u64| match nanoseconds {
            0 => Some(None),
            nanoseconds => time(nanoseconds).map(Some),
        };
        let (_, entry) = self.access(wish.from)?;
        let switch = self.links.get(entry).and_then(|link| self.switch_of(link.from))?;
        let flow = Flow {
            largest_message: contract.largest_message,
            smallest_message: contract.smallest_message,
            framing: Framing::Rtps {
                datagram: contract.datagram,
                ip: if wish.source.address.is_ipv4() { Ip::V4 } else { Ip::V6 },
            },
            tag: self.vlan_of(wish.source.address).map_or(0, |_| VLAN_TAG),
            separation: time(contract.minimum_separation).filter(|separation| *separation > 0)?,
            maximum_separation: some(contract.maximum_separation)?,
            jitter: time(contract.jitter)?,
            emission: time(contract.emission)?,
            slack: time(contract.slack)?,
            policing: self.switches.get(switch)?.model.policing(),
            tree: Vec::new(),
            subscribers: wish
                .goals
                .iter()
                .map(|goal| {
                    let (limit, accepted) = (time(goal.maximum_latency)?, some(goal.maximum_separation)?);
                    Some(Subscriber { hop: 0, limit, maximum_separation: accepted })
                })
                .collect::<Option<_>>()?,
            importance: contract.importance,
            bundle: None,
        };
        Some(match (&wish.aggregate, wish.part) {
            (Some(aggregate), _) if wish.tunnel.is_some() => {
                tunnels::applied(self, wish.from, aggregate.applied(flow))
            }
            (Some(aggregate), _) => aggregate.applied(flow),
            (None, Part::Whole) => flow,
            (None, Part::Samples) => {
                let (first, _) = self.access(wish.from)?;
                Flow { jitter: flow.jitter_with_losses(&self.links.get(first)?.port)?, ..flow }
            }
            (None, Part::Beside) => {
                let framing = Framing::Udp { datagram: contract.datagram, ip: flow.framing.ip() };
                Flow { framing, ..flow }
            }
        })
    }

    /// The flow of a wish along hops, with an end for each goal.
    pub(crate) fn flow_along(
        &self,
        wish: &Wish,
        hops: &[GrantedHop],
        ends: impl Iterator<Item = usize>,
    ) -> Option<Flow> {
        let mut flow = self.flow(wish)?;
        flow.tree = hops.iter().map(|hop| Hop { port: hop.link, parent: hop.parent }).collect();
        flow.subscribers.iter_mut().zip(ends).for_each(|(subscriber, end)| subscriber.hop = end);
        Some(flow)
    }
}
