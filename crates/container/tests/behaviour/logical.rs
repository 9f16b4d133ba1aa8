//! Logical execution time: what is published, and when, does not depend on how long handlers take and which of them runs first.
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use container::{
    ByChannel, Chain, Component, Consumer, Context, Direct, Dispatch, Every, Fault, Handle, Hop, Instants,
    Lifecycle, Outcome, Policy, Publisher, Server, ServerError, Threads, Tick, Timer,
};
use testkit::random::Random;

use crate::parts::{Log, Number, Tap};

/// Mixes what it reads with its own state at each instant.
#[derive(Component)]
struct Mixer {
    tick: Timer,
    left: Consumer<Number>,
    right: Consumer<Number>,
    out: Publisher<Number>,
    state: u64,
    /// How long its runs take, in nanoseconds, by turns.
    takes: Vec<u64>,
    runs: u64,
    log: Log,
    name: String,
}

impl Lifecycle for Mixer {}

impl Handle<mixer::Left> for Mixer {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.state = self.state.wrapping_mul(31).wrapping_add(number.0);
        Ok(())
    }
}

impl Handle<mixer::Right> for Mixer {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.state = self.state.wrapping_mul(37) ^ number.0;
        Ok(())
    }
}

impl Handle<mixer::Tick> for Mixer {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        if let Some(takes) = self.takes.get(self.runs as usize % self.takes.len().max(1)) {
            at.pass(Duration::from_nanos(*takes));
        }
        self.runs += 1;
        self.state = self.state.wrapping_add(1);
        self.log.write(format!("{} {} of {}", self.name, self.state, at.created()));
        self.out.push(at, &Number(self.state))
    }
}

/// Counts its instants, and publishes the number a while after each.
#[derive(Component)]
struct Noise {
    tick: Timer,
    out: Publisher<Number>,
    count: u64,
}

impl Lifecycle for Noise {}

impl Handle<noise::Tick> for Noise {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        at.pass(Duration::from_nanos(MS / 10));
        self.count += 1;
        self.out.push(at, &Number(self.count))
    }
}

/// Writes what comes, with the time.
#[derive(Component)]
struct Probe {
    input: Consumer<Number>,
    log: Log,
}

impl Lifecycle for Probe {}

impl Handle<probe::Input> for Probe {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        self.log.write(format!("{} at {}", number.0, at.now()));
        Ok(())
    }
}

const MS: u64 = 1_000_000;

pub(crate) fn instants(period: u64, interval: u64, lane: u8) -> Instants {
    let (period, interval) = (Duration::from_nanos(period), Duration::from_nanos(interval));
    Instants { period, interval, dispatch: Dispatch::Lane(lane), patience: None }
}

pub(crate) fn server() -> Server {
    let mut server = Server::simulated();
    let lane = Threads::fifo;
    let lanes = (1..=4).map(|number| (number, lane(number * 10))).collect();
    server.container("box", Policy { lanes, ..Policy::default() }).unwrap();
    server
}

pub(crate) fn mixer(server: &mut Server, name: &str, takes: &[u64], log: &Log) {
    server.install::<Mixer>("box", name, &[]).unwrap();
    let entry = server.entry::<Mixer>(name).unwrap();
    entry
        .with(|mixer, _| {
            (mixer.takes, mixer.log, mixer.name) = (takes.to_vec(), log.clone(), name.to_owned());
        })
        .unwrap();
}

pub(crate) fn at(server: &mut Server, name: &str, instants: Instants) -> Result<(), ServerError> {
    let (timer, left, right) = (format!("{name}.tick"), format!("{name}.left"), format!("{name}.right"));
    server.at_instants(&format!("instants of {name}"), &timer, &[&left, &right], instants)
}

fn push(server: &Server, number: u64) {
    server.entry::<Tap>("tap").unwrap().with(|tap, at| tap.out.push(at, &Number(number))).unwrap().unwrap();
}

#[test]
fn a_run_reads_as_it_is_due_and_publishes_as_its_interval_ends() {
    let (mut server, log, probed) = (server(), Log::default(), Log::default());
    server.install::<Tap>("box", "tap", &[]).unwrap();
    server.install::<Probe>("box", "probe", &[]).unwrap();
    server.entry::<Probe>("probe").unwrap().with(|probe, _| probe.log = probed.clone()).unwrap();
    mixer(&mut server, "m", &[2 * MS], &log);
    at(&mut server, "m", instants(10 * MS, 6 * MS, 1)).unwrap();
    server.connect("left", &["tap.out"], &["m.left"], &Direct::default()).unwrap();
    server.connect("out", &["m.out"], &["probe.input"], &ByChannel::new(Dispatch::Lane(2))).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_millis(4));
    push(&server, 1);
    push(&server, 5);
    server.advance(Duration::from_millis(5));
    // The last one before the instant at 10 counts; it is mixed once.
    assert!(log.take().is_empty());
    server.advance(Duration::from_millis(1));
    assert_eq!((log.take().join(";"), server.now()), ("m 6 of 10000000".to_owned(), 12 * MS));
    push(&server, 100);
    server.advance(Duration::from_millis(3));
    assert!(probed.take().is_empty());
    server.advance(Duration::from_millis(1));
    assert_eq!(probed.take(), ["6 at 16000000"]);
    server.advance(Duration::from_millis(10));
    assert_eq!(log.take(), [format!("m {} of 20000000", 6 * 31 + 100 + 1)]);
    assert_eq!(probed.take(), [format!("{} at 26000000", 6 * 31 + 100 + 1)]);
    assert_eq!(server.next_report(Duration::ZERO), None);
}

