//! Participants on virtual hosts that take nothing from the heap once they are warm: what is counted is the middleware's.
#![allow(dead_code, reason = "each test uses a part of this module")]
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dds::host::{Addresses, Channel, Copied, Engine, Host, Sent};
use dds::{Bytes, DomainParticipant, DomainParticipantFactory, QosKind};
use rtps::discovery::DiscoveryConfig;
use rtps::{Path, Transmit};
use wire::{Duration, GuidPrefix, Instant, Locator, Now, Timestamp};

/// From, to, and the bytes.
type Datagram = (SocketAddr, SocketAddr, Vec<u8>);

/// What all hosts share.
#[derive(Default)]
struct Cable {
    clock: AtomicU64,
    under_way: Mutex<VecDeque<Datagram>>,
    spare: Mutex<Vec<Vec<u8>>>,
    /// What becomes of what is to be copied into shared memory.
    copies: AtomicU8,
    copied: AtomicU64,
    rung: AtomicU64,
}

/// Values of `copies`: it lies there; it lies there and the other side sleeps; it cannot go there.
pub(crate) const DONE: u8 = 0;
pub(crate) const UNHEARD: u8 = 1;
pub(crate) const NO: u8 = 2;

struct QuietHost {
    cable: Arc<Cable>,
    metatraffic: SocketAddr,
    user: SocketAddr,
    wake_at: AtomicU64,
    /// Whom each link leads to, by its number less one.
    links: Mutex<Vec<SocketAddr>>,
    engine: Mutex<Option<Arc<dyn Engine>>>,
}

impl Host for QuietHost {
    fn now(&self) -> Now {
        let nanos = self.cable.clock.load(Ordering::SeqCst);
        let wall = Timestamp::from_nanos(1_700_000_000_000_000_000_i64.saturating_add_unsigned(nanos));
        Now { monotonic: Instant::from_nanos(nanos), wall }
    }

    fn send(&self, channel: Channel, path: &Path, datagram: &Transmit<Bytes>) -> Sent {
        let from = if channel == Channel::User { self.user } else { self.metatraffic };
        let mut bytes = self.cable.spare.lock().unwrap().pop().unwrap_or_default();
        bytes.clear();
        datagram.copy_to(&mut bytes);
        self.cable.under_way.lock().unwrap().push_back((from, path.destination, bytes));
        Sent::Done
    }

    fn copy(&self, link: NonZeroU32, datagram: &[u8]) -> Copied {
        let answer = self.cable.copies.load(Ordering::SeqCst);
        if answer == NO {
            return Copied::No;
        }
        let to = self.links.lock().unwrap()[link.get() as usize - 1];
        let mut bytes = self.cable.spare.lock().unwrap().pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(datagram);
        self.cable.under_way.lock().unwrap().push_back((self.user, to, bytes));
        self.cable.copied.fetch_add(1, Ordering::SeqCst);
        if answer == UNHEARD { Copied::Unheard } else { Copied::Done }
    }

    fn ring(&self, _: NonZeroU32) {
        self.cable.rung.fetch_add(1, Ordering::SeqCst);
    }

    fn tells_of_rest(&self) -> bool {
        true
    }

    fn wake_at(&self, at: Instant) {
        self.wake_at.fetch_min(at.as_nanos(), Ordering::SeqCst);
    }

    fn receive(&self, _: Instant, _: &dyn Fn() -> bool) -> bool {
        false
    }

    fn interrupt(&self) {}

    fn keep_own_thread(&self, _: bool) {}

    fn is_inside(&self) -> bool {
        false
    }

    fn close(&self) {
        *self.engine.lock().unwrap() = None;
    }

