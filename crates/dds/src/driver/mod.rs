//! The host of a participant that runs on real sockets, clocks and threads.
//!
//! One thread for each socket blocks in its receive call and hands datagrams to the engine; one keeps the time; one watches the
//! interfaces. A thread that waits for data may read the endpoints' socket itself (`lead`), so that a round trip costs
//! one receive call and one send call at each side and no switch of threads.
//!
//! Calls of the engine nest: an engine's callback that waits ([`Host::receive`] on a thread that is inside) goes on reading the
//! socket of its thread, or goes on keeping the time, below the call that it is in. A datagram is then handed in while the one
//! before is still being handled, in a buffer of its own.
mod clock;
mod flows;
mod inside;
mod interfaces;
mod lead;
mod peers;
mod reach;
mod read;
mod report;
mod serve;
mod share;
mod sockets;
mod threads;
mod timer;

use std::net::SocketAddr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use dcps::{Error, ReturnCode};
use shm::Process;
use udp::{Buffer, Change, InterfaceWatch, SendError, SendFailure, Sender, WatchCaller};
use wire::Instant;

use crate::config::Config;
use crate::host::{Addresses, Engine, Host, Sent};
use crate::links::Links;
use crate::lock::lock;
use crate::thread::unique;
use flows::Flows;
use inside::{Duty, Inside};
use interfaces::Choice;
use lead::Seat;
use peers::Peers;
use read::Role;
use report::{Counts, Lines};
use sockets::Sockets;
use timer::{Due, Timer};

/// Sockets, threads and clocks of one participant.
#[derive(Debug)]
pub struct Driver {
    /// Names it in [`inside`].
    id: u64,
    domain_id: u32,
    participant_id: Option<u8>,
    /// Where others of this host may be, where no group reaches them.
    loopback_peers: Vec<SocketAddr>,
    config: Config,
    /// `None` after closing.
    open: RwLock<Option<Open>>,
    seat: Seat<Box<Role>>,
    /// Shared memory, if it is used.
    links: Option<Arc<Links>>,
    /// The right to read its rings.
    ring_seat: Seat<Box<Role>>,
    timer: Timer,
    /// The timer's thread keeps the time from inside of the engine.
    timer_pumps: AtomicBool,
    /// The routing table may choose otherwise than paths say.
    ambiguous: AtomicBool,
    closing: AtomicBool,
    /// That of the threads.
    process: Process,
    counts: Counts,
    flows: Flows,
    /// Buffers for reading from inside of the engine.
    spare: Mutex<Vec<Buffer>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    lines: Mutex<Lines>,
}

/// What closing lets go of.
struct Open {
    sockets: Arc<Sockets>,
    metatraffic: Senders,
    user: Senders,
    /// Take the place of `user` for a peer each.
    peers: Peers,
    /// `None` before the start.
    engine: Option<Arc<dyn Engine>>,
    /// `None` after the start: a thread has it.
    watch: Option<InterfaceWatch>,
    watch_caller: WatchCaller,
    addresses: Addresses,
}

#[derive(Clone, Debug)]
struct Senders {
    v4: Option<Sender>,
    v6: Option<Sender>,
}

/// When a datagram that the system had no memory for is offered again.
const RETRY: wire::Duration = wire::Duration::from_millis(1);
/// How long the watch of interfaces rests after its first error; doubles up to 64 times as much.
const WATCH_AGAIN: Duration = Duration::from_millis(50);
/// When waking a reader is tried again after it failed.
const WAKE_AGAIN: wire::Duration = wire::Duration::from_millis(100);

