//! Memory that is shared with another process, and the only ways to it: checked words and checked copies.
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A shared mapping of a whole file; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Map {
    base: NonNull<u8>,
    len: usize,
    writable: bool,
}

// SAFETY: the mapping belongs to the process and not to a thread, and is unmapped once, by `drop`.
unsafe impl Send for Map {}
// SAFETY: shared access is by atomics and by copies whose callers keep writers apart (`copy_in`, `slice`).
unsafe impl Sync for Map {}

impl Map {
    /// Maps the first `len` bytes of a file, which has to be that long for as long as this lives: the callers check its seals.
    pub(crate) fn new(file: BorrowedFd<'_>, len: usize, writable: bool) -> io::Result<Self> {
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base =
            NonNull::new(base.cast::<u8>()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { base, len, writable })
    }

    /// The word of 64 bits at `at`; `None` if it is not aligned or not inside. Of a mapping that is not writable it may only be
    /// loaded, with `Relaxed`.
    pub(crate) fn word(&self, at: usize) -> Option<&AtomicU64> {
        let inside = at.is_multiple_of(size_of::<u64>()) && self.holds(at, size_of::<u64>());
        // SAFETY: inside of the mapping, which begins at a page, and aligned; every bit pattern is a value of an atomic, and
        // other writers do so atomically or are other processes, whose writes are no race of this one.
        inside.then(|| unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at).cast()) })
    }

    /// The word of 32 bits at `at`, as [`Map::word`].
    pub(crate) fn half(&self, at: usize) -> Option<&AtomicU32> {
        let inside = at.is_multiple_of(size_of::<u32>()) && self.holds(at, size_of::<u32>());
        // SAFETY: as in `word`.
        inside.then(|| unsafe { AtomicU32::from_ptr(self.base.as_ptr().add(at).cast()) })
    }

    /// Copies bytes out, whatever the other process does to them meanwhile; false if they are not all inside.
    pub(crate) fn copy_out(&self, at: usize, to: &mut [u8]) -> bool {
        if !self.holds(at, to.len()) {
            return false;
        }
        // SAFETY: the source is inside of the mapping, the destination is exclusive memory of ours of the same length. The other
        // process may write the source meanwhile; the fence keeps the compiler from reading it again instead of the copy.
        unsafe { ptr::copy_nonoverlapping(self.base.as_ptr().add(at), to.as_mut_ptr(), to.len()) };
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        true
    }

    /// Lets the line at `at` come into the cache, as far as the processor does that without waiting for it.
    #[inline]
    pub(crate) fn fetch(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        if self.holds(at, 1) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: the address is inside of the mapping. Nothing is read by that.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.base.as_ptr().add(at).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// Takes memory for the first `len` bytes now, and not when they are touched for the first time, as far as the system can do that.
    pub(crate) fn take_memory(&self, len: usize) {
        if !self.holds(0, len) {
            return;
        }
        let advice = if self.writable { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
        // SAFETY: inside of the mapping, of which no byte is changed. Whatever it says, the bytes can be used as before.
        unsafe { libc::madvise(self.base.as_ptr().cast(), len, advice) };
    }

    /// The bytes of a writable mapping at `at`; `None` if they are not all inside, or may not be written.
    ///
    /// # Safety
    ///
    /// No thread of this process touches them as long as they are borrowed, and no other process can write them.
    #[expect(clippy::mut_from_ref, reason = "the mapping is shared, its parts have owners: see Safety")]
    pub(crate) unsafe fn slice(&self, at: usize, len: usize) -> Option<&mut [u8]> {
        let inside = self.writable && self.holds(at, len);
        // SAFETY: inside of the mapping, initialised by the kernel, and exclusive by the contract of this function.
        inside.then(|| unsafe { slice::from_raw_parts_mut(self.base.as_ptr().add(at), len) })
    }

    /// The bytes of a writable mapping at `at`, to be read in place; `None` as for [`Map::slice`].
    ///
    /// # Safety
    ///
    /// No thread of this process writes them as long as they are borrowed, and no other process can write them.
    pub(crate) unsafe fn shared(&self, at: usize, len: usize) -> Option<&[u8]> {
        let inside = self.writable && self.holds(at, len);
        // SAFETY: inside of the mapping, initialised by the kernel, and unchanged by the contract of this function.
        inside.then(|| unsafe { slice::from_raw_parts(self.base.as_ptr().add(at), len) })
    }

    fn holds(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.len)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `new` and every borrow of it has ended. It cannot fail for a whole mapping.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
