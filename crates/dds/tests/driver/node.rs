//! A participant that does no more than a test tells it to.
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use dds::Bytes;
use dds::config::Config;
use dds::driver::Driver;
use dds::host::{Addresses, Channel, Engine, Host, Sent};
use rtps::writer::{Body, Change, MatchedReader, Writer, WriterConfig};
use rtps::{Path, Transmit};
use wire::message::PayloadKind;
use wire::{EntityId, EntityKind, Guid, GuidPrefix, Instant, Now};

use crate::PATIENCE;

type OnDatagram = Box<dyn Fn(&Node, SocketAddr, &[u8]) + Send + Sync>;
type OnTimeout = Box<dyn Fn(&Node) + Send + Sync>;

/// What came in, and how often the engine was called.
pub(crate) struct Node {
    pub(crate) host: Arc<Driver>,
    received: Mutex<Vec<(SocketAddr, Vec<u8>)>>,
    /// How often something happened, and how many threads wait for that: telling nobody would cost a system call.
    events: Mutex<(u64, usize)>,
    came: Condvar,
    pub(crate) timeouts: AtomicU64,
    networks: Mutex<Vec<Addresses>>,
    told: Mutex<Vec<&'static str>>,
    on_datagram: Option<OnDatagram>,
    on_timeout: Option<OnTimeout>,
}

impl Node {
    /// One of domain 0 that collects what comes in.
    pub(crate) fn start(config: &Config) -> Arc<Self> {
        Self::with(config, None, None)
    }

    /// One with callbacks.
    pub(crate) fn with(
        config: &Config,
        on_datagram: Option<OnDatagram>,
        on_timeout: Option<OnTimeout>,
    ) -> Arc<Self> {
        let host = Driver::open(0, config).unwrap();
        let node = Arc::new(Self {
            host: Arc::clone(&host),
            received: Mutex::default(),
            events: Mutex::default(),
            came: Condvar::new(),
            timeouts: AtomicU64::new(0),
            networks: Mutex::default(),
            told: Mutex::default(),
            on_datagram,
            on_timeout,
        });
        host.start(Arc::clone(&node) as Arc<dyn Engine>).unwrap();
        node
    }

    /// Sends a datagram with these bytes in it.
    pub(crate) fn send(&self, channel: Channel, to: SocketAddr, bytes: &[u8]) -> Sent {
        self.send_along(channel, &Self::path(to), bytes, 0)
    }

    pub(crate) fn send_along(&self, channel: Channel, path: &Path, bytes: &[u8], class: u8) -> Sent {
        self.host.send(channel, path, &transmit(bytes, class))
    }

    /// A path by the routing table.
    pub(crate) fn path(to: SocketAddr) -> Path {
        Path::routed(to, Path::MAX_DATAGRAM)
    }

    /// Where its endpoints listen, as seen on this host.
    pub(crate) fn user(&self) -> SocketAddr {
        self.host.addresses().default_unicast[0].socket_addr().unwrap()
    }

    /// The endpoints' socket of the other one, where there are two. Datagrams of endpoints do not come from it: who sends to one peer again
    /// and again does so from a socket of its own.
    pub(crate) fn other(&self) -> SocketAddr {
        let mut address = self.user();
        address.set_port(if address.port() == 7_411 { 7_413 } else { 7_411 });
        address
    }

    /// Where its discovery listens, as seen on this host.
    pub(crate) fn metatraffic(&self) -> SocketAddr {
        self.host.addresses().metatraffic_unicast[0].socket_addr().unwrap()
    }

    /// How many datagrams came in with these bytes at their end.
    pub(crate) fn count(&self, bytes: &[u8]) -> usize {
        self.received.lock().unwrap().iter().filter(|(_, datagram)| holds(datagram, bytes)).count()
    }

    /// How many datagrams came in.
    pub(crate) fn received(&self) -> u64 {
        self.received.lock().unwrap().len() as u64
    }

    /// Where a datagram with these bytes came from.
    pub(crate) fn source(&self, bytes: &[u8]) -> Option<SocketAddr> {
        let received = self.received.lock().unwrap();
        received.iter().find(|(_, datagram)| holds(datagram, bytes)).map(|(source, _)| *source)
    }

