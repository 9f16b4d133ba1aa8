//! A segment as a hostile process could make it: sealed as it has to be, but whatever is written there is written at will.
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// Bytes before the ring.
pub(crate) const RING: usize = 4_096;
/// The seals that a segment has to have.
pub(crate) const SEALS: c_int =
    libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_FUTURE_WRITE | libc::F_SEAL_SEAL;

pub(crate) struct Forged {
    file: OwnedFd,
    base: *mut u8,
    len: usize,
}

impl Forged {
    /// As an honest process makes it, with an empty ring.
    pub(crate) fn new(nonce: u64, capacity: usize) -> Self {
        Self::with(nonce, capacity, capacity as u64, SEALS, 0)
    }

    /// With other contents, seals, and flags of memfd_create.
    pub(crate) fn with(nonce: u64, capacity: usize, said: u64, seals: c_int, flags: u32) -> Self {
        let len = RING + capacity;
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | flags;
        // SAFETY: the name ends with a NUL; the new descriptor is nobody else's.
        let file = unsafe {
            let file = libc::memfd_create(c"forged".as_ptr(), flags);
            assert!(file >= 0, "memfd_create: {}", std::io::Error::last_os_error());
            OwnedFd::from_raw_fd(file)
        };
        // SAFETY: a new mapping of memory that was just made, at a place of the kernel's choice.
        let base = unsafe {
            assert_eq!(libc::ftruncate(file.as_raw_fd(), len as libc::off_t), 0);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(base, libc::MAP_FAILED);
        let forged = Self { file, base: base.cast(), len };
        forged.write(0, u64::from(u32::from_ne_bytes(*b"PNSM")) | 1 << 32);
        forged.write(8, nonce);
        forged.write(16, said);
        // SAFETY: it touches no memory of ours.
        assert_eq!(unsafe { libc::fcntl(forged.file.as_raw_fd(), libc::F_ADD_SEALS, seals) }, 0);
        forged
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Writes a word of the segment.
    pub(crate) fn write(&self, at: usize, value: u64) {
        assert!(at.is_multiple_of(8) && at + 8 <= self.len);
        // SAFETY: inside of the mapping and aligned; others look at it atomically.
        unsafe { AtomicU64::from_ptr(self.base.add(at).cast()) }.store(value, SeqCst);
    }
}

impl Drop for Forged {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `with`, and nothing borrows it.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
