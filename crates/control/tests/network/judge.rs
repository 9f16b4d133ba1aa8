//! The judge: what switches and gates have been told, simulated frame by frame under attack, with discovery of every host as its gate
//! lets it through.
use control::grant::StoredAddress;
use std::collections::BTreeMap;
use wire::admission::Address;

use control::foreign::aggregate::Aggregate;
use control::grant::StoredRole;
use control::network::Network as Managed;
use frames::wire::{Framing, Samples};
use frames::{
    Becomes, Bounds, Change, Contract, Counts, Effort, Flow, Hop, LEVELS, Network, Node, Policer, Port,
    Random, Search,
};
use wire::admission::{Socket, Verdict};

use crate::world::{Trace, World, address, mac, tag_of};
use testkit::openflow_switch::Packet;

/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000;

/// An admitted pair, and the way that its packets took.
pub(crate) struct Case {
    pub(crate) verdict: Verdict,
    pub(crate) trace: Trace,
}

/// What packets of a flow have at a link from an instant on, in nanoseconds after what is judged begins.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    pub(crate) at: u64,
    pub(crate) flow: (Socket, Socket),
    pub(crate) link: usize,
    pub(crate) dscp: u8,
}

/// The level of control, above all others.
const ABOVE: u8 = LEVELS - 1;

/// Attacks every flow; an error if a frame is later than its verdict says, or if more of control waits at a port than the network file
/// allows.
pub(crate) fn judge(world: &mut World, cases: &[Case], seed: u64) -> Result<(), String> {
    judge_while(world, cases, &[], seed)
}

/// The same while flows move.
pub(crate) fn judge_while(
    world: &mut World,
    cases: &[Case],
    moves: &[Moved],
    seed: u64,
) -> Result<(), String> {
    let discovery: Vec<_> = (0..world.network.hosts.len())
        .filter_map(|host| {
            let contract = world.discovery_of(host)?;
            Some((host, contract, world.send(host, announcement(host))))
        })
        .collect();
    let world = &*world;
    // Its source is another host at the same switch, so that all of its link is there for it.
    let extra = discovery.iter().map(|_| Node::Host);
    let nodes = (0..world.network.hosts.len()).map(|_| Node::Host).chain(world.network.switches.iter().map(
        |switch| Node::Switch {
            fastest: switch.model.least_multiplexing,
            slowest: switch.model.most_multiplexing,
            ordered: true,
        },
    ));
    let ports = world.network.links.iter().map(|link| Port {
        propagation: link.port.propagation,
        best_effort: link.port.best_effort.into(),
        ..Port::ideal(link.from, link.to, 8_000_000_000_000 / link.port.rate)
    });
    let nodes: Vec<Node> = nodes.chain(extra).collect();
    let mut ports: Vec<Port> = ports.collect();
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
        // Pairs of a writer may have asked with different contracts, of which the flow was admitted with one.
        let place = |socket: Socket| (socket.address, socket.port);
        let stored = |(address, port): (StoredAddress, u16)| (Address::from(address), port);
        let (source, destination) = (place(case.verdict.source), place(case.verdict.destination));
        let mut granted = world
            .store
            .values()
            .rev()
            .filter(|grant| (stored(grant.source), stored(grant.destination)) == (source, destination));
        let granted = granted.next().expect("what is in force is stored");
        let contract = granted.contract;
        let datagram = contract.datagram.into();
        let framing = match granted.role {
            Some(StoredRole::Beside(_)) => Framing::Udp { datagram },
            _ => Framing::Rtps { datagram },
        };
        let (least, most) = (contract.smallest_message.into(), contract.largest_message.into());
        let tag = if tag_of(source.0).is_some() { 4 } else { 0 };
        let mut messages = Samples { framing, least, most, ipv6: !source.0.is_ipv4() }.messages(
            tag,
            4,
            &mut Random::new(seed),
        );
        let frames = messages.remove(0);
        let first = world.network.switch_of(world.network.links[case.trace[0].0].to).unwrap();
        let gates = world.gates[first].iter().filter(|(key, _)| {
            key.flow.source == case.verdict.source.address.ip()
                && key.flow.source_port == case.verdict.source.port
                && key.flow.destination == case.verdict.destination.address.ip()
        });
        if let Some(aggregate) = granted.aggregate {
            let (_, gate) = gates.clone().find(|(key, _)| key.flow.is_between()).expect("it has a bucket");
            return together(&aggregate, gate, tree);
        }
        let gates = gates.filter(|(key, _)| !key.flow.is_between());
        let mut policer = gates.map(|(_, gate)| Policer::Gate {
            bytes: gate.octets.into(),
            window: gate.window * NANOSECOND,
            separation: gate.separation * NANOSECOND,
            tolerance: gate.tolerance * NANOSECOND,
        });
        Flow {
            tree,
            frames,
            others: messages,
            contract: Contract::Gated {
                separation: case.verdict.separation * NANOSECOND,
                jitter: contract.jitter * NANOSECOND,
                emission: contract.emission * NANOSECOND,
            },
            policer: policer.next_back(),
            tag,
            babbles: false,
        }
    });
    let mut flows: Vec<Flow> = flows.collect();
    // Some aggregates flood: they are promised nothing then, and others what they were, but for those of the same host, which have their
    // queue in common.
    let hosts: Vec<usize> = flows.iter().map(|flow| flow.tree[0].port).collect();
    for (index, flow) in flows.iter_mut().enumerate() {
        let is_alone = hosts.iter().filter(|host| **host == hosts[index]).count() == 1;
        let is_aggregate = matches!(flow.contract, Contract::Bucket { .. });
        flow.babbles = is_alone && is_aggregate && !(seed + index as u64).is_multiple_of(2);
        if flow.babbles {
            claims.latency[index].fill(None);
        }
    }
    let first_extra = nodes.len() - discovery.len();
    for (index, (host, contract, arrived)) in discovery.iter().enumerate() {
        let (access, _) = world.network.leaving(*host).next().unwrap();
        let own = ports.len();
        ports.push(Port { from: first_extra + index, ..ports[access].clone() });
        let mut tree = vec![Hop { port: own, level: ABOVE }];
        for (_, _, trace) in arrived {
            for (port, dscp) in &trace[1..] {
                assert_eq!(
                    *dscp,
                    gate::class::CONTROL,
                    "discovery that the gate marks is in the class: {trace:?}"
                );
                if tree.iter().all(|hop| hop.port != *port) {
                    tree.push(Hop { port: *port, level: ABOVE });
                }
            }
        }
        if tree.len() == 1 {
            continue;
        }
        let (burst, bytes, period) =
            (contract.octets.into(), contract.octets.into(), contract.separation * NANOSECOND);
        flows.push(Flow {
            tree,
            frames: vec![if (seed + index as u64).is_multiple_of(3) { 84 } else { 1_538 }],
            others: Vec::new(),
            contract: Contract::Bucket { burst, bytes, period },
            policer: Some(Policer::Meter {
                burst,
                bytes,
                period,
                counts: Counts::Wire,
                tick: frames::MILLISECOND,
            }),
            // Some flood, the others send what they may when it is worst.
            tag: 0,
            babbles: (seed / 3 + index as u64).is_multiple_of(2),
        });
    }
    claims.latency.resize_with(flows.len(), Vec::new);
    for (latency, flow) in claims.latency.iter_mut().zip(&flows) {
        latency.resize(flow.tree.len(), None);
    }
    let network = Network::new(nodes, ports, flows).map_err(|error| error.to_string())?;
    let change = |moved: &Moved| {
        let place = |case: &Case| (case.verdict.source, case.verdict.destination) == moved.flow;
        let flow = cases.iter().position(|case| place(case))?;
        let hop = network.flows()[flow].tree.iter().position(|hop| hop.port == moved.link)?;
        let at = Search::ORIGIN + moved.at * NANOSECOND;
        Some(Change { at, flow, becomes: Becomes::Level { hop, level: levels[&moved.dscp] } })
    };
    let changes: Vec<Change> = moves.iter().filter_map(change).collect();
    let effort = Effort { aligned: 3, climbing: 4, random: 1, frames: 300 };
    for (flow, case) in cases.iter().enumerate() {
        for hop in network.deliveries(flow) {
            let search = Search::new(&network, &claims, flow, hop, effort).changing(&changes);
            let found = search.worst(seed);
            if found.outcome.excess_count > 0 {
                return Err(format!("a frame is late: {:?} {:?}", found.outcome.excesses, case.verdict));
            }
            let policed = found.outcome.policed[..cases.len()].iter().zip(network.flows());
            if policed.filter(|(_, flow)| !flow.babbles).any(|(frames, _)| *frames > 0) {
                return Err(format!("a gate drops what it should let through: {:?}", case.verdict));
            }
            control_fits(&world.network, &found.outcome.level_backlog)?;
        }
    }
    Ok(())
}

