//! A domain frame by frame: ports that send one frame after the other, the highest class first, and sources that send whatever policers let
//! through. It shares nothing with what computes bounds: routes it finds itself, sizes and times it counts itself.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use linux_edge::domain::{CoreLink, Domain, Wire};
use testkit::random::Random;
use wan::{Class, Demand, Place};

use crate::networks::Promise;

/// Picoseconds in a nanosecond, and in a second.
const NANO: u64 = 1_000;
const SECOND: u128 = 1_000_000_000_000;
/// How long sources send, in picoseconds.
const PLAYED: u64 = 60_000_000_000;

/// What one promise has seen, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) most: u64,
    pub(crate) least: u64,
    /// Packets of a million that accesses of the way of a frame that has arrived lose.
    pub(crate) lost: u64,
}

/// Frames beyond contracts, which routers mark down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Beyond {
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
}

/// The queue of frames beyond contracts: it takes turns with best effort, and the first one goes if there is no room.
const BEYOND: usize = 4;
const ROOM: usize = 20;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Port {
    Core(usize, usize),
    Edge(usize),
}

#[derive(Clone, Debug)]
struct Frame {
    /// Whose; none of control and best effort.
    of: Option<usize>,
    priority: usize,
    bits: u64,
    begun: u64,
    path: Vec<Port>,
    at: usize,
}

enum Event {
    /// A frame gets into the queue of its next port.
    Queued(Frame),
    /// A port has sent its frame.
    Sent(Port, Option<Frame>),
}

struct World<'a> {
    domain: &'a Domain,
    random: Random,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    what: BTreeMap<u64, Event>,
    queues: BTreeMap<Port, [VecDeque<Frame>; 5]>,
    /// Best effort is there always.
    is_full: bool,
    beyond: Beyond,
    busy: BTreeMap<Port, bool>,
    seen: Vec<Option<Seen>>,
    count: u64,
}

fn priority(class: Class) -> usize {
    match class {
        Class::Control => 0,
        Class::Ef => 1,
        Class::Af4 => 2,
        _ => 3,
    }
}

/// The quickest way between routers, by trying each link again and again (Bellman and Ford); then the fewest hops.
fn path(domain: &Domain, from: usize, to: usize) -> Vec<Port> {
    let mut best: Vec<Option<(u64, Vec<Port>)>> = vec![None; domain.routers.len()];
    best[to] = Some((0, Vec::new()));
    for _ in 0..domain.routers.len() {
        for (place, link) in domain.links.iter().enumerate() {
            for sends in 0..2 {
                let (here, there) = (link.ends[sends].router, link.ends[1 - sends].router);
                let Some((time, ports)) = best[there].clone() else { continue };
                let next = (time + link.wire.propagation, [vec![Port::Core(place, sends)], ports].concat());
                let better = |known: &(u64, Vec<Port>)| (next.0, next.1.len()) < (known.0, known.1.len());
                if best[here].as_ref().is_none_or(better) {
                    best[here] = Some(next);
                }
            }
        }
    }
    best[from].clone().unwrap().1
}

