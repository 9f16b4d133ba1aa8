//! Whether a system is one: what the rules of the model demand and what refers to nothing.
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::system::{Connection, Keep, Order, Scheduling, SourceKind, Step, System, Target};

/// Most elements of each kind that a system may have.
pub const MOST: usize = 2_000;
/// Most steps of all handlers together.
pub const MOST_STEPS: usize = 20_000;

/// A problem of a system, with the index of the element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// The demand that is not met.
    pub demand: Demand,
    /// Which host, lane, component, port, register, connection, source or chain does not meet it.
    pub index: usize,
}

macro_rules! demands {
    ($($name:ident, $text:literal;)*) => {
        /// A demand on systems. The documentation of each says which kind of element [`Problem::index`] counts.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Demand { $(#[doc = $text] $name,)* }

        impl fmt::Display for Demand {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

demands! {
    Size, "the system: at most 2,000 elements of each kind, threads of a lane, cores of a host, parts of a join, and 20,000 steps";
    StallDistance, "host: a distance of stalls is more than 0 (P8)";
    ThrottlingWindow, "host: the period of throttling is more than 0 and its runtime at most that (P10)";
    Drift, "host: the drift is less than 1,000,000,000 (C1)";
    LaneHost, "lane: its host exists";
    Threads, "lane: it has a thread (P1)";
    Core, "lane: each thread has a core of the host (P1)";
    Priority, "lane: the priority is 1 to 99 (P2)";
    Budget, "lane: 0 < runtime <= deadline <= period (P5)";
    ComponentHost, "component: its host exists";
    DeadlineLock, "component: what a deadline thread locks, no other thread locks (P12)";
    PortComponent, "port: its component exists";
    PortLane, "port: its lane exists and is on the component's host";
    Reached, "port: a lane serves it, or direct connections alone reach it (D3)";
    RelativeDeadline, "port: it has a relative deadline if its lane takes the earliest one (D2)";
    StepTimes, "port: the least time of a step is at most its most (D4)";
    Depth, "port: its depth is at least 1 (D5)";
    Parts, "port: a join has 2 parts or more and keeps 1 event or more of each (D6)";
    PartConnections, "port: one connection leads to each part of a join, and nothing else to the port (D6)";
    LetSources, "port: timers alone serve a let port, with periods of at least its interval (T1)";
    LetOutputs, "port: a let port has no direct connections (T1)";
    RegisterPort, "register: its port exists";
    Reference, "connection: its target exists";
    PartNumber, "connection: the join has that part (D6)";
    OutputHost, "connection: all handlers that push to its output are on one host (D3)";
    DirectHost, "connection: a direct connection stays on its host (D3)";
    DirectCircle, "connection: direct connections form no circle of components (D3)";
    TransferTime, "connection: it has a transfer time if it leads to another host; least <= most (D8)";
    SourcePort, "source: its port exists and has a lane (S4)";
    Period, "source: the period or separation is more than 0, and the gap at most the period (S1, S3)";
    PortCircle, "port: sources, queued and direct connections form no circle of ports (S6)";
    ChainSource, "chain: its source exists";
    ChainPath, "chain: each connection exists and begins at the port before";
    ChainCertain, "chain: each push to a connection is certain";
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {}: {}", self.index, self.demand)
    }
}

/// The problems of a system; none if it can be analysed.
pub fn problems(system: &System) -> Vec<Problem> {
    let mut found = Found { system, by_output: by_output(system), problems: Vec::new() };
    found.sizes();
    if found.problems.is_empty() {
        found.hosts_and_lanes();
        found.references();
    }
    if found.problems.is_empty() {
        found.ports();
        found.connections();
        found.sources();
        found.chains();
    }
    if found.problems.is_empty() {
        found.circles();
    }
    if found.problems.is_empty() {
        found.locks();
    }
    found.problems.sort_unstable();
    found.problems.dedup();
    found.problems
}

struct Found<'s> {
    system: &'s System,
    by_output: BTreeMap<usize, Vec<usize>>,
    problems: Vec<Problem>,
}

impl Found<'_> {
    fn demand(&mut self, met: bool, demand: Demand, index: usize) {
        if !met {
            self.problems.push(Problem { demand, index });
        }
    }

    fn sizes(&mut self) {
        let system = self.system;
        let sizes = [
            system.hosts.len(),
            system.lanes.len(),
            system.components.len(),
            system.ports.len(),
            system.registers.len(),
            system.connections.len(),
            system.sources.len(),
            system.chains.len(),
        ];
        let inner = system.hosts.iter().flat_map(|host| [host.cores, host.stalls.len()]);
        let inner = inner.chain(system.lanes.iter().map(|lane| lane.threads.len()));
        let inner = inner.chain(system.ports.iter().map(|port| port.steps.len()));
        let inner = inner.chain(system.ports.iter().filter_map(|port| Some(port.join?.parts)));
        let inner = inner.chain(system.chains.iter().map(|chain| chain.connections.len()));
        let steps: usize = system.ports.iter().map(|port| port.steps.len()).sum();
        let passed: usize = system.chains.iter().map(|chain| chain.connections.len()).sum();
        let fits = sizes.into_iter().chain(inner).all(|size| size <= MOST);
        self.demand(fits && steps <= MOST_STEPS && passed <= MOST_STEPS, Demand::Size, 0);
    }

    fn hosts_and_lanes(&mut self) {
        let system = self.system;
        for (index, host) in system.hosts.iter().enumerate() {
            self.demand(host.stalls.iter().all(|stall| stall.distance > 0), Demand::StallDistance, index);
            let throttling = host.throttling;
            self.demand(
                throttling.is_none_or(|it| it.period > 0 && it.runtime <= it.period),
                Demand::ThrottlingWindow,
                index,
            );
            self.demand(host.drift < 1_000_000_000, Demand::Drift, index);
        }
        for (index, lane) in system.lanes.iter().enumerate() {
            let host = system.hosts.get(lane.host);
            self.demand(host.is_some(), Demand::LaneHost, index);
            self.demand(!lane.threads.is_empty(), Demand::Threads, index);
            let cores = host.map_or(0, |host| host.cores);
            self.demand(lane.threads.iter().all(|core| *core < cores), Demand::Core, index);
            match lane.scheduling {
                Scheduling::Fifo(priority) => {
                    self.demand((1..=99).contains(&priority), Demand::Priority, index)
                }
                Scheduling::Deadline { runtime, deadline, period } => {
                    let fits = 0 < runtime && runtime <= deadline && deadline <= period;
                    self.demand(fits, Demand::Budget, index);
                }
                Scheduling::Other => {}
            }
        }
    }

    fn references(&mut self) {
        let system = self.system;
        for (index, component) in system.components.iter().enumerate() {
            self.demand(component.host < system.hosts.len(), Demand::ComponentHost, index);
        }
        for (index, port) in system.ports.iter().enumerate() {
            let component = system.components.get(port.component);
            self.demand(component.is_some(), Demand::PortComponent, index);
            if let Some(lane) = port.lane {
                let lane = system.lanes.get(lane);
                let fits = lane.zip(component).is_some_and(|(lane, component)| lane.host == component.host);
                self.demand(fits, Demand::PortLane, index);
            }
        }
        for (index, register) in system.registers.iter().enumerate() {
            self.demand(register.port < system.ports.len(), Demand::RegisterPort, index);
        }
        for (index, connection) in system.connections.iter().enumerate() {
            let exists = match connection.target {
                Target::Queue(port) | Target::Direct(port) | Target::Part { port, .. } => {
                    port < system.ports.len()
                }
                Target::Register(register) => register < system.registers.len(),
            };
            self.demand(exists, Demand::Reference, index);
        }
        for (index, source) in system.sources.iter().enumerate() {
            let port = system.ports.get(source.port);
            self.demand(port.is_some_and(|port| port.lane.is_some()), Demand::SourcePort, index);
        }
        for (index, chain) in system.chains.iter().enumerate() {
            self.demand(chain.source < system.sources.len(), Demand::ChainSource, index);
        }
    }

    fn ports(&mut self) {
        let system = self.system;
        for (index, port) in system.ports.iter().enumerate() {
            let into = |kind: fn(&Target) -> Option<usize>| {
                system.connections.iter().filter(|it| kind(&it.target) == Some(index)).count()
            };
            let direct = into(|target| if let Target::Direct(port) = target { Some(*port) } else { None });
            let queued = into(|target| if let Target::Queue(port) = target { Some(*port) } else { None });
            let parts =
                into(|target| if let Target::Part { port, .. } = target { Some(*port) } else { None });
            let sources = system.sources.iter().filter(|source| source.port == index).count();
            let reached = match port.lane {
                Some(_) => direct == 0,
                None => direct > 0 && queued == 0 && parts == 0 && sources == 0 && port.join.is_none(),
            };
            self.demand(reached, Demand::Reached, index);
            let earliest = port.lane.and_then(|lane| system.lanes.get(lane)).map(|lane| lane.order);
            let named = earliest != Some(Order::EarliestDeadline) || port.deadline.is_some();
            self.demand(named, Demand::RelativeDeadline, index);
            let times = |step: &Step| !matches!(step, Step::Run { least, most } if least > most);
            self.demand(port.steps.iter().all(times), Demand::StepTimes, index);
            self.demand(port.depth >= 1, Demand::Depth, index);
            match port.join {
                Some(join) => {
                    self.demand(join.parts >= 2 && join.keep != Keep::All(0), Demand::Parts, index);
                    let mut led: Vec<usize> =
                        system.connections.iter().filter_map(|it| it.part_of(index)).collect();
                    led.sort_unstable();
                    let all = led.iter().copied().eq(0..join.parts) && queued == 0 && sources == 0;
                    self.demand(all, Demand::PartConnections, index);
                }
                None => self.demand(parts == 0, Demand::PartConnections, index),
            }
            if let Some(interval) = port.interval {
                let timers = system.sources.iter().filter(|source| source.port == index).all(
                    |source| matches!(source.kind, SourceKind::Timer { period, .. } if period >= interval),
                );
                let alone = timers && sources > 0 && queued == 0 && direct == 0 && port.join.is_none();
                self.demand(alone, Demand::LetSources, index);
                let direct = outputs(&port.steps)
                    .any(|output| self.of(output).any(|(_, it)| matches!(it.target, Target::Direct(_))));
                self.demand(!direct, Demand::LetOutputs, index);
            }
        }
    }

    fn host_of(&self, port: usize) -> Option<usize> {
        let port = self.system.ports.get(port)?;
        Some(self.system.components.get(port.component)?.host)
    }

    /// The connections of an output.
    fn of(&self, output: usize) -> impl Iterator<Item = (usize, &Connection)> {
        let system = self.system;
        let indices = self.by_output.get(&output).into_iter().flatten();
        indices.filter_map(|index| Some((*index, system.connections.get(*index)?)))
    }

    /// The hosts of those that push to each output; `Err` for several.
    fn pushing_hosts(&self) -> BTreeMap<usize, Result<usize, ()>> {
        let mut hosts = BTreeMap::new();
        for (index, port) in self.system.ports.iter().enumerate() {
            let Some(host) = self.host_of(index) else { continue };
            for output in outputs(&port.steps) {
                let known = hosts.entry(output).or_insert(Ok(host));
                if *known != Ok(host) {
                    *known = Err(());
                }
            }
        }
        hosts
    }

    fn connections(&mut self) {
        let system = self.system;
        let hosts = self.pushing_hosts();
        for (index, connection) in system.connections.iter().enumerate() {
            if let Target::Part { port, part } = connection.target {
                let join = system.ports.get(port).and_then(|port| port.join);
                self.demand(join.is_some_and(|join| part < join.parts), Demand::PartNumber, index);
            }
            let target = connection.port(&system.registers).and_then(|port| self.host_of(port));
            let transfer = connection.transfer;
            self.demand(transfer.is_none_or(|it| it.least <= it.most), Demand::TransferTime, index);
            match hosts.get(&connection.output) {
                Some(Err(())) => self.demand(false, Demand::OutputHost, index),
                None => {}
                Some(Ok(host)) if matches!(connection.target, Target::Direct(_)) => {
                    self.demand(Some(*host) == target && transfer.is_none(), Demand::DirectHost, index);
                }
                Some(Ok(host)) => {
                    self.demand(Some(*host) == target || transfer.is_some(), Demand::TransferTime, index)
                }
            }
        }
    }

    fn sources(&mut self) {
        let system = self.system;
        for (index, source) in system.sources.iter().enumerate() {
            let fits = match source.kind {
                SourceKind::Timer { period, .. } => {
                    let host = self.host_of(source.port).and_then(|host| system.hosts.get(host));
                    let drift = host.map_or(0, |host| host.drift);
                    crate::work::skew(period, drift).is_ok_and(|skew| skew < period)
                }
                SourceKind::Periodic { period, gap, .. } => period > 0 && gap <= period,
                SourceKind::Sporadic { separation } => separation > 0,
            };
            self.demand(fits, Demand::Period, index);
        }
    }

    fn chains(&mut self) {
        let system = self.system;
        for (index, chain) in system.chains.iter().enumerate() {
            let mut at = system.sources.get(chain.source).map(|source| source.port);
            for number in &chain.connections {
                let connection = system.connections.get(*number);
                let port = at.and_then(|port| system.ports.get(port));
                let (Some(connection), Some(port)) = (connection, port) else {
                    self.demand(false, Demand::ChainPath, index);
                    break;
                };
                let pushes = outputs(&port.steps).any(|output| output == connection.output);
                self.demand(pushes, Demand::ChainPath, index);
                let certain = port.steps.contains(&Step::Push { output: connection.output, optional: false });
                self.demand(!pushes || certain, Demand::ChainCertain, index);
                at = connection.port(&system.registers);
            }
        }
    }

    fn circles(&mut self) {
        let system = self.system;
        let mut ports = vec![Vec::new(); system.ports.len()];
        let mut components = vec![Vec::new(); system.components.len()];
        for (from, port) in system.ports.iter().enumerate() {
            for output in outputs(&port.steps) {
                for (_, connection) in self.of(output) {
                    if matches!(connection.target, Target::Register(_)) {
                        continue;
                    }
                    let Some(to) = connection.port(&system.registers) else { continue };
                    ports[from].push(to);
                    if let (Target::Direct(_), Some(target)) = (connection.target, system.ports.get(to)) {
                        components[port.component].push(target.component);
                    }
                }
            }
        }
        if let Some(index) = circle(&ports) {
            self.demand(false, Demand::PortCircle, index);
        }
        if let Some(component) = circle(&components) {
            let of = |it: &Connection| matches!(it.target, Target::Direct(port) if system.ports.get(port).is_some_and(|port| port.component == component));
            let index = system.connections.iter().position(of).unwrap_or(0);
            self.demand(false, Demand::DirectCircle, index);
        }
    }

    /// Which threads use the lock of each component, through direct calls too.
    fn locks(&mut self) {
        let system = self.system;
        let mut users = vec![(0_usize, false); system.components.len()];
        for (index, lane) in system.lanes.iter().enumerate() {
            for component in self.locked_by(index) {
                users[component].0 += lane.threads.len();
                users[component].1 |= matches!(lane.scheduling, Scheduling::Deadline { .. });
            }
        }
        for (component, (threads, deadline)) in users.into_iter().enumerate() {
            self.demand(!deadline || threads == 1, Demand::DeadlineLock, component);
        }
    }

    fn locked_by(&self, lane: usize) -> Vec<usize> {
        let system = self.system;
        let mut seen = vec![false; system.ports.len()];
        let mut next: Vec<usize> =
            (0..system.ports.len()).filter(|port| system.ports[*port].lane == Some(lane)).collect();
        let mut locked = Vec::new();
        while let Some(index) = next.pop() {
            if core::mem::replace(&mut seen[index], true) {
                continue;
            }
            let port = &system.ports[index];
            if system.components[port.component].serialised {
                locked.push(port.component);
            }
            for output in outputs(&port.steps) {
                next.extend(self.of(output).filter_map(|(_, it)| {
                    if let Target::Direct(port) = it.target { Some(port) } else { None }
                }));
            }
        }
        locked.sort_unstable();
        locked.dedup();
        locked
    }
}

fn outputs(steps: &[Step]) -> impl Iterator<Item = usize> + '_ {
    steps.iter().filter_map(|step| if let Step::Push { output, .. } = step { Some(*output) } else { None })
}

/// One that lies on a circle, if there is a circle: those that are left when all that nothing left leads to are taken away.
fn circle(edges: &[Vec<usize>]) -> Option<usize> {
    let mut into = vec![0_usize; edges.len()];
    for to in edges.iter().flatten() {
        into[*to] += 1;
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|it| into[*it] == 0).collect();
    let mut left = edges.len();
    while let Some(from) = free.pop() {
        left -= 1;
        for to in &edges[from] {
            into[*to] -= 1;
            if into[*to] == 0 {
                free.push(*to);
            }
        }
    }
    if left == 0 { None } else { (0..edges.len()).find(|it| into[*it] > 0) }
}

/// Which connections each output has, in order.
pub(crate) fn by_output(system: &System) -> BTreeMap<usize, Vec<usize>> {
    let mut by_output: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, connection) in system.connections.iter().enumerate() {
        by_output.entry(connection.output).or_default().push(index);
    }
    by_output
}
