//! The search for the attack that is worst for one goal, and for a value above a claim.
//!
//! First comes the attack with a reason: everything at once, all of it as long as possible. From there the search
//! climbs. It changes one choice at a time, and keeps what is not better for the goal. Changed phases mostly move an
//! event to an instant at which something happened to what the goal is about: critical instants are propagated back.
//! Random attacks complete it. None of this proves that the worst case was found.
use alloc::vec::Vec;
use core::fmt;

use frames::Random;

use crate::attack::{Attack, Ties};
use crate::engine::run;
use crate::moves::{Moves, Near};
use crate::outcome::{Claims, Exceedance, Goal, Outcome};
use crate::system::System;

/// How many runs are spent on a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Runs that change one choice of the worst attack so far.
    pub climbing: u32,
    /// Runs in which everything is random.
    pub random: u32,
    /// About how many events the sources of one run make.
    pub events: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { climbing: 40, random: 8, events: 400 }
    }
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The worst of the goal, in nanoseconds or deliveries.
    pub value: u64,
    /// The attack that gave it; [`run`] repeats it.
    pub attack: Attack,
    /// The worst of all runs.
    pub outcome: Outcome,
    /// How many runs there were.
    pub runs: u64,
}

/// Something above a claim, and how it comes about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// What, and how much.
    pub exceedance: Exceedance,
    /// The attack; [`run`] repeats it, [`crate::explain`] says it in words.
    pub attack: Attack,
}

/// Why an exhaustive search was not begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchError {
    /// The step is 0.
    NoStep,
    /// There are more combinations than allowed.
    TooMany,
}

impl fmt::Display for SearchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoStep => "the step of an exhaustive search is 0: give one that divides the periods",
            Self::TooMany => "an exhaustive search would need more runs than allowed: take a longer step",
        })
    }
}

impl core::error::Error for SearchError {}

/// A goal under attack.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    system: &'a System,
    claims: &'a Claims,
    goal: Goal,
    effort: Effort,
}

/// How long a run has to last for so many events.
fn horizon(system: &System, events: u64) -> u64 {
    let periods = || system.description().sources.iter().map(|source| source.kind.period());
    let longest = periods().max().unwrap_or(1);
    // Events of all sources in the longest period.
    let rate: u64 = periods().map(|period| (longest / period).max(1)).sum();
    let rounds = (events / rate.max(1)).clamp(3, 40);
    longest.saturating_mul(rounds)
}

impl<'a> Search<'a> {
    /// A search for the worst of a goal. Where a run is above one of `claims`, the search ends with it.
    pub const fn new(system: &'a System, claims: &'a Claims, goal: Goal, effort: Effort) -> Self {
        Self { system, claims, goal, effort }
    }

    /// The worst that was found.
    pub fn worst(&self, seed: u64) -> Found {
        self.search(seed).0
    }

    /// All phases that are multiples of `step`, of all sources, with each order of equal instants, and everything as late and as long as
    /// possible otherwise.
    ///
    /// # Errors
    /// [`SearchError`] if that is nothing, or more than `most` runs.
    pub fn exhaustive(&self, step: u64, most: u64) -> Result<Found, SearchError> {
        let sources = &self.system.description().sources;
        let counts = sources.iter().map(|source| source.kind.period().checked_div(step));
        let counts: Vec<u64> = counts.collect::<Option<_>>().ok_or(SearchError::NoStep)?;
        let all = counts.iter().try_fold(3_u64, |all, count| all.checked_mul((*count).max(1)));
        if all.is_none_or(|all| all > most) {
            return Err(SearchError::TooMany);
        }
        let horizon = horizon(self.system, self.effort.events);
        let critical = Attack::critical(self.system, self.goal, horizon);
        let mut found: Option<Found> = None;
        for number in 0..all.unwrap_or(0) {
            let mut attack = critical.clone();
            attack.ties = [Ties::LowFirst, Ties::HighFirst, Ties::Random][(number % 3) as usize];
            let mut rest = number / 3;
            for (emission, count) in attack.sources.iter_mut().zip(&counts) {
                emission.at += rest % (*count).max(1) * step;
                rest /= (*count).max(1);
            }
            let outcome = run(self.system, &attack);
            let value = outcome.seen(self.goal).value;
            match &mut found {
                Some(found) => {
                    found.outcome.merge(&outcome);
                    found.runs += 1;
                    if value > found.value {
                        (found.value, found.attack) = (value, attack);
                    }
                }
                None => found = Some(Found { value, attack, outcome, runs: 1 }),
            }
        }
        found.ok_or(SearchError::NoStep)
    }

