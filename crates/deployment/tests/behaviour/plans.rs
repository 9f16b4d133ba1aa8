//! Plans, written and random.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use assembly::{ArtefactKind, Catalogue, Connection, End, FullPolicy, Manifest, Plan, Queue, Timing, Value};
use deployment::Target;
use diagnostics::Source;
use testkit::random::Random;

/// Components `a` and `b` in the process `p`, and `c` in `q`, as text of a plan.
macro_rules! three_nodes {
    () => {
        r#"[host.n1]
cores = 2
[artefact.x]
location = ["x"]
[process.p]
artefact = "x"
host = "n1"
restart = { policy = "always", delay = "10 ms" }
[process.q]
artefact = "x"
host = "n1"
restart = { policy = "always", delay = "10 ms" }
[component.a]
type = "Node"
process = "p"
port.tick.period = "1 ms"
[component.b]
type = "Node"
process = "p"
port.tick.period = "1 ms"
[component.c]
type = "Node"
process = "q"
port.tick.period = "1 ms"
"#
    };
}
pub(crate) use three_nodes;

pub(crate) const TYPES: &str = r#"{ "component": { "Node": { "swappable": true,
    "setting": { "a": { "type": "integer", "default": 0 } },
    "port": { "in": { "kind": "consumer", "type": "E" }, "out": { "kind": "publisher", "type": "E" },
              "tick": { "kind": "timer" } } } } }"#;

pub(crate) fn types() -> Catalogue {
    let manifest = Manifest::read(Source { file: "types", text: TYPES }).unwrap();
    Catalogue::of([("types".to_owned(), manifest)]).unwrap()
}

/// The plan of a text, which makes sense and can be launched.
pub(crate) fn target(text: &str) -> Target {
    let source = Source { file: "plan", text };
    let (plan, places) = Plan::read(source).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
    assert_eq!(plan.check(source, &places, &types()), [], "{text}");
    let layout = plan.layout();
    let processes: Vec<&str> = layout.processes().keys().copied().collect();
    let (wrong, _) = deployment::launchable(&plan, source, &places, &types(), &processes);
    assert_eq!(wrong, [], "{text}");
    Target { plan, types: types(), file: "plan".to_owned(), ..Target::default() }
}

/// Whether a process executes a program that is no component server.
pub(crate) fn is_foreign(plan: &Plan, process: &str) -> bool {
    let artefact = plan.processes.get(process).and_then(|process| process.artefact.as_ref());
    artefact.is_some_and(|name| plan.artefacts[name].kind == ArtefactKind::Foreign)
}

/// The same plan with programs of another build.
pub(crate) fn renewed(of: &Target) -> Target {
    let mut target = of.clone();
    if target.programs.is_empty() {
        target.programs.insert("x".to_owned(), "first".to_owned());
    } else {
        // At the same place, and built anew.
        target.programs.insert("x".to_owned(), "second".to_owned());
        return target;
    }
    for artefact in target.plan.artefacts.values_mut() {
        artefact.location = vec![if artefact.location == ["x"] { "z" } else { "x" }.to_owned()];
    }
    target
}

/// Another plan, or the same one with another build.
pub(crate) fn next(current: &Target, random: &mut Random) -> Target {
    next_or(current, random, self::random)
}

/// The same, where another plan is made by `other`.
pub(crate) fn next_or(current: &Target, random: &mut Random, other: fn(&mut Random) -> Target) -> Target {
    if !current.plan.modes.is_empty() && random.chance(40) {
        let modes: Vec<&String> = current.plan.modes.keys().collect();
        return current.in_mode(random.pick(&modes).unwrap()).unwrap();
    }
    let connections: Vec<&String> = current.plan.connections.keys().collect();
    if random.chance(25)
        && let Some(name) = random.pick(&connections)
        && let Ok(target) = current.with_connection(name, !current.plan.connections[*name].is_suspended)
    {
        return target;
    }
    let is_renewed = random.chance(35) && !current.plan.components.is_empty();
    if is_renewed { renewed(current) } else { other(random) }
}

