//! What a writer knows about one matched reader (RTPS 2.5, 8.4.7.5).
use alloc::vec::Vec;

use wire::message::AckNack;
use wire::{Duration, FragmentNumber, FragmentNumberSet, Guid, Instant, SequenceNumber, SequenceNumberSet};

use super::filter::SampleFilter;
use super::history::{DATAGRAM_COST, History, Record};
use super::path_size::PathSize;
use crate::Payload;
use crate::conduct::Conduct;
use crate::count::Count;
use crate::pace::Pace;
use crate::path::Path;
use crate::spacing::Spacing;

/// In this time one window of bytes, and the rest of one datagram, is repeated to a reader at most. While nothing comes of it the time
/// doubles and the bytes halve after so many of them, so many times.
pub(crate) const REPAIR_INTERVAL: Duration = Duration::from_millis(10);
const FULL_ROUNDS: u32 = 3;
const HALVINGS: u32 = 6;
/// Samples whose missing fragments are remembered at a time.
const FRAGMENTED_REQUESTS: usize = 8;

/// A reader that a writer is matched with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchedReader {
    /// The reader's name.
    pub guid: Guid,
    /// It acknowledges and asks for what is missing.
    pub reliable: bool,
    /// It wants the changes that are held already (TRANSIENT_LOCAL on both sides).
    pub wants_history: bool,
    /// Fresh changes go along each of these.
    pub paths: Vec<Path>,
    /// Repairs and what else is for it alone go here, if fresh changes go to a group or along a flow; otherwise along `paths`.
    pub direct: Option<Path>,
    /// Bytes that its socket can hold, if it said so.
    pub receive_buffer: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct ReaderProxy {
    pub(crate) guid: Guid,
    pub(crate) reliable: bool,
    pub(crate) paths: Vec<Path>,
    direct: Option<Path>,
    /// Largest datagram that all of its paths carry.
    pub(super) size: PathSize,
    /// Fresh changes go along a flow that was admitted for it: a contract takes the place of the window.
    pub(crate) is_flow: bool,
    /// Most bytes on the way to this reader, unacknowledged.
    pub(crate) window: u64,
    /// The first change that is meant for it; before that it gets GAPs.
    pub(crate) start: SequenceNumber,
    /// Every change below is acknowledged.
    pub(crate) acked: SequenceNumber,
    pub(crate) acked_offset: u64,
    /// It answers HEARTBEAT_FRAG even if nothing is missing, so that the window holds inside a sample too. Others get a
    /// sample that has begun to leave to its end.
    pub(crate) acks_fragments: bool,
    /// Fragments of the change at `acked` that it has.
    pub(crate) acked_fragments: u32,
    /// The next change to send to it for the first time.
    pub(crate) sent: SequenceNumber,
    /// The next fragment of the change at `sent`, counted from 0.
    pub(crate) sent_fragment: u32,
    /// The datagram that is being made goes to it.
    pub(crate) chosen: bool,
    /// It has sent an ACKNACK since it was matched.
    pub(crate) heard: bool,
    /// The writer's last change when it was matched: with it ends the history that a late reader gets.
    pub(crate) history_until: SequenceNumber,
    /// It knows where its history ends, or has none. Until then it gets no changes: what is told of each, how far it was served,
    /// would say nothing of the end.
    pub(crate) told: bool,
    /// It gets fresh changes with the others: it is told, and is no reader whose filter is evaluated here.
    pub(crate) is_shared: bool,
    /// Its content filter.
    pub(super) filter: Option<SampleFilter>,
    /// Its filter is evaluated for it alone. Otherwise it gets everything, and filters by itself.
    pub(super) is_filtered: bool,
    /// From here up to `sent` are changes that it does not get: its filter or their removal keeps them away, and it was not told yet.
    pub(super) gap_from: Option<SequenceNumber>,
    /// It has itself acknowledged every change below. What is not sent to it counts in `acked` alone.
    pub(super) confirmed: SequenceNumber,
    pub(crate) heartbeat_due: bool,
    pub(crate) gap_due: bool,
    /// When a HEARTBEAT that it has asked for is due, with the GAP in front of its first change or without.
    pub(crate) answer_at: Instant,
    answer_with_gap: bool,
    answers: Spacing,
    /// How far it was served, and what it had acknowledged, when it was answered last.
    answered: (SequenceNumber, SequenceNumber),
    /// Changes that it asked for again, and the next fragment of the first of them.
    pub(crate) requested: SequenceNumberSet,
    pub(crate) requested_fragment: u32,
    /// Sorted by number.
    pub(crate) fragments: Vec<(SequenceNumber, FragmentNumberSet)>,
    /// Bytes that may still be repeated before `refill_at`.
    pub(crate) repair_credit: u64,
    pub(crate) refill_at: Instant,
    /// What it asked for last: changes, and the fragments of the first incomplete one. The same counts again after an interval of repairs.
    last_set: SequenceNumberSet,
    last_fragments: Option<(SequenceNumber, FragmentNumberSet)>,
    set_again_at: Instant,
    fragments_again_at: Instant,
    pub(crate) acknacks: Count,
    pub(crate) nack_frags: Count,
    /// How repairs are conducted, if they have a bound, and what holds datagrams apart then.
    pub(crate) conduct: Option<Conduct>,
    apart: Pace,
}

