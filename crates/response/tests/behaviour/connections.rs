//! Connections: from a push to the end of the handler that it leads to.
use response::{Bound, Cause, Connection, Full, Join, Keep, Reason, Scheduling, SourceKind, Step, Target};

use super::Build;

fn latency(build: &Build, connection: usize) -> Bound {
    let bounds = build.analysis().connections[connection].clone();
    if let Ok(bound) = bounds.latency {
        assert_eq!(bounds.shares.iter().map(|share| share.time).sum::<u64>(), bound, "shares are the bound");
    }
    bounds.latency
}

/// A timer's port of 10 on core 0, and a port of 5 on core 1.
fn two() -> (Build, usize, usize) {
    let mut build = Build::new(2);
    let (first, second) = (build.lane(10), build.lane_on(0, &[1], Scheduling::Fifo(10)));
    let (a, b) = (build.port(first, 10, 10), build.port(second, 5, 5));
    build.timer(a, 100);
    (build, a, b)
}

/// The handler that pushes is before the push; what else runs where the event goes counts.
#[test]
fn a_queue_takes_a_response() {
    let (mut build, a, b) = two();
    let queue = build.connect(a, Target::Queue(b));
    assert_eq!(latency(&build, queue), Ok(5));
    let lane = build.lane_on(0, &[1], Scheduling::Fifo(20));
    let other = build.port(lane, 7, 7);
    build.timer(other, 1_000);
    assert_eq!(latency(&build, queue), Ok(5 + 7));
    // A queue of one that two pushes come to may lose one.
    build.system.ports[a].steps.push(Step::Push { output: queue, optional: true });
    assert_eq!(latency(&build, queue), Ok(2 * 5 + 7));
    (build.system.ports[b].depth, build.system.ports[b].policy) = (1, Full::DropOldest);
    assert_eq!(latency(&build, queue), Err(Reason::Backlog { port: b }));
}

#[test]
fn a_transfer_and_clocks_are_added() {
    let (mut build, a, _) = two();
    let far = build.host(1);
    let lane = build.lane_on(far, &[0], Scheduling::Fifo(1));
    let b = build.port(lane, 0, 5);
    let queue = build.connect(a, Target::Queue(b));
    build.transfer(queue, 20, 80);
    (build.system.hosts[far].error, build.system.hosts[0].error) = (3, 4);
    assert_eq!(latency(&build, queue), Ok(80 + 5 + 7));
    let causes: Vec<Cause> =
        build.analysis().connections[queue].shares.iter().map(|share| share.cause).collect();
    assert_eq!(causes, [Cause::Transfer, Cause::Own, Cause::Clocks]);
}

/// Calls of one push follow each other: the second waits for the first, however short that may be.
#[test]
fn calls_of_one_push_follow_each_other() {
    let (mut build, a, _) = two();
    let called = |build: &mut Build, least, most| {
        let component = build.component(0, true);
        build.port_of(component, None, &[Step::Run { least, most }])
    };
    let (one, other) = (called(&mut build, 3, 3), called(&mut build, 5, 5));
    let call = build.connect(a, Target::Direct(one));
    build.system.connections.push(Connection { output: call, target: Target::Direct(other), transfer: None });
    // That the first ends before the second begins is not used.
    assert_eq!((latency(&build, call), latency(&build, call + 1)), (Ok(8), Ok(8)));
}

#[test]
fn a_part_and_a_register_wait() {
    let (mut build, a, b) = two();
    let register = build.register(b);
    let write = build.connect(a, register);
    build.timer(b, 30);
    assert_eq!(latency(&build, write), Ok(30 + 5));
    // Of two that write, one may take the place of the other.
    let lane = build.lane(5);
    let other = build.port(lane, 1, 1);
    build.timer(other, 100);
    build.connect(other, register);
    assert_eq!(latency(&build, write), Err(Reason::Displaced { port: b }));

    let (mut build, a, b) = two();
    build.system.ports[b].join = Some(Join { parts: 2, keep: Keep::Last, within: None });
    let part = build.connect(a, Target::Part { port: b, part: 0 });
    let lane = build.lane_on(0, &[1], Scheduling::Fifo(20));
    let other = build.port(lane, 1, 1);
    let source = build.timer(other, 40);
    build.connect(other, Target::Part { port: b, part: 1 });
    // The other part comes within 40, and 1 for its handler, which may run before the join's.
    assert_eq!(latency(&build, part), Ok(40 + 1 + 1 + 5));
    build.system.sources[source].kind = SourceKind::Sporadic { separation: 40 };
    assert_eq!(latency(&build, part), Err(Reason::NeverComes { port: other }));
}

/// Threads without a real-time class have no bound, where they call and where they are called.
#[test]
fn other_threads_have_no_bound() {
    let (mut build, a, b) = two();
    let queue = build.connect(a, Target::Queue(b));
    let component = build.component(0, true);
    let called = build.port_of(component, None, &[Step::Run { least: 1, most: 2 }]);
    let call = build.connect(a, Target::Direct(called));
    assert_eq!((latency(&build, queue), latency(&build, call)), (Ok(5), Ok(2)));
    build.system.lanes[1].scheduling = Scheduling::Other;
    assert_eq!((latency(&build, queue), latency(&build, call)), (Err(Reason::Host { port: b }), Ok(2)));
    build.system.lanes[0].scheduling = Scheduling::Other;
    assert_eq!(latency(&build, call), Err(Reason::Host { port: a }));
}

/// One timer makes all events: they are apart by its period, and late by what varies on their way.
#[test]
fn streams_of_one_source() {
    let (mut build, a, b) = two();
    build.system.ports[a].steps[0] = Step::Run { least: 4, most: 10 };
    let queue = build.connect(a, Target::Queue(b));
    let next = build.port(1, 3, 3);
    let far = build.connect(b, Target::Queue(next));
    build.transfer(queue, 20, 80);
    let stream = |build: &Build, connection: usize| {
        build.analysis().connections[connection].stream.map(|stream| (stream.period, stream.jitter))
    };
    assert_eq!(stream(&build, queue), Some((100, Ok(10 - 4))));
    // The transfer varies by 60; the handler takes 5, and may find that of the event before, which takes 3, at work.
    assert_eq!(stream(&build, far), Some((100, Ok(6 + 60 + build.response(b).unwrap() - 5))));
    // A second source, a second push of a run.
    build.timer(b, 1_000);
    assert_eq!(stream(&build, far), None);
    build.system.ports[a].steps.push(Step::Push { output: queue, optional: true });
    assert_eq!(stream(&build, queue), None);
}
