//! The search for the attack that is worst for one delivery.
//!
//! First come attacks with a reason: everything at once, then critical instants that are propagated back: the others
//! are shifted so that their bursts come to a shared port when the target does, as the last run showed it. From the
//! worst of them the search climbs: it changes one choice at a time and keeps what is not better for the target.
//! Random attacks complete it. None of this proves that the worst case was found; [`Search::exhaustive`] says what
//! it proves.
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::attack::{
    Attack, BestEffort, Change, Message, Multiplexing, Parts, Pattern, Spacing, Ties, Timing,
};
use crate::engine::run;
use crate::network::{Contract, Flow, LARGEST, Network, Node, Port};
use crate::outcome::{Bounds, Outcome};
use crate::policer::{Counts, Policer};
use crate::random::Random;
use crate::wire::SMALLEST_FRAME;

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

    /// Shifts all other flows so that they meet the target where their trees meet.
    fn align(&self, attack: &mut Attack, arrivals: &Arrivals, variant: u32, random: &mut Random) {
        let network = self.network;
        let path = network.path(self.flow, self.hop);
        let message = worst_message(arrivals, &path);
        // When the pivot's burst should come to a port, for ports where that is known.
        let mut meeting: Vec<Option<u64>> = vec![None; network.ports().len()];
        for hop in path {
            let (first, last) = arrivals.get(hop).and_then(|all| all.get(message)).copied().unwrap_or((0, 0));
            if last > 0 {
                let at = if (variant / 3).is_multiple_of(2) { first } else { last };
                meeting[network.flows()[self.flow].tree[hop].port] = Some(at);
            }
        }
        let mut waiting: Vec<usize> = (0..network.flows().len()).filter(|flow| *flow != self.flow).collect();
        loop {
            let before = waiting.len();
            let known = meeting.clone();
            waiting.retain(|flow| {
                let tree = &network.flows()[*flow].tree;
                let shared: Vec<usize> =
                    (0..tree.len()).filter(|hop| known[tree[*hop].port].is_some()).collect();
                let chosen = match variant % 3 {
                    0 => shared.first(),
                    1 => shared.last(),
                    _ => shared.get(random.index(shared.len())),
                };
                let Some(hop) = chosen else { return true };
                let Some(at) = known[tree[*hop].port] else { return true };
                let nudge = match variant {
                    // All that the others may send at once has just come when the target does.
                    1 | 2 => self.whole(*flow, tree[*hop].port, attack),
                    _ => self.nudge(*flow, tree[*hop].port, random),
                };
                let pivot = at.saturating_sub(self.fastest(*flow, *hop)).saturating_sub(nudge);
                attack.timings[*flow].pivot = pivot;
                for (hop, edge) in tree.iter().enumerate() {
                    meeting[edge.port].get_or_insert(pivot + self.fastest(*flow, hop));
                }
                false
            });
            if waiting.len() == before {
                break;
            }
        }
    }

    /// How long all that a flow may send at once takes to come to a port.
    fn whole(&self, flow: usize, port: usize, attack: &Attack) -> u64 {
        let source = &self.network.flows()[flow];
        let kind = match attack.timings[flow].message {
            Message::Other(other) | Message::OtherAtLast(other) => other + 1,
            Message::Heaviest | Message::Any => 0,
        };
        let bytes = match source.policer {
            Some(Policer::Gate { bytes, .. }) if source.babbles => bytes,
            _ => source.message(kind).iter().sum(),
        };
        let before = source.tree.iter().map(|hop| &self.network.ports()[hop.port]);
        let before = before.take_while(|other| other.from != self.network.ports()[port].from);
        bytes * before.map(|port| port.picoseconds_per_byte).max().unwrap_or(0) + 1
    }

    /// How much earlier than exactly a flow might come.
    fn nudge(&self, flow: usize, port: usize, random: &mut Random) -> u64 {
        let ppo = self.network.ports()[port].picoseconds_per_byte;
        let flow = &self.network.flows()[flow];
        match random.below(6) {
            0 => 1,
            1 => flow.frames[0] * ppo,
            2 => flow.bytes() * ppo,
            3 => random.below(flow.bytes() * ppo),
            _ => 0,
        }
    }

    /// The least time from the release of a flow's message until its first frame comes to the port of `hop`.
    fn fastest(&self, flow: usize, hop: usize) -> u64 {
        let (network, source) = (self.network, &self.network.flows()[flow]);
        let path = network.path(flow, hop);
        let before = path.iter().take(path.len().saturating_sub(1));
        before
            .map(|hop| {
                let port = &network.ports()[source.tree[*hop].port];
                let switch = match network.nodes()[port.to] {
                    Node::Switch { slowest, .. } => slowest,
                    Node::Host => 0,
                };
                source.frames[0] * port.picoseconds_per_byte + port.propagation + switch
            })
            .sum()
    }

    fn change(&self, attack: &mut Attack, arrivals: &Arrivals, random: &mut Random) {
        let flows = self.network.flows();
        let flow = random.index(flows.len());
        let source = &flows[flow];
        let ppo = self.network.ports()[source.tree[0].port].picoseconds_per_byte;
        if emission(source) > 0 && random.once_in(5) {
            attack.timings[flow].spacing = self.spacing(flow, random);
            return;
        }
        let timing = &mut attack.timings[flow];
        let distance = match random.below(if source.others.is_empty() { 16 } else { 18 }) {
            0..=2 => random.between(1, 2),
            3..=6 => random.between(1, 3) * source.frames[random.index(source.frames.len())] * ppo,
            7..=8 => random.below(source.bytes() * ppo),
            9 => random.below(source.separation()),
            10 => {
                self.meet(attack, flow, random);
                return;
            }
            11 => {
                timing.before = u32::try_from(random.below(4)).unwrap_or(0);
                return;
            }
            12 => {
                timing.pattern = self.pattern(flow, random);
                return;
            }
            13 => {
                let variant = u32::try_from(random.below(6)).unwrap_or(0);
                self.align(attack, arrivals, variant, random);
                return;
            }
            14 => {
                self.circumstances(attack, random);
                return;
            }
            16 | 17 => {
                timing.message = message(source, random);
                return;
            }
            _ => {
                attack.seed = random.bits();
                return;
            }
        };
        timing.pivot = if random.once_in(2) {
            timing.pivot.saturating_add(distance)
        } else {
            timing.pivot.saturating_sub(distance)
        };
    }

    /// Shifts a flow so that one of its first messages comes to a shared port together with one of another flow: the
    /// worst message of a busy period comes together with a message of its level.
    fn meet(&self, attack: &mut Attack, flow: usize, random: &mut Random) {
        let flows = self.network.flows();
        let other = random.index(flows.len());
        let shared = (0..flows[flow].tree.len()).find_map(|hop| {
            let port = flows[flow].tree[hop].port;
            let there = flows[other].tree.iter().position(|edge| edge.port == port)?;
            Some((hop, there))
        });
        let Some((hop, there)) = shared.filter(|_| flow != other) else { return };
        let mut later = |flow: usize| {
            let jitter = match flows[flow].contract {
                Contract::Gated { jitter, .. } => jitter,
                Contract::Bucket { .. } => 0,
            };
            random.below(4).saturating_mul(flows[flow].separation()).saturating_sub(jitter)
        };
        let at = attack.timings[other].pivot + self.fastest(other, there) + later(other);
        attack.timings[flow].pivot = at.saturating_sub(self.fastest(flow, hop)).saturating_sub(later(flow));
    }

    /// How the frames of a message follow each other: all that the contract allows, or so that they meet a message of another flow.
    fn spacing(&self, flow: usize, random: &mut Random) -> Spacing {
        let flows = self.network.flows();
        let most = emission(&flows[flow]);
        if most == 0 {
            return Spacing::LATEST;
        }
        let within = match random.below(4) {
            0 => most,
            1 => random.below(most),
            _ => {
                let other = &flows[random.index(flows.len())];
                let ppo = self.network.ports()[other.tree[0].port].picoseconds_per_byte;
                let next = other.separation().saturating_mul(random.between(1, 2));
                next.saturating_sub(random.below(2) * other.bytes() * ppo).saturating_add(random.below(3))
            }
        };
        Spacing { within, parts: [Parts::FirstAlone, Parts::LastAlone, Parts::Apart][random.index(3)] }
    }

    fn pattern(&self, flow: usize, random: &mut Random) -> Pattern {
        let flow = &self.network.flows()[flow];
        if let (true, Some(Policer::Gate { window, .. })) = (flow.babbles, flow.policer) {
            let opening = if random.once_in(2) { flow.frames[0] } else { SMALLEST_FRAME };
            if !random.once_in(3) {
                return Pattern::Held {
                    before: random.between(0, window),
                    opening,
                    largest: random.once_in(2),
                };
            }
        }
        if flow.babbles && counts_frames(flow) && !random.once_in(3) {
            return Pattern::Smallest;
        }
        if flow.babbles {
            return [Pattern::Random, Pattern::Burst, Pattern::Largest, Pattern::Smallest][random.index(4)];
        }
        let jitter = matches!(flow.contract, Contract::Gated { jitter, emission, .. } if jitter + emission > 0)
            || !flow.others.is_empty();
        match random.below(4) {
            0 => Pattern::Steady,
            1 if jitter => Pattern::Random,
            _ => Pattern::Burst,
        }
    }

    fn circumstances(&self, attack: &mut Attack, random: &mut Random) {
        attack.ties = match random.below(3) {
            0 => Ties::Against,
            1 => Ties::ChoiceFirst,
            _ => Ties::Random,
        };
        attack.best_effort = match random.below(4) {
            0 => BestEffort::Never,
            1 => BestEffort::Random,
            _ => BestEffort::Always,
        };
        let varies = |node: &Node| matches!(node, Node::Switch { fastest, slowest, .. } if fastest < slowest);
        let bunches = self.network.nodes().iter().any(varies);
        attack.multiplexing = match random.below(if bunches { 4 } else { 3 }) {
            0 => Multiplexing::Fastest,
            1 => Multiplexing::Random,
            2 => Multiplexing::Slowest,
            _ => Multiplexing::Bunched,
        };
    }

    fn anything(&self, random: &mut Random) -> Attack {
        let mut attack = self.synchronous(Pattern::Burst);
        attack.seed = random.bits();
        self.circumstances(&mut attack, random);
        for (flow, source) in self.network.flows().iter().enumerate() {
            let pivot = attack.timings[flow].pivot + random.below(source.separation());
            let before = u32::try_from(random.below(3)).unwrap_or(0);
            let pattern = self.pattern(flow, random);
            let (message, spacing) = (message(source, random), self.spacing(flow, random));
            attack.timings[flow] = Timing { pivot, before, pattern, message, spacing };
        }
        attack
    }
}

