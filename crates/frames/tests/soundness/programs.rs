//! Limits that linear programs meet and nothing else does, on lines of switches: attacked for long, and how near they are to the worst found.
use frames::Search;
use latency::ledger::Ledger;
use latency::network::Policing;
use latency::split::Split;

use crate::analysis::Model;
use crate::ledger::{Promise, lower_limits, promised};
use crate::ratios::Ratios;
use crate::tightness::{EFFORT, Kind, line};

/// Along a line of so many hops each flow is admitted, and then again with the limit that a program meets.
fn promise(seed: u64, hops: usize, kind: Kind) -> Option<Promise> {
    let network = line(seed, hops, kind);
    let mut model = Model::new(&network, &vec![Policing::Trusted; network.flows().len()]);
    // Where flows share one queue, one method differs most from another.
    let queues = if seed.is_multiple_of(20) { 8 } else { 1 };
    model.ports.iter_mut().for_each(|port| port.queues = queues);
    let mut ledger = Ledger::new(model.ports.clone(), Split::Last);
    ledger.use_solver(solver::multipliers);
    for (id, flow) in (0..).zip(&mut model.flows) {
        flow.subscribers.iter_mut().for_each(|subscriber| subscriber.limit = 1_000_000_000_000);
        ledger.admit_as_asked(id, flow).ok()?;
    }
    for _ in 0..3 {
        lower_limits(&mut ledger, model.flows.len() as u64);
    }
    Some(promised(&ledger, &network, network.ports().to_vec(), seed))
}

#[test]
fn lines_keep_what_linear_programs_promise() {
    let (mut less, mut ratios) = (0, Ratios::default());
    for seed in tiers::current().seeds("latency.programs").step_by(10) {
        for (hops, kind) in [(4, Kind::Jitter), (5, Kind::Jitter), (6, Kind::Plain)] {
            let Some(promise) = promise(seed, hops, kind) else { continue };
            less += promise.less;
            let found = Search::new(&promise.network, &promise.bounds, 0, hops - 1, EFFORT).worst(seed);
            let outcome = &found.outcome;
            assert_eq!(outcome.excess_count, 0, "seed {seed}, {hops} hops, {kind:?}: {:?}", outcome.excesses);
            let bound = promise.bounds.latency[0].last().copied().flatten().unwrap();
            let kind = if kind == Kind::Jitter { "with jitter" } else { "without jitter" };
            ratios.add(kind, hops, bound, found.latency);
        }
    }
    println!("{less} bounds by programs alone; to the worst found:\n{ratios}");
    assert!(less > 0, "{less}");
}
