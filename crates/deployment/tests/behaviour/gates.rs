//! Changes of several hosts, on one of them: how far they go, and who decides.
use std::sync::Arc;

use deployment::{Input, Outcome, Part, Phase, Request, Target};

use crate::plans::{self, target};
use crate::world::{Faults, MILLISECOND, World};

const FIRST: &str = include_str!("plans/first.toml");
const SECOND: &str = include_str!("plans/second.toml");
const PHASES: [Phase; 4] = [Phase::PreparePlan, Phase::Passivate, Phase::StartLaunch, Phase::FinishLaunch];
/// Longer than any time limit of the supervisor.
const LONG: u64 = 100_000 * MILLISECOND;

fn launched() -> World {
    let mut world = World::new(1, "both");
    assert_eq!(world.apply(1, &target(FIRST)), Outcome::Done(Vec::new()));
    world
}

/// Goes on to the end of the last phase, one after the other.
fn come_to_the_vote(world: &mut World, request: u64, target: &Target) {
    world.request(request, Request::Propose(Arc::new(target.clone())));
    for phase in PHASES {
        world.input(Input::Proceed(request, phase));
        world.run(LONG);
        assert_eq!(world.reached.get(&request), Some(&phase), "{:?}", world.told);
    }
}

fn states(world: &mut World, request: u64) -> Vec<(String, String)> {
    world.request(request, Request::Status);
    let Outcome::Status(status) = world.run_until(request) else { panic!("no status") };
    let components = status.processes.into_iter().flat_map(|process| process.components);
    components.map(|component| (component.name, component.state)).collect()
}

#[test]
fn a_change_waits_after_each_phase_and_no_component_starts_before_the_decision() {
    let mut world = launched();
    let next = target(SECOND);
    come_to_the_vote(&mut world, 2, &next);
    assert!(!world.outcomes.contains_key(&2));
    let said = "it waits for other hosts after finishLaunch";
    world.request(3, Request::Status);
    let Outcome::Status(status) = world.run_until(3) else { panic!("no status") };
    assert!(status.under_way.as_ref().is_some_and(|text| text.contains(said)), "{:?}", status.under_way);
    let is_passive = |(_, state): &(String, String)| state == "passive";
    assert!(states(&mut world, 5).iter().any(is_passive), "all work before the decision");
    world.input(Input::Decide(2, true));
    assert_eq!(world.run_until(2), Outcome::Done(Vec::new()));
    assert_eq!(*world.supervisor.current(), next);
    world.run(LONG);
    world.judge("decided");
    assert!(states(&mut world, 4).iter().all(|(_, state)| state == "active"));
}

/// A chain over two hosts: both stamp its events, and the host where it ends tells of it.
#[test]
fn a_chain_is_told_where_it_ends() {
    let text = FIRST.replace("cores = 2", "cores = 2\n[host.n2]\ncores = 1");
    let text = text.replace(
        "[process.q]\nartefact = \"x\"\nhost = \"n1\"",
        "[process.q]\nartefact = \"x\"\nhost = \"n2\"",
    );
    let chains = "\n[chain.over]\npath = [\"a.tick\", \"c.in\"]\nreaction = \"9 ms\"\n\
                  [chain.here]\npath = [\"a.tick\", \"b.in\"]\nreaction = \"9 ms\"\n";
    let plan = target(&(text + chains));
    for process in ["p", "q"] {
        let (part, _) = Part::of(&plan.plan, process, &plan.types);
        assert!(part.chains.contains_key("over"), "{process}");
    }
    for (host, expected) in [(Some("n1"), &["here"][..]), (Some("n2"), &["over"]), (None, &["here", "over"])]
    {
        let mut world = World::on_host(host, 1, "both");
        assert_eq!(world.apply(1, &plan), Outcome::Done(Vec::new()));
        world.request(2, Request::Status);
        let Outcome::Status(status) = world.run_until(2) else { panic!("no status") };
        let told: Vec<&str> = status.chains.iter().map(|chain| chain.name.as_str()).collect();
        assert_eq!(told, expected, "{host:?}");
    }
}

