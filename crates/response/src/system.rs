//! What is analysed: hosts, lanes, components, ports, connections, sources and chains. Rules in brackets are those of
//! docs/components-model.md. All times are nanoseconds; what refers to something else is its index in [`System`].
use alloc::string::String;
use alloc::vec::Vec;

/// Nanoseconds.
pub type Time = u64;

/// A system of component chains. [`crate::problems`] says whether it is one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct System {
    /// Machines.
    pub hosts: Vec<Host>,
    /// Threads that serve deliveries.
    pub lanes: Vec<Lane>,
    /// State with a lock or without.
    pub components: Vec<Component>,
    /// Where deliveries arrive, with their handlers.
    pub ports: Vec<Port>,
    /// Sampled links.
    pub registers: Vec<Register>,
    /// The connections of outputs, in the order in which a push goes over them.
    pub connections: Vec<Connection>,
    /// The sources of events.
    pub sources: Vec<Source>,
    /// The chains to be bounded from end to end.
    pub chains: Vec<Chain>,
}

/// A machine with its costs (P1, P6 to P10, D1, S1, C1, C2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// How many cores it has.
    pub cores: usize,
    /// Most time until a thread that is given work can run.
    pub wake: Time,
    /// Most time that a change of threads adds.
    pub switch: Time,
    /// Most time to take a delivery.
    pub dispatch: Time,
    /// Most lateness of timers and of the publication of *let* ports.
    pub slack: Time,
    /// How wrong the rate of its clock may be, in parts of 10^9; below 10^9.
    pub drift: u64,
    /// How wrong a reading of its clock may be against other hosts.
    pub error: Time,
    /// Kinds of stall, each of which each core has independently.
    pub stalls: Vec<Stall>,
    /// Throttling of fifo threads, if it is on.
    pub throttling: Option<Throttling>,
    /// Whether its figures were measured and not declared.
    pub measured: bool,
}

/// A kind of stall (P8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stall {
    /// How long it takes at most.
    pub length: Time,
    /// Least time between two begins on one core; more than 0.
    pub distance: Time,
}

/// Throttling of fifo threads (P10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throttling {
    /// Most time of fifo threads in a window, at most `period`.
    pub runtime: Time,
    /// Length of a window; more than 0.
    pub period: Time,
}

/// Threads that serve the same deliveries (P1, P2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The host of all of its threads.
    pub host: usize,
    /// For each thread the core to which it is pinned.
    pub threads: Vec<usize>,
    /// How the threads are scheduled.
    pub scheduling: Scheduling,
    /// Which delivery is next.
    pub order: Order,
}

/// How threads are scheduled (P2, P5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// SCHED_FIFO with a priority from 1 to 99, of which 99 is the highest.
    Fifo(u8),
    /// SCHED_DEADLINE, with `runtime <= deadline <= period`.
    Deadline {
        /// Budget of each period.
        runtime: Time,
        /// Relative deadline of the budget.
        deadline: Time,
        /// Period of the budget.
        period: Time,
    },
    /// SCHED_OTHER.
    Other,
}

/// Which delivery a lane takes next (D2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The one that entered a queue first.
    Fifo,
    /// The one with the earliest deadline.
    EarliestDeadline,
}

/// State of a host (P11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Component {
    /// Its host.
    pub host: usize,
    /// Whether it has a lock.
    pub serialised: bool,
}

/// Where a component gets deliveries, and the handler that runs for them (D1 to D6, T1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Its component.
    pub component: usize,
    /// The lane that serves it; none if direct connections alone reach it.
    pub lane: Option<usize>,
    /// Relative deadline of its deliveries, for lanes with [`Order::EarliestDeadline`].
    pub deadline: Option<Time>,
    /// How many deliveries can wait; at least 1. Without meaning for direct ports.
    pub depth: u64,
    /// The policy if that many wait.
    pub policy: Full,
    /// Whether several threads may work on its deliveries at once.
    pub parallel: bool,
    /// If it is a join, of what.
    pub join: Option<Join>,
    /// Interval of logical execution time, if it is a *let* port.
    pub interval: Option<Time>,
    /// The steps of the handler, in order.
    pub steps: Vec<Step>,
    /// Whether the times of the steps were measured and not declared.
    pub measured: bool,
}

