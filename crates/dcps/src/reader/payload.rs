//! Octets of received samples: shared handles, used again when nobody holds them.
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rtps::reader::SamplePayload;
use rtps::spare::fitting;

/// The octets of a sample, encapsulation header included; up to three octets of padding may follow. Clones share them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Payload(Arc<Vec<u8>>);

impl Payload {
    /// The octets; none for a sample without data.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Octets of memory.
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Payloads that nobody holds any more.
#[derive(Debug)]
pub(super) struct Pool {
    /// In the order in which they came back.
    free: VecDeque<Payload>,
    bytes: usize,
    /// Most octets of all together.
    limit: usize,
}

impl Pool {
    /// Most payloads that idle, the most octets of each, and of all together in the largest cache.
    const COUNT: usize = 4_096;
    const LEN: usize = 4 << 20;
    const BYTES: usize = 8 << 20;

    /// The pool of a cache of at most `limit` octets.
    pub(super) fn new(limit: usize) -> Self {
        Self { free: VecDeque::new(), bytes: 0, limit: limit.min(Self::BYTES) }
    }

    /// Takes a received payload: octets that lie in a datagram are copied, a buffer of their own is exchanged for an idle one.
    pub(super) fn keep(&mut self, payload: &mut SamplePayload<'_>) -> Payload {
        match payload {
            SamplePayload::None => Payload::default(),
            SamplePayload::Datagram(bytes) => {
                let mut kept = self.idle(bytes.len());
                if let Some(buffer) = Arc::get_mut(&mut kept.0) {
                    buffer.reserve_exact(bytes.len());
                    buffer.extend_from_slice(bytes);
                }
                kept
            }
            SamplePayload::Owned(buffer) => {
                let mut kept = self.idle(buffer.len());
                if let Some(idle) = Arc::get_mut(&mut kept.0) {
                    core::mem::swap(idle, buffer);
                }
                kept
            }
        }
    }

    /// Undoes `keep` for a sample that is refused after all.
    pub(super) fn put_back(&mut self, mut kept: Payload, payload: &mut SamplePayload<'_>) {
        if let (SamplePayload::Owned(buffer), Some(kept)) = (payload, Arc::get_mut(&mut kept.0)) {
            core::mem::swap(kept, buffer);
        }
        self.give(kept);
    }

    /// Takes a payload back; one that somebody still holds is left to them. Those that came back longest ago make room for it.
    pub(super) fn give(&mut self, mut payload: Payload) {
        let Some(buffer) = Arc::get_mut(&mut payload.0) else { return };
        buffer.clear();
        let capacity = buffer.capacity();
        if capacity > Self::LEN.min(self.limit) {
            return;
        }
        self.bytes += capacity;
        self.free.push_back(payload);
        while self.free.len() > Self::COUNT || self.bytes > self.limit {
            let Some(oldest) = self.free.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(oldest.capacity());
        }
    }

    /// An empty payload for so many octets that nobody else holds.
    fn idle(&mut self, len: usize) -> Payload {
        let index = fitting(self.free.iter().map(Payload::capacity), len);
        let Some(payload) = index.and_then(|index| self.free.swap_remove_back(index)) else {
            return Payload::default();
        };
        self.bytes = self.bytes.saturating_sub(payload.capacity());
        payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_used_again() {
        let mut pool = Pool::new(1 << 20);
        let first = pool.keep(&mut SamplePayload::Datagram(&[1; 100]));
        let address = first.bytes().as_ptr();
        let held = first.clone();
        pool.give(first);
        assert!(pool.free.is_empty());
        pool.give(held);
        let second = pool.keep(&mut SamplePayload::Datagram(&[2; 100]));
        assert_eq!((second.bytes().as_ptr(), second.bytes()), (address, &[2; 100][..]));
    }

    #[test]
    fn no_more_idles_than_the_cache_may_hold() {
        let mut pool = Pool::new(1_000);
        let kept: Vec<_> = (0..9).map(|_| pool.keep(&mut SamplePayload::Datagram(&[1; 300]))).collect();
        kept.into_iter().for_each(|payload| pool.give(payload));
        assert_eq!((pool.free.len(), pool.bytes), (3, 900));
    }

    #[test]
    fn a_small_sample_does_not_pin_a_large_buffer() {
        let mut pool = Pool::new(1 << 20);
        let large = pool.keep(&mut SamplePayload::Datagram(&[1; 10_000]));
        pool.give(large);
        assert_eq!(pool.keep(&mut SamplePayload::Datagram(&[1; 10])).capacity(), 10);
        assert_eq!(pool.bytes, 10_000);
    }

    #[test]
    fn a_buffer_of_its_own_is_moved_and_can_be_put_back() {
        let mut pool = Pool::new(1 << 20);
        let buffer = Vec::from([5; 300]);
        let address = buffer.as_ptr();
        let mut payload = SamplePayload::Owned(buffer);
        let kept = pool.keep(&mut payload);
        assert_eq!((kept.bytes().as_ptr(), payload.bytes().len()), (address, 0));
        pool.put_back(kept, &mut payload);
        assert_eq!((payload.bytes().as_ptr(), payload.bytes().len()), (address, 300));
    }
}
