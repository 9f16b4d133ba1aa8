//! Room: who waits for it, who must not take it, and who is looked at again when there is more of it.
//!
//! The order is always that of [`Turn`]: importance, then age. A grant on its way out has its place in the ledger until it
//! is gone; what would fit without it waits, and later requests get no room that it needs then.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use latency::ledger::{Ledger, Offer, Plan};
use latency::network::Flow;
use latency::routes::Tree;

use crate::action::Pair;
use crate::operations::Timer;
use crate::resource_manager::ResourceManager;
use crate::state::{Asked, GrantPhase, Granted, Progress, Turn, Work};

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
        if self.leaving().next().is_none() {
            return false;
        }
        let mut ledger = self.ledger.clone();
        self.leaving().for_each(|number| {
            ledger.remove(number);
        });
        ledger.plan_among(self.next_grant, flow, trees).is_ok()
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
        let mut with = self.ledger.clone();
        if !with.commit(plan.clone()) {
            return true;
        }
        self.leaving().for_each(|number| {
            with.remove(number);
        });
        let mut without = with.clone();
        without.remove(plan.id);
        // Numbers that no grant has.
        (0..u64::MAX).rev().zip(before).any(|(number, (_, _, pair))| {
            let wish = self.examine(pair).ok();
            let Some((flow, wish)) = wish.and_then(|wish| Some((self.fabric.network().flow(&wish)?, wish)))
            else {
                return false;
            };
            let trees = self.fabric.trees(&wish, self.config.ways);
            let fits = |ledger: &mut Ledger| ledger.admit_among(number, &flow, &trees).is_ok();
            // Who fits in no case does not need the room.
            fits(&mut without) && !fits(&mut with)
        })
    }

    /// Whether room is kept for a more important one.
    pub(crate) fn yields_room(&self, pair: Pair) -> bool {
        let importance = |pair: &Pair| self.asked.get(pair).map(|asked| asked.request.contract.importance);
        let own = importance(&pair);
        self.room_for.iter().any(|other| importance(other) > own)
    }

    /// Grants whose place will be free before long, whatever else happens: nothing that is away has to come back for that.
    fn leaving(&self) -> impl Iterator<Item = u64> {
        // One that has its place in that of a former one has no other.
        let new = |grant: &&Granted| grant.phase == GrantPhase::Installing && grant.covered_by.is_none();
        let replaced = self.grants.values().filter(new).flat_map(|new| {
            let old = new.replaces.iter().filter_map(|old| self.grants.get(old));
            old.filter(|old| old.pairs.is_subset(&new.pairs)).map(|old| old.number)
        });
        let leaves = |grant: &&Granted| match &grant.phase {
            GrantPhase::Leaving(awaiting) => awaiting.is_empty(),
            GrantPhase::Installing => {
                grant.doomed.is_some() || !grant.pairs.iter().any(|pair| self.asked.contains_key(pair))
            }
            GrantPhase::Held | GrantPhase::Restored => false,
        };
        self.grants.values().filter(leaves).map(|grant| grant.number).chain(replaced)
    }
}

impl Asked {
    /// Where it stands among those that want the same.
    pub(crate) const fn turn(&self, pair: Pair) -> Turn {
        (Reverse(self.request.contract.importance), self.age, pair)
    }
}