impl Driver {
    /// Binds the sockets of a participant of this domain and joins its groups. Nothing is received before [`Driver::start`].
    ///
    /// # Errors
    ///
    /// The errors of [`Config::check`]; `BAD_PARAMETER` for a domain above 232; `OUT_OF_RESOURCES` if the ports are taken;
    /// `PRECONDITION_NOT_MET` if no interface can be used, or none has multicast and no peer could be found without; `ERROR` for
    /// anything else that the system refuses.
    pub fn open(domain_id: u32, config: &Config) -> Result<Arc<Self>, Error> {
        config.check()?;
        let watch = InterfaceWatch::new()
            .map_err(|error| system("interfaces", error, "it needs netlink sockets and a few open files"))?;
        sockets::check_domain(domain_id)?;
        let choice = interfaces::choose(watch.known(), &config.network);
        if choice.is_empty() {
            return Err(choice.none_usable());
        }
        let sockets = Sockets::bind(domain_id, config)?;
        let joined = sockets.join(&choice.groups);
        let is_alone = config.network.multicast && joined.count == 0;
        let loopback_peers = if is_alone { choice.loopback_peers(domain_id) } else { Vec::new() };
        if is_alone && loopback_peers.is_empty() && config.discovery.static_peers.is_empty() {
            return Err(no_multicast(&choice, &joined.failures));
        }
        let timer =
            Timer::new().map_err(|error| system("timer", error, "it needs an open file: see ulimit -n"))?;
        let participant_id = sockets.participant_id;
        let sharing = &config.shared_memory;
        let links = sharing.enabled.then(|| share::links(sharing, watch.caller())).transpose();
        // Whatever is missing for it, UDP goes everywhere.
        let (links, no_links) = match links {
            Ok(links) => (links, None),
            Err(error) => (None, Some(format!("no shared memory, UDP is used: {error}"))),
        };
        let shared_memory = links.as_ref().map(|links| links.announced());
        let addresses =
            Addresses { shared_memory, ..reach::addresses(domain_id, &config.network, &choice, &sockets) };
        let ambiguous = AtomicBool::new(choice.ambiguous);
        let mut opened = report::opened(domain_id, config, &sockets);
        opened.extend(no_links.inspect(|why| tracing::warn!(domain_id, "{why}")));
        opened.iter().for_each(|line| tracing::debug!(domain_id, "{line}"));
        let interfaces = [choice.lines, joined.failures].concat();
        let senders = |pair: &sockets::Pair| Senders {
            v4: pair.v4.as_ref().map(udp::Socket::sender),
            v6: pair.v6.as_ref().map(udp::Socket::sender),
        };
        let open = Open {
            metatraffic: senders(&sockets.metatraffic),
            user: senders(&sockets.user),
            peers: Peers::default(),
            sockets: Arc::new(sockets),
            engine: None,
            watch_caller: watch.caller(),
            watch: Some(watch),
            addresses,
        };
        Ok(Arc::new(Self {
            id: unique(),
            domain_id,
            participant_id,
            loopback_peers,
            config: config.clone(),
            open: RwLock::new(Some(open)),
            seat: Seat::new(),
            links,
            ring_seat: Seat::new(),
            timer,
            timer_pumps: AtomicBool::new(false),
            ambiguous,
            closing: AtomicBool::new(false),
            process: Process::current(),
            counts: Counts::default(),
            flows: Flows::default(),
            spare: Mutex::new(Vec::new()),
            threads: Mutex::new(Vec::new()),
            lines: Mutex::new(Lines { opened, interfaces, ..Lines::default() }),
        }))
    }

    /// The participant id whose ports it has; `None` if those of all ids were taken and the system chose ports.
    pub fn participant_id(&self) -> Option<u8> {
        self.participant_id
    }

    /// Where participants 0 to 9 of this host listen for discovery, if only loopback is used and has no multicast, as with IPv6: they have to
    /// be announced to. Else empty.
    pub fn loopback_peers(&self) -> &[SocketAddr] {
        &self.loopback_peers
    }

    /// Where it can be reached, until [`Engine::on_network`] says otherwise.
    pub fn addresses(&self) -> Addresses {
        self.state().as_ref().map(|open| open.addresses.clone()).unwrap_or_default()
    }

