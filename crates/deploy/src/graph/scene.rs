//! What a picture of plans shows: hosts with all that is in them, components with their ports, what connects them, and chains with
//! verdicts.
use std::collections::{BTreeMap, BTreeSet};

use assembly::{
    End, GraphNode, JoinKind, JoinPart, JoinTree, Lane, LaneDispatch, NodeKind, Plan, PortKind,
    SchedulingClass, ServiceKind, Transfer,
};
use diagnostics::written;
use schedulability::{Admission, ChainVerdict, ConnectionVerdict, Obstacle, State};

use super::chains::{Steps, steps};
use super::text::clean;
use crate::admit::time;
use crate::files::Loaded;

/// All that is shown. Elements are named by their number.
#[derive(Default)]
pub(super) struct Scene<'s> {
    pub(super) title: String,
    /// Hosts, then processes, then containers: what is in another one comes later.
    pub(super) blocks: Vec<Block>,
    pub(super) nodes: Vec<Node>,
    pub(super) wires: Vec<Wire>,
    pub(super) chains: Vec<Chain<'s>>,
    /// Connections to components, with their bounds.
    pub(super) connections: &'s [ConnectionVerdict],
    /// Figures that bounds need and no plan gives; empty if all that has limits has bounds.
    pub(super) missing: Vec<&'s Obstacle>,
}

/// Of which kind a block is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Host,
    Process,
    Container,
}

/// A host, a process or a container.
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) parent: Option<usize>,
    /// Its heading.
    pub(super) lines: Vec<String>,
    /// Numbers of what is missing at it.
    pub(super) lacks: Vec<usize>,
}

/// A component, a service of the plan or a topic.
pub(super) struct Node {
    pub(super) plan: usize,
    pub(super) block: Option<usize>,
    pub(super) name: String,
    pub(super) kind: NodeKind,
    /// Below its name.
    pub(super) about: String,
    /// Ports where something comes in, and where something goes out.
    pub(super) left: Vec<Port>,
    pub(super) right: Vec<Port>,
    /// How many ports of its type are left out.
    pub(super) more: usize,
    pub(super) lacks: Vec<usize>,
}

/// A port; of services and topics one without a name on each side.
#[derive(Default)]
pub(super) struct Port {
    pub(super) name: String,
    /// Its label.
    pub(super) label: String,
    pub(super) kind: Option<PortKind>,
    /// Whether it is a timer of which the plan says no period.
    pub(super) is_timeless: bool,
    /// Whether its label says what its join waits for.
    pub(super) is_joined: bool,
    /// All that is said of it.
    pub(super) about: String,
    pub(super) wires: Vec<usize>,
}

/// A connection to one of its ends, or a part of one that goes through a service.
pub(super) struct Wire {
    /// Nodes, and the numbers of ports on the right of the one and on the left of the other.
    pub(super) from: (usize, usize),
    pub(super) to: (usize, usize),
    /// The connection; none between services.
    pub(super) name: Option<String>,
    pub(super) kind: ServiceKind,
    pub(super) is_call: bool,
    /// The service that carries it, and the transfer time.
    pub(super) carrier: String,
    pub(super) about: String,
    pub(super) lacks: Vec<usize>,
}

/// A chain with its verdict.
pub(super) struct Chain<'s> {
    /// With its plan, if there are several.
    pub(super) name: String,
    pub(super) path: String,
    pub(super) verdict: &'s ChainVerdict,
    pub(super) steps: Steps,
}

/// Ports of a type that the plan does not name are shown up to so many.
const UNNAMED: usize = 12;

/// The key of a block: the number of the plan, and the name in it.
type Key = (usize, String);

