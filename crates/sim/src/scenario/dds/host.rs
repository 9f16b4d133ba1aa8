//! The outside of a simulated participant: what it sends waits here for the network, and time is what the world says.
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dds::Bytes;
use dds::host::{Channel, Copied, Engine, Host, Sent};
use dds::links::Way;
use rtps::{Path, Transmit};
use wire::discovery::ParticipantData;
use wire::{Duration, GuidPrefix, Instant, Now};

use super::sharing::Sharing;

use crate::node::Outgoing;

/// How long an application is busy with what it got; one after the other, and again from the start. The longest is that of a
/// participant whose own threads take long to take over from one that has stopped reading.
const BUSY: [Duration; 4] =
    [Duration::ZERO, Duration::from_micros(50), Duration::from_millis(3), Duration::from_millis(35)];

/// When a datagram that found a ring full is offered again.
const RETRY: Duration = Duration::from_millis(1);

/// A host of one participant.
pub struct VirtualHost {
    now: Mutex<Now>,
    /// Where discovery and endpoints send from.
    ports: (u16, u16),
    wake_at: AtomicU64,
    /// When the engine is told of a rest, if something was handed in since the last.
    rest_at: AtomicU64,
    /// How many datagrams were handed in.
    read: AtomicU64,
    out: Mutex<VecDeque<Outgoing>>,
    engine: Mutex<Option<Arc<dyn Engine>>>,
    /// The engine is at work.
    inside: AtomicBool,
    /// The sockets take nothing now.
    full: AtomicBool,
    refused: AtomicU64,
    /// The process is gone: nothing leaves any more.
    dead: AtomicBool,
    closed: AtomicBool,
    /// With other participants of its machine.
    sharing: Option<Sharing>,
}

impl VirtualHost {
    /// A host that sends discovery's datagrams from one port and the endpoints' from another.
    pub fn new(now: Now, metatraffic: u16, user: u16) -> Arc<Self> {
        Self::with(now, metatraffic, user, None)
    }

    /// The same, perhaps with shared memory.
    pub(super) fn with(now: Now, metatraffic: u16, user: u16, sharing: Option<Sharing>) -> Arc<Self> {
        Arc::new(Self {
            now: Mutex::new(now),
            ports: (metatraffic, user),
            wake_at: AtomicU64::new(u64::MAX),
            rest_at: AtomicU64::new(u64::MAX),
            read: AtomicU64::new(0),
            out: Mutex::default(),
            engine: Mutex::default(),
            inside: AtomicBool::new(false),
            full: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            dead: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            sharing,
        })
    }

    /// The engine may be called from now on.
    pub fn start(&self, engine: Arc<dyn Engine>) {
        *lock(&self.engine) = Some(engine);
    }

    /// Calls the engine, if there still is one.
    pub fn call(&self, now: Now, call: impl FnOnce(&dyn Engine)) {
        self.set_now(now);
        let engine = lock(&self.engine).clone();
        if let Some(engine) = engine {
            self.inside.store(true, Ordering::Relaxed);
            call(&*engine);
            self.inside.store(false, Ordering::Relaxed);
        }
    }

    /// Hands in a datagram. Its application is busy with it for a while, from time to time.
    pub fn read(&self, now: Now, from: SocketAddr, bytes: &[u8]) {
        self.rest(now);
        self.call(now, |engine| engine.on_datagram(from, bytes));
        self.was_read(now);
    }

    /// Shared memory, if the participant has some.
    pub(super) const fn sharing(&self) -> Option<&Sharing> {
        self.sharing.as_ref()
    }

    /// Meets others of its machine, and hands in what lies in the rings, so much at most.
    ///
    /// # Errors
    /// The system has no shared memory.
    pub fn look(&self, now: Now, most: u64) -> Result<(), String> {
        let Some(sharing) = &self.sharing else { return Ok(()) };
        let mut met = Ok(());
        self.call(now, |engine| met = sharing.meet(now.monotonic, engine));
        for _ in 0..most {
            self.rest(now);
            let mut has_read = false;
            self.call(now, |engine| has_read = sharing.read(engine));
            if !has_read {
                break;
            }
            self.was_read(now);
        }
        met
    }

    fn was_read(&self, now: Now) {
        let count = self.read.fetch_add(1, Ordering::Relaxed);
        let busy = BUSY.get((count % BUSY.len() as u64) as usize).copied().unwrap_or(Duration::ZERO);
        self.rest_at.store(now.monotonic.after(busy).as_nanos(), Ordering::Relaxed);
    }

