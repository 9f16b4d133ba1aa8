//! A participant between its host and its API: discovery, readers and writers, each behind a lock of its own.
//!
//! Order of locks: that of an entity's QoS, discovery's, an endpoint's; never two endpoints'; none across a call of the host that sends
//! (`Host::copy` is none: it only copies), none in a callback. Discovery and endpoints share no lock on the way of a sample.
mod apply;
mod assurance;
pub(crate) mod builtin;
mod endpoints;
pub(crate) mod filters;
mod held;
mod lanes;
mod limits;
mod log;
mod paths;
pub(crate) mod reader;
mod router;
pub(crate) mod routes;
mod sessions;
mod settle;
mod signing;
mod speakers;
mod table;
mod timers;
mod token;
pub(crate) mod watch;
mod work;
pub(crate) mod write;
pub(crate) mod writer;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use dcps::status::StatusMask;
use dcps::{Error, ReturnCode};
use rtps::discovery::{Discovery, DiscoveryConfig, Mismatch};
use rtps::receiver::{interpret, interpret_own};
use shm::Process;
use wire::discovery::EndpointData;
use wire::{EntityId, Guid, GuidPrefix, Instant, Now, Timestamp};

use crate::bytes::Bytes;
use crate::entity::{deleted, of_parent_process};
use crate::host::{Addresses, Engine, Host};
use crate::lock::lock;
use crate::types::{Shared, SharedDirectory};
use assurance::Assurance;
use builtin::BuiltinReaders;
pub(crate) use endpoints::Subject;
use held::Held;
use paths::Paths;
use reader::ReaderCell;
use router::{Arrival, Router};
use routes::{Routes, Snapshot, Way};
use sessions::ToldSessions;
use timers::{Alarm, Timers};
use watch::{Callback, Watch};
use work::Work;
use writer::{OwnDatagram, WriterCell};

/// See the module.
pub(crate) struct Node {
    prefix: GuidPrefix,
    host: Arc<dyn Host>,
    discovery: Mutex<Discovery<Bytes>>,
    /// The types of its topics and of others; `None` if types are not announced.
    types: Option<SharedDirectory>,
    routes: Snapshot,
    timers: Timers,
    held: Held,
    paths: Paths,
    discovery_alarm: Arc<Alarm>,
    /// What discovery has found or lost, for threads that wait for it.
    pub(crate) found: Arc<Watch>,
    /// What it knew of endpoints when they were told last.
    endpoints_told: AtomicU64,
    next_key: AtomicU32,
    /// Bytes that the endpoints' socket can hold; 0 if unknown.
    receive_buffer: AtomicU32,
    max_datagram: u32,
    /// The host sends several datagrams by one call.
    segments: AtomicBool,
    assurance: Assurance,
    sessions: ToldSessions,
    /// What the participant announces before its USER_DATA: the share of its host.
    host_share: Vec<u8>,
    closed: AtomicBool,
    /// That of its threads; in a child nothing is done any more.
    process: Process,
    /// Gives the engine to the host, once it is enabled.
    start: Mutex<Option<Start>>,
    is_started: AtomicBool,
    /// Told of endpoints that do not match, and of participants that are gone.
    topics: OnceLock<Weak<dyn Topics>>,
    /// How many callbacks there are: while there are some, the host keeps a thread for them.
    listening: Mutex<usize>,
    /// The readers of built-in topics, once they were asked for.
    builtin: OnceLock<BuiltinReaders>,
    /// Datagrams that could not be read.
    malformed: AtomicU64,
    /// Datagrams for endpoints in the name of participants that do not speak from there.
    forged: AtomicU64,
    /// Answers and announcements that found the socket full; they are repeated in time.
    put_off: AtomicU64,
}

/// Gives the engine to the host.
pub(crate) type Start = Box<dyn FnOnce(Arc<dyn Engine>) -> Result<(), Error> + Send>;

/// What a participant keeps to besides QoS.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Most bytes of a datagram.
    pub(crate) datagram: u32,
    /// How long the verdict of a resource manager is waited for.
    pub(crate) patience: wire::Duration,
    /// With which requests are signed.
    pub(crate) credentials: Option<Arc<dyn wire::seal::Credentials>>,
    /// All writers and readers hear of their sessions over domains.
    pub(crate) hears_sessions: bool,
    /// Announced before USER_DATA.
    pub(crate) host_share: Vec<u8>,
}

