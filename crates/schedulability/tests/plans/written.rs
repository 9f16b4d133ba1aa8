//! Writes what the simulator is given as a plan and a manifest: the other way round from what is tested, and without its code.
use std::fmt::Write as _;

use processors::{
    Connection, Description, Entry, Full, Output, Scheduling, Source, SourceKind, Step, Target,
};

/// What plans cannot say is taken away: registers of ports without logical execution time, several cores for a lane, phases, jitter.
pub(crate) fn simpler(mut system: Description) -> Description {
    for lane in &mut system.lanes {
        let core = lane.threads[0];
        lane.threads.iter_mut().for_each(|thread| *thread = core);
        lane.order = processors::LaneOrder::Fifo;
        if let Scheduling::Deadline { deadline, period, .. } = &mut lane.scheduling {
            *deadline = *period;
        }
    }
    let logical: Vec<bool> = (0..system.ports.len()).map(|port| is_logical(&system, port)).collect();
    // Beside logical execution time no lane of the class deadline has a bound.
    let with_instants: Vec<usize> = system
        .ports
        .iter()
        .zip(&logical)
        .filter(|(_, is_logical)| **is_logical)
        .map(|(port, _)| system.components[port.component].host)
        .collect();
    for lane in system.lanes.iter_mut().filter(|lane| with_instants.contains(&lane.host)) {
        if matches!(lane.scheduling, Scheduling::Deadline { .. }) {
            lane.scheduling = Scheduling::Fifo { priority: 50 };
        }
    }
    for (port, _) in system.ports.iter_mut().zip(&logical).filter(|(_, is_logical)| !**is_logical) {
        port.registers = 0;
        port.interval = None;
    }
    for connection in &mut system.connections {
        if let Target::Register(port, _) = connection.target
            && !logical[port]
        {
            connection.target = Target::Queue(port);
        }
    }
    for source in &mut system.sources {
        let calls = |connection: &Connection| {
            connection.target.port() == source.port && !matches!(connection.target, Target::Register(..))
        };
        let is_alone = !system.connections.iter().any(calls);
        source.kind = match source.kind {
            SourceKind::Timer { period, .. } if is_alone => {
                SourceKind::Timer { period, jitter: 0, phase: None }
            }
            other => SourceKind::Sporadic { separation: other.period() },
        };
    }
    system
}

/// Gives timers logical execution time that may have it, with all of their components in one lane: all of the period, or two thirds.
pub(crate) fn logical(mut system: Description, seed: u64) -> Description {
    for port in 0..system.ports.len() {
        let (component, steps) = (system.ports[port].component, system.ports[port].steps.clone());
        let Entry::Queued { lane, join: None, .. } = system.ports[port].entry else { continue };
        let mut sources = system.sources.iter().filter(|source| source.port == port);
        let (Some(Source { kind: SourceKind::Timer { period, .. }, .. }), None) =
            (sources.next(), sources.next())
        else {
            continue;
        };
        let pushes = |output: usize| {
            steps.iter().any(|step| matches!(step, Step::Push { output: to, .. } if *to == output))
        };
        let stands_against = |connection: &Connection| match connection.target {
            Target::Direct(to) => pushes(connection.output) || system.ports[to].component == component,
            Target::Queue(to) | Target::Part(to, _) => to == port,
            Target::Register(..) => false,
        };
        if system.connections.iter().any(stands_against) || system.lanes[lane].threads.len() > 1 {
            continue;
        }
        let interval = if (seed + port as u64).is_multiple_of(2) { *period } else { period * 2 / 3 };
        for other in system.ports.iter_mut().filter(|other| other.component == component) {
            if let Entry::Queued { lane: of_other, .. } = &mut other.entry {
                *of_other = lane;
            }
        }
        system.ports[port].interval = Some(interval.max(1));
    }
    system
}

/// Whether a port can have logical execution time in a plan: one timer calls it. What it reads is read at one instant only if no other
/// thread enters its component.
fn is_logical(system: &Description, port: usize) -> bool {
    let it = &system.ports[port];
    let lane = |port: &processors::Port| match port.entry {
        Entry::Queued { lane, .. } => Some(lane),
        Entry::Direct => None,
    };
    let mut beside = system.ports.iter().filter(|other| other.component == it.component);
    let is_alone = beside.all(|other| lane(other).is_some() && lane(other) == lane(it))
        && lane(it).is_some_and(|lane| system.lanes[lane].threads.len() == 1);
    it.interval.is_some() && timer(system, port).is_some() && is_alone
}

