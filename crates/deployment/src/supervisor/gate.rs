//! Changes of several hosts: the part of this one goes as far as it is let, and waits before components start for what is decided for all.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::change::{Change, Stage};
use super::{Outcome, Supervisor};
use crate::hand_over::Position;
use crate::protocol::Phase;

/// How far a change of several hosts may go.
#[derive(Debug)]
pub(super) struct Gate {
    /// To the end of this phase.
    until: Phase,
    /// How many rounds the phase quiesce has, and of how many it may come to the end. A round handles what was published on other hosts before.
    pub(super) rounds: u32,
    allowed: u32,
    /// What was published on other hosts, as far as this one was told.
    pub(super) elsewhere: Vec<Position>,
    /// All has been done that can fail before components start: what becomes of the change is decided elsewhere.
    is_voted: bool,
    /// It holds.
    is_decided: bool,
    /// Processes that were started for it, and ended since its vote: how.
    pub(super) fallen: Vec<(String, String)>,
}

impl Gate {
    pub(super) const fn new() -> Self {
        Self {
            until: Phase::PreparePlan,
            rounds: 0,
            allowed: 0,
            elsewhere: Vec::new(),
            is_voted: false,
            is_decided: false,
            fallen: Vec::new(),
        }
    }

    /// Of a change that has been voted for, by a supervisor before this one.
    pub(super) fn voted(fallen: Vec<(String, String)>) -> Self {
        Self { until: Phase::FinishLaunch, is_voted: true, fallen, ..Self::new() }
    }

    /// The same for a change whose phase quiesce has so many rounds.
    pub(super) fn with_rounds(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }

    /// Whether this host may still take the change back by itself.
    pub(super) const fn is_open(&self) -> bool {
        !self.is_voted
    }

    /// Whether it waits before something of this phase and round is done; `None` is the end.
    pub(super) fn stops(&self, next: Option<(Phase, u32)>) -> bool {
        let is_later = |(phase, round): (Phase, u32)| {
            phase > self.until || (phase == self.until && phase == Phase::Quiesce && round >= self.allowed)
        };
        !self.is_decided && next.is_none_or(is_later)
    }

    /// The phase that the change has come to the end of, and of the phase quiesce the round.
    pub(super) fn reached(&mut self) -> (Phase, Option<u32>) {
        self.is_voted |= self.until == Phase::FinishLaunch;
        let round = (self.until == Phase::Quiesce).then(|| self.allowed.saturating_sub(1));
        (self.until, round)
    }
}

impl Change {
    /// A process that was started for the change has ended: it is started again if all is decided elsewhere, and the change holds.
    pub(super) fn fallen(&mut self, name: &str, how: &str) {
        if let Some(gate) = self.gate.as_mut().filter(|gate| gate.is_voted) {
            gate.fallen.push((name.to_string(), how.to_string()));
        }
    }
}

impl Supervisor {
    /// The change of a request may go on.
    pub(super) fn proceed(&mut self, now: u64, request: u64, phase: Phase) {
        let Some(change) = self.change.as_mut().filter(|it| it.request() == Some(request)) else { return };
        let Some(gate) = &mut change.gate else { return };
        let phase = phase.min(Phase::FinishLaunch);
        if phase <= gate.until {
            return;
        }
        if phase >= Phase::Quiesce && gate.allowed < gate.rounds {
            gate.is_voted = false;
            let what = format!(
                "the manager leaves out rounds of the phase quiesce: of {} only {} are done, and what was published is not handled",
                gate.rounds, gate.allowed
            );
            return self.abort(now, what);
        }
        gate.until = phase;
        self.open(now);
    }

    /// The change of a request may go on to the end of this round of the phase quiesce; these events were published on other hosts before.
    pub(super) fn proceed_quiescing(&mut self, now: u64, request: u64, round: u32, elsewhere: Vec<Position>) {
        let Some(change) = self.change.as_mut().filter(|it| it.request() == Some(request)) else { return };
        let Some(gate) = &mut change.gate else { return };
        let allowed = round.saturating_add(1);
        if gate.until > Phase::Quiesce || allowed <= gate.allowed {
            return;
        }
        (gate.until, gate.allowed, gate.elsewhere) = (Phase::Quiesce, allowed, elsewhere);
        self.open(now);
    }

    /// It is decided what becomes of the change of a request.
    pub(super) fn decide_for_all(&mut self, now: u64, request: u64, holds: bool) {
        if !holds && let Some(place) = self.requests.iter().position(|(number, _)| *number == request) {
            // It waits for the end of something else, and need not begin.
            self.requests.remove(place);
            let what = "it does not come about on all hosts".to_string();
            return self.finish(request, Outcome::Refused(what));
        }
        let Some(change) = self.change.as_mut().filter(|it| it.request() == Some(request)) else { return };
        let Some(gate) = change.gate.as_mut().filter(|gate| !gate.is_decided) else { return };
        if holds {
            if gate.is_voted {
                gate.is_decided = true;
                self.open(now);
            }
            return;
        }
        gate.is_voted = false;
        self.abort(now, "it does not come about on all hosts".to_string());
    }

    /// Everything is to end while the decision is awaited: nothing starts any more, neither of the old plan nor of the new one.
    pub(super) fn leave_gate(&mut self, now: u64) {
        let Some(change) = &mut self.change else { return };
        let Some(gate) = change.gate.as_mut().filter(|gate| gate.is_voted && !gate.is_decided) else {
            return;
        };
        gate.is_decided = true;
        change.batches.clear();
        change.failure = Some("the plan is stopped".to_string());
        self.open(now);
    }

    /// Goes on from where the change waits.
    fn open(&mut self, now: u64) {
        if let Some(change) = self.change.as_mut().filter(|change| change.stage == Stage::Waiting) {
            change.stage = Stage::Performing;
            self.progress(now);
        }
    }
}
