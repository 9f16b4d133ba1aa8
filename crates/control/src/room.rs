//! Room: who waits for it, who must not take it, and who is looked at again when there is more of it.
//!
//! The order is always that of [`crate::requests::Turn`]: importance, then age. A grant on its way out has its place in the ledger until it
//! is gone; what would fit without it waits, and later requests get no room that it needs then.
use alloc::vec::Vec;
use core::time::Duration;

use latency::ledger::{Offer, Plan};
use latency::network::Flow;
use latency::routes::Tree;

use crate::action::Pair;
use crate::operations::Timer;
use crate::requests::Turn;
use crate::resource_manager::{ResourceManager, Work};

impl ResourceManager {
    /// The next thing to begin; changes of the network and ends of grants stand before requests, and what has all that it asks for
    /// comes last.
    pub(crate) fn next_work(&mut self) -> Option<Work> {
        let next = self.operations.next_chore().map(Work::Chore);
        let next = next.or_else(|| self.requests.next_turn().map(Work::Request));
        next.or_else(|| self.requests.next_union().map(Work::Unite))
    }

    /// Something could not begin yet.
    pub(crate) fn put_back(&mut self, work: Work) {
        match work {
            Work::Request(pair) => self.requests.enqueue(pair),
            Work::Unite(pair) => self.requests.may_unite([pair]),
            Work::Chore(chore) => self.operations.add_first(chore),
        }
    }

    /// Gives a turn to requests that have not been looked at since the last change, so many at a time.
    pub(crate) fn look(&mut self, now: Duration) {
        if !self.requests.begin_look(now) {
            return;
        }
        let rest_at = now.saturating_add(self.config.retry_interval);
        if self.requests.look(self.config.most_retries.max(2), rest_at) {
            self.operations.wake(rest_at, Timer::Look);
        }
        let apart = self.apart();
        self.requests.may_unite(apart);
    }

    /// The request waits until what is on its way out is gone, or until one before it has got its room. No request gets in between
    /// that comes after it. What has been refused stays so until then.
    pub(crate) fn wait_for_room(&mut self, now: Duration, pair: Pair, reason: &str) {
        match self.requests.wait_for_room(pair) {
            Some(true) => self.refuse_meanwhile(now, pair, reason, Offer::default(), true),
            Some(false) => self.put_off(pair, reason),
            None => {}
        }
    }

    /// Whether the flow could be admitted if everything were gone that is on its way out.
    pub(crate) fn room_is_coming(&self, flow: &Flow, trees: &[Tree]) -> bool {
        self.reservations.room_is_coming(flow, trees, |pair| self.requests.contains(*pair))
    }

    /// Whether what could be admitted now for this pair would take room from a request before it that waits for that.
    ///
    /// In the order in which it would come about: who comes first decides whether both fit.
    pub(crate) fn is_behind_others(&self, pair: Pair, plan: &Plan) -> bool {
        self.requests.turn(pair).is_some_and(|turn| self.comes_after_others(turn, plan))
    }

    /// The same for a turn.
    pub(crate) fn comes_after_others(&self, turn: Turn, plan: &Plan) -> bool {
        if self.needs_what_is_kept(turn, plan) {
            return true;
        }
        let Some(before) = self.requests.before(turn) else { return true };
        if before.is_empty() {
            return false;
        }
        let before = before.into_iter().map(|pair| self.flow_and_trees(pair));
        self.reservations.takes_room(plan, before, |pair| self.requests.contains(*pair))
    }

    /// What a pair asks for, as a flow, and the ways that are compared for it.
    pub(crate) fn flow_and_trees(&self, pair: Pair) -> Option<(Flow, Vec<Tree>)> {
        let wish = self.examine(pair).ok()?;
        let flow = self.fabric.network().flow(&wish)?;
        Some((flow, self.fabric.trees(&wish, self.config.ways)))
    }
}
