//! The gateways of a plan: which process has one, and with which others each is connected.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use crate::choices::{Placement, ServiceKind, Transport};
use crate::plan::{Named, Plan, Service};

/// The port of groups for which the plan says none. It is below the ports of RTPS.
const GROUP_PORT: u16 = 7389;

/// Event types that a gateway has groups for at most.
pub(crate) const MOST_GROUPS: usize = 64;

/// The gateway of a process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Gateway<'p> {
    /// The federated services at its process, by name. The first one says how the gateway is; a process has only one.
    pub services: Vec<(&'p str, &'p Service)>,
    /// The processes whose gateways it is connected with, and by what. Both ends name each other.
    pub peers: BTreeMap<&'p str, Transport>,
    /// The groups that events of a type go to; `*` stands for all others. The gateway listens to those of its peers, too.
    pub groups: BTreeMap<&'p str, &'p str>,
}

/// Address and port of a multicast group, as a plan says it; the port may be missing there.
pub fn group(text: &str) -> Option<SocketAddr> {
    let without_port = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, GROUP_PORT));
    let address = without_port.or_else(|_| text.parse::<SocketAddr>()).ok()?;
    (address.ip().is_multicast() && address.port() > 0).then_some(address)
}

/// Address and port of a gateway, as a plan says it.
pub(crate) fn own_address(text: &str) -> Option<SocketAddr> {
    let address: SocketAddr = text.parse().ok()?;
    let is_of_host = !address.ip().is_multicast() && !address.ip().is_unspecified();
    (is_of_host && address.port() > 0).then_some(address)
}

impl Gateway<'_> {
    /// Address and port that the plan says.
    pub fn address(&self) -> Option<SocketAddr> {
        own_address(self.services.first()?.1.address.as_deref()?)
    }

    /// How many gateways an event of its process reaches one after the other at most.
    pub fn ttl(&self) -> u8 {
        self.services.first().and_then(|(_, service)| service.ttl).unwrap_or(1)
    }
}

impl Plan {
    /// The process that has a service.
    pub fn process_of_service(&self, name: &str) -> Option<&str> {
        let service = self.services.get(name)?;
        let at = service.at.as_deref()?;
        match service.placement {
            Placement::Server => Some(at),
            Placement::Container => self.containers.get(at).map(|container| container.process.as_str()),
            Placement::Component => self.components.get(at).map(|component| component.process.as_str()),
        }
    }

    /// The gateways by processes: those of federated services, and those of processes without such a service that have an end of a federated
    /// connection to another process. Such a gateway is connected with those to which its connections lead.
    pub fn gateways(&self) -> BTreeMap<&str, Gateway<'_>> {
        let mut gateways: BTreeMap<&str, Gateway<'_>> = BTreeMap::new();
        let federated = || self.services.iter().filter(|(_, service)| service.kind == ServiceKind::Federated);
        for (name, service) in federated() {
            if let Some(process) = self.process_of_service(name) {
                gateways.entry(process).or_default().services.push((name, service));
            }
        }
        for (name, service) in federated() {
            let Some(process) = self.process_of_service(name) else { continue };
            for other in service.peers.iter().filter_map(|peer| self.process_of_service(peer)) {
                join(&mut gateways, process, other, service.transport.unwrap_or_default());
            }
        }
        let layout = self.layout();
        let has_service: BTreeSet<&str> = gateways.keys().copied().collect();
        for link in layout.links().filter(|link| link.kind == ServiceKind::Federated) {
            let place = |end: &crate::End| layout.place_of(end.component()?).map(|place| place.process);
            let (Some(from), Some(to)) = (place(link.from), place(link.to)) else { continue };
            if from != to && !(has_service.contains(from) && has_service.contains(to)) {
                let service = link.service.and_then(|name| self.services.get(name));
                let transport = service.and_then(|service| service.transport).unwrap_or_default();
                join(&mut gateways, from, to, transport);
            }
        }
        let own: BTreeMap<&str, &Named<alloc::string::String>> = gateways
            .iter()
            .filter_map(|(process, gateway)| Some((*process, &gateway.services.first()?.1.groups)))
            .collect();
        for (process, gateway) in &mut gateways {
            let known = core::iter::once(process).chain(gateway.peers.keys());
            for groups in known.filter_map(|of| own.get(of)) {
                let room = MOST_GROUPS.saturating_sub(gateway.groups.len());
                for (event, address) in groups.iter().take(room) {
                    gateway.groups.entry(event).or_insert(address);
                }
            }
        }
        gateways
    }
}

/// Makes two gateways peers of each other: by TCP if one of both says so.
fn join<'p>(gateways: &mut BTreeMap<&'p str, Gateway<'p>>, one: &'p str, other: &'p str, by: Transport) {
    for (from, to) in [(one, other), (other, one)] {
        if from != to {
            let known = gateways.entry(from).or_default().peers.entry(to).or_insert(by);
            *known = (*known).max(by);
        }
    }
}

/// Whether events of a process reach another one by its `ttl` of gateways; and how many connections were looked at for that.
pub(crate) fn reaches(gateways: &BTreeMap<&str, Gateway<'_>>, from: &str, to: &str) -> (bool, usize) {
    let ttl = gateways.get(from).map_or(1, Gateway::ttl);
    let (mut known, mut last, mut looked) = (BTreeSet::from([from]), Vec::from([from]), 1);
    for _ in 0..ttl {
        let mut next = Vec::new();
        for peer in last.iter().filter_map(|process| gateways.get(process)).flat_map(|it| it.peers.keys()) {
            looked += 1;
            if known.insert(peer) {
                next.push(*peer);
            }
        }
        if known.contains(to) || next.is_empty() {
            break;
        }
        last = next;
    }
    (known.contains(to), looked)
}
