//! Chains: queues, calls, registers, joins, transfers, let, losses; verdicts.
use response::{
    Cause, Full, Join, Keep, Limits, Reason, Scheduling, SourceKind, Stall, Step, Target, Verdict, analyse,
};

use super::Build;

fn bounds(build: &Build) -> (Result<u64, Reason>, Result<u64, Reason>) {
    let analysis = build.analysis();
    let chain = &analysis.chains[0];
    for (bound, shares) in [(chain.reaction, &chain.reaction_shares), (chain.age, &chain.age_shares)] {
        if let Ok(bound) = bound {
            assert_eq!(shares.iter().map(|share| share.time).sum::<u64>(), bound, "shares are the bound");
        }
    }
    (chain.reaction, chain.age)
}

/// A timer's port on core 0 that pushes to a port on core 1.
fn two(period: u64) -> (Build, usize, usize, usize) {
    let mut build = Build::new(2);
    let (first, second) = (build.lane(10), build.lane_on(0, &[1], Scheduling::Fifo(10)));
    let (a, b) = (build.port(first, 10, 10), build.port(second, 5, 5));
    let source = build.timer(a, period);
    (build, source, a, b)
}

#[test]
fn queue_call_and_transfer() {
    let (mut build, source, a, b) = two(100);
    let queue = build.connect(a, Target::Queue(b));
    let component = build.component(0, true);
    let called = build.port_of(component, None, &[Step::Run { least: 1, most: 2 }]);
    let call = build.connect(b, Target::Direct(called));
    build.chain(source, &[queue, call]);
    assert_eq!(bounds(&build), (Ok(17), Ok(17)));

    let (mut build, source, a, _) = two(100);
    let far = build.host(1);
    let lane = build.lane_on(far, &[0], Scheduling::Fifo(1));
    let b = build.port(lane, 0, 5);
    let queue = build.connect(a, Target::Queue(b));
    build.transfer(queue, 20, 80);
    build.system.hosts[far].error = 3;
    build.system.hosts[0].error = 4;
    build.chain(source, &[queue]);
    assert_eq!(bounds(&build), (Ok(10 + 80 + 5 + 7), Ok(102)));
    // Two may come at once behind a transfer that varies by more than the period.
    build.transfer(queue, 0, 100);
    assert_eq!(bounds(&build).0, Ok(10 + 100 + 10 + 7));
}

#[test]
fn register_that_a_timer_reads() {
    let (mut build, source, a, b) = two(100);
    let register = build.register(b);
    let write = build.connect(a, register);
    build.timer(b, 30);
    build.chain(source, &[write]);
    // An instant comes within 30 of the write; a value is written over within 100.
    assert_eq!(bounds(&build), (Ok(10 + 30 + 5), Ok(10 + 100 + 5)));
    build.system.hosts[0].drift = 100_000_000;
    build.system.hosts[0].slack = 2;
    // 30 + 3; 100 + 10, written after 10 to 12; both are late by 2.
    assert_eq!(bounds(&build), (Ok(12 + 33 + 7), Ok(12 + 112 + 7)));

    build.system.sources[source].kind = SourceKind::Sporadic { separation: 100 };
    assert_eq!(bounds(&build), (Ok(10 + 33 + 7), Err(Reason::NeverComes { port: a })));
    // What another one writes hides it.
    let lane = build.lane(5);
    let other = build.port(lane, 1, 1);
    build.timer(other, 100);
    build.connect(other, register);
    assert_eq!(bounds(&build).0, Err(Reason::Displaced { port: b }));
}

/// A join on core 1 of a chain from a timer of 100 and of another port with a timer of 40.
fn join(keep: Keep, within: Option<u64>) -> Build {
    let (mut build, source, a, b) = two(100);
    let lane = build.lane_on(0, &[1], Scheduling::Fifo(20));
    let other = build.port(lane, 1, 1);
    build.timer(other, 40);
    build.system.ports[b].join = Some(Join { parts: 2, keep, within });
    let part = build.connect(a, Target::Part { port: b, part: 0 });
    build.connect(other, Target::Part { port: b, part: 1 });
    build.chain(source, &[part]);
    build
}

