//! What a lab of domains is made of: the description of each domain, and who is where; found without touching the machine.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linux_edge::domain::{Border, CoreLink, Demoted, Domain, Edge, End, Router, Wire};
use system::Error;
use wan::{Asn, LinkId, Prefix};

use crate::layout::{Host, WIRES};
use crate::wan::file::{Devices, Excess, LinkOfFile, WanFile};

/// Bytes of the largest packet between domains, with the header of a tunnel.
const BORDER_MTU: u32 = 1_540;
/// The same where hosts are.
const EDGE_MTU: u32 = 1_500;

/// A lab as it will be built.
#[derive(Clone, Debug)]
pub struct WanLayout {
    /// The domains.
    pub domains: Vec<Domain>,
    /// The namespaces of the routers of each.
    pub routers: Vec<Vec<String>>,
    /// The hosts, with the domain and the edge that they are at.
    pub hosts: Vec<(Host, usize, usize)>,
    /// The links, with the namespaces of both ends.
    pub links: Vec<(u32, [String; 2])>,
    /// The links that are emulated, and by what: none in a lab whose links are the kernel's.
    pub emulated: Vec<EmulatedLink>,
    /// The namespace of the emulator.
    pub wires: String,
    /// What the routers are.
    pub devices: Devices,
}

/// A link between domains whose frames are under way as on a wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmulatedLink {
    /// Its number.
    pub number: u32,
    /// Bits per second.
    pub rate: u64,
    /// Nanoseconds that a bit is under way.
    pub delay: u64,
}

/// The interface of a border link at both of its ends.
pub fn border_interface(link: u32) -> String {
    format!("border{link}")
}

/// The interface at which the emulator meets the first or second end of a border link.
pub(super) fn wire_interface(link: u32, side: usize) -> String {
    format!("w{link}{}", if side == 0 { "a" } else { "b" })
}

/// The interface of a link between routers of a domain, at its first or second end.
pub(super) fn core_interface(link: u16, side: u16) -> String {
    format!("core{link}{}", if side == 1 { "a" } else { "b" })
}

fn v6(first: u16, second: u16, third: u16, last: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, third, 0, 0, 0, 0, last)
}

/// Addresses of the hosts of a domain, whose place in the file is counted from 0.
fn prefixes(domain: u16) -> [Prefix; 2] {
    let [_, low] = (domain + 1).to_be_bytes();
    [
        Prefix { address: IpAddr::V4(Ipv4Addr::new(10, low, 0, 0)), length: 16 },
        Prefix { address: IpAddr::V6(v6(0xfd10, domain + 1, 0, 0)), length: 32 },
    ]
}

/// The addresses of an edge: the last is 1 at the router, 2 at the host.
fn at_edge(domain: u16, edge: u16, last: u8) -> [Prefix; 2] {
    let [_, low] = (domain + 1).to_be_bytes();
    let [_, subnet] = edge.to_be_bytes();
    [
        Prefix { address: IpAddr::V4(Ipv4Addr::new(10, low, subnet, last)), length: 24 },
        Prefix { address: IpAddr::V6(v6(0xfd10, domain + 1, edge, u16::from(last))), length: 64 },
    ]
}

/// The address of Ethernet of a host, which is administered locally.
pub(super) fn hardware(domain: u16, edge: u16) -> [u8; 6] {
    let ([_, domain], [high, low]) = ((domain + 1).to_be_bytes(), edge.to_be_bytes());
    [2, 1, 0, domain, high, low]
}

fn mac(domain: u16, edge: u16) -> String {
    hardware(domain, edge).map(|byte| format!("{byte:02x}")).join(":")
}

/// The first domain of the best way from one domain to each other: as few domains as possible, then by the order of the file.
fn ways(file: &WanFile, from: usize) -> BTreeMap<usize, u32> {
    let place = |asn: u32| file.domains.iter().position(|domain| domain.asn == asn);
    let (mut first, mut seen) = (BTreeMap::new(), BTreeSet::from([from]));
    let mut open = VecDeque::from([(from, None)]);
    while let Some((at, by)) = open.pop_front() {
        for LinkOfFile { number, between, .. } in &file.links {
            let [Some(one), Some(other)] = between.map(place) else { continue };
            let next = if one == at {
                other
            } else if other == at {
                one
            } else {
                continue;
            };
            if seen.insert(next) {
                let by = by.unwrap_or(*number);
                first.insert(next, by);
                open.push_back((next, Some(by)));
            }
        }
    }
    first
}

/// What a domain does with AF beyond contracts, on all ways.
fn demoted(file: &WanFile, asn: u32) -> Demoted {
    if file.excess == Excess::Drop {
        return Demoted::default();
    }
    let links = file.links.iter().filter(|link| link.between.contains(&asn));
    let links: BTreeSet<LinkId> = links.map(|link| LinkId(link.number)).collect();
    Demoted { inside: true, to: links.clone(), from: links }
}