impl ReaderProxy {
    /// `start` is the first change that is meant for it, `offset` what lies before that, and `last` the writer's last.
    pub(crate) fn new(
        reader: MatchedReader,
        start: SequenceNumber,
        offset: u64,
        last: SequenceNumber,
        window: u64,
    ) -> Self {
        Self {
            guid: reader.guid,
            reliable: reader.reliable,
            is_flow: is_flow(&reader.paths),
            size: PathSize::new(smallest(reader.paths.iter().chain(&reader.direct))),
            paths: reader.paths,
            direct: reader.direct,
            window,
            start,
            acked: start,
            acked_offset: offset,
            // Only Punctual's readers announce their receive buffer.
            acks_fragments: reader.receive_buffer.is_some(),
            acked_fragments: 0,
            sent: start,
            sent_fragment: 0,
            chosen: false,
            heard: false,
            history_until: last,
            told: !reader.reliable || start > last,
            is_shared: !reader.reliable || start > last,
            filter: None,
            is_filtered: false,
            gap_from: None,
            confirmed: start,
            heartbeat_due: reader.reliable,
            gap_due: reader.reliable && start > SequenceNumber::FIRST,
            answer_at: Instant::NEVER,
            answer_with_gap: false,
            answers: Spacing::default(),
            answered: (SequenceNumber::ZERO, SequenceNumber::ZERO),
            requested: SequenceNumberSet::default(),
            requested_fragment: 0,
            fragments: Vec::new(),
            repair_credit: window,
            refill_at: Instant::START,
            last_set: SequenceNumberSet::default(),
            last_fragments: None,
            set_again_at: Instant::START,
            fragments_again_at: Instant::START,
            acknacks: Count::default(),
            nack_frags: Count::default(),
            conduct: None,
            apart: Pace::default(),
        }
    }

    /// New paths, for instance because its addresses changed.
    pub(crate) fn set_paths(&mut self, paths: Vec<Path>, direct: Option<Path>) {
        self.is_flow = is_flow(&paths);
        if self.paths != paths || self.direct != direct {
            self.size = PathSize::new(smallest(paths.iter().chain(&direct)));
        }
        self.paths = paths;
        self.direct = direct;
        self.heartbeat_due = self.reliable;
    }

    /// Evaluates its filter for it alone from now on, or not any more.
    pub(super) fn set_filtered(&mut self, is_filtered: bool) {
        self.is_filtered = is_filtered;
        self.is_shared = self.told && !is_filtered;
        // Before it gets changes with the others it is told what it did not get.
        self.heartbeat_due |= self.gap_from.is_some();
    }

    /// True if its filter keeps a change away from it.
    pub(super) fn excludes<P: Payload>(&mut self, history: &History<P>, record: &Record) -> bool {
        match &mut self.filter {
            Some(filter) if self.is_filtered => filter.excludes(history, record),
            _ => false,
        }
    }

    /// It does not get the changes up to `number`, and need not acknowledge them: they take no part of its window, in which they have
    /// `bytes`.
    pub(super) fn pass(&mut self, number: SequenceNumber, bytes: u64) {
        if self.reliable {
            self.gap_from.get_or_insert(self.sent);
        }
        (self.sent, self.sent_fragment) = (number, 0);
        self.acked_offset = self.acked_offset.saturating_add(bytes);
    }

    /// The change after the last one that a HEARTBEAT to it may announce: of what follows it is told later that it does not get it.
    pub(super) fn announced(&self) -> SequenceNumber {
        self.gap_from.unwrap_or(self.sent)
    }

