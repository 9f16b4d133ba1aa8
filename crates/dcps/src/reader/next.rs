//! A sample of a known instance that is taken without a question: no policy keeps it back, and it takes the place of no other.
use alloc::sync::Arc;
use alloc::vec::Vec;

use rtps::reader::SamplePayload;
use wire::{Guid, Instant, Now, SequenceNumber, Timestamp};

use super::DataReader;
use super::cache::Stored;
use crate::InstanceState;
use crate::status::StatusMask;
use crate::timers::NO_TIME;
use crate::type_support::TypeSupport;

impl<T: TypeSupport> DataReader<T> {
    /// As `deliver`; false if it is not so simple, then nothing has changed but what was due.
    pub(super) fn deliver_next(
        &mut self,
        now: Now,
        writer: Guid,
        number: SequenceNumber,
        source: Option<Timestamp>,
        bytes: &[u8],
        buffer: Option<&Arc<Vec<u8>>>,
    ) -> bool {
        if !self.is_plain || bytes.is_empty() {
            return false;
        }
        self.catch_up(now);
        if self.publication(writer).is_none_or(|writer| !writer.lifespan.is_infinite()) {
            return false;
        }
        self.key.clear();
        let found = match self.types.has_key() {
            true if self.types.key(bytes, false, &mut self.key).is_err() => return false,
            true => self.cache.table.by_key(&self.key),
            false => self.cache.table.keyless(),
        };
        let Some(slot) = found else { return false };
        let limits = self.limits;
        let Some(instance) = self.cache.table.state_mut(slot) else { return false };
        let takes_it = instance.state == InstanceState::Alive
            && instance.pending.is_none()
            && instance.expires == NO_TIME
            && instance.purge_at == Instant::NEVER
            && instance.valid < limits.depth.unwrap_or(usize::MAX).min(limits.per_instance)
            && self.cache.samples < limits.samples
            && instance.writers.iter().any(|registration| registration.writer == writer);
        if !takes_it {
            return false;
        }
        let (disposed_generations, no_writers_generations) =
            (instance.disposed_generations, instance.no_writers_generations);
        let mut payload = SamplePayload::Datagram(bytes);
        let mut stored = Stored {
            writer,
            number,
            related: None,
            source: source.unwrap_or(now.wall),
            reception: now.wall,
            expires: NO_TIME,
            disposed_generations,
            no_writers_generations,
            read: false,
            payload: Some(self.cache.pool.keep(&mut payload, buffer)),
        };
        if self.cache.bytes.saturating_add(stored.cost()) > limits.bytes {
            if let Some(kept) = stored.payload.take() {
                self.cache.pool.put_back(kept, &mut payload);
            }
            return false;
        }
        if let Some(instance) = self.cache.table.state_mut(slot) {
            instance.passed_at = Some(now.monotonic);
            instance.deadline_at = Instant::NEVER;
        }
        self.cache.insert(slot, stored);
        self.changed.raise(StatusMask::DATA_AVAILABLE);
        // Alive, and with a sample, it is not over; and nothing is due.
        self.cache.settle(slot);
        true
    }
}
