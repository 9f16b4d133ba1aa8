//! Room: who waits for it, who must not take it, and who is looked at again when there is more of it.
//!
//! The order is always that of [`Turn`]: importance, then age. A grant on its way out has its place in the ledger until it
//! is gone; what would fit without it waits, and later requests get no room that it needs then.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use latency::ledger::{Offer, Plan};
use latency::network::Flow;
use latency::routes::Tree;

use crate::action::Pair;
use crate::operations::Timer;
use crate::resource_manager::ResourceManager;
use crate::state::{Asked, Progress, Turn, Work};

/// So many requests that wait for room are compared with one that could be admitted; behind more it waits.
const MOST_AHEAD: usize = 8;

impl ResourceManager {
    /// The pair's request gets its turn.
    pub(crate) fn enqueue(&mut self, pair: Pair) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.progress = Progress::Queued;
            self.turns.insert(asked.turn(pair));
        }
    }

    /// The next thing to begin; changes of the network and ends of grants stand before requests, and what has all that it asks for
    /// comes last.
    pub(crate) fn next_work(&mut self) -> Option<Work> {
        let request = |turns: &mut BTreeSet<Turn>| turns.pop_first().map(|turn| Work::Request(turn.2));
        let next = self.operations.next_chore().map(Work::Chore).or_else(|| request(&mut self.turns));
        next.or_else(|| self.unions.pop_first().map(Work::Unite))
    }

    /// Something could not begin yet.
    pub(crate) fn put_back(&mut self, work: Work) {
        match work {
            Work::Request(pair) => self.enqueue(pair),
            Work::Unite(pair) => {
                self.unions.insert(pair);
            }
            Work::Chore(chore) => self.operations.add_first(chore),
        }
    }

    /// Requests that have waited for something to end get their turn.
    pub(crate) fn unpark(&mut self) {
        let parked = self.asked.iter().filter(|(_, asked)| asked.progress == Progress::Parked);
        for pair in parked.map(|(pair, _)| *pair).collect::<Vec<_>>() {
            self.enqueue(pair);
        }
    }

    /// Something has become free, or has come back: requests that were refused or wait are to be looked at again, each of
    /// them once, so many at a time.
    pub(crate) fn look_again(&mut self) {
        self.changes += 1;
        self.look_at = Some(Duration::ZERO);
    }

    /// Gives a turn to requests that have not been looked at since the last change: half of those at a time are the first
    /// by importance and age, the others those that have not been looked at for longest, so that each has its turn also
    /// where changes are many.
    pub(crate) fn look(&mut self, now: Duration) {
        if self.look_at.is_none_or(|at| at > now) {
            return;
        }
        self.look_at = None;
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
        let most = self.config.most_retries.max(2);
        if again.len() > most {
            if let Some((_, rest)) = again.split_at_mut_checked(most / 2) {
                rest.sort_unstable_by_key(|(turn, looked)| (*looked, *turn));
            }
            again.truncate(most);
            let at = now.saturating_add(self.config.retry_interval);
            self.look_at = Some(at);
            self.operations.wake(at, Timer::Look);
        }
        for ((_, _, pair), _) in again {
            self.enqueue(pair);
        }
        self.unions.extend(self.apart());
    }

    /// The request waits until what is on its way out is gone, or until one before it has got its room. Nobody gets in between
    /// who comes after it. What has been refused stays so until then.
    pub(crate) fn wait_for_room(&mut self, now: Duration, pair: Pair, reason: &str) {
        self.room_for.insert(pair);
        let Some(asked) = self.asked.get_mut(&pair) else { return };
        if asked.is_refused() {
            self.refuse_meanwhile(now, pair, reason, Offer::default(), true);
            return;
        }
        asked.progress = Progress::Waiting;
        asked.deadline = None;
        self.put_off(pair, reason);
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

    /// Whether the flow could be admitted if everything were gone that is on its way out.
    pub(crate) fn room_is_coming(&self, flow: &Flow, trees: &[Tree]) -> bool {
        self.reservations.room_is_coming(flow, trees, |pair| self.asked.contains_key(pair))
    }

    /// Whether what could be admitted now for this pair would take room from a request before it that waits for that.
    ///
    /// In the order in which it would come about: who comes first decides whether both fit.
    pub(crate) fn is_behind_others(&self, pair: Pair, plan: &Plan) -> bool {
        let Some(turn) = self.turn(pair) else { return false };
        if self.needs_what_is_kept(pair, plan) {
            return true;
        }
        let before = self.room_for.iter().filter_map(|pair| self.turn(*pair)).filter(|other| *other < turn);
        let mut before: Vec<Turn> = before.collect();
        if before.is_empty() || before.len() > MOST_AHEAD {
            return !before.is_empty();
        }
        before.sort_unstable();
        let before = before.into_iter().map(|(_, _, pair)| self.flow_and_trees(pair));
        self.reservations.takes_room(plan, before, |pair| self.asked.contains_key(pair))
    }

    /// What a pair asks for, as a flow, and the ways that are compared for it.
    pub(crate) fn flow_and_trees(&self, pair: Pair) -> Option<(Flow, Vec<Tree>)> {
        let wish = self.examine(pair).ok()?;
        let flow = self.fabric.network().flow(&wish)?;
        Some((flow, self.fabric.trees(&wish, self.config.ways)))
    }

    /// Whether room is kept for a more important one.
    pub(crate) fn yields_room(&self, pair: Pair) -> bool {
        let importance = |pair: &Pair| self.asked.get(pair).map(|asked| asked.request.contract.importance);
        let own = importance(&pair);
        self.room_for.iter().any(|other| importance(other) > own)
    }
}

impl Asked {
    /// Where it stands among those that want the same.
    pub(crate) const fn turn(&self, pair: Pair) -> Turn {
        (Reverse(self.request.contract.importance), self.age, pair)
    }
}