impl<'s> Scene<'s> {
    pub(super) fn of(loaded: &[Loaded], admission: &'s Admission) -> Self {
        let mut scene = Self { title: title(loaded), connections: &admission.connections, ..Self::default() };
        let states = admission.chains.iter().map(|chain| &chain.state);
        let mut states = states.chain(admission.limited().map(|connection| &connection.state));
        if states.any(|state| matches!(state, State::NoBound { .. })) {
            scene.missing = admission.obstacles.iter().collect();
        }
        let lacks = lacks(&scene.missing);
        let responses: BTreeMap<(usize, &str), u64> = admission
            .ports
            .iter()
            .filter_map(|port| Some(((port.plan, port.name.as_str()), port.response?)))
            .collect();
        let blocks = scene.add_blocks(loaded, &lacks);
        for (plan, loaded) in loaded.iter().enumerate() {
            let first = scene.nodes.len();
            let graph = loaded.plan.graph(&loaded.types);
            let sources = loaded.plan.connections.values().map(|connection| &connection.from).collect();
            let context = Context { loaded, plan, lacks: &lacks, responses: &responses, sources };
            for node in &graph.nodes {
                scene.nodes.push(context.node(node, blocks.innermost(plan, node)));
            }
            for edge in &graph.edges {
                let (from, to) = ((first + edge.from.0, &edge.from.1), (first + edge.to.0, &edge.to.1));
                let index = scene.wires.len();
                let mut attach = |(node, name): (usize, &Option<String>), is_right: bool| {
                    let node = scene.nodes.get_mut(node)?;
                    let ports = if is_right { &mut node.right } else { &mut node.left };
                    let name = name.as_deref().unwrap_or_default();
                    let port = ports.iter().position(|port| port.name == name).unwrap_or_else(|| {
                        // Only of a type that nothing is known of.
                        ports.push(Port { name: name.to_owned(), label: clean(name), ..Port::default() });
                        ports.len() - 1
                    });
                    ports.get_mut(port)?.wires.push(index);
                    Some(port)
                };
                let (Some(from_port), Some(to_port)) = (attach(from, true), attach(to, false)) else {
                    continue;
                };
                let key = edge.connection.as_ref().map(|name| (plan, format!("connection.{name}")));
                let is_between =
                    [edge.from.0, edge.to.0].iter().all(|it| graph.nodes.get(*it).is_some_and(is_component));
                scene.wires.push(Wire {
                    from: (from.0, from_port),
                    to: (to.0, to_port),
                    carrier: carrier(edge.kind, edge.transfer, is_between && !edge.is_call),
                    about: about_edge(&loaded.plan, edge),
                    name: edge.connection.clone(),
                    kind: edge.kind,
                    is_call: edge.is_call,
                    lacks: key.and_then(|key| lacks.get(&key).cloned()).unwrap_or_default(),
                });
            }
        }
        let numbers: BTreeMap<(usize, bool, String), usize> = (0..)
            .zip(&scene.nodes)
            .map(|(number, node)| ((node.plan, node.kind == NodeKind::Topic, node.name.clone()), number))
            .collect();
        for verdict in &admission.chains {
            let of_plan = loaded.get(verdict.plan);
            let Some(chain) = of_plan.and_then(|loaded| loaded.plan.chains.get(&verdict.name)) else {
                continue;
            };
            let name = match of_plan.filter(|_| loaded.len() > 1) {
                Some(of_plan) => format!("{}: {}", called(of_plan), verdict.name),
                None => verdict.name.clone(),
            };
            let path: Vec<String> = chain.path.iter().map(ToString::to_string).collect();
            let steps = steps(&scene, &numbers, verdict.plan, chain);
            scene.chains.push(Chain { name, path: path.join(" → "), verdict, steps });
        }
        scene
    }

