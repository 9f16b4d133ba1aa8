//! What no load changes: how often threads sleep for an event, and what becomes of it where there is too much. What events cost is counted in
//! instructions, in `instructions.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use container::{
    ByChannel, Component, Consumer, Context, Dispatch, Entry, Event, Full, Handle, Lifecycle, Locality,
    Order, Outcome, Policy, Publisher, Queue, Server, Service, Threads, Value,
};

/// One after the other: threads of one would be counted by the other.
static TURN: Mutex<()> = Mutex::new(());

#[derive(Clone)]
struct Payload([u8; 1_024]);
impl Event for Payload {}

#[derive(Component)]
struct Tap {
    out: Publisher<Payload>,
}
impl Lifecycle for Tap {}

/// Counts, for others to see.
#[derive(Component)]
struct Sum {
    input: Consumer<Payload>,
    count: Arc<AtomicU64>,
    sum: u64,
}
impl Lifecycle for Sum {}
impl Handle<sum::Input> for Sum {
    fn handle(&mut self, payload: &Payload, _: &Context) -> Outcome {
        self.sum = black_box(self.sum.wrapping_add(u64::from(payload.0[0])));
        self.count.fetch_add(1, Release);
        Ok(())
    }
}

/// A tap that is connected with so many consumers, which count together.
fn scene(server: &mut Server, consumers: usize, service: &dyn Service) -> (Entry<Tap>, Arc<AtomicU64>) {
    let policy = Policy { lanes: vec![(1, Threads::default())], ..Policy::default() };
    server.container("box", policy).unwrap();
    server.install::<Tap>("box", "tap", &[]).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let names: Vec<String> = (0..consumers).map(|number| format!("c{number}")).collect();
    for name in &names {
        server.install::<Sum>("box", name, &[]).unwrap();
        let own = Arc::clone(&count);
        server.entry::<Sum>(name).unwrap().with(|sum, _| sum.count = own).unwrap();
    }
    let ports: Vec<String> = names.iter().map(|name| format!("{name}.input")).collect();
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    server.connect("x", &["tap.out"], &ports, service).unwrap();
    server.launch().unwrap();
    (server.entry::<Tap>("tap").unwrap(), count)
}

/// How many times each thread of this process has gone to sleep, by its id.
fn sleeps() -> BTreeMap<OsString, u64> {
    let of = |task: DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        Some((task.file_name(), line.trim().parse().ok()?))
    };
    fs::read_dir("/proc/self/task").unwrap().flatten().filter_map(of).collect()
}

/// How often the calling thread has slept between two looks, and how often all others that were there at both.
fn between(before: &BTreeMap<OsString, u64>, after: &BTreeMap<OsString, u64>) -> [u64; 2] {
    let own = fs::read_link("/proc/thread-self").unwrap();
    let of = |name: &OsString| Some(after.get(name)?.saturating_sub(*before.get(name)?));
    let (mut mine, mut others) = (0, 0);
    for name in before.keys() {
        let sum = if Some(name.as_os_str()) == own.file_name() { &mut mine } else { &mut others };
        *sum += of(name).unwrap_or(0);
    }
    [mine, others]
}

/// However many consumers a lane has, its thread wakes once for an event, and who pushes does not sleep.
#[test]
fn a_lane_wakes_once_for_an_event_and_its_publisher_does_not_sleep() {
    const EVENTS: u64 = 2_000;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let payload = Payload([1; 1_024]);
    for consumers in [1, 32] {
        let mut server = Server::new(&Locality::default());
        let lane = ByChannel::new(Dispatch::Lane(1));
        let (tap, count) = scene(&mut server, consumers, &lane);
        let before = sleeps();
        for event in 1..=EVENTS {
            tap.with(|tap, at| tap.out.push(at, &payload)).unwrap().unwrap();
            while count.load(Acquire) < event * consumers as u64 {
                thread::yield_now();
            }
        }
        let after = sleeps();
        let [own, others] = between(&before, &after);
        println!("1:{consumers}: {EVENTS} events, {others} sleeps of the lane, {own} of the publisher");
        // A lock that its owner is preempted with is waited for.
        assert!(own <= EVENTS / 10, "1:{consumers}: the publisher slept {own} times");
        assert!(others <= EVENTS + EVENTS / 10, "1:{consumers}: the lane slept {others} times");
        server.stop().unwrap();
    }
}

