//! The course of a run.
use std::collections::VecDeque;

use wire::{Duration, Guid, Instant, SequenceNumber};

use super::config::Config;
use super::node::{PairNode, WriterNode};
use crate::coverage::Situation;
use crate::faults::{Fault, Kind};
use crate::invariants::{Broken, Judge};
use crate::network::{Attachment, Network, NodeId};
use crate::node::Observation;
use crate::random::Random;
use crate::sabotage::{Sabotage, Sabotaged};
use crate::scenario::Outcome;
use crate::trace::Trace;
use crate::violation::Invariant;
use crate::world::{Process, Step, World};

pub(super) const WRITER: NodeId = NodeId(0);
/// How long writing and matching may go on in all before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a run without backlog needs at most after faults have ended: two of the longest heartbeat waits and a second.
const CONVERGENCE: Duration = Duration::from_secs(2);
/// How long it must be quiet at the end.
const QUIET: Duration = Duration::from_secs(2);

/// Which side of a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Writer,
    Reader,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Control {
    Fault(Fault),
    /// The application writes.
    Write,
    /// One side matches the other, if both are still the same.
    Match(Side, Guid, Guid),
    /// One side ends the match, perhaps to begin it again after some milliseconds.
    Unmatch(Side, Guid, Guid, Option<u64>),
    /// One side learns the paths of today.
    Repath(Side, Guid, Guid),
}

pub(super) struct Run<'t> {
    pub(super) config: Config,
    pub(super) random: Random,
    pub(super) world: World<'t, Sabotaged<PairNode>, Control>,
    pub(super) judge: Judge,
    pub(super) sabotage: Option<(Sabotage, u32)>,
    /// The endpoint of each node while it lives.
    pub(super) guids: Vec<Option<Guid>>,
    pub(super) kept: VecDeque<SequenceNumber>,
    pub(super) left: u32,
    pub(super) written: u64,
    /// Largest datagram of paths that are made now.
    pub(super) max_datagram: u32,
    /// Matches and unmatches that are still to happen.
    pub(super) pending: u32,
    pub(super) observations: Vec<Observation>,
}

pub(super) fn run(seed: u64, trace: Trace<'_>, sabotage: Option<(Sabotage, u32)>) -> Outcome {
    let mut random = Random::new(seed);
    let config = Config::draw(&mut random);
    let mut run = Run::new(config, random, trace, sabotage);
    run.play();
    let violation = run.world.take_violation();
    Outcome {
        violation,
        coverage: run.world.coverage.clone(),
        hash: run.world.trace.hash(),
        events: run.world.events(),
        written: run.written,
        delivered: run.judge.delivered(),
        end: run.world.now(),
    }
}

impl<'t> Run<'t> {
    fn new(config: Config, mut random: Random, trace: Trace<'t>, sabotage: Option<(Sabotage, u32)>) -> Self {
        let mut network = Network::new(random.fork());
        let segment = network.add_segment(config.mix.profile);
        let attachment = Attachment { segment, ipv4: true, ipv6: true };
        let own = network.add_host(&[attachment]);
        let mut world = World::new(network, trace);
        for node in 0..=config.readers.len() {
            let with_writer = node == 0 || config.readers.get(node - 1).is_some_and(|plan| plan.with_writer);
            let host = if with_writer { own } else { world.network.add_host(&[attachment]) };
            world.add_process(Process {
                host,
                port: 7_410 + node as u16,
                receive_buffer: config.mix.receive_buffer,
                service_time: config.mix.service_time,
            });
        }
        let left = config.samples;
        let max_datagram = config.max_datagram;
        let guids = vec![None; config.readers.len() + 1];
        Self {
            config,
            random,
            world,
            judge: Judge::new(),
            sabotage,
            guids,
            kept: VecDeque::new(),
            left,
            written: 0,
            max_datagram,
            pending: 0,
            observations: Vec::new(),
        }
    }

    fn play(&mut self) {
        for (at, fault) in self.config.mix.timeline.clone() {
            self.world.schedule(at, Control::Fault(fault));
        }
        if self.config.mix.has(Kind::OneWayCuts) {
            self.world.coverage.hit(Situation::OneWayCut);
        }
        if self.config.mix.has(Kind::Partitions) {
            self.world.coverage.hit(Situation::Partition);
        }
        let late = |node| Fault::Join(NodeId(node));
        for node in 0..self.guids.len() {
            if !self.config.mix.timeline.iter().any(|(_, fault)| *fault == late(node)) {
                self.start(NodeId(node));
            }
        }
        self.world.schedule(Instant::START, Control::Write);
        let calm = self.config.mix.timeline.last().map_or(Instant::START, |(at, _)| *at);
        self.advance(calm);
        // What was begun is brought to an end without faults.
        let patience = calm.after(PATIENCE);
        while self.goes_on() && (self.left > 0 || self.pending > 0) {
            let next = self.world.now().after(Duration::from_millis(20));
            if next > patience {
                let (left, pending) = (self.left, self.pending);
                let what = format!("{left} samples cannot be written, {pending} matches are still to happen");
                return self.world.fail(Invariant::Converges, what);
            }
            self.advance(next);
        }
        let deadline = self.world.now().after(CONVERGENCE).after(self.backlog_time());
        while self.goes_on()
            && let Some(missing) = self.missing()
        {
            if self.world.now() >= deadline {
                return self.world.fail(Invariant::Converges, missing);
            }
            self.advance(self.world.now().after(Duration::from_millis(20)).min(deadline));
        }
        self.quiet();
        (0..self.guids.len()).for_each(|node| self.note_counters(NodeId(node)));
    }