#[test]
fn joins() {
    // Deliveries are as many as events of the rarer part and one more, if the other one has as many: at once there is one. At the
    // beginning the other part comes after 40 and the run of 1 before its push.
    assert_eq!(bounds(&join(Keep::Last, None)), (Ok(10 + 41 + 6), Ok(10 + 41 + 6)));
    assert_eq!(bounds(&join(Keep::All(1), None)), (Ok(57), Ok(57)));
    // The first may be kept already: the next one of the chain comes 100 after the delivery.
    assert_eq!(bounds(&join(Keep::First, None)), (Ok(10 + 41 + 100 + 41 + 6), Ok(57)));
    // All parts come within 110: less is too little. What is old is given up.
    assert_eq!(bounds(&join(Keep::Last, Some(111))), (Ok(57), Ok(57)));
    assert_eq!(bounds(&join(Keep::Last, Some(110))), (Err(Reason::GivesUp { port: 1 }), Ok(57)));
    assert_eq!(bounds(&join(Keep::Last, Some(30))), (Err(Reason::GivesUp { port: 1 }), Ok(10 + 30 + 6)));
}

#[test]
fn part_of_a_join_that_is_published_comes_late_at_the_beginning() {
    let mut build = join(Keep::Last, None);
    build.system.ports[2].interval = Some(30);
    // Its first instant is due within 40, and what it pushes waits for 30 more. Later, 40 are enough.
    assert_eq!(bounds(&build), (Ok(10 + 40 + 30 + 6), Ok(86)));
    // A value that was written was not the first of the timer: the next one comes 40 later.
    let (mut build, source, a, b) = two(40);
    build.system.ports[a].interval = Some(30);
    let register = build.register(b);
    let write = build.connect(a, register);
    build.timer(b, 100);
    build.chain(source, &[write]);
    assert_eq!(bounds(&build), (Ok(30 + 100 + 5), Ok(30 + 40 + 5)));
}

#[test]
fn join_that_refuses_its_parts() {
    let mut build = join(Keep::Last, None);
    let backlog = |build: &Build| build.analysis().ports[1].backlog;
    assert_eq!(backlog(&build), Ok(1));
    build.system.ports[1].policy = Full::Reject;
    build.system.ports[1].depth = 2;
    assert_eq!(backlog(&build), Ok(1));
    // While one delivery waits, an event for a part finds no room, though it makes no delivery.
    build.system.ports[1].depth = 1;
    assert_eq!(backlog(&build), Ok(2));
    assert_eq!(bounds(&build).0, Err(Reason::Backlog { port: 1 }));
}

#[test]
fn publication_at_the_end_of_an_interval() {
    let (mut build, source, a, b) = two(100);
    let queue = build.connect(a, Target::Queue(b));
    build.chain(source, &[queue]);
    build.system.ports[a].interval = Some(60);
    build.system.hosts[0].slack = 4;
    assert_eq!(build.responses(), [Ok(64), Ok(5)]);
    assert_eq!(bounds(&build), (Ok(69), Ok(69)));
    // A stall may begin as it is due, and the next one as soon as that ends: the response of 10 gets longer by both, too.
    build.system.hosts[0].stalls =
        vec![Stall { length: 9, distance: 1_000 }, Stall { length: 2, distance: 1_000 }];
    assert_eq!(build.responses()[a], Ok(64 + 11));
    // Publications vary by 15, and what the first one calls takes 75 and both stalls: the next one may come meanwhile.
    build.system.ports[b].steps = vec![Step::Run { least: 0, most: 75 }];
    assert_eq!(build.analysis().ports[b].backlog, Ok(2));
    build.system.hosts[0].stalls.clear();
    assert_eq!(build.analysis().ports[b].backlog, Ok(1));
    build.system.ports[b].steps = vec![Step::Run { least: 5, most: 5 }];
    build.system.ports[a].interval = Some(13);
    assert_eq!(bounds(&build).0, Err(Reason::Overrun { port: a }));
    build.system.ports[a].interval = Some(14);
    assert_eq!(bounds(&build).0, Ok(14 + 4 + 5));
    // A clock that is a tenth too slow or too fast: the interval ends later by that, or leaves less to the handler.
    build.system.hosts[0].drift = 100_000_000;
    build.system.ports[a].interval = Some(60);
    assert_eq!(build.responses()[a], Ok(60 + 6 + 4));
    build.system.ports[a].interval = Some(15);
    assert_eq!(bounds(&build).0, Err(Reason::Overrun { port: a }));
    build.system.ports[a].interval = Some(16);
    assert_eq!(bounds(&build).0, Ok(16 + 2 + 4 + 5));
}

