//! The engine: nodes, network, queue and clock. It moves datagrams and time; what is right or wrong is judged elsewhere.
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use wire::{Duration, Instant, Now};

use crate::clock::WallClock;
use crate::coverage::{Coverage, Situation};
use crate::faults::Fault;
use crate::monitor::Monitor;
use crate::network::{Arrival, HostId, Network, NodeId};
use crate::node::{Node, Outgoing};
use crate::queue::Queue;
use crate::trace::Trace;
use crate::violation::{Invariant, Violation};

/// Bytes that a receive buffer charges for each datagram on top of its payload, as kernels do.
const DATAGRAM_COST: usize = 256;
/// A node that gives more datagrams in one go is taken to be in a loop.
const MOST_DATAGRAMS_AT_ONCE: usize = 20_000;

/// A node that says the same, and sends no sample with it, more often than this within `SAYING` is in a loop with its peer.
const MOST_SAYINGS: u32 = 5_000;
const SAYING: Duration = Duration::from_secs(1);

/// How a node's process behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    /// The host that it runs on.
    pub host: HostId,
    /// The port that everything is sent from, unless a datagram says otherwise.
    pub port: u16,
    /// Bytes of its receive buffer.
    pub receive_buffer: usize,
    /// Time that reading and handling one datagram takes.
    pub service_time: Duration,
}

/// What the last step was about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<C> {
    /// A node did something: its observations are waiting.
    Acted(NodeId),
    /// The time of something that the scenario scheduled.
    Control(C),
    /// Nothing for a node or scenario to see.
    Passed,
    /// Nothing more happens up to the time asked for.
    Ended,
}

/// Everything that is simulated. `C` is what a scenario schedules for itself.
pub struct World<'t, N, C> {
    /// Hosts, links and sockets.
    pub network: Network,
    /// What was reached so far.
    pub coverage: Coverage,
    /// What happened so far.
    pub trace: Trace<'t>,
    /// What the datagrams sent so far said.
    pub monitor: Monitor,
    now: Instant,
    queue: Queue<Event<C>>,
    slots: Vec<Slot<N>>,
    out: Outgoing,
    events: u64,
    violation: Option<Violation>,
}

struct Slot<N> {
    process: Process,
    node: Option<N>,
    wall: WallClock,
    buffer: VecDeque<Packet>,
    buffered: usize,
    reading: bool,
    stalled_until: Instant,
    wake_at: Instant,
    sent: u64,
    /// What was said to whom: since when and how often.
    said: BTreeMap<(SocketAddr, u64), (Instant, u32)>,
}

#[derive(Debug)]
enum Event<C> {
    Arrive(NodeId, Packet),
    Read(NodeId),
    Wake(NodeId),
    Control(C),
}

#[derive(Clone, Debug)]
struct Packet {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Rc<[u8]>,
}

impl<'t, N: Node, C> World<'t, N, C> {
    /// A world without nodes at the start of time.
    pub fn new(network: Network, trace: Trace<'t>) -> Self {
        Self {
            network,
            coverage: Coverage::new(),
            trace,
            monitor: Monitor::new(),
            now: Instant::START,
            queue: Queue::new(),
            slots: Vec::new(),
            out: Outgoing::default(),
            events: 0,
            violation: None,
        }
    }

    /// The virtual time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Events up to here.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// The first rule that was broken.
    pub const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Takes the first rule that was broken.
    pub const fn take_violation(&mut self) -> Option<Violation> {
        self.violation.take()
    }

    /// Notes that a rule is broken, unless one is already.
    pub fn fail(&mut self, invariant: Invariant, what: String) {
        if self.violation.is_none() {
            self.trace.line(self.now, format_args!("VIOLATED {}: {what}", invariant.name()));
            self.violation = Some(Violation { invariant, at: self.now, what });
        }
    }

