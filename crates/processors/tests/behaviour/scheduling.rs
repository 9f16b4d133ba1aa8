//! Processors: priorities, locks, budgets, windows, costs and stalls, each with a value from paper.
use processors::{Entry, System};
use processors::{Goal, LaneOrder, Scheduling, SourceKind, Stall, Step, SystemError, Target, Throttling};

use super::draft::{Draft, met, runs, worst};

/// A core with one lane and one port for each task, highest priority first; times and periods as given.
fn tasks(tasks: &[(u64, u64)]) -> (Draft, Vec<usize>) {
    let mut draft = Draft::new(1);
    let ports = tasks.iter().enumerate().map(|(index, (period, time))| {
        let lane = draft.fifo(0, 0, 90 - index as u8);
        let port = draft.alone(lane, vec![runs(*time)]);
        draft.timer(port, *period);
        port
    });
    let ports = ports.collect();
    (draft, ports)
}

#[test]
fn two_tasks() {
    let (draft, ports) = tasks(&[(10_000, 2_000), (50_000, 6_000)]);
    assert_eq!(draft.worst(Goal::Response(ports[0])), 2_000);
    assert_eq!(draft.worst(Goal::Response(ports[1])), 8_000);
}

/// Periods 7, 12, 20, times 3, 3, 5: the lowest one waits for three runs of the first and two of the second, 20 in all.
#[test]
fn three_tasks() {
    let (draft, ports) = tasks(&[(7_000, 3_000), (12_000, 3_000), (20_000, 5_000)]);
    let all: Vec<u64> = ports.iter().map(|port| draft.worst(Goal::Response(*port))).collect();
    assert_eq!(all, [3_000, 6_000, 20_000]);
}

/// Periods 70 and 100, times 26 and 62. From a common beginning the second one's runs end 114, 102, 116, 104, 118, 106 and 94 after they
/// are due: the worst is the fifth.
#[test]
fn the_worst_run_is_not_the_first_of_a_busy_period() {
    let (draft, ports) = tasks(&[(70_000, 26_000), (100_000, 62_000)]);
    assert_eq!(draft.worst(Goal::Response(ports[1])), 118_000);
}

/// A first task that may be 9 late comes twice within 1: at 0 and, due at 10, at 10. The second waits for 3 + 3.
#[test]
fn jitter_brings_runs_together() {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let first = draft.alone(high, vec![runs(3_000)]);
    draft.source(first, SourceKind::Timer { period: 10_000, jitter: 9_000, phase: None });
    let second = draft.alone(low, vec![runs(4_000)]);
    draft.timer(second, 100_000);
    // Late by 9 at 9, on time at 10, 20 ...: 3 and 3 and 4, and nothing more before 20.
    assert_eq!(draft.worst(Goal::Response(second)), 10_000);
    // Its own run is late by 9, and takes 3.
    assert_eq!(draft.worst(Goal::Response(first)), 12_000);
}

/// Threads of equal priority do not preempt each other, and each waits for one run of the other.
#[test]
fn equal_priorities() {
    let mut draft = Draft::new(1);
    let lanes = [draft.fifo(0, 0, 20), draft.fifo(0, 0, 20)];
    let ports = lanes.map(|lane| draft.alone(lane, vec![runs(3_000)]));
    draft.timer(ports[0], 10_000);
    draft.timer(ports[1], 20_000);
    assert_eq!(ports.map(|port| draft.worst(Goal::Response(port))), [6_000, 6_000]);
}

/// The longest other handler of a component blocks a higher one once.
#[test]
fn a_serialised_component_blocks() {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let component = draft.component(0);
    let control = draft.port(component, high, vec![runs(2_000)]);
    let log = draft.port(component, low, vec![runs(6_000)]);
    draft.timer(control, 10_000);
    draft.timer(log, 50_000);
    assert_eq!(draft.worst(Goal::Response(control)), 8_000);
    assert_eq!(draft.worst(Goal::Response(log)), 8_000);
    draft.parts.components[component].serialised = false;
    assert_eq!(draft.worst(Goal::Response(control)), 2_000);
}

