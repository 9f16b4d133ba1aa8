//! Random plans, whose parts exist and fit.
use assembly::{
    Artefact, ArtefactKind, Catalogue, Chain, Component, Connection, Container, Costs, End, Execution,
    ExecutionStep, FullPolicy, Host, Join, JoinKind, KeepPolicy, Lane, Locality, LocalityKind, Mode,
    Placement, Plan, Port, Process, Quality, Queue, Restart, RestartPolicy, Said, SchedulingClass, Service,
    ServiceKind, Side, Stall, Throttling, Topic, Transfer, Transport, Value,
};
use testkit::random::Random;

/// The types that random plans are made of.
pub(crate) const TYPES: &str = "build = \"1\"\n[component.Node]\nswappable = true\n[component.Node.setting]\na = { type = \"any\", default = 0 }\n\
    [component.Node.port]\nin = { kind = \"consumer\", type = \"E\" }\nout = { kind = \"publisher\", type = \"E\" }\n\
    call = { kind = \"multiplex-receptacle\", type = \"C\" }\nfacet = { kind = \"facet\", type = \"C\", triggers = [] }\ntick = { kind = \"timer\" }\n\
    [component.Fixed.port]\nin = { kind = \"consumer\", type = \"E\" }\nout = { kind = \"publisher\", type = \"E\" }\n\
    call = { kind = \"multiplex-receptacle\", type = \"C\" }\nfacet = { kind = \"facet\", type = \"C\" }\ntick = { kind = \"timer\" }\n[event.E.fields]\nx = \"integer\"\n";

/// A text that files have to escape.
fn text(random: &mut Random) -> String {
    const PARTS: [&str; 8] = ["a", "\"", "\\", "\n", "ä€", "\u{1}", " # ", "'''"];
    (0..random.below(5)).filter_map(|_| random.pick(&PARTS)).copied().collect()
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth > 2 { 4 } else { 6 }) {
        0 => Value::Boolean(random.chance(50)),
        1 => Value::Integer(random.bits() as i64),
        2 => Value::Float(f64::from_bits(random.bits()))
            .number()
            .filter(|it| it.is_finite())
            .map_or(Value::Float(0.5), Value::Float),
        3 => Value::Text(text(random)),
        4 => Value::List((0..random.below(4)).map(|_| value(random, depth + 1)).collect()),
        _ => Value::Table(
            (0..random.below(4))
                .map(|n| (format!("k {n}{}", text(random)), value(random, depth + 1)))
                .collect(),
        ),
    }
}

fn qos(random: &mut Random, fits: impl Fn(Quality) -> bool) -> assembly::Qos {
    let mut qos = assembly::Qos::new();
    for quality in Quality::all().filter(|quality| fits(*quality)) {
        if random.chance(20) {
            let said = match quality.default() {
                Said::Number(_) => Said::Number(random.range(1, 1_000) as i64),
                Said::Time(_) => Said::Time(random.below_u64(u64::MAX)),
                Said::Flag(_) => Said::Flag(random.chance(50)),
                Said::Word(word) => Said::Word(word),
            };
            qos.insert(quality, said);
        }
    }
    qos
}

fn costs(random: &mut Random) -> Option<Costs> {
    let mut time = || random.below_u64(1_000_000_000);
    let costs = Costs {
        wake: time(),
        switch: time(),
        dispatch: time(),
        slack: time(),
        drift: Some(7),
        clock_error: time(),
        probe: Some(1 + time() % 400_000_000),
        send: Some(time()),
        receive: Some(time()),
        stalls: vec![Stall { length: time(), distance: 1_000_000_000 + time() }],
        throttling: Some(Throttling { runtime: time(), period: 1_000_000_000 + time() }),
        is_measured: time() % 2 == 0,
    };
    random.chance(50).then_some(costs)
}

