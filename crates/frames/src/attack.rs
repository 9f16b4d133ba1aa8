//! What an adversary may choose, and the releases that follow from it.
use alloc::vec::Vec;

use crate::network::{Contract, Flow, Network, Port};
use crate::policer::{Bucket, Policer};
use crate::random::{Random, mix};
use crate::wire::{LARGEST_FRAME, SMALLEST_FRAME};

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
    /// When frames that are not admitted are on the wire.
    pub best_effort: BestEffort,
    /// How long switches take.
    pub multiplexing: Multiplexing,
    /// When flows change their levels at ports, and their guards: what comes from then on is queued at the new level, what is queued stays
    /// where it is.
    pub changes: Vec<Change>,
    /// For choices that are random. If it is odd, switches pad small frames before they tag them.
    pub seed: u64,
}

/// Something of a flow changes while frames of it are on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// When, in picoseconds; what comes at that very instant is treated as before.
    pub at: u64,
    /// Index of the flow.
    pub flow: usize,
    /// What is so from then on.
    pub becomes: Becomes,
}

/// What changes of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Becomes {
    /// Its level at a port.
    Level {
        /// Index of the hop in its tree.
        hop: usize,
        /// The level.
        level: u8,
    },
    /// The rule of its guard, which remembers what has passed.
    Policed(Policer),
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
    /// Which messages it sends.
    pub message: Message,
    /// How the frames of a message follow each other.
    pub spacing: Spacing,
}

/// How a source that keeps its contract hands over the frames of a message. Steady ones come at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spacing {
    /// The most time from the first frame to the last, in picoseconds; the emission of the contract if that is less.
    pub within: u64,
    /// When the others come.
    pub parts: Parts,
}

impl Spacing {
    /// All but the first as late as the contract allows.
    pub const LATEST: Self = Self { within: u64::MAX, parts: Parts::FirstAlone };
}

/// Which frames of a message come together, if they do not come at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parts {
    /// The first, and later all others.
    FirstAlone,
    /// All but the last, and that later.
    LastAlone,
    /// None: the distances are the same.
    Apart,
}

/// Which of its messages a source sends, which keeps its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// The heaviest.
    Heaviest,
    /// The one of its others with this index.
    Other(usize),
    /// At the pivot the one of its others with this index, before that the heaviest.
    OtherAtLast(usize),
    /// Any.
    Any,
}

/// How a source uses its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Gated: always equally late, so exactly one separation apart, and at once. Bucket: whole messages as soon as
    /// tokens allow.
    Steady,
    /// Gated: every frame as near to the pivot as jitter and emission allow, where the message that is nominally one
    /// jitter and one emission before the pivot is the last that can come no later than it. Bucket: single frames,
    /// as soon as tokens allow. This reaches the arrival curve of the contract in every interval that begins at the
    /// pivot, but for the first frame of a message that is handed over in parts.
    Burst,
    /// Gated: random delays within jitter and emission, short messages, and now and then a longer pause. Bucket: as
    /// `Burst`, with pauses. A babbling source sends frames of any size.
    Random,
    /// A babbling source sends nothing but the smallest frames. Else as `Burst`.
    Smallest,
    /// A babbling source fills what its guard lets through at once with the largest frames, and what is left with one more. Else as
    /// `Burst`.
    Largest,
    /// A babbling source sends one frame this long before the pivot and everything from the pivot on, so that
    /// a gate opens before the flood comes. Else as `Burst`.
    Held {
        /// The time between the first frame and the flood, in picoseconds.
        before: u64,
        /// Bytes of the first frame.
        opening: u64,
        /// Whether the flood is of the largest frames, as in `Largest`, and not of the flow's own.
        largest: bool,
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

/// Frames that are not admitted: they are of the largest size and below every level.
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
    /// Frames that come while it varies are in the queue at one instant, the first one last if the switch does not keep order.
    Bunched,
}

/// One message, or one frame of a source that counts frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Release {
    /// When its first frame is handed over.
    pub(crate) at: u64,
    /// When its last frame is.
    pub(crate) rest: u64,
    /// When those between are.
    pub(crate) parts: Parts,
    /// Bytes of its only frame, if they are not those of the flow's.
    pub(crate) size: Option<u64>,
    /// Which message of the flow it is.
    pub(crate) kind: usize,
    /// The first frame of the message.
    pub(crate) first: usize,
    /// How many frames.
    pub(crate) count: usize,
}

impl Release {
    /// When the frame with this index is handed over.
    pub(crate) fn instant(&self, index: usize) -> u64 {
        let last = self.count.saturating_sub(1);
        match self.parts {
            _ if index == 0 => self.at,
            Parts::FirstAlone => self.rest,
            Parts::LastAlone if index < last => self.at,
            Parts::LastAlone => self.rest,
            Parts::Apart => self.at + (self.rest - self.at) / last as u64 * index as u64,
        }
    }
}

