//! Binding: sockets of one host and port, and sockets that share a port with others to receive multicast.
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use libc::c_int;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Type};

use crate::shared::Shared;
use crate::{Dscp, Receiver, Sender, Stopper, Waker, option};

/// How a socket is set up. The default is what most sockets of a participant want.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    /// Bytes to ask for as receive buffer; `None` leaves the system's default. [`Socket::receive_buffer`] says what was granted.
    pub receive_buffer: Option<usize>,
    /// Bytes to ask for as send buffer; `None` leaves the system's default. [`Socket::send_buffer`] says what was granted.
    pub send_buffer: Option<usize>,
    /// Class of service of every datagram that names none.
    pub class: Dscp,
    /// Hops that multicast may take, 0 to 255: 1 (the default) keeps it in the subnet. 0 should keep it on the host; Linux holds
    /// to that only while a socket on the host is in the group on that interface.
    pub multicast_hops: u8,
    /// True (the default) if receivers on this host get the multicast that is sent here.
    pub multicast_loop: bool,
    /// True (the default) if IP may cut datagrams that are larger than the path's MTU into fragments. Otherwise they are refused
    /// as [`crate::SendFailure::TooLarge`], and routers on the way may not cut them either.
    pub fragment: bool,
    /// True if [`Socket::waker`] is wanted. Only [`Socket::unicast`] can have one: a shared port would hand the wake-up to others.
    pub wakeable: bool,
    /// What is told about received datagrams besides source and size.
    pub report: Report,
}

/// What is told about received datagrams besides source and size. Anything costs about 0.1 us for each datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The address that it was sent to and the interface that it came in by (IP_PKTINFO).
    pub destination: bool,
    /// Its class of service (IP_RECVTOS).
    pub class: bool,
    /// When the kernel got it (SO_TIMESTAMPNS).
    pub time: bool,
    /// The kernel may join datagrams of one source into a train (UDP_GRO): [`crate::Datagram::parts`] takes it apart.
    pub trains: bool,
}

/// A bound socket.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(crate) shared: Arc<Shared>,
}

/// A socket could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// Another socket has the port.
    Taken(SocketAddr),
    /// No interface of this host has that address now.
    NotLocal(SocketAddr),
    /// Ports below 1024 need the capability CAP_NET_BIND_SERVICE.
    NotPermitted(SocketAddr),
    /// The system refused a step.
    Refused {
        /// Which one.
        step: &'static str,
        /// The address to be bound to.
        address: SocketAddr,
        /// What it said.
        error: io::Error,
    },
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            receive_buffer: None,
            send_buffer: None,
            class: Dscp::DEFAULT,
            multicast_hops: 1,
            multicast_loop: true,
            fragment: true,
            wakeable: false,
            report: Report::default(),
        }
    }
}

impl Report {
    const fn any(self) -> bool {
        self.destination || self.class || self.time || self.trains
    }
}

impl Socket {
    /// A socket that shares its port with no other. Port 0 takes any free one; the unspecified address takes all of the host's.
    ///
    /// # Errors
    ///
    /// [`BindError`]; [`BindError::Taken`] is what a participant that looks for a free participant id goes on from.
    pub fn unicast(address: SocketAddr, options: &SocketOptions) -> Result<Self, BindError> {
        Self::bound(address, options, false)
    }

    /// A socket that receives multicast (after [`Socket::join`]) on a port that other programs on this host may receive it on
    /// too. It is bound to all addresses, and gets only what groups that it joined are sent, and unicast.
    ///
    /// # Errors
    ///
    /// [`BindError`]; [`BindError::Taken`] if another socket has the port and does not share it by SO_REUSEADDR.
    pub fn multicast(v4: bool, port: u16, options: &SocketOptions) -> Result<Self, BindError> {
        let any = if v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
        Self::bound(SocketAddr::new(any, port), options, true)
    }

    /// Sends from this socket.
    pub fn sender(&self) -> Sender {
        Sender { shared: Arc::clone(&self.shared) }
    }

    /// Receives from this socket.
    pub fn receiver(&self) -> Receiver {
        Receiver { shared: Arc::clone(&self.shared) }
    }

    /// Ends receiving.
    pub fn stopper(&self) -> Stopper {
        Stopper { shared: Arc::clone(&self.shared) }
    }

    /// Interrupts receiving; `None` if [`SocketOptions::wakeable`] was not asked for, or the port is shared.
    pub fn waker(&self) -> Option<Waker> {
        self.shared.waker.is_some().then(|| Waker { shared: Arc::clone(&self.shared) })
    }