fn execution(random: &mut Random) -> Option<Execution> {
    let (less, more) = (random.below_u64(1_000_000), random.below_u64(1_000_000));
    let steps = [
        ExecutionStep::Run { least: less.min(more), most: less.max(more) },
        ExecutionStep::Use { port: "out".to_owned(), is_optional: random.chance(50) },
        ExecutionStep::Run { least: 0, most: less },
    ];
    let execution = Execution {
        worst: 2 * less + more,
        typical: random.chance(50).then_some(less),
        steps: steps.into_iter().filter(|_| random.chance(70)).collect(),
        is_measured: random.chance(50),
    };
    random.chance(50).then_some(execution)
}

fn transfer(random: &mut Random) -> Option<Transfer> {
    let (least, more) = (random.below_u64(1_000_000), random.below_u64(1_000_000));
    random.chance(30).then(|| Transfer { least, most: least + more, is_measured: random.chance(50) })
}

fn restart(random: &mut Random) -> Option<Restart> {
    random.chance(30).then(|| Restart {
        policy: RestartPolicy::Always,
        limit: Some(3),
        within: Some(random.bits()),
        delay: random.chance(50).then(|| random.bits()),
    })
}

fn queue(random: &mut Random) -> Option<Queue> {
    random.chance(30).then(|| {
        let full = [FullPolicy::DropOldest, FullPolicy::Block, FullPolicy::Coalesce];
        let full = *random.pick(&full).unwrap();
        Queue {
            depth: random.range(1, 99) as u32,
            full,
            wait: (full == FullPolicy::Block).then(|| random.bits()),
        }
    })
}

