//! A sample that is the next one of a writer whose changes have all come, with a HEARTBEAT that asks for nothing: most datagrams.
use wire::message::Heartbeat;
use wire::{EntityId, Instant, Now, SequenceNumber, VendorId};

use super::writer_proxy::{Leap, WriterProxy};
use super::{Reader, Sink, Store};
use crate::familiar::Single;

impl Reader {
    /// Both submessages of a datagram that was recognised: as [`Reader::on_data`] and [`Reader::on_heartbeat`].
    #[inline]
    pub fn on_single(&mut self, now: Now, single: &Single<'_>, sink: &mut impl Sink) {
        if !self.take_next(now, single, sink) {
            self.on_data(now, &single.source, &single.data, sink);
            if let Some(heartbeat) = &single.heartbeat {
                self.on_heartbeat(now, &single.source, heartbeat, sink);
            }
        }
    }

    /// False if it is not so simple; then nothing has changed.
    #[inline]
    fn take_next(&mut self, now: Now, single: &Single<'_>, sink: &mut impl Sink) -> bool {
        let (data, source) = (&single.data, &single.source);
        let (Some(payload), Some(heartbeat)) = (&data.payload, &single.heartbeat) else { return false };
        let [proxy] = self.writers.as_mut_slice() else { return false };
        let is_ours = source.vendor == VendorId::PUNCTUAL;
        let is_next = proxy.guid.prefix == source.prefix
            && proxy.guid.entity_id == data.writer_id
            && !payload.is_key
            && data.inline_qos.is_none()
            && payload.bytes.len() <= self.config.largest_sample()
            && self.store.has_room(0)
            && proxy.awaits(data.sequence_number)
            && proxy.is_told_no_more(data.sequence_number, heartbeat, is_ours);
        if !is_next || !sink.deliver_next(proxy.guid, data.sequence_number, source.timestamp, payload.bytes) {
            return false;
        }
        proxy.delivered_at = Some(now.monotonic);
        proxy.delivered_next(data.sequence_number);
        proxy.heard_no_more(now.monotonic, heartbeat, &mut self.store);
        true
    }
}

impl WriterProxy {
    /// True if this change is the next one, and nothing else of the writer waits, or is incomplete.
    #[inline]
    fn awaits(&self, number: SequenceNumber) -> bool {
        self.reliable
            && !self.blocked
            && self.heard
            && self.order.is_next(number)
            && self.assemblies.is_empty()
    }

    /// True if a HEARTBEAT, after this change was delivered, says nothing but that this was the last, and asks for nothing.
    #[inline]
    fn is_told_no_more(&self, number: SequenceNumber, heartbeat: &Heartbeat, is_ours: bool) -> bool {
        let tells_history = heartbeat.reader_id != EntityId::UNKNOWN || !is_ours;
        heartbeat.is_final
            && heartbeat.last == number
            && heartbeat.first <= number
            && (self.history_until.is_some() || !tells_history)
    }

    /// The next change was delivered.
    #[inline]
    fn delivered_next(&mut self, number: SequenceNumber) {
        self.started = true;
        self.leap = Leap::None;
        self.order.delivered(number);
        if self.last <= number && !self.is_asked() {
            self.answer_at = Instant::NEVER;
        }
    }

    /// A HEARTBEAT has come of which [`WriterProxy::is_told_no_more`] is true.
    #[inline]
    fn heard_no_more(&mut self, now: Instant, heartbeat: &Heartbeat, store: &mut Store) {
        if !self.heartbeats.is_new(heartbeat.count, now) {
            store.counters.implausible += 1;
            return;
        }
        self.last = heartbeat.last;
        self.jump = None;
        if heartbeat.reader_id != EntityId::UNKNOWN {
            self.ahead = None;
        }
        if !self.is_asked() {
            self.answer_at = Instant::NEVER;
        }
    }
}
