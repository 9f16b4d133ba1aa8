//! Writing a sample over the only one that is held, where that lies, as a datagram that may leave at once: a writer that keeps the last
//! sample, with one reader in step. It comes to what removing the one and writing and polling the other comes to, without taking a slab.
use wire::message::encode::HEARTBEAT_LEN;
use wire::{Duration, Now, SequenceNumber, Timestamp};

use super::history::DATAGRAM_COST;
use super::send::fits;
use super::single::awaits;
use super::{Writer, assemble};
use crate::Payload;
use crate::path::Path;
use crate::transmit::Transmit;

impl<P: Payload> Writer<P> {
    /// Most octets of a payload that is written so: whoever sends it does so with the writer locked.
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

    /// As [`Writer::written_over`], for a host that takes no octets but in a transmit.
    pub fn put_over(&self, out: &mut Transmit<P>) {
        out.clear();
        if let (Some(path), Some((_, _, slab))) = (self.only_path(), self.history.newest()) {
            out.add_path(*path);
            out.slab(&slab.bytes, 0..slab.bytes.len());
            out.set_class(self.config.class);
        }
    }
}