    /// When nothing happens any more, nothing is sent.
    fn quiet(&mut self) {
        self.advance(self.world.now().after(Duration::from_secs(1)));
        let nodes: Vec<NodeId> = (0..self.guids.len()).map(NodeId).collect();
        let before: Vec<u64> = nodes.iter().map(|node| self.world.sent(*node)).collect();
        self.advance(self.world.now().after(QUIET));
        for (node, before) in nodes.into_iter().zip(before) {
            let sent = self.world.sent(node) - before;
            if sent > 2 {
                let what = format!("n{} sends {sent} datagrams in 2 s although all is acknowledged", node.0);
                self.world.fail(Invariant::Quiet, what);
            }
        }
    }

    pub(super) fn goes_on(&self) -> bool {
        self.world.violation().is_none()
    }

    /// What is left to do counted in window-fulls, each of which takes a round trip.
    fn backlog_time(&self) -> Duration {
        let held = self.with_writer(|node| node.writer.held_bytes()).unwrap_or(0) as u64;
        let buffer =
            if self.config.tells_buffer { self.config.mix.receive_buffer as u64 / 2 } else { u64::MAX };
        let window = u64::from(self.config.window).min(buffer).min(16 << 10);
        let profile = &self.config.mix.profile;
        let trip = profile.delay.saturating_add(profile.jitter).saturating_add(Duration::from_millis(25));
        let rounds = (held * 3 / window.max(1)) as u32;
        trip.scaled(rounds * 2 * self.guids.len() as u32, 1)
    }

    fn missing(&self) -> Option<String> {
        self.judge.pending().or_else(|| {
            self.with_writer(|node| {
                let last = node.writer.last();
                (self.config.reliable && !node.writer.is_acknowledged(last))
                    .then(|| format!("the writer misses acknowledgements up to {last:?}"))
            })
            .flatten()
        })
    }

    pub(super) fn advance(&mut self, until: Instant) {
        while self.goes_on() {
            match self.world.step(until) {
                Step::Ended => return,
                Step::Passed => {}
                Step::Acted(node) => self.judge_node(node),
                Step::Control(control) => self.control(control),
            }
        }
    }

    pub(super) fn judge_node(&mut self, node: NodeId) {
        let mut observations = std::mem::take(&mut self.observations);
        self.world.take_observations(node, &mut observations);
        // Only readers that tell their buffer are known as ours, and heard out until they know where their history ends.
        let told_exactly = self.config.tells_buffer;
        observations.retain(|seen| told_exactly || !matches!(seen, Observation::HasHistory { .. }));
        for observation in observations.drain(..) {
            let verdict = self.judge.observe(&observation, &mut self.world.coverage);
            self.rule(verdict);
            if self.world.trace.is_verbose() {
                let text = match &observation {
                    Observation::Delivered { writer, number, payload, .. } => {
                        format!("delivered {number:?} of {writer}, {} bytes", payload.len())
                    }
                    other => format!("{other:?}"),
                };
                self.world.trace.line(self.world.now(), format_args!("n{} {text}", node.0));
            }
        }
        self.observations = observations;
    }

    pub(super) fn rule(&mut self, verdict: Result<(), Broken>) {
        if let Err((invariant, what)) = verdict {
            self.world.fail(invariant, what);
        }
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::Fault(fault) => self.fault(fault),
            Control::Write => self.write(),
            Control::Match(side, writer, reader)
            | Control::Unmatch(side, writer, reader, _)
            | Control::Repath(side, writer, reader) => {
                let own = match side {
                    Side::Writer => writer,
                    Side::Reader => reader,
                };
                let Some(node) = self.node_of(own) else {
                    self.pending -= 1;
                    return;
                };
                if self.world.is_stalled(node) {
                    let later = self.world.now().after(Duration::from_millis(10));
                    return self.world.schedule(later, control);
                }
                self.pending -= 1;
                match control {
                    Control::Match(..) => self.match_one(side, writer, reader, true),
                    Control::Repath(..) => self.match_one(side, writer, reader, false),
                    Control::Unmatch(.., again) => self.unmatch_one(side, writer, reader, again),
                    Control::Fault(_) | Control::Write => {}
                }
            }
        }
    }

    pub(super) fn node_of(&self, guid: Guid) -> Option<NodeId> {
        self.guids.iter().position(|own| *own == Some(guid)).map(NodeId)
    }

    pub(super) fn with_writer<R>(&self, look: impl FnOnce(&WriterNode) -> R) -> Option<R> {
        match self.world.node(WRITER)?.inner() {
            PairNode::Writer(node) => Some(look(node)),
            PairNode::Reader(_) => None,
        }
    }
}
