//! What plans leave open is filled in, and what is claimed of it is so.
use assembly::{Plan, SchedulingClass};
use response::Limits;
use schedulability::{Deployed, Effect, Effort, Order, admit, assign, changes};

use crate::by_hand::{EFFORT, PLAN, TYPES, changed};
use crate::read;

/// Lanes, cores, priorities and depths are not said.
#[test]
fn lanes_cores_and_priorities_are_filled_in() {
    let open = PLAN
        .lines()
        .filter(|line| {
            !line.starts_with("lanes.") && !line.starts_with("lane ") && !line.starts_with("lane=")
        })
        .collect::<Vec<_>>()
        .join("\n");
    let open = changed(
        &open,
        &[(
            "\nqueue = { depth = 1, full = \"drop-oldest\" }",
            "\nservice = \"channel\"\nqueue = { depth = 1 }",
        )],
    );
    let (plan, types) = read(&open, TYPES);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    assert!(!admit(&deployed, Limits::default()).is_whole());
    let assigned = assign(&deployed, EFFORT);
    assert!(assigned.admission.is_whole(), "{:?}", assigned.changes);
    let text = assigned.plans[0].to_toml();
    let (again, _) = read(&text, TYPES);
    assert!(
        admit(&[Deployed { plan: &again, types: &types, transfers: None }], Limits::default()).is_whole()
    );
    let lanes: Vec<_> = again.containers.values().flat_map(|container| container.lanes.values()).collect();
    assert_eq!(lanes.len(), 2);
    assert!(lanes.iter().all(|lane| lane.class == SchedulingClass::Fifo && lane.cores.len() == 1));
    assert!(assigned.changes.iter().any(|change| matches!(change.effect, Effect::Lane { .. })));
    // What all is admitted with stays.
    let (plan, types) = read(PLAN, TYPES);
    let left = assign(&[Deployed { plan: &plan, types: &types, transfers: None }], EFFORT);
    assert!(left.changes.is_empty() && left.plans[0] == plan && left.orders.is_empty());
}

/// A queue that is not deep enough gets its backlog.
#[test]
fn queues_become_as_deep_as_they_have_to_be() {
    let slow = [
        ("port.tick.period = \"50 ms\"", "port.tick.period = \"100 ms\""),
        (
            "[chain.log]\npath = [\"log.tick\"]\nreaction = \"8 ms\"",
            "[chain.log]\npath = [\"control.tick\", \"log.noted\"]\nreaction = \"60 ms\"",
        ),
    ];
    let types = changed(TYPES, &[("worst = \"6 ms\"", "worst = \"25 ms\"")]);
    let (plan, types) = read(&changed(PLAN, &slow), &types);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    assert!(!admit(&deployed, Limits::default()).is_whole());
    let assigned = assign(&deployed, EFFORT);
    assert!(assigned.admission.is_whole(), "{:#?}", assigned.admission.chains);
    let deeper = |effect: &Effect| matches!(effect, Effect::Depth { was: 1, becomes } if *becomes > 1);
    assert!(assigned.changes.iter().any(|change| deeper(&change.effect)), "{:?}", assigned.changes);
}

/// Numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Some timers on a core, each in a lane of its own, with a limit each; no two of them have anything to do with each other.
fn apart(random: &mut Random) -> (String, String) {
    let costs = "costs = { wake = \"0 ns\", switch = \"0 ns\", dispatch = \"0 ns\", slack = \"0 ns\", clock-drift = 0 }";
    let mut plan = format!("[host.n1]\ncores = 1\n{costs}\n[container.c]\nprocess = \"p\"\n");
    let mut types = String::new();
    let count = 2 + random.below(3);
    for lane in 0..count {
        plan += &format!("lanes.l{lane} = {{ class = \"fifo\", priority = {}, cores = [0] }}\n", 20 + lane);
    }
    for number in 0..count {
        let period = 10 + random.below(90);
        let worst = 1 + random.below(period / count + 2);
        let limit = worst + random.below(2 * period);
        plan += &format!(
            "[component.c{number}]\ntype = \"T{number}\"\nhost = \"n1\"\nprocess = \"p\"\ncontainer = \"c\"\nlane = \"l{number}\"\nport.tick.period = \"{period} ms\"\n"
        );
        plan += &format!("[chain.k{number}]\npath = [\"c{number}.tick\"]\nreaction = \"{limit} ms\"\n");
        types += &format!(
            "[component.T{number}.port]\ntick = {{ kind = \"timer\", triggers = [], execution = {{ worst = \"{worst} ms\" }} }}\n"
        );
    }
    (plan, types)
}

