//! Participants of the public API on virtual hosts: one thread, one virtual clock, and a network that loses, delays and is cut as a
//! test says. A call that waits lets time pass.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::random::Random;
use dds::host::{Addresses, Channel, Engine, FlowSocket, Host, Sent};
use dds::qos::DomainParticipantQos;
use dds::{Bytes, DomainParticipant, DomainParticipantFactory, QosKind};
use rtps::discovery::DiscoveryConfig;
use rtps::{Path, Transmit};
use wire::{Duration, GuidPrefix, Instant, Locator, Now, Timestamp};

/// The wall clock runs ahead of the virtual one by this many nanoseconds.
const WALL: i64 = 1_700_000_000_000_000_000;

/// A datagram, or one of a train, that a host has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    /// Number of the host.
    pub host: usize,
    /// The socket that it left from, as the engine names it.
    pub channel: Channel,
    /// Address of that socket.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
    /// It left by one call with so many, itself among them.
    pub train: usize,
    /// DSCP.
    pub class: u8,
    /// When.
    pub at: Instant,
    /// All of it.
    pub octets: Vec<u8>,
}

/// What the network does.
#[derive(Default)]
struct Network {
    /// Datagrams on their way, by time of arrival and number: from, to, bytes.
    flying: BTreeMap<(u64, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    count: u64,
    delay: u64,
    /// Of a thousand datagrams of endpoints, and if `loses_discovery` of those of discovery, so many are lost.
    lost_per_mille: usize,
    loses_discovery: bool,
    random: Option<Random>,
    cut: Vec<(usize, usize)>,
    /// From one host to another no datagram passes that has more bytes.
    narrow: Vec<(usize, usize, usize)>,
    record: Option<Vec<Left>>,
    /// Destination and bytes of each datagram of one host, if they are counted.
    counted: Option<(usize, Vec<(SocketAddr, usize)>)>,
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
    /// None can be opened.
    has_no_flows: AtomicBool,
    /// Sending takes so long, in nanoseconds.
    sending: AtomicU64,
}

/// A domain of virtual hosts. They have the addresses 10.0.0.1 and so on, and are numbered from 0 in the order in which they were made.
#[derive(Default)]
pub struct VirtualDomain {
    world: Arc<World>,
}

/// Datagrams that are counted without another allocation.
const COUNTED: usize = 4096;
/// So many things may happen at one time; more have no end.
const AT_ONCE: u32 = 100_000;
const GROUP: &str = "239.255.0.1:7400";

impl VirtualDomain {
    /// No hosts, at time 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time.
    pub fn now(&self) -> Now {
        self.world.now()
    }

    /// A participant on a host of its own.
    pub fn participant(&mut self) -> DomainParticipant {
        self.participant_with(QosKind::Default, |_| {})
    }

    /// A participant with QoS and settings of its own.
    pub fn participant_with(
        &mut self,
        qos: QosKind<DomainParticipantQos>,
        tune: impl FnOnce(&mut DiscoveryConfig),
    ) -> DomainParticipant {
        self.make(DomainParticipantFactory::get_instance(), qos, tune)
    }