    /// Adds hosts, processes and containers.
    fn add_blocks(&mut self, loaded: &[Loaded], lacks: &BTreeMap<Key, Vec<usize>>) -> Blocks {
        let Blocks { mut hosts, mut processes, mut containers } = Blocks::default();
        let layouts: Vec<_> = loaded.iter().map(|loaded| loaded.plan.layout()).collect();
        let named = loaded.iter().flat_map(|loaded| loaded.plan.hosts.keys().map(|name| Some(name.clone())));
        let used =
            layouts.iter().flat_map(|layout| layout.processes().values().map(|host| host.map(str::to_owned)));
        for host in named.chain(used).collect::<BTreeSet<_>>() {
            let said = || loaded.iter().filter_map(|loaded| loaded.plan.hosts.get(host.as_ref()?));
            let cores = said().find_map(|host| host.cores);
            let line = match (&host, cores) {
                (Some(name), Some(1)) => format!("host {name}, 1 core"),
                (Some(name), Some(cores)) => format!("host {name}, {cores} cores"),
                (Some(name), None) => format!("host {name}"),
                (None, _) => "on no host that the plan says".to_owned(),
            };
            let path = host.as_ref().map(|host| format!("host.{host}"));
            let of_all = (0..loaded.len()).filter_map(|plan| lacks.get(&(plan, path.clone()?)));
            let lacks = of_all.flatten().copied().collect();
            hosts.insert(host, self.blocks.len());
            self.blocks.push(Block { kind: BlockKind::Host, parent: None, lines: vec![line], lacks });
        }
        for (plan, (loaded_plan, layout)) in loaded.iter().zip(&layouts).enumerate() {
            for (name, host) in layout.processes() {
                let mut line = format!("process {name}");
                if loaded.len() > 1 {
                    line += &format!(" of {}", called(loaded_plan));
                }
                if let Some(process) = loaded_plan.plan.processes.get(*name) {
                    line += &cores(&process.cores);
                }
                let parent = hosts.get(&host.map(str::to_owned)).copied();
                processes.insert((plan, (*name).to_owned()), self.blocks.len());
                self.blocks.push(Block {
                    kind: BlockKind::Process,
                    parent,
                    lines: vec![line],
                    lacks: Vec::new(),
                });
            }
        }
        for (plan, loaded) in loaded.iter().enumerate() {
            for (name, container) in &loaded.plan.containers {
                let mut lines = vec![format!("container {name}")];
                lines.extend(container.lanes.iter().map(|(name, lane)| self::lane(name, lane)));
                let lacks = lacks.get(&(plan, format!("container.{name}"))).cloned().unwrap_or_default();
                let parent = processes.get(&(plan, container.process.clone())).copied();
                containers.insert((plan, name.clone()), self.blocks.len());
                self.blocks.push(Block { kind: BlockKind::Container, parent, lines, lacks });
            }
        }
        Blocks { hosts, processes, containers }
    }
}

/// The numbers of blocks.
#[derive(Default)]
struct Blocks {
    /// Hosts by name; `None` is for processes of which no host is said.
    hosts: BTreeMap<Option<String>, usize>,
    processes: BTreeMap<Key, usize>,
    containers: BTreeMap<Key, usize>,
}

impl Blocks {
    /// The innermost block that a node of that plan is in.
    fn innermost(&self, plan: usize, node: &GraphNode) -> Option<usize> {
        let container = node.container.clone().and_then(|name| self.containers.get(&(plan, name)));
        let process = || node.process.clone().and_then(|name| self.processes.get(&(plan, name)));
        container.or_else(process).or_else(|| self.hosts.get(&Some(node.host.clone()?))).copied()
    }
}

fn is_component(node: &GraphNode) -> bool {
    node.kind == NodeKind::Component
}

/// The title of a plan: its name, its id or its file.
pub(super) fn called(loaded: &Loaded) -> String {
    let said = loaded.plan.name.as_deref().or(loaded.plan.id.as_deref());
    clean(said.unwrap_or(loaded.source().file))
}

fn title(loaded: &[Loaded]) -> String {
    loaded.iter().map(called).collect::<Vec<_>>().join(", ")
}

/// Numbers of what is missing, from 1, by the plan and the element that lacks it, such as `connection.fix`.
fn lacks(missing: &[&Obstacle]) -> BTreeMap<Key, Vec<usize>> {
    let mut lacks: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (number, obstacle) in (1..).zip(missing) {
        let element: Vec<&str> = obstacle.path.split('.').take(2).collect();
        lacks.entry((obstacle.plan, element.join("."))).or_default().push(number);
    }
    lacks
}

fn cores(cores: &[u16]) -> String {
    let list: Vec<String> = cores.iter().map(ToString::to_string).collect();
    match list.len() {
        0 => String::new(),
        1 => format!(", core {}", list.join(" ")),
        _ => format!(", cores {}", list.join(" ")),
    }
}

/// A lane with its class, as a line.
fn lane(name: &str, lane: &Lane) -> String {
    let mut line = format!("{name}: {}", lane.class);
    if let Some(priority) = lane.priority {
        line += &format!(" {priority}");
    }
    if let (SchedulingClass::Deadline, Some(runtime), Some(period)) = (lane.class, lane.runtime, lane.period)
    {
        line += &format!(" {} of {}", written(runtime), written(period));
    }
    line += &cores(&lane.cores);
    if lane.threads != 1 {
        line += &format!(", {} threads", lane.threads);
    }
    match lane.dispatch {
        LaneDispatch::Lane => {}
        LaneDispatch::Own => line += ", one for each port",
        LaneDispatch::EarliestDeadline => line += ", earliest deadline first",
    }
    if let Some(spin) = lane.spin.filter(|time| *time > 0) {
        line += &format!(", awake for {}", written(spin));
    }
    line
}

