//! One run: events in the order of time, ties as the attack says.
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::attack::{Attack, Becomes, BestEffort, Change, Multiplexing, Release, Ties};
use crate::events::{Event, Events};
use crate::network::{LEVELS, Network, Node};
use crate::outcome::{Bounds, Delivery, Excess, Outcome};
use crate::policer::Guard;
use crate::random::{Random, mix};
use crate::wire::retagged;

/// Simulates `network` under `attack` until every frame is delivered or lost, and compares with `bounds`.
///
/// # Panics
/// If the attack has not a timing for each flow.
pub fn run(network: &Network, attack: &Attack, bounds: &Bounds) -> Outcome {
    let mut engine = Engine::new(network, attack, bounds);
    engine.release();
    while let Some(event) = engine.events.pop() {
        match event.what {
            Kind::Release(flow) => engine.hand_over(event.at(), flow),
            Kind::Arrive(place) => engine.arrive(event.at(), place),
            Kind::Choose(port) => engine.choose(event.at(), port),
            Kind::Change(index) => engine.change(index),
        }
    }
    engine.finish()
}

/// The class of what happens after everything else of its instant.
const AFTER_ALL: u8 = 4;

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The edge in front of which it waits, or that it is on.
    edge: usize,
    bytes: u64,
    message: u32,
    /// Counts the frames of the flow.
    number: u64,
    released: u64,
    /// When it came to the queue, and the level of that.
    queued: u64,
    level: u8,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The flow hands its next frame to the host's port.
    Release(usize),
    /// The frame in this place comes to the queue of its edge's port.
    Arrive(usize),
    /// The port is free and takes the next frame.
    Choose(usize),
    /// A flow changes its level, or its guard.
    Change(usize),
}

/// What a flow has still to release. Only its next frame is among the events: so there are few of them at any time.
struct Source {
    releases: Vec<Release>,
    /// Index of the release, which is the number of the message, and of the frame in it that comes next.
    next: (u32, usize),
    /// The number of the next frame, and what it is counted from in the order of events.
    number: u64,
    first: u64,
}

/// Frames that are in switches or in queues, in places that are used again.
#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    free: Vec<usize>,
}

impl Frames {
    fn put(&mut self, frame: Frame) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.all[place] = frame;
                place
            }
            None => {
                self.all.push(frame);
                self.all.len() - 1
            }
        }
    }

    fn take(&mut self, place: usize) -> Frame {
        self.free.push(place);
        self.all[place]
    }
}

/// A port while the simulation runs.
struct Output {
    levels: [VecDeque<usize>; LEVELS as usize],
    /// Bytes waiting or on the wire, for each level and for all.
    held: [u64; LEVELS as usize],
    held_by_all: u64,
    /// What that takes of the buffer.
    occupied: [u64; LEVELS as usize],
    occupied_by_all: u64,
    /// What the card has taken and not sent yet, and its bytes: frames, or what was not admitted.
    ring: VecDeque<(Option<usize>, u64)>,
    in_ring: u64,
    /// What is on the wire.
    sending: Option<Frame>,
    /// True from the start of a frame, admitted or not, to its end.
    busy: bool,
    /// True if a choice is due at the present instant.
    choosing: bool,
    /// When the last frame received over it came to its next queue.
    forwarded: u64,
}

/// Of an edge: the worst values so far, and those of now.
#[derive(Clone, Copy)]
struct Passage {
    flow: usize,
    hop: usize,
    /// The level at which its frames are queued.
    level: u8,
    latency: u64,
    bound: u64,
    message: u32,
    delay: u64,
    received: u64,
    /// The number of the next frame, if none is lost.
    expected: u64,
    /// Bytes waiting or on the wire, now and at most.
    held: u64,
    backlog: u64,
}

struct Engine<'a> {
    network: &'a Network,
    attack: &'a Attack,
    events: Events<Kind>,
    pushed: u64,
    sources: Vec<Source>,
    frames: Frames,
    outputs: Vec<Output>,
    guards: Vec<Option<Guard>>,
    passages: Vec<Passage>,
    random: Random,
    outcome: Outcome,
}