#[test]
fn full_queues() {
    let (mut build, source, a, b) = two(100);
    let queue = build.connect(a, Target::Queue(b));
    build.chain(source, &[queue]);
    build.source(b, SourceKind::Periodic { period: 100, jitter: 100, gap: 0 });
    // Two of the stream and one of the chain.
    let analysis = build.analysis();
    assert_eq!((analysis.ports[b].backlog, analysis.ports[b].response), (Ok(3), Ok(15)));
    build.system.ports[b].depth = 3;
    assert_eq!(bounds(&build), (Ok(25), Ok(25)));
    build.system.ports[b].depth = 2;
    assert_eq!(bounds(&build), (Err(Reason::Backlog { port: b }), Ok(25)));
    // Another queue of the same push that refuses takes it from this one, too.
    build.system.ports[b].depth = 3;
    let lane = build.lane(1);
    let other = build.port(lane, 0, 300);
    build.system.connections.push(response::Connection {
        output: queue,
        target: Target::Queue(other),
        transfer: None,
    });
    assert_eq!(bounds(&build), (Ok(25), Ok(25)));
    build.system.ports[other].depth = 1;
    build.system.ports[other].policy = Full::Reject;
    assert!(matches!(bounds(&build).0, Err(Reason::Overload { .. } | Reason::Backlog { .. })));
}

#[test]
fn pushes_of_runs_that_follow_each_other() {
    let (mut build, _, a, b) = two(100);
    build.system.sources[0].kind = SourceKind::Periodic { period: 100, jitter: 300, gap: 0 };
    build.connect(a, Target::Queue(b));
    // Four at once, which run for 10 each: the port behind gets one each 10.
    assert_eq!(build.responses(), [Ok(40), Ok(5)]);
    // A second push, at the end of each run: it may be next to the first of the next run.
    build.system.ports[a].steps.rotate_right(1);
    build.system.ports[a].steps.push(Step::Push { output: 0, optional: true });
    assert_eq!(build.responses(), [Ok(40), Ok(20)]);
}

#[test]
fn skipped_instants_of_a_timer() {
    let mut build = Build::new(1);
    let (high, low) = (build.lane(20), build.lane(10));
    let (a, b) = (build.port(high, 0, 70), build.port(low, 0, 20));
    build.timer(a, 200);
    let source = build.timer(b, 80);
    build.chain(source, &[]);
    // 70 + 20 = 90 exceeds the period, and a second one waits meanwhile: 110 - 80.
    assert_eq!(build.response(b), Ok(90));
    // An instant that is skipped waits for the delivery before, and for the next instant: 90 + 80 - 80 more.
    assert_eq!(bounds(&build), (Ok(180), Ok(90)));
}

#[test]
fn interrupts_wait_for_the_end_of_a_stall() {
    let (mut build, source, a, b) = two(1_000);
    build.system.hosts[0].stalls.push(Stall { length: 50, distance: 5_000 });
    let queue = build.connect(a, Target::Queue(b));
    build.chain(source, &[queue]);
    assert_eq!(build.responses(), [Ok(60), Ok(55)]);
    let lane = build.lane(10);
    let c = build.port(lane, 0, 1);
    build.timer(c, 5_000);
    // With a second lane of the same priority.
    assert_eq!(build.responses()[0], Ok(61));
}

