//! Components that are made anew after a failure, and components that begin again after a long rest.
use std::time::Duration;

use container::{
    ByChannel, Component, Consumer, Context, Direct, Dispatch, End, Entry, EntryError, Every, Full, Handle,
    Joined, Lifecycle, Order, Outcome, Queue, Route, Server, ServerError, Service, ServiceError, State,
    Value,
};

use crate::parts::{Number, Relay, Source, Tap};
use crate::ports::{push, scene};

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn one_that_failed_goes_on_with_its_connections_and_what_it_had_published() {
    for by in [None, Some(ByChannel::new(Dispatch::Lane(1)))] {
        let (mut server, log) = scene();
        let direct = Direct::default();
        let service: &dyn Service = by.as_ref().map_or(&direct, |by| by);
        server.connect("in", &["s.out"], &["a.input"], service).unwrap();
        server.connect("out", &["a.out"], &["b.input"], &ByChannel::new(Dispatch::Lane(2))).unwrap();
        server.launch().unwrap();
        // What it has published waits for another one, which rests meanwhile.
        server.suspend("b").unwrap();
        for number in [1, 666, 3] {
            push(&server, number).unwrap();
            server.advance(Duration::ZERO);
        }
        assert_eq!(log.take(), ["a 1", "a: panicked: cannot have 666; it is in the error state"]);
        assert_eq!(
            server.renew("b", &[]).unwrap_err(),
            ServerError::State { name: "b".into(), state: State::Suspended }
        );
        // With settings that are wrong it stays as it is.
        assert!(server.renew("a", &[("panics_at", text("x"))]).is_err());
        assert_eq!(server.state("a"), Some(State::Error));
        server.renew("a", &[("name", text("new"))]).unwrap();
        assert_eq!(server.state("a"), Some(State::Inactive));
        push(&server, 4).unwrap();
        server.advance(Duration::ZERO);
        server.configured("a").unwrap();
        server.activate_anew("a").unwrap();
        server.entry::<Relay>("a").unwrap().with(|relay, _| relay.log = log.clone()).unwrap();
        push(&server, 5).unwrap();
        server.advance(Duration::ZERO);
        assert_eq!(log.take(), ["new 5"], "by {by:?}");
        assert_eq!(server.counts("a").unwrap().missed, 2);
        server.resume("b").unwrap();
        server.advance(Duration::ZERO);
        assert_eq!(log.take(), ["b 2", "b 6"]);
        // It may fail again.
        push(&server, 666).unwrap();
        server.advance(Duration::ZERO);
        assert_eq!(server.state("a"), Some(State::Error));
        server.stop().unwrap();
    }
}

/// Leads a component to the error state outside of its handlers.
fn fail<C: Component>(server: &Server, name: &str) {
    let failed = server.entry::<C>(name).unwrap().with::<()>(|_, _| panic!("it is told to panic"));
    assert_eq!((failed, server.state(name)), (Err(EntryError::Over), Some(State::Error)));
}

#[test]
fn one_that_failed_holds_up_no_publisher() {
    // In virtual time, a publisher that would wait is refused at once.
    for full in [Full::Block { limit: 1_000_000_000 }, Full::Reject] {
        for is_suspended in [false, true] {
            let (mut server, _) = scene();
            let queue = Queue { depth: 1, full, order: Order::Fifo };
            let by = ByChannel { queue, ..ByChannel::new(Dispatch::Lane(1)) };
            server.connect("in", &["s.out"], &["a.input"], &by).unwrap();
            server.launch().unwrap();
            if is_suspended {
                server.suspend("a").unwrap();
            }
            push(&server, 1).unwrap();
            assert!(push(&server, 2).is_err(), "one that works, or rests, refuses");
            fail::<Relay>(&server, "a");
            (3..6).for_each(|number| push(&server, number).unwrap());
            // The last one waits still.
            assert_eq!(server.deliveries("a").dropped, 3, "{full:?} {is_suspended}");
        }
    }
}

/// Handles each number for so many milliseconds.
#[derive(Component)]
struct Slow {
    input: Consumer<Number>,
    sum: u64,
}

impl Lifecycle for Slow {}

impl Handle<slow::Input> for Slow {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        at.pass(Duration::from_millis(number.0));
        self.sum += number.0;
        Ok(())
    }
}