impl Attack {
    /// All releases of a flow, in order.
    pub(crate) fn releases(&self, network: &Network, flow: usize) -> Vec<Release> {
        let source = &network.flows()[flow];
        let timing = self.timings[flow];
        let random = Random::new(mix(self.seed) ^ flow as u64);
        if source.babbles {
            let port = &network.ports()[source.tree[0].port];
            return babble(source, timing, self.end, port, random);
        }
        match source.contract {
            Contract::Gated { .. } => gated(source, timing, self.end, random),
            Contract::Bucket { burst, bytes, period } => {
                greedy(source, Bucket::new(burst, bytes, period), burst, timing, self.end, random)
            }
        }
    }
}

fn gated(source: &Flow, timing: Timing, end: u64, mut random: Random) -> Vec<Release> {
    let Contract::Gated { separation, jitter, emission } = source.contract else { return Vec::new() };
    let pivot = timing.pivot;
    // What has one frame is not handed over in parts.
    let emission = if source.frames.len() > 1 { emission.min(timing.spacing.within) } else { 0 };
    let latest = jitter + if timing.pattern == Pattern::Steady { 0 } else { emission };
    let mut nominal = pivot.saturating_sub(latest).saturating_sub(u64::from(timing.before) * separation);
    let mut releases = Vec::new();
    let mut frames = 0;
    let mut last = 0;
    while frames < MOST_FRAMES {
        let (at, rest) = match timing.pattern {
            Pattern::Steady => (nominal + jitter, nominal + jitter),
            Pattern::Burst | Pattern::Smallest | Pattern::Largest | Pattern::Held { .. } => {
                let at = pivot.clamp(nominal, nominal + jitter);
                (at, pivot.clamp(at, at + emission))
            }
            Pattern::Random => {
                let delay = random.between(0, jitter) * random.below(2);
                let stretch = random.between(0, emission) * random.below(2);
                (nominal + delay, nominal + delay + stretch)
            }
        };
        // Frames are handed over in order, and the next message must not be late for that.
        let at = at.max(last);
        let rest = rest.clamp(at, at.max(nominal + separation + jitter));
        if at > end {
            break;
        }
        let kind = match timing.message {
            Message::Heaviest => 0,
            Message::Other(other) => other + 1,
            Message::OtherAtLast(other) => {
                if at < pivot {
                    0
                } else {
                    other + 1
                }
            }
            Message::Any => random.index(source.others.len() + 1),
        };
        let count = source.message(kind).len();
        let parts = timing.spacing.parts;
        releases.push(Release { at, rest, parts, size: None, kind, first: 0, count });
        frames += count;
        last = if count > 1 { rest } else { at };
        let pause = pattern_pause(timing.pattern, separation, &mut random);
        nominal = nominal.saturating_add(separation).saturating_add(pause);
    }
    releases
}

fn pattern_pause(pattern: Pattern, separation: u64, random: &mut Random) -> u64 {
    if pattern == Pattern::Random && random.once_in(8) { random.below(separation) } else { 0 }
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
    let whole = timing.pattern == Pattern::Steady && source.bytes() <= burst;
    // Single frames of another message may be smaller than those of the heaviest.
    let kind = match timing.message {
        Message::Other(other) | Message::OtherAtLast(other) if !whole => other + 1,
        _ => 0,
    };
    let frames = source.message(kind);
    let mut now = timing.pivot;
    let mut first = 0;
    let mut sent = 0;
    while sent < MOST_FRAMES {
        let count = if whole { frames.len() } else { 1 };
        let bytes = frames[first..first + count].iter().sum();
        now = bucket.ready(now, bytes);
        if timing.pattern == Pattern::Random && random.once_in(32) {
            now = now.saturating_add(random.below(source.separation()));
        }
        if now > end || !bucket.take(now, bytes) {
            break;
        }
        releases.push(together(now, None, kind, first, count));
        first = (first + count) % frames.len();
        sent += count;
    }
    releases
}

fn babble(source: &Flow, timing: Timing, end: u64, port: &Port, mut random: Random) -> Vec<Release> {
    let picoseconds_per_byte = port.picoseconds_per_byte;
    let largest = source.largest_frame().max(LARGEST_FRAME + port.tag + source.tag);
    let filling = filling(source, largest, timing.pattern);
    let mut releases = Vec::new();
    let mut now = timing.pivot;
    if let Pattern::Held { before, opening, .. } = timing.pattern {
        let at = now.saturating_sub(before.max(opening * picoseconds_per_byte));
        releases.push(together(at, Some(opening), 0, 0, 1));
    }
    while now <= end && releases.len() < MOST_FRAMES {
        let first = releases.len() % source.frames.len();
        let size = match timing.pattern {
            Pattern::Random => Some(match random.below(4) {
                0 => SMALLEST_FRAME,
                1 => source.bytes().min(largest),
                _ => random.between(SMALLEST_FRAME, largest),
            }),
            Pattern::Smallest => Some(SMALLEST_FRAME),
            Pattern::Largest | Pattern::Held { largest: true, .. } => {
                Some(filling[releases.len() % filling.len()])
            }
            _ => None,
        };
        releases.push(together(now, size, 0, first, 1));
        now = now.saturating_add(size.unwrap_or(source.frames[first]) * picoseconds_per_byte);
    }
    releases
}

