//! Metatraffic: what goes to the ports of discovery (RTPS 2.5, 9.6.2.3). Announcements of participants and endpoints,
//! liveliness, and all that is acknowledged and repeated of them; nothing of what applications write.
use core::net::{IpAddr, Ipv4Addr};

use crate::contract::Key;

/// The port of multicast discovery in domain 0 (PB + d0).
const BASE: u16 = 7_400;
/// Ports for each domain (DG).
const DOMAIN_GAIN: u16 = 250;
/// The first port of unicast discovery of a domain, from its base (d1); those of other participants follow in steps of two.
const UNICAST: u16 = 10;

/// The domain whose metatraffic goes to a port: to its multicast port, or to the unicast port of a participant from 0 to 119. `None`
/// for every other port.
pub const fn domain_of(port: u16) -> Option<u16> {
    let Some(above) = port.checked_sub(BASE) else { return None };
    let offset = above % DOMAIN_GAIN;
    if offset == 0 || offset >= UNICAST && offset.is_multiple_of(2) {
        Some(above / DOMAIN_GAIN)
    } else {
        None
    }
}

impl Key {
    /// The key of all metatraffic of a domain that comes in at a port, from and to any address of either version of IP: its frames share one contract. `None`
    /// from domain 233 on, which has no ports.
    pub const fn metatraffic(domain: u16) -> Option<Self> {
        let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let Some(above) = domain.checked_mul(DOMAIN_GAIN) else { return None };
        match BASE.checked_add(above) {
            Some(destination_port) => {
                Some(Self { source: any, source_port: 0, destination: any, destination_port })
            }
            None => None,
        }
    }

    /// The domain whose metatraffic it is the key of.
    pub fn domain(&self) -> Option<u16> {
        let domain = domain_of(self.destination_port)?;
        (Self::metatraffic(domain) == Some(*self)).then_some(domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn ports_of_discovery_and_no_others() {
        for (port, domain) in [
            (7_400, Some(0)),
            (7_401, None),
            (7_408, None),
            (7_410, Some(0)),
            (7_411, None),
            (7_648, Some(0)),
            (7_649, None),
            (7_650, Some(1)),
            (7_660, Some(1)),
            (65_400, Some(232)),
            (65_534, Some(232)),
            (65_535, None),
            (7_399, None),
            (0, None),
        ] {
            assert_eq!(domain_of(port), domain, "{port}");
        }
    }

    #[test]
    fn the_key_of_a_domain_is_no_key_of_a_flow() {
        let key = Key::metatraffic(2).unwrap();
        assert_eq!((key.check(), key.domain(), key.destination_port), (Ok(()), Some(2), 7_900));
        assert_eq!(key.to_string(), "metatraffic of domain 2");
        assert_eq!(Key::metatraffic(232).and_then(|key| key.domain()), Some(232));
        assert_eq!((Key::metatraffic(233), Key::metatraffic(u16::MAX)), (None, None));
        for other in [
            Key { source: IpAddr::V4(Ipv4Addr::LOCALHOST), ..key },
            Key { source_port: 1, ..key },
            Key { destination: IpAddr::V4(Ipv4Addr::LOCALHOST), ..key },
            Key { destination_port: 7_910, ..key },
        ] {
            assert_eq!(other.domain(), None, "{other}");
        }
        assert!(Key { destination_port: 7_910, ..key }.check().is_err());
    }
}