/// Low holds A. Mid holds B, and calls A. High needs B: it waits for 1 of mid, 5 of low, 3 of mid, and takes 3. A thread between them
/// with 100 to do waits for all of that.
#[test]
fn priority_is_inherited_through_two_locks() {
    let mut draft = Draft::new(1);
    let (low, mid) = (draft.fifo(0, 0, 10), draft.fifo(0, 0, 20));
    let (other, high) = (draft.fifo(0, 0, 30), draft.fifo(0, 0, 40));
    let (a, b) = (draft.component(0), draft.component(0));
    let low_port = draft.port(a, low, vec![runs(5_000)]);
    let called = draft.called(a, vec![runs(2_000)]);
    let mid_port = draft.port(b, mid, vec![runs(1_000)]);
    draft.push(mid_port, Target::Direct(called));
    draft.parts.ports[mid_port].steps.push(runs(1_000));
    let high_port = draft.port(b, high, vec![runs(3_000)]);
    let other_port = draft.alone(other, vec![runs(100_000)]);
    for port in [low_port, mid_port, high_port, other_port] {
        draft.source(port, SourceKind::Sporadic { separation: 500_000 });
    }
    assert_eq!(draft.worst(Goal::Response(high_port)), 12_000);
    // The thread between waits for what inherits, and for the high one: 1 + 5 + 3 + 3, then 100.
    assert_eq!(draft.worst(Goal::Response(other_port)), 112_000);
}

/// The lowest thread holds a lock, and the next one waits for it, when two deliveries come for the highest at once. The first of them is
/// blocked by the lowest. After it the lock goes to the waiting thread, and the second is blocked, too.
#[test]
fn a_lock_is_handed_over() {
    let mut draft = Draft::new(1);
    let lanes = [10, 20, 30].map(|priority| draft.fifo(0, 0, priority));
    let component = draft.component(0);
    let times = [5_000, 4_000, 1_000];
    let ports = [0, 1, 2].map(|index| draft.port(component, lanes[index], vec![runs(times[index])]));
    draft.source(ports[0], SourceKind::Sporadic { separation: 100_000 });
    draft.source(ports[1], SourceKind::Sporadic { separation: 100_000 });
    draft.source(ports[2], SourceKind::Periodic { period: 100_000, jitter: 100_000, gap: 0 });
    assert_eq!(draft.worst(Goal::Response(ports[2])), 5_000 + 1_000 + 4_000 + 1_000);
}

/// The holder of a lock on another core runs with the priority of the waiting thread, behind what is higher there.
#[test]
fn a_lock_across_cores() {
    let mut draft = Draft::new(2);
    let (here, there) = (draft.fifo(0, 0, 20), draft.fifo(0, 1, 10));
    let (between, above) = (draft.fifo(0, 1, 15), draft.fifo(0, 1, 30));
    let component = draft.component(0);
    let waits = draft.port(component, here, vec![runs(1_000)]);
    let holds = draft.port(component, there, vec![runs(4_000)]);
    let (between, above) = (draft.alone(between, vec![runs(50_000)]), draft.alone(above, vec![runs(7_000)]));
    for port in [waits, holds, between, above] {
        draft.source(port, SourceKind::Sporadic { separation: 300_000 });
    }
    assert_eq!(draft.worst(Goal::Response(waits)), 7_000 + 4_000 + 1_000);
}

/// A thread of the class other that holds a lock inherits, too.
#[test]
fn a_normal_thread_that_holds_a_lock() {
    let mut draft = Draft::new(1);
    let (high, mid) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let other = draft.lane(0, 0, Scheduling::Other);
    let component = draft.component(0);
    let waits = draft.port(component, high, vec![runs(1_000)]);
    let holds = draft.port(component, other, vec![runs(4_000)]);
    let between = draft.alone(mid, vec![runs(50_000)]);
    for port in [waits, holds, between] {
        draft.source(port, SourceKind::Sporadic { separation: 300_000 });
    }
    assert_eq!(draft.worst(Goal::Response(waits)), 5_000);
}

/// Wake-up is before the run and uses no processor; a thread that is awake needs none.
#[test]
fn waking_takes_time() {
    let mut draft = Draft::new(1);
    draft.parts.hosts[0].wake = 300;
    let lane = draft.fifo(0, 0, 20);
    let first = draft.alone(lane, vec![runs(1_000)]);
    let second = draft.alone(lane, vec![runs(2_000)]);
    draft.timer(first, 10_000);
    assert_eq!(draft.worst(Goal::Response(first)), 1_300);
    draft.timer(second, 10_000);
    assert_eq!(draft.worst(Goal::Response(first)), 3_300);
}

