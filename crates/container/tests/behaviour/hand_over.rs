//! A server that goes on in the place of another one, on a virtual network: what comes from elsewhere is handled once, by the one or by the other.
use std::time::Duration as Time;

use container::{
    ByChannel, ByDds, Component, Consumer, Context, Dispatch, Event, Full, Handle, Lifecycle, Order, Outcome,
    Policy, Publisher, Queue, Server, ServerError, State,
};
use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{DdsType, DomainParticipant, Duration};
use testkit::random::Random;
use testkit::virtual_domain::VirtualDomain;

const LIMIT: Time = Time::from_secs(5);

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Number {
    source: u32,
    number: u32,
    /// How many the relay has seen.
    count: u32,
}

impl Event for Number {}

#[derive(Component)]
struct Source {
    out: Publisher<Number>,
}

impl Lifecycle for Source {}

/// It counts, and that is its state.
#[derive(Component)]
#[component(swappable)]
struct Relay {
    input: Consumer<Number>,
    out: Publisher<Number>,
    count: u32,
}

impl Lifecycle for Relay {
    fn freeze(&mut self, state: &mut Vec<u8>) -> Outcome {
        state.extend_from_slice(&self.count.to_le_bytes());
        Ok(())
    }

    fn thaw(&mut self, state: &[u8]) -> Outcome {
        self.count = u32::from_le_bytes(state.try_into().map_err(|_| container::Failure::Broken)?);
        Ok(())
    }
}

impl Handle<relay::Input> for Relay {
    fn handle(&mut self, event: &Number, at: &Context) -> Outcome {
        self.count += 1;
        self.out.push(at, &Number { count: self.count, ..event.clone() })
    }
}

#[derive(Component)]
struct Sink {
    input: Consumer<Number>,
    seen: Vec<Number>,
}

impl Lifecycle for Sink {}

impl Handle<sink::Input> for Sink {
    fn handle(&mut self, event: &Number, _: &Context) -> Outcome {
        self.seen.push(event.clone());
        Ok(())
    }
}

fn service(participant: &DomainParticipant, topic: &str) -> ByDds<Number> {
    let mut service = ByDds::new(participant, topic);
    let (mut writer, mut reader) = (DataWriterQos::default(), DataReaderQos::default());
    for endpoint in [&mut writer.endpoint, &mut reader.endpoint] {
        endpoint.reliability = Reliability::RELIABLE;
        endpoint.history = History::KeepAll;
    }
    (service.writer, service.reader) = (Some(writer), Some(reader));
    service
}

fn queue(depth: u16) -> ByChannel {
    let queue = Queue { depth, full: Full::DropOldest, order: Order::Fifo };
    ByChannel { queue, ..ByChannel::new(Dispatch::Pool) }
}

/// A server with a relay, directly behind its topic or with a queue.
fn relay(participant: &DomainParticipant, depth: Option<u16>, is_next: bool) -> Server {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    if is_next {
        server.hold(LIMIT).unwrap();
    }
    server.install::<Relay>("box", "relay", &[]).unwrap();
    let mut input = service(participant, "In");
    input.served = depth.map(queue);
    server.connect("in", &[], &["relay.input"], &input).unwrap();
    server.connect("out", &["relay.out"], &[], &service(participant, "Out")).unwrap();
    server.configured("relay").unwrap();
    server
}

struct World {
    sources: Vec<Server>,
    numbers: Vec<u32>,
    sink: Server,
    /// It ends last: the servers say goodbye in it.
    domain: VirtualDomain,
}

impl World {
    fn new(sources: usize) -> Self {
        let mut domain = VirtualDomain::new();
        let source = |_| {
            let mut server = Server::simulated();
            server.container("box", Policy::default()).unwrap();
            server.install::<Source>("box", "source", &[]).unwrap();
            server.connect("in", &["source.out"], &[], &service(&domain.participant(), "In")).unwrap();
            server.launch().unwrap();
            server
        };
        let sources: Vec<Server> = (0..sources).map(source).collect();
        let mut sink = Server::simulated();
        sink.container("box", Policy::default()).unwrap();
        sink.install::<Sink>("box", "sink", &[]).unwrap();
        sink.connect("out", &[], &["sink.input"], &service(&domain.participant(), "Out")).unwrap();
        sink.launch().unwrap();
        let numbers = vec![0; sources.len()];
        domain.run(Duration::from_secs(1));
        Self { sources, numbers, sink, domain }
    }

    fn push(&mut self, source: usize) {
        self.numbers[source] += 1;
        let event = Number { source: source as u32, number: self.numbers[source], count: 0 };
        let entry = self.sources[source].entry::<Source>("source").unwrap();
        entry.with(|it, at| it.out.push(at, &event)).unwrap().unwrap();
    }

    /// Some events, and some time for them.
    fn play(&mut self, random: &mut Random, relays: &mut [&mut Server]) {
        for _ in 0..random.below(6) {
            let source = random.below(self.sources.len());
            self.push(source);
            if random.chance(60) {
                self.domain.run(Duration::from_micros(random.range(1, 300) as i64));
            }
            if random.chance(40) {
                for relay in relays.iter_mut() {
                    relay.advance(Time::ZERO);
                }
            }
        }
    }

