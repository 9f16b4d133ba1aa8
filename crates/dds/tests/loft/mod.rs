//! Participants of the public API on threads, with the time of the system and a network in memory: for what only threads can show.
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration as StdDuration;

use dds::host::{Addresses, Channel, Engine, Host, Sent};
use dds::{Bytes, DomainParticipant, DomainParticipantFactory, QosKind};
use rtps::discovery::DiscoveryConfig;
use rtps::{Path, Transmit};
use wire::{GuidPrefix, Instant, Locator, Now, Timestamp};

const GROUP: &str = "239.255.0.1:7400";

/// A network, and the hosts on it.
#[derive(Clone)]
pub(crate) struct Loft {
    start: std::time::Instant,
    hosts: Arc<Mutex<HashMap<SocketAddr, Arc<ThreadHost>>>>,
    /// Threads that wait do the receiving themselves.
    leads: bool,
}

/// What came in and was not received, and who is there for it.
#[derive(Default)]
struct Inbox {
    datagrams: VecDeque<(SocketAddr, Vec<u8>)>,
    /// Threads that receive in the place of the host's own.
    leaders: usize,
    interrupts: u64,
    wake_at: Option<Instant>,
    closed: bool,
}

struct ThreadHost {
    loft: Loft,
    address: SocketAddr,
    inbox: Mutex<Inbox>,
    /// Something came in, or somebody is to look at what he waits for.
    news: Condvar,
    /// There is something earlier to be woken for.
    earlier: Condvar,
    engine: Mutex<Option<Arc<dyn Engine>>>,
    keeps_thread: AtomicBool,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

thread_local! {
    /// Hosts that the thread is inside of.
    static INSIDE: RefCell<Vec<SocketAddr>> = const { RefCell::new(Vec::new()) };
}

impl Loft {
    pub(crate) fn new(leads: bool) -> Self {
        Self { start: std::time::Instant::now(), hosts: Arc::default(), leads }
    }

    /// A participant on a host of its own.
    pub(crate) fn participant(&self) -> DomainParticipant {
        let number = u8::try_from(self.hosts.lock().unwrap().len() + 1).unwrap();
        let address = SocketAddr::from(([10, 0, 0, number], 7411));
        let host = Arc::new(ThreadHost {
            loft: self.clone(),
            address,
            inbox: Mutex::default(),
            news: Condvar::new(),
            earlier: Condvar::new(),
            engine: Mutex::default(),
            keeps_thread: AtomicBool::new(false),
            threads: Mutex::default(),
        });
        self.hosts.lock().unwrap().insert(address, Arc::clone(&host));
        let interface = rtps::Interface {
            index: 1,
            addresses: vec![(address.ip(), 24)],
            max_datagram: 1_472,
            multicast: true,
        };
        let addresses = Addresses {
            network: rtps::Network { interfaces: vec![interface] },
            metatraffic_unicast: vec![Locator::udp(address)],
            metatraffic_multicast: vec![Locator::udp(GROUP.parse().unwrap())],
            default_unicast: vec![Locator::udp(address)],
            default_multicast: Vec::new(),
            receive_buffer: None,
            sending_ports: [0; 2],
            shared_memory: None,
        };
        let settings = DiscoveryConfig::new(GuidPrefix([number; 12]), 0, u64::from(number));
        let starting = Arc::clone(&host);
        let start = move |engine| {
            starting.start(engine);
            Ok(())
        };
        DomainParticipantFactory::get_instance()
            .create_participant_on(host, start, settings, &addresses, QosKind::Default)
            .unwrap()
    }

    fn now(&self) -> Now {
        let nanos = u64::try_from(self.start.elapsed().as_nanos()).unwrap();
        let wall = Timestamp::from_nanos(1_700_000_000_000_000_000_i64.saturating_add_unsigned(nanos));
        Now { monotonic: Instant::from_nanos(nanos), wall }
    }
}

impl ThreadHost {
    fn start(self: &Arc<Self>, engine: Arc<dyn Engine>) {
        *self.engine.lock().unwrap() = Some(engine);
        let (reader, timer) = (Arc::clone(self), Arc::clone(self));
        let mut threads = self.threads.lock().unwrap();
        threads.push(thread::spawn(move || reader.read()));
        threads.push(thread::spawn(move || timer.keep_time()));
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap()
    }

