//! Reads a plan: its syntax, then its shape, then its values.
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

use crate::format::PLAN;
use crate::get::{choice, flag, named, number, numbers, text, texts, time, values};
use crate::places::Places;
use crate::plan::{
    Artefact, ArtefactKind, Chain, Component, Connection, Container, End, FullPolicy, Host, Join, JoinKind,
    KeepPolicy, Lane, LaneDispatch, Locality, LocalityKind, Mode, Placement, Plan, Port, Process, Queue,
    Restart, RestartPolicy, SchedulingClass, Service, ServiceKind, Timing, Topic, Transport,
};
use crate::qos::{Qos, Quality, Said};
use crate::shape::{self, Shape};
use crate::timing;
use crate::tree::{self, Data, Node, Problems};

impl Plan {
    /// The plan that a text says, as TOML or, if it begins with a brace, as JSON; and where in it everything stands.
    ///
    /// # Errors
    /// What is wrong with its syntax; or all that it says and may not, up to 32 problems. Whether it makes sense is asked by
    /// [`Plan::check`].
    pub fn read(source: Source<'_>) -> Result<(Self, Places), Vec<Problem>> {
        let mut problems = Problems::new(source);
        let Some(root) = tree::read(&mut problems) else { return Err(problems.into_list()) };
        shape::check(&root, Shape::Table(PLAN), "", &mut problems);
        let places = if problems.are_none() { Places::of(&root) } else { Places::default() };
        let plan = plan(&root, &mut problems);
        if problems.are_none() { Ok((plan, places)) } else { Err(problems.into_list()) }
    }

    /// The format of plans as a JSON schema (draft 2020-12).
    pub fn schema() -> alloc::string::String {
        let mut schema = shape::schema(Shape::Table(PLAN));
        schema.insert(
            "$schema".into(),
            crate::Value::Text("https://json-schema.org/draft/2020-12/schema".into()),
        );
        schema.insert("title".into(), crate::Value::Text("Deployment plan".into()));
        crate::Value::Table(schema).json()
    }
}

fn plan(root: &Node, problems: &mut Problems<'_>) -> Plan {
    let mut connections = named(root, "connection", connection);
    let mut chains = named(root, "chain", chain);
    // Ends are texts that have a form of their own.
    for entry in root.get("connection").map(Node::entries).unwrap_or_default() {
        if let Some(connection) = connections.get_mut(&entry.key) {
            connection.from = entry.node.get("from").and_then(|node| end(node, problems)).unwrap_or_default();
            connection.to = ends(&entry.node, "to", problems);
        }
    }
    for entry in root.get("chain").map(Node::entries).unwrap_or_default() {
        if let Some(chain) = chains.get_mut(&entry.key) {
            chain.path = ends(&entry.node, "path", problems);
        }
    }
    Plan {
        name: text(root, "name"),
        id: text(root, "id"),
        realizes: text(root, "realizes"),
        depends_on: texts(root, "depends-on"),
        network: text(root, "network"),
        manifests: texts(root, "manifests"),
        policies: texts(root, "policies"),
        start_mode: text(root, "start-mode"),
        quiesce: time(root, "quiesce"),
        artefacts: named(root, "artefact", artefact),
        hosts: named(root, "host", |node| Host {
            cores: number(node, "cores"),
            costs: node.get("costs").map(timing::costs),
            resources: values(node, "resources"),
        }),
        processes: named(root, "process", process),
        containers: named(root, "container", container),
        services: named(root, "service", service),
        components: named(root, "component", component),
        topics: named(root, "topic", |node| Topic {
            topic: text(node, "topic"),
            topic_type: text(node, "type").unwrap_or_default(),
            domain: number(node, "domain"),
        }),
        connections,
        events: named(root, "event", |node| qos(node, "qos")),
        chains,
        localities: named(root, "locality", |node| Locality {
            kind: choice(node, "kind", LocalityKind::named).unwrap_or(LocalityKind::SameProcess),
            members: texts(node, "members"),
        }),
        modes: named(root, "mode", |node| Mode { components: texts(node, "components") }),
        extensions: values(root, "extensions"),
    }
}

fn artefact(node: &Node) -> Artefact {
    Artefact {
        location: texts(node, "location"),
        digest: text(node, "digest"),
        kind: choice(node, "kind", ArtefactKind::named).unwrap_or_default(),
    }
}

fn process(node: &Node) -> Process {
    let variables = node.get("environment").map(Node::entries).unwrap_or_default();
    Process {
        host: text(node, "host"),
        artefact: text(node, "artefact"),
        arguments: texts(node, "arguments"),
        environment: variables
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.node.text()?.to_string())))
            .collect(),
        cores: numbers(node, "cores"),
        locks_memory: flag(node, "lock-memory").unwrap_or_default(),
        cgroup: text(node, "cgroup"),
        requires: values(node, "requires"),
        restart: node.get("restart").map(restart),
        depends_on: texts(node, "depends-on"),
    }
}

fn restart(node: &Node) -> Restart {
    Restart {
        policy: choice(node, "policy", RestartPolicy::named).unwrap_or(RestartPolicy::Never),
        limit: number(node, "limit"),
        within: time(node, "within"),
        delay: time(node, "delay"),
    }
}

