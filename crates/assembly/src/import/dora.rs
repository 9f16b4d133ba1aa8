//! Dataflows of dora: their nodes become foreign programs, their inputs connections and timers.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

use super::names::{Names, plain};
use super::{MOST_LEFT_OUT, yaml};
use crate::manifest::{ComponentType, Manifest, PortKind, PortType};
use crate::plan::{
    Artefact, ArtefactKind, Component, Connection, Container, End, FullPolicy, Host, Lane, Plan, Port,
    Process, Queue, Restart, RestartPolicy,
};
use crate::tree::{Data, Entry, Node};

const REMEDY: &str = "docs/deploy-plan.md says which dataflows can be imported";
/// The host of everything, which dataflows do not name.
const HOST: &str = "here";
/// Nodes of a dataflow.
const MOST_DORA_NODES: usize = 1_024;
/// Outputs of a node, and inputs of all.
const MOST_PORTS: usize = 1_024;
const MOST_CONNECTIONS: usize = 4_096;
const SECOND: u64 = 1_000_000_000_000;

/// A plan that was made of programs as they are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ImportedPrograms {
    /// The plan.
    pub plan: Plan,
    /// The types of its components: what is known of their ports.
    pub types: Manifest,
    /// What the plan lacks, and what has no place in it: the place, and what to do.
    pub left_out: Vec<Problem>,
}

/// A plan of a dataflow of dora, in YAML.
///
/// # Errors
/// The text is no YAML or no dataflow, or is too large or deep.
pub fn import_dataflow(source: Source<'_>) -> Result<ImportedPrograms, Vec<Problem>> {
    let root = yaml::parse(source, REMEDY).map_err(|problem| Vec::from([problem]))?;
    let wrong = |at, what: &str| Vec::from([source.problem(at, what, REMEDY)]);
    let Data::Table(_) = root.data else { return Err(wrong(root.at, "this is no dataflow")) };
    let Some(nodes) = root.get("nodes") else { return Err(wrong(root.at, "the dataflow has no nodes")) };
    let Data::List(items) = &nodes.data else { return Err(wrong(nodes.at, "nodes are a list")) };
    if items.len() > MOST_DORA_NODES {
        return Err(wrong(nodes.at, &format!("more than {MOST_DORA_NODES} nodes")));
    }
    let mut import = Import {
        source,
        made: ImportedPrograms::default(),
        names: Names::default(),
        outputs: BTreeMap::new(),
        ids: BTreeSet::new(),
    };
    import.made.plan.hosts.insert(HOST.to_string(), Host::default());
    for entry in root.entries().iter().filter(|entry| entry.key != "nodes") {
        import.no_place(entry);
    }
    // Outputs first: inputs name those of nodes that come later, too.
    let nodes: Vec<(String, &Node)> = items.iter().filter_map(|node| import.node(node)).collect();
    for (name, node) in &nodes {
        import.inputs(name, node);
    }
    import.made.left_out.sort_by_key(|problem| problem.place);
    Ok(import.made)
}

struct Import<'s> {
    source: Source<'s>,
    made: ImportedPrograms,
    names: Names,
    /// The ports of outputs, by `node/output`.
    outputs: BTreeMap<String, End>,
    ids: BTreeSet<String>,
}

/// A port. What dora sends has no type that a dataflow names: the output, as `node/output`, stands for it.
fn port(kind: PortKind, output: Option<&str>) -> PortType {
    let port_type = output.map(ToString::to_string);
    PortType { kind, port_type, is_required: false, most: None, triggers: None, execution: None }
}