/// The policy of a full queue (D5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// The push is lost for all targets on this host that are not direct.
    Reject,
    /// The new delivery is lost.
    DropNewest,
    /// The delivery that waits longest is lost.
    DropOldest,
    /// The first delivery of the same connection is lost, or the first one.
    Coalesce,
    /// The publisher would wait; the new delivery is lost in the model.
    Block,
}

/// A join of parts (D6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// How many parts it has; at least 2.
    pub parts: usize,
    /// The events that a part keeps.
    pub keep: Keep,
    /// After which time what was kept is given up.
    pub within: Option<Time>,
}

/// The events that a part of a join keeps if it gets more than one (D6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The first.
    First,
    /// The last.
    Last,
    /// All, up to a number of at least 1.
    All(u64),
}

/// A step of a handler (D4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Runs for a time in `[least, most]`.
    Run {
        /// Least processor time.
        least: Time,
        /// Most processor time.
        most: Time,
    },
    /// Pushes to an output.
    Push {
        /// The number by which connections name the output.
        output: usize,
        /// Whether it may also not push.
        optional: bool,
    },
}

/// Leads from an output to a port or a register (D3, D8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connection {
    /// The number by which steps name the output.
    pub output: usize,
    /// Where it leads to.
    pub target: Target,
    /// If it leads to another host or process, how long that takes.
    pub transfer: Option<Transfer>,
}

/// Where a connection leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The queue of a port.
    Queue(usize),
    /// A port, whose handler runs at once.
    Direct(usize),
    /// A part of a join.
    Part {
        /// The port of the join.
        port: usize,
        /// Which part, from 0.
        part: usize,
    },
    /// A register.
    Register(usize),
}

/// Time between hosts or processes (D8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Least time.
    pub least: Time,
    /// Most time.
    pub most: Time,
    /// Whether it was measured and not declared.
    pub measured: bool,
}

/// Holds the last value for the handler of a port (D7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// The port that reads it.
    pub port: usize,
}

/// Makes events for a port (S1 to S5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// Where the events go.
    pub port: usize,
    /// When there are events.
    pub kind: SourceKind,
    /// Whether its figures were measured and not declared.
    pub measured: bool,
}

/// When a source makes events (S1, S3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceKind {
    /// A timer of the port's host.
    Timer {
        /// By the clock of the host.
        period: Time,
        /// Lateness besides the host's slack.
        jitter: Time,
        /// When the first instant is due, by the clock and the origin of the host; free if there is none.
        phase: Option<Time>,
    },
    /// A periodic stream.
    Periodic {
        /// True time.
        period: Time,
        /// How late arrivals may be.
        jitter: Time,
        /// Least time between arrivals.
        gap: Time,
    },
    /// A sporadic stream.
    Sporadic {
        /// Least time between arrivals; more than 0.
        separation: Time,
    },
}

/// A source and the connections that its events pass (B1 to B5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// How reports call it.
    pub name: String,
    /// Where its events come from.
    pub source: usize,
    /// The connections between its ports, in order.
    pub connections: Vec<usize>,
    /// Most reaction that is acceptable, if that is asked for.
    pub reaction: Option<Time>,
    /// Most data age that is acceptable, if that is asked for.
    pub age: Option<Time>,
}

impl Connection {
    /// The port that is reached, be it by its queue, a call, a part or a register.
    pub fn port(&self, registers: &[Register]) -> Option<usize> {
        match self.target {
            Target::Queue(port) | Target::Direct(port) | Target::Part { port, .. } => Some(port),
            Target::Register(register) => registers.get(register).map(|register| register.port),
        }
    }

    /// Which part of the join of a port it leads to.
    pub(crate) fn part_of(&self, join: usize) -> Option<usize> {
        match self.target {
            Target::Part { port, part } if port == join => Some(part),
            _ => None,
        }
    }
}
