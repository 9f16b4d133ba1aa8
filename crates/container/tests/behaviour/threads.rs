//! Lanes with threads.
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use container::{
    ByChannel, Component, Consumer, Context, Dispatch, Every, Failure, Fault, Full, Handle, Lifecycle,
    Locality, Order, Outcome, Policy, Publisher, Queue, Scheduling, Server, State, Threads, Value,
};

use testkit::patience::patiently;

use crate::parts::{Counter, Number, Source, Tap};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells each number and the thread; may wait before.
#[derive(Component)]
struct Teller {
    input: Consumer<Number>,
    other: Consumer<Number>,
    tell: Option<Sender<(u64, String)>>,
    waits: Option<Arc<Mutex<Receiver<()>>>>,
    inside: Arc<Mutex<()>>,
}

impl Teller {
    fn tell(&mut self, number: &Number) {
        // Serialised: no other handler runs.
        let _alone = self.inside.try_lock().unwrap();
        if let Some(waits) = &self.waits {
            let _ = waits.lock().unwrap().recv();
        }
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let thread = if thread.is_empty() {
            std::fs::read_to_string("/proc/thread-self/comm").unwrap().trim().to_owned()
        } else {
            thread
        };
        self.tell.as_ref().unwrap().send((number.0, thread)).unwrap();
    }
}

impl Lifecycle for Teller {}

impl Handle<teller::Input> for Teller {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.tell(number);
        Ok(())
    }
}

impl Handle<teller::Other> for Teller {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.tell(number);
        Ok(())
    }
}

fn threads(count: u16) -> Threads {
    Threads { count, ..Threads::default() }
}

fn server() -> (Server, Receiver<(u64, String)>) {
    let mut server = Server::new(&Locality::default());
    let lanes = vec![(1, threads(1)), (2, threads(2))];
    server.container("box", Policy { lanes, pool: threads(2), ..Policy::default() }).unwrap();
    server.install::<Tap>("box", "s", &[]).unwrap();
    server.install::<Teller>("box", "t", &[]).unwrap();
    let (tell, told) = channel();
    server.entry::<Teller>("t").unwrap().with(|teller, _| teller.tell = Some(tell)).unwrap();
    (server, told)
}

fn push(server: &Server, number: u64) -> Outcome {
    server.entry::<Tap>("s").unwrap().with(|tap, at| tap.out.push(at, &Number(number))).unwrap()
}

/// Waits for what nothing tells.
fn until(what: &str, is_so: impl Fn() -> bool) {
    patiently(what, || is_so().then_some(()));
}

/// How many threads of this process have a name that begins so.
fn named(start: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .filter(|task| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with(start))
        })
        .count()
}

#[test]
fn each_kind_of_dispatch_has_its_thread() {
    for (dispatch, thread) in [
        (Dispatch::Lane(1), "box-1"),
        (Dispatch::Pool, "box-pool"),
        (Dispatch::Deadline, "box-edf"),
        (Dispatch::Own, "t.input"),
    ] {
        let (mut server, told) = server();
        server.connect("x", &["s.out"], &["t.input"], &ByChannel::new(dispatch)).unwrap();
        server.launch().unwrap();
        for number in 0..5 {
            push(&server, number).unwrap();
            assert_eq!(told.recv_timeout(PATIENCE).unwrap(), (number, thread.to_owned()), "{dispatch:?}");
        }
    }
}

#[test]
fn a_lane_that_no_connection_names_has_no_thread_and_what_ends_takes_its_threads_along() {
    let mut server = Server::new(&Locality::default());
    let lanes = vec![(1, threads(1)), (2, threads(2))];
    server.container("few", Policy { lanes, pool: threads(3), ..Policy::default() }).unwrap();
    server.install::<Tap>("few", "s", &[]).unwrap();
    server.install::<Counter>("few", "c", &[]).unwrap();
    server.connect("d", &["s.out"], &["c.input"], &container::Direct::default()).unwrap();
    server.launch().unwrap();
    assert_eq!(named("few-"), 0);
    assert!(!server.container_of("c").unwrap().has_channel());
    server.connect("x", &["s.out"], &["c.input"], &ByChannel::new(Dispatch::Lane(2))).unwrap();
    // Threads have their names before they do anything.
    until("threads with their names", || named("few-2") == 2);
    assert_eq!((named("few-"), named("few-2")), (2, 2));
    server.disconnect("x").unwrap();
    // The kernel lists a thread for a moment after it was joined.
    until("threads that end", || named("few-") == 0);
    assert!(!server.container_of("c").unwrap().has_channel());
}

