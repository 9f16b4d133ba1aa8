//! The format of plans and manifests: every key with its shape and its purpose.
use crate::plan::{
    ArtefactKind, FullPolicy, JoinKind, KeepPolicy, LaneDispatch, LocalityKind, Placement, RestartPolicy,
    SchedulingClass, ServiceKind, Timing, Transport,
};
use crate::qos::{DISCARDS, ORDERS, RELIABILITIES};
use crate::shape::Shape::{
    Any, Boolean, Choice, Integer, List, Name, Names, Number, Step, Table, Text, Texts, Time,
};
use crate::shape::{Key, Shape, may, must};

const CORES: Shape = List(&Integer(0, 1_023));

pub(crate) const PLAN: &[Key] = &[
    may("name", Text, "the title of the plan"),
    may("id", Text, "the identifier for programs; the name if not given"),
    may("realizes", Text, "the component type of the plan as a whole"),
    may("depends-on", List(&Text), "ids of plans that have to run before it"),
    may("network", Text, "the network file that its hosts are in"),
    may("manifests", List(&Text), "files with manifests of its component types"),
    may(
        "policies",
        List(&Text),
        "policy files of the manager of its network: what they do not allow has no bound",
    ),
    may("start-mode", Name, "the mode that it begins in"),
    may(
        "quiesce",
        Time,
        "a change to this plan comes about between events: publishers rest at most so long, 15 s or less, while what they have published is handled",
    ),
    may("artefact", Names(&Table(ARTEFACT)), "where code comes from"),
    may("host", Names(&Table(HOST)), "where code runs"),
    may("process", Names(&Table(PROCESS)), "component servers"),
    may("container", Names(&Table(CONTAINER)), "components of a process under the same policies"),
    may("service", Names(&Table(SERVICE)), "services that carry events"),
    may("component", Names(&Table(COMPONENT)), "instances of component types"),
    may("topic", Names(&Table(TOPIC)), "topics of DDS whose other end is no component"),
    may("connection", Names(&Table(CONNECTION)), "connections between ports"),
    may("event", Texts(&Table(EVENT)), "QoS of events by the name of their type"),
    may("chain", Names(&Table(CHAIN)), "ports in the order of what happens, with limits of time"),
    may("locality", Names(&Table(LOCALITY)), "components and services that have to be together or apart"),
    may("mode", Names(&Table(MODE)), "which components are active when"),
    may("extensions", Texts(&Any), "entries for programs other than Punctual; they are kept as they are"),
];

const ARTEFACT: &[Key] = &[
    must("location", List(&Text), "paths or addresses where it can be had, all with the same content"),
    may("digest", Text, "SHA-256 of the content: sha256: and 64 hexadecimal digits"),
    may("kind", Choice(ArtefactKind::NAMES), "how it gets into a process; executable if not given"),
];

const HOST: &[Key] = &[
    may("cores", Integer(1, 1_024), "how many cores it has; they are numbered from 0"),
    may("costs", Table(COSTS), "costs of its processors and its clock: bounds of chains rest on them"),
    may("resources", Texts(&Any), "its resources: whole numbers are used up, any other value is compared"),
];

const COSTS: &[Key] = &[
    must("wake", Time, "most time until a thread that is given work can run"),
    must("switch", Time, "most time that a change of threads adds, with what the caches lose"),
    must("dispatch", Time, "most time to take a delivery out of a queue"),
    must("slack", Time, "most lateness of timers"),
    may(
        "clock-drift",
        Integer(0, 999_999_999),
        "how wrong the rate of the clock may be, in parts of 10^9; 200000 if not given",
    ),
    may("clock-error", Time, "how wrong a reading of the clock may be against other hosts; 0 if not given"),
    may(
        "send",
        Time,
        "most time from a push until the host's port has all frames; needed for transfers that are computed",
    ),
    may(
        "receive",
        Time,
        "most time from the last frame until the event is in the consumer's queue; needed for transfers that are computed",
    ),
    may(
        "probe",
        Time,
        "most time that a wake of a stall probe takes; probes see stalls if it is given, one of each process on each core of its lanes",
    ),
    may("stalls", List(&Table(STALL)), "times for which each core does other work; none if not given"),
    may(
        "throttling",
        Table(THROTTLING),
        "limit of the kernel for fifo threads; 950 ms in each 1 s if not given",
    ),
    may("measured", Boolean, "whether these were measured; if not, they are declared"),
];

