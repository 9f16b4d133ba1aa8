//! Connections of TCP: what waits to be written, and the threads that read and write.
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use federation::{Frames, frame};

/// Bytes that wait to be written at most. A datagram more is dropped: the gateway sends what matters again.
const MOST: usize = 1 << 20;
/// Bytes that are read at once.
const READ: usize = 64 << 10;

/// A connection, on which any thread may send.
pub(crate) struct Stream {
    socket: TcpStream,
    waiting: Mutex<Waiting>,
    come: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Stream {
    pub(crate) fn new(socket: TcpStream) -> Arc<Self> {
        // Events are not to wait for the next ones. A system that refuses it is slower.
        let _ = socket.set_nodelay(true);
        Arc::new(Self { socket, waiting: Mutex::default(), come: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a datagram written.
    pub(crate) fn send(&self, datagram: &[u8]) {
        let mut waiting = self.lock();
        if waiting.bytes.len() + datagram.len() + 4 <= MOST && !waiting.is_over {
            frame(datagram, &mut waiting.bytes);
            self.come.notify_one();
        }
    }

    /// Ends both threads of the connection.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.come.notify_one();
        // It may be closed already.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Writes what comes until the connection ends.
    pub(crate) fn write(&self) {
        let mut bytes = Vec::new();
        loop {
            let mut waiting = self.lock();
            while waiting.bytes.is_empty() && !waiting.is_over {
                waiting = self.come.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            if waiting.is_over {
                return;
            }
            std::mem::swap(&mut bytes, &mut waiting.bytes);
            drop(waiting);
            if (&self.socket).write_all(&bytes).is_err() {
                return self.end();
            }
            bytes.clear();
        }
    }

    /// Hands out the datagrams that come until the connection ends.
    pub(crate) fn read(&self, mut take: impl FnMut(&[u8])) {
        let (mut frames, mut bytes) = (Frames::default(), vec![0; READ]);
        while let Ok(count) = (&self.socket).read(&mut bytes) {
            let Some(read) = bytes.get(..count).filter(|read| !read.is_empty()) else { break };
            frames.push(read);
            loop {
                match frames.next_datagram() {
                    Ok(Some(datagram)) => take(datagram),
                    Ok(None) => break,
                    Err(_) => return self.end(),
                }
            }
        }
        self.end();
    }
}
