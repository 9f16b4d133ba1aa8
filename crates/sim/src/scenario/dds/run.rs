//! The course of a run.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

use rtps::ports;
use wire::{Duration, Guid, GuidPrefix, Instant, Now, Timestamp};

use super::config::{Config, EndpointPlan, Families, meet};
use super::judge::{Clocks, Judge};
use super::machine::Machine;
use super::node::DdsNode;
use super::sabotage::Mutation;
use super::seen::Seen;
use crate::coverage::Situation;
use crate::faults::{Fault, Kind};
use crate::invariants::Broken;
use crate::network::{Attachment, HostId, Interface, Network, NodeId};
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
    /// An application takes.
    Take(Guid),
    /// An endpoint returns to its partition.
    Return(Guid),
    /// A participant learns the addresses of today.
    Readdress(NodeId),
    /// A participant looks at the memory that it shares.
    Look(NodeId),
    /// A connection between two processes of a machine ends.
    CutLink,
    /// A participant looks at no ring for a while.
    Hang(NodeId),
    /// A liar does something to a participant.
    Lie(NodeId),
}

/// Where an endpoint stands in the plan.
pub(super) type Place = (NodeId, usize);

/// An endpoint that lives.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) node: NodeId,
    pub(super) index: usize,
    pub(super) partition: Vec<&'static str>,
    /// It has changed its partition: others may learn of that late.
    pub(super) moved: bool,
    pub(super) token: Arc<()>,
}

pub(super) struct Run<'t> {
    pub(super) config: Config,
    pub(super) random: Random,
    pub(super) world: World<'t, Sabotaged<DdsNode>, Control>,
    pub(super) judge: Judge,
    pub(super) sabotage: Option<(Sabotage, u32)>,
    pub(super) mutation: Option<Mutation>,
    /// The participant of each node while it lives.
    pub(super) prefixes: Vec<Option<GuidPrefix>>,
    /// Endpoints that live.
    pub(super) endpoints: BTreeMap<Guid, Endpoint>,
    /// Every endpoint that ever was.
    pub(super) places: BTreeMap<Guid, Place>,
    /// Endpoints that were deleted, and whether they are still there.
    pub(super) released: Vec<(Guid, Weak<()>)>,
    /// Participants that have vanished.
    pub(super) crashed: BTreeSet<GuidPrefix>,
    /// Changes that each writer still makes.
    pub(super) publishers: BTreeMap<Guid, u32>,
    pub(super) written: u64,
    /// Controls other than faults, writes and takes that are still to happen.
    pub(super) pending: u32,
    /// Everything has converged, and no match may end any more.
    pub(super) settled: bool,
    /// An address that no host has, and bytes that came to it by forgery.
    pub(super) victim: SocketAddr,
    pub(super) forged: u64,
    /// How far any wall clock has ever been ahead of the virtual time.
    pub(super) ahead: i64,
    /// What is shared between participants of a machine, in the scenario that has it.
    pub(super) machine: Option<Machine>,
    observations: Vec<Seen>,
}

pub(super) fn run(
    seed: u64,
    trace: Trace<'_>,
    sabotage: Option<(Sabotage, u32)>,
    mutation: Option<Mutation>,
    shares: bool,
) -> Outcome {
    let mut random = Random::new(seed);
    let mut config = Config::draw(&mut random);
    let machine = shares.then(|| Machine::draw(random.fork(), &mut config));
    let mut run = Run::new(config, random, trace, sabotage, mutation);
    run.machine = machine;
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

impl Clocks for Run<'_> {
    fn latest(&self) -> Timestamp {
        let now = i64::try_from(self.world.now().as_nanos()).unwrap_or(i64::MAX);
        Timestamp::from_nanos(now.saturating_add(self.ahead))
    }
}

impl<'t> Run<'t> {
    fn new(
        config: Config,
        mut random: Random,
        trace: Trace<'t>,
        sabotage: Option<(Sabotage, u32)>,
        mutation: Option<Mutation>,
    ) -> Self {
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
        let mut run = Self {
            config,
            random,
            world,
            judge: Judge::default(),
            sabotage,
            mutation,
            prefixes,
            endpoints: BTreeMap::new(),
            places: BTreeMap::new(),
            released: Vec::new(),
            crashed: BTreeSet::new(),
            publishers: BTreeMap::new(),
            written: 0,
            pending: 0,
            settled: false,
            victim,
            forged: 0,
            ahead: i64::MIN,
            machine: None,
            observations: Vec::new(),
        };
        run.note_clocks();
        run
    }

