//! The plan, as values. Names stand for things: there are no indices and no numeric ids.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use crate::choices::{
    ArtefactKind, FullPolicy, JoinKind, KeepPolicy, LaneDispatch, LocalityKind, Placement, RestartPolicy,
    SchedulingClass, ServiceKind, Timing, Transport,
};
use crate::qos::Qos;
use crate::timing::{Costs, Execution, Transfer};
use crate::value::Value;

/// Entries by name.
pub type Named<T> = BTreeMap<String, T>;

/// A deployment plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// Its title, for people.
    pub name: Option<String>,
    /// The identifier that programs know it by.
    pub id: Option<String>,
    /// The component type of the plan as a whole.
    pub realizes: Option<String>,
    /// Ids of plans that have to run before it.
    pub depends_on: Vec<String>,
    /// The network file that its hosts are in.
    pub network: Option<String>,
    /// Files with manifests of its component types.
    pub manifests: Vec<String>,
    /// Policy files of the manager of its network, which have to allow its flows.
    pub policies: Vec<String>,
    /// The mode that it begins in.
    pub start_mode: Option<String>,
    /// A change to it comes about between events: for so long publishers rest at most while what they have published is handled.
    pub quiesce: Option<u64>,
    /// Where code comes from.
    pub artefacts: Named<Artefact>,
    /// The hosts that it runs on.
    pub hosts: Named<Host>,
    /// Processes: component servers.
    pub processes: Named<Process>,
    /// Containers in processes.
    pub containers: Named<Container>,
    /// Services that carry events.
    pub services: Named<Service>,
    /// Instances of component types.
    pub components: Named<Component>,
    /// Topics of DDS whose other end is no component.
    pub topics: Named<Topic>,
    /// The connections between ports.
    pub connections: Named<Connection>,
    /// QoS of events, by the name of their type.
    pub events: Named<Qos>,
    /// Chains of ports with limits on their time.
    pub chains: Named<Chain>,
    /// Constraints: what has to be together, or apart.
    pub localities: Named<Locality>,
    /// Which components are active when.
    pub modes: Named<Mode>,
    /// Entries for programs other than Punctual, as they were written.
    pub extensions: Named<Value>,
}

/// Code: an executable, a library, or a program that is no component server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Artefact {
    /// Paths or addresses where it can be had, all with the same content.
    pub location: Vec<String>,
    /// SHA-256 of the content: `sha256:` and 64 hexadecimal digits.
    pub digest: Option<String>,
    /// How it gets into a process.
    pub kind: ArtefactKind,
}

/// A host of the network.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Host {
    /// How many cores it has; they are numbered from 0.
    pub cores: Option<u16>,
    /// The costs of its processors and its clock.
    pub costs: Option<Costs>,
    /// Its resources. Components that require a whole number use it up; any other value is compared.
    pub resources: Named<Value>,
}

/// A process that has containers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Process {
    /// The host that it runs on.
    pub host: Option<String>,
    /// The program that it executes.
    pub artefact: Option<String>,
    /// Arguments after those that a component server gets.
    pub arguments: Vec<String>,
    /// Environment variables besides those of its parent.
    pub environment: Named<String>,
    /// Cores that its threads may use, unless a lane says otherwise; all if there are none.
    pub cores: Vec<u16>,
    /// Whether its memory is locked.
    pub locks_memory: bool,
    /// Its control group.
    pub cgroup: Option<String>,
    /// The resources that it requires of its host.
    pub requires: Named<Value>,
    /// When it is started again after its end.
    pub restart: Option<Restart>,
    /// Processes that begin before it, and end after it.
    pub depends_on: Vec<String>,
}

/// A container: components under the same policies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Container {
    /// The process that it is in.
    pub process: String,
    /// Threads by name.
    pub lanes: Named<Lane>,
    /// The lane of ports that name none.
    pub lane: Option<String>,
}

/// Threads of a container that dispatch with one priority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// How the system schedules them.
    pub class: SchedulingClass,
    /// 1 to 99 for the classes fifo and round-robin.
    pub priority: Option<u8>,
    /// Cores that they may use; those of the process if there are none.
    pub cores: Vec<u16>,
    /// The number of threads.
    pub threads: u16,
    /// For the class deadline: picoseconds of processor time in each period.
    pub runtime: Option<u64>,
    /// For the class deadline: the period in picoseconds.
    pub period: Option<u64>,
    /// What its threads serve.
    pub dispatch: LaneDispatch,
    /// Picoseconds for which a thread without work stays awake.
    pub spin: Option<u64>,
}

