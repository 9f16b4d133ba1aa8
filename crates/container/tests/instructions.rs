//! How many machine instructions a push takes, counted one by one: a bare call of the handler, what would be written by hand, and the
//! container's ways.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::hint::black_box;
use std::sync::Arc;

use channel::{Batch, Channel, ConsumerSettings, Header, Limits, PublisherSettings, Tree, Worker};
use container::{
    ByChannel, Component, Consumer, Context, Direct, Dispatch, Event, Handle, Lifecycle, Outcome, Policy,
    Publisher, Server,
};
use testkit::instructions::{Path, ROUNDS, judge, rounds};
use threads::Lock;

const WAYS: [Path; 11] = [
    Path { name: "a bare call of the handler", limit: 20 },
    Path { name: "by hand: a call by a table, under a lock", limit: 77 },
    Path { name: "by hand: 32 of these", limit: 1_620 },
    Path { name: "a push to one consumer, direct", limit: 85 },
    Path { name: "a push to 32 consumers, direct", limit: 1_620 },
    Path { name: "the bare channel: push, take and done for one consumer", limit: 667 },
    Path { name: "the bare channel: for 32 consumers", limit: 8_450 },
    Path { name: "the bare channel: 32 consumers with one filter, which the event misses", limit: 2_040 },
    Path { name: "the bare channel: 32 consumers with a filter each, which the event misses", limit: 4_360 },
    Path { name: "a push to one consumer by a channel, on the same thread", limit: 2_160 },
    Path { name: "a push to 32 consumers by a channel, on the same thread", limit: 15_630 },
];

#[derive(Clone, Copy)]
struct Number(u64);
impl Event for Number {}

impl filter::Fields for Number {
    fn value(&self, _: u32) -> Option<filter::Value<'_>> {
        Some(filter::Value::Unsigned(self.0))
    }
}

struct Known;
impl filter::Schema for Known {
    fn field(&self, _: filter::Path<'_>) -> Option<filter::Field> {
        Some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }

    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

#[derive(Component)]
struct Tap {
    out: Publisher<Number>,
}
impl Lifecycle for Tap {}

#[derive(Component)]
struct Sum {
    input: Consumer<Number>,
    sum: u64,
}
impl Lifecycle for Sum {}
impl Handle<sum::Input> for Sum {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.sum = black_box(self.sum.wrapping_add(number.0));
        Ok(())
    }
}

/// What would be written without a container.
trait Takes {
    fn take(&self, number: &Number, at: &Context) -> Outcome;
}
struct ByHand(Lock<Sum>);
impl Takes for ByHand {
    fn take(&self, number: &Number, at: &Context) -> Outcome {
        self.0.lock().unwrap().handle(number, at)
    }
}

/// A tap `t` that is connected with so many consumers.
fn server(count: usize, service: &dyn container::Service) -> Server {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    server.install::<Tap>("box", "t", &[]).unwrap();
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    names.iter().for_each(|name| server.install::<Sum>("box", name, &[]).unwrap());
    let ports: Vec<String> = names.iter().map(|name| format!("{name}.input")).collect();
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    server.connect("x", &["t.out"], &ports, service).unwrap();
    server.launch().unwrap();
    server
}

