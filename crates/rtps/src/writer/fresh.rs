//! Fresh changes: one datagram for all readers that are in step.
use wire::message::encode::{self, HEARTBEAT_LEN};
use wire::{Instant, SequenceNumber};

use super::assemble::{Datagram, VALUE_DATAGRAM, datagram_of, fragments_of};
use super::history::{DATAGRAM_COST, Place, Record, Source};
use super::{ReaderProxy, Writer};
use crate::Payload;
use crate::path::Path;
use crate::transmit::Transmit;

impl<P: Payload> Writer<P> {
    pub(super) fn poll_fresh(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        loop {
            if let Some(found) = self.next_fresh(now, out) {
                return found;
            }
        }
    }

    /// The next fresh datagram, if there is one; `None` if a step was made and the question has to be asked again.
    #[inline(never)]
    fn next_fresh(&mut self, now: Instant, out: &mut Transmit<P>) -> Option<bool> {
        if self.fresh > self.last {
            self.flush = false;
            return Some(false);
        }
        if self.readers.is_empty() {
            self.pass_fresh(self.last.next());
            self.trim();
            return Some(false);
        }
        let Some(record) = self.history.at_or_after(self.fresh) else {
            // What waited to leave was removed: a heartbeat tells.
            self.pass_fresh(self.last.next());
            self.arm_heartbeat(now);
            return Some(false);
        };
        let number = record.number;
        let slab = match &record.place {
            Place::Slab { slab, .. } => {
                let open = self.history.open_slab() == Some(*slab);
                let due = self.flush || now >= self.open_since.after(self.config.batch_delay);
                if open && !due {
                    return Some(false);
                }
                Some(*slab)
            }
            _ => None,
        };
        // A sample that is more than bytes goes to others and to readers of the same process apart: those lag behind the others.
        let is_value = slab.is_none() && self.is_value(record);
        let others = |proxy: &ReaderProxy| !proxy.is_local() && self.is_in_step(proxy);
        let mut local = is_value && !self.readers.iter().any(others);
        let whole = match is_value {
            true => self.history.payload(record).map_or(0, |(source, _)| source.len()),
            false => 0,
        };
        let offset = match number == self.fresh {
            true => record.offset,
            false => self.history.offset_before(self.fresh),
        };
        let len = if local { VALUE_DATAGRAM } else { datagram_of(&self.history, record) };
        if !self.readers.iter().any(|proxy| self.is_in_step(proxy) && fits(proxy, len)) {
            // No reader is in step, or it was laid out for larger paths than there are now: each is served alone.
            let end = slab.and_then(|slab| self.history.slab(slab)).map_or(number, |slab| slab.last).next();
            (self.fresh, self.fresh_fragment) = (end, 0);
            self.history.close();
            self.trim();
            return None;
        }
        if number > self.fresh && now < self.gap_opens_at() {
            return Some(false);
        }
        let is_message = number == self.fresh && self.has_flow();
        if is_message && self.fresh_fragment == 0 && !self.pace.may_begin(now) {
            return Some(false);
        }
        let mut found = self.choose_recipients(offset, len, is_message, is_value.then_some(local), out);
        if !found && is_value && !local {
            local = true;
            found = self.choose_recipients(offset, VALUE_DATAGRAM, is_message, Some(true), out);
        }
        if !found {
            self.counters.blocked += u64::from(!self.blocked);
            self.blocked = true;
            return Some(false);
        }
        self.blocked = false;
        self.arm_heartbeat(now);
        if number > self.fresh {
            self.send_gap(now, number, out);
            return Some(true);
        }
        // The window counts a sample that is more than bytes as if it were bytes.
        let bytes = if local { whole } else { len };
        self.unasked = self.unasked.saturating_add(bytes as u64 + DATAGRAM_COST);
        if is_message {
            out.set_timed();
            self.count_message(now);
        }
        match slab {
            Some(slab) => self.send_slab(now, slab, out),
            None if is_message => self.send_message(now, number, out),
            None => self.send_large(now, number, local, out),
        }
        Some(true)
    }

    fn count_message(&mut self, now: Instant) {
        self.counters.messages += u64::from(self.fresh_fragment == 0);
        if let Some(waited) = self.pace.hand_out(now) {
            self.counters.paced += 1;
            let waited = u64::try_from(waited.as_nanos()).unwrap_or(0);
            self.counters.paced_nanos = self.counters.paced_nanos.saturating_add(waited);
        }
    }

    /// True if a reader in step has a flow. Then what leaves is for those alone; the others are served after them.
    pub(super) fn has_flow(&self) -> bool {
        self.has_flows && self.readers.iter().any(|proxy| proxy.is_flow && self.is_in_step(proxy))
    }