/// A service that carries events.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Service {
    /// The kind of service.
    pub kind: ServiceKind,
    /// Its scope: a component, a container, or all containers of a process.
    pub placement: Placement,
    /// The component, container or process that has it.
    pub at: Option<String>,
    /// QoS in the scope of the channel.
    pub qos: Qos,
    /// Services that get what they subscribe to from this one.
    pub peers: Vec<String>,
    /// What joins its gateway with those of its peers.
    pub transport: Option<Transport>,
    /// Address and port of its gateway; of the host itself if not given.
    pub address: Option<String>,
    /// How many gateways an event passes at most.
    pub ttl: Option<u8>,
    /// Picoseconds in which something has to come of a peer; after that it counts as dead.
    pub lease: Option<u64>,
    /// Multicast groups of event types, with a port or without; `*` is for all others.
    pub groups: Named<String>,
    /// The network interface of gateways.
    pub interface: Option<String>,
    /// Whether what is sent to a group comes back to this host.
    pub loopback: Option<bool>,
    /// The DDS domain.
    pub domain: Option<u8>,
    /// Its resources. Connections that require a whole number use it up; any other value is compared.
    pub resources: Named<Value>,
}

/// An instance of a component type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Component {
    /// The component type, as its manifest names it.
    pub component_type: String,
    /// The host of its process; if not given, the process says it.
    pub host: Option<String>,
    /// Its process.
    pub process: String,
    /// Its container; if not given, that of the process for all without one.
    pub container: Option<String>,
    /// Code that is loaded for it, if not that of its process.
    pub artefact: Option<String>,
    /// Values of settings.
    pub settings: Named<Value>,
    /// The lane of its ports, unless they say otherwise.
    pub lane: Option<String>,
    /// The entries of ports, by name.
    pub ports: Named<Port>,
    /// The resources that it requires of its host.
    pub requires: Named<Value>,
    /// When it is started again after a failure.
    pub restart: Option<Restart>,
}

/// The entry of a port in a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Port {
    /// The lane that calls its handler.
    pub lane: Option<String>,
    /// QoS in the scope of the port.
    pub qos: Qos,
    /// Its queue; the same as two names of QoS.
    pub queue: Option<Queue>,
    /// Of a consumer that several connections lead to: how they call its handler.
    pub join: Option<Join>,
    /// Parts of its join, and of each other, that are joins themselves.
    pub groups: Named<Join>,
    /// Of a timer: picoseconds between two instants.
    pub period: Option<u64>,
    /// Of a timer: when its handler reads and publishes.
    pub timing: Timing,
    /// For [`Timing::Let`]: picoseconds from an instant to the publication; the period if not given.
    pub interval: Option<u64>,
    /// Consumers of the same component whose last events its handler works with.
    pub samples: Vec<String>,
    /// How long its handler takes here, if that is not what the manifest says.
    pub execution: Option<Execution>,
}

/// How the events of several connections call a handler. They share one queue, which is that of the port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Join {
    /// When they do.
    pub kind: JoinKind,
    /// Connections, in the order in which the handler gets and counts their events, and groups of the port.
    pub parts: Vec<String>,
    /// For [`JoinKind::Conjunction`]: which events a part keeps.
    pub keep: KeepPolicy,
    /// For [`KeepPolicy::All`]: how many of each part.
    pub most: Option<u16>,
    /// For [`JoinKind::Conjunction`]: picoseconds after which what was kept is given up.
    pub within: Option<u64>,
    /// Picoseconds between two timeouts that are one more part of the join.
    pub every: Option<u64>,
    /// Picoseconds after which one timeout, once, is one more part of the join.
    pub after: Option<u64>,
    /// Picoseconds after which the handler gets a timeout if nothing has come to the join.
    pub silence: Option<u64>,
    /// A filter that all events of its connections have to pass, besides those of the connections.
    pub filter: Option<String>,
    /// Values of the parameters of the filter.
    pub parameters: Vec<String>,
}

/// A queue of deliveries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    /// Deliveries that wait at most.
    pub depth: u32,
    /// The delivery that gives way when that many wait.
    pub full: FullPolicy,
    /// For [`FullPolicy::Block`]: picoseconds that a publisher waits at most.
    pub wait: Option<u64>,
}

/// A topic of DDS whose other end is no component of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topic {
    /// Its name; that of the entry if not given.
    pub topic: Option<String>,
    /// Its type.
    pub topic_type: String,
    /// Its domain.
    pub domain: Option<u8>,
}