    /// Tells the engine of a rest, if one is due before the next datagram.
    pub fn rest(&self, now: Now) {
        if self.rest_at.swap(u64::MAX, Ordering::Relaxed) != u64::MAX {
            self.call(now, Engine::on_rest);
        }
    }

    /// When a rest is due.
    pub fn rest_at(&self) -> Instant {
        Instant::from_nanos(self.rest_at.load(Ordering::Relaxed))
    }

    /// The time that whatever follows happens at.
    pub fn set_now(&self, now: Now) {
        *lock(&self.now) = now;
    }

    /// When the engine wants to be woken.
    pub fn wish(&self) -> Instant {
        Instant::from_nanos(self.wake_at.load(Ordering::Relaxed))
    }

    /// Forgets the wish: the engine is about to be woken.
    pub fn clear_wish(&self) {
        self.wake_at.store(u64::MAX, Ordering::Relaxed);
    }

    /// The next datagram that leaves.
    pub fn next_outgoing(&self) -> Option<Outgoing> {
        lock(&self.out).pop_front()
    }

    /// From now on the sockets take nothing, or datagrams again.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    /// Datagrams that found a socket full.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The process ends without another word.
    pub fn kill(&self) {
        self.dead.store(true, Ordering::Relaxed);
        lock(&self.out).clear();
        self.sharing.iter().for_each(Sharing::close);
    }

    /// True once the participant has let go of its host.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

impl Host for VirtualHost {
    fn now(&self) -> Now {
        *lock(&self.now)
    }

    fn send(&self, channel: Channel, path: &Path, datagram: &Transmit<Bytes>) -> Sent {
        if self.dead.load(Ordering::Relaxed) {
            return Sent::Done;
        }
        if let (Some(link), Some(sharing)) = (path.link, &self.sharing) {
            match sharing.links.send(link, datagram, || self.now().monotonic) {
                Way::Taken => return Sent::Done,
                Way::Lost => {
                    sharing.lost.fetch_add(1, Ordering::Relaxed);
                    return Sent::Done;
                }
                Way::Full => {
                    sharing.full.fetch_add(1, Ordering::Relaxed);
                    self.wake_at(self.now().monotonic.after(RETRY));
                    return Sent::Full;
                }
                Way::Unfit | Way::Closed | Way::Nonsense(_) => {}
            }
        }
        if self.full.load(Ordering::Relaxed) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Sent::Full;
        }
        let port = match channel {
            Channel::Metatraffic => self.ports.0,
            Channel::User => self.ports.1,
        };
        let mut bytes = Vec::new();
        datagram.copy_to(&mut bytes);
        lock(&self.out).push_back(Outgoing { port: Some(port), paths: vec![*path], bytes });
        Sent::Done
    }

    fn copy(&self, link: NonZeroU32, datagram: &[u8]) -> Copied {
        let sharing = self.sharing.as_ref().filter(|_| !self.dead.load(Ordering::Relaxed));
        sharing.map_or(Copied::No, |sharing| sharing.links.copy(link, datagram))
    }

    fn lend(&self, len: usize) -> Option<shm::ChunkMut> {
        self.sharing.as_ref()?.links.lend(len)
    }

    fn matched(&self, participant: &ParticipantData) {
        if let Some(sharing) = &self.sharing {
            sharing.links.matched(participant);
        }
    }

    fn lost(&self, participant: GuidPrefix) {
        if let Some(sharing) = &self.sharing {
            sharing.links.lost(participant);
        }
    }

    fn tells_of_rest(&self) -> bool {
        true
    }

    fn wake_at(&self, at: Instant) {
        self.wake_at.fetch_min(at.as_nanos(), Ordering::Relaxed);
    }

    /// There is one thread for all: no call can wait here. Writers are made with a blocking time of zero.
    fn receive(&self, _: Instant, _: &dyn Fn() -> bool) -> bool {
        false
    }

    fn interrupt(&self) {}

    fn keep_own_thread(&self, _: bool) {}

    fn is_inside(&self) -> bool {
        self.inside.load(Ordering::Relaxed)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        *lock(&self.engine) = None;
        self.sharing.iter().for_each(Sharing::close);
    }

    fn report(&self) -> Vec<String> {
        Vec::new()
    }
}

/// One thread has all the locks; a panic ends the run anyway.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