/// While a high thread wakes, a low one runs and takes a lock: the wake-up lets one more handler block.
#[test]
fn a_late_wake_up_lets_others_begin() {
    let mut draft = Draft::new(1);
    draft.parts.hosts[0].wake = 300;
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let component = draft.component(0);
    let control = draft.port(component, high, vec![runs(2_000)]);
    let log = draft.port(component, low, vec![runs(6_000)]);
    draft.timer(control, 10_000);
    draft.source(log, SourceKind::Sporadic { separation: 50_000 });
    // The low one locks when the wake-up ends: 300 + 6,000. The lock wakes a thread that waits: 300 more.
    assert_eq!(draft.worst(Goal::Response(control)), 300 + 6_000 + 300 + 2_000);
}

/// Low begins, high preempts, low goes on: three switches in the response of the low one.
#[test]
fn switches_cost_each_time() {
    let (mut draft, ports) = tasks(&[(100_000, 2_000), (100_000, 6_000)]);
    draft.parts.hosts[0].switch = 10;
    draft.parts.hosts[0].dispatch = 200;
    assert_eq!(draft.worst(Goal::Response(ports[0])), 2_210);
    assert_eq!(draft.worst(Goal::Response(ports[1])), 6_000 + 2_000 + 2 * 200 + 3 * 10);
}

/// 950 of each 1,000, and 50 without any fifo thread.
#[test]
fn windows_of_throttling() {
    for (time, expected) in [(950, 950), (951, 1_001), (1_900, 1_950), (1_901, 2_001)] {
        let (mut draft, ports) = tasks(&[(10_000, time)]);
        draft.parts.hosts[0].throttling = Some(Throttling { runtime: 950, period: 1_000 });
        assert_eq!(draft.worst(Goal::Response(ports[0])), expected, "{time}");
    }
}

/// The time of a deadline thread may count as that of fifo threads, but throttling does not stop it.
#[test]
fn throttling_and_deadline_threads() {
    let mut draft = Draft::new(1);
    draft.parts.hosts[0].throttling = Some(Throttling { runtime: 950, period: 1_000 });
    let deadline = draft.lane(0, 0, Scheduling::Deadline { runtime: 500, deadline: 5_000, period: 5_000 });
    let fifo = draft.fifo(0, 0, 50);
    let first = draft.alone(deadline, vec![runs(500)]);
    let second = draft.alone(fifo, vec![runs(451)]);
    draft.source(first, SourceKind::Sporadic { separation: 50_000 });
    draft.source(second, SourceKind::Sporadic { separation: 50_000 });
    assert_eq!(draft.worst(Goal::Response(first)), 500);
    // 500 of the other, 450 of its own, 50 of nothing, the last one.
    assert_eq!(draft.worst(Goal::Response(second)), 1_001);
}

/// A budget of 2 in each 10 for 5 of work: 2, then 2 from 10 on, then 1 from 20 on.
#[test]
fn a_budget_is_spread() {
    let mut draft = Draft::new(1);
    let lane = draft.lane(0, 0, Scheduling::Deadline { runtime: 2_000, deadline: 10_000, period: 10_000 });
    let port = draft.alone(lane, vec![runs(5_000)]);
    draft.timer(port, 100_000);
    assert_eq!(draft.worst(Goal::Response(port)), 21_000);
    // With a deadline of 4 the budget comes at the same instants.
    draft.parts.lanes[lane].scheduling =
        Scheduling::Deadline { runtime: 2_000, deadline: 4_000, period: 10_000 };
    assert_eq!(draft.worst(Goal::Response(port)), 21_000);
}

