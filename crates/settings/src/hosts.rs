//! Hosts and interfaces as people name them.
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};

use dds::config::{Family, Interfaces, Peer};

/// Gives the addresses of a host by its name.
pub type Resolve<'r> = &'r mut dyn FnMut(&str) -> io::Result<Vec<IpAddr>>;

/// As the system resolves names.
pub(crate) fn resolve(host: &str) -> io::Result<Vec<IpAddr>> {
    (host, 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
}

/// Peers of the family at a host that is named by its name or address, with a port or none.
pub(crate) fn peers(text: &str, family: Family, resolve: Resolve<'_>) -> Result<Vec<Peer>, String> {
    if let Ok(peer) = text.parse() {
        return Ok(vec![peer]);
    }
    let advice = "give an address or the name of a host, as 192.0.2.7, 192.0.2.7:7410, [2001:db8::7]:7410 or robot.local";
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => match port.parse::<u16>() {
            Ok(port @ 1..) => (host, Some(port)),
            _ => return Err(format!("{text:?}: {port:?} is no port; {advice}")),
        },
        None => (text, None),
    };
    let mut found = resolve(host).map_err(|error| format!("{text:?}: {error}; {advice}"))?;
    found.retain(|address| match family {
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
        Family::Both => true,
    });
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        return Err(format!("{text:?}: the host has no address of the family that is used; {advice}"));
    }
    Ok(found.into_iter().map(|address| Peer { address, port }).collect())
}

/// Interfaces by their addresses, if all are addresses, else by their names.
pub(crate) fn interfaces(said: &[String]) -> Interfaces {
    let addresses: Option<Vec<IpAddr>> = said.iter().map(|text| text.parse().ok()).collect();
    match addresses {
        Some(addresses) if !addresses.is_empty() => Interfaces::WithAddress(addresses),
        _ => Interfaces::Named(said.to_vec()),
    }
}
