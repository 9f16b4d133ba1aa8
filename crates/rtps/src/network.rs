//! The host's interfaces as far as they decide where a datagram leaves, and the choice of one path to a peer.
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};

use wire::Locator;

use crate::path::Path;

/// One interface that is up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Operating system's index, 1 or more.
    pub index: u32,
    /// Addresses with the lengths of their subnet prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Most bytes of UDP payload over IPv4 that leave in one piece; IPv6 holds 20 less.
    pub max_datagram: u32,
    /// True if multicast is sent and received here.
    pub multicast: bool,
}

/// Every interface that may be used. Without any, the routing table decides about everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Network {
    /// The interfaces, preferred first.
    pub interfaces: Vec<Interface>,
}

/// How good a path is, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    SameHost,
    OnLinkV4,
    OnLinkV6,
    RoutedV4,
    RoutedV6,
}

impl Network {
    /// The best path to an endpoint that announced these unicast locators; the first of equally good ones.
    ///
    /// Foreign kinds, port 0, unspecified, multicast and broadcast addresses are skipped. Addresses of our own host (127.0.0.1,
    /// but also the address of a bridge that every host of a kind has) are used only for a peer of the same host, that is one
    /// whose packets come from such an address; otherwise they name another host or would reflect onto ourselves.
    pub fn path(&self, locators: &[Locator], same_host: bool) -> Option<Path> {
        locators
            .iter()
            .filter_map(Locator::socket_addr)
            .filter_map(|address| self.ranked(address, same_host))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, path)| path)
    }

    /// The path to one address, as for the source of a datagram or a configured peer; `None` if nothing may be sent there.
    pub fn path_to(&self, address: SocketAddr) -> Option<Path> {
        self.ranked(address, self.is_own(address.ip())).map(|(_, path)| path)
    }

    /// One path per interface that can send to this multicast group; none if it is not a multicast address.
    pub fn multicast_paths(&self, group: SocketAddr) -> Vec<Path> {
        if !group.ip().is_multicast() || group.port() == 0 {
            return Vec::new();
        }
        if self.interfaces.is_empty() {
            return [Path::routed(group, datagram(Path::ETHERNET_DATAGRAM, group))].into();
        }
        self.interfaces
            .iter()
            .filter(|interface| interface.multicast)
            .filter_map(|interface| {
                let local = interface.addresses.iter().find(|(own, _)| own.is_ipv4() == group.is_ipv4())?.0;
                Some(interface.path(group, local))
            })
            .collect()
    }

    /// The multicast path on the interface that a peer is on, for a group that the peer announced;
    /// `None` if the peer is not on a subnet of ours with multicast.
    pub fn multicast_path(&self, groups: &[Locator], peer: IpAddr) -> Option<Path> {
        let (interface, local) = self.on_link(peer.to_canonical())?;
        if !interface.multicast {
            return None;
        }
        groups
            .iter()
            .filter_map(Locator::socket_addr)
            .find(|group| group.ip().is_multicast() && group.is_ipv4() == local.is_ipv4())
            .map(|group| interface.path(group, local))
    }

    /// True for loopback addresses and those of our interfaces.
    pub fn is_own(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_loopback()
            || self
                .interfaces
                .iter()
                .flat_map(|interface| &interface.addresses)
                .any(|(own, _)| *own == address)
    }

    fn ranked(&self, address: SocketAddr, same_host: bool) -> Option<(Rank, Path)> {
        let address = canonical(address);
        let ip = address.ip();
        if address.port() == 0
            || ip.is_unspecified()
            || ip.is_multicast()
            || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
        {
            return None;
        }
        if self.is_own(ip) {
            let max_datagram = self.loopback_datagram();
            return same_host
                .then(|| (Rank::SameHost, Path::routed(address, datagram(max_datagram, address))));
        }
        if let Some((interface, local)) = self.in_scope(address).or_else(|| self.on_link(ip)) {
            if interface.is_broadcast(ip) {
                return None;
            }
            let rank = if ip.is_ipv4() { Rank::OnLinkV4 } else { Rank::OnLinkV6 };
            return Some((rank, interface.path(address, local)));
        }
        if is_link_local(ip) || !self.routes(ip) {
            return None;
        }
        let rank = if ip.is_ipv4() { Rank::RoutedV4 } else { Rank::RoutedV6 };
        Some((rank, Path::routed(address, datagram(self.routed_datagram(), address))))
    }

    /// The interface that an address of a datagram names by its scope.
    fn in_scope(&self, address: SocketAddr) -> Option<(&Interface, IpAddr)> {
        let SocketAddr::V6(v6) = address else { return None };
        let interface = self.interfaces.iter().find(|interface| interface.index == v6.scope_id())?;
        let (local, _) = interface.addresses.iter().find(|(own, _)| own.is_ipv6() && is_link_local(*own))?;
        is_link_local(address.ip()).then_some((interface, *local))
    }

    /// The interface on whose subnet an address lies, and our address there. Link-local addresses of IPv6 lie on every
    /// interface: they are taken only if there is no choice.
    fn on_link(&self, address: IpAddr) -> Option<(&Interface, IpAddr)> {
        let mut found = self.interfaces.iter().filter_map(|interface| {
            let inside =
                |(own, length): &&(IpAddr, u8)| !own.is_loopback() && same_subnet(*own, *length, address);
            interface.addresses.iter().find(inside).map(|(own, _)| (interface, *own))
        });
        let first = found.next()?;
        (!is_link_local(address) || found.next().is_none()).then_some(first)
    }

    /// True if an address beyond our subnets can be reached: some interface has a global address of that family.
    fn routes(&self, address: IpAddr) -> bool {
        self.interfaces.is_empty()
            || self.interfaces.iter().flat_map(|interface| &interface.addresses).any(|(own, _)| {
                own.is_ipv4() == address.is_ipv4() && !own.is_loopback() && !is_link_local(*own)
            })
    }

    fn loopback_datagram(&self) -> u32 {
        self.interfaces
            .iter()
            .find(|interface| interface.is_loopback())
            .map_or(Path::MAX_DATAGRAM, |interface| interface.max_datagram)
    }

    /// What surely fits whichever interface the routing table chooses, but not more than an Ethernet frame.
    fn routed_datagram(&self) -> u32 {
        self.interfaces
            .iter()
            .filter(|interface| !interface.is_loopback())
            .map(|interface| interface.max_datagram)
            .fold(Path::ETHERNET_DATAGRAM, u32::min)
    }
}

