//! Connections of TCP to peers: made again and again, or accepted.
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use federation::GatewayId;

use super::{CONNECT, Copies, Shared, lock};
use crate::streams::Stream;

/// The pause before the next attempt to connect.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections that are accepted and have not said whose they are.
const MOST_STRANGERS: usize = 16;

impl Shared {
    /// Keeps a connection to a peer, as long as it can be had.
    pub(super) fn connect(self: &Arc<Self>, peer: GatewayId, address: SocketAddr) {
        while !self.is_over() {
            if let Ok(socket) = TcpStream::connect_timeout(&address, CONNECT) {
                let stream = Stream::new(socket);
                lock(&self.streams).insert(peer, Arc::clone(&stream));
                if !self.is_over() {
                    self.serve(&stream, |_| true);
                }
                lock(&self.streams).remove(&peer);
            }
            let ending = lock(&self.ending);
            if !self.is_over() {
                drop(self.ended.wait_timeout(ending, PAUSE));
            }
        }
    }

    /// Reads from a connection until it ends, while another thread writes.
    fn serve(&self, stream: &Arc<Stream>, mut is_known: impl FnMut(&[u8]) -> bool) {
        let writer = Arc::clone(stream);
        let Ok(writing) = thread::Builder::new().name("fed-write".to_owned()).spawn(move || writer.write())
        else {
            return stream.end();
        };
        let mut copies = Copies::default();
        stream.read(|datagram| {
            if is_known(datagram) {
                self.take(datagram, &mut copies);
            }
        });
        // It ends because the connection has.
        let _ = writing.join();
    }

    pub(super) fn accept(self: &Arc<Self>, listener: &TcpListener) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        while let Some(socket) = self.next_connection(listener) {
            threads.retain(|thread| !thread.is_finished());
            let stream = Stream::new(socket);
            let mut strangers = lock(&self.strangers);
            if strangers.len() >= MOST_STRANGERS {
                // The one that has been silent for the longest time gives way.
                strangers.remove(0).end();
            }
            strangers.push(Arc::clone(&stream));
            drop(strangers);
            let shared = Arc::clone(self);
            let serve = move || shared.serve_accepted(&stream);
            if let Ok(thread) = thread::Builder::new().name("fed-tcp".to_owned()).spawn(serve) {
                threads.push(thread);
            }
        }
        let streams: Vec<_> = lock(&self.streams).values().cloned().collect();
        let strangers = std::mem::take(&mut *lock(&self.strangers));
        streams.iter().chain(&strangers).for_each(|stream| stream.end());
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }

    fn next_connection(&self, listener: &TcpListener) -> Option<TcpStream> {
        loop {
            let accepted: io::Result<_> = listener.accept();
            if self.is_over() {
                return None;
            }
            match accepted {
                Ok((socket, _)) => return Some(socket),
                // For lack of files or memory, or since the connection is gone again.
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Serves a connection whose first datagram says of which peer it is.
    fn serve_accepted(&self, stream: &Arc<Stream>) {
        let mut of: Option<GatewayId> = None;
        self.serve(stream, |datagram| {
            if of.is_none() {
                let id = datagram.get(8..16).and_then(|bytes| bytes.try_into().ok());
                let id = id.map(|bytes| GatewayId(u64::from_le_bytes(bytes)));
                of = id.filter(|id| self.accepted.contains(id));
                lock(&self.strangers).retain(|other| !Arc::ptr_eq(other, stream));
                let Some(id) = of else {
                    stream.end();
                    return false;
                };
                // A peer that connects again has lost the connection before.
                if let Some(before) = lock(&self.streams).insert(id, Arc::clone(stream)) {
                    before.end();
                }
            }
            true
        });
        lock(&self.strangers).retain(|other| !Arc::ptr_eq(other, stream));
        if let Some(id) = of {
            let mut streams = lock(&self.streams);
            if streams.get(&id).is_some_and(|current| Arc::ptr_eq(current, stream)) {
                streams.remove(&id);
            }
        }
    }
}
