//! Paths: where a datagram leaves and where it goes.
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use core::num::{NonZeroU16, NonZeroU32};

/// A flow that the network was set up for: what leaves along it leaves from a socket of its writer's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// The port of that socket.
    pub port: NonZeroU16,
    /// DSCP of its datagrams, 0 to 63, whatever the class of the writer.
    pub class: u8,
}

/// One way to a matched endpoint: destination, the interface and local address to send from, and how much fits into a datagram.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path {
    /// Where datagrams go.
    pub destination: SocketAddr,
    /// Operating system's index of the interface that they leave by; 0 lets the routing table choose.
    pub interface: u32,
    /// Local address that they leave from; `None` lets the routing table choose.
    pub local: Option<IpAddr>,
    /// Most bytes of UDP payload that leave in one piece: 65,507 on loopback, the interface's MTU less the IP and UDP headers elsewhere.
    pub max_datagram: u32,
    /// The flow that datagrams belong to, if they leave from the writer's own socket and not from that of the participant.
    pub flow: Option<Flow>,
    /// The shared memory that leads to the same process as the destination, by the number that the host gave it. Whatever cannot go
    /// that way goes to the destination.
    pub link: Option<NonZeroU32>,
}

impl Path {
    /// Largest UDP payload over IPv4.
    pub const MAX_DATAGRAM: u32 = 65_507;
    /// UDP payload that fits an Ethernet frame (MTU 1500) over IPv4.
    pub const ETHERNET_DATAGRAM: u32 = 1_472;
    /// Most datagrams that leave by one send call.
    pub const MAX_TRAIN: usize = 64;
    /// No path is treated as smaller than this: a smaller one could not hold the largest heartbeat and a useful fragment.
    pub const MIN_DATAGRAM: u32 = 256;

    /// The path to an endpoint of the same participant, which no socket is needed for.
    pub const IN_PROCESS: Self =
        Self::routed(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)), Self::MAX_DATAGRAM);

    /// A path chosen by the routing table.
    pub const fn routed(destination: SocketAddr, max_datagram: u32) -> Self {
        Self { destination, interface: 0, local: None, max_datagram, flow: None, link: None }
    }
}
