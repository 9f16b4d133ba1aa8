//! What a reader knows about one matched writer: the order of its changes (RTPS 2.5, 8.4.10.4).
mod announced;
mod heartbeats;
mod leap;
mod room;
mod unusable;

use alloc::boxed::Box;
use alloc::vec::Vec;

use wire::message::{DataFrag, Gap};
use wire::parameter::InlineQos;
use wire::{Duration, FragmentNumber, Guid, Instant, SequenceNumber, Timestamp};

use super::hold::Hold;
use super::order::{Held, Order, REACH};
use super::reassembly::Assembly;
use super::{Accept, MatchedWriter, Sample, SamplePayload, Sink, Store, Unusable};
use crate::count::Count;
use crate::path::Path;
use crate::spacing::Spacing;
use announced::Announced;
use leap::Doubt;
pub(super) use leap::Leap;

/// A HEARTBEAT that skips at most this many numbers is believed at once; a longer skip has to be said twice.
const JUMP: u64 = 65_536;
/// Incomplete samples at a time.
const ASSEMBLIES: usize = 16;
/// First wait before asking again for a first HEARTBEAT; doubles up to `MAX_HELLO_WAIT`.
const HELLO_WAIT: Duration = Duration::from_millis(100);
const MAX_HELLO_WAIT: Duration = Duration::from_secs(1);
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
    pub(super) leap: Leap,
    /// When the newest GAP came.
    gap_at: Instant,
    /// The first number of a HEARTBEAT that skips too much to be believed at once.
    pub(super) jump: Option<SequenceNumber>,
    /// Since when HEARTBEATs have ended before the next expected change, and which that was.
    pub(super) ahead: Option<(Instant, SequenceNumber, Instant)>,
    pub(super) heartbeats: Count,
    heartbeat_frags: Count,
    /// The sink is full: the change whose turn it is waits, here or at the writer.
    pub(super) blocked: bool,
    /// A change that can never be taken, and of which the writer has not said yet that it has written it: the lowest such one.
    pub(super) unusable: Option<(SequenceNumber, Unusable)>,
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
    /// The highest number among those, and what was expected then.
    pub(super) asked_until: SequenceNumber,
    pub(super) asked_from: SequenceNumber,
    /// How often it has asked since something came of it.
    pub(super) fruitless: u32,
    /// The last answer that asked for nothing, and when the same may leave again.
    pub(super) said: Option<(SequenceNumber, Option<(SequenceNumber, FragmentNumber)>)>,
    pub(super) repeats: Spacing,
    /// The writer has said what it holds, and that it sends none of that before it is answered.
    pub(super) is_awaited: bool,
    /// What may be asked for, if repairs are conducted.
    pub(super) announced: Option<Box<Announced>>,
}

impl WriterProxy {
    /// `place` is where an earlier match with the writer has ended.
    pub(super) fn new(
        writer: MatchedWriter,
        reliable: bool,
        now: Instant,
        place: Option<SequenceNumber>,
    ) -> Self {
        Self {
            guid: writer.guid,
            reliable,
            path: writer.paths.first().copied(),
            order: Order::new(place.unwrap_or(SequenceNumber::FIRST)),
            started: false,
            assemblies: Vec::new(),
            last: SequenceNumber::ZERO,
            leap: place.map_or(Leap::None, |_| Leap::Resumed(Doubt::None)),
            gap_at: Instant::START,
            jump: None,
            ahead: None,
            heartbeats: Count::default(),
            heartbeat_frags: Count::default(),
            blocked: false,
            unusable: None,
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
            asked_from: SequenceNumber::ZERO,
            fruitless: 0,
            said: None,
            repeats: Spacing::default(),
            is_awaited: false,
            announced: None,
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
            .missing(self.asks_until().next())
            .filter(|number| !self.assemblies.iter().any(|assembly| assembly.number == *number))
    }

    /// Incomplete samples up to the writer's last.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = &Assembly> {
        let until = self.asks_until();
        self.assemblies.iter().filter(move |assembly| assembly.number <= until)
    }

    pub(super) fn is_missing_any(&self) -> bool {
        self.missing().next().is_some() || self.incomplete().next().is_some()
    }

