//! Plans against the simulator: a system is simulated as it is, and admitted as the plan that was written of it.
use processors::generate::{Shape, system_of};
use processors::{Claims, Effort, System, Target, explain, refute_some};
use response::Limits;
use schedulability::{Deployed, admit};

use crate::{read, written};

#[test]
fn no_chain_or_connection_of_a_plan_is_above_its_bound() {
    let one = std::env::var("SCHEDULABILITY_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let tier = tiers::current();
    let seeds = one.map_or_else(|| tier.seeds("schedulability.plans"), |seed| seed..seed + 1);
    let (mut plans, mut chains, mut bounded) = (0_u64, 0_u64, 0_u64);
    let (mut connections, mut bounded_connections) = (0_u64, 0_u64);
    let mut kinds = [0_usize; 3];
    for seed in seeds {
        let shape = Shape {
            hosts: 1 + u64::from(seed % 3 == 2),
            components: 3 + seed % 4,
            chains: 2,
            ..Shape::default()
        };
        let description = system_of(&shape, seed).description().clone();
        let description = if seed % 3 == 0 { written::logical(description, seed) } else { description };
        let description = written::simpler(description);
        let description = if seed % 2 == 0 { description } else { written::sampled(description) };
        let passes = |chain: &processors::Chain| {
            let targets = || chain.connections.iter().map(|it| description.connections[*it].target);
            let is_logical = |port: usize| description.ports[port].interval.is_some();
            [
                targets().any(|target| matches!(target, Target::Register(port, _) if !is_logical(port))),
                targets().any(|target| matches!(target, Target::Part(..))),
                targets().map(|target| target.port()).any(is_logical),
            ]
        };
        let passed: Vec<[bool; 3]> = description.chains.iter().map(passes).collect();
        // With queues in place of registers, events may go round.
        let Ok(system) = System::new(description) else { continue };
        let (plan, types) = written::plan(system.description());
        let (plan, types) = read(&plan, &types);
        let limits = Limits { steps: 100_000, ..Limits::default() };
        let admission = admit(&[Deployed { plan: &plan, types: &types, transfers: None }], limits);
        assert_eq!(admission.obstacles, [], "seed {seed}");
        assert_eq!(admission.chains.len(), system.description().chains.len());
        plans += 1;
        chains += admission.chains.len() as u64;
        let claims = Claims {
            reaction: admission.chains.iter().map(|chain| chain.reaction.1).collect(),
            age: admission.chains.iter().map(|chain| chain.age.1).collect(),
            response: vec![None; system.description().ports.len()],
            backlog: vec![None; system.description().ports.len()],
            latency: (0..system.description().connections.len())
                .map(|number| {
                    let mut of_plan = admission.connections.iter();
                    let name = written::connection(number);
                    of_plan.find(|connection| connection.name == name)?.latency.1
                })
                .collect(),
        };
        connections += claims.latency.len() as u64;
        bounded_connections += claims.latency.iter().flatten().count() as u64;
        for (_, passed) in claims.reaction.iter().zip(passed).filter(|(bound, _)| bound.is_some()) {
            kinds.iter_mut().zip(passed).for_each(|(count, passes)| *count += usize::from(passes));
        }
        bounded += claims.reaction.iter().flatten().count() as u64;
        let effort = Effort { climbing: 3, random: 1, events: 120 };
        if let Some(refutation) = refute_some(&system, &claims, effort, seed, 2) {
            panic!(
                "seed {seed}: {:?}\n{}",
                refutation.exceedance,
                explain(&system, &refutation.attack, refutation.exceedance.what)
            );
        }
    }
    let [sampled, joined, logical] = kinds;
    println!(
        "{plans} plans, {chains} chains, {bounded} with bounds; of these {sampled} with sampled links, {joined} with joins, {logical} in logical execution time; {bounded_connections} of {connections} connections"
    );
    assert!(one.is_some() || kinds.iter().all(|count| *count > 0), "no chain of a kind has a bound");
    assert!(
        one.is_some() || bounded_connections * 10 > connections,
        "{bounded_connections} of {connections} connections have bounds"
    );
    assert!(
        one.is_some() || plans > 20 && bounded * 4 > chains,
        "{plans} plans, {bounded} of {chains} chains"
    );
}
