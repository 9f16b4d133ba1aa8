//! Acknowledgements that wait for a datagram to go with.
//!
//! A sample is often answered by a sample. An acknowledgement that asks for nothing and is due together with a sample for the
//! application then costs no datagram of its own, if it waits for as long as the application is at it. Where that was in vain again
//! and again it is not tried each time.
use wire::message::AckNack;
use wire::message::encode::{self, INFO_DESTINATION_LEN, MAX_ACKNACK_LEN};
use wire::{Instant, Now, SequenceNumberSet};

use super::Reader;
use crate::Payload;
use crate::path::Path;
use crate::transmit::Transmit;

/// After so many attempts in vain in a row there is one in 2^6.
const MOST_MISSES: u32 = 6;

/// Whether the acknowledgement to one writer waits, and whether the next one may.
#[derive(Debug, Default)]
pub(super) struct Hold {
    holds: bool,
    /// Attempts in vain since one that was not.
    misses: u32,
    /// Acknowledgements that go at once before the next attempt.
    passes: u32,
}

impl Hold {
    pub(super) const fn holds(&self) -> bool {
        self.holds
    }

    /// An acknowledgement is due; false if it has to go at once.
    pub(super) const fn begin(&mut self) -> bool {
        self.holds = self.passes == 0;
        self.passes = self.passes.saturating_sub(1);
        self.holds
    }

    /// It went by itself for another reason.
    pub(super) const fn end(&mut self) {
        self.holds = false;
    }

    fn carried(&mut self) {
        *self = Self::default();
    }

    fn missed(&mut self) {
        self.holds = false;
        self.misses = MOST_MISSES.min(self.misses + 1);
        // The first one is an accident.
        self.passes = (1 << self.misses) - 2;
    }
}

impl Reader {
    /// True if an acknowledgement waits for [`Reader::carry`] or [`Reader::release`]. Only with
    /// [`ReaderConfig::holds`](super::ReaderConfig::holds).
    pub fn holds(&self) -> bool {
        self.writers.iter().any(|proxy| proxy.hold.holds())
    }

    /// Appends the acknowledgements that wait to `out`, a datagram for `path` alone that has room for `room` more bytes.
    pub fn carry<P: Payload>(&mut self, path: &Path, room: usize, out: &mut Transmit<P>) {
        let mut room = room;
        let reader_id = self.config.guid.entity_id;
        for proxy in &mut self.writers {
            // What is asked for meanwhile is not delayed, and not doubled.
            let may = proxy.hold.holds() && proxy.answer_at == Instant::NEVER && proxy.path == Some(*path);
            if !may || room < INFO_DESTINATION_LEN + MAX_ACKNACK_LEN {
                continue;
            }
            self.store.count = self.store.count.wrapping_add(1);
            let acknack = AckNack {
                reader_id,
                writer_id: proxy.guid.entity_id,
                set: SequenceNumberSet::empty(proxy.next()),
                count: self.store.count,
                is_final: true,
            };
            let before = out.len();
            out.scratch(|bytes| {
                encode::info_destination(bytes, proxy.guid.prefix);
                encode::acknack(bytes, &acknack);
            });
            room = room.saturating_sub(out.len().saturating_sub(before));
            proxy.answer = false;
            proxy.hold.carried();
            self.store.counters.acknacks += 1;
            self.store.counters.carried += 1;
        }
    }

    /// Lets every acknowledgement that waits go by itself with the next [`Reader::poll_transmit`].
    pub fn release(&mut self, now: Now) {
        for proxy in self.writers.iter_mut().filter(|proxy| proxy.hold.holds()) {
            proxy.hold.missed();
            proxy.answer_at = proxy.answer_at.min(now.monotonic);
        }
    }
}
