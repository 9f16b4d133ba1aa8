//! A small frame-level simulator of ports, gates and publishers, to look for delays above the bounds.
//! It shares no formula with the crate: frames, queues and times only.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use latency::ledger::Ledger;
use latency::network::Flow;
use latency::policing::{Enforcement, Gate};
use latency::units::time_of;

use crate::random::Random;

/// A frame on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Frame {
    /// Place among the frames of its flow: those that come at once stay in order.
    number: u64,
    flow: u64,
    /// Send call of its message; `None` for what a babbler sends beyond its contract.
    sent: Option<u64>,
    bits: u64,
    last: bool,
    hop: usize,
    queued: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A frame is in the queue of its hop. Comes before `Free` at the same time: against the frame that is chosen.
    Queued(Frame),
    /// The port has sent what it was sending.
    Free(usize),
}

#[derive(Default)]
struct PortState {
    queues: BTreeMap<u8, VecDeque<Frame>>,
    sending: Option<Frame>,
    busy: bool,
}

/// The gate's memory: when the last window opened, what it has let through, and when the next message is due.
#[derive(Clone, Copy, Default)]
struct GateState {
    opened: u64,
    bits: u64,
    due: u64,
    open: bool,
}

impl GateState {
    fn passes(&mut self, gate: &Gate, now: u64, bits: u64) -> bool {
        if self.open && now <= self.opened + gate.window && self.bits + bits <= gate.octets * 8 {
            self.bits += bits;
            return true;
        }
        if now + gate.tolerance < self.due || bits > gate.octets * 8 || (self.open && now == self.opened) {
            return false;
        }
        *self = Self { opened: now, bits, due: self.due.max(now) + gate.separation, open: true };
        true
    }
}

/// The worst that has been seen.
#[derive(Default)]
pub(crate) struct Seen {
    /// Longest delay of a frame of a flow at a hop, in picoseconds.
    pub(crate) hops: BTreeMap<(u64, usize), u64>,
    /// Longest latency of a message of a flow to a hop, in picoseconds.
    pub(crate) latencies: BTreeMap<(u64, usize), u64>,
    /// Messages of conforming flows that a gate has cut.
    pub(crate) cut: u64,
}

/// How publishers behave.
pub(crate) struct Behaviour {
    /// Flows that send full frames all the time.
    pub(crate) babblers: Vec<u64>,
    /// When the first message of each flow is due, in picoseconds.
    pub(crate) phases: BTreeMap<u64, u64>,
    /// How long messages are sent, in picoseconds.
    pub(crate) until: u64,
}

/// Runs all flows of the ledger.
pub(crate) fn run(
    ledger: &Ledger,
    flows: &BTreeMap<u64, Flow>,
    behaviour: &Behaviour,
    random: &mut Random,
) -> Seen {
    let mut events = BinaryHeap::new();
    for (id, flow) in flows {
        publish(*id, flow, behaviour, random, &mut events);
    }
    let mut ports: Vec<PortState> = ledger.ports().iter().map(|_| PortState::default()).collect();
    let mut gates: BTreeMap<u64, GateState> = BTreeMap::new();
    let mut seen = Seen::default();
    while let Some(Reverse((now, event))) = events.pop() {
        let at = match event {
            Event::Queued(frame) => {
                let port = flows[&frame.flow].tree[frame.hop].port;
                let entry = ledger.entries(port).iter().find(|entry| entry.flow == frame.flow).unwrap();
                ports[port].queues.entry(entry.contender.level).or_default().push_back(frame);
                if ports[port].busy {
                    continue;
                }
                // Sometimes a frame of best effort has just begun.
                let best_effort = u64::from(ledger.ports()[port].best_effort) * 8;
                if best_effort > 0 && random.range(0, 1) == 0 {
                    ports[port].busy = true;
                    let end = now + time_of(best_effort, ledger.ports()[port].rate).unwrap() - 1;
                    events.push(Reverse((end, Event::Free(port))));
                    continue;
                }
                // Others may come at this very instant: decide after them.
                ports[port].busy = true;
                events.push(Reverse((now, Event::Free(port))));
                continue;
            }
            Event::Free(port) => port,
        };
        let port = ledger.ports()[at];
        if let Some(frame) = ports[at].sending.take() {
            let delay = seen.hops.entry((frame.flow, frame.hop)).or_default();
            *delay = (*delay).max(now - frame.queued);
            let flow = &flows[&frame.flow];
            if let (Some(sent), true) = (frame.sent, frame.last) {
                let latency = seen.latencies.entry((frame.flow, frame.hop)).or_default();
                *latency = (*latency).max(now + port.propagation - sent);
            }
            let mut passes = true;
            if let (0, Enforcement::Gate(gate)) = (frame.hop, ledger.flow(frame.flow).unwrap().enforcement) {
                let state = gates.entry(frame.flow).or_default();
                passes = state.passes(&gate, now + port.propagation, frame.bits);
                seen.cut += u64::from(!passes && frame.sent.is_some());
            }
            for (hop, next) in flow.tree.iter().enumerate().filter(|(_, next)| next.parent == Some(frame.hop))
            {
                let next = ledger.ports()[next.port];
                let queued =
                    now + port.propagation + random.range(next.least_multiplexing, next.most_multiplexing);
                if passes {
                    events.push(Reverse((queued, Event::Queued(Frame { hop, queued, ..frame }))));
                }
            }
        }
        ports[at].busy = false;
        let queue = ports[at].queues.values_mut().rev().find(|queue| !queue.is_empty());
        if let Some(frame) = queue.and_then(VecDeque::pop_front) {
            ports[at].busy = true;
            ports[at].sending = Some(frame);
            events.push(Reverse((now + time_of(frame.bits, port.rate).unwrap(), Event::Free(at))));
        }
    }
    seen
}

fn publish(
    id: u64,
    flow: &Flow,
    behaviour: &Behaviour,
    random: &mut Random,
    events: &mut BinaryHeap<Reverse<(u64, Event)>>,
) {
    let mut number = 0;
    let mut queue = |queued: u64, sent: Option<u64>, bits: u64, last: bool| {
        number += 1;
        let frame = Frame { number, flow: id, sent, bits, last, hop: 0, queued };
        events.push(Reverse((queued, Event::Queued(frame))));
    };
    if behaviour.babblers.contains(&id) {
        let small = random.range(0, 1) == 0;
        let bits = if small { 672 } else { 1_538 * 8 };
        for count in 0..behaviour.until / (bits * 1_000) {
            queue(count * bits * 1_000, None, bits, false);
        }
        return;
    }
    let mut nominal = behaviour.phases[&id];
    // The first messages late, later ones in time: they come closest then.
    let mut late = flow.jitter;
    while nominal < behaviour.until {
        let sent = nominal + late;
        let octets = random.range(u64::from(flow.smallest_message), u64::from(flow.largest_message)) as u32;
        let frames = flow.framing.frames(octets, 0).unwrap();
        let mut queued = sent;
        for index in 1..=frames.count {
            let last = index == frames.count;
            queue(queued, Some(sent), if last { frames.smallest } else { frames.largest }, last);
            queued += random.range(0, (sent + flow.emission - queued) / 2);
        }
        late = if random.range(0, 2) > 0 { 0 } else { random.range(0, flow.jitter) };
        nominal += flow.separation;
    }
}
