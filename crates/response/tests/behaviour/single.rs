//! One core without locks: priorities, order within a lane, costs, stalls, throttling, deadline threads.
use response::{Order, Reason, Scheduling, SourceKind, Stall, Throttling};

use super::Build;

/// Ports of lanes of their own, from the highest priority, by execution time and period.
fn lanes(tasks: &[(u64, u64)]) -> Build {
    let mut build = Build::new(1);
    for (index, (time, period)) in tasks.iter().enumerate() {
        let lane = build.lane(90 - u8::try_from(index).unwrap());
        let port = build.port(lane, *time, *time);
        build.timer(port, *period);
    }
    build
}

#[test]
fn example_of_the_model() {
    let mut build = Build::new(1);
    let (a, b) = (build.lane(20), build.lane(10));
    let (control, log) = (build.port(a, 0, 2_000_000), build.port(b, 0, 6_000_000));
    build.timer(control, 10_000_000);
    build.timer(log, 50_000_000);
    assert_eq!(build.responses(), [Ok(2_000_000), Ok(8_000_000)]);

    let component = build.component(0, true);
    build.system.ports[control].component = component;
    build.system.ports[log].component = component;
    assert_eq!(build.responses(), [Ok(8_000_000), Ok(8_000_000)]);
}

#[test]
fn preemptive_fixed_priorities() {
    // 3; 3 + 3 = 6; 5 + 2 * 3 + 2 * 3 = 17, with arrivals at 0, 7, 14 and 0, 12: 5 + 9 + 6 = 20.
    assert_eq!(lanes(&[(3, 7), (3, 12), (5, 20)]).responses(), [Ok(3), Ok(6), Ok(20)]);
    // An instant that coincides with the end may come before it: 2 + 2 = 4 at which another 2 begins.
    assert_eq!(lanes(&[(2, 4), (2, 40)]).responses(), [Ok(2), Ok(6)]);
}

#[test]
fn second_instant_of_a_busy_period_is_the_worst() {
    // Lehoczky's example: 26 of 70 and 62 of 100. The window is 26 * k + 62 * j; the first ends at 114, the second at 202 - 100 = 102,
    // the third at 316 - 200 = 116, the fourth at 404 - 300 = 104, the fifth at 518 - 400 = 118, the sixth at 606 - 500 = 106,
    // the seventh at 694 - 600 = 94.
    assert_eq!(lanes(&[(26, 70), (62, 100)]).responses(), [Ok(26), Ok(118)]);
}

#[test]
fn jitter_and_gap_of_streams() {
    let mut build = lanes(&[(2, 1), (5, 100)]);
    // Two at once, then one each 10: 2 + 2 + 5 = 9 < 10 - 3.
    build.system.sources[0].kind = SourceKind::Periodic { period: 10, jitter: 10, gap: 0 };
    assert_eq!(build.responses(), [Ok(4), Ok(9)]);
    // Arrivals at 0 and 3: the first has ended at 2.
    build.system.sources[0].kind = SourceKind::Periodic { period: 10, jitter: 10, gap: 3 };
    assert_eq!(build.responses(), [Ok(2), Ok(9)]);
    build.system.sources[0].kind = SourceKind::Sporadic { separation: 9 };
    assert_eq!(build.responses(), [Ok(2), Ok(7)]);
}

#[test]
fn one_lane_in_order_of_entry() {
    let mut build = Build::new(1);
    let lane = build.lane(10);
    for (time, period) in [(2, 20), (3, 20), (4, 50)] {
        let port = build.port(lane, 0, time);
        build.timer(port, period);
    }
    assert_eq!(build.responses(), [Ok(9), Ok(9), Ok(9)]);
    // Two come when 9 have not passed: 2 * 2 at 0 and 8.
    build.system.sources[0].kind = SourceKind::Periodic { period: 20, jitter: 0, gap: 8 };
    assert_eq!(build.responses()[2], Ok(9));
}

#[test]
fn one_lane_with_the_earliest_deadline_first() {
    let mut build = Build::new(1);
    let lane = build.lane(10);
    build.system.lanes[lane].order = Order::EarliestDeadline;
    for (time, deadline) in [(2, 10), (5, 40)] {
        let port = build.port(lane, 0, time);
        build.timer(port, 100);
        build.system.ports[port].deadline = Some(deadline);
    }
    // The one with the later deadline may just have begun; the other one comes 30 before the end of its deadline or earlier.
    assert_eq!(build.responses(), [Ok(7), Ok(7)]);
    let lane = build.lane(5);
    let third = build.port(lane, 0, 1);
    build.timer(third, 100);
    assert_eq!(build.response(third), Ok(8));
}

