//! What leaves a writer, and when.
use wire::message::encode::{self, HEARTBEAT_LEN};
use wire::message::{Heartbeat, HeartbeatFrag};
use wire::sequence_number::Bitmap;
use wire::{EntityId, FragmentNumber, Instant, Now, SequenceNumber};

use super::assemble::{Added, Datagram, VALUE_DATAGRAM, datagram_of, fragments_of};
use super::history::{DATAGRAM_COST, Place, Record, Source};
use super::{ReaderProxy, Writer};
use crate::Payload;
use crate::path::Path;
use crate::transmit::Transmit;

impl<P: Payload> Writer<P> {
    /// Fills `out` with the next datagram that may leave at `now`; false if there is none. Timers that are due are served too.
    ///
    /// Repairs and answers come first, then fresh changes, then readers that lag, then heartbeats that ask.
    #[inline(never)]
    pub fn poll_transmit(&mut self, now: Now, out: &mut Transmit<P>) -> bool {
        let now = now.monotonic;
        out.clear();
        self.pace.returned(now);
        if self.poll_single(now, out) {
            return true;
        }
        // The parts of a message follow each other.
        let found = (self.fresh_fragment > 0 && self.has_flow() && self.poll_fresh(now, out))
            || self.poll_liveliness(out)
            || self.poll_directed(out)
            || self.poll_repair(now, out)
            || self.poll_fresh(now, out)
            || self.poll_lagging(now, out)
            || self.poll_heartbeat(now, out);
        if found {
            out.set_class(self.config.class);
            self.flush &= self.fresh <= self.last;
            self.ready = !self.is_at_rest();
        } else {
            self.ready = false;
        }
        found
    }

    /// True if surely nothing is left to send after a datagram of fresh changes, so that nobody has to ask for the next one.
    fn is_at_rest(&self) -> bool {
        self.fresh > self.last
            && !self.liveliness
            && self.readers.iter().all(|proxy| {
                proxy.sent == self.fresh && !proxy.gap_due && !proxy.heartbeat_due && !proxy.has_repairs()
            })
    }

    /// When `poll_transmit` has to be called again at the latest; `NEVER` if only a call of another method can make it necessary.
    pub fn poll_timeout(&self) -> Instant {
        if self.ready {
            return Instant::START;
        }
        let mut next = self.heartbeat_at;
        if !self.blocked && self.fresh <= self.last && !self.readers.is_empty() {
            let opens_at = if self.has_flow() { self.pace.opens_at() } else { Instant::START };
            next = next.min(self.open_since.after(self.config.batch_delay).max(opens_at));
        }
        self.readers
            .iter()
            .filter(|proxy| proxy.has_repairs())
            .fold(next, |next, proxy| next.min(proxy.refill_at))
    }

    /// A heartbeat that says what is held, up to the change before `sent`.
    pub(crate) fn heartbeat(&mut self, sent: SequenceNumber, is_final: bool) -> Heartbeat {
        let first =
            self.history.at_or_after(SequenceNumber::ZERO).map_or(self.last.next(), |record| record.number);
        self.heartbeat_from(first, sent, is_final)
    }

    /// As [`Writer::heartbeat`], where `first` is the first change that is held.
    pub(super) fn heartbeat_from(
        &mut self,
        first: SequenceNumber,
        sent: SequenceNumber,
        is_final: bool,
    ) -> Heartbeat {
        self.heartbeat_count = self.heartbeat_count.wrapping_add(1);
        if !is_final {
            self.counters.asks += 1;
        }
        Heartbeat {
            reader_id: EntityId::UNKNOWN,
            writer_id: self.config.guid.entity_id,
            first,
            last: sent.prev().max(first.prev()),
            count: self.heartbeat_count,
            is_final,
            liveliness: false,
        }
    }

    fn poll_liveliness(&mut self, out: &mut Transmit<P>) -> bool {
        if !core::mem::take(&mut self.liveliness) || self.readers.is_empty() {
            return false;
        }
        let heartbeat = Heartbeat { liveliness: true, ..self.heartbeat(self.fresh, true) };
        for proxy in &self.readers {
            proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
        }
        Datagram::begin(out, self.config.guid.prefix, self.config.guid.entity_id, None, self.datagram)
            .heartbeat(&heartbeat);
        true
    }