    /// Adds a place for a node; it is empty until `start`.
    pub fn add_process(&mut self, process: Process) -> NodeId {
        self.slots.push(Slot {
            process,
            node: None,
            wall: WallClock::default(),
            buffer: VecDeque::new(),
            buffered: 0,
            reading: false,
            stalled_until: Instant::START,
            wake_at: Instant::NEVER,
            sent: 0,
            said: BTreeMap::new(),
        });
        NodeId(self.slots.len() - 1)
    }

    /// Puts a node into its place, where the one before must be gone, and lets it act.
    pub fn start(&mut self, id: NodeId, node: N) {
        if let Some(slot) = self.slots.get_mut(id.0) {
            slot.node = Some(node);
        }
        self.trace.line(self.now, format_args!("n{} starts", id.0));
        self.trace.fold(&[1, self.now.as_nanos(), id.0 as u64]);
        self.service(id);
    }

    /// Takes a node away with its sockets and all that it had not read.
    pub fn stop(&mut self, id: NodeId) -> Option<N> {
        self.trace.line(self.now, format_args!("n{} is gone", id.0));
        self.trace.fold(&[2, self.now.as_nanos(), id.0 as u64]);
        self.network.close(id);
        let slot = self.slots.get_mut(id.0)?;
        slot.buffer.clear();
        slot.buffered = 0;
        slot.wake_at = Instant::NEVER;
        slot.node.take()
    }

    /// A node that runs.
    pub fn node(&self, id: NodeId) -> Option<&N> {
        self.slots.get(id.0)?.node.as_ref()
    }

    /// How a node's process behaves.
    pub fn process(&self, id: NodeId) -> Option<&Process> {
        self.slots.get(id.0).map(|slot| &slot.process)
    }

    /// What the clocks of a node's host say.
    pub fn clock(&self, id: NodeId) -> Now {
        self.slots.get(id.0).map_or_else(Now::default, |slot| slot.wall.now(self.now))
    }

    /// True while a node's process is not being run.
    pub fn is_stalled(&self, id: NodeId) -> bool {
        self.slots.get(id.0).is_some_and(|slot| slot.stalled_until > self.now)
    }

    /// Datagrams that a node has sent.
    pub fn sent(&self, id: NodeId) -> u64 {
        self.slots.get(id.0).map_or(0, |slot| slot.sent)
    }

    /// Gives a node a command and then lets it act.
    pub fn command<R>(&mut self, id: NodeId, command: impl FnOnce(&mut N, Now) -> R) -> Option<R> {
        let slot = self.slots.get_mut(id.0)?;
        let now = slot.wall.now(self.now);
        let result = command(slot.node.as_mut()?, now);
        self.service(id);
        Some(result)
    }

    /// Hands over what a node observed.
    pub fn take_observations(&mut self, id: NodeId, out: &mut Vec<N::Observation>) {
        if let Some(node) = self.slots.get_mut(id.0).and_then(|slot| slot.node.as_mut()) {
            node.take_observations(out);
        }
    }

    /// Schedules something for the scenario.
    pub fn schedule(&mut self, at: Instant, control: C) {
        self.queue.schedule(at.max(self.now), Event::Control(control));
    }

    /// Applies those faults that concern network, clocks and processes; false for others, which are the scenario's.
    pub fn inflict(&mut self, fault: &Fault) -> bool {
        let host = |world: &Self, id: NodeId| world.slots.get(id.0).map(|slot| slot.process.host);
        match *fault {
            Fault::Cut { from, to } | Fault::Mend { from, to } => {
                let (Some(from), Some(to)) = (host(self, from), host(self, to)) else { return true };
                match fault {
                    Fault::Cut { .. } => self.network.cut(from, to),
                    _ => self.network.mend(from, to),
                }
            }
            Fault::Stall { node, lasts } => {
                self.coverage.hit(Situation::Stall);
                let until = self.now.after(lasts);
                if let Some(slot) = self.slots.get_mut(node.0) {
                    slot.stalled_until = slot.stalled_until.max(until);
                }
            }
            Fault::ClockJump { node, by } => {
                self.coverage.hit(Situation::ClockJump);
                if let Some(slot) = self.slots.get_mut(node.0) {
                    slot.wall.jump(by);
                }
            }
            Fault::Calm => self.network.calm(),
            _ => return false,
        }
        self.trace.line(self.now, format_args!("fault: {fault:?}"));
        self.trace.fold(&[3, self.now.as_nanos()]);
        true
    }

