//! What a run shows: the worst latencies and backlogs, and what was above a bound.
use alloc::vec;
use alloc::vec::Vec;

use crate::network::{LEVELS, Network};

/// How many excesses of one run are kept in full; the others are counted.
const KEPT: usize = 8;

/// Claimed worst cases, to be refuted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// For each flow and each hop of its tree: picoseconds from the release of a message to the last bit of its last
    /// frame at the end of the hop; `None` where nothing is claimed.
    pub latency: Vec<Vec<Option<u64>>>,
}

impl Bounds {
    /// The bound of a hop, if there is one.
    pub fn latency(&self, flow: usize, hop: usize) -> Option<u64> {
        *self.latency.get(flow)?.get(hop)?
    }
}

/// A frame above its bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Excess {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the hop in its tree.
    pub hop: usize,
    /// Which message of the flow, from 0.
    pub message: u32,
    /// What it took, in picoseconds.
    pub latency: u64,
    /// What was claimed, in picoseconds.
    pub bound: u64,
}

/// What came of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delivery {
    /// When the message was released, in picoseconds.
    pub released: u64,
    /// How many frames were released.
    pub frames: u64,
    /// How many frames were delivered.
    pub delivered: u64,
    /// When the last bit of the last one that was delivered came, in picoseconds.
    pub last: u64,
}

/// The worst that happened in one run, or in several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// For each flow and each hop: the largest latency, in picoseconds, from the release of a message to the last bit
    /// of a frame of it at the end of the hop. For a source that counts frames every frame is a message.
    pub latency: Vec<Vec<u64>>,
    /// For each flow and each hop: the longest time, in picoseconds, from the arrival of a frame in the queue of the
    /// hop's port to the end of its transmission there.
    pub delay: Vec<Vec<u64>>,
    /// The message that had the largest latency.
    pub message: Vec<Vec<u32>>,
    /// For each flow and each hop: the most bytes of the flow that were at the port at once, waiting or on the wire.
    pub flow_backlog: Vec<Vec<u64>>,
    /// For each port and each level: the most bytes that were there at once, waiting or on the wire.
    pub level_backlog: Vec<[u64; LEVELS as usize]>,
    /// For each port: the most bytes of all levels that were there at once, waiting or on the wire.
    pub port_backlog: Vec<u64>,
    /// For each flow: frames released.
    pub released: Vec<u64>,
    /// For each flow: frames lost for lack of buffer.
    pub lost: Vec<u64>,
    /// For each flow: frames dropped by its gate or meter.
    pub policed: Vec<u64>,
    /// For each flow and each hop: frames that came to the end of it.
    pub received: Vec<Vec<u64>>,
    /// Frames that came out of order within their flow: never where switches keep order, unless the simulator is wrong.
    pub disordered: u64,
    /// The first frames above their bounds.
    pub excesses: Vec<Excess>,
    /// How many frames were above their bounds.
    pub excess_count: u64,
    /// For the target of the attack, for each message: what came to the hosts at the ends of its tree, all of them together.
    pub deliveries: Vec<Delivery>,
    /// For the target of the attack, for each hop and message: when its first and its last frame came to the port.
    pub arrivals: Vec<Vec<(u64, u64)>>,
}

impl Outcome {
    pub(crate) fn new(network: &Network) -> Self {
        let flows = network.flows();
        let per_hop: Vec<Vec<u64>> = flows.iter().map(|flow| vec![0; flow.tree.len()]).collect();
        Self {
            latency: per_hop.clone(),
            delay: per_hop.clone(),
            message: flows.iter().map(|flow| vec![0; flow.tree.len()]).collect(),
            flow_backlog: per_hop.clone(),
            level_backlog: vec![[0; LEVELS as usize]; network.ports().len()],
            port_backlog: vec![0; network.ports().len()],
            released: vec![0; flows.len()],
            lost: vec![0; flows.len()],
            policed: vec![0; flows.len()],
            received: per_hop,
            disordered: 0,
            excesses: Vec::new(),
            excess_count: 0,
            deliveries: Vec::new(),
            arrivals: Vec::new(),
        }
    }

    pub(crate) fn exceeds(&mut self, excess: Excess) {
        self.excess_count += 1;
        if self.excesses.len() < KEPT {
            self.excesses.push(excess);
        }
    }

    /// Takes the worse of two outcomes of the same network, everywhere; counts add up. Arrivals stay as they are.
    pub fn merge(&mut self, other: &Self) {
        for (flow, latencies) in other.latency.iter().enumerate() {
            for (hop, latency) in latencies.iter().enumerate() {
                if *latency > self.latency[flow][hop] {
                    self.latency[flow][hop] = *latency;
                    self.message[flow][hop] = other.message[flow][hop];
                }
            }
        }
        raise_all(&mut self.delay, &other.delay);
        raise_all(&mut self.flow_backlog, &other.flow_backlog);
        for (own, others) in self.level_backlog.iter_mut().zip(&other.level_backlog) {
            raise(own, others);
        }
        raise(&mut self.port_backlog, &other.port_backlog);
        add(&mut self.released, &other.released);
        add(&mut self.lost, &other.lost);
        add(&mut self.policed, &other.policed);
        for (own, others) in self.received.iter_mut().zip(&other.received) {
            add(own, others);
        }
        self.disordered += other.disordered;
        self.excess_count += other.excess_count;
        let room = KEPT.saturating_sub(self.excesses.len());
        self.excesses.extend(other.excesses.iter().take(room));
    }
}

fn raise_all(own: &mut [Vec<u64>], others: &[Vec<u64>]) {
    for (own, others) in own.iter_mut().zip(others) {
        raise(own, others);
    }
}

fn raise(own: &mut [u64], others: &[u64]) {
    for (own, other) in own.iter_mut().zip(others) {
        *own = (*own).max(*other);
    }
}

fn add(own: &mut [u64], others: &[u64]) {
    for (own, other) in own.iter_mut().zip(others) {
        *own += other;
    }
}
