//! A component in its container: behind a lock, with a state that says whether it gets events.
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use threads::{Lock, This};

use crate::component::{Component, HOOKS, Hook};
use crate::context::{Clock, Context};
use crate::outcome::{Failure, Outcome};
use crate::reports::{Fault, Reports};
use crate::watch::Watch;

/// A thread that waits for a component looks after so long whether it is active still: a handler that hangs may have led to the error state.
const LOOK: Duration = Duration::from_millis(100);
/// How long a thread that waits for the last handlers of a parallel component sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);

/// Where a component is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// It was made and has its settings; its ports may be connected.
    Inactive,
    /// It gets events.
    Active,
    /// It gets no events for a time.
    Suspended,
    /// It gets no more events.
    Passive,
    /// A hook is at work, or is waited for.
    Changing,
    /// Something went wrong. It gets nothing, and may only be removed or made anew.
    Error,
    /// It is gone.
    Removed,
}

const STATES: [State; 7] = [
    State::Inactive,
    State::Active,
    State::Suspended,
    State::Passive,
    State::Changing,
    State::Error,
    State::Removed,
];

/// Whether events may come in.
#[derive(Debug)]
pub struct Gate(AtomicU8);

impl Gate {
    fn new() -> Self {
        Self(AtomicU8::new(State::Inactive as u8))
    }

    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Relaxed) == State::Active as u8
    }

    pub(crate) fn state(&self) -> State {
        STATES.get(usize::from(self.0.load(Acquire))).copied().unwrap_or(State::Error)
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state(), State::Error | State::Removed)
    }

    /// Goes to another state, unless it is over with it. Says whether it did.
    pub(crate) fn go(&self, state: State) -> bool {
        let next = |old: u8| {
            let may = old != State::Removed as u8 && (old != State::Error as u8 || state == State::Removed);
            may.then_some(state as u8)
        };
        self.0.fetch_update(AcqRel, Acquire, next).is_ok()
    }

    /// Leaves the error state, since the component is another one. Says whether it was in it.
    pub(crate) fn renew(&self) -> bool {
        let (error, inactive) = (State::Error as u8, State::Inactive as u8);
        self.0.compare_exchange(error, inactive, AcqRel, Acquire).is_ok()
    }

    /// Goes to the error state. Says whether it was not over before.
    fn fail(&self) -> bool {
        let is_over = |old: u8| old == State::Removed as u8 || old == State::Error as u8;
        let next = |old: u8| (!is_over(old)).then_some(State::Error as u8);
        self.0.fetch_update(AcqRel, Acquire, next).is_ok()
    }
}

/// Why a thread did not get into a component.
#[derive(Clone, Copy, Debug)]
pub enum Shut {
    /// It is not active.
    Inactive,
    /// Its lock cannot be had.
    Refused(threads::Refused),
}

/// How a component is reached.
pub trait Body<C>: Send + Sync + Sized {
    /// Whether several threads may be in the component at once.
    const IS_PARALLEL: bool;
    /// Takes a component.
    fn new(component: C) -> Self;
    /// Does something with the component while no other thread is in it, whatever its state. With a limit it waits no longer for others to leave.
    ///
    /// # Errors
    /// Its lock cannot be had.
    fn alone<R>(&self, limit: Option<Duration>, act: impl FnOnce(&mut C) -> R)
    -> Result<R, threads::Refused>;
}

/// One thread at a time is in the component. It has the priority of the threads that wait.
#[derive(Debug)]
pub struct Serialised<C>(Lock<C>);

/// Any number of threads are in the component at once.
#[derive(Debug)]
pub struct Parallel<C>(RwLock<C>);

impl<C: Send> Body<C> for Serialised<C> {
    const IS_PARALLEL: bool = false;

    fn new(component: C) -> Self {
        Self(Lock::new(component))
    }

    fn alone<R>(
        &self,
        limit: Option<Duration>,
        act: impl FnOnce(&mut C) -> R,
    ) -> Result<R, threads::Refused> {
        let mut held = match limit {
            Some(limit) => self.0.lock_for(limit)?,
            None => self.0.lock()?,
        };
        Ok(act(&mut held))
    }
}

impl<C> Serialised<C> {
    /// Does something with the component if it is active, or once it is free and still active.
    #[doc(hidden)]
    #[inline(always)]
    pub fn enter<R>(&self, gate: &Gate, this: This, act: impl FnOnce(&mut C) -> R) -> Result<R, Shut> {
        let Some(mut held) = self.0.try_lock_as(this) else { return self.enter_late(gate, this, act) };
        // A change of the state waits for the lock, so the gate stays open for as long as the lock is held.
        if !gate.is_open() {
            return Err(Shut::Inactive);
        }
        Ok(act(&mut held))
    }

    /// The same where another thread is in the component.
    #[cold]
    #[inline(never)]
    fn enter_late<R>(&self, gate: &Gate, this: This, act: impl FnOnce(&mut C) -> R) -> Result<R, Shut> {
        loop {
            // A thread that comes while a hook is at work does not wait for it.
            if !gate.is_open() {
                return Err(Shut::Inactive);
            }
            match self.0.lock_as(this, LOOK) {
                Ok(mut held) => return if gate.is_open() { Ok(act(&mut held)) } else { Err(Shut::Inactive) },
                Err(threads::Refused::Late) if gate.is_open() => {}
                Err(threads::Refused::Late) => return Err(Shut::Inactive),
                Err(refused) => return Err(Shut::Refused(refused)),
            }
        }
    }
}

impl<C: Send + Sync> Body<C> for Parallel<C> {
    const IS_PARALLEL: bool = true;

    fn new(component: C) -> Self {
        Self(RwLock::new(component))
    }

