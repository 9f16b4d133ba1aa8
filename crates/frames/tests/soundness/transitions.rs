//! Flows whose shares are split again, with other gates, and that move to other levels while their frames are queued: what the ledger has promised
//! holds all the time, if each step waits until the one before has settled.
use frames::{Becomes, Bounds, Change, Contract, Effort, Flow, Hop, Network, Node, Outcome, Random, Search};
use latency::ledger::{Ledger, Plan};
use latency::network::Buffer;
use latency::policing::Enforcement;
use latency::split::Split;

use crate::analysis::{Model, alone, policer};
use crate::networks::generated;

const EFFORT: Effort = Effort { aligned: 6, climbing: 16, random: 2, frames: 500 };

/// An admission for which others have to make room: the ledger before it, and its plan.
struct Transition {
    ledger: Ledger,
    plan: Plan,
}

/// Admits the flows of a generated network one by one, and gives the admissions for which others make room.
fn transitions(seed: u64) -> (Network, Vec<Transition>) {
    let (generated, policing) = generated(seed);
    let mut model = Model::of(&generated, &policing);
    let mut random = Random::new(seed ^ 5);
    for port in &mut model.ports {
        port.queues = 8;
        port.buffer = Buffer::Shared(u64::MAX);
    }
    let split = [Split::Last, Split::Load, Split::Even][random.index(3)];
    let mut ledger = Ledger::new(model.ports.clone(), split);
    // One that is changed begins anew.
    ledger.keep_meters();
    let mut found = Vec::new();
    for (id, flow) in (0..).zip(&mut model.flows) {
        let alone = alone(&model.ports, flow);
        // Where there is time for it, several messages of a flow wait at once.
        let several =
            random.once_in(3).then(|| flow.separation * random.between(1, 3 * flow.tree.len() as u64));
        let limit = flow.emission + several.unwrap_or(alone * random.between(12, 80) / 10).max(alone);
        flow.subscribers.iter_mut().for_each(|subscriber| subscriber.limit = limit);
        let Ok(plan) = ledger.plan(id, flow) else { continue };
        if !plan.phases.is_empty() {
            found.push(Transition { ledger: ledger.clone(), plan: plan.clone() });
        }
        assert!(ledger.commit(plan));
    }
    (generated.network, found)
}

impl Transition {
    /// The flows that are there, with what they are promised at each hop, their identities and bounds.
    fn network(&self, of: &Network) -> (Network, Vec<Vec<u64>>, Vec<u64>, Bounds) {
        let (mut flows, mut shares, mut ids, mut bounds) =
            (Vec::new(), Vec::new(), Vec::new(), Bounds::default());
        for (index, flow) in of.flows().iter().enumerate() {
            let id = index as u64;
            let Some(admitted) = self.ledger.flow(id) else { continue };
            let level = |port| {
                let entry = self.ledger.entries(port).iter().find(|entry| entry.flow == id);
                entry.unwrap().contender.level
            };
            let tree = flow.tree.iter().map(|hop| Hop { level: level(hop.port), ..*hop }).collect();
            flows.push(Flow { tree, policer: policer(&admitted.enforcement), ..flow.clone() });
            // The most that it may be at each hop in the meantime.
            let mut most = admitted.shares.clone();
            for change in self.plan.shares().filter(|change| change.flow == id) {
                most.iter_mut().zip(&change.to.shares).for_each(|(most, share)| *most = (*most).max(*share));
            }
            shares.push(most);
            let mut limits = vec![None; flow.tree.len()];
            for subscriber in &admitted.flow.subscribers {
                limits[subscriber.hop] = (!flow.babbles).then_some(subscriber.limit);
            }
            bounds.latency.push(limits);
            ids.push(id);
        }
        (Network::new(of.nodes().to_vec(), of.ports().to_vec(), flows).unwrap(), shares, ids, bounds)
    }

    /// What changes: the first of it some time after everything has begun, the rest when what was before has settled, or at once.
    fn changes(&self, network: &Network, ids: &[u64], waits: bool, random: &mut Random) -> Vec<Change> {
        let of = |id: u64| ids.iter().position(|other| *other == id).unwrap();
        let mut changes = Vec::new();
        let mut at = Search::ORIGIN + 1 + random.below(2 * self.longest());
        for phase in &self.plan.phases {
            let (mut narrower, mut wider) = (Vec::new(), Vec::new());
            for change in phase.shares.iter().filter(|one| one.from.enforcement != one.to.enforcement) {
                let Some(rule) = policer(&change.to.enforcement) else { continue };
                let step = (of(change.flow), Becomes::Policed(rule));
                let list = if is_narrower(&change.to.enforcement, &change.from.enforcement) {
                    &mut narrower
                } else {
                    &mut wider
                };
                list.push(step);
            }
            changes.extend(narrower.into_iter().map(|(flow, becomes)| Change { at, flow, becomes }));
            if waits {
                at += phase.settles;
            }
            changes.extend(wider.into_iter().map(|(flow, becomes)| Change { at, flow, becomes }));
            for step in &phase.moves {
                let flow = of(step.flow);
                let hop = network.flows()[flow].tree.iter().position(|hop| hop.port == step.port).unwrap();
                changes.push(Change { at, flow, becomes: Becomes::Level { hop, level: step.to } });
                if waits {
                    at += phase.pause;
                }
                at += random.below(phase.pause / 10 + 2);
            }
        }
        changes
    }