/// How far the publisher of an overload is, and how many handlers have begun.
static PUSHED: AtomicU64 = AtomicU64::new(0);
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Handles one event while two are pushed; where publishers wait for it, it works for some time instead.
#[derive(Component)]
struct Slow {
    input: Consumer<Payload>,
    #[setting(default = false)]
    is_waited_for: bool,
    handled: u64,
}
impl Lifecycle for Slow {}
impl Handle<slow::Input> for Slow {
    fn handle(&mut self, _: &Payload, _: &Context) -> Outcome {
        self.handled += 1;
        BEGUN.store(self.handled, Release);
        if self.is_waited_for {
            (0..2_000).for_each(|number| {
                let _ = black_box(number);
            });
        }
        while !self.is_waited_for && PUSHED.load(Acquire) < OVERLOAD.min(2 * self.handled) {
            thread::yield_now();
        }
        Ok(())
    }
}

const OVERLOAD: u64 = 100;

/// Twice as many events as a consumer handles: none is lost, or as many as the policy counts.
#[test]
fn an_overload_of_two_loses_nothing_or_exactly_what_is_counted() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let payload = Payload([1; 1_024]);
    let depth = 16;
    let block = Full::Block { limit: 60_000_000_000 };
    for full in [block, Full::Reject, Full::DropOldest, Full::DropNewest] {
        let mut server = Server::new(&Locality::default());
        let policy = Policy { lanes: vec![(1, Threads::default())], ..Policy::default() };
        server.container("box", policy).unwrap();
        server.install::<Tap>("box", "tap", &[]).unwrap();
        let is_waited_for = full == block;
        let setting = ("is_waited_for", Value::Boolean(is_waited_for));
        server.install::<Slow>("box", "slow", &[setting]).unwrap();
        let queue = Queue { depth, full, order: Order::Fifo };
        let by = ByChannel { queue, ..ByChannel::new(Dispatch::Lane(1)) };
        server.connect("x", &["tap.out"], &["slow.input"], &by).unwrap();
        server.launch().unwrap();
        let tap = server.entry::<Tap>("tap").unwrap();
        PUSHED.store(0, Release);
        BEGUN.store(0, Release);
        let mut refused = 0;
        for number in 0..OVERLOAD {
            while !is_waited_for && number >= 2 * (BEGUN.load(Acquire) + 1) {
                thread::yield_now();
            }
            refused += u64::from(tap.with(|tap, at| tap.out.push(at, &payload)).unwrap().is_err());
            PUSHED.fetch_add(1, Release);
        }
        server.drain("slow", Duration::from_secs(60)).unwrap();
        let handled = server.entry::<Slow>("slow").unwrap().with(|slow, _| slow.handled).unwrap();
        let counts = server.deliveries("slow");
        println!("{full:?}: of {OVERLOAD} {handled} handled, {} dropped, {refused} refused", counts.dropped);
        assert_eq!(handled + counts.dropped + refused, OVERLOAD, "{full:?}: {counts:?}");
        assert_eq!((handled, counts.queued), (counts.taken, OVERLOAD - refused), "{full:?}");
        let (drops, refuses) = (counts.dropped > 0, refused > 0);
        let expected = (matches!(full, Full::DropOldest | Full::DropNewest), full == Full::Reject);
        assert_eq!((drops, refuses), expected, "{full:?}: {counts:?}");
        // Half of them, and what the queue and the worker, which takes several, hold at the end.
        let half = OVERLOAD / 2 - 1..=OVERLOAD / 2 + 2 * u64::from(depth);
        assert!(is_waited_for || half.contains(&handled), "{full:?}: {handled}");
        server.stop().unwrap();
    }
}
