//! Lanes of a process: the threads that they are, and whether the system grants those that bounds rest on.
use std::collections::BTreeMap;
use std::time::Duration;

use assembly::{LaneDispatch, SchedulingClass};
use container::{Policy, Scheduling, Threads};
use deployment::{ContainerPart, LanePart, Part};

/// The lanes of containers that are there.
#[derive(Default)]
pub(crate) struct Lanes {
    here: BTreeMap<String, Vec<LanePart>>,
    taken: BTreeMap<String, Vec<LanePart>>,
}

impl Lanes {
    /// Whether the system gives the process the threads of the class deadline that are new in this part.
    ///
    /// # Errors
    /// What the system refuses: without these threads, bounds do not hold.
    pub(crate) fn check(&self, part: &Part) -> Result<(), String> {
        let of_process: Vec<usize> = part.cores.iter().copied().map(usize::from).collect();
        let mut asked = Vec::new();
        for (name, container) in &part.containers {
            let known = self.here.get(name).map(Vec::as_slice).unwrap_or_default();
            for lane in container.lanes.iter().filter(|lane| !known.contains(lane)) {
                let threads = threads(lane);
                let cores = if threads.cores.is_empty() { of_process.clone() } else { threads.cores.clone() };
                asked.push(Threads { cores, ..threads });
            }
        }
        Threads::try_deadline(&asked).map_err(|error| error.to_string())
    }

    /// A container is there.
    pub(crate) fn add(&mut self, name: &str, part: &ContainerPart) {
        self.here.insert(name.to_owned(), part.lanes.clone());
    }

    /// It is there no more.
    pub(crate) fn remove(&mut self, name: &str) {
        self.here.remove(name);
    }

    /// It is taken out, and may come back.
    pub(crate) fn take(&mut self, name: &str) {
        if let Some(lanes) = self.here.remove(name) {
            self.taken.insert(name.to_owned(), lanes);
        }
    }

    /// It is there again, or it has ended.
    pub(crate) fn end_taken(&mut self, name: &str, comes_back: bool) {
        if let Some(lanes) = self.taken.remove(name)
            && comes_back
        {
            self.here.insert(name.to_owned(), lanes);
        }
    }
}

/// The threads of a container. A lane has the same number whatever its threads serve.
pub(crate) fn policy(part: &ContainerPart) -> Policy {
    let mut policy = Policy::default();
    for (lane, number) in part.lanes.iter().zip(1..=u8::MAX) {
        match lane.dispatch {
            LaneDispatch::Lane => policy.lanes.push((number, threads(lane))),
            LaneDispatch::Own => policy.own = threads(lane),
            LaneDispatch::EarliestDeadline => policy.deadline = threads(lane),
        }
    }
    policy
}

/// The threads of a lane.
fn threads(lane: &LanePart) -> Threads {
    let (priority, nanos) = (lane.priority.unwrap_or(1), Duration::from_nanos);
    let scheduling = match lane.class {
        SchedulingClass::Normal => Scheduling::Normal,
        SchedulingClass::Fifo => Scheduling::RealTime { priority },
        SchedulingClass::RoundRobin => Scheduling::RoundRobin { priority },
        SchedulingClass::Deadline => {
            Scheduling::Deadline { runtime: nanos(lane.runtime), period: nanos(lane.period) }
        }
    };
    let cores = lane.cores.iter().copied().map(usize::from).collect();
    Threads { count: lane.threads.max(1), scheduling, cores, spin: nanos(lane.spin) }
}
