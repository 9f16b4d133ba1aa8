//! Faults, and the mix of them that a seed draws (swarm testing: each seed leaves some kinds out entirely, so that
//! the others can go further than they would among all).
use std::fmt;

use wire::{Duration, Instant};

use crate::network::{NodeId, Profile};
use crate::random::Random;

/// A kind of fault that a mix may contain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Independent loss, up to one half.
    Loss,
    /// Bursts of loss.
    Bursts,
    /// Datagrams that arrive twice.
    Duplicates,
    /// Datagrams that overtake others.
    Reordering,
    /// Long and varying delay.
    Delay,
    /// An MTU other than that of Ethernet.
    OtherMtu,
    /// Small receive buffers.
    SmallBuffers,
    /// Processes that take long for each datagram.
    SlowProcesses,
    /// Links cut in one direction for a while.
    OneWayCuts,
    /// Groups of nodes cut off from each other for a while.
    Partitions,
    /// Nodes that vanish; some come back under a new name.
    Crashes,
    /// Nodes that leave in good order.
    Leaves,
    /// Nodes that start late.
    LateJoins,
    /// Processes that are not run for a while.
    Stalls,
    /// Readers that refuse samples for a while.
    SlowReaders,
    /// Hosts that get new addresses.
    AddressChanges,
    /// Wall clocks that jump.
    ClockJumps,
    /// Matches that end and begin again, on one side or both.
    Rematches,
    /// Announcements with forged sources.
    Spoofing,
    /// Sockets that have no room for what is to be sent, for a while.
    FullSockets,
}

/// Something that is done to the world at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Datagrams between the hosts of two nodes are lost, in one direction.
    Cut {
        /// From this node's host.
        from: NodeId,
        /// To this node's host.
        to: NodeId,
    },
    /// Takes a cut back.
    Mend {
        /// From this node's host.
        from: NodeId,
        /// To this node's host.
        to: NodeId,
    },
    /// A process is not run.
    Stall {
        /// Which.
        node: NodeId,
        /// How long.
        lasts: Duration,
    },
    /// The wall clock of a node's host is set.
    ClockJump {
        /// Whose.
        node: NodeId,
        /// By how much.
        by: Duration,
    },
    /// Every fault of the network ends.
    Calm,
    /// A node vanishes.
    Crash(NodeId),
    /// A vanished node comes back under a new name.
    Restart(NodeId),
    /// A node starts for the first time.
    Join(NodeId),
    /// A node leaves in good order.
    Leave(NodeId),
    /// A node's readers refuse samples.
    Refuse(NodeId),
    /// A node's readers accept samples again.
    Accept(NodeId),
    /// A node's host gets new addresses.
    Renumber(NodeId),
    /// A match with this node is ended, to begin again.
    Unmatch {
        /// Which.
        node: NodeId,
        /// How long it is ended.
        lasts: Duration,
    },
    /// An announcement with a forged source is sent to a node.
    Spoof(NodeId),
    /// A node's sockets take nothing.
    Fill(NodeId),
    /// A node's sockets take datagrams again.
    Drain(NodeId),
}

/// What a seed has drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mix {
    /// The kinds in it.
    pub kinds: Vec<Kind>,
    /// What the segments do until faults end.
    pub profile: Profile,
    /// Bytes of every receive buffer.
    pub receive_buffer: usize,
    /// Time that each process takes for a datagram.
    pub service_time: Duration,
    /// What is done when; sorted by time.
    pub timeline: Vec<(Instant, Fault)>,
}

/// What a mix is drawn for.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The kinds that the scenario can bear.
    pub allowed: &'a [Kind],
    /// Number of nodes, numbered from 0.
    pub nodes: usize,
    /// Faults last from the start of time until here; at this time all is calm.
    pub until: Instant,
    /// Longest cut.
    pub longest_cut: Duration,
    /// Nodes below this number never crash, leave or join late.
    pub permanent: usize,
}

impl Mix {
    /// Draws each allowed kind with a probability of one third, and a magnitude and times for each drawn.
    pub fn draw(random: &mut Random, frame: &Frame<'_>) -> Self {
        let kinds: Vec<Kind> = frame.allowed.iter().copied().filter(|_| random.chance(333_333)).collect();
        let mut mix = Self {
            profile: Profile { fragments: random.coin(), ..Profile::CALM },
            receive_buffer: 212_992,
            service_time: Duration::ZERO,
            timeline: vec![(frame.until, Fault::Calm)],
            kinds: Vec::new(),
        };
        for kind in &kinds {
            mix.add(*kind, random, frame);
        }
        mix.kinds = kinds;
        mix.timeline.sort_by_key(|(at, _)| *at);
        mix
    }

