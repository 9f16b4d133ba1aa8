//! A mutex, and a condition variable whose waits can end because of time.
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

use loom::sync::atomic::AtomicBool as ModelledBool;
use loom::thread::{Thread, current, park};

use crate::time;
use crate::trace::step;

/// As that of the standard library; it is never poisoned. That of `loom` lets `try_lock` wait for the thread that comes first.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized> {
    locked: ModelledBool,
    waiting: std::sync::Mutex<Vec<Thread>>,
    value: std::sync::Mutex<T>,
}

/// As that of the standard library.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// There until the guard ends.
    value: Option<std::sync::MutexGuard<'a, T>>,
}

/// As that of the standard library, but no thread wakes for nothing, and waits end because of time only by [`time::advance`].
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
pub(crate) struct Order(ModelledBool);

/// A thread that sleeps or is about to.
#[derive(Debug)]
pub(crate) struct Waiting {
    thread: Thread,
    /// Time may wake it.
    timed: bool,
    woken: AtomicBool,
    late: AtomicBool,
}

impl<T> Mutex<T> {
    /// One that is not locked.
    pub fn new(value: T) -> Self {
        Self { locked: ModelledBool::new(false), waiting: std::sync::Mutex::default(), value: value.into() }
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
        while !self.is_mine() {
            self.waiting.lock().unwrap().push(current());
            park();
        }
        step("lock", None);
        Ok(self.guard())
    }

    /// As that of the standard library.
    ///
    /// # Errors
    ///
    /// `WouldBlock`.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let locked = self.is_mine();
        step("try to lock, locked", Some(locked.into()));
        if locked { Ok(self.guard()) } else { Err(TryLockError::WouldBlock) }
    }

    fn is_mine(&self) -> bool {
        self.locked.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, value: Some(self.value.lock().unwrap_or_else(PoisonError::into_inner)) }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().unwrap()
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().unwrap()
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        if std::thread::panicking() {
            return;
        }
        self.mutex.locked.swap(false, Release);
        step("unlock", None);
        let waiting = std::mem::take(&mut *self.mutex.waiting.lock().unwrap());
        waiting.iter().for_each(Thread::unpark);
    }
}

impl Condvar {
    /// One that no thread waits for.
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
        guard: MutexGuard<'a, T>,
        limit: Duration,
        waits: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let until = time::after(limit);
        self.wait_until_while(guard, until, waits)
    }

    /// As [`Condvar::wait_timeout_while`], with the time at which the wait ends.
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn wait_until_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        until: u64,
        mut waits: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
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
        let waiting = Waiting::new(until.is_some());
        self.order.matters();
        self.list().push_back(Arc::clone(&waiting));
        let mutex = guard.mutex;
        drop(guard);
        let late = waiting.sleep(until);
        if late {
            self.order.matters();
            self.list().retain(|other| !Arc::ptr_eq(other, &waiting));
        }
        (mutex.lock().unwrap(), WaitTimeoutResult(late))
    }

    /// As that of the standard library.
    #[track_caller]
    pub fn notify_one(&self) {
        step("notify one", None);
        self.order.matters();
        self.time_matters();
        let first = self.list().pop_front();
        first.iter().for_each(|waiting| waiting.wake());
    }

    /// As that of the standard library.
    #[track_caller]
    pub fn notify_all(&self) {
        step("notify all", None);
        self.order.matters();
        self.time_matters();
        let all: Vec<_> = self.list().drain(..).collect();
        all.iter().for_each(|waiting| waiting.wake());
    }

    /// What time does to those who wait comes before or after.
    fn time_matters(&self) {
        let timed = self.list().iter().any(|waiting| waiting.timed);
        if timed {
            time::matters();
        }
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
    pub(crate) fn new(timed: bool) -> Arc<Self> {
        Arc::new(Self {
            thread: current(),
            timed,
            woken: AtomicBool::new(false),
            late: AtomicBool::new(false),
        })
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
