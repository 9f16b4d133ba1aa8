//! Where random networks get their nodes and ports from: switches of a topology, hosts at them, tags, traffic of control, and ways of flows.
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::{FRAMES, RATES, Shape, Topology, VLAN_TAG};
use crate::network::{Contract, Flow, Hop, LEVELS, Node, Port};
use crate::random::Random;

/// Nodes and ports, as far as they are laid out.
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    pub(super) ports: Vec<Port>,
    pub(super) hosts: Vec<usize>,
    switches: usize,
    /// Index into [`RATES`] that most links have.
    pub(super) rate: usize,
    mixed: bool,
    tagged: bool,
    best_effort: [u64; 2],
}

impl Plan {
    pub(super) fn new(topology: Topology, shape: &Shape, random: &mut Random) -> Self {
        let largest = shape.switches as u64;
        let size = if random.once_in(2) { largest } else { random.between(2, largest) };
        let size = size.max(match topology {
            Topology::Ring | Topology::FatTree => 3,
            _ => 2,
        });
        let (links, switches) = topology.links(usize::try_from(size).unwrap_or(3));
        let mut plan = Self::bare(switches, random);
        plan.mixed = random.once_in(3);
        for (one, other) in links {
            plan.connect(one, other, random);
        }
        for _ in 0..random.between(2, 6) {
            plan.add_host(random);
        }
        plan
    }

    /// Switches without links.
    pub(super) fn bare(switches: usize, random: &mut Random) -> Self {
        let fastest = random.below(5_000_000);
        let slowest = fastest + if random.once_in(2) { 0 } else { random.below(5_000_000) };
        // For host ports and for switch ports.
        let largest = random.between(FRAMES[0], FRAMES[1]);
        let best_effort = match random.below(4) {
            0 => [0, 0],
            1 => [0, FRAMES[1]],
            2 => [largest, largest],
            _ => [FRAMES[1]; 2],
        };
        Self {
            nodes: vec![Node::Switch { fastest, slowest, ordered: true }; switches],
            ports: Vec::new(),
            hosts: Vec::new(),
            switches,
            rate: random.index(RATES.len()),
            mixed: false,
            tagged: false,
            best_effort,
        }
    }

    pub(super) fn add_host(&mut self, random: &mut Random) -> usize {
        let switch = random.index(self.switches);
        self.add_host_at(switch, random)
    }

    pub(super) fn add_host_at(&mut self, switch: usize, random: &mut Random) -> usize {
        let host = self.nodes.len();
        self.nodes.push(Node::Host);
        self.hosts.push(host);
        self.connect(host, switch, random);
        host
    }

    pub(super) fn connect(&mut self, one: usize, other: usize, random: &mut Random) {
        let rate = if self.mixed { random.index(RATES.len()) } else { self.rate };
        let propagation = random.below(1_000_000);
        for (from, to) in [(one, other), (other, one)] {
            let host = self.nodes[from] == Node::Host;
            self.ports.push(Port {
                propagation,
                best_effort: self.best_effort[usize::from(!host)],
                ..Port::ideal(from, to, RATES[rate])
            });
        }
    }

    /// Tags of links, and switches that do not keep the order of frames.
    pub(super) fn vary(&mut self, random: &mut Random) {
        self.tagged = random.once_in(2);
        if random.once_in(2) {
            for node in &mut self.nodes {
                if let Node::Switch { ordered, .. } = node {
                    *ordered = false;
                }
            }
        }
        for cable in 0..self.ports.len() / 2 {
            self.tag(2 * cable, random);
        }
    }

    /// Frames of best effort may have the tag of a VLAN, too.
    pub(super) fn allow_vlans(&mut self) {
        for port in &mut self.ports {
            if port.best_effort >= FRAMES[1] {
                port.best_effort += VLAN_TAG;
            }
        }
    }

    /// The tag of a cable whose ports were added last.
    pub(super) fn tag(&mut self, first: usize, random: &mut Random) {
        let tag = if self.tagged { [0, 4, 4, 8, 18, 30][random.index(6)] } else { 0 };
        for port in &mut self.ports[first..first + 2] {
            port.tag = tag;
            if port.best_effort == FRAMES[1] {
                port.best_effort += tag;
            }
        }
    }

    /// Control at each port of a switch that flows leave by, as further flows; gives burst, bytes and period.
    pub(super) fn control(&self, flows: &mut Vec<Flow>, random: &mut Random) -> [u64; 3] {
        let [burst, bytes] = [random.between(1_600, 6_000), random.between(1, 1_600)];
        // At most a hundredth of the slowest link.
        let period = bytes * RATES[0] * random.between(100, 1_000);
        let mut used: Vec<usize> =
            flows.iter().flat_map(|flow| flow.tree.iter().map(|hop| hop.port)).collect();
        used.sort_unstable();
        used.dedup();
        for port in used.into_iter().filter(|port| self.nodes[self.ports[*port].from] != Node::Host) {
            let largest = (FRAMES[1] + self.ports[port].tag).min(burst);
            flows.push(Flow {
                others: vec![vec![FRAMES[0]], vec![random.between(FRAMES[0], largest)]],
                ..Flow::new(
                    vec![Hop { port, level: LEVELS - 1 }],
                    vec![largest],
                    Contract::Bucket { burst, bytes, period },
                )
            });
        }
        [burst, bytes, period]
    }

    /// Ports between nodes that follow each other.
    pub(super) fn along(&self, nodes: &[usize]) -> Vec<usize> {
        let port = |pair: &[usize]| self.ports.iter().position(|port| [port.from, port.to] == pair);
        nodes.windows(2).filter_map(port).collect()
    }

    /// Ports of a tree of shortest paths to one to three other hosts.
    pub(super) fn tree(&self, publisher: usize, random: &mut Random) -> Vec<usize> {
        let mut reached: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut waiting = VecDeque::from([publisher]);
        let mut order = Vec::new();
        let offset = random.index(self.ports.len());
        while let Some(node) = waiting.pop_front() {
            for index in (0..self.ports.len()).map(|index| (index + offset) % self.ports.len()) {
                let Port { from, to, .. } = self.ports[index];
                if from == node && to != publisher && reached[to].is_none() {
                    reached[to] = Some(index);
                    order.push(index);
                    waiting.push_back(to);
                }
            }
        }
        let others: Vec<usize> = self.hosts.iter().copied().filter(|host| *host != publisher).collect();
        let mut used = Vec::new();
        for _ in 0..if random.once_in(3) { random.between(2, 3) } else { 1 } {
            // Every second one among the farthest, because most pairs are near.
            let farthest = order.iter().rev().map(|port| self.ports[*port].to).find(|to| others.contains(to));
            let any = others[random.index(others.len())];
            let mut node = if random.once_in(2) { any } else { farthest.unwrap_or(any) };
            while let Some(port) = reached[node].filter(|port| !used.contains(port)) {
                used.push(port);
                node = self.ports[port].from;
            }
        }
        order.retain(|port| used.contains(port));
        order
    }
}
