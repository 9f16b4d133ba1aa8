//! Containers: which threads serve their components.
use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use channel::Dispatch;
use udp::thread::{Scheduling, ThreadError};

use crate::channel_service::Core;
use crate::context::Clock;
use crate::reports::{Fault, Reports};
use crate::service::ServiceError;

/// Threads of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Threads {
    /// How many; at least 1.
    pub count: u16,
    /// How the system schedules them: in turn with all other threads, unless this says otherwise.
    pub scheduling: Scheduling,
    /// Which cores they may run on, from 0; empty is those of the server.
    pub cores: Vec<usize>,
    /// How long a thread without work looks for more before it sleeps; zero is not at all. Meanwhile it has a core for itself: nothing else of
    /// its priority or of a lower one runs there, and where the publisher has no other core nothing is gained. On another core an event reaches a
    /// thread that looks in a small part of the time that it takes to wake one.
    pub spin: Duration,
}

impl Default for Threads {
    /// One, without priority, on the cores of the server, which sleeps as soon as it has no work.
    fn default() -> Self {
        Self { count: 1, scheduling: Scheduling::Normal, cores: Vec::new(), spin: Duration::ZERO }
    }
}

/// The policy of a container: which threads serve the ports of its components that have queues. Threads begin to be with the first
/// connection that needs them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Policy {
    /// The lanes, by their numbers.
    pub lanes: Vec<(u8, Threads)>,
    /// The pool.
    pub pool: Threads,
    /// Threads that take the earliest deadline first.
    pub deadline: Threads,
    /// Threads of consumers that have one of their own; the count does not matter.
    pub own: Threads,
}

impl Policy {
    /// The threads that serve a consumer of a container; none for [`Dispatch::Publisher`].
    pub(crate) fn threads(&self, container: &str, dispatch: Dispatch) -> Result<Threads, ServiceError> {
        Ok(match dispatch {
            Dispatch::Pool => self.pool.clone(),
            Dispatch::Deadline => self.deadline.clone(),
            Dispatch::Publisher | Dispatch::Own => Threads { count: 1, ..self.own.clone() },
            Dispatch::Lane(lane) => {
                let threads = self.lanes.iter().find(|(number, _)| *number == lane);
                let (_, threads) =
                    threads.ok_or_else(|| ServiceError::Lane { container: container.to_owned(), lane })?;
                threads.clone()
            }
        })
    }
}

/// A container of a server.
pub struct Container {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) clock: Clock,
    pub(crate) reports: Arc<Reports>,
    /// There as long as a connection uses it.
    core: Mutex<Weak<Core>>,
    /// Those of components that have one of their own.
    of_components: Mutex<BTreeMap<String, Weak<Core>>>,
    /// What has the channel of all containers of the server; none of itself.
    whole: Option<Arc<Self>>,
}

/// Which consumers of a process have a channel, and its threads, in common.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Placement {
    /// None: each component has one.
    Component,
    /// Those of a container.
    #[default]
    Container,
    /// Those of all containers. Lanes and pools of several containers that say the same are one.
    Server,
}

impl Container {
    /// What stands for all containers of a server.
    pub(crate) fn whole(clock: &Clock, reports: &Arc<Reports>) -> Self {
        Self {
            name: "server".to_owned(),
            policy: Policy::default(),
            clock: clock.clone(),
            reports: Arc::clone(reports),
            core: Mutex::default(),
            of_components: Mutex::default(),
            whole: None,
        }
    }

