//! Ports that are declared full: refused flows, shares that are taken down, and that all promises hold on the way there.
use std::collections::BTreeSet;

use crate::between::{Counts, judge_phases, judge_way, state_of};
use crate::random::Random;
use crate::tfa::networks::{Network, first_in_first_out, large, network_of_levels, with_limits};
use latency::ledger::{FlowId, Ledger, Plan, Reason};
use latency::routes::Tree;
use latency::split::Split;

fn ledger_of(network: &Network) -> Ledger {
    let mut ledger = Ledger::new(network.ports.clone(), Split::Load);
    ledger.use_solver(solver::multipliers);
    ledger
}

/// The ports of some flows.
fn ports_of<'n>(network: &'n Network, flows: impl Iterator<Item = usize> + 'n) -> BTreeSet<usize> {
    flows.flat_map(|flow| &network.flows[flow].tree).map(|hop| hop.port).collect()
}

#[test]
fn a_full_port_takes_no_further_flow_and_keeps_those_that_it_has() {
    let network = first_in_first_out(3);
    let mut ledger = ledger_of(&network);
    let [first, second] = [0, 1].map(|flow| &network.flows[flow]);
    ledger.admit_as_asked(0, first).unwrap();
    let before = ledger.clone();
    let port = second.tree[0].port;
    ledger.declare_full([port]);
    assert!(ledger.is_full(port));
    let refusal = ledger.plan(1, second).unwrap_err();
    assert_eq!((refusal.reason, refusal.offer.latency), (Reason::Full { port }, None));
    assert_eq!(ledger.plan_beside(1, second).unwrap_err(), Reason::Full { port });
    // Those that are less important would go in vain.
    let mut important = second.clone();
    important.importance = 9;
    assert_eq!(ledger.yielding(1, &important), None);
    // What was there may be put back.
    let admitted = before.flow(0).unwrap();
    let levels: Vec<u8> = first.tree.iter().map(|hop| before.entries(hop.port)[0].contender.level).collect();
    ledger.declare_full(0..network.ports.len());
    let removed = ledger.remove(0).unwrap();
    assert_eq!(ledger.restore(0, first, &removed.shares, &levels).unwrap(), *admitted);
    // The declaration is withdrawn.
    ledger.declare_full([]);
    assert_eq!(ledger, before);
    ledger.admit_as_asked(1, second).unwrap();
}

#[test]
fn of_several_ways_one_without_a_full_port_is_taken() {
    let mut random = Random::new(1);
    let network = first_in_first_out(8);
    let flow = &network.flows[0];
    let tree = |hops| Tree { hops, ends: flow.subscribers.iter().map(|one| one.hop).collect() };
    let mut other = flow.tree.clone();
    let taken = ports_of(&network, 0..1);
    let free: Vec<usize> = (0..network.ports.len()).filter(|port| !taken.contains(port)).collect();
    let at = other.len() - 1;
    other[at].port = free[random.range(0, free.len() as u64 - 1) as usize];
    let full = flow.tree[at].port;
    let trees = [tree(flow.tree.clone()), tree(other.clone())];
    let mut ledger = ledger_of(&network);
    ledger.declare_full([full]);
    let plan = ledger.plan_among(0, flow, &trees);
    assert_eq!(plan.map(|plan| plan.admitted.flow.tree), Ok(other.clone()));
    // Where the open way is too slow, the full one is no resort, though there would be room.
    let mut slow = network.ports.clone();
    slow[other[at].port].rate /= 10_000;
    let mut slow = Ledger::new(slow, Split::Load);
    let turned = [trees[1].clone(), trees[0].clone()];
    assert_eq!(slow.plan_among(0, flow, &turned).map(|plan| plan.admitted.flow.tree), Ok(flow.tree.clone()));
    slow.declare_full([full]);
    assert!(matches!(slow.plan_among(0, flow, &turned), Err(Reason::Delay { .. })));
    ledger.declare_full([full, other[at].port]);
    assert_eq!(ledger.plan_among(0, flow, &trees).unwrap_err(), Reason::Full { port: full });
}

/// Some flows of a network; then ports that the others do not need are declared full, with a few more.
struct Scene {
    network: Network,
    ledger: Ledger,
    half: usize,
}

impl Scene {
    fn new(mut network: Network, seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0xF011);
        network.flows.sort_by_key(|flow| flow.tree[0].port);
        let half = network.flows.len().div_ceil(2);
        let mut ledger = ledger_of(&network);
        for (id, flow) in (0..).zip(&network.flows).take(half) {
            let _ = ledger.admit_as_asked(id, flow);
        }
        let used = ports_of(&network, half..network.flows.len());
        let ports = 0..network.ports.len();
        let full: Vec<usize> = ports.filter(|port| !used.contains(port) || random.range(0, 9) == 0).collect();
        ledger.declare_full(full);
        Self { network, ledger, half }
    }

    fn ids(&self) -> core::ops::Range<FlowId> {
        0..self.network.flows.len() as FlowId
    }
}

