//! Participants of the public API on virtual hosts: one thread, one virtual clock, and a network that loses, delays and is cut as a
//! test says. A call that waits lets time pass.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use dds::host::{Addresses, Channel, Engine, FlowSocket, Host, Sent};
use dds::qos::DomainParticipantQos;
use dds::{Bytes, DomainParticipant, DomainParticipantFactory, QosKind};
use rtps::discovery::DiscoveryConfig;
use rtps::{Path, Transmit};
use wire::{Duration, GuidPrefix, Instant, Locator, Now, Timestamp};

/// The wall clock runs ahead of the virtual one by this many nanoseconds.
const WALL: i64 = 1_700_000_000_000_000_000;

/// A datagram that a host has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    /// Number of the host.
    pub(crate) host: usize,
    pub(crate) channel: Channel,
    /// Where it came from and went to.
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// It left by one call with so many others.
    pub(crate) train: usize,
    /// DSCP.
    pub(crate) class: u8,
    pub(crate) at: Instant,
    pub(crate) octets: Vec<u8>,
}

/// What the network does.
#[derive(Default)]
struct Network {
    /// Datagrams on their way, by time of arrival and number: from, to, octets.
    flying: BTreeMap<(u64, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    count: u64,
    delay: u64,
    /// Of a thousand datagrams of endpoints so many are lost, by this generator.
    lost_per_mille: u64,
    random: u64,
    cut: Vec<(usize, usize)>,
    record: Option<Vec<Left>>,
    /// Sockets that are full: number of the host.
    full: Vec<usize>,
}

#[derive(Default)]
struct World {
    now: AtomicU64,
    network: Mutex<Network>,
    hosts: Mutex<Vec<Arc<VirtualHost>>>,
}

/// One process.
struct VirtualHost {
    world: Weak<World>,
    number: usize,
    metatraffic: SocketAddr,
    user: SocketAddr,
    wake_at: AtomicU64,
    engine: Mutex<Option<Arc<dyn Engine>>>,
    keeps_thread: AtomicBool,
    /// Datagrams were handed in since the last rest.
    has_read: AtomicBool,
    closed: AtomicBool,
    /// How many flows were opened.
    flows: AtomicU64,
    /// Sending takes so long, in nanoseconds.
    sending: AtomicU64,
}

/// A domain of virtual hosts.
#[derive(Default)]
pub(crate) struct Desk {
    world: Arc<World>,
}

const GROUP: &str = "239.255.0.1:7400";

impl Desk {
    /// No hosts, at time 0.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The time.
    pub(crate) fn now(&self) -> Now {
        self.world.now()
    }

    /// A participant on a host of its own.
    pub(crate) fn participant(&mut self) -> DomainParticipant {
        self.participant_with(QosKind::Default, |_| {})
    }

    /// A participant with QoS and settings of its own.
    pub(crate) fn participant_with(
        &mut self,
        qos: QosKind<DomainParticipantQos>,
        tune: impl FnOnce(&mut DiscoveryConfig),
    ) -> DomainParticipant {
        self.make(DomainParticipantFactory::get_instance(), qos, tune)
    }

    /// A participant of another factory.
    pub(crate) fn participant_by(&mut self, factory: &DomainParticipantFactory) -> DomainParticipant {
        self.make(factory, QosKind::Default, |_| {})
    }

    fn make(
        &mut self,
        factory: &DomainParticipantFactory,
        qos: QosKind<DomainParticipantQos>,
        tune: impl FnOnce(&mut DiscoveryConfig),
    ) -> DomainParticipant {
        let index = self.world.hosts().len();
        let number = u8::try_from(index + 1).unwrap();
        let address = |port: u16| SocketAddr::from(([10, 0, 0, number], port));
        let host = Arc::new(VirtualHost {
            world: Arc::downgrade(&self.world),
            number: index,
            metatraffic: address(7410),
            user: address(7411),
            wake_at: AtomicU64::new(u64::MAX),
            engine: Mutex::new(None),
            keeps_thread: AtomicBool::new(false),
            has_read: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            flows: AtomicU64::new(0),
            sending: AtomicU64::new(0),
        });
        let interface = rtps::Interface {
            index: 1,
            addresses: vec![(address(0).ip(), 24)],
            max_datagram: 1_472,
            multicast: true,
        };
        let addresses = Addresses {
            network: rtps::Network { interfaces: vec![interface] },
            metatraffic_unicast: vec![Locator::udp(host.metatraffic)],
            metatraffic_multicast: vec![Locator::udp(GROUP.parse().unwrap())],
            default_unicast: vec![Locator::udp(host.user)],
            default_multicast: Vec::new(),
            receive_buffer: None,
        };
        let mut settings = DiscoveryConfig::new(GuidPrefix([number; 12]), 0, u64::from(number));
        tune(&mut settings);
        let starting = Arc::clone(&host);
        self.world.hosts.lock().unwrap().push(Arc::clone(&host));
        factory
            .create_participant_on(
                host,
                move |engine| {
                    *starting.engine.lock().unwrap() = Some(engine);
                    Ok(())
                },
                settings,
                &addresses,
                qos,
            )
            .unwrap()
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now().monotonic.after(time);
        self.world.run(end, &|| false);
    }

