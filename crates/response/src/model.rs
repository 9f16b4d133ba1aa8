//! A system with what is looked up often, and the bounds that are known so far.
//!
//! The bounds grow until none is refuted by the others. What they are then holds: the first delivery that exceeded one of them
//! would come from a time at which all were kept, and from such a time none can be exceeded.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use crate::cores::Parts;
use crate::problems::by_output;
use crate::runs::{Push, Run, run_of};
use crate::system::{Host, Lane, Scheduling, SourceKind, Step, System, Target};
use crate::work::{Bound, Limits, Reason, Work, add, fit, mul, skew};

/// The priority of deadline threads: above all fifo threads.
pub(crate) const DEADLINE: u8 = 100;

pub(crate) struct Model<'s> {
    pub(crate) system: &'s System,
    pub(crate) limits: Limits,
    pub(crate) work: Work,
    /// The connections of each output.
    pub(crate) by_output: BTreeMap<usize, Vec<usize>>,
    /// The ports whose handlers push to each output.
    pub(crate) pushing: BTreeMap<usize, BTreeSet<usize>>,
    /// The runs of queued ports; direct ports have empty ones.
    pub(crate) runs: Vec<Run>,
    /// The connections that lead to each port.
    pub(crate) links: Vec<Links>,
    /// The queued ports whose runs push over each connection.
    pub(crate) pushers: Vec<Vec<(usize, Push)>>,
    /// For each direct port the queued ports whose runs call it.
    pub(crate) callers: Vec<Vec<(usize, Push)>>,
    /// The ports of each lane.
    pub(crate) served: Vec<Vec<usize>>,
    /// The lanes with threads on each core, and how many threads: by host and core.
    pub(crate) on_core: BTreeMap<(usize, usize), Vec<(usize, u64)>>,
    /// The locks, by component.
    pub(crate) locks: Vec<Lock>,
    /// Longest time without a pause in which stalls keep a core, by host.
    pub(crate) stall: Vec<Bound>,
    /// From the instant for which a delivery was called for to the end of its run, by port, known so far.
    pub(crate) finish: Vec<Bound>,
    /// The parts of the finishing time.
    pub(crate) parts: Vec<Parts>,
    /// Whether fifo threads of a core may be throttled, by host and core.
    pub(crate) throttled: BTreeMap<(usize, usize), bool>,
    /// How long threads wait for locks: by component, priority and lane. What was asked for and is not known yet is 0.
    pub(crate) waits: RefCell<BTreeMap<(usize, u8, usize), Bound>>,
    /// Whether a wait was asked for that was not there.
    pub(crate) asked: Cell<bool>,
}

/// The connections and sources that lead to a port.
#[derive(Clone, Default, Debug)]
pub(crate) struct Links {
    pub(crate) sources: Vec<usize>,
    pub(crate) queued: Vec<usize>,
    pub(crate) parts: Vec<usize>,
    pub(crate) direct: Vec<usize>,
    /// Whether something comes by an interrupt, which waits for the end of a stall (S4).
    pub(crate) interrupts: bool,
}

/// A lock and its users.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lock {
    /// The runs that hold it: by queued port and by what they hold besides.
    pub(crate) users: Vec<(usize, Vec<usize>)>,
    /// Whether several threads use it.
    pub(crate) contended: bool,
    /// Whether threads of several cores use it.
    pub(crate) global: bool,
    /// The highest priority that a thread which waits for it can have, inherited ones included.
    pub(crate) ceiling: u8,
}