/// Adds sampled links: what a consumer leaves as it ends, a timer of its component reads. Chains that end at the one go on to the other.
pub(crate) fn sampled(mut system: Description) -> Description {
    for reader in 0..system.ports.len() {
        let component = system.ports[reader].component;
        let fits =
            |port: &usize| system.ports[*port].component == component && timer(&system, *port).is_none();
        if system.ports[reader].interval.is_some() {
            continue;
        }
        let Some(writer) = (0..system.ports.len()).find(fits).filter(|_| timer(&system, reader).is_some())
        else {
            continue;
        };
        let (output, connection) = (system.outputs.len(), system.connections.len());
        system.outputs.push(Output { component });
        system.ports[writer].steps.push(Step::Push { output, optional: false });
        let target = Target::Register(reader, system.ports[reader].registers);
        system.ports[reader].registers += 1;
        system.connections.push(Connection { output, target, transfer: None });
        for chain in &mut system.chains {
            let last = chain.connections.last().map(|last| system.connections[*last].target.port());
            if last.unwrap_or(system.sources[chain.source].port) == writer {
                chain.connections.push(connection);
            }
        }
    }
    system
}

/// The port that samples what is pushed to an output as its handler ends, if that is so.
fn samples(system: &Description, output: usize) -> Option<usize> {
    let mut of_output = system.connections.iter().filter(|connection| connection.output == output);
    of_output.find_map(|it| match it.target {
        Target::Register(port, _) if system.ports[port].interval.is_none() => Some(port),
        _ => None,
    })
}

/// The name of the port where a connection ends: what is read at an instant has a port of its own.
fn end(system: &Description, target: Target) -> String {
    let component = system.ports[target.port()].component;
    match target {
        Target::Register(port, register) => format!("c{component}.r{port}x{register}"),
        target => name(component, "p", target.port()),
    }
}

/// The join of a port, with its connections.
fn join(system: &Description, port: usize) -> Option<String> {
    let Entry::Queued { join: Some(join), .. } = system.ports[port].entry else { return None };
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (number, connection) in system.connections.iter().enumerate() {
        match connection.target {
            Target::Part(to, part) if to == port => parts.push((part, number)),
            _ => {}
        }
    }
    parts.sort_unstable();
    let mut parts: Vec<String> =
        parts.iter().map(|(_, number)| format!("\"{}\"", connection(*number))).collect();
    // Joins of one part, in others: they change nothing.
    let mut groups = String::new();
    for (number, part) in parts.iter_mut().enumerate().filter(|(number, _)| (number + port).is_multiple_of(2))
    {
        let kind = ["conjunction", "disjunction"][port / 2 % 2];
        let inner = std::mem::replace(part, format!("\"g{number}\""));
        groups += &format!("\nport.p{port}.group.g{number} = {{ kind = \"{kind}\", parts = [{inner}] }}");
    }
    let keep = match join.keep {
        processors::Keep::First => "keep = \"first\"".to_owned(),
        processors::Keep::Last => "keep = \"last\"".to_owned(),
        processors::Keep::All(most) => format!("keep = \"all\", most = {most}"),
    };
    let within = join.within.map_or_else(String::new, |within| format!(", within = \"{within} ns\""));
    let parts = parts.join(", ");
    Some(format!("join = {{ kind = \"conjunction\", parts = [{parts}], {keep}{within} }}{groups}"))
}

/// What a connection is called.
pub(crate) fn connection(number: usize) -> String {
    format!("x{number:04}")
}

fn name(component: usize, port: &str, number: usize) -> String {
    format!("c{component}.{port}{number}")
}