    /// Starts the threads, once: from now on the engine is called, until [`Host::close`], without which they never end. They live
    /// in the network namespace of the calling thread, which has to be that of [`Driver::open`].
    ///
    /// # Errors
    ///
    /// `OUT_OF_RESOURCES` if the system refuses a thread; then the driver is closed. `PRECONDITION_NOT_MET` if it was started or
    /// closed before.
    pub fn start(self: &Arc<Self>, engine: Arc<dyn Engine>) -> Result<(), Error> {
        let (watch, receivers) = {
            let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
            let started = open.as_mut().and_then(|open| open.watch.take().map(|watch| (open, watch)));
            let Some((open, watch)) = started else {
                return Err(Error::new(
                    ReturnCode::PreconditionNotMet,
                    "driver",
                    "it was started or closed before",
                    "open another one",
                ));
            };
            open.engine = Some(Arc::clone(&engine));
            (watch, read::assignments(&open.sockets))
        };
        let mut starter = threads::Starter::new(&self.config.threads);
        let all = || {
            for (name, assignment) in receivers {
                let (driver, engine) = (Arc::clone(self), Arc::clone(&engine));
                starter.start(name, true, Box::new(move || driver.read(assignment, engine)))?;
            }
            let (driver, own) = (Arc::clone(self), Arc::clone(&engine));
            starter.start("timer", true, Box::new(move || driver.keep_time(&*own)))?;
            let driver = Arc::clone(self);
            starter.start("watch", false, Box::new(move || driver.watch(watch, &engine)))
        };
        let result = all();
        let (threads, lines) = starter.finish();
        self.lines().threads.extend(lines);
        lock(&self.threads).extend(threads);
        result.map_err(|error| {
            self.close();
            let what = format!("a thread was refused: {error}");
            Error::new(
                ReturnCode::OutOfResources,
                "threads",
                what,
                "see ulimit -u, and pids.max of the container",
            )
        })
    }

    /// The timer's thread.
    fn keep_time(&self, engine: &dyn Engine) {
        let senders = self.senders();
        let senders: Vec<&Sender> = senders.iter().collect();
        while !self.is_closing() {
            self.keep_time_once(Instant::NEVER, &senders, engine);
        }
    }

    fn keep_time_once(&self, limit: Instant, senders: &[&Sender], engine: &dyn Engine) -> Due {
        let due = self.timer.next(limit, senders);
        match due {
            Due::Engine if !self.is_closing() => {
                let _inside = Inside::enter(self.id, Duty::Timer);
                engine.on_timeout();
            }
            // Who reads leaves this behind: taking it back would cost the next one a call to set it.
            Due::Reader if self.is_read_by_others() && !self.wake_reader() => {
                self.timer.set_reader(clock::monotonic().after(WAKE_AGAIN));
            }
            Due::Engine | Due::Reader | Due::Limit | Due::Rung => {}
        }
        due
    }

    /// The timer's thread waits in a callback.
    fn keep_time_inside(&self, until: Instant, done: &dyn Fn() -> bool) -> bool {
        let Some(engine) = self.engine() else { return false };
        let senders = self.senders();
        let senders: Vec<&Sender> = senders.iter().collect();
        let before = self.timer_pumps.swap(true, SeqCst);
        fence(SeqCst);
        while !self.is_closing() && !done() && self.keep_time_once(until, &senders, &*engine) != Due::Limit {}
        self.timer_pumps.store(before, SeqCst);
        true
    }

    /// The thread that watches interfaces, and begins with shared memory when that is needed.
    fn watch(self: &Arc<Self>, mut watch: InterfaceWatch, engine: &Arc<dyn Engine>) {
        let mut known = self.addresses();
        let mut pause = WATCH_AGAIN;
        // Asked without a wait then: what it says is that watching works again.
        let mut after_error = false;
        loop {
            let again = self.begin_sharing(engine);
            match watch.next(std::mem::take(&mut after_error).then_some(Duration::ZERO).or(again)) {
                Ok(Change::Interfaces(found)) => {
                    self.lines().watch = None;
                    pause = WATCH_AGAIN;
                    let Some(addresses) = self.take_over(&found) else { return };
                    if addresses != known && !self.is_closing() {
                        known = addresses;
                        let _inside = Inside::enter(self.id, Duty::Other);
                        engine.on_network(&known);
                    }
                }
                Ok(Change::TimedOut | Change::Called) => {
                    self.lines().watch = None;
                    pause = WATCH_AGAIN;
                }
                Ok(Change::Stopped) => return,
                Err(error) => {
                    let line =
                        format!("changes of interfaces cannot be seen now, it is tried again: {error}");
                    tracing::warn!(domain_id = self.domain_id, "{line}");
                    self.lines().watch = Some(line);
                    if !watch.pause(pause) {
                        return;
                    }
                    pause = (pause * 2).min(WATCH_AGAIN * 64);
                    after_error = true;
                }
            }
        }
    }

