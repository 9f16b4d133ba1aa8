//! Systems that are simulated: hosts, lanes, components, ports, connections, sources and chains.
use alloc::string::String;
use alloc::vec::Vec;

/// How many chains a system may have: each value carries the origins of all of them.
pub const MOST_CHAINS: usize = 8;

/// A kind of stall of a core (P8), in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stall {
    /// The longest.
    pub length: u64,
    /// The least time from the beginning of one to the beginning of the next.
    pub distance: u64,
}

/// Throttling of fifo threads (P10), in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throttling {
    /// The time of fifo threads in each window.
    pub runtime: u64,
    /// The length of a window.
    pub period: u64,
}

/// A machine. Times are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// The name in explanations.
    pub name: String,
    /// How many cores it has.
    pub cores: usize,
    /// The longest wake-up (P6).
    pub wake: u64,
    /// The longest switch (P7).
    pub switch: u64,
    /// The longest time for taking a delivery (P13).
    pub dispatch: u64,
    /// The greatest lateness of a timer (S1).
    pub slack: u64,
    /// How fast or slow its clock may run, in parts of 10^9 (C1).
    pub drift: u64,
    /// How wrong a reading of its clock may be (C2).
    pub error: u64,
    /// Stalls of each core.
    pub stalls: Vec<Stall>,
    /// Throttling of each core.
    pub throttling: Option<Throttling>,
}

/// How threads are scheduled (P2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// SCHED_FIFO.
    Fifo {
        /// 1 to 99.
        priority: u8,
    },
    /// SCHED_DEADLINE, in nanoseconds.
    Deadline {
        /// The budget.
        runtime: u64,
        /// The relative deadline, from `runtime` to `period`.
        deadline: u64,
        /// The period.
        period: u64,
    },
    /// No real-time scheduling.
    Other,
}

/// Which delivery a lane takes next (P14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneOrder {
    /// The one that entered first.
    Fifo,
    /// The one with the earliest deadline.
    EarliestDeadline,
}

/// Threads that serve the same deliveries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The name in explanations.
    pub name: String,
    /// Its host.
    pub host: usize,
    /// The core of each thread.
    pub threads: Vec<usize>,
    /// How each of them is scheduled.
    pub scheduling: Scheduling,
    /// The order in which they take deliveries.
    pub order: LaneOrder,
}

/// State with handlers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// The name in explanations.
    pub name: String,
    /// Its host.
    pub host: usize,
    /// Whether it has a lock (P11).
    pub serialised: bool,
}

/// The delivery that a full queue loses (D5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// The whole push.
    Reject,
    /// The new delivery.
    DropNewest,
    /// The first delivery of the queue.
    DropOldest,
    /// The first delivery that came over the same connection.
    Coalesce,
    /// The new delivery, since the model has no waiting publisher.
    Block,
}

/// The events that a part of a join keeps when it is not empty (D6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The first event.
    First,
    /// The last event.
    Last,
    /// Up to so many.
    All(u16),
}

/// A join of parts (D6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// How many parts there are, 2 or more.
    pub parts: usize,
    /// The events that a part keeps.
    pub keep: Keep,
    /// When what is kept is given up, in nanoseconds from the first of it.
    pub within: Option<u64>,
}

/// How deliveries come to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Through a queue, into a lane.
    Queued {
        /// The lane that serves the port.
        lane: usize,
        /// How many deliveries wait at most.
        depth: usize,
        /// The policy of a full queue.
        full: Full,
        /// Parts that come together first.
        join: Option<Join>,
        /// The relative deadline of its deliveries in a lane by deadline, in nanoseconds.
        deadline: u64,
    },
    /// By calls on the pushing thread (P15).
    Direct,
}

/// A step of a handler (D4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It runs, for so many nanoseconds.
    Run {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// It pushes.
    Push {
        /// To this output of the component.
        output: usize,
        /// Whether it may leave it.
        optional: bool,
    },
}

/// Where a component gets deliveries, and the handler for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// The name in explanations.
    pub name: String,
    /// The component that has it.
    pub component: usize,
    /// How deliveries come.
    pub entry: Entry,
    /// How many registers it reads (D7).
    pub registers: usize,
    /// The steps of its handler.
    pub steps: Vec<Step>,
    /// The interval of logical execution time (T1), in nanoseconds.
    pub interval: Option<u64>,
}

