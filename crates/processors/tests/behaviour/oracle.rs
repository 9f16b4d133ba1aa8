//! Where models meet, an analysis that others wrote and proved says what the worst response is: it is never exceeded, and where no choice
//! but phases is left it is reached.
use frames::Random;
use processors::{Claims, Description, Effort, Entry, Goal, LaneOrder, Search, SourceKind, System};
use response_time_analysis::arrival::Sporadic;
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::{demand, edf, fifo, fixed_priority, wcet};

use super::draft::{Draft, runs};

/// Searches of analyses end here.
const LIMIT: u64 = 3_000_000;

#[derive(Clone, Copy, Debug)]
struct Task {
    period: u64,
    jitter: u64,
    time: u64,
    deadline: u64,
}

impl Task {
    fn arrivals(&self) -> Sporadic {
        Sporadic::new(Duration::from(self.period), Duration::from(self.jitter))
    }

    fn demand(&self) -> demand::RBF<Sporadic, wcet::Scalar> {
        demand::RBF::new(self.arrivals(), wcet::Scalar::new(Service::from(self.time)))
    }
}

/// Two to five tasks that load a core by 30 to 90 percent; half of them have no jitter.
fn tasks(random: &mut Random) -> Vec<Task> {
    let count = random.between(2, 5);
    let load = random.between(30, 90);
    let jitters = random.once_in(2);
    let task = |_| {
        let period = random.between(1_000, 20_000);
        let time = (period * load * random.between(40, 160) / 100 / 100 / count).max(1);
        let jitter = if jitters { random.below(period * 2) } else { 0 };
        Task { period, jitter, time, deadline: random.between(period / 2, period * 3) }
    };
    let tasks: Vec<Task> = (0..count).map(task).collect();
    let load: u64 = tasks.iter().map(|task| task.time * 1_000 / task.period).sum();
    if load > 950 {
        tasks.into_iter().map(|task| Task { time: task.time / 2 + 1, ..task }).collect()
    } else {
        tasks
    }
}

/// One core; what lane and component each task has is said by its index.
fn system(
    tasks: &[Task],
    lanes: &[u8],
    lane: fn(usize) -> usize,
    component: fn(usize) -> usize,
) -> Description {
    let mut draft = Draft::new(1);
    for priority in lanes {
        draft.fifo(0, 0, *priority);
    }
    for _ in tasks {
        draft.component(0);
    }
    for (index, task) in tasks.iter().enumerate() {
        let port = draft.port(component(index), lane(index), vec![runs(task.time)]);
        let Entry::Queued { deadline, depth, .. } = &mut draft.parts.ports[port].entry else {
            unreachable!()
        };
        (*deadline, *depth) = (task.deadline, 1_000);
        draft.source(port, SourceKind::Periodic { period: task.period, jitter: task.jitter, gap: 0 });
    }
    draft.parts
}

/// What a search finds for a port.
fn found(parts: &Description, port: usize, effort: Effort) -> u64 {
    let system = System::new(parts.clone()).unwrap();
    Search::new(&system, &Claims::default(), Goal::Response(port), effort).worst(7).value
}

const EFFORT: Effort = Effort { climbing: 12, random: 3, events: 400 };

/// What is found of the worst response of a port and its bound, if there is one; it is never above it.
fn judged(
    parts: &Description,
    port: usize,
    bound: Result<Duration, response_time_analysis::fixed_point::SearchFailure>,
) -> Option<(u64, u64)> {
    let bound = u64::from(bound.ok()?);
    let found = found(parts, port, EFFORT);
    assert!(found <= bound, "port {port}: {found} above {bound}, {parts:?}");
    Some((found, bound))
}

/// Whether it is within 30 percent of its bound.
fn is_near((found, bound): (u64, u64)) -> bool {
    found * 10 >= bound * 7
}

/// Each task in a lane of its own, none with a lock in common: preemptive fixed priorities.
#[test]
fn preemptive_fixed_priorities() {
    let (mut all, mut reached) = (0_u32, 0_u32);
    for seed in tiers::current().seeds("processors.oracle") {
        let tasks = tasks(&mut Random::new(seed));
        let parts = system(&tasks, &[90, 80, 70, 60, 50], |index| index, |index| index);
        for (index, task) in tasks.iter().enumerate() {
            let higher: Vec<_> = tasks[..index].iter().map(Task::demand).collect();
            let bound = fixed_priority::fully_preemptive::dedicated_uniproc_rta(
                &task.demand(),
                &higher,
                Duration::from(LIMIT),
            );
            let Some((found, bound)) = judged(&parts, index, bound) else { continue };
            all += 1;
            reached += u32::from(found == bound);
        }
    }
    println!("preemptive: {reached} of {all} reached");
    // Runs that are shorter than the longest busy period miss some.
    assert!(all > 50 && reached * 100 >= all * 98, "{reached} of {all}");
}

