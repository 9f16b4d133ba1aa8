//! Counts what comes to an address, whoever listens there or not.
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::place::Place;

/// Counts until it is dropped.
pub(crate) struct Watch {
    bytes: Arc<AtomicU64>,
    datagrams: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// UDP to this address of a place from any of the others'.
    pub(crate) fn new(place: &Place, to: Ipv4Addr, from: &[Ipv4Addr]) -> Self {
        // A raw socket gets a copy of each packet with its IP header, also of those to ports where no one listens.
        let kind = (socket2::Domain::IPV4, socket2::Type::RAW, Some(socket2::Protocol::UDP));
        let socket = place.on(move || socket2::Socket::new(kind.0, kind.1, kind.2).unwrap());
        socket.set_recv_buffer_size(8 << 20).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (bytes, datagrams, stop) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let (sum, number, end) = (Arc::clone(&bytes), Arc::clone(&datagrams), Arc::clone(&stop));
        let from = from.to_vec();
        let thread = std::thread::spawn(move || {
            let mut packet = vec![0; 65_536];
            let mut socket = socket;
            while !end.load(Ordering::Relaxed) {
                let Ok(length) = std::io::Read::read(&mut socket, &mut packet) else { continue };
                let address =
                    |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
                if length > 28 && address(16) == to && from.contains(&address(12)) {
                    sum.fetch_add(u64::try_from(length - 28).unwrap(), Ordering::Relaxed);
                    number.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self { bytes, datagrams, stop, thread: Some(thread) }
    }

    /// Bytes of UDP payload until now.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Datagrams until now.
    pub(crate) fn datagrams(&self) -> u64 {
        self.datagrams.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}