    /// What it does not get counts as acknowledged once all before that is; `offset` is what lies before `sent`. True if that is news.
    pub(super) fn settle_passed(&mut self, offset: u64) -> bool {
        self.gap_from.is_some_and(|from| from <= self.acked) && self.acknowledge(self.sent, offset)
    }

    /// It is of the same participant: samples need not become bytes for it.
    pub(crate) fn is_local(&self) -> bool {
        self.paths == [Path::IN_PROCESS]
    }

    /// Where goes what is for it alone.
    pub(crate) fn direct_paths(&self) -> &[Path] {
        self.direct.as_ref().map_or(&self.paths, core::slice::from_ref)
    }

    /// Largest datagram that all of its paths carry.
    #[inline]
    pub(crate) const fn max_datagram(&self) -> u32 {
        self.size.limit()
    }

    /// No datagram to it is larger than this.
    pub(crate) fn narrow(&mut self, datagram: u32) {
        self.size.narrow(datagram);
    }

    /// No datagram to it is larger than this from now on, and than its paths carry. What was found out of these is forgotten if datagrams may
    /// become larger.
    pub(crate) fn limit(&mut self, datagram: u32) {
        self.size.limited_to(datagram, smallest(self.paths.iter().chain(&self.direct)));
    }

    /// It gets a HEARTBEAT: at once if that says more than the last one, else at a moderate rate.
    pub(crate) fn owe_answer(&mut self, now: Instant, with_gap: bool) {
        self.answer_with_gap |= with_gap;
        self.answer_at = self.answer_at.min(self.answers.earliest(now, self.has_news()));
        self.give_answer(now);
    }

    /// Lets an answer leave whose time has come.
    pub(crate) fn give_answer(&mut self, now: Instant) {
        if self.answer_at <= now {
            self.answer_at = Instant::NEVER;
            self.answers.answered(now, self.has_news());
            self.answered = (self.sent, self.acked);
            self.heartbeat_due = true;
            self.gap_due |= core::mem::take(&mut self.answer_with_gap);
        }
    }

    fn has_news(&self) -> bool {
        self.answered != (self.sent, self.acked)
    }

    /// True if the sizes of datagrams to it can be found out: it answers, and the way is a network.
    pub(super) fn is_sized(&self) -> bool {
        self.reliable && self.is_on_network()
    }

    /// True if the way to it is a network, and datagrams are no messages of a contract.
    pub(super) fn is_on_network(&self) -> bool {
        !self.is_flow && !self.is_local() && self.paths.iter().all(|path| path.link.is_none())
    }

    pub(crate) fn set_conduct(&mut self, conduct: Option<Conduct>) {
        self.conduct = conduct;
        self.apart.separation = conduct.map_or(Duration::ZERO, |conduct| conduct.spacing);
    }

    /// It is `now`, after everything that was handed out has left.
    pub(crate) fn returned(&mut self, now: Instant) {
        self.apart.returned(now);
    }

    /// A datagram beside the messages is handed out.
    pub(crate) fn hand_out(&mut self, now: Instant) {
        self.apart.hand_out(now);
    }

    /// When the next datagram beside the messages may leave.
    pub(crate) fn opens_at(&self) -> Instant {
        self.apart.opens_at()
    }

    pub(crate) fn is_open(&self, now: Instant) -> bool {
        self.conduct.is_none() || now >= self.opens_at()
    }

    /// Largest datagram that is for it alone.
    pub(crate) fn direct_datagram(&self) -> u32 {
        self.conduct.map_or(u32::MAX, |conduct| conduct.datagram).min(self.max_datagram())
    }

    /// Largest datagram of fresh changes.
    #[inline]
    pub(crate) fn fresh_datagram(&self) -> u32 {
        if !self.is_flow {
            return self.max_datagram();
        }
        smallest(self.paths.iter())
    }

    /// True if `cost` more bytes may be under way, behind `offset` and `fragment` fragments. A single datagram always may.
    #[inline]
    pub(crate) fn has_window(&self, offset: u64, fragment: u32, cost: u64) -> bool {
        if !self.reliable || self.is_flow || (fragment > 0 && !self.acks_fragments) {
            return true;
        }
        let sent = offset.saturating_add(self.fragments_cost(fragment));
        let acked = self.acked_offset.saturating_add(self.fragments_cost(self.acked_fragments));
        let under_way = sent.saturating_sub(acked);
        under_way == 0 || under_way.saturating_add(cost) <= self.window
    }

