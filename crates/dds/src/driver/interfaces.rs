//! Which of the host's interfaces are used: a pure choice.
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dcps::{Error, ReturnCode};
use rtps::{Network, Path};
use udp::Interface;

use crate::config::{Interfaces, NetworkConfig, Peer};

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u32 = 28;

/// The interfaces as a participant uses them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Choice {
    /// For the choice of paths. It holds the loopback interface in any case: datagrams to our own addresses go through it.
    pub(super) network: Network,
    /// Our addresses, as they are announced; those of the loopback interface only if there are no others.
    pub(super) addresses: Vec<IpAddr>,
    /// Where groups are joined: index, and which families it has.
    pub(super) groups: Vec<Group>,
    /// Two subnets overlap, so that the routing table may choose another interface than the path says.
    pub(super) ambiguous: bool,
    /// A line for people about each interface.
    pub(super) lines: Vec<String>,
}

/// An interface with multicast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) v4: bool,
    pub(super) v6: bool,
}

/// Chooses. Without any usable interface there is nothing in the choice but lines that say why.
pub(super) fn choose(found: &[Interface], config: &NetworkConfig) -> Choice {
    let mut choice = Choice { ambiguous: overlap(found), ..Choice::default() };
    // Loopback last.
    let mut used: Vec<(&Interface, Vec<(IpAddr, u8)>)> = Vec::new();
    for interface in found {
        match usable(interface, config) {
            Ok(addresses) => {
                let place = used.partition_point(|(other, _)| other.loopback <= interface.loopback);
                used.insert(place, (interface, addresses));
            }
            Err(why) => choice.lines.push(format!("interface {}: not used: {why}", interface.name)),
        }
    }
    choice.lines.extend(missing(found, config));
    // Multicast works on the loopback interface of Linux also where the system does not say so. Peers of other vendors rely on
    // what it says, so that it is used in that case only if there is no other way.
    let beyond = used.iter().any(|(interface, _)| interface.multicast && !interface.loopback);
    for (interface, addresses) in &used {
        let any = |v4| addresses.iter().any(|(ip, _)| ip.is_ipv4() == v4);
        // Linux has no route for groups of IPv6 on the loopback interface.
        let (v4, v6) = (any(true), any(false) && !interface.loopback);
        let able = interface.multicast || interface.loopback && !beyond;
        let multicast = config.multicast && able && (v4 || v6);
        let listed: Vec<String> = addresses.iter().map(|(ip, length)| format!("{ip}/{length}")).collect();
        let max_datagram = datagram(interface, config);
        choice.lines.push(format!(
            "interface {}: {}, datagrams of {max_datagram} octets, {}",
            interface.name,
            listed.join(" "),
            if multicast { "multicast" } else { "no multicast" }
        ));
        if !interface.loopback || used.len() == 1 {
            choice.addresses.extend(addresses.iter().map(|(ip, _)| *ip));
        }
        if multicast {
            choice.groups.push(Group { index: interface.index, name: interface.name.clone(), v4, v6 });
        }
        choice.network.interfaces.push(rtps::Interface {
            index: interface.index,
            addresses: addresses.clone(),
            max_datagram,
            multicast,
        });
    }
    let chosen = |index| choice.network.interfaces.iter().any(|interface| interface.index == index);
    let unchosen =
        found.iter().find(|interface| interface.loopback && interface.up && !chosen(interface.index));
    if let (Some(loopback), false) = (unchosen, used.is_empty()) {
        choice.network.interfaces.push(rtps::Interface {
            index: loopback.index,
            addresses: loopback.addresses.clone(),
            max_datagram: datagram(loopback, config),
            multicast: false,
        });
    }
    choice
}

impl Choice {
    /// There is nothing that datagrams could leave by.
    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Where others of this host listen for discovery, if there is nothing but addresses of loopback.
    pub(super) fn loopback_peers(&self, domain_id: u32) -> Vec<SocketAddr> {
        if !self.addresses.iter().all(IpAddr::is_loopback) {
            return Vec::new();
        }
        let peers = self.addresses.iter().map(|address| Peer { address: *address, port: None });
        peers.flat_map(|peer| peer.addresses(domain_id)).collect()
    }

    /// The error for that.
    pub(super) fn none_usable(&self) -> Error {
        let what = if self.lines.is_empty() {
            "no usable interface: the host has none at all".to_owned()
        } else {
            format!("no usable interface; {}", self.lines.join("; "))
        };
        Error::new(
            ReturnCode::PreconditionNotMet,
            "interfaces",
            what,
            "switch one on (ip link set NAME up), or choose others in the configuration",
        )
    }
}