/// The names of components, as texts of TOML.
fn tables_of(components: &[(usize, usize)]) -> impl Iterator<Item = String> {
    components.iter().map(|(name, _)| format!("\"c{name}\""))
}

/// A few components in a few processes, connected at random.
pub(crate) fn random(random: &mut Random) -> Target {
    target(&random_text(random))
}

/// The same, so that it can be changed between events: gateways seldom pass on what has come.
pub(crate) fn quiescent(random: &mut Random) -> Target {
    let text = random_text(random);
    let text = if random.chance(80) {
        text.replace("ttl = 2", "ttl = 1").replace("ttl = 3", "ttl = 1")
    } else {
        text
    };
    let limit = if random.chance(90) { 900 } else { 10 };
    target(&format!("quiesce = \"{limit} ms\"\n{text}"))
}

/// The same with processes on several hosts, whose names these are.
pub(crate) fn quiescent_of(random: &mut Random, hosts: &[&str]) -> Target {
    let mut plan = quiescent(random).plan;
    for process in plan.processes.values_mut() {
        process.host = random.pick(hosts).map(|host| (*host).to_owned());
    }
    // What begins in an order is of one host.
    let places: BTreeMap<String, Option<String>> =
        plan.processes.iter().map(|(name, process)| (name.clone(), process.host.clone())).collect();
    for process in plan.processes.values_mut() {
        process.depends_on.retain(|other| places[other] == process.host);
    }
    for host in hosts {
        let of_first = plan.hosts["n1"].clone();
        plan.hosts.entry((*host).to_owned()).or_insert(of_first);
    }
    let by_gateways = plan.connections.values().any(|it| it.service.as_deref() == Some("federated"));
    let mut text = match by_gateways {
        true => {
            plan.services.clear();
            plan.to_toml() + &gateways(random, &plan)
        }
        false => plan.to_toml(),
    };
    match random.below(100) {
        0..25 => text += &back(random, &plan),
        25..55 => text += &line(&plan),
        _ => {}
    }
    target(&text)
}

/// Gateways of all processes, which say where they are, as those of several hosts have to.
fn gateways(random: &mut Random, plan: &Plan) -> String {
    let names: Vec<&String> = plan.processes.keys().filter(|name| name.starts_with('p')).collect();
    let mut text = String::new();
    for (number, name) in names.iter().enumerate() {
        let others: Vec<String> =
            names.iter().filter(|other| *other != name).map(|other| format!("\"g-{other}\"")).collect();
        let (others, port) = (others.join(", "), 7390 + random.below(2));
        writeln!(text, "\n[service.g-{name}]\nkind = \"federated\"\nat = \"{name}\"\npeers = [{others}]")
            .unwrap();
        writeln!(text, "address = \"192.0.2.{}:{port}\"", number + 1).unwrap();
    }
    text
}

/// A connection against the order of names: with another one it is a circle. What comes by it waits in a queue, so no component calls itself.
fn back(random: &mut Random, plan: &Plan) -> String {
    let connections: Vec<&Connection> = plan.connections.values().collect();
    let Some(connection) = random.pick(&connections) else { return String::new() };
    let (Some(to), Some(from)) = (connection.from.component(), connection.to[0].component()) else {
        return String::new();
    };
    if joins(plan, to) {
        return String::new();
    }
    format!("\n[connection.back]\nfrom = \"{from}.out\"\nto = [\"{to}.in\"]\nqueue = {{ depth = 4 }}\n")
}

/// Connections from each component to the next one, also over several hosts.
fn line(plan: &Plan) -> String {
    let names: Vec<&String> = plan.components.keys().collect();
    let mut text = String::new();
    for (from, to) in names.iter().zip(names.iter().skip(1)).filter(|(_, to)| !joins(plan, to)) {
        let leads = |it: &Connection| {
            it.from.component() == Some(from.as_str())
                && it.to.iter().any(|end| end.component() == Some(to.as_str()))
        };
        if !plan.connections.values().any(leads) {
            writeln!(text, "\n[connection.{from}-{to}]\nfrom = \"{from}.out\"\nto = [\"{to}.in\"]\nqueue = {{ depth = 4 }}").unwrap();
        }
    }
    text
}

