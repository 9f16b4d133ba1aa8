//! Random systems: some hosts, components in lanes, and chains through queues, calls, joins, registers and the network.
//!
//! What comes out fits the model and seldom has more work than its cores have time. Nothing is known here of what an
//! analysis can do.
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use frames::Random;

use crate::system::{
    Chain, Component, Connection, Description, Entry, Full, Host, Join, Keep, Lane, LaneOrder, MOST_CHAINS,
    Output, Port, Scheduling, Source, SourceKind, Stall, Step, System, Target, Throttling,
};

/// How large systems are at most, and how loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Hosts.
    pub hosts: u64,
    /// Components.
    pub components: u64,
    /// Chains, at most [`MOST_CHAINS`].
    pub chains: u64,
    /// The least and the greatest load that cores are to have, in percent.
    pub load: (u64, u64),
}

impl Default for Shape {
    /// Up to 3 hosts, 20 components and 4 chains, loaded by 10 to 85 percent.
    fn default() -> Self {
        Self { hosts: 3, components: 20, chains: 4, load: (10, 85) }
    }
}

/// The random system of a seed.
pub fn system(seed: u64) -> System {
    system_of(&Shape::default(), seed)
}

/// The random system of a seed, of a shape.
pub fn system_of(shape: &Shape, seed: u64) -> System {
    // Descriptions are drawn until one fits the model; most do.
    let mut attempt = 0;
    loop {
        let random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(attempt));
        let mut builder = Builder { random, parts: Description::default() };
        builder.build(shape);
        if let Ok(system) = System::new(builder.parts) {
            return system;
        }
        attempt += 1;
    }
}

struct Builder {
    random: Random,
    parts: Description,
}

impl Builder {
    fn build(&mut self, shape: &Shape) {
        let hosts = self.random.between(1, shape.hosts.max(1)) as usize;
        for host in 0..hosts {
            self.add_host(host);
        }
        let components = self.random.between(1, shape.components.max(1)) as usize;
        for index in 0..components {
            let host = self.random.index(hosts);
            let serialised = !self.random.once_in(4);
            self.parts.components.push(Component { name: format!("c{index}"), host, serialised });
        }
        let chains = self.random.between(1, shape.chains.clamp(1, MOST_CHAINS as u64));
        for _ in 0..chains {
            self.add_chain();
        }
        for _ in 0..self.random.below(4) {
            let component = self.random.index(components);
            self.add_first(component);
        }
        if self.random.once_in(4) {
            self.add_optional();
        }
        if self.random.once_in(3) {
            self.add_interval();
        }
        let load = self.random.between(shape.load.0, shape.load.1);
        self.scale(load);
    }

    fn add_host(&mut self, host: usize) {
        let cores = if self.random.once_in(3) { 2 } else { 1 };
        // Most hosts have no costs: what is free then is known better.
        let mut cost = |most: u64| if self.random.once_in(2) { 0 } else { self.random.below(most) };
        let (wake, switch, dispatch, slack) = (cost(400), cost(100), cost(150), cost(500));
        let (drift, error) = (cost(1_000_000), cost(500));
        let mut stalls = Vec::new();
        for _ in 0..self.random.below(5).saturating_sub(2) {
            let length = self.random.between(1, 1_500);
            stalls.push(Stall { length, distance: length * self.random.between(20, 200) });
        }
        let throttling = self.random.once_in(6).then(|| {
            let period = self.random.between(20_000, 200_000);
            Throttling { runtime: period * self.random.between(85, 98) / 100, period }
        });
        let name = format!("h{host}");
        self.parts.hosts.push(Host {
            name,
            cores,
            wake,
            switch,
            dispatch,
            slack,
            drift,
            error,
            stalls,
            throttling,
        });
        for _ in 0..self.random.between(1, 4) {
            let index = self.parts.lanes.len();
            let mut threads = vec![self.random.index(cores)];
            if self.random.once_in(10) {
                threads.push(self.random.index(cores));
            }
            let scheduling = match self.random.below(20) {
                0 => Scheduling::Other,
                1 | 2 => {
                    let period = self.random.between(2_000, 20_000);
                    let deadline =
                        if self.random.once_in(2) { period } else { self.random.between(period / 2, period) };
                    let runtime = self.random.between(deadline / 10, deadline / 2).max(1);
                    Scheduling::Deadline { runtime, deadline, period }
                }
                _ => Scheduling::Fifo { priority: self.random.between(1, 12) as u8 },
            };
            let order = if self.random.once_in(8) { LaneOrder::EarliestDeadline } else { LaneOrder::Fifo };
            self.parts.lanes.push(Lane { name: format!("lane{index}"), host, threads, scheduling, order });
        }
    }