impl WanLayout {
    /// The lab of this name.
    ///
    /// # Errors
    /// What cannot be built.
    pub fn new(file: &WanFile, name: &str) -> Result<Self, Error> {
        crate::layout::check_name(name)?;
        // The first router is called as the domain.
        let router = |asn: u32, at: usize| match at {
            0 => format!("router-{asn}"),
            _ => format!("router-{asn}-{}", at + 1),
        };
        let last = |asn: u32| {
            let found = file.domains.iter().find(|domain| domain.asn == asn);
            found.map_or(0, |domain| domain.routers.saturating_sub(1))
        };
        let links = file.emulated.then_some(&file.links).into_iter().flatten();
        let emulated = links.map(|of| EmulatedLink { number: of.number, rate: of.rate, delay: of.delay });
        let mut layout = Self {
            domains: Vec::new(),
            routers: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            emulated: emulated.collect(),
            wires: format!("{name}-{WIRES}"),
            devices: file.devices,
        };
        for (at, of_file) in file.domains.iter().enumerate() {
            let number = u16::try_from(at).unwrap_or(u16::MAX);
            let ways = ways(file, at);
            let mut edges = Vec::new();
            for (edge, host) in (0_u16..).zip(&of_file.hosts) {
                let addresses = at_edge(number, edge, 1).into();
                let wire = Wire { rate: of_file.rate, propagation: 0, mtu: EDGE_MTU, bursts: of_file.bursts };
                edges.push(Edge { router: 0, interface: format!("edge{edge}"), addresses, wire });
                let host = Host {
                    name: host.clone(),
                    namespace: format!("{name}-{host}"),
                    addresses: at_edge(number, edge, 2).map(|prefix| prefix.address).into(),
                    mac: mac(number, edge),
                    manager: false,
                };
                layout.hosts.push((host, at, usize::from(edge)));
            }
            let mut borders = Vec::new();
            for link in file.links.iter().filter(|link| link.between.contains(&of_file.asn)) {
                // A link begins at the last router of its first domain, and ends at the first one of the other.
                let (end, at) = if link.between[0] == of_file.asn { (1, last(of_file.asn)) } else { (2, 0) };
                let group = u16::try_from(link.number).unwrap_or(u16::MAX);
                let beyond = ways
                    .iter()
                    .filter(|(_, by)| **by == link.number)
                    .flat_map(|(to, _)| prefixes(u16::try_from(*to).unwrap_or(u16::MAX)));
                borders.push(Border {
                    link: LinkId(link.number),
                    end: End {
                        router: at,
                        interface: border_interface(link.number),
                        address: v6(0xfd20, group, 0, end),
                    },
                    neighbour: v6(0xfd20, group, 0, 3 - end),
                    locator: v6(0xfd40, group, end, 0),
                    neighbour_locator: v6(0xfd40, group, 3 - end, 0),
                    beyond: beyond.collect(),
                    wire: Wire { rate: link.rate, propagation: link.delay, mtu: BORDER_MTU, bursts: 1 },
                });
            }
            let names = (0..of_file.routers).map(|at| router(of_file.asn, at));
            let of_router =
                |(at, name): (u16, String)| Router { name, address: v6(0xfd30, number + 1, 0, at) };
            let core = |at: u16| {
                let end = |router: u16, side: u16| End {
                    router: usize::from(router),
                    interface: core_interface(at, side),
                    address: v6(0xfd50, number + 1, at, side),
                };
                let wire =
                    Wire { rate: of_file.rate, propagation: 0, mtu: BORDER_MTU, bursts: of_file.bursts };
                CoreLink { ends: [end(at, 1), end(at + 1, 2)], wire, access: None }
            };
            let count = u16::try_from(of_file.routers).unwrap_or(1);
            let domain = Domain {
                asn: Asn(of_file.asn),
                routers: (1..).zip(names.clone()).map(of_router).collect(),
                links: (0..count.saturating_sub(1)).map(core).collect(),
                edges,
                borders,
                ceilings: file.ceilings.clone(),
                processing: file.processing,
                policing: file.devices.policing(),
                demoted: demoted(file, of_file.asn),
            };
            domain.check().map_err(|what| Error::new(what, "correct the file"))?;
            layout.domains.push(domain);
            layout.routers.push(names.map(|router| format!("{name}-{router}")).collect());
        }
        for link in &file.links {
            let [one, other] = link.between;
            let ends = [(one, last(one)), (other, 0)].map(|(asn, at)| format!("{name}-{}", router(asn, at)));
            layout.links.push((link.number, ends));
        }
        Ok(layout)
    }

    /// All namespaces.
    pub fn namespaces(&self) -> Vec<String> {
        let hosts = self.hosts.iter().map(|(host, ..)| host.namespace.clone());
        let wires = (!self.emulated.is_empty()).then(|| self.wires.clone());
        hosts.chain(self.routers.iter().flatten().cloned()).chain(wires).collect()
    }
}
