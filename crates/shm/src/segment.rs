//! Anonymous memory that one process writes and another one reads.
//!
//! | bytes | content | written |
//! |---|---|---|
//! | 0 to 3 | magic word `PNSM` | once |
//! | 4 to 7 | version, 1 | once |
//! | 8 to 15 | nonce of the process that made it | once |
//! | 16 to 23 | capacity of the ring, a power of two | once |
//! | 64 to 71 | how far the ring of the other side was read, in bytes since the beginning | by the consumer |
//! | 4096 and on | the ring | by the producer |
//!
//! The words are in the byte order of the machine.
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::map::Map;

/// Bytes of a ring that suit most: two of the windows that writers have by default fit.
pub const CAPACITY: usize = 2 << 20;
/// The smallest ring.
pub const MIN_CAPACITY: usize = 64 << 10;
/// The largest ring that is made, and accepted of others.
pub const MAX_CAPACITY: usize = 64 << 20;

/// Bytes before the ring.
pub(crate) const RING: usize = 4_096;
const MAGIC: u32 = u32::from_ne_bytes(*b"PNSM");
const VERSION: u32 = 1;
const AT_VERSION: usize = 4;
const AT_NONCE: usize = 8;
const AT_CAPACITY: usize = 16;
const AT_CONSUMED: usize = 64;

/// A segment of ours: only this process can write it.
#[derive(Debug)]
pub struct Segment {
    file: OwnedFd,
    pub(crate) own: Own,
}

/// The memory of a segment of ours, which needs no descriptor once the other side has one.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) map: Map,
    pub(crate) capacity: usize,
}

/// A segment of another process, which this one can only read.
#[derive(Debug)]
pub struct Window {
    pub(crate) map: Map,
    pub(crate) capacity: usize,
}

/// Why there is no segment.
#[derive(Debug)]
pub enum SegmentError {
    /// The capacity is no power of two from 64 KiB to 64 MiB.
    Capacity(u64),
    /// The system refused.
    System {
        /// The call.
        step: &'static str,
        /// What it said.
        error: io::Error,
    },
    /// The process may not have a file of this size (RLIMIT_FSIZE).
    FileSize {
        /// Bytes that are needed.
        len: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
    /// What the other side gave is not sealed memory: it could cut it off, or let others write it.
    Unsealed,
    /// It does not begin as a segment of this version does, or is not as long as it says.
    Form,
    /// It does not hold the nonce that was announced: it belongs to another process.
    Nonce,
}

impl Segment {
    /// Makes a segment with an empty ring. Memory is taken as it is written.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Capacity`], or the system's error, as for too many open files.
    pub fn new(nonce: u64, capacity: usize) -> Result<Self, SegmentError> {
        if !capacity.is_power_of_two() || !(MIN_CAPACITY..=MAX_CAPACITY).contains(&capacity) {
            return Err(SegmentError::Capacity(capacity as u64));
        }
        let len = RING + capacity;
        let file = memory(c"punctual-ring", len)?;
        let map = Map::new(file.as_fd(), len, true).map_err(system("mmap"))?;
        // From here on no further mapping can write, not even one of ours.
        seal(file.as_fd(), SEALS | libc::F_SEAL_FUTURE_WRITE)?;
        let halves = [(0, MAGIC), (AT_VERSION, VERSION)];
        halves.iter().filter_map(|(at, value)| Some((map.half(*at)?, *value))).for_each(store_half);
        let words = [(AT_NONCE, nonce), (AT_CAPACITY, capacity as u64)];
        for (at, value) in words {
            if let Some(word) = map.word(at) {
                word.store(value, Relaxed);
            }
        }
        Ok(Self { file, own: Own { map, capacity } })
    }

    /// What the other side has to be given.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Own {
    pub(crate) fn consumed(&self) -> Option<&AtomicU64> {
        self.map.word(AT_CONSUMED)
    }
}

impl Window {
    /// Opens what another process gave as its segment, which has to hold the nonce that it announced elsewhere.
    ///
    /// # Errors
    ///
    /// [`SegmentError`] says what is wrong with it.
    pub fn open(file: BorrowedFd<'_>, nonce: u64) -> Result<Self, SegmentError> {
        let len = check_sealed(file, SEALS | libc::F_SEAL_FUTURE_WRITE)?;
        let capacity = len.checked_sub(RING).ok_or(SegmentError::Form)?;
        if !capacity.is_power_of_two() || !(MIN_CAPACITY..=MAX_CAPACITY).contains(&capacity) {
            return Err(SegmentError::Capacity(capacity as u64));
        }
        let map = Map::new(file, len, false).map_err(system("mmap"))?;
        let half = |at| map.half(at).map(|word| word.load(Relaxed));
        let word = |at| map.word(at).map(|word| word.load(Relaxed));
        if half(0) != Some(MAGIC)
            || half(AT_VERSION) != Some(VERSION)
            || word(AT_CAPACITY) != Some(capacity as u64)
        {
            return Err(SegmentError::Form);
        }
        if word(AT_NONCE) != Some(nonce) {
            return Err(SegmentError::Nonce);
        }
        Ok(Self { map, capacity })
    }

