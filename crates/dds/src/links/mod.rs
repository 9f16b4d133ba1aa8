//! Shared memory with participants of other processes of this host.
//!
//! A *link* is a ring each way ([`shm`]). Datagrams of the endpoints take it instead of a socket where their path names it; discovery
//! and everything else stay with UDP. Of the driver one thread reads all rings, or the leading thread; another one meets the others
//! ([`Encounters`]) and says to the engine which links there are. A link that ends loses what lies in it; the writers' histories have it. It is
//! made again if the other participant lives.
mod buffers;
mod caller;
mod door;
mod encounter;
mod greeting;
mod identity;
mod link;
mod places;

use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use rtps::Transmit;
use shm::{ChunkMut, Chunks, Doorbell, Nonsense, SegmentError};
use wire::GuidPrefix;
use wire::discovery::{ParticipantData, SharedMemory};
use wire::sorted::SortedMap;

use crate::bytes::Bytes;
use crate::config::SharedMemoryConfig;
use crate::host::Copied;
use buffers::Buffers;
use caller::Caller;
pub use caller::Ring;
pub use encounter::{Encounters, Tell};
pub use greeting::{Connection, Connections};
pub(crate) use identity::{name, own as own_identity};
use link::Link;
pub use link::{Got, Way};

/// Most links of a participant; others are reached by UDP.
const MOST: usize = 64;
/// A spinning thread looks at the rings so often before it looks at the clock, which takes as long as some of that.
const LOOKS: usize = 16;
/// A thread that waits for datagrams looks again after so long, also without a ring: a process may die between writing and ringing, and a
/// hostile one may keep others from being heard.
const LOOK: Duration = Duration::from_millis(250);

/// All links of a participant. Nothing of the system is taken before a process is found that can be met, and nothing kept after [`Links::close`].
#[derive(Debug)]
pub struct Links {
    announced: SharedMemory,
    config: SharedMemoryConfig,
    open: RwLock<Option<Open>>,
    /// Where reading goes on, so that each gets its turn.
    turn: AtomicUsize,
    /// How many links there are.
    count: AtomicUsize,
    closed: AtomicBool,
    caller: Caller,
    /// Why there is no link with a participant that could have one.
    reasons: Mutex<SortedMap<GuidPrefix, String>>,
    lost: AtomicU64,
    /// Connections of other users, which were closed.
    refused: AtomicU64,
    /// What keeps others from being met, while it does.
    trouble: Mutex<Option<String>>,
}

/// What closing lets go of.
#[derive(Debug)]
struct Open {
    doorbell: Arc<Doorbell>,
    /// Where samples are written that others copy out: as long as one is held, the memory lasts.
    chunks: Arc<Chunks>,
    /// What others are given of it.
    chunks_file: Arc<OwnedFd>,
    /// Where large datagrams are put.
    buffers: Mutex<Buffers>,
    /// In the order of their numbers.
    table: Vec<Arc<Link>>,
}

impl Open {
    fn new(announced: &SharedMemory, config: &SharedMemoryConfig) -> Result<Self, SegmentError> {
        let (chunks, file) = Chunks::new(announced.nonce, config.loans as usize)?;
        Ok(Self {
            doorbell: Arc::new(Doorbell::new()?),
            chunks,
            chunks_file: Arc::new(file),
            buffers: Mutex::default(),
            table: Vec::new(),
        })
    }

    fn find(&self, number: NonZeroU32) -> Option<&Arc<Link>> {
        let place = self.table.binary_search_by_key(&number, |link| link.number).ok()?;
        self.table.get(place)
    }
}

impl Links {
    /// For a participant that announces this. `ring` is called when [`Links::begin`] is needed.
    pub fn new(announced: SharedMemory, config: &SharedMemoryConfig, ring: Ring) -> Arc<Self> {
        Arc::new(Self {
            announced,
            config: *config,
            open: RwLock::default(),
            turn: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            caller: Caller::new(ring),
            reasons: Mutex::default(),
            lost: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            trouble: Mutex::default(),
        })
    }

    /// True if a process can be met, and [`Links::begin`] has not been successful.
    pub fn is_to_begin(&self) -> bool {
        self.caller.is_to_begin()
    }

    /// Takes what is needed to share memory. From now on `ring` calls the owner of the [`Encounters`].
    ///
    /// # Errors
    ///
    /// What the system refused, and what to do; then it can be tried again.
    pub fn begin(&self, ring: Ring) -> Result<(), String> {
        let open = Open::new(&self.announced, &self.config)
            .map_err(|error| format!("{error} (it needs memfd_create, or switch shared memory off)"))?;
        let mut now_open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if !self.is_closed() {
            *now_open = Some(open);
            self.caller.begin(ring);
        }
        Ok(())
    }