    /// A container of a server.
    pub(crate) fn new(name: &str, policy: Policy, whole: &Arc<Self>) -> Self {
        let all = Self::whole(&whole.clock, &whole.reports);
        Self { name: name.to_owned(), policy, whole: Some(Arc::clone(whole)), ..all }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The channel of the container, which is there from the first connection to the last.
    pub(crate) fn core(self: &Arc<Self>) -> Arc<Core> {
        let mut known = self.known();
        known.upgrade().unwrap_or_else(|| {
            let core = Core::new(Arc::clone(self));
            *known = Arc::downgrade(&core);
            core
        })
    }

    /// The channel that serves a component of the container, which is there from the first connection to the last.
    pub(crate) fn channel(self: &Arc<Self>, placement: Placement, component: &str) -> Arc<Core> {
        match (placement, &self.whole) {
            (Placement::Server, Some(whole)) => whole.core(),
            (Placement::Server, None) | (Placement::Container, _) => self.core(),
            (Placement::Component, _) => {
                let mut known = self.of_components.lock().unwrap_or_else(PoisonError::into_inner);
                known.retain(|_, core| core.strong_count() > 0);
                known.get(component).and_then(Weak::upgrade).unwrap_or_else(|| {
                    let core = Core::new(Arc::clone(self));
                    known.insert(component.to_owned(), Arc::downgrade(&core));
                    core
                })
            }
        }
    }

    /// Whether it stands for all containers of a server.
    pub(crate) const fn is_whole(&self) -> bool {
        self.whole.is_none()
    }

    /// Whether there is a channel.
    pub fn has_channel(&self) -> bool {
        self.known().strong_count() > 0
    }

    fn known(&self) -> MutexGuard<'_, Weak<Core>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    /// Threads with a real-time priority, 1 to 99, that run until they wait (SCHED_FIFO).
    pub fn fifo(priority: u8) -> Self {
        Self { scheduling: Scheduling::RealTime { priority }, ..Self::default() }
    }

    /// The real-time priority of threads that have one.
    pub const fn priority(&self) -> Option<u8> {
        match self.scheduling {
            Scheduling::RealTime { priority } | Scheduling::RoundRobin { priority } => Some(priority),
            _ => None,
        }
    }

    /// Which threads the system runs before which others: those of a greater rank.
    pub(crate) const fn rank(&self) -> u8 {
        match (self.scheduling, self.priority()) {
            (Scheduling::Deadline { .. }, _) => u8::MAX,
            (_, Some(priority)) => priority,
            _ => 0,
        }
    }

    /// Asks the system for all of these threads of the class deadline at once, and ends them again. So a program knows before it begins whether
    /// it can have them. Others are not asked for.
    ///
    /// # Errors
    ///
    /// The error of the system for the first thread that it refused.
    pub fn try_deadline(all: &[Self]) -> Result<(), ThreadError> {
        let asked = all.iter().filter(|it| matches!(it.scheduling, Scheduling::Deadline { .. }));
        let each = asked.flat_map(|it| (0..it.count.max(1)).map(move |_| it));
        // Each has what it got until all have been asked.
        let hold = Mutex::new(());
        let (tell, told) = channel();
        thread::scope(|scope| {
            let _held = hold.lock();
            for it in each {
                let (hold, tell) = (&hold, tell.clone());
                let trial = move || {
                    let cores = if it.cores.is_empty() {
                        Ok(())
                    } else {
                        udp::thread::set_cores(&it.cores).map(drop)
                    };
                    let _ =
                        tell.send(cores.and_then(|()| udp::thread::set_scheduling(it.scheduling).map(drop)));
                    drop(tell);
                    drop(hold.lock());
                };
                let started = thread::Builder::new().spawn_scoped(scope, trial);
                started.map_err(|error| ThreadError::Refused { step: "clone", error })?;
            }
            drop(tell);
            told.iter().collect()
        })
    }

    /// Gives the calling thread its name, scheduling and cores, and reports what cannot be had.
    pub(crate) fn settle(&self, name: Option<&str>, of: &str, reports: &Reports) {
        let check = |error: Option<ThreadError>| {
            if let Some(error) = error {
                reports.add(of, Fault::Thread(error.to_string()));
            }
        };
        if let Some(name) = name {
            check(udp::thread::set_name(name).err());
        }
        if !self.cores.is_empty() {
            match udp::thread::set_cores(&self.cores) {
                Ok(granted) if granted.len() < self.cores.len() => {
                    let text = format!("of the cores {:?} only {granted:?} can be had", self.cores);
                    reports.add(of, Fault::Thread(text));
                }
                other => check(other.err()),
            }
        }
        if self.scheduling != Scheduling::Normal {
            check(udp::thread::set_scheduling(self.scheduling).err());
        }
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Container {:?} with {:?}", self.name, self.policy)
    }
}