fn together(at: u64, size: Option<u64>, kind: usize, first: usize, count: usize) -> Release {
    Release { at, rest: at, parts: Parts::FirstAlone, size, kind, first, count }
}

/// The largest frames that fill what a guard lets through at once, and one of what is left.
fn filling(source: &Flow, largest: u64, pattern: Pattern) -> Vec<u64> {
    let before = if let Pattern::Held { opening, .. } = pattern { opening } else { 0 };
    let most = match source.policer {
        Some(Policer::Gate { bytes, .. }) => bytes.saturating_sub(before),
        Some(Policer::Meter { burst, .. }) => burst,
        None => source.bytes(),
    };
    let count = usize::try_from(most / largest).unwrap_or(MOST_FRAMES).min(MOST_FRAMES);
    let mut frames = alloc::vec![largest; count];
    let left = most % largest;
    if left > 0
        && left < SMALLEST_FRAME
        && let Some(last) = frames.last_mut()
    {
        // The last one leaves room for another one of the least size.
        *last -= SMALLEST_FRAME - left;
    }
    if left > 0 || frames.is_empty() {
        frames.push(left.max(SMALLEST_FRAME));
    }
    frames
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn releases(jitter: u64, emission: u64, pattern: Pattern, seed: u64) -> Vec<Release> {
        let contract = Contract::Gated { separation: 1000, jitter, emission };
        let source = Flow {
            tree: Vec::new(),
            frames: vec![1, 1, 1],
            others: vec![vec![1]],
            contract,
            policer: None,
            tag: 0,
            babbles: false,
        };
        let message = if pattern == Pattern::Random { Message::Any } else { Message::Heaviest };
        let parts = [Parts::FirstAlone, Parts::LastAlone, Parts::Apart][seed as usize % 3];
        let within = if seed.is_multiple_of(2) { u64::MAX } else { seed };
        let spacing = Spacing { within, parts };
        let timing = Timing { pivot: 10_000, before: 2, pattern, message, spacing };
        gated(&source, timing, 13_000, Random::new(seed))
    }

    fn times(jitter: u64, emission: u64) -> Vec<(u64, u64)> {
        let releases = releases(jitter, emission, Pattern::Burst, 0);
        releases.iter().map(|release| (release.at, release.rest)).collect()
    }

    fn together(times: &[u64]) -> Vec<(u64, u64)> {
        times.iter().map(|at| (*at, *at)).collect()
    }

    #[test]
    fn bursts_reach_the_arrival_curve() {
        assert_eq!(times(0, 0), together(&[8000, 9000, 10_000, 11_000, 12_000, 13_000]));
        assert_eq!(times(300, 0), together(&[8000, 9000, 10_000, 10_700, 11_700, 12_700]));
        let late = together(&[8000, 9000, 10_000, 10_000, 10_000, 10_700, 11_700, 12_700]);
        assert_eq!(times(2300, 0), late);
        let parts = [(7500, 8000), (8500, 9000), (9500, 10_000), (10_200, 10_200)];
        assert_eq!(times(300, 500)[..4], parts);
        let steady = releases(300, 500, Pattern::Steady, 0);
        assert!(steady.iter().map(|release| release.at).eq((8000..=13_000).step_by(1000)));
    }

    /// Releases are possible if each can have a nominal instant: as early as its delay and its predecessor allow.
    fn conforms(releases: &[Release], jitter: u64, emission: u64) -> bool {
        let mut earliest = 0;
        let mut last = 0;
        releases.iter().all(|release| {
            let nominal = earliest.max(release.at.saturating_sub(jitter));
            earliest = nominal + 1000;
            let frames: Vec<u64> = (0..release.count).map(|index| release.instant(index)).collect();
            let (first, end) = (frames[0], frames[frames.len() - 1]);
            let ordered = last <= first && frames.is_sorted();
            last = end;
            nominal <= first && ordered && first == release.at && end - first <= emission
        })
    }

    #[test]
    fn every_pattern_keeps_the_contract() {
        for seed in 0..2000 {
            for pattern in [Pattern::Random, Pattern::Burst, Pattern::Steady] {
                for (jitter, emission) in
                    [(300, 0), (2500, 0), (0, 700), (300, 900), (2500, 400), (300, 2500)]
                {
                    let releases = releases(jitter, emission, pattern, seed);
                    assert!(conforms(&releases, jitter, emission), "{seed} {pattern:?} {releases:?}");
                    assert!(releases.len() > 3);
                }
            }
        }
        assert!(!conforms(&releases(300, 0, Pattern::Burst, 0), 299, 0));
        assert!(!conforms(&releases(300, 200, Pattern::Burst, 0), 300, 199));
    }
}