    /// Chooses the readers in step whose paths and windows have room for a datagram of `len` bytes, and adds their paths;
    /// false if there is none. With `local` those of the same process only, or only the others.
    #[inline(never)]
    fn choose_recipients(
        &mut self,
        offset: u64,
        len: usize,
        is_message: bool,
        local: Option<bool>,
        out: &mut Transmit<P>,
    ) -> bool {
        let cost = len as u64 + DATAGRAM_COST;
        let position = (self.fresh, self.fresh_fragment);
        let (mut in_step, mut chosen) = (0u64, 0u64);
        for proxy in &mut self.readers {
            proxy.chosen = false;
            let elsewhere = (proxy.sent, proxy.sent_fragment) != position;
            let apart = local.is_some_and(|local| local != proxy.is_local());
            if elsewhere || apart || !proxy.is_shared || (is_message && !proxy.is_flow) {
                continue;
            }
            in_step += 1;
            proxy.skip_removed(offset);
            if fits(proxy, len) && proxy.has_window(offset, proxy.sent_fragment, cost) {
                chosen += 1;
                // `advance` moves it on.
                proxy.chosen = true;
                proxy.fresh_paths(is_message).iter().for_each(|path| out.add_path(*path));
            }
        }
        if chosen > 0 {
            self.counters.lagging += in_step - chosen;
        }
        chosen > 0
    }

    /// From when on the GAP before the next fresh change may leave, if there is one.
    pub(super) fn gap_opens_at(&self) -> Instant {
        let has_gap =
            || self.history.at_or_after(self.fresh).is_some_and(|record| record.number > self.fresh);
        let in_step = self.readers.iter().filter(|proxy| proxy.conduct.is_some() && self.is_in_step(proxy));
        let opens_at = in_step.map(ReaderProxy::opens_at).max();
        opens_at.filter(|_| has_gap()).unwrap_or(Instant::START)
    }

    fn is_in_step(&self, proxy: &ReaderProxy) -> bool {
        proxy.is_shared && proxy.sent == self.fresh && proxy.sent_fragment == self.fresh_fragment
    }

    pub(super) fn advance(&mut self, number: SequenceNumber, fragment: u32) {
        for proxy in self.readers.iter_mut().filter(|proxy| proxy.chosen) {
            proxy.sent = number;
            proxy.sent_fragment = fragment;
            proxy.chosen = false;
        }
        self.fresh = number;
        self.fresh_fragment = fragment;
    }

    /// Moves on over changes that need not be sent: there is no reader, or they were removed.
    fn pass_fresh(&mut self, number: SequenceNumber) {
        for proxy in &mut self.readers {
            // A reader whose filter is evaluated is told of the gap with the next change that it gets.
            proxy.chosen =
                !proxy.is_filtered && proxy.sent == self.fresh && proxy.sent_fragment == self.fresh_fragment;
        }
        self.advance(number, 0);
        self.history.close();
    }

    /// True if an answer is to be asked for now: every quarter of the smallest window.
    fn asks(&mut self) -> bool {
        let window = self.readers.iter().filter(|proxy| proxy.reliable).map(|proxy| proxy.window).min();
        let asks = window.is_some_and(|window| self.unasked >= window / 4);
        if asks {
            self.unasked = 0;
        }
        asks
    }

    /// As [`Writer::asks`], for the HEARTBEAT that goes with a fresh change: it asks after half a heartbeat period too, and a question
    /// of its own, by time, is left for when nothing fresh has left for a period. So an application that answers a change with a change gets by
    /// without datagrams that only ask or only acknowledge.
    pub(super) fn asks_along(&mut self, now: Instant) -> bool {
        let asks = self.asks() || now >= self.ask_at;
        if asks {
            self.unasked = 0;
            // A question by itself does not count: the changes after it would leave the next one to the timer again.
            self.ask_at = now.after(self.waits.0.scaled(1, 2));
        }
        // A question that is due is not put off: a thread may wait for the answer. And one that is not sent this change is reached by
        // such a question only.
        if now < self.heartbeat_at && self.readers.iter().all(|proxy| proxy.chosen || !proxy.is_waited_for())
        {
            self.heartbeat_at = self.heartbeat_at.max(now.after(self.waits.0));
        }
        asks
    }

    fn wants_heartbeat(&self) -> bool {
        self.readers.iter().any(|proxy| proxy.chosen && proxy.reliable)
    }

    #[inline(never)]
    fn send_gap(&mut self, now: Instant, end: SequenceNumber, out: &mut Transmit<P>) {
        self.readers.iter_mut().filter(|proxy| proxy.chosen).for_each(|proxy| proxy.hand_out(now));
        let heartbeat = self.heartbeat(end, true);
        let guid = self.config.guid;
        let mut datagram = Datagram::begin(out, guid.prefix, guid.entity_id, None, self.datagram);
        datagram.gap(self.fresh, end);
        datagram.heartbeat(&heartbeat);
        self.counters.gaps += 1;
        self.advance(end, 0);
    }