/// The plan and its manifest.
pub(crate) fn plan(system: &Description) -> (String, String) {
    let (mut plan, mut types) = (String::new(), String::new());
    for (index, host) in system.hosts.iter().enumerate() {
        let stalls = host.stalls.iter();
        let stalls = stalls
            .map(|it| format!("{{ length = \"{} ns\", distance = \"{} ns\" }}", it.length, it.distance));
        let stalls: Vec<String> = stalls.collect();
        let (runtime, period) = host.throttling.map_or((7, 7), |it| (it.runtime, it.period));
        writeln!(
            plan,
            "[host.h{index}]\ncores = {}\ncosts = {{ wake = \"{} ns\", switch = \"{} ns\", dispatch = \"{} ns\", slack = \"{} ns\", clock-drift = {}, clock-error = \"{} ns\", stalls = [{}], throttling = {{ runtime = \"{runtime} ns\", period = \"{period} ns\" }} }}",
            host.cores, host.wake, host.switch, host.dispatch, host.slack, host.drift, host.error, stalls.join(", ")
        )
        .unwrap();
        writeln!(
            plan,
            "[process.h{index}]\nhost = \"h{index}\"\ncgroup = \"partition\"\n[container.h{index}]\nprocess = \"h{index}\""
        )
        .unwrap();
        for (number, lane) in system.lanes.iter().enumerate().filter(|(_, lane)| lane.host == index) {
            let class = match lane.scheduling {
                Scheduling::Fifo { priority } => format!("class = \"fifo\", priority = {priority}"),
                Scheduling::Deadline { runtime, period, .. } => {
                    format!("class = \"deadline\", runtime = \"{runtime} ns\", period = \"{period} ns\"")
                }
                Scheduling::Other => "class = \"normal\"".to_owned(),
            };
            let (threads, core) = (lane.threads.len(), lane.threads[0]);
            writeln!(plan, "lanes.l{number} = {{ {class}, threads = {threads}, cores = [{core}] }}").unwrap();
        }
    }
    for (index, component) in system.components.iter().enumerate() {
        let host = component.host;
        writeln!(
            plan,
            "[component.c{index}]\ntype = \"T{index}\"\nhost = \"h{host}\"\nprocess = \"h{host}\"\ncontainer = \"h{host}\""
        )
        .unwrap();
        writeln!(
            types,
            "[component.T{index}]\nparallel = {}\n[component.T{index}.port]",
            !component.serialised
        )
        .unwrap();
        for (number, port) in system.ports.iter().enumerate().filter(|(_, port)| port.component == index) {
            if let Entry::Queued { lane, .. } = port.entry {
                writeln!(plan, "port.p{number}.lane = \"l{lane}\"").unwrap();
            }
            let timer = timer(system, number);
            if let Some(period) = timer {
                writeln!(plan, "port.p{number}.period = \"{period} ns\"").unwrap();
            }
            if let Some(join) = join(system, number) {
                writeln!(plan, "port.p{number}.{join}").unwrap();
                writeln!(plan, "port.p{number}.queue = {}", queue_of(system, number)).unwrap();
            }
            if let Some(interval) = port.interval {
                writeln!(
                    plan,
                    "port.p{number}.timing = \"let\"\nport.p{number}.interval = \"{interval} ns\""
                )
                .unwrap();
                let reads: Vec<String> =
                    (0..port.registers).map(|register| format!("\"r{number}x{register}\"")).collect();
                writeln!(plan, "port.p{number}.samples = [{}]", reads.join(", ")).unwrap();
                for register in 0..port.registers {
                    let execution = "execution = { worst = \"0 ns\" }";
                    writeln!(types, "r{number}x{register} = {{ kind = \"consumer\", type = \"E\", triggers = [], {execution} }}")
                        .unwrap();
                }
            }
            let writes = |port: &processors::Port| {
                port.steps.iter().any(|step| match step {
                    Step::Push { output, .. } => samples(system, *output) == Some(number),
                    Step::Run { .. } => false,
                })
            };
            let sampled = system.ports.iter().enumerate().filter(|(_, port)| writes(port));
            let sampled: Vec<String> = sampled.map(|(writer, _)| format!("\"p{writer}\"")).collect();
            if !sampled.is_empty() {
                writeln!(plan, "port.p{number}.samples = [{}]", sampled.join(", ")).unwrap();
            }
            let (mut worst, mut steps, mut triggers) = (0, Vec::new(), Vec::new());
            for step in &port.steps {
                match step {
                    Step::Run { least, most } => {
                        worst += most;
                        steps.push(format!("\"{least} ns to {most} ns\""));
                    }
                    // It ends with that, whatever it is written as.
                    Step::Push { output, .. } if samples(system, *output).is_some() => {}
                    Step::Push { output, optional } => {
                        triggers.push(format!("\"o{output}\""));
                        steps.push(format!("\"o{output}{}\"", if *optional { "?" } else { "" }));
                    }
                }
            }
            triggers.sort();
            triggers.dedup();
            let kind = if timer.is_some() { "kind = \"timer\"" } else { "kind = \"consumer\", type = \"E\"" };
            writeln!(
                types,
                "p{number} = {{ {kind}, triggers = [{}], execution = {{ worst = \"{worst} ns\", steps = [{}] }} }}",
                triggers.join(", "),
                steps.join(", ")
            )
            .unwrap();
        }
        for (number, _) in system.outputs.iter().enumerate().filter(|(_, output)| output.component == index) {
            if samples(system, number).is_some() {
                continue;
            }
            writeln!(types, "o{number} = {{ kind = \"publisher\", type = \"E\" }}").unwrap();
        }
    }
    for (number, connection) in system.connections.iter().enumerate() {
        let (output, port) = (connection.output, connection.target.port());
        if samples(system, output).is_some() {
            continue;
        }
        let from = name(system.outputs[output].component, "o", output);
        let to = end(system, connection.target);
        let service = match (connection.target, connection.transfer) {
            (Target::Direct(_), _) => "service = \"direct\"".to_owned(),
            (_, Some((least, most))) => {
                format!("service = \"dds\"\ntransfer = {{ least = \"{least} ns\", most = \"{most} ns\" }}")
            }
            _ => "service = \"channel\"".to_owned(),
        };
        let queue =
            if matches!(connection.target, Target::Queue(_)) { queue(system, port) } else { String::new() };
        // Connections are made in the order of their names.
        let connection = self::connection(number);
        writeln!(plan, "[connection.{connection}]\nfrom = \"{from}\"\nto = [\"{to}\"]\n{service}{queue}")
            .unwrap();
    }
    for (number, source) in system.sources.iter().enumerate() {
        if timer(system, source.port).is_some() {
            continue;
        }
        let to = name(system.ports[source.port].component, "p", source.port);
        let separation = source.kind.period();
        writeln!(
            plan,
            "[topic.t{number}]\ntype = \"E\"\n[connection.t{number}]\nfrom = \"topic:t{number}\"\nto = [\"{to}\"]\nseparation = \"{separation} ns\"{}",
            queue(system, source.port)
        )
        .unwrap();
    }
    for (number, chain) in system.chains.iter().enumerate() {
        let source = system.sources[chain.source];
        let mut path = Vec::new();
        if timer(system, source.port).is_none() {
            path.push(format!("topic:t{}", chain.source));
        }
        path.push(name(system.ports[source.port].component, "p", source.port));
        for connection in &chain.connections {
            let connection = &system.connections[*connection];
            let port = connection.target.port();
            if samples(system, connection.output).is_none() {
                path.push(name(system.outputs[connection.output].component, "o", connection.output));
                path.push(end(system, connection.target));
            }
            if matches!(connection.target, Target::Register(..)) {
                path.push(name(system.ports[port].component, "p", port));
            }
        }
        let path: Vec<String> = path.iter().map(|end| format!("\"{end}\"")).collect();
        writeln!(
            plan,
            "[chain.k{number}]\npath = [{}]\nreaction = \"100 s\"\nage = \"100 s\"",
            path.join(", ")
        )
        .unwrap();
    }
    (plan, types)
}

/// The period of a port that one timer alone leads to.
fn timer(system: &Description, port: usize) -> Option<u64> {
    let mut sources = system.sources.iter().filter(|source| source.port == port);
    match (sources.next().map(|source| source.kind), sources.next()) {
        (Some(SourceKind::Timer { period, .. }), None) => Some(period),
        _ => None,
    }
}

fn queue(system: &Description, port: usize) -> String {
    match system.ports[port].entry {
        Entry::Queued { .. } => format!("\nqueue = {}", queue_of(system, port)),
        Entry::Direct => String::new(),
    }
}

fn queue_of(system: &Description, port: usize) -> String {
    let Entry::Queued { depth, full, .. } = system.ports[port].entry else { return String::new() };
    let full = match full {
        Full::Reject => "reject",
        Full::DropNewest => "drop-newest",
        Full::DropOldest => "drop-oldest",
        Full::Coalesce => "coalesce",
        Full::Block => "block\", wait = \"1 s",
    };
    format!("{{ depth = {depth}, full = \"{full}\" }}")
}
