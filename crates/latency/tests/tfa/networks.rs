//! Networks with limits that TFA++ keeps for all flows at once: published ones and random ones.
#![allow(dead_code, reason = "each test file uses some of it")]

use crate::networks::switch;
use crate::random::Random;
use crate::tfa::published::Case;
use crate::tfa::{self, Link, Server};
use latency::framing::{Framing, Ip};
use latency::ledger::Ledger;
use latency::network::{Buffer, Flow, Hop, Policing, Port, Subscriber};
use latency::policing::Counts;
use latency::program::Solver;
use latency::split::Split;

const SECOND: f64 = 1e12;

/// A network and flows with limits.
pub(crate) struct Network {
    pub(crate) ports: Vec<Port>,
    pub(crate) flows: Vec<Flow>,
}

/// Frames of a message in UDP: bits of all, of the smallest and of the largest.
fn message(bytes: u32) -> (f64, f64, f64) {
    let (full, rest) = (bytes / 1_472, bytes % 1_472);
    let frame = |bytes: u32| f64::from((bytes + 66).max(84) * 8);
    let last = if rest > 0 || full == 0 { Some(frame(rest)) } else { None };
    let all = f64::from(full) * frame(1_472) + last.unwrap_or(0.0);
    let smallest = last.unwrap_or(frame(1_472));
    let largest = if full > 0 { frame(1_472) } else { smallest };
    (all, smallest, largest)
}

/// The limits that TFA++ keeps, in picoseconds, one for each subscriber.
fn limits(ports: &[Port], flows: &[Flow]) -> Option<Vec<Vec<u64>>> {
    let server = |port: &Port| {
        let rate = port.rate as f64;
        Server { rate, latency: f64::from(port.best_effort) * 8.0 / rate }
    };
    let servers: Vec<Server> = ports.iter().map(server).collect();
    let judged: Vec<tfa::Flow> = flows
        .iter()
        .map(|flow| {
            let (bits, smallest, largest) = message(flow.largest_message);
            let rate = bits * SECOND / flow.separation as f64;
            let hops = flow.tree.iter().map(|hop| tfa::Hop {
                server: hop.port,
                link: hop.parent.map(|from| {
                    let port = &ports[hop.port];
                    let variation = (port.most_multiplexing - port.least_multiplexing) as f64 / SECOND;
                    Link { from, rate: Some(ports[flow.tree[from].port].rate as f64), variation }
                }),
            });
            let early = (flow.jitter + flow.emission) as f64 / SECOND;
            let metered = flow.policing == METER;
            tfa::Flow { burst: bits + rate * early, rate, smallest, largest, metered, hops: hops.collect() }
        })
        .collect();
    let delays = tfa::delays(&servers, &judged)?;
    let limits = flows.iter().map(|flow| {
        let mut ends: Vec<f64> = Vec::new();
        for hop in &flow.tree {
            let port = &ports[hop.port];
            let before = hop.parent.map_or(flow.emission as f64, |parent| ends[parent]);
            let fixed = (port.propagation + port.most_multiplexing) as f64;
            ends.push(before + fixed + delays[hop.port] * SECOND);
        }
        // Rounded up to whole nanoseconds.
        flow.subscribers.iter().map(|one| (ends[one.hop] / 1_000.0).ceil() as u64 * 1_000 + 1_000).collect()
    });
    Some(limits.collect())
}

/// Limits that are so many times what TFA++ keeps; `None` if it has no bound.
pub(crate) fn with_limits(network: &mut Network, factor: f64) -> Option<()> {
    let limits = limits(&network.ports, &network.flows)?;
    for (flow, limits) in network.flows.iter_mut().zip(limits) {
        for (subscriber, limit) in flow.subscribers.iter_mut().zip(limits) {
            subscriber.limit = (limit as f64 * factor) as u64;
        }
    }
    Some(())
}

