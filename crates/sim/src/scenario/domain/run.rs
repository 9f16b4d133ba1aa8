//! The course of a run.
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use rtps::ports;
use wire::{Duration, Guid, GuidPrefix, Instant, SequenceNumber};

use super::config::{Config, EndpointPlan, Families};
use super::node::DomainNode;
use crate::coverage::Situation;
use crate::faults::{Fault, Kind};
use crate::invariants::{Broken, Judge};
use crate::network::{Attachment, HostId, Interface, Network, NodeId};
use crate::node::Observation;
use crate::random::Random;
use crate::sabotage::{Sabotage, Sabotaged};
use crate::scenario::Outcome;
use crate::trace::Trace;
use crate::violation::Invariant;
use crate::world::{Process, Step, World};

pub(super) const DOMAIN: u32 = 0;
/// How long writing may go on in all before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// Two of the longest heartbeat waits and a second.
const CONVERGENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Control {
    Fault(Fault),
    /// A participant makes an endpoint, if it is still the same participant.
    Create(GuidPrefix, usize),
    /// An application writes.
    Write(Guid),
    /// A participant learns the addresses of today.
    Readdress(NodeId),
    /// A process ends that has left.
    End(NodeId, GuidPrefix),
}

/// Where an endpoint stands in the plan.
pub(super) type Place = (NodeId, usize);

/// What an application knows about one of its writers.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    pub(super) left: u32,
    pub(super) kept: VecDeque<SequenceNumber>,
}

pub(super) struct Run<'t> {
    pub(super) config: Config,
    pub(super) random: Random,
    pub(super) world: World<'t, Sabotaged<DomainNode>, Control>,
    pub(super) judge: Judge,
    pub(super) sabotage: Option<(Sabotage, u32)>,
    /// The participant of each node while it lives.
    pub(super) prefixes: Vec<Option<GuidPrefix>>,
    /// Endpoints that live.
    pub(super) endpoints: BTreeMap<Guid, Place>,
    /// Every endpoint that ever was.
    pub(super) places: BTreeMap<Guid, Place>,
    pub(super) publishers: BTreeMap<Guid, Publisher>,
    pub(super) written: u64,
    /// Controls other than faults and writes that are still to happen.
    pub(super) pending: u32,
    /// Everything has converged, and no match may end any more.
    pub(super) settled: bool,
    /// An address that nobody has, and octets that came to it by forgery.
    pub(super) victim: SocketAddr,
    pub(super) forged: u64,
    pub(super) observations: Vec<Observation>,
}

