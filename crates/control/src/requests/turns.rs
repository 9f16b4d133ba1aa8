//! Whose turn it is: by importance, then by age. Those that wait for room keep it from those behind them.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use wire::admission::State;

use super::{Asked, Progress, Requests, Turn};
use crate::action::Pair;
use crate::fabric::Scarce;

/// So many requests that wait for room are compared with one that could be admitted; behind more it waits.
pub(super) const MOST_AHEAD: usize = 8;

/// What was kept for a request that has its turn.
#[derive(Debug)]
pub(crate) struct Turned {
    /// Whether room in the ledger was.
    had_room: bool,
    /// Places where it was.
    kept: Option<BTreeSet<Scarce>>,
}

impl Requests {
    /// The pair's request gets its turn.
    pub(crate) fn enqueue(&mut self, pair: Pair) {
        if let Some(asked) = self.asked.get_mut(&pair).filter(|asked| !asked.barred) {
            asked.progress = Progress::Queued;
            self.turns.insert(asked.turn(pair));
        }
    }

    /// The pair whose turn it is.
    pub(crate) fn next_turn(&mut self) -> Option<Pair> {
        self.turns.pop_first().map(|(_, _, pair)| pair)
    }

    /// A pair that may join other flows of its writer.
    pub(crate) fn next_union(&mut self) -> Option<Pair> {
        self.unions.pop_first()
    }

    /// These pairs may join other flows of their writers.
    pub(crate) fn may_unite(&mut self, pairs: impl IntoIterator<Item = Pair>) {
        self.unions.extend(pairs);
    }

    /// The turn of a request begins: room that is kept for it is for it now.
    pub(crate) fn begin_turn(&mut self, pair: Pair) -> Turned {
        let had_room = self.room_for.remove(&pair);
        let kept = self.asked.get_mut(&pair).map(|asked| core::mem::take(&mut asked.displaces.at));
        Turned { had_room, kept }
    }

    /// The turn of a request ends. If it could not begin, or waits for something under way, what was kept for it is kept on.
    pub(crate) fn end_turn(&mut self, pair: Pair, turned: Turned, begun: bool) {
        let Turned { had_room, kept } = turned;
        let is_parked = self.asked.get(&pair).is_some_and(|asked| asked.progress == Progress::Parked);
        if had_room && (!begun || is_parked) {
            self.room_for.insert(pair);
            if let (Some(asked), Some(kept)) = (self.asked.get_mut(&pair), kept) {
                asked.displaces.at = kept;
            }
        } else if had_room && !self.room_for.contains(&pair) {
            self.room_is_settled();
        }
    }

    /// A request that has its turn is looked at, with what is asked by now: the grant that it has. `None` if it needs no turn any more.
    pub(crate) fn look_at(&mut self, pair: Pair) -> Option<Option<u64>> {
        let asked = self.asked.get_mut(&pair).filter(|asked| asked.progress == Progress::Queued)?;
        asked.serial = asked.request.serial;
        asked.looked = self.changes;
        Some(asked.grant)
    }

