//! Tests of one component, without a server to be seen.
use std::time::Duration;

use container::{Component, Consumer, Context, Failure, Handle, Harness, Lifecycle, Outcome, State, Value};

use crate::parts::{Number, Relay, Source, relay};

#[test]
fn what_is_fed_comes_out_in_virtual_time() {
    let mut harness = Harness::new(Relay::default()).unwrap();
    assert_eq!(harness.state(), State::Inactive);
    harness.feed::<relay::Input>(&Number(1)).unwrap();
    harness.feed::<relay::Other>(&Number(5)).unwrap();
    harness.feed::<relay::Input>(&Number(2)).unwrap();
    assert_eq!(harness.state(), State::Active);
    assert_eq!(harness.published::<Number>("out"), [Number(2), Number(3)]);
    assert!(harness.published::<Number>("out").is_empty());
    harness.timeout::<relay::Input>(3).unwrap();
    let log = harness.component().with(|relay, _| relay.log.take()).unwrap();
    assert_eq!(log, ["relay 1", "relay other 5 follows 0", "relay 2", "relay timeout 3"]);
}

/// Keeps priority and deadline of its last event.
#[derive(Component)]
struct Urgent {
    input: Consumer<Number>,
    last: (u8, Option<u64>),
}

impl Lifecycle for Urgent {}

impl Handle<urgent::Input> for Urgent {
    fn handle(&mut self, _: &Number, at: &Context) -> Outcome {
        self.last = (at.priority(), at.deadline());
        Ok(())
    }
}

#[test]
fn an_event_has_the_priority_and_the_deadline_that_it_is_fed_with() {
    let mut harness = Harness::new(Urgent::default()).unwrap();
    for (priority, deadline) in [(7, Some(90)), (255, None), (0, Some(0))] {
        harness.feed_with::<urgent::Input>(&Number(1), priority, deadline).unwrap();
        assert_eq!(harness.component().with(|urgent, _| urgent.last).unwrap(), (priority, deadline));
    }
    harness.feed::<urgent::Input>(&Number(1)).unwrap();
    assert_eq!(harness.component().with(|urgent, _| urgent.last).unwrap(), (0, None));
}

#[test]
fn timers_tick_as_time_goes_on() {
    let mut harness = Harness::new(Source::default()).unwrap();
    harness.every("tick", Duration::from_millis(10)).unwrap();
    harness.advance(Duration::from_millis(35)).unwrap();
    assert_eq!(harness.published::<Number>("out"), [Number(1), Number(2), Number(3)]);
    harness.advance(Duration::from_millis(5)).unwrap();
    assert_eq!(harness.published::<Number>("out"), [Number(4)]);
    let error = harness.every("out", Duration::from_millis(10)).unwrap_err().to_string();
    assert!(error.contains("there is no component.out"), "{error}");
}

#[test]
fn faults_are_seen() {
    let mut harness = Harness::with(Relay::default(), &[("breaks_at", Value::Integer(3))]).unwrap();
    harness.feed::<relay::Input>(&Number(2)).unwrap();
    assert_eq!(harness.feed::<relay::Input>(&Number(3)), Err(Failure::Broken));
    assert_eq!(harness.state(), State::Error);
    assert_eq!(harness.feed::<relay::Input>(&Number(2)), Err(Failure::NotActive));
    let report = harness.next_report().unwrap().to_string();
    assert_eq!(report, "component: out of order; it is in the error state");
    assert_eq!(harness.next_report(), None);
    let mut harness = Harness::new(Relay::default()).unwrap();
    assert_eq!(harness.feed::<relay::Input>(&Number(666)), Err(Failure::Panic));
    assert_eq!(
        harness.next_report().unwrap().to_string(),
        "component: panicked: cannot have 666; it is in the error state"
    );
}

/// An event that no port has.
#[derive(Clone)]
struct Strange;
impl container::Event for Strange {}

/// A test that asks for what no port publishes would pass whatever the component does.
#[test]
fn what_no_port_publishes_cannot_be_asked_for() {
    let asked = |port: &'static str, is_number: bool| {
        let mut harness = Harness::new(Relay::default()).unwrap();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match is_number {
            true => drop(harness.published::<Number>(port)),
            false => drop(harness.published::<Strange>(port)),
        }))
        .is_ok()
    };
    assert!(asked("out", true));
    assert!(!asked("nothing", true) && !asked("out", false));
}
