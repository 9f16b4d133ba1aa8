//! What a gateway is told when it starts.
use std::fmt;
use std::net::SocketAddr;

use federation::{GatewayId, LimitError, Settings};

/// A gateway: its name, its sockets, its peers.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name.
    pub id: GatewayId,
    /// Sizes, times and limits.
    pub settings: Settings,
    /// Where the UDP socket is bound; port 0 takes a free one, and [`crate::Federated::udp`] says which. `None` is no UDP.
    pub udp: Option<SocketAddr>,
    /// Where connections of TCP are accepted; as `udp`.
    pub tcp: Option<SocketAddr>,
    /// The peers.
    pub peers: Vec<Peer>,
    /// Types whose events go to groups, and the groups.
    pub groups: Vec<Group>,
    /// The interface that multicast goes by: its index, or 0 for that of the routing table.
    pub interface: u32,
    /// How many networks multicast goes through: 1 is the own one.
    pub hops: u8,
    /// Whether gateways on the same host get the multicast.
    pub loopback: bool,
}

impl Config {
    /// A gateway without sockets, peers and groups.
    pub fn new(id: GatewayId) -> Self {
        Self {
            id,
            settings: Settings::default(),
            udp: None,
            tcp: None,
            peers: Vec::new(),
            groups: Vec::new(),
            interface: 0,
            hops: 1,
            loopback: true,
        }
    }
}

/// A peer, and how it is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its name.
    pub id: GatewayId,
    /// How it is reached.
    pub transport: Transport,
}

/// How a peer is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// By UDP, at the address of its socket.
    Udp(SocketAddr),
    /// By TCP: this end connects, again and again until it succeeds, and after each end.
    Connect(SocketAddr),
    /// By TCP: the peer connects.
    Accept,
}

/// A type of events that goes to a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// The type.
    pub kind: String,
    /// Address and port of the group. All groups of a gateway have one port.
    pub address: SocketAddr,
}

/// A gateway does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The UDP socket cannot be had.
    Udp(udp::BindError),
    /// Connections cannot be accepted there.
    Tcp {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// The group cannot be joined.
    Group(udp::MembershipError),
    /// Groups have ports or families that differ, or there are groups without a UDP socket.
    Groups,
    /// The peer is reached by UDP or connects by TCP, and the gateway has no such socket.
    NoSocket(GatewayId),
    /// A limit is reached.
    Limit(LimitError),
    /// A thread cannot be started.
    Thread(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(error) => write!(out, "federation: {error}"),
            Self::Tcp { address, error } => {
                write!(
                    out,
                    "federation: no connections at {address}: {error}; choose another address or port"
                )
            }
            Self::Group(error) => write!(out, "federation: {error}"),
            Self::Groups => out.write_str(
                "federation: groups need a UDP socket, and one port and one version of IP for all of them",
            ),
            Self::NoSocket(id) => {
                write!(
                    out,
                    "federation: peer {:x} needs a socket that this gateway has not: give it an address",
                    id.0
                )
            }
            Self::Limit(error) => write!(out, "federation: {error}"),
            Self::Thread(error) => write!(out, "federation: a thread cannot be started: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