    /// The longest share of those that change something, in picoseconds.
    fn longest(&self) -> u64 {
        let resharing = self.plan.shares().filter_map(|change| change.from.shares.iter().max());
        let moving = self.plan.moves().filter_map(|step| {
            let entries = self.ledger.entries(step.port);
            entries.iter().find(|entry| entry.flow == step.flow).map(|entry| &entry.share)
        });
        resharing.chain(moving).max().copied().unwrap_or(1).max(1)
    }

    /// Where a flow is later than promised. Frames of one that moves up may be overtaken by later ones of the same message: then the message
    /// counts, which has to be at the end of the hop as soon as if no frame had taken longer than the share at any hop.
    fn late(
        &self,
        network: &Network,
        flow: usize,
        shares: &[u64],
        changes: &[Change],
        outcome: &Outcome,
    ) -> Vec<String> {
        let source = &network.flows()[flow];
        let moves = |hop: usize| {
            let here = |becomes| matches!(becomes, Becomes::Level { hop: at, .. } if at == hop);
            changes.iter().any(|change| change.flow == flow && here(change.becomes))
        };
        let (mut late, mut ready) = (Vec::new(), Vec::new());
        for (hop, share) in shares.iter().enumerate() {
            let port = &network.ports()[source.tree[hop].port];
            let slowest = match network.nodes()[port.from] {
                Node::Switch { slowest, .. } => slowest,
                Node::Host => 0,
            };
            let path = network.path(flow, hop);
            let before =
                path.len().checked_sub(2).map_or(self.emission(source), |before| ready[path[before]]);
            ready.push(before + slowest + share + port.propagation);
            if source.babbles && (hop == 0 || path.iter().any(|hop| moves(*hop))) {
                continue;
            }
            let (delay, latency) = (outcome.delay[flow][hop], outcome.latency[flow][hop]);
            if !source.babbles && latency > ready[hop] {
                late.push(format!(
                    "flow {flow} hop {hop}: {latency} from its release, {} promised",
                    ready[hop]
                ));
            }
            if !moves(hop) && delay > *share {
                late.push(format!("flow {flow} hop {hop}: {delay} of {share}"));
            }
        }
        late
    }

    fn emission(&self, flow: &Flow) -> u64 {
        match flow.contract {
            Contract::Gated { emission, .. } => emission,
            Contract::Bucket { .. } => 0,
        }
    }
}

/// Whether a guard lets less through than another one.
fn is_narrower(one: &Enforcement, other: &Enforcement) -> bool {
    match (one, other) {
        (Enforcement::Gate(one), Enforcement::Gate(other)) => one.tolerance < other.tolerance,
        (Enforcement::Meter(one), Enforcement::Meter(other)) => one.burst < other.burst,
        _ => false,
    }
}

#[test]
fn promises_hold_while_flows_move() {
    let (mut judged, mut moves, mut resharing, mut late_without) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for seed in tiers::current().seeds("latency.transitions") {
        let (network, transitions) = transitions(seed);
        for transition in transitions {
            let mut random = Random::new(seed ^ 7);
            let (network, shares, ids, bounds) = transition.network(&network);
            for waits in [true, false] {
                let changes = transition.changes(&network, &ids, waits, &mut random);
                // Where guards stay and nothing moves there is nothing to see.
                if changes.is_empty() {
                    continue;
                }
                let last = changes[random.index(changes.len())];
                let last_hop = match last.becomes {
                    Becomes::Level { hop, .. } => hop,
                    Becomes::Policed(_) => random.index(network.flows()[last.flow].tree.len()),
                };
                // A flow below the one that moves, or beside the one whose guard changes, or that one.
                let port = network.flows()[last.flow].tree[last_hop].port;
                let there = |flow: &Flow| flow.tree.iter().any(|hop| hop.port == port);
                let others: Vec<usize> =
                    (0..ids.len()).filter(|flow| there(&network.flows()[*flow])).collect();
                let target = others[random.index(others.len())];
                let hop = network.flows()[target].tree.iter().position(|hop| hop.port == port).unwrap();
                let search = Search::new(&network, &bounds, target, hop, EFFORT).changing(&changes);
                let outcome = search.worst(seed).outcome;
                let late: Vec<String> = (0..ids.len())
                    .flat_map(|flow| transition.late(&network, flow, &shares[flow], &changes, &outcome))
                    .collect();
                let is_late = !late.is_empty() || outcome.excess_count > 0;
                judged += u64::from(waits);
                let has_other_guard = changes.iter().any(|one| matches!(one.becomes, Becomes::Policed(_)));
                resharing += u64::from(waits && has_other_guard);
                moves += if waits { changes.len() } else { 0 };
                late_without += u64::from(!waits && is_late);
                if waits && is_late {
                    wrong.push(format!("seed {seed}: {late:?} {changes:?} {:?}", outcome.excesses));
                }
            }
        }
    }
    println!(
        "{judged} transitions with {moves} changes, {resharing} of them with other guards; {late_without} with late frames where steps do not wait"
    );
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
    assert!(judged > 20);
}
