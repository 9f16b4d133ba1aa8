//! Bytes of received samples: shared buffers, used again when no handle is left.
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rtps::Value;
use rtps::reader::SamplePayload;
use rtps::spare::{fits, fitting};

/// The bytes of a sample, encapsulation header included; up to three bytes of padding may follow. Clones share them, or are copies of
/// a few.
#[derive(Clone, Debug)]
pub struct Payload(Kind);

/// Where they are.
#[derive(Clone, Debug)]
enum Kind {
    /// So many, here.
    Few(u8, [u8; FEW]),
    /// They are a buffer.
    Whole(Arc<Vec<u8>>),
    /// They are part of one: from here to there.
    Part(Arc<Vec<u8>>, u32, u32),
    /// Nowhere yet: a sample of the same process.
    Value(Arc<dyn Value>),
}

/// So many bytes need no buffer. With more, all samples would be larger, whose moves cost as much as a buffer saves.
const FEW: usize = 30;

impl Default for Payload {
    fn default() -> Self {
        Self(Kind::Whole(Arc::default()))
    }
}

impl Payload {
    /// The sample itself, if its writer is of the same process and gave a handle of it.
    pub const fn value(&self) -> Option<&Arc<dyn Value>> {
        match &self.0 {
            Kind::Value(value) => Some(value),
            Kind::Few(..) | Kind::Whole(_) | Kind::Part(..) => None,
        }
    }

    /// The bytes; none for a sample without data.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::Few(len, octets) => octets.get(..usize::from(*len)).unwrap_or_default(),
            Kind::Whole(buffer) => buffer,
            Kind::Part(buffer, start, end) => buffer.get(*start as usize..*end as usize).unwrap_or_default(),
            Kind::Value(value) => value.bytes(),
        }
    }

    /// True if it holds memory that can be used again.
    #[inline]
    pub(super) const fn has_buffer(&self) -> bool {
        matches!(&self.0, Kind::Whole(_) | Kind::Part(..))
    }

    /// Bytes of memory beside its own.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        match &self.0 {
            Kind::Few(..) => 0,
            Kind::Whole(buffer) | Kind::Part(buffer, ..) => buffer.capacity(),
            Kind::Value(value) => value.size(),
        }
    }

    /// The buffer, if there is no other handle; it is all of it from then on.
    fn buffer(&mut self) -> Option<&mut Vec<u8>> {
        if let Kind::Part(buffer, ..) = &mut self.0 {
            self.0 = Kind::Whole(core::mem::take(buffer));
        }
        match &mut self.0 {
            Kind::Whole(buffer) => Arc::get_mut(buffer),
            Kind::Few(..) | Kind::Part(..) | Kind::Value(_) => None,
        }
    }

    /// These bytes, if they are few.
    #[inline]
    fn few(bytes: &[u8]) -> Option<Self> {
        let mut octets = [0; FEW];
        octets.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self(Kind::Few(bytes.len() as u8, octets)))
    }

    /// The part of `buffer` that `bytes` are, if they lie in it and are most of it: a small one would keep much memory for little.
    fn part_of(buffer: &Arc<Vec<u8>>, bytes: &[u8]) -> Option<Self> {
        if bytes.len() < Self::LEAST || bytes.len() < buffer.capacity() / 2 {
            return None;
        }
        let start = bytes.as_ptr().addr().checked_sub(buffer.as_ptr().addr())?;
        let end = start.checked_add(bytes.len())?;
        buffer.get(start..end)?;
        let (start, end) = (u32::try_from(start).ok()?, u32::try_from(end).ok()?);
        Some(Self(Kind::Part(Arc::clone(buffer), start, end)))
    }

    /// Below this many bytes a copy costs less than the buffer that it would need.
    const LEAST: usize = 1 << 10;
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Payload {}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Payloads without a handle.
#[derive(Debug)]
pub(super) struct Pool {
    /// In the order in which they came back.
    free: VecDeque<Payload>,
    bytes: usize,
    /// Most bytes of all together.
    limit: usize,
}

impl Pool {
    /// Most payloads that idle, the most bytes of each, and of all together in the largest cache.
    const COUNT: usize = 4_096;
    const LEN: usize = 4 << 20;
    const BYTES: usize = 8 << 20;

