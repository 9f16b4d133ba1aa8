//! Datagrams with numbers: sent from one host, counted at another.
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::Lab;
use socket2::{Domain, Socket, Type};

/// A socket on a host, whose frames have the codepoint.
pub(crate) fn socket(lab: &Lab, host: &str, port: u16, dscp: u8) -> UdpSocket {
    let made = lab.on(host, || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
        socket.set_tos_v4(u32::from(dscp) << 2)?;
        socket.set_recv_buffer_size(4 << 20)?;
        socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
        Ok::<UdpSocket, std::io::Error>(socket.into())
    });
    made.unwrap().unwrap()
}

pub(crate) fn address(lab: &Lab, host: &str, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(lab.host_address(host).unwrap(), port)
}

/// Sends until something comes back, as far as the other side answers: then switches and hosts know who is where.
pub(crate) fn greet(lab: &Lab, from: &str, to: &str) {
    let (one, other) = (socket(lab, from, 9, 0), socket(lab, to, 9, 0));
    one.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    other.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut bytes = [0; 16];
    for _ in 0..100 {
        let _ = one.send_to(b"hello", address(lab, to, 9));
        if other.recv_from(&mut bytes).is_ok() {
            let _ = other.send_to(b"hello", address(lab, from, 9));
            if one.recv_from(&mut bytes).is_ok() {
                return;
            }
        }
    }
    panic!("{from} and {to} do not hear each other in ten seconds");
}

/// Looks at which nothing new has come until it is taken for all, and the time between them: a machine that stands still is looked at once.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(25);

/// Counts what comes to a port of a host.
pub(crate) struct Counter {
    stop: Arc<AtomicBool>,
    came: Arc<AtomicU64>,
    thread: JoinHandle<BTreeSet<u64>>,
}

impl Counter {
    pub(crate) fn on(socket: UdpSocket) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let came = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&came);
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let thread = thread::spawn(move || {
            let (mut numbers, mut bytes) = (BTreeSet::new(), [0; 2_048]);
            loop {
                match socket.recv(&mut bytes) {
                    Ok(length) if length >= 8 => {
                        numbers.insert(u64::from_ne_bytes(bytes[..8].try_into().unwrap()));
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(_) => {}
                    Err(_) if stopped.load(Ordering::Relaxed) => return numbers,
                    Err(_) => {}
                }
            }
        });
        Self { stop, came, thread }
    }

    /// The numbers that came, once nothing new comes any more.
    pub(crate) fn numbers(self) -> BTreeSet<u64> {
        let (mut looks, mut known) = (0, 0);
        while looks < LOOKS {
            thread::sleep(BETWEEN_LOOKS);
            let came = self.came.load(Ordering::Relaxed);
            looks = if came == known { looks + 1 } else { 0 };
            known = came;
        }
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Sends `count` numbered datagrams of `size` bytes, one for each `pause`, without catching up.
pub(crate) fn send(socket: &UdpSocket, to: SocketAddrV4, size: usize, count: u64, pause: Duration) {
    let mut bytes = vec![0; size];
    for number in 0..count {
        bytes[..8].copy_from_slice(&number.to_ne_bytes());
        let _ = socket.send_to(&bytes, to);
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    }
}

/// Sends as `send` does, with `rate` bits per second of datagrams of 1200 bytes, until told to stop.
pub(crate) struct Flood {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Flood {
    pub(crate) fn start(socket: UdpSocket, to: SocketAddrV4, rate: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (begun, bytes, mut sent) = (Instant::now(), [0; 1_200], 0_u64);
            while !stopped.load(Ordering::Relaxed) {
                let due =
                    u64::try_from(begun.elapsed().as_nanos()).unwrap() / 1_000 * rate / 1_000_000 / 9_600;
                while sent < due {
                    let _ = socket.send_to(&bytes, to);
                    sent += 1;
                }
                thread::sleep(Duration::from_micros(500));
            }
            sent
        });
        Self { stop, thread }
    }

    /// How many datagrams were sent.
    pub(crate) fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