/// The data that nodes are made from.
struct Context<'c> {
    loaded: &'c Loaded,
    plan: usize,
    lacks: &'c BTreeMap<Key, Vec<usize>>,
    /// Proved bounds of handlers in nanoseconds, by plan and port.
    responses: &'c BTreeMap<(usize, &'c str), u64>,
    /// Where connections begin.
    sources: BTreeSet<&'c End>,
}

impl Context<'_> {
    fn node(&self, node: &GraphNode, block: Option<usize>) -> Node {
        let Self { loaded, plan, .. } = *self;
        let mut made = Node {
            plan,
            block,
            name: node.name.clone(),
            kind: node.kind,
            about: node.data_type.as_deref().map(clean).unwrap_or_default(),
            left: Vec::new(),
            right: Vec::new(),
            more: 0,
            lacks: Vec::new(),
        };
        match node.kind {
            NodeKind::Component => {}
            NodeKind::Service(kind) => made.about = format!("service, {kind}"),
            NodeKind::Topic => {
                let topic = loaded.plan.topics.get(&node.name).and_then(|topic| topic.topic.as_deref());
                let name = topic.map(|topic| format!(" \"{}\"", clean(topic))).unwrap_or_default();
                made.about = format!("topic{name} of {}", made.about);
            }
        }
        if node.kind != NodeKind::Component {
            made.left.push(Port::default());
            made.right.push(Port::default());
            return made;
        }
        let Some(component) = loaded.plan.components.get(&node.name) else { return made };
        let container = component.container.as_ref().and_then(|name| loaded.plan.containers.get(name));
        if let Some(lane) =
            component.lane.as_ref().or(container.and_then(|container| container.lane.as_ref()))
        {
            made.about += &format!(", lane {lane}");
        }
        made.lacks = self.lacks.get(&(plan, format!("component.{}", node.name))).cloned().unwrap_or_default();
        let of_type = loaded.types.components.get(&component.component_type);
        let unnamed = of_type.into_iter().flat_map(|of_type| &of_type.ports);
        let unnamed: Vec<_> = unnamed.filter(|(name, _)| !node.ports.contains_key(*name)).collect();
        made.more = unnamed.len().saturating_sub(UNNAMED);
        let unnamed = unnamed.into_iter().take(UNNAMED).map(|(name, port)| (name, Some(port.kind)));
        for (name, kind) in node.ports.iter().map(|(name, kind)| (name, *kind)).chain(unnamed) {
            let end = End::port(node.name.as_str(), name.as_str());
            let response = self.responses.get(&(plan, end.to_string().as_str())).copied();
            let port = port(loaded, &node.name, name, kind, response);
            let is_source = kind.map_or_else(|| self.sources.contains(&end), PortKind::is_source);
            if is_source { made.right.push(port) } else { made.left.push(port) }
        }
        made
    }
}

fn port(loaded: &Loaded, component: &str, name: &str, kind: Option<PortKind>, response: Option<u64>) -> Port {
    let said = loaded.plan.components.get(component);
    let of_type = said.and_then(|it| loaded.types.components.get(&it.component_type)?.ports.get(name));
    let of_plan = said.and_then(|it| it.ports.get(name));
    let mut label = name.to_owned();
    let mut about = vec![format!("{component}.{name}: {}", kind.map_or("of unknown kind", PortKind::name))];
    if let Some(of_type) = of_type.and_then(|of_type| of_type.port_type.as_deref()) {
        about.push(format!("type {}", clean(of_type)));
    }
    let period = of_plan.and_then(|port| port.period);
    let is_timeless = kind == Some(PortKind::Timer) && period.is_none();
    if let Some(period) = period {
        label += &format!(", {}", written(period));
    } else if is_timeless {
        label += ", no period";
    }
    let join = of_plan.and_then(assembly::Port::join_tree);
    let is_joined = join.is_some();
    if let Some(tree) = join {
        label += &format!(": {}", joined(&tree));
        about.push(about_join(&tree));
    }
    if let Some(lane) = of_plan.and_then(|port| port.lane.as_ref()) {
        about.push(format!("lane {lane}"));
    }
    if let Some(queue) = of_plan.and_then(|port| port.queue.as_ref()) {
        about.push(format!("queue of {}, {}", queue.depth, queue.full));
    }
    let execution = of_plan.and_then(|port| port.execution.as_ref());
    if let Some(execution) = execution.or(of_type.and_then(|of_type| of_type.execution.as_ref())) {
        let how = if execution.is_measured { "measured" } else { "declared" };
        about.push(format!("its handler takes at most {}, {how}", written(execution.worst)));
    }
    if let Some(response) = response {
        about.push(format!("response proved: at most {}", time(response)));
    }
    let (name, about, wires) = (name.to_owned(), about.join("; "), Vec::new());
    Port { name, label, kind, is_timeless, is_joined, about, wires }
}