    fn report(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A domain without faults.
#[derive(Default)]
pub(crate) struct Domain {
    cable: Arc<Cable>,
    hosts: Vec<Arc<QuietHost>>,
}

const GROUP: &str = "239.255.0.1:7400";

impl Domain {
    /// A participant on a host of its own.
    pub(crate) fn participant(&mut self) -> DomainParticipant {
        let number = u8::try_from(self.hosts.len() + 1).unwrap();
        let address = |port: u16| SocketAddr::from(([10, 0, 0, number], port));
        let host = Arc::new(QuietHost {
            cable: Arc::clone(&self.cable),
            metatraffic: address(7410),
            user: address(7411),
            wake_at: AtomicU64::new(u64::MAX),
            links: Mutex::default(),
            engine: Mutex::new(None),
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
            ..Addresses::default()
        };
        let starting = Arc::clone(&host);
        let start = move |engine| {
            *starting.engine.lock().unwrap() = Some(engine);
            Ok(())
        };
        // Its period is beyond the test's: announcements are no part of what is measured.
        let settings = DiscoveryConfig {
            announce_period: Duration::from_secs(1_000_000),
            lease_duration: Duration::from_secs(10_000_000),
            ..DiscoveryConfig::new(GuidPrefix([number; 12]), 0, u64::from(number))
        };
        let factory = DomainParticipantFactory::get_instance();
        self.hosts.push(Arc::clone(&host));
        factory.create_participant_on(host, start, settings, &addresses, QosKind::Default).unwrap()
    }

    /// There is shared memory between the participants, each way.
    pub(crate) fn link(&self) {
        for (index, host) in self.hosts.iter().enumerate() {
            *host.links.lock().unwrap() = self.hosts.iter().map(|other| other.user).collect();
            let engine = host.engine.lock().unwrap().clone().unwrap();
            for other in (0..self.hosts.len()).filter(|other| *other != index) {
                let prefix = GuidPrefix([u8::try_from(other + 1).unwrap(); 12]);
                engine.on_link(prefix, NonZeroU32::new(u32::try_from(other + 1).unwrap()));
            }
        }
    }

    /// What becomes of what is to be copied into shared memory from now on.
    pub(crate) fn set_copies(&self, copies: u8) {
        self.cable.copies.store(copies, Ordering::SeqCst);
    }

    /// How often something was copied into it, and how often somebody was woken for that.
    pub(crate) fn copied(&self) -> (u64, u64) {
        (self.cable.copied.load(Ordering::SeqCst), self.cable.rung.load(Ordering::SeqCst))
    }

    /// Lets time pass: every datagram is delivered at once, every wake-up comes when it was asked for.
    pub(crate) fn run(&self, time: Duration) {
        let end = self.cable.clock.load(Ordering::SeqCst) + u64::try_from(time.as_nanos()).unwrap();
        loop {
            self.deliver();
            let next = self.hosts.iter().map(|host| host.wake_at.load(Ordering::SeqCst)).min().unwrap();
            self.cable.clock.fetch_max(next.min(end), Ordering::SeqCst);
            if next > end {
                return;
            }
            for host in self.hosts.iter().filter(|host| host.wake_at.load(Ordering::SeqCst) <= next) {
                host.wake_at.store(u64::MAX, Ordering::SeqCst);
                let engine = host.engine.lock().unwrap().clone();
                engine.inspect(|engine| engine.on_timeout());
            }
        }
    }

    fn deliver(&self) {
        loop {
            let next = self.cable.under_way.lock().unwrap().pop_front();
            let Some((from, to, bytes)) = next else { return };
            let is_meant = |host: &QuietHost| {
                let own = from == host.metatraffic || from == host.user;
                to == host.metatraffic || to == host.user || to.ip().is_multicast() && !own
            };
            for host in self.hosts.iter().filter(|host| is_meant(host)) {
                let engine = host.engine.lock().unwrap().clone();
                if let Some(engine) = engine {
                    engine.on_datagram(from, &bytes);
                    engine.on_rest();
                }
            }
            self.cable.spare.lock().unwrap().push(bytes);
        }
    }
}