/// A published case with frames: a unit of time is a millisecond, a unit of data 10 kbit. Each flow has a host of its own, whose link
/// takes next to nothing.
pub(crate) fn with_frames(case: &Case, policing: Policing, queues: u8) -> Network {
    let server = |(rate, latency): &(f64, f64)| Port {
        rate: (rate * 10_000.0 * 1_000.0) as u64,
        best_effort: (rate * latency * 10_000.0 / 8.0) as u32,
        queues: 1,
        buffer: Buffer::Shared(1 << 40),
        ..switch()
    };
    let mut ports: Vec<Port> = case.servers.iter().map(server).collect();
    let mut flows = Vec::new();
    for (burst, rate, way) in case.flows {
        // Where there are levels, a frame of a lower one counts.
        let best_effort = if queues > 1 { 1_538 } else { 0 };
        ports.push(Port { rate: 100_000_000_000, queues, best_effort, ..switch() });
        let way = [ports.len() - 1].into_iter().chain(way.iter().copied());
        let tree: Vec<Hop> =
            way.enumerate().map(|(index, port)| Hop { port, parent: index.checked_sub(1) }).collect();
        // As many full frames as the burst has room for.
        let bytes = ((burst * 10_000.0 / (1_538.0 * 8.0)) as u32).max(1) * 1_472;
        let subscribers = vec![Subscriber { hop: tree.len() - 1, limit: 0, maximum_separation: None }];
        flows.push(Flow {
            largest_message: bytes,
            smallest_message: bytes,
            framing: Framing::Udp { datagram: 1_472, ip: Ip::V4 },
            tag: 0,
            separation: (message(bytes).0 / (rate * 10_000.0) * 1e9) as u64,
            maximum_separation: None,
            jitter: 0,
            emission: 0,
            slack: 0,
            policing,
            tree,
            subscribers,
            importance: 0,
            bundle: None,
        });
    }
    Network { ports, flows }
}

/// A meter that counts single bits.
pub(crate) const METER: Policing = Policing::Meter { rate_step: 1, burst_step: 1, counts: Counts::Wire };

/// Switches in a line, a ring or a tree, or any way, with so many hosts at each, first-in first-out; as many flows between hosts, of
/// messages so long and so far apart.
struct Kind {
    hosts: u64,
    flows: (u64, u64),
    most_bytes: u64,
    /// In units of 200 microseconds.
    least_separation: u64,
}

const SMALL: Kind = Kind { hosts: 2, flows: (2, 12), most_bytes: 60_000, least_separation: 1 };
/// More flows hang together than are all split again.
const LARGE: Kind = Kind { hosts: 6, flows: (60, 150), most_bytes: 6_000, least_separation: 20 };

fn random_network(seed: u64, kind: &Kind) -> Network {
    let mut random = Random::new(seed);
    let switches = random.range(1, 6) as usize;
    let mut cables: Vec<(usize, usize)> = match random.range(0, 3) {
        0 => (1..switches).map(|at| (at - 1, at)).collect(),
        1 => (1..switches).map(|at| (random.range(0, at as u64 - 1) as usize, at)).collect(),
        kind => {
            let mut cables: Vec<_> = (1..switches).map(|at| (at - 1, at)).collect();
            if switches > 2 {
                cables.push((switches - 1, 0));
                if kind == 3 && switches > 3 {
                    cables.push((0, 2));
                }
            }
            cables
        }
    };
    let hosts = random.range(2, 3 + kind.hosts * switches as u64) as usize;
    cables.extend((0..hosts).map(|host| (random.range(0, switches as u64 - 1) as usize, switches + host)));
    let levels = random.range(0, 2);
    let varying = random.range(0, 1) * random.range(0, 5_000_000);
    let mut ports = Vec::new();
    let mut links = Vec::new();
    for (one, other) in cables {
        let rate = [100_000_000, 1_000_000_000, 1_000_000_000, 10_000_000_000][random.range(0, 3) as usize];
        let propagation = random.range(0, 500_000);
        for (from, to) in [(one, other), (other, one)] {
            let is_host = from >= switches;
            ports.push(Port {
                rate,
                propagation,
                most_multiplexing: if is_host { 0 } else { varying },
                queues: if levels == 2 || levels == 1 && !is_host { 8 } else { 1 },
                best_effort: if is_host && levels < 2 { 0 } else { 1_538 },
                buffer: Buffer::Shared(1 << 40),
                ..switch()
            });
            links.push((from, to));
        }
    }
    let mut flows = Vec::new();
    for _ in 0..random.range(kind.flows.0, kind.flows.1) {
        let from = switches + random.range(0, hosts as u64 - 1) as usize;
        let ends: Vec<usize> = (0..random.range(1, 5).saturating_sub(3).max(1))
            .map(|_| switches + random.range(0, hosts as u64 - 1) as usize)
            .filter(|end| *end != from)
            .collect();
        let Some((tree, ends)) = tree(&links, switches, from, &ends, &mut random) else { continue };
        let bytes =
            [random.range(1, 1_472), random.range(1_000, kind.most_bytes)][random.range(0, 1) as usize];
        let separation = random.range(200 * kind.least_separation, 20_000) * 1_000_000;
        flows.push(Flow {
            largest_message: bytes as u32,
            smallest_message: bytes as u32,
            framing: Framing::Udp { datagram: 1_472, ip: Ip::V4 },
            tag: 0,
            separation,
            maximum_separation: None,
            jitter: random.range(0, 1) * random.range(0, 300) * 1_000_000,
            emission: if bytes > 1_472 { random.range(0, 1) * random.range(0, 100) * 1_000_000 } else { 0 },
            slack: 0,
            policing: [Policing::Trusted, METER][random.range(0, 1) as usize],
            tree,
            subscribers: ends
                .into_iter()
                .map(|hop| Subscriber { hop, limit: 0, maximum_separation: None })
                .collect(),
            importance: 0,
            bundle: None,
        });
    }
    Network { ports, flows }
}

