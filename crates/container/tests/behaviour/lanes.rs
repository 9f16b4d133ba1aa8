//! Channels: the order in which components are served, in virtual time.
use std::time::Duration;

use container::{
    ByChannel, Dispatch, Failure, Full, Gather, Join, Keep, Order, Policy, Queue, Server, ServerError,
    ServiceError, Threads, Value,
};
use testkit::random::Random;

use crate::parts::{Log, Number, Relay, Source, Tap};
use crate::ports::{push, scene};

#[test]
fn lanes_of_higher_priority_are_served_first() {
    let (mut server, log) = scene();
    for (name, lane) in [("a", 1), ("b", 2)] {
        let service = ByChannel::new(Dispatch::Lane(lane));
        server.connect(name, &["s.out"], &[&format!("{name}.input")], &service).unwrap();
    }
    server.connect("c", &["s.out"], &["c.input"], &ByChannel::new(Dispatch::Pool)).unwrap();
    server.launch().unwrap();
    push(&server, 1).unwrap();
    push(&server, 2).unwrap();
    assert!(log.take().is_empty());
    assert_eq!(server.advance(Duration::ZERO), 6);
    assert_eq!(log.take(), ["b 1", "b 2", "a 1", "a 2", "c 1", "c 2"]);
    let unknown = ByChannel::new(Dispatch::Lane(9));
    // In virtual time there are no threads, so that no lane is missing.
    server.connect("d", &["s.out"], &["c.other"], &unknown).unwrap();
}

#[test]
fn a_live_container_without_that_lane_says_so() {
    let mut server = Server::new(&container::Locality::default());
    server.container("box", Policy::default()).unwrap();
    server.install::<Tap>("box", "s", &[]).unwrap();
    server.install::<Relay>("box", "a", &[]).unwrap();
    let refused = server.connect("x", &["s.out"], &["a.input"], &ByChannel::new(Dispatch::Lane(9)));
    let error = ServiceError::Lane { container: "box".to_owned(), lane: 9 };
    assert_eq!(refused, Err(ServerError::Service { connection: "x".to_owned(), error }));
    assert!(!server.container_of("a").unwrap().has_channel());
}

#[test]
fn the_thread_that_pushes_serves_once_it_is_out_of_all_components() {
    let (mut server, log) = scene();
    let here = ByChannel::new(Dispatch::Publisher);
    server.connect("sa", &["s.out"], &["a.input"], &here).unwrap();
    // To itself: while `a` hands on, it is busy.
    server.connect("aa", &["a.out"], &["a.other", "b.input"], &here).unwrap();
    server.connect("ba", &["b.out"], &["a.other"], &here).unwrap();
    server.launch().unwrap();
    push(&server, 1).unwrap();
    assert_eq!(log.take(), ["a 1", "a other 2 follows 0", "b 2", "a other 3 follows 0"]);
    assert_eq!(server.next_report(Duration::ZERO), None);
}

#[test]
fn full_queues_do_as_they_are_told() {
    let (mut server, log) = scene();
    let with = |full| ByChannel {
        queue: Queue { depth: 2, full, order: Order::Fifo },
        ..ByChannel::new(Dispatch::Pool)
    };
    server.connect("a", &["s.out"], &["a.input"], &with(Full::DropOldest)).unwrap();
    server.connect("b", &["s.out"], &["b.input"], &with(Full::DropNewest)).unwrap();
    server.launch().unwrap();
    (1..=3).for_each(|number| push(&server, number).unwrap());
    server.advance(Duration::ZERO);
    // Of several consumers the delivery that was made first is next.
    assert_eq!(log.take(), ["b 1", "a 2", "b 2", "a 3"]);
    server.connect("c", &["s.out"], &["c.input"], &with(Full::Reject)).unwrap();
    push(&server, 1).unwrap();
    push(&server, 2).unwrap();
    assert_eq!(push(&server, 3), Err(Failure::Full));
    server.disconnect("c").unwrap();
    server.connect("c", &["s.out"], &["c.input"], &with(Full::Block { limit: 1_000 })).unwrap();
    push(&server, 1).unwrap();
    push(&server, 2).unwrap();
    // In virtual time no other thread can make room meanwhile.
    assert_eq!(push(&server, 3), Err(Failure::Late));
}

#[test]
fn filters_joins_and_silence_are_the_channels() {
    let (mut server, log) = scene();
    server.install::<Source>("box", "t", &[]).unwrap();
    let service = ByChannel {
        filter: Some("number > 2".to_owned()),
        join: Some(Join { keep: Keep::Last, within: None }),
        ..ByChannel::new(Dispatch::Pool)
    };
    server.connect("join", &["s.out", "t.out"], &["a.other"], &service).unwrap();
    let service = ByChannel { silence: Some(Duration::from_millis(5)), ..ByChannel::new(Dispatch::Pool) };
    server.connect("silence", &["s.out"], &["b.input"], &service).unwrap();
    server.connect("one", &["t.one"], &["c.input"], &service).unwrap();
    server.launch().unwrap();
    let source = server.entry::<Source>("t").unwrap();
    let push_other =
        |number| source.with(|source, at| source.out.push(at, &Number(number))).unwrap().unwrap();
    push(&server, 1).unwrap();
    push(&server, 3).unwrap();
    push(&server, 4).unwrap();
    push_other(2);
    push_other(7);
    server.advance(Duration::from_millis(4));
    let mut lines = log.take();
    lines.retain(|line| line.starts_with('a'));
    assert_eq!(lines, ["a other 4 follows 1", "a other 7 follows 0"]);
    server.advance(Duration::from_millis(4));
    assert_eq!(log.take(), ["b timeout 0", "c timeout 0"]);
    server.advance(Duration::from_millis(20));
    assert!(log.take().is_empty());
}

