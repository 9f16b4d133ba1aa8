//! A process' part of a plan in terms of containers: lanes by numbers, queues, and its ends of connections.
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use assembly::{FullPolicy, KeepPolicy, LaneDispatch, Named, Placement, SchedulingClass};

/// The containers, components and connections of a process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Part {
    /// The deployment.
    pub deployment: String,
    /// The process.
    pub process: String,
    /// Cores of its threads; all if there are none.
    pub cores: Vec<u16>,
    /// Whether its memory is locked.
    pub locks_memory: bool,
    /// Its containers; that of components without one has the empty name.
    pub containers: Named<ContainerPart>,
    /// Its components.
    pub components: Named<ComponentPart>,
    /// Its ends of connections, by the names of these.
    pub connections: Named<Vec<Half>>,
    /// Chains of which something is here, to be measured; and connections with a latency, under the names of [`measure_of`](crate::measure_of), which no
    /// chain has.
    pub chains: Named<ChainPart>,
    /// Whether probes see when the host stands still.
    pub has_probes: bool,
    /// How its clock is compared with those of other hosts, if stamps come from them.
    pub clocks: Option<ClockPart>,
    /// Its gateway to other processes, if it has one.
    pub gateway: Option<GatewayPart>,
}

impl Part {
    /// What it needs of its host: something only if something is measured.
    pub fn host_watch(&self) -> HostWatch {
        if self.chains.is_empty() {
            return HostWatch::default();
        }
        let lanes = self.containers.values().flat_map(|container| &container.lanes);
        let cores: BTreeSet<u16> = lanes.flat_map(|lane| &lane.cores).copied().collect();
        HostWatch { probes: self.has_probes.then_some(cores), clocks: self.clocks.clone() }
    }
}

/// What a process looks for on its host while something is measured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostWatch {
    /// The cores on which probes see when the host stands still; without a core one does wherever the process may run. `None` is no probe.
    pub probes: Option<BTreeSet<u16>>,
    /// How its clock is compared with those of other hosts.
    pub clocks: Option<ClockPart>,
}

/// A gateway, which joins the channels of processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatewayPart {
    /// Its number, the same in each plan of the deployment.
    pub id: u64,
    /// How many gateways an event reaches one after the other at most.
    pub ttl: u8,
    /// Nanoseconds in which something has to come of a peer.
    pub lease: Option<u64>,
    /// Where its sockets are bound.
    pub address: SocketAddr,
    /// The gateways that it is connected with.
    pub peers: Vec<PeerPart>,
    /// Types whose events go to groups.
    pub groups: Vec<(String, SocketAddr)>,
    /// The network interface of groups, if the plan names one.
    pub interface: Option<String>,
    /// Whether gateways on the same host get what is sent to groups.
    pub loopback: bool,
}

/// A gateway that another one is connected with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerPart {
    /// Its number.
    pub id: u64,
    /// Its process.
    pub process: String,
    /// How it is reached.
    pub by: Reach,
}

/// How the gateway of another process is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// By UDP, there.
    Udp(SocketAddr),
    /// By TCP: it accepts there.
    Connect(SocketAddr),
    /// By TCP: it connects.
    Accept,
}

/// A chain, as it is measured, or a connection with a latency. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChainPart {
    /// The most time from an event to an answer; of a connection its latency.
    pub reaction: Option<u64>,
    /// The greatest age of the data behind an answer.
    pub age: Option<u64>,
    /// The period of the timer that it begins with, if it does.
    pub period: Option<u64>,
    /// Its ports with handlers, in this order, also those in other processes.
    pub hops: Vec<HopPart>,
    /// The connection, if it is one.
    pub connection: Option<String>,
}

/// How clocks of hosts are compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClockPart {
    /// The topic of questions and answers.
    pub topic: String,
    /// The domains in which they are asked.
    pub domains: BTreeSet<u8>,
    /// How much the rates of two clocks differ at most, in parts of 10^9.
    pub drift: u32,
}

/// A port of a chain.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HopPart {
    /// Its name, as `component.port`.
    pub port: String,
    /// The ends in this process of the connection that leads to it, or its timer.
    pub connections: Vec<String>,
    /// Whether its handler works with what the port before has left in the component.
    pub samples: bool,
}

/// A container of a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContainerPart {
    /// Its lanes in the order of names: a lane's number is its place, from 1.
    pub lanes: Vec<LanePart>,
}

/// A lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LanePart {
    /// Its name.
    pub name: String,
    /// The number of threads.
    pub threads: u16,
    /// How the system schedules them.
    pub class: SchedulingClass,
    /// Their real-time priority, for the classes fifo and round-robin.
    pub priority: Option<u8>,
    /// Nanoseconds of processor time in each period, for the class deadline.
    pub runtime: u64,
    /// Nanoseconds of the period, for the class deadline.
    pub period: u64,
    /// What they serve.
    pub dispatch: LaneDispatch,
    /// Nanoseconds for which they stay awake without work.
    pub spin: u64,
    /// Their cores; those of the process if there are none.
    pub cores: Vec<u16>,
}

/// A component of a process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ComponentPart {
    /// Its type.
    pub component_type: String,
    /// Its container.
    pub container: String,
    /// Settings that are not their defaults.
    pub settings: Named<assembly::Value>,
    /// Whether it is active in the mode that holds.
    pub is_active: bool,
    /// When it is made anew after a failure.
    pub restart: Option<assembly::Restart>,
    /// Its joins and timers, which are connected as long as it is there.
    pub own: Vec<Half>,
}

impl ComponentPart {
    /// Whether it has timers in logical execution time.
    pub(crate) fn has_instants(&self) -> bool {
        self.own.iter().any(|half| matches!(half.carrier, Carrier::Timer { logical: Some(_), .. }))
    }
}