/// Shortest ways from a host to others, as a tree.
fn tree(
    links: &[(usize, usize)],
    switches: usize,
    from: usize,
    ends: &[usize],
    random: &mut Random,
) -> Option<(Vec<Hop>, Vec<usize>)> {
    let turn = random.range(0, links.len() as u64 - 1) as usize;
    let mut reached: Vec<(usize, Option<usize>)> = vec![(from, None)];
    let mut at = 0;
    while at < reached.len() {
        let node = reached[at].0;
        for index in (0..links.len()).map(|index| (index + turn) % links.len()) {
            let (start, end) = links[index];
            let goes = start == node && (node < switches || node == from);
            if goes && reached.iter().all(|(known, _)| *known != end) {
                reached.push((end, Some(index)));
            }
        }
        at += 1;
    }
    let mut hops: Vec<Hop> = Vec::new();
    let mut last = Vec::new();
    for end in ends {
        let mut way = Vec::new();
        let mut node = *end;
        while let Some(port) = reached.iter().find(|(known, _)| *known == node)?.1 {
            way.push(port);
            node = links[port].0;
        }
        let mut parent = None;
        for port in way.into_iter().rev() {
            parent = Some(hops.iter().position(|hop| hop.port == port).unwrap_or_else(|| {
                hops.push(Hop { port, parent });
                hops.len() - 1
            }));
        }
        last.push(parent?);
    }
    (!last.is_empty()).then_some((hops, last))
}

/// A network of first-in first-out ports, and some with several queues, with limits that TFA++ just keeps.
pub(crate) fn first_in_first_out(seed: u64) -> Network {
    kept(seed, &SMALL)
}

/// The same with so many flows that not all can have their shares split again.
pub(crate) fn large(seed: u64) -> Network {
    kept(seed, &LARGE)
}

fn kept(seed: u64, kind: &Kind) -> Network {
    let found = (0..).map(|part| random_network(seed << 8 | part, kind)).find_map(|mut network| {
        (network.flows.len() > 1).then_some(())?;
        with_limits(&mut network, 1.0).map(|()| network)
    });
    found.unwrap()
}

/// A network whose ports have several queues, and flows that need them: limits from a third of what TFA++ says to ten times as much, and
/// guards of all kinds.
pub(crate) fn network_of_levels(seed: u64) -> Network {
    let mut random = Random::new(seed ^ 0xFEED);
    let mut network = first_in_first_out(seed);
    for port in &mut network.ports {
        port.queues = random.range(2, 8) as u8;
        if random.range(0, 9) == 0 {
            port.buffer = Buffer::Shared(random.range(20_000, 200_000));
        }
    }
    for flow in &mut network.flows {
        let parts = if random.range(0, 1) == 0 { random.range(30, 120) } else { random.range(100, 1_000) };
        for subscriber in &mut flow.subscribers {
            subscriber.limit = subscriber.limit * parts / 100;
        }
        if random.range(0, 2) == 0 {
            flow.policing = Policing::Gate { tick: 1_000 };
        }
    }
    network
}

/// A ledger of those flows that are admitted, one after the other.
pub(crate) fn admitted(network: &Network, solver: Option<Solver>) -> Ledger {
    let mut ledger = Ledger::new(network.ports.clone(), Split::Load);
    if let Some(solver) = solver {
        ledger.use_solver(solver);
    }
    for (id, flow) in (0..).zip(&network.flows) {
        let _ = ledger.admit_as_asked(id, flow);
    }
    ledger
}