#[test]
fn equal_priorities_count_as_higher() {
    let mut build = lanes(&[(3, 50), (4, 50)]);
    build.system.lanes[1].scheduling = Scheduling::Fifo(90);
    assert_eq!(build.responses(), [Ok(7), Ok(7)]);
}

#[test]
fn costs_of_dispatch_switch_and_wake() {
    let mut build = lanes(&[(10, 1_000), (20, 1_000)]);
    build.system.hosts[0].dispatch = 3;
    assert_eq!(build.responses(), [Ok(13), Ok(36)]);
    // To the thread and back for each delivery.
    build.system.hosts[0].switch = 2;
    assert_eq!(build.responses(), [Ok(17), Ok(44)]);
    build.system.hosts[0].wake = 5;
    assert_eq!(build.responses(), [Ok(22), Ok(49)]);
    // A delivery that came before the window, and whose thread wakes in it.
    build.system.sources[0].kind = SourceKind::Sporadic { separation: 46 };
    assert_eq!(build.responses(), [Ok(22), Ok(49 + 17)]);
}

/// A lane of two threads on one core: each of three times that the port becomes available, the other one may wake for nothing.
#[test]
fn threads_of_a_lane_that_wake_for_nothing_cost_changes() {
    let mut build = Build::new(1);
    let several = build.lane_on(0, &[0, 0], Scheduling::Fifo(90));
    let below = build.lane(80);
    for (lane, time) in [(several, 10), (below, 20)] {
        let port = build.port(lane, time, time);
        build.timer(port, 1_000);
    }
    assert_eq!(build.responses(), [Ok(10), Ok(30)]);
    build.system.hosts[0].switch = 2;
    assert_eq!(build.responses(), [Ok(10 + 6 * 2), Ok(20 + 2 * 2 + 10 + 6 * 2)]);
}

#[test]
fn lateness_and_drift_of_timers() {
    let mut build = lanes(&[(10, 100), (20, 1_000)]);
    build.system.hosts[0].slack = 7;
    assert_eq!(build.responses(), [Ok(17), Ok(37)]);
    build.system.sources[0].kind = SourceKind::Timer { period: 100, jitter: 5, phase: None };
    assert_eq!(build.responses(), [Ok(22), Ok(37)]);
    // 100 less 70, and 12 late: at 0, 18 and 48.
    build.system.hosts[0].drift = 700_000_000;
    assert_eq!(build.responses()[1], Ok(7 + 20 + 2 * 10));
}

#[test]
fn stalls() {
    let mut build = lanes(&[(10, 1_000), (20, 1_000)]);
    build.system.hosts[0].stalls.push(Stall { length: 4, distance: 25 });
    // 10 + 4; 30 + 4 * 2 = 38.
    assert_eq!(build.responses(), [Ok(14), Ok(38)]);
    build.system.hosts[0].stalls.push(Stall { length: 6, distance: 500 });
    assert_eq!(build.responses(), [Ok(20), Ok(44)]);
    build.system.hosts[0].stalls.push(Stall { length: 30, distance: 40 });
    build.system.hosts[0].stalls.push(Stall { length: 10, distance: 40 });
    assert_eq!(build.responses(), [Err(Reason::Stalls { host: 0 }); 2]);
}

#[test]
fn throttling_where_there_is_too_much() {
    let mut build = lanes(&[(10, 100), (200, 1_000)]);
    build.system.hosts[0].throttling = Some(Throttling { runtime: 400, period: 1_000 });
    // A window of 1,000 has 12 * 10 and 3 * 200 at most: the second may begin before, and end in it.
    let throttled = build.responses();
    assert_eq!(throttled, [Ok(610), Ok(600 + 200 + 9 * 10)]);
    build.system.hosts[0].throttling = Some(Throttling { runtime: 950, period: 1_000 });
    assert_eq!(build.responses(), [Ok(10), Ok(230)]);
    // Deadline threads are not throttled, but may count.
    let server = build.lane_on(0, &[0], Scheduling::Deadline { runtime: 100, deadline: 500, period: 500 });
    let port = build.port(server, 0, 90);
    build.timer(port, 2_000);
    build.system.hosts[0].throttling = Some(Throttling { runtime: 400, period: 1_000 });
    assert_eq!(build.response(port), Ok(90 + 400));
}

