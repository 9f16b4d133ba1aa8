//! Checks runs of random systems against the rules of the model one by one. It uses nothing of the engine but its log.
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use frames::Random;

use crate::attack::{Attack, lateness};
use crate::engine::run_logged;
use crate::generate;
use crate::outcome::Goal;
use crate::story::Happening;
use crate::system::{Entry, Full, LaneOrder, Scheduling, SourceKind, Step, System};

#[derive(Clone, Default)]
struct Thread {
    lane: usize,
    core: usize,
    is_awake: bool,
    is_throttled: bool,
    waits_for: Option<usize>,
    /// The delivery that it has taken and not begun.
    taken: Option<usize>,
    /// Handlers at work, with the time that each has had itself and switches meanwhile.
    handlers: Vec<(usize, u64, u64)>,
    /// The time since it took something, and switches meanwhile.
    before: (u64, u64),
    /// The processor time of a deadline thread since it got a budget, and altogether.
    had: (u64, u64),
}

#[derive(Clone, Default)]
struct Core {
    host: usize,
    running: Option<usize>,
    stalled_until: u64,
    is_throttled: bool,
    /// The window that is under way, and the time that fifo threads have had of it.
    window: (u64, u64),
}

struct Audit<'a> {
    system: &'a System,
    attack: &'a Attack,
    now: u64,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    owners: Vec<Option<usize>>,
    queues: Vec<VecDeque<u64>>,
    busy: Vec<u32>,
    entered: u64,
    checks: u64,
}

impl<'a> Audit<'a> {
    fn new(system: &'a System, attack: &'a Attack) -> Self {
        let parts = system.description();
        let mut cores = Vec::new();
        let mut first = Vec::new();
        for (host, machine) in parts.hosts.iter().enumerate() {
            first.push(cores.len());
            cores.extend((0..machine.cores).map(|_| Core { host, ..Core::default() }));
        }
        let threads = parts.lanes.iter().enumerate().flat_map(|(index, lane)| {
            let first = first[lane.host];
            lane.threads.iter().map(move |core| Thread {
                lane: index,
                core: first + core,
                ..Thread::default()
            })
        });
        Self {
            threads: threads.collect(),
            cores,
            now: 0,
            owners: vec![None; parts.components.len()],
            queues: vec![VecDeque::new(); parts.ports.len()],
            busy: vec![0; parts.ports.len()],
            entered: 0,
            checks: 0,
            system,
            attack,
        }
    }

    fn scheduling(&self, thread: usize) -> Scheduling {
        self.system.description().lanes[self.threads[thread].lane].scheduling
    }

    /// The priority of a thread with what it inherits: of all that wait, however far behind.
    fn priority(&self, thread: usize) -> u8 {
        let own = if let Scheduling::Fifo { priority } = self.scheduling(thread) { priority } else { 0 };
        let waits = |other: &usize| {
            let component = self.threads[*other].waits_for;
            component.is_some_and(|component| self.owners[component] == Some(thread))
        };
        let inherited = (0..self.threads.len()).filter(waits).map(|other| self.priority(other)).max();
        own.max(inherited.unwrap_or(0))
    }

    fn class(&self, thread: usize) -> u8 {
        match self.scheduling(thread) {
            Scheduling::Deadline { .. } => 2,
            _ => u8::from(self.priority(thread) > 0),
        }
    }

    fn can_run(&self, core: usize, thread: usize) -> bool {
        let what = &self.threads[thread];
        let stopped = self.cores[core].is_throttled && self.class(thread) == 1;
        what.core == core && what.is_awake && what.waits_for.is_none() && !what.is_throttled && !stopped
    }

    /// Time passes: each core runs a thread that may run there (P1 to P4, P8, P10).
    fn pass(&mut self, until: u64) {
        if until == self.now {
            return;
        }
        for core in 0..self.cores.len() {
            let from = self.now.max(self.cores[core].stalled_until);
            if from >= until {
                continue;
            }
            self.checks += 1;
            let ready: Vec<usize> =
                (0..self.threads.len()).filter(|thread| self.can_run(core, *thread)).collect();
            let Some(running) = self.cores[core].running else {
                assert!(ready.is_empty(), "at {}: core {core} idles, {ready:?} can run", self.now);
                continue;
            };
            assert!(ready.contains(&running), "at {}: {running} runs and cannot", self.now);
            let standing = |thread: usize| {
                let class = self.class(thread);
                (class, if class == 1 { self.priority(thread) } else { 0 })
            };
            for other in ready {
                assert!(
                    standing(other) <= standing(running),
                    "at {}: {running} runs before {other}",
                    self.now
                );
            }
            let time = until - from;
            let thread = &mut self.threads[running];
            match thread.handlers.last_mut() {
                Some((_, had, _)) if thread.waits_for.is_none() => *had += time,
                _ => thread.before.0 += time,
            }
            if let Scheduling::Deadline { runtime, period, .. } = self.scheduling(running) {
                let had = &mut self.threads[running].had;
                *had = (had.0 + time, had.1 + time);
                assert!(had.0 <= runtime, "at {from}: {running} runs for more than its budget");
                assert!(
                    had.1 <= runtime * (until / period + 2),
                    "at {from}: {running} has more than its share"
                );
            }
            if self.class(running) == 1 {
                self.use_window(core, from, until);
            }
        }
        self.now = until;
    }