fn play() {
    let by_channel = ByChannel::new(Dispatch::Publisher);
    let direct = [1, 32].map(|count| server(count, &Direct::default()));
    let channels = [1, 32].map(|count| server(count, &by_channel));
    let entries =
        |servers: &[Server; 2]| [0, 1].map(|index: usize| servers[index].entry::<Tap>("t").unwrap());
    let (direct_entries, channel_entries) = (entries(&direct), entries(&channels));
    let mut bare = Sum::default();
    let by_hand = [1, 32].map(|count| {
        (0..count).map(|_| Arc::new(ByHand(Lock::new(Sum::default()))) as Arc<dyn Takes>).collect::<Vec<_>>()
    });
    let of_source = || Tree::Header { kind: None, source: Some(1) };
    let above = |least: usize| {
        let expression = filter::Expression::parse(&format!("number > {least}")).unwrap();
        Tree::All(vec![of_source(), Tree::Content(expression.compile(&Known, &[]).unwrap())])
    };
    type Pattern<'a> = &'a dyn Fn(usize) -> Tree;
    let patterns: [(usize, Pattern<'_>); 4] =
        [(1, &|_| of_source()), (32, &|_| of_source()), (32, &|_| above(5)), (32, &|place| above(5 + place))];
    let mut machines = patterns.map(|(count, pattern)| {
        let mut machine = Channel::new(Limits::default());
        let publisher = machine.add_publisher(0, PublisherSettings::default());
        for place in 0..count {
            machine.subscribe(0, &pattern(place), ConsumerSettings::default()).unwrap();
        }
        (machine, publisher)
    });
    let mut batch = Batch::new();
    let number = Number(1);
    let mut round = |count: &dyn Fn(&mut dyn FnMut())| {
        direct_entries[0]
            .with(|tap, at| {
                count(&mut || black_box(&mut bare).handle(black_box(&number), at).unwrap());
                for by_hand in &by_hand {
                    count(&mut || {
                        for one in black_box(by_hand) {
                            one.take(&number, at).unwrap();
                        }
                    });
                }
                count(&mut || tap.out.push(at, &number).unwrap());
            })
            .unwrap();
        direct_entries[1].with(|tap, at| count(&mut || tap.out.push(at, &number).unwrap())).unwrap();
        for (machine, publisher) in &mut machines {
            count(&mut || {
                let header = Header { source: 1, ..Header::default() };
                machine.push(1, *publisher, &header, &number).unwrap();
                while let Some(consumer) = machine.take(1, Worker::Publisher, &mut batch) {
                    machine.done(1, consumer);
                    while machine.poll_signal().is_some() {}
                }
            });
        }
        for entry in &channel_entries {
            // The whole turn: the consumer is called at its end.
            count(&mut || entry.with(|tap, at| tap.out.push(at, &number)).unwrap().unwrap());
        }
    };
    (0..100).for_each(|_| round(&|act| act()));
    rounds(&mut round);
    let all = direct.iter().chain(&channels);
    let sums = all.map(|server| server.entry::<Sum>("c0").unwrap().with(|sum, _| sum.sum).unwrap());
    assert!(sums.into_iter().all(|sum| sum == 100 + ROUNDS as u64));
}

#[test]
fn a_push_takes_no_more_instructions_than_it_may() {
    if let Some(counted) = judge("a_push_takes_no_more_instructions_than_it_may", &WAYS, play) {
        compare(&counted);
    }
}

/// The floor of the same run is what would be written by hand: a limit for each path alone would let the container's part grow where the floor
/// shrinks.
fn compare(counted: &[usize]) {
    let [floor, floor_of_32, direct, direct_to_32] = [1, 2, 3, 4].map(|way: usize| counted[way]);
    let [bare, bare_of_32, missed, channel, channel_to_32] = [5, 6, 7, 9, 10].map(|way: usize| counted[way]);
    assert!(direct <= floor + 15, "direct: {direct} to {floor} by hand");
    let further = |one: usize, all: usize| (all - one) / 31;
    let (more, by_hand) = (further(direct, direct_to_32), further(floor, floor_of_32));
    assert!(more <= by_hand, "a further consumer: {more} to {by_hand} by hand");
    // By a channel each further consumer costs a fourth of the first at most, and twice what it does in the bare state machine.
    let (container, machine) = (further(channel, channel_to_32), further(bare, bare_of_32));
    assert!(container <= 2 * machine && 4 * container <= channel, "{container} to {machine} and {channel}");
    // What misses a filter costs a fourth of what gets the event at most.
    assert!(
        4 * further(bare, missed) <= machine,
        "{missed} for 32 that miss, to {machine} for one that gets it"
    );
}
