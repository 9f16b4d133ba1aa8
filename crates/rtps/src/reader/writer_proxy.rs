//! What a reader knows about one matched writer: the order of its changes (RTPS 2.5, 8.4.10.4).
mod room;

use alloc::vec::Vec;

use wire::message::{DataFrag, Gap, Heartbeat, HeartbeatFrag};
use wire::parameter::InlineQos;
use wire::{Duration, EntityId, FragmentNumber, FragmentNumberSet, Guid, Instant, SequenceNumber, Timestamp};

use super::hold::Hold;
use super::order::{Held, Order, REACH};
use super::reassembly::Assembly;
use super::{Accept, MatchedWriter, Sample, SamplePayload, Sink, Store};
use crate::count::Count;
use crate::path::Path;

/// A HEARTBEAT that skips at most this many numbers is believed at once; a longer skip has to be said twice.
const JUMP: u64 = 65_536;
/// HEARTBEATs for a group may end before what this reader expects for as long as the writer takes to serve slower readers.
const ASTRAY: Duration = Duration::from_secs(5);
/// A writer that waits for an answer asks again within this time.
const DOUBT: Duration = Duration::from_millis(800);
/// A HEARTBEAT that is this far behind shows at once that an earlier message was forged.
const BACKWARDS: u64 = 1 << 20;
/// Incomplete samples at a time.
const ASSEMBLIES: usize = 16;
/// First wait before asking again for a first HEARTBEAT; doubles up to `MAX_HELLO_WAIT`.
const HELLO_WAIT: Duration = Duration::from_millis(100);
const MAX_HELLO_WAIT: Duration = Duration::from_secs(1);
/// Fragments that came out of order make pieces, at most one per this many octets of the largest sample: sorting them in takes
/// time in proportion to their number.
const PIECE: usize = 1_024;
/// What was not touched for this long may be thrown out by others.
const IDLE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct WriterProxy {
    pub(super) guid: Guid,
    pub(super) reliable: bool,
    pub(super) path: Option<Path>,
    pub(super) order: Order,
    /// A position in the writer's changes is known: numbers that are skipped from now on are lost.
    pub(super) started: bool,
    pub(super) assemblies: Vec<Assembly>,
    /// The newest HEARTBEAT's last number.
    pub(super) last: SequenceNumber,
    /// Where it stood before a HEARTBEAT skipped numbers, until a sample behind them has come.
    pub(super) skipped_from: Option<SequenceNumber>,
    /// The first number of a HEARTBEAT that skips too much to be believed at once.
    pub(super) jump: Option<SequenceNumber>,
    /// Since when HEARTBEATs have ended before the next expected change, and which that was.
    pub(super) ahead: Option<(Instant, SequenceNumber, Instant)>,
    pub(super) heartbeats: Count,
    heartbeat_frags: Count,
    /// The sink is full: the change whose turn it is waits.
    pub(super) blocked: bool,
    /// A HEARTBEAT has come.
    pub(super) heard: bool,
    /// The last change that the writer held at the match, once it has said so.
    pub(super) history_until: Option<SequenceNumber>,
    hello_wait: Duration,
    /// When an ACKNACK is due.
    pub(super) answer_at: Instant,
    /// It answers a question, so it goes out even if nothing is missing.
    pub(super) answer: bool,
    /// When a sample that came in one piece was handed on last.
    pub(super) delivered_at: Option<Instant>,
    pub(super) hold: Hold,
    /// The writer wants to know which of the first fragments of a change have come.
    pub(super) asked_for_fragments: Option<(SequenceNumber, u32)>,
    /// When missing changes were last asked for.
    pub(super) asked_at: Option<Instant>,
    /// The highest number among those.
    pub(super) asked_until: SequenceNumber,
}

