//! The gateways of a plan's processes, as they are made: numbers, addresses, peers.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{Ipv4Addr, SocketAddr};

use assembly::{Catalogue, Gateway, Plan, ServiceKind, Transport, group};

use crate::launchable::{Trouble, deployment_name};
use crate::part::{GatewayPart, PeerPart, Reach};

/// The port of gateways for which the plan says none. It is below the ports of RTPS.
const PORT: u16 = 7390;

/// FNV-1a, with the last steps of MurmurHash3 so that names that differ little have numbers that differ much.
fn number(deployment: &str, process: &str) -> u64 {
    let bytes = deployment.bytes().chain([b'/']).chain(process.bytes());
    let sum = bytes
        .fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (sum ^ (sum >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ (mixed >> 33)).max(1)
}

/// The address of a gateway that only its host reaches: one of 127.64.0.0/10 for each, which follows from its number. A process that is started
/// again has the same one, so its peers need no news of it. It is free unless another gateway on the host has the same: with some thousand of
/// them this is once in a thousand hosts, and binding the socket tells it.
fn loopback(number: u64, taken: &mut BTreeSet<Ipv4Addr>) -> SocketAddr {
    let [a, b, c, ..] = number.to_le_bytes();
    let mut ip = Ipv4Addr::new(127, 64 | (a & 63), b, c);
    while !taken.insert(ip) {
        // Two of one plan: the later one by name gives way.
        ip = Ipv4Addr::from_bits((ip.to_bits() & 0x3f_ffff).wrapping_add(1) & 0x3f_ffff | 0x7f40_0000);
    }
    (ip, PORT).into()
}

/// Addresses of all gateways of a plan, and what is wrong with those of a process: over several hosts the plan has to say them.
fn addresses<'p>(
    plan: &Plan,
    gateways: &BTreeMap<&'p str, Gateway<'p>>,
) -> (BTreeMap<&'p str, SocketAddr>, BTreeSet<&'p str>) {
    let (deployment, layout) = (deployment_name(plan), plan.layout());
    let hosts: BTreeSet<Option<&str>> = gateways.keys().map(|process| layout.host_of(process)).collect();
    let (mut taken, mut missing) = (BTreeSet::new(), BTreeSet::new());
    let mut addresses = BTreeMap::new();
    for (process, gateway) in gateways {
        let address = gateway.address().unwrap_or_else(|| {
            if hosts.len() > 1 {
                missing.insert(*process);
            }
            loopback(number(&deployment, process), &mut taken)
        });
        addresses.insert(*process, address);
    }
    (addresses, missing)
}

/// The gateway of a process, and what of it cannot be.
pub(crate) fn gateway(plan: &Plan, process: &str, types: &Catalogue) -> (Option<GatewayPart>, Vec<Trouble>) {
    let gateways = plan.gateways();
    let Some(own) = gateways.get(process) else { return (None, Vec::new()) };
    let mut troubles = Vec::new();
    let path = match own.services.first() {
        Some((name, _)) => format!("service.{name}"),
        None => format!("process.{process}"),
    };
    if let [_, (other, _), ..] = own.services[..] {
        let what = format!("\"{process}\" has two federated services, and a process has one gateway");
        troubles.push(Trouble::wrong(
            format!("service.{other}"),
            what,
            "let one service do the work of both",
        ));
    }
    let deployment = deployment_name(plan);
    let (addresses, missing) = addresses(plan, &gateways);
    for other in core::iter::once(process).chain(own.peers.keys().copied()) {
        if missing.contains(other) {
            let what =
                format!("gateways are on several hosts, and it is not said where that of \"{other}\" is");
            let remedy = match gateways.get(other).and_then(|gateway| gateway.services.first()) {
                Some((name, _)) => format!("add address = \"ADDRESS:PORT\" to [service.{name}]"),
                None => format!(
                    "add [service.NAME] with kind = \"federated\", at = \"{other}\", address = \"ADDRESS:PORT\", and make it a peer"
                ),
            };
            troubles.push(Trouble::wrong(path.clone(), what, remedy));
        }
    }
    let Some(address) = addresses.get(process).copied() else { return (None, troubles) };
    let peer = |(other, by): (&&str, &Transport)| {
        let place = *addresses.get(other)?;
        let by = match by {
            Transport::Udp => Reach::Udp(place),
            // Of two ends of a connection, one accepts: the first by name.
            Transport::Tcp if process < *other => Reach::Accept,
            Transport::Tcp => Reach::Connect(place),
        };
        Some(PeerPart { id: number(&deployment, other), process: other.to_string(), by })
    };
    let service = own.services.first().map(|(_, service)| *service);
    let part = GatewayPart {
        id: number(&deployment, process),
        ttl: own.ttl(),
        lease: service.and_then(|service| service.lease).map(|time| time.div_ceil(1_000)),
        address,
        peers: own.peers.iter().filter_map(peer).collect(),
        groups: groups(plan, types, own),
        interface: service.and_then(|service| service.interface.clone()),
        loopback: service.and_then(|service| service.loopback).unwrap_or(true),
    };
    let ports: BTreeSet<(bool, u16)> =
        part.groups.iter().map(|(_, address)| (address.is_ipv4(), address.port())).collect();
    let is_other = part.groups.iter().any(|(_, group)| group.is_ipv4() != address.is_ipv4());
    if ports.len() > 1 || is_other {
        let what = "groups of a gateway have one port, and the version of IP that its address has";
        troubles.push(Trouble::wrong(format!("{path}.groups"), what, "write others, or give it an address"));
    }
    let different: BTreeSet<SocketAddr> = part.groups.iter().map(|(_, address)| *address).collect();
    if different.len() > MOST_GROUPS {
        let what =
            format!("a gateway has at most {MOST_GROUPS} groups, and this one has {}", different.len());
        troubles.push(Trouble::wrong(format!("{path}.groups"), what, "let types share groups"));
    }
    (Some(part), troubles)
}

/// Groups that a gateway sends to and listens to at most.
const MOST_GROUPS: usize = 16;

/// The groups of the types that federated connections carry.
fn groups(plan: &Plan, types: &Catalogue, own: &Gateway<'_>) -> Vec<(String, SocketAddr)> {
    if own.groups.is_empty() {
        return Vec::new();
    }
    let layout = plan.layout();
    let carried = layout.links().filter(|link| link.kind == ServiceKind::Federated);
    let event = |end: &assembly::End| {
        let assembly::End::Port { component, port } = end else { return None };
        let of_type = types.components.get(&plan.components.get(component)?.component_type)?;
        of_type.ports.get(port)?.port_type.as_deref()
    };
    let events: BTreeSet<&str> =
        carried.filter_map(|link| event(link.from).or_else(|| event(link.to))).collect();
    let of = |name: &&str| {
        let address = own.groups.get(name).or_else(|| own.groups.get("*"))?;
        Some((name.to_string(), group(address)?))
    };
    events.iter().filter_map(of).collect()
}
