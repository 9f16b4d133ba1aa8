//! What others go for to make room for requests: for how long nothing does after that was in vain, and what is kept where. Why that comes to an
//! end is in [`crate::displace`].
use alloc::collections::BTreeSet;
use core::time::Duration;

use super::{Progress, Requests, Turn};
use crate::action::Pair;
use crate::fabric::Scarce;

/// So many times the grace a request waits at most before it displaces others again: about three hours.
const MOST_WAITS: u32 = 1 << 10;

/// What others go for to make room for a request.
#[derive(Clone, Default, Debug)]
pub(super) struct Displaces {
    /// Others have gone for it, and it is not answered yet.
    under_way: bool,
    /// How often in a row that was in vain.
    in_vain: u32,
    /// Until then no flow goes for it.
    until: Duration,
    /// Where room is kept for it until it has its turn.
    pub(super) at: BTreeSet<Scarce>,
}

impl Requests {
    /// Whether others may go for the pair.
    pub(crate) fn may_displace(&self, now: Duration, pair: Pair) -> bool {
        self.asked.get(&pair).is_none_or(|asked| asked.displaces.until <= now)
    }

    /// Others go for the pair.
    pub(crate) fn displaces(&mut self, pair: Pair) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.displaces.under_way = true;
        }
    }

    /// Others go for the pair, and what they leave at these places is kept for it until it has its turn.
    pub(crate) fn displaces_at(&mut self, pair: Pair, full: &BTreeSet<Scarce>) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.displaces.at.clone_from(full);
            asked.displaces.under_way = true;
            self.room_for.insert(pair);
        }
    }

    /// The pair is refused: what others may have gone for was in vain. When it may displace others again, if it has; after so many times the grace.
    pub(crate) fn displaced_in_vain(
        &mut self,
        now: Duration,
        pair: Pair,
        grace: Duration,
    ) -> Option<Duration> {
        let asked = self.asked.get_mut(&pair).filter(|asked| asked.displaces.under_way)?;
        let times = asked.displaces.in_vain.saturating_add(1);
        let waits = 1_u32.checked_shl(times).unwrap_or(MOST_WAITS).min(MOST_WAITS);
        let until = now.saturating_add(grace.saturating_mul(waits));
        asked.displaces = Displaces { in_vain: times, until, ..Displaces::default() };
        Some(until)
    }

    /// A pair that goes does not take its place again as soon as that is free. False if it was not answered.
    pub(crate) fn stays_away(&mut self, pair: Pair) -> bool {
        let is_answered = |asked: &&mut super::Asked| matches!(asked.progress, Progress::Answered { .. });
        let asked = self.asked.get_mut(&pair).filter(is_answered);
        asked.map(|asked| asked.progress = Progress::Answered { retry: false }).is_some()
    }

    /// Whether something is kept for a request before this turn that `needs` holds for.
    pub(crate) fn is_kept_before(&self, turn: Turn, needs: impl Fn(&Scarce) -> bool) -> bool {
        self.room_for.iter().any(|other| {
            let comes_before = self.turn(*other).is_some_and(|other| other < turn);
            comes_before && self.asked.get(other).is_some_and(|asked| asked.displaces.at.iter().any(&needs))
        })
    }
}
