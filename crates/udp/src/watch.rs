//! Notices when the host's interfaces or their addresses change.
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

use crate::interface::{Interface, InterfaceError, interfaces};
use crate::send::milliseconds;

/// The groups of rtnetlink that tell about interfaces and addresses.
const GROUPS: libc::c_int = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;

/// Tells when the interfaces are not what they were.
#[derive(Debug)]
pub struct InterfaceWatch {
    notices: OwnedFd,
    calls: Arc<Calls>,
    known: Vec<Interface>,
    /// There was a notice, and the interfaces could not be read afterwards.
    unread: bool,
}

/// Wakes the thread that waits for an [`InterfaceWatch`], from another thread.
#[derive(Clone, Debug)]
pub struct WatchCaller {
    calls: Arc<Calls>,
}

#[derive(Debug)]
struct Calls {
    event: EventFd,
    stopped: AtomicBool,
}

/// What waiting for a change ended with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// These are the interfaces now.
    Interfaces(Vec<Interface>),
    /// They stayed what they were.
    TimedOut,
    /// [`WatchCaller::call`] was called, once or more often.
    Called,
    /// [`WatchCaller::stop`] was called; every further call ends with this too.
    Stopped,
}

/// Watching failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchError {
    /// The system refused a step.
    Refused {
        /// Which one.
        step: &'static str,
        /// What it said.
        error: io::Error,
    },
    /// The interfaces could not be read.
    Interfaces(InterfaceError),
}

impl InterfaceWatch {
    /// Watches the interfaces of the calling thread's network namespace. The calls of [`InterfaceWatch::next`] belong to threads
    /// of the same one.
    ///
    /// # Errors
    ///
    /// [`WatchError`].
    pub fn new() -> Result<Self, WatchError> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let notices = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)
            .map_err(refused("netlink socket"))?;
        bind(notices.as_raw_fd(), &NetlinkAddr::new(0, GROUPS as u32)).map_err(refused("netlink groups"))?;
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let event = EventFd::from_flags(flags).map_err(refused("eventfd"))?;
        let calls = Arc::new(Calls { event, stopped: AtomicBool::new(false) });
        // Read after the groups are joined: a change in between is noticed by `next`.
        let known = interfaces().map_err(WatchError::Interfaces)?;
        Ok(Self { notices, calls, known, unread: false })
    }

    /// The interfaces as they were when they were looked at last.
    pub fn known(&self) -> &[Interface] {
        &self.known
    }

    /// Waits until the interfaces differ from [`InterfaceWatch::known`]; `None` waits forever. Notices about what
    /// [`Interface`] does not tell are passed over.
    ///
    /// # Errors
    ///
    /// [`WatchError`]. Nothing is missed by that: the next call reads the interfaces again. An error like too many open files may last:
    /// wait a moment with [`InterfaceWatch::pause`].
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Change, WatchError> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if self.unread
                && let Some(change) = self.read()?
            {
                return Ok(change);
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let mut waited = [
                PollFd::new(self.notices.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.calls.event.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut waited, left.map_or(PollTimeout::NONE, milliseconds)) {
                Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(Change::TimedOut),
                Ok(0) | Err(nix::Error::EINTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(refused("poll")(error)),
            }
            let [_, called] = waited;
            if called.any().unwrap_or(true) {
                return Ok(if self.calls.are_answered() { Change::Called } else { Change::Stopped });
            }
            self.unread = true;
            self.forget_notices()?;
        }
    }

    /// Waits so long, or until a call, which it takes back; false after [`WatchCaller::stop`].
    pub fn pause(&self, time: Duration) -> bool {
        let mut waited = [PollFd::new(self.calls.event.as_fd(), PollFlags::POLLIN)];
        // Without memory for it nothing is waited for by the system.
        let _ = poll(&mut waited, milliseconds(time)).inspect_err(|_| std::thread::sleep(time));
        // A call that stays would end each pause that follows at once.
        self.calls.are_answered()
    }

    /// Reads the interfaces; gives them if they are not what they were.
    fn read(&mut self) -> Result<Option<Change>, WatchError> {
        let now = interfaces().map_err(WatchError::Interfaces)?;
        self.unread = false;
        if now == self.known {
            return Ok(None);
        }
        self.known.clone_from(&now);
        Ok(Some(Change::Interfaces(now)))
    }

    /// Wakes the waiting thread, or ends the watch.
    pub fn caller(&self) -> WatchCaller {
        WatchCaller { calls: Arc::clone(&self.calls) }
    }

    /// Only that there is a notice matters: what is true now is read afterwards.
    fn forget_notices(&self) -> Result<(), WatchError> {
        let mut notice = [0_u8; 64];
        loop {
            match recv(self.notices.as_raw_fd(), &mut notice, MsgFlags::MSG_DONTWAIT) {
                // With more notices than the system keeps it says ENOBUFS, once.
                Ok(_) | Err(nix::Error::EINTR | nix::Error::ENOBUFS) => {}
                Err(nix::Error::EAGAIN) => return Ok(()),
                Err(error) => return Err(refused("netlink")(error)),
            }
        }
    }
}

impl WatchCaller {
    /// The [`InterfaceWatch::next`] in progress, or the next one, returns [`Change::Called`].
    pub fn call(&self) {
        // It can only fail because 2^64 calls are not yet seen.
        let _ = self.calls.event.write(1);
    }

    /// From now on every [`InterfaceWatch::next`] returns [`Change::Stopped`], one in progress too.
    pub fn stop(&self) {
        self.calls.stopped.store(true, SeqCst);
        self.call();
    }
}

impl Calls {
    /// Takes the calls back that there were; false, and they stay, after [`WatchCaller::stop`].
    fn are_answered(&self) -> bool {
        let goes_on = !self.stopped.load(SeqCst);
        if goes_on {
            // Another thread may have read it.
            let _ = self.event.read();
            // A stop that came meanwhile is for the next thread that waits.
            if self.stopped.load(SeqCst) {
                let _ = self.event.write(1);
            }
        }
        goes_on
    }
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { step, error } => write!(f, "cannot watch the interfaces: {step}: {error}"),
            Self::Interfaces(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { error, .. } => Some(error),
            Self::Interfaces(error) => Some(error),
        }
    }
}

fn refused(step: &'static str) -> impl Fn(nix::Error) -> WatchError {
    move |error| WatchError::Refused { step, error: error.into() }
}