/// Whether what comes to a component has the queue of a join, or none since it is read at instants.
fn joins(plan: &Plan, component: &str) -> bool {
    plan.components[component].ports.values().any(|port| port.join.is_some() || port.timing == Timing::Let)
}

/// The same plan, but for settings of some components and queues of some connections: much goes on.
pub(crate) fn set_anew(current: &Target, random: &mut Random) -> Target {
    let mut target = current.clone();
    let plan = current.plan.clone();
    for component in target.plan.components.values_mut() {
        if random.chance(20) {
            component.settings.insert("a".to_owned(), Value::Integer(3 + random.below(3) as i64));
        }
    }
    let often = if random.chance(50) { 20 } else { 70 };
    for (name, connection) in &mut target.plan.connections {
        let is_queued = connection.to.iter().filter_map(End::component).all(|to| !joins(&plan, to));
        // A circle that changes as a whole is refused.
        if is_queued && name != "back" && random.chance(often) {
            let full = FullPolicy::DropOldest;
            connection.queue = Some(Queue { depth: 5 + random.below(3) as u32, full, wait: None });
        }
    }
    target
}

fn random_text(random: &mut Random) -> String {
    let mut text = String::from("id = \"random\"\n[host.n1]\ncores = 2\n[artefact.x]\nlocation = [\"x\"]\n");
    text += "[artefact.y]\nlocation = [\"y\"]\nkind = \"foreign\"\n";
    let processes = 1 + random.below(3);
    let foreign = random.below(3).saturating_sub(1);
    let mut names: Vec<String> = (0..processes).map(|number| format!("p{number}")).collect();
    names.extend((0..foreign).map(|number| format!("f{number}")));
    // Which of two may depend on the other one differs between plans.
    let is_backward = random.chance(50);
    let depends_on = |random: &mut Random, name: &str| {
        let may = |other: &&String| if is_backward { other.as_str() < name } else { other.as_str() > name };
        let others = names.iter().filter(may).filter(|_| random.chance(30));
        others.map(|other| format!("\"{other}\"")).collect::<Vec<_>>().join(", ")
    };
    for name in names.iter().filter(|name| name.starts_with('f')) {
        writeln!(text, "[process.{name}]\nartefact = \"y\"\nhost = \"n1\"").unwrap();
        writeln!(text, "restart = {{ policy = \"always\", delay = \"10 ms\" }}").unwrap();
        writeln!(text, "depends-on = [{}]", depends_on(random, name)).unwrap();
    }
    let mut contained = Vec::new();
    for process in 0..processes {
        writeln!(text, "[process.p{process}]\nartefact = \"x\"\nhost = \"n1\"").unwrap();
        writeln!(text, "depends-on = [{}]", depends_on(random, &format!("p{process}"))).unwrap();
        if random.chance(20) {
            // Other arguments are another process.
            writeln!(text, "arguments = [\"{}\"]", random.below(2)).unwrap();
        }
        writeln!(text, "restart = {{ policy = \"always\", delay = \"10 ms\" }}").unwrap();
        contained.push(random.chance(50));
        if contained[process] {
            writeln!(text, "[container.k{process}]\nprocess = \"p{process}\"").unwrap();
            if random.chance(40) {
                writeln!(text, "lanes.fast = {{ threads = {} }}", random.range(1, 3)).unwrap();
            }
        }
    }
    let (mut components, mut tables) = (Vec::new(), BTreeMap::new());
    for name in 0..6 {
        if random.chance(30) {
            continue;
        }
        let process = random.below(processes);
        let mut table = format!("[component.c{name}]\ntype = \"Node\"\nprocess = \"p{process}\"\n");
        if contained[process] && random.chance(70) {
            writeln!(table, "container = \"k{process}\"").unwrap();
        }
        if random.chance(60) {
            writeln!(table, "settings.a = {}", random.below(3)).unwrap();
        }
        writeln!(table, "port.tick.period = \"{} ms\"", random.range(1, 3)).unwrap();
        tables.insert(name, table);
        components.push((name, process));
    }
    let mut connected: Vec<(usize, usize)> = Vec::new();
    let (mut connections, mut led): (String, BTreeMap<usize, Vec<(usize, bool)>>) = Default::default();
    // Components that publish by a queue alone may do so at instants.
    let mut calls: BTreeSet<usize> = BTreeSet::new();
    for number in 0..8 {
        let (Some(from), Some(to)) = (random.pick(&components), random.pick(&components)) else { break };
        // What is called goes up in the order of names, so that there is no circle.
        if from.0 >= to.0 || random.chance(40) {
            continue;
        }
        writeln!(connections, "[connection.n{number}]\nfrom = \"c{}.out\"\nto = [\"c{}.in\"]", from.0, to.0)
            .unwrap();
        let has_queue = random.chance(30);
        if has_queue {
            writeln!(connections, "queue = {{ depth = {} }}", random.range(1, 4)).unwrap();
        }
        let is_federated = random.chance(40);
        if is_federated {
            writeln!(connections, "service = \"federated\"").unwrap();
        }
        if !has_queue && !is_federated {
            calls.insert(from.0);
        }
        led.entry(to.0).or_default().push((number, has_queue || is_federated));
        connected.push((from.0, to.0));
    }
    for (name, parts) in led {
        // What is read at instants has no queue either.
        if !parts.iter().any(|(_, is_alone)| *is_alone) && !calls.contains(&name) && random.chance(50) {
            let table = "port.tick.timing = \"let\"\nport.tick.samples = [\"in\"]\n";
            tables.entry(name).and_modify(|known: &mut String| *known += table);
            continue;
        }
        // What joins has the queue, and takes no events of gateways.
        if parts.len() < 2 || parts.iter().any(|(_, is_alone)| *is_alone) || random.chance(30) {
            continue;
        }
        let mut parts: Vec<String> = parts.iter().map(|(number, _)| format!("\"n{number}\"")).collect();
        let kinds = ["conjunction", "disjunction"];
        let kind = kinds[random.below(2)];
        let mut join = String::new();
        for group in 0..random.below(3) {
            let inner = parts.split_off(1 + random.below(parts.len() - 1));
            let every = if random.chance(30) { ", every = \"5 ms\"" } else { "" };
            let (of, inner) = (kinds[random.below(2)], inner.join(", "));
            join += &format!("port.in.group.g{group} = {{ kind = \"{of}\", parts = [{inner}]{every} }}\n");
            parts.push(format!("\"g{group}\""));
        }
        join += &format!("port.in.join = {{ kind = \"{kind}\", parts = [{}] }}\n", parts.join(", "));
        tables.entry(name).and_modify(|table: &mut String| *table += &join);
    }
    tables.values().for_each(|table| text += table);
    text += &connections;
    for (number, (from, to)) in connected.iter().enumerate() {
        if random.chance(60) {
            continue;
        }
        let further: Vec<usize> = connected.iter().filter(|next| next.0 == *to).map(|next| next.1).collect();
        let further = random.pick(&further).map_or(String::new(), |next| format!(", \"c{next}.in\""));
        writeln!(text, "[chain.k{number}]\npath = [\"c{from}.tick\", \"c{to}.in\"{further}]").unwrap();
        writeln!(text, "reaction = \"{} ms\"", random.range(1, 3)).unwrap();
    }
    let modes = if random.chance(50) { 1 + random.below(3) } else { 0 };
    for mode in 0..modes {
        let active = tables_of(&components).filter(|_| random.chance(60)).collect::<Vec<_>>().join(", ");
        writeln!(text, "[mode.m{mode}]\ncomponents = [{active}]").unwrap();
    }
    if modes > 0 {
        text = format!("start-mode = \"m{}\"\n{text}", random.below(modes));
    }
    if random.chance(30) {
        // It has the same peers as without it, but may be reached otherwise.
        let transport = if random.chance(50) { "tcp" } else { "udp" };
        writeln!(text, "[service.gate]\nkind = \"federated\"\nat = \"p0\"\ntransport = \"{transport}\"")
            .unwrap();
        writeln!(text, "ttl = {}", random.range(1, 3)).unwrap();
    }
    text
}