/// All tasks in one lane: first in, first out.
#[test]
fn first_in_first_out() {
    let (mut all, mut reached) = (0_u32, 0_u32);
    for seed in tiers::current().seeds("processors.oracle") {
        let tasks = tasks(&mut Random::new(seed));
        let parts = system(&tasks, &[90], |_| 0, |index| index);
        let demands: Vec<_> = tasks.iter().map(Task::demand).collect();
        let bound = fifo::dedicated_uniproc_rta(&demand::Slice::of(&demands), Duration::from(LIMIT));
        let Some(bound) = bound.ok().map(u64::from) else { continue };
        let worst = (0..tasks.len()).map(|index| found(&parts, index, EFFORT)).max().unwrap();
        assert!(worst <= bound, "seed {seed}: {worst} above {bound}, {tasks:?}");
        all += 1;
        reached += u32::from(worst == bound);
    }
    println!("fifo: {reached} of {all} reached");
    assert!(all > 20 && reached * 100 >= all * 95, "{reached} of {all}");
}

/// Two tasks of one component, each in a lane of its own: what has begun is finished. The analysis is given the blocking time of each,
/// which is one handler of the other if that is lower. With a third task a lock that is handed over blocks more often, which the
/// analysis does not know.
#[test]
fn one_lock_for_two() {
    let (mut all, mut near) = (0_u32, 0_u32);
    for seed in tiers::current().seeds("processors.oracle") {
        let tasks = &tasks(&mut Random::new(seed))[..2];
        let parts = system(tasks, &[90, 80], |index| index, |_| 0);
        for (index, task) in tasks.iter().enumerate() {
            let higher: Vec<_> = tasks[..index].iter().map(Task::demand).collect();
            let blocking = tasks[index + 1..].iter().map(|task| task.time).max().unwrap_or(0);
            let under_analysis = fixed_priority::floating_nonpreemptive::TaskUnderAnalysis {
                rbf: &task.demand(),
                blocking_bound: Service::from(blocking),
            };
            let bound = fixed_priority::floating_nonpreemptive::dedicated_uniproc_rta(
                &under_analysis,
                &higher,
                Duration::from(LIMIT),
            );
            let Some(judged) = judged(&parts, index, bound) else { continue };
            all += 1;
            near += u32::from(is_near(judged));
        }
    }
    println!("one lock: {near} of {all} within 30 percent");
    assert!(all > 50 && near * 10 >= all * 8, "{near} of {all}");
}

/// All tasks in one lane by deadline. The analysis takes one unit off what blocks, since it knows no equal instants; it is given one more.
#[test]
fn earliest_deadline_first() {
    let (mut all, mut near) = (0_u32, 0_u32);
    for seed in tiers::current().seeds("processors.oracle") {
        let tasks = tasks(&mut Random::new(seed));
        let mut parts = system(&tasks, &[90], |_| 0, |index| index);
        parts.lanes[0].order = LaneOrder::EarliestDeadline;
        for index in 0..tasks.len() {
            let arrivals: Vec<Sporadic> = tasks.iter().map(Task::arrivals).collect();
            let under_analysis = |index: usize, more: u64| edf::fully_nonpreemptive::Task {
                wcet: wcet::Scalar::new(Service::from(tasks[index].time + more)),
                arrivals: &arrivals[index],
                deadline: Duration::from(tasks[index].deadline),
            };
            let others: Vec<_> = (0..tasks.len())
                .filter(|other| *other != index)
                .map(|other| under_analysis(other, 1))
                .collect();
            let own = under_analysis(index, 0);
            let bound = edf::fully_nonpreemptive::dedicated_uniproc_rta(&own, &others, Duration::from(LIMIT));
            let Some(judged) = judged(&parts, index, bound) else { continue };
            all += 1;
            near += u32::from(is_near(judged));
        }
    }
    println!("deadlines: {near} of {all} within 30 percent");
    assert!(all > 50 && near * 10 >= all * 6, "{near} of {all}");
}