    /// The pool of a cache of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { free: VecDeque::new(), bytes: 0, limit: limit.min(Self::BYTES) }
    }

    /// Takes a received payload: bytes that lie in a datagram are copied, unless they are most of `buffer`, which is kept then; a buffer
    /// of their own is exchanged for an idle one.
    #[inline]
    pub(super) fn keep(&mut self, payload: &mut SamplePayload<'_>, buffer: Option<&Arc<Vec<u8>>>) -> Payload {
        match payload {
            SamplePayload::Datagram(bytes) if bytes.len() <= FEW => Payload::few(bytes).unwrap_or_default(),
            _ => self.keep_many(payload, buffer),
        }
    }

    fn keep_many(&mut self, payload: &mut SamplePayload<'_>, buffer: Option<&Arc<Vec<u8>>>) -> Payload {
        match payload {
            SamplePayload::None => Payload::default(),
            SamplePayload::Value(value) => Payload(Kind::Value(Arc::clone(value))),
            SamplePayload::Datagram(bytes) => {
                if let Some(kept) = buffer.and_then(|buffer| Payload::part_of(buffer, bytes)) {
                    return kept;
                }
                let mut kept = self.idle(bytes.len());
                if let Some(buffer) = kept.buffer() {
                    buffer.reserve_exact(bytes.len());
                    buffer.extend_from_slice(bytes);
                }
                kept
            }
            SamplePayload::Owned(buffer) => {
                let mut kept = self.idle(buffer.len());
                if let Some(idle) = kept.buffer() {
                    core::mem::swap(idle, buffer);
                }
                kept
            }
        }
    }

    /// Undoes `keep` for a sample that is refused after all.
    pub(super) fn put_back(&mut self, mut kept: Payload, payload: &mut SamplePayload<'_>) {
        if let (SamplePayload::Owned(buffer), Some(kept)) = (payload, kept.buffer()) {
            core::mem::swap(kept, buffer);
        }
        self.give(kept);
    }

    /// Takes a payload back; one with another handle is left to that. Those that came back longest ago make room for it.
    #[inline]
    pub(super) fn give(&mut self, payload: Payload) {
        if !matches!(payload.0, Kind::Few(..)) {
            self.give_buffer(payload);
        }
    }

    fn give_buffer(&mut self, mut payload: Payload) {
        let Some(buffer) = payload.buffer() else { return };
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

    /// An empty payload for so many bytes, without another handle.
    fn idle(&mut self, len: usize) -> Payload {
        let found = match self.free.pop_back_if(|last| fits(last.capacity(), len)) {
            Some(last) => Some(last),
            None => fitting(self.free.iter().map(Payload::capacity), len)
                .and_then(|index| self.free.swap_remove_back(index)),
        };
        let Some(payload) = found else { return Payload::default() };
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
        let first = pool.keep(&mut SamplePayload::Datagram(&[1; 100]), None);
        let address = first.bytes().as_ptr();
        let held = first.clone();
        pool.give(first);
        assert!(pool.free.is_empty());
        pool.give(held);
        let second = pool.keep(&mut SamplePayload::Datagram(&[2; 100]), None);
        assert_eq!((second.bytes().as_ptr(), second.bytes()), (address, &[2; 100][..]));
    }

    #[test]
    fn a_few_octets_need_no_buffer() {
        let mut pool = Pool::new(1 << 20);
        for len in [0, 1, FEW] {
            let bytes = alloc::vec![7; len];
            let kept = pool.keep(&mut SamplePayload::Datagram(&bytes), None);
            assert_eq!((kept.bytes(), kept.capacity(), &kept.clone()), (bytes.as_slice(), 0, &kept));
        }
        assert!(pool.keep(&mut SamplePayload::Datagram(&[7; FEW + 1]), None).capacity() > FEW);
    }

    #[test]
    fn no_more_idles_than_the_cache_may_hold() {
        let mut pool = Pool::new(1_000);
        let kept: Vec<_> = (0..9).map(|_| pool.keep(&mut SamplePayload::Datagram(&[1; 300]), None)).collect();
        kept.into_iter().for_each(|payload| pool.give(payload));
        assert_eq!((pool.free.len(), pool.bytes), (3, 900));
    }

    #[test]
    fn a_small_sample_does_not_pin_a_large_buffer() {
        let mut pool = Pool::new(1 << 20);
        let large = pool.keep(&mut SamplePayload::Datagram(&[1; 10_000]), None);
        pool.give(large);
        assert_eq!(pool.keep(&mut SamplePayload::Datagram(&[1; 90]), None).capacity(), 90);
        assert_eq!(pool.bytes, 10_000);
    }

    #[test]
    fn what_is_most_of_a_buffer_is_not_copied() {
        let mut pool = Pool::new(1 << 20);
        let buffer = Arc::new((0..=255).cycle().take(4_096).collect::<Vec<u8>>());
        let inside = &buffer[100..4_000];
        let kept = pool.keep(&mut SamplePayload::Datagram(inside), Some(&buffer));
        assert_eq!((kept.bytes().as_ptr(), kept.bytes()), (inside.as_ptr(), inside));
        assert_eq!(kept.capacity(), 4_096);
        // A small part would keep all of it, and what lies elsewhere is none of it.
        for elsewhere in [&buffer[100..1_900], &buffer.to_vec()[100..4_000]] {
            let kept = pool.keep(&mut SamplePayload::Datagram(elsewhere), Some(&buffer));
            assert!(kept.bytes() == elsewhere && kept.bytes().as_ptr() != elsewhere.as_ptr());
        }
        // Given back by the last who held it, its buffer is one like others.
        drop(buffer);
        pool.give(kept);
        assert_eq!(pool.keep(&mut SamplePayload::Datagram(&[3; 3_000]), None).bytes(), [3; 3_000]);
    }

    #[test]
    fn a_buffer_of_its_own_is_moved_and_can_be_put_back() {
        let mut pool = Pool::new(1 << 20);
        let buffer = Vec::from([5; 300]);
        let address = buffer.as_ptr();
        let mut payload = SamplePayload::Owned(buffer);
        let kept = pool.keep(&mut payload, None);
        assert_eq!((kept.bytes().as_ptr(), payload.bytes().len()), (address, 0));
        pool.put_back(kept, &mut payload);
        assert_eq!((payload.bytes().as_ptr(), payload.bytes().len()), (address, 300));
    }
}
