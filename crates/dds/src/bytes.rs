//! Octets that are shared, and used again when nobody holds them.
use std::collections::VecDeque;
use std::sync::Arc;

/// A shared handle of the octets of a sample, encapsulation header included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(octets: Vec<u8>) -> Self {
        Self(Arc::new(octets))
    }
}

impl rtps::Payload for Bytes {
    fn copied_from(bytes: &[u8]) -> Self {
        Self(Arc::new(bytes.to_vec()))
    }
}

/// Buffers of large samples that were written: they come back by themselves when the history and the socket have let go of them.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    lent: VecDeque<Bytes>,
}

impl Pool {
    /// Most buffers that are remembered, and most octets of each.
    const COUNT: usize = 64;
    const LEN: usize = 4 << 20;

    /// Fills a buffer, one that nobody holds any more if there is one, and gives a handle of it.
    pub(crate) fn fill<E>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Bytes, E> {
        // The oldest is the first to be free: readers acknowledge in order.
        let is_free = self.lent.front_mut().is_some_and(|oldest| Arc::get_mut(&mut oldest.0).is_some());
        let mut bytes = if is_free { self.lent.pop_front().unwrap_or_default() } else { Bytes::default() };
        if let Some(buffer) = Arc::get_mut(&mut bytes.0) {
            buffer.clear();
            fill(buffer)?;
        }
        if bytes.0.capacity() <= Self::LEN {
            if self.lent.len() == Self::COUNT {
                self.lent.pop_front();
            }
            self.lent.push_back(bytes.clone());
        }
        Ok(bytes)
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
}