/// Whether any order of priorities of the lanes of a container admits all: all are tried.
fn any_order(plan: &Plan, types: &assembly::Catalogue, lanes: &[String], chosen: &mut Vec<String>) -> bool {
    if chosen.len() == lanes.len() {
        let mut trial = plan.clone();
        for (level, name) in (10..).zip(chosen.iter()) {
            trial.containers.get_mut("c").unwrap().lanes.get_mut(name).unwrap().priority = Some(level);
        }
        return admit(&[Deployed { plan: &trial, types, transfers: None }], Limits::default()).is_whole();
    }
    lanes.iter().any(|lane| {
        if chosen.contains(lane) {
            return false;
        }
        chosen.push(lane.clone());
        let found = any_order(plan, types, lanes, chosen);
        chosen.pop();
        found
    })
}

/// Where it says so, Audsley's algorithm finds an order if and only if there is one.
#[test]
fn an_order_is_found_if_there_is_one() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..60 {
        let (plan, types) = apart(&mut Random(seed));
        let (plan, types) = read(&plan, &types);
        let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
        let lanes: Vec<String> = plan.containers["c"].lanes.keys().cloned().collect();
        let there_is_one = any_order(&plan, &types, &lanes, &mut Vec::new());
        let assigned = assign(&deployed, EFFORT);
        assert_eq!(assigned.admission.is_whole(), there_is_one, "seed {seed}: {:?}", assigned.orders);
        match assigned.orders.first() {
            Some((host, Order::Found)) => {
                assert!(host == "n1" && there_is_one, "seed {seed}");
                found += 1;
            }
            Some((_, Order::None)) => {
                assert!(!there_is_one, "seed {seed}");
                none += 1;
            }
            Some((_, Order::Search(why))) => panic!("seed {seed}: {why}"),
            // It was right before.
            None => {}
        }
    }
    assert!(found > 5 && none > 5, "{found} {none}");
}

/// What an order that matters is about is told.
#[test]
fn a_search_is_called_one() {
    let (plan, types) = read(&changed(PLAN, &[("reaction = \"8 ms\"", "reaction = \"1 ms\"")]), TYPES);
    let assigned = assign(&[Deployed { plan: &plan, types: &types, transfers: None }], EFFORT);
    let Some((_, Order::Search(why))) = assigned.orders.first() else { panic!("{:?}", assigned.orders) };
    assert!(why.contains("\"noted\" leads from handler to handler by a queue"), "{why}");
}

/// Of what admits all the cheapest comes first: another priority before another core.
#[test]
fn the_cheapest_change_is_offered_first() {
    let plan = changed(
        PLAN.split("[chain.log]").next().unwrap(),
        &[("priority = 20, cores = [0]", "priority = 5, cores = [0]")],
    );
    let (plan, types) = read(&plan, TYPES);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    let found = changes(&deployed, EFFORT).changes;
    assert!(matches!(found[0].effect, Effect::Priority { .. }), "{found:?}");
    assert!(found.iter().any(|change| matches!(change.effect, Effect::Core { .. })));
    // With little effort little is tried.
    let none = changes(&deployed, Effort { total: 1, ..EFFORT }).changes;
    assert_eq!(none, []);
}

/// What is tried for an answer has an end.
#[test]
fn no_more_is_tried_than_the_effort_goes() {
    let plan = changed(
        PLAN.split("[chain.log]").next().unwrap(),
        &[("priority = 20, cores = [0]", "priority = 5, cores = [0]"), ("cores = 2", "cores = 16")],
    );
    let (plan, types) = read(&plan, TYPES);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    let all = changes(&deployed, EFFORT).changes;
    // Each of the other cores would do.
    assert!(all.len() > 15, "{all:?}");
    let one = admit(&deployed, EFFORT.each).work;
    let some = changes(&deployed, Effort { total: 6 * one, ..EFFORT }).changes;
    assert!(!some.is_empty() && some.len() < 12, "{some:?}");
    assert_eq!(changes(&deployed, Effort { total: 1, ..EFFORT }).changes, []);
}

/// Where not all can be tried, lanes of what is refused and of its cores come before lanes elsewhere, whatever these are called; and what was
/// not tried is counted.
#[test]
fn changes_nearby_are_tried_first() {
    let elsewhere: String = (0..10)
        .map(|lane| {
            format!("lanes.l{lane} = {{ class = \"fifo\", priority = {}, cores = [9] }}\n", 60 + 2 * lane)
        })
        .collect();
    let plan = changed(
        PLAN.split("[chain.log]").next().unwrap(),
        &[("priority = 20, cores = [0]", "priority = 5, cores = [0]"), ("cores = 2", "cores = 16")],
    );
    let process = plan.lines().find(|line| line.starts_with("process = ")).unwrap();
    let (plan, types) = read(&format!("{plan}\n[container.aaa]\n{process}\n{elsewhere}"), TYPES);
    let deployed = [Deployed { plan: &plan, types: &types, transfers: None }];
    let all = changes(&deployed, EFFORT);
    assert_eq!(all.untried, 0);
    let one = admit(&deployed, EFFORT.each).work;
    let some = changes(&deployed, Effort { total: 10 * one, ..EFFORT });
    assert_eq!(some.tried + some.untried, all.tried);
    assert!(some.untried > 0 && !some.changes.is_empty(), "{some:?}");
}