/// The topics of a participant.
pub(crate) trait Topics: Send + Sync {
    /// Another endpoint does not match one of ours; gives the watches that have news by that.
    fn not_matched(&self, other: &EndpointData, reasons: &[Mismatch]) -> Vec<Arc<Watch>>;
    /// A participant is gone.
    fn participant_lost(&self, prefix: GuidPrefix);
}

impl Node {
    /// A participant without endpoints; its first announcement is due at once.
    pub(crate) fn new(
        host: Arc<dyn Host>,
        start: Start,
        config: DiscoveryConfig,
        addresses: &Addresses,
        limits: Limits,
    ) -> Result<Arc<Self>, Error> {
        let user_data = [&limits.host_share, config.user_data.as_slice()].concat();
        let config = DiscoveryConfig {
            user_data,
            metatraffic_unicast: addresses.metatraffic_unicast.clone(),
            metatraffic_multicast: addresses.metatraffic_multicast.clone(),
            default_unicast: addresses.default_unicast.clone(),
            default_multicast: addresses.default_multicast.clone(),
            shared_memory: addresses.shared_memory,
            sending_ports: addresses.sending_ports,
            ..config
        };
        let prefix = config.prefix;
        let types = config.type_lookup.then(SharedDirectory::default);
        let mut discovery = Discovery::new(config, addresses.network.clone()).map_err(|error| {
            let advice = "correct the configuration of the participant";
            Error::new(ReturnCode::BadParameter, "create_participant", error.to_string(), advice)
        })?;
        if let Some(types) = &types {
            discovery.set_types(Box::new(Shared(Arc::clone(types))));
        }
        Ok(Arc::new(Self {
            prefix,
            host,
            discovery: Mutex::new(discovery),
            types,
            routes: Snapshot::default(),
            timers: Timers::default(),
            held: Held::default(),
            paths: Paths::default(),
            discovery_alarm: Alarm::new(),
            found: Arc::default(),
            endpoints_told: AtomicU64::new(0),
            next_key: AtomicU32::new(1),
            receive_buffer: AtomicU32::new(addresses.receive_buffer.unwrap_or(0)),
            max_datagram: limits.datagram,
            segments: AtomicBool::new(false),
            sessions: ToldSessions::new(prefix, limits.hears_sessions, limits.credentials.clone()),
            assurance: Assurance::new(prefix, limits.patience, limits.credentials),
            host_share: limits.host_share,
            closed: AtomicBool::new(false),
            process: Process::current(),
            start: Mutex::new(Some(start)),
            is_started: AtomicBool::new(false),
            topics: OnceLock::new(),
            listening: Mutex::new(0),
            builtin: OnceLock::new(),
            malformed: AtomicU64::new(0),
            forged: AtomicU64::new(0),
            put_off: AtomicU64::new(0),
        }))
    }

    pub(crate) const fn prefix(&self) -> GuidPrefix {
        self.prefix
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.host
    }

    pub(crate) fn shared_host(&self) -> Arc<dyn Host> {
        Arc::clone(&self.host)
    }

    /// Takes part in the domain from now on; nothing happens if it does already.
    pub(crate) fn start(self: &Arc<Self>) -> Result<(), Error> {
        {
            let mut start = lock(&self.start);
            if let Some(start) = start.take() {
                start(Arc::clone(self) as _)?;
                self.is_started.store(true, Ordering::Release);
            } else if !self.is_started.load(Ordering::Acquire) {
                return Err(Error::new(
                    ReturnCode::PreconditionNotMet,
                    "enable a participant",
                    "it could not be started before",
                    "delete it, remove what was in the way then, and make another",
                ));
            }
        }
        self.command(|work| work.discovery = true);
        Ok(())
    }

    /// The types that it knows; `None` if types are compared by their names alone.
    pub(crate) const fn types(&self) -> Option<&SharedDirectory> {
        self.types.as_ref()
    }

    /// Names the topics.
    pub(crate) fn set_topics(&self, topics: Weak<dyn Topics>) {
        let _ = self.topics.set(topics);
    }

    /// Feeds these from now on; only once.
    pub(crate) fn set_builtin(&self, readers: BuiltinReaders) {
        let _ = self.builtin.set(readers);
    }

    /// Tells the readers of built-in topics what is known.
    pub(crate) fn update_builtin(&self) {
        self.command(|work| {
            let discovery = self.lock_discovery();
            if let Some(builtin) = self.builtin.get() {
                builtin.update(&discovery, self.host.now(), true, work);
            }
        });
    }