    /// Datagrams from one host to the other are lost from now on.
    pub(crate) fn cut(&mut self, from: usize, to: usize) {
        self.world.network().cut.push((from, to));
    }

    /// No datagram reaches anybody from now on, until [`Desk::heal`].
    pub(crate) fn black_out(&mut self) {
        let count = self.world.hosts().len();
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        self.world.network().cut.extend(pairs);
    }

    /// The network is whole again.
    pub(crate) fn heal(&mut self) {
        let mut network = self.world.network();
        network.cut.clear();
        network.lost_per_mille = 0;
    }

    /// Of a thousand datagrams of endpoints so many are lost from now on.
    pub(crate) fn lose(&mut self, per_mille: u64, seed: u64) {
        let mut network = self.world.network();
        network.lost_per_mille = per_mille;
        network.random = seed | 1;
    }

    /// Datagrams that leave from now on arrive after this time.
    pub(crate) fn delay(&mut self, time: Duration) {
        self.world.network().delay = u64::try_from(time.as_nanos()).unwrap();
    }

    /// A call of a host that sends along a flow takes so long from now on.
    pub(crate) fn slow_down(&mut self, host: usize, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap();
        self.world.hosts()[host].sending.store(nanos, Ordering::SeqCst);
    }

    /// The sockets of a host take nothing, or take something again.
    pub(crate) fn fill_socket(&mut self, host: usize, is_full: bool) {
        let mut network = self.world.network();
        network.full.retain(|full| *full != host);
        if is_full {
            network.full.push(host);
        }
    }

    /// Remembers what leaves from now on.
    pub(crate) fn record(&mut self) {
        self.world.network().record = Some(Vec::new());
    }

    /// What left the endpoints' sockets since [`Desk::record`] or the last call.
    pub(crate) fn recorded(&mut self) -> Vec<Left> {
        let left = self.world.network().record.as_mut().map(std::mem::take).unwrap_or_default();
        left.into_iter().filter(|left| left.channel == Channel::User).collect()
    }

    /// True once a host was let go of.
    pub(crate) fn is_closed(&self, host: usize) -> bool {
        self.world.hosts()[host].closed.load(Ordering::SeqCst)
    }

    /// Whether a host was asked to keep a thread for callbacks.
    pub(crate) fn keeps_thread(&self, host: usize) -> bool {
        self.world.hosts()[host].keeps_thread.load(Ordering::SeqCst)
    }
}

/// What happens next.
enum Next {
    Datagram(SocketAddr, SocketAddr, Vec<u8>),
    Timer,
    Nothing,
}

impl World {
    fn now(&self) -> Now {
        let nanos = self.now.load(Ordering::SeqCst);
        let wall = Timestamp::from_nanos(WALL.saturating_add_unsigned(nanos));
        Now { monotonic: Instant::from_nanos(nanos), wall }
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap()
    }

    fn hosts(&self) -> Vec<Arc<VirtualHost>> {
        self.hosts.lock().unwrap().clone()
    }

    /// Lets time pass until `done` or `end`: datagrams first, then timers, in the order of hosts. May be called from below itself.
    fn run(&self, end: Instant, done: &dyn Fn() -> bool) {
        while !done() {
            self.rest();
            match self.next(end.as_nanos()) {
                Next::Datagram(from, to, octets) => self.deliver(from, to, &octets),
                Next::Timer => self.ring(),
                Next::Nothing => return,
            }
        }
    }

    fn next(&self, end: u64) -> Next {
        let timer =
            self.hosts().iter().map(|host| host.wake_at.load(Ordering::SeqCst)).min().unwrap_or(u64::MAX);
        let mut network = self.network();
        let arrival = network.flying.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
        if arrival.min(timer) > end || arrival.min(timer) == u64::MAX {
            self.now.fetch_max(end, Ordering::SeqCst);
            return Next::Nothing;
        }
        self.now.fetch_max(arrival.min(timer), Ordering::SeqCst);
        if timer < arrival {
            return Next::Timer;
        }
        let (_, (from, to, octets)) = network.flying.pop_first().unwrap();
        Next::Datagram(from, to, octets)
    }

