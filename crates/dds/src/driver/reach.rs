//! Where a participant can be reached, and how its datagrams leave.
use std::net::IpAddr;

use rtps::{Path, ports};
use udp::{Destination, Dscp};
use wire::Locator;

use crate::config::NetworkConfig;
use crate::driver::interfaces::Choice;
use crate::driver::read;
use crate::driver::sockets::{Pair, Sockets};
use crate::host::Addresses;

/// Where a datagram goes. Naming interface and source costs as much as a tenth of the call, so that it is done only where the routing
/// table would not choose them anyway: for groups, and where subnets overlap.
pub(super) fn destination(path: &Path, class: u8, ambiguous: bool) -> Destination {
    let named = ambiguous || path.destination.ip().is_multicast();
    Destination {
        address: path.destination,
        interface: if named { path.interface } else { 0 },
        source: path.local.filter(|_| named),
        class: Dscp::new(class),
    }
}

/// What is announced of a participant on these interfaces.
pub(super) fn addresses(
    domain_id: u32,
    config: &NetworkConfig,
    choice: &Choice,
    sockets: &Sockets,
) -> Addresses {
    let unicast = |pair: &Pair| -> Vec<Locator> {
        let at = |ip: &IpAddr| pair.port(ip.is_ipv4()).map(|port| Locator::udp((*ip, port).into()));
        choice.addresses.iter().filter_map(at).collect()
    };
    let groups = |port: Option<u16>, wanted: bool| -> Vec<Locator> {
        let v4 = choice.groups.iter().any(|group| group.v4).then_some(IpAddr::V4(ports::GROUP_V4));
        let v6 = choice.groups.iter().any(|group| group.v6).then_some(IpAddr::V6(ports::GROUP_V6));
        let port = port.filter(|_| wanted);
        port.map(|port| v4.into_iter().chain(v6).map(|ip| Locator::udp((ip, port).into())).collect())
            .unwrap_or_default()
    };
    let granted = read::led(sockets).and_then(|socket| socket.receive_buffer().ok());
    Addresses {
        network: choice.network.clone(),
        metatraffic_unicast: unicast(&sockets.metatraffic),
        metatraffic_multicast: groups(ports::metatraffic_multicast(domain_id), config.multicast),
        default_unicast: unicast(&sockets.user),
        default_multicast: groups(ports::default_multicast(domain_id), config.multicast_data),
        receive_buffer: granted.and_then(|bytes| u32::try_from(bytes).ok()),
        sending_ports: sockets.sending_ports(),
        shared_memory: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_and_source_are_named_only_where_they_have_to_be() {
        let path = |to: &str| Path {
            destination: to.parse().unwrap(),
            interface: 2,
            local: Some("192.168.1.5".parse().unwrap()),
            max_datagram: 1_472,
            flow: None,
            link: None,
        };
        let plain = destination(&path("192.168.1.7:7411"), 0, false);
        assert_eq!((plain.interface, plain.source), (0, None));
        for (to, ambiguous) in [("239.255.0.1:7400", false), ("192.168.1.7:7411", true)] {
            let named = destination(&path(to), 46, ambiguous);
            assert_eq!((named.interface, named.source), (2, path(to).local));
            assert_eq!(named.class, Dscp::new(46));
        }
    }
}