    /// Address and port that it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.shared.local
    }

    /// The receive buffer's size as the kernel counts: Linux grants twice the bytes asked for, as room for its own records, and
    /// counts each datagram with them: several hundred bytes for the smallest.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn receive_buffer(&self) -> io::Result<usize> {
        self.shared.socket.recv_buffer_size()
    }

    /// The send buffer's size, counted like that of [`Socket::receive_buffer`].
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn send_buffer(&self) -> io::Result<usize> {
        self.shared.socket.send_buffer_size()
    }

    /// Received datagrams that were lost since the socket was bound, because the receive buffer was full or the checksum wrong.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn dropped(&self) -> io::Result<u32> {
        option::dropped(self.shared.socket.as_fd())
    }

    fn bound(address: SocketAddr, options: &SocketOptions, shares: bool) -> Result<Self, BindError> {
        let at = |step: &'static str| move |error| BindError::refused(step, address, error);
        let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP)).map_err(at("socket"))?;
        set_up(&socket, address, options)?;
        if shares {
            // Not SO_REUSEPORT also: with it Linux (6.18) gives a multicast datagram that came over a wire and that a single
            // socket wants to any socket of the port, by a hash of addresses, also to one that is not in the group.
            socket.set_reuse_address(true).map_err(at("SO_REUSEADDR"))?;
        }
        socket.bind(&address.into()).map_err(at("bind"))?;
        let local = socket.local_addr().map_err(at("getsockname"))?;
        let local = local.as_socket().unwrap_or(address);
        let waker = if options.wakeable && !shares { Some(waker(local).map_err(at("waker"))?) } else { None };
        let shared = Shared::new(socket, local, options.class, options.report.any(), waker);
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl BindError {
    fn refused(step: &'static str, address: SocketAddr, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EADDRINUSE) if step == "bind" => Self::Taken(address),
            Some(libc::EADDRNOTAVAIL) if step == "bind" => Self::NotLocal(address),
            Some(libc::EACCES) if step == "bind" => Self::NotPermitted(address),
            _ => Self::Refused { step, address, error },
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(address) => write!(f, "{address} is taken by another socket"),
            Self::NotLocal(address) => write!(f, "{address}: no interface has this address"),
            Self::NotPermitted(address) => {
                write!(f, "{address}: ports below 1024 need the capability CAP_NET_BIND_SERVICE")
            }
            Self::Refused { step, address, error } => write!(f, "{address}: {step}: {error}"),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// All that is set before binding, so that no datagram comes in before it holds.
fn set_up(socket: &socket2::Socket, address: SocketAddr, options: &SocketOptions) -> Result<(), BindError> {
    let step = |step: &'static str, result: io::Result<()>| {
        result.map_err(|error| BindError::refused(step, address, error))
    };
    let int = |name: &'static str, level: c_int, option: c_int, value: c_int| {
        step(name, option::set(socket.as_fd(), level, option, value))
    };
    let hops = u32::from(options.multicast_hops);
    let class = options.class.octet();
    let report = options.report;
    if address.is_ipv4() {
        step("IP_MULTICAST_ALL", socket.set_multicast_all_v4(false))?;
        step("IP_MULTICAST_LOOP", socket.set_multicast_loop_v4(options.multicast_loop))?;
        step("IP_MULTICAST_TTL", socket.set_multicast_ttl_v4(hops))?;
        int("IP_TOS", libc::IPPROTO_IP, libc::IP_TOS, class.into())?;
        if !options.fragment {
            int("IP_MTU_DISCOVER", libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?;
        }
        if report.destination {
            int("IP_PKTINFO", libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
        }
        if report.class {
            int("IP_RECVTOS", libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        }
    } else {
        step("IPV6_V6ONLY", socket.set_only_v6(true))?;
        step("IPV6_MULTICAST_ALL", socket.set_multicast_all_v6(false))?;
        step("IPV6_MULTICAST_LOOP", socket.set_multicast_loop_v6(options.multicast_loop))?;
        step("IPV6_MULTICAST_HOPS", socket.set_multicast_hops_v6(hops))?;
        int("IPV6_TCLASS", libc::IPPROTO_IPV6, libc::IPV6_TCLASS, class.into())?;
        if !options.fragment {
            int("IPV6_MTU_DISCOVER", libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)?;
        }
        if report.destination {
            int("IPV6_RECVPKTINFO", libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
        }
        if report.class {
            int("IPV6_RECVTCLASS", libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
        }
    }
    if report.time {
        int("SO_TIMESTAMPNS", libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    }
    if report.trains {
        int("UDP_GRO", libc::SOL_UDP, libc::UDP_GRO, 1)?;
    }
    buffers(socket, options).or_else(|error| step("SO_RCVBUF", Err(error)))
}

/// Asks for buffers. The system cuts what is above its limits (net.core.rmem_max, wmem_max) without an error; with the
/// capability CAP_NET_ADMIN a socket may have more.
fn buffers(socket: &socket2::Socket, options: &SocketOptions) -> io::Result<()> {
    if let Some(asked) = options.receive_buffer {
        socket.set_recv_buffer_size(asked)?;
        if socket.recv_buffer_size()? < asked.saturating_mul(2) {
            // Refused without the capability, and then what the system granted stays.
            let _ = setsockopt(socket, sockopt::RcvBufForce, &asked);
        }
    }
    if let Some(asked) = options.send_buffer {
        socket.set_send_buffer_size(asked)?;
        if socket.send_buffer_size()? < asked.saturating_mul(2) {
            // As above.
            let _ = setsockopt(socket, sockopt::SndBufForce, &asked);
        }
    }
    Ok(())
}

/// A socket connected to `target`, and where its datagrams come from.
fn waker(mut target: SocketAddr) -> io::Result<(socket2::Socket, SocketAddr)> {
    match &mut target {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => v4.set_ip(Ipv4Addr::LOCALHOST),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => v6.set_ip(Ipv6Addr::LOCALHOST),
        _ => {}
    }
    let domain = if target.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    let mut own = target;
    own.set_port(0);
    socket.bind(&own.into())?;
    socket.connect(&target.into())?;
    socket.set_nonblocking(true)?;
    let own = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidData)?;
    Ok((socket, own))
}
