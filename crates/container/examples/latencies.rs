//! How long events take from just before the push to the handler of the last consumer, 1:1 and 1:32, by each service, beside floors of the
//! same run: docs/measurements/components.md.
//!
//! `cargo run --release --package punctual-container --example latencies -- [iterations] [one-core]`
//!
//! With `one-core`, all threads are on the core on which the program was started (`taskset --cpu-list 0`): the thread that pushes sleeps until the
//! last consumer has been reached, and only lanes whose threads sleep are measured.
use std::error::Error;
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::Thread;
use std::time::{Duration, Instant};

use container::{
    ByChannel, Component, Consumer, Context, Direct, Dispatch, Event, Handle, Lifecycle, Locality, Outcome,
    Policy, Publisher, Server, Service, Threads, Value, filter,
};

/// A payload that no way copies needlessly.
#[derive(Clone)]
struct Payload([u8; 1_024]);

impl Event for Payload {
    fn field(&self, _: u32) -> Option<filter::Value<'_>> {
        self.0.first().map(|first| filter::Value::Unsigned((*first).into()))
    }

    fn schema() -> Option<&'static dyn filter::Schema> {
        Some(&Known)
    }
}

/// Its fields: the first byte.
struct Known;

impl filter::Schema for Known {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "first").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }

    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

#[derive(Component)]
struct Tap {
    out: Publisher<Payload>,
}
impl Lifecycle for Tap {}

/// The last consumer stamps.
#[derive(Component)]
struct Taker {
    input: Consumer<Payload>,
    #[setting]
    is_last: bool,
    clock: Stamp,
    sum: u64,
}
impl Lifecycle for Taker {}
impl Handle<taker::Input> for Taker {
    fn handle(&mut self, payload: &Payload, _: &Context) -> Outcome {
        self.sum = self.sum.wrapping_add(u64::from(payload.0[0]));
        if self.is_last {
            self.clock.set();
        }
        Ok(())
    }
}

/// When the last consumer was reached, in nanoseconds since the start; 0 is not yet.
#[derive(Clone)]
struct Stamp {
    start: Instant,
    at: Arc<AtomicU64>,
    /// The thread that waits for it if it sleeps meanwhile.
    sleeper: Option<Thread>,
}

impl Default for Stamp {
    fn default() -> Self {
        Self { start: Instant::now(), at: Arc::default(), sleeper: None }
    }
}

impl Stamp {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// One for which the calling thread waits, and sleeps meanwhile.
    fn asleep() -> Self {
        Self { sleeper: Some(std::thread::current()), ..Self::default() }
    }

    fn set(&self) {
        self.at.store(self.now(), Release);
        if let Some(thread) = &self.sleeper {
            thread.unpark();
        }
    }

    /// Waits for it, and takes it back.
    fn wait(&self) -> u64 {
        loop {
            match self.at.swap(0, Acquire) {
                0 if self.sleeper.is_some() => std::thread::park(),
                0 => spin_loop(),
                at => return at,
            }
        }
    }
}

/// So long passes between two events for another thread, which sleeps by then.
const PAUSE: Duration = Duration::from_micros(50);

/// Median and 99th percentile of what is tried so often, after a tenth of it.
fn quantiles(iterations: usize, pause: Duration, mut once: impl FnMut() -> u64) -> (u64, u64) {
    let mut paced = || {
        let begun = Instant::now();
        while begun.elapsed() < pause {
            spin_loop();
        }
        once()
    };
    for _ in 0..iterations / 10 {
        black_box(paced());
    }
    let mut all: Vec<u64> = (0..iterations).map(|_| paced()).collect();
    all.sort_unstable();
    let at = |share: usize| all.get((all.len() - 1) * share / 100).copied().unwrap_or(0);
    (at(50), at(99))
}

/// What a program would have without components.
trait Takes {
    fn take(&mut self, payload: &Payload);
}
struct Bare(bool, Stamp, u64);
impl Takes for Bare {
    fn take(&mut self, payload: &Payload) {
        self.2 = self.2.wrapping_add(u64::from(payload.0[0]));
        if self.0 {
            self.1.set();
        }
    }
}

fn bare(iterations: usize, count: usize) -> (u64, u64) {
    let stamp = Stamp::default();
    let mut all: Vec<Box<dyn Takes>> = (0..count)
        .map(|number| Box::new(Bare(number + 1 == count, stamp.clone(), 0)) as Box<dyn Takes>)
        .collect();
    let payload = Payload([1; 1_024]);
    quantiles(iterations, Duration::ZERO, || {
        let before = stamp.now();
        all.iter_mut().for_each(|one| one.take(black_box(&payload)));
        stamp.wait() - before
    })
}

/// A thread that sleeps is woken, and stamps.
fn wake_up(iterations: usize, pause: Duration, stamp: Stamp) -> (u64, u64) {
    let other = stamp.clone();
    let thread = std::thread::spawn(move || {
        loop {
            std::thread::park();
            if Arc::strong_count(&other.at) == 1 {
                return;
            }
            other.set();
        }
    });
    let found = quantiles(iterations, pause, || {
        let before = stamp.now();
        thread.thread().unpark();
        stamp.wait() - before
    });
    drop(stamp);
    thread.thread().unpark();
    let _ = thread.join();
    found
}

