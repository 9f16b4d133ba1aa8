//! UDP sockets of the data path: one system call for each datagram, nothing asked of the kernel that is not needed.
//!
//! A [`Socket`] is bound once and gives out [`Sender`]s and [`Receiver`]s. A sender never blocks and says why a datagram
//! did not leave; a receiver blocks until a datagram comes, a time has passed, or another thread stops or wakes it.
//! [`interfaces`] and [`InterfaceWatch`] tell about the host's network, [`thread`] about the calling thread.
//!
//! Nothing here knows RTPS. Sending and receiving take nothing from the heap.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the crate udp works on Linux only so far: it stands on IP_PKTINFO, UDP_SEGMENT, SO_MEMINFO and rtnetlink; \
     another system needs its own version of control.rs, option.rs, interface.rs and watch.rs"
);

mod alarm;
mod bind;
mod buffer;
mod clock;
mod control;
mod interface;
mod membership;
mod option;
pub mod packet;
mod receive;
mod send;
mod sending_port;
mod shared;
mod stop;
pub mod thread;
mod watch;

pub use alarm::{Alarm, Rung};
pub use bind::{BindError, Report, Socket, SocketOptions};
pub use buffer::Buffer;
pub use clock::monotonic;
pub use interface::{Interface, InterfaceError, interfaces};
pub use membership::{MembershipError, MembershipFailure};
pub use receive::{Datagram, Details, ReceiveError, Received, Receiver, Wait};
pub use send::{Destination, SendError, SendFailure, Sender};
pub use sending_port::SendingPort;
pub use shared::SendFailures;
pub use stop::{Stopper, Waker};
pub use watch::{Change, InterfaceWatch, WatchCaller, WatchError};

/// Most bytes that a UDP datagram can carry over IPv4; over IPv6 20 more would fit, but no host here sends them.
pub const MAX_DATAGRAM: usize = 65_507;

/// A class of service, the upper six bits of the DS field (RFC 2474): 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort, 0.
    pub const DEFAULT: Self = Self(0);
    /// Expedited forwarding, 46 (RFC 3246).
    pub const EXPEDITED_FORWARDING: Self = Self(46);

    /// `None` above 63.
    pub const fn new(code_point: u8) -> Option<Self> {
        if code_point < 64 { Some(Self(code_point)) } else { None }
    }

    /// 0 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The byte of the IP header; its two bits for congestion notification are 0.
    pub(crate) const fn octet(self) -> u8 {
        self.0 << 2
    }

    pub(crate) const fn from_octet(octet: u8) -> Self {
        Self(octet >> 2)
    }
}
