//! What is said of requests, and how far they are with that.
use alloc::string::String;
use core::time::Duration;

use latency::ledger::Offer;
use latency::units::NANOSECOND;
use wire::GuidPrefix;
use wire::admission::{Repairs, Request, State, Verdict};

use super::{Asked, Displaces, Progress, Requests, cut, nanoseconds};
use crate::action::Pair;
use crate::reservations::{Granted, dscp};

/// What refusing a request comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    /// Whether that is something new to be said.
    pub(crate) is_new: bool,
    /// The grant that it has had.
    pub(crate) held: Option<u64>,
}

/// What becomes of a request for which something is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waits {
    /// It has waited for long, or was refused before: it is refused.
    Refused,
    /// It waits, and has not done so before.
    Since,
    /// It waits on.
    On,
}

impl Requests {
    /// A verdict that says that nothing has been decided.
    pub(crate) fn pending(&self, request: &Request) -> Verdict {
        Verdict {
            writer: request.writer,
            reader: request.reader,
            serial: request.serial,
            epoch: self.epoch,
            state: State::Pending,
            lease: nanoseconds(self.lease),
            source: request.source,
            destination: request.destination,
            ..Verdict::default()
        }
    }

    /// A request has no place, or may not be made. What is said of its pair, as soon as nothing else is.
    pub(crate) fn turn_away(&mut self, request: &Request, reason: &str) {
        let verdict = Verdict { state: State::Refused, reason: cut(reason), ..self.pending(request) };
        self.turned_away.insert(request.pair(), verdict);
    }

    /// The refusal of a pair that was turned away and has no request.
    pub(crate) fn turned_away(&self, pair: Pair) -> Option<&Verdict> {
        self.turned_away.get(&pair)
    }

    /// Pairs of a participant that were turned away and of which a flow still exists.
    pub(crate) fn turned_away_of(&self, participant: GuidPrefix) -> impl Iterator<Item = Pair> {
        let is_of = move |pair: &&Pair| pair.0.prefix == participant || pair.1.prefix == participant;
        self.turned_away.keys().filter(is_of).copied()
    }

    /// Those that were turned away need not be known for longer than something of them is there.
    pub(crate) fn keep_turned_away(&mut self, is_there: impl Fn(Pair) -> bool) {
        self.turned_away.retain(|pair, _| is_there(*pair));
    }

    /// The verdict of a pair is this. True if that says something new.
    fn say(&mut self, pair: Pair, verdict: Verdict) -> bool {
        match self.asked.get_mut(&pair) {
            Some(asked) if asked.verdict != verdict => {
                asked.verdict = verdict;
                true
            }
            _ => false,
        }
    }

    /// What is to be noted of the verdict of a pair, once for each state of a request.
    pub(crate) fn take_news(&mut self, pair: Pair) -> Option<&Asked> {
        let asked = self.asked.get_mut(&pair)?;
        let said = (asked.verdict.serial, asked.verdict.state);
        if asked.noted == Some(said) || said.1 == State::Pending {
            return None;
        }
        asked.noted = Some(said);
        Some(asked)
    }

    /// Nothing is decided yet; why, in words. A pair that has a grant keeps it until then. True if that is to be said.
    pub(crate) fn put_off(&mut self, pair: Pair, reason: &str) -> bool {
        let Some(asked) = self.asked.get(&pair).filter(|asked| asked.grant.is_none()) else { return false };
        let verdict = Verdict { reason: cut(reason), ..self.pending(&asked.request) };
        self.say(pair, verdict)
    }

    /// The request is refused. With `retry` it is looked at again when something has changed. `None` if no reader asks any more.
    pub(crate) fn refuse(&mut self, pair: Pair, reason: &str, offer: Offer, retry: bool) -> Option<Refused> {
        let asked = self.asked.get_mut(&pair)?;
        let was_revoked = asked.verdict.state == State::Revoked && asked.verdict.serial == asked.serial;
        let held = asked.grant.take();
        let (serial, request) = (asked.serial, asked.request.clone());
        let time = |time: Option<u64>| time.map_or(0, |time| time.div_ceil(NANOSECOND));
        let verdict = Verdict {
            // What was revoked stays so until it is admitted again.
            state: if was_revoked { State::Revoked } else { State::Refused },
            serial,
            reason: cut(reason),
            offered_latency: time(offer.latency),
            offered_separation: time(offer.separation),
            ..self.pending(&request)
        };
        let is_new = self.say(pair, verdict);
        self.settle(pair, retry);
        Some(Refused { is_new, held })
    }

