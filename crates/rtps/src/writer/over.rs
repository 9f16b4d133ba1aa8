//! Writing a sample over the only one that is held, where that lies, as a datagram that may leave at once: a writer that keeps the last
//! sample, with one reader in step. It comes to what removing the one and writing and polling the other comes to, without taking a slab.
use wire::message::encode::HEARTBEAT_LEN;
use wire::{Duration, Now, SequenceNumber, Timestamp};

use super::fresh::fits;
use super::history::DATAGRAM_COST;
use super::single::awaits;
use super::{Writer, assemble};
use crate::Payload;
use crate::path::Path;
use crate::transmit::Transmit;

impl<P: Payload> Writer<P> {
    /// Most bytes of a payload that is written so: the sending thread does so with the writer locked.
    const MOST: usize = 4 << 10;

    /// Writes a sample without inline QoS in the place of the only change that is held, which is removed, and polls: what then would
    /// be the next datagram is [`Writer::written_over`], and nothing else is left to send. `None` wherever any of this is not so simple;
    /// then nothing has changed.
    pub fn write_over(&mut self, now: Now, source: Timestamp, payload: &[u8]) -> Option<SequenceNumber> {
        let number = self.last.next();
        let [proxy] = self.readers.as_slice() else { return None };
        let is_plain = self.fresh == number
            && self.fresh_fragment == 0
            && !self.has_flows
            && !self.liveliness
            && self.config.batch_delay == Duration::ZERO
            && self.config.largest_message.is_none()
            && self.history.open_slab().is_none()
            && proxy.reliable
            && proxy.paths.len() == 1
            && awaits(proxy, number);
        let around = assemble::overhead(None);
        let fits_slab = payload.len().saturating_add(around) <= self.datagram as usize;
        if !is_plain || !fits_slab || payload.len() > Self::MOST.min(self.config.copy_limit) {
            return None;
        }
        let (held, offset) = (self.history.first()?, self.history.end());
        let capacity = self.history.capacity_over(payload.len())?;
        let len = self.history.len_over(payload.len()) + HEARTBEAT_LEN;
        let cost = len as u64 + DATAGRAM_COST;
        // For a moment there would be both.
        let has_room = self.history.held_bytes().saturating_add(capacity) <= self.config.byte_limit;
        if held != self.last || !has_room || !fits(proxy, len) || !proxy.has_window(offset, 0, cost) {
            return None;
        }
        let now = now.monotonic;
        self.pace.returned(now);
        self.last = number;
        self.open_since = now;
        let [proxy] = self.readers.as_mut_slice() else { return None };
        proxy.skip_removed(offset);
        proxy.chosen = true;
        self.blocked = false;
        self.arm_heartbeat(now);
        self.unasked = self.unasked.saturating_add(cost);
        let asks = self.asks_along(now);
        let heartbeat = self.heartbeat_from(number, number.next(), !asks);
        self.history.write_over(number, source, payload, &heartbeat);
        self.advance(number.next(), 0);
        self.flush = false;
        self.ready = false;
        Some(number)
    }

    /// The only path to the only reader, if there are no others.
    #[inline]
    pub fn only_path(&self) -> Option<&Path> {
        let [proxy] = self.readers.as_slice() else { return None };
        let [path] = proxy.paths.as_slice() else { return None };
        Some(path)
    }

    /// The datagram of the last [`Writer::write_over`], if nothing was called since; it goes to [`Writer::only_path`].
    pub fn written_over(&self) -> Option<&[u8]> {
        Some(&self.history.newest()?.2.bytes)
    }

    /// As [`Writer::written_over`], for a host that takes no bytes but in a transmit.
    pub fn put_over(&self, out: &mut Transmit<P>) {
        out.clear();
        if let (Some(path), Some((_, _, slab))) = (self.only_path(), self.history.newest()) {
            out.add_path(*path);
            out.slab(&slab.bytes, 0..slab.bytes.len());
            out.set_class(self.config.class);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;
    use alloc::vec::Vec;

    use wire::message::encode::{self, DataHeader};
    use wire::message::{Heartbeat, PayloadKind};
    use wire::{EntityId, GuidPrefix, SequenceNumber, Timestamp};

    use crate::writer::history::{Entry, History};

    const PREFIX: GuidPrefix = GuidPrefix([7; 12]);
    const WRITER: EntityId = EntityId([0, 0, 1, 2]);

    fn heartbeat(number: SequenceNumber) -> Heartbeat {
        let (first, last) = (number, number);
        let reader_id = EntityId::UNKNOWN;
        Heartbeat { reader_id, writer_id: WRITER, first, last, count: 5, is_final: true, liveliness: false }
    }

    /// What lies there from the beginning.
    fn datagram(number: SequenceNumber, time: Timestamp, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode::header(&mut out, PREFIX);
        encode::info_timestamp(&mut out, Some(time));
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id: WRITER,
            sequence_number: number,
            inline_qos: None,
            kind: PayloadKind::Data,
        };
        encode::data(&mut out, &header, payload);
        encode::heartbeat(&mut out, &heartbeat(number));
        out
    }

    #[test]
    fn whatever_is_written_over_nothing_of_it_is_left() {
        let (first, second) = (SequenceNumber::FIRST, SequenceNumber::FIRST.next());
        let time = Timestamp::from_nanos(1_700_000_000_000_000_000);
        let kinds = [PayloadKind::Data, PayloadKind::Key];
        let lens = [4, 8, 9, 12, 36, 40, 44, 72];
        for (kind, inline, old_time, told) in kinds.into_iter().flat_map(|kind| {
            [0, 4, 8, 32].into_iter().flat_map(move |inline| {
                [None, Some(Timestamp::default())]
                    .into_iter()
                    .flat_map(move |time| [false, true].map(|told| (kind, inline, time, told)))
            })
        }) {
            for (old, new) in lens.into_iter().flat_map(|old| lens.map(|new| (old, new))) {
                let mut history = History::<Arc<[u8]>>::new(PREFIX, WRITER, 1 << 20);
                let inline_qos = vec![1; inline];
                let inline_qos = (inline > 0).then_some(inline_qos.as_slice());
                let entry = Entry { kind, inline_qos, timestamp: old_time };
                let fill = |out: &mut Vec<u8>| -> Result<(), ()> {
                    out.extend_from_slice(&vec![0xff; old]);
                    Ok(())
                };
                assert_eq!(history.append(first, &entry, old, 0, fill), Ok(true));
                let id = history.newest().map(|(_, id, _)| id);
                if told {
                    id.and_then(|id| history.finish(id, Some(&heartbeat(first))));
                }
                let payload = vec![3; new];
                history.write_over(second, time, &payload, &heartbeat(second));
                let found = history.newest().map(|(record, id, slab)| {
                    (record.number, record.timestamp, record.kind, id, slab.bytes.as_slice().to_vec())
                });
                let wanted = datagram(second, time, &payload);
                let what = (kind, inline, old_time, told, old, new);
                assert_eq!(
                    found,
                    id.map(|id| (second, Some(time), PayloadKind::Data, id, wanted)),
                    "{what:?}"
                );
            }
        }
    }
}