impl WriterProxy {
    pub(super) fn new(writer: MatchedWriter, reliable: bool, now: Instant) -> Self {
        Self {
            guid: writer.guid,
            reliable,
            path: writer.paths.first().copied(),
            order: Order::new(SequenceNumber::FIRST),
            started: false,
            assemblies: Vec::new(),
            last: SequenceNumber::ZERO,
            skipped_from: None,
            jump: None,
            ahead: None,
            heartbeats: Count::default(),
            heartbeat_frags: Count::default(),
            blocked: false,
            heard: false,
            history_until: None,
            hello_wait: HELLO_WAIT,
            answer_at: if reliable { now } else { Instant::NEVER },
            answer: reliable,
            delivered_at: None,
            hold: Hold::default(),
            asked_for_fragments: None,
            asked_at: None,
            asked_until: SequenceNumber::ZERO,
        }
    }

    pub(super) fn set_paths(&mut self, paths: Vec<Path>) {
        if self.path.is_none() && self.reliable {
            // What could not be sent is looked at again.
            self.answer_at = Instant::START;
        }
        self.path = paths.first().copied();
    }

    pub(super) const fn next(&self) -> SequenceNumber {
        self.order.next()
    }

    pub(super) const fn due(&self) -> Instant {
        self.answer_at
    }

    /// The writer has said what it held at the match.
    pub(super) const fn knows_history(&self) -> bool {
        self.history_until.is_some()
    }

    /// What the writer held at the match was delivered, or will never come.
    pub(super) fn has_history(&self) -> bool {
        !self.reliable || self.history_until.is_some_and(|until| self.next() > until)
    }