    /// Sets or takes away the callback of an entity, as `find` says. Waits for a call of the former one, unless that is where this is
    /// called from.
    pub(crate) fn set_callback(&self, watch: &Watch, find: impl FnOnce() -> (StatusMask, Option<Callback>)) {
        if self.is_of_parent_process() {
            return;
        }
        let former;
        {
            let mut listening = lock(&self.listening);
            let before = *listening;
            let is_there;
            (former, is_there) = watch.set_callback(find);
            match (former.is_some(), is_there) {
                (false, true) => *listening = before.saturating_add(1),
                (true, false) => *listening = before.saturating_sub(1),
                _ => {}
            }
            if (before == 0) != (*listening == 0) {
                self.host.keep_own_thread(before == 0);
            }
        }
        watch.wait_for_call();
        drop(former);
    }

    /// Announces other USER_DATA.
    pub(crate) fn set_user_data(&self, user_data: &[u8], work: &mut Work) {
        self.lock_discovery().set_user_data(&[&self.host_share, user_data].concat());
        work.discovery = true;
    }

    /// Looks after a writer that was changed from outside.
    pub(crate) fn touch_writer(&self, cell: &Arc<WriterCell>) {
        self.command(|work| work.touch_writer(cell));
    }

    /// Looks after a reader that was changed from outside.
    pub(crate) fn touch_reader(&self, cell: &Arc<ReaderCell>) {
        self.command(|work| work.touch_reader(cell));
    }

    pub(crate) fn routes(&self) -> Arc<Routes> {
        self.routes.get()
    }

    /// What is known of the domain. No endpoint may be locked by this thread.
    pub(crate) fn lock_discovery(&self) -> MutexGuard<'_, Discovery<Bytes>> {
        lock(&self.discovery)
    }

    /// Datagrams that could not be read, and answers and announcements that found the socket full.
    pub(crate) fn troubles(&self) -> (u64, u64) {
        (self.malformed.load(Ordering::Relaxed), self.put_off.load(Ordering::Relaxed))
    }

    /// Counts a datagram in the name of a participant that does not speak from there.
    fn note_forged(&self) {
        self.forged.fetch_add(1, Ordering::Relaxed);
    }

    /// How many of those there were.
    pub(crate) fn forged(&self) -> u64 {
        self.forged.load(Ordering::Relaxed)
    }

    /// True if it was closed, and in a process that was forked from that of its threads.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) || self.is_of_parent_process()
    }

    pub(crate) fn is_of_parent_process(&self) -> bool {
        !self.process.is_current()
    }

    /// `PreconditionNotMet` in a process that was forked from that of its threads.
    pub(crate) fn check_process(&self, operation: &'static str) -> Result<(), Error> {
        if self.process.is_current() { Ok(()) } else { Err(of_parent_process(operation)) }
    }

    /// As [`Node::check_process`], and `AlreadyDeleted` if it was closed.
    pub(crate) fn check_open(&self, operation: &'static str) -> Result<(), Error> {
        self.check_process(operation)?;
        if self.is_closed() { Err(deleted(operation)) } else { Ok(()) }
    }

    /// Runs a command, then everything that it has touched.
    pub(crate) fn command<R>(&self, command: impl FnOnce(&mut Work) -> R) -> R {
        let mut work = Work::take();
        let result = command(&mut work);
        self.settle(&mut work);
        work.give();
        result
    }

    /// Leaves the domain: says goodbye, lets go of all endpoints and of the host.
    pub(crate) fn close(&self) {
        if self.is_of_parent_process() || self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        // What waits for company goes now.
        self.on_rest();
        let now = self.host.now();
        self.command(|work| self.routes().writers.values().for_each(|cell| self.last_words(cell, work)));
        self.command(|work| {
            self.lock_discovery().shutdown(now);
            work.discovery = true;
        });
        let routes = self.routes.change(std::mem::take);
        for cell in routes.writers.values() {
            cell.lock().deleted = true;
            cell.wake_blocked(self.host());
            cell.watch.wake_waiters();
        }
        for cell in routes.readers.values() {
            cell.lock().deleted = true;
            cell.watch.wake_waiters();
        }
        if let Some(builtin) = self.builtin.get() {
            builtin.close();
        }
        self.found.wake_waiters();
        self.host.close();
    }

    /// A datagram of another participant, which the kernel got at that time, if it says so.
    fn take_in(
        &self,
        from: SocketAddr,
        datagram: &[u8],
        received: Option<Timestamp>,
        buffer: Option<&Arc<Vec<u8>>>,
    ) {
        let now = self.host.now();
        self.command(|work| {
            work.set_time(Some(now));
            let waited = received.map(|received| {
                let waited = now.wall.as_nanos().saturating_sub(received.as_nanos());
                wire::Duration::from_nanos(waited.max(0))
            });
            // That is the reception time of its samples, too.
            let now = Now { wall: received.unwrap_or(now.wall), ..now };
            let arrival = Arrival { now, waited, buffer };
            let routes = match self.routes.way(from, datagram) {
                Way::Lane(single, exit) => {
                    return self.take_single(&single, from, exit, &arrival, work);
                }
                Way::Routes(routes) => routes,
            };
            let linked = speakers::linked(from, datagram);
            let mut router = Router::new(self, &routes, arrival, work).by_link(linked);
            if interpret(self.prefix, from, datagram, &mut router).is_err() {
                self.malformed.fetch_add(1, Ordering::Relaxed);
            } else {
                drop(router);
                self.routes.remember(self.prefix, &routes, from, datagram);
            }
        });
    }

    /// A datagram of one of our own endpoints to another.
    fn deliver_own(&self, datagram: &OwnDatagram, work: &mut Work) {
        let (now, routes) = (self.host.now(), self.routes());
        let arrival = Arrival { now, waited: None, buffer: None };
        let mut router = Router::new(self, &routes, arrival, work).of_own(datagram);
        let read = interpret_own(self.prefix, &datagram.octets, &mut router);
        debug_assert!(read.is_ok(), "our own machines write what can be read");
    }

    /// Part of a guid that no endpoint of ours has had; after 2^24 endpoints keys come round, and those in use are passed over.
    fn next_id(&self, kind: wire::EntityKind) -> EntityId {
        loop {
            let key = self.next_key.fetch_add(1, Ordering::Relaxed) & 0xff_ffff;
            let id = EntityId::user(key, kind);
            if key != 0 && self.lock_discovery().endpoint(Guid::new(self.prefix, id)).is_none() {
                return id;
            }
        }
    }
}

