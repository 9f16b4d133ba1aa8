//! The simulation: events in order of time, and what they do to cores, threads, locks and queues.
mod connections;
mod cores;
mod handlers;
mod queues;
mod state;

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::attack::{Arrival, Attack, Extent, Ties, stall_distances};
use crate::outcome::{Goal, Outcome};
use crate::story::Happening;
use crate::system::{Entry, Full, Scheduling, Source, SourceKind, System, Target};
use connections::{Passage, Pushes};
pub(crate) use state::Origins;
use state::{ChainState, Core, Flight, LetRun, Lock, PortState, Thread, ThreadState};

/// An event at an instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// An event of a source, by its number.
    Source(usize, usize),
    /// Something comes from another host.
    Arrives(usize),
    /// A thread has woken.
    Awake(usize),
    /// The running thread of a core has something to do, if nothing was changed since.
    Core(usize, u64),
    /// A deadline thread gets its budget.
    Replenish(usize),
    /// A stall of a core begins; the number is that of [`Attack::stalls`].
    Stall(usize, usize),
    /// A stall ends, if it was not made longer.
    Thaw(usize),
    /// A window of throttling ends.
    Window(usize),
    /// A run in logical execution time has to publish.
    Publish(usize),
    /// A join gives up the events that it keeps, if they are still the same.
    Expire(usize, u64),
}

/// Events of one run at most: a run with more is cut there.
const MOST_EVENTS: u64 = 2_000_000;

#[derive(Debug)]
pub(crate) struct Engine<'a> {
    system: &'a System,
    attack: &'a Attack,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, u64, Event)>>,
    /// How many events were scheduled, and how many choices were made.
    scheduled: u64,
    choices: u64,
    cores: Vec<Core>,
    threads: Vec<Thread>,
    /// For each lane its first thread.
    first_thread: Vec<usize>,
    /// For each lane the ports that it serves.
    served: Vec<Vec<usize>>,
    ports: Vec<PortState>,
    locks: Vec<Lock>,
    arrivals: Vec<Vec<Arrival>>,
    flights: Vec<Flight>,
    /// For each connection the last arrival on another host.
    last_arrival: Vec<u64>,
    /// For each connection what has not arrived yet, in the order of its pushes.
    under_way: Vec<VecDeque<usize>>,
    lets: Vec<LetRun>,
    passages: Vec<Passage>,
    /// By connection.
    pushes: Vec<Pushes>,
    chains: Vec<ChainState>,
    /// For each port the chains that end there.
    ends: Vec<Vec<usize>>,
    /// Numbers of deliveries; first and last places in lists of threads.
    numbers: u64,
    tail: i64,
    head: i64,
    /// Cores at which something changed.
    touched: Vec<usize>,
    outcome: Outcome,
    log: Option<Vec<(u64, Happening)>>,
}

/// Simulates one run.
pub fn run(system: &System, attack: &Attack) -> Outcome {
    let mut engine = Engine::new(system, attack, false);
    engine.run();
    engine.outcome
}

/// Simulates one run, and says what happened.
pub(crate) fn run_logged(system: &System, attack: &Attack) -> (Outcome, Vec<(u64, Happening)>) {
    let mut engine = Engine::new(system, attack, true);
    engine.run();
    (engine.outcome, engine.log.unwrap_or_default())
}

