//! What the handles of one socket share.
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::Dscp;
use crate::send::SendFailure;

/// How often sending failed, by reason, since the socket was bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendFailures {
    /// The socket's send buffer was full: [`SendFailure::WouldBlock`].
    pub would_block: u64,
    /// [`SendFailure::TooLarge`].
    pub too_large: u64,
    /// [`SendFailure::Unreachable`].
    pub unreachable: u64,
    /// [`SendFailure::NoBuffer`].
    pub no_buffer: u64,
    /// Everything else.
    pub other: u64,
}

/// The socket, and what is remembered about it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) socket: socket2::Socket,
    pub(crate) local: SocketAddr,
    /// Class of every datagram that names none.
    pub(crate) class: Dscp,
    /// Where it is connected to: datagrams to there need no route.
    pub(crate) peer: Option<SocketAddr>,
    /// True if the kernel tells more about a datagram than where it came from.
    pub(crate) reports: AtomicBool,
    /// Where wake-ups come from; `None` if the receiver cannot be woken.
    pub(crate) waker: Option<(socket2::Socket, SocketAddr)>,
    pub(crate) stopped: AtomicBool,
    pub(crate) woken: AtomicBool,
    /// SO_RCVTIMEO in nanoseconds; 0 is forever.
    timeout: AtomicU64,
    failures: Arc<[AtomicU64; 5]>,
}

impl Shared {
    pub(crate) fn new(
        socket: socket2::Socket,
        local: SocketAddr,
        class: Dscp,
        reports: bool,
        waker: Option<(socket2::Socket, SocketAddr)>,
    ) -> Self {
        Self {
            socket,
            local,
            class,
            peer: None,
            reports: AtomicBool::new(reports),
            waker,
            stopped: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            timeout: AtomicU64::new(0),
            failures: Arc::default(),
        }
    }

    /// One that sends to `peer` alone, in the place of `other`, with which it counts what is not sent.
    pub(crate) fn connected(
        socket: socket2::Socket,
        local: SocketAddr,
        peer: SocketAddr,
        other: &Self,
    ) -> Self {
        let failures = Arc::clone(&other.failures);
        Self { peer: Some(peer), failures, ..Self::new(socket, local, other.class, false, None) }
    }

    /// How long the next receive call blocks; it costs a system call only if it is not what it was.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let nanoseconds = timeout.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1));
        if self.timeout.load(Ordering::Relaxed) != nanoseconds {
            self.socket.set_read_timeout(timeout.map(|time| time.max(Duration::from_micros(1))))?;
            self.timeout.store(nanoseconds, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(crate) fn count(&self, failure: &SendFailure) {
        let index = match failure {
            // Nothing is lost by that: it is sent from the other socket then.
            SendFailure::TooLarge { .. } | SendFailure::Unreachable(_) | SendFailure::Other(_)
                if self.peer.is_some() =>
            {
                return;
            }
            SendFailure::WouldBlock => 0,
            SendFailure::TooLarge { .. } => 1,
            SendFailure::Unreachable(_) => 2,
            SendFailure::NoBuffer => 3,
            _ => 4,
        };
        if let Some(counter) = self.failures.get(index) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn failures(&self) -> SendFailures {
        let [would_block, too_large, unreachable, no_buffer, other] =
            self.failures.as_ref().each_ref().map(|counter| counter.load(Ordering::Relaxed));
        SendFailures { would_block, too_large, unreachable, no_buffer, other }
    }
}