impl Import<'_> {
    fn leave(&mut self, at: usize, what: impl Into<String>, remedy: &str) {
        if self.made.left_out.len() < MOST_LEFT_OUT {
            self.made.left_out.push(self.source.problem(at, what, remedy));
        }
    }

    fn no_place(&mut self, entry: &Entry) {
        self.leave(entry.key_at, format!("\"{}\" has no place in a plan", entry.key), "it is left out");
    }

    /// A node without its inputs: its process, component and outputs. `None` if it is nothing that can be started.
    fn node<'n>(&mut self, node: &'n Node) -> Option<(String, &'n Node)> {
        let Some(id) = node.get("id").and_then(Node::text) else {
            self.leave(node.at, "a node without an id", "it is left out: give it one");
            return None;
        };
        let Some(path) = node.get("path").and_then(Node::text) else {
            let what = format!("the node \"{id}\" is no program with a path");
            let remedy =
                "it is left out: operators and custom nodes are loaded by dora, and no process of their own";
            self.leave(node.at, what, remedy);
            return None;
        };
        if !self.ids.insert(id.to_string()) {
            self.leave(node.at, format!("a second node \"{id}\""), "it is left out: ids are different");
            return None;
        }
        let name = self.names.fresh("node", id);
        let (location, arguments) = self.command(node, path);
        let artefact = Artefact { location: [location].into(), digest: None, kind: ArtefactKind::Foreign };
        let process = Process {
            host: Some(HOST.to_string()),
            artefact: (path != "dynamic").then(|| name.clone()),
            arguments,
            environment: self.environment(node),
            restart: Some(self.restart(node)),
            ..Process::default()
        };
        let container = Container {
            process: name.clone(),
            lanes: [("main".to_string(), Lane::default())].into(),
            lane: Some("main".to_string()),
        };
        let component = Component {
            component_type: name.clone(),
            process: name.clone(),
            container: Some(name.clone()),
            ..Component::default()
        };
        let mut of_type = ComponentType::default();
        for output in self.list(node, "outputs").iter().take(MOST_PORTS) {
            let Some(text) = plain_text(output) else {
                self.leave(output.at, "this is no name of an output", "it is left out");
                continue;
            };
            let (plain, whole) = (fresh_port(&of_type, &text), format!("{id}/{text}"));
            of_type.ports.insert(plain.clone(), port(PortKind::Publisher, Some(&whole)));
            self.outputs.insert(whole, End::port(name.as_str(), plain));
        }
        for entry in node.entries() {
            let known = ["id", "path", "args", "env", "inputs", "outputs", "restart_policy", "restart_delay"];
            let known = known.iter().chain(&["max_restarts", "restart_window"]);
            if !known.into_iter().any(|known| *known == entry.key) {
                self.no_place(entry);
            }
        }
        if path == "dynamic" {
            let remedy = "dora leaves its start to its user: add an artefact to its process";
            self.leave(node.at, format!("what \"{id}\" executes is not said"), remedy);
        } else {
            self.made.plan.artefacts.insert(name.clone(), artefact);
        }
        let plan = &mut self.made.plan;
        plan.processes.insert(name.clone(), process);
        plan.containers.insert(name.clone(), container);
        plan.components.insert(name.clone(), component);
        self.made.types.components.insert(name.clone(), of_type);
        Some((name, node))
    }

    /// The program and its arguments.
    fn command(&mut self, node: &Node, path: &str) -> (String, Vec<String>) {
        let args = node.get("args");
        let mut arguments = Vec::new();
        match args.map(|args| &args.data) {
            Some(Data::Text(text)) if path == "shell" => {
                return ("/bin/sh".to_string(), ["-c".to_string(), text.clone()].into());
            }
            Some(Data::Text(text)) => {
                if text.contains(['"', '\'', '\\', '$']) {
                    let at = args.map_or(node.at, |args| args.at);
                    let remedy = "they were parted at blanks, and $ was left as it is: look at arguments";
                    self.leave(at, "arguments with quotes", remedy);
                }
                arguments.extend(text.split_whitespace().map(ToString::to_string));
            }
            Some(Data::List(items)) => {
                arguments.extend(items.iter().filter_map(plain_text));
            }
            Some(_) => self.leave(
                args.map_or(node.at, |args| args.at),
                "these are no arguments",
                "they are left out",
            ),
            None => {}
        }
        if !path.contains('/') && path != "dynamic" {
            let at = node.get("path").map_or(node.at, |path| path.at);
            let what = format!("\"{path}\" is looked for among programs by dora");
            self.leave(at, what, "give the artefact the path of the file");
        }
        (path.to_string(), arguments)
    }

    fn environment(&mut self, node: &Node) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        for entry in node.get("env").map(Node::entries).unwrap_or_default() {
            let Some(text) = plain_text(&entry.node) else {
                self.leave(entry.node.at, "this is no value of a variable", "it is left out");
                continue;
            };
            if text.contains('$') {
                self.leave(entry.node.at, "variables in a value are not replaced", "write the value out");
            }
            variables.insert(entry.key.clone(), text);
        }
        variables
    }

    /// dora starts nothing again unless the file says so.
    fn restart(&mut self, node: &Node) -> Restart {
        let said = node.get("restart_policy");
        let policy = match said.and_then(Node::text) {
            None | Some("never") => RestartPolicy::Never,
            Some("on-failure") => RestartPolicy::OnFailure,
            Some("always") => RestartPolicy::Always,
            Some(other) => {
                let at = said.map_or(node.at, |said| said.at);
                let what = format!("\"{other}\" is no policy of restarts");
                self.leave(at, what, "the process is never started again: say never, on-failure or always");
                RestartPolicy::Never
            }
        };
        let mut restart = Restart { policy, limit: None, within: None, delay: None };
        if policy == RestartPolicy::Never {
            return restart;
        }
        restart.delay = self.seconds(node, "restart_delay");
        restart.within = self.seconds(node, "restart_window");
        let limit = node.get("max_restarts").and_then(Node::integer);
        restart.limit =
            limit.and_then(|limit| u32::try_from(limit).ok()).filter(|limit| (1..=1_000_000).contains(limit));
        if restart.limit.is_some() != restart.within.is_some() {
            (restart.limit, restart.within) = (None, None);
            let at = node.get("max_restarts").or(node.get("restart_window")).map_or(node.at, |it| it.at);
            let what = "a plan counts restarts within a time, and this says one of both";
            self.leave(at, what, "they are not limited: add limit and within to restart");
        }
        restart
    }

    /// A number of seconds as picoseconds.
    fn seconds(&mut self, node: &Node, key: &str) -> Option<u64> {
        let said = node.get(key)?;
        let nanoseconds = match said.data {
            Data::Integer(value) => {
                u64::try_from(value).ok().and_then(|value| value.checked_mul(1_000_000_000))
            }
            // Up to 100 years, which is below 2^63 nanoseconds.
            Data::Float(value) if (0.0..3.0e9).contains(&value) => Some((value * 1e9) as u64),
            _ => None,
        };
        let time = nanoseconds.and_then(|value| value.checked_mul(SECOND / 1_000_000_000));
        if time.is_none() {
            self.leave(said.at, format!("{key} is no time"), "it is left out: write seconds");
        }
        time
    }

    fn list<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Node] {
        match node.get(key).map(|node| (&node.data, node.at)) {
            Some((Data::List(items), _)) => items,
            Some((_, at)) => {
                self.leave(at, format!("{key} are a list"), "they are left out");
                &[]
            }
            None => &[],
        }
    }

    fn inputs(&mut self, name: &str, node: &Node) {
        let inputs = node.get("inputs").map(Node::entries).unwrap_or_default();
        for input in inputs {
            if self.made.plan.connections.len() >= MOST_CONNECTIONS {
                self.leave(input.key_at, "too many inputs", "it is left out: divide the dataflow");
                break;
            }
            self.input(name, input);
        }
        if !inputs.is_empty() {
            let what = format!("how long \"{name}\" works for an input is not said");
            self.leave(
                node.at,
                what,
                "add execution to its ports, with steps that name its outputs: bounds rest on it",
            );
            let what = format!("on which core \"{name}\" runs, and with which priority, is not said");
            self.leave(node.at, what, "give its lane class, priority and cores: bounds rest on them");
        }
    }

    fn input(&mut self, name: &str, input: &Entry) {
        let (said, at) = (&input.node, input.node.at);
        let source = said.text().or_else(|| said.get("source").and_then(Node::text));
        let Some(source) = source else {
            return self.leave(
                at,
                format!("where \"{}\" comes from is not said", input.key),
                "it is left out",
            );
        };
        let to = self
            .made
            .types
            .components
            .get(name)
            .map_or_else(String::new, |of_type| fresh_port(of_type, &input.key));
        for entry in
            said.entries().iter().filter(|entry| !["source", "queue_size"].contains(&entry.key.as_str()))
        {
            self.no_place(entry);
        }
        if let Some(timer) = source.strip_prefix("dora/") {
            return self.timer(name, &to, timer, at);
        }
        let Some(from) = self.outputs.get(source).cloned() else {
            let what = format!("there is no output \"{source}\"");
            return self.leave(at, what, "the input is left out: name one as node/output");
        };
        let queue = said.get("queue_size");
        let depth = queue.and_then(Node::integer).and_then(|depth| u32::try_from(depth).ok());
        let depth = depth.filter(|depth| (1..=1_000_000).contains(depth));
        if depth.is_none() {
            let at = queue.map_or(at, |queue| queue.at);
            let what = format!("how many events of \"{}\" wait at most is not said", input.key);
            self.leave(at, what, "add queue_size, or queue = { depth = NUMBER } to its connection");
        }
        // Events of dora wait in a queue, also those of a node to itself; within a component a plan would call at once.
        let service = (from.component() == Some(name)).then(|| "channel".to_string());
        let connection = Connection {
            from,
            to: [End::port(name, to.as_str())].into(),
            service,
            queue: depth.map(|depth| Queue { depth, full: FullPolicy::DropOldest, wait: None }),
            ..Connection::default()
        };
        let connection_name = self.names.fresh("connection", &format!("{name}-{to}"));
        self.made.plan.connections.insert(connection_name, connection);
        self.port_of(name, &to, port(PortKind::Consumer, Some(source)));
    }

    fn timer(&mut self, name: &str, to: &str, timer: &str, at: usize) {
        let period =
            timer.strip_prefix("timer/").and_then(|timer| timer.split_once('/')).and_then(|(unit, count)| {
                let count = count.parse::<u64>().ok().filter(|count| *count > 0)?;
                match unit {
                    "nanos" => count.checked_mul(1_000),
                    "micros" => count.checked_mul(1_000_000),
                    "millis" => count.checked_mul(1_000_000_000),
                    "secs" => count.checked_mul(SECOND),
                    "hz" => Some(SECOND.checked_div(count)?).filter(|period| *period >= 1_000),
                    _ => None,
                }
            });
        if period.is_none() {
            let what = format!("\"dora/{timer}\" is no timer with a period");
            return self.leave(
                at,
                what,
                "the input is left out: write dora/timer/millis/20, or another unit",
            );
        }
        if let Some(component) = self.made.plan.components.get_mut(name) {
            component.ports.insert(to.to_string(), Port { period, ..Port::default() });
        }
        self.port_of(name, to, port(PortKind::Timer, None));
    }

    fn port_of(&mut self, name: &str, to: &str, port: PortType) {
        if let Some(of_type) = self.made.types.components.get_mut(name) {
            of_type.ports.insert(to.to_string(), port);
        }
    }
}

/// A name that no port of a type has yet.
fn fresh_port(of_type: &ComponentType, text: &str) -> String {
    let name = plain(text);
    let mut numbered = (2..).map(|number: usize| format!("{name}-{number}"));
    if of_type.ports.contains_key(&name) {
        return numbered.find(|name| !of_type.ports.contains_key(name)).unwrap_or_default();
    }
    name
}

/// A text, number or truth as text.
fn plain_text(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        Data::Integer(value) => Some(value.to_string()),
        Data::Float(value) => Some(value.to_string()),
        Data::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}