    /// There is something that it has to ask for, now or later.
    pub(super) fn has_questions(&self) -> bool {
        !self.blocked && (self.asked_for_fragments.is_some() || self.is_missing_any())
    }

    /// A HEARTBEAT is asked for as if none had come yet.
    pub(super) fn ask(&mut self, now: Instant) {
        if self.reliable {
            (self.heard, self.answer, self.answer_at) = (false, true, now);
            self.hello_wait = HELLO_WAIT;
        }
    }

    /// The next wait for a first HEARTBEAT.
    pub(super) fn next_hello(&mut self) -> Duration {
        let wait = self.hello_wait;
        self.hello_wait = wait.saturating_add(wait).min(MAX_HELLO_WAIT);
        wait
    }

    #[inline]
    pub(super) fn receive(
        &mut self,
        now: Instant,
        sample: &mut Sample<'_>,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        let number = sample.sequence_number;
        if self.is_known(number) && !self.takes_back(now, number) {
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
                self.leap = Leap::None;
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

    /// True if an earlier GAP has said that this change will not come, and nothing behind it was delivered: then it is taken after all. A GAP
    /// that was forged, or that has overtaken what it is about, costs nothing so. A writer may send changes with the GAP that takes them back.
    #[cold]
    fn takes_back(&mut self, now: Instant, number: SequenceNumber) -> bool {
        if !self.reliable || now <= self.gap_at {
            return false;
        }
        if number >= self.order.next() {
            return self.order.is_gap(number);
        }
        let takes = matches!(self.leap, Leap::Gap(from) if from <= number);
        if takes && !self.blocked {
            self.order.step_back(number);
        }
        takes && !self.blocked
    }

    fn receive_best_effort(&mut self, sample: &mut Sample<'_>, store: &mut Store, sink: &mut impl Sink) {
        let number = sample.sequence_number;
        self.skip_best_effort(number, store, sink);
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
        if self.is_known(number) && !self.takes_back(now, number) {
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
                let mut assembly = Assembly::new(fragment, timestamp, inline_qos, buffer, runs);
                assembly.touched = now;
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
            let mut new = Assembly::new(fragment, timestamp, inline_qos, buffer, store.runs());
            new.touched = now;
            let (buffer, runs) = core::mem::replace(assembly, new).into_buffers();
            store.recycle_assembly(buffer, runs);
        }
        let room = store.config.byte_limit.saturating_sub(store.held_bytes);
        if assembly.add(fragment, now, room) {
            self.fruitless = 0;
        }
        store.held_bytes = (store.held_bytes + assembly.held()).saturating_sub(before);
        if !assembly.is_complete() {
            return;
        }
        let assembly = self.assemblies.swap_remove(index);
        store.held_bytes = store.held_bytes.saturating_sub(assembly.held());
        store.counters.assembled += 1;
        let (timestamp, inline_qos, is_key) = (assembly.timestamp, assembly.inline_qos, assembly.is_key);
        let spare = store.buffer(fragment.sample_size as usize);
        let (bytes, spare, runs) = assembly.finish(spare);
        store.recycle_assembly(spare, runs);
        let mut sample = Sample {
            writer: self.guid,
            sequence_number: number,
            source_timestamp: timestamp,
            inline_qos,
            is_key,
            payload: SamplePayload::Owned(bytes),
        };
        self.receive(now, &mut sample, store, sink);
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
        self.gap_at = now;
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
        if !self.order.is_plain() {
            self.drain_ahead(store, sink);
        }
        self.forget_assemblies(store);
        if self.last < self.order.next() && !self.is_asked() && self.heard {
            self.answer_at = Instant::NEVER;
        }
    }

    fn drain_ahead(&mut self, store: &mut Store, sink: &mut impl Sink) {
        let mut reached = self.order.next();
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
                self.leap = Leap::None;
                reached = number.next();
                store.held_bytes = store.held_bytes.saturating_sub(cost);
            }
        }
        if self.order.next() > reached && self.leap == Leap::None {
            self.leap = Leap::Gap(reached);
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
            self.leap = match self.leap {
                Leap::None => Leap::Skipped(next),
                Leap::Gap(from) => Leap::Skipped(from),
                other => other,
            };
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