    /// `offset` is that of the next change to send to it. If everything before is acknowledged, nothing is under way: what lies
    /// between was removed before it left.
    pub(crate) fn skip_removed(&mut self, offset: u64) {
        if self.acked == self.sent && self.sent_fragment == 0 {
            self.acked_offset = self.acked_offset.max(offset);
        }
    }

    /// Something was sent to it that it has not acknowledged, or it has never been heard, or waits for its history.
    pub(crate) fn is_waited_for(&self) -> bool {
        let inside = self.acks_fragments && self.sent_fragment > 0;
        self.reliable && (!self.heard || !self.told || self.acked < self.sent || inside)
    }

    /// It has every change below `number`; true if that is news.
    pub(crate) fn acknowledge(&mut self, number: SequenceNumber, offset: u64) -> bool {
        if number <= self.acked {
            return false;
        }
        self.acked = number;
        self.acked_offset = self.acked_offset.max(offset);
        self.acked_fragments = 0;
        if number > self.sent {
            (self.sent, self.sent_fragment) = (number, 0);
        }
        true
    }

    /// An ACKNACK has come that asks for a first HEARTBEAT, or answers one. A reader of Punctual says by the final flag that it knows
    /// where its history ends. Of others a second ACKNACK is taken for an answer in any case: not all of them say it.
    pub(crate) fn hear(&mut self, acknack: &AckNack) {
        let empty = acknack.set.bitmap().is_empty() && acknack.set.base() <= SequenceNumber::FIRST;
        let asks_first = empty && !(self.heard && acknack.is_final);
        let knows = match self.acks_fragments {
            true => acknack.is_final,
            false => !asks_first || (self.heard && !self.told),
        };
        self.told = knows || self.acked > self.history_until;
        self.is_shared = self.told && !self.is_filtered;
        self.heard = true;
    }

    /// It has the first `count` fragments of a change; true if that is news.
    pub(crate) fn acknowledge_fragments(&mut self, number: SequenceNumber, count: u32) -> bool {
        let sent = if number < self.sent { u32::MAX } else { self.sent_fragment };
        let news = number == self.acked && count > self.acked_fragments && count <= sent;
        if news {
            self.acked_fragments = count;
        }
        news
    }

    /// Where goes what is sent to those in step.
    pub(crate) fn fresh_paths(&self, is_message: bool) -> &[Path] {
        // Nothing but messages may go along a flow.
        if self.is_flow && !is_message { self.direct_paths() } else { &self.paths }
    }

    fn fragments_cost(&self, count: u32) -> u64 {
        u64::from(count) * (u64::from(self.max_datagram()) + DATAGRAM_COST)
    }

    pub(crate) fn has_repairs(&self) -> bool {
        !self.requested.bitmap().is_empty() || !self.fragments.is_empty()
    }

    fn halvings(&self) -> u32 {
        self.size.rounds().saturating_sub(FULL_ROUNDS).min(HALVINGS)
    }

    fn repair_interval(&self) -> Duration {
        match self.conduct {
            Some(_) => Duration::ZERO,
            None => REPAIR_INTERVAL.scaled(1 << self.halvings(), 1),
        }
    }

    /// Bytes may be repeated to it; replenishes them when it is time.
    pub(crate) fn may_repair(&mut self, now: Instant) -> bool {
        if now >= self.refill_at {
            self.repair_credit = (self.window >> self.halvings()).max(1);
            self.refill_at = now.after(self.repair_interval());
        }
        self.repair_credit > 0
    }

    /// Replaces what it asks for: each ACKNACK states all that is missing. That may be what it has acknowledged before: its participant
    /// may have lost ours for a while and begun anew, unnoticed here.
    /// True if something of what it asked for last has come.
    pub(crate) fn request(&mut self, now: Instant, set: &SequenceNumberSet) -> bool {
        if set.bitmap().is_empty() {
            // It may have asked a moment ago, and waits.
            self.answered_before(set.base());
            self.fragments.retain(|(number, _)| *number >= set.base());
            return false;
        }
        let last = core::mem::replace(&mut self.last_set, *set);
        if last == *set && now < self.set_again_at {
            return false;
        }
        let news = last.iter().any(|number| number >= set.base() && !set.contains(number));
        self.set_again_at = now.after(self.repair_interval());
        let first = self.requested.iter().next();
        let mut requested = SequenceNumberSet::empty(set.base());
        for number in set.iter().filter(|number| *number < self.sent) {
            requested.insert(number);
        }
        if requested.iter().next() != first {
            self.requested_fragment = 0;
        }
        self.requested = requested;
        self.fragments.retain(|(number, _)| *number >= set.base() && !requested.contains(*number));
        news
    }

