//! Processes that are handed over to another build: whatever happens, each component works once, with the state that it had.
use std::sync::Arc;

use deployment::{Incarnation, Input, Order, Outcome, Request, Target};

use crate::adoption;
use crate::plans::{renewed, target};
use crate::simulation::calm;
use crate::world::{MILLISECOND, World};

const FIRST: &str = include_str!("plans/first.toml");

fn launched(seed: u64) -> (World, Target) {
    let mut world = World::new(seed, "both");
    let first = target(FIRST);
    assert_eq!(world.apply(1, &first), Outcome::Done(Vec::new()));
    (world, first)
}

#[test]
fn everything_goes_on_in_new_processes() {
    let (mut world, first) = launched(1);
    let (states, before) = (world.states(), world.incarnations());
    assert_eq!(states.len(), 4);
    assert_eq!(world.apply(2, &renewed(&first)), Outcome::Done(Vec::new()));
    calm(&mut world);
    world.judge("handed over");
    assert_eq!(world.states(), states);
    assert_eq!(world.handed_over(), 4);
    let is_there = |of: &Incarnation| world.incarnations().contains(of);
    assert!(!before.iter().any(is_there), "{before:?}");
    // Settings go with the plan, and not with the state.
    let other =
        FIRST.replace("settings.a = 1", "settings.a = 2").replace("location = [\"x\"]", "location = [\"y\"]");
    assert_eq!(world.apply(3, &target(&other)), Outcome::Done(Vec::new()));
    world.judge("handed over again");
    assert_eq!(world.states(), states);
}

#[test]
fn a_crash_at_every_line_of_it() {
    let (mut done, mut refused) = (0, 0);
    for crash in 1.. {
        let (mut world, first) = launched(crash);
        let (states, before) = (world.states(), world.incarnations());
        let lines = world.lines;
        world.crash_at = Some(lines + crash);
        let second = renewed(&first);
        let outcome = world.apply(2, &second);
        let came = world.lines >= lines + crash;
        // Whoever did not crash has its state: the former process, or the one in its place.
        let survivors = world.states();
        assert!(survivors.iter().all(|(name, state)| states[name] == *state), "line {crash}: {survivors:?}");
        match &outcome {
            Outcome::Done(_) => done += 1,
            Outcome::Refused(why) => {
                assert!(why.contains("killed by signal 9"), "{why}");
                let is_there = |of: &&Incarnation| world.incarnations().contains(of);
                assert!(before.iter().filter(is_there).count() >= before.len() - 1, "line {crash}");
                assert!(survivors.len() >= 2, "line {crash}: {survivors:?}");
                refused += 1;
            }
            Outcome::Status(_) => unreachable!(),
        }
        calm(&mut world);
        world.judge(&format!("line {crash}"));
        let expected = if matches!(outcome, Outcome::Done(_)) { &second } else { &first };
        assert_eq!(world.supervisor.current(), expected);
        if !came {
            break;
        }
    }
    assert!(refused > 20 && done > 2, "{refused} refused, {done} done");
}

#[test]
fn what_fails_in_it_leaves_the_former_process_at_work() {
    let mut refused = 0;
    for fails_in in 0.. {
        for of_former in [true, false] {
            let (mut world, first) = launched(u64::from(fails_in));
            let (states, before) = (world.states(), world.incarnations());
            world.fail_in("p", of_former, fails_in);
            let outcome = world.apply(2, &renewed(&first));
            calm(&mut world);
            world.judge(&format!("work {fails_in} fails, of the former: {of_former}"));
            match outcome {
                Outcome::Refused(why) => {
                    assert!(why.contains("fails on purpose"), "{why}");
                    assert_eq!(world.states(), states);
                    assert_eq!(world.incarnations(), before);
                    refused += 1;
                }
                Outcome::Done(_) if of_former => assert_eq!(world.states(), states),
                Outcome::Done(_) => {
                    assert_eq!(world.states(), states);
                    assert!(refused > 15, "{refused}");
                    return;
                }
                Outcome::Status(_) => unreachable!(),
            }
        }
    }
}

