//! Where submessages go: a snapshot that receiving threads read without a lock shared with discovery.
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rtps::familiar::Single;
use wire::{EntityId, Guid, GuidPrefix, Instant};

use super::lanes::{self, Exit, Lanes};
use super::reader::ReaderCell;
use super::speakers::Speaker;
use super::table::Table;
use super::writer::WriterCell;
use crate::lock::lock;

/// Everything that a datagram can reach.
#[derive(Clone, Default)]
pub(crate) struct Routes {
    /// The local writers.
    pub(crate) writers: Table<EntityId, Arc<WriterCell>>,
    /// The local readers.
    pub(crate) readers: Table<EntityId, Arc<ReaderCell>>,
    /// By writer, local or remote: the local readers that are matched with it.
    pub(crate) matched: Table<Guid, Route>,
    /// Where remote participants speak from.
    pub(crate) speakers: Table<GuidPrefix, Arc<Speaker>>,
}

/// The readers of one writer.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) readers: Vec<Arc<ReaderCell>>,
    /// Its signs of life, if its LIVELINESS has a lease.
    pub(crate) lease: Option<Arc<Lease>>,
}

/// Signs of life of a writer, noted without discovery's lock. Discovery is told before it looks whether the lease has ended.
pub(crate) struct Lease {
    heard: AtomicU64,
    told: AtomicU64,
    /// Discovery believes that it lives.
    alive: AtomicBool,
}

impl Lease {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { heard: AtomicU64::new(0), told: AtomicU64::new(0), alive: AtomicBool::new(true) })
    }

    /// Notes a sign of life; true if discovery has to be told at once.
    pub(crate) fn hear(&self, now: Instant) -> bool {
        self.heard.fetch_max(now.as_nanos(), Ordering::AcqRel);
        !self.alive.load(Ordering::Acquire)
    }

    /// The last sign of life, if discovery was not told of it.
    pub(crate) fn news(&self) -> Option<Instant> {
        let heard = self.heard.load(Ordering::Acquire);
        (self.told.swap(heard, Ordering::AcqRel) < heard).then(|| Instant::from_nanos(heard))
    }

    pub(crate) fn set_alive(&self, alive: bool) {
        self.alive.store(alive, Ordering::Release);
    }
}

/// The snapshot in force.
#[derive(Default)]
pub(crate) struct Snapshot {
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    routes: Arc<Routes>,
    lanes: Lanes,
}

/// Where a datagram goes.
pub(super) enum Way<'a> {
    /// To one reader.
    Lane(Single<'a>, Exit),
    /// It has to be interpreted.
    Routes(Arc<Routes>),
}

impl Snapshot {
    /// The routes as they are now. The lock is held for the time of a reference count.
    pub(crate) fn get(&self) -> Arc<Routes> {
        Arc::clone(&lock(&self.current).routes)
    }

    /// Where a datagram of another participant goes, as far as can be told without interpreting it.
    #[inline]
    pub(super) fn way<'a>(&self, from: SocketAddr, datagram: &'a [u8]) -> Way<'a> {
        let current = lock(&self.current);
        match current.lanes.find(from, datagram) {
            Some((single, exit)) => Way::Lane(single, exit),
            None => Way::Routes(Arc::clone(&current.routes)),
        }
    }

    /// `datagram` was interpreted with these routes by the participant `own`: the next one may be like it.
    pub(super) fn remember(&self, own: GuidPrefix, routes: &Arc<Routes>, from: SocketAddr, datagram: &[u8]) {
        let Some((familiar, exit)) = lanes::lane(own, routes, from, datagram) else { return };
        let mut current = lock(&self.current);
        // Changed meanwhile, they may lead elsewhere.
        if Arc::ptr_eq(&current.routes, routes) {
            current.lanes.remember(from, datagram, familiar, exit);
        }
    }

    /// Changes the routes; threads that have the former ones keep them until done.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Routes) -> R) -> R {
        let mut current = lock(&self.current);
        current.lanes = Lanes::default();
        change(Arc::make_mut(&mut current.routes))
    }
}