const STALL: &[Key] = &[
    must("length", Time, "the greatest length"),
    must("distance", Time, "the least time from one begin to the next"),
];

const THROTTLING: &[Key] = &[
    must("runtime", Time, "time of fifo threads in each period; as much as the period if the limit is off"),
    must("period", Time, "the period"),
];

const PROCESS: &[Key] = &[
    may("host", Name, "where it runs; its components may say it instead"),
    may("artefact", Name, "the program that it executes"),
    may("arguments", List(&Text), "arguments after those that a component server gets"),
    may("environment", Texts(&Text), "environment variables besides those of its parent"),
    may("cores", CORES, "cores that its threads may use, unless a lane says otherwise"),
    may("lock-memory", Boolean, "whether its memory is locked; false if not given"),
    may(
        "cgroup",
        Text,
        "its control group (version 2), from the root of these on; made before it begins if it is not there",
    ),
    may("requires", Texts(&Any), "resources that it requires of its host"),
    may("restart", Table(RESTART), "when it is started again after its end"),
    may("depends-on", List(&Name), "processes that begin before it and end after it"),
];

const RESTART: &[Key] = &[
    must("policy", Choice(RestartPolicy::NAMES), "when it is started again"),
    may("limit", Integer(1, 1_000_000), "how often at most within that time"),
    may("within", Time, "the time in which starts are counted"),
    may("delay", Time, "time before the first start again; twice as long before each further one"),
];

const CONTAINER: &[Key] = &[
    must("process", Name, "the process that it is in"),
    may("lanes", Names(&Table(LANE)), "threads by name"),
    may("lane", Name, "the lane of ports that name none"),
];

const LANE: &[Key] = &[
    may("class", Choice(SchedulingClass::NAMES), "how the system schedules its threads; normal if not given"),
    may("priority", Integer(1, 99), "for the classes fifo and round-robin"),
    may("cores", CORES, "cores that its threads may use; those of the process if not given"),
    may("threads", Integer(1, 1_024), "how many threads; 1 if not given"),
    may("runtime", Time, "for the class deadline: processor time in each period"),
    may("period", Time, "for the class deadline"),
    may(
        "dispatch",
        Choice(LaneDispatch::NAMES),
        "whether its threads serve its ports in turn, each port has a thread of its own, or the port with the earliest deadline is next; lane if not given",
    ),
    may(
        "spin",
        Time,
        "how long a thread without work stays awake, and has its core for itself; 0 if not given",
    ),
];

const SERVICE: &[Key] = &[
    must("kind", Choice(ServiceKind::NAMES), "the kind of service"),
    may("placement", Choice(Placement::NAMES), "the scope; server, which is a process, if not given"),
    may("at", Name, "the component, container or process that has it"),
    may("qos", Table(QOS), "QoS in the scope of the channel"),
    may("peers", List(&Name), "services that subscribe at this one, by gateways"),
    may("transport", Choice(Transport::NAMES), "what joins its gateway with its peers; udp if not given"),
    may("address", Text, "address and port of its gateway; an address of the host itself if not given"),
    may("ttl", Integer(1, 255), "how many gateways an event passes at most; 1 if not given"),
    may(
        "lease",
        Time,
        "time in which something has to come of a peer, or else it counts as dead; 2 s if not given",
    ),
    may(
        "groups",
        Texts(&Text),
        "multicast groups by event type, as \"239.1.2.3\" or \"239.1.2.3:7389\"; * is for all others",
    ),
    may("interface", Text, "the network interface of gateways"),
    may("loopback", Boolean, "whether what is sent to a group comes back to this host"),
    may("domain", Integer(0, 232), "the DDS domain"),
    may("resources", Texts(&Any), "its resources: connections that require a whole number use it up"),
];

const COMPONENT: &[Key] = &[
    must("type", Text, "the component type, as its manifest names it"),
    may("host", Name, "the host of its process, if that does not say it"),
    must("process", Name, "its process; one that has no table of its own is made"),
    may("container", Name, "its container; if not given, that of the process for all without one"),
    may("artefact", Name, "code that is loaded for it, if not that of its process"),
    may("settings", Texts(&Any), "values of settings"),
    may("lane", Name, "the lane of its ports, unless they say otherwise"),
    may("port", Names(&Table(PORT)), "entries of ports"),
    may("requires", Texts(&Any), "resources that it requires of its host"),
    may("restart", Table(RESTART), "when it is started again after a failure"),
];

