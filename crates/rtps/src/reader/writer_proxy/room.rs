//! What a writer proxy keeps, and what it throws out to keep the reader's byte limit.
use wire::{Instant, SequenceNumber};

use super::super::order::{Held, REACH};
use super::super::{Sample, SamplePayload, Store};
use super::{IDLE, WriterProxy};

impl WriterProxy {
    /// Keeps a change that cannot be delivered yet.
    pub(super) fn hold(&mut self, sample: &mut Sample<'_>, store: &mut Store) {
        let number = sample.sequence_number;
        let size = Held::cost_of(&sample.payload);
        if number.distance_from(self.order.next()) >= REACH || !store.has_room(size) {
            // The writer repeats it: when its turn comes, or, if that is now and the sink is full, once that has room.
            store.counters.no_room += 1;
            return;
        }
        let payload = match core::mem::take(&mut sample.payload) {
            SamplePayload::None => SamplePayload::None,
            SamplePayload::Datagram(bytes) => {
                let mut buffer = store.buffer(bytes.len());
                buffer.extend_from_slice(bytes);
                SamplePayload::Owned(buffer)
            }
            SamplePayload::Owned(buffer) => SamplePayload::Owned(buffer),
            SamplePayload::Value(value) => SamplePayload::Value(value),
        };
        let held = Held::new(sample, payload);
        store.counters.held_back += 1;
        self.fruitless = 0;
        store.held_bytes += held.cost();
        self.order.insert(number, held);
        // It may have come whole after some of its fragments had come.
        if let Some(index) = self.assemblies.iter().position(|assembly| assembly.number == number) {
            self.drop_assembly(index, store);
        }
    }

    /// Throws out one thing: the change that is furthest ahead of the others, or with `all` even the one that is needed next.
    /// With `idle_only` only incomplete samples that have not moved for a second. False if there is nothing.
    pub(in crate::reader) fn evict(
        &mut self,
        all: bool,
        idle_only: bool,
        now: Instant,
        store: &mut Store,
    ) -> bool {
        let farthest = self
            .assemblies
            .iter()
            .enumerate()
            .filter(|(_, assembly)| !idle_only || now.since(assembly.touched) >= IDLE)
            .max_by_key(|(_, assembly)| assembly.number)
            .map(|(index, assembly)| (index, assembly.number));
        let lowest = self.assemblies.iter().map(|assembly| assembly.number).min();
        let newest = self.order.newest();
        let waits = !idle_only && newest >= self.order.next() && (all || newest > self.order.next());
        match farthest {
            Some((index, number)) if !waits || number > newest => {
                if !all && !idle_only && !waits && lowest == Some(number) {
                    return false;
                }
                self.drop_assembly(index, store);
            }
            _ if waits => {
                let Some((_, held)) = self.order.evict(all) else { return false };
                release(held, store);
            }
            _ => return false,
        }
        store.counters.evicted += 1;
        true
    }

    /// Gives back all that it holds.
    pub(in crate::reader) fn release(mut self, store: &mut Store) {
        self.restart(SequenceNumber::FIRST, store);
    }

    /// Forgets everything and goes on at `next`.
    pub(super) fn restart(&mut self, next: SequenceNumber, store: &mut Store) {
        self.order.restart(next).for_each(|held| release(held, store));
        while !self.assemblies.is_empty() {
            self.drop_assembly(0, store);
        }
        self.blocked = false;
        self.unusable = None;
    }

    #[inline]
    pub(super) fn forget_assemblies(&mut self, store: &mut Store) {
        if !self.assemblies.is_empty() {
            self.forget_old_assemblies(store);
        }
    }

    fn forget_old_assemblies(&mut self, store: &mut Store) {
        while let Some(index) =
            self.assemblies.iter().position(|assembly| assembly.number < self.order.next())
        {
            self.drop_assembly(index, store);
        }
    }

    pub(super) fn drop_farthest_assembly(&mut self, number: SequenceNumber, store: &mut Store) -> bool {
        let farthest = self.assemblies.iter().enumerate().max_by_key(|(_, assembly)| assembly.number);
        // A best-effort writer never comes back to an old sample; a reliable one repeats what is needed first.
        let victim = match self.reliable {
            true => farthest.filter(|(_, assembly)| assembly.number > number).map(|(index, _)| index),
            false => self
                .assemblies
                .iter()
                .enumerate()
                .min_by_key(|(_, assembly)| assembly.number)
                .map(|(index, _)| index),
        };
        if let Some(index) = victim {
            self.drop_assembly(index, store);
            store.counters.evicted += 1;
        }
        victim.is_some()
    }

    pub(super) fn drop_assembly(&mut self, index: usize, store: &mut Store) {
        let assembly = self.assemblies.swap_remove(index);
        store.held_bytes = store.held_bytes.saturating_sub(assembly.held());
        let (buffer, runs) = assembly.into_buffers();
        store.recycle_assembly(buffer, runs);
    }
}

fn release(held: Held, store: &mut Store) {
    store.held_bytes = store.held_bytes.saturating_sub(held.cost());
    if let SamplePayload::Owned(buffer) = held.into_payload() {
        store.recycle(buffer);
    }
}