    /// Puts datagrams with a forged source onto the network from a host.
    pub fn forge(&mut self, host: HostId, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        let arrivals = self.network.send_forged(self.now, host, from, to, bytes.len(), &mut self.coverage);
        self.enqueue(arrivals, &bytes.into());
    }

    /// Lets the next thing happen, if it happens at `until` or before; otherwise the time becomes `until`.
    pub fn step(&mut self, until: Instant) -> Step<C> {
        let Some((at, event)) = self.queue.next(until) else {
            self.now = self.now.max(until);
            return Step::Ended;
        };
        self.now = at;
        self.events += 1;
        match event {
            Event::Control(control) => Step::Control(control),
            Event::Arrive(id, packet) => self.arrive(id, packet),
            Event::Read(id) => self.read(id),
            Event::Wake(id) => self.wake(id),
        }
    }

    fn arrive(&mut self, id: NodeId, packet: Packet) -> Step<C> {
        let Some(slot) = self.slots.get_mut(id.0).filter(|slot| slot.node.is_some()) else {
            return Step::Passed;
        };
        let cost = packet.bytes.len() + DATAGRAM_COST;
        if slot.buffered + cost > slot.process.receive_buffer {
            self.coverage.hit(Situation::Overflow);
            self.trace.line(self.now, format_args!("n{} receive buffer is full", id.0));
            return Step::Passed;
        }
        slot.buffered += cost;
        slot.buffer.push_back(packet);
        if slot.reading {
            return Step::Passed;
        }
        if slot.process.service_time > Duration::ZERO || slot.stalled_until > self.now {
            slot.reading = true;
            let at = self.now.after(slot.process.service_time);
            self.queue.schedule(at, Event::Read(id));
            return Step::Passed;
        }
        self.read(id)
    }

    fn read(&mut self, id: NodeId) -> Step<C> {
        let Some(slot) = self.slots.get_mut(id.0) else { return Step::Passed };
        if slot.stalled_until > self.now {
            slot.reading = true;
            self.queue.schedule(slot.stalled_until, Event::Read(id));
            return Step::Passed;
        }
        slot.reading = false;
        let Some(packet) = slot.buffer.pop_front() else { return Step::Passed };
        slot.buffered -= packet.bytes.len() + DATAGRAM_COST;
        if !slot.buffer.is_empty() {
            slot.reading = true;
            let at = self.now.after(slot.process.service_time);
            self.queue.schedule(at, Event::Read(id));
        }
        let Some(node) = &mut slot.node else { return Step::Passed };
        self.trace.fold(&[4, self.now.as_nanos(), id.0 as u64]);
        if self.trace.is_verbose() {
            let text = self.monitor.describe(&packet.bytes);
            self.trace.line(self.now, format_args!("n{} <- {} {text}", id.0, packet.from));
        }
        node.handle_datagram(slot.wall.now(self.now), packet.from, packet.to, &packet.bytes);
        self.service(id);
        Step::Acted(id)
    }

    fn wake(&mut self, id: NodeId) -> Step<C> {
        let Some(slot) = self.slots.get_mut(id.0).filter(|slot| slot.wake_at == self.now) else {
            return Step::Passed;
        };
        if slot.stalled_until > self.now {
            slot.wake_at = slot.stalled_until;
            self.queue.schedule(slot.stalled_until, Event::Wake(id));
            return Step::Passed;
        }
        slot.wake_at = Instant::NEVER;
        self.service(id);
        Step::Acted(id)
    }

