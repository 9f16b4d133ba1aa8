//! Buffers for large datagrams: what a reader keeps of them need not be copied again.
use std::sync::Arc;

/// Buffers that were filled. One without a handle is filled again.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    lent: Vec<Arc<Vec<u8>>>,
}

impl Buffers {
    /// Most buffers that are remembered; a cache that holds more has buffers of its own.
    const COUNT: usize = 64;
    /// Lengths are multiples of this.
    const STEP: usize = 1 << 10;

    /// Fills the first `len` bytes of a buffer; `None` if `fill` says that it could not.
    pub(super) fn fill(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> bool) -> Option<Arc<Vec<u8>>> {
        // In the same order each time, so that what was used last is used first.
        let free = self.lent.iter().position(|buffer| Arc::strong_count(buffer) == 1);
        let mut buffer = free.map(|place| self.lent.swap_remove(place)).unwrap_or_default();
        let fits = (len..=len.saturating_mul(3) / 2 + Self::STEP).contains(&buffer.len());
        if !fits || Arc::get_mut(&mut buffer).is_none() {
            buffer = Arc::new(vec![0; len.next_multiple_of(Self::STEP)]);
        }
        let filled = Arc::get_mut(&mut buffer).and_then(|bytes| bytes.get_mut(..len)).is_some_and(fill);
        if self.lent.len() < Self::COUNT {
            self.lent.push(Arc::clone(&buffer));
            // To where it was.
            if let Some(place) = free {
                let last = self.lent.len() - 1;
                self.lent.swap(place, last);
            }
        }
        filled.then_some(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffers: &mut Buffers, len: usize, octet: u8) -> Arc<Vec<u8>> {
        let filled = buffers.fill(len, |bytes| {
            bytes.fill(octet);
            true
        });
        filled.unwrap()
    }

    #[test]
    fn a_buffer_is_filled_again_once_nobody_holds_it() {
        let mut buffers = Buffers::default();
        let first = fill(&mut buffers, 5_000, 1);
        let second = fill(&mut buffers, 5_000, 2);
        assert!(!Arc::ptr_eq(&first, &second) && first[..5_000] == [1; 5_000]);
        let address = first.as_ptr();
        drop(first);
        let third = fill(&mut buffers, 4_900, 3);
        assert_eq!((third.as_ptr(), &third[..4_900]), (address, &[3; 4_900][..]));
        assert_eq!(second[..5_000], [2; 5_000]);
        assert!(buffers.fill(10, |_| false).is_none());
    }

    #[test]
    fn no_more_are_remembered_than_a_bound_and_none_that_is_far_too_large() {
        let mut buffers = Buffers::default();
        let held: Vec<_> = (0..200).map(|octet| fill(&mut buffers, 2_000, octet)).collect();
        assert_eq!(buffers.lent.len(), Buffers::COUNT);
        assert!((0..200_u8).zip(&held).all(|(octet, buffer)| buffer[..2_000] == [octet; 2_000]));
        drop(held);
        let large = fill(&mut buffers, 60_000, 1);
        drop(large);
        let small = fill(&mut buffers, 2_000, 2);
        assert!(small.len() < 5_000);
        assert_eq!(buffers.lent.len(), Buffers::COUNT);
    }
}
