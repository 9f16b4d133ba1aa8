//! The VLAN and the version of IP that carry a flow. All its hosts have to have addresses there.
use std::net::IpAddr;

use diagnostics::{Problem, Source};
use latency::framing::Ip;
use toml::Spanned;

use crate::description::{Host, SwitchKind};
use crate::document::{self, Document};
use crate::hosts::vlan_id;
use crate::network::Network;

impl Network {
    /// Every switch on the way of tagged frames has to tell VLANs apart.
    pub(crate) fn check_vlans(&self, source: Source<'_>, document: &Document) -> Result<(), Problem> {
        let Some(vlan) = document.hosts.iter().find_map(|host| host.vlans.first()) else { return Ok(()) };
        let Some(bridge) = self.switches.iter().find(|switch| switch.made == SwitchKind::Bridge) else {
            return Ok(());
        };
        let what = format!(
            "a host is in VLAN {}, and the switch \"{}\" is a bridge",
            vlan.id.get_ref(),
            bridge.name
        );
        let remedy = "the agent of bridges takes no tagged frames: leave the VLANs out, or take kind = \"open-vswitch\"";
        Err(source.problem(vlan.id.span().start, what, remedy))
    }

    /// The VLAN of a flow, in which all its hosts have to be.
    pub(crate) fn vlan_of(
        &self,
        source: Source<'_>,
        flow: &document::Flow,
        publisher: usize,
        subscribers: &[usize],
    ) -> Result<Option<u16>, Problem> {
        let Some(said) = &flow.vlan else { return Ok(None) };
        vlan_id(source, said)?;
        let id = *said.get_ref();
        let hosts = core::iter::once(&publisher).chain(subscribers).filter_map(|node| self.hosts.get(*node));
        match hosts.into_iter().find(|host| host.addresses_in(Some(id)).is_empty()) {
            None => Ok(Some(id)),
            Some(host) => {
                let what = format!("the flow is sent in VLAN {id}, and \"{}\" is not in it", host.name);
                let remedy = "write vlans = [{ id = ..., address = \"...\" }] for each host of the flow";
                Err(source.problem(said.span().start, what, remedy))
            }
        }
    }

    /// The version of IP that carries a flow: what it says, else IPv6 if all its hosts have that and one of them has nothing else.
    pub(crate) fn version(
        &self,
        source: Source<'_>,
        flow: &document::Flow,
        publisher: usize,
        subscribers: &[usize],
    ) -> Result<Ip, Problem> {
        let hosts = core::iter::once(&publisher).chain(subscribers);
        let hosts: Vec<&Host> = hosts.filter_map(|node| self.hosts.get(*node)).collect();
        // A host without an address in the file may have any.
        let vlan = flow.vlan.as_ref().map(|vlan| *vlan.get_ref());
        let lacks = |host: &Host, ip: Ip| {
            let addresses = host.addresses_in(vlan);
            !addresses.is_empty() && !addresses.iter().any(|address| is_of(*address, ip))
        };
        let lacking = |ip: Ip| hosts.iter().find(|host| lacks(host, ip));
        let place = flow.ip.as_ref().map_or(flow.publisher.span(), Spanned::span).start;
        let ip = match flow.ip.as_ref().map(Spanned::get_ref) {
            Some(4) => Ip::V4,
            Some(6) => Ip::V6,
            Some(other) => {
                let what = format!("there is no version {other} of IP");
                return Err(source.problem(place, what, "write ip = 4 or ip = 6"));
            }
            None if lacking(Ip::V4).is_some() => Ip::V6,
            None => Ip::V4,
        };
        match lacking(ip) {
            None => Ok(ip),
            Some(host) => {
                let version = if ip == Ip::V6 { "IPv6" } else { "IPv4" };
                let what = format!("the flow goes over {version}, and \"{}\" has no such address", host.name);
                let remedy = "give all hosts of a flow an address of one version, or write ip = 4 or ip = 6";
                Err(source.problem(place, what, remedy))
            }
        }
    }
}

fn is_of(address: IpAddr, ip: Ip) -> bool {
    match ip {
        Ip::V4 => address.is_ipv4(),
        Ip::V6 => address.is_ipv6(),
    }
}
