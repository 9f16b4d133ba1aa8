//! Changes without faults: what is done, in which order, and what goes on undisturbed.
use deployment::{Outcome, Request};

use crate::plans::target;
use crate::world::{MILLISECOND, World};

const FIRST: &str = include_str!("plans/first.toml");

fn launched() -> World {
    let mut world = World::new(1, "both");
    assert_eq!(world.apply(1, &target(FIRST)), Outcome::Done(Vec::new()));
    world.judge("launched");
    world
}

#[test]
fn what_is_the_same_goes_on_undisturbed() {
    let mut world = launched();
    let before = world.numbers();
    // Another setting, and a connection more: nothing is made anew.
    let next = FIRST.replace("settings.a = 1", "settings.a = 2")
        + "[connection.bc]\nfrom = \"b.out\"\nto = [\"c.in\"]\n";
    assert_eq!(world.apply(2, &target(&next)), Outcome::Done(Vec::new()));
    world.judge("applied");
    assert_eq!(world.numbers(), before);
    let made = world.model("q").components["c"].part.settings["a"].clone();
    assert_eq!(made, assembly::Value::Integer(2));
    // Another lane: what is in the container is made anew, and nothing else.
    let next = next.replace("threads = 2", "threads = 1");
    assert_eq!(world.apply(3, &target(&next)), Outcome::Done(Vec::new()));
    world.judge("applied again");
    let after = world.numbers();
    let changed: Vec<&str> = before
        .iter()
        .filter(|(key, number)| after.get(key) != Some(number))
        .map(|(key, _)| key.1.as_str())
        .collect();
    assert_eq!(changed, ["a"]);
}

#[test]
fn a_process_that_falls_is_started_again_and_its_neighbours_go_on() {
    let mut world = launched();
    let before = world.numbers();
    let of = world.supervisor.processes().find(|(name, _)| *name == "q").unwrap().1.unwrap();
    world.end(of, "killed by signal 11");
    world.run(2_000 * MILLISECOND);
    world.judge("after the restart");
    let after = world.numbers();
    let same = before.iter().filter(|(key, number)| after.get(key) == Some(number)).count();
    assert_eq!((before.len(), same), (4, 3));
    assert!(
        world.told.iter().any(|text| text.contains("process q ended: killed by signal 11")),
        "{:?}",
        world.told
    );
    world.request(2, Request::Status);
    let Outcome::Status(status) = world.run_until(2) else { panic!() };
    let q = status.processes.iter().find(|process| process.name == "q").unwrap();
    assert_eq!((q.state.as_str(), q.restarts), ("running", 1));
    assert_eq!(q.last.as_deref(), Some("killed by signal 11"));
    assert_eq!(q.components.iter().map(|component| component.name.as_str()).collect::<Vec<_>>(), ["c"]);
}

#[test]
fn a_process_that_falls_too_often_is_left_and_told() {
    let mut world = launched();
    for _ in 0..6 {
        let of = world.supervisor.processes().find(|(name, _)| *name == "q").unwrap().1;
        if let Some(of) = of {
            world.end(of, "killed by signal 11");
        }
        world.run(7_000 * MILLISECOND);
    }
    world.request(2, Request::Status);
    let Outcome::Status(status) = world.run_until(2) else { panic!() };
    let q = status.processes.iter().find(|process| process.name == "q").unwrap();
    assert_eq!((q.state.as_str(), q.restarts, q.pid), ("failed", 5, None));
    let Outcome::Refused(why) = world.apply(3, &target(FIRST)) else { panic!() };
    assert!(why.contains("process q does not run"), "{why}");
    world.request(4, Request::Stop);
    assert_eq!(world.run_until(4), Outcome::Done(Vec::new()));
    assert!(world.supervisor.is_over() && world.incarnations().is_empty());
}

#[test]
fn requests_wait_for_each_other_and_killing_waits_for_nothing() {
    let mut world = launched();
    let next = target(&FIRST.replace("settings.a = 1", "settings.a = 2"));
    let other = target(&FIRST.replace("id = \"both\"", "id = \"else\""));
    world.request(2, Request::Apply(next.clone().into()));
    world.request(3, Request::Apply(other.into()));
    world.request(4, Request::Status);
    let Outcome::Status(status) = world.run_until(4) else { panic!() };
    assert!(status.under_way.is_some_and(|text| text.starts_with("a plan is applied")));
    assert_eq!(world.run_until(2), Outcome::Done(Vec::new()));
    let Outcome::Refused(why) = world.run_until(3) else { panic!() };
    assert!(why.contains("deployment \"else\""), "{why}");
    assert_eq!(*world.supervisor.current(), next);
    world.request(5, Request::Stop);
    world.request(6, Request::Kill);
    world.run(100 * MILLISECOND);
    assert!(world.supervisor.is_over() && world.incarnations().is_empty());
    assert!(matches!(world.outcomes[&5], Outcome::Refused(_)));
}