impl<'s> Model<'s> {
    /// A system without problems, and no more known than that everything takes time.
    pub(crate) fn new(system: &'s System, limits: Limits) -> Result<Self, Reason> {
        let work = Work::new(limits.steps);
        let by_output = by_output(system);
        let mut runs = Vec::with_capacity(system.ports.len());
        for (index, port) in system.ports.iter().enumerate() {
            let queued = port.lane.is_some();
            runs.push(if queued { run_of(system, &by_output, index, &work)? } else { Run::default() });
        }
        let mut model = Self {
            system,
            limits,
            work,
            by_output,
            pushing: pushing(system),
            links: links(system),
            pushers: vec![Vec::new(); system.connections.len()],
            callers: vec![Vec::new(); system.ports.len()],
            served: vec![Vec::new(); system.lanes.len()],
            on_core: BTreeMap::new(),
            locks: Vec::new(),
            stall: Vec::new(),
            finish: vec![Ok(0); system.ports.len()],
            parts: vec![Parts::default(); system.ports.len()],
            throttled: BTreeMap::new(),
            waits: RefCell::new(BTreeMap::new()),
            asked: Cell::new(false),
            runs,
        };
        for (port, run) in model.runs.iter().enumerate() {
            for (connection, push) in &run.pushes {
                if let Some(pushers) = model.pushers.get_mut(*connection) {
                    pushers.push((port, *push));
                }
            }
            for (direct, push) in &run.reached {
                if let Some(callers) = model.callers.get_mut(*direct) {
                    callers.push((port, *push));
                }
            }
            if let Some(served) = system.ports.get(port).and_then(|it| model.served.get_mut(it.lane?)) {
                served.push(port);
            }
        }
        for (index, lane) in system.lanes.iter().enumerate() {
            for core in &lane.threads {
                let on_core = model.on_core.entry((lane.host, *core)).or_default();
                match on_core.last_mut() {
                    Some((last, threads)) if *last == index => *threads += 1,
                    _ => on_core.push((index, 1)),
                }
            }
        }
        for (index, host) in system.hosts.iter().enumerate() {
            let stall = model.longest_stall(index, host);
            model.stall.push(stall);
        }
        model.locks = model.find_locks()?;
        Ok(model)
    }

    /// The longest time for which stalls follow each other without a pause: each kind may begin as soon as it can.
    fn longest_stall(&self, index: usize, host: &Host) -> Bound {
        let mut time = 0;
        loop {
            self.work.step()?;
            let mut next = 0;
            for stall in &host.stalls {
                next = add(next, mul(stall.length, fit(time, 0, stall.distance)?)?)?;
            }
            if next > self.limits.horizon {
                return Err(Reason::Stalls { host: index });
            }
            if next <= time {
                return Ok(time);
            }
            time = next;
        }
    }

    pub(crate) fn host_index(&self, port: usize) -> Option<usize> {
        let port = self.system.ports.get(port)?;
        Some(self.system.components.get(port.component)?.host)
    }