    /// The changes that are missing up to the writer's last, incomplete ones apart.
    pub(super) fn missing(&self) -> impl Iterator<Item = SequenceNumber> + '_ {
        self.order
            .missing(self.last.next())
            .filter(|number| !self.assemblies.iter().any(|assembly| assembly.number == *number))
    }

    /// Incomplete samples up to the writer's last.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = &Assembly> {
        self.assemblies.iter().filter(|assembly| assembly.number <= self.last)
    }

    pub(super) fn is_missing_any(&self) -> bool {
        self.missing().next().is_some() || self.incomplete().next().is_some()
    }

    /// There is something that it has to ask for, now or later.
    pub(super) fn has_questions(&self) -> bool {
        !self.blocked && (self.asked_for_fragments.is_some() || self.is_missing_any())
    }

    /// The next wait for a first HEARTBEAT.
    pub(super) fn next_hello(&mut self) -> Duration {
        let wait = self.hello_wait;
        self.hello_wait = wait.saturating_add(wait).min(MAX_HELLO_WAIT);
        wait
    }

    #[inline]
    pub(super) fn receive(&mut self, sample: &mut Sample<'_>, store: &mut Store, sink: &mut impl Sink) {
        let number = sample.sequence_number;
        if self.is_known(number) {
            match self.reliable {
                true => store.counters.duplicates += 1,
                false => store.counters.late += 1,
            }
            return;
        }
        if !self.reliable {
            return self.receive_best_effort(sample, store, sink);
        }
        if number == self.order.next() && !self.blocked {
            self.started = true;
            if offer(sample, store, sink) == Accept::Taken {
                self.skipped_from = None;
                self.order.delivered(number);
                return self.drain(store, sink);
            }
            self.blocked = true;
        }
        self.hold(sample, store);
    }

    /// True if a change is not to be taken (again). A best-effort writer has no HEARTBEAT that could put a reader back which a
    /// forged number has led far ahead: there, a change that is far behind is a new one.
    fn is_known(&self, number: SequenceNumber) -> bool {
        self.order.knows(number) && (self.reliable || self.order.next().distance_from(number) <= REACH)
    }

    /// A change has come that cannot be taken, now or later: it must not be asked for again.
    pub(super) fn give_up(&mut self, number: SequenceNumber, store: &mut Store, sink: &mut impl Sink) {
        // Later changes of a best-effort writer show that it is lost. A reliable one has to say that it has written this one at
        // all; it repeats it when asked.
        if !self.reliable || number > self.last || self.order.knows(number) {
            return;
        }
        self.order.skip(number, number.next());
        if self.order.knows(number) {
            self.report_lost(number, number.next(), store, sink);
        }
        self.drain(store, sink);
    }

    fn receive_best_effort(&mut self, sample: &mut Sample<'_>, store: &mut Store, sink: &mut impl Sink) {
        let number = sample.sequence_number;
        if self.started && number > self.order.next() {
            self.report_lost(self.order.next(), number, store, sink);
        }
        self.started = true;
        self.order.delivered(number);
        if offer(sample, store, sink) == Accept::Full {
            self.report_lost(number, number.next(), store, sink);
        }
        self.forget_assemblies(store);
    }

    pub(super) fn receive_fragment(
        &mut self,
        now: Instant,
        timestamp: Option<Timestamp>,
        inline_qos: InlineQos,
        fragment: &DataFrag<'_>,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        let number = fragment.sequence_number;
        if self.is_known(number) {
            store.counters.duplicates += 1;
            return;
        }
        let known = self.assemblies.iter().position(|assembly| assembly.number == number);
        let assembly = known.and_then(|index| self.assemblies.get(index));
        let growth = assembly.map_or(fragment.bytes.len(), |held| held.growth(fragment.bytes.len()));
        if !store.has_room(growth) || (self.reliable && number.distance_from(self.order.next()) >= REACH) {
            store.counters.no_room += 1;
            return;
        }
        let index = match known {
            Some(index) => index,
            None => {
                if self.assemblies.len() >= ASSEMBLIES && !self.drop_farthest_assembly(number, store) {
                    store.counters.no_room += 1;
                    return;
                }
                let buffer = store.buffer(fragment.sample_size as usize);
                let runs = store.runs();
                let assembly = Assembly::new(fragment, timestamp, inline_qos, buffer, runs);
                store.held_bytes += assembly.held();
                self.assemblies.push(assembly);
                self.assemblies.len() - 1
            }
        };
        let Some(assembly) = self.assemblies.get_mut(index) else { return };
        let before = assembly.held();
        if !assembly.agrees(fragment) {
            // The first fragment states the sizes. A sender that changes them starts over once the old ones have gone stale.
            if now.since(assembly.touched) < IDLE {
                store.counters.implausible += 1;
                return;
            }
            let buffer = store.buffer(fragment.sample_size as usize);
            let new = Assembly::new(fragment, timestamp, inline_qos, buffer, store.runs());
            let (buffer, runs) = core::mem::replace(assembly, new).into_buffers();
            store.recycle_assembly(buffer, runs);
        }
        let room = store.config.byte_limit.saturating_sub(store.held_bytes);
        assembly.add(fragment, now, room);
        store.held_bytes = (store.held_bytes + assembly.held()).saturating_sub(before);
        if assembly.pieces() > (store.config.max_sample_size as usize / PIECE).max(PIECE) {
            store.counters.evicted += 1;
            self.drop_assembly(index, store);
            return;
        }
        if !assembly.is_complete() {
            return;
        }
        let assembly = self.assemblies.swap_remove(index);
        store.held_bytes = store.held_bytes.saturating_sub(assembly.held());
        store.counters.assembled += 1;
        let (timestamp, inline_qos, is_key) = (assembly.timestamp, assembly.inline_qos, assembly.is_key);
        let spare = store.buffer(fragment.sample_size as usize);
        let (octets, spare, runs) = assembly.finish(spare);
        store.recycle_assembly(spare, runs);
        let mut sample = Sample {
            writer: self.guid,
            sequence_number: number,
            source_timestamp: timestamp,
            inline_qos,
            is_key,
            payload: SamplePayload::Owned(octets),
        };
        self.receive(&mut sample, store, sink);
    }

    pub(super) fn on_heartbeat(
        &mut self,
        now: Instant,
        heartbeat: &Heartbeat,
        is_ours: bool,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        if !self.reliable {
            return;
        }
        if !self.heartbeats.is_new(heartbeat.count, now) {
            store.counters.implausible += 1;
            return;
        }
        if !self.heard {
            // That answers the question for a first one.
            (self.heard, self.answer, self.answer_at) = (true, false, Instant::NEVER);
        }
        let directed = heartbeat.reader_id != EntityId::UNKNOWN;
        // What Punctual's writer says to all is about how far the others were served.
        if self.history_until.is_none() && (directed || !is_ours) {
            self.history_until = Some(heartbeat.last);
        }
        self.last = heartbeat.last;
        let next = self.order.next();
        if self.was_led_astray(now, heartbeat.last.next(), directed) {
            store.counters.implausible += 1;
            // What a HEARTBEAT made it give up, and nothing delivered has confirmed, is still to come.
            let end = heartbeat.last.next();
            let resume = self.skipped_from.map_or(end, |from| from.max(heartbeat.first).min(end));
            self.report_lost(end, next, store, sink);
            self.restart(resume, store);
        }
        let mut doubtful = false;
        if heartbeat.first > self.order.next() {
            let distance = heartbeat.first.distance_from(self.order.next());
            let said_before = self.jump.is_some_and(|jump| heartbeat.first >= jump);
            if distance <= JUMP || said_before {
                self.jump = None;
                self.skip_to(heartbeat.first, store, sink);
            } else {
                // The writer is asked once more before so much is given up.
                self.jump = Some(heartbeat.first);
                doubtful = true;
            }
        } else {
            self.jump = None;
        }
        self.started = true;
        self.drain(store, sink);
        let missing = !self.blocked && self.is_missing_any();
        if !heartbeat.is_final || doubtful {
            let waits = store.config.holds && !doubtful && !missing && self.may_hold(now);
            self.answer = true;
            self.answer_at = if waits && self.hold.begin() { Instant::NEVER } else { now };
        } else if missing {
            self.answer_at = self.answer_at.min(self.ask_time(now, store));
        } else if !self.is_asked() {
            self.answer_at = Instant::NEVER;
        }
    }

    /// True if what this reader expects next lies beyond `end`, where the writer has got to, and that by so much or for so long
    /// that HEARTBEATs which come late cannot explain it. A writer waits for ever for one that acknowledges what it has not written.
    /// For small distances only a HEARTBEAT that names this reader counts: one for a group speaks of where its slowest has got to.
    fn was_led_astray(&mut self, now: Instant, end: SequenceNumber, directed: bool) -> bool {
        let next = self.order.next();
        if !directed {
            return next.distance_from(end) > BACKWARDS;
        }
        let since = match self.ahead {
            // After a silence the writer was content with the last answer; a new doubt begins, as when it has matched us anew.
            Some((since, at, latest)) if at == next && now.since(latest) < DOUBT => since,
            _ => now,
        };
        self.ahead = (next > end).then_some((since, next, now));
        next > end && (next.distance_from(end) > BACKWARDS || now.since(since) >= ASTRAY)
    }

    /// True if an acknowledgement that is due now may wait: it asks for nothing, and the application has just got a sample, which it may
    /// answer. A question by itself is of a writer that waits for the answer.
    fn may_hold(&self, now: Instant) -> bool {
        self.delivered_at == Some(now)
            && self.answer_at == Instant::NEVER
            && !self.blocked
            && self.asked_for_fragments.is_none()
            && self.knows_history()
            && self.path.is_some_and(|path| path != Path::IN_PROCESS)
    }

    /// The writer has asked for something and was not answered yet.
    pub(super) const fn is_asked(&self) -> bool {
        self.answer || self.asked_for_fragments.is_some()
    }

    /// The writer has sent some fragments of a change. `always` says that it wants an answer even if all have come.
    pub(super) fn on_heartbeat_frag(
        &mut self,
        now: Instant,
        heartbeat: &HeartbeatFrag,
        always: bool,
        store: &mut Store,
    ) {
        if !self.reliable || !self.heartbeat_frags.is_new(heartbeat.count, now) {
            return;
        }
        let number = heartbeat.sequence_number;
        if self.order.knows(number) {
            self.answer |= always;
        } else {
            self.asked_for_fragments = Some((number, heartbeat.last_fragment.0));
        }
        let late =
            self.missing_of(number, heartbeat.last_fragment.0).is_some_and(|set| !set.bitmap().is_empty());
        if late && !self.blocked {
            self.answer_at = self.answer_at.min(self.ask_time(now, store));
        } else if always {
            self.answer_at = now;
        } else {
            self.asked_for_fragments = None;
        }
    }

    /// The missing fragments among the first `last` of a change that is not complete.
    pub(super) fn missing_of(&self, number: SequenceNumber, last: u32) -> Option<FragmentNumberSet> {
        if self.order.knows(number) {
            return None;
        }
        if let Some(assembly) = self.assemblies.iter().find(|assembly| assembly.number == number) {
            return Some(assembly.missing(last));
        }
        let mut all = FragmentNumberSet::empty(FragmentNumber(1));
        for fragment in 1..=last.min(256) {
            all.insert(FragmentNumber(fragment));
        }
        Some(all)
    }

    /// When what is missing may be asked for: after a short wait for what is only late, and not again before the period is over.
    fn ask_time(&self, now: Instant, store: &Store) -> Instant {
        now.after(store.config.nack_delay).max(self.may_ask_at(store))
    }

    /// When something may be asked for again: at once if all that was asked for has come, else when the period is over.
    pub(super) fn may_ask_at(&self, store: &Store) -> Instant {
        match self.asked_at {
            Some(asked) if self.order.next() <= self.asked_until => asked.after(store.config.nack_period),
            _ => Instant::START,
        }
    }

    pub(super) fn on_gap(&mut self, now: Instant, gap: &Gap, store: &mut Store, sink: &mut impl Sink) {
        if !self.reliable {
            return;
        }
        // A writer speaks of what it has written. Nothing is skipped on the word of a single message beyond that.
        let believed = self.last.max(self.order.newest()).plus(JUMP);
        if gap.list.base() > believed {
            store.counters.implausible += 1;
            self.answer = true;
            self.answer_at = now;
            return;
        }
        self.order.skip(gap.start, gap.list.base());
        for number in gap.list.iter() {
            self.order.skip(number, number.next());
        }
        // A GAP further ahead says nothing about where the writer's changes begin.
        self.started |= gap.start <= self.order.next();
        self.drain(store, sink);
    }

    pub(super) fn resume(&mut self, now: Instant, store: &mut Store, sink: &mut impl Sink) {
        if core::mem::take(&mut self.blocked) {
            self.drain(store, sink);
            if !self.blocked {
                // The writer waits for this: its window is full of what could not be taken.
                self.answer = true;
                self.answer_at = now;
            }
        }
    }

    /// Delivers what has come into order.
    #[inline]
    fn drain(&mut self, store: &mut Store, sink: &mut impl Sink) {
        while !self.blocked
            && let Some((number, held)) = self.order.take_next()
        {
            let cost = held.cost();
            let mut sample = held.into_sample(self.guid, number);
            if offer(&mut sample, store, sink) == Accept::Full {
                self.blocked = true;
                let payload = core::mem::take(&mut sample.payload);
                self.order.put_back(number, Held::new(&sample, payload));
            } else {
                self.skipped_from = None;
                store.held_bytes = store.held_bytes.saturating_sub(cost);
            }
        }
        self.forget_assemblies(store);
        if self.last < self.order.next() && !self.is_asked() && self.heard {
            self.answer_at = Instant::NEVER;
        }
    }

    /// Numbers below `first` are gone for good: what is held of them is delivered, the others are lost.
    fn skip_to(&mut self, first: SequenceNumber, store: &mut Store, sink: &mut impl Sink) {
        store.counters.jumps += 1;
        loop {
            self.drain(store, sink);
            let next = self.order.next();
            if self.blocked || next >= first {
                return;
            }
            let end = self.order.missing_until(first);
            if end == next {
                return;
            }
            self.skipped_from.get_or_insert(next);
            self.order.give_up_before(end);
            if self.started {
                self.report_lost(next, end, store, sink);
            }
        }
    }

    fn report_lost(
        &self,
        first: SequenceNumber,
        end: SequenceNumber,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        let count = end.distance_from(first);
        store.counters.lost = store.counters.lost.saturating_add(count);
        sink.lost(self.guid, first, count);
    }
}

/// Hands a sample on. The payload stays with one that is refused.
#[inline]
fn offer(sample: &mut Sample<'_>, store: &mut Store, sink: &mut impl Sink) -> Accept {
    let accept = sink.deliver(sample);
    if accept == Accept::Full {
        store.counters.full += 1;
    } else if let SamplePayload::Owned(buffer) = &mut sample.payload {
        store.recycle(core::mem::take(buffer));
    }
    accept
}