/// The addresses that are used, or why there are none.
fn usable(interface: &Interface, config: &NetworkConfig) -> Result<Vec<(IpAddr, u8)>, String> {
    let chosen = match &config.interfaces {
        Interfaces::All => true,
        Interfaces::Named(names) => names.contains(&interface.name),
        Interfaces::WithAddress(wanted) => interface.addresses.iter().any(|(ip, _)| wanted.contains(ip)),
        Interfaces::Loopback => interface.loopback,
    };
    if !chosen {
        return Err("the configuration names others".to_owned());
    }
    if !interface.up {
        return Err(format!("it is off or has no carrier (ip link set {} up)", interface.name));
    }
    let smallest = Path::MIN_DATAGRAM + HEADERS;
    if interface.mtu < smallest {
        return Err(format!("its MTU of {} octets is below {smallest}", interface.mtu));
    }
    let listed = |ip: &IpAddr| match &config.interfaces {
        Interfaces::WithAddress(wanted) => wanted.contains(ip),
        _ => true,
    };
    let addresses: Vec<_> = interface
        .addresses
        .iter()
        .filter(|(ip, _)| config.family.has(*ip) && listed(ip) && *ip != IpAddr::V4(Ipv4Addr::UNSPECIFIED))
        .copied()
        .collect();
    if addresses.is_empty() {
        return Err(match (config.family.v4(), config.family.v6()) {
            (true, false) => "it has no address of IPv4".to_owned(),
            (false, true) => "it has no address of IPv6".to_owned(),
            _ => "it has no address".to_owned(),
        });
    }
    Ok(addresses)
}

/// A line about each name and address of the configuration that the host does not have.
fn missing(found: &[Interface], config: &NetworkConfig) -> Vec<String> {
    let has = |ip: &IpAddr| {
        found.iter().flat_map(|interface| &interface.addresses).any(|(address, _)| address == ip)
    };
    match &config.interfaces {
        Interfaces::Named(names) => names
            .iter()
            .filter(|name| found.iter().all(|interface| interface.name != **name))
            .map(|name| format!("interface {name}: the host has none of this name"))
            .collect(),
        Interfaces::WithAddress(wanted) => wanted
            .iter()
            .filter(|ip| !has(ip))
            .map(|ip| format!("address {ip}: no interface of the host has it"))
            .collect(),
        Interfaces::All | Interfaces::Loopback => Vec::new(),
    }
}

fn datagram(interface: &Interface, config: &NetworkConfig) -> u32 {
    interface.mtu.saturating_sub(HEADERS).min(Path::MAX_DATAGRAM).min(config.largest_datagram)
}

