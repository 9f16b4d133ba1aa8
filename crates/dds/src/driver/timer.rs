//! When a thread has to be woken: kept in atomics, so that a later wish than the earliest costs no system call.
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use udp::Sender;
use wire::Instant;

use crate::driver::clock;
use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::atomic::{AtomicBool, AtomicU64};
use crate::sync::{Alarm, Mutex, Rung};

/// Wishes, and the alarm that the thread which serves them sleeps on.
#[derive(Debug)]
pub(super) struct Timer {
    /// `None` after [`Timer::close`].
    alarm: Mutex<Option<Arc<Alarm>>>,
    /// Earliest wish since the last time the engine was told.
    wish: AtomicU64,
    /// When the thread that reads the endpoints' socket in the place of its own has to look up.
    reader: AtomicU64,
    /// What the thread sleeps for; 0 while it is awake, since it looks at everything before it sleeps.
    sleeping: AtomicU64,
    /// A socket was full.
    full: AtomicBool,
    failures: AtomicU64,
}

/// What is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// The engine: the time of a wish has come, or a full socket has room.
    Engine,
    /// The thread that reads the endpoints' socket.
    Reader,
    /// The limit that was given.
    Limit,
    /// Perhaps something: ask again.
    Rung,
}

const NEVER: u64 = Instant::NEVER.as_nanos();
/// How long a thread rests when the system has no memory for its sleep.
const REST: Duration = Duration::from_millis(1);

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            alarm: Mutex::new(Some(Arc::new(Alarm::new()?))),
            wish: AtomicU64::new(NEVER),
            reader: AtomicU64::new(NEVER),
            sleeping: AtomicU64::new(0),
            full: AtomicBool::new(false),
            failures: AtomicU64::new(0),
        })
    }

    /// The engine wants to be called at that time.
    pub(super) fn wish(&self, at: Instant) {
        let at = at.as_nanos();
        // An earlier wish that is read here has not been served yet, and serving it will see what this one is about.
        if self.wish.load(SeqCst) > at && self.wish.fetch_min(at, SeqCst) > at {
            self.sleep_no_longer_than(at);
        }
    }

    /// The reader has to be woken at that time; gives back what was to be before.
    pub(super) fn set_reader(&self, until: Instant) -> Instant {
        let before = self.reader.swap(until.as_nanos(), SeqCst);
        self.sleep_no_longer_than(until.as_nanos());
        Instant::from_nanos(before)
    }

    /// A socket was full: the engine has to be called when it is not.
    pub(super) fn wait_for_room(&self) {
        if !self.full.swap(true, SeqCst) {
            self.ring();
        }
    }

    /// Lets the thread look at everything again.
    pub(super) fn ring(&self) {
        if let Some(alarm) = self.alarm() {
            alarm.ring();
        }
    }

    /// Wakes the thread for the last time: from now on it does not sleep.
    pub(super) fn close(&self) {
        let alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(alarm) = alarm {
            alarm.ring();
        }
    }

    /// How often the system refused to let the thread sleep.
    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    /// What is due, after one sleep at most. Called by one thread only. `senders` are looked at if one of them was full.
    pub(super) fn next(&self, limit: Instant, senders: &[&Sender]) -> Due {
        let now = clock::monotonic().as_nanos();
        if self.wish.load(SeqCst) <= now {
            return self.engine();
        }
        let reader = self.reader.load(SeqCst);
        if reader <= now {
            // Only that wish: a new one may be there by now.
            let _ = self.reader.compare_exchange(reader, NEVER, SeqCst, SeqCst);
            return Due::Reader;
        }
        if limit.as_nanos() <= now {
            return Due::Limit;
        }
        let earliest = || self.wish.load(SeqCst).min(self.reader.load(SeqCst)).min(limit.as_nanos());
        let until = earliest();
        self.sleeping.store(until, SeqCst);
        // A thread that wished before the line above does not ring, so that it has to be looked at after it.
        if earliest() < until {
            self.sleeping.store(0, SeqCst);
            return Due::Rung;
        }
        let senders = if self.full.load(SeqCst) { senders } else { &[] };
        let timeout = (until != NEVER).then(|| Duration::from_nanos(until.saturating_sub(now)));
        let rung = self.alarm().map_or(Ok(Rung::Rung), |alarm| alarm.wait(timeout, senders));
        self.sleeping.store(0, SeqCst);
        match rung {
            Ok(Rung::Writable) => {
                self.full.store(false, SeqCst);
                self.engine()
            }
            Ok(Rung::Rung | Rung::TimedOut) => Due::Rung,
            Err(_) => {
                self.failures.fetch_add(1, Relaxed);
                std::thread::sleep(REST);
                Due::Rung
            }
        }
    }

    /// All wishes up to now are served by the call that follows.
    fn engine(&self) -> Due {
        self.wish.store(NEVER, SeqCst);
        Due::Engine
    }

    fn sleep_no_longer_than(&self, at: u64) {
        if at < self.sleeping.load(SeqCst) {
            self.ring();
        }
    }

    fn alarm(&self) -> Option<Arc<Alarm>> {
        self.alarm.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
