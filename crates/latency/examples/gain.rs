//! What each method is worth where flows are admitted: `gain [NETWORKS]` prints how many flows are admitted at limits below those that TFA++
//! keeps for all flows at once, and how much less than the sum over the hops a linear program says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program for the developer")]

#[path = "../tests/networks/mod.rs"]
mod networks;
#[path = "../tests/random/mod.rs"]
mod random;
#[path = "../tests/tfa/mod.rs"]
mod tfa;

use std::collections::BTreeMap;

use latency::ledger::{FlowId, Ledger};
use latency::network::Policing;
use latency::path::PathMethod;
use latency::split::Split;
use tfa::networks::{METER, Network, admitted, first_in_first_out, with_frames, with_limits};

/// Flows admitted, and those of them whose limit rests on concatenation, and on a linear program.
fn count(ledger: &Ledger, network: &Network) -> [usize; 3] {
    let mut count = [0; 3];
    for (id, flow) in (0..).zip(&network.flows) {
        count[0] += usize::from(ledger.flow(id).is_some());
        let rests = |method| {
            let mut methods = (0..flow.subscribers.len()).filter_map(|at| ledger.rests_on(id, at));
            methods.any(|bound| bound.method == method)
        };
        count[2] += usize::from(rests(PathMethod::LinearProgram));
        count[1] += usize::from(rests(PathMethod::Concatenation));
    }
    count
}

/// What limits are.
#[derive(Clone, Copy)]
enum Limits {
    /// Such a part of what TFA++ keeps for all flows at once.
    Part(f64),
    /// Where all flows have just what TFA++ keeps, what a linear program says of each, and a nanosecond.
    Programs,
}

impl Limits {
    fn set(self, network: &mut Network) {
        match self {
            Self::Part(part) => with_limits(network, part).unwrap(),
            Self::Programs => {
                with_limits(network, 1.0).unwrap();
                let ledger = admitted(network, Some(solver::multipliers));
                for (id, flow) in (0..).zip(&mut network.flows) {
                    for (at, subscriber) in flow.subscribers.iter_mut().enumerate() {
                        let program = ledger.linear_program(id, at).map(|bound| bound.latency + 1_001);
                        subscriber.limit = program.unwrap_or(u64::MAX).min(subscriber.limit);
                    }
                }
            }
        }
    }
}

fn published() -> Vec<Network> {
    let kinds = [(Policing::Trusted, 1), (Policing::Trusted, 8), (METER, 1), (METER, 8)];
    let with = |case| kinds.map(|(policing, queues)| with_frames(case, policing, queues));
    tfa::published::CASES.iter().flat_map(with).collect()
}

fn main() {
    let most = std::env::args().nth(1).map_or(2_000, |argument| argument.parse().unwrap());
    println!(
        "| networks | limits, of TFA++ | flows | by sums | with other methods | rest on concatenation | on programs | fewer in |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for kind in ["random", "published"] {
        let mut networks: Vec<Network> =
            if kind == "random" { (0..most).map(first_in_first_out).collect() } else { published() };
        let parts = [0.95, 0.9, 0.8, 0.7].map(Limits::Part);
        for limits in [Limits::Programs].into_iter().chain(parts) {
            let (mut flows, mut before, mut sums, mut fewer) = (0, 0, [0; 3], 0);
            for network in &mut networks {
                limits.set(network);
                let mut sums_alone = Ledger::new(network.ports.clone(), Split::Load);
                sums_alone.use_sums_alone();
                let less = (0..).zip(&network.flows);
                let less = less.filter(|(id, flow)| sums_alone.admit_as_asked(*id, flow).is_ok()).count();
                let counted = count(&admitted(network, Some(solver::multipliers)), network);
                flows += network.flows.len();
                before += less;
                fewer += usize::from(counted[0] < less);
                sums.iter_mut().zip(counted).for_each(|(sum, more)| *sum += more);
            }
            let [all, concatenation, programs] = sums;
            let limits = match limits {
                Limits::Programs => "what programs meet".to_owned(),
                Limits::Part(part) => format!("{part}"),
            };
            println!(
                "| {kind} | {limits} | {flows} | {before} | {all} | {concatenation} | {programs} | {fewer} |"
            );
        }
    }
    println!(
        "\n| networks | hops | ways | lesser by a program | median | tenth | least |\n|---|---|---|---|---|---|---|"
    );
    for kind in ["random", "published"] {
        let networks: Vec<Network> =
            if kind == "random" { (0..most).map(first_in_first_out).collect() } else { published() };
        let mut ratios: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for mut network in networks {
            with_limits(&mut network, 1.0).unwrap();
            let ledger = admitted(&network, Some(solver::multipliers));
            for (id, flow) in (0..network.flows.len() as FlowId).zip(&network.flows) {
                let Some(bounds) = ledger.bounds(id) else { continue };
                for (at, bound) in bounds.iter().enumerate() {
                    let Some(program) = ledger.linear_program(id, at) else { continue };
                    let hops = flow.way_to(flow.subscribers[at].hop).len();
                    ratios.entry(hops).or_default().push(program.latency as f64 / bound.latency as f64);
                }
            }
        }
        for (hops, mut ratios) in ratios {
            ratios.sort_by(f64::total_cmp);
            let less = ratios.iter().filter(|ratio| **ratio < 1.0).count();
            let at = |part: usize| ratios[(ratios.len() - 1) / part];
            println!(
                "| {kind} | {hops} | {} | {less} | {:.3} | {:.3} | {:.3} |",
                ratios.len(),
                at(2),
                at(10),
                ratios[0]
            );
        }
    }
}