impl<'a> Engine<'a> {
    fn new(network: &'a Network, attack: &'a Attack, bounds: &Bounds) -> Self {
        let output = || Output {
            levels: Default::default(),
            held: [0; LEVELS as usize],
            held_by_all: 0,
            occupied: [0; LEVELS as usize],
            occupied_by_all: 0,
            ring: VecDeque::new(),
            in_ring: 0,
            sending: None,
            busy: false,
            choosing: false,
            forwarded: 0,
        };
        let passage = |(index, edge): (usize, &crate::network::Edge)| {
            let hop = index - network.edge(edge.flow, 0);
            Passage {
                flow: edge.flow,
                hop,
                level: edge.level,
                latency: 0,
                bound: bounds.latency(edge.flow, hop).unwrap_or(u64::MAX),
                message: 0,
                delay: 0,
                received: 0,
                expected: 0,
                held: 0,
                backlog: 0,
            }
        };
        Self {
            network,
            attack,
            events: Events::new(),
            pushed: 0,
            sources: Vec::with_capacity(network.flows().len()),
            frames: Frames::default(),
            outputs: network.ports().iter().map(|_| output()).collect(),
            guards: network
                .flows()
                .iter()
                .map(|flow| flow.policer.map(|rule| Guard::new(rule, flow.babbles)))
                .collect(),
            passages: network.edges().iter().enumerate().map(passage).collect(),
            random: Random::new(attack.seed),
            outcome: Outcome::new(network),
        }
    }

    fn change(&mut self, index: usize) {
        let Change { flow, becomes, .. } = self.attack.changes[index];
        match becomes {
            Becomes::Level { hop, level } => self.passages[self.network.edge(flow, hop)].level = level,
            Becomes::Policed(rule) => {
                if let Some(guard) = &mut self.guards[flow] {
                    guard.change(rule);
                }
            }
        }
    }