    /// How far the other side has read our ring, as it says.
    pub(crate) fn consumed(&self) -> Option<u64> {
        self.map.word(AT_CONSUMED).map(|word| word.load(Relaxed))
    }
}

/// No later than these the length of the memory is fixed for ever.
pub(crate) const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// Anonymous memory of zeros, to be sealed.
pub(crate) fn memory(name: &CStr, len: usize) -> Result<OwnedFd, SegmentError> {
    // SAFETY: the name ends with a NUL and lives during the call.
    let file = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if file < 0 {
        return Err(system("memfd_create")(io::Error::last_os_error()));
    }
    // SAFETY: the call gave a new descriptor, which has no other owner.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    check_file_size(len as u64)?;
    let len = libc::off_t::try_from(len).map_err(|_| SegmentError::Capacity(len as u64))?;
    // SAFETY: it touches no memory of ours.
    if unsafe { libc::ftruncate(file.as_raw_fd(), len) } < 0 {
        return Err(system("ftruncate")(io::Error::last_os_error()));
    }
    Ok(file)
}

/// Refuses what is above the limit of the process for the size of a file (RLIMIT_FSIZE), beyond which the system sends SIGXFSZ, which
/// ends a process that does not expect it.
fn check_file_size(len: u64) -> Result<(), SegmentError> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid during the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } < 0 {
        return Err(system("getrlimit")(io::Error::last_os_error()));
    }
    if limit.rlim_cur < len { Err(SegmentError::FileSize { len, limit: limit.rlim_cur }) } else { Ok(()) }
}

pub(crate) fn seal(file: BorrowedFd<'_>, seals: libc::c_int) -> Result<(), SegmentError> {
    // SAFETY: it touches no memory of ours.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(system("F_ADD_SEALS")(io::Error::last_os_error())),
    }
}

/// Length of memory that has at least these seals. Memory of huge pages is refused: there the system may have no page when one is
/// touched, and kills who does.
pub(crate) fn check_sealed(file: BorrowedFd<'_>, seals: libc::c_int) -> Result<usize, SegmentError> {
    // SAFETY: it touches no memory of ours.
    let found = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    if found < 0 || found & seals != seals {
        return Err(SegmentError::Unsealed);
    }
    // SAFETY: all zeros is a `statfs`.
    let mut system_of: libc::statfs = unsafe { mem::zeroed() };
    // SAFETY: the structure is valid during the call.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut system_of) } < 0 {
        return Err(system("fstatfs")(io::Error::last_os_error()));
    }
    if system_of.f_type != libc::TMPFS_MAGIC {
        return Err(SegmentError::Unsealed);
    }
    // SAFETY: all zeros is a `stat`.
    let mut about: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: the structure is valid during the call.
    if unsafe { libc::fstat(file.as_raw_fd(), &raw mut about) } < 0 {
        return Err(system("fstat")(io::Error::last_os_error()));
    }
    usize::try_from(about.st_size).map_err(|_| SegmentError::Form)
}

fn store_half((word, value): (&AtomicU32, u32)) {
    word.store(value, Relaxed);
}

pub(crate) fn system(step: &'static str) -> impl Fn(io::Error) -> SegmentError {
    move |error| SegmentError::System { step, error }
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(bytes) => write!(
                f,
                "a ring of {bytes} bytes: give a power of two from {MIN_CAPACITY} to {MAX_CAPACITY}"
            ),
            Self::System { step, error } => write!(f, "shared memory, {step}: {error}"),
            Self::FileSize { len, limit } => write!(
                f,
                "shared memory needs a file of {len} bytes, and the limit of this process is {limit} (RLIMIT_FSIZE): raise it (ulimit -f)"
            ),
            Self::Unsealed => f.write_str("the other side's memory is not sealed as it has to be"),
            Self::Form => f.write_str("the other side's memory is no segment of this version"),
            Self::Nonce => f.write_str("the other side's memory holds another nonce than it announced"),
        }
    }
}

impl std::error::Error for SegmentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { error, .. } => Some(error),
            _ => None,
        }
    }
}