#[test]
fn a_thread_that_looks_for_work_awake_serves_keeps_time_and_ends() {
    let (mut server, log) = (Server::new(&Locality::default()), crate::parts::Log::default());
    // Longer than the test, so that it does not sleep, except as long as nothing has come yet.
    let lane = Threads { spin: PATIENCE, ..threads(1) };
    server.container("awake", Policy { lanes: vec![(1, lane)], ..Policy::default() }).unwrap();
    server.install::<Tap>("awake", "s", &[]).unwrap();
    let name = [("name", Value::Text("a".to_owned()))];
    server.install::<crate::parts::Relay>("awake", "a", &name).unwrap();
    server.entry::<crate::parts::Relay>("a").unwrap().with(|relay, _| relay.log = log.clone()).unwrap();
    let service = ByChannel { silence: Some(Duration::from_millis(1)), ..ByChannel::new(Dispatch::Lane(1)) };
    server.connect("x", &["s.out"], &["a.input"], &service).unwrap();
    server.launch().unwrap();
    let mut lines = Vec::new();
    for number in 0..20 {
        push(&server, number).unwrap();
        let line = format!("a {number}");
        patiently(&line, || {
            lines.extend(log.take());
            lines.contains(&line).then_some(())
        });
    }
    patiently("a timeout", || {
        lines.extend(log.take());
        lines.contains(&"a timeout 0".to_owned()).then_some(())
    });
    server.disconnect("x").unwrap();
    until("threads that end", || named("awake-") == 0);
}

#[test]
fn what_was_taken_for_a_component_that_is_suspended_then_waits_and_is_not_missed() {
    let mut server = Server::new(&Locality::default());
    server.container("box", Policy { lanes: vec![(1, threads(1))], ..Policy::default() }).unwrap();
    server.install::<Tap>("box", "s", &[]).unwrap();
    let (tell, told) = channel();
    let (go, waits) = channel();
    for name in ["t", "u"] {
        server.install::<Teller>("box", name, &[]).unwrap();
        server.entry::<Teller>(name).unwrap().with(|teller, _| teller.tell = Some(tell.clone())).unwrap();
    }
    let waits = Some(Arc::new(Mutex::new(waits)));
    server.entry::<Teller>("t").unwrap().with(|teller, _| teller.waits = waits).unwrap();
    server.connect("x", &["s.out"], &["t.input", "u.input"], &ByChannel::new(Dispatch::Lane(1))).unwrap();
    server.launch().unwrap();
    push(&server, 1).unwrap();
    // The lane has taken for both, and is in the handler of the first one.
    until("both are taken", || server.deliveries("u").taken == 1);
    server.suspend("u").unwrap();
    push(&server, 2).unwrap();
    (0..2).for_each(|_| go.send(()).unwrap());
    assert_eq!([1, 2], [told.recv_timeout(PATIENCE).unwrap().0, told.recv_timeout(PATIENCE).unwrap().0]);
    until("what was taken is given back", || server.deliveries("u").taken == 0);
    assert_eq!(server.counts("u").unwrap().missed, 0);
    server.resume("u").unwrap();
    assert_eq!([1, 2], [told.recv_timeout(PATIENCE).unwrap().0, told.recv_timeout(PATIENCE).unwrap().0]);
    assert_eq!(server.counts("u").unwrap().missed, 0);
}

#[test]
fn two_lanes_into_one_component_are_serialised() {
    let (mut server, told) = server();
    let many = Queue { depth: 2_000, full: Full::Reject, order: Order::Fifo };
    for (name, port, dispatch) in [("x", "t.input", Dispatch::Lane(1)), ("y", "t.other", Dispatch::Lane(2))] {
        let service = ByChannel { queue: many, ..ByChannel::new(dispatch) };
        server.connect(name, &["s.out"], &[port], &service).unwrap();
    }
    server.launch().unwrap();
    (0..1_000).for_each(|number| push(&server, number).unwrap());
    let mut lanes = [Vec::new(), Vec::new()];
    for _ in 0..2_000 {
        let (number, thread) = told.recv_timeout(PATIENCE).unwrap();
        lanes[usize::from(thread == "box-2")].push(number);
    }
    // No handler found another one inside, which would have been a panic; and each lane kept the order.
    assert_eq!(lanes, [(0..1_000).collect::<Vec<_>>(), (0..1_000).collect::<Vec<_>>()]);
    assert_eq!(server.state("t"), Some(State::Active));
}

#[test]
fn a_parallel_component_is_on_two_threads_at_once() {
    let (mut server, _told) = server();
    server.install::<Counter>("box", "c", &[]).unwrap();
    // Each handler waits until the other one is there.
    let meet = Arc::new(Barrier::new(2));
    let entry = server.entry::<Counter>("c").unwrap();
    let sum = entry
        .with(|counter, _| {
            counter.meet = Some(meet);
            Arc::clone(&counter.sum)
        })
        .unwrap();
    server.connect("x", &["s.out"], &["c.input"], &ByChannel::new(Dispatch::Pool)).unwrap();
    server.launch().unwrap();
    (1..=4).for_each(|number| push(&server, number).unwrap());
    until("handlers that have met", || sum.load(SeqCst) == 10);
}