const PORT: &[Key] = &[
    may("lane", Name, "the lane that calls its handler"),
    may("qos", Table(QOS), "QoS in the scope of the port"),
    may("queue", Table(QUEUE), "its queue"),
    may("join", Table(JOIN), "of a consumer: how events of several connections call its handler"),
    may("group", Names(&Table(JOIN)), "parts of the join, and of each other, that are joins themselves"),
    may("period", Time, "of a timer: time between two instants"),
    may(
        "timing",
        Choice(Timing::NAMES),
        "of a timer: when its handler reads and publishes; immediate if not given",
    ),
    may("interval", Time, "for let: time from an instant to the publication; the period if not given"),
    may("samples", List(&Name), "consumers of the component whose last events its handler works with"),
    may("execution", Table(EXECUTION), "how long its handler takes here, in place of what the manifest says"),
];

const JOIN: &[Key] = &[
    must("kind", Choice(JoinKind::NAMES), "once each part has an event (conjunction), or as each has one"),
    must(
        "parts",
        List(&Name),
        "connections, in the order in which the handler gets and counts their events, and groups of the port",
    ),
    may(
        "keep",
        Choice(KeepPolicy::NAMES),
        "events that a part keeps if it gets more than one; first if not given",
    ),
    may("most", Integer(1, 65_535), "for all: how many a part keeps"),
    may("within", Time, "time after which what was kept is given up; never if not given"),
    may("every", Time, "one more part, behind the others, which is a timeout each so long"),
    may("after", Time, "one more part, behind the others, which is one timeout after so long, once"),
    may("silence", Time, "its handler is called with a timeout if nothing has come to the join for so long"),
    may(
        "filter",
        Text,
        "an expression that all events of its connections have to pass, besides their own filters",
    ),
    may("parameters", List(&Text), "values of %0, %1 and so on in the filter"),
];

const QUEUE: &[Key] = &[
    must("depth", Integer(1, 1_000_000), "deliveries that wait at most"),
    may(
        "full",
        Choice(FullPolicy::NAMES),
        "which delivery gives way when that many wait; drop-oldest if not given",
    ),
    may("wait", Time, "for block: how long a publisher waits at most"),
];

const TOPIC: &[Key] = &[
    may("topic", Text, "the name of the topic; that of the entry if not given"),
    must("type", Text, "its type"),
    may("domain", Integer(0, 232), "its domain; 0 if not given"),
];

const CONNECTION: &[Key] = &[
    must("from", Text, "a publisher, emitter or receptacle as component.port, or topic:NAME"),
    must("to", List(&Text), "consumers as component.port, or topic:NAME; facets if it is from a receptacle"),
    may(
        "service",
        Text,
        "direct, channel, dds, federated, or the name of a service; by locality if not given",
    ),
    may("filter", Text, "the filter that events have to pass: an expression over their fields"),
    may("parameters", List(&Text), "values of %0, %1 and so on in the filter"),
    may("queue", Table(QUEUE), "the queue at each consumer"),
    may("qos", Table(QOS), "QoS in the scope of the channel"),
    may("requires", Texts(&Any), "resources that it requires of the service that carries it"),
    may("latency", Time, "time from push to handler at most"),
    may("separation", Time, "time between two events at least"),
    may("jitter", Time, "time by which an event may be late"),
    may("silence", Time, "each consumer's handler is called with a timeout if nothing has come for so long"),
    may("publisher-silence", Time, "it is told if the publisher has pushed nothing for so long"),
    may("size", Integer(0, 4_294_967_295), "bytes of the largest event"),
    may("transfer", Table(TRANSFER), "between processes or hosts: the transfer time of an event"),
    may("suspended", Boolean, "whether it carries nothing until it is resumed; false if not given"),
];

const TRANSFER: &[Key] = &[
    may("least", Time, "at least; 0 if not given"),
    must("most", Time, "at most, from the push to the queue of the consumer"),
    may("measured", Boolean, "whether this was measured; if not, it is declared"),
];

const EVENT: &[Key] = &[must("qos", Table(QOS), "QoS in the scope of the event")];

const CHAIN: &[Key] = &[
    must("path", List(&Text), "ports in the order of what happens"),
    may("reaction", Time, "time from the first to the last at most, when something happens at the first"),
    may("age", Time, "greatest age of the data that the last handler works with"),
];

