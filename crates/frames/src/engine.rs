//! One run: events in the order of time, ties as the attack says.
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use crate::attack::{Attack, BestEffort, Multiplexing, Release, Ties};
use crate::network::{LEVELS, Network, Node};
use crate::outcome::{Bounds, Delivery, Excess, Outcome};
use crate::policer::Guard;
use crate::random::{Random, mix};

/// Simulates `network` under `attack` until every frame is delivered or lost, and compares with `bounds`.
///
/// # Panics
/// If the attack has not a timing for each flow.
pub fn run(network: &Network, attack: &Attack, bounds: &Bounds) -> Outcome {
    let mut engine = Engine::new(network, attack, bounds);
    engine.release();
    while let Some(Reverse(event)) = engine.events.pop() {
        match event.kind {
            Kind::Arrive(frame) => engine.arrive(event.at, frame),
            Kind::Choose(port) => engine.choose(event.at, port),
        }
    }
    engine.outcome
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The edge in front of which it waits, or that it is on.
    edge: usize,
    octets: u64,
    message: u32,
    /// Counts the frames of the flow.
    number: u64,
    released: u64,
    /// When it came to the queue.
    queued: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The frame comes to the queue of its edge's port.
    Arrive(Frame),
    /// The port is free and takes the next frame.
    Choose(usize),
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at: u64,
    /// Order within an instant.
    class: u8,
    /// Order within a class.
    number: u64,
    kind: Kind,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.class, self.number).cmp(&(other.at, other.class, other.number))
    }
}

/// A port while the simulation runs.
struct Output {
    levels: [VecDeque<Frame>; LEVELS as usize],
    /// Octets waiting or on the wire, for each level.
    held: [u64; LEVELS as usize],
    /// What is on the wire.
    sending: Option<Frame>,
    /// True from the start of a frame, admitted or not, to its end.
    busy: bool,
    /// True if a choice is due at the present instant.
    choosing: bool,
}

struct Engine<'a> {
    network: &'a Network,
    attack: &'a Attack,
    bounds: &'a Bounds,
    events: BinaryHeap<Reverse<Event>>,
    pushed: u64,
    outputs: Vec<Output>,
    guards: Vec<Option<Guard>>,
    /// For each edge: octets waiting or on the wire.
    held: Vec<u64>,
    /// For each edge: the number of the next frame, if none is lost.
    expected: Vec<u64>,
    /// For each port: when the last frame received over it came to its next queue.
    forwarded: Vec<u64>,
    random: Random,
    outcome: Outcome,
}

impl<'a> Engine<'a> {
    fn new(network: &'a Network, attack: &'a Attack, bounds: &'a Bounds) -> Self {
        let output = || Output {
            levels: Default::default(),
            held: [0; LEVELS as usize],
            sending: None,
            busy: false,
            choosing: false,
        };
        Self {
            network,
            attack,
            bounds,
            events: BinaryHeap::new(),
            pushed: 0,
            outputs: network.ports().iter().map(|_| output()).collect(),
            guards: network.flows().iter().map(|flow| flow.policer.map(Guard::new)).collect(),
            held: vec![0; network.edges().len()],
            expected: vec![0; network.edges().len()],
            forwarded: vec![0; network.ports().len()],
            random: Random::new(attack.seed),
            outcome: Outcome::new(network),
        }
    }

    fn release(&mut self) {
        for (flow, source) in self.network.flows().iter().enumerate() {
            let releases = self.attack.releases(self.network, flow);
            if self.attack.target == Some(flow) {
                self.outcome.arrivals = vec![vec![(u64::MAX, 0); releases.len()]; source.tree.len()];
                let delivery = |release: &Release| Delivery {
                    released: release.at,
                    frames: release.count as u64,
                    ..Delivery::default()
                };
                self.outcome.deliveries = releases.iter().map(delivery).collect();
            }
            let mut number = 0;
            for (message, release) in (0..).zip(releases) {
                let frames = &source.frames[release.first..release.first + release.count];
                for (index, octets) in frames.iter().enumerate() {
                    let edge = self.network.edge(flow, 0);
                    let octets = release.size.unwrap_or(*octets);
                    let frame = Frame { edge, octets, message, number, released: release.at, queued: 0 };
                    let at = if index == 0 { release.at } else { release.rest };
                    self.push_arrival(at, frame, flow);
                    number += 1;
                }
            }
            self.outcome.released[flow] = number;
        }
    }

    /// `origin` tells apart where frames come from: those of one origin keep their order.
    fn push_arrival(&mut self, at: u64, frame: Frame, origin: usize) {
        let target = self.attack.target == Some(self.network.edges()[frame.edge].flow);
        let class = match self.attack.ties {
            Ties::Against => {
                if target {
                    2
                } else {
                    0
                }
            }
            Ties::ChoiceFirst => {
                if target {
                    2
                } else {
                    1
                }
            }
            Ties::Random => self.random_class(at, origin),
        };
        self.push(at, class, Kind::Arrive(frame));
    }

    fn push_choice(&mut self, at: u64, port: usize) {
        let class = match self.attack.ties {
            Ties::Against => 1,
            Ties::ChoiceFirst => 0,
            Ties::Random => self.random_class(at, usize::MAX - port),
        };
        self.push(at, class, Kind::Choose(port));
    }

    fn random_class(&self, at: u64, origin: usize) -> u8 {
        let bits = mix(mix(self.attack.seed ^ at).wrapping_add(origin as u64));
        u8::try_from(bits % 4).unwrap_or(0)
    }