    /// Sends all that a node wants sent, and sees when it wants to be woken.
    fn service(&mut self, id: NodeId) {
        for round in 0.. {
            let Some(slot) = self.slots.get_mut(id.0) else { return };
            let Some(node) = &mut slot.node else { return };
            let now = slot.wall.now(self.now);
            self.out.port = None;
            self.out.paths.clear();
            self.out.bytes.clear();
            if !node.poll_transmit(now, &mut self.out) {
                break;
            }
            slot.sent += 1;
            if round >= MOST_DATAGRAMS_AT_ONCE {
                let what = format!("n{} wants to send more than {round} datagrams at once", id.0);
                return self.fail(Invariant::NoLivelock, what);
            }
            self.transmit(id);
        }
        let Some(slot) = self.slots.get_mut(id.0) else { return };
        let Some(node) = &slot.node else { return };
        let at = node.poll_timeout();
        let excess = node.excess();
        if at <= self.now {
            let what =
                format!("n{} has nothing to send but wants to be woken at {at:?}, not later than now", id.0);
            return self.fail(Invariant::NoLivelock, what);
        }
        if at != slot.wake_at {
            slot.wake_at = at;
            self.queue.schedule(at, Event::Wake(id));
        }
        if let Some(excess) = excess {
            self.fail(Invariant::WithinLimits, format!("n{}: {excess}", id.0));
        }
    }

    fn transmit(&mut self, id: NodeId) {
        let Some(slot) = self.slots.get(id.0) else { return };
        let process = slot.process;
        let port = self.out.port.unwrap_or(process.port);
        let bytes: Rc<[u8]> = self.out.bytes.as_slice().into();
        self.trace.fold(&[5, self.now.as_nanos(), id.0 as u64]);
        self.trace.fold_bytes(&bytes);
        self.monitor.sent(&bytes, &mut self.coverage);
        let said = Monitor::said(&bytes);
        for path in std::mem::take(&mut self.out.paths) {
            if self.trace.is_verbose() {
                let text = self.monitor.describe(&bytes);
                self.trace.line(self.now, format_args!("n{} -> {} {text}", id.0, path.destination));
            }
            if bytes.len() > path.max_datagram as usize {
                let what = format!("n{}: datagram of {} octets on {path:?}", id.0, bytes.len());
                self.fail(Invariant::WithinLimits, what);
            }
            self.monitor.addressed(path.destination, bytes.len());
            self.listen(id, path.destination, said);
            let arrivals =
                self.network.send(self.now, process.host, port, &path, bytes.len(), &mut self.coverage);
            self.enqueue(arrivals, &bytes);
        }
    }

    /// Notices a node that says the same again and again.
    fn listen(&mut self, id: NodeId, to: SocketAddr, said: Option<u64>) {
        let (Some(said), Some(slot)) = (said, self.slots.get_mut(id.0)) else { return };
        if slot.said.len() > 64 {
            slot.said.retain(|_, (since, _)| self.now.since(*since) <= SAYING);
        }
        let (since, count) = slot.said.entry((to, said)).or_insert((self.now, 0));
        if self.now.since(*since) > SAYING {
            (*since, *count) = (self.now, 0);
        }
        *count += 1;
        if *count > MOST_SAYINGS {
            let what =
                format!("n{} has said the same {count} times to {to} in {:?}", id.0, self.now.since(*since));
            self.fail(Invariant::NoLivelock, what);
        }
    }

    fn enqueue(&mut self, arrivals: Vec<Arrival>, bytes: &Rc<[u8]>) {
        for Arrival { at, node, from, to } in arrivals {
            let packet = Packet { from, to, bytes: Rc::clone(bytes) };
            self.queue.schedule(at, Event::Arrive(node, packet));
        }
    }
}

#[cfg(test)]
mod tests;
