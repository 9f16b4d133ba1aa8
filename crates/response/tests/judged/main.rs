//! Bounds against the simulator of the same model, which shares no code with the analysis: no value that an
//! adversary reaches in a random system is above its bound.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod convert;
mod modes;

use processors::generate::{Shape, system_of};
use processors::{
    Claims, Connection, Effort, Goal, Outcome, Search, Step, System, Target, explain, refute_some,
};
use response::{Analysis, Limits, analyse};

/// Systems of each kind by turns: small ones, whose worst cases are found easily, and large ones.
fn shape(seed: u64) -> Shape {
    match seed % 4 {
        0 => Shape { hosts: 1, components: 3, chains: 2, ..Shape::default() },
        1 => Shape { hosts: 1, components: 8, ..Shape::default() },
        2 => Shape { hosts: 2, components: 6, ..Shape::default() },
        _ => Shape::default(),
    }
}

fn claims(analysis: &Analysis) -> Claims {
    Claims {
        reaction: analysis.chains.iter().map(|chain| chain.reaction.ok()).collect(),
        age: analysis.chains.iter().map(|chain| chain.age.ok()).collect(),
        response: analysis.ports.iter().map(|port| port.response.ok()).collect(),
        backlog: analysis.ports.iter().map(|port| port.backlog.ok()).collect(),
        latency: analysis.connections.iter().map(|connection| connection.latency.ok()).collect(),
    }
}

/// How much there was to refute, so that a test cannot pass for want of bounds.
#[derive(Default)]
struct Count {
    systems: u64,
    chains: u64,
    bounded: u64,
    connections: u64,
    bounded_connections: u64,
}

/// How much is spent on a system.
#[derive(Clone, Copy)]
struct Spent {
    /// Of the analysis.
    limits: Limits,
    /// Claims that are goals.
    goals: usize,
    /// On each of them.
    effort: Effort,
}

fn judge(seed: u64, spent: Spent, count: &mut Count) {
    let system = system_of(&shape(seed), seed);
    let system = if seed % 5 == 4 { calling_twice(&system).unwrap_or(system) } else { system };
    judge_of(system, seed, spent, count);
}

/// The same system, in which each push that calls a handler calls a second one that does the same, and no handler takes less time than
/// it may: then what is before a second call takes all of its time, too.
fn calling_twice(system: &System) -> Option<System> {
    let mut parts = system.description().clone();
    for step in parts.ports.iter_mut().flat_map(|port| &mut port.steps) {
        if let Step::Run { least, most } = step {
            *least = *most;
        }
    }
    for connection in parts.connections.clone() {
        if let Target::Direct(called) = connection.target {
            let target = Target::Direct(parts.ports.len());
            parts.ports.push(parts.ports[called].clone());
            parts.connections.push(Connection { target, ..connection });
        }
    }
    System::new(parts).ok()
}

fn judge_of(system: System, seed: u64, spent: Spent, count: &mut Count) {
    let analysed = convert::system(system.description());
    let analysis = analyse(&analysed, spent.limits)
        .unwrap_or_else(|problems| panic!("seed {seed}: the simulator takes a system in which {problems:?}"));
    let claims = claims(&analysis);
    count.systems += 1;
    count.chains += claims.reaction.len() as u64;
    count.bounded += claims.reaction.iter().flatten().count() as u64;
    count.connections += claims.latency.len() as u64;
    count.bounded_connections += claims.latency.iter().flatten().count() as u64;
    if let Some(refutation) = refute_some(&system, &claims, spent.effort, seed, spent.goals) {
        panic!(
            "seed {seed}: {:?}\n{}\n{:#?}",
            refutation.exceedance,
            explain(&system, &refutation.attack, refutation.exceedance.what),
            system.description()
        );
    }
}

#[test]
fn no_bound_is_exceeded() {
    if let Ok(seed) = std::env::var("RESPONSE_SEED") {
        let spent = Spent { limits: Limits::default(), goals: usize::MAX, effort: Effort::default() };
        judge(seed.parse().unwrap(), spent, &mut Count::default());
        return;
    }
    // Many systems with little for each find more than few with much.
    let tier = tiers::current();
    let spent = Spent {
        limits: Limits { steps: tier.number("response.steps"), ..Limits::default() },
        goals: usize::try_from(tier.number("response.goals")).unwrap(),
        effort: Effort { climbing: 3, random: 1, events: 120 },
    };
    let mut count = Count::default();
    for seed in tier.seeds("response.judged") {
        judge(seed, spent, &mut count);
    }
    assert!(
        count.bounded * 4 > count.chains,
        "{} of {} chains in {} systems have bounds",
        count.bounded,
        count.chains,
        count.systems
    );
    assert!(
        count.bounded_connections * 8 > count.connections,
        "{} of {} connections in {} systems have bounds",
        count.bounded_connections,
        count.connections,
        count.systems
    );
}

/// A system whose lanes have two threads on one core each, and where a change of threads takes longer than most handlers: what threads cost
/// that wake for nothing shows.
fn of_several_threads(seed: u64) -> Option<System> {
    let shape = Shape { hosts: 1, components: 2, chains: 1, load: (5, 30) };
    let mut parts = system_of(&shape, seed).description().clone();
    for host in &mut parts.hosts {
        (host.wake, host.dispatch, host.slack) = (0, 0, 0);
        host.switch = 100 + 100 * (seed % 4);
        host.stalls.clear();
        host.throttling = None;
    }
    for lane in &mut parts.lanes {
        lane.threads = vec![lane.threads[0]; 2];
        lane.scheduling = processors::Scheduling::Fifo { priority: 1 + (seed % 3) as u8 };
        lane.order = processors::LaneOrder::Fifo;
    }
    for component in &mut parts.components {
        component.serialised = false;
    }
    System::new(parts).ok()
}

#[test]
fn no_bound_of_lanes_of_several_threads_is_exceeded() {
    let limits = Limits { steps: tiers::current().number("response.steps"), ..Limits::default() };
    let effort = Effort { climbing: 20, random: 20, events: 200 };
    let mut count = Count::default();
    for seed in tiers::current().seeds("response.several") {
        let Some(system) = of_several_threads(seed) else { continue };
        judge_of(system, seed, Spent { limits, goals: 3, effort }, &mut count);
    }
    assert!(
        count.systems > 10 && count.bounded > 5,
        "{} of {} in {}",
        count.bounded,
        count.chains,
        count.systems
    );
}

/// How far bounds are from what a search finds, in thousandths, for chains of the smallest systems: a bound that is far above may be right, but
/// refuses what would do.
#[test]
fn bounds_are_near_what_is_found() {
    let mut ratios: Vec<u64> = Vec::new();
    for seed in 0..40 {
        let system = system_of(&shape(0), seed);
        let Ok(analysis) = analyse(&convert::system(system.description()), Limits::default()) else {
            continue;
        };
        let claims = claims(&analysis);
        for (chain, claim) in claims.reaction.iter().enumerate() {
            let Some(claim) = claim else { continue };
            let found = Search::new(&system, &claims, Goal::Reaction(chain), Effort::default()).worst(seed);
            let seen = Outcome::seen(&found.outcome, Goal::Reaction(chain));
            ratios.extend((claim * 1_000).checked_div(seen.value));
        }
    }
    ratios.sort_unstable();
    println!("bound by what was found, in thousandths: {ratios:?}");
    let median = ratios[ratios.len() / 2];
    assert!((1_000..3_000).contains(&median), "{ratios:?}");
}
