//! What it is worth that ports are declared full: `full [NETWORKS]` prints how many of the flows that come later are admitted at other ports,
//! and how much less the bounds of those become that were there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program for the developer")]

#[path = "../tests/networks/mod.rs"]
mod networks;
#[path = "../tests/random/mod.rs"]
mod random;
#[path = "../tests/tfa/mod.rs"]
mod tfa;

use std::collections::BTreeSet;

use latency::ledger::{FlowId, Ledger};
use latency::split::Split;
use tfa::networks::{Network, first_in_first_out, large};

fn admit(ledger: &mut Ledger, network: &Network, from: usize) -> usize {
    let later = (0..).zip(&network.flows).skip(from);
    later.filter(|(id, flow)| ledger.admit_as_asked(*id, flow).is_ok()).count()
}

/// What became of the networks of a row.
#[derive(Default)]
struct Row {
    later: usize,
    open: usize,
    declared: usize,
    more_in: usize,
    fewer_in: usize,
    /// Bounds of the flows that were there after shares have come down, as parts of those before.
    ratios: Vec<f64>,
}

/// Two thirds of the flows are there. Those that come later come from other hosts, and ports that they do not need are declared full.
fn row(networks: impl Iterator<Item = Network>, percent: u64) -> Row {
    let mut row = Row::default();
    for mut network in networks {
        for flow in &mut network.flows {
            flow.subscribers.iter_mut().for_each(|one| one.limit = one.limit * percent / 100);
        }
        network.flows.sort_by_key(|flow| flow.tree[0].port);
        let known = network.flows.len() * 2 / 3;
        let mut open = Ledger::new(network.ports.clone(), Split::Load);
        open.use_solver(solver::multipliers);
        for (id, flow) in (0..).zip(&network.flows).take(known) {
            let _ = open.admit_as_asked(id, flow);
        }
        let later = network.flows[known..].iter().flat_map(|flow| &flow.tree);
        let used: BTreeSet<usize> = later.map(|hop| hop.port).collect();
        let mut declared = open.clone();
        declared.declare_full((0..network.ports.len()).filter(|port| !used.contains(port)));
        declared.take_down();
        for id in 0..known as FlowId {
            let (Some(before), Some(after)) = (open.bounds(id), declared.bounds(id)) else { continue };
            row.ratios.extend(
                before.iter().zip(after).map(|(before, after)| after.latency as f64 / before.latency as f64),
            );
        }
        row.later += network.flows.len() - known;
        let (without, with) = (admit(&mut open, &network, known), admit(&mut declared, &network, known));
        row.open += without;
        row.declared += with;
        row.more_in += usize::from(with > without);
        row.fewer_in += usize::from(with < without);
    }
    row.ratios.sort_by(f64::total_cmp);
    row
}

fn main() {
    let most: u64 = std::env::args().nth(1).map_or(30, |argument| argument.parse().unwrap());
    println!(
        "| networks | limits, of TFA++ | later flows | admitted | with full ports | more in | fewer in | bounds | less | quarter | tenth | least |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, network) in [("small", first_in_first_out as fn(u64) -> Network), ("large", large)] {
        for percent in [50, 80, 100, 150, 300] {
            let row = row((0..most).map(network), percent);
            let ratios = &row.ratios;
            let less = ratios.iter().filter(|ratio| **ratio < 1.0).count();
            let at = |part: usize| ratios[(ratios.len() - 1) / part];
            println!(
                "| {name} | {:.1} | {} | {} | {} | {} | {} | {} | {less} | {:.3} | {:.3} | {:.3} |",
                percent as f64 / 100.0,
                row.later,
                row.open,
                row.declared,
                row.more_in,
                row.fewer_in,
                ratios.len(),
                at(4),
                at(10),
                ratios[0]
            );
        }
    }
}
