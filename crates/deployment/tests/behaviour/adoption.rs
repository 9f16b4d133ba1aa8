//! Supervisors that crash: the next one adopts the processes, and ends the change that was under way.
use std::collections::BTreeMap;
use std::sync::Arc;

use deployment::{Incarnation, Input, Outcome, Phase, Request, Target};

use crate::plans::{self, target};
use crate::simulation::calm;
use crate::world::{Faults, MILLISECOND, World};

const FIRST: &str = include_str!("plans/first.toml");
const SECOND: &str = include_str!("plans/second.toml");
pub(crate) const PHASES: [Phase; 4] =
    [Phase::PreparePlan, Phase::Passivate, Phase::StartLaunch, Phase::FinishLaunch];
/// Longer than any time limit of the supervisor.
pub(crate) const LONG: u64 = 100_000 * MILLISECOND;

pub(crate) fn launched(seed: u64) -> World {
    let mut world = World::outliving(seed, "both");
    assert_eq!(world.apply(1, &target(FIRST)), Outcome::Done(Vec::new()));
    world
}

/// Asserts that what was made before is still there, with its state.
fn same(world: &World, before: &BTreeMap<(Incarnation, String), u64>, context: &str) {
    assert_eq!(world.numbers(), *before, "{context}");
}

/// Says what becomes of a change, again to each supervisor, as orders do.
pub(crate) fn decide(world: &mut World, request: u64, holds: bool) {
    let mut crashes = u64::MAX;
    while crashes != world.supervisor_crashes {
        crashes = world.supervisor_crashes;
        world.input(Input::Decide(request, holds));
        world.run(LONG);
    }
    calm(world);
}

#[test]
fn what_rests_in_a_plan_is_adopted_as_it_is() {
    let mut world = launched(1);
    world.run(LONG);
    let (before, started) = (world.numbers(), world.started.len());
    for crash in 0..3 {
        world.crash_supervisor();
        world.run(LONG);
        world.judge(&format!("crash {crash}"));
        same(&world, &before, "adopted");
        assert_eq!(world.started.len(), started, "{:?}", world.started);
    }
    // It is led from plan to plan as before, and ended.
    assert_eq!(world.apply(2, &target(SECOND)), Outcome::Done(Vec::new()));
    calm(&mut world);
    world.judge("after the change");
    world.crash_supervisor();
    world.request(3, Request::Stop);
    assert_eq!(world.run_until(3), Outcome::Done(Vec::new()));
    assert_eq!(world.incarnations(), []);
}

/// The supervisor crashes before each of its actions in turn.
#[test]
fn a_crash_at_every_action_of_a_change_leaves_the_old_plan_or_the_new_one() {
    let (first, second) = (target(FIRST), target(SECOND));
    let (mut old, mut new) = (0, 0);
    for crash in 1.. {
        let context = format!("action {crash}");
        let mut world = launched(crash);
        let before = world.numbers();
        let at = world.actions + crash;
        world.supervisor_crash_at = Some(at);
        world.request(2, Request::Apply(Arc::new(second.clone())));
        calm(&mut world);
        world.judge(&context);
        if *world.supervisor.current() == first {
            old += 1;
            same(&world, &before, &context);
        } else {
            assert_eq!(*world.supervisor.current(), second, "{context}");
            new += 1;
        }
        if world.actions < at {
            break;
        }
    }
    assert!(old > 10 && new > 2, "{old} old, {new} new");
}