/// A thread that looks again and again is told, and stamps.
fn awake(iterations: usize) -> (u64, u64) {
    let stamp = Stamp::default();
    let (other, told) = (stamp.clone(), Arc::new(AtomicU64::new(0)));
    let tells = Arc::clone(&told);
    let thread = std::thread::spawn(move || {
        loop {
            match told.swap(0, Acquire) {
                0 => spin_loop(),
                1 => other.set(),
                _ => return,
            }
        }
    });
    let found = quantiles(iterations, PAUSE, || {
        let before = stamp.now();
        tells.store(1, Release);
        stamp.wait() - before
    });
    tells.store(2, Release);
    let _ = thread.join();
    found
}

/// The last of so many consumers takes the time; beside them there are some whose filters the event misses.
fn components(
    iterations: usize,
    pause: Duration,
    (count, misses): (usize, usize),
    service: &dyn Service,
    stamp: Stamp,
) -> Result<(u64, u64), Box<dyn Error>> {
    let mut server = Server::new(&Locality::default());
    let awake = Threads { spin: Duration::from_secs(1), ..Threads::default() };
    let lanes = vec![(1, Threads::default()), (2, awake)];
    server.container("box", Policy { lanes, ..Policy::default() })?;
    server.install::<Tap>("box", "tap", &[])?;
    let mut ports = Vec::new();
    for number in 1..=count {
        let name = format!("t{number}");
        server.install::<Taker>("box", &name, &[("is_last", Value::Boolean(number == count))])?;
        server.entry::<Taker>(&name).ok_or("no taker")?.with(|taker, _| taker.clock = stamp.clone())?;
        ports.push(format!("{name}.input"));
    }
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    server.connect("x", &["tap.out"], &ports, service)?;
    let missed = ByChannel { filter: Some("first > 5".to_owned()), ..ByChannel::new(Dispatch::Publisher) };
    let names: Vec<String> = (0..misses).map(|number| format!("m{number}")).collect();
    for name in &names {
        server.install::<Taker>("box", name, &[])?;
    }
    let unmet: Vec<String> = names.iter().map(|name| format!("{name}.input")).collect();
    if misses > 0 {
        let unmet: Vec<&str> = unmet.iter().map(String::as_str).collect();
        server.connect("y", &["tap.out"], &unmet, &missed)?;
    }
    server.launch()?;
    let tap = server.entry::<Tap>("tap").ok_or("no tap")?;
    let payload = Payload([1; 1_024]);
    let found = quantiles(iterations, pause, || {
        let pushed = tap.with(|tap, at| {
            let before = stamp.now();
            tap.out.push(at, &payload).map(|()| before)
        });
        match pushed {
            Ok(Ok(before)) => stamp.wait() - before,
            _ => u64::MAX,
        }
    });
    server.stop()?;
    Ok(found)
}

fn main() -> Result<(), Box<dyn Error>> {
    let iterations = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 100_000,
    };
    let is_one_core = std::env::args().nth(2).is_some_and(|word| word == "one-core");
    println!("{:32} {:>10} {:>10} {:>14}", "", "p50 ns", "p99 ns", "p50 / floor");
    if is_one_core { one_core(iterations) } else { several_cores(iterations) }
}

fn line(name: &str, (median, tail): (u64, u64), floor: u64) {
    println!("{name:32} {median:>10} {tail:>10} {:>14.2}", median as f64 / floor.max(1) as f64);
}

fn one_core(iterations: usize) -> Result<(), Box<dyn Error>> {
    let lane = ByChannel::new(Dispatch::Lane(1));
    // In turn, since a loaded machine drifts.
    for _ in 0..3 {
        let wake = wake_up(iterations, Duration::ZERO, Stamp::asleep());
        line("a thread is woken", wake, wake.0);
        for count in [1, 32] {
            let found = components(iterations, Duration::ZERO, (count, 0), &lane, Stamp::asleep())?;
            line(&format!("channel, lane, 1:{count}"), found, wake.0);
        }
    }
    Ok(())
}

fn several_cores(iterations: usize) -> Result<(), Box<dyn Error>> {
    let here = ByChannel::new(Dispatch::Publisher);
    let lane = ByChannel::new(Dispatch::Lane(1));
    let floors = [1, 32].map(|count| bare(iterations, count));
    let wake = wake_up(iterations, PAUSE, Stamp::default());
    let measured = |pause, consumers, service: &dyn Service| {
        components(iterations, pause, consumers, service, Stamp::default())
    };
    for (count, floor) in [1, 32].into_iter().zip(floors) {
        line(&format!("bare calls, 1:{count}"), floor, floor.0);
        let direct = measured(Duration::ZERO, (count, 0), &Direct::default())?;
        line(&format!("direct, 1:{count}"), direct, floor.0);
        let channel = measured(Duration::ZERO, (count, 0), &here)?;
        line(&format!("channel, same thread, 1:{count}"), channel, floor.0);
    }
    line("a thread is woken", wake, wake.0);
    for count in [1, 32] {
        line(&format!("channel, lane, 1:{count}"), measured(PAUSE, (count, 0), &lane)?, wake.0);
    }
    for misses in [1, 33] {
        let found = measured(Duration::ZERO, (1, misses), &here)?;
        line(&format!("channel, same thread, 1:1, {misses} miss"), found, floors[0].0);
    }
    let looks = awake(iterations);
    line("a thread that looks is told", looks, looks.0);
    let awake = ByChannel::new(Dispatch::Lane(2));
    for count in [1, 32] {
        line(&format!("channel, lane awake, 1:{count}"), measured(PAUSE, (count, 0), &awake)?, looks.0);
    }
    Ok(())
}
