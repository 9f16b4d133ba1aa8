//! Receiving into the caller's buffer: one system call for each datagram.
use std::fmt;
use std::io::{self, IoSliceMut};
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libc::{c_int, c_void, iovec, socklen_t};
use socket2::{SockAddr, SockAddrStorage};

use crate::control::{self, Control, Item};
use crate::shared::Shared;
use crate::{Dscp, option};

/// Receives from one socket. Clones share it; each datagram goes to one of them.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub(crate) shared: Arc<Shared>,
}

/// How long to wait for a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Until one comes.
    Forever,
    /// This long, not less; the system's coarse timers make it up to a tick (1 to 10 ms) and an eighth longer. Changing it between
    /// calls costs a system call; clones of a receiver that wait at the same time must wait equally long.
    AtMost(Duration),
    /// Not at all.
    No,
}

/// What a receive call ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// A whole datagram.
    Datagram(Datagram),
    /// A datagram that was larger than the buffer; the rest of it is lost, and the beginning is not to be used.
    Truncated {
        /// Where it came from.
        source: SocketAddr,
        /// How large it was.
        octets: usize,
    },
    /// Nothing came in time.
    TimedOut,
    /// A thread called [`crate::Waker::wake`].
    Woken,
    /// A thread called [`crate::Stopper::stop`]; every further call ends with this too.
    Stopped,
}

/// A received datagram, or several of the same source and size if trains were asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// How many bytes of the buffer it fills.
    pub octets: usize,
    /// Where it came from; for link-local addresses of IPv6 the scope is the interface's index.
    pub source: SocketAddr,
    /// What else was asked for.
    pub details: Details,
}

/// What [`crate::Report`] asks for; `None` what was not asked for, or what the kernel did not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Details {
    /// The address that it was sent to, as group or one of ours, and the index of the interface it came in by.
    pub destination: Option<(IpAddr, u32)>,
    /// Its class of service.
    pub class: Option<Dscp>,
    /// When the kernel took it from the interface, by the wall clock.
    pub time: Option<SystemTime>,
    /// It is a train: datagrams of this size, the last one possibly shorter. At least 1.
    pub segment: Option<u16>,
}

/// Receiving failed in a way that no other datagram cures by itself.
#[derive(Debug)]
pub struct ReceiveError {
    /// The socket's own address.
    pub local: SocketAddr,
    /// What the system said.
    pub error: io::Error,
}