/// A thread that wants more than its budget does not take the time of another one: half of the core is left, and is enough.
#[test]
fn budgets_isolate() {
    let mut draft = Draft::new(1);
    let greedy = draft.lane(0, 0, Scheduling::Deadline { runtime: 2_000, deadline: 4_000, period: 4_000 });
    let modest = draft.lane(0, 0, Scheduling::Deadline { runtime: 5_000, deadline: 10_000, period: 10_000 });
    let greedy = draft.alone(greedy, vec![runs(30_000)]);
    let modest = draft.alone(modest, vec![runs(5_000)]);
    draft.timer(greedy, 40_000);
    draft.timer(modest, 10_000);
    // Its deadline is 10 behind, and is met; 9 is reached with the greedy one's deadlines before it at 4 and 8.
    let worst = draft.worst(Goal::Response(modest));
    assert!((9_000..=10_000).contains(&worst), "{worst}");
}

/// A thread that sleeps and wakes early goes on with its old deadline only as long as its budget is in proportion.
#[test]
fn waking_does_not_give_more_than_the_share() {
    let mut draft = Draft::new(1);
    let lane = draft.lane(0, 0, Scheduling::Deadline { runtime: 4_000, deadline: 8_000, period: 8_000 });
    let fifo = draft.fifo(0, 0, 50);
    let often = draft.alone(lane, vec![runs(1_000)]);
    let below = draft.alone(fifo, vec![runs(1_000)]);
    draft.source(often, SourceKind::Sporadic { separation: 2_000 });
    draft.source(below, SourceKind::Sporadic { separation: 50_000 });
    assert_eq!(draft.worst(Goal::Response(often)), 1_000);
    assert_eq!(draft.worst(Goal::Response(below)), 2_000);
}

/// A thread with 3 of 4 of its budget left wakes 1 before its deadline. It gets a new deadline, behind that of the other thread, which
/// ends first.
#[test]
fn a_wake_up_shortly_before_the_deadline() {
    let mut draft = Draft::new(1);
    let one = draft.lane(0, 0, Scheduling::Deadline { runtime: 4_000, deadline: 8_000, period: 8_000 });
    let other = draft.lane(0, 0, Scheduling::Deadline { runtime: 6_000, deadline: 13_000, period: 13_000 });
    let ports =
        [(one, 1_000), (other, 6_000), (one, 3_000)].map(|(lane, time)| draft.alone(lane, vec![runs(time)]));
    for port in ports {
        draft.source(port, SourceKind::Sporadic { separation: 2_000_000 });
    }
    // Deadlines: 58, and 65 from 57 on; the other one's is 64.5.
    let instants = [50_000, 51_500, 57_000];
    assert_eq!(met(&draft.system(), Goal::Response(ports[1]), &instants, &[0]), 6_000);
    assert_eq!(met(&draft.system(), Goal::Response(ports[2]), &instants, &[0]), 500 + 3_000);
    // With a deadline of 4 in each 10, what is left is cut to the share of 500, and the rest comes with the next period.
    draft.parts.lanes[one].scheduling =
        Scheduling::Deadline { runtime: 2_000, deadline: 4_000, period: 10_000 };
    draft.parts.ports[ports[2]].steps = vec![runs(1_000)];
    let instants = [50_000, 90_000, 53_500];
    assert_eq!(met(&draft.system(), Goal::Response(ports[2]), &instants, &[0]), 6_500 + 750);
    // Between deadline and next period it waits for that.
    let instants = [50_000, 90_000, 55_000];
    assert_eq!(met(&draft.system(), Goal::Response(ports[2]), &instants, &[0]), 5_000 + 1_000);
}

/// Two kinds of stall come together; one that counts against the budget makes the thread wait for the next one.
#[test]
fn stalls() {
    let (mut draft, ports) = tasks(&[(100_000, 5_000)]);
    draft.parts.hosts[0].stalls =
        vec![Stall { length: 700, distance: 50_000 }, Stall { length: 40, distance: 20_000 }];
    assert_eq!(draft.worst(Goal::Response(ports[0])), 5_740);
    // So short a distance that a second one comes before the end.
    draft.parts.hosts[0].stalls = vec![Stall { length: 700, distance: 3_000 }];
    assert_eq!(draft.worst(Goal::Response(ports[0])), 5_000 + 3 * 700);
    draft.parts.hosts[0].stalls = vec![Stall { length: 700, distance: 50_000 }];
    draft.parts.lanes[0].scheduling =
        Scheduling::Deadline { runtime: 5_000, deadline: 20_000, period: 20_000 };
    // 700 and 4,300 of budget; the other 700 come from 20,000 on.
    assert_eq!(draft.worst(Goal::Response(ports[0])), 20_700);
}