#[test]
fn what_is_taken_back_is_as_it_was() {
    for phases in 1..=PHASES.len() {
        let mut world = launched();
        let before = world.numbers();
        world.request(2, Request::Propose(Arc::new(target(SECOND))));
        for phase in &PHASES[..phases] {
            world.input(Input::Proceed(2, *phase));
            world.run(LONG);
        }
        // It cannot be decided before all that may fail is done.
        if phases < PHASES.len() {
            world.input(Input::Decide(2, true));
            world.run(LONG);
            assert!(!world.outcomes.contains_key(&2));
        }
        world.input(Input::Decide(2, false));
        let Outcome::Refused(why) = world.run_until(2) else { panic!("not refused") };
        assert!(why.contains("all hosts"), "{why}");
        world.run(LONG);
        world.judge("taken back");
        assert_eq!(world.numbers(), before, "after {phases} phases");
        assert!(states(&mut world, 3).iter().all(|(_, state)| state == "active"));
    }
}

#[test]
fn a_process_that_ends_after_the_vote_takes_nothing_back() {
    for holds in [true, false] {
        for victim in 0..8 {
            let mut world = launched();
            let next = target(SECOND);
            come_to_the_vote(&mut world, 2, &next);
            let Some(of) = world.incarnations().get(victim).copied() else { break };
            world.end(of, "killed by signal 9");
            world.run(LONG);
            assert!(!world.outcomes.contains_key(&2), "process {victim} decides for all");
            world.input(Input::Decide(2, holds));
            let outcome = world.run_until(2);
            assert_eq!(matches!(outcome, Outcome::Done(_)), holds, "{outcome:?}");
            world.run(LONG);
            let expected = if holds { next } else { target(FIRST) };
            assert_eq!(*world.supervisor.current(), expected);
            world.judge(&format!("process {victim}, holds: {holds}"));
        }
    }
}

#[test]
fn an_end_while_the_decision_is_awaited_starts_nothing() {
    let mut world = launched();
    come_to_the_vote(&mut world, 2, &target(SECOND));
    let started = world.started.len();
    world.order.activations.clear();
    world.request(3, Request::Stop);
    assert_eq!(world.run_until(3), Outcome::Done(Vec::new()));
    assert!(matches!(world.outcomes.get(&2), Some(Outcome::Refused(_))));
    assert_eq!(world.order.activations, [""; 0]);
    assert_eq!(world.started.len(), started);
    assert!(world.supervisor.is_over() && world.incarnations().is_empty());
}

/// Random plans and faults: before the vote the host may refuse, after it what is decided holds.
#[test]
fn what_is_decided_holds() {
    let (mut done, mut refused, mut failed) = (0, 0, 0);
    for seed in tiers::current().seeds("deployment.seeds").step_by(5) {
        let mut world = World::new(seed, "random");
        let mut random = world.random.clone();
        for request in 1..=3 {
            let context = format!("seed {seed}, request {request}");
            world.faults = Faults { crash: 2, double: 20, fail: 15, ..Faults::default() };
            let before = world.supervisor.current().clone();
            let next = plans::next(&before, &mut random);
            world.request(request, Request::Propose(Arc::new(next.clone())));
            for phase in PHASES {
                world.input(Input::Proceed(request, phase));
                world.run(random.below_u64(LONG));
            }
            world.run(LONG);
            let has_voted = world.reached.get(&request) == Some(&Phase::FinishLaunch);
            let holds = random.chance(60);
            world.input(Input::Decide(request, holds));
            let outcome = world.run_until(request);
            let expected = if has_voted && holds { next } else { before };
            assert_eq!(*world.supervisor.current(), expected, "{context}");
            assert_eq!(matches!(outcome, Outcome::Done(_)), has_voted && holds, "{context}");
            match (has_voted, holds) {
                (true, true) => done += 1,
                (true, false) => refused += 1,
                (false, _) => failed += 1,
            }
            world.mend();
            world.run(2 * LONG);
            world.judge(&context);
        }
    }
    let is_one = std::env::var_os("PUNCTUAL_SEED").is_some();
    assert!((done > 0 && refused > 0 && failed > 0) || is_one, "{done} {refused} {failed}");
}
