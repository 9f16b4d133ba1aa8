//! Requests: what is asked, how far each is and what was answered, whose turn comes, and for whom room is kept.
//!
//! [`Requests`] keeps them. It is told what is asked and what has become of it, and says whose turn it is and what is to be said. Whether a request can
//! be admitted is decided elsewhere.
mod asked;
mod displaces;
mod quota;
#[cfg(test)]
mod tests;
mod turns;
mod verdicts;
mod wish;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use core::time::Duration;
use wire::admission::Address;

use wire::admission::{MOST_TEXT, Measured, Request, Verdict};
use wire::{Guid, GuidPrefix};

use crate::action::{Facts, Pair};

pub(crate) use asked::{Asked, Progress, Turn};
use displaces::Displaces;
pub(crate) use quota::QuotaReached;
pub(crate) use quota::asker;
pub(crate) use verdicts::{Refused, Waits};
pub(crate) use wish::{Goal, Obstacle, Wish};

/// What is asked.
#[derive(Debug)]
pub(crate) struct Requests {
    /// The epoch of the manager that answers, and how long its verdicts hold.
    epoch: u64,
    lease: Duration,
    asked: BTreeMap<Pair, Asked>,
    /// Requests whose turn comes, the first one first.
    turns: BTreeSet<Turn>,
    /// Pairs that may join other flows of their writers.
    unions: BTreeSet<Pair>,
    /// Pairs that wait for room that is being made or becomes free: those behind them must not take it.
    room_for: BTreeSet<Pair>,
    /// Refusals of pairs without a request that were turned away while they had a flow: they stay when the flow is gone.
    turned_away: BTreeMap<Pair, Verdict>,
    next_age: u64,
    /// How often something has become free or come back.
    changes: u64,
    /// When requests that have not been looked at since are.
    look_at: Option<Duration>,
}

/// What a request that is known already has brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Renewed {
    /// It is the same one: it is to be answered again.
    Same,
    /// It is older than what is known.
    Older,
    /// It is another one.
    Other,
}

impl Requests {
    /// No requests; answers are of this epoch and hold for this long.
    pub(crate) const fn new(epoch: u64, lease: Duration) -> Self {
        Self {
            epoch,
            lease,
            asked: BTreeMap::new(),
            turns: BTreeSet::new(),
            unions: BTreeSet::new(),
            room_for: BTreeSet::new(),
            turned_away: BTreeMap::new(),
            next_age: 0,
            changes: 0,
            look_at: None,
        }
    }

    /// The epoch of the manager that answers.
    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What is asked for a pair.
    pub(crate) fn get(&self, pair: Pair) -> Option<&Asked> {
        self.asked.get(&pair)
    }

    pub(crate) fn contains(&self, pair: Pair) -> bool {
        self.asked.contains_key(&pair)
    }

