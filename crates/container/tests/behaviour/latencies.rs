//! Connections whose latency is measured: a judge that shares nothing with the scorer looks at what components note of each event.
use std::sync::Arc;
use std::time::Duration;

use container::{ByDds, Chain, ChainScore, Direct, Fault, Full, Hop, Limit, Server};
use testkit::random::Random;
use testkit::virtual_domain::VirtualDomain;

use crate::chains::{
    Arm, Mark, Middle, Notes, Sensor, every, hop, installed, over, queue, server, three_periods,
};
use crate::{joins, logical};

const MS: u64 = 1_000_000;

/// The latency of a connection to a port, which is reached by these of its ends.
fn latency(connection: &str, port: &str, ends: &[&str], limit: u64) -> Chain {
    Chain {
        name: format!("connection {connection} to {port}"),
        reaction: Some(Duration::from_nanos(limit)),
        hops: vec![Hop { ..hop(port, ends) }],
        connection: Some(connection.to_owned()),
        ..Chain::default()
    }
}

/// B9 of the model, word by word: for each event that came from its push to the end of its handler; and the sums of both parts.
fn judge(notes: &Notes, [push, begin, end]: [&str; 3]) -> (Vec<u64>, u64, u64) {
    let (mut latencies, mut waits, mut runs) = (Vec::new(), 0, 0);
    for all in notes.lock().unwrap().values() {
        let at = |what: &str| all.iter().find(|(other, _)| *other == what).map(|(_, at)| *at);
        if let (Some(push), Some(begin), Some(end)) = (at(push), at(begin), at(end)) {
            latencies.push(end - push);
            waits += begin - push;
            runs += end - begin;
        }
    }
    (latencies, waits, runs)
}

fn agrees(score: &ChainScore, notes: &Notes, places: [&str; 3], limit: u64) -> u64 {
    let (latencies, waits, runs) = judge(notes, places);
    assert_eq!(score.completions, latencies.len() as u64, "{score:?}");
    assert_eq!((score.reaction.count, score.age.count), (latencies.len() as u64, 0));
    assert_eq!(score.reaction.worst.as_nanos() as u64, latencies.iter().copied().max().unwrap_or(0));
    assert_eq!((score.reaction.exceeded, score.reaction.possibly), (over(&latencies, limit), 0));
    assert_eq!((score.reaction.error, score.foreign, score.unknown), (Duration::ZERO, 0, 0));
    let [(_, times)] = &score.hops[..] else { panic!("{score:?}") };
    assert_eq!(times.run.as_nanos() as u64, runs);
    assert_eq!((times.transfer + times.wait).as_nanos() as u64, waits);
    over(&latencies, limit)
}

fn score(server: &Server, connection: &str) -> ChainScore {
    let scores = server.chains();
    let is_it = |score: &&ChainScore| score.name.starts_with(&format!("connection {connection} to "));
    scores.iter().find(is_it).unwrap_or_else(|| panic!("{scores:?}")).clone()
}