fn container(node: &Node) -> Container {
    let lane = |node: &Node| {
        let default = Lane::default();
        Lane {
            class: choice(node, "class", SchedulingClass::named).unwrap_or(default.class),
            priority: number(node, "priority"),
            cores: numbers(node, "cores"),
            threads: number(node, "threads").unwrap_or(default.threads),
            runtime: time(node, "runtime"),
            period: time(node, "period"),
            dispatch: choice(node, "dispatch", LaneDispatch::named).unwrap_or_default(),
            spin: time(node, "spin"),
        }
    };
    Container {
        process: text(node, "process").unwrap_or_default(),
        lanes: named(node, "lanes", lane),
        lane: text(node, "lane"),
    }
}

fn service(node: &Node) -> Service {
    let groups = node.get("groups").map(Node::entries).unwrap_or_default();
    Service {
        kind: choice(node, "kind", ServiceKind::named).unwrap_or_default(),
        placement: choice(node, "placement", Placement::named).unwrap_or_default(),
        at: text(node, "at"),
        qos: qos(node, "qos"),
        peers: texts(node, "peers"),
        transport: choice(node, "transport", Transport::named),
        address: text(node, "address"),
        ttl: number(node, "ttl"),
        lease: time(node, "lease"),
        groups: groups
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.node.text()?.to_string())))
            .collect(),
        interface: text(node, "interface"),
        loopback: flag(node, "loopback"),
        domain: number(node, "domain"),
        resources: values(node, "resources"),
    }
}

fn component(node: &Node) -> Component {
    Component {
        component_type: text(node, "type").unwrap_or_default(),
        host: text(node, "host"),
        process: text(node, "process").unwrap_or_default(),
        container: text(node, "container"),
        artefact: text(node, "artefact"),
        settings: values(node, "settings"),
        lane: text(node, "lane"),
        ports: named(node, "port", |node| Port {
            lane: text(node, "lane"),
            qos: qos(node, "qos"),
            queue: node.get("queue").map(queue),
            join: node.get("join").map(join),
            groups: named(node, "group", join),
            period: time(node, "period"),
            timing: choice(node, "timing", Timing::named).unwrap_or_default(),
            interval: time(node, "interval"),
            samples: texts(node, "samples"),
            execution: node.get("execution").map(timing::execution),
        }),
        requires: values(node, "requires"),
        restart: node.get("restart").map(restart),
    }
}

fn join(node: &Node) -> Join {
    Join {
        kind: choice(node, "kind", JoinKind::named).unwrap_or(JoinKind::Conjunction),
        parts: texts(node, "parts"),
        keep: choice(node, "keep", KeepPolicy::named).unwrap_or_default(),
        most: number(node, "most"),
        within: time(node, "within"),
        every: time(node, "every"),
        after: time(node, "after"),
        silence: time(node, "silence"),
        filter: text(node, "filter"),
        parameters: texts(node, "parameters"),
    }
}

fn queue(node: &Node) -> Queue {
    Queue {
        depth: number(node, "depth").unwrap_or(1),
        full: choice(node, "full", FullPolicy::named).unwrap_or(FullPolicy::DropOldest),
        wait: time(node, "wait"),
    }
}

fn connection(node: &Node) -> Connection {
    Connection {
        from: End::default(),
        to: Vec::new(),
        service: text(node, "service"),
        filter: text(node, "filter"),
        parameters: texts(node, "parameters"),
        queue: node.get("queue").map(queue),
        qos: qos(node, "qos"),
        requires: values(node, "requires"),
        latency: time(node, "latency"),
        separation: time(node, "separation"),
        jitter: time(node, "jitter"),
        silence: time(node, "silence"),
        publisher_silence: time(node, "publisher-silence"),
        size: number(node, "size"),
        transfer: node.get("transfer").map(timing::transfer),
        is_suspended: flag(node, "suspended").unwrap_or_default(),
    }
}

fn chain(node: &Node) -> Chain {
    Chain { path: Vec::new(), reaction: time(node, "reaction"), age: time(node, "age") }
}

fn qos(node: &Node, key: &str) -> Qos {
    let entries = node.get(key).map(Node::entries).unwrap_or_default();
    let said = entries.iter().filter_map(|entry| {
        let quality = Quality::named(&entry.key)?;
        let said = match &entry.node.data {
            Data::Integer(number) => Said::Number(*number),
            Data::Boolean(flag) => Said::Flag(*flag),
            Data::Text(text) => match (quality.default(), diagnostics::picoseconds(text)) {
                (Said::Time(_), time) => Said::Time(time?),
                _ => Said::Word(text.clone()),
            },
            _ => return None,
        };
        Some((quality, said))
    });
    said.collect()
}

fn ends(node: &Node, key: &str, problems: &mut Problems<'_>) -> Vec<End> {
    let items = node.get(key).map(Node::items).unwrap_or_default();
    items.iter().filter_map(|item| end(item, problems)).collect()
}

fn end(node: &Node, problems: &mut Problems<'_>) -> Option<End> {
    let text = node.text()?;
    let end = End::parse(text);
    if end.is_none() {
        let remedy =
            "write the component and its port, such as \"airframe.fix\", or topic: and the name of a topic";
        problems.add(node.at, format!("\"{text}\" is no end of a connection"), remedy);
    }
    end
}