#[test]
fn verdicts_and_where_the_time_is() {
    let (mut build, source, a, b) = two(100);
    let queue = build.connect(a, Target::Queue(b));
    build.chain(source, &[queue]);
    build.system.chains[0].reaction = Some(15);
    assert_eq!(build.analysis().chains[0].verdict, Verdict::Admitted);
    let high = build.lane(50);
    let noise = build.port(high, 0, 33);
    build.timer(noise, 1_000);
    build.system.chains[0].age = Some(40);
    let chain = &build.analysis().chains[0];
    assert_eq!(chain.verdict, Verdict::Refused { reaction: 33, age: 8 });
    assert_eq!(
        (chain.largest()[0].port, chain.largest()[0].cause, chain.largest()[0].time),
        (a, Cause::Higher, 33)
    );
    assert!(!chain.conditional);
    build.system.ports[noise].measured = true;
    assert!(build.analysis().chains[0].conditional);
    build.system.ports[b].depth = 1;
    build.system.lanes[0].scheduling = Scheduling::Other;
    assert_eq!(build.analysis().chains[0].verdict, Verdict::NoBound(Reason::Host { port: a }));
    let few = analyse(&build.system, Limits { steps: 5, ..Limits::default() }).unwrap();
    assert_eq!(few.chains[0].verdict, Verdict::NoBound(Reason::Steps));
}

#[test]
fn a_join_can_deliver_what_it_kept_before() {
    let mut build = join(Keep::Last, None);
    assert_eq!(build.response(1), Ok(6));
    // Two of each at once: what was kept before of the rarer part goes with the first of the other one.
    build.system.sources[1].kind = SourceKind::Periodic { period: 40, jitter: 40, gap: 0 };
    assert_eq!(build.analysis().ports[1].backlog, Ok(2));
}

#[test]
fn events_that_others_displace_or_that_overtake_each_other() {
    // Another handler pushes to the same output.
    let mut build = join(Keep::Last, None);
    build.system.ports[2].steps.push(Step::Push { output: 0, optional: true });
    assert_eq!(bounds(&build).0, Err(Reason::Displaced { port: 1 }));
    // What is kept of all is not displaced.
    build.system.ports[1].join = Some(Join { parts: 2, keep: Keep::All(50), within: None });
    assert!(bounds(&build).0.is_ok());

    let (mut build, source, a, b) = two(100);
    let register = build.register(b);
    let write = build.connect(a, register);
    build.timer(b, 30);
    build.chain(source, &[write]);
    build.system.ports[a].parallel = true;
    assert_eq!(bounds(&build).0, Ok(45));
    build.system.lanes[0].threads.push(0);
    assert_eq!(bounds(&build).0, Err(Reason::Overtaken { port: b }));
}

#[test]
fn first_instant_of_a_timer_that_samples() {
    let (mut build, source, a, b) = two(100);
    let register = build.register(b);
    let write = build.connect(a, register);
    build.source(b, SourceKind::Timer { period: 30, jitter: 0, phase: Some(500) });
    build.chain(source, &[write]);
    // There are instants before the phase, too.
    assert_eq!(bounds(&build).0, Ok(10 + 30 + 5));
}

#[test]
fn interrupt_of_a_register_waits_for_the_end_of_a_stall() {
    let (mut build, source, a, _) = two(1_000);
    let far = build.host(1);
    build.system.hosts[far].stalls.push(Stall { length: 50, distance: 5_000 });
    let lane = build.lane_on(far, &[0], Scheduling::Fifo(1));
    let b = build.port(lane, 5, 5);
    let register = build.register(b);
    let write = build.connect(a, register);
    build.transfer(write, 20, 20);
    build.timer(b, 100);
    build.chain(source, &[write]);
    // The value comes 50 late, then an instant within 100, which also meets a stall.
    assert_eq!(bounds(&build).0, Ok(10 + 20 + 50 + 100 + 55));
}