#[test]
fn what_has_come_for_an_instant_is_dropped_for_the_component_alone_that_begins_anew() {
    let (mut server, log) = (server(), Log::default());
    server.install::<Tap>("box", "tap", &[]).unwrap();
    for name in ["m", "n"] {
        mixer(&mut server, name, &[], &log);
        at(&mut server, name, instants(10 * MS, 10 * MS, 1)).unwrap();
    }
    server.connect("left", &["tap.out"], &["m.left", "n.left"], &Direct::default()).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_millis(4));
    push(&server, 5);
    server.passivate("m").unwrap();
    server.activate_anew("m").unwrap();
    server.advance(Duration::from_millis(6));
    let mut lines = log.take();
    lines.sort();
    assert_eq!(lines, ["m 1 of 10000000", "n 6 of 10000000"]);
}

#[test]
fn a_run_that_is_too_long_publishes_as_it_ends_and_says_so() {
    let (mut server, log, probed) = (server(), Log::default(), Log::default());
    server.install::<Probe>("box", "probe", &[]).unwrap();
    server.entry::<Probe>("probe").unwrap().with(|probe, _| probe.log = probed.clone()).unwrap();
    mixer(&mut server, "m", &[2 * MS, 2 * MS, MS], &log);
    mixer(&mut server, "busy", &[9 * MS, 0, 0, 0, 0, 0, 0], &log);
    at(&mut server, "busy", instants(10 * MS, 10 * MS, 4)).unwrap();
    at(&mut server, "m", instants(10 * MS, 5 * MS, 1)).unwrap();
    server.connect("out", &["m.out"], &["probe.input"], &ByChannel::new(Dispatch::Pool)).unwrap();
    server.launch().unwrap();
    // `busy` runs first, until 19: `m` ends at 21, 6 late. Then both have time.
    server.advance(Duration::from_millis(60));
    let lines = probed.take();
    assert_eq!(lines[0], "1 at 21000000");
    assert!(lines[1..].iter().all(|line| line.ends_with("5000000")), "{lines:?}");
    let interval = Duration::from_millis(5);
    let report = server.next_report(Duration::ZERO).unwrap();
    assert_eq!((report.of.as_str(), report.fault), ("m.tick", Fault::Overrun { interval }));
}

#[test]
fn what_cannot_be_had_is_refused() {
    let (mut server, log) = (server(), Log::default());
    mixer(&mut server, "m", &[], &log);
    mixer(&mut server, "n", &[], &log);
    for (instants, wanted) in [
        (instants(10, 11, 1), "not longer than the period"),
        (instants(10, 0, 1), "more than 0"),
        (Instants { dispatch: Dispatch::Publisher, ..instants(10, 10, 1) }, "needs a lane"),
    ] {
        let refused = at(&mut server, "m", instants).unwrap_err().to_string();
        assert!(refused.contains(wanted), "{refused}");
    }
    let other = server.at_instants("x", "m.tick", &["n.left"], instants(10, 10, 1));
    assert_eq!(other, Err(ServerError::Unknown("n.left beside m.tick".to_owned())));
    let none = server.at_instants("x", "m.left", &[], instants(10, 10, 1)).unwrap_err().to_string();
    assert!(none.contains("m.left is of"), "{none}");
    at(&mut server, "m", instants(10, 10, 1)).unwrap();
    assert_eq!(
        at(&mut server, "m", instants(10, 10, 1)),
        Err(ServerError::Twice("instants of m".to_owned()))
    );
    // Once it is disconnected what comes is handled as it comes.
    server.disconnect("instants of m").unwrap();
    server.install::<Tap>("box", "tap", &[]).unwrap();
    server.connect("left", &["tap.out"], &["m.left"], &Direct::default()).unwrap();
    server.launch().unwrap();
    push(&server, 3);
    assert_eq!(server.entry::<Mixer>("m").unwrap().with(|mixer, _| mixer.state).unwrap(), 3);
}

