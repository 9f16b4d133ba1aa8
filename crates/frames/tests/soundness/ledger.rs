//! What the ledger admits: levels, guards, limits and buffers of its choice, against adversaries.
use frames::{Bounds, Flow, Hop, Network, Node, Port, Random};
use latency::ledger::Ledger;
use latency::network::Buffer;
use latency::split::Split;

use crate::analysis::{Model, alone, policer};
use crate::clocks::run_apart;
use crate::networks::{attack, generated, is_unadmitted};

/// The flows of a ledger as a network, with the bounds that the ledger gives.
struct Promise {
    network: Network,
    bounds: Bounds,
    /// For each flow and each hop: the delay that no frame exceeds there.
    shares: Vec<Vec<u64>>,
    refused: u64,
    /// How often shares were taken down at ports that are declared full.
    taken_down: usize,
    /// How many of the bounds no other method than a linear program has.
    less: u64,
}

/// What limits are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limits {
    /// Anything between easy and impossible.
    Any,
    /// In the end no more than what linear programs meet.
    Program,
}

/// Flow by flow is admitted anew with the limit that a linear program meets, if it is.
fn lower_limits(ledger: &mut Ledger, flows: u64) {
    for id in (0..flows).chain(0..flows) {
        let Some(admitted) = ledger.flow(id) else { continue };
        let mut flow = admitted.flow.clone();
        for (place, subscriber) in flow.subscribers.iter_mut().enumerate() {
            let bound = ledger.linear_program(id, place).map(|bound| bound.latency + 1_000);
            subscriber.limit = bound.unwrap_or(subscriber.limit).min(subscriber.limit);
        }
        let before = ledger.clone();
        ledger.remove(id);
        if ledger.admit_as_asked(id, &flow).is_err() {
            *ledger = before;
        }
    }
}

/// Admits the flows of a generated network one by one, each for a limit between easy and impossible; where it is
/// refused, for the latency that is offered instead. Some are removed again.
fn promise(seed: u64, by: Limits) -> Option<Promise> {
    let (generated, policing) = generated(seed);
    let network = &generated.network;
    let mut model = Model::of(&generated, &policing).with_drift(seed);
    let mut random = Random::new(seed ^ 2);
    let buffer = random.between(50_000, 500_000);
    for port in &mut model.ports {
        port.queues = u8::try_from(random.between(1, 8)).unwrap();
        port.buffer = Buffer::PerQueue(buffer);
    }
    let split = [Split::Last, Split::Load, Split::Even][random.index(3)];
    let mut ledger = Ledger::new(model.ports.clone(), split);
    if by == Limits::Program {
        ledger.use_solver(solver::multipliers);
    }
    let (mut refused, mut taken_down) = (0, 0);
    for (id, flow) in (0..).zip(&mut model.flows) {
        let alone = alone(&model.ports, flow);
        let limit = flow.emission + alone * random.between(5, 60) / 10;
        flow.subscribers.iter_mut().for_each(|subscriber| subscriber.limit = limit);
        let plan = ledger.plan(id, flow).or_else(|refusal| {
            refused += 1;
            let offer = refusal.offer.latency.ok_or(())?;
            flow.subscribers.iter_mut().for_each(|subscriber| subscriber.limit = offer.max(subscriber.limit));
            // An offer has been tried.
            Ok::<_, ()>(ledger.plan(id, flow).unwrap())
        });
        if let Ok(plan) = plan {
            assert!(ledger.commit(plan));
        }
        if id > 0 && random.once_in(6) {
            ledger.remove(random.below(id));
        }
    }
    if by == Limits::Program {
        lower_limits(&mut ledger, model.flows.len() as u64);
    }
    // Every second network has ports that take no further flows.
    if random.once_in(2) {
        ledger.declare_full((0..model.ports.len()).filter(|_| !random.once_in(3)));
        taken_down = ledger.take_down().len();
    }
    let mut ports = network.ports().to_vec();
    ports.iter_mut().for_each(|port| port.buffer = buffer);
    let promise = promised(&ledger, network, ports, seed);
    (!promise.bounds.latency.is_empty()).then_some(Promise { refused, taken_down, ..promise })
}