    fn use_window(&mut self, core: usize, from: u64, until: u64) {
        let Some(window) = self.system.description().hosts[self.cores[core].host].throttling else { return };
        let shift = window.period - self.attack.windows[core] % window.period;
        let mut from = from;
        while from < until {
            let number = (from + shift) / window.period;
            let end = ((number + 1) * window.period - shift).min(until);
            let had = &mut self.cores[core].window;
            if had.0 != number {
                *had = (number, 0);
            }
            had.1 += end - from;
            assert!(had.1 <= window.runtime, "at {from}: more than the runtime of a window");
            from = end;
        }
    }

    /// Whether a port can be served (P14).
    fn is_available(&self, port: usize) -> bool {
        let parts = self.system.description();
        let serialised = parts.components[parts.ports[port].component].serialised;
        !self.queues[port].is_empty() && (!serialised || self.busy[port] == 0)
    }

    fn runs_now(&self, thread: usize) {
        let core = &self.cores[self.threads[thread].core];
        assert!(
            core.running == Some(thread) && core.stalled_until <= self.now,
            "at {}: {thread} acts",
            self.now
        );
    }

    fn see(&mut self, what: Happening) {
        let parts = self.system.description();
        match what {
            Happening::Wakes { thread } => {
                assert!(!self.threads[thread].is_awake || self.threads[thread].waits_for.is_some());
                self.threads[thread].is_awake = true;
                self.threads[thread].had.0 = 0;
                self.threads[thread].waits_for = None;
            }
            Happening::Sleeps { thread } => {
                let lane = self.threads[thread].lane;
                let serves = |port: &usize| matches!(parts.ports[*port].entry, Entry::Queued { lane: own, .. } if own == lane);
                let left: Vec<usize> =
                    (0..parts.ports.len()).filter(serves).filter(|port| self.is_available(*port)).collect();
                assert!(left.is_empty(), "at {}: {thread} sleeps, {left:?} are available", self.now);
                self.threads[thread].is_awake = false;
            }
            Happening::Runs { core, thread } => {
                self.cores[core].running = thread;
                if let Some(thread) = thread {
                    let thread = &mut self.threads[thread];
                    thread.before.1 += 1;
                    if let Some((_, _, switches)) = thread.handlers.last_mut() {
                        *switches += 1;
                    }
                }
            }
            Happening::Enters { port, waiting } => {
                self.entered += 1;
                self.queues[port].push_back(self.entered);
                assert_eq!(self.queues[port].len(), waiting);
                let Entry::Queued { depth, .. } = parts.ports[port].entry else { panic!("no queue") };
                assert!(waiting <= depth);
            }
            Happening::Loses { port } => {
                let Entry::Queued { full, depth, .. } = parts.ports[port].entry else { panic!("no queue") };
                assert_eq!(self.queues[port].len(), depth);
                // Which one a coalescing queue loses is not in the log; numbers do not matter for its length.
                if matches!(full, Full::DropOldest | Full::Coalesce) {
                    self.queues[port].pop_front();
                }
            }
            Happening::Takes { thread, port } => self.take(thread, port),
            Happening::Waits { thread, component, holder } => {
                self.runs_now(thread);
                assert_eq!(self.owners[component], Some(holder));
                self.threads[thread].waits_for = Some(component);
            }
            Happening::Gets { thread, component } => {
                assert_eq!(self.owners[component], None);
                let waits = |other: &usize| self.threads[*other].waits_for == Some(component);
                let highest = (0..self.threads.len()).filter(waits).map(|other| self.priority(other)).max();
                assert_eq!(Some(self.priority(thread)), highest);
                self.owners[component] = Some(thread);
                // It is no waiter any more, but still has to wake.
                self.threads[thread].waits_for = None;
                self.threads[thread].is_awake = false;
            }
            Happening::Begins { thread, port } => {
                self.runs_now(thread);
                let component = parts.ports[port].component;
                if parts.components[component].serialised {
                    let owner = self.owners[component];
                    assert!(owner.is_none() || owner == Some(thread), "at {}: two own a lock", self.now);
                    self.owners[component] = Some(thread);
                }
                let thread = &mut self.threads[thread];
                if thread.taken.take().is_some() {
                    let host = &parts.hosts[parts.components[component].host];
                    let (had, switches) = thread.before;
                    assert!(had <= host.dispatch + switches * host.switch, "{had} before a handler");
                }
                thread.handlers.push((port, 0, 0));
            }
            Happening::Ends { thread, port } => self.end(thread, port),
            Happening::Stalls { core, length } => {
                self.cores[core].stalled_until = self.cores[core].stalled_until.max(self.now) + length;
            }
            Happening::Throttles { core } => self.cores[core].is_throttled = true,
            Happening::Unthrottles { core } => self.cores[core].is_throttled = false,
            Happening::Exhausts { thread } => self.threads[thread].is_throttled = true,
            Happening::Replenishes { thread } => {
                self.threads[thread].is_throttled = false;
                self.threads[thread].had.0 = 0;
            }
            _ => {}
        }
    }