/// The same of a change of several hosts: after the vote it waits for the decision, before it all is taken back.
#[test]
fn a_crash_at_every_action_keeps_the_vote() {
    let (first, second) = (target(FIRST), target(SECOND));
    let mut counts = [0; 3];
    for holds in [true, false] {
        for crash in 1.. {
            let context = format!("action {crash}, holds: {holds}");
            let mut world = launched(crash);
            let before = world.numbers();
            let at = world.actions + crash;
            world.supervisor_crash_at = Some(at);
            world.request(2, Request::Propose(Arc::new(second.clone())));
            for phase in PHASES {
                world.input(Input::Proceed(2, phase));
                world.run(LONG);
            }
            let has_voted = world.reached.get(&2) == Some(&Phase::FinishLaunch);
            if has_voted {
                assert!(!world.outcomes.contains_key(&2), "{context}: it decides for all");
                let under_way = world.supervisor.plans().1.map(|next| next.plan.clone());
                assert_eq!(under_way.as_ref(), Some(&second.plan), "{context}");
                world.order.activations.clear();
                world.run(LONG);
                assert_eq!(
                    world.order.activations, [""; 0],
                    "{context}: something begins before the decision"
                );
            } else {
                assert!(matches!(world.outcomes.get(&2), Some(Outcome::Refused(_)) | None), "{context}");
            }
            decide(&mut world, 2, holds);
            world.judge(&context);
            let expected = if has_voted && holds { &second } else { &first };
            assert_eq!(world.supervisor.current(), expected, "{context}");
            if !(has_voted && holds) {
                same(&world, &before, &context);
            }
            counts[usize::from(has_voted) + usize::from(has_voted && holds)] += 1;
            if world.actions < at {
                break;
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 3), "{counts:?}");
}

#[test]
fn a_crash_at_every_action_of_an_end_ends_all() {
    for crash in 1.. {
        let mut world = launched(crash);
        let at = world.actions + crash;
        world.supervisor_crash_at = Some(at);
        world.request(2, Request::Stop);
        calm(&mut world);
        assert_eq!(world.incarnations(), [], "action {crash}");
        assert!(world.supervisor.is_over(), "action {crash}");
        if world.actions < at {
            break;
        }
    }
}

/// A checkpoint of before the last change: processes say that they are further, and get the plan of the checkpoint as new processes.
#[test]
fn a_process_that_is_not_what_was_left_is_ended_and_started_again() {
    let mut world = launched(1);
    let left = world.kept.clone();
    let (first, second) =
        (target(FIRST), target(&testkit::changed(FIRST, "settings.a = 1", "settings.a = 9")));
    let before = world.incarnations();
    assert_eq!(world.apply(2, &second), Outcome::Done(Vec::new()));
    assert_eq!(world.incarnations(), before, "the same processes");
    world.kept = left;
    world.crash_supervisor();
    calm(&mut world);
    world.judge("an old checkpoint");
    assert_eq!(*world.supervisor.current(), first);
    assert!(world.told.iter().any(|told| told.contains(" ended: ")), "{:?}", world.told);
    assert!(world.incarnations().iter().all(|of| !before.contains(of)), "{:?}", world.told);
}

fn play(seed: u64) -> [u64; 3] {
    let mut world = World::outliving(seed, "random");
    let mut random = world.random.clone();
    let (mut done, mut refused) = (0, 0);
    let kinds = [
        Faults { supervisor: 3, ..Faults::default() },
        Faults { supervisor: 2, crash: 3, ..Faults::default() },
        Faults {
            supervisor: 2,
            crash: 1,
            lost: 1,
            double: 20,
            unstartable: 5,
            fail: 10,
            hang: 3,
            ..Faults::default()
        },
        // A launch that is not written down is forgotten: only changes of several hosts are sure to hold then.
        Faults { supervisor: 3, unkept: 20, crash: 1, ..Faults::default() },
    ];
    for request in 1..=4 {
        let context = format!("seed {seed}, request {request}");
        world.faults = *random.pick(&kinds).unwrap();
        let before = world.supervisor.current().clone();
        let next = plans::next(&before, &mut random);
        let is_proposed = world.faults.unkept > 0 || random.chance(60);
        let target: Arc<Target> = Arc::new(next.clone());
        world.request(request, if is_proposed { Request::Propose(target) } else { Request::Apply(target) });
        let holds = random.chance(60);
        let mut has_voted = false;
        if is_proposed {
            for phase in PHASES {
                world.input(Input::Proceed(request, phase));
                world.run(random.below_u64(LONG));
            }
            world.run(LONG);
            has_voted = world.reached.get(&request) == Some(&Phase::FinishLaunch);
            decide(&mut world, request, holds);
        }
        calm(&mut world);
        world.judge(&context);
        let current = world.supervisor.current();
        assert!(*current == before || *current == next, "{context}");
        if is_proposed {
            assert_eq!(*current == next, has_voted && holds || before == next, "{context}");
        }
        *(if *current == next { &mut done } else { &mut refused }) += 1;
    }
    world.faults = kinds[0];
    world.request(9, Request::Stop);
    calm(&mut world);
    assert_eq!(world.incarnations(), [], "seed {seed}");
    assert!(world.supervisor.is_over(), "seed {seed}");
    [done, refused, world.supervisor_crashes]
}

#[test]
fn whatever_crashes_it_is_the_old_plan_or_the_new_one() {
    let mut all = [0; 3];
    for seed in tiers::current().seeds("deployment.seeds") {
        let played = std::panic::catch_unwind(|| play(seed));
        let played = played.unwrap_or_else(|_| panic!("seed {seed}: PUNCTUAL_SEED={seed} repeats it"));
        all = [0, 1, 2].map(|kind| all[kind] + played[kind]);
    }
    assert!(all.iter().all(|count| *count > 0) || std::env::var_os("PUNCTUAL_SEED").is_some(), "{all:?}");
}
