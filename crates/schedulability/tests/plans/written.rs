//! Writes what the simulator is given as a plan and a manifest: the other way round from what is tested, and without its code.
use std::fmt::Write as _;

use processors::{Connection, Description, Entry, Full, Output, Scheduling, SourceKind, Step, Target};

/// What plans cannot say is taken away: joins, registers of other components, intervals, several cores for a lane, phases, jitter.
pub(crate) fn simpler(mut system: Description) -> Description {
    for lane in &mut system.lanes {
        let core = lane.threads[0];
        lane.threads.iter_mut().for_each(|thread| *thread = core);
        lane.order = processors::LaneOrder::Fifo;
        if let Scheduling::Deadline { deadline, period, .. } = &mut lane.scheduling {
            *deadline = *period;
        }
    }
    for port in &mut system.ports {
        port.registers = 0;
        port.interval = None;
        if let Entry::Queued { join, .. } = &mut port.entry {
            *join = None;
        }
    }
    for connection in &mut system.connections {
        let port = connection.target.port();
        if !matches!(connection.target, Target::Direct(_)) {
            connection.target = Target::Queue(port);
        }
    }
    for source in &mut system.sources {
        let is_alone = system.connections.iter().all(|connection| connection.target.port() != source.port);
        source.kind = match source.kind {
            SourceKind::Timer { period, .. } if is_alone => {
                SourceKind::Timer { period, jitter: 0, phase: None }
            }
            other => SourceKind::Sporadic { separation: other.period() },
        };
    }
    system
}

/// Adds sampled links: what a consumer leaves as it ends, a timer of its component reads. Chains that end at the one go on to the other.
pub(crate) fn sampled(mut system: Description) -> Description {
    for reader in 0..system.ports.len() {
        let component = system.ports[reader].component;
        let fits =
            |port: &usize| system.ports[*port].component == component && timer(&system, *port).is_none();
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

/// The port that samples what is pushed to an output, if that is so.
fn samples(system: &Description, output: usize) -> Option<usize> {
    let mut of_output = system.connections.iter().filter(|connection| connection.output == output);
    of_output.find_map(|it| matches!(it.target, Target::Register(..)).then(|| it.target.port()))
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
            "[process.h{index}]\nhost = \"h{index}\"\n[container.h{index}]\nprocess = \"h{index}\""
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
        if matches!(connection.target, Target::Register(..)) {
            continue;
        }
        let from = name(system.outputs[output].component, "o", output);
        let to = name(system.ports[port].component, "p", port);
        let service = match (connection.target, connection.transfer) {
            (Target::Direct(_), _) => "service = \"direct\"".to_owned(),
            (_, Some((least, most))) => {
                format!("service = \"dds\"\ntransfer = {{ least = \"{least} ns\", most = \"{most} ns\" }}")
            }
            _ => "service = \"channel\"".to_owned(),
        };
        // Connections are made in the order of their names.
        writeln!(
            plan,
            "[connection.x{number:04}]\nfrom = \"{from}\"\nto = [\"{to}\"]\n{service}{}",
            queue(system, port)
        )
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
            if !matches!(connection.target, Target::Register(..)) {
                path.push(name(system.outputs[connection.output].component, "o", connection.output));
            }
            path.push(name(system.ports[port].component, "p", port));
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
    let Entry::Queued { depth, full, .. } = system.ports[port].entry else { return String::new() };
    let full = match full {
        Full::Reject => "reject",
        Full::DropNewest => "drop-newest",
        Full::DropOldest => "drop-oldest",
        Full::Coalesce => "coalesce",
        Full::Block => "block\", wait = \"1 s",
    };
    format!("\nqueue = {{ depth = {depth}, full = \"{full}\" }}")
}
