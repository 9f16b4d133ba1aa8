//! The judge: what switches and gates have been told, simulated frame by frame under attack.
use std::collections::BTreeMap;

use frames::{Bounds, Contract, Effort, Flow, Hop, Network, Node, Policer, Search};
use latency::framing::Framing;
use wire::admission::Verdict;

use crate::world::{Trace, World};

/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000;

/// An admitted pair, with what its writer keeps to and the way that its packets took.
pub(crate) struct Case {
    pub(crate) verdict: Verdict,
    pub(crate) contract: wire::admission::Contract,
    pub(crate) trace: Trace,
}

/// Attacks every flow; an error if a frame is later than its verdict says.
pub(crate) fn judge(world: &World, cases: &[Case], seed: u64) -> Result<(), String> {
    let nodes = (0..world.network.hosts.len()).map(|_| Node::Host).chain(world.network.switches.iter().map(
        |switch| Node::Switch {
            fastest: switch.model.least_multiplexing,
            slowest: switch.model.most_multiplexing,
        },
    ));
    let ports = world.network.links.iter().map(|link| frames::Port {
        from: link.from,
        to: link.to,
        picoseconds_per_octet: 8_000_000_000_000 / link.port.rate,
        propagation: link.port.propagation,
        best_effort: link.port.best_effort.into(),
        buffer: u64::MAX,
    });
    // Pairs at one place are one flow, and so are those of a tree.
    let mut flows: BTreeMap<_, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        flows.entry((case.verdict.source, case.verdict.destination)).or_default().push(case);
    }
    let flows: Vec<Vec<&Case>> = flows.into_values().collect();
    let cases: Vec<&Case> = flows.iter().map(|cases| cases[0]).collect();
    let levels: BTreeMap<u8, u8> =
        (0..gate::class::MOST_LEVELS).map(|level| (gate::class::of_level(level).unwrap(), level)).collect();
    let mut claims = Bounds::default();
    let flows = flows.iter().map(|branches| {
        let case = branches[0];
        let mut tree: Vec<Hop> = Vec::new();
        let mut latency: Vec<Option<u64>> = Vec::new();
        for branch in branches {
            for (link, dscp) in &branch.trace {
                if !tree.iter().any(|hop| hop.port == *link) {
                    tree.push(Hop { port: *link, level: levels[dscp] });
                    latency.push(None);
                }
            }
            let (last, _) = branch.trace.last().unwrap();
            let at = tree.iter().position(|hop| hop.port == *last).unwrap();
            let bound = branch.verdict.bound * NANOSECOND;
            latency[at] = Some(latency[at].map_or(bound, |other| other.min(bound)));
        }
        claims.latency.push(latency);
        let contract = &case.contract;
        let whole =
            Framing::Rtps { datagram: contract.datagram }.frames(contract.largest_message, 0).unwrap();
        let mut frames = vec![whole.largest / 8; usize::try_from(whole.count - 1).unwrap()];
        frames.push((whole.bits - whole.largest * (whole.count - 1)) / 8);
        let first = world.network.switch_of(world.network.links[case.trace[0].0].to).unwrap();
        let gates = world.gates[first].iter().filter(|(key, _)| {
            key.flow.source.octets() == case.verdict.source.address
                && key.flow.source_port == case.verdict.source.port
                && key.flow.destination.octets() == case.verdict.destination.address
        });
        let mut policer = gates.map(|(_, gate)| Policer::Gate {
            octets: gate.octets.into(),
            window: gate.window * NANOSECOND,
            separation: gate.separation * NANOSECOND,
            tolerance: gate.tolerance * NANOSECOND,
        });
        Flow {
            tree,
            frames,
            shortest: 0,
            contract: Contract::Gated {
                separation: case.verdict.separation * NANOSECOND,
                jitter: contract.jitter * NANOSECOND,
                emission: contract.emission * NANOSECOND,
            },
            policer: policer.next_back(),
            babbles: false,
        }
    });
    let flows = flows.collect();
    let network = Network::new(nodes.collect(), ports.collect(), flows).map_err(|error| error.to_string())?;
    let effort = Effort { aligned: 3, climbing: 4, random: 1, frames: 300 };
    for (flow, case) in cases.iter().enumerate() {
        for hop in network.deliveries(flow) {
            let found = Search::new(&network, &claims, flow, hop, effort).worst(seed);
            if found.outcome.excess_count > 0 {
                return Err(format!("a frame is late: {:?} {:?}", found.outcome.excesses, case.verdict));
            }
            if found.outcome.policed.iter().sum::<u64>() > 0 {
                return Err(format!("a gate drops what it should let through: {:?}", case.verdict));
            }
        }
    }
    Ok(())
}