pub(super) fn run(seed: u64, trace: Trace<'_>, sabotage: Option<(Sabotage, u32)>) -> Outcome {
    let mut random = Random::new(seed);
    let config = Config::draw(&mut random);
    let mut run = Run::new(config, random, trace, sabotage);
    run.play();
    Outcome {
        violation: run.world.take_violation(),
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
        let segments = [network.add_segment(config.mix.profile), network.add_segment(config.mix.profile)];
        let attach = |segment| Attachment {
            segment,
            ipv4: config.families != Families::V6,
            ipv6: config.families != Families::V4,
        };
        let hosts: Vec<HostId> = config
            .hosts
            .iter()
            .map(|both| {
                let attachments = segments.map(attach);
                network.add_host(if *both { &attachments } else { &attachments[..1] })
            })
            .collect();
        let victim_host = network.add_host(&[attach(segments[0])]);
        let victim = network.interfaces(victim_host).iter().flat_map(Interface::addresses).next().copied();
        let victim = SocketAddr::new(victim.unwrap_or(IpAddr::from([10, 0, 0, 250])), 4_000);
        let mut world = World::new(network, trace);
        world.monitor.watch(victim.ip());
        for (index, plan) in config.participants.iter().enumerate() {
            let port = ports::metatraffic_unicast(DOMAIN, index as u32).unwrap_or_default();
            world.add_process(Process {
                host: hosts.get(plan.host).copied().unwrap_or(victim_host),
                port,
                receive_buffer: config.mix.receive_buffer,
                service_time: config.mix.service_time,
            });
        }
        let prefixes = vec![None; config.participants.len()];
        Self {
            config,
            random,
            world,
            judge: Judge::new(),
            sabotage,
            prefixes,
            endpoints: BTreeMap::new(),
            places: BTreeMap::new(),
            publishers: BTreeMap::new(),
            written: 0,
            pending: 0,
            settled: false,
            victim,
            forged: 0,
            observations: Vec::new(),
        }
    }

    fn play(&mut self) {
        for (at, fault) in self.config.mix.timeline.clone() {
            self.world.schedule(at, Control::Fault(fault));
        }
        for (kind, situation) in
            [(Kind::OneWayCuts, Situation::OneWayCut), (Kind::Partitions, Situation::Partition)]
        {
            if self.config.mix.has(kind) {
                self.world.coverage.hit(situation);
            }
        }
        for node in (0..self.prefixes.len()).map(NodeId) {
            if !self.config.mix.timeline.iter().any(|(_, fault)| *fault == Fault::Join(node)) {
                self.start(node);
            }
        }
        let calm = self.config.mix.timeline.last().map_or(Instant::START, |(at, _)| *at);
        self.advance(calm);
        while self.pending > 0 && self.goes_on() {
            self.advance(self.world.now().after(Duration::from_millis(10)));
        }
        // Two announcement periods and a second after the last fault, all know each other.
        let period = self.config.announce_period;
        let deadline = self.world.now().after(period).after(period).after(Duration::from_secs(1));
        self.advance(deadline);
        self.check_matches();
        self.settled = true;
        self.converge(calm.after(PATIENCE));
        self.quiet();
        for node in (0..self.prefixes.len()).map(NodeId) {
            self.count(node);
        }
    }

    /// Lets all be written and delivered.
    fn converge(&mut self, patience: Instant) {
        while self.goes_on() && self.publishers.values().any(|publisher| publisher.left > 0) {
            let next = self.world.now().after(Duration::from_millis(20));
            if next > patience {
                return self.world.fail(Invariant::Converges, "samples cannot be written".to_owned());
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
    }

    /// For two leases nothing but announcements is sent, no match ends, and at last nobody believes in who is gone.
    fn quiet(&mut self) {
        self.advance(self.world.now().after(Duration::from_secs(1)));
        let nodes: Vec<NodeId> = (0..self.prefixes.len()).map(NodeId).collect();
        let before: Vec<u64> = nodes.iter().map(|node| self.world.sent(*node)).collect();
        let lasts = self.config.lease.scaled(2, 1);
        self.advance(self.world.now().after(lasts));
        if !self.goes_on() {
            return;
        }
        let periods = lasts.as_nanos() / self.config.announce_period.as_nanos().max(1) + 2;
        // An announcement goes out once for each group and for each configured peer.
        let each = if self.config.multicast { 4 } else { nodes.len() as u64 };
        // Liveliness is asserted several times in a lease to each other participant, and acknowledged.
        let plans = self.config.participants.iter().flat_map(|participant| &participant.endpoints);
        let shortest = plans.filter(|plan| plan.is_writer).filter_map(|plan| plan.liveliness).min();
        let assertions = shortest.map_or(0, |millis| lasts.as_nanos() / 1_000_000 * 4 / millis + 2) as u64;
        let most = periods as u64 * 2 * each + assertions * 2 * nodes.len() as u64;
        for (node, before) in nodes.into_iter().zip(before) {
            let sent = self.world.sent(node) - before;
            if sent > most {
                let what = format!("n{} sends {sent} datagrams in {periods} announcement periods", node.0);
                self.world.fail(Invariant::Quiet, what);
            }
            let alive = |prefix: &GuidPrefix| self.prefixes.contains(&Some(*prefix));
            let known = self.world.node(node).map(|node| node.inner().known()).unwrap_or_default();
            if let Some(dead) = known.iter().find(|prefix| !alive(prefix)).copied() {
                let what = format!("n{} believes in {dead}, which has been gone for two leases", node.0);
                self.world.fail(Invariant::Matches, what);
            }
        }
        self.check_victim();
    }

    pub(super) fn goes_on(&self) -> bool {
        self.world.violation().is_none()
    }

    /// What is left to do counted in window-fulls, each of which takes a round trip.
    fn backlog_time(&self) -> Duration {
        let held: usize = self
            .endpoints
            .iter()
            .filter_map(|(guid, (node, _))| {
                Some(self.world.node(*node)?.inner().participant().writer(guid.entity_id)?.held_bytes())
            })
            .sum();
        let profile = &self.config.mix.profile;
        let trip = profile.delay.saturating_add(profile.jitter).saturating_add(Duration::from_millis(25));
        trip.scaled((held / (16 << 10)) as u32 * 6, 1)
    }

    fn missing(&self) -> Option<String> {
        self.judge.pending().or_else(|| {
            self.endpoints.iter().find_map(|(guid, (node, _))| {
                let writer = self.world.node(*node)?.inner().participant().writer(guid.entity_id)?;
                let acknowledged = !writer.config().reliable || writer.is_acknowledged(writer.last());
                (!acknowledged).then(|| format!("{guid} misses acknowledgements up to {:?}", writer.last()))
            })
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
        for observation in observations.drain(..) {
            self.check_match(&observation);
            let verdict = self.judge.observe(&observation, &mut self.world.coverage);
            self.rule(verdict);
            if self.world.trace.is_verbose() {
                let text = match &observation {
                    Observation::Delivered { writer, number, payload, reader, .. } => {
                        format!("delivered {number:?} of {writer} to {reader}, {} octets", payload.len())
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

    /// A match is one of those that should be, and does not end without need.
    fn check_match(&mut self, observation: &Observation) {
        match observation {
            Observation::ReaderMatched { writer, reader } | Observation::WriterMatched { reader, writer } => {
                if !self.suits(*writer, *reader) {
                    let what = format!("{writer} and {reader} have matched and should not");
                    self.world.fail(Invariant::Matches, what);
                }
            }
            Observation::ReaderUnmatched { writer, reader }
            | Observation::WriterUnmatched { reader, writer } => {
                let live = self.endpoints.contains_key(writer) && self.endpoints.contains_key(reader);
                if self.settled && live {
                    let what = format!("{writer} and {reader} have lost each other without need");
                    self.world.fail(Invariant::StableMatch, what);
                }
            }
            Observation::LivelinessLost { reader, writer } => {
                let live = self.endpoints.contains_key(writer) && self.endpoints.contains_key(reader);
                if self.settled && live {
                    let what = format!("{reader} holds {writer} for dead without need");
                    self.world.fail(Invariant::StableMatch, what);
                }
            }
            Observation::Delivered { .. } | Observation::Lost { .. } => {}
        }
    }

    /// Whether two endpoints, alive or not, should match.
    fn suits(&self, writer: Guid, reader: Guid) -> bool {
        let plan = |guid| self.places.get(&guid).and_then(|place| self.plan(*place));
        let tag = |guid| {
            let (node, _) = self.places.get(&guid)?;
            self.config.participants.get(node.0).map(|participant| participant.tag)
        };
        plan(writer).zip(plan(reader)).is_some_and(|(writer, reader)| writer.suits(reader))
            && tag(writer) == tag(reader)
    }

    pub(super) fn plan(&self, (node, index): Place) -> Option<&EndpointPlan> {
        self.config.participants.get(node.0)?.endpoints.get(index)
    }

    /// Every two endpoints that should match have matched each other.
    fn check_matches(&mut self) {
        let lacking = self.endpoints.keys().find_map(|writer| {
            let readers = self.endpoints.keys().filter(|reader| self.suits(*writer, **reader));
            let mut unmatched = readers.filter(|reader| !self.judge.is_matched(*writer, **reader));
            unmatched.next().map(|reader| {
                let sides = [true, false].map(|side| self.judge.has_side(*writer, *reader, side));
                format!("{writer} and {reader} should have matched; sides of writer and reader: {sides:?}")
            })
        });
        if let Some(what) = lacking {
            self.world.fail(Invariant::Matches, what);
        }
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::Fault(fault) => self.fault(fault),
            Control::Write(writer) => self.write(writer),
            Control::Create(prefix, index) => {
                let node = self.prefixes.iter().position(|own| *own == Some(prefix)).map(NodeId);
                if let Some(node) = node
                    && self.world.is_stalled(node)
                {
                    return self.world.schedule(self.world.now().after(Duration::from_millis(10)), control);
                }
                self.pending -= 1;
                if let Some(node) = node {
                    self.create(node, prefix, index);
                }
            }
            Control::Readdress(node) => {
                self.pending -= 1;
                let network = self.own_network(node);
                let (metatraffic, default) = self.locators(node);
                self.world.command(node, |node, now| {
                    node.inner_mut().participant_mut().set_network(now, network, metatraffic, default);
                });
                self.judge_node(node);
            }
            Control::End(node, prefix) => {
                self.pending -= 1;
                let is_same = |node: &Sabotaged<DomainNode>| node.inner().participant().prefix() == prefix;
                if self.world.node(node).is_some_and(is_same) {
                    self.world.stop(node);
                }
            }
        }
    }
}