#[test]
fn one_whose_handler_was_too_long_gets_what_comes_once_it_is_made_anew() {
    let (mut server, _) = scene();
    server.install::<Slow>("box", "slow", &[]).unwrap();
    let by = ByChannel { patience: Some(Duration::from_millis(5)), ..ByChannel::new(Dispatch::Lane(1)) };
    server.connect("in", &["s.out"], &["slow.input"], &by).unwrap();
    server.launch().unwrap();
    push(&server, 9).unwrap();
    server.advance(Duration::ZERO);
    assert_eq!(server.state("slow"), Some(State::Error));
    server.renew("slow", &[]).unwrap();
    server.configured("slow").unwrap();
    server.activate_anew("slow").unwrap();
    push(&server, 3).unwrap();
    server.advance(Duration::ZERO);
    assert_eq!(server.entry::<Slow>("slow").unwrap().with(|slow, _| slow.sum).unwrap(), 3);
}

/// The period of a timer.
const PERIOD: Duration = Duration::from_millis(10);

/// The scene with a timer, launched.
fn ticking() -> Server {
    let (mut server, _) = scene();
    server.install::<Source>("box", "t", &[]).unwrap();
    let every = Every { period: PERIOD, dispatch: Dispatch::Lane(1), patience: None };
    server.connect("one", &["t.one"], &["c.input"], &Direct::default()).unwrap();
    server.every("tick", "t.tick", every).unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn a_timer_of_one_that_failed_ticks_once_it_is_made_anew() {
    let mut server = ticking();
    fail::<Source>(&server, "t");
    server.advance(Duration::from_millis(25));
    assert_eq!(server.counts("t").unwrap().missed, 2);
    server.renew("t", &[]).unwrap();
    server.configured("t").unwrap();
    server.activate_anew("t").unwrap();
    server.advance(PERIOD);
    assert_eq!(server.entry::<Source>("t").unwrap().with(|it, _| it.ticks).unwrap(), 1);
}

#[test]
fn what_came_during_a_long_rest_is_not_handed_on() {
    for is_anew in [false, true] {
        let (mut server, log) = scene();
        server.connect("in", &["s.out"], &["a.input"], &ByChannel::new(Dispatch::Lane(1))).unwrap();
        server.launch().unwrap();
        server.passivate("a").unwrap();
        (1..4).for_each(|number| push(&server, number).unwrap());
        server.advance(Duration::ZERO);
        if is_anew { server.activate_anew("a") } else { server.activate("a") }.unwrap();
        push(&server, 4).unwrap();
        server.advance(Duration::ZERO);
        let all: &[&str] = if is_anew { &["a 4"] } else { &["a 1", "a 2", "a 3", "a 4"] };
        assert_eq!(log.take(), all);
        assert_eq!(server.deliveries("a").dropped, if is_anew { 3 } else { 0 });
    }
}

/// A connection at whose end something is published while what waits is dropped, as by another thread.
#[derive(Debug)]
struct Meanwhile(Entry<Tap>);

impl Service for Meanwhile {
    fn connect(&self, route: &Route<'_>) -> Result<Joined, ServiceError> {
        let Joined { links, .. } = Direct::default().connect(route)?;
        Ok(Joined { links, end: Box::new(Self(self.0.clone())) })
    }
}

impl Meanwhile {
    fn push(&self, number: u64) {
        self.0.with(|tap, at| tap.out.push(at, &Number(number))).unwrap().unwrap();
    }
}

impl End for Meanwhile {
    fn suspend(&self, _: &str, _: bool) {}

    fn discard(&self, _: &str) {
        self.push(2);
    }

    fn resume_anew(&self, _: &str) {
        self.push(3);
    }
}

#[test]
fn what_comes_while_a_component_begins_anew_does_not_wait() {
    let (mut server, log) = scene();
    let on_the_spot = ByChannel::new(Dispatch::Publisher);
    server.connect("in", &["s.out"], &["a.input"], &on_the_spot).unwrap();
    let meanwhile = Meanwhile(server.entry::<Tap>("s").unwrap());
    server.connect("meanwhile", &["b.out"], &["c.input"], &meanwhile).unwrap();
    server.launch().unwrap();
    server.passivate("a").unwrap();
    push(&server, 1).unwrap();
    server.activate_anew("a").unwrap();
    // The last one came after the first connection had gone on, and was handled at once.
    assert_eq!(log.take(), ["a 3"]);
    server.advance(Duration::ZERO);
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(server.deliveries("a").dropped, 2);
}

#[test]
fn a_timer_begins_anew_with_its_period() {
    let mut server = ticking();
    server.advance(Duration::from_millis(25));
    let ticks = |server: &Server| server.entry::<Source>("t").unwrap().with(|it, _| it.ticks).unwrap();
    assert_eq!(ticks(&server), 2);
    server.passivate("t").unwrap();
    server.advance(Duration::from_millis(38));
    server.activate_anew("t").unwrap();
    // One that waited would come at once.
    server.advance(Duration::from_millis(9));
    assert_eq!(ticks(&server), 0);
    server.advance(Duration::from_millis(1));
    assert_eq!(ticks(&server), 1);
}