    /// Whoever has handed in something goes on reading.
    fn rest(&self) {
        for host in self.hosts() {
            let engine = host.engine.lock().unwrap().clone();
            if host.has_read.swap(false, Ordering::SeqCst)
                && let Some(engine) = engine
            {
                engine.on_rest();
            }
        }
    }

    fn ring(&self) {
        let now = self.now().monotonic.as_nanos();
        for host in self.hosts() {
            if host.wake_at.load(Ordering::SeqCst) <= now {
                host.wake_at.store(u64::MAX, Ordering::SeqCst);
                let engine = host.engine.lock().unwrap().clone();
                if let Some(engine) = engine {
                    engine.on_timeout();
                }
            }
        }
    }

    fn deliver(&self, from: SocketAddr, to: SocketAddr, octets: &[u8]) {
        let hosts = self.hosts();
        let Some(source) = hosts.iter().position(|host| host.user.ip() == from.ip()) else { return };
        for (target, host) in hosts.iter().enumerate() {
            let is_meant = if to.ip().is_multicast() {
                target != source
            } else {
                [host.metatraffic, host.user].contains(&to)
            };
            if !is_meant || self.network().cut.contains(&(source, target)) {
                continue;
            }
            let engine = host.engine.lock().unwrap().clone();
            if let Some(engine) = engine {
                host.has_read.store(true, Ordering::SeqCst);
                engine.on_datagram(from, octets);
            }
        }
    }
}

impl Network {
    /// xorshift64.
    fn is_lost(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 1000 < self.lost_per_mille
    }
}

impl Host for VirtualHost {
    fn now(&self) -> Now {
        self.world.upgrade().map_or_else(
            || Now { monotonic: Instant::NEVER, wall: Timestamp::from_nanos(i64::MAX) },
            |world| world.now(),
        )
    }

    fn open_flow(&self) -> Option<FlowSocket> {
        let port = 50_000 + u16::try_from(self.flows.fetch_add(1, Ordering::SeqCst)).unwrap();
        let SocketAddr::V4(user) = self.user else { return None };
        let address = SocketAddrV4::new(*user.ip(), port);
        Some(FlowSocket { address, max_datagram: 1_472, trains: true })
    }

    fn send(&self, channel: Channel, path: &Path, datagram: &Transmit<Bytes>) -> Sent {
        let Some(world) = self.world.upgrade() else { return Sent::Done };
        let (from, class) = match (path.flow, channel) {
            (Some(flow), _) => (SocketAddr::new(self.user.ip(), flow.port.get()), flow.class),
            (None, Channel::Metatraffic) => (self.metatraffic, datagram.class()),
            (None, Channel::User) => (self.user, datagram.class()),
        };
        let now = world.now().monotonic;
        let mut network = world.network();
        if network.full.contains(&self.number) {
            return Sent::Full;
        }
        let train = datagram.datagrams().count();
        assert_eq!(datagram.segment().is_some(), train > 1);
        for (index, slices) in datagram.datagrams().enumerate() {
            let octets = slices.collect::<Vec<_>>().concat();
            if let Some(segment) = datagram.segment() {
                let is_last = index + 1 == train;
                assert!(octets.len() == usize::from(segment) || is_last && octets.len() < segment.into());
            }
            if let Some(record) = &mut network.record {
                let (host, to) = (self.number, path.destination);
                record.push(Left { host, channel, from, to, train, class, at: now, octets: octets.clone() });
            }
            if network.lost_per_mille > 0 && channel == Channel::User && network.is_lost() {
                continue;
            }
            network.count += 1;
            let key = (now.as_nanos() + network.delay, network.count);
            network.flying.insert(key, (from, path.destination, octets));
        }
        if path.flow.is_some() {
            world.now.fetch_add(self.sending.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        Sent::Done
    }

    fn tells_of_rest(&self) -> bool {
        true
    }

    fn wake_at(&self, at: Instant) {
        self.wake_at.fetch_min(at.as_nanos(), Ordering::SeqCst);
    }

    fn receive(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        let Some(world) = self.world.upgrade() else { return false };
        world.run(until, done);
        true
    }

    fn interrupt(&self) {}

    fn keep_own_thread(&self, keep: bool) {
        self.keeps_thread.store(keep, Ordering::SeqCst);
    }

    fn is_inside(&self) -> bool {
        true
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let engine = self.engine.lock().unwrap().take();
        drop(engine);
    }

    fn report(&self) -> Vec<String> {
        Vec::new()
    }
}