/// Handlers whose times are drawn: some events are dropped, some wait; a chain may be followed over the same connections.
#[test]
fn a_latency_is_from_the_push_to_the_end_of_the_handler() {
    let (mut exceeded, mut lost) = (0, 0);
    for seed in tiers::current().seeds("container.chains") {
        let mut random = Random::new(seed);
        let limits = [100_000 + random.below_u64(800_000), 300_000 + random.below_u64(2_000_000)];
        let notes = Notes::default();
        let mut server = server();
        installed(&mut server, &notes, [random.below_u64(300_000), 0, 0]);
        let mut times = |most: u64| (0..7).map(|_| random.below_u64(most)).collect::<Vec<_>>();
        let (of_middle, of_arm) = (times(500_000), times(1_500_000));
        server.entry::<Middle>("middle").unwrap().with(|it, _| it.takes = of_middle).unwrap();
        server.entry::<Arm>("arm").unwrap().with(|it, _| it.takes = of_arm).unwrap();
        server.follow(latency("first", "middle.input", &["first"], limits[0])).unwrap();
        server.follow(latency("second", "arm.input", &["second"], limits[1])).unwrap();
        if random.below(2) == 0 {
            let hops = vec![hop("middle.input", &["first"]), hop("arm.input", &["second"])];
            server.follow(Chain { name: "both".to_owned(), hops, ..Chain::default() }).unwrap();
        }
        server.every("tick", "sensor.tick", every()).unwrap();
        let full = [Full::DropOldest, Full::DropNewest, Full::Reject, Full::Coalesce];
        let mut by = |lane| queue(lane, 1 + random.below(3) as u16, full[random.below(4)]);
        let (first, second) = (by(2), by(3));
        if random.below(2) == 0 {
            server.connect("first", &["sensor.out"], &["middle.input"], &first).unwrap();
        } else {
            server.connect("first", &["sensor.out"], &["middle.input"], &Direct::default()).unwrap();
        }
        server.connect("second", &["middle.out"], &["arm.input"], &second).unwrap();
        server.launch().unwrap();
        server.advance(Duration::from_millis(200));
        // The handler in the middle pushes last, and pushing takes no time.
        exceeded += agrees(&score(&server, "first"), &notes, ["push 0", "begin 1", "push 1"], limits[0]);
        exceeded += agrees(&score(&server, "second"), &notes, ["push 1", "begin 2", "end 2"], limits[1]);
        lost += score(&server, "first").completions - score(&server, "second").completions;
        if let Some(chain) = server.chains().iter().find(|score| score.name == "both") {
            assert_eq!(chain.completions, score(&server, "second").completions);
        }
    }
    assert!(exceeded > 100 && lost > 100, "{exceeded} exceeded, {lost} were lost: the seeds try too little");
}

#[test]
fn a_latency_that_exceeds_its_limit_is_told_with_where_the_time_went() {
    let notes = Notes::default();
    let mut server = server();
    installed(&mut server, &notes, [1_000, 2_000, 700_000]);
    server.follow(latency("second", "arm.input", &["second"], 600_000)).unwrap();
    server.every("tick", "sensor.tick", every()).unwrap();
    server.connect("first", &["sensor.out"], &["middle.input"], &Direct::default()).unwrap();
    server.connect("second", &["middle.out"], &["arm.input"], &queue(3, 4, Full::DropOldest)).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_micros(5_900));
    let report = server.next_report(Duration::ZERO).unwrap();
    let text = report.to_string();
    assert_eq!(report.of, "connection second to arm.input");
    let Fault::Exceeded(exceeded) = report.fault else { panic!("{text}") };
    assert_eq!((exceeded.limit, exceeded.count), (Limit::Latency, 5));
    assert!(exceeded.is_certain() && exceeded.stalled.is_none());
    assert_eq!(
        text,
        "connection second to arm.input: latency 700µs, limit 600µs, and 4 more above it: 700µs in arm.input"
    );
    assert!(server.next_report(Duration::ZERO).is_none());
}

