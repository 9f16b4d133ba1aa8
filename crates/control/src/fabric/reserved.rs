//! The reserved class: discovery above all levels, of each host so much that all hosts together stay within the traffic of control that
//! the network file has ([`latency::reserve`] says how much that is).
//!
//! The gate of each host's port gives discovery a bucket and marks what finds room there; the excess is best effort.
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use gate::contract::{LONGEST_FRAME, LONGEST_TIME, wire_octets};
use gate::{Contract, Key, Kind, class};
use latency::reserve::{self, Edge, Reserve};
use latency::switch::Guard;

use crate::action::GateKey;
use crate::network::Network;

// What a bucket holds at least is a whole frame for a gate, and none is filled more slowly than a gate can count.
const _: () =
    assert!(reserve::LEAST == wire_octets(LONGEST_FRAME) as u64 && reserve::LONGEST <= LONGEST_TIME);

/// The reserved class of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reserved {
    /// What a host may send in it in each domain.
    pub(crate) contract: Contract,
    /// How much all of it is, and what it takes.
    pub(crate) share: Reserve,
    /// The keys of the domains' discovery.
    keys: Vec<Key>,
}

impl Reserved {
    /// The class of a network whose hosts are in these domains.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub(crate) fn of(network: &Network, edge: &Edge<'_>, domains: &[u16]) -> Result<Self, String> {
        let keys: Option<Vec<Key>> = domains.iter().map(|domain| Key::metatraffic(*domain)).collect();
        let keys = keys.filter(|keys| !keys.is_empty()).ok_or("no domain below 233 is served")?;
        let name = |switch: usize| network.node_name(network.switch_node(switch)).to_string();
        let share = edge.reserve(keys.len()).map_err(|none| none.said(name))?;
        let contract = Contract {
            kind: Kind::Bucket,
            octets: u32::try_from(share.octets).unwrap_or(u32::MAX),
            separation: share.separation,
            tolerance: 0,
            window: 0,
            dscp: class::CONTROL,
        };
        contract.check().map_err(|error| format!("{error}"))?;
        Ok(Self { contract, share, keys })
    }

    /// What the gates of a switch have for the class, by port and domain.
    pub(crate) fn at(&self, network: &Network, switch: usize) -> Vec<(GateKey, Contract)> {
        let ports = gated_hosts(network).filter(|(at, _)| *at == switch);
        ports
            .flat_map(|(_, port)| self.keys.iter().map(move |flow| GateKey { port, flow: *flow }))
            .map(|key| (key, self.contract))
            .collect()
    }
}

/// The ports with a gate that lead to hosts: the switch, and the port's number.
fn gated_hosts(network: &Network) -> impl Iterator<Item = (usize, u32)> {
    network.links.iter().filter(|link| network.switch_of(link.to).is_none()).filter_map(|link| {
        let switch = network.switch_of(link.from)?;
        let gates = matches!(network.switches.get(switch)?.model.guard, Guard::Gates { .. });
        gates.then_some((switch, link.number))
    })
}