impl<'a> Engine<'a> {
    fn new(system: &'a System, attack: &'a Attack, logged: bool) -> Self {
        let parts = system.description();
        let (mut cores, mut first_core) = (Vec::new(), Vec::new());
        for (host, machine) in parts.hosts.iter().enumerate() {
            first_core.push(cores.len());
            cores.extend((0..machine.cores).map(|_| Core::new(host)));
        }
        let (mut threads, mut first_thread) = (Vec::new(), Vec::new());
        for (index, lane) in parts.lanes.iter().enumerate() {
            first_thread.push(threads.len());
            for core in &lane.threads {
                let core = first_core[lane.host] + core;
                cores[core].threads.push(threads.len());
                threads.push(Thread::new(index, core, lane.scheduling));
            }
        }
        let mut served = vec![Vec::new(); parts.lanes.len()];
        for (port, what) in parts.ports.iter().enumerate() {
            if let Entry::Queued { lane, .. } = what.entry {
                served[lane].push(port);
            }
        }
        let arrivals: Vec<Vec<Arrival>> =
            (0..parts.sources.len()).map(|source| attack.arrivals(system, source)).collect();
        let chains = parts.chains.iter().map(|chain| ChainState {
            dues: arrivals[chain.source].iter().map(|arrival| arrival.due).collect(),
            answered: 0,
        });
        let mut ends = vec![Vec::new(); parts.ports.len()];
        for chain in 0..parts.chains.len() {
            ends[system.last(chain)].push(chain);
        }
        Self {
            chains: chains.collect(),
            ports: parts.ports.iter().map(PortState::new).collect(),
            locks: parts.components.iter().map(|_| Lock::default()).collect(),
            last_arrival: vec![0; parts.connections.len()],
            under_way: vec![VecDeque::new(); parts.connections.len()],
            outcome: Outcome::new(system),
            log: logged.then(Vec::new),
            now: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            choices: 0,
            flights: Vec::new(),
            lets: Vec::new(),
            passages: Vec::new(),
            pushes: vec![Pushes::default(); parts.connections.len()],
            numbers: 0,
            tail: 0,
            head: 0,
            touched: Vec::new(),
            system,
            attack,
            cores,
            threads,
            first_thread,
            served,
            arrivals,
            ends,
        }
    }