    /// That the sink has got everything once and in order, and that the relay has counted all of it.
    fn judge(&mut self, context: &str) {
        let entry = self.sink.entry::<Sink>("sink").unwrap();
        let seen: Vec<Number> = entry.with(|it, _| it.seen.clone()).unwrap();
        for (source, count) in self.numbers.iter().enumerate() {
            let of_it = seen.iter().filter(|event| event.source == source as u32);
            let numbers: Vec<u32> = of_it.map(|event| event.number).collect();
            assert_eq!(numbers, (1..=*count).collect::<Vec<_>>(), "{context}, source {source}");
        }
        let counts: Vec<u32> = seen.iter().map(|event| event.count).collect();
        assert_eq!(counts, (1..=counts.len() as u32).collect::<Vec<_>>(), "{context}");
    }
}

/// The former one comes to rest, and tells its state.
fn rest(former: &mut Server) -> Vec<u8> {
    former.hold(LIMIT).unwrap();
    former.advance(Time::ZERO);
    former.drain("relay", LIMIT).unwrap();
    former.passivate("relay").unwrap();
    former.freeze("relay").unwrap()
}

#[test]
fn what_comes_from_elsewhere_is_handled_once() {
    for seed in tiers::current().seeds("property.cases").take(300) {
        let context = format!("seed {seed}: PUNCTUAL_SEED={seed} repeats it");
        let mut random = Random::new(seed);
        let mut world = World::new(random.range(1, 3) as usize);
        let depth = random.chance(50).then_some(1_000);
        let participant = world.domain.participant();
        let mut former = relay(&participant, depth, false);
        former.activate("relay").unwrap();
        world.domain.run(Duration::from_secs(1));
        for _ in 0..2 {
            world.play(&mut random, &mut [&mut former]);
            let participant = world.domain.participant();
            let mut next = relay(&participant, depth, true);
            world.play(&mut random, &mut [&mut former, &mut next]);
            world.domain.run(Duration::from_secs(1));
            let starts = next.await_matched(&former.matched(), LIMIT).unwrap();
            assert_eq!(starts.len(), world.sources.len(), "{context}");
            world.play(&mut random, &mut [&mut former, &mut next]);
            world.domain.run(Duration::from_millis(1));
            former.catch_up(&starts, Time::ZERO);
            let state = rest(&mut former);
            if random.chance(30) {
                // It does not come about: the former one goes on, with what has come meanwhile.
                world.play(&mut random, &mut [&mut next]);
                former.activate("relay").unwrap();
                former.release(&[]).unwrap();
                drop(next);
            } else {
                let positions = former.positions();
                world.play(&mut random, &mut [&mut former, &mut next]);
                assert_eq!(next.state("relay"), Some(State::Inactive));
                next.thaw("relay", &state).unwrap();
                next.activate("relay").unwrap();
                next.release(&positions).unwrap();
                world.domain.run(Duration::from_millis(10));
                former = next;
            }
            world.play(&mut random, &mut [&mut former]);
        }
        former.advance(Time::ZERO);
        world.domain.run(Duration::from_secs(1));
        former.advance(Time::ZERO);
        world.domain.run(Duration::from_secs(1));
        world.judge(&context);
    }
}

#[test]
fn what_is_missing_is_told_before_anything_is_handed_on() {
    let mut world = World::new(1);
    let participant = world.domain.participant();
    let mut former = relay(&participant, None, false);
    former.activate("relay").unwrap();
    world.domain.run(Duration::from_secs(1));
    world.push(0);
    world.domain.run(Duration::from_millis(10));
    rest(&mut former);
    // This one comes when the other rests already: events have gone by.
    world.push(0);
    world.domain.run(Duration::from_millis(10));
    let participant = world.domain.participant();
    let mut next = relay(&participant, None, true);
    world.domain.run(Duration::from_secs(1));
    world.push(0);
    world.domain.run(Duration::from_millis(10));
    next.activate("relay").unwrap();
    let error = next.release(&former.positions()).unwrap_err().to_string();
    assert!(error.contains("up to number 1, and 3 is the first one at hand"), "{error}");
    // The former one has both.
    former.activate("relay").unwrap();
    former.release(&[]).unwrap();
    world.domain.run(Duration::from_millis(10));
    world.judge("taken back");
}

#[test]
fn who_is_not_matched_is_told() {
    let mut domain = VirtualDomain::new();
    let (here, there) = (domain.participant(), domain.participant());
    let (former, next) = (relay(&here, None, false), relay(&there, None, true));
    let nobody = container::Matched { connection: "in".to_owned(), peers: vec![[7; 16]] };
    let error = next.await_matched(&[nobody], Time::ZERO).unwrap_err();
    assert_eq!(error, ServerError::NotMatched("in".to_owned()));
    // It is not to be matched with itself.
    domain.run(Duration::from_secs(1));
    let mut own_writer = [0; 16];
    own_writer[..12].copy_from_slice(&there.prefix().0);
    let own = container::Matched { connection: "in".to_owned(), peers: vec![own_writer] };
    next.await_matched(&[own], Time::ZERO).unwrap();
    assert_eq!(former.positions(), []);
}
