//! What readers tell a writer (RTPS 2.5, 8.3.8.1, 8.3.8.9, 8.4.9.2).
use wire::message::{AckNack, NackFrag};
use wire::{Guid, GuidPrefix, Instant, Now, SequenceNumber};

use super::{ReaderProxy, Writer};
use crate::Payload;
use crate::count::Age;

impl<P: Payload> Writer<P> {
    /// A reader acknowledges every change below the base of the set and asks for those in it.
    ///
    /// A base above what was sent is not believed, and neither is a reader that is not matched. An empty set at base 0 or 1
    /// is how peers ask for a first heartbeat.
    pub fn on_acknack(&mut self, now: Now, source: GuidPrefix, acknack: &AckNack) {
        // A heartbeat may have said that everything before the first held change is gone, sent or not.
        let first = self.history.first().unwrap_or(self.last.next());
        let most = self.fresh.max(first);
        let base = acknack.set.base().max(SequenceNumber::FIRST);
        let offset = self.history.offset_before(base);
        let guid = Guid::new(source, acknack.reader_id);
        let Some(proxy) = self.reader(guid) else {
            self.counters.implausible += 1;
            return;
        };
        let age = proxy.acknacks.age(acknack.count, now.monotonic);
        if age == Age::Late && proxy.reliable {
            self.ready |= proxy.request_late(now.monotonic, &acknack.set);
            return;
        }
        if !proxy.reliable || age != Age::New {
            self.counters.implausible += 1;
            return;
        }
        // It may acknowledge a change of which it has got some fragments: that is one which it can never take.
        let begun = if proxy.sent_fragment > 0 { proxy.sent.next() } else { proxy.sent };
        if base > most.max(begun) {
            // It was led astray, or another speaks in its name: it is told where the writer has got to.
            proxy.owe_answer(now.monotonic, false);
            self.ready = true;
            self.counters.implausible += 1;
            return;
        }
        let heard_before = proxy.heard;
        let progress = proxy.acknowledge(base, offset);
        proxy.confirmed = proxy.confirmed.max(base);
        proxy.hear(acknack);
        let passed = proxy.gap_from.filter(|from| *from <= proxy.acked).map(|_| proxy.sent);
        let news = proxy.request(now.monotonic, &acknack.set);
        if progress || news {
            proxy.size.progress();
        }
        let widened = proxy.size.answered(now.monotonic);
        // Only the first such one: a reader whose first sample is refused by its application says the same in every answer.
        let asks_first = !heard_before && acknack.set.bitmap().is_empty() && base == SequenceNumber::FIRST;
        let asks = !proxy.has_repairs() && (!acknack.is_final || asks_first);
        // It does not know yet where its changes begin; or it does, and its application refuses what it has from before.
        let gap = base < proxy.start;
        if asks || gap {
            proxy.owe_answer(now.monotonic, gap);
        }
        if let Some(sent) = passed {
            let offset = self.history.offset_before(sent);
            if let Some(proxy) = self.reader(guid) {
                proxy.settle_passed(offset);
            }
        }
        if widened {
            self.widened(guid);
        }
        self.ready = true;
        self.question_open = false;
        self.blocked = false;
        if progress {
            self.counters.acknowledged += 1;
            self.heartbeat_wait = self.waits.0;
            self.trim();
        }
        self.wait_on(now, guid, progress);
    }

    /// A reader asks for fragments of one change. It has those before the first that it asks for.
    pub fn on_nack_frag(&mut self, now: Now, source: GuidPrefix, nack: &NackFrag) {
        let guid = Guid::new(source, nack.reader_id);
        let Some(proxy) = self.reader(guid) else {
            self.counters.implausible += 1;
            return;
        };
        let age = proxy.nack_frags.age(nack.count, now.monotonic);
        let is_late = age == Age::Late && !proxy.repeats_fragments_of(nack.sequence_number);
        if !proxy.reliable || (age != Age::New && !is_late) {
            self.counters.implausible += 1;
            return;
        }
        let complete = nack.missing.base().0.saturating_sub(1);
        let progress = proxy.acknowledge_fragments(nack.sequence_number, complete);
        let news = proxy.request_fragments(now.monotonic, nack.sequence_number, nack.missing);
        if progress || news {
            proxy.size.progress();
        }
        let widened = proxy.size.answered(now.monotonic);
        if widened {
            self.widened(guid);
        }
        self.ready = true;
        self.blocked = false;
        if progress {
            self.heartbeat_wait = self.waits.0;
        }
        self.wait_on(now, guid, progress);
    }

    /// Sets the time of the next question after an answer of `reader`. The progress of one does not put off the question to
    /// another that lags: nothing else reaches that one.
    fn wait_on(&mut self, now: Now, reader: Guid, progress: bool) {
        let fresh = (self.fresh, self.fresh_fragment);
        let mut waited_for = self.readers.iter().filter(|proxy| proxy.is_waited_for()).peekable();
        if waited_for.peek().is_none() {
            // It will ask no reader. Without it the next change would have to set a timer anew, each time that all is acknowledged.
            if self.heartbeat_at != Instant::NEVER {
                self.heartbeat_at = self.heartbeat_at.min(now.monotonic.after(self.waits.0));
            }
        } else if progress
            && !waited_for.any(|proxy| proxy.guid != reader && (proxy.sent, proxy.sent_fragment) < fresh)
        {
            // A sample that was sent before has waited for a part of that: its question is not put off.
            self.heartbeat_at = self.heartbeat_at.min(now.monotonic.after(self.heartbeat_wait));
        } else {
            self.arm_heartbeat(now.monotonic);
        }
    }

    /// Larger datagrams pass to a reader again.
    fn widened(&mut self, reader: Guid) {
        self.counters.widened += 1;
        if let Ok(index) = self.readers.binary_search_by_key(&reader, |proxy| proxy.guid) {
            self.note_path(index);
        }
        self.measure_paths();
    }

    fn reader(&mut self, guid: Guid) -> Option<&mut ReaderProxy> {
        let index = self.readers.binary_search_by_key(&guid, |proxy| proxy.guid).ok()?;
        self.readers.get_mut(index)
    }
}
