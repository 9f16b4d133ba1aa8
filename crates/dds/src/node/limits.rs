//! Which samples of a writer its readers can take: one that is larger is passed over there, and told to the reader alone. So the writer's
//! participant tells its own log, once for each reader.
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use tracing::warn;
use wire::Guid;

use crate::lock::lock;

/// See the module.
#[derive(Debug)]
pub(crate) struct Limits {
    /// The smallest limit of a reader that was not told of.
    smallest: AtomicU32,
    /// Matched readers that announce a limit, and whether it was told of.
    readers: Mutex<Vec<(Guid, u32, bool)>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { smallest: AtomicU32::new(u32::MAX), readers: Mutex::default() }
    }
}

impl Limits {
    /// A reader is matched, perhaps again.
    pub(super) fn matched(&self, reader: Guid, limit: Option<u32>) {
        let mut readers = lock(&self.readers);
        let told =
            readers.iter().any(|(guid, before, told)| *guid == reader && Some(*before) == limit && *told);
        readers.retain(|(guid, ..)| *guid != reader);
        readers.extend(limit.map(|limit| (reader, limit, told)));
        self.set_smallest(&readers);
    }

    /// A reader is not matched any more.
    pub(super) fn unmatched(&self, reader: Guid) {
        self.matched(reader, None);
    }

    /// A sample of so many bytes was written.
    #[inline]
    pub(super) fn written(&self, writer: Guid, size: usize) {
        if size > self.smallest.load(Ordering::Relaxed) as usize {
            for (reader, limit) in self.exceeded(size) {
                warn!(%writer, %reader, size, limit, "a sample was written that a reader cannot take: its byte_limit is too small");
            }
        }
    }

    /// The readers that cannot take a sample of so many bytes, and their limits: each once.
    #[cold]
    fn exceeded(&self, size: usize) -> Vec<(Guid, u32)> {
        let mut readers = lock(&self.readers);
        let exceeded = readers.iter_mut().filter(|(_, limit, told)| !told && size > *limit as usize);
        let exceeded = exceeded.map(|(guid, limit, told)| {
            *told = true;
            (*guid, *limit)
        });
        let exceeded = exceeded.collect();
        self.set_smallest(&readers);
        exceeded
    }

    fn set_smallest(&self, readers: &[(Guid, u32, bool)]) {
        let open = readers.iter().filter(|(.., told)| !told).map(|(_, limit, _)| *limit);
        self.smallest.store(open.min().unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_that_cannot_take_a_sample_is_told_of_once() {
        let reader = |number| Guid::from_bytes([number; 16]);
        let limits = Limits::default();
        limits.matched(reader(1), Some(1_000));
        limits.matched(reader(2), Some(2_000));
        limits.matched(reader(3), None);
        assert_eq!(limits.exceeded(1_000), []);
        assert_eq!(limits.exceeded(1_001), [(reader(1), 1_000)]);
        assert_eq!(limits.smallest.load(Ordering::Relaxed), 2_000);
        // Other QoS are another match; another limit is told of again.
        limits.matched(reader(1), Some(1_000));
        assert_eq!(limits.exceeded(5_000), [(reader(2), 2_000)]);
        limits.matched(reader(1), Some(900));
        assert_eq!(limits.exceeded(5_000), [(reader(1), 900)]);
        limits.unmatched(reader(1));
        limits.matched(reader(1), Some(900));
        assert_eq!(limits.exceeded(5_000), [(reader(1), 900)]);
        assert_eq!(limits.smallest.load(Ordering::Relaxed), u32::MAX);
    }
}
