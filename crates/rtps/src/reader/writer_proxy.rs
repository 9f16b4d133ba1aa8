//! What a reader knows about one matched writer: the order of its changes (RTPS 2.5, 8.4.10.4).
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wire::message::{DataFrag, Gap, Heartbeat, HeartbeatFrag};
use wire::parameter::InlineQos;
use wire::{Duration, Guid, Instant, SequenceNumber, Timestamp};

use super::reassembly::Assembly;
use super::{Accept, MatchedWriter, Sample, SamplePayload, Sink, Store};
use crate::path::Path;

/// Numbers ahead of the next expected one that can be kept; what is further ahead is asked for later.
const REACH: u64 = 8_192;
/// A HEARTBEAT that skips at most this many numbers is believed at once; a longer skip has to be said twice.
const JUMP: u64 = 65_536;
/// A HEARTBEAT that is this far behind shows that an earlier message was forged.
const BACKWARDS: u64 = 1 << 20;
/// GAPs ahead of `REACH` that are remembered.
const FAR_GAPS: usize = 16;
/// Incomplete samples at a time.
const ASSEMBLIES: usize = 16;
/// First wait before asking again for a first HEARTBEAT; doubles up to `MAX_HELLO_WAIT`.
const HELLO_WAIT: Duration = Duration::from_millis(100);
const MAX_HELLO_WAIT: Duration = Duration::from_secs(3);
/// What was not touched for this long may be thrown out by others.
const IDLE: Duration = Duration::from_secs(1);

/// A sample that was received, apart from its number.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) timestamp: Option<Timestamp>,
    pub(super) inline_qos: InlineQos,
    pub(super) is_key: bool,
    pub(super) payload: SamplePayload<'a>,
}

/// One number from the next expected on.
#[derive(Debug)]
enum Slot {
    Missing,
    Irrelevant,
    Held(Held<'static>),
}

#[derive(Debug)]
pub(super) struct WriterProxy {
    pub(super) guid: Guid,
    pub(super) reliable: bool,
    pub(super) path: Option<Path>,
    /// Everything below was delivered or is irrelevant.
    next: SequenceNumber,
    /// A position in the writer's changes is known: numbers that are skipped from now on are lost.
    started: bool,
    /// `slots[i]` is for `next + i`.
    slots: VecDeque<Slot>,
    far_gaps: Vec<(SequenceNumber, SequenceNumber)>,
    assemblies: Vec<Assembly>,
    /// The newest HEARTBEAT's last number.
    pub(super) last: SequenceNumber,
    /// The first number of a HEARTBEAT that skips too much to be believed at once.
    jump: Option<SequenceNumber>,
    last_count: Option<i32>,
    counted_at: Instant,
    /// The sink is full: `next` waits in `slots`.
    pub(super) blocked: bool,
    /// A HEARTBEAT has come.
    pub(super) heard: bool,
    hello_wait: Duration,
    /// When an ACKNACK is due.
    pub(super) answer_at: Instant,
    /// It answers a question, so it goes out even if nothing is missing.
    pub(super) answer: bool,
    /// When missing changes were last asked for.
    pub(super) asked_at: Option<Instant>,
    pub(super) count: i32,
}

impl WriterProxy {
    pub(super) fn new(writer: MatchedWriter, reliable: bool, now: Instant) -> Self {
        Self {
            guid: writer.guid,
            reliable,
            path: writer.paths.first().copied(),
            next: SequenceNumber::FIRST,
            started: false,
            slots: VecDeque::new(),
            far_gaps: Vec::new(),
            assemblies: Vec::new(),
            last: SequenceNumber::ZERO,
            jump: None,
            last_count: None,
            counted_at: Instant::START,
            blocked: false,
            heard: false,
            hello_wait: HELLO_WAIT,
            answer_at: if reliable { now } else { Instant::NEVER },
            answer: reliable,
            asked_at: None,
            count: 0,
        }
    }

    pub(super) fn set_paths(&mut self, paths: Vec<Path>) {
        self.path = paths.first().copied();
    }

    pub(super) const fn next(&self) -> SequenceNumber {
        self.next
    }

    pub(super) const fn due(&self) -> Instant {
        self.answer_at
    }

