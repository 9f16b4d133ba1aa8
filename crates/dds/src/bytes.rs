//! Bytes that are shared, and used again when the last holder has dropped them.
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use rtps::Value;
use shm::{Chunk, ChunkMut};

/// A shared handle of the bytes of a sample, encapsulation header included.
#[derive(Clone, Debug)]
pub struct Bytes(Place);

/// Where they lie.
#[derive(Clone, Debug)]
enum Place {
    /// In memory of this process.
    Own(Arc<Buffer>),
    /// Where other processes of the host can copy them out.
    Shared(Chunk),
    /// Nowhere yet: a sample that readers of the same participant get as it is.
    Value(Arc<dyn Value>),
}

/// Memory of this process, and where the bytes of the sample begin in it.
#[derive(Default, Debug)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// Sizes of samples that are placed: a datagram of loopback holds no more, and less is copied in no time.
    const PLACED: RangeInclusive<usize> = 8 << 10..=64 << 10;
    /// Where the bytes begin in a page. The kernel copies them behind headers, to where a page begins: from the same offset that takes up to twice
    /// as long on some processors, which take a load for one of what they have just stored there.
    const PLACE: usize = PAGE / 2;

    fn bytes(&self) -> &[u8] {
        self.memory.get(self.start..).unwrap_or_default()
    }

    /// Empties it, and chooses where the bytes begin: for a sample as long as the one before, without growing.
    fn begin(&mut self) {
        let len = self.bytes().len();
        self.memory.clear();
        self.start = 0;
        if Self::PLACED.contains(&len) {
            self.memory.reserve_exact(len.saturating_add(PAGE));
            self.start = Self::PLACE.wrapping_sub(self.memory.as_ptr().addr()) % PAGE;
            self.memory.resize(self.start, 0);
        }
    }
}

/// A page of memory, or a part of one: where loads and stores are told apart by lower bits of addresses.
const PAGE: usize = 4 << 10;

impl Bytes {
    /// The shared memory that they lie in, if they do.
    pub(crate) const fn chunk(&self) -> Option<&Chunk> {
        match &self.0 {
            Place::Own(_) | Place::Value(_) => None,
            Place::Shared(chunk) => Some(chunk),
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Place::Own(buffer) => buffer.bytes(),
            Place::Shared(chunk) => chunk,
            Place::Value(value) => value.bytes(),
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Bytes {}

impl Default for Bytes {
    fn default() -> Self {
        Self(Place::Own(Arc::default()))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Place::Own(Arc::new(Buffer { memory: bytes, start: 0 })))
    }
}

impl From<Chunk> for Bytes {
    fn from(chunk: Chunk) -> Self {
        Self(Place::Shared(chunk))
    }
}

impl rtps::Payload for Bytes {
    fn copied_from(bytes: &[u8]) -> Self {
        Self::from(bytes.to_vec())
    }

    fn size(&self) -> usize {
        match &self.0 {
            Place::Value(value) => value.size(),
            _ => self.as_ref().len(),
        }
    }

    fn value(&self) -> Option<Arc<dyn Value>> {
        match &self.0 {
            Place::Value(value) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    fn is_value(&self) -> bool {
        matches!(self.0, Place::Value(_))
    }
}

impl From<Arc<dyn Value>> for Bytes {
    fn from(value: Arc<dyn Value>) -> Self {
        Self(Place::Value(value))
    }
}

/// Memory for a sample that is about to be written into it: exclusive until it is [`Bytes`].
#[derive(Debug)]
pub(crate) enum Memory {
    /// Of this process, and held by nothing else.
    Own(Arc<Buffer>),
    /// Shared with other processes of the host.
    Shared(ChunkMut),
}

impl Memory {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(buffer) => buffer.bytes(),
            Self::Shared(chunk) => chunk,
        }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(buffer) => Arc::get_mut(buffer)
                .and_then(|buffer| buffer.memory.get_mut(buffer.start..))
                .unwrap_or_default(),
            Self::Shared(chunk) => chunk,
        }
    }

    /// It is only so long.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Own(buffer) => {
                if let Some(buffer) = Arc::get_mut(buffer) {
                    buffer.memory.truncate(buffer.start.saturating_add(len));
                }
            }
            Self::Shared(chunk) => chunk.truncate(len),
        }
    }
}