#[test]
fn what_comes_for_a_suspended_component_waits() {
    let (mut server, log) = scene();
    server.connect("a", &["s.out"], &["a.input"], &ByChannel::new(Dispatch::Pool)).unwrap();
    server.connect("b", &["s.out"], &["b.input"], &container::Direct::default()).unwrap();
    push(&server, 1).unwrap();
    server.launch().unwrap();
    server.suspend("a").unwrap();
    server.suspend("b").unwrap();
    push(&server, 2).unwrap();
    server.advance(Duration::ZERO);
    assert!(log.take().is_empty());
    server.resume("a").unwrap();
    server.resume("b").unwrap();
    server.advance(Duration::ZERO);
    // What was pushed before the launch waited as well; what came directly is missed, and counted.
    assert_eq!(log.take(), ["a 1", "a 2"]);
    assert_eq!(server.counts("b").unwrap().missed, 2);
    assert_eq!(server.counts("a").unwrap().missed, 0);
}

#[test]
fn batches_and_priorities_are_the_channels() {
    let (mut server, log) = scene();
    let service = ByChannel {
        queue: Queue { depth: 8, full: Full::DropOldest, order: Order::Priority },
        gather: Gather { most: 3, wait: 0 },
        ..ByChannel::new(Dispatch::Own)
    };
    server.connect("a", &["s.out"], &["a.input"], &service).unwrap();
    server.launch().unwrap();
    let entry = server.entry::<Tap>("s").unwrap();
    for (number, priority) in [(1, 0), (2, 5), (3, 9), (4, 5)] {
        entry.with(|tap, at| tap.out.push(&at.with(priority, None), &Number(number))).unwrap().unwrap();
    }
    assert_eq!(server.advance(Duration::ZERO), 2);
    assert_eq!(log.take(), ["a 3", "a 2", "a 4", "a 1"]);
}

/// Connects at random, pushes at random, suspends at random: each consumer gets, of each connection, an increasing sequence, and all that
/// was pushed if it has room for it; twice the same seed is twice the same log.
#[test]
fn random_assemblies_lose_and_double_nothing_and_are_repeatable() {
    for seed in tiers::current().seeds("container.assemblies") {
        let first = play(seed);
        assert_eq!(first, play(seed), "seed {seed}");
    }
}

fn play(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut server = Server::simulated();
    let lanes = vec![(1, Threads::fifo(3)), (2, Threads::default())];
    let log = Log::default();
    for container in ["x", "y"] {
        server.container(container, Policy { lanes: lanes.clone(), ..Policy::default() }).unwrap();
    }
    server.install::<Tap>("x", "s", &[]).unwrap();
    let names = ["a", "b", "c", "d"];
    for name in names {
        let container = if random.below(2) == 0 { "x" } else { "y" };
        server.install::<Relay>(container, name, &[("name", Value::Text(name.to_owned()))]).unwrap();
        server.entry::<Relay>(name).unwrap().with(|relay, _| relay.log = log.clone()).unwrap();
        let dispatch = [
            Dispatch::Publisher,
            Dispatch::Pool,
            Dispatch::Lane(1),
            Dispatch::Lane(2),
            Dispatch::Own,
            Dispatch::Deadline,
        ];
        let dispatch = dispatch[random.below(6)];
        let queue = Queue { depth: 1_000, full: Full::Reject, order: Order::Fifo };
        let gather = Gather { most: 1 + random.below(3) as u16, wait: random.below_u64(2) * 500 };
        let service = ByChannel { queue, gather, ..ByChannel::new(dispatch) };
        server.connect(name, &["s.out"], &[&format!("{name}.input")], &service).unwrap();
    }
    server.launch().unwrap();
    let mut pushed = 0;
    for _ in 0..200 {
        let name = names[random.below(4)];
        match random.below(8) {
            0 => drop(server.suspend(name)),
            1 => drop(server.resume(name)),
            2 => drop(server.advance(Duration::from_nanos(random.below_u64(800)))),
            _ => {
                push(&server, pushed).unwrap();
                pushed += 1;
            }
        }
    }
    names.iter().for_each(|name| drop(server.resume(name)));
    server.advance(Duration::from_millis(1));
    // Those that the publisher's thread serves may wait for one that pushes.
    push(&server, pushed).unwrap();
    server.advance(Duration::from_millis(1));
    let lines = log.take();
    for name in names {
        let own: Vec<_> = lines.iter().filter(|line| line.starts_with(name)).cloned().collect();
        let wanted: Vec<_> = (0..=pushed).map(|number| format!("{name} {number}")).collect();
        assert_eq!(own, wanted, "seed {seed}, {name}");
    }
    lines
}