#[test]
fn measured_figures_of_another_host() {
    let (mut build, source, a, _) = two(100);
    let far = build.host(1);
    let lane = build.lane_on(far, &[0], Scheduling::Fifo(1));
    let b = build.port(lane, 0, 5);
    let queue = build.connect(a, Target::Queue(b));
    build.transfer(queue, 1, 2);
    build.chain(source, &[queue]);
    build.host(1);
    assert!(!build.analysis().chains[0].conditional);
    build.system.hosts[2].measured = true;
    assert!(!build.analysis().chains[0].conditional, "nothing leads there");
    build.system.hosts[far].measured = true;
    let analysis = build.analysis();
    assert!(analysis.chains[0].conditional && analysis.ports[a].conditional);
}

#[test]
fn stall_lets_others_of_the_lane_enter_before() {
    let (mut build, _, a, _) = two(1_000);
    build.system.hosts[0].stalls.push(Stall { length: 50, distance: 5_000 });
    let other = build.port(0, 1, 1);
    build.source(other, SourceKind::Sporadic { separation: 45 });
    // Two of the other port come while the timer's interrupt waits.
    assert_eq!(build.responses()[a], Ok(50 + 10 + 2));
    // A thread that wakes after the stall may have been called for before the stall.
    let (mut build, _, a, _) = two(1_000);
    build.system.hosts[0].stalls.push(Stall { length: 50, distance: 5_000 });
    build.system.hosts[0].wake = 3;
    assert_eq!(build.responses()[a], Ok(50 + 3 + 10 + 50));
}

#[test]
fn reader_that_a_join_starts() {
    for (within, expected) in [(110, Err(Reason::GivesUp { port: 1 })), (111, Ok(1 + 110 + 6))] {
        let mut build = join(Keep::Last, Some(within));
        let lane = build.lane_on(0, &[1], Scheduling::Fifo(90));
        let writer = build.port(lane, 1, 1);
        let source = build.timer(writer, 100_000);
        let register = build.register(1);
        let write = build.connect(writer, register);
        build.chain(source, &[write]);
        let reaction = build.analysis().chains[1].reaction;
        assert_eq!(reaction.map(|time| time > 100), expected.map(|time: u64| time > 100), "{reaction:?}");
    }
}

/// With two threads on a core, a later run of a parallel port can be ahead of an earlier one.
#[test]
fn a_join_does_not_keep_what_was_overtaken() {
    let mut build = join(Keep::Last, None);
    build.system.ports[0].parallel = true;
    assert_eq!(bounds(&build).0, Ok(57));
    build.system.lanes[0].threads.push(0);
    assert_eq!(bounds(&build).0, Err(Reason::Overtaken { port: 1 }));
    // What is kept of all needs no order.
    build.system.ports[1].join = Some(Join { parts: 2, keep: Keep::All(50), within: None });
    assert!(bounds(&build).0.is_ok());
}

#[test]
fn a_join_that_keeps_several_refuses_what_is_more() {
    let mut build = join(Keep::All(3), None);
    build.system.sources[0].kind = SourceKind::Timer { period: 20, jitter: 0, phase: None };
    // In the 41 until the other part comes there are 3 of the chain: at 0, 20 and 40.
    assert_eq!(bounds(&build).0, Ok(10 + 41 + 6));
    // With room for 2 the third is refused. A later one is in the next delivery: 20 after this one, and 41 later.
    build.system.ports[1].join = Some(Join { parts: 2, keep: Keep::All(2), within: None });
    assert_eq!(bounds(&build).0, Ok(10 + 41 + 20 + 41 + 6));
}