/// A network with what a ledger has admitted, where buffers are those of `ports`.
fn promised(ledger: &Ledger, network: &Network, mut ports: Vec<Port>, seed: u64) -> Promise {
    let (mut flows, mut bounds, mut shares, mut less) = (Vec::new(), Bounds::default(), Vec::new(), 0);
    for (index, flow) in network.flows().iter().enumerate() {
        if is_unadmitted(network, index) {
            // What a host sends besides is no higher than any flow.
            let host = network.nodes()[network.ports()[flow.tree[0].port].from] == Node::Host;
            let tree = flow.tree.iter().map(|hop| Hop { level: if host { 0 } else { hop.level }, ..*hop });
            flows.push(Flow { tree: tree.collect(), ..flow.clone() });
            bounds.latency.push(Vec::new());
            shares.push(Vec::new());
            continue;
        }
        let Some(admitted) = ledger.flow(index as u64) else { continue };
        let level = |port| {
            let entry = ledger.entries(port).iter().find(|entry| entry.flow == index as u64);
            entry.unwrap().contender.level
        };
        let tree = flow.tree.iter().map(|hop| Hop { level: level(hop.port), ..*hop }).collect();
        flows.push(Flow { tree, policer: policer(&admitted.enforcement), ..flow.clone() });
        let mut latencies = vec![None; flow.tree.len()];
        if flow.babbles {
            ports[flow.tree[0].port].buffer = u64::MAX;
        } else {
            let given = ledger.bounds(index as u64).unwrap();
            for (place, (subscriber, bound)) in admitted.flow.subscribers.iter().zip(given).enumerate() {
                assert!(bound.latency <= subscriber.limit, "seed {seed} flow {index}");
                let program = ledger.linear_program(index as u64, place);
                let least = program.map_or(bound.latency, |program| program.latency.min(bound.latency));
                less += u64::from(least < bound.latency || ledger.rests_on(index as u64, place).is_some());
                latencies[subscriber.hop] = Some(least);
            }
        }
        bounds.latency.push(latencies);
        shares.push(admitted.shares.clone());
    }
    let network = run_apart(&Network::new(network.nodes().to_vec(), ports, flows).unwrap(), seed);
    Promise { network, bounds, shares, refused: 0, taken_down: 0, less }
}

#[test]
fn what_is_admitted_is_kept() {
    let Judged { networks, flows, refusals, taken_down, .. } =
        attack_all(tiers::current().seeds("latency.networks"), Limits::Any);
    assert!(flows > 2 * networks && refusals > 0 && taken_down * 5 > networks, "{taken_down} of {networks}");
}

/// The same where limits rest on linear programs, and for each other flow the bound that one says.
#[test]
fn what_linear_programs_promise_is_kept() {
    let Judged { networks, less, .. } =
        attack_all(tiers::current().seeds("latency.programs"), Limits::Program);
    assert!(less * 4 > networks as u64, "{less} of {networks}");
}

/// What was attacked.
#[derive(Default, Debug)]
struct Judged {
    networks: usize,
    flows: usize,
    refusals: u64,
    taken_down: usize,
    runs: u64,
    /// Bounds that no other method than a linear program has.
    less: u64,
}

fn attack_all(seeds: impl Iterator<Item = u64>, limits: Limits) -> Judged {
    let mut judged = Judged::default();
    let mut wrong = Vec::new();
    for seed in seeds {
        let Some(promise) = promise(seed, limits) else { continue };
        let Promise { network, bounds, shares, refused, .. } = &promise;
        judged.refusals += refused;
        judged.taken_down += promise.taken_down;
        judged.less += promise.less;
        let Some((_, _, found)) = attack(seed, network, bounds) else { continue };
        judged.networks += 1;
        judged.flows += network.flows().len();
        judged.runs += found.runs;
        let outcome = &found.outcome;
        let dropped =
            network.flows().iter().zip(&outcome.policed).any(|(flow, dropped)| !flow.babbles && *dropped > 0);
        let late = network.flows().iter().enumerate().any(|(flow, source)| {
            let hops = usize::from(source.babbles)..shares[flow].len();
            hops.into_iter().any(|hop| outcome.delay[flow][hop] > shares[flow][hop])
        });
        let lost = outcome.lost.iter().sum::<u64>();
        if outcome.excess_count > 0 || late || dropped || lost > 0 {
            wrong.push(format!(
                "seed {seed}: {:?}, above a share {late}, dropped {dropped}, lost {lost}",
                outcome.excesses.first()
            ));
        }
    }
    println!("{judged:?}");
    assert!(wrong.is_empty(), "{} networks: {wrong:#?}", wrong.len());
    judged
}