/// Where a component pushes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The component that has it.
    pub component: usize,
}

/// Where a connection leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Into the queue of a port.
    Queue(usize),
    /// To a part of the join of a port.
    Part(usize, usize),
    /// To a port that is called.
    Direct(usize),
    /// To a register of a port.
    Register(usize, usize),
}

impl Target {
    /// The port.
    pub const fn port(self) -> usize {
        match self {
            Self::Queue(port) | Self::Part(port, _) | Self::Direct(port) | Self::Register(port, _) => port,
        }
    }
}

/// From an output to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Where it begins.
    pub output: usize,
    /// Where it leads.
    pub target: Target,
    /// Least and most transfer time in nanoseconds, if it leads to another host or process (D8).
    pub transfer: Option<(u64, u64)>,
}

/// When a source makes events, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceKind {
    /// A timer of the host (S1).
    Timer {
        /// By the host's clock.
        period: u64,
        /// Lateness beside the host's slack.
        jitter: u64,
        /// From the host's origin; `None` is free.
        phase: Option<u64>,
    },
    /// A periodic stream with jitter (S3).
    Periodic {
        /// Of what is regular about it.
        period: u64,
        /// The greatest lateness.
        jitter: u64,
        /// The least time between two arrivals.
        gap: u64,
    },
    /// A sporadic stream (S3).
    Sporadic {
        /// The least time between two arrivals.
        separation: u64,
    },
}

impl SourceKind {
    /// The mean time between events when they come as often as they may.
    pub const fn period(&self) -> u64 {
        match self {
            Self::Timer { period, .. } | Self::Periodic { period, .. } => *period,
            Self::Sporadic { separation } => *separation,
        }
    }
}

/// A source of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// When.
    pub kind: SourceKind,
    /// For this port.
    pub port: usize,
}

/// A source, and the connections that its events pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The name in explanations.
    pub name: String,
    /// Where it begins.
    pub source: usize,
    /// From port to port; empty for a chain of one port.
    pub connections: Vec<usize>,
}

/// All parts of a system; indices refer to the other lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Description {
    /// The machines.
    pub hosts: Vec<Host>,
    /// The lanes.
    pub lanes: Vec<Lane>,
    /// The components.
    pub components: Vec<Component>,
    /// The ports.
    pub ports: Vec<Port>,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// The connections.
    pub connections: Vec<Connection>,
    /// The sources.
    pub sources: Vec<Source>,
    /// The chains.
    pub chains: Vec<Chain>,
}

/// A description that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct System {
    pub(crate) parts: Description,
    /// For each output its connections.
    pub(crate) leads: Vec<Vec<usize>>,
    /// For each connection the chains that pass it, as bits.
    pub(crate) passed: Vec<u8>,
}

impl System {
    /// The description that it was made from.
    pub const fn description(&self) -> &Description {
        &self.parts
    }

    /// The host of a port.
    pub fn host(&self, port: usize) -> usize {
        self.parts.components[self.parts.ports[port].component].host
    }

    /// The last port of a chain.
    pub fn last(&self, chain: usize) -> usize {
        let chain = &self.parts.chains[chain];
        match chain.connections.last() {
            Some(connection) => self.parts.connections[*connection].target.port(),
            None => self.parts.sources[chain.source].port,
        }
    }

    /// The first port of a chain.
    pub fn first(&self, chain: usize) -> usize {
        self.parts.sources[self.parts.chains[chain].source].port
    }

    /// The error that two clocks add to measured times of a chain (C2).
    pub(crate) fn clock_errors(&self, chain: usize) -> u64 {
        let (first, last) = (self.host(self.first(chain)), self.host(self.last(chain)));
        self.clock_errors_between(first, last)
    }

    /// By how much a measured latency of a connection may be wrong (C2).
    pub(crate) fn clock_errors_of(&self, connection: usize) -> u64 {
        let connection = &self.parts.connections[connection];
        let from = self.parts.components[self.parts.outputs[connection.output].component].host;
        self.clock_errors_between(from, self.host(connection.target.port()))
    }

    fn clock_errors_between(&self, first: usize, last: usize) -> u64 {
        if first == last { 0 } else { self.parts.hosts[first].error + self.parts.hosts[last].error }
    }
}
