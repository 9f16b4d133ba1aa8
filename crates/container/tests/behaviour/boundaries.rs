//! What a change of a server waits for: a boundary of logical intervals, and joins that give away what they have kept.
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use container::{
    ByChannel, Component, Consumer, Context, Direct, Dispatch, Handle, Join, Keep, Lifecycle, Outcome,
    Policy, Publisher, Server, ServerError, Threads, Tick, Timer,
};
use testkit::random::Random;

use crate::joins;
use crate::logical::{instants, server};
use crate::parts::{Log, Number, Tap};

/// Publishes at each instant the number of what it has read last.
#[derive(Component)]
struct Reader {
    tick: Timer,
    input: Consumer<Number>,
    out: Publisher<Number>,
    read: u64,
    log: Log,
    runs: Arc<AtomicU64>,
    /// Nanoseconds of a run.
    takes: u64,
}

impl Lifecycle for Reader {}

impl Handle<reader::Input> for Reader {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.read = number.0;
        self.log.write(format!("read {}", number.0));
        Ok(())
    }
}

impl Handle<reader::Tick> for Reader {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        at.pass(Duration::from_nanos(self.takes));
        self.runs.fetch_add(1, Relaxed);
        self.out.push(at, &Number(self.read))
    }
}

/// Counts what comes.
#[derive(Component)]
struct Count {
    input: Consumer<Number>,
    count: Arc<AtomicU64>,
    last: Arc<AtomicU64>,
}

impl Lifecycle for Count {}

impl Handle<count::Input> for Count {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.count.fetch_add(1, Relaxed);
        self.last.store(number.0, Relaxed);
        Ok(())
    }
}

const MS: u64 = 1_000_000;

struct Seen {
    log: Log,
    runs: Arc<AtomicU64>,
    count: Arc<AtomicU64>,
    last: Arc<AtomicU64>,
}

/// A tap, a reader in logical execution time, and what counts its outputs.
fn scene(server: &mut Server, (period, interval): (u64, u64), takes: u64) -> Seen {
    let seen =
        Seen { log: Log::default(), runs: Arc::default(), count: Arc::default(), last: Arc::default() };
    server.install::<Tap>("box", "tap", &[]).unwrap();
    server.install::<Reader>("box", "r", &[]).unwrap();
    server.install::<Count>("box", "c", &[]).unwrap();
    let of_reader = |it: &mut Reader| {
        (it.log, it.runs, it.takes) = (seen.log.clone(), Arc::clone(&seen.runs), takes);
    };
    server.entry::<Reader>("r").unwrap().with(|it, _| of_reader(it)).unwrap();
    let of_count = |it: &mut Count| (it.count, it.last) = (Arc::clone(&seen.count), Arc::clone(&seen.last));
    server.entry::<Count>("c").unwrap().with(|it, _| of_count(it)).unwrap();
    server.at_instants("instants", "r.tick", &["r.input"], instants(period, interval, 1)).unwrap();
    server.connect("in", &["tap.out"], &["r.input"], &Direct::default()).unwrap();
    server.connect("out", &["r.out"], &["c.input"], &Direct::default()).unwrap();
    server.launch().unwrap();
    seen
}

/// Whenever it is asked for: the last event before it was read, each run has published, and no run begins behind the last one.
#[test]
fn behind_the_last_interval_all_was_read_and_published() {
    let mut waited = 0;
    for seed in tiers::current().seeds("container.chains") {
        let mut random = Random::new(seed);
        let mut server = server();
        let period = random.range(2, 9) * MS;
        let interval = [period, random.range(MS, period)][random.below(2)];
        let seen = scene(&mut server, (period, interval), random.below_u64(interval / 2));
        let mut number = 0;
        for round in 0..4 {
            for _ in 0..random.below(6) {
                server.advance(Duration::from_nanos(random.below_u64(2 * period)));
                number += 1;
                joins::push(&server, "tap", number).unwrap();
            }
            let mut boundary = server.boundary("r", true);
            let asked = server.now();
            while !boundary.is_passed() {
                waited += 1;
                server.advance(Duration::from_nanos(1 + random.below_u64(period / 3)));
                assert!(server.now() <= asked + 3 * period, "seed {seed}, round {round}");
            }
            let context = format!("seed {seed}, round {round}");
            assert_eq!(seen.last.load(Relaxed), number, "{context}");
            assert_eq!(seen.runs.load(Relaxed), seen.count.load(Relaxed), "{context}");
            // Nothing begins any more, whether the component works or not.
            let runs = seen.runs.load(Relaxed);
            server.advance(Duration::from_nanos(3 * period));
            assert_eq!(seen.runs.load(Relaxed), runs, "{context}");
            match random.below(2) {
                0 => server.go_on_at_instants("r"),
                _ => {
                    server.passivate("r").unwrap();
                    assert!(server.boundary("r", true).is_passed(), "nothing works that could end");
                    server.activate("r").unwrap();
                }
            }
            server.advance(Duration::from_nanos(3 * period));
            assert!(seen.runs.load(Relaxed) > runs, "{context}");
        }
    }
    assert!(waited > 100, "{waited}");
}

