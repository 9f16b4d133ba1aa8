//! Well-known ports and groups (RTPS 2.5, 9.6.1 and 9.6.2.3): the only place that knows the formula.
use core::net::{Ipv4Addr, Ipv6Addr};

/// Group that participants announce themselves to over IPv4.
pub const GROUP_V4: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
/// Group that participants announce themselves to over IPv6.
pub const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff03, 0, 0, 0, 0, 0, 0, 1);

/// PB, the base.
const BASE: u32 = 7400;
/// DG, ports per domain.
const DOMAIN_GAIN: u32 = 250;
/// PG, ports per participant.
const PARTICIPANT_GAIN: u32 = 2;

/// Discovery by multicast (offset d0). `None` if the domain's ports lie above 65,535, which is so from domain 233 on.
pub const fn metatraffic_multicast(domain_id: u32) -> Option<u16> {
    port(domain_id, 0, 0)
}

/// Discovery by unicast (offset d1) of a participant; `None` if the port would lie above 65,535.
pub const fn metatraffic_unicast(domain_id: u32, participant_id: u32) -> Option<u16> {
    port(domain_id, 10, participant_id)
}

/// Data by multicast (offset d2); `None` if the port would lie above 65,535.
pub const fn default_multicast(domain_id: u32) -> Option<u16> {
    port(domain_id, 1, 0)
}

/// Data by unicast (offset d3) of a participant; `None` if the port would lie above 65,535.
pub const fn default_unicast(domain_id: u32, participant_id: u32) -> Option<u16> {
    port(domain_id, 11, participant_id)
}

const fn port(domain_id: u32, offset: u32, participant_id: u32) -> Option<u16> {
    let number = (domain_id as u64)
        .saturating_mul(DOMAIN_GAIN as u64)
        .saturating_add((participant_id as u64).saturating_mul(PARTICIPANT_GAIN as u64))
        .saturating_add((BASE + offset) as u64);
    if number > u16::MAX as u64 { None } else { Some(number as u16) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_the_standard() {
        assert_eq!(metatraffic_multicast(0), Some(7400));
        assert_eq!(default_multicast(0), Some(7401));
        assert_eq!(metatraffic_unicast(0, 0), Some(7410));
        assert_eq!(default_unicast(0, 0), Some(7411));
        assert_eq!(metatraffic_unicast(5, 7), Some(7400 + 1250 + 10 + 14));
    }

    #[test]
    fn ports_end_at_65_535() {
        assert_eq!(metatraffic_multicast(232), Some(65_400));
        assert_eq!(metatraffic_multicast(233), None);
        assert_eq!(default_unicast(232, 62), Some(65_535));
        assert_eq!(default_unicast(232, 63), None);
        assert_eq!(default_unicast(u32::MAX, u32::MAX), None);
    }
}