    fn alone<R>(
        &self,
        limit: Option<Duration>,
        act: impl FnOnce(&mut C) -> R,
    ) -> Result<R, threads::Refused> {
        let Some(limit) = limit else {
            return Ok(act(&mut self.0.write().unwrap_or_else(PoisonError::into_inner)));
        };
        let end = Instant::now().checked_add(limit);
        loop {
            match self.0.try_write() {
                Ok(mut held) => return Ok(act(&mut held)),
                Err(TryLockError::Poisoned(held)) => return Ok(act(&mut held.into_inner())),
                Err(TryLockError::WouldBlock) => {}
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Err(threads::Refused::Late);
            }
            std::thread::sleep(NAP);
        }
    }
}

impl<C> Parallel<C> {
    /// Does something with the component, beside others, if it is active.
    #[doc(hidden)]
    #[inline]
    pub fn enter<R>(&self, gate: &Gate, _: This, act: impl FnOnce(&C) -> R) -> Result<R, Shut> {
        loop {
            if !gate.is_open() {
                return Err(Shut::Inactive);
            }
            let held = match self.0.try_read() {
                Ok(held) => held,
                Err(TryLockError::Poisoned(held)) => held.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    // Its connections are changed, or a hook begins, and that may hang: so no thread sleeps on the lock.
                    std::thread::sleep(NAP);
                    continue;
                }
            };
            if gate.is_open() {
                return Ok(act(&held));
            }
        }
    }
}

/// The container's record of a component.
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) gate: Gate,
    pub(crate) clock: Clock,
    pub(crate) reports: Arc<Reports>,
    /// Events that came while it was not active, or could not be reached.
    pub(crate) missed: AtomicU64,
    /// Handlers that returned an error.
    pub(crate) failed: AtomicU64,
    /// Is told what comes and what is published.
    pub(crate) watch: OnceLock<Arc<dyn Watch>>,
}

impl About {
    /// It is in the error state from now on. Says whether it was not before.
    pub(crate) fn fail(&self, fault: Fault) -> bool {
        let is_new = self.gate.fail();
        if is_new {
            self.reports.add(&self.name, fault);
        }
        is_new
    }
}

/// A component in its container.
pub struct Cell<C: Component> {
    pub(crate) about: About,
    pub(crate) body: C::Body,
    /// For each hook.
    pub(crate) limits: [Duration; HOOKS.len()],
}

impl<C: Component> fmt::Debug for Cell<C> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {:?}", self.about.name, self.about.gate.state())
    }
}

/// How an attempt to get into a component ended: shut, or with the outcome of a handler.
type Attempt = Result<Outcome, Shut>;

impl<C: Component> Cell<C> {
    pub(crate) fn new(name: &str, clock: &Clock, reports: &Arc<Reports>, component: C) -> Self {
        let about = About {
            name: name.to_owned(),
            gate: Gate::new(),
            clock: clock.clone(),
            reports: Arc::clone(reports),
            missed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            watch: OnceLock::new(),
        };
        let limits = HOOKS.map(|hook| component.limit(hook));
        Self { about, body: C::Body::new(component), limits }
    }

    #[inline(always)]
    pub(crate) fn settle(&self, attempt: Attempt, at: &Context) {
        if !matches!(attempt, Ok(Ok(()))) {
            self.trouble(attempt, at);
        }
    }

    #[cold]
    fn trouble(&self, attempt: Attempt, at: &Context) {
        match attempt {
            Ok(Ok(())) => {}
            Ok(Err(Failure::Broken)) => self.fail(Fault::Broken(at.reason().to_owned())),
            Ok(Err(_)) => {
                self.about.failed.fetch_add(1, Relaxed);
            }
            Err(shut) => {
                self.about.missed.fetch_add(1, Relaxed);
                if let Shut::Refused(refused) = shut {
                    self.about.reports.add(&self.about.name, Fault::Lock(refused));
                }
            }
        }
    }

    /// A handler panicked.
    #[cold]
    pub(crate) fn caught(&self, panic: &(dyn Any + Send)) {
        self.fail(Fault::Panic(text_of(panic)));
    }

    /// Leads to the error state, and tells the component of it.
    pub(crate) fn fail(&self, fault: Fault) {
        if self.about.fail(fault.clone()) {
            // A panic of this hook ends nothing else.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let limit = self.limits.get(Hook::Error as usize).copied().unwrap_or(LOOK);
                let begun = Instant::now();
                let tell = |component: &mut C| {
                    // It may be another one already.
                    if self.about.gate.state() == State::Error {
                        component.error(&fault);
                    }
                };
                let told = self.body.alone(Some(LOOK), tell);
                if told.is_ok() && begun.elapsed() > limit {
                    let fault = Fault::Overdue { hook: Hook::Error, limit };
                    self.about.reports.add(&self.about.name, fault);
                }
            }));
        }
    }
}

impl<C: Component<Body = Serialised<C>>> Cell<C> {
    /// Calls the component as one of its facets.
    pub(crate) fn called(&self, act: impl FnOnce(&mut C)) -> Result<(), Failure> {
        let enter = || self.body.enter(&self.about.gate, This::thread(), act);
        match catch_unwind(AssertUnwindSafe(enter)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Shut::Inactive)) => Err(Failure::NotActive),
            Ok(Err(Shut::Refused(threads::Refused::Mine | threads::Refused::Circle))) => Err(Failure::Circle),
            Ok(Err(Shut::Refused(refused))) => {
                self.about.reports.add(&self.about.name, Fault::Lock(refused));
                Err(Failure::Lock)
            }
            Err(panic) => {
                self.fail(Fault::Panic(text_of(&*panic)));
                Err(Failure::Panic)
            }
        }
    }
}

/// The text of a panic.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a text".to_owned())
}
