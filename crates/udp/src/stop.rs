//! Ending and interrupting a receiver from another thread.
use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::shared::Shared;

/// Ends receiving on a socket for good.
#[derive(Clone, Debug)]
pub struct Stopper {
    pub(crate) shared: Arc<Shared>,
}

/// Makes a receiver return before a datagram comes, so that its thread can look at something else.
#[derive(Clone, Debug)]
pub struct Waker {
    pub(crate) shared: Arc<Shared>,
}

impl Stopper {
    /// From now on every receive call of this socket returns [`crate::Received::Stopped`], those in progress too. Sending goes on.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Linux says ENOTCONN for a socket that is not connected, marks it as shut down all the same, and wakes who waits. A
        // thread that is only about to wait returns too, which a signal or a datagram to oneself cannot promise.
        let _ = self.shared.socket.shutdown(Shutdown::Read);
    }

    /// True after [`Stopper::stop`] by any handle.
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::SeqCst)
    }
}

impl Waker {
    /// The receive call in progress, or else the next one, returns [`crate::Received::Woken`]. Several calls may count as one,
    /// and one call may be seen twice.
    ///
    /// # Errors
    ///
    /// The system's error if the wake-up could not be sent, as when the loopback interface is down; then nothing was woken.
    pub fn wake(&self) -> io::Result<()> {
        if self.shared.woken.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        // An empty datagram from a socket of its own, whose send buffer is empty. Were the receive buffer full, the receiver
        // would not be waiting.
        let sent = match &self.shared.waker {
            Some((socket, _)) => socket.send(&[]).map(drop),
            None => Ok(()),
        };
        if sent.is_err() {
            self.shared.woken.store(false, Ordering::SeqCst);
        }
        sent
    }
}
