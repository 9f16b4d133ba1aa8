//! Locks with priority inheritance: on one core, nested, between cores.
use response::{Reason, Scheduling, SourceKind, Stall, Step, Target, Throttling};

use super::Build;

fn run(most: u64) -> Step {
    Step::Run { least: 0, most }
}

/// A timer's port of a component.
fn port(build: &mut Build, component: usize, lane: usize, most: u64, period: u64) -> usize {
    let port = build.port_of(component, Some(lane), &[run(most)]);
    build.timer(port, period);
    port
}

#[test]
fn one_lower_section_for_each_thread() {
    let mut build = Build::new(1);
    let (first, second) = (build.component(0, true), build.component(0, true));
    let (high, middle, low, lowest) = (build.lane(40), build.lane(30), build.lane(20), build.lane(10));
    let a = port(&mut build, first, high, 1, 1_000);
    let b = port(&mut build, second, high, 2, 1_000);
    let between = build.port(middle, 0, 4);
    build.timer(between, 1_000);
    let c = port(&mut build, first, low, 8, 1_000);
    let d = port(&mut build, second, lowest, 16, 1_000);
    // Both lower sections delay the high lane, and what is between, though it locks nothing.
    assert_eq!(build.response(a), Ok(1 + 2 + 8 + 16));
    assert_eq!(build.response(b), Ok(27));
    assert_eq!(build.response(between), Ok(4 + 3 + 8 + 16));
    assert_eq!(build.response(c), Ok(8 + 4 + 3 + 16));
    assert_eq!(build.response(d), Ok(31));
}

#[test]
fn inheritance_through_a_chain_of_locks() {
    let mut build = Build::new(1);
    let (outer, inner) = (build.component(0, true), build.component(0, true));
    let (high, middle, low) = (build.lane(40), build.lane(30), build.lane(20));
    let a = port(&mut build, outer, high, 1, 1_000);
    let b = port(&mut build, outer, middle, 2, 1_000);
    let target = build.port_of(inner, None, &[run(4)]);
    build.connect(b, Target::Direct(target));
    let c = port(&mut build, inner, low, 8, 1_000);
    // The low lane holds what the middle one waits for while the high one waits for the middle one.
    assert_eq!(build.response(a), Ok(1 + (2 + 4) + 8));
    assert_eq!(build.response(b), Ok(2 + 4 + 1 + 8));
    assert_eq!(build.response(c), Ok(8 + 6 + 1));
    // The called port ends with the run that calls it.
    assert_eq!(build.response(target), Ok(15));
}

#[test]
fn holder_on_another_core() {
    let mut build = Build::new(2);
    let shared = build.component(0, true);
    let (near, far) = (build.lane(40), build.lane_on(0, &[1], Scheduling::Fifo(10)));
    let a = port(&mut build, shared, near, 1, 1_000);
    let b = port(&mut build, shared, far, 8, 1_000);
    assert_eq!(build.responses(), [Ok(1 + 8), Ok(8 + 1)]);
    // On the other core the holder runs with priority 40: a lane of 50 delays it, one of 30 does not.
    let above = build.lane_on(0, &[1], Scheduling::Fifo(50));
    let port_above = build.port(above, 0, 100);
    build.timer(port_above, 1_000);
    // The one above may have come before the section, and again in it.
    assert_eq!(build.response(a), Ok(1 + 8 + 100));
    build.system.lanes[above].scheduling = Scheduling::Fifo(30);
    assert_eq!(build.response(a), Ok(9));
    // What runs for the lock of a higher thread delays what is between.
    assert_eq!(build.response(port_above), Ok(100 + 8));
    assert!(build.response(b).unwrap() >= 8 + 1 + 100);
}

