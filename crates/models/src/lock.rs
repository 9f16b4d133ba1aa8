//! A mutex, and a condition variable whose waits can end because of time.
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LockResult, TryLockError, TryLockResult};
use std::time::Duration;

use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread::{Thread, current, park};

use crate::time;
use crate::trace::step;

/// As that of the standard library; it is never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(loom::sync::Mutex<T>);

/// As that of the standard library.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    guard: loom::sync::MutexGuard<'a, T>,
}

/// As that of the standard library, but nobody wakes for nothing, and waits end because of time only by [`time::advance`].
#[derive(Debug, Default)]
pub struct Condvar {
    waiting: std::sync::Mutex<VecDeque<Arc<Waiting>>>,
    order: Order,
}

/// Whether time ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

/// Tells `loom` that the order of what is done beside it matters; it orders no memory.
#[derive(Debug, Default)]
pub(crate) struct Order(AtomicBool);

/// A thread that sleeps or is about to.
#[derive(Debug)]
pub(crate) struct Waiting {
    thread: Thread,
    woken: AtomicBool,
    /// It is due at the time that was given.
    late: std::sync::atomic::AtomicBool,
}

impl<T> Mutex<T> {
    /// One that is not locked.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    /// As that of the standard library.
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = self.0.lock().unwrap();
        step("lock", None);
        Ok(MutexGuard { mutex: self, guard })
    }

    /// As that of the standard library.
    ///
    /// # Errors
    ///
    /// `WouldBlock`.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let locked = self.0.try_lock();
        step("try to lock, locked", Some(locked.is_ok().into()));
        match locked {
            Ok(guard) => Ok(MutexGuard { mutex: self, guard }),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl Condvar {
    /// One that nobody waits for.
    pub fn new() -> Self {
        Self::default()
    }

    /// As that of the standard library.
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        Ok(self.wait_until(guard, None).0)
    }

    /// As that of the standard library.
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        Ok(self.wait_until(guard, Some(time::after(limit))))
    }

    /// As that of the standard library.
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut waits: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let until = time::after(limit);
        loop {
            if !waits(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let (woken, end) = self.wait_until(guard, Some(until));
            if end.timed_out() {
                return Ok((woken, end));
            }
            guard = woken;
        }
    }

    #[track_caller]
    fn wait_until<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        until: Option<u64>,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        step("wait", None);
        let waiting = Waiting::new();
        self.order.matters();
        self.list().push_back(Arc::clone(&waiting));
        let mutex = guard.mutex;
        drop(guard);
        let late = waiting.sleep(until);
        if late {
            self.order.matters();
            self.list().retain(|other| !Arc::ptr_eq(other, &waiting));
        }
        (mutex.lock().unwrap_or_else(|_| unreachable!()), WaitTimeoutResult(late))
    }

    /// As that of the standard library.
    #[track_caller]
    pub fn notify_one(&self) {
        step("notify one", None);
        self.order.matters();
        let first = self.list().pop_front();
        first.iter().for_each(|waiting| waiting.wake());
    }

    /// As that of the standard library.
    #[track_caller]
    pub fn notify_all(&self) {
        step("notify all", None);
        self.order.matters();
        let all: Vec<_> = self.list().drain(..).collect();
        all.iter().for_each(|waiting| waiting.wake());
    }

    fn list(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Waiting>>> {
        self.waiting.lock().unwrap()
    }
}

impl WaitTimeoutResult {
    /// True if time ended the wait.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Order {
    pub(crate) fn matters(&self) {
        self.0.swap(true, Relaxed);
    }
}

impl Waiting {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { thread: current(), woken: AtomicBool::new(false), late: false.into() })
    }

    /// Sleeps until it is woken, or the time is over: true then.
    pub(crate) fn sleep(self: &Arc<Self>, until: Option<u64>) -> bool {
        if let Some(until) = until {
            time::remind(until, self);
        }
        while !self.woken.load(Relaxed) {
            park();
        }
        self.late.load(Relaxed)
    }

    pub(crate) fn wake(&self) {
        // Once: who was woken already may sleep elsewhere by now.
        if !self.woken.swap(true, Relaxed) {
            self.thread.unpark();
        }
    }

    pub(crate) fn wake_late(&self) {
        if !self.woken.swap(true, Relaxed) {
            self.late.store(true, Relaxed);
            self.thread.unpark();
        }
    }
}