    /// A request waits for something under way.
    pub(crate) fn park(&mut self, pair: Pair) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.progress = Progress::Parked;
        }
    }

    /// Requests that have waited for something to end get their turn.
    pub(crate) fn unpark(&mut self) {
        let parked = self.asked.iter().filter(|(_, asked)| asked.progress == Progress::Parked);
        for pair in parked.map(|(pair, _)| *pair).collect::<Vec<_>>() {
            self.enqueue(pair);
        }
    }

    /// A request is under way: its serial, 0 if no reader asks.
    pub(crate) fn work_on(&mut self, pair: Pair) -> u64 {
        self.asked.get_mut(&pair).map_or(0, |asked| {
            asked.progress = Progress::Working;
            asked.serial
        })
    }

    /// A request is under way as it is by now.
    pub(crate) fn work_on_latest(&mut self, pair: Pair) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.progress = Progress::Working;
            asked.serial = asked.request.serial;
        }
    }

    /// A request that failed a while ago is tried again.
    pub(crate) fn retry(&mut self, pair: Pair) {
        let Some(asked) = self.asked.get_mut(&pair) else { return };
        let failed = matches!(asked.verdict.state, State::Refused | State::Revoked);
        if failed && matches!(asked.progress, Progress::Answered { .. }) {
            self.enqueue(pair);
        }
    }

    /// A request that was to be served by a tree gets a flow of its own until then, and its turn. `None` if no reader asks; false if it is not under
    /// way.
    pub(crate) fn try_alone(&mut self, pair: Pair, until: Duration) -> Option<bool> {
        let asked = self.asked.get_mut(&pair)?;
        let is_working = asked.is_working();
        if is_working {
            asked.alone_until = until;
            self.enqueue(pair);
        }
        Some(is_working)
    }

    /// Whether a pair gets a flow of its own.
    pub(crate) fn is_alone(&self, now: Duration, pair: Pair) -> bool {
        self.asked.get(&pair).is_some_and(|asked| now < asked.alone_until)
    }

    /// It has been seen whether a pair can join others; if it does, it is not tried again until then.
    pub(crate) fn note_union(&mut self, pair: Pair, until: Option<Duration>) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.looked = self.changes;
            // What fails is a change, too, and no reason to try at once again.
            asked.alone_until = until.unwrap_or(asked.alone_until);
        }
    }

    /// Whether a pair has not been looked at since the last change.
    pub(crate) fn is_unseen(&self, pair: Pair) -> bool {
        self.asked.get(&pair).is_some_and(|asked| asked.looked < self.changes)
    }

    /// Something has become free, or has come back: requests that were refused or wait are to be looked at again, each of
    /// them once, so many at a time.
    pub(crate) fn look_again(&mut self) {
        self.changes += 1;
        self.look_at = Some(Duration::ZERO);
    }

    /// Requests are to be looked at by this time.
    pub(crate) fn look_by(&mut self, at: Duration) {
        self.look_at = Some(self.look_at.map_or(at, |before| before.min(at)));
    }

    /// Whether requests are to be looked at now, which begins with that.
    pub(crate) fn begin_look(&mut self, now: Duration) -> bool {
        let is_time = self.look_at.is_some_and(|at| at <= now);
        if is_time {
            self.look_at = None;
        }
        is_time
    }

    /// Gives a turn to requests that have not been looked at since the last change: half of those at a time are the first
    /// by importance and age, the others those that have not been looked at for longest, so that each has its turn also
    /// where changes are many. True if there are more, which are looked at by this time.
    pub(crate) fn look(&mut self, most: usize, rest_at: Duration) -> bool {
        let waits = |asked: &Asked| match asked.progress {
            Progress::Waiting => true,
            Progress::Answered { retry } => retry,
            Progress::Queued | Progress::Parked | Progress::Working => false,
        };
        let unseen = |asked: &Asked| waits(asked) && asked.looked < self.changes;
        let mut again: Vec<(Turn, u64)> = self
            .asked
            .iter()
            .filter(|(_, asked)| unseen(asked))
            .map(|(pair, asked)| (asked.turn(*pair), asked.looked))
            .collect();
        again.sort_unstable();
        let are_more = again.len() > most;
        if are_more {
            if let Some((_, rest)) = again.split_at_mut_checked(most / 2) {
                rest.sort_unstable_by_key(|(turn, looked)| (*looked, *turn));
            }
            again.truncate(most);
            self.look_at = Some(rest_at);
        }
        for ((_, _, pair), _) in again {
            self.enqueue(pair);
        }
        are_more
    }

    /// Room is kept for a request.
    pub(crate) fn keep_room(&mut self, pair: Pair) {
        self.room_for.insert(pair);
    }

    /// A request waits for room that is kept for it. True if it was refused: what has been refused stays so until then. `None` if no reader asks.
    pub(crate) fn wait_for_room(&mut self, pair: Pair) -> Option<bool> {
        self.room_for.insert(pair);
        let asked = self.asked.get_mut(&pair)?;
        let is_refused = asked.is_refused();
        if !is_refused {
            asked.progress = Progress::Waiting;
            asked.deadline = None;
        }
        Some(is_refused)
    }

    /// The pair needs no room any more.
    pub(crate) fn settle_room(&mut self, pair: Pair) {
        if self.room_for.remove(&pair) {
            self.room_is_settled();
        }
    }

    /// A request that room was kept for does not need it any more: those next in turn that wait for room are looked at.
    pub(crate) fn room_is_settled(&mut self) {
        let waiting = |pair: &&Pair| {
            self.asked.get(*pair).is_some_and(|asked| {
                matches!(asked.progress, Progress::Waiting | Progress::Answered { retry: true })
            })
        };
        let mut next: Vec<Turn> =
            self.room_for.iter().filter(waiting).filter_map(|pair| self.turn(*pair)).collect();
        next.sort_unstable();
        for (_, _, pair) in next.into_iter().take(MOST_AHEAD + 1) {
            self.enqueue(pair);
        }
    }

    pub(crate) fn turn(&self, pair: Pair) -> Option<Turn> {
        Some(self.asked.get(&pair)?.turn(pair))
    }

    /// The turn of a request that is not made yet, behind all others of its importance.
    pub(crate) const fn newest(&self, importance: u8, pair: Pair) -> Turn {
        (Reverse(importance), self.next_age, pair)
    }

    /// Whether room is kept for a request that comes before the pair's.
    pub(crate) fn has_before(&self, pair: Pair) -> bool {
        let first = self.room_for.iter().filter_map(|other| self.turn(*other)).min();
        first.is_some_and(|first| self.turn(pair).is_some_and(|own| first < own))
    }

    /// The pairs before this turn that room is kept for, in the order of their turns. `None` if they are too many to be compared.
    pub(crate) fn before(&self, turn: Turn) -> Option<Vec<Pair>> {
        let before = self.room_for.iter().filter_map(|pair| self.turn(*pair));
        let mut before: Vec<Turn> = before.filter(|other| *other < turn).collect();
        if before.len() > MOST_AHEAD {
            return None;
        }
        before.sort_unstable();
        Some(before.into_iter().map(|(_, _, pair)| pair).collect())
    }

    /// Whether room is kept for a more important one.
    pub(crate) fn yields_room(&self, pair: Pair) -> bool {
        let importance = |pair: &Pair| self.asked.get(pair).map(|asked| asked.request.contract.importance);
        let own = importance(&pair);
        self.room_for.iter().any(|other| importance(other) > own)
    }
}