#[test]
fn wait_for_another_core_lets_lower_threads_lock() {
    let mut build = Build::new(2);
    let (shared, local) = (build.component(0, true), build.component(0, true));
    let (high, low, far) = (build.lane(40), build.lane(10), build.lane_on(0, &[1], Scheduling::Fifo(20)));
    let a = port(&mut build, local, high, 1, 1_000);
    let target = build.port_of(shared, None, &[run(2)]);
    let caller = build.component(0, false);
    let b = port(&mut build, caller, high, 0, 1_000);
    build.connect(b, Target::Direct(target));
    port(&mut build, local, low, 5, 1_000);
    port(&mut build, shared, far, 7, 1_000);
    // 2 and 1 of the lane, 7 until the other core has released, and the low lane at the beginning and after that wait.
    assert_eq!(build.response(a), Ok(2 + 1 + 7 + 5 + 5));
}

#[test]
fn waking_with_a_lock() {
    let mut build = Build::new(1);
    let shared = build.component(0, true);
    let (high, low) = (build.lane(40), build.lane(10));
    let a = port(&mut build, shared, high, 1, 1_000);
    port(&mut build, shared, low, 5, 1_000);
    build.system.hosts[0].wake = 3;
    // It wakes for the delivery, waits for the lower one, wakes again; another section may begin meanwhile.
    assert_eq!(build.response(a), Ok(3 + 1 + 3 + 5 + 5));
}

#[test]
fn normal_thread_holds_a_lock() {
    let mut build = Build::new(1);
    let shared = build.component(0, true);
    let (high, low) = (build.lane(40), build.lane_on(0, &[0], Scheduling::Other));
    let a = port(&mut build, shared, high, 1, 1_000);
    let b = port(&mut build, shared, low, 5, 1_000);
    assert_eq!(build.responses(), [Ok(6), Err(Reason::Host { port: b })]);
    let _ = a;
}

#[test]
fn threads_of_a_lane_that_wait_for_each_other() {
    let mut build = Build::new(1);
    let shared = build.component(0, true);
    let lane = build.lane_on(0, &[0, 0], Scheduling::Fifo(10));
    let a = port(&mut build, shared, lane, 4, 20);
    let b = port(&mut build, shared, lane, 3, 1_000);
    // A thread that waits lets the other one take what came later: all that comes until nothing is left, 0 to 7.
    assert_eq!(build.response(a), Ok(7));
    assert_eq!(build.response(b), Ok(7));
    // Another one at 9, before the end at 9.
    let other = build.port(lane, 0, 2);
    build.source(other, SourceKind::Sporadic { separation: 9 });
    assert_eq!(build.responses(), [Ok(11); 3]);
}

#[test]
fn normal_threads_lock_while_fifo_threads_are_throttled() {
    let mut build = Build::new(1);
    let shared = build.component(0, true);
    let (high, low) = (build.lane(40), build.lane_on(0, &[0], Scheduling::Other));
    let a = port(&mut build, shared, high, 1, 1_000);
    port(&mut build, shared, low, 5, 1_000);
    build.system.hosts[0].throttling = Some(Throttling { runtime: 60, period: 100 });
    // A window of throttling, before and after which the normal thread may hold the lock.
    assert_eq!(build.response(a), Ok(1 + 40 + 5 + 5));
}

#[test]
fn holder_meets_a_stall_that_began_before() {
    let mut build = Build::new(2);
    let far = build.lane_on(0, &[1], Scheduling::Fifo(10));
    let (near, shared) = (build.lane(40), build.component(0, true));
    let a = port(&mut build, shared, near, 1, 10_000);
    port(&mut build, shared, far, 8, 10_000);
    build.system.hosts[0].stalls.push(Stall { length: 20, distance: 30 });
    // 1 and 20 on its core; on the other one 8 and a stall that is under way, which leaves 10 before the next.
    let bound = build.response(a).unwrap();
    build.system.hosts[0].stalls[0].distance = 1_000;
    // 8 + 20; and 29 + 20 on its own core.
    assert_eq!(build.response(a), Ok(1 + (8 + 20) + 20));
    // 8 and three stalls of 20 are 68; 1, that, and seven stalls are 209.
    assert_eq!(bound, 209);
}