/// A plan of some components.
pub(crate) fn plan(random: &mut Random) -> Plan {
    let mut plan = Plan {
        name: Some(text(random)),
        policies: vec![text(random)],
        network: Some(text(random)),
        ..Plan::default()
    };
    let hosts = random.range(1, 3) as usize;
    for host in 0..hosts {
        plan.hosts.insert(
            format!("h{host}"),
            Host {
                cores: Some(4),
                costs: costs(random),
                resources: [("memory".to_owned(), Value::Integer(1_000_000))].into(),
            },
        );
    }
    plan.artefacts.insert(
        "lib".to_owned(),
        Artefact {
            location: vec![text(random)],
            digest: Some(format!("sha256:{:064x}", random.bits())),
            kind: ArtefactKind::Library,
        },
    );
    let processes = random.range(1, 4) as usize;
    for process in 0..processes {
        let said = Process {
            host: Some(format!("h{}", process % hosts)),
            arguments: vec![text(random)],
            environment: [(format!("V{process}"), text(random))].into(),
            cores: if random.chance(50) { vec![0, 2] } else { Vec::new() },
            locks_memory: random.chance(50),
            cgroup: random.chance(50).then(|| format!("one/{process}")),
            restart: restart(random),
            ..Process::default()
        };
        plan.processes.insert(format!("p{process}"), said);
        if random.chance(60) {
            let lane = Lane {
                class: SchedulingClass::Fifo,
                priority: Some(9),
                cores: vec![1],
                threads: 2,
                spin: random.chance(50).then_some(7_000_000),
                ..Lane::default()
            };
            let lanes = [("fast".to_owned(), lane), ("slow".to_owned(), Lane::default())].into();
            plan.containers.insert(
                format!("c{process}"),
                Container {
                    process: format!("p{process}"),
                    lanes,
                    lane: random.chance(50).then(|| "slow".to_owned()),
                },
            );
        }
    }
    if random.chance(50) {
        let said = Service {
            kind: ServiceKind::Channel,
            at: Some("p0".to_owned()),
            qos: qos(random, |it| it.is_in(assembly::Scope::Service)),
            placement: Placement::Server,
            ..Service::default()
        };
        plan.services.insert("bus".to_owned(), said);
        let said = Service {
            kind: ServiceKind::Federated,
            at: Some("p0".to_owned()),
            transport: random.chance(50).then_some(Transport::Tcp),
            lease: random.chance(50).then(|| random.bits()),
            address: random.chance(50).then(|| format!("127.0.0.1:{}", random.range(1, 65_535))),
            groups: [("*".to_owned(), "239.1.2.3:9".to_owned())].into(),
            ..Service::default()
        };
        plan.services.insert("gate".to_owned(), said);
    }
    for number in 0..random.range(1, 8) {
        let process = random.below(processes);
        let container = plan.containers.contains_key(&format!("c{process}")) && random.chance(60);
        let said = Component {
            component_type: if random.chance(70) { "Node" } else { "Fixed" }.to_owned(),
            process: format!("p{process}"),
            container: container.then(|| format!("c{process}")),
            artefact: random.chance(50).then(|| "lib".to_owned()),
            lane: (container && random.chance(30)).then(|| "fast".to_owned()),
            requires: [("memory".to_owned(), Value::Integer(1))].into(),
            restart: restart(random),
            ports: [
                (
                    "in".to_owned(),
                    Port { queue: queue(random), execution: execution(random), ..Port::default() },
                ),
                (
                    "tick".to_owned(),
                    Port { period: Some(random.below_u64(9_000) + 1_000), ..Port::default() },
                ),
            ]
            .into(),
            ..Component::default()
        };
        plan.components.insert(format!("i{number}"), said);
    }
    let names: Vec<String> = plan.components.keys().cloned().collect();
    for name in &names {
        if plan.components[name].component_type == "Node" && random.chance(40) {
            plan.components.get_mut(name).unwrap().settings.insert("a".to_owned(), value(random, 0));
        }
    }
    plan.topics.insert(
        "t".to_owned(),
        Topic { topic: Some(text(random)), topic_type: "E".to_owned(), domain: Some(3) },
    );
    for number in 0..random.below(10) {
        let (from, to) = (random.pick(&names).unwrap().clone(), random.pick(&names).unwrap().clone());
        let is_call = random.chance(30);
        let said = Connection {
            from: End::port(from.as_str(), if is_call { "call" } else { "out" }),
            to: vec![End::port(to.as_str(), if is_call { "facet" } else { "in" })],
            filter: (!is_call && random.chance(30)).then(|| "x > %0".to_owned()),
            parameters: Vec::new(),
            latency: random.chance(50).then(|| random.bits()),
            size: random.chance(50).then(|| random.bits() as u32),
            transfer: transfer(random),
            qos: if is_call {
                assembly::Qos::new()
            } else {
                qos(random, |it| it.is_in(assembly::Scope::Connection))
            },
            is_suspended: !is_call && random.chance(20),
            ..Connection::default()
        };
        let parameters = said.filter.iter().map(|_| "3".to_owned()).collect();
        plan.connections.insert(format!("l{number}"), Connection { parameters, ..said });
    }
    join(&mut plan, random);
    if let Some(connection) = plan.connections.values().next() {
        let path = vec![connection.from.clone(), connection.to[0].clone()];
        plan.chains.insert("chain".to_owned(), Chain { path, reaction: Some(random.bits()), age: None });
    }
    plan.events.insert("E".to_owned(), qos(random, |it| it.is_in(assembly::Scope::Event)));
    if random.chance(30) {
        plan.modes.insert("m".to_owned(), Mode { components: names.clone() });
        plan.start_mode = Some("m".to_owned());
    }
    plan.localities.insert(
        "near".to_owned(),
        Locality { kind: LocalityKind::SameHost, members: vec![names[0].clone()] },
    );
    plan.extensions.insert(text(random), value(random, 0));
    plan
}