    /// Also what was above a claim.
    fn search(&self, seed: u64) -> (Found, Option<Refutation>) {
        let mut random = Random::new(seed);
        let horizon = horizon(self.system, self.effort.events);
        let first = Attack::critical(self.system, self.goal, horizon);
        let mut outcome = run(self.system, &first);
        let mut found = Found {
            value: outcome.seen(self.goal).value,
            attack: first.clone(),
            outcome: outcome.clone(),
            runs: 1,
        };
        let mut marks = core::mem::take(&mut outcome.marks);
        let mut until = outcome.seen(self.goal).until;
        let moves = Moves::new(self.system);
        found.outcome.marks = Vec::new();
        if let Some(exceedance) = outcome.exceeds(self.claims) {
            return (found, Some(Refutation { exceedance, attack: first }));
        }
        for round in 0..self.effort.climbing + self.effort.random {
            let attack = if round % 5 == 1 && round / 5 < self.effort.random || round >= self.effort.climbing
            {
                Attack::random(self.system, self.goal, horizon, random.bits())
            } else {
                moves.change(&found.attack, Near { marks: &marks, until }, &mut random)
            };
            let mut outcome = run(self.system, &attack);
            found.runs += 1;
            let seen = outcome.seen(self.goal);
            let outcome_marks = core::mem::take(&mut outcome.marks);
            found.outcome.merge(&outcome);
            if let Some(exceedance) = outcome.exceeds(self.claims) {
                return (found, Some(Refutation { exceedance, attack }));
            }
            if seen.value >= found.value {
                found.value = seen.value;
                marks = outcome_marks;
                until = seen.until;
                found.attack = attack;
            }
        }
        (found, None)
    }
}

/// Looks for something above a claim: each claim is a goal, and each run is held against all claims. `None` is that nothing was found.
pub fn refute(system: &System, claims: &Claims, effort: Effort, seed: u64) -> Option<Refutation> {
    refute_some(system, claims, effort, seed, usize::MAX)
}

/// As [`refute`], but so many of the claims at most, drawn by the seed, are goals. Each run is held against all claims all the same: with
/// many systems and little time, a few goals with several attacks each find more than the same attack for each goal.
pub fn refute_some(
    system: &System,
    claims: &Claims,
    effort: Effort,
    seed: u64,
    most: usize,
) -> Option<Refutation> {
    let claimed = |list: &[Option<u64>], goal: fn(usize) -> Goal| -> Vec<Goal> {
        let claimed = list.iter().enumerate().filter(|(_, claim)| claim.is_some());
        claimed.map(|(index, _)| goal(index)).collect()
    };
    let goals = [
        claimed(&claims.reaction, Goal::Reaction),
        claimed(&claims.age, Goal::Age),
        claimed(&claims.response, Goal::Response),
        claimed(&claims.backlog, Goal::Backlog),
        claimed(&claims.latency, Goal::Latency),
    ];
    let mut goals: Vec<(usize, Goal)> = goals.into_iter().flatten().enumerate().collect();
    let mut random = Random::new(seed);
    while goals.len() > most {
        goals.swap_remove(random.index(goals.len()));
    }
    goals.into_iter().find_map(|(index, goal)| {
        let seed = seed.wrapping_mul(0x9e37_79b9).wrapping_add(index as u64);
        Search::new(system, claims, goal, effort).search(seed).1
    })
}
