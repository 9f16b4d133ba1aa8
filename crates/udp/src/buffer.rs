//! A buffer that takes memory as it is written: what has room for the largest datagram mostly gets small ones.
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

/// Bytes that are zero until they are written. Only pages that were written are memory of the process.
#[derive(Debug)]
pub struct Buffer(Memory);

#[derive(Debug)]
enum Memory {
    Pages(Pages),
    /// The system refused a mapping.
    Heap(Box<[u8]>),
}

/// A mapping of its own; it ends when this is dropped.
#[derive(Debug)]
struct Pages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process and not to a thread, and is unmapped once, by `drop`.
unsafe impl Send for Pages {}
// SAFETY: shared access only reads.
unsafe impl Sync for Pages {}

impl Buffer {
    /// One of `len` bytes.
    pub fn new(len: usize) -> Self {
        Self(Pages::new(len).map_or_else(|| Memory::Heap(vec![0; len].into()), Memory::Pages))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            // SAFETY: the mapping is `len` bytes long, zero from the beginning, and borrowed as `self` is.
            Memory::Pages(Pages { base, len }) => unsafe { slice::from_raw_parts(base.as_ptr(), *len) },
            Memory::Heap(bytes) => bytes,
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            // SAFETY: as above, and no other owner has it.
            Memory::Pages(Pages { base, len }) => unsafe { slice::from_raw_parts_mut(base.as_ptr(), *len) },
            Memory::Heap(bytes) => bytes,
        }
    }
}

impl Pages {
    fn new(len: usize) -> Option<Self> {
        // A slice is no longer than that; the system refuses a mapping of nothing.
        isize::try_from(len).ok()?;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
        let base = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        let base = (base != libc::MAP_FAILED).then(|| NonNull::new(base.cast::<u8>()))??;
        Some(Self { base, len })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `new` and every borrow of it has ended. It cannot fail for a whole mapping.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4_096;

    #[test]
    fn only_what_was_written_is_memory() {
        let mut buffer = Buffer::new(16 * PAGE);
        let present = |buffer: &Buffer| {
            let mut pages = [0_u8; 16];
            // SAFETY: the buffer is a mapping of 16 pages, for each of which there is a byte.
            let result =
                unsafe { libc::mincore(buffer.as_ptr().cast_mut().cast(), buffer.len(), pages.as_mut_ptr()) };
            assert_eq!(result, 0);
            pages.map(|page| page & 1).iter().sum::<u8>()
        };
        assert!(matches!(buffer.0, Memory::Pages(_)));
        assert_eq!(present(&buffer), 0);
        buffer[5 * PAGE..][..3].copy_from_slice(&[1, 2, 3]);
        assert_eq!(present(&buffer), 1);
        assert_eq!((buffer[5 * PAGE + 2], buffer.iter().map(|octet| u32::from(*octet)).sum::<u32>()), (3, 6));
    }

    #[test]
    fn what_cannot_be_a_mapping_is_a_buffer_all_the_same() {
        let mut none = Buffer::new(0);
        assert!(matches!(none.0, Memory::Heap(_)));
        assert_eq!((none.len(), none.iter_mut().count()), (0, 0));
        let mut some = Buffer(Memory::Heap(vec![0; 3].into()));
        some[1] = 7;
        assert_eq!(*some, [0, 7, 0]);
    }
}
