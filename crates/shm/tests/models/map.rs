//! Memory whose words are modelled: what another thread may still see of them, and whether bytes are read while they are written.
use std::cell::{Cell, RefCell, UnsafeCell};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::sync::Arc;

use models::atomic::Ordering::{Acquire, Relaxed};
use models::atomic::{AtomicU32, AtomicU64, fence};

const LINE: usize = 64;
/// What a word holds that bytes were written over: no head.
const BYTES: u64 = u64::MAX;

/// What two mappings share.
#[derive(Debug)]
struct Memory {
    words: Vec<(usize, AtomicU64)>,
    halves: Vec<(usize, AtomicU32)>,
    /// Lines of bytes that are never read while they are written; by threads of the process that writes them, if others may.
    lines: Vec<Line>,
    /// Words that are bytes for those who read and write the memory, and that may be read while they are written.
    torn: Vec<(usize, AtomicU64)>,
    /// How often bytes were handed out to be written.
    stamps: Cell<u64>,
    bytes: UnsafeCell<Vec<u8>>,
}

#[derive(Debug)]
struct Line(models::UnsafeCell<()>);

// SAFETY: all threads of a model run on one thread of the system, and each access is told to the model.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// As the shipped one, for memory of [`memory`].
#[derive(Debug, Clone)]
pub(crate) struct Map {
    memory: Arc<Memory>,
    writable: bool,
}

/// Which places of a memory are what.
#[derive(Default)]
pub(crate) struct Form {
    pub(crate) words: Vec<usize>,
    pub(crate) halves: Vec<usize>,
    pub(crate) torn: Vec<usize>,
    pub(crate) has_lines: bool,
}

thread_local! {
    /// The memory of a descriptor.
    static FILES: RefCell<Vec<(RawFd, Map)>> = const { RefCell::new(Vec::new()) };
}

impl Map {
    /// Memory of zeros.
    pub(crate) fn with(len: usize, form: Form) -> Self {
        let word = |at| (at, AtomicU64::new(0));
        let lines = if form.has_lines { len / LINE } else { 0 };
        let memory = Memory {
            words: form.words.into_iter().map(word).collect(),
            halves: form.halves.into_iter().map(|at| (at, AtomicU32::new(0))).collect(),
            lines: (0..lines).map(|_| Line(models::UnsafeCell::new(()))).collect(),
            torn: form.torn.into_iter().map(word).collect(),
            stamps: Cell::new(0),
            bytes: UnsafeCell::new(vec![0; len]),
        };
        Self { memory: Arc::new(memory), writable: true }
    }

    /// Another mapping of the same memory, which cannot write.
    pub(crate) fn view(&self) -> Self {
        Self { memory: Arc::clone(&self.memory), writable: false }
    }

    /// From now on this is the memory of the descriptor.
    pub(crate) fn give_to(self, file: RawFd) {
        FILES.with_borrow_mut(|files| {
            files.retain(|(other, _)| *other != file);
            files.push((file, self));
        });
    }

    pub(crate) fn new(file: BorrowedFd<'_>, len: usize, writable: bool) -> io::Result<Self> {
        let of_file = |files: &Vec<(RawFd, Self)>| {
            let (_, map) = files.iter().find(|(other, _)| *other == file.as_raw_fd()).unwrap();
            assert_eq!(map.len(), len);
            Self { memory: Arc::clone(&map.memory), writable }
        };
        Ok(FILES.with_borrow(of_file))
    }

    /// Bytes of a descriptor's memory.
    pub(crate) fn len_of(file: RawFd) -> usize {
        FILES.with_borrow(|files| files.iter().find(|(other, _)| *other == file).unwrap().1.len())
    }

    pub(crate) fn word(&self, at: usize) -> Option<&AtomicU64> {
        self.memory.words.iter().find(|(place, _)| *place == at).map(|(_, word)| word)
    }

    pub(crate) fn half(&self, at: usize) -> Option<&AtomicU32> {
        self.memory.halves.iter().find(|(place, _)| *place == at).map(|(_, half)| half)
    }

    pub(crate) fn copy_out(&self, at: usize, to: &mut [u8]) -> bool {
        if !self.holds(at, to.len()) {
            return false;
        }
        if self.memory.torn.is_empty() {
            self.lines(at, to.len()).for_each(|line| line.0.with(|_| ()));
        }
        // SAFETY: inside; all threads of a model run on one thread of the system.
        unsafe {
            ptr::copy_nonoverlapping((*self.memory.bytes.get()).as_ptr().add(at), to.as_mut_ptr(), to.len())
        };
        for (place, word) in self.torn(at, to.len()) {
            to[place - at..place - at + 8].copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        fence(Acquire);
        true
    }

    pub(crate) fn fetch(&self, _: usize) {}

    pub(crate) fn take_memory(&self, _: usize) {}

    /// Who has these bytes may write them from now on until it gives them on, so that the model is told now. Words that lie there become
    /// bytes by that.
    ///
    /// # Safety
    ///
    /// As that of the shipped one.
    #[expect(clippy::mut_from_ref, reason = "as the shipped one")]
    pub(crate) unsafe fn slice(&self, at: usize, len: usize) -> Option<&mut [u8]> {
        if !self.writable || !self.holds(at, len) {
            return None;
        }
        self.lines(at, len).for_each(|line| line.0.with_mut(|_| ()));
        let inside = |place: &usize| (at..at + len).contains(place);
        let words = self.memory.words.iter().filter(|(place, _)| inside(place));
        words.for_each(|(_, word)| word.store(BYTES, Relaxed));
        let stamp = self.memory.stamps.get() + 1;
        self.memory.stamps.set(stamp);
        self.torn(at, len).for_each(|(_, word)| word.store(stamp, Relaxed));
        // SAFETY: inside; all threads of a model run on one thread of the system.
        Some(unsafe { std::slice::from_raw_parts_mut((*self.memory.bytes.get()).as_mut_ptr().add(at), len) })
    }

    /// # Safety
    ///
    /// As that of the shipped one.
    pub(crate) unsafe fn shared(&self, at: usize, len: usize) -> Option<&[u8]> {
        if self.holds(at, len) {
            self.lines(at, len).for_each(|line| line.0.with(|_| ()));
        }
        // SAFETY: inside; all threads of a model run on one thread of the system.
        self.holds(at, len).then(|| unsafe { &(&*self.memory.bytes.get())[at..at + len] })
    }

    fn lines(&self, at: usize, len: usize) -> impl Iterator<Item = &Line> {
        let last = (at + len).div_ceil(LINE).max(at / LINE);
        self.memory.lines.iter().take(last).skip(at / LINE)
    }

    fn torn(&self, at: usize, len: usize) -> impl Iterator<Item = (usize, &AtomicU64)> {
        let inside = move |place: usize| at <= place && place + 8 <= at + len;
        self.memory.torn.iter().filter(move |(place, _)| inside(*place)).map(|(place, word)| (*place, word))
    }

    fn holds(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.len())
    }

    fn len(&self) -> usize {
        // SAFETY: nothing changes the length.
        unsafe { (*self.memory.bytes.get()).len() }
    }
}