    /// True if a kind was drawn.
    pub fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    fn add(&mut self, kind: Kind, random: &mut Random, frame: &Frame<'_>) {
        let profile = &mut self.profile;
        match kind {
            // Small magnitudes as often as large ones.
            Kind::Loss => {
                let most = random.pick(&[20_000, 100_000, 500_000]).unwrap_or(100_000);
                profile.loss = random.within(1_000..=most) as u32;
            }
            Kind::Bursts => {
                profile.burst = random.within(500..=20_000) as u32;
                profile.burst_length = random.within(2..=100) as u32;
            }
            Kind::Duplicates => profile.duplicate = random.within(1_000..=200_000) as u32,
            Kind::Reordering => {
                profile.reorder = random.within(1_000..=300_000) as u32;
                profile.reorder_delay = micros(random, 100, 30_000);
            }
            Kind::Delay => {
                profile.delay = micros(random, 10, 20_000);
                profile.jitter = micros(random, 0, 20_000);
            }
            Kind::OtherMtu => profile.mtu = random.pick(&[576, 1_280, 4_000, 9_000]).unwrap_or(1_500),
            Kind::SmallBuffers => self.receive_buffer = random.within(16 << 10..=64 << 10) as usize,
            Kind::SlowProcesses => self.service_time = micros(random, 5, 300),
            Kind::OneWayCuts => self.repeat(random, frame, 3, |random, at, end, add| {
                if let Some((from, to)) = two(random, frame.nodes) {
                    add(at, Fault::Cut { from, to });
                    add(end, Fault::Mend { from, to });
                }
            }),
            Kind::Partitions => self.repeat(random, frame, 2, |random, at, end, add| {
                let side: Vec<bool> = (0..frame.nodes).map(|_| random.coin()).collect();
                for (a, of_a) in side.iter().enumerate() {
                    for (b, of_b) in side.iter().enumerate() {
                        if of_a != of_b {
                            let (from, to) = (NodeId(a), NodeId(b));
                            add(at, Fault::Cut { from, to });
                            add(end, Fault::Mend { from, to });
                        }
                    }
                }
            }),
            Kind::Crashes => self.repeat(random, frame, 2, |random, at, end, add| {
                if let Some(node) = mortal(random, frame) {
                    add(at, Fault::Crash(node));
                    if !random.chance(200_000) {
                        add(end, Fault::Restart(node));
                    }
                }
            }),
            Kind::Leaves => self.repeat(random, frame, 1, |random, at, end, add| {
                if let Some(node) = mortal(random, frame) {
                    add(at, Fault::Leave(node));
                    if random.coin() {
                        add(end, Fault::Restart(node));
                    }
                }
            }),
            Kind::LateJoins => {
                for node in frame.permanent..frame.nodes {
                    if random.coin() {
                        self.timeline.push((moment(random, frame.until), Fault::Join(NodeId(node))));
                    }
                }
            }
            Kind::Stalls => self.repeat(random, frame, 4, |random, at, end, add| {
                if let Some(node) = any(random, frame.nodes) {
                    add(at, Fault::Stall { node, lasts: end.since(at) });
                }
            }),
            Kind::SlowReaders => self.repeat(random, frame, 4, |random, at, end, add| {
                if let Some(node) = any(random, frame.nodes) {
                    add(at, Fault::Refuse(node));
                    add(end, Fault::Accept(node));
                }
            }),
            Kind::AddressChanges => self.repeat(random, frame, 2, |random, at, _, add| {
                if let Some(node) = any(random, frame.nodes) {
                    add(at, Fault::Renumber(node));
                }
            }),
            Kind::ClockJumps => self.repeat(random, frame, 3, |random, at, _, add| {
                let Some(node) = any(random, frame.nodes) else { return };
                let secs = random.pick(&[1, 60, 86_400, 315_360_000]).unwrap_or(1);
                let by = Duration::from_secs(if random.coin() { secs } else { -secs });
                add(at, Fault::ClockJump { node, by });
            }),
            Kind::Rematches => self.repeat(random, frame, 3, |random, at, end, add| {
                if let Some(node) = any(random, frame.nodes) {
                    add(at, Fault::Unmatch { node, lasts: end.since(at) });
                }
            }),
            Kind::Spoofing => self.repeat(random, frame, 8, |random, at, _, add| {
                if let Some(node) = any(random, frame.nodes) {
                    add(at, Fault::Spoof(node));
                }
            }),
            Kind::FullSockets => self.repeat(random, frame, 4, |random, at, end, add| {
                if let Some(node) = any(random, frame.nodes) {
                    add(at, Fault::Fill(node));
                    add(end, Fault::Drain(node));
                }
            }),
        }
    }