    /// A participant of another factory.
    pub fn participant_by(&mut self, factory: &DomainParticipantFactory) -> DomainParticipant {
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
            has_no_flows: AtomicBool::new(false),
            sending: AtomicU64::new(0),
        });
        let addresses = host.addresses(host.user);
        let mut settings = DiscoveryConfig::new(GuidPrefix([number; 12]), 0, u64::from(number));
        tune(&mut settings);
        let starting = Arc::clone(&host);
        lock(&self.world.hosts).push(Arc::clone(&host));
        factory
            .create_participant_on(
                host,
                move |engine| {
                    *lock(&starting.engine) = Some(engine);
                    Ok(())
                },
                settings,
                &addresses,
                qos,
            )
            .unwrap()
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now().monotonic.after(time);
        self.world.run(end, &|| false);
    }

    /// A host has another address for its endpoints, at which no flow can be opened and nothing arrives; or it has its own one again. Its participant
    /// is told.
    pub fn displace(&mut self, host: usize, away: bool) {
        let host = Arc::clone(&self.world.hosts()[host]);
        host.has_no_flows.store(away, Ordering::SeqCst);
        let nowhere = SocketAddr::from(([10, 0, 1, 1], host.user.port()));
        let engine = lock(&host.engine).clone();
        engine.unwrap().on_network(&host.addresses(if away { nowhere } else { host.user }));
    }

    /// Datagrams from one host to the other are lost from now on.
    pub fn cut(&mut self, from: usize, to: usize) {
        self.world.network().cut.push((from, to));
    }

    /// Datagrams of more bytes from one host to the other are lost from now on, until [`VirtualDomain::heal`].
    pub fn narrow(&mut self, from: usize, to: usize, most: usize) {
        self.world.network().narrow.push((from, to, most));
    }

    /// No datagram reaches anybody from now on, until [`VirtualDomain::heal`].
    pub fn black_out(&mut self) {
        let count = self.world.hosts().len();
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        self.world.network().cut.extend(pairs);
    }

    /// No datagram leaves a host or reaches it from now on, until [`Self::heal`], whatever hosts come.
    pub fn isolate(&mut self, host: usize) {
        let all = 0..usize::from(u8::MAX);
        self.world.network().cut.extend(all.flat_map(|other| [(host, other), (other, host)]));
    }

    /// The network is whole again.
    pub fn heal(&mut self) {
        let mut network = self.world.network();
        network.cut.clear();
        network.narrow.clear();
        network.lost_per_mille = 0;
        network.loses_discovery = false;
    }

    /// Of a thousand datagrams of endpoints so many are lost from now on.
    pub fn lose(&mut self, per_mille: usize, seed: u64) {
        let mut network = self.world.network();
        network.lost_per_mille = per_mille;
        network.random = Some(Random::of_case(seed, 0));
    }

    /// As [`VirtualDomain::lose`], and those of discovery, too.
    pub fn lose_of_all(&mut self, per_mille: usize, seed: u64) {
        self.lose(per_mille, seed);
        self.world.network().loses_discovery = true;
    }

    /// Datagrams that leave from now on arrive after this time.
    pub fn delay(&mut self, time: Duration) {
        self.world.network().delay = u64::try_from(time.as_nanos()).unwrap();
    }

    /// A call of a host that sends along a flow takes so long from now on.
    pub fn slow_down(&mut self, host: usize, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap();
        self.world.hosts()[host].sending.store(nanos, Ordering::SeqCst);
    }

    /// The sockets of a host take nothing, or take something again.
    pub fn fill_socket(&mut self, host: usize, is_full: bool) {
        let mut network = self.world.network();
        network.full.retain(|full| *full != host);
        if is_full {
            network.full.push(host);
        }
    }

    /// Remembers what leaves from now on.
    pub fn record(&mut self) {
        self.world.network().record = Some(Vec::new());
    }

    /// What left the endpoints' sockets since [`VirtualDomain::record`] or the last call.
    pub fn recorded(&mut self) -> Vec<Left> {
        self.all_recorded().into_iter().filter(|left| left.channel == Channel::User).collect()
    }

    /// What left all sockets since [`VirtualDomain::record`] or the last call.
    pub fn all_recorded(&mut self) -> Vec<Left> {
        self.world.network().record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Hands a datagram to a host, now, as if it came from this address.
    pub fn hand(&mut self, host: usize, from: SocketAddr, datagram: &[u8]) {
        self.world.hand(&self.world.hosts()[host], from, datagram);
    }

    /// Counts what a host sends from now on; what was counted before is forgotten.
    pub fn count(&mut self, host: usize) {
        self.world.network().counted = Some((host, Vec::with_capacity(COUNTED)));
    }

    /// Gives destination and bytes of each datagram that was counted since the last call.
    pub fn counted(&mut self, mut each: impl FnMut(SocketAddr, usize)) {
        if let Some((_, counted)) = &mut self.world.network().counted {
            counted.drain(..).for_each(|(to, bytes)| each(to, bytes));
        }
    }

    /// True once a host was let go of.
    pub fn is_closed(&self, host: usize) -> bool {
        self.world.hosts()[host].closed.load(Ordering::SeqCst)
    }

    /// Whether a host was asked to keep a thread for callbacks.
    pub fn keeps_thread(&self, host: usize) -> bool {
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
        lock(&self.network)
    }

    fn hosts(&self) -> Vec<Arc<VirtualHost>> {
        lock(&self.hosts).clone()
    }

    /// Lets time pass until `done` or `end`: datagrams first, then timers, in the order of hosts. May be called from below itself.
    fn run(&self, end: Instant, done: &dyn Fn() -> bool) {
        let (mut time, mut steps) = (self.now.load(Ordering::SeqCst), 0);
        while !done() {
            let now = self.now.load(Ordering::SeqCst);
            steps = if now == time { steps + 1 } else { 0 };
            time = now;
            assert!(steps < AT_ONCE, "{AT_ONCE} datagrams and timers at one time: something never ends");
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
            let engine = lock(&host.engine).clone();
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
                let engine = lock(&host.engine).clone();
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
            if !is_meant || self.network().swallows(source, target, octets.len()) {
                continue;
            }
            self.hand(host, from, octets);
        }
    }

    fn hand(&self, host: &VirtualHost, from: SocketAddr, datagram: &[u8]) {
        let engine = lock(&host.engine).clone();
        if let Some(engine) = engine {
            host.has_read.store(true, Ordering::SeqCst);
            engine.on_datagram(from, datagram);
        }
    }
}

