//! A word that a thread sleeps on until another process rings.
//!
//! It is memory of its own that every process with the right to ring can write: what a hostile one writes there can wake the sleeper for nothing, or
//! let it sleep on although another process rang. So a sleep has a limit, and a thread that wakes looks at everything.
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::futex::{wait, wake};
use crate::map::Map;
use crate::segment::{SEALS, SegmentError, check_sealed, memory, seal, system};
use crate::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use crate::sync::atomic::{AtomicBool, fence};

/// Bytes of the memory: a page.
const LEN: usize = 4_096;
/// Counts rings.
const AT_RINGS: usize = 0;
/// 1 while the owner sleeps or is about to.
const AT_SLEEPS: usize = 64;

/// The doorbell of this process, or of one of its participants. One thread at a time sleeps on it.
#[derive(Debug)]
pub struct Doorbell {
    file: OwnedFd,
    map: Map,
    /// A thread of this process rang: not to be had by writing into the shared memory.
    woken: AtomicBool,
}

/// The doorbell of another process.
#[derive(Debug)]
pub struct Bell {
    map: Map,
}

impl Doorbell {
    /// One that has not rung.
    ///
    /// # Errors
    ///
    /// The system's, as for too many open files.
    pub fn new() -> Result<Self, SegmentError> {
        let file = memory(c"punctual-bell", LEN)?;
        seal(file.as_fd(), SEALS)?;
        let map = Map::new(file.as_fd(), LEN, true).map_err(system("mmap"))?;
        Ok(Self { file, map, woken: AtomicBool::new(false) })
    }

    /// What those who may ring have to be given.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Sleeps until it rings, `limit` is over at the latest, or not at all if `ready` says so: it is asked after all processes can see
    /// that this thread is about to sleep. True if it was woken by [`Doorbell::wake`].
    pub fn sleep(&self, limit: Duration, ready: impl FnOnce() -> bool) -> bool {
        if let (Some(rings), Some(sleeps)) = (self.map.half(AT_RINGS), self.map.half(AT_SLEEPS)) {
            // Looked at before this thread says that it sleeps: who takes that back, to ring, counts afterwards, and the count is another one then.
            let seen = rings.load(Acquire);
            sleeps.store(1, Relaxed);
            // Either what others wrote is seen here, or they see that this thread sleeps.
            fence(SeqCst);
            if !ready() && !self.woken.load(Relaxed) {
                wait(rings, seen, limit);
            }
            sleeps.store(0, Relaxed);
        }
        self.woken.swap(false, SeqCst)
    }

    /// True if the next [`Doorbell::sleep`] would end at once, because of [`Doorbell::wake`].
    pub fn is_woken(&self) -> bool {
        self.woken.load(Relaxed)
    }

    /// Ends a sleep of this process, the one in progress or else the next one.
    pub fn wake(&self) {
        self.woken.store(true, SeqCst);
        // Not only if it says that it sleeps: others can write there.
        if let Some(rings) = self.map.half(AT_RINGS) {
            rings.fetch_add(1, SeqCst);
            wake(rings);
        }
    }
}

impl Bell {
    /// Opens what another process gave as its doorbell.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Unsealed`] and [`SegmentError::Form`] for what is no doorbell.
    pub fn open(file: BorrowedFd<'_>) -> Result<Self, SegmentError> {
        if check_sealed(file, SEALS)? != LEN {
            return Err(SegmentError::Form);
        }
        Ok(Self { map: Map::new(file, LEN, true).map_err(system("mmap"))? })
    }

    /// True if its owner sleeps or is about to, unless it has seen what was written before this.
    pub fn is_wanted(&self) -> bool {
        // Either the sleeper sees what was written before, or it is seen here that it sleeps.
        fence(SeqCst);
        self.map.half(AT_SLEEPS).is_some_and(|sleeps| sleeps.load(Relaxed) != 0)
    }

    /// Wakes its owner if it sleeps: no system call if not.
    pub fn ring(&self) {
        ring(&self.map);
    }
}

fn ring(map: &Map) {
    let (Some(rings), Some(sleeps)) = (map.half(AT_RINGS), map.half(AT_SLEEPS)) else { return };
    // Either the sleeper sees what was written before, or it is seen here that it sleeps.
    fence(SeqCst);
    // One of several who ring at once is enough.
    if sleeps.load(Relaxed) != 0 && sleeps.swap(0, SeqCst) != 0 {
        rings.fetch_add(1, SeqCst);
        wake(rings);
    }
}