    /// Remembers the greatest lead of a wall clock.
    pub(super) fn note_clocks(&mut self) {
        for node in (0..self.prefixes.len()).map(NodeId) {
            let clock = self.world.clock(node);
            let monotonic = i64::try_from(clock.monotonic.as_nanos()).unwrap_or(i64::MAX);
            self.ahead = self.ahead.max(clock.wall.as_nanos().saturating_sub(monotonic));
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
        self.plan_links(calm);
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
        self.finish();
        for node in (0..self.prefixes.len()).map(NodeId) {
            self.count(node);
        }
    }

    /// Lets all be written and delivered.
    fn converge(&mut self, patience: Instant) {
        while self.goes_on() && self.publishers.values().any(|left| *left > 0) {
            let next = self.world.now().after(Duration::from_millis(20));
            if next > patience {
                return self.world.fail(Invariant::Converges, "samples cannot be written".to_owned());
            }
            self.advance(next);
        }
        self.let_arrive();
    }

    /// Waits until everything that is required has been taken and acknowledged, for as long as that may need.
    pub(super) fn let_arrive(&mut self) {
        let deadline = self.world.now().after(CONVERGENCE).after(self.backlog_time());
        while self.goes_on()
            && let Some((rule, missing)) = self.missing()
        {
            if self.world.now() >= deadline {
                return self.world.fail(rule, missing);
            }
            self.advance(self.world.now().after(Duration::from_millis(20)).min(deadline));
        }
    }

    pub(super) fn goes_on(&self) -> bool {
        self.world.violation().is_none()
    }

    /// What is left to do: window-fulls, each of which takes a round trip, and takes of readers that are slow.
    pub(super) fn backlog_time(&self) -> Duration {
        let nodes: Vec<NodeId> = (0..self.prefixes.len()).map(NodeId).collect();
        let (mut bytes, mut samples, mut slowest) = (0, 0, Duration::ZERO);
        for node in nodes.into_iter().filter_map(|node| self.world.node(node)) {
            let application = node.inner().application();
            for held in application.writers().iter().filter_map(|writer| writer.raw.held().ok()) {
                (bytes, samples) = (bytes + held.bytes, samples + held.samples);
            }
            for reader in application.readers().iter().filter(|reader| !reader.plan.reads.eager) {
                let held = reader.raw.held().unwrap_or_default();
                // What waits below the cache is counted nowhere; no sample is shorter.
                samples += held.samples + held.waiting / 32 + self.judge.untaken(reader.guid) as usize;
                slowest = slowest.max(reader.plan.reads.pause);
            }
        }
        // One that takes one at a time takes as often as there are samples.
        let takes = slowest.scaled(samples.min(1_000) as u32 + 2, 1);
        let profile = &self.config.mix.profile;
        let trip = profile.delay.saturating_add(profile.jitter).saturating_add(Duration::from_millis(25));
        trip.scaled((bytes / (16 << 10)) as u32 * 6, 1).saturating_add(takes)
    }

    fn missing(&mut self) -> Option<Broken> {
        if let Some(missing) = self.judge.pending(self) {
            return Some(missing);
        }
        let writers: Vec<_> = self.publishers.keys().copied().collect();
        writers.into_iter().find_map(|guid| {
            let endpoint = self.endpoints.get(&guid)?;
            let index = endpoint.index;
            let acknowledged = self.act(endpoint.node, |node, _| {
                let writer = node.application().writer(index)?;
                Some(!writer.plan.reliable || writer.raw.wait_for_acknowledgments(Duration::ZERO).is_ok())
            });
            let lacks = acknowledged.flatten() == Some(false);
            lacks.then(|| (Invariant::Converges, format!("{guid} misses acknowledgements")))
        })
    }

    /// Lets a node's application do something.
    pub(super) fn act<R>(&mut self, node: NodeId, act: impl FnOnce(&mut DdsNode, Now) -> R) -> Option<R> {
        self.world.command(node, |node, now| {
            node.inner().host().set_now(now);
            act(node.inner_mut(), now)
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
            self.tend_links();
        }
    }

    pub(super) fn judge_node(&mut self, node: NodeId) {
        let mut observations = std::mem::take(&mut self.observations);
        self.world.take_observations(node, &mut observations);
        let now = self.world.now();
        for seen in observations.drain(..) {
            if self.world.trace.is_verbose() {
                let text = match &seen {
                    Seen::Taken(taken) => {
                        let len = taken.octets.as_ref().map(Vec::len);
                        format!("{:?}", Seen::Taken(super::seen::Taken { octets: None, ..taken.clone() }))
                            + &format!(" with {len:?} bytes")
                    }
                    other => format!("{other:?}"),
                };
                self.world.trace.line(now, format_args!("n{} {text}", node.0));
            }
            if let Seen::Taken(taken) = &seen {
                self.world.trace.fold(&[6, taken.number as u64, u64::from(taken.octets.is_some())]);
            }
            self.check_match(&seen);
            if let Err((invariant, what)) = self.judge.observe(now, &seen, &mut self.world.coverage) {
                self.world.fail(invariant, what);
            }
        }
        self.observations = observations;
    }

    /// A match is one of those that should be, and does not end without need.
    fn check_match(&mut self, seen: &Seen) {
        match seen {
            Seen::Service { writer, reader, begins } | Seen::Acceptance { writer, reader, begins } => {
                if *begins && !self.may_match(*writer, *reader) {
                    let what = format!("{writer} and {reader} have matched and should not");
                    self.world.fail(Invariant::Matches, what);
                }
                let live = self.endpoints.contains_key(writer) && self.endpoints.contains_key(reader);
                let dead = |guid: &Guid| self.crashed.contains(&guid.prefix);
                if !begins && (dead(writer) || dead(reader)) {
                    self.world.coverage.hit(Situation::LeaseExpired);
                }
                if !begins && self.settled && live {
                    let what = format!("{writer} and {reader} have lost each other without need");
                    self.world.fail(Invariant::StableMatch, what);
                }
            }
            Seen::Asks(_)
            | Seen::Refused { .. }
            | Seen::Taken(_)
            | Seen::Liveliness { .. }
            | Seen::Odd(..) => {}
        }
    }

    /// Whether two endpoints, alive or not, should match, PARTITION apart.
    fn suits(&self, writer: Guid, reader: Guid) -> bool {
        let plan = |guid| self.places.get(&guid).and_then(|place| self.plan(*place));
        let others = |guid| {
            let (node, _) = self.places.get(&guid)?;
            self.config.participants.get(node.0).map(|participant| (participant.tag, participant.other_type))
        };
        plan(writer).zip(plan(reader)).is_some_and(|(writer, reader)| writer.suits(reader))
            && others(writer) == others(reader)
    }

    /// Whether two endpoints may match now: those that were in another partition may be believed to be there still.
    fn may_match(&self, writer: Guid, reader: Guid) -> bool {
        let planned = |guid| Some(self.plan(*self.places.get(&guid)?)?.partition.as_slice());
        let moved = [writer, reader].iter().any(|guid| self.endpoints.get(guid).is_some_and(|own| own.moved));
        let meets = planned(writer).zip(planned(reader)).is_some_and(|(writer, reader)| meet(writer, reader));
        self.suits(writer, reader) && (moved || meets)
    }

    /// Whether two endpoints that live are to match now.
    pub(super) fn should_match(&self, writer: Guid, reader: Guid) -> bool {
        let own = |guid| self.endpoints.get(&guid).map(|endpoint| endpoint.partition.as_slice());
        let meets = own(writer).zip(own(reader)).is_some_and(|(writer, reader)| meet(writer, reader));
        meets && self.suits(writer, reader)
    }

    pub(super) fn plan(&self, (node, index): Place) -> Option<&EndpointPlan> {
        self.config.participants.get(node.0)?.endpoints.get(index)
    }

    fn control(&mut self, control: Control) {
        let later = self.world.now().after(Duration::from_millis(10));
        match control {
            Control::Fault(fault) => self.fault(fault),
            Control::Write(writer) => self.write(writer),
            Control::Take(reader) => self.take(reader),
            Control::Return(guid) => {
                let Some(endpoint) = self.endpoints.get(&guid) else {
                    self.pending -= 1;
                    return;
                };
                if self.world.is_stalled(endpoint.node) {
                    return self.world.schedule(later, control);
                }
                self.pending -= 1;
                let place = (endpoint.node, endpoint.index);
                let partition = self.plan(place).map(|plan| plan.partition.clone()).unwrap_or_default();
                self.repartition(guid, &partition);
            }
            Control::Create(prefix, index) => {
                let node = self.prefixes.iter().position(|own| *own == Some(prefix)).map(NodeId);
                if node.is_some_and(|node| self.world.is_stalled(node)) {
                    return self.world.schedule(later, control);
                }
                self.pending -= 1;
                if let Some(node) = node {
                    self.create(node, index);
                }
            }
            Control::Look(node) => self.look(node),
            Control::CutLink => self.cut_link(),
            Control::Hang(node) => self.hang(node),
            Control::Lie(node) => self.lie(node),
            Control::Readdress(node) => {
                self.pending -= 1;
                let addresses = self.addresses(node);
                self.act(node, |node, now| node.set_network(now, &addresses));
                self.judge_node(node);
            }
        }
    }
}