#[test]
fn a_stall_brings_a_join_several_parts_at_once() {
    let mut build = join(Keep::All(2), None);
    build.system.hosts[0].stalls.push(Stall { length: 25, distance: 5_000 });
    // The other part comes within 40 and its run of 26. A stall moves the run before by 25, and the join by 25 more: 66 and 50 hold 2 of
    // the chain, which are 100 apart.
    let wait = 40 + 26;
    assert_eq!(bounds(&build).0, Ok(35 + wait + 31));
    build.system.ports[1].join = Some(Join { parts: 2, keep: Keep::All(1), within: None });
    assert_eq!(bounds(&build).0, Ok(35 + wait + (100 + 25) + wait + 31));
}

#[test]
fn the_timer_with_which_a_join_gives_up_is_late() {
    let mut build = join(Keep::Last, Some(30));
    build.system.hosts[0].slack = 4;
    assert_eq!(bounds(&build).1, Ok((4 + 10) + (30 + 4) + 6));
}

/// A part waits for the end of a stall, so the one that entered last need not have come last.
#[test]
fn a_stall_changes_the_order_of_parts() {
    let (mut build, _, a, b) = two(200);
    let other = build.port(0, 10, 10);
    build.timer(other, 200);
    let far = build.host(1);
    let lane = build.lane_on(far, &[0], Scheduling::Fifo(1));
    build.system.components[b].host = far;
    build.system.ports[b].lane = Some(lane);
    build.system.ports[b].join = Some(Join { parts: 2, keep: Keep::Last, within: None });
    for (part, from) in [a, other].into_iter().enumerate() {
        let connection = build.connect(from, Target::Part { port: b, part });
        build.transfer(connection, 7, 7);
    }
    assert_eq!(build.analysis().ports[b].backlog, Ok(1));
    build.system.hosts[far].stalls.push(Stall { length: 50, distance: 5_000 });
    // Parts of a port vary by 10 and are 200 apart. A delivery takes 55 with the stall, and parts count as near as two stalls bring them: 165.
    assert_eq!(build.analysis().ports[b].backlog, Ok(1));
    // With 120 for a delivery it is 230: a second one may be called for meanwhile.
    build.system.ports[b].steps = vec![Step::Run { least: 0, most: 70 }];
    assert_eq!(build.analysis().ports[b].backlog, Ok(2));
}

#[test]
fn the_first_event_of_one_of_several_ways_comes_later_than_the_next() {
    let (mut build, source, a, b) = two(100);
    let register = build.register(b);
    let write = build.connect(a, register);
    build.timer(b, 100);
    let lane = build.lane_on(0, &[1], Scheduling::Fifo(20));
    let other = build.port(lane, 1, 1);
    build.timer(other, 40);
    build.system.ports[other].interval = Some(30);
    build.system.ports[other].steps.push(Step::Push { output: write, optional: false });
    build.chain(source, &[write]);
    // What the chain has written stays until the other port publishes: its instant is due within 40, and it holds that back for 30.
    assert_eq!(bounds(&build).1, Ok(10 + (40 + 30) + 6));
}

#[test]
fn a_clock_that_runs_fast_publishes_early() {
    let (mut build, source, a, b) = two(40);
    build.system.ports[a].interval = Some(30);
    build.system.hosts[0].drift = 100_000_000;
    let register = build.register(b);
    let write = build.connect(a, register);
    build.timer(b, 100);
    build.chain(source, &[write]);
    // Written after 27 to 33, and again for an instant that is 36 to 44 later.
    assert_eq!(bounds(&build).1, Ok(33 + (44 + 33 - 27) + 5));

    // Publications for instants that are 90 apart come 12 nearer: the next one comes before what takes 85 ends, not before 77 do.
    let (mut build, _, a, b) = two(100);
    build.system.ports[a].interval = Some(60);
    build.system.hosts[0].drift = 100_000_000;
    build.connect(a, Target::Queue(b));
    for (most, backlog) in [(77, 1), (85, 2)] {
        build.system.ports[b].steps = vec![Step::Run { least: 0, most }];
        assert_eq!(build.analysis().ports[b].backlog, Ok(backlog));
    }
}