    /// The interfaces are these now; `None` after closing.
    fn take_over(&self, found: &[udp::Interface]) -> Option<Addresses> {
        let choice = interfaces::choose(found, &self.config.network);
        self.ambiguous.store(choice.ambiguous, Relaxed);
        // Joining may wait for the system's own work on interfaces: senders are not to wait for it.
        let sockets = Arc::clone(&self.state().as_ref()?.sockets);
        let joined = sockets.join(&choice.groups);
        let network = &self.config.network;
        let shared_memory = self.links.as_ref().map(|links| links.announced());
        let addresses =
            Addresses { shared_memory, ..reach::addresses(self.domain_id, network, &choice, &sockets) };
        let lines = [choice.lines, joined.failures].concat();
        lines.iter().for_each(|line| tracing::info!(domain_id = self.domain_id, "{line}"));
        self.lines().interfaces = lines;
        self.change(|open| open.addresses = addresses.clone())?;
        self.forget_peers();
        Some(addresses)
    }

    /// What is told of a datagram; `None` if it was not sent and time does not help, which is counted.
    fn sent_along(&self, result: Result<(), SendError>, is_connected: bool) -> Option<Sent> {
        match result.map_err(|error| error.failure) {
            Ok(()) => Some(Sent::Done),
            Err(SendFailure::WouldBlock) if !is_connected => {
                self.timer.wait_for_room();
                Some(Sent::Full)
            }
            // The timer's thread waits at no connected socket.
            Err(SendFailure::WouldBlock | SendFailure::NoBuffer) => {
                self.timer.wish(clock::monotonic().after(RETRY));
                Some(Sent::Full)
            }
            Err(_) => None,
        }
    }

    /// Connects a socket to a peer, in the place of `sender`; without one the socket that there is has failed.
    fn meet(&self, peer: SocketAddr, sender: Option<&Sender>) {
        let Some(sockets) = self.state().as_ref().map(|open| Arc::clone(&open.sockets)) else { return };
        let port = if peer.is_ipv4() { &sockets.sending.v4 } else { &sockets.sending.v6 };
        let connected = sender.zip(port.as_ref());
        let connected = connected.and_then(|(sender, port)| sender.connected(peer, port).ok());
        self.change(|open| open.peers.set(peer, connected));
    }

    /// Addresses have changed, or a participant is gone: what is still needed is connected anew.
    fn forget_peers(&self) {
        // Sockets are closed when no thread is kept waiting by that.
        drop(self.change(|open| std::mem::take(&mut open.peers)));
    }

    fn change<R>(&self, change: impl FnOnce(&mut Open) -> R) -> Option<R> {
        self.open.write().unwrap_or_else(PoisonError::into_inner).as_mut().map(change)
    }

    /// Another thread reads the endpoints' socket in the place of its thread, or from inside, and so wants to be woken in time.
    fn is_read_by_others(&self) -> bool {
        self.seat.is_led()
    }

    /// Wakes the thread that reads the endpoints' socket; false if it cannot be done.
    fn wake_reader(&self) -> bool {
        let Some(waker) = self.state().as_ref().and_then(Open::waker) else { return false };
        let woken = waker.wake().is_ok();
        if !woken {
            self.counts.wake_errors.fetch_add(1, Relaxed);
        }
        woken
    }

    fn senders(&self) -> Vec<Sender> {
        let open = self.state();
        let pairs = open.iter().flat_map(|open| [&open.user, &open.metatraffic]);
        pairs.flat_map(|pair| pair.v4.iter().chain(&pair.v6)).cloned().collect()
    }

    fn engine(&self) -> Option<Arc<dyn Engine>> {
        self.state().as_ref().and_then(|open| open.engine.clone())
    }

    fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    fn state(&self) -> RwLockReadGuard<'_, Option<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Wakes the reader of the endpoints' socket that can be led.
    fn waker(&self) -> Option<udp::Waker> {
        read::led(&self.sockets).and_then(udp::Socket::waker)
    }
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("sockets", &self.sockets).finish_non_exhaustive()
    }
}

fn no_multicast(choice: &Choice, failures: &[String]) -> Error {
    let lines = [&choice.lines[..], failures].concat();
    Error::new(
        ReturnCode::PreconditionNotMet,
        "multicast",
        format!(
            "no interface that is used has multicast, and there are no static peers; {}",
            lines.join("; ")
        ),
        "give static peers, or use an interface with multicast (ip link set NAME multicast on), or multicast = false",
    )
}

fn system(place: &'static str, error: impl std::fmt::Display, advice: &'static str) -> Error {
    Error::new(ReturnCode::Error, place, error.to_string(), advice)
}