    fn run(&mut self) {
        for source in 0..self.arrivals.len() {
            self.next_of_source(source, 0);
        }
        let parts = self.system.description();
        let mut stall = 0;
        for core in 0..self.cores.len() {
            for _ in &parts.hosts[self.cores[core].host].stalls {
                if let Some(first) = self.attack.stalls.get(stall).filter(|first| **first < u64::MAX) {
                    self.schedule(*first, 0, Event::Stall(stall, core));
                }
                stall += 1;
            }
            if let (Some(window), Some(end)) = (self.window(core), self.attack.windows.get(core)) {
                self.schedule(*end % window.period, 0, Event::Window(core));
            }
        }
        while let Some(Reverse((at, _, _, event))) = self.events.pop() {
            if at > self.attack.horizon || self.outcome.events >= MOST_EVENTS {
                break;
            }
            if at > self.now {
                self.now = at;
                self.conclude_all();
            }
            self.outcome.events += 1;
            self.happen(event);
            while let Some(core) = self.touched.pop() {
                self.resolve(core);
            }
        }
        if self.outcome.events < MOST_EVENTS {
            self.now = self.attack.horizon;
        }
        self.close();
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Source(source, number) => self.fire(source, number),
            Event::Arrives(flight) => self.arrive(flight),
            Event::Awake(thread) => self.awake(thread),
            Event::Core(core, version) => {
                if self.cores[core].version == version {
                    self.cores[core].planned = None;
                    self.touched.push(core);
                }
            }
            Event::Replenish(thread) => self.replenish(thread),
            Event::Stall(stall, core) => {
                self.stall(stall, core);
                let distance = stall_distances(self.system).nth(stall).unwrap_or(u64::MAX);
                self.schedule(self.now.saturating_add(distance), 0, event);
            }
            Event::Thaw(core) => self.thaw(core),
            Event::Window(core) => {
                self.end_window(core);
                if let Some(window) = self.window(core) {
                    self.schedule(self.now + window.period, 0, event);
                }
            }
            Event::Publish(run) => self.publish_due(run),
            Event::Expire(port, version) => self.expire(port, version),
        }
    }

    /// Plans an event, for something of a rank from 0 to 1000, by which equal instants are ordered.
    fn schedule(&mut self, at: u64, rank: u64, event: Event) {
        self.scheduled += 1;
        let tie = match (event, self.attack.ties) {
            // A stall counts against the thread that it has met.
            (Event::Thaw(_), _) => 0,
            (_, Ties::LowFirst) => 1 + rank,
            (_, Ties::HighFirst) => 1001 - rank,
            (_, Ties::Random) => 1 + (self.attack.chance(2, 0, self.scheduled) >> 1),
        };
        self.events.push(Reverse((at, tie, self.scheduled, event)));
    }

    /// A value from an interval, as the attack has it.
    fn choose(&mut self, extent: Extent, low: u64, high: u64) -> u64 {
        self.choices += 1;
        let (attack, choices) = (self.attack, self.choices);
        extent.choose(low, high, || attack.chance(3, 0, choices))
    }

    fn log(&mut self, what: Happening) {
        let now = self.now;
        if let Some(log) = &mut self.log {
            log.push((now, what));
        }
    }

    /// How a lane stands among others.
    fn lane_rank(&self, lane: usize) -> u64 {
        match self.system.parts.lanes[lane].scheduling {
            Scheduling::Deadline { .. } => 200,
            Scheduling::Fifo { priority } => 2 * u64::from(priority),
            Scheduling::Other => 0,
        }
    }

    fn port_rank(&self, port: usize) -> u64 {
        match self.system.parts.ports[port].entry {
            Entry::Queued { lane, .. } => self.lane_rank(lane),
            Entry::Direct => 0,
        }
    }

    /// Whether a source is where the goal begins.
    fn is_of_goal(&self, source: usize, what: &Source) -> bool {
        match self.attack.goal {
            Goal::Reaction(chain) | Goal::Age(chain) => self.system.parts.chains[chain].source == source,
            Goal::Response(port) | Goal::Backlog(port) | Goal::Overruns(port) => what.port == port,
            Goal::Latency(connection) => what.port == self.system.parts.connections[connection].target.port(),
        }
    }

    fn next_of_source(&mut self, source: usize, number: usize) {
        if let Some(arrival) = self.arrivals[source].get(number) {
            let what = &self.system.parts.sources[source];
            let rank = self.port_rank(what.port) + u64::from(self.is_of_goal(source, what));
            self.schedule(arrival.at, rank, Event::Source(source, number));
        }
    }

    /// The core that takes interrupts for a port (S4).
    fn interrupted(&self, port: usize) -> Option<usize> {
        match self.system.parts.ports[port].entry {
            Entry::Queued { lane, .. } => self.threads.get(self.first_thread[lane]).map(|thread| thread.core),
            Entry::Direct => None,
        }
    }

    /// When interrupts for a port are taken again, if that is later.
    fn held_until(&self, port: usize) -> Option<u64> {
        let until = self.cores[self.interrupted(port)?].frozen_until;
        (until > self.now).then_some(until)
    }

    /// A source's event comes (S1 to S4).
    fn fire(&mut self, source: usize, number: usize) {
        let what = self.system.parts.sources[source];
        if let Some(until) = self.held_until(what.port) {
            self.schedule(until, self.port_rank(what.port), Event::Source(source, number));
            return;
        }
        self.next_of_source(source, number + 1);
        let Arrival { due, publish, .. } = self.arrivals[source][number];
        self.log(Happening::Fires { source, number, due });
        let mut origins = Origins::NONE;
        for (chain, what) in self.system.parts.chains.iter().enumerate() {
            if what.source == source {
                origins.set(chain, number as u32);
            }
        }
        let is_timer = matches!(what.kind, SourceKind::Timer { .. });
        if is_timer && self.attack.skips && self.ports[what.port].waits_of_source(source) {
            self.log(Happening::Skipped { source });
            return;
        }
        let mut run = None;
        if self.system.parts.ports[what.port].interval.is_some() {
            for register in 0..self.ports[what.port].registers.len() {
                let value = self.ports[what.port].registers[register];
                self.gather(&mut origins, &value);
            }
            run = Some(self.lets.len());
            self.lets.push(LetRun {
                port: what.port,
                outputs: Vec::new(),
                origins,
                called: due,
                is_done: false,
                is_due: false,
            });
            let slack = self.system.parts.hosts[self.system.host(what.port)].slack;
            let late = self.choose(self.attack.slack, 0, slack);
            self.schedule(publish + late, self.port_rank(what.port), Event::Publish(self.lets.len() - 1));
        }
        self.enqueue(what.port, origins, due, queues::Via::Source(source), run);
    }

    /// Something comes over a connection from another host (D8).
    fn arrive(&mut self, flight: usize) {
        let connection = self.flights[flight].connection;
        let target = self.system.parts.connections[connection].target;
        if let Some(until) = self.held_until(target.port()) {
            self.schedule(until, self.port_rank(target.port()), Event::Arrives(flight));
            return;
        }
        // Order is kept, also of what arrives at one instant.
        let first = self.under_way[connection].pop_front().unwrap_or(flight);
        let Flight { origins, at, .. } = self.flights[first];
        self.log(Happening::Arrives { connection });
        self.deliver(connection, origins, at);
    }

    fn send(&mut self, connection: usize, origins: Origins, least: u64, most: u64) {
        let extent = self.attack.transfers[connection];
        let transfer = self.choose(extent, least, most);
        let at = (self.now + transfer).max(self.last_arrival[connection]);
        self.last_arrival[connection] = at;
        let target: Target = self.system.parts.connections[connection].target;
        self.under_way[connection].push_back(self.flights.len());
        self.flights.push(Flight { connection, origins, at });
        self.schedule(at, self.port_rank(target.port()), Event::Arrives(self.flights.len() - 1));
    }

    /// A chain's or a port's run has ended, as B3 has it.
    fn complete(&mut self, port: usize, origins: &Origins, called: u64) {
        let now = self.now;
        self.outcome.response[port].add(now - called, called, now);
        if self.attack.goal == Goal::Response(port) {
            self.outcome.marks.push(now);
        }
        self.answer(origins);
        for place in 0..self.ends[port].len() {
            let chain = self.ends[port][place];
            let Some((oldest, newest)) = origins.get(chain) else { continue };
            let errors = self.system.clock_errors(chain);
            let state = &mut self.chains[chain];
            for event in state.answered..=newest as usize {
                let due = state.dues[event];
                self.outcome.reaction[chain].add(now.saturating_sub(due) + errors, due, now);
            }
            state.answered = state.answered.max(newest as usize + 1);
            let due = state.dues[oldest as usize];
            self.outcome.age[chain].add(now.saturating_sub(due) + errors, due, now);
            self.log(Happening::Completes { chain, oldest, newest });
        }
    }

    /// Counts deliveries that are not finished as if they ended now.
    fn close(&mut self) {
        let now = self.now;
        self.close_connections();
        for chain in 0..self.chains.len() {
            let state = &self.chains[chain];
            if let Some(due) = state.dues.get(state.answered).filter(|due| **due < now) {
                let errors = self.system.clock_errors(chain);
                self.outcome.reaction[chain].add(now - due + errors, *due, now);
            }
        }
        for port in 0..self.ports.len() {
            // What may still give way to others has no response yet.
            let full = match self.system.parts.ports[port].entry {
                Entry::Queued { full, .. } => full,
                Entry::Direct => continue,
            };
            if matches!(full, Full::DropOldest | Full::Coalesce) {
                continue;
            }
            if let Some(waiting) = self.ports[port].queue.front() {
                let lasted = now.saturating_sub(waiting.called);
                self.outcome.response[port].add(lasted, waiting.called, now);
            }
        }
        for thread in &self.threads {
            for frame in thread.frames.iter().filter(|frame| frame.run.is_none()) {
                let lasted = now.saturating_sub(frame.called);
                self.outcome.response[frame.port].add(lasted, frame.called, now);
            }
        }
    }

    /// Notes an instant if it has to do with the goal.
    fn mark(&mut self, port: usize, origins: &Origins) {
        let is_of_goal = match self.attack.goal {
            Goal::Reaction(chain) | Goal::Age(chain) => origins.get(chain).is_some(),
            Goal::Response(goal) | Goal::Backlog(goal) | Goal::Overruns(goal) => goal == port,
            Goal::Latency(connection) => self.system.parts.connections[connection].target.port() == port,
        };
        if is_of_goal && self.outcome.marks.last() != Some(&self.now) {
            self.outcome.marks.push(self.now);
        }
    }

    /// Gives a thread work (P6).
    fn signal(&mut self, thread: usize) {
        let host = self.cores[self.threads[thread].core].host;
        let wake = self.choose(self.attack.costs, 0, self.system.parts.hosts[host].wake);
        self.threads[thread].state = ThreadState::Waking;
        if wake == 0 {
            self.awake(thread);
        } else {
            let rank = self.lane_rank(self.threads[thread].lane);
            self.schedule(self.now + wake, rank, Event::Awake(thread));
        }
    }
}
