//! The plan against adversaries: `frames` looks for a run in which a frame is above its bound.
use std::collections::BTreeSet;

use frames::wire::{Framing, Samples};
use frames::{
    Bounds as Claims, Clocks, Contract, Counts, Effort, Hop, LEVELS, Network, Node, Outcome, Policer, Random,
    Search,
};
use latency::ledger::FlowId;
use latency::network::{Buffer, Flow, Port};
use latency::policing::Enforcement;
use serde::Serialize;

use crate::planning::Plan;
use crate::report::{Bounds, backlog};

/// Picoseconds in which a bit at one bit per second is eight bytes.
const BYTE_SECOND: u64 = 8_000_000_000_000;
/// The most frames of all messages together that are simulated.
const MOST_FRAMES: u64 = 1 << 16;
/// Samples of random sizes that a flow sends besides those at which its frames change.
const SIZES: usize = 8;
/// Bytes of the smallest frame on the wire.
const LEAST: u64 = frames::wire::SMALLEST_FRAME;

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
    /// Frames above their bound, delays and backlogs of ports above theirs, and frames lost or dropped that kept their contract: 0,
    /// unless a bound is wrong.
    pub violations: u64,
}

/// The flows of the plan as the simulator knows them, with the identity of each in the ledger; behind them traffic of no flow at ports.
struct Case {
    network: Network,
    claims: Claims,
    flows: Vec<(String, FlowId)>,
    /// For each flow and each hop, the bound of its delay there.
    delays: Vec<Vec<Option<u64>>>,
    /// For each port, the bytes that it holds at most.
    backlogs: Vec<Option<u64>>,
    /// Ports of hosts that babble.
    babbling: BTreeSet<usize>,
}

impl Case {
    /// The same where all hosts break their contracts that may without harm: of all flows from them a gate or a meter lets through what
    /// it should. Nothing is promised to those flows. `but` is the port of a host that does not.
    fn babbling(&self, but: usize) -> Option<Self> {
        let flows = self.network.flows();
        let first = |flow: &frames::Flow| flow.tree.first().map_or(usize::MAX, |hop| hop.port);
        let own = || flows.iter().take(self.flows.len());
        let held = |port: usize| own().filter(|flow| first(flow) == port).all(|flow| flow.policer.is_some());
        let ports = own().map(first);
        let babbling: BTreeSet<usize> = ports.filter(|port| *port != but && held(*port)).collect();
        if babbling.is_empty() {
            return None;
        }
        let mut claims = self.claims.clone();
        let mut changed = flows.to_vec();
        for (flow, latency) in changed.iter_mut().zip(&mut claims.latency).take(self.flows.len()) {
            if babbling.contains(&first(flow)) {
                flow.babbles = true;
                latency.fill(None);
            }
        }
        let network =
            Network::new(self.network.nodes().to_vec(), self.network.ports().to_vec(), changed).ok()?;
        let (flows, delays, backlogs) = (self.flows.clone(), self.delays.clone(), self.backlogs.clone());
        Some(Self { network, claims, flows, delays, backlogs, babbling })
    }

    /// The same with clocks that are as wrong as they may be.
    fn with(&self, clocks: Clocks, drift: u32) -> Result<Self, String> {
        let network = clocks.applied(&self.network, drift).map_err(|error| error.to_string())?;
        let (claims, flows, delays) = (self.claims.clone(), self.flows.clone(), self.delays.clone());
        let (backlogs, babbling) = (self.backlogs.clone(), self.babbling.clone());
        Ok(Self { network, claims, flows, delays, backlogs, babbling })
    }

    /// What of the outcome no bound allows.
    fn violations(&self, outcome: &Outcome) -> u64 {
        let mut violations = outcome.excess_count;
        for (index, (delays, found)) in self.delays.iter().zip(&outcome.delay).enumerate() {
            let tree = self.network.flows().get(index).map_or(&[][..], |flow| &flow.tree);
            let babbles = tree.first().is_some_and(|hop| self.babbling.contains(&hop.port));
            // What its own host does to a flow is not promised.
            let above = |(bound, found): &(&Option<u64>, &u64)| bound.is_some_and(|bound| **found > bound);
            violations += delays.iter().zip(found).skip(usize::from(babbles)).filter(above).count() as u64;
            if !babbles {
                let count = |counts: &[u64]| counts.get(index).copied().unwrap_or(0);
                violations += count(&outcome.lost) + count(&outcome.policed);
            }
        }
        let above = |(port, (bound, found)): &(usize, (&Option<u64>, &u64))| {
            !self.babbling.contains(port) && bound.is_some_and(|bound| **found > bound)
        };
        let ports = self.backlogs.iter().zip(&outcome.port_backlog).enumerate();
        violations + ports.filter(above).count() as u64
    }
}

