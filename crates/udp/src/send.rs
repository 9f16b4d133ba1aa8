//! Sending: one system call for each datagram, never blocking, nothing copied and nothing taken from the heap.
use std::fmt;
use std::io::{self, IoSlice};
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libc::{c_int, c_void, iovec};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, SockAddr, Type};

use crate::control::Control;
use crate::sending_port::{self, SendingPort};
use crate::shared::{SendFailures, Shared};
use crate::{Dscp, MAX_DATAGRAM, option};

/// Most parts that one datagram can be put together from: what Linux takes in one call.
const MAX_PARTS: usize = libc::UIO_MAXIOV as usize;
/// Most datagrams of one train: what every version of Linux takes that knows trains.
const MAX_TRAIN: usize = 64;
/// The call neither waits for room nor raises a signal.
const FLAGS: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// Where a datagram goes, and how it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Destination {
    /// Host or group, and port.
    pub address: SocketAddr,
    /// Index of the interface that it leaves by; 0 lets the routing table choose.
    pub interface: u32,
    /// Address that it leaves from, one of this host; `None` lets the system choose.
    pub source: Option<IpAddr>,
    /// Class of service; `None` is the socket's.
    pub class: Option<Dscp>,
}

impl Destination {
    /// As the routing table and the socket decide. It costs the least.
    pub const fn routed(address: SocketAddr) -> Self {
        Self { address, interface: 0, source: None, class: None }
    }
}

/// Sends datagrams from one socket; clones share it, and any thread may send.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(crate) shared: Arc<Shared>,
}

/// A datagram that did not leave.
#[derive(Debug)]
pub struct SendError {
    /// Why.
    pub failure: SendFailure,
    /// Where it was to go.
    pub destination: Destination,
    /// Its size.
    pub octets: usize,
}

/// Why a datagram did not leave.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendFailure {
    /// The socket's send buffer is full: wait with [`Sender::wait_writable`] and try again.
    WouldBlock,
    /// More than UDP carries or, if it may not be fragmented, more than the path carries.
    TooLarge {
        /// MTU of the path in bytes, IP header included, as far as the system knows it.
        path_mtu: Option<u32>,
    },
    /// There is no route, interface or host, at least now (ENETUNREACH and its like): the datagram is lost, others may not be.
    Unreachable(io::Error),
    /// The system or the interface's queue had no room. Time helps.
    NoBuffer,
    /// An IPv4 socket cannot send to or from IPv6 addresses, nor the reverse.
    WrongFamily,
    /// A datagram of more parts than one call takes: 1024.
    TooManyParts,
    /// The system cannot send trains to this destination: send its datagrams one by one.
    NoTrains,
    /// Something else, as a firewall's refusal.
    Other(io::Error),
}

impl Sender {
    /// Sends one datagram.
    ///
    /// # Errors
    ///
    /// [`SendError`]; it is also counted, see [`Sender::failures`].
    pub fn send(&self, datagram: &[u8], to: &Destination) -> Result<(), SendError> {
        if to.interface != 0
            || to.source.is_some()
            || to.class.is_some_and(|class| class != self.shared.class)
        {
            return self.send_message(&[IoSlice::new(datagram)], datagram.len(), None, to);
        }
        if to.address.is_ipv4() != self.shared.local.is_ipv4() {
            return Err(self.failed(SendFailure::WrongFamily, datagram.len(), to));
        }
        let address = self.named(to);
        let (name, len) = pointer(address.as_ref());
        let mut refused = false;
        loop {
            // SAFETY: both pointers are valid for the lengths beside them during the call, which only reads there; none is for no bytes.
            let sent = unsafe {
                libc::sendto(
                    self.shared.socket.as_raw_fd(),
                    datagram.as_ptr().cast::<c_void>(),
                    datagram.len(),
                    FLAGS,
                    name,
                    len,
                )
            };
            if sent >= 0 {
                return Ok(());
            }
            self.again_or_fail(datagram.len(), None, to, &mut refused)?;
        }
    }

