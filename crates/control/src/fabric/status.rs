//! What can be seen of switches, hosts and the reserved class.
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;
use wire::admission::Address;

use super::{Fabric, Phase, Site, entries};
use crate::report::{HostStatus, ReservedStatus, SwitchStatus};
use crate::requests::dotted;

impl Fabric {
    /// What can be seen of a switch with so many groups of admitted flows.
    pub(crate) fn switch_status(&self, switch: usize, groups: usize) -> SwitchStatus {
        let node = self.network.switch_node(switch);
        let down = |link: &usize| self.down.contains(link);
        let links = self.network.leaving(node).filter(|(index, _)| down(index));
        let state = self.switches.get(switch);
        let flows = state.map_or(0, |state| state.table.count(entries::is_of_flow));
        SwitchStatus {
            name: self.network.node_name(node).to_string(),
            datapath: self.datapath(switch),
            state: match self.phase(Site::Switch(switch)) {
                Phase::Away(_) => "away",
                Phase::Preparing => "preparing",
                Phase::Ready => "ready",
            },
            drained: self.is_drained(switch),
            gates: self.has_gates(switch).then(|| self.phase(Site::Gates(switch)) == Phase::Ready),
            ports_down: links.map(|(_, link)| link.number).collect(),
            flows,
            entries: state.map_or(0, |state| state.table.count(|_| true)) - flows,
            contracts: state.map_or(0, |state| state.gates.len()),
            meters: state.map_or(0, |state| state.table.meters()),
            groups,
            addresses: state.map_or(0, |state| state.addresses.len()),
        }
    }

    /// The reserved class, or why there is none.
    pub(crate) fn reserved_status(&self, domains: &[u16]) -> ReservedStatus {
        let domains = domains.to_vec();
        match &self.reserved {
            Ok(reserved) => {
                let bits = u128::from(reserved.contract.octets) * 8_000_000_000;
                let rate = bits / u128::from(reserved.contract.separation.max(1));
                ReservedStatus {
                    reason: String::new(),
                    hosts: reserved.share.hosts,
                    domains,
                    octets: reserved.contract.octets,
                    rate: u64::try_from(rate).unwrap_or(u64::MAX),
                }
            }
            Err(reason) => ReservedStatus { reason: reason.clone(), hosts: 0, domains, octets: 0, rate: 0 },
        }
    }

    /// What is known of hosts.
    pub(crate) fn hosts(&self) -> Vec<HostStatus> {
        let hosts = self.network.hosts.iter().enumerate();
        hosts
            .map(|(index, host)| {
                let located = self.located.iter().filter(|(_, at)| **at == index);
                let link = self.network.leaving(index).next();
                HostStatus {
                    name: host.name.clone(),
                    addresses: located.map(|(address, _)| dotted(*address)).collect(),
                    switch: link
                        .map_or_else(String::new, |(_, link)| self.network.node_name(link.to).to_string()),
                }
            })
            .collect()
    }

    /// Switches that are not of the network, or not as it says: datapath id and reason.
    pub(crate) fn refused_switches(&self) -> Vec<(u64, String)> {
        self.refused_switches.iter().map(|(id, why)| (*id, why.clone())).collect()
    }

    /// The name of a switch, or its number if the network has none of that.
    pub(crate) fn switch_name(&self, datapath: u64) -> String {
        let found = self.switch_index(datapath).and_then(|switch| self.network.switches.get(switch));
        found.map_or_else(
            || alloc::format!("switch {datapath:#x}"),
            |switch| alloc::format!("switch {}", switch.name),
        )
    }

    /// An address, and the others that the network file has of its host.
    pub(crate) fn addresses_with(&self, address: Address) -> Vec<IpAddr> {
        let host = self.host_of(address).and_then(|host| self.network.hosts.get(host));
        let known = host.into_iter().flat_map(crate::network::Host::all_addresses).map(|(known, _)| known);
        let others = known.filter(|other| *other != address);
        core::iter::once(address).chain(others).map(|address| address.ip()).collect()
    }

    /// The name of the host that has an address, or that address.
    pub(crate) fn host_name(&self, address: Address) -> String {
        let host = self.host_of(address).and_then(|host| self.network.hosts.get(host));
        host.map_or_else(|| dotted(address), |host| host.name.clone())
    }
}
