//! Participants of the public API on virtual hosts: one thread, one virtual clock, a network without faults.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dds::host::{Addresses, Channel, Engine, Host, Sent};
use dds::{Bytes, DomainParticipant, DomainParticipantFactory, QosKind};
use rtps::discovery::DiscoveryConfig;
use rtps::{Path, Transmit};
use wire::{Duration, GuidPrefix, Instant, Locator, Now, Timestamp};

/// The clock of all hosts: nanoseconds since the start; the wall clock runs ahead by a constant.
#[derive(Default)]
struct Clock(AtomicU64);

const WALL: i64 = 1_700_000_000_000_000_000;

impl Clock {
    fn now(&self) -> Now {
        let nanos = self.0.load(Ordering::SeqCst);
        let wall = Timestamp::from_nanos(WALL.saturating_add_unsigned(nanos));
        Now { monotonic: Instant::from_nanos(nanos), wall }
    }
}

/// A datagram on its way: from, to, octets.
type InFlight = (SocketAddr, SocketAddr, Vec<u8>);

/// One process.
struct VirtualHost {
    clock: Arc<Clock>,
    wire: Arc<Mutex<VecDeque<InFlight>>>,
    metatraffic: SocketAddr,
    user: SocketAddr,
    wake_at: AtomicU64,
    engine: Mutex<Option<Arc<dyn Engine>>>,
    closed: AtomicBool,
}

impl Host for VirtualHost {
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn send(&self, channel: Channel, path: &Path, datagram: &Transmit<Bytes>) -> Sent {
        let from = match channel {
            Channel::Metatraffic => self.metatraffic,
            Channel::User => self.user,
        };
        let mut octets = Vec::new();
        datagram.copy_to(&mut octets);
        self.wire.lock().unwrap().push_back((from, path.destination, octets));
        Sent::Done
    }

    fn wake_at(&self, at: Instant) {
        self.wake_at.fetch_min(at.as_nanos(), Ordering::SeqCst);
    }

    fn receive(&self, _until: Instant, _done: &dyn Fn() -> bool) -> bool {
        false
    }

    fn interrupt(&self) {}

    fn keep_own_thread(&self, _keep: bool) {}

    fn is_inside(&self) -> bool {
        false
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        *self.engine.lock().unwrap() = None;
    }

    fn report(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A domain of virtual hosts.
#[derive(Default)]
pub(crate) struct Desk {
    clock: Arc<Clock>,
    wire: Arc<Mutex<VecDeque<InFlight>>>,
    hosts: Vec<Arc<VirtualHost>>,
    /// Datagrams from one of these hosts to the other are lost.
    pub(crate) cut: Vec<(usize, usize)>,
}

const GROUP: &str = "239.255.0.1:7400";

impl Desk {
    /// No hosts, at time 0.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The time.
    pub(crate) fn now(&self) -> Now {
        self.clock.now()
    }

    /// A participant on a host of its own.
    pub(crate) fn participant(&mut self) -> DomainParticipant {
        self.participant_with(|_| {})
    }

    /// A participant with settings of its own.
    pub(crate) fn participant_with(&mut self, tune: impl FnOnce(&mut DiscoveryConfig)) -> DomainParticipant {
        let number = u8::try_from(self.hosts.len() + 1).unwrap();
        let address = |port: u16| SocketAddr::from(([10, 0, 0, number], port));
        let host = Arc::new(VirtualHost {
            clock: Arc::clone(&self.clock),
            wire: Arc::clone(&self.wire),
            metatraffic: address(7410),
            user: address(7411),
            wake_at: AtomicU64::new(u64::MAX),
            engine: Mutex::new(None),
            closed: AtomicBool::new(false),
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
        let participant = DomainParticipantFactory::get_instance()
            .create_participant_on(
                Arc::clone(&host) as Arc<dyn Host>,
                move |engine| {
                    *starting.engine.lock().unwrap() = Some(engine);
                    Ok(())
                },
                settings,
                &addresses,
                QosKind::Default,
            )
            .unwrap();
        self.hosts.push(host);
        participant
    }

    /// Lets time pass: every datagram is delivered at once, every wake-up comes when it was asked for.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now().monotonic.after(time).as_nanos();
        loop {
            self.deliver();
            let next = self.hosts.iter().map(|host| host.wake_at.load(Ordering::SeqCst)).min();
            let next = next.unwrap_or(u64::MAX);
            if next > end {
                self.clock.0.store(end, Ordering::SeqCst);
                return;
            }
            self.clock.0.fetch_max(next, Ordering::SeqCst);
            for host in &self.hosts {
                if host.wake_at.load(Ordering::SeqCst) <= next {
                    host.wake_at.store(u64::MAX, Ordering::SeqCst);
                    let engine = host.engine.lock().unwrap().clone();
                    if let Some(engine) = engine {
                        engine.on_timeout();
                    }
                }
            }
        }
    }

    fn deliver(&self) {
        let places: BTreeMap<SocketAddr, usize> = self
            .hosts
            .iter()
            .enumerate()
            .flat_map(|(index, host)| [(host.metatraffic, index), (host.user, index)])
            .collect();
        loop {
            let Some((from, to, octets)) = self.wire.lock().unwrap().pop_front() else { return };
            let source = places.get(&from).copied();
            let targets: Vec<usize> = if to.ip().is_multicast() {
                (0..self.hosts.len()).filter(|index| Some(*index) != source).collect()
            } else {
                places.get(&to).copied().into_iter().collect()
            };
            for target in targets {
                if source.is_some_and(|source| self.cut.contains(&(source, target))) {
                    continue;
                }
                let engine = self.hosts[target].engine.lock().unwrap().clone();
                if let Some(engine) = engine {
                    engine.on_datagram(from, &octets);
                }
            }
        }
    }
}