    fn take(&mut self, thread: usize, port: usize) {
        let parts = self.system.description();
        self.runs_now(thread);
        let lane = self.threads[thread].lane;
        assert!(self.is_available(port) && self.threads[thread].handlers.is_empty());
        let served = |other: &usize| matches!(parts.ports[*other].entry, Entry::Queued { lane: own, full, .. } if own == lane && full != Full::Coalesce);
        let is_fifo = parts.lanes[lane].order == LaneOrder::Fifo && served(&port);
        let available = (0..parts.ports.len()).filter(served).filter(|other| self.is_available(*other));
        let first = available.map(|other| self.queues[other][0]).min();
        assert!(!is_fifo || Some(self.queues[port][0]) == first, "at {}: not the first of a lane", self.now);
        self.queues[port].pop_front();
        self.busy[port] += 1;
        self.threads[thread].taken = Some(port);
        self.threads[thread].before = (0, 0);
    }

    /// A handler had the time of its steps, and nothing but switches beside it (D4, P7).
    fn end(&mut self, thread: usize, port: usize) {
        let parts = self.system.description();
        let (begun, had, switches) = self.threads[thread].handlers.pop().unwrap();
        assert_eq!(begun, port);
        let times = parts.ports[port].steps.iter().filter_map(|step| match step {
            Step::Run { least, most } => Some((*least, *most)),
            Step::Push { .. } => None,
        });
        let (least, most) = times.fold((0, 0), |(least, most), time| (least + time.0, most + time.1));
        let component = parts.ports[port].component;
        // A switch before the handler may be paid within it.
        let switch = parts.hosts[parts.components[component].host].switch * (switches + 1);
        assert!(
            (least..=most + switch).contains(&had),
            "at {}: {had} for {least} to {most} of {port}",
            self.now
        );
        if parts.components[component].serialised {
            assert_eq!(self.owners[component], Some(thread));
            self.owners[component] = None;
        }
        if self.threads[thread].handlers.is_empty() {
            self.busy[port] -= 1;
            self.threads[thread].before = (0, 0);
        }
    }
}

/// Whether the events of sources are what they may be (S1, S3, C1).
fn sources(system: &System, attack: &Attack) {
    for (index, source) in system.description().sources.iter().enumerate() {
        let all = attack.arrivals(system, index);
        let late = lateness(system, source);
        let drift = system.description().hosts[system.host(source.port)].drift;
        for (earlier, later) in all.iter().zip(all.iter().skip(1)) {
            assert!(earlier.at <= later.at);
            match source.kind {
                SourceKind::Timer { period, .. } => {
                    let off = (period * drift).div_ceil(1_000_000_000);
                    assert!((later.due - earlier.due).abs_diff(period) <= off);
                }
                SourceKind::Periodic { gap, .. } => assert!(later.at - earlier.at >= gap),
                SourceKind::Sporadic { separation } => assert!(later.at - earlier.at >= separation),
            }
        }
        match source.kind {
            SourceKind::Timer { .. } => {
                assert!(all.iter().all(|arrival| (arrival.due..=arrival.due + late).contains(&arrival.at)));
            }
            SourceKind::Periodic { period, jitter, .. } => {
                // Some phase fits all: the latest begin is not before the earliest one.
                let begins = all
                    .iter()
                    .enumerate()
                    .map(|(count, arrival)| arrival.at as i64 - (count as u64 * period) as i64);
                let (earliest, latest) =
                    begins.fold((i64::MAX, i64::MIN), |(low, high), at| (low.min(at), high.max(at)));
                assert!(all.is_empty() || latest - earliest <= jitter as i64);
            }
            SourceKind::Sporadic { .. } => {}
        }
    }
}

#[test]
fn runs_keep_the_rules() {
    let mut checks = 0;
    for seed in 0..tiers::current().number("processors.systems") {
        let system = generate::system(seed);
        let mut random = Random::new(seed);
        for attack in [
            Attack::critical(&system, Goal::Reaction(0), 300_000),
            Attack::random(&system, Goal::Age(0), 300_000, random.bits()),
            Attack::random(&system, Goal::Reaction(0), 300_000, random.bits()),
        ] {
            sources(&system, &attack);
            let (_, log) = run_logged(&system, &attack);
            let mut audit = Audit::new(&system, &attack);
            for (at, what) in log {
                audit.pass(at);
                audit.see(what);
            }
            checks += audit.checks;
        }
    }
    assert!(checks > 10_000, "{checks}");
}
