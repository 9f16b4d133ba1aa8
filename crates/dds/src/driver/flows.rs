//! Sockets of flows: each is bound to an address of an interface and sends for one writer alone. No thread receives from them.
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rtps::{Flow, Path, Transmit};
use udp::{Destination, Dscp, SendFailure, Sender, Socket, SocketOptions};

use crate::bytes::Bytes;
use crate::host::{Addresses, FlowSocket};

/// Bytes of the receive buffer, which is never emptied: as few as the system takes.
const RECEIVE_BUFFER: usize = 2_048;

/// Bytes by which the header of IPv6 is longer than that of IPv4, which the datagrams of an interface have room for.
const LONGER_HEADER: u32 = 20;

/// Those that are open.
#[derive(Debug, Default)]
pub(super) struct Flows(RwLock<Vec<(NonZeroU16, Sender)>>);

impl Flows {
    /// Opens one at the first IPv4 address that is announced; if there is none, at the first IPv6 address that is not of a link alone.
    pub(super) fn open(&self, addresses: &Addresses, send_buffer: u32) -> Option<FlowSocket> {
        let announced = addresses.default_unicast.iter().filter_map(wire::Locator::socket_addr);
        let suits = |ip: &IpAddr| !matches!(ip, IpAddr::V6(six) if six.is_unicast_link_local());
        let own = announced.map(|address| address.ip()).filter(suits).min_by_key(IpAddr::is_ipv6)?;
        let options = SocketOptions {
            receive_buffer: Some(RECEIVE_BUFFER),
            send_buffer: usize::try_from(send_buffer).ok(),
            // A frame that is cut on the way is none of the flow.
            fragment: false,
            ..SocketOptions::default()
        };
        let socket = Socket::unicast(SocketAddr::new(own, 0), &options).ok()?;
        let address = socket.local();
        let sender = socket.sender();
        let interfaces = &addresses.network.interfaces;
        let has = |interface: &&rtps::Interface| interface.addresses.iter().any(|(ip, _)| *ip == own);
        let longer = if own.is_ipv4() { 0 } else { LONGER_HEADER };
        let max_datagram = interfaces.iter().find(has)?.max_datagram.saturating_sub(longer);
        let trains = sender.trains();
        self.write().push((NonZeroU16::new(address.port())?, sender));
        Some(FlowSocket { address, max_datagram, trains })
    }

    pub(super) fn close(&self, port: NonZeroU16) {
        self.write().retain(|(other, _)| *other != port);
    }

    pub(super) fn close_all(&self) {
        self.write().clear();
    }

    /// Where the datagrams of a path leave from, if it is open; for people's questions.
    pub(super) fn locals(&self) -> Vec<SocketAddr> {
        self.read().iter().map(|(_, sender)| sender.local()).collect()
    }

    /// Sends a message: by one call if the system can, otherwise datagram by datagram. What is lost then is counted by the sender.
    pub(super) fn send(&self, flow: Flow, path: &Path, message: &Transmit<Bytes>) -> Option<SendFailure> {
        let flows = self.read();
        let (_, sender) = flows.iter().find(|(port, _)| *port == flow.port)?;
        let is_group = path.destination.ip().is_multicast();
        let to = Destination {
            address: path.destination,
            interface: if is_group { path.interface } else { 0 },
            source: None,
            class: Dscp::new(flow.class),
        };
        let Some(segment) = message.segment() else {
            return sender.send_parts(message.slices(), &to).err().map(|error| error.failure);
        };
        match sender.send_train(message.slices(), segment, &to).err().map(|error| error.failure) {
            Some(SendFailure::NoTrains) => {}
            result => return result,
        }
        let failures = message.datagrams().map(|slices| sender.send_parts(slices, &to));
        failures.filter_map(Result::err).map(|error| error.failure).last()
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<(NonZeroU16, Sender)>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<(NonZeroU16, Sender)>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