impl Interface {
    fn is_loopback(&self) -> bool {
        self.addresses.iter().any(|(own, _)| own.is_loopback())
    }

    fn is_broadcast(&self, address: IpAddr) -> bool {
        let IpAddr::V4(address) = address else { return false };
        self.addresses.iter().any(|(own, length)| match own {
            IpAddr::V4(own) if *length < 31 => {
                let host = u32::MAX.checked_shr(u32::from(*length)).unwrap_or(0);
                u32::from(*own) | host == u32::from(address)
            }
            _ => false,
        })
    }

    fn path(&self, destination: SocketAddr, local: IpAddr) -> Path {
        let destination = match destination {
            SocketAddr::V6(v6) if is_link_local(destination.ip()) || v6.ip().is_multicast() => {
                SocketAddr::V6(SocketAddrV6::new(*v6.ip(), v6.port(), 0, self.index))
            }
            other => other,
        };
        Path {
            destination,
            interface: self.index,
            local: Some(local),
            max_datagram: datagram(self.max_datagram, destination),
            flow: None,
            link: None,
        }
    }
}

/// IPv4 addresses written as IPv6 are IPv4 addresses: otherwise they would pass the checks for loopback and multicast.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip if ip == address.ip() => address,
        ip => SocketAddr::new(ip, address.port()),
    }
}

/// Where a datagram came from, made comparable. A packet to a group that left by loopback has no source address if the host has no other
/// IPv4 address: routers and the receiving host drop such packets of others, so it is this host's.
pub fn source(from: SocketAddr) -> SocketAddr {
    let from = canonical(from);
    match from.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), from.port()),
        _ => from,
    }
}