#[test]
fn higher_thread_that_wakes_with_a_lock_lets_lower_threads_lock() {
    let mut build = Build::new(1);
    let shared = build.component(0, true);
    let (high, middle, low) = (build.lane(40), build.lane(30), build.lane(10));
    port(&mut build, shared, high, 1, 1_000);
    let between = build.port(middle, 0, 4);
    build.timer(between, 1_000);
    port(&mut build, shared, low, 5, 1_000);
    build.system.hosts[0].wake = 3;
    // 3 until it wakes and 4; 1 and 3 of the high one; the low one at the beginning, and after that wake-up.
    assert_eq!(build.response(between), Ok(3 + 4 + (1 + 3) + 5 + 5));
}

#[test]
fn holder_of_another_core_that_has_to_wake() {
    let mut build = Build::new(2);
    build.system.hosts[0].wake = 3;
    let (high, low) = (build.lane(20), build.lane_on(0, &[1], Scheduling::Fifo(10)));
    let shared = build.component(0, true);
    let a = build.port_of(shared, Some(high), &[Step::Run { least: 10, most: 10 }]);
    let b = build.port_of(shared, Some(low), &[Step::Run { least: 20, most: 20 }]);
    build.timer(a, 1_000);
    build.timer(b, 1_000);
    // The high thread wakes. The low one was given the lock and wakes, too, before its 20. Then the high one wakes with the lock.
    assert_eq!(build.responses()[a], Ok(3 + (3 + 20) + 3 + 10));
}

#[test]
fn changes_of_threads_around_a_lock() {
    let mut build = Build::new(1);
    build.system.hosts[0].switch = 2;
    let (high, low) = (build.lane(20), build.lane(10));
    let shared = build.component(0, true);
    let a = port(&mut build, shared, high, 10, 1_000);
    port(&mut build, shared, low, 20, 1_000);
    // To the high thread, away from it to the holder, and back: 3 changes at least. Each run has two, and the lock six more.
    assert_eq!(build.response(a), Ok((10 + 2 * 2) + (20 + 2 * 2) + 6 * 2));
    // With a lock of its own there is none to wait for.
    let own = build.component(0, true);
    build.system.ports[a].component = own;
    assert_eq!(build.response(a), Ok(10 + 2 * 2));
}

#[test]
fn lock_that_what_came_before_the_wait_gets_first() {
    let mut build = Build::new(2);
    let shared = build.component(0, true);
    let (high, low) = (build.lane_on(0, &[1], Scheduling::Fifo(20)), build.lane(10));
    let a = port(&mut build, shared, high, 10, 30);
    let b = port(&mut build, shared, low, 10, 1_000);
    // The high one waits for the low handler that runs. What came up to its 20 before the wait may get the lock before, and the next.
    assert_eq!(build.response(a), Ok(10 + 10));
    assert_eq!(build.response(b), Ok(10 + 2 * 10));
}

#[test]
fn a_higher_lane_that_waited_for_another_core_runs_later_than_it_came() {
    let mut build = Build::new(2);
    let (high, low) = (build.lane(50), build.lane(10));
    let elsewhere = build.lane_on(0, &[1], Scheduling::Fifo(50));
    let component = build.component(0, true);
    let run = |time| [Step::Run { least: time, most: time }];
    let waits = build.port_of(component, Some(high), &run(3));
    let holds = build.port_of(component, Some(elsewhere), &run(10));
    let port = build.port(low, 9, 9);
    build.timer(waits, 20);
    build.timer(holds, 1_000);
    build.timer(port, 1_000);
    // The other core has held the component since just before 0, when the higher lane came. At 10 it gets it, and the lower one comes: that runs
    // from 13 to 20, and after the next run of the higher lane from 23 to 25.
    assert!(build.response(port).unwrap() >= 15);
}