    fn release(&mut self) {
        for (index, change) in self.attack.changes.iter().enumerate() {
            self.push(change.at, AFTER_ALL, Kind::Change(index));
        }
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
            let count = releases.iter().map(|release| release.count as u64).sum();
            self.outcome.released[flow] = count;
            self.sources.push(Source { releases, next: (0, 0), number: 0, first: self.pushed + 1 });
            self.pushed += count;
        }
        for flow in 0..self.sources.len() {
            if let Some(event) = self.next_of(flow) {
                self.events.push(event);
            }
        }
    }

    /// The release of the next frame of a flow.
    fn next_of(&self, flow: usize) -> Option<Event<Kind>> {
        let source = &self.sources[flow];
        let (message, index) = source.next;
        let release = source.releases.get(message as usize)?;
        let at = release.instant(index);
        let class = self.arrival_class(at, flow, flow);
        Some(Event::new(at, class, source.first + source.number, Kind::Release(flow)))
    }

    fn hand_over(&mut self, mut now: u64, flow: usize) {
        loop {
            let source = &mut self.sources[flow];
            let (message, index) = source.next;
            let release = &source.releases[message as usize];
            let frame = Frame {
                edge: self.network.edge(flow, 0),
                bytes: release
                    .size
                    .unwrap_or(self.network.flows()[flow].message(release.kind)[release.first + index]),
                message,
                number: source.number,
                released: release.at,
                queued: 0,
                level: 0,
            };
            source.number += 1;
            source.next = if index + 1 < release.count { (message, index + 1) } else { (message + 1, 0) };
            let place = self.frames.put(frame);
            self.arrive(now, place);
            // Most frames come together with the one before: those need not go through the queue of events.
            let Some(next) = self.next_of(flow) else { return };
            if self.events.first().is_some_and(|first| *first < next) {
                self.events.push(next);
                return;
            }
            now = next.at();
        }
    }

    /// `origin` tells apart where frames of `flow` come from: those of one origin keep their order.
    fn arrival_class(&self, at: u64, flow: usize, origin: usize) -> u8 {
        let target = self.attack.target == Some(flow);
        match self.attack.ties {
            Ties::Against if target => 2,
            Ties::Against => 0,
            Ties::ChoiceFirst if target => 2,
            Ties::ChoiceFirst => 1,
            Ties::Random => self.random_class(at, origin),
        }
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
        self.events.push(Event::new(at, class, self.pushed, kind));
    }

    fn arrive(&mut self, now: u64, place: usize) {
        let network = self.network;
        let frame = &mut self.frames.all[place];
        let edge = &network.edges()[frame.edge];
        let port = &network.ports()[edge.port];
        let passage = &mut self.passages[frame.edge];
        let level = usize::from(passage.level);
        let output = &mut self.outputs[edge.port];
        let bytes = frame.bytes;
        let occupied = port.imperfections.occupied(bytes);
        if output.occupied[level].saturating_add(occupied) > port.buffer
            || port.imperfections.pool.is_some_and(|pool| output.occupied_by_all + occupied > pool)
        {
            self.outcome.lost[edge.flow] += 1;
            self.frames.take(place);
            return;
        }
        (frame.queued, frame.level) = (now, passage.level);
        if port.imperfections.ring > 0 {
            self.fill_ring(edge.port);
        }
        let output = &mut self.outputs[edge.port];
        output.levels[level].push_back(place);
        output.held[level] += bytes;
        output.held_by_all += bytes;
        output.occupied[level] += occupied;
        output.occupied_by_all += occupied;
        let frame = &self.frames.all[place];
        let passage = &mut self.passages[frame.edge];
        passage.held += bytes;
        raise(&mut passage.backlog, passage.held);
        let outcome = &mut self.outcome;
        raise(&mut outcome.level_backlog[edge.port][level], output.held[level]);
        raise(&mut outcome.port_backlog[edge.port], output.held_by_all);
        if self.attack.target == Some(edge.flow)
            && let Some((first, last)) = outcome.arrivals[passage.hop].get_mut(frame.message as usize)
        {
            *first = (*first).min(now);
            *last = now;
        }
        self.feed_ring(edge.port);
        let output = &mut self.outputs[edge.port];
        if output.busy || output.choosing {
            return;
        }
        let blocked = self.blocking(port.best_effort) * port.picoseconds_per_byte;
        let wake = port.imperfections.wake;
        let blocked = if wake > 0 { blocked + self.blocking(wake) } else { blocked };
        let output = &mut self.outputs[edge.port];
        if blocked > 0 {
            output.busy = true;
            self.push_choice(now + blocked, edge.port);
        } else {
            output.choosing = true;
            self.push_choice(now, edge.port);
        }
    }

    /// Best effort takes the room that a card has while no admitted frame waits.
    fn fill_ring(&mut self, index: usize) {
        let port = &self.network.ports()[index];
        let output = &self.outputs[index];
        if port.best_effort == 0 || output.levels.iter().any(|level| !level.is_empty()) {
            return;
        }
        let mut room = self.blocking(port.imperfections.ring - output.in_ring);
        let output = &mut self.outputs[index];
        while room > 0 {
            let bytes = room.min(port.best_effort);
            output.ring.push_back((None, bytes));
            output.in_ring += bytes;
            room -= bytes;
        }
    }

    /// The card takes frames, those of the highest level first, while it has room.
    fn feed_ring(&mut self, index: usize) {
        let room = self.network.ports()[index].imperfections.ring;
        if room == 0 {
            return;
        }
        let output = &mut self.outputs[index];
        while let Some(level) = output.levels.iter_mut().rev().find(|level| !level.is_empty()) {
            let bytes = level.front().map_or(0, |place| self.frames.all[*place].bytes);
            if output.in_ring + bytes > room {
                return;
            }
            output.ring.push_back((level.pop_front(), bytes));
            output.in_ring += bytes;
        }
    }

    /// What the adversary takes of the most that may stand before an admitted frame.
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
        if let Some(frame) = output.sending.take() {
            let (level, bytes) = (usize::from(frame.level), frame.bytes);
            let occupied = port.imperfections.occupied(bytes);
            output.held[level] -= bytes;
            output.held_by_all -= bytes;
            output.occupied[level] -= occupied;
            output.occupied_by_all -= occupied;
            self.passages[frame.edge].held -= bytes;
        }
        let taken = output.ring.pop_front();
        output.in_ring -= taken.map_or(0, |(_, bytes)| bytes);
        if let Some((None, bytes)) = taken {
            output.busy = true;
            self.push_choice(now + bytes * port.picoseconds_per_byte, index);
            self.feed_ring(index);
            return;
        }
        let first = || output.levels.iter_mut().rev().find_map(VecDeque::pop_front);
        let Some(place) = taken.and_then(|(place, _)| place).or_else(first) else { return };
        let frame = self.frames.take(place);
        output.busy = true;
        output.sending = Some(frame);
        let end = now + frame.bytes * port.picoseconds_per_byte;
        raise(&mut self.passages[frame.edge].delay, end - frame.queued);
        self.feed_ring(index);
        self.push_choice(end, index);
        self.receive(end + port.propagation, frame);
    }

    /// The last bit of a frame comes to the end of its edge.
    fn receive(&mut self, now: u64, frame: Frame) {
        let network = self.network;
        let edge = &network.edges()[frame.edge];
        self.note(now, frame);
        let Node::Switch { fastest, slowest, ordered } = network.nodes()[network.ports()[edge.port].to]
        else {
            if self.attack.target == Some(edge.flow) {
                self.deliver(now, frame);
            }
            return;
        };
        if edge.parent.is_none()
            && let Some(guard) = &mut self.guards[edge.flow]
            && !guard.passes(now, network.flows()[edge.flow].counted(frame.bytes))
        {
            self.outcome.policed[edge.flow] += 1;
            return;
        }
        let latency = match self.attack.multiplexing {
            Multiplexing::Slowest => slowest,
            Multiplexing::Fastest => fastest,
            Multiplexing::Random => self.random.between(fastest, slowest),
            Multiplexing::Bunched => bunched(now, fastest, slowest, self.attack.seed),
        };
        // Where order is kept, a frame never overtakes an earlier one of the same link, and takes no more than `slowest`:
        // frames of a link end at different instants.
        let forwarded = &mut self.outputs[edge.port].forwarded;
        let ready = if ordered { (now + latency).max(*forwarded + 1) } else { now + latency };
        *forwarded = ready;
        let class = self.arrival_class(ready, edge.flow, usize::MAX / 2 + edge.port);
        let early = !self.attack.seed.is_multiple_of(2);
        for child in &edge.children {
            let own = network.flows()[edge.flow].tag;
            let tag = |edge: usize| network.ports()[network.edges()[edge].port].tag + own;
            let bytes = retagged(frame.bytes, tag(frame.edge), tag(*child), early);
            let place = self.frames.put(Frame { edge: *child, bytes, ..frame });
            self.push(ready, class, Kind::Arrive(place));
        }
    }

    fn note(&mut self, now: u64, frame: Frame) {
        let passage = &mut self.passages[frame.edge];
        passage.received += 1;
        if frame.number < passage.expected {
            self.outcome.disordered += 1;
        }
        passage.expected = passage.expected.max(frame.number + 1);
        let latency = now - frame.released;
        if latency > passage.latency {
            passage.latency = latency;
            passage.message = frame.message;
        }
        if latency > passage.bound {
            let Passage { flow, hop, bound, .. } = *passage;
            self.outcome.exceeds(Excess { flow, hop, message: frame.message, latency, bound });
        }
    }

    /// A frame of the target has come to a host.
    fn deliver(&mut self, now: u64, frame: Frame) {
        if let Some(delivery) = self.outcome.deliveries.get_mut(frame.message as usize) {
            delivery.delivered += 1;
            delivery.last = now;
        }
    }

    fn finish(mut self) -> Outcome {
        for Passage { flow, hop, latency, message, delay, received, backlog, .. } in self.passages {
            self.outcome.latency[flow][hop] = latency;
            self.outcome.message[flow][hop] = message;
            self.outcome.delay[flow][hop] = delay;
            self.outcome.received[flow][hop] = received;
            self.outcome.flow_backlog[flow][hop] = backlog;
        }
        self.outcome
    }
}

/// From instants that are as far apart as the latency varies on, each frame is in the queue at the next one: the first that came at
/// that, later ones just before.
fn bunched(now: u64, fastest: u64, slowest: u64, seed: u64) -> u64 {
    let varies = slowest - fastest;
    if varies == 0 {
        return fastest;
    }
    let since = (now + mix(seed) % varies) % varies;
    fastest + varies - since - (since / 1024).min(varies - since)
}

fn raise(own: &mut u64, value: u64) {
    *own = (*own).max(value);
}
