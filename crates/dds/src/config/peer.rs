//! Participants that are looked for without multicast, and how they are written.
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use dcps::Error;
use rtps::ports;

use super::bad;

/// How many participants of a host without a port in [`Peer`] are tried.
const PEER_PARTICIPANTS: u32 = 10;

/// A participant to look for without multicast: `192.0.2.7`, `192.0.2.7:7410`, `2001:db8::7` or `[2001:db8::7]:7410`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer {
    /// The host.
    pub address: IpAddr,
    /// Where it listens for discovery; `None`: where participants 0 to 9 of the domain would.
    pub port: Option<u16>,
}

impl Peer {
    /// Where it may listen for discovery in a domain.
    pub fn addresses(&self, domain_id: u32) -> impl Iterator<Item = SocketAddr> + use<> {
        let address = self.address;
        let formula = if self.port.is_none() { PEER_PARTICIPANTS } else { 0 };
        let by_formula = (0..formula).filter_map(move |id| ports::metatraffic_unicast(domain_id, id));
        self.port.into_iter().chain(by_formula).map(move |port| SocketAddr::new(address, port))
    }
}

impl FromStr for Peer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Ok(address) = text.parse() {
            return Ok(Self { address, port: None });
        }
        match text.parse::<SocketAddr>() {
            Ok(address) => Ok(Self { address: address.ip(), port: Some(address.port()) }),
            Err(_) => bad(
                "static_peers",
                format!("{text:?}"),
                "give an address, as 192.0.2.7, 192.0.2.7:7410 or [2001:db8::7]:7410",
            ),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}", SocketAddr::new(self.address, port)),
            None => write!(f, "{}", self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_hosts_or_sockets() {
        let peer: Peer = "192.0.2.7".parse().unwrap();
        let ports: Vec<u16> = peer.addresses(1).map(|address| address.port()).collect();
        assert_eq!(ports, (0..10).map(|id| 7_400 + 250 + 10 + 2 * id).collect::<Vec<_>>());
        let peer: Peer = "[2001:db8::7]:99".parse().unwrap();
        assert_eq!(peer.addresses(1).collect::<Vec<_>>(), ["[2001:db8::7]:99".parse().unwrap()]);
        assert!("somewhere:1".parse::<Peer>().unwrap_err().to_string().contains("somewhere:1"));
    }
}