/// Overlapping subnets, also of interfaces that are not used: the routing table knows these too. Link-local addresses of IPv6 are
/// the same subnet everywhere, but a scope goes with them.
fn overlap(found: &[Interface]) -> bool {
    let subnets: Vec<(IpAddr, u8)> = found
        .iter()
        .filter(|interface| interface.up && !interface.loopback)
        .flat_map(|interface| &interface.addresses)
        .filter(|(ip, _)| !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local()))
        .copied()
        .collect();
    let same = |(one, length): (IpAddr, u8), (other, other_length): (IpAddr, u8)| {
        let length = u32::from(length.min(other_length));
        match (one, other) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                (one.to_bits() ^ other.to_bits()).leading_zeros() >= length.min(32)
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                (one.to_bits() ^ other.to_bits()).leading_zeros() >= length.min(128)
            }
            _ => false,
        }
    };
    subnets.iter().enumerate().any(|(at, one)| subnets.iter().skip(at + 1).any(|other| same(*one, *other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Family;

    fn interface(index: u32, name: &str, addresses: &[(&str, u8)]) -> Interface {
        Interface {
            index,
            name: name.to_owned(),
            addresses: addresses.iter().map(|(ip, length)| (ip.parse().unwrap(), *length)).collect(),
            mtu: if name == "lo" { 65_536 } else { 1_500 },
            up: true,
            loopback: name == "lo",
            multicast: name != "lo",
            point_to_point: false,
        }
    }

    fn host() -> Vec<Interface> {
        vec![
            interface(1, "lo", &[("127.0.0.1", 8), ("::1", 128)]),
            interface(2, "eth0", &[("192.168.1.5", 24), ("fe80::5", 64)]),
            interface(3, "eth1", &[("10.0.0.5", 8)]),
        ]
    }

    fn choice(found: &[Interface], change: impl FnOnce(&mut NetworkConfig)) -> Choice {
        let mut config = NetworkConfig::default();
        change(&mut config);
        choose(found, &config)
    }

    fn addresses(choice: &Choice) -> Vec<String> {
        choice.addresses.iter().map(ToString::to_string).collect()
    }

    fn indices(choice: &Choice) -> Vec<u32> {
        choice.network.interfaces.iter().map(|interface| interface.index).collect()
    }

    fn groups(choice: &Choice) -> Vec<u32> {
        choice.groups.iter().map(|group| group.index).collect()
    }

    #[test]
    fn all_are_used_and_loopback_comes_last() {
        let choice = choice(&host(), |_| {});
        assert_eq!(addresses(&choice), ["192.168.1.5", "10.0.0.5"]);
        assert_eq!(indices(&choice), [2, 3, 1]);
        assert_eq!(groups(&choice), [2, 3]);
        let sizes: Vec<_> =
            choice.network.interfaces.iter().map(|interface| interface.max_datagram).collect();
        assert_eq!(sizes, [1_472, 1_472, 65_507]);
        assert!(!choice.ambiguous);
    }

    #[test]
    fn loopback_alone_has_multicast_whatever_the_system_says() {
        let alone = choice(&host(), |config| config.interfaces = Interfaces::Loopback);
        assert_eq!((addresses(&alone), groups(&alone)), (vec!["127.0.0.1".to_owned()], vec![1]));
        assert!(alone.network.interfaces[0].multicast);
        let mut host = host();
        host[0].multicast = true;
        assert_eq!(groups(&choice(&host, |_| {})), [2, 3, 1]);
        assert_eq!(groups(&choice(&host, |config| config.multicast = false)), [0; 0]);
    }

    #[test]
    fn a_choice_by_name_or_address_keeps_loopback_for_our_own_addresses() {
        let named = choice(&host(), |config| config.interfaces = Interfaces::Named(vec!["eth1".to_owned()]));
        assert_eq!((addresses(&named), indices(&named)), (vec!["10.0.0.5".to_owned()], vec![3, 1]));
        assert_eq!(groups(&named), [3]);
        let ip = "192.168.1.5".parse().unwrap();
        let by_address = choice(&host(), |config| config.interfaces = Interfaces::WithAddress(vec![ip]));
        assert_eq!((by_address.addresses.as_slice(), indices(&by_address)), (&[ip][..], vec![2, 1]));
    }

    #[test]
    fn families_are_kept_apart() {
        let v6 = choice(&host(), |config| config.family = Family::V6);
        assert_eq!(addresses(&v6), ["fe80::5"]);
        assert_eq!(v6.groups[0], Group { index: 2, name: "eth0".to_owned(), v4: false, v6: true });
        assert!(v6.lines.iter().any(|line| line.contains("eth1") && line.contains("no address of IPv6")));
        let both = choice(&host(), |config| config.family = Family::Both);
        assert_eq!(addresses(&both), ["192.168.1.5", "fe80::5", "10.0.0.5"]);
    }

    #[test]
    fn what_is_unusable_is_listed_with_its_reason() {
        let mut host = host();
        host[0].up = false;
        host[1].mtu = 200;
        host[2].addresses.clear();
        let none = choice(&host, |_| {});
        assert!(none.is_empty() && none.network.interfaces.is_empty());
        let said = none.none_usable().to_string();
        for reason in
            ["lo: not used: it is off", "eth0: not used: its MTU of 200", "eth1: not used: it has no address"]
        {
            assert!(said.contains(reason), "{reason}: {said}");
        }
        assert!(choice(&[], |_| {}).none_usable().to_string().contains("none at all"));
    }

    #[test]
    fn what_is_named_and_missing_is_listed() {
        let named = Interfaces::Named(vec!["eth0".to_owned(), "eth7".to_owned()]);
        let named = choice(&host(), |config| config.interfaces = named);
        assert!(named.lines.contains(&"interface eth7: the host has none of this name".to_owned()));
        assert_eq!(indices(&named), [2, 1]);
        let wanted = Interfaces::WithAddress(vec!["10.0.0.6".parse().unwrap()]);
        let said = choice(&host(), |config| config.interfaces = wanted).none_usable().to_string();
        assert!(said.contains("address 10.0.0.6: no interface of the host has it"), "{said}");
    }

    #[test]
    fn datagrams_are_no_larger_than_asked() {
        let small = choice(&host(), |config| config.largest_datagram = 1_000);
        assert!(small.network.interfaces.iter().all(|interface| interface.max_datagram == 1_000));
    }

    #[test]
    fn overlapping_subnets_are_noticed() {
        let mut host = host();
        host.push(interface(4, "eth2", &[("10.9.0.1", 24)]));
        assert!(
            choice(&host, |config| config.interfaces = Interfaces::Named(vec!["eth0".to_owned()])).ambiguous
        );
        host[3].up = false;
        assert!(!choice(&host, |_| {}).ambiguous);
        host[2].addresses.push(("fe80::7".parse().unwrap(), 64));
        assert!(!choice(&host, |_| {}).ambiguous);
    }
}