/// All that goes from one host to another: what its parts may send together, in full frames, and its bucket.
fn together(aggregate: &Aggregate, gate: &gate::Contract, tree: Vec<Hop>) -> Flow {
    // Around each frame there are 24 bytes.
    let burst = (aggregate.bits + aggregate.late + 24 * aggregate.late_each) / 8;
    let rate = (aggregate.rate + 24 * aggregate.rate_each) / 65 * 64;
    let capacity = gate.octets.into();
    Flow {
        tree,
        frames: vec![1_538],
        others: vec![vec![84]],
        contract: Contract::Bucket { burst, bytes: rate / 8, period: 1_000 * frames::MILLISECOND },
        policer: Some(Policer::Meter {
            burst: capacity,
            bytes: capacity,
            period: gate.separation * NANOSECOND,
            counts: Counts::Wire,
            tick: frames::MILLISECOND,
        }),
        tag: 0,
        babbles: false,
    }
}

/// Control that waits at a port is a burst at most, and what comes while the frame on the wire leaves.
fn control_fits(network: &Managed, backlog: &[[u64; LEVELS as usize]]) -> Result<(), String> {
    for (index, (link, backlog)) in network.links.iter().zip(backlog).enumerate() {
        let waits = backlog[usize::from(ABOVE)] * 8;
        let control = link.port.control.filter(|_| network.switch_of(link.from).is_some());
        let frame = u64::from(link.port.largest_frame.max(link.port.best_effort)) * 8;
        let most = control.map_or(0, |control| {
            control.burst
                + (u128::from(control.rate) * u128::from(frame)).div_ceil(link.port.rate.into()) as u64
        });
        if waits > most && network.switch_of(link.from).is_some() {
            return Err(format!(
                "{waits} bits of control wait at {}, at most {most} may",
                network.port_name(index)
            ));
        }
    }
    Ok(())
}

/// A participant's announcement to everybody.
pub(crate) fn announcement(from: usize) -> Packet {
    Packet {
        from: mac(from),
        to: [1, 0, 0x5e, 0x7f, 0, 1],
        tag: None,
        kind: 0x0800,
        source: address(from),
        destination: [239, 255, 0, 1].into(),
        protocol: 17,
        ports: (40_000, 7_400),
        dscp: 0,
    }
}