    /// Sends one datagram that is put together from parts, in their order, by the kernel.
    ///
    /// # Errors
    ///
    /// [`SendError`]; it is also counted, see [`Sender::failures`].
    pub fn send_parts<'a>(
        &self,
        parts: impl IntoIterator<Item = &'a [u8]>,
        to: &Destination,
    ) -> Result<(), SendError> {
        self.gather(parts, None, to)
    }

    /// Sends parts that the kernel cuts into datagrams of `segment` bytes, all but the last of that size (UDP_SEGMENT).
    /// Together at most 65,507 bytes and 64 datagrams. The boundaries of parts do not matter.
    ///
    /// # Errors
    ///
    /// [`SendError`] as for other datagrams, then none of them left. [`SendFailure::NoTrains`] if the interface cannot do it or
    /// [`Sender::trains`] is false. [`SendFailure::TooLarge`] also if `segment` is larger than what the interface sends in one
    /// piece, and if there are more than 64 datagrams or `segment` is 0.
    pub fn send_train<'a>(
        &self,
        parts: impl IntoIterator<Item = &'a [u8]>,
        segment: u16,
        to: &Destination,
    ) -> Result<(), SendError> {
        self.gather(parts, Some(segment), to)
    }

    /// True if the kernel can send trains (Linux 4.18). It is asked once in the life of the process.
    pub fn trains(&self) -> bool {
        static TRAINS: OnceLock<bool> = OnceLock::new();
        *TRAINS
            .get_or_init(|| option::get(self.shared.socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT).is_ok())
    }

    /// Waits until the send buffer has room, which it says when half of it is free; false if it had none in all that time.
    ///
    /// # Errors
    ///
    /// The system's error if it cannot wait on the socket.
    pub fn wait_writable(&self, timeout: Duration) -> io::Result<bool> {
        let end = Instant::now().checked_add(timeout);
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let mut waited = [PollFd::new(self.shared.socket.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut waited, left.map_or(PollTimeout::NONE, milliseconds)) {
                Ok(0) if left.is_some_and(|left| left > Duration::ZERO) => {}
                Ok(ready) => return Ok(ready > 0),
                Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The path MTU to a destination as the system knows it now, in bytes, IP header included.
    ///
    /// # Errors
    ///
    /// The system's error; as when there is no route.
    pub fn path_mtu(&self, to: &Destination) -> io::Result<u32> {
        let v4 = to.address.is_ipv4();
        // Only a connected socket can be asked.
        let asked = socket2::Socket::new(if v4 { Domain::IPV4 } else { Domain::IPV6 }, Type::DGRAM, None)?;
        if let Some(source) = to.source {
            asked.bind(&SocketAddr::new(source, 0).into())?;
        }
        if let Some(interface) = std::num::NonZeroU32::new(to.interface) {
            if v4 {
                asked.bind_device_by_index_v4(Some(interface))?;
            } else {
                asked.bind_device_by_index_v6(Some(interface))?;
            }
        }
        asked.connect(&to.address.into())?;
        let (level, name) =
            if v4 { (libc::IPPROTO_IP, libc::IP_MTU) } else { (libc::IPPROTO_IPV6, libc::IPV6_MTU) };
        u32::try_from(option::get(asked.as_fd(), level, name)?).map_err(io::Error::other)
    }

    /// Sends from a socket of its own that is connected to `peer`, at the port `from`: the kernel then looks for the route
    /// once, and not for each datagram. What goes elsewhere, by an interface or from an address goes as ever. Whatever is sent to that port
    /// is thrown away. An address that is not ours any more stays the source: ask for another sender when addresses change.
    ///
    /// # Errors
    ///
    /// The system's error, as for lack of open files or of a route; `Unsupported` if the calling thread is in another network namespace than
    /// the socket, or the system (Linux before 5.14) cannot tell.
    pub fn connected(&self, peer: SocketAddr, from: &SendingPort) -> io::Result<Self> {
        let this = &self.shared.socket;
        let socket = sending_port::open(peer.is_ipv4())?;
        if option::namespace(socket.as_fd())? != option::namespace(this.as_fd())? {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (level, names) = match peer {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, [libc::IP_TOS, libc::IP_MTU_DISCOVER]),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, [libc::IPV6_TCLASS, libc::IPV6_MTU_DISCOVER]),
        };
        for name in names {
            option::set(socket.as_fd(), level, name, option::get(this.as_fd(), level, name)?)?;
        }
        let room = this.send_buffer_size()?;
        // The system's default may be less or more than what the other was granted.
        if socket.send_buffer_size()? != room {
            let asked = room / 2;
            setsockopt(&socket, sockopt::SndBufForce, &asked)
                .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &asked))?;
        }
        sending_port::bind(&socket, peer.is_ipv4(), from.port())?;
        socket.connect(&peer.into())?;
        let local = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { shared: Arc::new(Shared::connected(socket, local, peer, &self.shared)) })
    }

    /// How often sending failed since the socket was bound, by all its senders.
    pub fn failures(&self) -> SendFailures {
        self.shared.failures()
    }

    /// Address and port that datagrams come from, the address unspecified if the socket is bound to none.
    pub fn local(&self) -> SocketAddr {
        self.shared.local
    }

    fn gather<'a>(
        &self,
        parts: impl IntoIterator<Item = &'a [u8]>,
        segment: Option<u16>,
        to: &Destination,
    ) -> Result<(), SendError> {
        let mut parts = parts.into_iter();
        let (first, second) = (parts.next(), parts.next());
        if let (Some(whole), None, None) = (first, second, segment) {
            return self.send(whole, to);
        }
        self.gather_several(first.into_iter().chain(second).chain(parts), segment, to)
    }

    /// Apart from a datagram of one part, which needs no room for others.
    #[inline(never)]
    fn gather_several<'a>(
        &self,
        parts: impl Iterator<Item = &'a [u8]>,
        segment: Option<u16>,
        to: &Destination,
    ) -> Result<(), SendError> {
        let mut bytes = 0_usize;
        let mut count = 0;
        let mut slices = [const { MaybeUninit::<IoSlice<'a>>::uninit() }; MAX_PARTS];
        for part in parts {
            bytes = bytes.saturating_add(part.len());
            let Some(place) = slices.get_mut(count) else {
                return Err(self.failed(SendFailure::TooManyParts, bytes, to));
            };
            place.write(IoSlice::new(part));
            count += 1;
        }
        let filled = slices.get(..count).unwrap_or_default();
        // SAFETY: the first `count` of them were written above, and `MaybeUninit` has the layout of what is in it.
        let filled =
            unsafe { std::slice::from_raw_parts(filled.as_ptr().cast::<IoSlice<'a>>(), filled.len()) };
        self.send_message(filled, bytes, segment, to)
    }

    /// The general way, with `sendmsg`.
    fn send_message(
        &self,
        parts: &[IoSlice<'_>],
        bytes: usize,
        segment: Option<u16>,
        to: &Destination,
    ) -> Result<(), SendError> {
        let v4 = self.shared.local.is_ipv4();
        let fits_family = |ip: IpAddr| ip.is_ipv4() == v4;
        if !fits_family(to.address.ip()) || !to.source.is_none_or(fits_family) {
            return Err(self.failed(SendFailure::WrongFamily, bytes, to));
        }
        let mut control = Control::new();
        if to.interface != 0 || to.source.is_some() {
            control.push_source(v4, to.interface, to.source);
        }
        if let Some(class) = to.class.filter(|class| *class != self.shared.class) {
            control.push_class(v4, class);
        }
        if let Some(segment) = segment {
            if !self.trains() {
                return Err(self.failed(SendFailure::NoTrains, bytes, to));
            }
            let most = usize::from(segment).saturating_mul(MAX_TRAIN).min(MAX_DATAGRAM);
            if bytes > most {
                return Err(self.failed(SendFailure::TooLarge { path_mtu: None }, bytes, to));
            }
            // What fits into one datagram is one; the kernel need not look at it.
            if bytes > usize::from(segment) {
                control.push_segment(segment);
            }
        }
        let address = self.named(to);
        let (name, len) = pointer(address.as_ref());
        // SAFETY: all zeros is a `msghdr` without anything.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_name = name.cast_mut().cast::<c_void>();
        message.msg_namelen = len;
        // `IoSlice` has the layout of `iovec` by its documentation.
        message.msg_iov = parts.as_ptr().cast_mut().cast::<iovec>();
        message.msg_iovlen = parts.len() as _;
        control.attach(&mut message);
        let mut refused = false;
        loop {
            // SAFETY: the message points to the address, the parts and the control messages above, which live during the call;
            // `sendmsg` only reads them.
            if unsafe { libc::sendmsg(self.shared.socket.as_raw_fd(), &raw const message, FLAGS) } >= 0 {
                return Ok(());
            }
            self.again_or_fail(bytes, segment, to, &mut refused)?;
        }
    }

    /// The address that the kernel has to be told: none, if it is that of the peer.
    #[inline]
    fn named(&self, to: &Destination) -> Option<SockAddr> {
        (self.shared.peer != Some(to.address)).then(|| SockAddr::from(to.address))
    }

    /// After a failed call: `Ok` if it is worth another, else what to tell the caller. `refused`: a datagram before this one was.
    #[cold]
    fn again_or_fail(
        &self,
        bytes: usize,
        segment: Option<u16>,
        to: &Destination,
        refused: &mut bool,
    ) -> Result<(), SendError> {
        let error = io::Error::last_os_error();
        let failure = match error.raw_os_error() {
            Some(libc::EINTR) => return Ok(()),
            // A connected socket is told so of an earlier datagram, and sends nothing by that call.
            Some(libc::ECONNREFUSED) if !mem::replace(refused, true) => return Ok(()),
            Some(libc::EAGAIN) => SendFailure::WouldBlock,
            Some(libc::EMSGSIZE) => SendFailure::TooLarge { path_mtu: self.path_mtu(to).ok() },
            Some(
                libc::ENETUNREACH
                | libc::EHOSTUNREACH
                | libc::ENETDOWN
                | libc::EHOSTDOWN
                | libc::ECONNREFUSED
                | libc::ENODEV
                | libc::ENXIO
                | libc::EADDRNOTAVAIL,
            ) => SendFailure::Unreachable(error),
            Some(libc::ENOBUFS | libc::ENOMEM) => SendFailure::NoBuffer,
            Some(libc::EIO) if segment.is_some() => SendFailure::NoTrains,
            // Before Linux 6.14 a segment that the interface cannot send whole is an invalid argument.
            Some(libc::EINVAL) => match (segment, self.path_mtu(to)) {
                (Some(segment), Ok(mtu)) if u32::from(segment) + headers(to.address) > mtu => {
                    SendFailure::TooLarge { path_mtu: Some(mtu) }
                }
                _ => SendFailure::Other(error),
            },
            _ => SendFailure::Other(error),
        };
        Err(self.failed(failure, bytes, to))
    }

    fn failed(&self, failure: SendFailure, octets: usize, to: &Destination) -> SendError {
        self.shared.count(&failure);
        SendError { failure, destination: *to, octets }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failure, destination, octets } = self;
        write!(f, "{octets} bytes to {}", destination.address)?;
        if destination.interface != 0 {
            write!(f, " by interface {}", destination.interface)?;
        }
        if let Some(source) = destination.source {
            write!(f, " from {source}")?;
        }
        write!(f, ": {failure}")
    }
}

impl fmt::Display for SendFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WouldBlock => f.write_str("the socket's send buffer is full"),
            Self::TooLarge { path_mtu: Some(mtu) } => write!(f, "too large; the path's MTU is {mtu} bytes"),
            Self::TooLarge { path_mtu: None } => f.write_str("too large"),
            Self::Unreachable(error) => write!(f, "unreachable: {error}"),
            Self::NoBuffer => f.write_str("the system has no room for it"),
            Self::WrongFamily => f.write_str("IPv4 and IPv6 are mixed"),
            Self::TooManyParts => write!(f, "of more than {MAX_PARTS} parts"),
            Self::NoTrains => f.write_str("trains of datagrams cannot leave here: send them one by one"),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SendError {}

/// An address as system calls want it.
fn pointer(address: Option<&SockAddr>) -> (*const libc::sockaddr, libc::socklen_t) {
    address.map_or((std::ptr::null(), 0), |address| (address.as_ptr().cast(), address.len()))
}

/// Bytes of the headers of IP and UDP.
fn headers(address: SocketAddr) -> u32 {
    if address.is_ipv4() { 28 } else { 48 }
}

/// Rounded up, so that no thread waits too short and loops.
pub(crate) fn milliseconds(time: Duration) -> PollTimeout {
    let whole = time.as_nanos().div_ceil(1_000_000);
    PollTimeout::from(u16::try_from(whole).unwrap_or(u16::MAX))
}
