//! Facets and receptacles.
use container::{
    Component, Consumer, Context, Facet, Failure, Handle, Harness, Lifecycle, Outcome, Policy, Receptacle,
    Server, ServerError,
};

use crate::parts::Number;

pub(crate) trait Tuning {
    fn gain(&self) -> u64;
    fn tune(&mut self, gain: u64);
}

/// Is tuned.
#[derive(Component)]
struct Tuned {
    tuning: Facet<dyn Tuning>,
    gain: u64,
}

impl Lifecycle for Tuned {}

impl Tuning for Tuned {
    fn gain(&self) -> u64 {
        self.gain
    }

    fn tune(&mut self, gain: u64) {
        assert!(gain < 100, "{gain} is too much");
        self.gain = gain;
    }
}

/// Tunes with what comes, and is tuned itself.
#[derive(Component)]
struct Tuner {
    input: Consumer<Number>,
    tuning: Receptacle<dyn Tuning>,
    own: Facet<dyn Tuning>,
    seen: Vec<u64>,
}

impl Lifecycle for Tuner {}

impl Handle<tuner::Input> for Tuner {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.seen.push(self.tuning.call(|tuning| {
            tuning.tune(number.0);
            tuning.gain()
        })?);
        Ok(())
    }
}

impl Tuning for Tuner {
    fn gain(&self) -> u64 {
        0
    }

    fn tune(&mut self, _: u64) {}
}

fn scene() -> Server {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    server.install::<Tuned>("box", "tuned", &[]).unwrap();
    server.install::<Tuner>("box", "tuner", &[]).unwrap();
    server
}

#[test]
fn a_receptacle_calls_the_component_that_offers_the_facet() {
    let mut server = scene();
    assert_eq!(server.launch(), Err(ServerError::NotConnected("tuner.tuning".to_owned())));
    server.call("tuning", "tuner.tuning", "tuned.tuning").unwrap();
    let entry = server.entry::<Tuner>("tuner").unwrap();
    let call = || {
        entry
            .with(|tuner, _| {
                tuner.tuning.call(|tuning| {
                    tuning.tune(5);
                    tuning.gain()
                })
            })
            .unwrap()
    };
    // The one that was complete is active since the first launch.
    assert_eq!(call(), Ok(5));
    server.launch().unwrap();
    server.suspend("tuned").unwrap();
    assert_eq!(call(), Err(Failure::NotActive));
    server.resume("tuned").unwrap();
    assert_eq!(call(), Ok(5));
    server.disconnect("tuning").unwrap();
    assert_eq!(call(), Err(Failure::NotConnected));
}

#[test]
fn a_call_that_panics_breaks_who_is_called_and_not_who_calls() {
    let mut server = scene();
    server.call("tuning", "tuner.tuning", "tuned.tuning").unwrap();
    server.launch().unwrap();
    let entry = server.entry::<Tuner>("tuner").unwrap();
    let call = |gain| entry.with(|tuner, _| tuner.tuning.call(|tuning| tuning.tune(gain))).unwrap();
    assert_eq!(call(100), Err(Failure::Panic));
    assert_eq!(call(1), Err(Failure::NotActive));
    assert_eq!(server.state("tuned"), Some(container::State::Error));
    assert_eq!(server.state("tuner"), Some(container::State::Active));
    let report = server.next_report(std::time::Duration::ZERO).unwrap();
    assert_eq!(report.to_string(), "tuned: panicked: 100 is too much; it is in the error state");
}

#[test]
fn calls_do_not_go_in_a_circle() {
    let mut server = scene();
    assert_eq!(
        server.call("self", "tuner.tuning", "tuner.own"),
        Err(ServerError::Circle(vec!["tuner".to_owned(), "tuner".to_owned()]))
    );
    server.install::<Tuner>("box", "second", &[]).unwrap();
    server.call("one", "tuner.tuning", "second.own").unwrap();
    let error = server.call("two", "second.tuning", "tuner.own").unwrap_err();
    assert!(matches!(error, ServerError::Circle(_)), "{error}");
    let taken = server.call("three", "tuner.tuning", "tuned.tuning");
    assert_eq!(taken, Err(ServerError::Single("tuner.tuning".to_owned())));
}

#[test]
fn a_harness_stands_for_the_others() {
    struct Other(u64);
    impl Tuning for Other {
        fn gain(&self) -> u64 {
            self.0 + 1_000
        }
        fn tune(&mut self, gain: u64) {
            self.0 = gain;
        }
    }
    let mut harness = Harness::new(Tuner::default()).unwrap();
    assert_eq!(harness.feed::<tuner::Input>(&Number(1)), Err(Failure::NotActive));
    harness.provide::<dyn std::fmt::Debug, _>("tuning", 3, |other| other).unwrap_err();
    harness.provide::<dyn Tuning, _>("tuning", Other(0), |other| other).unwrap();
    harness.feed::<tuner::Input>(&Number(7)).unwrap();
    assert_eq!(harness.component().with(|tuner, _| tuner.seen.clone()).unwrap(), [1_007]);
    assert_eq!(harness.call::<dyn Tuning, _>("own", |own| own.gain()), Ok(0));
    assert_eq!(harness.call::<dyn Tuning, _>("other", |own| own.gain()), Err(Failure::NotConnected));
}