    /// True if the owner of the [`Encounters`] was called, and has made no step since.
    pub fn has_wishes(&self) -> bool {
        self.caller.has_wishes()
    }

    /// What is announced.
    pub const fn announced(&self) -> SharedMemory {
        self.announced
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// True if there is a link: then a thread that waits for data had better wait here than for a socket.
    pub fn is_used(&self) -> bool {
        self.count() > 0
    }

    /// There are endpoints of this participant to exchange samples with.
    pub fn matched(&self, participant: &ParticipantData) {
        let Some(memory) = participant.shared_memory.filter(|memory| memory.host == self.announced.host)
        else {
            return;
        };
        match identity::obstacle(&self.announced, &memory) {
            Some(why) => self.note(participant.prefix, why),
            None => self.caller.meet(participant.prefix, memory),
        }
    }

    /// A participant is gone.
    pub fn lost(&self, prefix: GuidPrefix) {
        self.reasons().remove(&prefix);
        self.caller.leave(prefix);
    }

    /// Memory that the others can copy a sample out of, if there are some and it is left.
    pub fn lend(&self, len: usize) -> Option<ChunkMut> {
        if !self.is_used() {
            return None;
        }
        self.read().as_ref()?.chunks.lend(len)
    }

    /// Sends a datagram, or a train of them, along a link. The time is asked for where the ring is full: it is waited for as long as a socket
    /// would be, up to 50 ms.
    pub fn send(
        &self,
        number: NonZeroU32,
        datagram: &Transmit<Bytes>,
        now: impl FnOnce() -> wire::Instant,
    ) -> Way {
        let open = self.read();
        let Some((open, link)) = open.as_ref().and_then(|open| Some((open, open.find(number)?))) else {
            return Way::Closed;
        };
        let way = link.send(datagram, &open.chunks, now);
        match way {
            Way::Lost => {
                self.lost.fetch_add(1, Relaxed);
            }
            Way::Nonsense(nonsense) => self.give_up(link, nonsense),
            _ => {}
        }
        way
    }

    /// Writes a datagram into the ring of a link, if it goes there at once.
    pub fn copy(&self, number: NonZeroU32, datagram: &[u8]) -> Copied {
        let open = self.read();
        let link = open.as_ref().and_then(|open| open.find(number));
        link.map_or(Copied::No, |link| link.copy(datagram))
    }

    /// Wakes the other side of a link if it sleeps.
    pub fn ring(&self, number: NonZeroU32) {
        if let Some(link) = self.find(number) {
            link.ring();
        }
    }

    /// Copies the next datagram that lies in a ring out: into the front of `buffer`, or, a large one, into one that can be kept.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<Got> {
        self.receive_of(self.read(), buffer)
    }

    fn receive_of(&self, guard: RwLockReadGuard<'_, Option<Open>>, buffer: &mut [u8]) -> Option<Got> {
        let Open { table, buffers, .. } = guard.as_ref()?;
        let count = table.len();
        let first = self.turn.load(Relaxed);
        let first = if first < count { first } else { 0 };
        let mut over = None;
        let mut found = None;
        for place in (first..count).chain(0..first) {
            let Some(link) = table.get(place) else { continue };
            // Asked before: what the other side wrote until it ended is read before the link is forgotten.
            let was_open = link.is_open();
            match link.receive(buffer, buffers) {
                Ok(Some(got)) => {
                    // The next look begins here again, unless others have been kept waiting for a while.
                    let next = if link.has_had_its_turn() { place.wrapping_add(1) } else { place };
                    self.turn.store(next, Relaxed);
                    found = Some(got);
                    break;
                }
                Ok(None) if !was_open => over = Some(link.number),
                Ok(None) => {}
                Err(nonsense) => {
                    self.give_up(link, nonsense);
                    over = Some(link.number);
                }
            }
        }
        drop(guard);
        if let Some(number) = over {
            // Others that have ended are found by the next look.
            self.remove(number);
        }
        found
    }

    /// Waits until there may be something to receive, or until [`Links::wake`], `limit` at most. Gives it as [`Links::receive`] does, or none
    /// if it is not yet known what there is.
    pub fn wait(&self, limit: Duration, buffer: &mut [u8]) -> Option<Got> {
        // To say that it sleeps, and that it does not, would cost those who ring a system call.
        if !self.config.spin.is_zero()
            && let Some(got) = self.spin(buffer)
        {
            return Some(got);
        }
        let doorbell = self.doorbell()?;
        doorbell.sleep(limit.min(LOOK), || self.is_ready() || self.is_closed());
        None
    }