/// Joins what several connections lead to, with joins in joins.
fn join(plan: &mut Plan, random: &mut Random) {
    let mut led: std::collections::BTreeMap<String, Vec<String>> = std::collections::BTreeMap::new();
    for (name, connection) in &plan.connections {
        if let End::Port { component, port } = &connection.to[0]
            && port == "in"
        {
            led.entry(component.clone()).or_default().push(name.clone());
        }
    }
    for (component, names) in led.into_iter().filter(|(_, names)| names.len() > 1) {
        if random.chance(40) {
            continue;
        }
        for name in &names {
            let connection = plan.connections.get_mut(name).unwrap();
            connection.qos.retain(|quality, _| quality.side() != Side::Consumer);
            connection.is_suspended = false;
        }
        let mut groups = assembly::Named::new();
        let mut parts = names.clone();
        for number in 0..random.below(4) {
            let inner = parts.split_off(random.below(parts.len()));
            let name = format!("g{number}");
            groups.insert(name.clone(), Join { parts: inner, silence: silence(random), ..said(random) });
            parts.push(name);
        }
        let every = (parts.len() < 2 || random.chance(30)).then(|| 1_000 + random.below_u64(u64::MAX / 2));
        let port = plan.components.get_mut(&component).unwrap().ports.get_mut("in").unwrap();
        port.join = Some(Join { parts, every, silence: silence(random), ..said(random) });
        port.groups = groups;
    }
}

fn silence(random: &mut Random) -> Option<u64> {
    random.chance(30).then(|| 1_000 + random.below_u64(1_000_000))
}

/// A join without parts.
fn said(random: &mut Random) -> Join {
    let kind = *random.pick(&[JoinKind::Conjunction, JoinKind::Disjunction]).unwrap();
    let keeps = kind == JoinKind::Conjunction && random.chance(50);
    let filter = random.chance(30).then(|| "x > %0".to_owned());
    Join {
        kind,
        keep: if keeps { KeepPolicy::All } else { KeepPolicy::First },
        most: keeps.then(|| random.range(1, 2) as u16),
        within: (kind == JoinKind::Conjunction && random.chance(30)).then(|| 1_000 + random.below_u64(9_000)),
        after: random.chance(20).then_some(5_000_000),
        parameters: filter.iter().map(|_| "3".to_owned()).collect(),
        filter,
        ..Join::default()
    }
}

/// The plan with some of it different.
pub(crate) fn changed(plan: &Plan, random: &mut Random) -> Plan {
    let other = self::plan(random);
    let mut plan = plan.clone();
    for (name, component) in other.components {
        if random.chance(40) {
            plan.components.insert(name, component);
        }
    }
    plan.components.retain(|_, _| random.chance(90));
    for (name, process) in other.processes {
        if random.chance(30) {
            plan.processes.insert(name, process);
        }
    }
    for (name, container) in other.containers {
        plan.containers.insert(name, container);
    }
    for (name, connection) in other.connections {
        if random.chance(50) {
            plan.connections.insert(name, connection);
        }
    }
    plan.services = other.services;
    // What is joined may be connected otherwise.
    for port in plan.components.values_mut().flat_map(|component| component.ports.values_mut()) {
        (port.join, port.groups) = (None, assembly::Named::new());
    }
    let components = plan.components.clone();
    let processes: Vec<String> = plan.processes.keys().cloned().collect();
    let is_there = |end: &End| end.component().is_none_or(|name| components.contains_key(name));
    plan.connections.retain(|_, connection| is_there(&connection.from) && connection.to.iter().all(is_there));
    for component in plan.components.values_mut() {
        if !processes.contains(&component.process) {
            component.process = processes[0].clone();
            component.container = None;
            component.lane = None;
        }
        let container = component.container.as_ref().and_then(|name| plan.containers.get(name));
        if container.is_none_or(|container| container.process != component.process) {
            component.container = None;
            component.lane = None;
        }
    }
    plan.containers.retain(|_, container| processes.contains(&container.process));
    plan
}

/// The types.
pub(crate) fn types() -> Catalogue {
    crate::catalogue(TYPES)
}
