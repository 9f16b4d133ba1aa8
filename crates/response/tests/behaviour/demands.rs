//! Each demand of the model that is broken is named.
use response::{
    Connection, Demand, Join, Keep, Limits, Order, Scheduling, SourceKind, Stall, Step, System, Target,
    Throttling, Transfer, analyse, problems,
};

use super::Build;

/// Two hosts; a timer's port that pushes to a queue of its host, calls a component, and pushes to a part of a join over the network.
fn sound() -> Build {
    let mut build = Build::new(2);
    let far = build.host(1);
    let lane = build.lane(10);
    let second = build.lane_on(0, &[1], Scheduling::Fifo(20));
    let third = build.lane_on(far, &[0], Scheduling::Fifo(30));
    let (a, b, c) = (build.port(lane, 1, 2), build.port(second, 1, 2), build.port(third, 1, 2));
    let component = build.component(0, true);
    let called = build.port_of(component, None, &[Step::Run { least: 0, most: 1 }]);
    let source = build.timer(a, 1_000);
    let queue = build.connect(a, Target::Queue(b));
    build.connect(a, Target::Direct(called));
    build.system.ports[c].join = Some(Join { parts: 2, keep: Keep::Last, within: None });
    for part in 0..2 {
        let connection = build.connect(a, Target::Part { port: c, part });
        build.transfer(connection, 1, 5);
    }
    let register = build.register(b);
    build.connect(a, register);
    build.chain(source, &[queue]);
    build
}

/// What is wrong after a change.
fn broken(change: impl FnOnce(&mut System)) -> Vec<(Demand, usize)> {
    let mut system = sound().system;
    change(&mut system);
    let found = problems(&system);
    assert_eq!(analyse(&system, Limits::default()).err().unwrap_or_default(), found);
    found.iter().map(|problem| (problem.demand, problem.index)).collect()
}

#[test]
fn nothing_is_wrong_with_what_is_sound() {
    assert_eq!(broken(|_| {}), []);
    let bounds = sound().analysis();
    assert!(bounds.ports.iter().all(|port| port.response.is_ok()));
}

#[test]
fn hosts_and_lanes() {
    assert_eq!(
        broken(|it| it.hosts[1].stalls.push(Stall { length: 1, distance: 0 })),
        [(Demand::StallDistance, 1)]
    );
    for (runtime, period) in [(5, 4), (0, 0)] {
        let throttling = Some(Throttling { runtime, period });
        assert_eq!(broken(|it| it.hosts[0].throttling = throttling), [(Demand::ThrottlingWindow, 0)]);
    }
    assert_eq!(broken(|it| it.hosts[0].drift = 1_000_000_000), [(Demand::Drift, 0)]);
    assert_eq!(
        broken(|it| it.lanes[0].host = 9),
        [(Demand::LaneHost, 0), (Demand::Core, 0), (Demand::PortLane, 0)]
    );
    assert_eq!(broken(|it| it.lanes[0].threads.clear()), [(Demand::Threads, 0)]);
    assert_eq!(broken(|it| it.lanes[2].threads.push(1)), [(Demand::Core, 2)]);
    for priority in [0, 100] {
        assert_eq!(broken(|it| it.lanes[0].scheduling = Scheduling::Fifo(priority)), [(Demand::Priority, 0)]);
    }
    for (runtime, deadline, period) in [(0, 1, 1), (3, 2, 9), (1, 9, 8)] {
        let scheduling = Scheduling::Deadline { runtime, deadline, period };
        assert_eq!(broken(|it| it.lanes[0].scheduling = scheduling), [(Demand::Budget, 0)]);
    }
}

#[test]
fn locks_of_deadline_threads() {
    let scheduling = Scheduling::Deadline { runtime: 10, deadline: 10, period: 100 };
    // It alone calls the component with a lock.
    assert_eq!(broken(|it| it.lanes[0].scheduling = scheduling), []);
    let found = broken(|it| {
        it.lanes[0].scheduling = scheduling;
        it.ports[1].component = it.ports[3].component;
    });
    assert_eq!(found, [(Demand::DeadlineLock, 3)]);
    let found = broken(|it| {
        it.lanes[0].scheduling = scheduling;
        it.lanes[0].threads.push(1);
    });
    assert_eq!(found, [(Demand::DeadlineLock, 3)]);
}

