//! What an adversary may choose, and the releases that follow from it.
use alloc::vec::Vec;

use crate::network::{Contract, Flow, Network};
use crate::policer::Bucket;
use crate::random::{Random, mix};

/// The most frames that one flow releases in one run; later ones are left out.
const MOST_FRAMES: usize = 1 << 16;

/// One choice of everything that the contracts leave open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attack {
    /// When each flow releases, by index of the flow.
    pub timings: Vec<Timing>,
    /// Nothing is released after this instant, in picoseconds.
    pub end: u64,
    /// The flow against which ties are resolved, and whose arrivals are recorded.
    pub target: Option<usize>,
    /// How equal instants are ordered.
    pub ties: Ties,
    /// When frames that nobody admitted are on the wire.
    pub best_effort: BestEffort,
    /// How long switches take.
    pub multiplexing: Multiplexing,
    /// For choices that are random.
    pub seed: u64,
}

/// When a flow releases its messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// The instant at which as much as possible is released at once, in picoseconds.
    pub pivot: u64,
    /// How many messages come before the pivot.
    pub before: u32,
    /// How the contract is used.
    pub pattern: Pattern,
}

/// How a source uses its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Gated: always equally late, so exactly one separation apart. Bucket: whole messages as soon as tokens allow.
    Steady,
    /// Gated: as late as allowed up to the pivot, as early as allowed after it. Bucket: single frames, as soon as
    /// tokens allow. This reaches the arrival curve of the contract in every interval that begins at the pivot.
    Burst,
    /// Random delays within the jitter, and now and then a longer pause. Bucket: as `Burst`, with pauses.
    Random,
    /// A babbling source sends one frame this long before the pivot and everything from the pivot on, so that
    /// a gate opens before the flood comes. Else as `Burst`.
    Held {
        /// The time between the first frame and the flood, in picoseconds.
        before: u64,
    },
}

/// The order of equal instants at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ties {
    /// Arrivals of others, then the choice of the next frame, then arrivals of the target.
    Against,
    /// The choice of the next frame, then arrivals of others, then arrivals of the target.
    ChoiceFirst,
    /// Anything.
    Random,
}

/// Frames that nobody admitted: they are of the largest size and below every level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BestEffort {
    /// One starts at every idle port just before an admitted frame arrives there.
    Always,
    /// None.
    Never,
    /// As `Always`, but only sometimes, and sometimes it is partly gone when the admitted frame arrives.
    Random,
}

/// Where in the range of a switch its latency lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Multiplexing {
    /// The largest latency for every frame.
    Slowest,
    /// The least latency for every frame.
    Fastest,
    /// A random one for every frame.
    Random,
}

/// One message, or one frame of a source that counts frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Release {
    pub(crate) at: u64,
    /// The first frame of the message.
    pub(crate) first: usize,
    /// How many frames.
    pub(crate) count: usize,
}

impl Attack {
    /// All releases of a flow, in order.
    pub(crate) fn releases(&self, network: &Network, flow: usize) -> Vec<Release> {
        let source = &network.flows()[flow];
        let timing = self.timings[flow];
        let random = Random::new(mix(self.seed) ^ flow as u64);
        if source.babbles {
            let port = &network.ports()[source.tree[0].port];
            return babble(source, timing, self.end, port.picoseconds_per_octet);
        }
        match source.contract {
            Contract::Gated { separation, jitter } => {
                let whole = |at| Release { at, first: 0, count: source.frames.len() };
                gated(separation, jitter, timing, self.end, random).into_iter().map(whole).collect()
            }
            Contract::Bucket { burst, octets, period } => {
                greedy(source, Bucket::new(burst, octets, period), burst, timing, self.end, random)
            }
        }
    }
}