impl Receiver {
    /// Waits for a datagram and puts it into `buffer`, which should hold 65,535 bytes if trains were asked for.
    ///
    /// # Errors
    ///
    /// The system's error, as for lack of memory. Errors that ICMP reports about sent datagrams do not come here.
    pub fn receive(&self, buffer: &mut [u8], wait: Wait) -> Result<Received, ReceiveError> {
        let timeout = match wait {
            Wait::Forever | Wait::No => None,
            Wait::AtMost(time) => Some(time),
        };
        let flags = match wait {
            Wait::No => libc::MSG_DONTWAIT,
            Wait::AtMost(time) if time.is_zero() => libc::MSG_DONTWAIT,
            _ => {
                self.shared.set_timeout(timeout).map_err(|error| self.failed(error))?;
                0
            }
        };
        loop {
            if self.shared.stopped.load(Ordering::Acquire) {
                return Ok(Received::Stopped);
            }
            if self.shared.woken.load(Ordering::Acquire) && self.shared.woken.swap(false, Ordering::AcqRel) {
                return Ok(Received::Woken);
            }
            // With MSG_TRUNC the size is that of the datagram, also if it did not fit.
            let received = if self.shared.reports.load(Ordering::Relaxed) {
                self.receive_message(buffer, flags | libc::MSG_TRUNC)
            } else {
                self.receive_from(buffer, flags | libc::MSG_TRUNC)
            };
            let (octets, source, details) = match received {
                Ok(received) => received,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::EAGAIN) => return Ok(Received::TimedOut),
                    _ => return Err(self.failed(error)),
                },
            };
            // A socket that is shut down gives nothing, from nowhere.
            let Some(source) = source else { return Ok(Received::Stopped) };
            if octets == 0 && self.shared.waker.as_ref().is_some_and(|(_, waker)| *waker == source) {
                self.shared.woken.swap(false, Ordering::AcqRel);
                return Ok(Received::Woken);
            }
            return Ok(if octets > buffer.len() {
                Received::Truncated { source, octets }
            } else {
                Received::Datagram(Datagram { octets, source, details })
            });
        }
    }

    /// Asks the kernel from now on when it got each datagram, as [`crate::Report::time`] does for a new socket.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn report_time(&self) -> io::Result<()> {
        option::set(self.shared.socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        self.shared.reports.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Address and port that the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.shared.local
    }

    /// The least that can be asked, which costs the least.
    fn receive_from(
        &self,
        buffer: &mut [u8],
        flags: c_int,
    ) -> io::Result<(usize, Option<SocketAddr>, Details)> {
        let mut storage = SockAddrStorage::zeroed();
        let mut length = storage.size_of();
        // SAFETY: the buffer and the storage are valid for the lengths beside them during the call, which writes no more.
        let bytes = unsafe {
            libc::recvfrom(
                self.shared.socket.as_raw_fd(),
                buffer.as_mut_ptr().cast::<c_void>(),
                buffer.len(),
                flags,
                (&raw mut storage).cast::<libc::sockaddr>(),
                &raw mut length,
            )
        };
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
        Ok((bytes, address(storage, length), Details::default()))
    }

    fn receive_message(
        &self,
        buffer: &mut [u8],
        flags: c_int,
    ) -> io::Result<(usize, Option<SocketAddr>, Details)> {
        let mut storage = SockAddrStorage::zeroed();
        let mut control = Control::new();
        let mut parts = [IoSliceMut::new(buffer)];
        // SAFETY: all zeros is a `msghdr` without anything.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_name = (&raw mut storage).cast::<c_void>();
        message.msg_namelen = storage.size_of();
        // `IoSliceMut` has the layout of `iovec` by its documentation.
        message.msg_iov = parts.as_mut_ptr().cast::<iovec>();
        message.msg_iovlen = 1;
        control.lend(&mut message);
        // SAFETY: the message points to storage, buffer and control messages above, with their lengths; all live during the call.
        let bytes = unsafe { libc::recvmsg(self.shared.socket.as_raw_fd(), &raw mut message, flags) };
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
        let mut details = Details::default();
        // SAFETY: the call succeeded, and `control` is still there.
        unsafe { control::read(&message, |item| details.add(item)) };
        Ok((bytes, address(storage, message.msg_namelen), details))
    }

    fn failed(&self, error: io::Error) -> ReceiveError {
        ReceiveError { local: self.shared.local, error }
    }
}

impl Datagram {
    /// The datagrams that it consists of: one, unless it is a train. `buffer` is the one that was received into.
    pub fn parts<'a>(&self, buffer: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let whole = buffer.get(..self.octets).unwrap_or_default();
        let size = self.details.segment.map_or(self.octets, usize::from).max(1);
        // An empty datagram is one, too.
        let empty = whole.is_empty().then_some(whole);
        empty.into_iter().chain(whole.chunks(size))
    }
}

impl Details {
    fn add(&mut self, item: Item) {
        match item {
            Item::Destination(address, interface) => self.destination = Some((address, interface)),
            Item::Class(class) => self.class = Some(class),
            Item::Time(seconds, nanoseconds) => {
                let since = u64::try_from(seconds).ok().zip(u32::try_from(nanoseconds).ok());
                self.time = since.and_then(|(seconds, nanoseconds)| {
                    UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
                });
            }
            Item::Segment(segment) => self.segment = (segment > 0).then_some(segment),
        }
    }
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot receive at {}: {}", self.local, self.error)
    }
}

impl std::error::Error for ReceiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// The address that the kernel wrote; `None` if it wrote none.
fn address(storage: SockAddrStorage, length: socklen_t) -> Option<SocketAddr> {
    let length = length.min(storage.size_of());
    // SAFETY: the storage was zeroed, then the kernel wrote an address of that length; the family says which kind, or is zero.
    unsafe { SockAddr::new(storage, length) }.as_socket()
}