/// How long a flow may take to hand over a message, if that has several frames.
fn emission(flow: &Flow) -> u64 {
    match flow.contract {
        Contract::Gated { emission, .. } if flow.frames.len() > 1 => emission,
        _ => 0,
    }
}

/// Which of a flow's other messages has the largest frame, if that is larger than those of the heaviest.
fn loudest(flow: &Flow) -> Option<usize> {
    let largest = |frames: &[u64]| frames.iter().copied().max().unwrap_or(0);
    let (index, frame) =
        flow.others.iter().map(|other| largest(other)).enumerate().max_by_key(|(_, frame)| *frame)?;
    (frame > largest(&flow.frames)).then_some(index)
}

/// Some choice of messages.
fn message(flow: &Flow, random: &mut Random) -> Message {
    let other = random.index(flow.others.len());
    match random.below(5) {
        _ if flow.others.is_empty() => Message::Heaviest,
        0 => Message::Heaviest,
        1 => Message::Any,
        2 => Message::OtherAtLast(other),
        3 => loudest(flow).map_or(Message::Heaviest, Message::Other),
        _ => Message::Other(other),
    }
}

/// Whether a meter guards the flow that counts less of small frames.
fn counts_frames(flow: &Flow) -> bool {
    matches!(flow.policer, Some(Policer::Meter { counts: Counts::Frame, .. }))
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

/// The message that took longest from the first port of the path to the last.
fn worst_message(arrivals: &Arrivals, path: &[usize]) -> usize {
    let all = |hop: Option<&usize>| hop.and_then(|hop| arrivals.get(*hop));
    let (Some(first), Some(last)) = (all(path.first()), all(path.last())) else { return 0 };
    let taken = first.iter().zip(last).map(|((start, _), (_, end))| end.saturating_sub(*start));
    taken.enumerate().max_by_key(|(index, taken)| (*taken, usize::MAX - index)).map_or(0, |(index, _)| index)
}