    fn inside(&self, act: impl FnOnce(&dyn Engine)) {
        let Some(engine) = self.engine.lock().unwrap().clone() else { return };
        INSIDE.with_borrow_mut(|inside| inside.push(self.address));
        act(&*engine);
        INSIDE.with_borrow_mut(Vec::pop);
    }

    /// Its own thread stands back while others receive: if they are not woken, nobody is there.
    fn read(&self) {
        let mut inbox = self.inbox();
        while !inbox.closed {
            if inbox.leaders == 0
                && let Some((from, bytes)) = inbox.datagrams.pop_front()
            {
                drop(inbox);
                self.inside(|engine| engine.on_datagram(from, &bytes));
                inbox = self.inbox();
            } else {
                inbox = self.news.wait(inbox).unwrap();
            }
        }
    }

    fn keep_time(&self) {
        let mut inbox = self.inbox();
        while !inbox.closed {
            let now = self.loft.now().monotonic;
            match inbox.wake_at {
                Some(at) if at <= now => {
                    inbox.wake_at = None;
                    drop(inbox);
                    self.inside(|engine| engine.on_timeout());
                    inbox = self.inbox();
                }
                Some(at) => inbox = self.earlier.wait_timeout(inbox, span(now, at)).unwrap().0,
                None => inbox = self.earlier.wait(inbox).unwrap(),
            }
        }
    }

    fn lead(&self, until: Instant, done: &dyn Fn() -> bool) {
        let mut seen = self.inbox().interrupts;
        while !done() {
            let now = self.loft.now().monotonic;
            let mut inbox = self.inbox();
            if inbox.closed || now >= until {
                return;
            }
            if let Some((from, bytes)) = inbox.datagrams.pop_front() {
                drop(inbox);
                self.inside(|engine| engine.on_datagram(from, &bytes));
            } else {
                if inbox.interrupts == seen {
                    inbox = self.news.wait_timeout(inbox, span(now, until)).unwrap().0;
                }
                seen = inbox.interrupts;
            }
        }
    }
}

fn span(from: Instant, to: Instant) -> StdDuration {
    StdDuration::from_nanos(u64::try_from(to.since(from).as_nanos()).unwrap_or(0))
        .min(StdDuration::from_secs(3600))
}

impl Host for ThreadHost {
    fn now(&self) -> Now {
        self.loft.now()
    }

    fn send(&self, _: Channel, path: &Path, datagram: &Transmit<Bytes>) -> Sent {
        let mut bytes = Vec::new();
        datagram.copy_to(&mut bytes);
        let hosts = self.loft.hosts.lock().unwrap();
        let targets: Vec<_> = if path.destination.ip().is_multicast() {
            hosts.values().filter(|host| host.address != self.address).cloned().collect()
        } else {
            hosts.get(&path.destination).cloned().into_iter().collect()
        };
        drop(hosts);
        for host in targets {
            let mut inbox = host.inbox();
            if !inbox.closed {
                inbox.datagrams.push_back((self.address, bytes.clone()));
                host.news.notify_all();
            }
        }
        Sent::Done
    }

    fn wake_at(&self, at: Instant) {
        let mut inbox = self.inbox();
        if inbox.wake_at.is_none_or(|known| at < known) {
            inbox.wake_at = Some(at);
            self.earlier.notify_all();
        }
    }

    fn receive(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        if self.is_inside() {
            self.lead(until, done);
            return true;
        }
        if !self.loft.leads || self.keeps_thread.load(Ordering::SeqCst) {
            return false;
        }
        let mut inbox = self.inbox();
        if inbox.closed || inbox.leaders > 0 {
            return false;
        }
        inbox.leaders += 1;
        drop(inbox);
        self.lead(until, done);
        self.inbox().leaders -= 1;
        self.news.notify_all();
        true
    }

    fn interrupt(&self) {
        self.inbox().interrupts += 1;
        self.news.notify_all();
    }

    fn keep_own_thread(&self, keep: bool) {
        self.keeps_thread.store(keep, Ordering::SeqCst);
    }

    fn is_inside(&self) -> bool {
        INSIDE.with_borrow(|inside| inside.contains(&self.address))
    }

    fn close(&self) {
        self.inbox().closed = true;
        self.news.notify_all();
        self.earlier.notify_all();
        self.loft.hosts.lock().unwrap().remove(&self.address);
        if !self.is_inside() {
            let threads = std::mem::take(&mut *self.threads.lock().unwrap());
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
        let engine = self.engine.lock().unwrap().take();
        drop(engine);
    }

    fn report(&self) -> Vec<String> {
        Vec::new()
    }
}
