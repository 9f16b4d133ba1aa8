//! The context of a handler: the time, and the header of its event.
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

use threads::This;

use crate::outcome::Failure;

/// The time of a server, in nanoseconds since its start.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Monotonic(Instant),
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::Monotonic(start) => nanos(start.elapsed()),
            Self::Virtual(now) => now.load(Acquire),
        }
    }

    /// Lets virtual time go on; it never goes back.
    pub(crate) fn advance(&self, until: u64) {
        if let Self::Virtual(now) = self {
            now.store(until.max(now.load(Acquire)), Release);
        }
    }
}

/// A time in nanoseconds; 584 years at most.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The circumstances of a handler. A push hands them on, so that what follows of an event has its time, priority and deadline unless the
/// component says otherwise. Only handlers, hooks and callers that enter a component have one, on their thread.
pub struct Context {
    clock: Clock,
    /// What is put off until the turn of this thread ends belongs to the thread, and so do the locks that it takes.
    thread: This,
    /// When the event was made; found out when it is asked for.
    created: Cell<Option<u64>>,
    priority: u8,
    deadline: Option<u64>,
    follows: usize,
    part: usize,
    reason: Cell<Option<&'static str>>,
}

impl Context {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            thread: This::thread(),
            created: Cell::new(None),
            priority: 0,
            deadline: None,
            follows: 0,
            part: 0,
            reason: Cell::new(None),
        }
    }

    /// The context of an event that comes from elsewhere, before so many others of the same delivery, by this part of a join.
    pub(crate) fn of(clock: &Clock, header: &channel::Header, follows: usize, part: usize) -> Self {
        Self {
            created: Cell::new(Some(header.created)),
            priority: header.priority,
            deadline: header.deadline,
            follows,
            part,
            ..Self::new(clock)
        }
    }

    /// Its thread, for the glue of the derive macro.
    #[doc(hidden)]
    #[inline]
    pub fn thread(&self) -> This {
        self.thread
    }

    /// The time now, in nanoseconds since the start of the server.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// In virtual time: lets so much of it pass, as if the handler took that long. With the clock of the system it does nothing.
    pub fn pass(&self, time: Duration) {
        self.clock.advance(self.now().saturating_add(nanos(time)));
    }

    /// When the event was made that all this follows of, in nanoseconds since the start of the server.
    pub fn created(&self) -> u64 {
        self.created.get().unwrap_or_else(|| {
            let now = self.now();
            self.created.set(Some(now));
            now
        })
    }

    /// The same, with a time that is not before it and at most now: that itself if it was found out just now.
    pub(crate) fn created_and_now(&self) -> (u64, u64) {
        match self.created.get() {
            Some(created) => (created, self.now()),
            None => {
                let now = self.created();
                (now, now)
            }
        }
    }

    /// How important it is; larger is more, and 0 is an event without a priority.
    pub fn priority(&self) -> u8 {
        self.priority
    }

    /// When it should have been handled, in nanoseconds since the start of the server.
    pub fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// How many events of the same delivery follow this one; more than 0 only for what a join gives.
    pub fn follows(&self) -> usize {
        self.follows
    }

    /// Which of several sources of its connection, or which part of its join, the event came from: their place in the connection or join,
    /// from 0.
    pub fn part(&self) -> usize {
        self.part
    }

    /// The same circumstances, for an event of another importance.
    #[must_use]
    pub fn with(&self, priority: u8, deadline: Option<u64>) -> Self {
        let same = Self::new(&self.clock);
        Self { created: Cell::new(Some(self.created())), priority, deadline, ..same }
    }

    /// For an event that is made now, whatever led to it.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { priority: self.priority, ..Self::new(&self.clock) }
    }

    /// The error of a handler whose component cannot go on: the component goes to the error state, for this reason.
    pub fn broken(&self, reason: &'static str) -> Failure {
        self.reason.set(Some(reason));
        Failure::Broken
    }

    /// The reason that was said last.
    pub(crate) fn reason(&self) -> &'static str {
        self.reason.take().unwrap_or("no reason was said")
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = out.debug_struct("Context");
        shown
            .field("created", &self.created)
            .field("priority", &self.priority)
            .field("deadline", &self.deadline);
        shown.finish_non_exhaustive()
    }
}
