//! A system of the simulator in the words of the analysis, field by field.
use processors as of;
use response::{
    Chain, Component, Connection, Full, Host, Join, Keep, Lane, Order, Port, Register, Scheduling, Source,
    SourceKind, Stall, Step, System, Target, Throttling, Transfer,
};

pub(crate) fn system(parts: &of::Description) -> System {
    let mut registers: Vec<Register> = Vec::new();
    let mut first = Vec::new();
    for (index, port) in parts.ports.iter().enumerate() {
        first.push(registers.len());
        registers.extend((0..port.registers).map(|_| Register { port: index }));
    }
    System {
        hosts: parts.hosts.iter().map(host).collect(),
        lanes: parts.lanes.iter().map(lane).collect(),
        components: parts.components.iter().map(component).collect(),
        ports: parts.ports.iter().map(|it| port(parts, it)).collect(),
        registers,
        connections: parts.connections.iter().map(|it| connection(&first, it)).collect(),
        sources: parts.sources.iter().map(source).collect(),
        chains: parts.chains.iter().map(chain).collect(),
    }
}

fn host(host: &of::Host) -> Host {
    let stall = |stall: &of::Stall| Stall { length: stall.length, distance: stall.distance };
    Host {
        cores: host.cores,
        wake: host.wake,
        switch: host.switch,
        dispatch: host.dispatch,
        slack: host.slack,
        drift: host.drift,
        error: host.error,
        stalls: host.stalls.iter().map(stall).collect(),
        throttling: host.throttling.map(|it| Throttling { runtime: it.runtime, period: it.period }),
        measured: false,
    }
}

fn lane(lane: &of::Lane) -> Lane {
    Lane {
        host: lane.host,
        threads: lane.threads.clone(),
        scheduling: match lane.scheduling {
            of::Scheduling::Fifo { priority } => Scheduling::Fifo(priority),
            of::Scheduling::Deadline { runtime, deadline, period } => {
                Scheduling::Deadline { runtime, deadline, period }
            }
            of::Scheduling::Other => Scheduling::Other,
        },
        order: match lane.order {
            of::LaneOrder::Fifo => Order::Fifo,
            of::LaneOrder::EarliestDeadline => Order::EarliestDeadline,
        },
    }
}

fn component(component: &of::Component) -> Component {
    Component { host: component.host, serialised: component.serialised }
}

fn port(parts: &of::Description, port: &of::Port) -> Port {
    let steps = port.steps.iter().map(|step| match *step {
        of::Step::Run { least, most } => Step::Run { least, most },
        of::Step::Push { output, optional } => Step::Push { output, optional },
    });
    let mut of = Port {
        component: port.component,
        lane: None,
        deadline: None,
        depth: 1,
        policy: Full::DropNewest,
        parallel: !parts.components[port.component].serialised,
        join: None,
        interval: port.interval,
        steps: steps.collect(),
        measured: false,
    };
    if let of::Entry::Queued { lane, depth, full, join, deadline } = port.entry {
        of.lane = Some(lane);
        of.depth = depth as u64;
        of.policy = match full {
            of::Full::Reject => Full::Reject,
            of::Full::DropNewest => Full::DropNewest,
            of::Full::DropOldest => Full::DropOldest,
            of::Full::Coalesce => Full::Coalesce,
            of::Full::Block => Full::Block,
        };
        of.join = join.map(|join| Join {
            parts: join.parts,
            keep: match join.keep {
                of::Keep::First => Keep::First,
                of::Keep::Last => Keep::Last,
                of::Keep::All(most) => Keep::All(u64::from(most)),
            },
            within: join.within,
        });
        of.deadline = (parts.lanes[lane].order == of::LaneOrder::EarliestDeadline).then_some(deadline);
    }
    of
}

fn connection(first: &[usize], connection: &of::Connection) -> Connection {
    Connection {
        output: connection.output,
        target: match connection.target {
            of::Target::Queue(port) => Target::Queue(port),
            of::Target::Part(port, part) => Target::Part { port, part },
            of::Target::Direct(port) => Target::Direct(port),
            of::Target::Register(port, index) => Target::Register(first[port] + index),
        },
        transfer: connection.transfer.map(|(least, most)| Transfer { least, most, measured: false }),
    }
}

fn source(source: &of::Source) -> Source {
    let kind = match source.kind {
        of::SourceKind::Timer { period, jitter, phase } => SourceKind::Timer { period, jitter, phase },
        of::SourceKind::Periodic { period, jitter, gap } => SourceKind::Periodic { period, jitter, gap },
        of::SourceKind::Sporadic { separation } => SourceKind::Sporadic { separation },
    };
    Source { port: source.port, kind, measured: false }
}

fn chain(chain: &of::Chain) -> Chain {
    Chain {
        name: chain.name.clone(),
        source: chain.source,
        connections: chain.connections.clone(),
        reaction: None,
        age: None,
    }
}
