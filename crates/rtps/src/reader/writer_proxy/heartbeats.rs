//! What a writer says about what it has, and when to ask it for what is missing.
use wire::message::{Heartbeat, HeartbeatFrag};
use wire::{Duration, EntityId, FragmentNumber, FragmentNumberSet, Instant, SequenceNumber};

use super::super::{Sink, Store};
use super::{JUMP, Leap, WriterProxy};
use crate::count::Age;
use crate::path::Path;

/// HEARTBEATs for a group may end before what this reader expects for as long as the writer takes to serve slower readers.
const ASTRAY: Duration = Duration::from_secs(5);
/// A writer that waits for an answer asks again within this time.
const DOUBT: Duration = Duration::from_millis(800);
/// So often it asks for the same at full pace, and then so many times after twice the wait before.
const FULL_PACE: u32 = 4;
const DOUBLINGS: u32 = 3;
/// A HEARTBEAT that is this far behind shows at once that an earlier message was forged.
const BACKWARDS: u64 = 1 << 20;

impl WriterProxy {
    pub(in crate::reader) fn on_heartbeat(
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
        let age = self.heartbeats.age(heartbeat.count, now);
        if age == Age::Late && !heartbeat.is_final && self.heard {
            // The writer waits for the answer all the same.
            self.answer = true;
            self.answer_at = now;
            return;
        }
        if age != Age::New {
            store.counters.implausible += 1;
            return;
        }
        if self.is_behind_itself(now, heartbeat, is_ours, store) {
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
        // Punctual's writer names the end of its history, and then what it has sent of it: so to a reader that it has just matched.
        self.is_awaited = is_ours && directed && heartbeat.last < self.last && !heartbeat.is_final;
        self.last = heartbeat.last;
        self.announce(now, heartbeat.last);
        self.confirm_unusable(heartbeat.last, store, sink);
        let (next, end) = (self.order.next(), heartbeat.last.next());
        // A HEARTBEAT says that the writer has not got to where another one has led this reader: the next one decides.
        let mut doubtful = directed && self.gave_up_before(end);
        if self.was_led_astray(now, end, directed) {
            store.counters.implausible += 1;
            // What a HEARTBEAT made it give up, and nothing delivered has confirmed, is still to come.
            let resume = match self.leap {
                Leap::Skipped(from) | Leap::Gap(from) => from.max(heartbeat.first).min(end),
                _ => {
                    self.report_lost(end, next, store, sink);
                    end
                }
            };
            self.restart(resume, store);
            doubtful = false;
        }
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
            let waits =
                store.config.holds && self.announced.is_none() && !doubtful && !missing && self.may_hold(now);
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
    pub(super) fn was_led_astray(&mut self, now: Instant, end: SequenceNumber, directed: bool) -> bool {
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
        // It has asked meanwhile, and hears the same. Going back to what was given up delivers nothing twice.
        let is_confirmed = self.gave_up_before(end) && now > since && !self.answer;
        next > end && (next.distance_from(end) > BACKWARDS || now.since(since) >= ASTRAY || is_confirmed)
    }

    /// True if a HEARTBEAT has made it give up changes, nothing was delivered since, and `end`, where the writer has got to, is before what
    /// it expects now.
    fn gave_up_before(&self, end: SequenceNumber) -> bool {
        self.order.next() > end && matches!(self.leap, Leap::Skipped(_) | Leap::Gap(_))
    }

    /// True if an acknowledgement that is due now may wait: it asks for nothing, and the application has just got a sample, which it may
    /// answer. A question by itself is of a writer that waits for the answer.
    pub(super) fn may_hold(&self, now: Instant) -> bool {
        self.delivered_at == Some(now)
            && self.answer_at == Instant::NEVER
            && !self.blocked
            && self.asked_for_fragments.is_none()
            && self.knows_history()
            && self.announced.is_none()
            && self.path.is_some_and(|path| path != Path::IN_PROCESS)
    }

    /// The writer has asked for something and was not answered yet.
    pub(in crate::reader) const fn is_asked(&self) -> bool {
        self.answer || self.asked_for_fragments.is_some()
    }

    /// The writer has sent some fragments of a change. `always` says that it wants an answer even if all have come.
    pub(in crate::reader) fn on_heartbeat_frag(
        &mut self,
        now: Instant,
        heartbeat: &HeartbeatFrag,
        always: bool,
        store: &mut Store,
        sink: &mut impl Sink,
    ) {
        if !self.reliable || !self.heartbeat_frags.is_new(heartbeat.count, now) {
            return;
        }
        let number = heartbeat.sequence_number;
        if self.unusable.is_some_and(|(unusable, _)| unusable == number) {
            self.confirm_unusable(number, store, sink);
        }
        if self.announced.is_some() {
            // A HEARTBEAT announces the sample, and only then is it asked for.
            self.answer = true;
            self.answer_at = now;
            return;
        }
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
    pub(in crate::reader) fn missing_of(
        &self,
        number: SequenceNumber,
        last: u32,
    ) -> Option<FragmentNumberSet> {
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
    pub(super) fn ask_time(&self, now: Instant, store: &Store) -> Instant {
        let patience = if self.announced.is_some() { Duration::ZERO } else { store.config.nack_delay };
        now.after(patience).max(self.may_ask_at(store))
    }

    /// When something may be asked for again: at once if all that was asked for has come, else when the period is over.
    pub(in crate::reader) fn may_ask_at(&self, store: &Store) -> Instant {
        match self.asked_at {
            Some(asked) if self.order.next() <= self.asked_until => asked.after(self.ask_wait(store)),
            _ => Instant::START,
        }
    }

    /// Wait before asking again for the same: the period, and longer once that was often in vain.
    pub(in crate::reader) fn ask_wait(&self, store: &Store) -> Duration {
        if let Some(announced) = &self.announced {
            return announced.conduct().again;
        }
        let doublings = self.fruitless.saturating_sub(FULL_PACE).min(DOUBLINGS);
        store.config.nack_period.scaled(1 << doublings, 1)
    }

    /// Asks at `now` for changes up to `until`.
    pub(in crate::reader) fn asks(&mut self, now: Instant, until: SequenceNumber) {
        if core::mem::replace(&mut self.asked_from, self.order.next()) < self.order.next() {
            self.fruitless = 0;
        }
        self.fruitless = self.fruitless.saturating_add(1);
        self.asked_at = Some(now);
        self.asked_until = until;
    }
}
