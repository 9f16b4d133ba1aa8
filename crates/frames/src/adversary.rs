//! The search for the attack that is worst for one delivery.
//!
//! First come attacks with a reason: everything at once, then critical instants that are propagated back: the others
//! are shifted so that their bursts come to a shared port when the target does, as the last run showed it. From the
//! worst of them the search climbs: it changes one choice at a time and keeps what is not better for the target.
//! Random attacks complete it. None of this proves that the worst case was found; [`Search::exhaustive`] says what
//! it proves.
mod moves;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::attack::{Attack, BestEffort, Change, Message, Multiplexing, Pattern, Spacing, Ties, Timing};
use crate::engine::run;
use crate::network::{Contract, Flow, LARGEST, Network, Port};
use crate::outcome::{Bounds, Outcome};
use crate::policer::Policer;
use crate::random::Random;
use crate::wire::SMALLEST_FRAME;
use moves::{counts_frames, loudest};

/// How many runs are spent on each kind of attack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Runs with critical instants that are propagated back.
    pub aligned: u32,
    /// Runs that change one choice of the worst attack so far.
    pub climbing: u32,
    /// Runs in which everything is random.
    pub random: u32,
    /// About how many frames one run releases; it is at least one message of each flow.
    pub frames: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { aligned: 12, climbing: 24, random: 4, frames: 2000 }
    }
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The largest latency of the target, in picoseconds.
    pub latency: u64,
    /// The attack that gave it; [`run`] repeats it.
    pub attack: Attack,
    /// The worst of all runs, for all flows.
    pub outcome: Outcome,
    /// How many runs there were.
    pub runs: u64,
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoStep => "the step of an exhaustive search is 0",
            Self::TooMany => "an exhaustive search would need more runs than allowed",
        })
    }
}

impl core::error::Error for SearchError {}

/// A delivery under attack.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    network: &'a Network,
    bounds: &'a Bounds,
    flow: usize,
    hop: usize,
    effort: Effort,
    changes: &'a [Change],
}

impl<'a> Search<'a> {
    /// The instant around which releases lie, so that shifts to earlier instants stay positive.
    pub const ORIGIN: u64 = LARGEST;

    /// Attacks the frames of `flow` until the end of its `hop`; every run is compared with `bounds`.
    pub fn new(network: &'a Network, bounds: &'a Bounds, flow: usize, hop: usize, effort: Effort) -> Self {
        Self { network, bounds, flow, hop, effort, changes: &[] }
    }

    /// The same while flows change their levels.
    pub fn changing(self, changes: &'a [Change]) -> Self {
        Self { changes, ..self }
    }

    /// Searches with the seed's choices.
    pub fn worst(&self, seed: u64) -> Found {
        let mut random = Random::new(seed);
        let mut state = self.start(&mut random);
        for number in 0..self.effort.aligned {
            // Twice as often from the worst attack as from the last one: alignment is not monotone.
            let mut attack = if number % 3 == 2 { state.last.clone() } else { state.found.attack.clone() };
            let arrivals = if number % 3 == 2 { &state.last_arrivals } else { &state.arrivals };
            self.align(&mut attack, arrivals, number, &mut random);
            self.try_attack(&mut state, attack);
        }
        for _ in 0..self.effort.climbing {
            let mut attack = state.found.attack.clone();
            for _ in 0..=random.below(2) {
                self.change(&mut attack, &state.arrivals, &mut random);
            }
            self.try_attack(&mut state, attack);
        }
        for _ in 0..self.effort.random {
            let attack = self.anything(&mut random);
            self.try_attack(&mut state, attack);
        }
        state.found
    }

    /// Tries all phases on a grid: every flow first releases at a multiple of `step` less than its separation, at
    /// least one of them at 0, and then strictly periodically into an empty network, without jitter.
    ///
    /// Let all transmission times, latencies and separations be multiples of g, and let there be n flows. Every
    /// instant of such a run is the phase of one flow plus a multiple of g; so the order of events depends only on
    /// the whole multiples of g in the phases and on the order of the remainders. With `step` = g / n the grid has
    /// every such order, hence a run with the same order of events as any other, whose latencies differ by less
    /// than g. So the worst case of strictly periodic runs is less than g above the result; how best-effort frames
    /// are chosen is not part of the argument. Sporadic sources may do worse than periodic ones over several hops.
    ///
    /// # Errors
    /// If the step is 0, or more than `most` combinations of phases would be tried.
    pub fn exhaustive(&self, step: u64, most: u64) -> Result<Found, SearchError> {
        if step == 0 {
            return Err(SearchError::NoStep);
        }
        let counts: Vec<u64> =
            self.network.flows().iter().map(|flow| flow.separation().div_ceil(step).max(1)).collect();
        let combinations = counts.iter().try_fold(1_u64, |product, count| product.checked_mul(*count));
        if combinations.is_none_or(|combinations| combinations > most) {
            return Err(SearchError::TooMany);
        }
        let mut state = self.start(&mut Random::new(0));
        let mut phases = vec![0_u64; counts.len()];
        loop {
            if phases.contains(&0) {
                for ties in [Ties::Against, Ties::ChoiceFirst, Ties::Random] {
                    let mut attack = self.synchronous(Pattern::Steady);
                    attack.ties = ties;
                    for (timing, phase) in attack.timings.iter_mut().zip(&phases) {
                        timing.pivot += phase * step;
                    }
                    self.try_attack(&mut state, attack);
                }
            }
            // The phases are the digits of a number that counts up.
            let Some(digit) = phases.iter().zip(&counts).position(|(phase, count)| phase + 1 < *count) else {
                return Ok(state.found);
            };
            phases[digit] += 1;
            phases[..digit].fill(0);
        }
    }