#[test]
fn a_publisher_waits_for_room_and_gives_up() {
    let (mut server, told) = server();
    let (go, waits) = channel();
    let waits = Some(Arc::new(Mutex::new(waits)));
    server.entry::<Teller>("t").unwrap().with(|teller, _| teller.waits = waits).unwrap();
    let queue = |limit| Queue { depth: 1, full: Full::Block { limit }, order: Order::Fifo };
    let waiting = ByChannel { queue: queue(60_000_000_000), ..ByChannel::new(Dispatch::Lane(1)) };
    server.connect("x", &["s.out"], &["t.input"], &waiting).unwrap();
    server.launch().unwrap();
    let server = Arc::new(server);
    let pushes = Arc::clone(&server);
    // One is in the handler, one in the queue; the third waits until the first is done.
    let thread = std::thread::spawn(move || (0..3).map(|number| push(&pushes, number)).collect::<Vec<_>>());
    for number in 0..3 {
        go.send(()).unwrap();
        assert_eq!(told.recv_timeout(PATIENCE).unwrap().0, number);
    }
    assert_eq!(thread.join().unwrap(), [Ok(()), Ok(()), Ok(())]);
    let mut server = Arc::into_inner(server).unwrap();
    server.disconnect("x").unwrap();
    let late = ByChannel { queue: queue(1_000_000), ..ByChannel::new(Dispatch::Lane(1)) };
    server.connect("x", &["s.out"], &["t.input"], &late).unwrap();
    let mut outcomes = Vec::new();
    while outcomes.last() != Some(&Err(Failure::Late)) && outcomes.len() < 4 {
        outcomes.push(push(&server, outcomes.len() as u64));
    }
    assert_eq!(outcomes.last(), Some(&Err(Failure::Late)), "{outcomes:?}");
    drop(go);
}

#[test]
fn timers_tick_on_a_lane() {
    let (mut server, told) = server();
    server.install::<Source>("box", "source", &[]).unwrap();
    let every = Every { period: Duration::from_micros(200), dispatch: Dispatch::Lane(2), patience: None };
    server.every("tick", "source.tick", every).unwrap();
    server.connect("out", &["source.out"], &["t.input"], &ByChannel::new(Dispatch::Lane(1))).unwrap();
    server.connect("one", &["source.one"], &["t.other"], &ByChannel::new(Dispatch::Lane(1))).unwrap();
    server.launch().unwrap();
    // The lane that takes may be late, and then its queue drops the oldest.
    let mut last = 0;
    for _ in 0..20 {
        let (number, thread) = told.recv_timeout(PATIENCE).unwrap();
        assert_eq!(thread, "box-1");
        assert!(number > last, "{number} after {last}");
        last = number;
    }
    server.stop().unwrap();
}

#[test]
fn a_handler_that_hangs_is_the_error_state_and_others_go_on() {
    let (mut server, told) = server();
    let (go, waits) = channel();
    let waits = Some(Arc::new(Mutex::new(waits)));
    server.entry::<Teller>("t").unwrap().with(|teller, _| teller.waits = waits).unwrap();
    server.install::<Teller>("box", "other", &[]).unwrap();
    let (tell, others) = channel();
    server.entry::<Teller>("other").unwrap().with(|teller, _| teller.tell = Some(tell)).unwrap();
    let by = ByChannel::new(Dispatch::Lane(2));
    let service = ByChannel { patience: Some(Duration::from_millis(5)), ..by.clone() };
    server.connect("x", &["s.out"], &["t.input"], &service).unwrap();
    // Without a limit, since its thread may be late without any fault of its own.
    server.connect("y", &["s.out"], &["other.input"], &by).unwrap();
    server.launch().unwrap();
    push(&server, 1).unwrap();
    // The thread that sleeps looks after the time: no push and no question is needed.
    let report = server.next_report(PATIENCE).unwrap();
    assert_eq!(
        (report.of.as_str(), &report.fault),
        ("t", &Fault::Silent { limit: Duration::from_millis(5) })
    );
    assert_eq!(server.state("t"), Some(State::Error));
    push(&server, 2).unwrap();
    let numbers: Vec<_> = (0..2).map(|_| others.recv_timeout(PATIENCE).unwrap().0).collect();
    assert_eq!(numbers, [1, 2]);
    drop(go);
    // What it was given before is done; nothing more comes.
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().0, 1);
    server.stop().unwrap();
    assert!(told.try_recv().is_err());
}

/// Publishes to itself by two lanes of different priorities: the publisher and the consumers share no lock with the channel.
#[derive(Component)]
struct Circle {
    input: Consumer<Number>,
    out: Publisher<Number>,
    done: Option<Sender<u64>>,
}