/// A connection: a port with others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Connection {
    /// A publisher, emitter, receptacle or topic.
    pub from: End,
    /// Consumers or topics; or the facets of a receptacle.
    pub to: Vec<End>,
    /// A kind of service (`direct`, `channel`, `dds`, `federated`) or the name of one; by locality if not given.
    pub service: Option<String>,
    /// The filter that events have to pass; all pass without one.
    pub filter: Option<String>,
    /// Values of the parameters of the filter.
    pub parameters: Vec<String>,
    /// The queue at each consumer.
    pub queue: Option<Queue>,
    /// QoS in the scope of the channel.
    pub qos: Qos,
    /// The resources that it requires of the service that carries it.
    pub requires: Named<Value>,
    /// Picoseconds from push to handler at most.
    pub latency: Option<u64>,
    /// Picoseconds between two events at least.
    pub separation: Option<u64>,
    /// Picoseconds by which an event may be late.
    pub jitter: Option<u64>,
    /// Picoseconds after which each consumer gets a timeout if nothing has come.
    pub silence: Option<u64>,
    /// Picoseconds after which it is told that the publisher has pushed nothing.
    pub publisher_silence: Option<u64>,
    /// Bytes of the largest event.
    pub size: Option<u32>,
    /// Between processes or hosts: how long an event is on its way.
    pub transfer: Option<Transfer>,
    /// Whether it carries nothing until it is resumed.
    pub is_suspended: bool,
}

/// An end of a connection or a member of a chain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// A port of a component: `airframe.fix`.
    Port {
        /// The component.
        component: String,
        /// Its port.
        port: String,
    },
    /// A topic of the plan: `topic:NAME`.
    Topic(String),
}

/// A chain of ports with limits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chain {
    /// Ports in the order of what happens.
    pub path: Vec<End>,
    /// Picoseconds from the first to the last at most, when something happens at the first.
    pub reaction: Option<u64>,
    /// Picoseconds of age at most of what the last works with.
    pub age: Option<u64>,
}

/// A constraint: components and services that have to be together or apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locality {
    /// Whether they run together or apart.
    pub kind: LocalityKind,
    /// Components and services.
    pub members: Vec<String>,
}

/// Modes that a plan has at most: of each two of them the way from one to the other is proved.
pub const MOST_MODES: usize = 16;
/// How long publishers may rest at most for a change between events: half of the time in which a supervisor wants an answer of each process.
pub const MOST_QUIESCE: u64 = 15_000_000_000_000;

/// A mode: the components that are active in it. All others are passive.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mode {
    /// Their names.
    pub components: Vec<String>,
}

/// How often, and when, something that has ended is started again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restart {
    /// When it is started again.
    pub policy: RestartPolicy,
    /// How often at most within that time.
    pub limit: Option<u32>,
    /// Picoseconds in which starts are counted.
    pub within: Option<u64>,
    /// Picoseconds before the first start again; twice as long before each further one.
    pub delay: Option<u64>,
}

impl Plan {
    /// The connections that are suspended.
    pub fn suspended(&self) -> impl Iterator<Item = &str> {
        let suspended = self.connections.iter().filter(|(_, connection)| connection.is_suspended);
        suspended.map(|(name, _)| name.as_str())
    }

    /// Whether a component is active in the mode that the plan begins in.
    pub fn is_active_at_start(&self, component: &str) -> bool {
        let mode = self.start_mode.as_ref().and_then(|mode| self.modes.get(mode));
        mode.is_none_or(|mode| mode.components.iter().any(|active| active == component))
    }
}

impl Default for Lane {
    /// One thread of the class normal.
    fn default() -> Self {
        Self {
            class: SchedulingClass::Normal,
            priority: None,
            cores: Vec::new(),
            threads: 1,
            runtime: None,
            period: None,
            dispatch: LaneDispatch::Lane,
            spin: None,
        }
    }
}

impl Default for End {
    /// A topic without a name, which there is not.
    fn default() -> Self {
        Self::Topic(String::new())
    }
}

/// Before the name of a topic.
const TOPIC: &str = "topic:";

impl End {
    /// A port of a component.
    pub fn port(component: impl Into<String>, port: impl Into<String>) -> Self {
        Self::Port { component: component.into(), port: port.into() }
    }

    /// The end that a text names: `component.port` or `topic:name`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(topic) = text.strip_prefix(TOPIC) {
            return crate::shape::is_name(topic).then(|| Self::Topic(topic.into()));
        }
        let (component, port) = text.split_once('.')?;
        let are_names = crate::shape::is_name(component) && crate::shape::is_name(port);
        are_names.then(|| Self::port(component, port))
    }

    /// The component whose port it is.
    pub fn component(&self) -> Option<&str> {
        match self {
            Self::Port { component, .. } => Some(component),
            Self::Topic(_) => None,
        }
    }
}

impl fmt::Display for End {
    /// The id of the end, as files and channels have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port { component, port } => write!(f, "{component}.{port}"),
            Self::Topic(name) => write!(f, "{TOPIC}{name}"),
        }
    }
}