    /// A question has come that a later ACKNACK has overtaken. That one may ask for nothing because this one did already. True if something is to
    /// be repeated for it.
    pub(crate) fn request_late(&mut self, now: Instant, set: &SequenceNumberSet) -> bool {
        if self.has_repairs() {
            return false;
        }
        let mut missing = SequenceNumberSet::empty(set.base().max(self.acked));
        for number in set.iter().filter(|number| *number >= self.acked) {
            missing.insert(number);
        }
        if !missing.bitmap().is_empty() {
            self.request(now, &missing);
        }
        self.has_repairs()
    }

    /// True if fragments of a change are to be repeated.
    pub(crate) fn repeats_fragments_of(&self, number: SequenceNumber) -> bool {
        number < self.acked || self.fragments.iter().any(|(held, _)| *held == number)
    }

    /// Adds to what it asks for; true if something of what it asked for last has come.
    pub(crate) fn request_fragments(
        &mut self,
        now: Instant,
        number: SequenceNumber,
        missing: FragmentNumberSet,
    ) -> bool {
        // A reader that began anew, unnoticed here, asks for what it has acknowledged before.
        let is_open = |first: SequenceNumber| first >= self.acked || first == number;
        let first = self.last_fragments.filter(|(first, _)| is_open(*first) && *first <= number);
        let last = first.filter(|(first, _)| *first == number).map(|(_, last)| last);
        if last == Some(missing) && now < self.fragments_again_at {
            return false;
        }
        if first.is_none_or(|(first, _)| first == number) {
            self.last_fragments = Some((number, missing));
            self.fragments_again_at = now.after(self.repair_interval());
        }
        let base = missing.base().0;
        let has_come = |fragment: FragmentNumber| {
            fragment.0.checked_sub(base).is_none_or(|at| !missing.bitmap().contains(at))
        };
        let news = last.is_some_and(|last| last.iter().any(has_come));
        let unsent = (number, missing.base().0) > (self.sent, self.sent_fragment);
        if unsent || missing.bitmap().is_empty() || self.requested.contains(number) {
            return news;
        }
        if let Some((_, set)) = self.fragments.iter_mut().find(|(held, _)| *held == number) {
            *set = missing;
        } else if self.fragments.len() < FRAGMENTED_REQUESTS {
            let index = self.fragments.partition_point(|(held, _)| *held < number);
            self.fragments.insert(index, (number, missing));
        }
        news
    }

    /// Forgets requests below `number`.
    pub(crate) fn answered_before(&mut self, number: SequenceNumber) {
        let mut left = SequenceNumberSet::empty(self.requested.base());
        for wanted in self.requested.iter().filter(|wanted| *wanted >= number) {
            left.insert(wanted);
        }
        if left.iter().next() != self.requested.iter().next() {
            self.requested_fragment = 0;
        }
        self.requested = left;
    }

    /// True if a change of which fragments were asked for comes before every change that was asked for whole.
    pub(crate) fn fragments_first(&self) -> bool {
        let whole = self.requested.iter().next();
        self.fragments.first().is_some_and(|(number, _)| whole.is_none_or(|whole| *number < whole))
    }

    /// Takes the next requested single fragment.
    pub(crate) fn next_fragment(&mut self) -> Option<(SequenceNumber, FragmentNumber)> {
        loop {
            let (number, set) = self.fragments.first_mut()?;
            let first = set.iter().next();
            if let Some(fragment) = first {
                let mut left = FragmentNumberSet::empty(set.base());
                for later in set.iter().skip(1) {
                    left.insert(later);
                }
                *set = left;
                return Some((*number, fragment));
            }
            self.fragments.remove(0);
        }
    }

    pub(crate) fn forget_fragments(&mut self, number: SequenceNumber) {
        self.fragments.retain(|(held, _)| *held != number);
    }
}

/// Largest datagram that all of these carry.
fn smallest<'a>(paths: impl Iterator<Item = &'a Path>) -> u32 {
    paths.map(|path| path.max_datagram).min().unwrap_or(Path::MAX_DATAGRAM)
}

fn is_flow(paths: &[Path]) -> bool {
    paths.iter().any(|path| path.flow.is_some())
}