fn gated(separation: u64, jitter: u64, timing: Timing, end: u64, mut random: Random) -> Vec<u64> {
    let pivot = timing.pivot;
    let mut instants: Vec<u64> = (1..=u64::from(timing.before))
        .rev()
        .filter_map(|back| pivot.checked_sub(back.checked_mul(separation)?))
        .collect();
    let random_delays = timing.pattern == Pattern::Random;
    if random_delays {
        // Earlier than their latest instants, but in order.
        let mut earliest = 0;
        for instant in &mut instants {
            *instant = instant.saturating_sub(random.between(0, jitter)).max(earliest);
            earliest = *instant;
        }
    }
    let mut last = instants.last().copied().unwrap_or(0);
    // Nominal instants lie one jitter before the latest release.
    let mut nominal = pivot;
    while instants.len() < MOST_FRAMES {
        let early = nominal.saturating_sub(jitter);
        let at = match timing.pattern {
            Pattern::Steady => nominal,
            Pattern::Burst | Pattern::Held { .. } => early.max(pivot),
            Pattern::Random => {
                let delay = if random.once_in(2) { 0 } else { random.between(0, jitter) };
                (early + delay).max(last)
            }
        };
        if at > end {
            break;
        }
        instants.push(at);
        last = at;
        let pause = if random_delays && random.once_in(8) { random.below(separation) } else { 0 };
        nominal = nominal.saturating_add(separation).saturating_add(pause);
    }
    instants
}

fn greedy(
    source: &Flow,
    mut bucket: Bucket,
    burst: u64,
    timing: Timing,
    end: u64,
    mut random: Random,
) -> Vec<Release> {
    let mut releases = Vec::new();
    let whole = timing.pattern == Pattern::Steady && source.octets() <= burst;
    let mut now = timing.pivot;
    let mut first = 0;
    let mut sent = 0;
    while sent < MOST_FRAMES {
        let count = if whole { source.frames.len() } else { 1 };
        let octets = source.frames[first..first + count].iter().sum();
        now = bucket.ready(now, octets);
        if timing.pattern == Pattern::Random && random.once_in(32) {
            now = now.saturating_add(random.below(source.separation()));
        }
        if now > end || !bucket.take(now, octets) {
            break;
        }
        releases.push(Release { at: now, first, count });
        first = (first + count) % source.frames.len();
        sent += count;
    }
    releases
}

fn babble(source: &Flow, timing: Timing, end: u64, picoseconds_per_octet: u64) -> Vec<Release> {
    let mut releases = Vec::new();
    let mut now = timing.pivot;
    if let Pattern::Held { before } = timing.pattern {
        let opening = source.frames[0] * picoseconds_per_octet;
        releases.push(Release { at: now.saturating_sub(before.max(opening)), first: 0, count: 1 });
    }
    while now <= end && releases.len() < MOST_FRAMES {
        let first = releases.len() % source.frames.len();
        releases.push(Release { at: now, first, count: 1 });
        now = now.saturating_add(source.frames[first] * picoseconds_per_octet);
    }
    releases
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing { pivot: 10_000, before: 2, pattern: Pattern::Burst };

    fn times(jitter: u64, pattern: Pattern, seed: u64) -> Vec<u64> {
        gated(1000, jitter, Timing { pattern, ..TIMING }, 13_000, Random::new(seed))
    }

    #[test]
    fn bursts_reach_the_arrival_curve() {
        assert_eq!(times(0, Pattern::Burst, 0), [8000, 9000, 10_000, 11_000, 12_000, 13_000]);
        assert_eq!(times(300, Pattern::Burst, 0), [8000, 9000, 10_000, 10_700, 11_700, 12_700]);
        assert_eq!(times(2300, Pattern::Burst, 0)[2..], [10_000, 10_000, 10_000, 10_700, 11_700, 12_700]);
        assert_eq!(times(300, Pattern::Steady, 0), times(0, Pattern::Burst, 0));
    }

    /// Releases are possible if each can have a nominal instant: as early as its delay and its predecessor allow.
    fn conforms(instants: &[u64], separation: u64, jitter: u64) -> bool {
        let mut earliest = 0;
        instants.iter().all(|at| {
            let nominal = earliest.max(at.saturating_sub(jitter));
            earliest = nominal + separation;
            nominal <= *at
        })
    }

    #[test]
    fn every_pattern_keeps_the_contract() {
        for seed in 0..2000 {
            for (pattern, jitter) in [(Pattern::Random, 300), (Pattern::Random, 2500), (Pattern::Burst, 2500)]
            {
                let instants = times(jitter, pattern, seed);
                assert!(conforms(&instants, 1000, jitter), "{seed} {pattern:?} {instants:?}");
                assert!(instants.is_sorted());
            }
        }
        assert!(!conforms(&times(300, Pattern::Burst, 0), 1000, 299));
    }
}
