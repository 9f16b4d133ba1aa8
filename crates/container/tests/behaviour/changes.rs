//! Changes of single components while others work: taken out and given back, other settings, what connections say of events.
use std::time::Duration;

use container::{
    ByChannel, Component, Consumer, Context, Direct, Dispatch, Handle, Lifecycle, Outcome, Policy, Server,
    ServerError, SettingError, State, Value,
};

use crate::parts::{Number, Relay, Tap};
use crate::ports::{push, scene};

#[test]
fn a_component_is_taken_out_and_given_back_with_its_state() {
    let (mut server, log) = scene();
    server.connect("a", &["s.out"], &["a.input"], &Direct::default()).unwrap();
    server.launch().unwrap();
    push(&server, 1).unwrap();
    assert!(matches!(server.take("a"), Err(ServerError::State { .. })));
    server.passivate("a").unwrap();
    assert!(matches!(server.take("a"), Err(ServerError::Connected { .. })));
    server.disconnect("a").unwrap();
    let taken = server.take("a").unwrap();
    assert_eq!((taken.name(), server.state("a")), ("a", None));
    assert!(matches!(server.take_container("box"), Err(ServerError::Occupied { .. })));
    // Another one is there meanwhile, and goes again.
    server.install::<Relay>("box", "a", &[]).unwrap();
    server.remove("a").unwrap();
    server.give_back(taken).unwrap();
    assert_eq!(server.state("a"), Some(State::Passive));
    server.connect("a", &["s.out"], &["a.input"], &Direct::default()).unwrap();
    server.activate("a").unwrap();
    push(&server, 2).unwrap();
    // The log belongs to the instance that was there first.
    assert_eq!(log.take(), ["a 1", "a 2"]);
    server.passivate("a").unwrap();
    server.disconnect("a").unwrap();
    server.take("a").unwrap().end().unwrap();
    assert!(matches!(server.activate("a"), Err(ServerError::Unknown(_))));
}

#[test]
fn a_container_is_taken_out_and_given_back() {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    let taken = server.take_container("box").unwrap();
    assert_eq!(server.install::<Tap>("box", "it", &[]), Err(ServerError::Unknown("box".to_owned())));
    server.container("box", Policy::default()).unwrap();
    assert_eq!(server.give_container_back(taken), Err(ServerError::Twice("box".to_owned())));
    let taken = server.take_container("box").unwrap();
    server.give_container_back(taken).unwrap();
    server.install::<Tap>("box", "it", &[]).unwrap();
}

#[test]
fn settings_change_while_a_component_rests() {
    let (mut server, _) = scene();
    server.launch().unwrap();
    let other = Value::Integer(3);
    assert!(matches!(server.set("a", "panics_at", Some(&other)), Err(ServerError::State { .. })));
    server.passivate("a").unwrap();
    assert_eq!(server.set("a", "panics_at", Some(&other)), Ok(Value::Integer(666)));
    assert_eq!(server.set("a", "panics_at", None), Ok(Value::Integer(3)));
    assert_eq!(server.set("a", "panics_at", None), Ok(Value::Integer(666)));
    let error = SettingError::Unknown { name: "panic".to_owned() };
    let error = ServerError::Setting { instance: "a".to_owned(), error };
    assert_eq!(server.set("a", "panic", None), Err(error));
    let wrong = server.set("a", "panics_at", Some(&Value::Boolean(true)));
    assert!(matches!(wrong, Err(ServerError::Setting { .. })));
    assert_eq!(server.set("a", "panics_at", None), Ok(Value::Integer(666)));
    server.activate("a").unwrap();
    assert_eq!(server.state("a"), Some(State::Active));
}

/// Keeps what came with which priority, and how long after it was made it should have been handled.
#[derive(Component)]
struct Seen {
    input: Consumer<Number>,
    seen: Vec<(u64, u8, Option<u64>)>,
}

impl Lifecycle for Seen {}

impl Handle<seen::Input> for Seen {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        self.seen.push((number.0, at.priority(), at.deadline().map(|deadline| deadline - at.created())));
        Ok(())
    }
}

#[test]
fn a_connection_gives_its_events_priority_and_deadline() {
    let (mut server, _) = scene();
    server.install::<Seen>("box", "seen", &[]).unwrap();
    let by = ByChannel::new(Dispatch::Pool);
    server.connect("as it is", &["s.out"], &["seen.input"], &by).unwrap();
    let own = ByChannel {
        priority: Some(7),
        timeout: Some(Duration::from_nanos(20)),
        filter: Some("number > %0".to_owned()),
        parameters: vec!["1".to_owned()],
        ..by
    };
    server.connect("own", &["s.out"], &["seen.input"], &own).unwrap();
    server.launch().unwrap();
    server.advance(Duration::from_micros(3));
    for number in [1, 2] {
        push(&server, number).unwrap();
    }
    server.advance(Duration::ZERO);
    let seen = server.entry::<Seen>("seen").unwrap().with(|seen, _| seen.seen.clone()).unwrap();
    assert_eq!(seen, [(1, 0, None), (2, 0, None), (2, 7, Some(20))]);
    let counts = server.deliveries("seen");
    assert_eq!((counts.queued, counts.taken, counts.dropped), (3, 3, 0));
}