    pub(crate) fn host_of(&self, port: usize) -> Option<&'s Host> {
        self.system.hosts.get(self.host_index(port)?)
    }

    pub(crate) fn stall_of(&self, port: usize) -> Bound {
        self.host_index(port).and_then(|host| self.stall.get(host)).copied().unwrap_or(Ok(0))
    }

    pub(crate) fn lane_of(&self, port: usize) -> Option<(usize, &'s Lane)> {
        let lane = self.system.ports.get(port)?.lane?;
        Some((lane, self.system.lanes.get(lane)?))
    }

    /// The priority of the threads of a lane: 0 for other threads.
    pub(crate) fn priority(&self, lane: usize) -> u8 {
        match self.system.lanes.get(lane).map(|lane| lane.scheduling) {
            Some(Scheduling::Fifo(priority)) => priority,
            Some(Scheduling::Deadline { .. }) => DEADLINE,
            Some(Scheduling::Other) | None => 0,
        }
    }

    /// Whether several runs of a port can be under way at once.
    pub(crate) fn overtakes(&self, port: usize) -> bool {
        let parallel = self.system.ports.get(port).is_some_and(|port| port.parallel);
        parallel && self.lane_of(port).is_some_and(|(_, lane)| lane.threads.len() > 1)
    }

    /// Most lateness of the timers of a port.
    pub(crate) fn lateness(&self, port: usize) -> Bound {
        let mut most = 0;
        let Some(links) = self.links.get(port) else { return Ok(0) };
        for source in &links.sources {
            if let Some(SourceKind::Timer { jitter, .. }) = self.system.sources.get(*source).map(|it| it.kind)
            {
                most = most.max(add(jitter, self.host_of(port).map_or(0, |host| host.slack))?);
            }
        }
        Ok(most)
    }

    /// How long after it came a delivery of a lane can be without a thread that could run for it: until the end of a stall, and until
    /// a thread has woken. With `wake` 0 and one core it is the window itself that begins with the stall.
    pub(crate) fn lag(&self, lane: usize) -> Bound {
        let Some(it) = self.system.lanes.get(lane) else { return Ok(0) };
        let wake = self.system.hosts.get(it.host).map_or(0, |host| host.wake);
        let interrupts = self.served.get(lane).into_iter().flatten().any(|port| self.interrupted(*port));
        if interrupts && (wake > 0 || !single_core(it)) {
            add(wake, self.stall.get(it.host).copied().unwrap_or(Ok(0))?)
        } else {
            Ok(wake)
        }
    }

    pub(crate) fn interrupted(&self, port: usize) -> bool {
        self.links.get(port).is_some_and(|links| links.interrupts)
    }

    /// The bound of the response of a port (B6), as far as known.
    pub(crate) fn response(&self, port: usize) -> Bound {
        let Some(it) = self.system.ports.get(port) else { return Ok(0) };
        if it.lane.is_none() {
            let mut most = 0;
            for (root, push) in self.callers.get(port).into_iter().flatten() {
                most = most.max(self.response(*root)?.saturating_sub(push.before));
            }
            return Ok(most);
        }
        let finish = self.finish.get(port).copied().unwrap_or(Ok(0))?;
        let (Some(interval), Some(host)) = (it.interval, self.host_of(port)) else { return Ok(finish) };
        let skew = skew(interval, host.drift)?;
        if finish > interval.saturating_sub(skew) {
            return Err(Reason::Overrun { port });
        }
        // A stall holds the publication up.
        add(add(interval, skew)?, add(host.slack, self.stall_of(port)?)?)
    }

    /// Least time from the instant for which a run was called to a push of it.
    pub(crate) fn least_before(&self, root: usize, push: &Push) -> Bound {
        let Some(interval) = self.system.ports.get(root).and_then(|port| port.interval) else {
            return Ok(push.before);
        };
        let drift = self.host_of(root).map_or(0, |host| host.drift);
        Ok(interval.saturating_sub(skew(interval, drift)?))
    }
}

/// Whether a lane has all of its threads on one core.
pub(crate) fn single_core(lane: &Lane) -> bool {
    lane.threads.iter().all(|core| Some(core) == lane.threads.first())
}

/// The ports whose handlers push to each output.
fn pushing(system: &System) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut pushing: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (index, port) in system.ports.iter().enumerate() {
        for step in &port.steps {
            if let Step::Push { output, .. } = step {
                pushing.entry(*output).or_default().insert(index);
            }
        }
    }
    pushing
}

fn links(system: &System) -> Vec<Links> {
    let mut links = vec![Links::default(); system.ports.len()];
    for (index, source) in system.sources.iter().enumerate() {
        if let Some(links) = links.get_mut(source.port) {
            links.sources.push(index);
            links.interrupts = true;
        }
    }
    for (index, connection) in system.connections.iter().enumerate() {
        let (Target::Queue(port) | Target::Direct(port) | Target::Part { port, .. }) = connection.target
        else {
            continue;
        };
        let Some(links) = links.get_mut(port) else { continue };
        match connection.target {
            Target::Queue(_) => links.queued.push(index),
            Target::Part { .. } => links.parts.push(index),
            Target::Direct(_) | Target::Register(_) => links.direct.push(index),
        }
        links.interrupts |= connection.transfer.is_some();
    }
    links
}
