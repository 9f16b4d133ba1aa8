//! What pushes and connections take from the heap: a push nothing, once all is warm, and a connection that has ended nothing.
#![allow(clippy::unwrap_used)]
use std::time::Duration;

use container::{
    ByChannel, Chain, Component, Consumer, Context, Direct, Dispatch, Emitter, Event, Facet, Full, Gather,
    Handle, Hop, Lifecycle, Order, Outcome, Policy, Publisher, Queue, Receptacle, Server, Service, Threads,
    Timer,
};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// It has memory of its own, which is used again.
struct Text(String);
impl Event for Text {}

impl Clone for Text {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    // The derived one takes new memory.
    fn clone_from(&mut self, source: &Self) {
        self.0.clone_from(&source.0);
    }
}

#[derive(Component)]
struct Tap {
    out: Publisher<Text>,
}
impl Lifecycle for Tap {}

#[derive(Component)]
struct Length {
    input: Consumer<Text>,
    sum: usize,
}
impl Lifecycle for Length {}
impl Handle<length::Input> for Length {
    fn handle(&mut self, text: &Text, _: &Context) -> Outcome {
        self.sum += text.0.len();
        Ok(())
    }
}

/// What is measured of a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Measured {
    Nothing,
    Chain,
    Latency,
}

fn server(count: usize, service: &dyn Service, measured: Measured) -> Server {
    let mut server = Server::simulated();
    let lanes = vec![(1, Threads::default())];
    server.container("box", Policy { lanes, ..Policy::default() }).unwrap();
    server.install::<Tap>("box", "t", &[]).unwrap();
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    names.iter().for_each(|name| server.install::<Length>("box", name, &[]).unwrap());
    let ports: Vec<String> = names.iter().map(|name| format!("{name}.input")).collect();
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    if measured != Measured::Nothing {
        let limit = Some(Duration::from_secs(1));
        let hops =
            vec![Hop { port: "c0.input".to_owned(), connections: vec!["x".to_owned()], samples: false }];
        let name = "chain".to_owned();
        let connection = (measured == Measured::Latency).then(|| "x".to_owned());
        server.follow(Chain { name, reaction: limit, age: limit, period: None, hops, connection }).unwrap();
    }
    server.connect("x", &["t.out"], &ports, service).unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn a_push_takes_nothing_once_all_is_warm() {
    let queue = Queue { depth: 4, full: Full::DropOldest, order: Order::Fifo };
    let by = |dispatch| ByChannel { queue, ..ByChannel::new(dispatch) };
    let batches = ByChannel { gather: Gather { most: 3, wait: 0 }, ..by(Dispatch::Publisher) };
    let direct = Direct::default();
    let services: [&dyn Service; 4] = [&direct, &by(Dispatch::Publisher), &batches, &by(Dispatch::Lane(1))];
    let all = [Measured::Nothing, Measured::Chain, Measured::Latency];
    for (service, measured) in
        services.into_iter().flat_map(|service| all.map(|measured| (service, measured)))
    {
        for count in [1, 32] {
            let mut server = server(count, service, measured);
            let entry = server.entry::<Tap>("t").unwrap();
            let text = Text("some text".to_owned());
            let push = |times: usize| {
                (0..times).for_each(|_| entry.with(|tap, at| tap.out.push(at, &text)).unwrap().unwrap());
            };
            // What a lane does not serve drops the oldest.
            push(100);
            let ((), usage) = alloc_meter::measure(|| push(1_000));
            assert_eq!(usage.count, 0, "{count} consumers by {service:?}: {usage:?}");
            server.advance(Duration::ZERO);
            let sum = server.entry::<Length>("c0").unwrap().with(|length, _| length.sum).unwrap();
            assert!(sum >= 4 * 9, "{sum} bytes came by {service:?}");
            let scored = server.chains().first().map_or(0, |score| score.completions);
            assert_eq!(scored > 0, measured != Measured::Nothing, "{scored} completions by {service:?}");
        }
    }
}

#[test]
fn a_service_that_no_connection_names_has_no_memory() {
    let mut server = server(1, &Direct::default(), Measured::Nothing);
    let by_channel = ByChannel::new(Dispatch::Lane(1));
    // Lists of the server find their size.
    server.connect("y", &["t.out"], &["c0.input"], &by_channel).unwrap();
    server.disconnect("y").unwrap();
    let ((), usage) = alloc_meter::measure(|| {
        server.connect("y", &["t.out"], &["c0.input"], &by_channel).unwrap();
        server.disconnect("y").unwrap();
    });
    assert!(usage.count > 0);
    assert_eq!(usage.kept, 0, "{usage:?}");
}

/// One port of each kind.
#[derive(Component)]
struct Ports {
    a: Publisher<Text>,
    b: Emitter<Text>,
    c: Consumer<Text>,
    d: Timer,
    e: Facet<dyn Send>,
    f: Receptacle<dyn Send>,
}
impl Lifecycle for Ports {}
impl Handle<ports::C> for Ports {
    fn handle(&mut self, _: &Text, _: &Context) -> Outcome {
        Ok(())
    }
}
impl Handle<ports::D> for Ports {
    fn handle(&mut self, _: &container::Tick, _: &Context) -> Outcome {
        Ok(())
    }
}

#[test]
fn components_and_ports_are_small() {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    server.install::<Ports>("box", "first", &[]).unwrap();
    let ((), component) = alloc_meter::measure(|| server.install::<Ports>("box", "second", &[]).unwrap());
    println!("a component of 6 ports: {} bytes", component.kept);
    assert!(component.kept <= 1_024, "{component:?}");
    let ((), connection) = alloc_meter::measure(|| {
        server.connect("x", &["first.a"], &["second.c"], &Direct::default()).unwrap();
    });
    println!("a direct connection: {} bytes", connection.kept);
    assert!(connection.kept <= 1_024, "{connection:?}");
    // What one more port at a channel takes: a connection with two consumers less one with one, each with a queue of one event.
    let names: Vec<String> = (0..3).map(|number| format!("more{number}")).collect();
    names.iter().for_each(|name| server.install::<Ports>("box", name, &[]).unwrap());
    let queue = Queue { depth: 1, full: Full::DropOldest, order: Order::Fifo };
    let by_channel = ByChannel { queue, ..ByChannel::new(Dispatch::Publisher) };
    let mut kept = |name: &str, to: &[&str]| {
        let ((), usage) =
            alloc_meter::measure(|| server.connect(name, &["more0.a"], to, &by_channel).unwrap());
        server.disconnect(name).unwrap();
        usage.kept
    };
    kept("lists find their size", &["more1.c", "more2.c"]);
    let (one, two) = (kept("one", &["more1.c"]), kept("two", &["more1.c", "more2.c"]));
    println!("a channel with a port: {one} bytes, with two: {two} bytes");
    assert!(two - one <= 1_024, "{one} and {two} bytes");
}

/// Open files and sockets, threads, and mappings of memory of this process.
fn resources() -> [usize; 3] {
    let entries = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let mappings = std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    [entries("/proc/self/fd"), entries("/proc/self/task"), mappings]
}

/// Each test of this file is a thread of its own: this one looks at a process of its own.
#[test]
fn what_no_connection_uses_has_no_file_no_socket_no_thread_and_no_mapping() {
    const ALONE: &str = "PUNCTUAL_TEST_ALONE";
    const NAME: &str = "what_no_connection_uses_has_no_file_no_socket_no_thread_and_no_mapping";
    if std::env::var_os(ALONE).is_none() {
        let test = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
            .env(ALONE, "1")
            .status()
            .unwrap();
        assert!(test.success());
        return;
    }
    let made = || {
        let mut server = server(8, &Direct::default(), Measured::Nothing);
        server.advance(Duration::from_millis(1));
        server
    };
    drop(made());
    let before = resources();
    let server = made();
    assert_eq!(resources(), before, "files, threads and mappings");
    drop(server);
}