/// Buffers of large samples that were written: they come back by themselves when the history and the socket have let go of them.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    lent: VecDeque<Arc<Buffer>>,
}

impl Pool {
    /// Most buffers that are remembered, and most bytes of each.
    const COUNT: usize = 64;
    const LEN: usize = 4 << 20;

    /// Fills a buffer, one without a handle if there is one, and gives a handle of it.
    pub(crate) fn fill<E>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Bytes, E> {
        let mut free = self.free();
        if let Some(buffer) = Arc::get_mut(&mut free) {
            buffer.begin();
            fill(&mut buffer.memory)?;
        }
        Ok(self.freeze(Memory::Own(free)))
    }

    /// Memory of this process for `len` bytes, which are whatever was there before.
    pub(crate) fn lend(&mut self, len: usize) -> Memory {
        let mut free = self.free();
        if let Some(buffer) = Arc::get_mut(&mut free) {
            buffer.memory.resize(buffer.start.saturating_add(len), 0);
        }
        Memory::Own(free)
    }

    /// It was written: gives a handle of it.
    pub(crate) fn freeze(&mut self, memory: Memory) -> Bytes {
        match memory {
            Memory::Own(buffer) => {
                if buffer.memory.capacity() <= Self::LEN {
                    if self.lent.len() == Self::COUNT {
                        self.lent.pop_front();
                    }
                    self.lent.push_back(Arc::clone(&buffer));
                }
                Bytes(Place::Own(buffer))
            }
            Memory::Shared(chunk) => Bytes::from(chunk.freeze()),
        }
    }

    /// A buffer that nothing else holds.
    fn free(&mut self) -> Arc<Buffer> {
        // The oldest is the first to be free: readers acknowledge in order.
        let is_free = self.lent.front_mut().is_some_and(|oldest| Arc::get_mut(oldest).is_some());
        if is_free { self.lent.pop_front().unwrap_or_default() } else { Arc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(pool: &mut Pool, byte: u8) -> Bytes {
        pool.fill(|buffer| {
            buffer.resize(100, byte);
            Ok::<(), ()>(())
        })
        .unwrap_or_default()
    }

    #[test]
    fn a_buffer_is_used_again_once_nobody_holds_it() {
        let mut pool = Pool::default();
        let first = filled(&mut pool, 1);
        let address = first.as_ref().as_ptr();
        let second = filled(&mut pool, 2);
        assert_ne!(second.as_ref().as_ptr(), address);
        drop(first);
        let third = filled(&mut pool, 3);
        assert_eq!((third.as_ref().as_ptr(), third.as_ref()), (address, &[3; 100][..]));
        assert_eq!(second.as_ref(), [2; 100]);
    }

    #[test]
    fn bytes_of_datagrams_begin_in_the_middle_of_a_page_once_the_buffer_is_used_again() {
        let mut pool = Pool::default();
        let filled = |pool: &mut Pool, byte| {
            pool.fill(|buffer| {
                buffer.resize(buffer.len() + 16_400, byte);
                Ok::<(), ()>(())
            })
        };
        drop(filled(&mut pool, 1));
        drop(filled(&mut pool, 2));
        let bytes = filled(&mut pool, 3).unwrap();
        assert_eq!(bytes.as_ref().as_ptr().addr() % 4_096, 2_048);
        assert_eq!(bytes.as_ref(), [3; 16_400]);
        assert_eq!(Arc::strong_count(&pool.lent[0]), 2, "it is the same buffer");
    }

    #[test]
    fn memory_is_whatever_it_was_before_and_as_long_as_it_was_asked_for() {
        let mut pool = Pool::default();
        let first = filled(&mut pool, 1);
        let address = first.as_ref().as_ptr();
        drop(first);
        let mut memory = pool.lend(90);
        assert_eq!((memory.bytes().as_ptr(), memory.bytes()), (address, &[1; 90][..]));
        memory.bytes_mut().fill(5);
        memory.truncate(70);
        assert_eq!(pool.freeze(memory).as_ref(), [5; 70]);
        let (chunks, _) = shm::Chunks::new(0, 1 << 16).unwrap();
        let mut memory = Memory::Shared(chunks.lend(100).unwrap());
        memory.bytes_mut().fill(6);
        memory.truncate(90);
        let bytes = pool.freeze(memory);
        assert!(bytes.chunk().is_some() && bytes == Bytes::from(vec![6; 90]) && bytes != Bytes::default());
    }
}