impl World<'_> {
    fn wire(&self, port: Port) -> Wire {
        match port {
            Port::Core(link, sends) => {
                let CoreLink { wire, access, .. } = self.domain.links[link].clone();
                let rate = access.filter(|_| sends == 1).map_or(wire.rate, |access| access.back);
                Wire { rate, ..wire }
            }
            Port::Edge(edge) => self.domain.edges[edge].wire,
        }
    }

    /// How much longer than its propagation an access takes, in picoseconds; `None` if the packet is lost.
    fn access(&mut self, port: Port) -> Option<u64> {
        let Port::Core(link, _) = port else { return Some(0) };
        let Some(access) = self.domain.links[link].access else { return Some(0) };
        let most = access.jitter * NANO;
        let late = match self.random.below(3) {
            0 => most,
            1 => 0,
            _ => self.random.range(0, most),
        };
        (self.random.below_u64(1_000_000) >= access.loss.into()).then_some(late)
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.what.insert(self.count, event);
        self.events.push(Reverse((time, self.count)));
    }

    /// What a router takes, in picoseconds.
    fn processing(&mut self) -> u64 {
        let most = self.domain.processing * NANO;
        if self.random.chance(50) { most } else { self.random.range(0, most) }
    }

    /// Sends the highest frame that waits. Otherwise a best-effort frame is there, of any size, now and then a moment later.
    fn serve(&mut self, now: u64, port: Port) {
        let wire = self.wire(port);
        let bits =
            |bytes: u64| u64::try_from(u128::from(bytes) * 8 * SECOND / u128::from(wire.rate)).unwrap();
        let queues = self.queues.get_mut(&port).unwrap();
        let mut next = queues[..BEYOND].iter_mut().find_map(VecDeque::pop_front);
        let is_full = self.is_full && now < PLAYED;
        if next.is_none() && (!is_full || self.random.chance(50)) {
            next = queues[BEYOND].pop_front();
        }
        self.busy.insert(port, true);
        let (frame, taken) = match next {
            Some(frame) => {
                let taken = u64::try_from(u128::from(frame.bits) * SECOND / u128::from(wire.rate)).unwrap();
                (Some(frame), taken)
            }
            None if is_full => {
                let largest = u64::from(wire.mtu) + 38;
                (None, bits(if self.random.chance(80) { largest } else { self.random.range(84, largest) }))
            }
            None => {
                self.busy.insert(port, false);
                return;
            }
        };
        self.at(now + taken, Event::Sent(port, frame));
    }

    fn run(&mut self) {
        while let Some(Reverse((now, number))) = self.events.pop() {
            match self.what.remove(&number).unwrap() {
                Event::Queued(frame) => match frame.path.get(frame.at).copied() {
                    None => self.arrived(now, &frame),
                    Some(port) => {
                        let queue = &mut self.queues.get_mut(&port).unwrap()[frame.priority];
                        let is_beyond = frame.priority == BEYOND;
                        queue.push_back(frame);
                        if is_beyond && queue.len() > ROOM {
                            queue.pop_front();
                        }
                        if !self.busy[&port] {
                            self.serve(now, port);
                        }
                    }
                },
                Event::Sent(port, frame) => {
                    if let Some(mut frame) = frame.filter(|frame| frame.of.is_some()) {
                        frame.at += 1;
                        let Some(late) = self.access(port) else {
                            self.serve(now, port);
                            continue;
                        };
                        let there = now + self.wire(port).propagation * NANO + late;
                        if frame.at == frame.path.len() && matches!(port, Port::Edge(_)) {
                            self.arrived(there, &frame);
                        } else {
                            let taken = self.processing();
                            self.at(there + taken, Event::Queued(frame));
                        }
                    }
                    self.serve(now, port);
                }
            }
        }
    }

    fn arrived(&mut self, now: u64, frame: &Frame) {
        if frame.priority == BEYOND {
            self.beyond.arrived += 1;
            return;
        }
        let lost = |port: &Port| match port {
            Port::Core(link, _) => self.domain.links[*link].access.map_or(0, |access| access.loss.into()),
            Port::Edge(_) => 0,
        };
        let lost: u64 = frame.path.iter().map(lost).sum();
        let (taken, seen) = (now - frame.begun, &mut self.seen[frame.of.unwrap()]);
        let before = seen.unwrap_or(Seen { most: 0, least: u64::MAX, lost: 0 });
        *seen = Some(Seen {
            most: before.most.max(taken),
            least: before.least.min(taken),
            lost: before.lost.max(lost),
        });
    }

    /// What a policer lets through of a source that always has more: it sends while its bucket is not in debt, and the bucket is smaller than
    /// the contract by the smallest packet.
    fn policed(&mut self, demand: &Demand, (rate, bucket): (u64, u64), ways: &[(usize, Vec<Port>)]) {
        let tunnel = if matches!((demand.from, demand.to), (_, Place::Border(_))) { 40 } else { 0 };
        // In bits times 10^12.
        let full = i128::from(bucket.saturating_sub(demand.least_packet.into())) * 8 * 1_000_000_000_000;
        let mut tokens = full;
        let phase = if self.random.chance(60) { 0 } else { self.random.range(0, PLAYED / 4) };
        let fixed = self.random.chance(50);
        let (mut now, mut sent) = (phase, 0);
        while now < PLAYED && sent < 400 {
            let size = if fixed || self.random.chance(50) {
                demand.largest_packet
            } else {
                u32::try_from(self.random.range(demand.least_packet.into(), demand.largest_packet.into()))
                    .unwrap()
            };
            if tokens < 0 {
                let wait = u64::try_from((-tokens).unsigned_abs().div_ceil(u128::from(rate))).unwrap();
                now += wait;
                tokens += i128::from(wait) * i128::from(rate);
            }
            // Now and then it saves for another burst.
            if self.random.chance(3) {
                let pause = self.random.range(0, PLAYED / 10);
                now += pause;
                tokens = full.min(tokens + i128::from(pause) * i128::from(rate));
            }
            tokens -= i128::from(size) * 8 * 1_000_000_000_000;
            let bits = (u64::from(size) + tunnel + 38).max(84) * 8;
            let priority = priority(demand.class);
            let taken = self.processing();
            for (of, path) in ways {
                let frame = Frame { of: Some(*of), priority, bits, begun: now, path: path.clone(), at: 0 };
                self.at(now + taken, Event::Queued(frame));
            }
            sent += 1;
        }
    }

    /// Flows of an aggregate: at edges several, each with its own policer and its own way. The router that lets a frame in sends its double, if it has
    /// one, into another aggregate.
    fn flows(&mut self, of: usize, promises: &[Promise]) {
        let (demand, double) = (&promises[of].demand, promises[of].double);
        let routers = |place: Place| -> Vec<(usize, Option<Port>)> {
            match place {
                Place::Edges => {
                    let edges = self.domain.edges.iter().enumerate();
                    edges.map(|(at, edge)| (edge.router, Some(Port::Edge(at)))).collect()
                }
                Place::Border(link) => {
                    let border = self.domain.borders.iter().find(|border| border.link == link).unwrap();
                    vec![(border.end.router, None)]
                }
            }
        };
        let (from, to) = (routers(demand.from), routers(demand.to));
        let largest = u64::from(demand.largest_packet);
        let most = if demand.from == Place::Edges { (demand.burst / largest).clamp(1, 4) } else { 1 };
        let parts = self.random.range(1, most);
        // All at one edge is the worst at that one, but others have to be seen as well.
        let one = self.random.chance(60);
        let (first, last) = (*self.random.pick(&from).unwrap(), *self.random.pick(&to).unwrap());
        for _ in 0..parts {
            let begins = if one { first } else { *self.random.pick(&from).unwrap() };
            let ends = if one { last } else { *self.random.pick(&to).unwrap() };
            let mut way = path(self.domain, begins.0, ends.0);
            way.extend(ends.1);
            let mut ways = vec![(of, way)];
            if let Some(double) = double {
                // It leaves the domain, as those do that have two copies.
                let (ends, _) = routers(promises[double].demand.to)[0];
                ways.push((double, path(self.domain, begins.0, ends)));
            }
            let contract = ((demand.rate / parts).max(1), demand.burst / parts);
            self.policed(demand, contract, &ways);
            if self.domain.demoted.is(demand) {
                // What is beyond a contract is not doubled.
                if let Some((_, path)) = ways.first() {
                    self.demoted(of, &Demand { rate: contract.0, ..*demand }, path);
                }
            }
        }
    }

    /// As much again as an aggregate may send, beyond that.
    fn demoted(&mut self, of: usize, demand: &Demand, path: &[Port]) {
        let (size, rate) = (u64::from(demand.largest_packet), u128::from(demand.rate));
        let each = u64::try_from(u128::from(size) * 8 * SECOND / rate).unwrap().max(1);
        let tunnel = if matches!(demand.to, Place::Border(_)) { 40 } else { 0 };
        for number in 0..(PLAYED / each).min(400) {
            let bits = (size + tunnel + 38).max(84) * 8;
            let begun = number * each + self.random.range(0, each);
            let frame = Frame { of: Some(of), priority: BEYOND, bits, begun, path: path.to_vec(), at: 0 };
            self.beyond.sent += 1;
            self.at(begun, Event::Queued(frame));
        }
    }

    /// Control at each port: as much as it may.
    fn control(&mut self) {
        let Some(ceiling) = self.domain.ceilings.get(&Class::Control).copied() else { return };
        let ports: Vec<Port> = self.queues.keys().copied().collect();
        for port in ports {
            let rate = self.wire(port).rate / 8 * 8 * u64::from(ceiling.share) / 1_000;
            let burst = ceiling.burst * u64::from(self.wire(port).bursts);
            let frame = 200.min(burst);
            let each = u64::try_from(u128::from(frame) * 8 * SECOND / u128::from(rate)).unwrap() + 1;
            let at_once = burst / frame;
            let control =
                || Frame { of: None, priority: 0, bits: frame * 8, begun: 0, path: vec![port], at: 0 };
            for _ in 0..at_once {
                self.at(0, Event::Queued(control()));
            }
            for number in 1..=(PLAYED / each).min(2_000) {
                self.at(number * each, Event::Queued(control()));
            }
        }
    }
}

/// Plays all promises at once, with best effort that fills the rest if it `is_full`; what each has seen, and what came of frames beyond contracts.
pub(crate) fn play(
    domain: &Domain,
    promises: &[Promise],
    is_full: bool,
    random: &mut Random,
) -> (Vec<Option<Seen>>, Beyond) {
    let core = (0..domain.links.len()).flat_map(|link| [Port::Core(link, 0), Port::Core(link, 1)]);
    let ports: Vec<Port> = core.chain((0..domain.edges.len()).map(Port::Edge)).collect();
    let mut world = World {
        domain,
        random: Random::new(random.bits()),
        events: BinaryHeap::new(),
        what: BTreeMap::new(),
        queues: ports.iter().map(|port| (*port, Default::default())).collect(),
        busy: ports.iter().map(|port| (*port, false)).collect(),
        seen: vec![None; promises.len()],
        count: 0,
        is_full,
        beyond: Beyond::default(),
    };
    for port in ports {
        world.serve(0, port);
    }
    for of in 0..promises.len() {
        // What is doubled is sent by the policer of the first copy alone.
        if !promises.iter().any(|promise| promise.double == Some(of)) {
            world.flows(of, promises);
        }
    }
    world.control();
    world.run();
    (world.seen, world.beyond)
}