    /// Answers to one reader: the GAP before its first change, and a heartbeat. One that has to learn where its history ends gets
    /// a heartbeat for that before: the other says how far it was served, so that it asks for nothing that is to be sent anyway.
    #[inline(never)]
    fn poll_directed(&mut self, out: &mut Transmit<P>) -> bool {
        let Some(index) = self.readers.iter().position(|proxy| proxy.gap_due || proxy.heartbeat_due) else {
            return false;
        };
        let Some(proxy) = self.readers.get(index) else { return false };
        let (sent, is_final) = (proxy.sent, !proxy.is_waited_for());
        let history = (!proxy.told && proxy.history_until >= sent).then_some(proxy.history_until.next());
        let history = history.map(|end| self.heartbeat(end, true));
        let heartbeat = self.heartbeat(sent, is_final);
        let Some(proxy) = self.readers.get_mut(index) else { return false };
        let gap = core::mem::take(&mut proxy.gap_due);
        proxy.heartbeat_due = false;
        proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
        let guid = self.config.guid;
        let mut datagram =
            Datagram::begin(out, guid.prefix, guid.entity_id, Some(proxy.guid), proxy.max_datagram());
        if gap && datagram.gap(SequenceNumber::FIRST, proxy.start) {
            self.counters.gaps += 1;
        }
        if let Some(history) = history {
            datagram.heartbeat(&history);
        }
        datagram.heartbeat(&heartbeat);
        let inside =
            (proxy.is_waited_for() && proxy.sent_fragment > 0).then_some((proxy.sent, proxy.sent_fragment));
        if let Some((number, last)) = inside {
            self.ask_for_fragments(number, last, out);
        }
        true
    }

    fn poll_repair(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        let position = self.readers.iter_mut().position(|proxy| proxy.has_repairs() && proxy.may_repair(now));
        let Some(index) = position else { return false };
        let Some(sent) = self.readers.get(index).map(|proxy| proxy.sent) else { return false };
        let heartbeat = self.heartbeat(sent, true);
        let Some(proxy) = self.readers.get_mut(index) else { return false };
        let guid = self.config.guid;
        proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
        let mut datagram =
            Datagram::begin(out, guid.prefix, guid.entity_id, Some(proxy.guid), proxy.max_datagram())
                .local(proxy.is_local());
        let mut from = SequenceNumber::ZERO;
        // Fragments of a change that is needed first go first: the reader may have no room for later ones until it has them.
        let fragments_first = proxy.fragments_first();
        let last_asked = proxy.requested.base().plus(u64::from(Bitmap::MAX_LEN) - 1);
        let asks_to_the_end = proxy.requested.contains(last_asked);
        while let Some(number) = proxy.requested.iter().find(|number| *number >= from && !fragments_first) {
            let record = self.history.at_or_after(number.max(proxy.start));
            match record {
                Some(record) if record.number == number => match datagram.change(&self.history, record) {
                    Added::Whole => {
                        self.counters.repairs += 1;
                        from = number.next();
                    }
                    Added::Full => break,
                    Added::Fragments if datagram.is_empty() => {
                        self.counters.fragment_repairs += 1;
                        let last = datagram.fragment(&self.history, record, proxy.requested_fragment);
                        proxy.requested_fragment = proxy.requested_fragment.saturating_add(1);
                        if last {
                            from = number.next();
                        }
                        break;
                    }
                    Added::Fragments => break,
                },
                record => {
                    let end =
                        record.map_or(proxy.sent, |record| record.number).min(proxy.sent).max(number.next());
                    if !datagram.gap(number, end) {
                        break;
                    }
                    self.counters.gaps += 1;
                    from = end;
                }
            }
        }
        if from > SequenceNumber::ZERO {
            proxy.answered_before(from);
        }
        if asks_to_the_end && from == last_asked.next() {
            // A set names 256 numbers at most, a lost batch has thousands: the rest of its slab is missing as well.
            let slab = self.history.get(last_asked).and_then(Record::slab);
            while let Some(record) = self.history.get(from).filter(|_| slab.is_some() && from < proxy.sent)
                && record.slab() == slab
                && datagram.change(&self.history, record) == Added::Whole
            {
                self.counters.repairs += 1;
                from = from.next();
            }
        }
        if datagram.is_empty()
            && let Some((number, fragment)) = proxy.next_fragment()
        {
            match self.history.get(number) {
                Some(record) => {
                    self.counters.fragment_repairs += 1;
                    // It goes whole if its path has grown since it left.
                    if datagram.change(&self.history, record) != Added::Whole {
                        datagram.fragment(&self.history, record, fragment.0.saturating_sub(1));
                    }
                }
                None => {
                    proxy.forget_fragments(number);
                    datagram.gap(number, number.next());
                }
            }
        }
        datagram.heartbeat(&heartbeat);
        proxy.repair_credit = proxy.repair_credit.saturating_sub(out.len() as u64);
        true
    }

