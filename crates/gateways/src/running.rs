//! A gateway that runs: its sockets and threads.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use federation::{
    Counts, Event, Gateway, GatewayId, Header, Interest, KindId, LimitError, Notice, Published, Settings,
    SubscriptionId, To, TooLarge,
};
use filter::{Fields, Schema};
use udp::{Destination, Received as Came, Receiver, Sender, Socket, SocketOptions, Stopper, Wait, monotonic};

use crate::config::{Config, StartError, Transport};
use crate::draining::Inside;
use crate::streams::Stream;

mod connections;

/// Bytes that the receive buffer is asked for: what several peers have under way at once.
const RECEIVE_BUFFER: usize = 4 << 20;
/// How long an attempt to connect takes at most.
const CONNECT: Duration = Duration::from_secs(1);

/// An event that has come.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The port that published it.
    pub source: &'a str,
    /// Priority and time left.
    pub header: Header,
    /// The event itself.
    pub body: &'a [u8],
}

/// What takes events.
type Take = dyn Fn(Received<'_>) + Send + Sync;

/// A subscription of the process.
#[derive(Clone)]
struct Taker {
    id: SubscriptionId,
    interest: Interest,
    take: Arc<Take>,
}

/// The gateway of a process. Clones are handles to the same one. It ends with the last of them, which is not to be dropped by what takes events: its
/// threads are waited for.
#[derive(Clone)]
pub struct Federated(Arc<Owner>);

/// A subscription, which ends when it is dropped.
pub struct Subscription {
    shared: Weak<Shared>,
    id: SubscriptionId,
}

/// Ends the threads.
struct Owner {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

pub(crate) struct Shared {
    pub(crate) gateway: Mutex<Gateway>,
    settings: Settings,
    /// What takes events; a change makes a new list, so that calls go on without the lock.
    takers: Mutex<Arc<Vec<Taker>>>,
    addresses: BTreeMap<GatewayId, SocketAddr>,
    groups: BTreeMap<u32, SocketAddr>,
    interface: u32,
    sender: Option<Sender>,
    stoppers: Vec<Stopper>,
    listening: Option<SocketAddr>,
    /// Peers that connect.
    accepted: Vec<GatewayId>,
    streams: Mutex<BTreeMap<GatewayId, Arc<Stream>>>,
    /// Connections that have not said whose they are.
    strangers: Mutex<Vec<Arc<Stream>>>,
    /// When the thread that looks after the time wakes.
    wakes_at: Mutex<u64>,
    sooner: Condvar,
    is_over: AtomicBool,
    /// Threads that hand on what has come; who waits for them has the lock.
    pub(crate) inside: Inside,
    pub(crate) waits: Mutex<()>,
    /// Held while `is_over` is set, so that no thread that is about to wait misses it.
    ending: Mutex<()>,
    ended: Condvar,
}

/// Events that are copied out of the gateway, in memory that is used again.
#[derive(Default)]
struct Copies {
    count: usize,
    all: Vec<Copy>,
}

#[derive(Default)]
struct Copy {
    kind: String,
    source: String,
    header: Header,
    body: Vec<u8>,
}

thread_local! {
    static DATAGRAM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a group in datagrams: from its address, so that all gateways have the same.
fn group_number(address: SocketAddr) -> u32 {
    let mix = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    let sum = match address.ip() {
        IpAddr::V4(ip) => ip.octets().iter().fold(0x811c_9dc5, mix),
        IpAddr::V6(ip) => ip.octets().iter().fold(0x811c_9dc5, mix),
    };
    sum.max(1)
}

impl Federated {
    /// Starts a gateway. It looks for its peers from now on.
    ///
    /// # Errors
    /// A socket or a thread cannot be had, or the configuration is contradictory; nothing is left of it then.
    pub fn start(config: &Config) -> Result<Self, StartError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let incarnation = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2);
        let mut gateway = Gateway::new(config.id, incarnation, config.settings);
        let options = SocketOptions {
            receive_buffer: Some(RECEIVE_BUFFER),
            multicast_hops: config.hops,
            multicast_loop: config.loopback,
            ..SocketOptions::default()
        };
        let socket = config.udp.map(|address| Socket::unicast(address, &options)).transpose();
        let socket = socket.map_err(StartError::Udp)?;
        let mut groups = BTreeMap::new();
        let mut group_socket: Option<Socket> = None;
        for group in &config.groups {
            let (is_v4, port) = (group.address.is_ipv4(), group.address.port());
            let fits = |first: &Socket| first.local().port() == port && first.local().is_ipv4() == is_v4;
            let has_family = |own: &Socket| own.local().is_ipv4() == is_v4;
            if !(socket.as_ref().is_some_and(has_family) && group_socket.as_ref().is_none_or(fits)) {
                return Err(StartError::Groups);
            }
            let shared = match group_socket.take() {
                Some(shared) => shared,
                None => Socket::multicast(is_v4, port, &options).map_err(StartError::Udp)?,
            };
            shared.join(group.address.ip(), config.interface).map_err(StartError::Group)?;
            group_socket = Some(shared);
            let number = group_number(group.address);
            groups.insert(number, group.address);
            let kind = gateway.offer(&group.kind, None).map_err(StartError::Limit)?;
            gateway.send_to_group(kind, number).map_err(StartError::Limit)?;
            gateway.listen_to_group(number).map_err(StartError::Limit)?;
        }
        let listener = match config.tcp {
            None => None,
            Some(address) => {
                let listener = TcpListener::bind(address);
                Some(listener.map_err(|error| StartError::Tcp { address, error })?)
            }
        };
        let (mut addresses, mut accepted, mut connects) = (BTreeMap::new(), Vec::new(), Vec::new());
        for peer in &config.peers {
            match peer.transport {
                Transport::Udp(address) if socket.is_some() => drop(addresses.insert(peer.id, address)),
                Transport::Accept if listener.is_some() => accepted.push(peer.id),
                Transport::Connect(address) => connects.push((peer.id, address)),
                _ => return Err(StartError::NoSocket(peer.id)),
            }
            gateway.add_peer(monotonic(), peer.id).map_err(StartError::Limit)?;
        }
        let receivers: Vec<Receiver> =
            [&socket, &group_socket].into_iter().flatten().map(Socket::receiver).collect();
        let shared = Arc::new(Shared {
            gateway: Mutex::new(gateway),
            settings: config.settings,
            takers: Mutex::default(),
            addresses,
            groups,
            interface: config.interface,
            sender: socket.as_ref().map(Socket::sender),
            stoppers: [&socket, &group_socket].into_iter().flatten().map(Socket::stopper).collect(),
            listening: listener.as_ref().and_then(|listener| listener.local_addr().ok()),
            accepted,
            streams: Mutex::default(),
            strangers: Mutex::default(),
            wakes_at: Mutex::new(0),
            sooner: Condvar::new(),
            is_over: AtomicBool::new(false),
            inside: Inside::default(),
            waits: Mutex::default(),
            ending: Mutex::new(()),
            ended: Condvar::new(),
        });
        let this = Self(Arc::new(Owner { shared: Arc::clone(&shared), threads: Mutex::default() }));
        for receiver in receivers {
            let shared = Arc::clone(&shared);
            this.0.spawn("fed-udp", move || shared.receive(&receiver))?;
        }
        if let Some(listener) = listener {
            let shared = Arc::clone(&shared);
            this.0.spawn("fed-accept", move || shared.accept(&listener))?;
        }
        for (peer, address) in connects {
            let shared = Arc::clone(&shared);
            this.0.spawn("fed-tcp", move || shared.connect(peer, address))?;
        }
        this.0.spawn("fed-time", move || shared.keep_time())?;
        Ok(this)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.shared
    }

    /// The address of the UDP socket.
    pub fn udp(&self) -> Option<SocketAddr> {
        self.0.shared.sender.as_ref().map(Sender::local)
    }

    /// Where connections of TCP are accepted.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.0.shared.listening
    }

    /// Offers a type of events; see [`Gateway::offer`].
    ///
    /// # Errors
    /// [`LimitError::Text`].
    pub fn offer(&self, kind: &str, schema: Option<Box<dyn Schema + Send>>) -> Result<KindId, LimitError> {
        lock(&self.0.shared.gateway).offer(kind, schema)
    }

    /// Whether anybody else subscribes to events of a type.
    pub fn is_wanted(&self, kind: KindId) -> bool {
        lock(&self.0.shared.gateway).is_wanted(kind)
    }

    /// Publishes an event, and sends it on this thread.
    ///
    /// # Errors
    /// It is too large, and is not sent.
    pub fn publish<F: Fields + ?Sized>(
        &self,
        kind: KindId,
        source: &str,
        header: Header,
        fields: &F,
        body: &[u8],
    ) -> Result<Published, TooLarge> {
        let published = lock(&self.0.shared.gateway).publish(kind, source, header, fields, body);
        self.0.shared.flush();
        published
    }

    /// Subscribes. `take` is called for each event of the type and source, whichever subscription of this process it came for: filters are those of
    /// the gateway of the publisher, and of the subscriber.
    ///
    /// # Errors
    /// A limit is reached.
    pub fn subscribe(
        &self,
        interest: Interest,
        take: impl Fn(Received<'_>) + Send + Sync + 'static,
    ) -> Result<Subscription, LimitError> {
        let shared = &self.0.shared;
        let mut takers = lock(&shared.takers);
        let id = lock(&shared.gateway).subscribe(interest.clone())?;
        Arc::make_mut(&mut takers).push(Taker { id, interest, take: Arc::new(take) });
        drop(takers);
        shared.flush();
        Ok(Subscription { shared: Arc::downgrade(shared), id })
    }

    /// Suspends the connection to a peer, or resumes it; see [`Gateway::suspend`].
    pub fn suspend(&self, peer: GatewayId, is_suspended: bool) {
        lock(&self.0.shared.gateway).suspend(peer, is_suspended);
        self.0.shared.flush();
    }

    /// Whether the connection to a peer works.
    pub fn is_up(&self, peer: GatewayId) -> bool {
        lock(&self.0.shared.gateway).is_up(peer)
    }

    /// Counts since the start.
    pub fn counts(&self) -> Counts {
        lock(&self.0.shared.gateway).counts()
    }

    /// The next thing that happened.
    pub fn next_notice(&self) -> Option<Notice> {
        lock(&self.0.shared.gateway).poll_notice()
    }
}

impl Owner {
    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
        let started = thread::Builder::new().name(name.to_owned()).spawn(run);
        lock(&self.threads).push(started.map_err(StartError::Thread)?);
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let ending = lock(&self.shared.ending);
        self.shared.is_over.store(true, Release);
        drop(ending);
        self.shared.ended.notify_all();
        self.shared.stoppers.iter().for_each(Stopper::stop);
        if let Some(mut address) = self.shared.listening {
            match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
                _ => {}
            }
            // Whatever becomes of it, the thread that accepts wakes.
            let _ = TcpStream::connect_timeout(&address, CONNECT);
        }
        *lock(&self.shared.wakes_at) = 0;
        self.shared.sooner.notify_all();
        let streams: Vec<_> = lock(&self.shared.streams).values().cloned().collect();
        let strangers = std::mem::take(&mut *lock(&self.shared.strangers));
        streams.iter().chain(&strangers).for_each(|stream| stream.end());
        let this = thread::current().id();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // The last handle may end in a call that one of the threads makes.
            if thread.thread().id() != this {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        Arc::make_mut(&mut lock(&shared.takers)).retain(|taker| taker.id != self.id);
        lock(&shared.gateway).unsubscribe(self.id);
        shared.flush();
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.is_over.load(Acquire)
    }

    /// Sends what there is to send, each datagram without the lock.
    fn flush(&self) {
        DATAGRAM.with_borrow_mut(|datagram| {
            let next = loop {
                let to = {
                    let mut gateway = lock(&self.gateway);
                    match gateway.poll_transmit(monotonic(), datagram) {
                        Some(to) => to,
                        None => break gateway.next_timeout(),
                    }
                };
                self.send(to, datagram);
            };
            let mut wakes_at = lock(&self.wakes_at);
            if next.is_some_and(|next| next < *wakes_at) {
                *wakes_at = next.unwrap_or(u64::MAX);
                self.sooner.notify_one();
            }
        });
    }

    fn send(&self, to: To, datagram: &[u8]) {
        let destination = match to {
            To::Peer(peer) => match self.addresses.get(&peer) {
                Some(address) => Destination::routed(*address),
                None => {
                    let stream = lock(&self.streams).get(&peer).cloned();
                    return stream.into_iter().for_each(|stream| stream.send(datagram));
                }
            },
            To::Group(group) => {
                let Some(address) = self.groups.get(&group) else { return };
                Destination { interface: self.interface, ..Destination::routed(*address) }
            }
        };
        if let Some(sender) = &self.sender {
            // What does not leave is lost, as on the way, and sent again.
            let _ = sender.send(datagram, &destination);
        }
    }

    /// A datagram has come.
    fn take(&self, datagram: &[u8], copies: &mut Copies) {
        copies.count = 0;
        let mut gateway = lock(&self.gateway);
        // What is acknowledged from here on is in good hands.
        let _handing_on = self.inside.enter(&gateway);
        gateway.handle_datagram(monotonic(), datagram, &mut |event| copies.add(&event));
        drop(gateway);
        self.flush();
        if copies.count == 0 {
            return;
        }
        let takers = Arc::clone(&*lock(&self.takers));
        for copy in copies.all.iter().take(copies.count) {
            let received = Received { source: &copy.source, header: copy.header, body: &copy.body };
            let fitting = takers.iter().filter(|taker| taker.interest.fits(&copy.kind, &copy.source));
            fitting.for_each(|taker| (taker.take)(received));
        }
    }

    fn receive(&self, receiver: &Receiver) {
        let (mut buffer, mut copies) = (vec![0; udp::MAX_DATAGRAM], Copies::default());
        while !self.is_over() {
            match receiver.receive(&mut buffer, Wait::Forever) {
                Ok(Came::Datagram(came)) => {
                    if let Some(datagram) = buffer.get(..came.octets) {
                        self.take(datagram, &mut copies);
                    }
                }
                Ok(Came::Stopped) => return,
                Ok(_) => {}
                // For lack of memory: others may have given some back by then.
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Wakes whenever something is due.
    fn keep_time(&self) {
        while !self.is_over() {
            // From here on, a thread that sends says when the next action is due.
            *lock(&self.wakes_at) = u64::MAX;
            lock(&self.gateway).handle_timeout(monotonic());
            self.flush();
            let mut wakes_at = lock(&self.wakes_at);
            let mut now = monotonic();
            while now < *wakes_at && !self.is_over() {
                let pause = Duration::from_nanos((*wakes_at - now).min(self.settings.lease));
                let waited = self.sooner.wait_timeout(wakes_at, pause);
                wakes_at = waited.unwrap_or_else(PoisonError::into_inner).0;
                now = monotonic();
            }
        }
    }
}

impl Copies {
    fn add(&mut self, event: &Event<'_>) {
        if self.count == self.all.len() {
            self.all.push(Copy::default());
        }
        if let Some(copy) = self.all.get_mut(self.count) {
            copy.kind.clear();
            copy.kind.push_str(event.kind);
            copy.source.clear();
            copy.source.push_str(event.source);
            copy.header = event.header;
            copy.body.clear();
            copy.body.extend_from_slice(event.body);
            self.count += 1;
        }
    }
}

impl std::fmt::Debug for Federated {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Federated {:?}", lock(&self.0.shared.gateway))
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Subscription {:?}", self.id)
    }
}
