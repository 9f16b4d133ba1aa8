//! One port for all sockets that are connected to peers, so that peers can be told where datagrams come from.
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Type};

/// A port that the system chose, and that connected sockets of this user share ([`Sender::connected`](crate::Sender::connected)) for as
/// long as it is kept. Whatever is sent to it is thrown away.
#[derive(Debug)]
pub struct SendingPort {
    port: u16,
    /// Keeps the port.
    _socket: socket2::Socket,
}

impl SendingPort {
    /// Takes a free port on all addresses of a family.
    ///
    /// # Errors
    ///
    /// The system's error, as for lack of open files or of the family.
    pub fn reserve(v4: bool) -> io::Result<Self> {
        let socket = open(v4)?;
        bind(&socket, v4, 0)?;
        let local = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { port: local.port(), _socket: socket })
    }

    /// The port, not 0.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

/// A socket that is never received from.
pub(crate) fn open(v4: bool) -> io::Result<socket2::Socket> {
    let domain = if v4 { Domain::IPV4 } else { Domain::IPV6 };
    let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_recv_buffer_size(0)?;
    if !v4 {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

/// Binds a socket to a port that others of this user share; 0 takes any.
pub(crate) fn bind(socket: &socket2::Socket, v4: bool, port: u16) -> io::Result<()> {
    socket.set_reuse_port(true)?;
    let any = if v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    socket.bind(&SocketAddr::new(any, port).into())
}