impl Lifecycle for Circle {}

impl Handle<circle::Input> for Circle {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        if number.0 == 0 {
            self.done.as_ref().unwrap().send(at.created()).unwrap();
            return Ok(());
        }
        self.out.push(at, &Number(number.0 - 1))
    }
}

#[test]
fn events_keep_the_time_of_what_led_to_them() {
    let (mut server, _told) = server();
    server.install::<Circle>("box", "l", &[]).unwrap();
    let (tell, done) = channel();
    server.entry::<Circle>("l").unwrap().with(|it, _| it.done = Some(tell)).unwrap();
    server.connect("x", &["s.out", "l.out"], &["l.input"], &ByChannel::new(Dispatch::Pool)).unwrap();
    server.launch().unwrap();
    let before = server.now();
    let entry = server.entry::<Tap>("s").unwrap();
    let created = entry
        .with(|tap, at| {
            tap.out.push(at, &Number(1_000)).unwrap();
            at.created()
        })
        .unwrap();
    assert_eq!(done.recv_timeout(PATIENCE).unwrap(), created);
    assert!((before..=server.now()).contains(&created));
}

#[test]
fn what_the_system_does_not_grant_is_reported() {
    let mut server = Server::new(&Locality::default());
    let lane = Threads { cores: vec![0, 5_000], ..Threads::fifo(100) };
    server.container("box", Policy { lanes: vec![(1, lane)], ..Policy::default() }).unwrap();
    server.install::<Tap>("box", "s", &[]).unwrap();
    server.install::<Counter>("box", "c", &[]).unwrap();
    server.connect("x", &["s.out"], &["c.input"], &ByChannel::new(Dispatch::Lane(1))).unwrap();
    let texts: Vec<_> = (0..2).map(|_| server.next_report(PATIENCE).unwrap().to_string()).collect();
    assert!(texts.iter().any(|text| text.contains("box-1: ") && text.contains("5000")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("real-time priority 100")), "{texts:?}");
}

/// All are asked for at once: what one core has not for two threads is refused, though each of them could have it.
#[test]
fn threads_of_the_class_deadline_are_asked_for_together() {
    let millis = Duration::from_millis;
    if std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").is_ok_and(|limit| limit.trim() == "-1")
    {
        eprintln!("passed over: the kernel is told to admit everything");
        return;
    }
    // All of the machine, whatever this process may use of them.
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let cores = u16::try_from(stat.lines().filter(is_core).count()).unwrap();
    let asked = |runtime, count| {
        let scheduling = Scheduling::Deadline { runtime: millis(runtime), period: millis(100) };
        Threads { count, scheduling, ..Threads::default() }
    };
    let refused = match Threads::try_deadline(&[Threads::fifo(100), asked(1, 2), asked(1, 1)]) {
        Ok(()) => Threads::try_deadline(&[asked(60, 1), asked(60, 2 * cores)]).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(refused.contains("left for the class deadline") || refused.contains("CAP_SYS_NICE"), "{refused}");
    assert!(Threads::try_deadline(&[threads(2), Threads::fifo(100)]).is_ok(), "others are not asked for");
}

#[test]
fn a_server_gives_its_thread_a_name_and_cores_which_its_lanes_inherit() {
    let aside = std::thread::spawn(|| {
        let first = udp::thread::cores().unwrap()[0];
        let locality = Locality { name: Some("sense".to_owned()), priority: None, cores: vec![first] };
        let mut server = Server::new(&locality);
        assert_eq!(std::fs::read_to_string("/proc/thread-self/comm").unwrap().trim(), "sense");
        assert_eq!(udp::thread::cores().unwrap(), [first]);
        server.container("inherits", Policy { lanes: vec![(1, threads(1))], ..Policy::default() }).unwrap();
        server.install::<Tap>("inherits", "s", &[]).unwrap();
        server.install::<Cores>("inherits", "c", &[]).unwrap();
        let (tell, told) = channel();
        server.entry::<Cores>("c").unwrap().with(|cores, _| cores.tell = Some(tell)).unwrap();
        server.connect("x", &["s.out"], &["c.input"], &ByChannel::new(Dispatch::Lane(1))).unwrap();
        server.launch().unwrap();
        push(&server, 1).unwrap();
        assert_eq!(told.recv_timeout(PATIENCE).unwrap(), [first]);
    });
    aside.join().unwrap();
}

/// Tells on which cores its thread may run.
#[derive(Component)]
struct Cores {
    input: Consumer<Number>,
    tell: Option<Sender<Vec<usize>>>,
}

impl Lifecycle for Cores {}

impl Handle<cores::Input> for Cores {
    fn handle(&mut self, _: &Number, _: &Context) -> Outcome {
        self.tell.as_ref().unwrap().send(udp::thread::cores().unwrap()).unwrap();
        Ok(())
    }
}