/// Attacks each subscriber with so many seeds; `told` hears how many attacks are done, and of how many. With every second seed hosts
/// babble that are held to their contracts, and with each of three the clocks of others are wrong.
///
/// # Errors
/// What cannot be simulated, in words.
pub(crate) fn simulate(
    plan: &Plan<'_>,
    bounds: &Bounds,
    seeds: u64,
    mut told: impl FnMut(usize, usize),
) -> Result<Simulation, String> {
    let Some(case) = case(plan, bounds, true)? else { return Ok(Simulation::default()) };
    let mut simulation = Simulation::default();
    let drift = plan.network.clock_drift();
    let clocked = Clocks::ALL.map(|clocks| case.with(clocks, drift));
    let clocked: Vec<Case> = clocked.into_iter().collect::<Result<_, _>>()?;
    let network = &case.network;
    let targets: Vec<(usize, usize)> = (0..case.flows.len())
        .flat_map(|flow| network.deliveries(flow).into_iter().map(move |hop| (flow, hop)))
        .collect();
    for (count, (flow, hop)) in targets.iter().enumerate() {
        let tree = network.flows().get(*flow).map_or(&[][..], |flow| &flow.tree);
        let babble = |case: &Case| tree.first().and_then(|hop| case.babbling(hop.port));
        let babbling: Vec<Option<Case>> =
            clocked.iter().map(|case| if seeds > 1 { babble(case) } else { None }).collect();
        let mut worst = 0;
        for (seed, (case, babbling)) in (0..seeds).zip(clocked.iter().zip(&babbling).cycle()) {
            let case = babbling.as_ref().filter(|_| seed % 2 == 1).unwrap_or(case);
            let search = Search::new(&case.network, &case.claims, *flow, *hop, Effort::default());
            let found = search.worst(seed);
            worst = worst.max(found.latency);
            simulation.runs += found.runs;
            simulation.violations += case.violations(&found.outcome);
        }
        let port = tree.get(*hop);
        let to = port.and_then(|hop| network.ports().get(hop.port)).map_or(0, |port| port.to);
        if let (Some(bound_ps), Some((name, _))) = (case.claims.latency(*flow, *hop), case.flows.get(*flow)) {
            let host = plan.network.node_name(to).unwrap_or_default().to_owned();
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
    Ok(case(plan, bounds, false)?.map(named))
}

fn case(plan: &Plan<'_>, bounds: &Bounds, control: bool) -> Result<Option<Case>, String> {
    let nodes: Vec<Node> = (0..plan.network.nodes())
        .map(|index| {
            let is_switch = plan.network.switch_of(index).is_some();
            // All ports of a switch are of its model.
            let port = plan.network.topology().leaving(index).first();
            let port = port.and_then(|port| plan.network.ports().get(*port)).filter(|_| is_switch);
            match port {
                Some(port) => Node::Switch {
                    fastest: port.least_multiplexing,
                    slowest: port.most_multiplexing,
                    ordered: port.keeps_order,
                },
                None if is_switch => Node::Switch { fastest: 0, slowest: 0, ordered: true },
                None => Node::Host,
            }
        })
        .collect();
    let ports =
        plan.network.ports().iter().zip(plan.network.links()).map(|(port, (from, to))| frames::Port {
            from: *from,
            to: *to,
            picoseconds_per_byte: BYTE_SECOND / port.rate.max(1),
            propagation: port.propagation,
            best_effort: u64::from(port.best_effort),
            tag: u64::from(port.tag),
            buffer: match plan.network.switch_of(*from).map(|switch| switch.kind.buffer) {
                Some(Buffer::PerQueue(bytes)) => bytes,
                Some(Buffer::Shared(_)) | None => u64::MAX,
            },
            imperfections: imperfections(plan.network, port, *from),
        });
    let (mut flows, mut claims, mut names, mut delays) =
        (Vec::new(), Claims::default(), Vec::new(), Vec::new());
    let mut frames = 0;
    for (id, (asked, _)) in (0..).zip(&plan.flows) {
        let Some(admitted) = plan.ledger.flow(id) else { continue };
        let alone = [(asked.name.clone(), asked.flow.clone())];
        let members = if asked.members.is_empty() { &alone[..] } else { &asked.members };
        for (name, member) in members {
            let samples = samples(member);
            frames += samples.count(samples.most);
            if frames > MOST_FRAMES {
                return Err(format!(
                    "messages of {frames} frames together are more than the {MOST_FRAMES} that are simulated"
                ));
            }
            let flow = simulated(plan, &admitted.flow, member, &samples, id, &admitted.enforcement)
                .ok_or_else(|| {
                    format!("\"{name}\" cannot be simulated: more than 8 levels, or numbers out of range")
                })?;
            let mut claimed = vec![None; flow.tree.len()];
            for (index, subscriber) in admitted.flow.subscribers.iter().enumerate() {
                if let Some(claim) = claimed.get_mut(subscriber.hop) {
                    let part = asked.members.iter().any(|(other, _)| other == name).then_some(member);
                    let bound = bounds.path_of(plan, id, index, part.into_iter());
                    *claim = bound.map(|bound| bound.latency);
                }
            }
            let bound = |hop: &Hop| bounds.level(hop.port, hop.level).map(|bound| bound.delay);
            delays.push(flow.tree.iter().map(bound).collect());
            flows.push(flow);
            claims.latency.push(claimed);
            names.push((name.clone(), id));
        }
    }
    if flows.is_empty() {
        return Ok(None);
    }
    if control {
        let used: BTreeSet<usize> =
            flows.iter().flat_map(|flow: &frames::Flow| flow.tree.iter().map(|hop| hop.port)).collect();
        flows.extend(used.into_iter().filter_map(|port| unadmitted_at(plan, port)));
    }
    let network = Network::new(nodes, ports.collect(), flows).map_err(|error| error.to_string())?;
    let backlogs = (0..plan.network.ports().len()).map(|port| Some(backlog(plan, bounds, port)?.div_ceil(8)));
    let backlogs = backlogs.collect();
    Ok(Some(Case { network, claims, flows: names, delays, backlogs, babbling: BTreeSet::new() }))
}

/// Cells and pools as the file has them, of which the plan knows only what they are worth.
fn imperfections(network: &network::Network, port: &Port, from: usize) -> frames::Imperfections {
    let latency::network::Imperfections { ring, wake, .. } = port.imperfections;
    let kind = network.switch_of(from).map(|switch| &switch.kind);
    let links =
        network.cables().iter().flat_map(|cable| cable.ends).filter(|end| end.node == from).count() as u64;
    let pool = kind.and_then(|kind| match kind.buffer {
        Buffer::Shared(bytes) if kind.pooled => Some(bytes / links.max(1)),
        Buffer::Shared(bytes) => Some(bytes),
        Buffer::PerQueue(_) => None,
    });
    let cell = kind.map_or(1, |kind| kind.cell.into());
    frames::Imperfections { ring: ring.into(), wake, cell, pool }
}

/// Traffic of no flow at a port, as much of it as the file says, in frames of any size: control at one of a switch, and at one of a host
/// what it sends besides its flows.
fn unadmitted_at(plan: &Plan<'_>, port: usize) -> Option<frames::Flow> {
    let model = plan.network.ports().get(port)?;
    let (from, _) = plan.network.links().get(port)?;
    let (bucket, level) = match plan.network.switch_of(*from) {
        Some(_) => (model.control?, LEVELS - 1),
        None => (model.imperfections.beside?, 0),
    };
    let burst = bucket.burst / 8;
    let largest = u64::from(model.largest_frame).min(burst);
    if largest < LEAST || bucket.rate == 0 {
        return None;
    }
    Some(frames::Flow {
        others: vec![vec![LEAST], vec![largest.midpoint(LEAST)]],
        ..frames::Flow::new(
            vec![Hop { port, level }],
            vec![largest],
            Contract::Bucket { burst, bytes: bucket.rate, period: BYTE_SECOND },
        )
    })
}

fn samples(member: &Flow) -> Samples {
    let framing = match member.framing {
        latency::framing::Framing::Udp { datagram, .. } => Framing::Udp { datagram: datagram.into() },
        latency::framing::Framing::Rtps { datagram, .. } => Framing::Rtps { datagram: datagram.into() },
    };
    Samples {
        framing,
        least: member.smallest_message.into(),
        most: member.largest_message.into(),
        ipv6: member.framing.ip() == latency::framing::Ip::V6,
    }
}

fn simulated(
    plan: &Plan<'_>,
    way: &Flow,
    member: &Flow,
    samples: &Samples,
    id: FlowId,
    enforcement: &Enforcement,
) -> Option<frames::Flow> {
    let hop = |hop: &latency::network::Hop| {
        let entry = plan.entry(hop.port, id)?;
        (entry.contender.level < LEVELS - 1).then_some(Hop { port: hop.port, level: entry.contender.level })
    };
    let tree = way.tree.iter().map(hop).collect::<Option<_>>()?;
    let own = u64::from(way.tag);
    let tag = u64::from(plan.network.ports().get(way.tree.first()?.port)?.tag) + own;
    let mut messages = samples.messages(tag, SIZES, &mut Random::new(id)).into_iter();
    let frames = messages.next()?;
    let others = messages.collect();
    // A bundle's meter counts all its members, which the simulator has no word for.
    let policer = if way.bundle.is_some() { None } else { policer(enforcement) };
    let (separation, jitter, emission) = (member.separation, member.jitter, member.emission);
    let contract = Contract::Gated { separation, jitter, emission };
    Some(frames::Flow { tree, frames, others, contract, policer, tag: own, babbles: false })
}

fn policer(enforcement: &Enforcement) -> Option<Policer> {
    match *enforcement {
        Enforcement::Trust => None,
        Enforcement::Gate(gate) => Some(Policer::Gate {
            bytes: gate.octets,
            window: gate.window,
            separation: gate.separation,
            tolerance: gate.tolerance,
        }),
        Enforcement::Meter(meter) => {
            let counts = match meter.counts {
                latency::policing::Counts::Wire => Counts::Wire,
                latency::policing::Counts::Frame => Counts::Frame,
            };
            Some(Policer::Meter {
                burst: meter.burst / 8,
                bytes: meter.rate,
                period: BYTE_SECOND,
                counts,
                tick: frames::MILLISECOND,
            })
        }
    }
}
