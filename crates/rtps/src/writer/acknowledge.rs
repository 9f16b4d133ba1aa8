//! What readers tell a writer (RTPS 2.5, 8.3.8.1, 8.3.8.9, 8.4.9.2).
use wire::message::{AckNack, NackFrag};
use wire::{Guid, GuidPrefix, Now, SequenceNumber};

use super::{ReaderProxy, Writer};
use crate::Payload;

impl<P: Payload> Writer<P> {
    /// A reader acknowledges every change below the base of the set and asks for those in it.
    ///
    /// A base above what was sent is not believed, and neither is a reader that is not matched. An empty set at base 0 or 1
    /// is how peers ask for a first heartbeat.
    pub fn on_acknack(&mut self, now: Now, source: GuidPrefix, acknack: &AckNack) {
        let fresh = self.fresh;
        let base = acknack.set.base().max(SequenceNumber::FIRST);
        let next = self.last.next();
        let (offset, end_offset) = (self.history.offset_before(base), self.history.end_offset());
        let Some(proxy) = self.reader(Guid::new(source, acknack.reader_id)) else {
            self.counters.implausible += 1;
            return;
        };
        if !proxy.reliable
            || base > fresh.max(proxy.sent)
            || !proxy.acknacks.is_new(acknack.count, now.monotonic)
        {
            self.counters.implausible += 1;
            return;
        }
        proxy.heard = true;
        let acknowledges = base > proxy.acked;
        let mut progress = acknowledges;
        if acknowledges {
            proxy.acked = base;
            proxy.acked_offset = proxy.acked_offset.max(if base == next { end_offset } else { offset });
            if base > proxy.sent {
                (proxy.sent, proxy.sent_fragment) = (base, 0);
            }
        }
        if base < proxy.acked && proxy.start < proxy.acked {
            // It has begun anew, having lost sight of this writer for a while: what is still held is there for it again.
            proxy.acked = base.max(proxy.start);
            proxy.acked_offset = if base < proxy.start { proxy.start_offset } else { offset };
        }
        if base == proxy.sent
            && let Some(offset) = proxy.asked_offset.take()
        {
            progress |= offset > proxy.acked_offset;
            proxy.acked_offset = proxy.acked_offset.max(offset);
        }
        proxy.request(&acknack.set);
        // It does not know yet where its changes begin.
        proxy.gap_due |= base < proxy.start;
        let asks_first = acknack.set.bitmap().is_empty() && base == SequenceNumber::FIRST;
        proxy.heartbeat_due |= !proxy.has_repairs() && (!acknack.is_final || asks_first);
        self.ready = true;
        self.blocked = false;
        if progress {
            self.heartbeat_wait = self.config.heartbeat_period;
            self.trim();
        }
        let waits = self.readers.iter().any(ReaderProxy::is_waited_for);
        self.heartbeat_at = match waits {
            true if progress => now.monotonic.after(self.heartbeat_wait),
            true if self.heartbeat_at == wire::Instant::NEVER => now.monotonic.after(self.heartbeat_wait),
            true => self.heartbeat_at,
            false => wire::Instant::NEVER,
        };
    }

    /// A reader asks for fragments of one change.
    pub fn on_nack_frag(&mut self, now: Now, source: GuidPrefix, nack: &NackFrag) {
        let Some(proxy) = self.reader(Guid::new(source, nack.reader_id)) else {
            self.counters.implausible += 1;
            return;
        };
        if !proxy.reliable || !proxy.nack_frags.is_new(nack.count, now.monotonic) {
            self.counters.implausible += 1;
            return;
        }
        proxy.request_fragments(nack.sequence_number, nack.missing);
        self.ready = true;
    }

    fn reader(&mut self, guid: Guid) -> Option<&mut ReaderProxy> {
        let index = self.readers.binary_search_by_key(&guid, |proxy| proxy.guid).ok()?;
        self.readers.get_mut(index)
    }
}