impl Network {
    fn swallows(&self, from: usize, to: usize, bytes: usize) -> bool {
        let is_too_large = |(a, b, most): &(usize, usize, usize)| (*a, *b) == (from, to) && bytes > *most;
        self.cut.contains(&(from, to)) || self.narrow.iter().any(is_too_large)
    }

    fn is_lost(&mut self) -> bool {
        let lost = self.lost_per_mille;
        self.random.as_mut().is_some_and(|random| random.below(1000) < lost)
    }
}

/// A test that has failed may have left a lock behind; what it holds is still let go of.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VirtualHost {
    /// The addresses that its participant announces, with this one for its endpoints.
    fn addresses(&self, user: SocketAddr) -> Addresses {
        let interface = rtps::Interface {
            index: 1,
            addresses: vec![(self.user.ip(), 24)],
            max_datagram: 1_472,
            multicast: true,
        };
        Addresses {
            network: rtps::Network { interfaces: vec![interface] },
            metatraffic_unicast: vec![Locator::udp(self.metatraffic)],
            metatraffic_multicast: vec![Locator::udp(GROUP.parse().unwrap())],
            default_unicast: vec![Locator::udp(user)],
            default_multicast: Vec::new(),
            receive_buffer: None,
            sending_ports: [0; 2],
            shared_memory: None,
        }
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
        if self.has_no_flows.load(Ordering::SeqCst) {
            return None;
        }
        let port = 50_000 + u16::try_from(self.flows.fetch_add(1, Ordering::SeqCst)).unwrap();
        let address = SocketAddr::new(self.user.ip(), port);
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
            if let Some((counted, sent)) = &mut network.counted
                && *counted == self.number
            {
                sent.push((path.destination, octets.len()));
            }
            let may_be_lost = channel == Channel::User || network.loses_discovery;
            if network.lost_per_mille > 0 && may_be_lost && network.is_lost() {
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
        let engine = lock(&self.engine).take();
        drop(engine);
    }

    fn report(&self) -> Vec<String> {
        Vec::new()
    }
}
