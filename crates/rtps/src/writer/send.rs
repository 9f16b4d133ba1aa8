//! What leaves a writer, and when.
use wire::message::encode;
use wire::message::{Heartbeat, HeartbeatFrag};
use wire::sequence_number::Bitmap;
use wire::{EntityId, FragmentNumber, Instant, Now, SequenceNumber};

use super::assemble::{Added, Datagram};
use super::history::{DATAGRAM_COST, History, Record};
use super::path_size::Probe;
use super::shaping::Shaper;
use super::{ReaderProxy, Writer};
use crate::Payload;
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
        for proxy in &mut self.readers {
            proxy.returned(now);
            proxy.give_answer(now);
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.returned(now);
            if now < shaper.opens_at() {
                return false;
            }
        }
        // The parts of a message follow each other.
        let found = (self.fresh_fragment > 0 && self.has_flow() && self.poll_fresh(now, out))
            || self.poll_liveliness(now, out)
            || self.poll_directed(now, out)
            || self.poll_repair(now, out)
            || self.poll_fresh(now, out)
            || self.poll_lagging(now, out)
            || self.poll_heartbeat(now, out)
            || self.poll_probe(now, out);
        if found {
            out.set_class(self.config.class);
            if let Some(shaper) = &mut self.shaper
                && shaper.hand_out(now, out.len(), out.paths())
            {
                self.counters.shaped += 1;
                out.set_timed();
            }
            self.flush &= self.fresh <= self.last;
            self.ready = !self.is_at_rest();
        } else {
            self.ready = false;
        }
        found
    }

    /// True if surely nothing is left to send after a datagram of fresh changes, so that the caller need not poll for the next one.
    fn is_at_rest(&self) -> bool {
        self.fresh > self.last
            && !self.liveliness
            && self.readers.iter().all(|proxy| {
                proxy.sent == self.fresh && !proxy.gap_due && !proxy.heartbeat_due && !proxy.has_repairs()
            })
    }

    /// When `poll_transmit` has to be called again at the latest; `NEVER` if only a call of another method can make it necessary.
    pub fn poll_timeout(&self) -> Instant {
        let opens_at = self.shaper.as_ref().map_or(Instant::START, Shaper::opens_at);
        if self.ready {
            return opens_at;
        }
        let mut next = self.heartbeat_at;
        if !self.blocked && self.fresh <= self.last && !self.readers.is_empty() {
            let opens_at = if self.has_flow() { self.pace.opens_at() } else { Instant::START };
            let opens_at = opens_at.max(self.gap_opens_at());
            next = next.min(self.open_since.after(self.config.batch_delay).max(opens_at));
        }
        let next = self.readers.iter().fold(next, |next, proxy| {
            let repairs = match proxy.conduct {
                None if proxy.has_repairs() => proxy.refill_at,
                Some(_) if self.liveliness || self.waits_apart(proxy) => proxy.opens_at(),
                _ => Instant::NEVER,
            };
            next.min(repairs).min(proxy.answer_at).min(proxy.size.timeout())
        });
        next.max(opens_at)
    }

    /// True if something for a reader whose repairs are conducted leaves as soon as its spacing lets it.
    fn waits_apart(&self, proxy: &ReaderProxy) -> bool {
        let lags = proxy.is_flow
            && proxy.told
            && (proxy.sent, proxy.sent_fragment) < (self.fresh, self.fresh_fragment);
        proxy.gap_due || proxy.heartbeat_due || proxy.has_repairs() || lags
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
            self.count_question();
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

    fn poll_liveliness(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        if !self.liveliness || !self.readers.iter().all(|proxy| proxy.is_open(now)) {
            return false;
        }
        self.liveliness = false;
        if self.readers.is_empty() {
            return false;
        }
        let first = self.first_announced(None);
        let heartbeat = Heartbeat { liveliness: true, ..self.heartbeat_from(first, self.fresh, true) };
        for proxy in &mut self.readers {
            proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
            proxy.hand_out(now);
        }
        Datagram::begin(out, self.config.guid.prefix, self.config.guid.entity_id, None, self.datagram)
            .heartbeat(&heartbeat);
        true
    }

    /// Answers to one reader: the GAP before its first change, and a heartbeat. One that has to learn where its history ends gets
    /// a heartbeat for that before: the other says how far it was served, so that it asks for nothing that is to be sent anyway.
    #[inline(never)]
    fn poll_directed(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        let is_due = |proxy: &ReaderProxy| (proxy.gap_due || proxy.heartbeat_due) && proxy.is_open(now);
        let Some(index) = self.readers.iter().position(is_due) else { return false };
        let Some(proxy) = self.readers.get(index) else { return false };
        let (sent, is_final) = (proxy.sent, !proxy.is_waited_for());
        let history = (!proxy.told && proxy.history_until >= sent).then_some(proxy.history_until.next());
        let history = history.map(|end| self.heartbeat_to(index, end, true));
        let heartbeat = self.heartbeat_to(index, sent, is_final);
        let Some(proxy) = self.readers.get_mut(index) else { return false };
        let gap = core::mem::take(&mut proxy.gap_due);
        let passed = proxy.gap_from.filter(|_| proxy.sent_fragment == 0).map(|from| (from, proxy.sent));
        proxy.heartbeat_due = false;
        proxy.hand_out(now);
        proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
        let guid = self.config.guid;
        let mut datagram =
            Datagram::begin(out, guid.prefix, guid.entity_id, Some(proxy.guid), proxy.direct_datagram());
        if gap && datagram.gap(SequenceNumber::FIRST, proxy.start) {
            self.counters.gaps += 1;
        }
        if let Some((from, end)) = passed
            && datagram.gap(from, end)
        {
            proxy.gap_from = None;
            self.counters.gaps += 1;
        }
        if let Some(history) = history {
            datagram.heartbeat(&history);
        }
        datagram.heartbeat(&heartbeat);
        let inside = (proxy.is_waited_for() && proxy.sent_fragment > 0 && proxy.conduct.is_none())
            .then_some((proxy.sent, proxy.sent_fragment));
        if let Some((number, last)) = inside {
            self.ask_for_fragments(number, last, out);
        }
        true
    }

    fn poll_repair(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        let Some(index) = self.next_to_repair(now) else { return false };
        let Some(sent) = self.readers.get(index).map(ReaderProxy::announced) else { return false };
        let heartbeat = self.heartbeat_to(index, sent, true);
        let Some(proxy) = self.readers.get_mut(index) else { return false };
        let guid = self.config.guid;
        proxy.hand_out(now);
        proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
        let mut datagram =
            Datagram::begin(out, guid.prefix, guid.entity_id, Some(proxy.guid), proxy.direct_datagram())
                .local(proxy.is_local());
        let mut from = SequenceNumber::ZERO;
        // Fragments of a change that is needed first go first: the reader may have no room for later ones until it has them.
        let fragments_first = proxy.fragments_first();
        let last_asked = proxy.requested.base().plus(u64::from(Bitmap::MAX_LEN) - 1);
        let asks_to_the_end = proxy.requested.contains(last_asked);
        loop {
            let next = proxy.requested.iter().find(|number| *number >= from);
            let Some(number) = next.filter(|_| !fragments_first) else { break };
            let record = self.history.at_or_after(number.max(proxy.start));
            match record {
                Some(record) if record.number == number && !proxy.excludes(&self.history, record) => {
                    match datagram.change(&self.history, record) {
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
                    }
                }
                record => {
                    // The change itself, if its filter keeps it away, and those after it.
                    let end =
                        record.map_or(proxy.sent, |record| record.number).min(proxy.sent).max(number.next());
                    let end = Self::end_of_gap(proxy, &self.history, end);
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
                && !proxy.excludes(&self.history, record)
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
                Some(record) if !proxy.excludes(&self.history, record) => {
                    self.counters.fragment_repairs += 1;
                    // It goes whole if its path has grown since it left.
                    if datagram.change(&self.history, record) != Added::Whole {
                        datagram.fragment(&self.history, record, fragment.0.saturating_sub(1));
                    }
                }
                _ => {
                    proxy.forget_fragments(number);
                    datagram.gap(number, number.next());
                }
            }
        }
        datagram.heartbeat(&heartbeat);
        let len = out.len();
        proxy.repair_credit = proxy.repair_credit.saturating_sub(len as u64);
        if proxy.is_sized() {
            proxy.size.repeated(u32::try_from(len).unwrap_or(u32::MAX));
        }
        true
    }

    /// The first reader to which something may be repeated now. Its datagrams become smaller if nothing comes of the larger ones.
    fn next_to_repair(&mut self, now: Instant) -> Option<usize> {
        for index in 0..self.readers.len() {
            let Some(proxy) = self.readers.get_mut(index).filter(|proxy| proxy.has_repairs()) else {
                continue;
            };
            if proxy.conduct.is_some() {
                // Its spacing is all that holds repairs back, and its datagrams have one size.
                if proxy.is_open(now) {
                    return Some(index);
                }
                continue;
            }
            let is_narrowed = now >= proxy.refill_at && proxy.size.next_round(now);
            let may_repair = proxy.may_repair(now);
            if is_narrowed {
                self.counters.narrowed += 1;
                self.note_path(index);
                self.measure_paths();
            }
            if may_repair {
                return Some(index);
            }
        }
        None
    }

    /// Counts a question: its answer is not one to a probe.
    fn count_question(&mut self) {
        self.counters.asks += 1;
        self.question_open = true;
        self.readers.iter_mut().filter(|proxy| proxy.size.timeout() != Instant::NEVER).for_each(|proxy| {
            proxy.size.asked();
        });
    }

    /// Asks a reader by a datagram that is larger than those that it gets, if nothing else is asked or waited for.
    fn poll_probe(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        while let Some(index) = self.readers.iter().position(|proxy| proxy.size.timeout() <= now) {
            let quiet = !self.question_open;
            let Some(proxy) = self.readers.get_mut(index) else { return false };
            let may_send = quiet && !proxy.is_waited_for();
            let size = match proxy.size.next_probe(now, may_send) {
                Probe::Send(size) => size,
                Probe::Wait => continue,
                Probe::InVain => {
                    self.note_path(index);
                    continue;
                }
            };
            let sent = proxy.announced();
            let heartbeat = Heartbeat { is_final: false, ..self.heartbeat_to(index, sent, true) };
            let Some(proxy) = self.readers.get(index) else { return false };
            proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
            let guid = self.config.guid;
            Datagram::begin(out, guid.prefix, guid.entity_id, Some(proxy.guid), size).heartbeat(&heartbeat);
            let missing = (size as usize).saturating_sub(out.len());
            out.scratch(|bytes| encode::pad(bytes, missing));
            return true;
        }
        false
    }

    /// Asks which of the fragments up to `last` have come.
    pub(super) fn ask_for_fragments(&mut self, number: SequenceNumber, last: u32, out: &mut Transmit<P>) {
        self.heartbeat_count = self.heartbeat_count.wrapping_add(1);
        self.count_question();
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
                || !proxy.is_open(now)
            {
                continue;
            }
            if !self.send_lagging(now, index, out) {
                out.clear();
                self.trim();
                continue;
            }
            // It asks: a reader that lags has to be heard before it gets more.
            let Some(proxy) = self.readers.get(index) else { return true };
            let (sent, fragment, reliable, acks, is_filtered) = (
                proxy.announced(),
                proxy.sent_fragment,
                proxy.reliable,
                proxy.acks_fragments,
                proxy.is_filtered,
            );
            if fragment > 0 && acks && proxy.conduct.is_none() {
                self.ask_for_fragments(sent, fragment, out);
            } else if fragment == 0 && reliable {
                let asks = !is_filtered || self.asks_of(index);
                let heartbeat = self.heartbeat_to(index, sent, !asks);
                out.scratch(|bytes| encode::heartbeat(bytes, &heartbeat));
            }
            self.arm_heartbeat(now);
            self.trim();
            return true;
        }
        false
    }

    /// A reader whose filter is evaluated is asked for an answer when a quarter of its window is under way, and by time.
    fn asks_of(&self, index: usize) -> bool {
        let Some(proxy) = self.readers.get(index) else { return true };
        !proxy.has_window(self.history.offset_before(proxy.sent), 0, proxy.window / 4 * 3)
    }

    /// False if there is nothing to be sent to it.
    fn send_lagging(&mut self, now: Instant, index: usize, out: &mut Transmit<P>) -> bool {
        let (fresh, fresh_fragment) = (self.fresh, self.fresh_fragment);
        let Some(proxy) = self.readers.get_mut(index) else { return false };
        if proxy.is_filtered && proxy.sent_fragment == 0 {
            Self::pass_filtered(proxy, &self.history, fresh);
            if proxy.sent >= fresh {
                return false;
            }
        }
        proxy.hand_out(now);
        proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
        let guid = self.config.guid;
        let limit = proxy.direct_datagram().min(self.config.max_datagram);
        let mut datagram = Datagram::begin(out, guid.prefix, guid.entity_id, Some(proxy.guid), limit)
            .local(proxy.is_local());
        if proxy.sent_fragment == 0
            && let Some(from) = proxy.gap_from
            && datagram.gap(from, proxy.sent)
        {
            proxy.gap_from = None;
            self.counters.gaps += 1;
        }
        while (proxy.sent, proxy.sent_fragment) < (fresh, fresh_fragment) {
            let record = self.history.at_or_after(proxy.sent);
            let Some(record) = record.filter(|record| record.number <= fresh) else {
                // Past `fresh` itself if that was removed after some of its fragments had left.
                let end = fresh.max(proxy.sent.next());
                if !datagram.gap(proxy.sent, end) {
                    return true;
                }
                self.counters.gaps += 1;
                (proxy.sent, proxy.sent_fragment) = (end, 0);
                continue;
            };
            if record.number > proxy.sent {
                if !datagram.gap(proxy.sent, record.number) {
                    return true;
                }
                self.counters.gaps += 1;
                (proxy.sent, proxy.sent_fragment) = (record.number, 0);
                continue;
            }
            if proxy.sent_fragment == 0 && proxy.excludes(&self.history, record) {
                // It begins the next gap, which goes with the next change that passes.
                Self::pass_filtered(proxy, &self.history, fresh);
                if proxy.sent >= fresh {
                    return true;
                }
                if let Some(from) = proxy.gap_from {
                    if !datagram.gap(from, proxy.sent) {
                        return true;
                    }
                    proxy.gap_from = None;
                    self.counters.gaps += 1;
                }
                continue;
            }
            match datagram.change(&self.history, record) {
                Added::Whole => (proxy.sent, proxy.sent_fragment) = (record.number.next(), 0),
                Added::Full => return true,
                Added::Fragments if datagram.is_empty() => {
                    if datagram.fragment(&self.history, record, proxy.sent_fragment) {
                        (proxy.sent, proxy.sent_fragment) = (record.number.next(), 0);
                    } else {
                        proxy.sent_fragment = proxy.sent_fragment.saturating_add(1);
                    }
                    return true;
                }
                Added::Fragments => return true,
            }
        }
        true
    }

    /// Moves a reader on over the changes that its filter keeps away from it, and those that were removed, up to `fresh`.
    fn pass_filtered(proxy: &mut ReaderProxy, history: &History<P>, fresh: SequenceNumber) {
        while proxy.sent < fresh {
            let record = history.at_or_after(proxy.sent).filter(|record| record.number < fresh);
            let next = match record {
                Some(record) if record.number > proxy.sent => record.number,
                Some(record) if proxy.excludes(history, record) => record.number.next(),
                Some(_) => break,
                None => fresh,
            };
            let (before, after) = (history.offset_before(proxy.sent), history.offset_before(next));
            proxy.pass(next, after.saturating_sub(before));
        }
        proxy.settle_passed(history.offset_before(proxy.sent));
        // It may wait until it has its history, or knows what it does not get of that.
        proxy.heartbeat_due |=
            proxy.sent >= fresh && proxy.gap_from.is_some_and(|from| from <= proxy.history_until);
    }

    /// Where a GAP to a reader ends that goes up to `end` at least: at the next change that it gets.
    fn end_of_gap(proxy: &mut ReaderProxy, history: &History<P>, end: SequenceNumber) -> SequenceNumber {
        let mut end = end;
        while proxy.is_filtered && end < proxy.sent {
            match history.at_or_after(end) {
                Some(record) if record.number > end => end = record.number.min(proxy.sent),
                Some(record) if proxy.excludes(history, record) => end = end.next(),
                _ => break,
            }
        }
        end
    }

    /// Asks for an answer when one has been waited for long enough.
    fn poll_heartbeat(&mut self, now: Instant, out: &mut Transmit<P>) -> bool {
        if now < self.heartbeat_at {
            return false;
        }
        if !self.readers.iter().any(ReaderProxy::is_waited_for) {
            self.heartbeat_at = Instant::NEVER;
            self.heartbeat_wait = self.waits.0;
            return false;
        }
        let doubled = self.heartbeat_wait.saturating_add(self.heartbeat_wait);
        self.heartbeat_wait = doubled.min(self.waits.1).max(self.waits.0);
        self.heartbeat_at = now.after(self.heartbeat_wait);
        // Readers inside of a sample may all be at different fragments, and those that lag would ask for what is to be sent to them
        // anyway: each is asked on its own.
        for proxy in self.readers.iter_mut().filter(|proxy| proxy.is_waited_for()) {
            let alone = proxy.sent < self.fresh || !proxy.is_shared || proxy.conduct.is_some();
            proxy.heartbeat_due |= proxy.sent_fragment > 0 || alone;
            if !alone {
                proxy.direct_paths().iter().for_each(|path| out.add_path(*path));
            }
        }
        if out.paths().is_empty() {
            return self.poll_directed(now, out);
        }
        self.unasked = 0;
        let heartbeat = self.heartbeat(self.fresh, false);
        let guid = self.config.guid;
        Datagram::begin(out, guid.prefix, guid.entity_id, None, self.datagram).heartbeat(&heartbeat);
        true
    }
}
