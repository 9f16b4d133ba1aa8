//! The course of a run.
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use rtps::Path;
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::writer::{Body, Change, MatchedReader, WriteError, Writer, WriterConfig};
use wire::message::PayloadKind;
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix, Instant, SequenceNumber};

use super::config::Config;
use super::node::{PairNode, ReaderNode, WriterNode};
use crate::coverage::Situation;
use crate::faults::{Fault, Kind};
use crate::invariants::{Broken, Judge};
use crate::network::{Attachment, Network, NodeId};
use crate::node::Observation;
use crate::payload;
use crate::random::Random;
use crate::sabotage::{Sabotage, Sabotaged};
use crate::scenario::Outcome;
use crate::trace::Trace;
use crate::violation::Invariant;
use crate::world::{Process, Step, World};

const WRITER: NodeId = NodeId(0);
/// How long writing and matching may go on in all before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a run without backlog needs at most after faults have ended: two of the longest heartbeat waits and a second.
const CONVERGENCE: Duration = Duration::from_secs(2);
/// How long it must be quiet at the end.
const QUIET: Duration = Duration::from_secs(2);

/// Which side of a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Writer,
    Reader,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Control {
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

struct Run<'t> {
    config: Config,
    random: Random,
    world: World<'t, Sabotaged<PairNode>, Control>,
    judge: Judge,
    sabotage: Option<(Sabotage, u32)>,
    /// The endpoint of each node while it lives.
    guids: Vec<Option<Guid>>,
    kept: VecDeque<SequenceNumber>,
    left: u32,
    written: u64,
    /// Matches and unmatches that are still to happen.
    pending: u32,
    observations: Vec<Observation>,
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

    fn goes_on(&self) -> bool {
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

    fn advance(&mut self, until: Instant) {
        while self.goes_on() {
            match self.world.step(until) {
                Step::Ended => return,
                Step::Passed => {}
                Step::Acted(node) => self.judge_node(node),
                Step::Control(control) => self.control(control),
            }
        }
    }

    fn judge_node(&mut self, node: NodeId) {
        let mut observations = std::mem::take(&mut self.observations);
        self.world.take_observations(node, &mut observations);
        for observation in observations.drain(..) {
            let verdict = self.judge.observe(&observation, &mut self.world.coverage);
            self.rule(verdict);
            if self.world.trace.is_verbose() {
                let text = match &observation {
                    Observation::Delivered { writer, number, payload, .. } => {
                        format!("delivered {number:?} of {writer}, {} octets", payload.len())
                    }
                    other => format!("{other:?}"),
                };
                self.world.trace.line(self.world.now(), format_args!("n{} {text}", node.0));
            }
        }
        self.observations = observations;
    }

    fn rule(&mut self, verdict: Result<(), Broken>) {
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

    fn node_of(&self, guid: Guid) -> Option<NodeId> {
        self.guids.iter().position(|own| *own == Some(guid)).map(NodeId)
    }

    fn with_writer<R>(&self, look: impl FnOnce(&WriterNode) -> R) -> Option<R> {
        match self.world.node(WRITER)?.inner() {
            PairNode::Writer(node) => Some(look(node)),
            PairNode::Reader(_) => None,
        }
    }

    fn start_if_down(&mut self, id: NodeId, situation: Situation) {
        if self.guids.get(id.0).is_some_and(Option::is_none) {
            self.world.coverage.hit(situation);
            self.start(id);
        }
    }

    fn start(&mut self, id: NodeId) {
        let kind = if id == WRITER { EntityKind::WriterNoKey } else { EntityKind::ReaderNoKey };
        let prefix = GuidPrefix(self.random.octets());
        let guid = Guid::new(prefix, EntityId::user(id.0 as u32 + 1, kind));
        self.world.monitor.name(prefix, format!("n{}", id.0));
        let Some(host) = self.world.process(id).map(|process| process.host) else { return };
        self.world.network.bind(host, 7_410 + id.0 as u16, id);
        let Config { reliable, retain, byte_limit, window, batch_delay, .. } = self.config;
        let node = if id == WRITER {
            self.judge.add_writer(guid, reliable, retain);
            let config = WriterConfig::new(guid, reliable);
            self.kept.clear();
            let config = WriterConfig { retain, byte_limit, window, batch_delay, ..config };
            PairNode::Writer(WriterNode::new(Writer::new(config)))
        } else {
            let Some(plan) = self.config.readers.get(id.0 - 1).copied() else { return };
            self.judge.add_reader(guid, plan.reliable, plan.wants_history);
            for group in [group(true), group(false)] {
                self.world.network.join(host, group, id);
            }
            let config = ReaderConfig::new(guid, plan.reliable);
            PairNode::Reader(ReaderNode::new(Reader::new(ReaderConfig {
                byte_limit: plan.byte_limit,
                ..config
            })))
        };
        let node = match self.sabotage {
            Some((sabotage, after)) if id == NodeId(1) => Sabotaged::new(node, sabotage, after),
            _ => Sabotaged::honest(node),
        };
        if let Some(slot) = self.guids.get_mut(id.0) {
            *slot = Some(guid);
        }
        self.world.start(id, node);
        // Each side learns of the other at a time of its own.
        let others: Vec<Guid> = match id {
            WRITER => self.guids.iter().skip(1).flatten().copied().collect(),
            _ => self.guids.first().copied().flatten().into_iter().collect(),
        };
        for other in others {
            let (writer, reader) = if id == WRITER { (guid, other) } else { (other, guid) };
            for side in [Side::Writer, Side::Reader] {
                let control = Control::Match(side, writer, reader);
                self.later(0, 150, control);
            }
        }
    }

    /// Schedules a match, unmatch or change of paths within a span of milliseconds.
    fn later(&mut self, least: u64, most: u64, control: Control) {
        let nanos = self.random.within(least * 1_000_000..=most * 1_000_000);
        self.pending += 1;
        self.world.schedule(self.world.now().after(Duration::from_nanos(nanos as i64)), control);
    }

    fn match_one(&mut self, side: Side, writer: Guid, reader: Guid, begins: bool) {
        let (Some(_), Some(reader_node)) = (self.node_of(writer), self.node_of(reader)) else { return };
        let Some(plan) = self.config.readers.get(reader_node.0 - 1).copied() else { return };
        if !begins && !self.judge.has_side(writer, reader, side == Side::Writer) {
            return;
        }
        match side {
            Side::Writer => {
                let direct = self.unicast(WRITER, reader_node, plan.ipv6);
                let group = Path {
                    destination: group(!plan.ipv6),
                    interface: 2,
                    local: None,
                    max_datagram: self.config.max_datagram,
                };
                let (paths, direct) = match self.config.multicast {
                    true => (vec![group], Some(direct)),
                    false => (vec![direct], None),
                };
                let buffer = self.config.mix.receive_buffer as u32;
                let matched = MatchedReader {
                    guid: reader,
                    reliable: plan.reliable,
                    wants_history: plan.wants_history && self.config.retain,
                    paths,
                    direct,
                    receive_buffer: self.config.tells_buffer.then_some(buffer),
                };
                self.world.command(WRITER, |node, now| {
                    let PairNode::Writer(node) = node.inner_mut() else { return };
                    node.writer.match_reader(now, matched);
                    if begins {
                        node.note(Observation::ReaderMatched { writer, reader });
                    }
                });
                self.judge_node(WRITER);
            }
            Side::Reader => {
                let paths = vec![self.unicast(reader_node, WRITER, plan.ipv6)];
                let matched = MatchedWriter { guid: writer, reliable: self.config.reliable, paths };
                self.world.command(reader_node, |node, now| {
                    let PairNode::Reader(node) = node.inner_mut() else { return };
                    node.reader.match_writer(now, matched);
                    if begins {
                        node.note(Observation::WriterMatched { reader, writer });
                    }
                });
                self.judge_node(reader_node);
            }
        }
    }

    fn unmatch_one(&mut self, side: Side, writer: Guid, reader: Guid, again: Option<u64>) {
        if let Some(millis) = again {
            self.later(1 + millis, 50 + millis, Control::Match(side, writer, reader));
        }
        match side {
            Side::Writer => {
                self.world.command(WRITER, |node, now| {
                    let PairNode::Writer(node) = node.inner_mut() else { return };
                    if node.writer.unmatch_reader(now, reader) {
                        node.note(Observation::ReaderUnmatched { writer, reader });
                    }
                });
                self.judge_node(WRITER);
            }
            Side::Reader => {
                let Some(node) = self.node_of(reader) else { return };
                self.world.command(node, |node, _| {
                    let PairNode::Reader(node) = node.inner_mut() else { return };
                    if node.reader.unmatch_writer(writer) {
                        node.note(Observation::WriterUnmatched { reader, writer });
                    }
                });
                self.judge_node(node);
            }
        }
    }

    /// The path from one node to another.
    fn unicast(&self, from: NodeId, to: NodeId, ipv6: bool) -> Path {
        let host = |id| self.world.process(id).map(|process: &Process| process.host);
        let same = host(from) == host(to);
        let addresses = host(to).map_or(&[] as &[_], |host| self.world.network.interfaces(host));
        let address = addresses.iter().flat_map(|i| i.addresses()).find(|a| a.is_ipv6() == ipv6).copied();
        let address = address.unwrap_or(IpAddr::from([127, 0, 0, 1]));
        let destination = SocketAddr::new(address, 7_410 + to.0 as u16);
        let largest = if same { self.config.mix.receive_buffer as u32 / 2 } else { self.config.max_datagram };
        Path::routed(destination, largest.min(Path::MAX_DATAGRAM))
    }

    fn fault(&mut self, fault: Fault) {
        if self.world.inflict(&fault) {
            if fault == Fault::Calm {
                (1..self.guids.len()).for_each(|node| self.accept(NodeId(node)));
            }
            return;
        }
        self.world.trace.line(self.world.now(), format_args!("fault: {fault:?}"));
        match fault {
            Fault::Crash(node) => self.stop(node, Situation::Crash),
            Fault::Leave(node) => self.stop(node, Situation::Leave),
            Fault::Restart(node) | Fault::Join(node) => {
                let situation =
                    if matches!(fault, Fault::Restart(_)) { Situation::Restart } else { Situation::LateJoin };
                self.start_if_down(node, situation);
            }
            Fault::Refuse(node) => {
                self.world.command(node, |node, _| {
                    if let PairNode::Reader(node) = node.inner_mut() {
                        node.refuse();
                    }
                });
            }
            Fault::Accept(node) => self.accept(node),
            Fault::Renumber(node) => self.renumber(node),
            Fault::Unmatch { node, lasts } => self.rematch(node, lasts),
            _ => {}
        }
    }

    fn stop(&mut self, node: NodeId, situation: Situation) {
        let Some(guid) = self.guids.get_mut(node.0).and_then(Option::take) else { return };
        self.world.coverage.hit(situation);
        self.note_counters(node);
        self.world.stop(node);
        self.judge.forget(guid);
        let lease = self.config.lease.as_nanos() as u64 / 1_000_000;
        let (least, most) = if situation == Situation::Leave { (0, 50) } else { (lease, lease) };
        if node == WRITER {
            for reader in self.guids.clone().into_iter().skip(1).flatten() {
                self.later(least, most, Control::Unmatch(Side::Reader, guid, reader, None));
            }
        } else if let Some(writer) = self.guids.first().copied().flatten() {
            self.later(least, most, Control::Unmatch(Side::Writer, writer, guid, None));
        }
    }

    /// Counts what a reader has to tell when it is gone or the run ends.
    fn note_counters(&mut self, node: NodeId) {
        if let Some(PairNode::Reader(reader)) = self.world.node(node).map(Sabotaged::inner) {
            let (refused, held_back) = (reader.refused(), reader.reader.counters().held_back);
            self.world.coverage.add(Situation::SlowReader, refused);
            self.world.coverage.add(Situation::HeldBack, held_back);
        }
    }

    fn accept(&mut self, node: NodeId) {
        self.world.command(node, |node, now| {
            if let PairNode::Reader(node) = node.inner_mut() {
                node.accept(now);
            }
        });
        self.judge_node(node);
    }

    fn renumber(&mut self, node: NodeId) {
        let Some(host) = self.world.process(node).map(|process| process.host) else { return };
        self.world.coverage.hit(Situation::AddressChange);
        self.world.network.change_addresses(host);
        let Some(writer) = self.guids.first().copied().flatten() else { return };
        for reader in self.guids.clone().into_iter().skip(1).flatten() {
            for side in [Side::Writer, Side::Reader] {
                self.later(0, 400, Control::Repath(side, writer, reader));
            }
        }
    }

    /// Ends the matches of a node on one side or both, and begins them again.
    fn rematch(&mut self, node: NodeId, lasts: Duration) {
        let Some(writer) = self.guids.first().copied().flatten() else { return };
        let sides =
            self.random.pick(&[&[Side::Writer] as &[Side], &[Side::Reader], &[Side::Writer, Side::Reader]]);
        let millis = lasts.as_nanos() as u64 / 1_000_000;
        let chosen = |index: usize| node == WRITER || node.0 == index;
        for reader in self.guids.clone().into_iter().enumerate().skip(1).filter(|(i, _)| chosen(*i)) {
            let Some(reader) = reader.1 else { continue };
            for side in sides.unwrap_or_default() {
                if self.judge.has_side(writer, reader, *side == Side::Writer) {
                    self.later(0, 5, Control::Unmatch(*side, writer, reader, Some(millis)));
                }
            }
        }
    }

    fn write(&mut self) {
        let now = self.world.now();
        if self.left == 0 {
            return;
        }
        let Some(writer) = self.guids.first().copied().flatten().filter(|_| !self.world.is_stalled(WRITER))
        else {
            // A writer that is gone for good writes nothing more.
            let returns = |(at, fault): &(Instant, Fault)| {
                *at >= now && matches!(fault, Fault::Restart(WRITER) | Fault::Join(WRITER))
            };
            if !self.world.is_stalled(WRITER) && !self.config.mix.timeline.iter().any(returns) {
                self.left = 0;
            }
            return self.world.schedule(now.after(Duration::from_millis(5)), Control::Write);
        };
        let mut draws = self.random.fork();
        let len = self.config.sample_len(&mut draws);
        let shared = draws.coin();
        let result = self.world.command(WRITER, |node, now| {
            let PairNode::Writer(node) = node.inner_mut() else { return None };
            let number = node.writer.last().next();
            let payload = payload::make(writer, number, len);
            let source_timestamp = draws.coin().then_some(now.wall);
            let change = Change { kind: PayloadKind::Data, inline_qos: None, source_timestamp };
            let body = match shared {
                true => Body::Shared(payload.as_slice().into()),
                false => Body::Copy(&payload),
            };
            let result = node.writer.write(now, &change, body);
            if draws.chance(50_000) {
                node.writer.flush();
            }
            Some(result)
        });
        match result.flatten() {
            Some(Ok(number)) => self.wrote(writer, number),
            Some(Err(WriteError::Full { .. })) => {
                self.world.coverage.hit(Situation::WindowFull);
                if self.config.depth.is_some() && self.kept.len() > 1 {
                    self.evict(writer);
                } else if self.config.retain {
                    // It keeps all and has no room for more.
                    self.left = 0;
                    return;
                }
                self.world.schedule(now.after(Duration::from_millis(2)), Control::Write);
            }
            Some(Err(error)) => self.world.fail(Invariant::WithinLimits, format!("write failed: {error}")),
            None => {}
        }
    }

    fn wrote(&mut self, writer: Guid, number: SequenceNumber) {
        self.left -= 1;
        self.written += 1;
        let verdict = self.judge.wrote(writer, number);
        self.rule(verdict);
        self.kept.push_back(number);
        while self.config.depth.is_some_and(|depth| self.kept.len() > depth) {
            self.evict(writer);
        }
        let nanos = self.random.below(self.config.interval.as_nanos().max(1) as u64);
        // Now and then several at once.
        let wait = if self.random.chance(300_000) { 0 } else { nanos };
        self.world.schedule(self.world.now().after(Duration::from_nanos(wait as i64)), Control::Write);
    }

    fn evict(&mut self, writer: Guid) {
        let Some(number) = self.kept.pop_front() else { return };
        let held = self.world.command(WRITER, |node, _| match node.inner_mut() {
            PairNode::Writer(node) => node.writer.remove(number),
            PairNode::Reader(_) => false,
        });
        if self.judge.removed(writer, number) && held == Some(true) {
            self.world.coverage.hit(Situation::Eviction);
        }
    }
}

/// The group that fresh samples go to.
fn group(ipv4: bool) -> SocketAddr {
    let address = match ipv4 {
        true => IpAddr::from([239, 255, 0, 1]),
        false => IpAddr::from([0xff03, 0, 0, 0, 0, 0, 0, 1]),
    };
    SocketAddr::new(address, 7_401)
}