    fn period(&mut self) -> u64 {
        // Some fit into each other, most do not.
        match self.random.below(3) {
            0 => [5_000, 10_000, 20_000, 40_000][self.random.index(4)],
            _ => self.random.between(4_000, 60_000),
        }
    }

    fn add_port(&mut self, component: usize, is_direct: bool, join: Option<Join>) -> usize {
        let host = self.parts.components[component].host;
        let lanes: Vec<usize> =
            (0..self.parts.lanes.len()).filter(|lane| self.parts.lanes[*lane].host == host).collect();
        let lane = lanes.get(self.random.index(lanes.len())).copied().unwrap_or(0);
        let index = self.parts.ports.len();
        let depth =
            if self.random.once_in(4) { self.random.between(1, 3) } else { self.random.between(8, 16) };
        let full = [Full::DropOldest, Full::DropNewest, Full::Reject, Full::Coalesce, Full::Block]
            [self.random.index(5)];
        let deadline = self.random.between(1_000, 30_000);
        let entry = match is_direct {
            true => Entry::Direct,
            false => Entry::Queued { lane, depth: depth as usize, full, join, deadline },
        };
        // Relative weights for now; they become times when the load is known.
        let steps =
            (0..self.random.between(1, 3)).map(|_| Step::Run { least: 0, most: self.random.between(1, 100) });
        let steps = steps.collect();
        let name = format!("p{index}");
        self.parts.ports.push(Port { name, component, entry, registers: 0, steps, interval: None });
        index
    }

    fn add_source(&mut self, port: usize, period: u64) -> usize {
        let jitter = if self.random.once_in(2) { 0 } else { self.random.below(period * 3 / 2) };
        let kind = match self.random.below(4) {
            0 => SourceKind::Sporadic { separation: period },
            1 => SourceKind::Periodic { period, jitter, gap: self.random.below(period / 4) },
            _ => self.timer(period),
        };
        self.parts.sources.push(Source { kind, port });
        self.parts.sources.len() - 1
    }

    fn timer(&mut self, period: u64) -> SourceKind {
        let jitter = if self.random.once_in(3) { self.random.below(period / 4) } else { 0 };
        let phase = self.random.once_in(4).then(|| self.random.below(period));
        SourceKind::Timer { period, jitter, phase }
    }

    /// A port with a source; gives both.
    fn add_first(&mut self, component: usize) -> (usize, usize) {
        let port = self.add_port(component, false, None);
        let period = self.period();
        (port, self.add_source(port, period))
    }

    /// A push at some place in the steps of a port, to a new output.
    fn add_push(&mut self, port: usize, optional: bool) -> usize {
        let component = self.parts.ports[port].component;
        self.parts.outputs.push(Output { component });
        let output = self.parts.outputs.len() - 1;
        let steps = &mut self.parts.ports[port].steps;
        let place = self.random.index(steps.len() + 1);
        steps.insert(place, Step::Push { output, optional });
        output
    }

    fn connect(&mut self, from: usize, target: Target, optional: bool) -> usize {
        let output = self.add_push(from, optional);
        let host = |port: usize| self.parts.components[self.parts.ports[port].component].host;
        let is_elsewhere = host(from) != host(target.port());
        // Between processes of one host it may take time, too.
        let is_apart =
            self.parts.hosts.len() > 1 && !matches!(target, Target::Direct(_)) && self.random.below(8) == 0;
        let transfer = (is_elsewhere || is_apart).then(|| {
            let least = self.random.below(2_000);
            (least, least + self.random.below(3_000))
        });
        self.parts.connections.push(Connection { output, target, transfer });
        self.parts.connections.len() - 1
    }

    fn add_chain(&mut self) {
        let components = self.parts.components.len();
        let first = self.random.index(components);
        let (mut port, source) = self.add_first(first);
        let mut path = vec![port];
        let mut connections = Vec::new();
        for _ in 0..self.random.below(5) {
            let component = self.random.index(components);
            let here = self.parts.ports[port].component;
            let is_near = self.parts.components[component].host == self.parts.components[here].host;
            let target = match self.random.below(10) {
                // Calls go from earlier components to later ones, so that there is no circle.
                0 | 1 if is_near && component > here => Target::Direct(self.add_port(component, true, None)),
                2 | 3 => self.add_sampled(component),
                4 | 5 => self.add_join(component),
                6 => self
                    .existing(port, &path)
                    .unwrap_or_else(|| Target::Queue(self.add_port(component, false, None))),
                _ => Target::Queue(self.add_port(component, false, None)),
            };
            connections.push(self.connect(port, target, false));
            port = target.port();
            path.push(port);
        }
        let name = format!("chain{}", self.parts.chains.len());
        self.parts.chains.push(Chain { name, source, connections });
    }

    /// A port with a timer, and a register of it.
    fn add_sampled(&mut self, component: usize) -> Target {
        let port = self.add_port(component, false, None);
        self.parts.ports[port].registers = 1;
        let period = self.period();
        let kind = self.timer(period);
        self.parts.sources.push(Source { kind, port });
        Target::Register(port, 0)
    }