/// The connections that a join waits for, as an expression.
fn joined(tree: &JoinTree<'_>) -> String {
    let (word, join) = (if tree.join.kind == JoinKind::Conjunction { " and " } else { " or " }, tree.join);
    let part = |part: &JoinPart<'_>| match part {
        JoinPart::Connection(name) => (*name).to_owned(),
        JoinPart::Group(group) => format!("({})", joined(group)),
    };
    let every = join.every.map(|time| format!("every {}", written(time)));
    let after = join.after.map(|time| format!("after {}", written(time)));
    tree.parts.iter().map(part).chain(every).chain(after).collect::<Vec<_>>().join(word)
}

/// All that is said of a join, with those in it.
fn about_join(tree: &JoinTree<'_>) -> String {
    let join = tree.join;
    let name = tree.group.map(|name| format!("group {name}, a ")).unwrap_or_default();
    let mut about = format!("{name}{}: {}", join.kind, joined(tree));
    if join.kind == JoinKind::Conjunction {
        about += &format!(", a part keeps {}", join.keep);
        about += &join.most.map(|most| format!(", at most {most}")).unwrap_or_default();
        about += &join.within.map(|time| format!(", for {} at most", written(time))).unwrap_or_default();
    }
    about += &join.silence.map(|time| format!(", silence after {}", written(time))).unwrap_or_default();
    about += &join.filter.as_deref().map(|filter| format!(", filter {}", clean(filter))).unwrap_or_default();
    for part in &tree.parts {
        if let JoinPart::Group(group) = part {
            about += &format!("; {}", about_join(group));
        }
    }
    about
}

/// The service that carries an event, and the transfer time if the plan gives it.
fn carrier(kind: ServiceKind, transfer: Option<Transfer>, is_between_components: bool) -> String {
    let is_apart = matches!(kind, ServiceKind::Dds | ServiceKind::Federated);
    match transfer.filter(|_| is_apart) {
        Some(transfer) => format!("{kind}, at most {}", written(transfer.most)),
        None if is_apart && is_between_components => format!("{kind}, transfer not said"),
        None => kind.to_string(),
    }
}

/// All that is said of an edge.
fn about_edge(plan: &Plan, edge: &assembly::GraphEdge) -> String {
    let Some((name, connection)) =
        edge.connection.as_ref().and_then(|name| plan.connections.get_key_value(name))
    else {
        return format!("one service subscribes at the other, {}", edge.kind);
    };
    let to: Vec<String> = connection.to.iter().map(ToString::to_string).collect();
    let mut about = vec![format!("{name}: {} → {} by {}", connection.from, to.join(", "), edge.kind)];
    if let Some(service) = connection.service.as_ref().filter(|name| plan.services.contains_key(*name)) {
        about.push(format!("service {service}"));
    }
    if let Some(data_type) = &edge.data_type {
        about.push(format!("type {}", clean(data_type)));
    }
    if let Some(transfer) = edge.transfer {
        about.push(format!("transfer {}", said(transfer)));
    }
    if let Some(limit) = edge.limit {
        about.push(format!("latency asked for: {}", written(limit)));
    }
    if let Some(filter) = &connection.filter {
        about.push(format!("filter {}", clean(filter)));
    }
    about.join("; ")
}

/// A transfer as the plan says it.
pub(super) fn said(transfer: Transfer) -> String {
    let how = if transfer.is_measured { "measured" } else { "declared" };
    format!("{} to {}, {how}", written(transfer.least), written(transfer.most))
}