    pub(super) fn send_slab(&mut self, now: Instant, id: u64, out: &mut Transmit<P>) {
        if self.history.open_slab() == Some(id) {
            self.history.close();
        }
        let Some(next) = self.history.slab(id).map(|slab| slab.last.next()) else { return };
        let heartbeat = self.wants_heartbeat().then(|| {
            let asks = self.asks_along(now);
            self.heartbeat(next, !asks)
        });
        let Some((slab, inside)) = self.history.finish(id, heartbeat.as_ref()) else { return };
        out.slab(&slab.bytes, 0..if inside { slab.bytes.len() } else { slab.end });
        if let Some(heartbeat) = heartbeat.filter(|_| !inside) {
            out.scratch(|bytes| encode::heartbeat(bytes, &heartbeat));
        }
        self.advance(next, 0);
        self.trim();
    }

    fn is_value(&self, record: &Record) -> bool {
        matches!(self.history.payload(record), Some((Source::Handle(payload), _)) if payload.is_value())
    }

    /// With `local` it goes to readers of the same process alone.
    #[inline(never)]
    fn send_large(&mut self, now: Instant, number: SequenceNumber, local: bool, out: &mut Transmit<P>) {
        let limit = self.readers.iter().filter(|proxy| proxy.chosen).map(ReaderProxy::max_datagram).min();
        let limit = limit.unwrap_or(self.datagram).min(self.config.max_datagram);
        let Some(fragments) =
            self.history.get(number).map(|record| fragments_of(&self.history, record, limit))
        else {
            return;
        };
        let fragments = fragments.filter(|_| !local || self.fresh_fragment > 0);
        let next_fragment = self.fresh_fragment.saturating_add(1);
        let last = fragments.is_none_or(|(_, count)| next_fragment >= count);
        let heartbeat = (last && self.wants_heartbeat()).then(|| {
            let asks = self.asks_along(now);
            self.heartbeat(number.next(), !asks)
        });
        let guid = self.config.guid;
        let mut datagram = Datagram::begin(out, guid.prefix, guid.entity_id, None, limit).local(local);
        if let Some(record) = self.history.get(number) {
            if fragments.is_some() {
                datagram.fragment(&self.history, record, self.fresh_fragment);
            } else {
                datagram.change(&self.history, record);
            }
        }
        if let Some(heartbeat) = heartbeat {
            datagram.heartbeat(&heartbeat);
        }
        if last {
            self.advance(number.next(), 0);
            self.trim();
            return;
        }
        if self.readers.iter().any(|proxy| proxy.chosen && proxy.acks_fragments) && self.asks() {
            self.ask_for_fragments(number, next_fragment, out);
        }
        self.advance(number, next_fragment);
    }

    /// A large sample along flows: all of it that one send call takes, as datagrams of equal size. A HEARTBEAT must not make the last of
    /// them larger than the others; one that asks goes by itself then, and not along the flow.
    #[inline(never)]
    fn send_message(&mut self, now: Instant, number: SequenceNumber, out: &mut Transmit<P>) {
        let limit = self.config.max_datagram;
        let fragments = self.history.get(number).map(|record| fragments_of(&self.history, record, limit));
        let Some(Some((_, count))) = fragments else { return self.send_large(now, number, false, out) };
        let guid = self.config.guid;
        let (mut longest, mut total, mut len) = (0, 0, 0);
        let mut next = self.fresh_fragment;
        let Some(record) = self.history.get(number) else { return };
        for _ in 0..Path::MAX_TRAIN {
            if next >= count || total + longest > Path::MAX_DATAGRAM as usize {
                break;
            }
            Datagram::begin(out, guid.prefix, guid.entity_id, None, limit).fragment(
                &self.history,
                record,
                next,
            );
            len = out.end_datagram();
            longest = longest.max(len);
            total += len;
            next = next.saturating_add(1);
        }
        if next < count {
            self.advance(number, next);
            return;
        }
        if self.wants_heartbeat() {
            let asks = self.asks();
            if len + HEARTBEAT_LEN <= longest.max(if total == len { limit as usize } else { 0 })
                && total + HEARTBEAT_LEN <= Path::MAX_DATAGRAM as usize
            {
                let heartbeat = self.heartbeat(number.next(), !asks);
                out.reopen_datagram();
                out.scratch(|bytes| encode::heartbeat(bytes, &heartbeat));
                out.end_datagram();
            } else if asks {
                for proxy in self.readers.iter_mut().filter(|proxy| proxy.chosen && proxy.reliable) {
                    proxy.heartbeat_due = true;
                }
            }
        }
        self.advance(number.next(), 0);
        self.trim();
    }
}

/// True if a datagram of `len` bytes of fresh changes fits every path of a reader.
pub(super) fn fits(proxy: &ReaderProxy, len: usize) -> bool {
    len <= proxy.fresh_datagram() as usize
}
