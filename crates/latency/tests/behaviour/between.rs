//! What is promised holds at every step on the way to what an admission needs: shares that are split again, levels that change.
//! Each state between is built anew, and evidence for each of its flows is checked by the checker, which shares nothing with the search.
use std::collections::BTreeMap;

use crate::tfa::networks::{Network, first_in_first_out, network_of_levels, with_limits};
use latency::check::check;
use latency::ledger::{FlowId, Ledger, Phase, Plan};
use latency::network::{Flow, Port};
use latency::policing::Enforcement;
use latency::split::Split;

/// A flow with its shares and its levels.
pub(crate) type State = BTreeMap<FlowId, (Flow, Vec<u64>, Vec<u8>)>;

pub(crate) fn state_of(ledger: &Ledger, ids: impl Iterator<Item = FlowId>) -> State {
    let of = |id: FlowId| {
        let admitted = ledger.flow(id)?;
        let level = |port: usize| {
            let entry = ledger.entries(port).iter().find(|entry| entry.flow == id);
            entry.map(|entry| entry.contender.level)
        };
        let levels = admitted.flow.tree.iter().map(|hop| level(hop.port)).collect::<Option<_>>()?;
        Some((id, (admitted.flow.clone(), admitted.shares.clone(), levels)))
    };
    ids.filter_map(of).collect()
}

/// Whether a state is sound: each flow finds its place, and its evidence holds.
fn judge(ports: &[Port], state: &State, what: &str) {
    let mut ledger = Ledger::new(ports.to_vec(), Split::Load);
    ledger.use_solver(solver::multipliers);
    for (id, (flow, shares, levels)) in state {
        let restored = ledger.restore(*id, flow, shares, levels);
        assert!(restored.is_ok(), "{what}: flow {id}: {restored:?}");
    }
    for id in state.keys() {
        let certificate = ledger.certificate(*id).unwrap_or_else(|| panic!("{what}: flow {id}"));
        assert_eq!(check(&certificate, ports), Ok(()), "{what}: flow {id}");
    }
}

#[derive(Default, Debug)]
pub(crate) struct Counts {
    pub(crate) plans: u32,
    pub(crate) shares: u32,
    pub(crate) moves: u32,
    pub(crate) phases: u32,
    pub(crate) waits: u32,
}

/// Judges every state on the way from one to the next.
pub(crate) fn judge_way(
    ports: &[Port],
    mut state: State,
    plan: &Plan,
    after: &State,
    what: &str,
    counts: &mut Counts,
) {
    counts.plans += 1;
    judge_phases(ports, &mut state, &plan.phases, what, counts);
    let levels = plan.contenders.iter().map(|contender| contender.level).collect();
    state.insert(plan.id, (plan.admitted.flow.clone(), plan.admitted.shares.clone(), levels));
    assert!(&state == after, "{what}: the ledger has something else");
    judge(ports, &state, &format!("{what}, with the new flow"));
}

/// Judges every state that phases lead through.
pub(crate) fn judge_phases(
    ports: &[Port],
    state: &mut State,
    phases: &[Phase],
    what: &str,
    counts: &mut Counts,
) {
    let is_less = |narrow: &Enforcement, wide: &Enforcement| match (narrow, wide) {
        (Enforcement::Gate(narrow), Enforcement::Gate(wide)) => {
            narrow.tolerance < wide.tolerance || narrow.window < wide.window
        }
        (Enforcement::Meter(narrow), Enforcement::Meter(wide)) => narrow.burst < wide.burst,
        _ => false,
    };
    for (number, phase) in phases.iter().enumerate() {
        counts.phases += u32::from(number > 0);
        let mut needs_time = 0;
        for change in &phase.shares {
            counts.shares += 1;
            let (flow, shares, _) = state.get_mut(&change.flow).unwrap();
            assert_eq!((&change.from.shares, &change.from.flow), (&*shares, &*flow), "{what}");
            let enforcement = flow.enforcement(ports, change.to.shares[0]).unwrap();
            assert_eq!(
                change.to.enforcement, enforcement,
                "{what}: what is programmed is not what shares ask for"
            );
            let less = shares.iter().zip(&change.to.shares).any(|(share, to)| to < share);
            if less || is_less(&change.to.enforcement, &change.from.enforcement) {
                let limits = change.to.flow.subscribers.iter().map(|subscriber| subscriber.limit);
                needs_time = limits.fold(needs_time, u64::max);
            }
            shares.iter_mut().zip(&change.to.shares).for_each(|(share, to)| *share = (*share).min(*to));
        }
        judge(ports, state, &format!("{what}, phase {number}, the lesser shares"));
        counts.waits += u32::from(needs_time > 0);
        assert!(phase.settles >= needs_time && (needs_time > 0 || phase.settles == 0), "{what}");
        for change in &phase.shares {
            state.get_mut(&change.flow).unwrap().1.clone_from(&change.to.shares);
        }
        judge(ports, state, &format!("{what}, phase {number}, new shares"));
        for (step, change) in phase.moves.iter().enumerate() {
            counts.moves += 1;
            let (flow, all_shares, levels) = state.get_mut(&change.flow).unwrap();
            let hop = flow.tree.iter().position(|hop| hop.port == change.port).unwrap();
            assert_eq!(levels[hop], change.from, "{what}");
            assert!(phase.pause > all_shares[hop], "{what}: what is queued has to leave");
            levels[hop] = change.to;
            judge(ports, state, &format!("{what}, phase {number}, step {step}"));
        }
    }
}

fn judge_network(network: &Network, order: impl Iterator<Item = usize>, what: &str, counts: &mut Counts) {
    let mut ledger = Ledger::new(network.ports.clone(), Split::Load);
    ledger.use_solver(solver::multipliers);
    let ids = || 0..network.flows.len() as FlowId;
    for index in order {
        let before = state_of(&ledger, ids());
        let untouched = ledger.clone();
        let Ok(plan) = ledger.admit_as_asked(index as FlowId, &network.flows[index]) else { continue };
        if !plan.phases.is_empty() {
            let after = state_of(&ledger, ids());
            judge_way(&network.ports, before, &plan, &after, &format!("{what}, flow {index}"), counts);
            let mut back = ledger.clone();
            assert!(back.undo(&plan) && back == untouched, "{what}, flow {index}: undone");
        }
    }
}

#[test]
fn every_state_between_is_sound() {
    let mut counts = Counts::default();
    for seed in tiers::current().seeds("latency.networks").step_by(4) {
        let network = first_in_first_out(seed);
        let forwards = 0..network.flows.len();
        judge_network(&network, forwards.clone(), &format!("seed {seed}"), &mut counts);
        judge_network(&network, forwards.rev(), &format!("seed {seed}, backwards"), &mut counts);
        let network = network_of_levels(seed);
        judge_network(&network, 0..network.flows.len(), &format!("levels, seed {seed}"), &mut counts);
        // Where limits rest on more than the sum of shares.
        let mut network = first_in_first_out(seed);
        with_limits(&mut network, [0.95, 0.9, 0.8][seed as usize / 4 % 3]).unwrap();
        judge_network(&network, 0..network.flows.len(), &format!("less, seed {seed}"), &mut counts);
    }
    println!("{counts:?}");
    let Counts { plans, shares, moves, phases, waits } = counts;
    assert!(
        plans.min(shares).min(moves) > 20 && phases.min(waits) > 0,
        "{plans} {shares} {moves} {phases} {waits}"
    );
}
