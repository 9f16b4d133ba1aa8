//! Pooled buffers of a writer's history: filled by one owner, shared when they leave, used again when no handle is left.
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Smallest slab, as a power of two.
const SMALLEST: u32 = 7;
/// Largest slab, as a power of two: one UDP datagram.
const LARGEST: u32 = 16;
const CLASSES: usize = (LARGEST - SMALLEST + 1) as usize;

/// Slabs by size class, oldest returned first.
#[derive(Debug)]
pub(crate) struct SlabPool {
    free: [VecDeque<Arc<Vec<u8>>>; CLASSES],
    free_bytes: usize,
    /// Most bytes that idle here; what comes back beyond that is released.
    limit: usize,
}

/// The capacity of the slab that `take(len)` gives, or `None` if a datagram cannot hold `len` bytes.
pub(crate) fn capacity_for(len: usize) -> Option<usize> {
    class(len).map(|class| 1 << (class as u32 + SMALLEST))
}

impl SlabPool {
    pub(crate) fn new(limit: usize) -> Self {
        Self { free: [const { VecDeque::new() }; CLASSES], free_bytes: 0, limit }
    }

    /// An empty slab of at least `len` bytes without another handle, after `begin` has written to it; `None` if a datagram cannot hold
    /// `len` bytes.
    pub(crate) fn take(&mut self, len: usize, begin: impl FnOnce(&mut Vec<u8>)) -> Option<Arc<Vec<u8>>> {
        let class = class(len)?;
        let free = self.free.get_mut(class)?;
        // The oldest was returned longest ago: if a transmit still holds it, the others are unlikely to be free.
        if let Some(mut slab) = free.pop_front() {
            if let Some(bytes) = Arc::get_mut(&mut slab) {
                bytes.clear();
                self.free_bytes = self.free_bytes.saturating_sub(bytes.capacity());
                begin(bytes);
                return Some(slab);
            }
            free.push_back(slab);
        }
        let mut bytes = Vec::with_capacity(1 << (class as u32 + SMALLEST));
        begin(&mut bytes);
        Some(Arc::new(bytes))
    }

    /// Gives a slab back; a transmit may still hold it.
    pub(crate) fn give(&mut self, slab: Arc<Vec<u8>>) {
        let capacity = slab.capacity();
        if self.free_bytes.saturating_add(capacity) <= self.limit
            && let Some(free) = class(capacity).and_then(|class| self.free.get_mut(class))
        {
            self.free_bytes = self.free_bytes.saturating_add(capacity);
            free.push_back(slab);
        }
    }
}

fn class(len: usize) -> Option<usize> {
    let bits = len.max(1 << SMALLEST).checked_next_power_of_two()?.trailing_zeros();
    (bits <= LARGEST).then_some((bits - SMALLEST) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_used_again_once_nobody_holds_them() {
        let mut pool = SlabPool::new(1 << 20);
        let slab = pool.take(200, |_| ()).unwrap();
        assert_eq!(slab.capacity(), 256);
        let address = slab.as_ptr();
        let held = Arc::clone(&slab);
        pool.give(slab);
        assert_ne!(pool.take(256, |_| ()).unwrap().as_ptr(), address);
        drop(held);
        assert_eq!(pool.take(129, |_| ()).unwrap().as_ptr(), address);
    }

    #[test]
    fn sizes_are_bounded_by_a_datagram_and_idle_memory_by_the_limit() {
        let mut pool = SlabPool::new(300);
        assert!(pool.take(65_537, |_| ()).is_none());
        assert_eq!(capacity_for(65_507), Some(65_536));
        assert_eq!(capacity_for(0), Some(128));
        for slab in [pool.take(256, |_| ()).unwrap(), pool.take(256, |_| ()).unwrap()] {
            pool.give(slab);
        }
        assert_eq!(pool.free_bytes, 256);
    }
}