    /// A port with a join, whose other parts have sources of their own, and its first part.
    fn add_join(&mut self, component: usize) -> Target {
        let parts = self.random.between(2, 3) as usize;
        let keep =
            [Keep::First, Keep::Last, Keep::All(self.random.between(1, 4) as u16)][self.random.index(3)];
        let within = self.random.once_in(4).then(|| self.random.between(10_000, 100_000));
        let port = self.add_port(component, false, Some(Join { parts, keep, within }));
        for part in 1..parts {
            let component = self.random.index(self.parts.components.len());
            let (from, _) = self.add_first(component);
            self.connect(from, Target::Part(port, part), false);
        }
        Target::Part(port, 0)
    }

    /// The queue of a port that there is already, behind this one.
    fn existing(&mut self, port: usize, path: &[usize]) -> Option<Target> {
        let later: Vec<usize> = (port + 1..self.parts.ports.len())
            .filter(|later| matches!(self.parts.ports[*later].entry, Entry::Queued { join: None, .. }))
            .filter(|later| !path.contains(later))
            .collect();
        later.get(self.random.index(later.len())).map(|later| Target::Queue(*later))
    }

    fn add_optional(&mut self) {
        let from = self.random.index(self.parts.ports.len());
        let component = self.random.index(self.parts.components.len());
        let to = self.add_port(component, false, None);
        self.connect(from, Target::Queue(to), true);
    }

    /// Logical execution time for a port that may have it.
    fn add_interval(&mut self) {
        let port = self.random.index(self.parts.ports.len());
        let periods =
            self.parts.sources.iter().filter(|source| source.port == port).map(|source| source.kind.period());
        if let Some(period) = periods.min() {
            let interval =
                if self.random.once_in(2) { period } else { self.random.between(period / 2, period) };
            self.parts.ports[port].interval = Some(interval.max(1));
        }
    }

    /// Makes times of weights, so that the busiest core of each host has a load of so many percent about.
    fn scale(&mut self, load: u64) {
        let rates = self.rates();
        // What one unit of weight costs each core, and what deliveries cost beside.
        let hosts = self.parts.hosts.len();
        let (mut weights, mut costs) = (vec![[0.0_f64; 2]; hosts], vec![[0.0_f64; 2]; hosts]);
        for (port, rate) in rates.iter().enumerate() {
            let weight: u64 = self.parts.ports[port]
                .steps
                .iter()
                .map(|step| match step {
                    Step::Run { most, .. } => *most,
                    Step::Push { .. } => 0,
                })
                .sum();
            let host = self.parts.components[self.parts.ports[port].component].host;
            let core = match self.parts.ports[port].entry {
                Entry::Queued { lane, .. } => self.parts.lanes[lane].threads[0],
                // It may be called anywhere.
                Entry::Direct => 0,
            };
            let machine = &self.parts.hosts[host];
            weights[host][core] += rate * weight as f64;
            costs[host][core] += rate * (machine.dispatch + 2 * machine.switch) as f64;
        }
        for port in 0..self.parts.ports.len() {
            let host = self.parts.components[self.parts.ports[port].component].host;
            let scales = (0..2)
                .filter(|core| weights[host][*core] > 0.0)
                .map(|core| (load as f64 / 100.0 - costs[host][core]).max(0.02) / weights[host][core]);
            let scale = scales.fold(f64::INFINITY, f64::min);
            for step in &mut self.parts.ports[port].steps {
                if let Step::Run { least, most } = step {
                    *most = (*most as f64 * scale) as u64;
                    *least = match self.random.below(3) {
                        0 => *most,
                        1 => *most / 2,
                        _ => self.random.between(0, *most),
                    };
                }
            }
        }
    }

    /// How often the handler of each port runs, for each nanosecond.
    fn rates(&self) -> Vec<f64> {
        let mut rates = vec![0.0; self.parts.ports.len()];
        // Connections lead from earlier ports to later ones, or from sides that were added after a join: a few rounds settle it.
        for _ in 0..8 {
            let mut next = vec![0.0; rates.len()];
            for source in &self.parts.sources {
                next[source.port] += 1.0 / source.kind.period() as f64;
            }
            for connection in &self.parts.connections {
                let pushes =
                    |step: &Step| matches!(step, Step::Push { output, .. } if *output == connection.output);
                let pushers =
                    self.parts.ports.iter().zip(&rates).filter(|(port, _)| port.steps.iter().any(pushes));
                let rate: f64 = pushers.map(|(_, rate)| *rate).sum();
                match connection.target {
                    Target::Register(..) => {}
                    target => next[target.port()] += rate,
                }
            }
            rates = next;
        }
        rates
    }
}