const LOCALITY: &[Key] = &[
    must("kind", Choice(LocalityKind::NAMES), "how they are together or apart"),
    must("members", List(&Name), "components and services"),
];

const MODE: &[Key] = &[must("components", List(&Name), "the components that are active in it")];

pub(crate) const QOS: &[Key] = &[
    may("event-reliability", Choice(RELIABILITIES), "whether an event outlives the service that carries it"),
    may(
        "connection-reliability",
        Choice(RELIABILITIES),
        "whether a connection is made again after it was lost",
    ),
    may("priority", Integer(-32_767, 32_767), "the priority of an event"),
    may("start-time", Time, "time after its stamp before which an event is not delivered"),
    may("stop-time", Time, "time after its stamp from which on an event is not delivered"),
    may("timeout", Time, "time after which an event has no value: its deadline"),
    may("order-policy", Choice(ORDERS), "in which order deliveries leave a queue"),
    may("discard-policy", Choice(DISCARDS), "which delivery gives way in a full queue"),
    may("maximum-batch-size", Integer(1, 1_000_000), "deliveries that a handler gets at once"),
    may("pacing-interval", Time, "time for which a batch waits for further deliveries"),
    may(
        "max-events-per-consumer",
        Integer(0, 1_000_000),
        "deliveries that wait for one consumer; 0 is no limit",
    ),
    may("max-queue-length", Integer(0, 1_000_000), "deliveries that wait in a channel; 0 is no limit"),
    may("max-consumers", Integer(0, 1_000_000), "consumers of a channel; 0 is no limit"),
    may("max-suppliers", Integer(0, 1_000_000), "publishers of a channel; 0 is no limit"),
    may("reject-new-events", Boolean, "whether a full queue refuses new events"),
];

pub(crate) const MANIFEST: &[Key] = &[
    may("build", Text, "the build of the program that has the types"),
    must("component", Texts(&Table(COMPONENT_TYPE)), "component types by name"),
    may(
        "topics",
        List(&Text),
        "types of events that can leave a process of it, by topics and gateways; unknown if not given",
    ),
    may("event", Texts(&Table(EVENT_TYPE)), "types of events by name"),
];

const COMPONENT_TYPE: &[Key] = &[
    may("port", Names(&Table(PORT_TYPE)), "its ports"),
    may("setting", Texts(&Table(SETTING)), "its settings"),
    may("lanes", List(&Name), "names of lanes that it can be in; any if not given"),
    may("swappable", Boolean, "whether its state can go into a new build; false if not given"),
    may("parallel", Boolean, "whether several handlers may run at once; false if not given"),
];

const PORT_TYPE: &[Key] = &[
    must("kind", Choice(crate::manifest::PortKind::NAMES), "the kind of port"),
    may("type", Text, "the type of its events, or of the trait that is called; timers have none"),
    may("required", Boolean, "whether it has to be connected; true of receptacles and emitters if not given"),
    may("most", Integer(1, 1_000_000), "how many a multiplex receptacle takes at most"),
    may("triggers", List(&Name), "ports that its handler may push to or call; any if not given"),
    may("execution", Table(EXECUTION), "how long its handler takes"),
];

const EXECUTION: &[Key] = &[
    must("worst", Time, "the longest time of a call"),
    may("typical", Time, "the time of most calls"),
    may(
        "steps",
        List(&Step),
        "its steps, in order: times (\"30 us\", \"10 us to 30 us\") and ports that it pushes to or calls (\"position\", \"alarm?\" if it may not); the rest of the worst time follows",
    ),
    may("measured", Boolean, "whether these were measured; if not, they are declared"),
];

const SETTING: &[Key] = &[
    must("type", Choice(crate::manifest::SettingKind::NAMES), "the kind of values"),
    may("default", Any, "the value if the plan says none; without one the plan has to"),
    may("range", List(&Number), "the least and the greatest value of a number"),
    may("values", List(&Text), "the texts that are possible"),
];

const EVENT_TYPE: &[Key] = &[
    may(
        "fields",
        Texts(&Choice(crate::manifest::FieldKind::NAMES)),
        "all fields that filters compare, by path; unknown if not given",
    ),
    may("labels", Texts(&Texts(&Any)), "for fields that are enumerations: numbers by label"),
];
