//! Processes that no supervisor leads: each comes to its part of the plan by itself, and they start in a good order.
use std::collections::{BTreeMap, BTreeSet};

use assembly::Plan;
use deployment::{Answer, ComponentServer, Part, standalone, start_order};
use testkit::random::Random;

use crate::executor::Model;
use crate::plans::{is_foreign, random, target, types};

#[test]
fn a_process_comes_to_its_part_by_itself() {
    for seed in tiers::current().seeds("deployment.seeds") {
        let plan = random(&mut Random::new(seed)).plan;
        for process in plan.layout().processes().keys().filter(|process| !is_foreign(&plan, process)) {
            let mut server = ComponentServer::new(Model::new(types(), 0));
            let all = standalone(&plan.to_toml(), process, &types()).unwrap();
            assert_eq!(all.has_chains, !plan.chains.is_empty());
            let answers: Vec<Answer> =
                all.instructions.into_iter().flat_map(|told| server.handle(told)).collect();
            assert!(matches!(answers.first(), Some(Answer::Prepared { .. })), "seed {seed}: {answers:?}");
            assert!(matches!(answers.last(), Some(Answer::Committed { .. })), "seed {seed}: {answers:?}");
            let (part, _) = Part::of(&plan, process, &types());
            assert_eq!(server.executor().differs(&part), None, "seed {seed}: {process}");
            assert_eq!(server.executor().misused, [""; 0], "seed {seed}: {process}");
        }
    }
}

#[test]
fn what_is_no_order_is_refused() {
    let plan = "id = \"a\"\n[process.p]\n[process.q]\n";
    let error = |text: &str, process: &str| standalone(text, process, &types()).unwrap_err();
    assert_eq!(error(plan, "r\n"), "the plan has no process \"r\\n\": it has p, q");
    assert!(error("id = 1", "p").contains("the plan:1:"), "{}", error("id = 1", "p"));
}

#[test]
fn a_process_starts_before_what_publishes_to_it() {
    for seed in tiers::current().seeds("deployment.seeds") {
        let plan = random(&mut Random::new(seed)).plan;
        let order = start_order(&plan, &types());
        let known: Vec<&str> = plan.layout().processes().keys().copied().collect();
        let mut sorted = order.clone();
        sorted.sort();
        assert_eq!(sorted, known, "seed {seed}");
        let mut to = consumers(&plan);
        for (name, process) in &plan.processes {
            to.entry(name.clone()).or_default().extend(process.depends_on.iter().cloned());
        }
        let place = |process: &str| order.iter().position(|other| other == process);
        for (from, direct) in &to {
            for consumer in direct.iter().filter(|consumer| !reaches(&to, consumer, from)) {
                assert!(
                    place(consumer) < place(from),
                    "seed {seed}: {from} publishes to {consumer}, or depends on it: {order:?}"
                );
            }
        }
        // What the plan says itself holds in circles of connections, too.
        for (name, process) in &plan.processes {
            for other in &process.depends_on {
                assert!(place(other) < place(name), "seed {seed}: {name} depends on {other}: {order:?}");
            }
        }
    }
}

#[test]
fn chains_of_processes_start_at_their_end() {
    let mut text = "id = \"line\"\n[host.n1]\ncores = 1\n[artefact.x]\nlocation = [\"x\"]\n".to_owned();
    for (process, name) in [("a", "c1"), ("b", "c2"), ("c", "c3")] {
        text += &format!(
            "[process.{process}]\nartefact = \"x\"\nhost = \"n1\"\n[component.{name}]\ntype = \"Node\"\nprocess = \"{process}\"\n\
             port.tick.period = \"1 ms\"\n"
        );
    }
    text += "[connection.n1]\nfrom = \"c1.out\"\nto = [\"c2.in\"]\n[connection.n2]\nfrom = \"c2.out\"\nto = [\"c3.in\"]\n";
    assert_eq!(start_order(&target(&text).plan, &types()), ["c", "b", "a"]);
}

/// For each process the others that it publishes to.
fn consumers(plan: &Plan) -> BTreeMap<String, BTreeSet<String>> {
    let mut to: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for connection in plan.connections.values() {
        let process = |end: &assembly::End| plan.components[end.component().unwrap()].process.clone();
        let from = process(&connection.from);
        for consumer in connection.to.iter().map(process).filter(|consumer| *consumer != from) {
            to.entry(from.clone()).or_default().insert(consumer);
        }
    }
    to
}

fn reaches(to: &BTreeMap<String, BTreeSet<String>>, from: &str, goal: &str) -> bool {
    let (mut open, mut seen) = (vec![from.to_owned()], BTreeSet::new());
    while let Some(next) = open.pop() {
        if next == goal {
            return true;
        }
        if seen.insert(next.clone()) {
            open.extend(to.get(&next).into_iter().flatten().cloned());
        }
    }
    false
}
