//! Memory for messages that other processes copy out of where they were written: no ring holds them, only their places.
//!
//! | bytes | content | written |
//! |---|---|---|
//! | 0 to 3 | magic word `PNCK` | once |
//! | 4 to 7 | version, 1 | once |
//! | 8 to 15 | nonce of the process that made it | once |
//! | 16 to 23 | how many pages of 4,096 bytes there are | once |
//! | 4096 and on | for each page the number of the chunk that begins there, 0 if none does: a word of 64 bits | by its owner |
//! | from the next multiple of 4,096 on | the pages | by its owner |
//!
//! The words are in the byte order of the machine. A chunk is a run of pages that one message has to itself. It is written by the owner
//! that it was lent to, then published by its number, and not written as long as a [`Chunk`] of it is held. Its number is taken
//! away before its pages are lent again, and no number comes twice: a reader that copied it out and finds the number unchanged has the message.
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, PoisonError};

use crate::map::Map;
use crate::process::Process;
use crate::segment::{SEALS, SegmentError, check_sealed, memory, seal, system};
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicU32, fence};
use crate::sync::{Mutex, MutexGuard};

/// Bytes of a page.
const PAGE: usize = 4_096;
/// Bytes before the numbers.
const HEADER: usize = 4_096;
const MAGIC: u32 = u32::from_ne_bytes(*b"PNCK");
const VERSION: u32 = 1;
const AT_VERSION: usize = 4;
const AT_NONCE: usize = 8;
const AT_PAGES: usize = 16;
/// Most bytes of all pages together, of ours and of others.
pub const MAX_CHUNKS: usize = 1 << 30;

/// Memory of ours that chunks are lent from. Only this process can write it.
pub struct Chunks {
    map: Map,
    pages: usize,
    /// For each page the handles of the chunk that begins there.
    handles: Box<[AtomicU32]>,
    free: Mutex<Free>,
    /// After a fork the pages are still the parent's.
    process: Process,
}

/// Which pages are lent.
struct Free {
    lent: Vec<bool>,
    /// No page before this one is free.
    lowest: usize,
    /// The number of the chunk that was lent last.
    number: u64,
}

/// A chunk that is being written. Dropped, it is given back.
pub struct ChunkMut {
    chunk: Chunk,
}

/// A chunk that was written: a handle of it. The pages are given back when the last one is dropped.
pub struct Chunk {
    chunks: Arc<Chunks>,
    place: Place,
}

/// Where a message lies: what the other side has to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The first page.
    pub page: u32,
    /// Bytes.
    pub len: u32,
    /// The number of the chunk.
    pub number: u64,
}

/// The chunks of another process, which this one can only read.
#[derive(Debug)]
pub struct ChunkWindow {
    map: Map,
    pages: usize,
}

impl Chunks {
    /// Makes memory for chunks of `bytes` together, rounded up to pages, and the descriptor that others have to be given. It is taken
    /// from the system as it is written, and lasts as long as a chunk of it is held, with or without the descriptor.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Capacity`] for none and for more than [`MAX_CHUNKS`]; or the system's error, as for too many open files.
    pub fn new(nonce: u64, bytes: usize) -> Result<(Arc<Self>, OwnedFd), SegmentError> {
        if bytes == 0 || bytes > MAX_CHUNKS {
            return Err(SegmentError::Capacity(bytes as u64));
        }
        let pages = bytes.div_ceil(PAGE);
        let len = start(pages) + pages * PAGE;
        let file = memory(c"punctual-chunks", len)?;
        let map = Map::new(file.as_fd(), len, true).map_err(system("mmap"))?;
        // From here on no further mapping can write, not even one of ours.
        seal(file.as_fd(), SEALS | libc::F_SEAL_FUTURE_WRITE)?;
        for (at, value) in [(0, MAGIC), (AT_VERSION, VERSION)] {
            if let Some(half) = map.half(at) {
                half.store(value, Relaxed);
            }
        }
        for (at, value) in [(AT_NONCE, nonce), (AT_PAGES, pages as u64)] {
            if let Some(word) = map.word(at) {
                word.store(value, Relaxed);
            }
        }
        let handles = (0..pages).map(|_| AtomicU32::new(0)).collect();
        let free = Mutex::new(Free { lent: vec![false; pages], lowest: 0, number: 0 });
        Ok((Arc::new(Self { map, pages, handles, free, process: Process::current() }), file))
    }