    /// Adds up to `most` episodes, each with a begin and an end before faults end.
    fn repeat(
        &mut self,
        random: &mut Random,
        frame: &Frame<'_>,
        most: u64,
        mut episode: impl FnMut(&mut Random, Instant, Instant, &mut dyn FnMut(Instant, Fault)),
    ) {
        for _ in 0..random.within(1..=most) {
            let at = moment(random, frame.until);
            let longest = frame.longest_cut.as_nanos().max(1_000_000) as u64;
            let lasts = match random.coin() {
                true => random.within(1_000_000..=longest),
                false => random.within(1_000_000..=longest / 8 + 1_000_000),
            };
            let end = at.after(Duration::from_nanos(lasts as i64)).min(frame.until);
            episode(random, at, end, &mut |at, fault| self.timeline.push((at, fault)));
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "faults: {:?}", self.kinds)?;
        writeln!(f, "network: {}", self.profile)?;
        let service = self.service_time.as_nanos() / 1_000;
        writeln!(f, "processes: receive buffer {} octets, {service} us per datagram", self.receive_buffer)?;
        for (at, fault) in &self.timeline {
            writeln!(f, "  {:>6} ms {fault:?}", at.as_nanos() / 1_000_000)?;
        }
        Ok(())
    }
}

fn moment(random: &mut Random, until: Instant) -> Instant {
    Instant::from_nanos(random.below(until.as_nanos()))
}

fn micros(random: &mut Random, least: u64, most: u64) -> Duration {
    Duration::from_micros(random.within(least..=most) as i64)
}

fn any(random: &mut Random, nodes: usize) -> Option<NodeId> {
    (nodes > 0).then(|| NodeId(random.below(nodes as u64) as usize))
}

fn mortal(random: &mut Random, frame: &Frame<'_>) -> Option<NodeId> {
    let count = frame.nodes.checked_sub(frame.permanent).filter(|count| *count > 0)?;
    Some(NodeId(frame.permanent + random.below(count as u64) as usize))
}

fn two(random: &mut Random, nodes: usize) -> Option<(NodeId, NodeId)> {
    let first = any(random, nodes)?.0;
    let step = 1 + random.below(nodes.checked_sub(1).filter(|others| *others > 0)? as u64) as usize;
    Some((NodeId(first), NodeId((first + step) % nodes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Kind] = &[
        Kind::Loss,
        Kind::Partitions,
        Kind::OneWayCuts,
        Kind::Crashes,
        Kind::LateJoins,
        Kind::Stalls,
        Kind::SlowReaders,
    ];

    #[test]
    fn mixes_differ_and_end_before_their_time() {
        let frame = Frame {
            allowed: ALL,
            nodes: 5,
            until: Instant::from_nanos(3_000_000_000),
            longest_cut: Duration::from_secs(1),
            permanent: 1,
        };
        let mut counts = [0; ALL.len()];
        for seed in 0..300 {
            let mix = Mix::draw(&mut Random::new(seed), &frame);
            assert_eq!(mix, Mix::draw(&mut Random::new(seed), &frame));
            for (count, kind) in counts.iter_mut().zip(ALL) {
                *count += u32::from(mix.has(*kind));
            }
            assert!(mix.timeline.iter().all(|(at, _)| *at <= frame.until));
            assert!(mix.timeline.is_sorted_by_key(|(at, _)| *at));
            let cuts = mix.timeline.iter().filter(|(_, fault)| matches!(fault, Fault::Cut { .. })).count();
            let mends = mix.timeline.iter().filter(|(_, fault)| matches!(fault, Fault::Mend { .. })).count();
            assert_eq!(cuts, mends);
            let dies = |(_, fault): &(Instant, Fault)| matches!(fault, Fault::Crash(NodeId(0)));
            assert!(!mix.timeline.iter().any(dies));
        }
        assert!(counts.iter().all(|count| (60..140).contains(count)), "{counts:?}");
    }
}