    /// The changes that are missing up to the writer's last, incomplete ones apart.
    pub(super) fn missing(&self) -> impl Iterator<Item = SequenceNumber> + '_ {
        let count = self.last.next().distance_from(self.next).min(REACH);
        (0..count)
            .filter(|index| {
                let slot = usize::try_from(*index).ok().and_then(|index| self.slots.get(index));
                matches!(slot, None | Some(Slot::Missing))
            })
            .map(|index| self.next.plus(index))
            .filter(|number| !self.assemblies.iter().any(|assembly| assembly.number == *number))
            .filter(|number| !self.far_gaps.iter().any(|(start, end)| (start..end).contains(&number)))
    }

    /// Incomplete samples up to the writer's last.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = &Assembly> {
        self.assemblies.iter().filter(|assembly| assembly.number <= self.last)
    }

    pub(super) fn is_missing_any(&self) -> bool {
        self.missing().next().is_some() || self.incomplete().next().is_some()
    }

    /// The next wait for a first HEARTBEAT.
    pub(super) fn next_hello(&mut self) -> Duration {
        let wait = self.hello_wait;
        self.hello_wait = wait.saturating_add(wait).min(MAX_HELLO_WAIT);
        wait
    }

    pub(super) fn receive(
        &mut self,
        now: Instant,
        number: SequenceNumber,
        mut held: Held<'_>,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        if number < self.next {
            match self.reliable {
                true => store.counters.duplicates += 1,
                false => store.counters.late += 1,
            }
            return;
        }
        if !self.reliable {
            return self.receive_best_effort(number, held, store, sink);
        }
        if number == self.next && !self.blocked {
            self.started = true;
            if self.offer(number, &mut held, store, sink) == Accept::Taken {
                self.slots.pop_front();
                self.next = number.next();
                self.forget_assemblies(store);
                return self.drain(now, store, sink);
            }
            self.blocked = true;
        }
        self.hold(number, held, store);
    }

    fn receive_best_effort(
        &mut self,
        number: SequenceNumber,
        mut held: Held<'_>,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        if self.started && number > self.next {
            self.report_lost(self.next, number, store, sink);
        }
        self.started = true;
        self.next = number.next();
        if self.offer(number, &mut held, store, sink) == Accept::Full {
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
        if number < self.next || self.has(number) {
            store.counters.duplicates += 1;
            return;
        }
        if !store.has_room(fragment.bytes.len())
            || (self.reliable && number.distance_from(self.next) >= REACH)
        {
            store.counters.no_room += 1;
            return;
        }
        let known = self.assemblies.iter().position(|assembly| assembly.number == number);
        let index = match known {
            Some(index) => index,
            None => {
                if self.assemblies.len() >= ASSEMBLIES && !self.drop_farthest_assembly(number, store) {
                    store.counters.no_room += 1;
                    return;
                }
                let buffer = store.buffer();
                let assembly = Assembly::new(fragment, timestamp, inline_qos, buffer);
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
            let old =
                core::mem::replace(assembly, Assembly::new(fragment, timestamp, inline_qos, Vec::new()));
            store.recycle(old.into_buffer());
        }
        assembly.add(fragment, now);
        store.held_bytes = (store.held_bytes + assembly.held()).saturating_sub(before);
        if !assembly.is_complete() {
            return;
        }
        let assembly = self.assemblies.swap_remove(index);
        store.held_bytes = store.held_bytes.saturating_sub(assembly.held());
        store.counters.assembled += 1;
        let (timestamp, inline_qos, is_key) = (assembly.timestamp, assembly.inline_qos, assembly.is_key);
        let spare = store.buffer();
        let (sample, spare) = assembly.finish(spare);
        store.recycle(spare);
        let held = Held { timestamp, inline_qos, is_key, payload: SamplePayload::Owned(sample) };
        self.receive(now, number, held, store, sink);
    }

    pub(super) fn on_heartbeat(
        &mut self,
        now: Instant,
        heartbeat: &Heartbeat,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        if !self.reliable {
            return;
        }
        // A forged count must not mute the writer for good: after a second any count is believed.
        let newer = self.last_count.is_none_or(|last| heartbeat.count.wrapping_sub(last) > 0);
        if !newer && now.since(self.counted_at) < Duration::from_secs(1) {
            store.counters.implausible += 1;
            return;
        }
        self.last_count = Some(heartbeat.count);
        self.counted_at = now;
        self.heard = true;
        self.last = heartbeat.last;
        if self.next.distance_from(heartbeat.last.next()) > BACKWARDS {
            store.counters.implausible += 1;
            self.report_lost(heartbeat.last.next(), heartbeat.last.next().next(), store, sink);
            self.clear(store);
            self.next = heartbeat.last.next();
        }
        let mut doubtful = false;
        if heartbeat.first > self.next {
            let distance = heartbeat.first.distance_from(self.next);
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
        self.drain(now, store, sink);
        let missing = !self.blocked && self.is_missing_any();
        if !heartbeat.is_final || doubtful {
            self.answer = true;
            self.answer_at = now;
        } else if missing {
            self.answer_at = self.answer_at.min(self.ask_time(now, store));
        } else {
            self.answer_at = Instant::NEVER;
            self.answer = false;
        }
    }

    pub(super) fn on_heartbeat_frag(&mut self, now: Instant, heartbeat: &HeartbeatFrag, store: &mut Store) {
        let number = heartbeat.sequence_number;
        if !self.reliable || number < self.next || self.has(number) {
            return;
        }
        if self.assemblies.iter().any(|assembly| assembly.number == number) {
            self.last = self.last.max(number);
            self.answer_at = self.answer_at.min(self.ask_time(now, store));
        }
    }

    /// When what is missing may be asked for: after a short wait for what is only late, and not again before the period is over.
    fn ask_time(&self, now: Instant, store: &Store) -> Instant {
        let again = self.asked_at.map_or(Instant::START, |asked| asked.after(store.config.nack_period));
        now.after(store.config.nack_delay).max(again)
    }

    pub(super) fn on_gap(&mut self, now: Instant, gap: &Gap, store: &mut Store, sink: &mut impl Sink) {
        if !self.reliable {
            return;
        }
        // A writer speaks of what it has written. Nothing is skipped on the word of a single message beyond that.
        let believed = self.last.next().max(self.next).plus(self.slots.len() as u64).plus(JUMP);
        if gap.list.base() > believed {
            store.counters.implausible += 1;
            self.answer = true;
            self.answer_at = now;
            return;
        }
        self.mark_irrelevant(gap.start, gap.list.base());
        for number in gap.list.iter() {
            self.mark_irrelevant(number, number.next());
        }
        self.started = true;
        self.drain(now, store, sink);
    }

    pub(super) fn resume(&mut self, now: Instant, store: &mut Store, sink: &mut impl Sink) {
        if core::mem::take(&mut self.blocked) {
            self.drain(now, store, sink);
            if !self.blocked {
                // The writer waits for this: its window is full of what could not be taken.
                self.answer = true;
                self.answer_at = now;
            }
        }
    }

    /// Throws out one thing: the change that is furthest ahead of the others, or with `all` even the one that is needed next.
    /// With `idle_only` only incomplete samples that have not moved for a second. False if there is nothing.
    pub(super) fn evict(&mut self, all: bool, idle_only: bool, now: Instant, store: &mut Store) -> bool {
        let farthest = self
            .assemblies
            .iter()
            .enumerate()
            .filter(|(_, assembly)| !idle_only || now.since(assembly.touched) >= IDLE)
            .max_by_key(|(_, assembly)| assembly.number)
            .map(|(index, assembly)| (index, assembly.number));
        let newest = self.slots.iter().rposition(|slot| matches!(slot, Slot::Held(_)));
        let newest = newest.filter(|index| !idle_only && (all || *index > 0));
        let held = newest.map(|index| (index, self.next.plus(index as u64)));
        let lowest = self.assemblies.iter().map(|assembly| assembly.number).min();
        match (farthest, held) {
            (assembly, Some((index, number))) if assembly.is_none_or(|(_, other)| other < number) => {
                if let Some(slot) = self.slots.get_mut(index) {
                    let gone = core::mem::replace(slot, Slot::Missing);
                    release_slot(gone, store);
                    self.blocked &= index > 0;
                }
            }
            (Some((index, number)), _) if all || idle_only || lowest != Some(number) || held.is_some() => {
                self.drop_assembly(index, store);
            }
            _ => return false,
        }
        while matches!(self.slots.back(), Some(Slot::Missing)) {
            self.slots.pop_back();
        }
        store.counters.evicted += 1;
        true
    }

    /// Gives back all that it holds.
    pub(super) fn release(mut self, store: &mut Store) {
        self.clear(store);
    }

    fn clear(&mut self, store: &mut Store) {
        self.slots.drain(..).for_each(|slot| release_slot(slot, store));
        while !self.assemblies.is_empty() {
            self.drop_assembly(0, store);
        }
        self.far_gaps.clear();
        self.blocked = false;
    }

    fn has(&self, number: SequenceNumber) -> bool {
        let index = usize::try_from(number.distance_from(self.next)).unwrap_or(usize::MAX);
        matches!(self.slots.get(index), Some(Slot::Held(_) | Slot::Irrelevant))
    }

    fn offer(
        &self,
        number: SequenceNumber,
        held: &mut Held<'_>,
        store: &mut Store,
        sink: &mut impl Sink,
    ) -> Accept {
        let mut sample = Sample {
            writer: self.guid,
            sequence_number: number,
            source_timestamp: held.timestamp,
            inline_qos: held.inline_qos,
            is_key: held.is_key,
            payload: core::mem::take(&mut held.payload),
        };
        let accept = sink.deliver(&mut sample);
        match (accept, sample.payload) {
            (Accept::Full, payload) => {
                store.counters.full += 1;
                held.payload = payload;
            }
            (Accept::Taken, SamplePayload::Owned(buffer)) => store.recycle(buffer),
            (Accept::Taken, _) => {}
        }
        accept
    }

    /// Keeps a change that cannot be delivered yet.
    fn hold(&mut self, number: SequenceNumber, held: Held<'_>, store: &mut Store) {
        let index = number.distance_from(self.next);
        let size = held.payload.bytes().len();
        if index >= REACH || !store.has_room(size) {
            store.counters.no_room += 1;
            if index == 0 {
                self.blocked = false;
            }
            return;
        }
        let index = index as usize;
        while self.slots.len() <= index {
            let number = self.next.plus(self.slots.len() as u64);
            let irrelevant = self.far_gaps.iter().any(|(start, end)| (start..end).contains(&&number));
            self.slots.push_back(if irrelevant { Slot::Irrelevant } else { Slot::Missing });
        }
        let Some(slot) = self.slots.get_mut(index) else { return };
        if !matches!(slot, Slot::Missing) {
            store.counters.duplicates += 1;
            return;
        }
        let payload = match held.payload {
            SamplePayload::None => SamplePayload::None,
            SamplePayload::Datagram(bytes) => {
                let mut buffer = store.buffer();
                buffer.extend_from_slice(bytes);
                SamplePayload::Owned(buffer)
            }
            SamplePayload::Owned(buffer) => SamplePayload::Owned(buffer),
        };
        store.counters.held_back += 1;
        store.held_bytes += owned_len(&payload);
        *slot = Slot::Held(Held {
            payload,
            timestamp: held.timestamp,
            inline_qos: held.inline_qos,
            is_key: held.is_key,
        });
    }

    /// Delivers what has come into order.
    fn drain(&mut self, now: Instant, store: &mut Store, sink: &mut impl Sink) {
        while !self.blocked {
            match self.slots.front_mut() {
                Some(Slot::Missing) => break,
                Some(Slot::Irrelevant) => {}
                Some(Slot::Held(held)) => {
                    let mut held = core::mem::replace(
                        held,
                        Held {
                            timestamp: None,
                            inline_qos: InlineQos::default(),
                            is_key: false,
                            payload: SamplePayload::None,
                        },
                    );
                    let len = owned_len(&held.payload);
                    if self.offer(self.next, &mut held, store, sink) == Accept::Full {
                        self.blocked = true;
                        if let Some(slot) = self.slots.front_mut() {
                            *slot = Slot::Held(held);
                        }
                        break;
                    }
                    store.held_bytes = store.held_bytes.saturating_sub(len);
                }
                None => {
                    // Beyond the slots only far GAPs are known.
                    let gap =
                        self.far_gaps.iter().position(|(start, end)| (start..end).contains(&&self.next));
                    let Some(gap) = gap else { break };
                    self.next = self.far_gaps.swap_remove(gap).1;
                    continue;
                }
            }
            self.slots.pop_front();
            self.next = self.next.next();
        }
        self.far_gaps.retain(|(_, end)| *end > self.next);
        self.forget_assemblies(store);
        if self.last < self.next && !self.answer && self.heard {
            self.answer_at = Instant::NEVER;
        }
        let _ = now;
    }

    /// Numbers below `first` are gone for good: what is held of them is delivered, the others are lost.
    fn skip_to(&mut self, first: SequenceNumber, store: &mut Store, sink: &mut impl Sink) {
        store.counters.jumps += 1;
        while self.next < first && !self.blocked {
            let run_start = self.next;
            let missing = self.slots.iter().take_while(|slot| matches!(slot, Slot::Missing)).count() as u64;
            let all = missing == self.slots.len() as u64;
            let left = first.distance_from(self.next);
            let count = if all { left } else { missing.min(left) };
            if count > 0 {
                (0..count.min(self.slots.len() as u64)).for_each(|_| drop(self.slots.pop_front()));
                self.next = self.next.plus(count);
                if self.started {
                    self.report_lost(run_start, self.next, store, sink);
                }
            } else {
                self.drain(Instant::START, store, sink);
            }
        }
        self.far_gaps.retain(|(_, end)| *end > self.next);
        self.forget_assemblies(store);
    }

    fn mark_irrelevant(&mut self, start: SequenceNumber, end: SequenceNumber) {
        let start = start.max(self.next);
        if start >= end {
            return;
        }
        let reach = self.next.plus(self.slots.len() as u64);
        let from = start.distance_from(self.next).min(self.slots.len() as u64) as usize;
        let to = end.distance_from(self.next).min(self.slots.len() as u64) as usize;
        for slot in self.slots.range_mut(from..to) {
            if matches!(slot, Slot::Missing) {
                *slot = Slot::Irrelevant;
            }
        }
        if end > reach {
            let start = start.max(reach);
            let touching = self.far_gaps.iter_mut().find(|(known, until)| *known <= end && start <= *until);
            if let Some((known, until)) = touching {
                *known = start.min(*known);
                *until = end.max(*until);
            } else if self.far_gaps.len() < FAR_GAPS {
                // What does not fit is asked for again, and the writer repeats the GAP.
                self.far_gaps.push((start, end));
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

    fn forget_assemblies(&mut self, store: &mut Store) {
        while let Some(index) = self.assemblies.iter().position(|assembly| assembly.number < self.next) {
            self.drop_assembly(index, store);
        }
    }

    fn drop_farthest_assembly(&mut self, number: SequenceNumber, store: &mut Store) -> bool {
        let farthest = self.assemblies.iter().enumerate().max_by_key(|(_, assembly)| assembly.number);
        // A best-effort writer never comes back to an old sample; a reliable one repeats what is needed first.
        let victim = match self.reliable {
            true => farthest.filter(|(_, assembly)| assembly.number > number).map(|(index, _)| index),
            false => self
                .assemblies
                .iter()
                .enumerate()
                .min_by_key(|(_, assembly)| assembly.number)
                .map(|(index, _)| index),
        };
        if let Some(index) = victim {
            self.drop_assembly(index, store);
            store.counters.evicted += 1;
        }
        victim.is_some()
    }

    fn drop_assembly(&mut self, index: usize, store: &mut Store) {
        let assembly = self.assemblies.swap_remove(index);
        store.held_bytes = store.held_bytes.saturating_sub(assembly.held());
        store.recycle(assembly.into_buffer());
    }
}

fn owned_len(payload: &SamplePayload<'_>) -> usize {
    match payload {
        SamplePayload::Owned(buffer) => buffer.capacity(),
        _ => 0,
    }
}

fn release_slot(slot: Slot, store: &mut Store) {
    if let Slot::Held(Held { payload: SamplePayload::Owned(buffer), .. }) = slot {
        store.held_bytes = store.held_bytes.saturating_sub(buffer.capacity());
        store.recycle(buffer);
    }
}