/// `max_datagram` counts for IPv4; the header of IPv6 is 20 bytes longer.
fn datagram(max_datagram: u32, destination: SocketAddr) -> u32 {
    let less = if destination.is_ipv6() { 20 } else { 0 };
    max_datagram.min(Path::MAX_DATAGRAM).saturating_sub(less).max(Path::MIN_DATAGRAM)
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn same_subnet(own: IpAddr, length: u8, other: IpAddr) -> bool {
    let length = u32::from(length);
    match (own, other) {
        (IpAddr::V4(own), IpAddr::V4(other)) => {
            let differing = u32::from(own) ^ u32::from(other);
            differing.leading_zeros() >= length.min(32)
        }
        (IpAddr::V6(own), IpAddr::V6(other)) => {
            let differing = u128::from(own) ^ u128::from(other);
            differing.leading_zeros() >= length.min(128)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn interface(index: u32, addresses: &[(&str, u8)], max_datagram: u32) -> Interface {
        Interface {
            index,
            addresses: addresses.iter().map(|(ip, length)| (ip.parse().unwrap(), *length)).collect(),
            max_datagram,
            multicast: index != 1,
        }
    }

    fn network() -> Network {
        Network {
            interfaces: vec![
                interface(1, &[("127.0.0.1", 8), ("::1", 128)], 65_507),
                interface(2, &[("192.168.1.5", 24), ("fe80::5", 64), ("2001:db8::5", 64)], 1_472),
                interface(3, &[("10.0.0.5", 8)], 8_972),
            ],
        }
    }

    fn locators(texts: &[&str]) -> Vec<Locator> {
        texts.iter().map(|text| Locator::udp(text.parse().unwrap())).collect()
    }

    fn chosen(texts: &[&str], same_host: bool) -> Option<alloc::string::String> {
        use alloc::string::ToString;
        network().path(&locators(texts), same_host).map(|path| path.destination.to_string())
    }

    #[test]
    fn the_subnet_comes_before_the_router() {
        let path = network().path(&locators(&["203.0.113.9:7411", "10.1.2.3:7411"]), false).unwrap();
        assert_eq!(path.destination, "10.1.2.3:7411".parse().unwrap());
        assert_eq!((path.interface, path.local), (3, Some("10.0.0.5".parse().unwrap())));
        assert_eq!(path.max_datagram, 8_972);
        let routed = network().path(&locators(&["203.0.113.9:7411"]), false).unwrap();
        assert_eq!((routed.interface, routed.local, routed.max_datagram), (0, None, 1_472));
    }

    #[test]
    fn our_own_addresses_are_for_peers_of_our_host() {
        let announced = ["127.0.0.1:7411", "192.168.1.5:7411", "10.9.9.9:7411"];
        assert_eq!(chosen(&announced, false).as_deref(), Some("10.9.9.9:7411"));
        assert_eq!(chosen(&announced, true).as_deref(), Some("127.0.0.1:7411"));
        assert_eq!(chosen(&["[::ffff:127.0.0.1]:7411"], false), None);
        assert_eq!(chosen(&["[::1]:7411"], false), None);
        let path = network().path(&locators(&["192.168.1.5:7411"]), true).unwrap();
        assert_eq!(path.max_datagram, 65_507);
    }

    #[test]
    fn addresses_that_are_not_one_host_are_skipped() {
        for text in [
            "255.255.255.255:7411",
            "192.168.1.255:7411",
            "10.255.255.255:7411",
            "239.255.0.1:7411",
            "[ff03::1]:7411",
            "0.0.0.0:7411",
            "10.1.2.3:0",
        ] {
            assert_eq!(chosen(&[text], true), None, "{text}");
        }
        let foreign = Locator { kind: 0x13, ..locators(&["10.1.2.3:7411"])[0] };
        assert_eq!(network().path(&[foreign], true), None);
    }

    #[test]
    fn ipv6_is_used_with_its_scope_and_its_longer_header() {
        let link_local = network().path(&locators(&["[fe80::9]:7411"]), false).unwrap();
        assert_eq!((link_local.interface, link_local.max_datagram), (2, 1_452));
        assert!(matches!(link_local.destination, SocketAddr::V6(v6) if v6.scope_id() == 2));
        assert_eq!(
            chosen(&["[2001:db8::9]:7411", "192.168.1.9:7411"], false).as_deref(),
            Some("192.168.1.9:7411")
        );
        assert_eq!(chosen(&["[2001:db9::9]:7411"], false).as_deref(), Some("[2001:db9::9]:7411"));
        let mut ambiguous = network();
        ambiguous.interfaces.push(interface(4, &[("fe80::6", 64)], 1_472));
        assert_eq!(ambiguous.path(&locators(&["[fe80::9]:7411"]), false), None);
        let source = SocketAddr::V6(SocketAddrV6::new("fe80::9".parse().unwrap(), 7411, 0, 4));
        let path = ambiguous.path_to(source).unwrap();
        assert_eq!((path.interface, path.local), (4, Some("fe80::6".parse().unwrap())));
    }

    #[test]
    fn families_that_we_do_not_have_are_not_routed() {
        let only_v4 = Network { interfaces: vec![interface(2, &[("192.168.1.5", 24)], 1_472)] };
        assert_eq!(only_v4.path(&locators(&["[2001:db8::9]:7411"]), false), None);
        let unknown = Network::default();
        assert!(unknown.path(&locators(&["[2001:db8::9]:7411"]), false).is_some());
        assert!(unknown.path(&locators(&["127.0.0.1:7411"]), false).is_none());
        assert!(unknown.path_to("127.0.0.1:7411".parse().unwrap()).is_some());
    }

    #[test]
    fn multicast_leaves_by_every_interface_that_has_it() {
        let paths = network().multicast_paths("239.255.0.1:7400".parse().unwrap());
        assert!(paths.iter().map(|path| path.interface).eq([2, 3]));
        let paths = network().multicast_paths("[ff03::1]:7400".parse().unwrap());
        assert_eq!(paths.len(), 1);
        assert!(network().multicast_paths("10.0.0.1:7400".parse().unwrap()).is_empty());
        let groups = locators(&["239.255.0.1:7401"]);
        let path = network().multicast_path(&groups, "10.3.3.3".parse().unwrap()).unwrap();
        assert_eq!((path.interface, path.destination.port()), (3, 7401));
        assert_eq!(network().multicast_path(&groups, "203.0.113.9".parse().unwrap()), None);
    }
}
