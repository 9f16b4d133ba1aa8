//! Reports of faults, for the program that looks after a server.
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::chains::{Exceeded, Next, Stalls, Track};
use crate::component::Hook;

/// How many reports wait until they are asked for; then the oldest give way.
const MOST: usize = 1_024;

/// How long a waiting thread sleeps until probes have looked.
const LOOK: Duration = Duration::from_millis(1);

/// Something that went wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The subject: the name of an instance, a connection or a thread.
    pub of: String,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a component, a thread or a service.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// A handler or a hook panicked, with this text. The component is in the error state.
    Panic(String),
    /// A handler said that the component cannot go on. It is in the error state.
    Broken(String),
    /// A hook returned an error. The component is in the error state.
    Hook {
        /// The hook.
        hook: Hook,
        /// The text of the error.
        reason: String,
    },
    /// A hook did not end within its limit. The component is in the error state; the thread goes on until the hook ends.
    Overdue {
        /// The hook.
        hook: Hook,
        /// How long it may take.
        limit: Duration,
    },
    /// A handler has not ended for longer than its connection allows. The component is in the error state; the thread goes on until the
    /// handler ends, and its lane has one thread fewer until then.
    Silent {
        /// How long it may take.
        limit: Duration,
    },
    /// A run in logical execution time did not end within its interval: what it pushed goes out later. Told once, until a run has ended in time.
    Overrun {
        /// The interval.
        interval: Duration,
    },
    /// The component's lock could not be had, so that an event or a call did not reach it.
    Lock(threads::Refused),
    /// A thread does not have the name, priority or cores that were asked for.
    Thread(String),
    /// A service could not do what it should.
    Service(String),
    /// A limit of a chain or a connection is exceeded, or may be.
    Exceeded(Box<Exceeded>),
    /// So many reports before this one were given up because the program did not ask for them.
    Lost(u64),
}

#[derive(Default)]
pub(crate) struct Reports {
    waiting: Mutex<Waiting>,
    come: Condvar,
    /// Chains, which keep the worst of what they have to tell.
    chains: Mutex<Vec<Arc<Track>>>,
    /// When the host stood still, if probes look for that.
    pub(crate) stalls: OnceLock<Arc<Stalls>>,
}

#[derive(Default)]
struct Waiting {
    reports: VecDeque<Report>,
    lost: u64,
}

impl Reports {
    pub(crate) fn add(&self, of: &str, fault: Fault) {
        let mut waiting = self.lock();
        if waiting.reports.len() >= MOST {
            waiting.reports.pop_front();
            waiting.lost += 1;
        }
        waiting.reports.push_back(Report { of: of.to_owned(), fault });
        drop(waiting);
        self.come.notify_all();
    }

    /// A chain has something to tell.
    pub(crate) fn call(&self) {
        // Who is about to wait has looked before, or will be woken.
        drop(self.lock());
        self.come.notify_all();
    }

    pub(crate) fn follow(&self, chain: &Arc<Track>) {
        self.chains().push(Arc::clone(chain));
    }

    pub(crate) fn unfollow(&self, chain: &Arc<Track>) {
        self.chains().retain(|other| !Arc::ptr_eq(other, chain));
    }

    fn chains(&self) -> MutexGuard<'_, Vec<Arc<Track>>> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest one, waiting for it for so long at most.
    pub(crate) fn next(&self, limit: Duration) -> Option<Report> {
        let end = Instant::now().checked_add(limit);
        let mut waiting = self.lock();
        loop {
            if waiting.lost > 0 {
                let lost = std::mem::take(&mut waiting.lost);
                return Some(Report { of: String::new(), fault: Fault::Lost(lost) });
            }
            if let Some(report) = waiting.reports.pop_front() {
                return Some(report);
            }
            let mut wait = Duration::MAX;
            let stalls = self.stalls.get().map(|stalls| &**stalls).filter(|stalls| stalls.are_seen());
            for chain in &*self.chains() {
                match chain.next_report(stalls) {
                    Next::None => {}
                    Next::Later => wait = LOOK,
                    Next::Report(report) => return Some(report),
                }
            }
            let left = end.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            waiting =
                self.come.wait_timeout(waiting, left.min(wait)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.of, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(text) => write!(out, "panicked: {text}; it is in the error state"),
            Self::Broken(reason) => write!(out, "{reason}; it is in the error state"),
            Self::Hook { hook, reason } => write!(out, "{hook}: {reason}; it is in the error state"),
            Self::Overdue { hook, limit } => {
                write!(
                    out,
                    "{hook} has not ended within {limit:?}; it is in the error state, and its thread goes on"
                )
            }
            Self::Silent { limit } => write!(
                out,
                "a handler has not ended within {limit:?}; the component is in the error state, and its thread goes on"
            ),
            Self::Overrun { interval } => {
                write!(out, "has not ended within its interval of {interval:?}: what it publishes is late")
            }
            Self::Lock(refused) => write!(out, "was not reached: {refused}"),
            Self::Thread(text) | Self::Service(text) => out.write_str(text),
            Self::Exceeded(exceeded) => write!(out, "{exceeded}"),
            Self::Lost(count) => write!(out, "{count} reports were given up: ask for them more often"),
        }
    }
}