#[test]
fn a_chain_ends_when_its_answer_is_published() {
    let mut server = server();
    let hop = |port: &str, connections: &[&str], samples| Hop {
        port: port.to_owned(),
        connections: connections.iter().map(|name| (*name).to_owned()).collect(),
        samples,
    };
    let hops = vec![
        hop("first.tick", &["instants of first"], false),
        hop("last.left", &["first", "instants of last"], false),
        hop("last.tick", &["instants of last"], true),
    ];
    let limit = Some(Duration::from_millis(100));
    let period = Some(Duration::from_millis(10));
    server
        .follow(Chain {
            name: "chain".to_owned(),
            reaction: limit,
            age: limit,
            period,
            hops,
            connection: None,
        })
        .unwrap();
    let log = Log::default();
    mixer(&mut server, "first", &[MS], &log);
    mixer(&mut server, "last", &[MS], &log);
    at(&mut server, "first", instants(10 * MS, 4 * MS, 1)).unwrap();
    at(&mut server, "last", instants(20 * MS, 7 * MS, 2)).unwrap();
    server.connect("first", &["first.out"], &["last.left"], &Direct::default()).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_millis(60));
    let score = &server.chains()[0];
    // Due at 10, published at 14, read at 20, published at 27. What is due at 20 waits until 40 for that.
    assert_eq!(
        (score.age.worst, score.reaction.worst),
        (Duration::from_millis(17), Duration::from_millis(27))
    );
}

/// A network of mixers with periods that fit into each other, whose runs take times that are drawn: the same numbers come out at the same
/// instants, whatever is drawn. What comes right after an instant, here from a timer without logical execution time, is read at the next.
#[test]
fn outputs_do_not_depend_on_the_times_that_runs_take() {
    for seed in tiers::current().seeds("container.chains") {
        let plain = play(seed, None);
        assert!(plain.len() >= 8, "{plain:?}");
        for other in 0..3 {
            assert_eq!(plain, play(seed, Some(other)), "seed {seed}, times {other}");
        }
    }
}

fn play(seed: u64, times: Option<u64>) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut drawn = times.map(|times| Random::new(seed.wrapping_mul(7).wrapping_add(times + 1)));
    let (mut server, log) = (server(), Log::default());
    let count = 2 + random.below(4);
    let names: Vec<String> = (0..count).map(|number| format!("m{number}")).collect();
    for name in &names {
        let period = [4, 8, 16][random.below(3)] * MS;
        // All together they take less than the shortest interval.
        let takes: Vec<u64> = match &mut drawn {
            Some(drawn) => (0..5).map(|_| drawn.below_u64(MS / 4)).collect(),
            None => Vec::new(),
        };
        let lane = drawn.as_mut().map_or(1, |drawn| 1 + drawn.below(4) as u8);
        mixer(&mut server, name, &takes, &log);
        let interval = [2 * MS, period][random.below(2)];
        at(&mut server, name, instants(period, interval, lane)).unwrap();
    }
    server.install::<Noise>("box", "noise", &[]).unwrap();
    let lane = drawn.as_mut().map_or(1, |drawn| 1 + drawn.below(4) as u8);
    let every = Every { period: Duration::from_millis(4), dispatch: Dispatch::Lane(lane), patience: None };
    server.every("noise", "noise.tick", every).unwrap();
    let noisy = format!("{}.right", names[random.below(count)]);
    server.connect("noisy", &["noise.out"], &[&noisy], &Direct::default()).unwrap();
    for number in 0..2 * count {
        let (from, to) = (&names[random.below(count)], &names[random.below(count)]);
        let port = ["left", "right"][random.below(2)];
        let name = format!("l{number}");
        server
            .connect(&name, &[&format!("{from}.out")], &[&format!("{to}.{port}")], &Direct::default())
            .unwrap();
    }
    server.launch().unwrap();
    let mut lines = Vec::new();
    for step in 1..=16 {
        server.advance(Duration::from_nanos((step * 4 * MS).saturating_sub(server.now())));
        let mut step = log.take();
        // Which of the runs of one instant is first is free.
        step.sort();
        lines.extend(step);
    }
    lines.sort_by_key(|line| line.rsplit(' ').next().and_then(|at| at.parse::<u64>().ok()));
    lines
}

#[test]
fn a_thread_keeps_the_instants_with_the_clock_of_the_system() {
    let mut server = Server::new(&container::Locality::default());
    server.container("box", Policy { lanes: vec![(1, Threads::default())], ..Policy::default() }).unwrap();
    let log = Log::default();
    mixer(&mut server, "m", &[], &log);
    server.install::<Counting>("box", "c", &[]).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    server.entry::<Counting>("c").unwrap().with(|it, _| it.count = Arc::clone(&count)).unwrap();
    at(&mut server, "m", instants(5 * MS, 5 * MS, 1)).unwrap();
    server.connect("out", &["m.out"], &["c.input"], &Direct::default()).unwrap();
    server.launch().unwrap();
    testkit::patience::patiently("ten runs are published", || (count.load(Relaxed) >= 10).then_some(()));
    server.stop().unwrap();
    let ended = count.load(Relaxed);
    drop(server);
    assert!(log.take().len() as u64 >= ended);
}

/// Counts what comes.
#[derive(Component)]
struct Counting {
    input: Consumer<Number>,
    count: Arc<AtomicU64>,
}

impl Lifecycle for Counting {}

impl Handle<counting::Input> for Counting {
    fn handle(&mut self, _: &Number, _: &Context) -> Outcome {
        self.count.fetch_add(1, Relaxed);
        Ok(())
    }
}
