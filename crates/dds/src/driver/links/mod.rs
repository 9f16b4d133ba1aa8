//! Shared memory with participants of other processes of this host.
//!
//! A *link* is a ring each way ([`shm`]). Datagrams of the endpoints take it instead of a socket where their path names it; discovery
//! and everything else stay with UDP. One thread reads all rings, or whoever leads it (`lead`); another one meets the others
//! (`encounter`) and says to the engine which links there are. A link that ends loses what lies in it; the writers' histories have it. It is
//! made again if the other participant lives.
mod buffers;
mod door;
mod encounter;
mod identity;
mod link;
mod places;

use std::num::NonZeroU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use dcps::{Error, ReturnCode};
use rtps::Transmit;
use rtps::sorted::SortedMap;
use shm::{ChunkMut, Chunks, Doorbell, Meeting, Nonsense};
use wire::GuidPrefix;
use wire::discovery::{ParticipantData, SharedMemory};

use crate::bytes::Bytes;
use crate::config::SharedMemoryConfig;
use crate::driver::system;
use crate::host::Copied;
use buffers::Buffers;
use encounter::{Caller, Wish};
use link::Link;
pub(super) use link::{Got, Way};

/// Most links of a participant; others are reached by UDP.
const MOST: usize = 64;
/// Who spins looks at the rings so often before it looks at the clock, which takes as long as some of that.
const LOOKS: usize = 16;
/// Who waits for datagrams looks again after so long, also if nobody rings: a process may die between writing and ringing, and a
/// hostile one may keep others from being heard.
const LOOK: Duration = Duration::from_millis(250);

/// All links of a participant.
#[derive(Debug)]
pub(super) struct Links {
    announced: SharedMemory,
    config: SharedMemoryConfig,
    doorbell: Doorbell,
    /// Where samples are written that others copy out.
    chunks: Arc<Chunks>,
    /// Where large datagrams are put.
    buffers: Mutex<Buffers>,
    /// In the order of their numbers.
    table: RwLock<Arc<Vec<Arc<Link>>>>,
    /// Where reading goes on, so that each gets its turn.
    turn: AtomicUsize,
    /// How many links there are.
    count: AtomicUsize,
    closed: AtomicBool,
    caller: Caller,
    /// Where to listen, until the thread that meets others has it.
    meeting: Mutex<Option<Meeting>>,
    /// Why there is no link with a participant that could have one.
    reasons: Mutex<SortedMap<GuidPrefix, String>>,
    lost: AtomicU64,
    /// Connections of other users, which were closed.
    refused: AtomicU64,
    /// What keeps others from being met, while it does.
    trouble: Mutex<Option<String>>,
}

impl Links {
    /// Nobody is met before [`Links::meet_others`] runs.
    pub(super) fn open(config: &SharedMemoryConfig) -> Result<Arc<Self>, Error> {
        let failed = |what: String| {
            let advice = "mount /proc and allow memfd_create, or switch shared memory off";
            Error::new(ReturnCode::Error, "shared memory", what, advice)
        };
        let announced = identity::own().map_err(|error| failed(error.to_string()))?;
        let meeting = Meeting::new(&identity::name(announced.nonce))
            .map_err(|error| system("shared memory", error, "it needs local sockets and a few open files"))?;
        Ok(Arc::new(Self {
            announced,
            config: *config,
            doorbell: Doorbell::new().map_err(|error| failed(error.to_string()))?,
            chunks: Chunks::new(announced.nonce, config.loans as usize)
                .map_err(|error| failed(error.to_string()))?,
            buffers: Mutex::default(),
            table: RwLock::default(),
            turn: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            caller: Caller::new().map_err(|error| {
                system("shared memory", error, "it needs a few open files: see ulimit -n")
            })?,
            meeting: Mutex::new(Some(meeting)),
            reasons: Mutex::default(),
            lost: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            trouble: Mutex::default(),
        }))
    }