    /// Waits as an application does: it leads if it may, and else waits to be woken.
    pub(crate) fn wait(&self, done: impl Fn() -> bool) {
        assert!(self.wait_at_most(PATIENCE, &done), "what was waited for never came");
    }

    /// The same for a time; false if it did not come.
    pub(crate) fn wait_at_most(&self, time: Duration, done: &dyn Fn() -> bool) -> bool {
        let until = later(self.host.now().monotonic, time);
        loop {
            let (seen, _) = *self.events.lock().unwrap();
            if done() {
                return true;
            }
            let now = self.host.now().monotonic;
            if now >= until {
                return false;
            }
            if !self.host.receive(until, done) {
                let left = Duration::from_nanos(until.as_nanos() - now.as_nanos());
                let mut events = self.events.lock().unwrap();
                events.1 += 1;
                let waited = self.came.wait_timeout_while(events, left, |events| events.0 == seen);
                waited.unwrap().0.1 -= 1;
            }
        }
    }

    /// Notes that something happened.
    pub(crate) fn tell(&self, what: &'static str) {
        self.told.lock().unwrap().push(what);
        self.happened();
    }

    /// How often it happened.
    pub(crate) fn told(&self, what: &str) -> usize {
        self.told.lock().unwrap().iter().filter(|told| **told == what).count()
    }

    /// Tells whoever waits that something happened.
    pub(crate) fn happened(&self) {
        let mut events = self.events.lock().unwrap();
        events.0 += 1;
        if events.1 > 0 {
            self.came.notify_all();
        }
        drop(events);
        self.host.interrupt();
    }

    /// Waits without ever leading.
    pub(crate) fn watch(&self, done: impl Fn() -> bool) {
        let end = std::time::Instant::now() + PATIENCE;
        while !done() {
            assert!(std::time::Instant::now() < end, "what was waited for never came");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn networks(&self) -> Vec<Addresses> {
        self.networks.lock().unwrap().clone()
    }
}

impl Engine for Node {
    fn on_datagram(&self, from: SocketAddr, datagram: &[u8]) {
        assert!(self.host.is_inside());
        self.received.lock().unwrap().push((from, datagram.to_vec()));
        if let Some(callback) = &self.on_datagram {
            callback(self, from, datagram);
        }
        self.happened();
    }

    fn on_timeout(&self) {
        assert!(self.host.is_inside());
        self.timeouts.fetch_add(1, SeqCst);
        if let Some(callback) = &self.on_timeout {
            callback(self);
        }
        self.happened();
    }

    fn on_network(&self, addresses: &Addresses) {
        assert!(self.host.is_inside());
        self.networks.lock().unwrap().push(addresses.clone());
        self.happened();
    }
}

/// A datagram with these bytes in it, of a writer that was never announced.
pub(crate) fn transmit(bytes: &[u8], class: u8) -> Transmit<Bytes> {
    let guid = |prefix: u8, kind| Guid::new(GuidPrefix([prefix; 12]), EntityId::user(1, kind));
    let mut writer =
        Writer::new(WriterConfig { class, ..WriterConfig::new(guid(1, EntityKind::WriterNoKey), false) });
    let now = Now::default();
    let path = Path::routed("127.0.0.1:1".parse().unwrap(), Path::MAX_DATAGRAM);
    let reader = MatchedReader {
        guid: guid(2, EntityKind::ReaderNoKey),
        reliable: false,
        wants_history: false,
        paths: vec![path],
        direct: None,
        receive_buffer: None,
    };
    writer.match_reader(now, reader);
    let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp: None };
    writer.write(now, &change, Body::Copy(bytes)).unwrap();
    let mut transmit = Transmit::new();
    assert!(writer.poll_transmit(now, &mut transmit));
    transmit
}

/// True if the datagram holds these bytes.
pub(crate) fn holds(datagram: &[u8], bytes: &[u8]) -> bool {
    datagram.windows(bytes.len()).any(|window| window == bytes)
}

pub(crate) fn later(at: Instant, time: Duration) -> Instant {
    at.after(wire::Duration::from_nanos(i64::try_from(time.as_nanos()).unwrap()))
}