    /// Bytes of all pages together.
    pub fn capacity(&self) -> usize {
        self.pages * PAGE
    }

    /// Lends room for a message of `len` bytes; `None` if no run of free pages is that long. What lies there is what lay there
    /// before: zeros, or bytes of an earlier message.
    pub fn lend(self: &Arc<Self>, len: usize) -> Option<ChunkMut> {
        let bytes = u32::try_from(len).ok()?;
        let (page, number) = self.lock().lend(len.max(1).div_ceil(PAGE))?;
        self.handles.get(page)?.store(1, Relaxed);
        // The number of whatever lay here was taken away before anything is written.
        fence(Release);
        // There are at most `MAX_CHUNKS` / `PAGE` pages.
        let place = Place { page: page as u32, len: bytes, number };
        Some(ChunkMut { chunk: Chunk { chunks: Arc::clone(self), place } })
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_number(&self, page: u32, number: u64) {
        if let Some(word) = self.map.word(HEADER + page as usize * size_of::<u64>()) {
            word.store(number, Release);
        }
    }

    fn at(&self, page: u32) -> usize {
        start(self.pages) + page as usize * PAGE
    }
}

impl Free {
    /// The lowest run of so many free pages: what was used last is used first, as long as it lies in caches.
    fn lend(&mut self, count: usize) -> Option<(usize, u64)> {
        let mut begin = self.lowest;
        let mut seen_free = false;
        let mut at = begin;
        while at - begin < count {
            match self.lent.get(at)? {
                true => begin = at + 1,
                false if !seen_free => {
                    seen_free = true;
                    self.lowest = at;
                }
                false => {}
            }
            at += 1;
        }
        self.lent.get_mut(begin..at)?.fill(true);
        if begin == self.lowest {
            self.lowest = at;
        }
        self.number += 1;
        Some((begin, self.number))
    }

    fn give_back(&mut self, page: usize, count: usize) {
        if let Some(pages) = self.lent.get_mut(page..page + count) {
            pages.fill(false);
        }
        self.lowest = self.lowest.min(page);
    }
}

impl ChunkMut {
    /// What was written is only so long; longer than it was lent for it does not become.
    pub fn truncate(&mut self, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        // Pages are given back by the length that they were lent for, which is as many pages.
        let pages = |len: u32| (len.max(1) as usize).div_ceil(PAGE);
        let (before, after) = (pages(self.chunk.place.len), pages(len.min(self.chunk.place.len)));
        self.chunk.place.len = self.chunk.place.len.min(len);
        if after < before {
            self.chunk.chunks.lock().give_back(self.chunk.place.page as usize + after, before - after);
        }
    }

    /// It is written, and not changed any more.
    pub fn freeze(self) -> Chunk {
        self.chunk.chunks.set_number(self.chunk.place.page, self.chunk.place.number);
        self.chunk
    }
}

impl Deref for ChunkMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.chunk
    }
}

impl DerefMut for ChunkMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        let Chunk { chunks, place } = &self.chunk;
        // SAFETY: the seals keep other processes from writing. In this one the pages belong to this chunk, whose only handle is
        // borrowed exclusively.
        let bytes = unsafe { chunks.map.slice(chunks.at(place.page), place.len as usize) };
        bytes.unwrap_or_default()
    }
}

impl Chunk {
    /// Where it lies.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// True if it lies in this memory.
    pub fn is_of(&self, chunks: &Arc<Chunks>) -> bool {
        Arc::ptr_eq(&self.chunks, chunks)
    }