#[test]
fn deadline_server_and_what_is_below() {
    let mut build = Build::new(1);
    let server = build.lane_on(0, &[0], Scheduling::Deadline { runtime: 10, deadline: 40, period: 50 });
    let port = build.port(server, 0, 25);
    build.timer(port, 1_000);
    // Three budgets, of which the first may be used up, and rounding.
    assert_eq!(build.response(port), Ok(25 + 3 * 40 + 1));
    // Two changes of a delivery, and one of 10 each time: 29 of 8 at a time.
    build.system.hosts[0].switch = 2;
    assert_eq!(build.response(port), Ok(29 + 4 * 42 + 1));
    build.system.hosts[0].switch = 10;
    assert_eq!(build.response(port), Err(Reason::Overload { lane: server }));
    build.system.hosts[0].switch = 0;
    let lane = build.lane(50);
    let below = build.port(lane, 0, 30);
    build.timer(below, 1_000);
    // Twice 10 and a fifth of the window: w = 50 + w / 5 would be 63; more than 25 it has not to do.
    assert_eq!(build.response(below), Ok(55));
    build.system.ports[port].steps = vec![response::Step::Run { least: 0, most: 80 }];
    assert_eq!(build.response(below), Ok(63));
}

#[test]
fn more_work_than_time() {
    let build = lanes(&[(5, 10), (6, 10)]);
    assert_eq!(build.responses(), [Ok(5), Err(Reason::Overload { lane: 1 })]);
    let build = lanes(&[(5, 10), (5, 10), (1, 1_000)]);
    assert_eq!(
        build.responses()[1..],
        [Err(Reason::Overload { lane: 1 }), Err(Reason::Overload { lane: 2 })]
    );
}

#[test]
fn normal_threads_have_no_bound_and_delay_no_other_thread() {
    let mut build = lanes(&[(5, 10), (2, 100)]);
    build.system.lanes[0].scheduling = Scheduling::Other;
    assert_eq!(build.responses(), [Err(Reason::Host { port: 0 }), Ok(2)]);
}

#[test]
fn several_threads_on_several_cores() {
    let mut build = Build::new(2);
    let lane = build.lane_on(0, &[0, 1], Scheduling::Fifo(10));
    let (first, second) = (build.port(lane, 0, 10), build.port(lane, 0, 20));
    build.timer(first, 1_000);
    build.timer(second, 1_000);
    for (core, time) in [(0, 7), (1, 9)] {
        let higher = build.lane_on(0, &[core], Scheduling::Fifo(20));
        let port = build.port(higher, 0, time);
        build.timer(port, 1_000);
    }
    // Any thread may take all, and each may wait for what its core has above.
    assert_eq!(build.responses(), [Ok(46), Ok(46), Ok(7), Ok(9)]);
}

#[test]
fn throttling_hits_each_of_its_windows() {
    let mut build = Build::new(1);
    build.system.hosts[0].throttling = Some(Throttling { runtime: 5, period: 10 });
    let lane = build.lane(10);
    let port = build.port(lane, 12, 12);
    build.timer(port, 1_000);
    // A window of throttling begins with it: it runs from 0 to 5, from 10 to 15, and from 20 to 22.
    assert!(build.response(port).unwrap() >= 22);
}

#[test]
fn time_of_deadline_threads_may_be_that_of_fifo_threads() {
    let mut build = Build::new(1);
    build.system.hosts[0].throttling = Some(Throttling { runtime: 10, period: 20 });
    let (fifo, server) =
        (build.lane(10), Scheduling::Deadline { runtime: 8, deadline: 1_000, period: 1_000 });
    let deadline = build.lane_on(0, &[0], server);
    let (port, other) = (build.port(fifo, 6, 6), build.port(deadline, 8, 8));
    build.timer(port, 1_000);
    build.timer(other, 1_000);
    // All come as a window of throttling begins: 8 of the deadline thread, 2 of the fifo thread, nothing until 20, and then the other 4.
    assert!(build.response(port).unwrap() >= 24);
}

#[test]
fn stalls_use_budgets_up() {
    let mut build = Build::new(1);
    let lane = build.lane_on(0, &[0], Scheduling::Deadline { runtime: 10, deadline: 100, period: 100 });
    let port = build.port(lane, 5, 5);
    build.timer(port, 60);
    assert!(build.response(port).is_ok());
    // Each run is hit by a stall, during which the budget falls: 10 are used up in each 60, and there are 10 in each 100.
    build.system.hosts[0].stalls = vec![Stall { length: 5, distance: 60 }];
    assert_eq!(build.response(port), Err(Reason::Overload { lane }));
}
