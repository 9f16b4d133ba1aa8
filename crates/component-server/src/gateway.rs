//! The gateway of the process, as its part of a plan says.
use std::collections::BTreeMap;

use deployment::{GatewayPart, GatewayStatus, Reach};
use gateways::{Config, Federated, GatewayId, Group, Notice, Peer, Transport};

/// The interface of groups where the gateway is reached by this host only.
const LOOPBACK: &str = "lo";

/// A gateway that runs, with the part that it is of.
pub(crate) struct Running {
    pub(crate) gateway: Federated,
    pub(crate) part: GatewayPart,
}

/// The number of the interface that groups are sent by; 0 leaves it to the routing table.
fn interface(part: &GatewayPart) -> Result<u32, String> {
    let own = part.address.ip().is_loopback().then_some(LOOPBACK);
    let Some(name) = part.interface.as_deref().or(own).filter(|_| !part.groups.is_empty()) else {
        return Ok(0);
    };
    nix::net::if_::if_nametoindex(name).map_err(|_| {
        format!("this host has no network interface \"{name}\", which the gateway is to use: ip link lists those that there are")
    })
}

/// What a gateway needs of the host is there.
///
/// # Errors
/// What is missing.
pub(crate) fn check(part: &GatewayPart) -> Result<(), String> {
    interface(part).map(drop)
}

/// Starts a gateway.
///
/// # Errors
/// Its sockets or threads cannot be had.
pub(crate) fn start(part: &GatewayPart) -> Result<Running, String> {
    let mut config = Config::new(GatewayId(part.id));
    config.settings.ttl = part.ttl;
    config.settings.lease = part.lease.unwrap_or(config.settings.lease);
    config.interface = interface(part)?;
    config.loopback = part.loopback;
    let peer = |id, by| {
        let transport = match by {
            Reach::Udp(address) => Transport::Udp(address),
            Reach::Connect(address) => Transport::Connect(address),
            Reach::Accept => Transport::Accept,
        };
        Peer { id: GatewayId(id), transport }
    };
    config.peers = part.peers.iter().map(|it| peer(it.id, it.by)).collect();
    let group =
        |(kind, address): &(String, std::net::SocketAddr)| Group { kind: kind.clone(), address: *address };
    config.groups = part.groups.iter().map(group).collect();
    let has_udp = config.peers.iter().any(|peer| matches!(peer.transport, Transport::Udp(_)));
    let accepts = config.peers.iter().any(|peer| peer.transport == Transport::Accept);
    config.udp = (has_udp || !config.groups.is_empty()).then_some(part.address);
    config.tcp = accepts.then_some(part.address);
    let gateway = Federated::start(&config).map_err(|error| error.to_string())?;
    Ok(Running { gateway, part: part.clone() })
}

impl Running {
    pub(crate) fn status(&self) -> GatewayStatus {
        let counts = self.gateway.counts();
        let up = self.part.peers.iter().filter(|peer| self.gateway.is_up(GatewayId(peer.id))).count();
        GatewayStatus {
            peers: u32::try_from(self.part.peers.len()).unwrap_or(u32::MAX),
            up: u32::try_from(up).unwrap_or(u32::MAX),
            published: counts.published,
            transfers: counts.transfers,
            delivered: counts.delivered,
            given_up: counts.given_up,
            repairs: counts.repairs,
            doubles: counts.doubles,
            datagrams: counts.datagrams,
            bytes: counts.bytes,
        }
    }

    /// The next thing of interest that happened to the gateway.
    pub(crate) fn next_report(&self) -> Option<String> {
        let names: BTreeMap<u64, &str> =
            self.part.peers.iter().map(|peer| (peer.id, peer.process.as_str())).collect();
        let name =
            |id: GatewayId| names.get(&id.0).map_or_else(|| format!("{:x}", id.0), |name| (*name).to_owned());
        while let Some(notice) = self.gateway.next_notice() {
            return Some(match notice {
                Notice::Down { peer, is_silent: true } => {
                    format!(
                        "gateway: nothing comes from that of {}: events for it go by other ways, or are given up",
                        name(peer)
                    )
                }
                Notice::Down { peer, .. } => format!("gateway: that of {} has begun anew", name(peer)),
                Notice::Full { peer } => {
                    format!("gateway: {} is too slow: events for it are given up", name(peer))
                }
                Notice::Filter { subscriber, kind, reason } => format!(
                    "gateway: the filter of {} does not suit events of {kind}, and all are sent to it: {reason}",
                    name(subscriber)
                ),
                // That connections work is not reported.
                _ => continue,
            });
        }
        None
    }
}
