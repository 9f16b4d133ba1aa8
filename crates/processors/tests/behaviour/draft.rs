//! Small systems, drafted in a few lines.
use processors::{
    Attack, Chain, Claims, Component, Connection, Description, Effort, Entry, Full, Goal, Host, Join, Lane,
    LaneOrder, Output, Port, Scheduling, Search, Source, SourceKind, Step, System, Target, Ties, run,
};

/// A description in the making. Indices are given back as things are added.
#[derive(Clone, Default)]
pub(crate) struct Draft {
    pub(crate) parts: Description,
}

impl Draft {
    /// One host without costs.
    pub(crate) fn new(cores: usize) -> Self {
        let mut draft = Self::default();
        draft.host(cores);
        draft
    }

    pub(crate) fn host(&mut self, cores: usize) -> usize {
        let name = format!("h{}", self.parts.hosts.len());
        self.parts.hosts.push(Host { name, cores, ..Host::default() });
        self.parts.hosts.len() - 1
    }

    /// A lane of one fifo thread on a core of a host.
    pub(crate) fn fifo(&mut self, host: usize, core: usize, priority: u8) -> usize {
        self.lane(host, core, Scheduling::Fifo { priority })
    }

    pub(crate) fn lane(&mut self, host: usize, core: usize, scheduling: Scheduling) -> usize {
        let name = format!("lane{}", self.parts.lanes.len());
        self.parts.lanes.push(Lane { name, host, threads: vec![core], scheduling, order: LaneOrder::Fifo });
        self.parts.lanes.len() - 1
    }

    pub(crate) fn component(&mut self, host: usize) -> usize {
        let name = format!("c{}", self.parts.components.len());
        self.parts.components.push(Component { name, host, serialised: true });
        self.parts.components.len() - 1
    }

    /// A port with a queue of 16 that drops the oldest.
    pub(crate) fn port(&mut self, component: usize, lane: usize, steps: Vec<Step>) -> usize {
        let full = Full::DropOldest;
        self.add_port(component, Entry::Queued { lane, depth: 16, full, join: None, deadline: 0 }, steps)
    }

    pub(crate) fn joined(&mut self, component: usize, lane: usize, join: Join, steps: Vec<Step>) -> usize {
        let full = Full::DropOldest;
        self.add_port(
            component,
            Entry::Queued { lane, depth: 16, full, join: Some(join), deadline: 0 },
            steps,
        )
    }

    pub(crate) fn called(&mut self, component: usize, steps: Vec<Step>) -> usize {
        self.add_port(component, Entry::Direct, steps)
    }

    fn add_port(&mut self, component: usize, entry: Entry, steps: Vec<Step>) -> usize {
        let name = format!("p{}", self.parts.ports.len());
        self.parts.ports.push(Port { name, component, entry, registers: 0, steps, interval: None });
        self.parts.ports.len() - 1
    }

    /// A component of its own on the first host, with one port.
    pub(crate) fn alone(&mut self, lane: usize, steps: Vec<Step>) -> usize {
        let component = self.component(self.parts.lanes[lane].host);
        self.port(component, lane, steps)
    }

    pub(crate) fn timer(&mut self, port: usize, period: u64) -> usize {
        self.source(port, SourceKind::Timer { period, jitter: 0, phase: None })
    }

    pub(crate) fn source(&mut self, port: usize, kind: SourceKind) -> usize {
        self.parts.sources.push(Source { kind, port });
        self.parts.sources.len() - 1
    }

    /// A push at the end of the steps of a port.
    pub(crate) fn push(&mut self, from: usize, target: Target) -> usize {
        let component = self.parts.ports[from].component;
        self.parts.outputs.push(Output { component });
        let output = self.parts.outputs.len() - 1;
        self.parts.ports[from].steps.push(Step::Push { output, optional: false });
        if let Target::Register(port, register) = target {
            let registers = &mut self.parts.ports[port].registers;
            *registers = (*registers).max(register + 1);
        }
        self.parts.connections.push(Connection { output, target, transfer: None });
        self.parts.connections.len() - 1
    }

    pub(crate) fn chain(&mut self, source: usize, connections: &[usize]) -> usize {
        let name = format!("chain{}", self.parts.chains.len());
        self.parts.chains.push(Chain { name, source, connections: connections.to_vec() });
        self.parts.chains.len() - 1
    }

    pub(crate) fn system(&self) -> System {
        System::new(self.parts.clone()).unwrap()
    }

    /// The worst that a thorough search finds.
    pub(crate) fn worst(&self, goal: Goal) -> u64 {
        worst(&self.system(), goal)
    }
}

/// The worst of runs in which the sources meet at these instants, with each order of equal ones, and with clocks of these rates.
pub(crate) fn met(system: &System, goal: Goal, instants: &[u64], rates: &[i64]) -> u64 {
    let mut attack = Attack::critical(system, goal, 1_000_000);
    for (emission, at) in attack.sources.iter_mut().zip(instants) {
        emission.at = *at;
    }
    attack.rates.copy_from_slice(rates);
    let values = [Ties::LowFirst, Ties::HighFirst, Ties::Random].map(|ties| {
        attack.ties = ties;
        run(system, &attack).seen(goal).value
    });
    values.into_iter().max().unwrap()
}

pub(crate) const THOROUGH: Effort = Effort { climbing: 300, random: 60, events: 300 };

pub(crate) fn worst(system: &System, goal: Goal) -> u64 {
    Search::new(system, &Claims::default(), goal, THOROUGH).worst(1).value
}

/// A step that takes this time.
pub(crate) const fn runs(time: u64) -> Step {
    Step::Run { least: time, most: time }
}