#[test]
fn a_latency_between_processes_counts_from_the_push_in_the_other_one() {
    let mut domain = VirtualDomain::new();
    let (here, there) = (domain.participant(), domain.participant());
    let notes = Notes::default();
    let (mut near, mut far) = (server(), server());
    near.install::<Sensor>("box", "sensor", &[]).unwrap();
    for name in ["queued", "direct"] {
        far.install::<Arm>("box", name, &[]).unwrap();
    }
    let set = |takes: u64| (vec![takes], Arc::clone(&notes));
    let beside = Notes::default();
    near.entry::<Sensor>("sensor").unwrap().with(|it, _| (it.takes, it.notes) = set(7_000)).unwrap();
    far.entry::<Arm>("queued").unwrap().with(|it, _| (it.takes, it.notes) = set(11_000)).unwrap();
    let other = Arc::clone(&beside);
    far.entry::<Arm>("direct").unwrap().with(|it, _| (it.takes, it.notes) = (vec![0], other)).unwrap();
    // One connection with two ends: both know one stamp.
    for server in [&mut near, &mut far] {
        server.follow(latency("marks", "queued.input", &["marks out", "marks 0"], 10_000)).unwrap();
        server.follow(latency("marks", "direct.input", &["marks out", "marks 1"], 10_000)).unwrap();
    }
    near.every("tick", "sensor.tick", every()).unwrap();
    near.connect("marks out", &["sensor.out"], &[], &ByDds::<Mark>::new(&here, "marks")).unwrap();
    let mut by_lane = ByDds::<Mark>::new(&there, "marks");
    by_lane.served = Some(queue(2, 4, Full::DropOldest));
    far.connect("marks 0", &[], &["queued.input"], &by_lane).unwrap();
    far.connect("marks 1", &[], &["direct.input"], &ByDds::<Mark>::new(&there, "marks")).unwrap();
    three_periods(&mut near, &mut far, &mut domain);
    assert_eq!(near.chains().len(), 0, "a latency is scored where the consumer is");
    let scores = far.chains();
    let [queued, direct] = &scores[..] else { panic!("{scores:?}") };
    assert_eq!(agrees(queued, &notes, ["push 0", "begin 2", "end 2"], 10_000), 3);
    assert!(queued.hops[0].1.transfer > Duration::ZERO);
    // The other arm has notes of its own: it misses what the sensor notes.
    for (due, all) in &*notes.lock().unwrap() {
        let pushes = all.iter().filter(|(what, _)| *what == "push 0").copied();
        beside.lock().unwrap().entry(*due).or_default().extend(pushes);
    }
    agrees(direct, &beside, ["push 0", "begin 2", "end 2"], 10_000);
    assert_eq!(direct.completions, 3);
}

/// Of a join each connection has its own latency, which includes the wait for the other part.
#[test]
fn a_latency_into_a_join_waits_for_the_other_part() {
    let keep = container::Keep::Last;
    let mut server = Server::simulated();
    server.container("box", container::Policy::default()).unwrap();
    for name in ["a", "b"] {
        server.install::<crate::parts::Tap>("box", name, &[]).unwrap();
    }
    server.install::<joins::Sum>("box", "sum", &[]).unwrap();
    for (name, limit) in [("first", 4 * MS), ("second", 4 * MS)] {
        server.follow(latency(name, "sum.input", &[name, "join"], limit)).unwrap();
    }
    let join = Some(container::Join { keep, within: None });
    server.join("join", "sum.input", 2, &joins::pool(join)).unwrap();
    server.connect("first", &["a.out"], &["sum.input#0"], &Direct::default()).unwrap();
    server.connect("second", &["b.out"], &["sum.input#1"], &Direct::default()).unwrap();
    server.launch().unwrap();
    for (tap, number, pause) in [("a", 1, 5), ("b", 2, 7), ("b", 3, 2), ("a", 4, 0)] {
        joins::push(&server, tap, number).unwrap();
        server.advance(Duration::from_millis(pause));
    }
    let worst = |name| {
        let score = score(&server, name);
        (score.completions, score.reaction.worst.as_nanos() as u64, score.reaction.exceeded)
    };
    assert_eq!(worst("first"), (2, 5 * MS, 1));
    assert_eq!(worst("second"), (2, 2 * MS, 0));
}

/// The push of a run in logical execution time is its publication, and a run that reads answers when it publishes.
#[test]
fn a_latency_between_runs_in_logical_execution_time_is_between_publications() {
    let mut server = logical::server();
    server.follow(latency("first", "last.left", &["first", "instants of last"], 20 * MS)).unwrap();
    let log = crate::parts::Log::default();
    logical::mixer(&mut server, "first", &[MS], &log);
    logical::mixer(&mut server, "last", &[MS], &log);
    logical::at(&mut server, "first", logical::instants(10 * MS, 4 * MS, 1)).unwrap();
    logical::at(&mut server, "last", logical::instants(20 * MS, 7 * MS, 2)).unwrap();
    server.connect("first", &["first.out"], &["last.left"], &Direct::default()).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_millis(60));
    // Published at 14, read at 20, published at 27; what is published at 24 gives way to that of 34, which is read at 40 and published at 47.
    let score = score(&server, "first");
    assert_eq!((score.completions, score.reaction.worst), (2, Duration::from_millis(13)));
    assert_eq!(score.reaction.exceeded, 0);
}
