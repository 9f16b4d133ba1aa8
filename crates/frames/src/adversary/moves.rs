//! How attacks differ from each other: flows that are shifted so that they meet the target, changes of one choice, and choices at random.
use alloc::vec;
use alloc::vec::Vec;

use super::{Arrivals, Search};
use crate::attack::{Attack, BestEffort, Message, Multiplexing, Parts, Pattern, Spacing, Ties, Timing};
use crate::network::{Contract, Flow, Node};
use crate::policer::{Counts, Policer};
use crate::random::Random;
use crate::wire::SMALLEST_FRAME;

impl Search<'_> {
    /// Shifts all other flows so that they meet the target where their trees meet.
    pub(super) fn align(&self, attack: &mut Attack, arrivals: &Arrivals, variant: u32, random: &mut Random) {
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

    pub(super) fn change(&self, attack: &mut Attack, arrivals: &Arrivals, random: &mut Random) {
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

    pub(super) fn anything(&self, random: &mut Random) -> Attack {
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
pub(super) fn loudest(flow: &Flow) -> Option<usize> {
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
pub(super) fn counts_frames(flow: &Flow) -> bool {
    matches!(flow.policer, Some(Policer::Meter { counts: Counts::Frame, .. }))
}

/// The message that took longest from the first port of the path to the last.
fn worst_message(arrivals: &Arrivals, path: &[usize]) -> usize {
    let all = |hop: Option<&usize>| hop.and_then(|hop| arrivals.get(*hop));
    let (Some(first), Some(last)) = (all(path.first()), all(path.last())) else { return 0 };
    let taken = first.iter().zip(last).map(|((start, _), (_, end))| end.saturating_sub(*start));
    taken.enumerate().max_by_key(|(index, taken)| (*taken, usize::MAX - index)).map_or(0, |(index, _)| index)
}