/// What no flow loses: it has as much as before where ports are not full, and has spent no more of its limit up to any hop.
fn nothing_is_worse(before: &Ledger, after: &Ledger, ids: impl Iterator<Item = FlowId>, what: &str) -> u32 {
    let mut less = 0;
    for id in ids {
        let (Some(before_it), Some(after_it)) = (before.flow(id), after.flow(id)) else {
            assert_eq!(before.flow(id), after.flow(id), "{what}");
            continue;
        };
        let mut spent: Vec<(u64, u64)> = Vec::new();
        for (index, hop) in before_it.flow.tree.iter().enumerate() {
            let (so_far, now) = (before_it.shares[index], after_it.shares[index]);
            let is_last = before_it.flow.tree.iter().all(|later| later.parent != Some(index));
            assert!(now >= so_far || after.is_full(hop.port) && !is_last, "{what}: flow {id}, hop {index}");
            less += u32::from(now < so_far);
            let sums = hop.parent.map_or((0, 0), |parent| spent[parent]);
            spent.push((sums.0 + so_far, sums.1 + now));
            assert!(spent[index].1 <= spent[index].0, "{what}: flow {id}, hop {index}");
        }
        let bounds = before.bounds(id).unwrap().into_iter().zip(after.bounds(id).unwrap());
        for (so_far, now) in bounds {
            // The bursts of all flows are rounded up to a bit at each hop.
            assert!(now.latency <= so_far.latency + 64_000, "{what}: flow {id}: {so_far:?} {now:?}");
        }
    }
    less
}

#[test]
fn shares_at_full_ports_come_down_and_every_state_between_is_sound() {
    let mut counts = Counts::default();
    let (mut less, mut freed) = (0, 0);
    for seed in tiers::current().seeds("latency.networks").step_by(2) {
        // Where limits rest on more than the sum of shares.
        let mut beyond = first_in_first_out(seed);
        with_limits(&mut beyond, [0.95, 0.9, 0.8][seed as usize / 2 % 3]).unwrap();
        for network in [first_in_first_out(seed), network_of_levels(seed), beyond] {
            let what = format!("seed {seed}");
            let Scene { network, ledger, half } = Scene::new(network, seed);
            let ids = || 0..half as FlowId;
            let mut state = state_of(&ledger, ids());
            let mut after = ledger.clone();
            let phases = after.take_down();
            judge_phases(&network.ports, &mut state, &phases, &what, &mut counts);
            assert!(state == state_of(&after, ids()), "{what}: the ledger has something else");
            less += nothing_is_worse(&ledger, &after, ids(), &what);
            let more = |id| {
                let (before, after) = (ledger.flow(id)?, after.flow(id)?);
                Some(before.shares.iter().zip(&after.shares).filter(|(before, after)| after > before).count())
            };
            freed += ids().filter_map(more).sum::<usize>();
            // What has come down is where it stays.
            assert_eq!(after.clone().take_down(), [], "{what}");
        }
    }
    println!("{counts:?}, {less} less, {freed} more");
    assert!(less > 50 && freed > 20 && counts.waits > 20, "{less} {freed} {counts:?}");
}

/// A flow for which shares at full ports come down gets its place as by any other plan.
#[test]
fn flows_find_room_where_shares_at_full_ports_come_down() {
    let mut counts = Counts::default();
    let (mut plain, mut declared, mut elsewhere) = (0, 0, 0);
    for seed in tiers::current().seeds("latency.networks").step_by(50) {
        let what = format!("seed {seed}");
        let scene = Scene::new(large(seed), seed);
        let mut without = scene.ledger.clone();
        without.declare_full([]);
        let mut ledger = scene.ledger.clone();
        for (id, flow) in (0..).zip(&scene.network.flows).skip(scene.half) {
            if flow.tree.iter().any(|hop| ledger.is_full(hop.port)) {
                let refused = ledger.plan_as_asked(id, flow).unwrap_err();
                assert!(matches!(refused, Reason::Full { .. }), "{what}: {refused:?}");
                continue;
            }
            plain += u32::from(without.admit_as_asked(id, flow).is_ok());
            let (before, untouched) = (state_of(&ledger, scene.ids()), ledger.clone());
            let Ok(plan) = ledger.admit_as_asked(id, flow) else { continue };
            declared += 1;
            if plan.phases.is_empty() {
                continue;
            }
            let after = state_of(&ledger, scene.ids());
            if counts.plans < 6 {
                judge_way(&scene.network.ports, before, &plan, &after, &what, &mut counts);
            }
            elsewhere += u32::from(is_planned_on_one_state(&untouched, &plan));
            let mut again = untouched.clone();
            assert!(again.commit(plan.clone()) && again == ledger, "{what}: committed");
            assert!(again.undo(&plan) && again == untouched, "{what}: undone");
        }
    }
    println!("{counts:?}, {plain} without a declaration, {declared} with it");
    assert!(
        declared > plain && counts.plans > 0 && elsewhere > 0,
        "{plain} {declared} {elsewhere} {counts:?}"
    );
}

/// Nothing is done with a plan if something has left a port of a flow that makes room, where the new flow does not come by. False if there is
/// nothing of the kind.
fn is_planned_on_one_state(before: &Ledger, plan: &Plan) -> bool {
    let passes = |id: FlowId| {
        let tree = before.flow(id).unwrap().flow.tree.iter();
        tree.map(|hop| hop.port).any(|port| plan.admitted.flow.tree.iter().any(|hop| hop.port == port))
    };
    let makes_room = plan.shares().flat_map(|change| &change.to.flow.tree).map(|hop| hop.port);
    let beside = makes_room.flat_map(|port| before.entries(port)).map(|entry| entry.flow);
    let Some(leaving) = beside.into_iter().find(|id| !passes(*id)) else { return false };
    let mut other = before.clone();
    other.remove(leaving);
    let without = other.clone();
    assert!(!other.commit(plan.clone()) && other == without, "flow {leaving} has left");
    true
}