#[test]
fn threads_come_to_the_last_interval_too() {
    let mut server = Server::new(&container::Locality::default());
    server.container("box", Policy { lanes: vec![(1, Threads::default())], ..Policy::default() }).unwrap();
    let seen = scene(&mut server, (2 * MS, 2 * MS), 0);
    for number in 1..=30 {
        joins::push(&server, "tap", number).unwrap();
        // One that goes on works on behind the boundary.
        let is_last = number % 3 > 0;
        server.await_boundary("r", is_last, Duration::from_secs(100)).unwrap();
        assert_eq!(seen.last.load(Relaxed), number);
        if is_last {
            assert_eq!(seen.runs.load(Relaxed), seen.count.load(Relaxed));
            server.passivate("r").unwrap();
            assert_eq!(seen.runs.load(Relaxed), seen.count.load(Relaxed));
            server.activate("r").unwrap();
        }
    }
    let read = seen.log.take();
    assert_eq!(read, (1..=30).map(|number| format!("read {number}")).collect::<Vec<_>>());
}

/// What a join has kept is part of no delivery until it comes back, also into a join that was made anew in between.
#[test]
fn what_joins_keep_is_set_aside_and_comes_back_whole() {
    let by = joins::pool(Some(Join { keep: Keep::First, within: None }));
    let (mut server, log) = joins::scene(&by);
    let connect = |server: &mut Server| {
        for (part, tap) in ["a", "b"].into_iter().enumerate() {
            let to = format!("sum.input#{part}");
            server.connect(tap, &[&format!("{tap}.out")], &[&to], &Direct::default()).unwrap();
        }
    };
    connect(&mut server);
    server.launch().unwrap();
    joins::push(&server, "b", 1).unwrap();
    assert_eq!(server.set_aside("join"), Ok(1));
    assert_eq!(server.set_aside("join"), Ok(0));
    joins::push(&server, "a", 2).unwrap();
    server.advance(Duration::ZERO);
    assert_eq!(log.take(), [""; 0]);
    // The join ends, and another channel with other numbers has the next one.
    for name in ["a", "b", "join"] {
        server.disconnect(name).unwrap();
    }
    server.connect("other", &["c.out"], &["sum.input"], &ByChannel::new(Dispatch::Pool)).unwrap();
    server.join("join", "sum.input", 2, &by).unwrap();
    connect(&mut server);
    server.put_back("join").unwrap();
    server.put_back("join").unwrap();
    joins::push(&server, "a", 3).unwrap();
    server.advance(Duration::ZERO);
    assert_eq!(log.take(), ["3 of part 0", "1 of part 1", "sum 4 at 0"]);
    // A join of another shape has no place for it.
    joins::push(&server, "a", 5).unwrap();
    assert_eq!(server.set_aside("join"), Ok(1));
    for name in ["a", "b", "join"] {
        server.disconnect(name).unwrap();
    }
    server.join("join", "sum.input", 2, &joins::pool(None)).unwrap();
    assert_eq!(server.put_back("join"), Err(ServerError::Unknown("join".to_owned())));
    assert_eq!(
        server.set_aside("out of the world"),
        Err(ServerError::Unknown("out of the world".to_owned()))
    );
}