/// The half of a connection that is in a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Half {
    /// Its name, which no other one of the process has.
    pub name: String,
    /// The port here where it begins.
    pub from: Option<String>,
    /// The port here where it ends; with `#` and a number if that is a part of its join.
    pub to: Option<String>,
    /// The service that carries it.
    pub carrier: Carrier,
    /// The filter that events have to pass. For a topic the reader has it.
    pub filter: Option<String>,
    /// Values of its parameters.
    pub parameters: Vec<String>,
}

/// The service that carries a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// A facet is called.
    Call,
    /// The thread that pushes calls the handler.
    Direct,
    /// A queue.
    Channel(Delivery),
    /// A topic of DDS; behind it, at the consumer, a queue, unless its handler is called by the thread that receives.
    Topic {
        /// The domain.
        domain: u8,
        /// The name of the topic.
        topic: String,
        /// The type of its events.
        event: String,
        /// Whether events may be lost.
        sureness: Sureness,
        /// Samples that writer and reader keep.
        depth: u16,
        /// The queue; `None` where the thread that receives hands the event on, to a join or to what a timer reads.
        delivery: Option<Delivery>,
    },
    /// A join, to whose parts connections lead.
    Join {
        /// How many connections.
        parts: u16,
        /// Which of their events make a delivery.
        tree: Branch,
        /// The queue of all parts.
        delivery: Delivery,
    },
    /// The gateway of the process. The end that publishes stands for all connections of its port, and is made for the first of them.
    Gateway {
        /// The type of the events.
        event: String,
        /// The port that publishes.
        source: String,
        /// The queue of the consumer.
        delivery: Delivery,
    },
    /// A timer.
    Timer {
        /// Nanoseconds from call to call.
        period: u64,
        /// The threads that call.
        worker: LaneWorker,
        /// For logical execution time: what its handler reads, and when what it publishes goes out.
        logical: Option<Logical>,
    },
}

/// A part of a join, which may be a join itself. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Branch {
    /// The events of a connection that pass filters, each with values of its parameters.
    Events {
        /// The connection, by its place among those of the join.
        part: u16,
        /// The filters.
        filters: Vec<(String, Vec<String>)>,
    },
    /// Each delivery of any of these.
    Any(Vec<Self>),
    /// One delivery of all of these, once each has something.
    All(Vec<Self>, Waits),
    /// A timeout each so long.
    Every(u64),
    /// One timeout after so long.
    After(u64),
    /// The deliveries of this, and a timeout when it has had nothing for so long.
    Silence(Box<Self>, u64),
}

/// What the parts of a join keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// Which events of a part.
    pub keep: KeepPolicy,
    /// For [`KeepPolicy::All`]: how many.
    pub most: u16,
    /// Nanoseconds after which what was kept is given up.
    pub within: Option<u64>,
}

/// Logical execution time of a timer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logical {
    /// Nanoseconds from an instant to the publication.
    pub interval: u64,
    /// Ports of its component that it reads at its instants.
    pub reads: Vec<String>,
}

/// How a consumer gets its events. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The threads that work.
    pub worker: LaneWorker,
    /// Which consumers of the process have the channel, and its threads, in common.
    pub placement: Placement,
    /// Deliveries that wait at most.
    pub depth: u16,
    /// Which delivery gives way when the queue is full.
    pub full: FullPolicy,
    /// For [`FullPolicy::Block`]: how long a publisher waits at most.
    pub wait: u64,
    /// Which delivery is handled next.
    pub order: QueueOrder,
    /// The most deliveries in one call of the worker.
    pub batch: u16,
    /// How long a batch waits for further deliveries.
    pub pacing: u64,
    /// The priority of the events.
    pub priority: Option<u8>,
    /// Time from an event to its deadline.
    pub timeout: Option<u64>,
    /// Time after an event before which it is not delivered.
    pub start: u64,
    /// Time after an event from which on it is not delivered.
    pub stop: Option<u64>,
    /// Deliveries that wait at most in what a service or a connection has of a channel: its path in the plan, and how many.
    pub room: Option<(String, u32)>,
    /// Time after which a timeout is delivered if nothing has come.
    pub silence: Option<u64>,
    /// Time after which it is reported that a publisher has pushed nothing.
    pub publisher_silence: Option<u64>,
}

/// The threads of a container that serve a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneWorker {
    /// Those without a lane.
    Pool,
    /// Those of a lane, by its number.
    Lane(u8),
    /// One of its own.
    Own,
    /// Those that take the earliest deadline first.
    EarliestDeadline,
}

/// How sure it is that events of a topic come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sureness {
    /// What is lost is lost.
    BestEffort,
    /// What is lost comes again.
    Reliable,
    /// The same, and who comes later, or again, gets the last ones.
    Kept,
}

/// Which delivery of a queue is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueOrder {
    /// The one that waits longest.
    Fifo,
    /// The one of the highest priority.
    Priority,
    /// The one of the earliest deadline.
    Deadline,
}

impl Half {
    /// Whether several connections have it in common: it is made for the first of them, and taken apart with the last.
    pub const fn is_shared(&self) -> bool {
        matches!(self.carrier, Carrier::Gateway { .. }) && self.from.is_some()
    }
}

impl Delivery {
    /// The defaults.
    pub(crate) const fn plain() -> Self {
        Self {
            worker: LaneWorker::Pool,
            placement: Placement::Container,
            depth: 16,
            full: FullPolicy::DropOldest,
            wait: 0,
            order: QueueOrder::Fifo,
            batch: 1,
            pacing: 0,
            priority: None,
            timeout: None,
            start: 0,
            stop: None,
            room: None,
            silence: None,
            publisher_silence: None,
        }
    }
}
