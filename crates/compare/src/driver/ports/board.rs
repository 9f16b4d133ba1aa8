//! What the consumers of a process have seen, all of them together, and how the publisher is told of it.
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use udp::monotonic;

use super::Order;
use super::load::{HELLO, Seen};
use crate::driver::measure::{self, Wrong};

/// Where the publisher is told.
const PORT: u16 = 7_790;
/// Bytes of what it is told: which process, and how many events each of its consumers has.
const BYTES: usize = 16;

/// Where a process is; 0 is the publisher.
pub(super) fn address(order: &Order, node: usize) -> Ipv4Addr {
    let last = u8::try_from(node + 1).unwrap_or(u8::MAX);
    if order.has_network { Ipv4Addr::new(10, 77, 0, last) } else { Ipv4Addr::LOCALHOST }
}

/// What the consumers of a process have seen.
#[derive(Debug)]
pub(super) struct Board {
    counts: Vec<AtomicU64>,
    present: Vec<AtomicBool>,
    /// Deliveries of events that are followed.
    arrived: AtomicU64,
    times: Mutex<Vec<u64>>,
    first: AtomicU64,
    last: AtomicU64,
    greatest: AtomicU64,
    wrong: AtomicU64,
    before: AtomicU64,
    follows: bool,
    /// Consumers are called by threads of their own.
    is_apart: bool,
    size: usize,
    warm_up: u64,
    node: u64,
    /// The publisher is told after so many events, if they are not followed.
    often: u64,
    publisher: Option<UdpSocket>,
}

impl Board {
    /// One whose publisher is another process, or the own one.
    pub(super) fn new(order: &Order, is_apart: bool, is_told: bool) -> Result<Self, Wrong> {
        let tell = || -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect((address(order, 0), PORT))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        Ok(Self {
            counts: (0..order.subscribers).map(|_| AtomicU64::new(0)).collect(),
            present: (0..order.subscribers).map(|_| AtomicBool::new(false)).collect(),
            arrived: AtomicU64::new(0),
            times: Mutex::new(Vec::with_capacity(if order.follows { order.task.count } else { 0 })),
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
            greatest: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
            before: AtomicU64::new(0),
            follows: order.follows,
            is_apart,
            size: order.task.size,
            warm_up: u64::try_from(order.task.warm_up)?,
            node: u64::try_from(order.node)?,
            often: order.window() / 4,
            publisher: if is_told { Some(tell()?) } else { None },
        })
    }

    /// A consumer has got an event.
    pub(super) fn take(&self, index: usize, load: Seen<'_>) {
        if load.number == HELLO {
            if let Some(present) = self.present.get(index) {
                present.store(true, Relaxed);
            }
        } else if self.follows {
            self.follow(load);
        } else {
            self.count(index, load);
        }
    }

    /// The last of all consumers takes the time.
    fn follow(&self, load: Seen<'_>) {
        let count = u64::try_from(self.counts.len()).unwrap_or(u64::MAX);
        if !(self.arrived.fetch_add(1, Relaxed) + 1).is_multiple_of(count) {
            return;
        }
        let now = monotonic();
        if load.number >= self.warm_up {
            let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
            times.push(now.saturating_sub(load.stamp));
        } else {
            self.before.store(measure::processor(), Relaxed);
        }
        self.wrong.fetch_add(u64::from(load.data.len() != self.size), Relaxed);
    }

    /// Each counts what it gets; all bytes are looked at once for all that are called one after the other.
    fn count(&self, index: usize, load: Seen<'_>) {
        let Some(own) = self.counts.get(index) else { return };
        let count = own.load(Relaxed) + 1;
        own.store(count, Relaxed);
        let is_last = index + 1 == self.counts.len();
        if is_last || self.is_apart {
            let now = monotonic();
            if self.first.compare_exchange(0, now, Relaxed, Relaxed).is_ok() {
                self.before.store(measure::processor(), Relaxed);
            }
            self.last.fetch_max(now, Relaxed);
            self.greatest.fetch_max(load.number, Relaxed);
            if !load.is_whole(self.size) {
                self.wrong.fetch_add(1, Relaxed);
            }
        }
        if is_last && count.is_multiple_of(self.often) {
            self.tell(self.least());
        }
    }

    /// So many events each consumer has.
    fn least(&self) -> u64 {
        if self.follows {
            let count = u64::try_from(self.counts.len()).unwrap_or(u64::MAX);
            return self.arrived.load(Relaxed) / count.max(1);
        }
        self.counts.iter().map(|count| count.load(Relaxed)).min().unwrap_or(0)
    }

    /// Tells the publisher how far all have come, if all are there. What gets lost is said again.
    pub(super) fn remind(&self) {
        if self.present.iter().all(|present| present.load(Relaxed)) {
            self.tell(self.least());
        }
    }