#[test]
fn components_and_ports() {
    assert_eq!(broken(|it| it.components[0].host = 7)[0], (Demand::ComponentHost, 0));
    assert_eq!(broken(|it| it.ports[0].component = 7)[0], (Demand::PortComponent, 0));
    assert_eq!(broken(|it| it.ports[0].lane = Some(2)), [(Demand::PortLane, 0)]);
    assert_eq!(broken(|it| it.ports[1].lane = None), [(Demand::Reached, 1)]);
    assert_eq!(broken(|it| it.ports[3].lane = Some(0)), [(Demand::Reached, 3)]);
    assert_eq!(broken(|it| it.lanes[0].order = Order::EarliestDeadline), [(Demand::RelativeDeadline, 0)]);
    assert_eq!(broken(|it| it.ports[0].steps[0] = Step::Run { least: 3, most: 2 }), [(Demand::StepTimes, 0)]);
    assert_eq!(broken(|it| it.ports[2].depth = 0), [(Demand::Depth, 2)]);
    let found = broken(|it| it.ports[2].join = Some(Join { parts: 2, keep: Keep::All(0), within: None }));
    assert_eq!(found, [(Demand::Parts, 2)]);
    let found = broken(|it| it.ports[2].join = Some(Join { parts: 3, keep: Keep::Last, within: None }));
    assert_eq!(found, [(Demand::PartConnections, 2)]);
    let found = broken(|it| it.ports[2].join = None);
    assert_eq!(found, [(Demand::PartConnections, 2), (Demand::PartNumber, 2), (Demand::PartNumber, 3)]);
    let found = broken(|it| it.sources[0].port = 2);
    assert_eq!(found, [(Demand::PartConnections, 2), (Demand::ChainPath, 0)]);
    assert_eq!(
        broken(|it| it.ports[0].interval = Some(1_001)),
        [(Demand::LetSources, 0), (Demand::LetOutputs, 0)]
    );
    assert_eq!(broken(|it| it.ports[1].interval = Some(1)), [(Demand::LetSources, 1)]);
    assert_eq!(broken(|it| it.registers[0].port = 8), [(Demand::RegisterPort, 0)]);
}

#[test]
fn connections_and_sources() {
    assert_eq!(broken(|it| it.connections[0].target = Target::Queue(9))[0], (Demand::Reference, 0));
    assert_eq!(broken(|it| it.connections[4].target = Target::Register(1)), [(Demand::Reference, 4)]);
    let transfer = Some(Transfer { least: 2, most: 1, measured: false });
    assert_eq!(broken(|it| it.connections[2].transfer = transfer), [(Demand::TransferTime, 2)]);
    assert_eq!(broken(|it| it.connections[2].transfer = None), [(Demand::TransferTime, 2)]);
    let transfer = Some(Transfer { least: 1, most: 1, measured: false });
    // Between processes of one host it may take time, too.
    assert_eq!(broken(|it| it.connections[0].transfer = transfer), []);
    assert_eq!(broken(|it| it.connections[1].transfer = transfer), [(Demand::DirectHost, 1)]);
    let pushes = Step::Push { output: 0, optional: false };
    assert_eq!(broken(|it| it.ports[2].steps.push(pushes)), [(Demand::OutputHost, 0)]);
    let call = |output| Connection { output, target: Target::Direct(3), transfer: None };
    let found = broken(|it| {
        it.connections.push(call(9));
        it.ports[3].steps.push(Step::Push { output: 9, optional: true });
    });
    assert_eq!(found, [(Demand::DirectCircle, 1), (Demand::PortCircle, 3)]);
    let found = broken(|it| {
        it.ports[0].component = 3;
    });
    assert_eq!(found, [(Demand::DirectCircle, 1)]);
    let found = broken(|it| it.ports[1].steps.push(Step::Push { output: 0, optional: false }));
    assert_eq!(found, [(Demand::PortCircle, 1)]);
    assert_eq!(broken(|it| it.sources[0].port = 3), [(Demand::SourcePort, 0)]);
    for kind in [
        SourceKind::Timer { period: 0, jitter: 0, phase: None },
        SourceKind::Periodic { period: 0, jitter: 0, gap: 0 },
        SourceKind::Periodic { period: 5, jitter: 0, gap: 6 },
        SourceKind::Sporadic { separation: 0 },
    ] {
        assert_eq!(broken(|it| it.sources[0].kind = kind), [(Demand::Period, 0)]);
    }
}

#[test]
fn chains_and_sizes() {
    assert_eq!(broken(|it| it.chains[0].source = 4), [(Demand::ChainSource, 0)]);
    assert_eq!(broken(|it| it.chains[0].connections = vec![0, 1]), [(Demand::ChainPath, 0)]);
    assert_eq!(broken(|it| it.chains[0].connections = vec![77]), [(Demand::ChainPath, 0)]);
    assert_eq!(
        broken(|it| it.ports[0].steps[1] = Step::Push { output: 0, optional: true }),
        [(Demand::ChainCertain, 0)]
    );
    assert_eq!(broken(|it| it.hosts[0].cores = usize::MAX), [(Demand::Size, 0)]);
}