    fn push(&mut self, at: u64, class: u8, kind: Kind) {
        self.pushed += 1;
        self.events.push(Reverse(Event { at, class, number: self.pushed, kind }));
    }

    fn arrive(&mut self, now: u64, frame: Frame) {
        let network = self.network;
        let edge = &network.edges()[frame.edge];
        let port = &network.ports()[edge.port];
        let level = usize::from(edge.level);
        let output = &mut self.outputs[edge.port];
        if output.held[level].saturating_add(frame.octets) > port.buffer {
            self.outcome.lost[edge.flow] += 1;
            return;
        }
        output.levels[level].push_back(Frame { queued: now, ..frame });
        output.held[level] += frame.octets;
        self.held[frame.edge] += frame.octets;
        let hop = frame.edge - network.edge(edge.flow, 0);
        let outcome = &mut self.outcome;
        raise(&mut outcome.level_backlog[edge.port][level], output.held[level]);
        raise(&mut outcome.port_backlog[edge.port], output.held.iter().sum());
        raise(&mut outcome.flow_backlog[edge.flow][hop], self.held[frame.edge]);
        if self.attack.target == Some(edge.flow)
            && let Some((first, last)) = outcome.arrivals[hop].get_mut(frame.message as usize)
        {
            *first = (*first).min(now);
            *last = now;
        }
        if output.busy || output.choosing {
            return;
        }
        let blocked = self.blocking(port.best_effort);
        let output = &mut self.outputs[edge.port];
        if blocked > 0 {
            output.busy = true;
            self.push_choice(now + blocked * port.picoseconds_per_octet, edge.port);
        } else {
            output.choosing = true;
            self.push_choice(now, edge.port);
        }
    }

    /// Octets of a best-effort frame that still have to be sent when an admitted frame comes to an idle port.
    fn blocking(&mut self, largest: u64) -> u64 {
        match self.attack.best_effort {
            BestEffort::Always => largest,
            BestEffort::Never => 0,
            BestEffort::Random => match self.random.below(4) {
                0 => 0,
                1 => self.random.between(0, largest),
                _ => largest,
            },
        }
    }

    fn choose(&mut self, now: u64, index: usize) {
        let port = &self.network.ports()[index];
        let output = &mut self.outputs[index];
        output.choosing = false;
        output.busy = false;
        if let Some(sent) = output.sending.take() {
            output.held[usize::from(self.network.edges()[sent.edge].level)] -= sent.octets;
            self.held[sent.edge] -= sent.octets;
        }
        let Some(frame) = output.levels.iter_mut().rev().find_map(VecDeque::pop_front) else { return };
        output.busy = true;
        output.sending = Some(frame);
        let end = now + frame.octets * port.picoseconds_per_octet;
        let edge = &self.network.edges()[frame.edge];
        let hop = frame.edge - self.network.edge(edge.flow, 0);
        raise(&mut self.outcome.delay[edge.flow][hop], end - frame.queued);
        self.push_choice(end, index);
        self.receive(end + port.propagation, frame);
    }

    /// The last bit of a frame comes to the end of its edge.
    fn receive(&mut self, now: u64, frame: Frame) {
        let network = self.network;
        let edge = &network.edges()[frame.edge];
        let (flow, hop) = (edge.flow, frame.edge - network.edge(edge.flow, 0));
        self.note(now, frame, flow, hop);
        let Node::Switch { fastest, slowest } = network.nodes()[network.ports()[edge.port].to] else {
            return;
        };
        if edge.parent.is_none()
            && let Some(guard) = &mut self.guards[flow]
            && !guard.passes(now, frame.octets)
        {
            self.outcome.policed[flow] += 1;
            return;
        }
        let latency = match self.attack.multiplexing {
            Multiplexing::Slowest => slowest,
            Multiplexing::Fastest => fastest,
            Multiplexing::Random => self.random.between(fastest, slowest),
        };
        // A frame never overtakes an earlier one of the same link, and takes no more than `slowest`: frames of
        // a link end at different instants.
        let ready = (now + latency).max(self.forwarded[edge.port] + 1);
        self.forwarded[edge.port] = ready;
        for child in &edge.children {
            self.push_arrival(ready, Frame { edge: *child, ..frame }, usize::MAX / 2 + edge.port);
        }
    }

    fn note(&mut self, now: u64, frame: Frame, flow: usize, hop: usize) {
        let outcome = &mut self.outcome;
        outcome.received[flow][hop] += 1;
        if frame.number < self.expected[frame.edge] {
            outcome.disordered += 1;
        }
        self.expected[frame.edge] = frame.number + 1;
        let to = self.network.ports()[self.network.edges()[frame.edge].port].to;
        if self.attack.target == Some(flow)
            && matches!(self.network.nodes()[to], Node::Host)
            && let Some(delivery) = outcome.deliveries.get_mut(frame.message as usize)
        {
            delivery.delivered += 1;
            delivery.last = now;
        }
        let latency = now - frame.released;
        if latency > outcome.latency[flow][hop] {
            outcome.latency[flow][hop] = latency;
            outcome.message[flow][hop] = frame.message;
        }
        if let Some(bound) = self.bounds.latency(flow, hop)
            && latency > bound
        {
            outcome.exceeds(Excess { flow, hop, message: frame.message, latency, bound });
        }
    }
}

fn raise(own: &mut u64, value: u64) {
    *own = (*own).max(value);
}