    /// The pair is served by a grant that is in force, with this verdict, which is said again at this time.
    pub(crate) fn admit(&mut self, pair: Pair, number: u64, verdict: Verdict, repeat_at: Duration) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.grant = Some(number);
            asked.displaces = Displaces::default();
            asked.verdict = verdict;
            asked.repeat_at = Some(repeat_at);
        }
        self.settle(pair, false);
    }

    /// A request stays answered as it was.
    pub(crate) fn stays(&mut self, pair: Pair) {
        self.settle(pair, false);
    }

    /// A request is answered; if it has changed meanwhile, it is looked at again.
    fn settle(&mut self, pair: Pair, retry: bool) {
        let Some(asked) = self.asked.get_mut(&pair) else { return };
        asked.deadline = None;
        if asked.serial == asked.request.serial {
            asked.progress = Progress::Answered { retry };
        } else {
            self.enqueue(pair);
        }
    }

    /// The grant of a pair cannot stay. `None` if no reader asks for it; else what is to be said, if it was admitted.
    pub(crate) fn revoke(&mut self, pair: Pair, reason: &str) -> Option<Option<Verdict>> {
        let asked = self.asked.get_mut(&pair)?;
        asked.grant = None;
        let was_admitted = asked.is_admitted();
        if was_admitted {
            asked.verdict = Verdict {
                state: State::Revoked,
                bound: 0,
                dscp: 0,
                octets: 0,
                separation: 0,
                losses: Repairs::default(),
                reason: cut(reason),
                ..asked.verdict.clone()
            };
        }
        if matches!(asked.progress, Progress::Answered { .. }) {
            asked.progress = Progress::Answered { retry: true };
        }
        Some(was_admitted.then(|| asked.verdict.clone()))
    }

    /// An operator has ended the flow of a pair: it is decided anew, or stays revoked as long as it asks for the same.
    pub(crate) fn end_by_hand(&mut self, pair: Pair, barred: bool) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.progress = Progress::Answered { retry: !barred };
            asked.barred = barred;
        }
    }

    /// It is time to say a verdict again, if this is the time that was set last. True if it is in force: then it is said once more at `again`.
    pub(crate) fn repeat(&mut self, time: Duration, pair: Pair, again: Duration) -> bool {
        let Some(asked) = self.asked.get_mut(&pair).filter(|asked| asked.repeat_at == Some(time)) else {
            return false;
        };
        let is_admitted = asked.is_admitted();
        asked.repeat_at = is_admitted.then_some(again);
        is_admitted
    }

    /// Something is missing that may come: the request waits for it until this time. `None` if no reader asks.
    pub(crate) fn wait(&mut self, now: Duration, pair: Pair, until: Duration) -> Option<Waits> {
        let asked = self.asked.get_mut(&pair)?;
        if asked.is_refused() || asked.deadline.is_some_and(|deadline| deadline <= now) {
            return Some(Waits::Refused);
        }
        asked.progress = Progress::Waiting;
        if asked.deadline.is_some() {
            return Some(Waits::On);
        }
        asked.deadline = Some(until);
        Some(Waits::Since)
    }

    /// Why a request has waited, if it has done so for long.
    pub(crate) fn has_waited(&self, now: Duration, pair: Pair) -> Option<String> {
        let asked = self.asked.get(&pair)?;
        let is_over = asked.deadline.is_some_and(|deadline| deadline <= now);
        (asked.progress == Progress::Waiting && is_over).then(|| asked.verdict.reason.clone())
    }

    /// A pair that waits for nothing is served by this grant from now on; with another verdict, if there is one.
    pub(crate) fn serve_by(&mut self, pair: Pair, number: u64, verdict: Option<Verdict>) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.grant = Some(number);
            if let Some(verdict) = verdict {
                asked.verdict = verdict;
            }
        }
    }

    /// Frames of a pair that this grant serves have another DSCP from now on.
    pub(crate) fn set_dscp(&mut self, pair: Pair, number: u64, dscp: u8) {
        if let Some(asked) = self.asked.get_mut(&pair).filter(|asked| asked.grant == Some(number)) {
            asked.verdict.dscp = dscp;
        }
    }

    /// The flows beside that of a pair that this grant serves are otherwise from now on.
    pub(crate) fn set_repairs(&mut self, pair: Pair, number: u64, losses: Repairs) {
        if let Some(asked) = self.asked.get_mut(&pair).filter(|asked| asked.grant == Some(number)) {
            asked.verdict.losses = losses;
        }
    }

    /// The verdict of a pair that a grant serves, as far as it is known here: what holds with losses is not.
    pub(crate) fn admission(&self, grant: &Granted, request: &Request) -> Verdict {
        let level = grant.hops.first().map_or(0, |hop| hop.level);
        let pair = request.pair();
        Verdict {
            state: State::Admitted,
            bound: grant.end_of(pair).map_or(0, |end| end.promised),
            source: grant.source,
            destination: grant.destination,
            dscp: dscp(level),
            octets: grant.octets,
            separation: grant.contract.minimum_separation,
            ..self.pending(request)
        }
    }
}
