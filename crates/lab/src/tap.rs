//! Hears every frame at an interface, with the time at which the kernel saw it: for measuring one part of a way at a time.
//!
//! What an interface sends is heard when it leaves the queues; what it receives is heard behind a gate and before the switch.
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::time::Duration;

use nix::cmsg_space;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use socket2::Socket;

use crate::train::{FACTS, Heard};
use system::Error;

/// Bytes that a socket holds until it is read.
const BUFFER: usize = 16 << 20;

/// A tap at an interface.
#[derive(Debug)]
pub struct Tap {
    socket: Socket,
}

impl Tap {
    /// Listens at an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// There is no such interface, or the right is missing.
    pub fn open(interface: &str) -> Result<Self, Error> {
        let socket = packet_socket(interface)?;
        let stamped = setsockopt(&socket, sockopt::ReceiveTimestampns, &true);
        stamped.map_err(|error| Error::new(format!("{interface}: SO_TIMESTAMPNS: {error}"), ""))?;
        udp::packet::tell_offloads(&socket).map_err(Error::system(interface))?;
        Ok(Self { socket })
    }

    /// What comes next, which replaces what is in `heard`, and when, in nanoseconds since 1970; `None` if nothing does for so long.
    ///
    /// # Errors
    /// The system's; the interface may be gone.
    pub fn next(&self, heard: &mut Heard, patience: Duration) -> Result<Option<u64>, Error> {
        self.socket.set_read_timeout(Some(patience)).map_err(Error::system("a tap"))?;
        self.take(heard)
    }

    /// What comes next as for [`Tap::next`], waiting as the socket does: [`Tap::never_wait`].
    pub(crate) fn take(&self, heard: &mut Heard) -> Result<Option<u64>, Error> {
        let failed = |error: nix::Error| Error::new(format!("a tap: {error}"), "");
        let mut parts = [IoSliceMut::new(heard.room())];
        let mut space = cmsg_space!(TimeSpec);
        let got = recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty());
        let got = match got {
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(None),
            got => got.map_err(failed)?,
        };
        let stamp = got.cmsgs().map_err(failed)?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
            _ => None,
        });
        let (length, time) = (got.bytes, stamp.map_or(0, |time| time.as_nanos()));
        heard.came(length);
        Ok(Some(u64::try_from(time).unwrap_or(u64::MAX)))
    }

    /// Sends a whole frame, to a gate with the stamp that it takes off: when the last bit came, in nanoseconds of the monotonic clock.
    pub(crate) fn put(&self, frame: &[u8], came: Option<u64>) -> std::io::Result<usize> {
        // Nothing is left for a card to do.
        let facts = IoSlice::new(&[0; FACTS]);
        let Some(came) = came else { return self.socket.send_vectored(&[facts, IoSlice::new(frame)]) };
        // The lower half is enough for a gate that has a clock itself.
        let stamp = u32::try_from(came & u64::from(u32::MAX)).unwrap_or(0).to_ne_bytes();
        self.socket.send_vectored(&[facts, IoSlice::new(frame), IoSlice::new(&stamp)])
    }

    /// From now on nothing waits: what is not there is not taken, and what has no room is not sent.
    pub(crate) fn never_wait(&self) -> std::io::Result<()> {
        // What is not granted shows as loss under load only.
        let _ = setsockopt(&self.socket, sockopt::SndBufForce, &BUFFER);
        self.socket.set_nonblocking(true)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A packet socket that hears and says everything at an interface.
fn packet_socket(interface: &str) -> Result<Socket, Error> {
    let failed = |step: &str, error: nix::Error| {
        Error::new(format!("{interface}: {step}: {error}"), "packet sockets need root")
    };
    let link: LinkAddr = getifaddrs()
        .map_err(|error| failed("getifaddrs", error))?
        .filter(|found| found.interface_name == interface)
        .find_map(|found| found.address?.as_link_addr().copied())
        .ok_or_else(|| Error::new(format!("there is no interface {interface}"), ""))?;
    let fd = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll)
        .map_err(|error| failed("socket", error))?;
    bind(fd.as_raw_fd(), &link).map_err(|error| failed("bind", error))?;
    let socket = Socket::from(fd);
    // What is not granted shows as loss under load only.
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &BUFFER);
    Ok(socket)
}
