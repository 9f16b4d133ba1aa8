//! Changes without faults: what is done, in which order, and what goes on undisturbed.
use deployment::{Outcome, Request, Target};

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

/// The plan of three processes, in which one says that it depends on others.
fn with_order(of: &str, on: &[&str]) -> Target {
    let more = format!("[process.{of}]\ndepends-on = {on:?}");
    target(&FIRST.replace(&format!("[process.{of}]"), &more))
}

/// Requests and outcomes of a world whose judge saw at least so many waits for the begin, end and activation of others.
fn waited(world: &World, least: [u64; 3]) {
    let waits = world.order.waits;
    assert!((0..3).all(|kind| waits[kind] >= least[kind]), "{waits:?}");
}

#[test]
fn a_process_begins_after_those_that_it_depends_on_and_ends_before_them() {
    // r consumes what q publishes, and begins after it all the same: what the plan says itself comes first.
    let mut world = World::new(1, "both");
    assert_eq!(world.apply(1, &with_order("r", &["q", "p"])), Outcome::Done(Vec::new()));
    world.judge("launched");
    waited(&world, [2, 0, 2]);
    let order: Vec<&str> = world.started.iter().map(String::as_str).collect();
    assert_eq!(order, ["p", "q", "r"]);
    world.request(2, Request::Stop);
    assert_eq!(world.run_until(2), Outcome::Done(Vec::new()));
    waited(&world, [2, 2, 2]);
    assert!(world.supervisor.is_over());

    let mut world = World::new(1, "both");
    assert_eq!(world.apply(1, &with_order("p", &["r"])), Outcome::Done(Vec::new()));
    assert_eq!(world.started, ["q", "r", "p"]);
    // Who begins first is no matter to those that run already.
    let before = world.numbers();
    assert_eq!(world.apply(2, &with_order("r", &["p"])), Outcome::Done(Vec::new()));
    assert_eq!(world.numbers(), before);
}

#[test]
fn processes_that_fell_together_begin_again_in_their_order() {
    let mut world = World::new(1, "both");
    let slow = "[process.p]\nrestart = { policy = \"always\", delay = \"5 s\" }";
    let text = FIRST.replace("[process.p]", slow).replace("[process.q]", "[process.q]\ndepends-on = [\"p\"]");
    assert_eq!(world.apply(1, &target(&text)), Outcome::Done(Vec::new()));
    world.started.clear();
    let pair: Vec<_> = world.supervisor.processes().filter(|(name, _)| *name != "r").collect();
    for of in pair.into_iter().filter_map(|(_, of)| of).collect::<Vec<_>>() {
        world.end(of, "killed by signal 11");
    }
    // The delay of q is 200 ms, and that of p 5 s.
    world.run(4_000 * MILLISECOND);
    assert_eq!(world.started, [""; 0]);
    world.run(4_000 * MILLISECOND);
    assert_eq!(world.started, ["p", "q"]);
    world.judge("after both");
}

#[test]
fn a_foreign_program_is_started_looked_after_and_told_to_end() {
    let mut world = World::new(1, "both");
    let foreign = "[artefact.y]\nlocation = [\"y\"]\nkind = \"foreign\"\n[process.s]\nartefact = \"y\"\nhost = \"n1\"\n";
    let text = FIRST.replace("[process.p]", &format!("{foreign}[process.p]\ndepends-on = [\"s\"]"));
    assert_eq!(world.apply(1, &target(&text)), Outcome::Done(Vec::new()));
    world.judge("launched");
    assert_eq!(world.started, ["q", "r", "s", "p"]);
    let of = world.supervisor.processes().find(|(name, _)| *name == "s").unwrap().1.unwrap();
    world.end(of, "killed by signal 11");
    world.run(2_000 * MILLISECOND);
    world.request(2, Request::Status);
    let Outcome::Status(status) = world.run_until(2) else { panic!() };
    let s = status.processes.iter().find(|process| process.name == "s").unwrap();
    assert_eq!((s.state.as_str(), s.restarts, s.pid), ("running", 1, Some(7)));
    // What a program that goes on does is no matter to a change.
    let next = target(&text.replace("settings.a = 1", "settings.a = 2"));
    assert_eq!(world.apply(3, &next), Outcome::Done(Vec::new()));
    // A plan without it ends it.
    assert_eq!(world.apply(4, &target(FIRST)), Outcome::Done(Vec::new()));
    world.judge("without it");
    assert_eq!(world.supervisor.processes().count(), 3);
}