/// A lane hands out deliveries in the order in which they came, by earliest deadline if it says so.
#[test]
fn order_of_a_lane() {
    let mut draft = Draft::new(1);
    let lane = draft.fifo(0, 0, 20);
    let ports = [1_000, 4_000, 9_000].map(|time| draft.alone(lane, vec![runs(time)]));
    for port in ports {
        draft.source(port, SourceKind::Sporadic { separation: 100_000 });
    }
    assert_eq!(ports.map(|port| draft.worst(Goal::Response(port))), [14_000; 3]);
    draft.parts.lanes[lane].order = LaneOrder::EarliestDeadline;
    for (port, own) in ports.into_iter().zip([2_000, 5_000, 60_000]) {
        if let Entry::Queued { deadline, .. } = &mut draft.parts.ports[port].entry {
            *deadline = own;
        }
    }
    // The last has begun; 3 before the first comes, the second does, and is due at the same instant. The second waits for the last and the
    // first: 9 + 1 + 4.
    let system = draft.system();
    let first = 9_000 - 3_000 + 4_000 + 1_000;
    assert_eq!(met(&system, Goal::Response(ports[0]), &[53_000, 50_000, 50_000], &[0]), first);
    assert!(worst(&system, Goal::Response(ports[0])) <= first);
    assert_eq!(met(&system, Goal::Response(ports[1]), &[50_000; 3], &[0]), 14_000);
    assert_eq!(worst(&system, Goal::Response(ports[1])), 14_000);
    assert_eq!(worst(&system, Goal::Response(ports[2])), 14_000);
}

/// Two threads on two cores serve one lane; a serialised component is served by one of them at a time.
#[test]
fn a_pool() {
    let mut draft = Draft::new(2);
    let lane = draft.fifo(0, 0, 20);
    draft.parts.lanes[lane].threads = vec![0, 1];
    let ports = [3_000, 3_000].map(|time| draft.alone(lane, vec![runs(time)]));
    for port in ports {
        draft.source(port, SourceKind::Sporadic { separation: 100_000 });
    }
    assert_eq!(draft.worst(Goal::Response(ports[0])), 3_000);
    for (serialised, expected) in [(true, 6_000), (false, 3_000)] {
        let component = draft.parts.ports[ports[0]].component;
        draft.parts.components[component].serialised = serialised;
        draft.parts.sources[1].port = ports[0];
        assert_eq!(draft.worst(Goal::Response(ports[0])), expected);
    }
}

/// A thread that is woken by a push at once runs before the thread that pushes goes on.
#[test]
fn a_push_to_a_higher_lane() {
    let mut draft = Draft::new(1);
    let (high, low) = (draft.fifo(0, 0, 20), draft.fifo(0, 0, 10));
    let component = draft.component(0);
    let first = draft.port(component, low, vec![runs(1_000)]);
    let above = draft.alone(high, vec![runs(500)]);
    draft.push(first, Target::Queue(above));
    draft.parts.ports[first].steps.push(Step::Run { least: 10, most: 4_000 });
    draft.timer(first, 20_000);
    assert_eq!(draft.worst(Goal::Response(above)), 500);
    assert_eq!(draft.worst(Goal::Response(first)), 5_500);
}

/// A lock that a deadline thread shares is refused, as are circles.
#[test]
fn what_the_model_has_not_is_refused() {
    let mut draft = Draft::new(1);
    let deadline = draft.lane(0, 0, Scheduling::Deadline { runtime: 500, deadline: 5_000, period: 5_000 });
    let fifo = draft.fifo(0, 0, 50);
    let component = draft.component(0);
    let first = draft.port(component, deadline, vec![runs(1)]);
    let second = draft.port(component, fifo, vec![runs(1)]);
    assert_eq!(System::new(draft.parts.clone()), Err(SystemError::Lock(component)));
    draft.parts.components[component].serialised = false;
    assert!(System::new(draft.parts.clone()).is_ok());
    draft.push(first, Target::Queue(second));
    assert!(System::new(draft.parts.clone()).is_ok());
    draft.push(second, Target::Queue(first));
    assert_eq!(System::new(draft.parts.clone()), Err(SystemError::Circle(first)));
}
