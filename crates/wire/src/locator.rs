//! Locators: where an endpoint can be reached (RTPS 2.5, 9.3.2.4).
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A transport kind, a port and an address of sixteen bytes, as announced. Foreign kinds (shared memory of other
/// vendors, TCP) are kept as they came and have no socket address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator {
    /// 1 is UDPv4, 2 is UDPv6; everything else is foreign.
    pub kind: i32,
    /// Port; UDP uses the lower 16 bits, a larger value is invalid there.
    pub port: u32,
    /// Address; IPv4 stands in the last four bytes.
    pub address: [u8; 16],
}

impl Locator {
    /// Kind of UDP over IPv4.
    pub const UDP_V4: i32 = 1;
    /// Kind of UDP over IPv6.
    pub const UDP_V6: i32 = 2;
    /// The invalid locator.
    pub const INVALID: Self = Self { kind: -1, port: 0, address: [0; 16] };

    /// A UDP locator for a socket address.
    pub const fn udp(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => {
                let [a, b, c, d] = v4.ip().octets();
                Self {
                    kind: Self::UDP_V4,
                    port: v4.port() as u32,
                    address: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d],
                }
            }
            SocketAddr::V6(v6) => {
                Self { kind: Self::UDP_V6, port: v6.port() as u32, address: v6.ip().octets() }
            }
        }
    }

    /// The socket address of a UDP locator with a usable port (1 to 65535) and a specified address; `None` for all others.
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        let port = u16::try_from(self.port).ok().filter(|port| *port != 0)?;
        let ip = match self.kind {
            Self::UDP_V4 => {
                let [.., a, b, c, d] = self.address;
                IpAddr::V4(Ipv4Addr::new(a, b, c, d))
            }
            Self::UDP_V6 => IpAddr::V6(Ipv6Addr::from(self.address)),
            _ => return None,
        };
        (!ip.is_unspecified()).then_some(SocketAddr::new(ip, port))
    }

    /// True for a UDP locator with a multicast address.
    pub fn is_multicast(&self) -> bool {
        self.socket_addr().is_some_and(|address| address.ip().is_multicast())
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.socket_addr() {
            Some(address) => write!(f, "udp/{address}"),
            None => write!(f, "kind {:#x} port {}", self.kind, self.port),
        }
    }
}

impl fmt::Debug for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_addresses_round_trip() {
        for text in ["192.0.2.7:7400", "[2001:db8::1]:7411", "239.255.0.1:7400"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Locator::udp(address).socket_addr(), Some(address));
        }
    }

    #[test]
    fn unusable_locators_have_no_address() {
        let good = Locator::udp("192.0.2.7:7400".parse().unwrap());
        assert_eq!(Locator { kind: 0x10, ..good }.socket_addr(), None);
        assert_eq!(Locator { port: 0, ..good }.socket_addr(), None);
        assert_eq!(Locator { port: 70_000, ..good }.socket_addr(), None);
        assert_eq!(Locator { address: [0; 16], ..good }.socket_addr(), None);
        assert_eq!(Locator::INVALID.socket_addr(), None);
    }

    #[test]
    fn multicast_is_seen_in_both_families() {
        assert!(Locator::udp("239.255.0.1:7400".parse().unwrap()).is_multicast());
        assert!(Locator::udp("[ff03::1]:7400".parse().unwrap()).is_multicast());
        assert!(!Locator::udp("10.0.0.1:7400".parse().unwrap()).is_multicast());
    }
}
