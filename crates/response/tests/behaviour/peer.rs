//! Agreement with the crate `response-time-analysis`, which was written from proofs that a machine has checked: lanes of several ports in
//! order of entry, and preemptive priorities.
//!
//! It counts arrivals in windows that are open at one end, and we count in closed ones [an instant at the end may come before it].
//! So the periods here are such that no instant of a timer coincides with an end.
use response::{Bound, SourceKind};
use response_time_analysis::arrival::Sporadic;
use response_time_analysis::demand::{RBF, Slice};
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::wcet::Scalar;
use response_time_analysis::{fifo, fixed_priority};
use testkit::random::Random;

use super::Build;

const LIMIT: u64 = 1_000_000_000;

fn tasks(random: &mut Random) -> Vec<(u64, u64)> {
    let count = random.range(1, 5);
    // Sums of few multiples of 1,000 are no multiples of the periods.
    (0..count).map(|_| (random.range(1, 30) * 1_000, random.range(20, 200) * 1_000 + 1)).collect()
}

fn theirs(tasks: &[(u64, u64)]) -> Vec<RBF<Sporadic, Scalar>> {
    let task = |(cost, period): &(u64, u64)| {
        let arrivals = Sporadic::new_zero_jitter(Duration::from(*period));
        RBF::new(arrivals, Scalar::new(Service::from(*cost)))
    };
    tasks.iter().map(task).collect()
}

/// Whether there is clearly more time than work: near the limit they search further than we do, or less far.
fn light(tasks: &[(u64, u64)]) -> bool {
    tasks.iter().map(|(cost, period)| cost * 1_000 / period).sum::<u64>() < 970
}

#[test]
fn order_of_entry() {
    let (mut agreed, mut later) = (0, 0);
    for index in 0..tiers::current().number("response.systems") {
        let tasks = tasks(&mut Random::of_case(1, index));
        if !light(&tasks) {
            continue;
        }
        let mut build = Build::new(1);
        let lane = build.lane(10);
        for (cost, period) in &tasks {
            let port = build.port(lane, *cost, *cost);
            build.timer(port, *period);
        }
        let requests = theirs(&tasks);
        let bound = fifo::dedicated_uniproc_rta(&Slice::of(&requests), Duration::from(LIMIT)).unwrap();
        let ours = build.responses();
        assert!(
            ours.iter().all(|bound_of_port| *bound_of_port == Ok(u64::from(bound))),
            "case {index}: {tasks:?}"
        );
        agreed += 1;
        later += u64::from(u64::from(bound) > tasks.iter().map(|task| task.1).min().unwrap());
    }
    assert!(agreed > 20 && later > 0, "{agreed} {later}");
}

#[test]
fn preemptive_priorities() {
    for index in 0..tiers::current().number("response.systems") {
        let tasks = tasks(&mut Random::of_case(2, index));
        if !light(&tasks) {
            continue;
        }
        let mut build = Build::new(1);
        let requests = theirs(&tasks);
        let mut expected: Vec<Bound> = Vec::new();
        for (rank, (cost, period)) in tasks.iter().enumerate() {
            let lane = build.lane(90 - u8::try_from(rank).unwrap());
            let port = build.port(lane, *cost, *cost);
            build.timer(port, *period);
            let bound = fixed_priority::fully_preemptive::dedicated_uniproc_rta(
                &requests[rank],
                &requests[..rank],
                Duration::from(LIMIT),
            );
            expected.push(Ok(u64::from(bound.unwrap())));
        }
        assert_eq!(build.responses(), expected, "case {index}: {tasks:?}");
    }
}

/// Streams whose events come late by up to some periods, in order of entry and with preemptive priorities.
#[test]
fn streams_with_jitter() {
    let (mut agreed, mut later) = (0, 0);
    for index in 0..tiers::current().number("response.systems") {
        let mut random = Random::of_case(3, index);
        let tasks = tasks(&mut random);
        // Sums of these, too, are no multiples of the periods.
        let late: Vec<u64> = tasks.iter().map(|_| random.range(0, 300) * 1_000).collect();
        if !light(&tasks) {
            continue;
        }
        let theirs: Vec<RBF<Sporadic, Scalar>> = tasks
            .iter()
            .zip(&late)
            .map(|((cost, period), late)| {
                let arrivals =
                    Sporadic { jitter: Duration::from(*late), min_inter_arrival: Duration::from(*period) };
                RBF::new(arrivals, Scalar::new(Service::from(*cost)))
            })
            .collect();
        let made = |lane_of: &dyn Fn(&mut Build, usize) -> usize| {
            let mut build = Build::new(1);
            for (rank, ((cost, period), jitter)) in tasks.iter().zip(&late).enumerate() {
                let lane = lane_of(&mut build, rank);
                let port = build.port(lane, *cost, *cost);
                build.source(port, SourceKind::Periodic { period: *period, jitter: *jitter, gap: 0 });
            }
            build.responses()
        };
        let one_lane = |build: &mut Build, rank: usize| if rank == 0 { build.lane(10) } else { 0 };
        let bound = fifo::dedicated_uniproc_rta(&Slice::of(&theirs), Duration::from(LIMIT)).unwrap();
        let ours = made(&one_lane);
        assert!(
            ours.iter().all(|of| *of == Ok(u64::from(bound))),
            "case {index}: {tasks:?} {late:?}: {ours:?} {bound:?}"
        );
        let ours = made(&|build, rank| build.lane(90 - u8::try_from(rank).unwrap()));
        for (rank, of) in ours.iter().enumerate() {
            let bound = fixed_priority::fully_preemptive::dedicated_uniproc_rta(
                &theirs[rank],
                &theirs[..rank],
                Duration::from(LIMIT),
            );
            assert_eq!(*of, Ok(u64::from(bound.unwrap())), "case {index}, {rank}: {tasks:?} {late:?}");
        }
        agreed += 1;
        later += u64::from(late.iter().zip(&tasks).any(|(late, (_, period))| late > period));
    }
    assert!(agreed > 20 && later > 0, "{agreed} {later}");
}