    /// Looks for as long as it is configured.
    fn spin(&self, buffer: &mut [u8]) -> Option<Got> {
        let begun = Instant::now();
        while begun.elapsed() < self.config.spin {
            // Who changes the table waits for no more than these looks.
            let guard = self.read();
            let Open { table, doorbell, .. } = guard.as_ref()?;
            for _ in 0..LOOKS {
                if table.iter().any(|link| link.is_ready()) {
                    return self.receive_of(guard, buffer);
                }
                if doorbell.is_woken() {
                    return None;
                }
                std::hint::spin_loop();
            }
        }
        None
    }

    /// Ends a [`Links::wait`].
    pub fn wake(&self) {
        if let Some(doorbell) = self.doorbell() {
            doorbell.wake();
        }
    }

    /// True after [`Links::close`].
    pub fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }

    /// No more is sent or received. What threads that are in it still have ends with them, and loans with their owners.
    pub fn close(&self) {
        self.closed.store(true, SeqCst);
        let open = self.open.write().unwrap_or_else(PoisonError::into_inner).take();
        self.count.store(0, Relaxed);
        self.caller.close();
        if let Some(open) = open {
            open.doorbell.wake();
        }
    }

    /// What people should know, a line each.
    pub fn report(&self) -> Vec<String> {
        let table = self.read().as_ref().map(|open| open.table.clone()).unwrap_or_default();
        let link = |link: &Arc<Link>| {
            format!("shared memory with {}: link {}{}", link.prefix, link.number, link.sent())
        };
        let mut lines: Vec<String> = table.iter().map(link).collect();
        let reasons = self.reasons();
        lines.extend(reasons.iter().map(|(prefix, why)| format!("no shared memory with {prefix}: {why}")));
        if let lost @ 1.. = self.lost.load(Relaxed) {
            lines
                .push(format!("{lost} datagrams were lost because a process did not read its shared memory"));
        }
        if let refused @ 1.. = self.refused.load(Relaxed) {
            lines.push(format!("shared memory: {refused} connections of other users were refused"));
        }
        lines.extend(
            self.trouble().as_ref().map(|trouble| format!("no shared memory, UDP is used: {trouble}")),
        );
        lines
    }

    /// What keeps others from being met now; `None` if nothing does.
    pub fn set_trouble(&self, trouble: Option<String>) {
        let mut told = self.trouble();
        if let Some(trouble) = trouble.as_ref().filter(|_| *told != trouble) {
            tracing::warn!("no shared memory, UDP is used: {trouble}");
        }
        *told = trouble;
    }

    fn trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if something lies in a ring.
    pub fn is_ready(&self) -> bool {
        self.read().as_ref().is_some_and(|open| open.table.iter().any(|link| link.is_ready()))
    }

    fn find(&self, number: NonZeroU32) -> Option<Arc<Link>> {
        self.read().as_ref()?.find(number).cloned()
    }

    fn doorbell(&self) -> Option<Arc<Doorbell>> {
        self.read().as_ref().map(|open| Arc::clone(&open.doorbell))
    }

    /// The chunks as others get them.
    fn chunks_file(&self) -> Option<Arc<OwnedFd>> {
        self.read().as_ref().map(|open| Arc::clone(&open.chunks_file))
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Link>>)) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = open.as_mut() else { return };
        change(&mut open.table);
        self.count.store(open.table.len(), Relaxed);
    }

    fn add(&self, link: Arc<Link>) {
        self.change(|table| table.push(link));
        self.wake();
    }

    fn remove(&self, number: NonZeroU32) {
        self.change(|table| table.retain(|link| link.number != number));
    }

    /// The other side is not to be believed any more. The engine is told by the thread that meets others.
    fn give_up(&self, link: &Link, nonsense: Nonsense) {
        if link.is_open() {
            link.close();
            self.note(link.prefix, format!("given up: {nonsense}"));
            self.caller.give_up(link.number);
        }
    }

    fn note(&self, prefix: GuidPrefix, why: String) {
        let mut reasons = self.reasons();
        if reasons.get(&prefix) != Some(&why) {
            tracing::warn!(participant = %prefix, why, "no shared memory");
        }
        if reasons.len() < MOST || reasons.contains_key(&prefix) {
            reasons.insert(prefix, why);
        }
    }

    fn reasons(&self) -> MutexGuard<'_, SortedMap<GuidPrefix, String>> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
