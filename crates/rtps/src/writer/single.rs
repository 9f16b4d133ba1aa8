//! What leaves a writer with one reader that has got all but the last change: most writers, most of the time.
use wire::message::encode::HEARTBEAT_LEN;
use wire::{Instant, SequenceNumber};

use super::Writer;
use super::fresh::fits;
use super::history::DATAGRAM_COST;
use super::reader_proxy::ReaderProxy;
use crate::Payload;
use crate::transmit::Transmit;

impl<P: Payload> Writer<P> {
    /// As everything else that [`Writer::poll_transmit`] does, if the last change is all that there is to send, and may leave now. False in
    /// every other case; then nothing has changed.
    pub(super) fn poll_single(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        let [proxy] = self.readers.as_slice() else { return false };
        let number = self.fresh;
        let is_last = number == self.last && self.fresh_fragment == 0;
        let is_due = self.flush || now >= self.open_since.after(self.config.batch_delay);
        if !is_last || !is_due || self.has_flows || self.liveliness || !awaits(proxy, number) {
            return false;
        }
        let Some((record, id, slab)) = self.history.newest() else { return false };
        let (offset, len) = (record.offset, slab.end + HEARTBEAT_LEN);
        let cost = len as u64 + DATAGRAM_COST;
        if record.number != number || !fits(proxy, len) || !proxy.has_window(offset, 0, cost) {
            return false;
        }
        let [proxy] = self.readers.as_mut_slice() else { return false };
        proxy.skip_removed(offset);
        proxy.chosen = true;
        proxy.paths.iter().for_each(|path| out.add_path(*path));
        self.blocked = false;
        self.arm_heartbeat(now);
        self.unasked = self.unasked.saturating_add(cost);
        self.send_slab(now, id, out);
        out.set_class(self.config.class);
        self.flush = false;
        self.ready = false;
        true
    }
}

/// True if a reader is to get the change `number` next, and nothing else.
#[inline]
pub(super) fn awaits(proxy: &ReaderProxy, number: SequenceNumber) -> bool {
    proxy.is_shared
        && (proxy.sent, proxy.sent_fragment) == (number, 0)
        && !proxy.gap_due
        && !proxy.heartbeat_due
        && !proxy.has_repairs()
}
