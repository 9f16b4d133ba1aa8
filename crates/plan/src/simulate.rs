//! The plan against adversaries: `frames` looks for a run in which a frame is above its bound.
use frames::{Bounds as Claims, Contract, Counts, Effort, Hop, LEVELS, Network, Node, Policer, Search};
use latency::ledger::FlowId;
use latency::network::{Buffer, Flow};
use latency::policing::Enforcement;
use serde::Serialize;

use crate::planning::Plan;
use crate::report::Bounds;

/// Picoseconds in which a bit at one bit per second is eight octets.
const OCTET_SECOND: u64 = 8_000_000_000_000;
/// The most frames of all messages together that are simulated.
const MOST_FRAMES: u64 = 1 << 16;

/// What the simulation found for a subscriber.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Found {
    /// The flow; of a bundle, one of its members.
    pub flow: String,
    /// The subscriber's host.
    pub host: String,
    /// The bound, in picoseconds.
    pub bound_ps: u64,
    /// The worst latency that was found, in picoseconds.
    pub worst_ps: u64,
}

/// What the simulation found.
#[derive(Clone, PartialEq, Eq, Serialize, Default, Debug)]
pub struct Simulation {
    /// For each subscriber of each admitted flow.
    pub found: Vec<Found>,
    /// How many runs there were.
    pub runs: u64,
    /// Frames above their bound, or lost or dropped although nobody broke a contract: 0, unless a bound is wrong.
    pub violations: u64,
}

/// The flows of the plan as the simulator knows them, with the identity of each in the ledger.
struct Case {
    network: Network,
    claims: Claims,
    flows: Vec<(String, FlowId)>,
}

/// Attacks each subscriber with so many seeds; `told` hears how many attacks are done, and of how many.
///
/// # Errors
/// What cannot be simulated, in words.
pub(crate) fn simulate(
    plan: &Plan<'_>,
    bounds: &Bounds,
    seeds: u64,
    mut told: impl FnMut(usize, usize),
) -> Result<Simulation, String> {
    let Some(case) = case(plan, bounds)? else { return Ok(Simulation::default()) };
    let mut simulation = Simulation::default();
    let network = &case.network;
    let targets: Vec<(usize, usize)> = (0..network.flows().len())
        .flat_map(|flow| network.deliveries(flow).into_iter().map(move |hop| (flow, hop)))
        .collect();
    for (count, (flow, hop)) in targets.iter().enumerate() {
        let mut worst = 0;
        for seed in 0..seeds {
            let found = Search::new(network, &case.claims, *flow, *hop, Effort::default()).worst(seed);
            worst = worst.max(found.latency);
            simulation.runs += found.runs;
            let lost = found.outcome.lost.iter().chain(&found.outcome.policed).sum::<u64>();
            simulation.violations += found.outcome.excess_count + lost;
        }
        let port = network.flows().get(*flow).and_then(|flow| flow.tree.get(*hop));
        let to = port.and_then(|hop| network.ports().get(hop.port)).map_or(0, |port| port.to);
        if let (Some(bound_ps), Some((name, _))) = (case.claims.latency(*flow, *hop), case.flows.get(*flow)) {
            let host = plan.network.nodes.get(to).map_or_else(String::new, |node| node.name.clone());
            simulation.found.push(Found { flow: name.clone(), host, bound_ps, worst_ps: worst });
        }
        told(count + 1, targets.len());
    }
    Ok(simulation)
}

/// What is simulated, and the names of its flows.
pub(crate) fn model(plan: &Plan<'_>, bounds: &Bounds) -> Result<Option<(Network, Vec<String>)>, String> {
    let named = |case: Case| {
        let names = case.flows.into_iter().map(|(name, _)| name).collect();
        (case.network, names)
    };
    Ok(case(plan, bounds)?.map(named))
}

