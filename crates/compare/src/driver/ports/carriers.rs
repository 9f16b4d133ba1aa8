//! What carries events between processes: datagrams and calls, DDS, gateways.
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use container::Entry;
use nix::sys::socket::{setsockopt, sockopt};
use udp::monotonic;

use super::board::{Board, address};
use super::load::{Load, Seen, Tap, calls};
use super::{Order, gateway, topic};
use crate::driver::measure::{Wake, Wrong};

/// What carries events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carrier {
    /// A datagram for each event: the floor. In a network it goes to a group.
    Datagrams,
    /// DDS, a participant in each process.
    Dds,
    /// DDS, a participant for each consumer.
    Apart,
    /// Gateways: a transfer for each process.
    Gateway(Transfer),
}

/// How gateways reach each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transfer {
    Udp,
    Tcp,
    Group,
}

/// The publishing end.
pub(super) trait Out {
    /// Stamps an event and pushes it; false if there was no room.
    fn push(&mut self, load: &mut Load) -> Result<bool, Wrong>;
}

/// What lasts as long as events are consumed.
pub(super) type Kept = Box<dyn std::any::Any>;

/// Makes the publishing end.
pub(super) fn publishing(carrier: Carrier, has_ports: bool, order: &Order) -> Result<Box<dyn Out>, Wrong> {
    match carrier {
        Carrier::Datagrams => Ok(Box::new(Datagrams::new(order)?)),
        Carrier::Dds | Carrier::Apart => topic::publishing(has_ports, order),
        Carrier::Gateway(transfer) => gateway::publishing(transfer, has_ports, order),
    }
}

/// Makes the consuming end.
pub(super) fn consuming(
    carrier: Carrier,
    has_ports: bool,
    order: &Order,
    board: &Arc<Board>,
) -> Result<Kept, Wrong> {
    match carrier {
        Carrier::Datagrams => datagrams(order, board),
        Carrier::Dds => topic::consuming(has_ports, false, order, board),
        Carrier::Apart => topic::consuming(has_ports, true, order, board),
        Carrier::Gateway(transfer) => gateway::consuming(transfer, has_ports, order, board),
    }
}

/// A component that publishes, with its server.
pub(super) struct Ported {
    pub(super) tap: Entry<Tap>,
    /// What it is in, and what that needs.
    pub(super) _kept: Kept,
}

impl Out for Ported {
    fn push(&mut self, load: &mut Load) -> Result<bool, Wrong> {
        let pushed = self.tap.with(|tap, at| {
            load.stamp = monotonic();
            tap.out.push(at, load)
        })?;
        match pushed {
            Ok(()) => Ok(true),
            Err(container::Failure::Full | container::Failure::Late) => Ok(false),
            Err(failure) => Err(format!("a push fails: {failure:?}").into()),
        }
    }
}

const PORT: u16 = 7_800;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 77, 2);
/// Bytes of number and stamp.
const HEAD: usize = 16;
/// Bytes of datagrams that wait to be read.
const BUFFER: usize = 4 << 20;

struct Datagrams {
    socket: UdpSocket,
    bytes: Vec<u8>,
}

impl Datagrams {
    fn new(order: &Order) -> Result<Self, Wrong> {
        let socket = UdpSocket::bind((address(order, 0), 0))?;
        let to = if order.has_network { GROUP } else { address(order, 1) };
        socket.connect((to, PORT))?;
        Ok(Self { socket, bytes: Vec::new() })
    }
}

impl Out for Datagrams {
    fn push(&mut self, load: &mut Load) -> Result<bool, Wrong> {
        load.stamp = monotonic();
        self.bytes.clear();
        self.bytes.extend_from_slice(&load.number.to_le_bytes());
        self.bytes.extend_from_slice(&load.stamp.to_le_bytes());
        self.bytes.extend_from_slice(&load.data);
        match self.socket.send(&self.bytes) {
            Ok(_) => Ok(true),
            // The other side is not there yet.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// A thread that reads datagrams and calls all consumers for each; it ends with the process.
fn datagrams(order: &Order, board: &Arc<Board>) -> Result<Kept, Wrong> {
    let own = address(order, order.node);
    let at = if order.has_network { Ipv4Addr::UNSPECIFIED } else { own };
    let socket = UdpSocket::bind(SocketAddr::from((at, PORT)))?;
    if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER).is_err() {
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER)?;
    }
    if order.has_network {
        socket.join_multicast_v4(&GROUP, &own)?;
    }
    socket.set_nonblocking(order.task.wake == Wake::Spin)?;
    let (calls, mut bytes) = (calls(order.subscribers, board), vec![0; HEAD + order.task.size + 1]);
    std::thread::spawn(move || {
        loop {
            let count = match socket.recv(&mut bytes) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    std::hint::spin_loop();
                    continue;
                }
                Err(_) => return,
            };
            let Some((head, data)) = bytes.get(..count).and_then(|bytes| bytes.split_at_checked(HEAD)) else {
                continue;
            };
            let (number, stamp) = head.split_at(HEAD / 2);
            let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let seen = Seen { number: word(number), stamp: word(stamp), data };
            calls.iter().for_each(|call| call(seen));
        }
    });
    Ok(Box::new(()))
}