    fn poll_fresh(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
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
        // A sample that is more than octets goes to others and to readers of the same process apart: those lag behind the others.
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
            // Nobody is in step, or it was laid out for larger paths than there are now: each is served alone.
            let end = slab.and_then(|slab| self.history.slab(slab)).map_or(number, |slab| slab.last).next();
            (self.fresh, self.fresh_fragment) = (end, 0);
            self.history.close();
            return None;
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
            self.send_gap(number, out);
            return Some(true);
        }
        // The window counts a sample that is more than octets as if it were octets.
        let octets = if local { whole } else { len };
        self.unasked = self.unasked.saturating_add(octets as u64 + DATAGRAM_COST);
        if is_message {
            out.set_message();
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
    fn has_flow(&self) -> bool {
        self.has_flows && self.readers.iter().any(|proxy| proxy.is_flow && self.is_in_step(proxy))
    }

    /// Chooses the readers in step whose paths and windows have room for a datagram of `len` octets, and adds their paths;
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
            if elsewhere || apart || !proxy.told || (is_message && !proxy.is_flow) {
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

    fn is_in_step(&self, proxy: &ReaderProxy) -> bool {
        proxy.told && proxy.sent == self.fresh && proxy.sent_fragment == self.fresh_fragment
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

    /// Moves on over changes that need not be sent: nobody is there, or they were removed.
    fn pass_fresh(&mut self, number: SequenceNumber) {
        for proxy in &mut self.readers {
            proxy.chosen = proxy.sent == self.fresh && proxy.sent_fragment == self.fresh_fragment;
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
    /// of its own, by time, is left for when nothing fresh has left for a period. Whoever answers a change with a change so gets by
    /// without datagrams that only ask or only acknowledge.
    pub(super) fn asks_along(&mut self, now: Instant) -> bool {
        let asks = self.asks() || now >= self.ask_at;
        if asks {
            self.unasked = 0;
            // A question by itself does not count: the changes after it would leave the next one to the timer again.
            self.ask_at = now.after(self.config.heartbeat_period.scaled(1, 2));
        }
        // A question that is due is not put off: somebody may wait for the answer. And one that is not sent this change is reached by
        // such a question only.
        if now < self.heartbeat_at && self.readers.iter().all(|proxy| proxy.chosen || !proxy.is_waited_for())
        {
            self.heartbeat_at = self.heartbeat_at.max(now.after(self.config.heartbeat_period));
        }
        asks
    }

    fn wants_heartbeat(&self) -> bool {
        self.readers.iter().any(|proxy| proxy.chosen && proxy.reliable)
    }

    #[inline(never)]
    fn send_gap(&mut self, end: SequenceNumber, out: &mut Transmit<P>) {
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

    /// Asks which of the fragments up to `last` have come.
    fn ask_for_fragments(&mut self, number: SequenceNumber, last: u32, out: &mut Transmit<P>) {
        self.heartbeat_count = self.heartbeat_count.wrapping_add(1);
        self.counters.asks += 1;
        let heartbeat = HeartbeatFrag {
            reader_id: EntityId::UNKNOWN,
            writer_id: self.config.guid.entity_id,
            sequence_number: number,
            last_fragment: FragmentNumber(last),
            count: self.heartbeat_count,
        };
        out.scratch(|bytes| encode::heartbeat_frag(bytes, &heartbeat));
    }

    /// Serves a reader that has fallen behind the fresh changes.
    fn poll_lagging(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        let (fresh, fresh_fragment) = (self.fresh, self.fresh_fragment);
        for index in 0..self.readers.len() {
            let Some(proxy) = self.readers.get_mut(index) else { return false };
            let offset = self.history.offset_before(proxy.sent);
            proxy.skip_removed(offset);
            let cost = u64::from(proxy.max_datagram().min(self.config.max_datagram)) + DATAGRAM_COST;
            if (proxy.sent, proxy.sent_fragment) >= (fresh, fresh_fragment)
                || !proxy.has_window(offset, proxy.sent_fragment, cost)
                || !proxy.told
            {
                continue;
            }
            self.send_lagging(index, out);
            // It asks: a reader that lags has to be heard before it gets more.
            let Some(proxy) = self.readers.get(index) else { return true };
            let (sent, fragment, reliable, acks) =
                (proxy.sent, proxy.sent_fragment, proxy.reliable, proxy.acks_fragments);
            if fragment > 0 && acks {
                self.ask_for_fragments(sent, fragment, out);
            } else if fragment == 0 && reliable {
                let heartbeat = self.heartbeat(sent, false);
                out.scratch(|bytes| encode::heartbeat(bytes, &heartbeat));
            }
            self.arm_heartbeat(now);
            self.trim();
            return true;
        }
        false
    }

    fn send_lagging(&mut self, index: usize, out: &mut Transmit<P>) {
        let (fresh, fresh_fragment) = (self.fresh, self.fresh_fragment);
        let Some(proxy) = self.readers.get_mut(index) else { return };
        proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
        let guid = self.config.guid;
        let limit = proxy.max_datagram().min(self.config.max_datagram);
        let mut datagram = Datagram::begin(out, guid.prefix, guid.entity_id, Some(proxy.guid), limit)
            .local(proxy.is_local());
        while (proxy.sent, proxy.sent_fragment) < (fresh, fresh_fragment) {
            let record = self.history.at_or_after(proxy.sent);
            let Some(record) = record.filter(|record| record.number <= fresh) else {
                // Past `fresh` itself if that was removed after some of its fragments had left.
                let end = fresh.max(proxy.sent.next());
                if !datagram.gap(proxy.sent, end) {
                    return;
                }
                self.counters.gaps += 1;
                (proxy.sent, proxy.sent_fragment) = (end, 0);
                continue;
            };
            if record.number > proxy.sent {
                if !datagram.gap(proxy.sent, record.number) {
                    return;
                }
                self.counters.gaps += 1;
                (proxy.sent, proxy.sent_fragment) = (record.number, 0);
                continue;
            }
            match datagram.change(&self.history, record) {
                Added::Whole => (proxy.sent, proxy.sent_fragment) = (record.number.next(), 0),
                Added::Full => return,
                Added::Fragments if datagram.is_empty() => {
                    if datagram.fragment(&self.history, record, proxy.sent_fragment) {
                        (proxy.sent, proxy.sent_fragment) = (record.number.next(), 0);
                    } else {
                        proxy.sent_fragment = proxy.sent_fragment.saturating_add(1);
                    }
                    return;
                }
                Added::Fragments => return,
            }
        }
    }

    /// Asks for an answer when one has been waited for long enough.
    fn poll_heartbeat(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        if now < self.heartbeat_at {
            return false;
        }
        if !self.readers.iter().any(ReaderProxy::is_waited_for) {
            self.heartbeat_at = Instant::NEVER;
            self.heartbeat_wait = self.config.heartbeat_period;
            return false;
        }
        let doubled = self.heartbeat_wait.saturating_add(self.heartbeat_wait);
        self.heartbeat_wait = doubled.min(self.config.max_heartbeat_period).max(self.config.heartbeat_period);
        self.heartbeat_at = now.after(self.heartbeat_wait);
        // Readers inside of a sample may all be at different fragments, and those that lag would ask for what is to be sent to them
        // anyway: each is asked on its own.
        for proxy in self.readers.iter_mut().filter(|proxy| proxy.is_waited_for()) {
            let alone = proxy.sent < self.fresh || !proxy.told;
            proxy.heartbeat_due |= proxy.sent_fragment > 0 || alone;
            if !alone {
                proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
            }
        }
        if out.paths().is_empty() {
            return self.poll_directed(out);
        }
        self.unasked = 0;
        let heartbeat = self.heartbeat(self.fresh, false);
        let guid = self.config.guid;
        Datagram::begin(out, guid.prefix, guid.entity_id, None, self.datagram).heartbeat(&heartbeat);
        true
    }
}

/// True if a datagram of `len` octets of fresh changes fits every path of a reader.
pub(super) fn fits(proxy: &ReaderProxy, len: usize) -> bool {
    len <= proxy.fresh_datagram() as usize
}