    /// All requests, by their pairs.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Pair, &Asked)> {
        self.asked.iter().map(|(pair, asked)| (*pair, asked))
    }

    /// Those of a writer.
    pub(crate) fn of_writer(&self, writer: Guid) -> impl Iterator<Item = (Pair, &Asked)> {
        let from = self.asked.range((writer, Guid::UNKNOWN)..);
        from.take_while(move |(pair, _)| pair.0 == writer).map(|(pair, asked)| (*pair, asked))
    }

    /// The first request of some pairs that asks.
    pub(crate) fn first_of<'p>(&self, pairs: impl IntoIterator<Item = &'p Pair>) -> Option<&Asked> {
        pairs.into_iter().find_map(|pair| self.asked.get(pair))
    }

    pub(crate) fn len(&self) -> usize {
        self.asked.len()
    }

    /// Pairs whose writer or reader is of a participant.
    pub(crate) fn of_participant(&self, participant: GuidPrefix) -> impl Iterator<Item = Pair> {
        let is_of = move |pair: &&Pair| pair.0.prefix == participant || pair.1.prefix == participant;
        self.asked.keys().filter(is_of).copied()
    }

    /// A request that was not known gets its turn.
    pub(crate) fn insert(&mut self, request: Request, facts: Facts) {
        let pair = request.pair();
        let asked = Asked {
            age: self.next_age,
            looked: 0,
            verdict: self.pending(&request),
            serial: request.serial,
            asker: asker(&request, &facts),
            request,
            facts,
            progress: Progress::Queued,
            grant: None,
            displaces: Displaces::default(),
            alone_until: Duration::ZERO,
            deadline: None,
            repeat_at: None,
            measured: None,
            barred: false,
            noted: None,
        };
        self.next_age += 1;
        self.turned_away.remove(&pair);
        self.asked.insert(pair, asked);
        self.enqueue(pair);
    }

    /// A pair that is known asks again. `None` if it is not known.
    pub(crate) fn renew(&mut self, request: Request, facts: Facts) -> Option<Renewed> {
        let pair = request.pair();
        let asked = self.asked.get_mut(&pair)?;
        asked.facts = facts;
        if asked.request == request {
            if matches!(asked.progress, Progress::Answered { retry: true }) {
                self.enqueue(pair);
            }
            return Some(Renewed::Same);
        }
        if request.serial < asked.request.serial {
            return Some(Renewed::Older);
        }
        let known = &asked.request;
        let ends = |request: &Request| (request.source, request.destination);
        let limits =
            |request: &Request| (request.maximum_latency, request.maximum_separation, request.losses);
        if (ends(known), limits(known), known.contract)
            != (ends(&request), limits(&request), request.contract)
        {
            asked.displaces = Displaces::default();
            asked.barred = false;
        }
        if asked.barred {
            asked.serial = request.serial;
            asked.verdict.serial = request.serial;
            asked.request = request;
            return Some(Renewed::Same);
        }
        asked.request = request;
        match asked.progress {
            Progress::Answered { .. } | Progress::Waiting | Progress::Queued => {
                asked.deadline = None;
                self.enqueue(pair);
            }
            // It is looked at when what is under way has ended.
            Progress::Parked | Progress::Working => {}
        }
        Some(Renewed::Other)
    }

    /// The wish with the least that any of the pairs asks for.
    pub(crate) fn for_all(&self, wish: &Wish, pairs: &BTreeSet<Pair>) -> Wish {
        let mut wish = wish.clone();
        for asked in pairs.iter().filter_map(|pair| self.asked.get(pair)) {
            let (latency, separation) = (asked.request.maximum_latency, asked.request.maximum_separation);
            wish.goals.iter_mut().for_each(|goal| goal.tighten(latency, separation));
        }
        wish
    }

    /// Whether a pair has been answered, is served by this grant, and asks for nothing else.
    pub(crate) fn is_settled(&self, pair: Pair, number: u64) -> bool {
        self.asked.get(&pair).is_some_and(|asked| asked.is_settled(number))
    }

    /// Whether the request of a pair is under way.
    pub(crate) fn is_working(&self, pair: Pair) -> bool {
        self.asked.get(&pair).is_some_and(Asked::is_working)
    }

    /// Whether all of some pairs have asked for what this grant gives them. Of one that was restored that is not known at first.
    pub(crate) fn are_served_by(&self, pairs: &BTreeSet<Pair>, number: u64) -> bool {
        pairs.iter().all(|pair| self.asked.get(pair).is_some_and(|asked| asked.grant == Some(number)))
    }

    /// A pair is not asked for any more. What was asked.
    pub(crate) fn remove(&mut self, pair: Pair) -> Option<Asked> {
        self.turned_away.remove(&pair);
        self.asked.remove(&pair)
    }

    /// What a reader has seen of its flow.
    pub(crate) fn measured(&mut self, measured: &Measured) {
        let pair = (Guid::from_bytes(measured.writer), Guid::from_bytes(measured.reader));
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.measured = Some(*measured);
        }
    }
}

/// As nanoseconds; at most what 64 bits hold.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A reason of bearable length.
pub(crate) fn cut(reason: &str) -> String {
    let mut end = reason.len().min(MOST_TEXT);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.get(..end).unwrap_or_default().into()
}

/// An address in its usual form.
pub(crate) fn dotted(address: Address) -> String {
    format!("{address}")
}
