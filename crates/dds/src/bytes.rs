//! Octets that are shared, and used again when nobody holds them.
use std::collections::VecDeque;
use std::sync::Arc;

use rtps::Value;
use shm::{Chunk, ChunkMut};

/// A shared handle of the octets of a sample, encapsulation header included.
#[derive(Clone, Debug)]
pub struct Bytes(Octets);

/// Where they lie.
#[derive(Clone, Debug)]
enum Octets {
    /// In memory of this process.
    Own(Arc<Vec<u8>>),
    /// Where other processes of the host can copy them out.
    Shared(Chunk),
    /// Nowhere yet: a sample that readers of the same participant get as it is.
    Value(Arc<dyn Value>),
}

impl Bytes {
    /// The shared memory that they lie in, if they do.
    pub(crate) const fn chunk(&self) -> Option<&Chunk> {
        match &self.0 {
            Octets::Own(_) | Octets::Value(_) => None,
            Octets::Shared(chunk) => Some(chunk),
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Octets::Own(octets) => octets,
            Octets::Shared(chunk) => chunk,
            Octets::Value(value) => value.bytes(),
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
        Self(Octets::Own(Arc::default()))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(octets: Vec<u8>) -> Self {
        Self(Octets::Own(Arc::new(octets)))
    }
}

impl From<Chunk> for Bytes {
    fn from(chunk: Chunk) -> Self {
        Self(Octets::Shared(chunk))
    }
}

impl rtps::Payload for Bytes {
    fn copied_from(bytes: &[u8]) -> Self {
        Self::from(bytes.to_vec())
    }

    fn size(&self) -> usize {
        match &self.0 {
            Octets::Value(value) => value.size(),
            _ => self.as_ref().len(),
        }
    }

    fn value(&self) -> Option<Arc<dyn Value>> {
        match &self.0 {
            Octets::Value(value) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    fn is_value(&self) -> bool {
        matches!(self.0, Octets::Value(_))
    }
}

impl From<Arc<dyn Value>> for Bytes {
    fn from(value: Arc<dyn Value>) -> Self {
        Self(Octets::Value(value))
    }
}

/// Memory for a sample that is about to be written into it: exclusive until it is [`Bytes`].
#[derive(Debug)]
pub(crate) enum Memory {
    /// Of this process; nobody else holds it.
    Own(Arc<Vec<u8>>),
    /// Shared with other processes of the host.
    Shared(ChunkMut),
}

impl Memory {
    pub(crate) fn octets(&self) -> &[u8] {
        match self {
            Self::Own(octets) => octets,
            Self::Shared(chunk) => chunk,
        }
    }

    pub(crate) fn octets_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(octets) => Arc::get_mut(octets).map(Vec::as_mut_slice).unwrap_or_default(),
            Self::Shared(chunk) => chunk,
        }
    }

    /// It is only so long.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Own(octets) => {
                if let Some(octets) = Arc::get_mut(octets) {
                    octets.truncate(len);
                }
            }
            Self::Shared(chunk) => chunk.truncate(len),
        }
    }
}

/// Buffers of large samples that were written: they come back by themselves when the history and the socket have let go of them.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    lent: VecDeque<Arc<Vec<u8>>>,
}

impl Pool {
    /// Most buffers that are remembered, and most octets of each.
    const COUNT: usize = 64;
    const LEN: usize = 4 << 20;

    /// Fills a buffer, one that nobody holds any more if there is one, and gives a handle of it.
    pub(crate) fn fill<E>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Bytes, E> {
        let mut octets = self.free();
        if let Some(buffer) = Arc::get_mut(&mut octets) {
            buffer.clear();
            fill(buffer)?;
        }
        Ok(self.freeze(Memory::Own(octets)))
    }

    /// Memory of this process for `len` octets, which are whatever was there before.
    pub(crate) fn lend(&mut self, len: usize) -> Memory {
        let mut octets = self.free();
        if let Some(buffer) = Arc::get_mut(&mut octets) {
            buffer.resize(len, 0);
        }
        Memory::Own(octets)
    }

    /// It was written: gives a handle of it.
    pub(crate) fn freeze(&mut self, memory: Memory) -> Bytes {
        match memory {
            Memory::Own(octets) => {
                if octets.capacity() <= Self::LEN {
                    if self.lent.len() == Self::COUNT {
                        self.lent.pop_front();
                    }
                    self.lent.push_back(Arc::clone(&octets));
                }
                Bytes(Octets::Own(octets))
            }
            Memory::Shared(chunk) => Bytes::from(chunk.freeze()),
        }
    }

    /// A buffer that nobody else holds.
    fn free(&mut self) -> Arc<Vec<u8>> {
        // The oldest is the first to be free: readers acknowledge in order.
        let is_free = self.lent.front_mut().is_some_and(|oldest| Arc::get_mut(oldest).is_some());
        if is_free { self.lent.pop_front().unwrap_or_default() } else { Arc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(pool: &mut Pool, octet: u8) -> Bytes {
        pool.fill(|buffer| {
            buffer.resize(100, octet);
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
    fn memory_is_whatever_it_was_before_and_as_long_as_it_was_asked_for() {
        let mut pool = Pool::default();
        let first = filled(&mut pool, 1);
        let address = first.as_ref().as_ptr();
        drop(first);
        let mut memory = pool.lend(90);
        assert_eq!((memory.octets().as_ptr(), memory.octets()), (address, &[1; 90][..]));
        memory.octets_mut().fill(5);
        memory.truncate(70);
        assert_eq!(pool.freeze(memory).as_ref(), [5; 70]);
        let (chunks, _) = shm::Chunks::new(0, 1 << 16).unwrap();
        let mut memory = Memory::Shared(chunks.lend(100).unwrap());
        memory.octets_mut().fill(6);
        memory.truncate(90);
        let bytes = pool.freeze(memory);
        assert!(bytes.chunk().is_some() && bytes == Bytes::from(vec![6; 90]) && bytes != Bytes::default());
    }
}