    fn tell(&self, number: u64) {
        let Some(socket) = &self.publisher else { return };
        let mut bytes = [0; BYTES];
        let (node, count) = bytes.split_at_mut(BYTES / 2);
        node.copy_from_slice(&self.node.to_le_bytes());
        count.copy_from_slice(&number.to_le_bytes());
        let _ = socket.send(&bytes);
    }

    /// Deliveries so far.
    pub(super) fn deliveries(&self) -> u64 {
        self.arrived.load(Relaxed) + self.counts.iter().map(|count| count.load(Relaxed)).sum::<u64>()
    }

    /// The result.
    pub(super) fn say(&self) {
        let used = measure::processor().saturating_sub(self.before.load(Relaxed));
        if self.follows {
            let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
            measure::say_times("one_way", &mut times, self.wrong.load(Relaxed), used);
        } else {
            let time = self.last.load(Relaxed).saturating_sub(self.first.load(Relaxed));
            let [greatest, wrong] = [&self.greatest, &self.wrong].map(|count| count.load(Relaxed));
            measure::say_taken(self.deliveries(), greatest, wrong, time, used);
        }
    }
}

/// What a publisher is told.
#[derive(Debug)]
pub(super) struct Told {
    socket: UdpSocket,
    /// For each process how many events each of its consumers has; `None` if they are not all there yet.
    counts: Vec<Option<u64>>,
}

impl Told {
    pub(super) fn new(order: &Order) -> Result<Self, Wrong> {
        let socket = UdpSocket::bind(SocketAddrV4::new(address(order, 0), PORT))?;
        Ok(Self { socket, counts: vec![None; order.nodes] })
    }

    /// Listens until `is_enough` holds of the least count of all, for so long at most; says whether it does.
    pub(super) fn listen(
        &mut self,
        limit: Duration,
        is_enough: impl Fn(Option<u64>) -> bool,
    ) -> Result<bool, Wrong> {
        let end = Instant::now() + limit;
        loop {
            if is_enough(self.least()) {
                return Ok(true);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.socket.set_read_timeout(Some(left))?;
            let mut bytes = [0; BYTES];
            match self.socket.recv(&mut bytes) {
                Ok(BYTES) => self.note(bytes),
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn note(&mut self, bytes: [u8; BYTES]) {
        let (node, count) = bytes.split_at(BYTES / 2);
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let index = usize::try_from(number(node)).unwrap_or(0).wrapping_sub(1);
        if let Some(known) = self.counts.get_mut(index) {
            *known = (*known).max(Some(number(count)));
        }
    }

    /// `None` if a participant is not there yet.
    fn least(&self) -> Option<u64> {
        self.counts.iter().copied().min().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::ports::load::Load;

    fn order(text: &str) -> Order {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Order::parse(&words).unwrap()
    }

    #[test]
    fn the_last_of_all_consumers_takes_the_time() {
        let board =
            Board::new(&order("pong size=16 subscribers=3 follow=1 warm_up=1"), false, false).unwrap();
        let mut load = Load::new(16);
        for number in 0..3 {
            (load.number, load.stamp) = (number, 1);
            (0..3).for_each(|index| board.take(index, load.seen()));
            // Not yet: one of the next event's consumers is missing.
            assert_eq!(board.times.lock().unwrap().len() as u64, number);
        }
        assert_eq!((board.deliveries(), board.least()), (9, 3));
        load.number = 3;
        (0..2).for_each(|index| board.take(index, load.seen()));
        assert_eq!((board.times.lock().unwrap().len(), board.least()), (2, 3));
    }

    #[test]
    fn what_is_not_as_it_was_published_is_counted_and_a_slow_consumer_holds_the_count() {
        let board = Board::new(&order("sub size=16 subscribers=2"), false, false).unwrap();
        let mut load = Load::new(16);
        load.number = 0;
        board.take(0, load.seen());
        board.take(1, load.seen());
        load.number = 1;
        load.data[15] = 0;
        board.take(1, load.seen());
        assert_eq!((board.deliveries(), board.least(), board.wrong.load(Relaxed)), (3, 1, 1));
        assert_eq!(board.greatest.load(Relaxed), 1);
    }

    #[test]
    fn a_publisher_waits_for_the_last_of_all_processes() {
        let order = order("pub nodes=2");
        let mut told =
            Told { socket: UdpSocket::bind("127.0.0.1:0").unwrap(), counts: vec![None; order.nodes] };
        let bytes = |node: u64, count: u64| {
            let mut bytes = [0; BYTES];
            bytes[..8].copy_from_slice(&node.to_le_bytes());
            bytes[8..].copy_from_slice(&count.to_le_bytes());
            bytes
        };
        told.note(bytes(1, 7));
        assert_eq!(told.least(), None);
        told.note(bytes(2, 5));
        // What comes late, or names no participant, changes nothing.
        [bytes(1, 6), bytes(0, 99), bytes(3, 99), bytes(u64::MAX, 99)]
            .into_iter()
            .for_each(|bytes| told.note(bytes));
        assert_eq!(told.least(), Some(5));
    }
}
