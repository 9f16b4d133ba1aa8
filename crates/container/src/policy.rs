//! Containers: which threads serve their components.
use std::fmt;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::channel_service::Core;
use crate::context::Clock;
use crate::reports::{Fault, Reports};

/// Threads of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Threads {
    /// How many; at least 1.
    pub count: u16,
    /// The real-time priority, 1 to 99; `None` is in turn with all other threads.
    pub priority: Option<u8>,
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
        Self { count: 1, priority: None, cores: Vec::new(), spin: Duration::ZERO }
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
    /// Those that take the earliest deadline first.
    pub deadline: Threads,
    /// Those of consumers that have a thread of their own; the count does not matter.
    pub own: Threads,
}

/// A container of a server.
pub struct Container {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) clock: Clock,
    pub(crate) reports: Arc<Reports>,
    /// There as long as a connection uses it.
    core: Mutex<Weak<Core>>,
}

impl Container {
    pub(crate) fn new(name: &str, policy: Policy, clock: &Clock, reports: &Arc<Reports>) -> Self {
        Self {
            name: name.to_owned(),
            policy,
            clock: clock.clone(),
            reports: Arc::clone(reports),
            core: Mutex::default(),
        }
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

    /// Whether there is a channel.
    pub fn has_channel(&self) -> bool {
        self.known().strong_count() > 0
    }

    fn known(&self) -> MutexGuard<'_, Weak<Core>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    /// Gives the calling thread its name, priority and cores, and reports what cannot be had.
    pub(crate) fn settle(&self, name: Option<&str>, of: &str, reports: &Reports) {
        let check = |error: Option<udp::thread::ThreadError>| {
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
        if let Some(priority) = self.priority {
            check(udp::thread::set_real_time(priority).err());
        }
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Container {:?} with {:?}", self.name, self.policy)
    }
}
