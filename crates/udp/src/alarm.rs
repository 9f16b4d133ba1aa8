//! Sleeping until a time, or until another thread rings, or until a full socket has room again: in one system call.
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::Sender;

/// Most sockets that [`Alarm::wait`] looks at.
const MAX_SENDERS: usize = 4;

/// What a thread that keeps the time sleeps on.
#[derive(Debug)]
pub struct Alarm {
    event: EventFd,
}

/// What [`Alarm::wait`] ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rung {
    /// A thread called [`Alarm::ring`], once or more often.
    Rung,
    /// A send buffer has room, which a socket says when half of it is free.
    Writable,
    /// The time is over.
    TimedOut,
}

impl Alarm {
    /// An alarm that has not rung.
    ///
    /// # Errors
    ///
    /// The system's error, as for too many open files.
    pub fn new() -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { event })
    }

    /// The wait in progress, or else the next one, ends.
    pub fn ring(&self) {
        // It can only fail because 2^64 rings have not been heard yet.
        let _ = self.event.write(1);
    }

    /// Sleeps until it rings, one of the first four `senders` has room, or the time is over; `None` is never. The time is kept to
    /// the system's timer slack, 50 us for threads without real-time priority.
    ///
    /// # Errors
    ///
    /// The system's error, as for lack of memory.
    pub fn wait(&self, timeout: Option<Duration>, senders: &[&Sender]) -> io::Result<Rung> {
        let nothing = libc::pollfd { fd: -1, events: 0, revents: 0 };
        let mut waited = [nothing; MAX_SENDERS + 1];
        let [alarm, sockets @ ..] = &mut waited;
        *alarm = libc::pollfd { fd: self.event.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        for (place, sender) in sockets.iter_mut().zip(senders) {
            *place = libc::pollfd { fd: sender.shared.socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        }
        let time = timeout.map(|timeout| libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the array is valid for its length, the time is null or lives during the call, and a null mask changes no signal.
        let ready =
            unsafe { libc::ppoll(waited.as_mut_ptr(), waited.len() as libc::nfds_t, time, ptr::null()) };
        match ready {
            0 => return Ok(Rung::TimedOut),
            1.. => {}
            _ => {
                let error = io::Error::last_os_error();
                // To the caller a signal is a ring: it looks at the time and sleeps again.
                return if error.kind() == io::ErrorKind::Interrupted { Ok(Rung::Rung) } else { Err(error) };
            }
        }
        let [alarm, ..] = waited;
        if alarm.revents == 0 {
            return Ok(Rung::Writable);
        }
        // It takes all rings at once; no other thread reads, so that it cannot fail.
        let _ = self.event.read();
        Ok(Rung::Rung)
    }
}
