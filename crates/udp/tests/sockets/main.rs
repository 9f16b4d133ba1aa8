//! Real sockets, each test in a network namespace of its own: nothing reaches the machine's network, nothing is left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alarm;
mod class;
mod connected;
mod endings;
mod host;
mod limits;
mod multicast;
mod namespace;
mod trains;
mod unicast;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use udp::{Datagram, Destination, Received, Receiver, Sender, Socket, SocketOptions, Wait};

/// For the tests that say what is taken from the heap.
#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// Longer than anything here takes on a busy machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// For what must not come. On loopback a datagram has arrived before the call that sends it returns.
const NOTHING: Wait = Wait::No;

const V4: &str = "127.0.0.1:0";
const V6: &str = "[::1]:0";

fn bound(address: &str, options: SocketOptions) -> Socket {
    Socket::unicast(address.parse().unwrap(), &options).unwrap()
}

fn to(address: SocketAddr) -> Destination {
    Destination::routed(address)
}

/// The next datagram, which must come.
fn next(receiver: &Receiver, buffer: &mut [u8]) -> Datagram {
    match receiver.receive(buffer, Wait::AtMost(PATIENCE)) {
        Ok(Received::Datagram(datagram)) => datagram,
        other => panic!("no datagram but {other:?}"),
    }
}

/// The bytes of the next datagram.
fn octets(receiver: &Receiver) -> Vec<u8> {
    let mut buffer = vec![0; 65_535];
    let datagram = next(receiver, &mut buffer);
    buffer.truncate(datagram.octets);
    buffer
}

/// Sends until something arrives: the system gets addresses and cables ready by and by.
fn until_received(sender: &Sender, destination: &Destination, receiver: &Receiver) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        sender.send(b"probe", destination).unwrap();
        match receiver.receive(&mut [0; 10], Wait::AtMost(Duration::from_millis(10))).unwrap() {
            Received::TimedOut => {}
            Received::Datagram(_) => return,
            other => panic!("{other:?}"),
        }
    }
    panic!("{destination:?} never got ready");
}

/// Bytes in which a shift or a swap shows.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + index / 251) as u8).collect()
}
