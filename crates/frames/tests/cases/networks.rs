//! Networks that several tests use.
use frames::{Contract, Flow, Hop, Network, Node, Port};

/// Picoseconds of a byte at 1 Gb/s.
pub(crate) const GIGABIT: u64 = 8000;
/// The largest Ethernet frame on the wire.
pub(crate) const FULL: u64 = 1538;
/// A millisecond in picoseconds.
pub(crate) const MILLISECOND: u64 = 1_000_000_000;

/// The frames on the wire of a payload sent as UDP datagrams of one frame each.
pub(crate) fn udp_frames(payload: u64) -> Vec<u64> {
    let full = payload / 1472;
    let rest = payload % 1472;
    let mut frames = vec![1472 + 66; full as usize];
    if rest > 0 {
        frames.push(rest.max(18) + 66);
    }
    frames
}

/// A message flow that keeps its contract.
pub(crate) fn gated(frames: Vec<u64>, separation: u64, jitter: u64, tree: Vec<Hop>) -> Flow {
    let contract = Contract::Gated { separation, jitter, emission: 0 };
    Flow::new(tree, frames, contract)
}

/// The output ports of one switch towards one subscriber, and of a host for each level, all at 1 Gb/s. Flow `i` comes
/// from its own host `i`, through port `i`, and leaves through the last port. Only that one sends best effort.
pub(crate) fn one_switch(flows: Vec<(u8, Flow)>) -> Network {
    let hosts = flows.len();
    let (switch, subscriber) = (hosts, hosts + 1);
    let mut nodes = vec![Node::Host; hosts];
    nodes.push(Node::Switch { fastest: 0, slowest: 0, ordered: true });
    nodes.push(Node::Host);
    let port = |from, to, best_effort| Port { best_effort, ..Port::ideal(from, to, GIGABIT) };
    let mut ports: Vec<Port> = (0..hosts).map(|host| port(host, switch, 0)).collect();
    ports.push(port(switch, subscriber, FULL));
    let on_tree = |(index, (level, flow)): (usize, (u8, Flow))| Flow {
        tree: vec![Hop { port: index, level }, Hop { port: hosts, level }],
        ..flow
    };
    let flows = flows.into_iter().enumerate().map(on_tree).collect();
    Network::new(nodes, ports, flows).unwrap()
}

/// The three topics of Table II of the MIDAS paper, with UDP framing, on the given levels.
pub(crate) fn table_two(levels: [u8; 3], jitter: u64) -> Vec<(u8, Flow)> {
    [(192_192, 3), (96_000, 3), (64_000, 11)]
        .into_iter()
        .zip(levels)
        .map(|((payload, separation), level)| {
            (level, gated(udp_frames(payload), separation * MILLISECOND, jitter, Vec::new()))
        })
        .collect()
}

/// All flows at one host whose only link leads to the subscriber.
pub(crate) fn one_port(flows: Vec<(u8, Flow)>, best_effort: u64) -> Network {
    let port = Port { best_effort, ..Port::ideal(0, 1, GIGABIT) };
    let on_tree = |(level, flow)| Flow { tree: vec![Hop { port: 0, level }], ..flow };
    Network::new(vec![Node::Host; 2], vec![port], flows.into_iter().map(on_tree).collect()).unwrap()
}