impl Engine for Node {
    fn on_datagram(&self, from: SocketAddr, datagram: &[u8]) {
        self.take_in(from, datagram, None, None);
    }

    fn on_datagram_at(&self, from: SocketAddr, datagram: &[u8], received: Timestamp) {
        self.take_in(from, datagram, Some(received), None);
    }

    fn on_kept_datagram(&self, from: SocketAddr, buffer: &Arc<Vec<u8>>, len: usize) {
        self.take_in(from, buffer.get(..len).unwrap_or_default(), None, Some(buffer));
    }

    fn on_rest(&self) {
        if self.held.is_any() {
            self.command(|work| self.held.release(self.host.now(), |cell| work.touch_reader(cell)));
        }
    }

    fn on_timeout(&self) {
        self.command(|work| {
            let now = self.host.now().monotonic;
            while let Some(id) = self.timers.pop(now) {
                // Those of now: the endpoint of an alarm may be younger than the last look.
                let routes = self.routes();
                if id == EntityId::PARTICIPANT {
                    work.discovery = true;
                } else if id == assurance::ALARM || id == sessions::ALARM {
                    work.assurance = true;
                } else if let Some(cell) = routes.writers.get(&id) {
                    work.touch_writer(cell);
                } else if let Some(cell) = routes.readers.get(&id) {
                    work.touch_reader(cell);
                }
            }
        });
        let next = self.timers.next();
        if next != Instant::NEVER {
            self.host.wake_at(next);
        }
    }

    fn on_network(&self, addresses: &Addresses) {
        let now = self.host.now();
        self.receive_buffer.store(addresses.receive_buffer.unwrap_or(0), Ordering::Relaxed);
        self.command(|work| {
            self.lock_discovery().set_network(
                now,
                addresses.network.clone(),
                addresses.metatraffic_unicast.clone(),
                addresses.default_unicast.clone(),
            );
            self.renew_flows(addresses, work);
            work.discovery = true;
        });
    }

    fn on_link(&self, participant: GuidPrefix, link: Option<NonZeroU32>) {
        let now = self.host.now();
        self.command(|work| {
            self.lock_discovery().set_link(now, participant, link);
            work.discovery = true;
        });
    }
}