    /// What is announced.
    pub(super) const fn announced(&self) -> SharedMemory {
        self.announced
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// True if there is a link: then whoever waits for data had better wait here than for a socket.
    pub(super) fn is_used(&self) -> bool {
        self.count() > 0
    }

    /// A participant was found, or announces something else.
    pub(super) fn found(&self, participant: &ParticipantData) {
        if let Some(memory) = participant.shared_memory {
            self.caller.call(Wish::Meet(participant.prefix, memory));
        }
    }

    /// A participant is gone.
    pub(super) fn lost(&self, prefix: GuidPrefix) {
        self.caller.call(Wish::Leave(prefix));
    }

    /// Memory that the others can copy a sample out of, if some is left.
    pub(super) fn lend(&self, len: usize) -> Option<ChunkMut> {
        self.chunks.lend(len)
    }

    /// Sends a datagram, or a train of them, along a link.
    pub(super) fn send(&self, number: NonZeroU32, datagram: &Transmit<Bytes>) -> Way {
        let table = self.read();
        let place = table.binary_search_by_key(&number, |link| link.number);
        let Some(link) = place.ok().and_then(|place| table.get(place)) else { return Way::Closed };
        let way = link.send(datagram, &self.chunks);
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
    pub(super) fn copy(&self, number: NonZeroU32, datagram: &[u8]) -> Copied {
        let table = self.read();
        let place = table.binary_search_by_key(&number, |link| link.number);
        let link = place.ok().and_then(|place| table.get(place));
        link.map_or(Copied::No, |link| link.copy(datagram))
    }

    /// Wakes the other side of a link if it sleeps.
    pub(super) fn ring(&self, number: NonZeroU32) {
        if let Some(link) = self.find(number) {
            link.ring();
        }
    }

    /// Copies the next datagram that lies in a ring out: into the front of `buffer`, or, a large one, into one that can be kept.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Option<Got> {
        self.receive_of(self.read(), buffer)
    }

    fn receive_of(&self, table: RwLockReadGuard<'_, Arc<Vec<Arc<Link>>>>, buffer: &mut [u8]) -> Option<Got> {
        let count = table.len();
        let first = self.turn.load(Relaxed);
        let first = if first < count { first } else { 0 };
        let mut over = None;
        let mut found = None;
        for place in (first..count).chain(0..first) {
            let Some(link) = table.get(place) else { continue };
            // Asked before: what the other side wrote until it ended is read before the link is forgotten.
            let was_open = link.is_open();
            match link.receive(buffer, &self.buffers) {
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
        drop(table);
        if let Some(number) = over {
            // Others that have ended are found by the next look.
            self.remove(number);
        }
        found
    }

    /// Waits until there may be something to receive, or until [`Links::wake`], `limit` at most. Gives it as [`Links::receive`] does, or none
    /// if it is not yet known what there is.
    pub(super) fn wait(&self, limit: Duration, buffer: &mut [u8]) -> Option<Got> {
        // To say that it sleeps, and that it does not, would cost those who ring a system call.
        if !self.config.spin.is_zero()
            && let Some(got) = self.spin(buffer)
        {
            return Some(got);
        }
        self.doorbell.sleep(limit.min(LOOK), || self.is_ready() || self.is_closed());
        None
    }

    /// Looks for as long as it is configured.
    fn spin(&self, buffer: &mut [u8]) -> Option<Got> {
        let begun = Instant::now();
        while begun.elapsed() < self.config.spin {
            // Who changes the table waits for no more than these looks.
            let table = self.read();
            for _ in 0..LOOKS {
                if table.iter().any(|link| link.is_ready()) {
                    return self.receive_of(table, buffer);
                }
                if self.doorbell.is_woken() {
                    return None;
                }
                std::hint::spin_loop();
            }
        }
        None
    }

    /// Ends a [`Links::wait`].
    pub(super) fn wake(&self) {
        self.doorbell.wake();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }

    /// No more is sent or received.
    pub(super) fn close(&self) {
        self.closed.store(true, SeqCst);
        self.change(Vec::clear);
        self.doorbell.wake();
        self.caller.call(Wish::Close);
    }

    /// What people should know, a line each.
    pub(super) fn report(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .table()
            .iter()
            .map(|link| format!("shared memory with {}: link {}{}", link.prefix, link.number, link.sent()))
            .collect();
        let reasons = self.reasons();
        lines.extend(reasons.iter().map(|(prefix, why)| format!("no shared memory with {prefix}: {why}")));
        if let lost @ 1.. = self.lost.load(Relaxed) {
            lines
                .push(format!("{lost} datagrams were lost because a process did not read its shared memory"));
        }
        if let refused @ 1.. = self.refused.load(Relaxed) {
            lines.push(format!("shared memory: {refused} connections of other users were refused"));
        }
        lines.extend(self.trouble().as_ref().map(|trouble| format!("shared memory: {trouble}; UDP is used")));
        lines
    }

    /// What keeps others from being met now; `None` if nothing does.
    fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble() = trouble;
    }

    fn trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ready(&self) -> bool {
        self.table().iter().any(|link| link.is_ready())
    }

    fn find(&self, number: NonZeroU32) -> Option<Arc<Link>> {
        let table = self.read();
        let place = table.binary_search_by_key(&number, |link| link.number).ok()?;
        table.get(place).cloned()
    }

    fn table(&self) -> Arc<Vec<Arc<Link>>> {
        Arc::clone(&self.read())
    }

    fn read(&self) -> RwLockReadGuard<'_, Arc<Vec<Arc<Link>>>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Link>>)) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let table = Arc::make_mut(&mut table);
        change(table);
        self.count.store(table.len(), Relaxed);
    }

    fn add(&self, link: Arc<Link>) {
        self.change(|table| table.push(link));
        self.doorbell.wake();
    }

    fn remove(&self, number: NonZeroU32) {
        self.change(|table| table.retain(|link| link.number != number));
    }

    /// The other side is not to be believed any more. The engine is told by the thread that meets others.
    fn give_up(&self, link: &Link, nonsense: Nonsense) {
        if link.is_open() {
            link.close();
            self.note(link.prefix, format!("given up: {nonsense}"));
            self.caller.call(Wish::GiveUp(link.number));
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