fn case(plan: &Plan<'_>, bounds: &Bounds) -> Result<Option<Case>, String> {
    let nodes = plan.network.nodes.iter().enumerate();
    let nodes: Vec<Node> = nodes
        .map(|(index, node)| {
            // All ports of a switch are of its model.
            let port = plan.network.topology.leaving(index).first();
            let port = port.and_then(|port| plan.network.ports.get(*port)).filter(|_| node.model.is_some());
            match port {
                Some(port) => {
                    Node::Switch { fastest: port.least_multiplexing, slowest: port.most_multiplexing }
                }
                None if node.model.is_some() => Node::Switch { fastest: 0, slowest: 0 },
                None => Node::Host,
            }
        })
        .collect();
    let ports = plan.network.ports.iter().zip(&plan.network.links).map(|(port, (from, to))| frames::Port {
        from: *from,
        to: *to,
        picoseconds_per_octet: OCTET_SECOND / port.rate.max(1),
        propagation: port.propagation,
        best_effort: u64::from(port.best_effort),
        buffer: match port.buffer {
            Buffer::PerQueue(octets) => octets,
            // The simulator has no shared buffers; the bound of the backlog covers them.
            Buffer::Shared(_) => u64::MAX,
        },
    });
    let (mut flows, mut claims, mut names) = (Vec::new(), Claims::default(), Vec::new());
    let mut frames = 0;
    for (id, (asked, _)) in (0..).zip(&plan.flows) {
        let Some(admitted) = plan.ledger.flow(id) else { continue };
        let alone = [(asked.name.clone(), asked.flow.clone())];
        let members = if asked.members.is_empty() { &alone[..] } else { &asked.members };
        for (name, member) in members {
            let flow =
                simulated(plan, &admitted.flow, member, id, &admitted.enforcement).ok_or_else(|| {
                    format!("\"{name}\" cannot be simulated: more than 8 levels, or numbers out of range")
                })?;
            frames += flow.frames.len() as u64;
            let mut claimed = vec![None; flow.tree.len()];
            for (index, subscriber) in admitted.flow.subscribers.iter().enumerate() {
                if let Some(claim) = claimed.get_mut(subscriber.hop) {
                    *claim = bounds.path(plan, id, index).map(|bound| bound.latency);
                }
            }
            flows.push(flow);
            claims.latency.push(claimed);
            names.push((name.clone(), id));
        }
    }
    if frames > MOST_FRAMES {
        return Err(format!(
            "messages of {frames} frames together are more than the {MOST_FRAMES} that are simulated"
        ));
    }
    if flows.is_empty() {
        return Ok(None);
    }
    let network = Network::new(nodes, ports.collect(), flows).map_err(|error| error.to_string())?;
    Ok(Some(Case { network, claims, flows: names }))
}

fn simulated(
    plan: &Plan<'_>,
    way: &Flow,
    member: &Flow,
    id: FlowId,
    enforcement: &Enforcement,
) -> Option<frames::Flow> {
    let hop = |hop: &latency::network::Hop| {
        let entry = plan.entry(hop.port, id)?;
        (entry.contender.level < LEVELS).then_some(Hop { port: hop.port, level: entry.contender.level })
    };
    let tree = way.tree.iter().map(hop).collect::<Option<_>>()?;
    // Where headers differ on the way, the shortest: no frame takes longer in truth than it is promised here.
    let tag = way.tree.iter().filter_map(|hop| Some(plan.network.ports.get(hop.port)?.tag)).min()?;
    let whole = member.framing.frames(member.largest_message, tag)?;
    let shortest = member.framing.frames(member.smallest_message, tag)?;
    let mut frames = vec![whole.largest / 8; usize::try_from(whole.count.checked_sub(1)?).ok()?];
    frames.push((whole.bits - whole.largest * (whole.count - 1)) / 8);
    let shortest = if member.smallest_message < member.largest_message && shortest.count == 1 {
        shortest.bits / 8
    } else {
        0
    };
    // A bundle's meter counts all its members, which the simulator has no word for.
    let policer = if way.bundle.is_some() { None } else { policer(enforcement) };
    let (separation, jitter, emission) = (member.separation, member.jitter, member.emission);
    let contract = Contract::Gated { separation, jitter, emission };
    Some(frames::Flow { tree, frames, shortest, contract, policer, babbles: false })
}

fn policer(enforcement: &Enforcement) -> Option<Policer> {
    match *enforcement {
        Enforcement::Trust => None,
        Enforcement::Gate(gate) => Some(Policer::Gate {
            octets: gate.octets,
            window: gate.window,
            separation: gate.separation,
            tolerance: gate.tolerance,
        }),
        Enforcement::Meter(meter) => {
            let counts = match meter.counts {
                latency::policing::Counts::Wire => Counts::Wire,
                latency::policing::Counts::Frame => Counts::Frame,
            };
            Some(Policer::Meter { burst: meter.burst / 8, octets: meter.rate, period: OCTET_SECOND, counts })
        }
    }
}