/// The supervisor of one of several hosts crashes before each of its actions in turn: what was handed over is not lost with it.
#[test]
fn a_crash_of_the_supervisor_at_every_action_keeps_the_states() {
    let first = target(FIRST);
    let second = renewed(&first);
    for crash in 1.. {
        let mut world = adoption::launched(crash);
        let states = world.states();
        assert_eq!(states.len(), 4);
        let at = world.actions + crash;
        world.supervisor_crash_at = Some(at);
        world.request(2, Request::Propose(Arc::new(second.clone())));
        for phase in adoption::PHASES {
            world.input(Input::Proceed(2, phase));
            world.run(adoption::LONG);
        }
        adoption::decide(&mut world, 2, true);
        world.judge(&format!("action {crash}"));
        assert_eq!(world.states(), states, "action {crash}");
        if world.actions < at {
            assert_eq!(*world.supervisor.current(), second);
            assert!(crash > 30, "{crash}");
            break;
        }
    }
}

/// The same where the change comes about between events: components of the former processes rest before the decision, and those in their place go on
/// after it. What was published is handled by the former ones, also between processes that are handed over together.
#[test]
fn a_crash_of_the_supervisor_in_a_change_between_events_keeps_the_states() {
    const MOMENT: u64 = 300 * MILLISECOND;
    let first = target(&format!("quiesce = \"15 s\"\n{FIRST}"));
    let second = renewed(&first);
    let (mut held, mut taken_back) = (0, 0);
    for crash in 1.. {
        let context = format!("action {crash}");
        let mut world = World::outliving(crash, "both");
        assert_eq!(world.apply(1, &first), Outcome::Done(Vec::new()));
        let states = world.states();
        assert_eq!(states.len(), 4);
        let at = world.actions + crash;
        world.supervisor_crash_at = Some(at);
        world.request(2, Request::Propose(Arc::new(second.clone())));
        world.run(MOMENT);
        for round in 0..world.supervisor.rounds() {
            let published = world.quiesced.get(&2).map(|(_, published)| published.clone());
            world.input(Input::ProceedQuiescing(2, round, published.unwrap_or_default()));
            world.run(MOMENT);
        }
        for phase in adoption::PHASES.into_iter().skip(1) {
            world.input(Input::Proceed(2, phase));
            world.run(MOMENT);
        }
        let has_voted = world.reached.get(&2) == Some(&deployment::Phase::FinishLaunch);
        adoption::decide(&mut world, 2, has_voted);
        world.judge(&context);
        assert_eq!(world.states(), states, "{context}");
        let expected = if has_voted { &second } else { &first };
        assert_eq!(world.supervisor.current(), expected, "{context}");
        if has_voted {
            held += 1
        } else {
            taken_back += 1
        }
        if world.actions < at {
            assert!(has_voted, "{:?}", world.outcomes);
            break;
        }
    }
    assert!(held > 10 && taken_back > 10, "{held} {taken_back}");
}

/// The ends of connections of a process that is to be handed over stay as they are, also those that chains of the plan pass: what comes by them
/// meanwhile would be lost.
#[test]
fn the_ends_of_the_former_process_stay() {
    let chain = "[chain.k]\npath = [\"a.tick\", \"b.in\"]\nreaction = \"1 s\"\n";
    let first = target(&[FIRST, chain].concat());
    let mut world = World::new(5, "both");
    assert_eq!(world.apply(1, &first), Outcome::Done(Vec::new()));
    let connects = world.model("p").connects;
    // The process in its place cannot be made ready.
    world.fail_in("p", false, 3);
    assert!(matches!(world.apply(2, &renewed(&first)), Outcome::Refused(_)));
    calm(&mut world);
    world.judge("refused");
    assert_eq!(world.model("p").connects, connects);
    // Nor when it has been told to come to rest.
    world.fail_in("p", true, 4);
    assert!(matches!(world.apply(3, &renewed(&first)), Outcome::Refused(_)));
    calm(&mut world);
    assert_eq!(world.model("p").connects, connects);
}

#[test]
fn what_the_former_process_tells_reaches_the_one_in_its_place() {
    let (mut world, first) = launched(3);
    let _ = world.apply(2, &renewed(&first));
    let taken = world.orders.iter().filter_map(|order| match order {
        Order::TakeOver(states) => Some(states.len()),
        _ => None,
    });
    assert_eq!(taken.collect::<Vec<_>>(), [2, 1, 1]);
}