    /// Bytes of the pages that it takes.
    pub fn span(&self) -> usize {
        (self.place.len.max(1) as usize).next_multiple_of(PAGE)
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the seals keep other processes from writing. In this one the pages belong to this chunk as long as it has handles,
        // and only a `ChunkMut`, which is the only handle then, gives exclusive access.
        let bytes =
            unsafe { self.chunks.map.shared(self.chunks.at(self.place.page), self.place.len as usize) };
        bytes.unwrap_or_default()
    }
}

impl Clone for Chunk {
    fn clone(&self) -> Self {
        if let Some(handles) = self.chunks.handles.get(self.place.page as usize) {
            handles.fetch_add(1, Relaxed);
        }
        Self { chunks: Arc::clone(&self.chunks), place: self.place }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if !self.chunks.process.is_current() {
            return;
        }
        let page = self.place.page as usize;
        let last = self.chunks.handles.get(page).is_some_and(|handles| handles.fetch_sub(1, AcqRel) == 1);
        if last {
            self.chunks.set_number(self.place.page, 0);
            self.chunks.lock().give_back(page, self.span() / PAGE);
        }
    }
}

impl ChunkWindow {
    /// Opens what another process gave as its chunks, which have to hold the nonce that it announced elsewhere.
    ///
    /// # Errors
    ///
    /// [`SegmentError`] says what is wrong with it.
    pub fn open(file: BorrowedFd<'_>, nonce: u64) -> Result<Self, SegmentError> {
        let len = check_sealed(file, SEALS | libc::F_SEAL_FUTURE_WRITE)?;
        if len < HEADER || len > start(MAX_CHUNKS / PAGE) + MAX_CHUNKS {
            return Err(SegmentError::Form);
        }
        let map = Map::new(file, len, false).map_err(system("mmap"))?;
        let half = |at| map.half(at).map(|word| word.load(Relaxed));
        let word = |at| map.word(at).map(|word| word.load(Relaxed));
        if half(0) != Some(MAGIC) || half(AT_VERSION) != Some(VERSION) {
            return Err(SegmentError::Form);
        }
        let pages = word(AT_PAGES).and_then(|pages| usize::try_from(pages).ok()).unwrap_or(0);
        if pages == 0 || pages > MAX_CHUNKS / PAGE || start(pages) + pages * PAGE != len {
            return Err(SegmentError::Form);
        }
        if word(AT_NONCE) != Some(nonce) {
            return Err(SegmentError::Nonce);
        }
        Ok(Self { map, pages })
    }

    /// Copies bytes of a message out, from `from` on. False if it has not so many, or if there is no message of that number at that
    /// place, or not any more: what is in `to` is not to be used then.
    pub fn copy_out(&self, place: Place, from: usize, to: &mut [u8]) -> bool {
        let page = place.page as usize;
        let end = page.checked_add((place.len.max(1) as usize).div_ceil(PAGE));
        let inside = from.checked_add(to.len()).is_some_and(|end| end <= place.len as usize);
        if !inside || end.is_none_or(|end| end > self.pages) || place.number == 0 {
            return false;
        }
        self.number(page) == Some(place.number)
            && self.map.copy_out(start(self.pages) + page * PAGE + from, to)
            && self.number(page) == Some(place.number)
    }

    fn number(&self, page: usize) -> Option<u64> {
        let number = self.map.word(HEADER + page * size_of::<u64>())?.load(Relaxed);
        // What was written before it was published is seen from here on.
        fence(Acquire);
        Some(number)
    }
}

/// Where the pages begin.
const fn start(pages: usize) -> usize {
    HEADER + (pages * size_of::<u64>()).next_multiple_of(PAGE)
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chunk").field(&self.place).finish()
    }
}

impl fmt::Debug for ChunkMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChunkMut").field(&self.chunk.place).finish()
    }
}
