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

/// A connection with a latency is measured at each of its ends, by all processes that it touches, and told where the end is. A chain may have its name.
#[test]
fn a_latency_is_told_where_its_connection_ends() {
    let text = FIRST.replace("cores = 2", "cores = 2\n[host.n2]\ncores = 1\ncosts = { wake = \"1 us\", switch = \"1 us\", dispatch = \"1 us\", slack = \"1 us\", clock-drift = 50000, probe = \"9 us\" }");
    let text = text.replace(
        "[process.q]\nartefact = \"x\"\nhost = \"n1\"",
        "[process.q]\nartefact = \"x\"\nhost = \"n2\"",
    );
    let text = text.replace("[connection.ab]\n", "[connection.ab]\nlatency = \"7 ms\"\n");
    let plan = target(&(text + "\n[chain.ab]\npath = [\"a.tick\", \"b.in\"]\nreaction = \"9 ms\"\n"));
    let ends = |process: &str| -> Vec<(String, Vec<String>)> {
        let (part, _) = Part::of(&plan.plan, process, &plan.types);
        assert_eq!(part.has_probes, process == "q");
        let clocks = part.clocks.as_ref().map(|clocks| (&*clocks.topic, clocks.drift));
        // What crosses no hosts needs no clock: the two that drift most do so by 200,000 and 50,000 parts.
        let expected = (process != "r").then_some(("both/clocks/time", 250_251));
        assert_eq!(clocks, expected, "{process}");
        let measured = part.chains.iter().filter(|(_, part)| part.connection.is_some());
        let measured = measured.map(|(name, part)| {
            assert_eq!(
                (part.connection.as_deref(), part.reaction, part.age),
                (Some("ab"), Some(7_000_000), None)
            );
            (name.clone(), part.hops.iter().flat_map(|hop| hop.connections.clone()).collect())
        });
        measured.collect()
    };
    let end = |to: &str, halves: &[&str]| {
        (format!("connection ab to {to}"), halves.iter().map(|half| (*half).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(ends("p"), [end("b.in", &["ab 0", "ab out"]), end("c.in", &["ab out"])]);
    assert_eq!(ends("q"), [end("c.in", &["ab 1"])]);
    assert_eq!(ends("r"), []);
    for (host, expected) in [(Some("n1"), &["b.in"][..]), (Some("n2"), &["c.in"]), (None, &["b.in", "c.in"])]
    {
        let mut world = World::on_host(host, 1, "both");
        assert_eq!(world.apply(1, &plan), Outcome::Done(Vec::new()));
        world.request(2, Request::Status);
        let Outcome::Status(status) = world.run_until(2) else { panic!("no status") };
        let told: Vec<&str> = status.connections.iter().map(|it| it.to.as_str()).collect();
        assert_eq!(told, expected, "{host:?}");
        assert!(status.connections.iter().all(|it| it.name == "ab" && it.latency == 7_000_000));
    }
}

/// Probes and comparisons of clocks begin and end with a change, and a change that is taken back leaves those before.
#[test]
fn what_is_looked_for_on_a_host_is_as_the_plan_that_holds() {
    let text = FIRST.replace("cores = 2", "cores = 2\n[host.n2]\ncores = 1\ncosts = { wake = \"1 us\", switch = \"1 us\", dispatch = \"1 us\", slack = \"1 us\", clock-drift = 50000, probe = \"9 us\" }");
    let text = text.replace(
        "[process.q]\nartefact = \"x\"\nhost = \"n1\"",
        "[process.q]\nartefact = \"x\"\nhost = \"n2\"",
    );
    let measured = text.replace("[connection.ab]\n", "[connection.ab]\nlatency = \"7 ms\"\n");
    let without = measured.replace(", probe = \"9 us\"", "").replace("50000", "70000");
    let mut world = World::new(1, "both");
    let watches = |world: &mut World| {
        let watches = world.model("q").watches.clone();
        (watches.probes.is_some(), watches.clocks.map(|clocks| clocks.drift))
    };
    assert_eq!(world.apply(1, &target(&measured)), Outcome::Done(Vec::new()));
    assert_eq!(watches(&mut world), (true, Some(250_251)));
    // What comes after it in the same change fails.
    world.fail_in("q", true, 1);
    let other = target(&without.replace("settings.a = 1", "settings.a = 2"));
    assert_ne!(world.apply(2, &other), Outcome::Done(Vec::new()));
    assert_eq!(watches(&mut world), (true, Some(250_251)));
    world.judge("taken back");
    // Nothing else changes.
    assert_eq!(world.apply(3, &target(&without)), Outcome::Done(Vec::new()));
    assert_eq!(watches(&mut world), (false, Some(270_271)));
    world.judge("without probes");
    assert_eq!(world.apply(4, &target(&measured)), Outcome::Done(Vec::new()));
    assert_eq!(watches(&mut world), (true, Some(250_251)));
    // Without a latency nothing is measured.
    assert_eq!(world.apply(5, &target(&text)), Outcome::Done(Vec::new()));
    assert_eq!(watches(&mut world), (false, None));
    world.judge("not measured");
}

/// What no stamps pass is not measured, and says why.
#[test]
fn a_latency_that_is_not_measured_says_why() {
    let text =
        FIRST.replace("[connection.cd]\n", "[connection.cd]\nlatency = \"7 ms\"\nservice = \"federated\"\n");
    let plan = target(&text);
    let (part, _) = Part::of(&plan.plan, "q", &plan.types);
    assert!(part.chains.is_empty() && part.clocks.is_none(), "{:?}", part.chains);
    let mut world = World::new(1, "both");
    assert_eq!(world.apply(1, &plan), Outcome::Done(Vec::new()));
    world.request(2, Request::Status);
    let Outcome::Status(status) = world.run_until(2) else { panic!("no status") };
    let [connection] = &status.connections[..] else { panic!("{:?}", status.connections) };
    assert_eq!(
        connection.unmeasured.as_deref(),
        Some("events of cd come by gateways, which carry no stamps")
    );
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

/// A process is started again, which takes its time. What was proposed meanwhile does not come about elsewhere: it must not begin later, and wait.
#[test]
fn what_is_taken_back_before_its_turn_does_not_begin() {
    let mut world = launched();
    world.faults = Faults { hang: 100, ..Faults::default() };
    let (of, started) = (world.incarnations()[0], world.started.len());
    world.end(of, "killed by signal 9");
    for _ in 0..10_000 {
        if world.started.len() > started {
            break;
        }
        world.run(MILLISECOND);
    }
    assert!(world.started.len() > started, "it is started again");
    world.request(2, Request::Propose(Arc::new(target(SECOND))));
    assert!(!world.outcomes.contains_key(&2), "it waits");
    world.input(Input::Decide(2, false));
    assert!(matches!(world.outcomes.get(&2), Some(Outcome::Refused(_))), "{:?}", world.outcomes.get(&2));
    world.mend();
    world.run(2 * LONG);
    world.judge("taken back");
    assert!(world.supervisor.is_idle(), "{:?}", world.supervisor);
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

/// A component of `n1` publishes to one of `n2`.
const OVER: &str = concat!(
    "id = \"both\"\nquiesce = \"40 ms\"\n[host.n2]\ncores = 2\n[process.r]\nartefact = \"x\"\nhost = \"n2\"\n\
     [component.d]\ntype = \"Node\"\nprocess = \"r\"\nport.tick.period = \"1 ms\"\n",
    plans::three_nodes!(),
    "[connection.ad]\nfrom = \"a.out\"\nto = [\"d.in\"]\nqueue = { depth = 4 }\n",
);

/// What a host runs of that plan, and one where the connection has another queue.
fn quiescing(host: &str) -> (World, Target) {
    let mut world = World::on_host(Some(host), 1, "both");
    come_to_the_vote(&mut world, 1, &target(OVER));
    world.input(Input::Decide(1, true));
    assert_eq!(world.run_until(1), Outcome::Done(Vec::new()));
    let next = target(&OVER.replace("depth = 4", "depth = 5"));
    world.request(2, Request::Propose(Arc::new(next.clone())));
    world.input(Input::Proceed(2, Phase::PreparePlan));
    world.run(LONG);
    assert_eq!(world.reached.get(&2), Some(&Phase::PreparePlan), "{:?}", world.told);
    (world, next)
}

#[test]
fn nothing_is_taken_apart_before_all_rounds_are_done() {
    for rounds in 0..2 {
        let (mut world, _) = quiescing("n2");
        assert_eq!(world.supervisor.rounds(), 2);
        for round in 0..rounds {
            world.input(Input::ProceedQuiescing(2, round, Vec::new()));
            world.run(LONG);
        }
        world.input(Input::Proceed(2, Phase::Passivate));
        let Outcome::Refused(why) = world.run_until(2) else { panic!("it is not refused") };
        assert!(why.contains(&format!("of 2 only {rounds} are done")), "{why}");
        assert_eq!(*world.supervisor.current(), target(OVER));
        world.run(LONG);
        world.judge("rounds are left out");
    }
}

/// A host on which nothing rests waits for others: only what rests does so no longer than the plan says.
#[test]
fn the_time_of_a_plan_counts_where_something_rests() {
    for (host, rests) in [("n1", true), ("n2", false)] {
        let (mut world, next) = quiescing(host);
        for round in 0..2 {
            world.input(Input::ProceedQuiescing(2, round, Vec::new()));
            world.run(LONG);
        }
        if rests {
            let Outcome::Refused(why) = world.run_until(2) else { panic!("it is not refused") };
            assert!(why.contains("a rested for more than 40 ms"), "{why}");
            continue;
        }
        assert!(!world.outcomes.contains_key(&2), "{:?}", world.outcomes);
        for phase in [Phase::Passivate, Phase::StartLaunch, Phase::FinishLaunch] {
            world.input(Input::Proceed(2, phase));
            world.run(LONG);
        }
        world.input(Input::Decide(2, true));
        assert!(matches!(world.run_until(2), Outcome::Done(_)));
        assert_eq!(*world.supervisor.current(), next);
    }
}