    fn start(&self, random: &mut Random) -> State {
        let mut attack = self.synchronous(Pattern::Burst);
        self.hold(&mut attack, random);
        self.block(&mut attack);
        attack.seed = random.bits();
        let outcome = run(self.network, &attack, self.bounds);
        let arrivals = outcome.arrivals.clone();
        let latency = outcome.latency[self.flow][self.hop];
        let found = Found { latency, attack: attack.clone(), outcome, runs: 1 };
        State { found, last: attack, last_arrivals: arrivals.clone(), arrivals }
    }

    fn try_attack(&self, state: &mut State, attack: Attack) {
        let outcome = run(self.network, &attack, self.bounds);
        let latency = outcome.latency[self.flow][self.hop];
        state.found.runs += 1;
        state.found.outcome.merge(&outcome);
        state.last = attack.clone();
        state.last_arrivals.clone_from(&outcome.arrivals);
        if latency >= state.found.latency {
            state.found.latency = latency;
            state.found.attack = attack;
            let message = outcome.message[self.flow][self.hop];
            state.found.outcome.message[self.flow][self.hop] = message;
            state.arrivals = outcome.arrivals;
        }
    }

    fn synchronous(&self, pattern: Pattern) -> Attack {
        let flows = self.network.flows();
        let longest = flows.iter().map(Flow::separation).max().unwrap_or(0);
        let in_span = |span: u64| -> u64 {
            flows.iter().map(|flow| (span / flow.separation().max(1) + 1) * flow.frames.len() as u64).sum()
        };
        let busy = (0..self.network.ports().len()).map(|port| self.busy(port)).max().unwrap_or(0);
        let mut span = longest.saturating_mul(2).max(busy.saturating_add(longest / 2));
        while span > 1 && in_span(span) > self.effort.frames {
            span -= span / 4 + 1;
        }
        Attack {
            timings: vec![
                Timing {
                    pivot: Self::ORIGIN,
                    before: 0,
                    pattern,
                    message: Message::Heaviest,
                    spacing: Spacing::LATEST,
                };
                flows.len()
            ],
            end: Self::ORIGIN + span,
            target: Some(self.flow),
            ties: Ties::Against,
            best_effort: BestEffort::Always,
            multiplexing: Multiplexing::Slowest,
            changes: self.changes.to_vec(),
            seed: 0,
        }
    }

    /// About how long a port can be busy without a pause, in picoseconds.
    fn busy(&self, port: usize) -> u64 {
        let Port { picoseconds_per_byte, best_effort, imperfections, .. } = self.network.ports()[port];
        let ahead = best_effort + imperfections.ring + imperfections.wake / picoseconds_per_byte;
        let here = self.network.edges().iter().filter(|edge| edge.port == port);
        let bytes = here.map(|edge| {
            let flow = &self.network.flows()[edge.flow];
            match flow.contract {
                Contract::Gated { separation, jitter, emission } => {
                    flow.bytes() * (1 + (jitter + emission) / separation)
                }
                Contract::Bucket { burst, .. } => burst,
            }
        });
        let demand = u128::from(ahead + bytes.sum::<u64>()) * u128::from(picoseconds_per_byte);
        let left = 1_000_000_u64.saturating_sub(self.network.load(port)).max(20_000);
        u64::try_from(demand * 1_000_000 / u128::from(left)).unwrap_or(u64::MAX).min(LARGEST)
    }

    /// Lets babbling sources use the window of their gate, or what their meter does not count.
    fn hold(&self, attack: &mut Attack, random: &mut Random) {
        for (flow, timing) in self.network.flows().iter().zip(&mut attack.timings) {
            if let (true, Some(Policer::Gate { window, .. })) = (flow.babbles, flow.policer) {
                let ppo = self.network.ports()[flow.tree[0].port].picoseconds_per_byte;
                let rest = flow.bytes().saturating_sub(flow.frames[0]).saturating_mul(ppo);
                let before = window.saturating_sub(rest);
                let largest = random.once_in(2);
                let opening = if largest { SMALLEST_FRAME } else { flow.frames[0] };
                timing.pattern = match random.below(4) {
                    0 => Pattern::Smallest,
                    1 if largest => Pattern::Largest,
                    _ => Pattern::Held { before, opening, largest },
                };
            }
            if flow.babbles && counts_frames(flow) {
                timing.pattern = Pattern::Smallest;
            }
        }
    }

    /// Lets flows below the target send what has the largest frame: the target waits for one frame of it.
    fn block(&self, attack: &mut Attack) {
        let target = &self.network.flows()[self.flow];
        for (flow, timing) in self.network.flows().iter().zip(&mut attack.timings) {
            let below = flow
                .tree
                .iter()
                .any(|hop| target.tree.iter().any(|other| other.port == hop.port && hop.level < other.level));
            if below && let Some(other) = loudest(flow) {
                timing.message = Message::Other(other);
            }
        }
    }
}

/// When the first and the last frame of each message of the target came to each port.
type Arrivals = Vec<Vec<(u64, u64)>>;

struct State {
    found: Found,
    /// Of the worst attack.
    arrivals: Arrivals,
    last: Attack,
    last_arrivals: Arrivals,
}
