//! Random networks, simulated frame by frame: no delay above a share, no latency above a bound.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod networks;
mod random;
mod simulator;

use std::collections::BTreeMap;

use latency::ledger::Ledger;
use latency::network::{Flow, Policing};
use latency::split::Split;
use latency::units::MILLISECOND;
use networks::{random_network, table_two};
use random::Random;
use simulator::{Behaviour, run};

/// Compares and returns the largest part of a bound that was seen, in thousandths.
fn compare(
    ledger: &Ledger,
    flows: &BTreeMap<u64, Flow>,
    behaviour: &Behaviour,
    random: &mut Random,
    seed: u64,
) -> u64 {
    let seen = run(ledger, flows, behaviour, random);
    assert_eq!(seen.cut, 0, "seed {seed}: a gate has cut a conforming message");
    let babbles = |id: &u64| behaviour.babblers.contains(id);
    for ((id, hop), delay) in &seen.hops {
        let share = ledger.flow(*id).unwrap().shares[*hop];
        if !(babbles(id) && *hop == 0) {
            assert!(*delay <= share, "seed {seed}: flow {id}, hop {hop}: {delay} above the share {share}");
        }
    }
    let mut most = 0;
    for (id, flow) in flows.iter().filter(|(id, _)| !babbles(id)) {
        for (subscriber, bound) in flow.subscribers.iter().zip(ledger.bounds(*id).unwrap()) {
            let latency = seen.latencies.get(&(*id, subscriber.hop)).copied().unwrap_or(0);
            let bound = bound.latency.min(subscriber.limit);
            assert!(latency <= bound, "seed {seed}: flow {id}: {latency} above {bound}");
            most = most.max(latency * 1_000 / bound);
        }
    }
    most
}

#[test]
fn no_frame_exceeds_a_bound() {
    let (mut admitted, mut most, mut babbled) = (0, Vec::new(), 0);
    for seed in tiers::current().seeds("sim.seeds").step_by(4) {
        let mut random = Random(seed);
        let (ledger, flows) = random_network(&mut random);
        admitted += flows.len();
        for synchronous in [true, false] {
            let phases = flows
                .keys()
                .map(|id| (*id, if synchronous { 0 } else { random.range(0, MILLISECOND) }))
                .collect();
            // A babbler ruins the port of its own host: only where it is alone.
            let alone = |flow: &Flow| ledger.entries(flow.tree[0].port).len() == 1;
            let gated = |flow: &Flow| matches!(flow.policing, Policing::Gate { .. });
            let babblers: Vec<u64> = flows
                .iter()
                .filter(|(_, flow)| alone(flow) && gated(flow))
                .map(|(id, _)| *id)
                .filter(|_| random.range(0, 2) == 0)
                .collect();
            babbled += babblers.len();
            let behaviour = Behaviour { babblers, phases, until: 3 * MILLISECOND };
            most.push(compare(&ledger, &flows, &behaviour, &mut random, seed));
        }
    }
    most.sort_unstable();
    eprintln!(
        "{admitted} flows, {babbled} babblers; of a bound, thousandths: median {}, most {:?}",
        most[most.len() / 2],
        most.last()
    );
    assert!(admitted > 100 && babbled > 10);
    // The search is worth something only if it comes close.
    assert!(*most.last().unwrap() >= 900, "{:?}", most.last());
}

/// The bounds of Table II are reached: they are worst cases, not estimates.
#[test]
fn table_two_reaches_its_bounds() {
    let (ports, flows) = table_two();
    let mut ledger = Ledger::new(ports, Split::Load);
    let flows: BTreeMap<u64, Flow> = (1..).zip(flows).collect();
    for (id, flow) in &flows {
        let plan = ledger.plan(*id, flow).unwrap();
        assert!(ledger.commit(plan));
    }
    let mut most = 0;
    for seed in 0..20 {
        let mut random = Random(seed);
        let phases = flows.keys().map(|id| (*id, 0)).collect();
        let behaviour = Behaviour { babblers: vec![], phases, until: 12 * MILLISECOND };
        most = most.max(compare(&ledger, &flows, &behaviour, &mut random, seed));
    }
    assert!(most >= 995, "{most}");
}
