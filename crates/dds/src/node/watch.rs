//! Who wants to know of an entity's statuses: one callback, and the WaitSets that its conditions are attached to.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, ThreadId};

use dcps::status::StatusMask;

use super::work::Work;
use crate::lock::{lock, try_lock};

/// Something that waits for conditions.
pub(crate) trait Waiter: Send + Sync {
    /// One of its conditions may have become true.
    fn wake(&self);
}

/// Called with no lock held.
pub(crate) type Callback = Arc<dyn Fn(StatusMask) + Send + Sync>;

/// See the module.
#[derive(Default)]
pub(crate) struct Watch {
    /// Statuses that the callback wants.
    wanted: AtomicU32,
    /// Statuses that it has to be called for.
    due: AtomicU32,
    callback: Mutex<Option<Callback>>,
    /// Held during a call, so that calls of one entity follow each other.
    turn: Mutex<()>,
    /// The thread that is in the callback.
    caller: Mutex<Option<ThreadId>>,
    waiting: AtomicUsize,
    waiters: Mutex<Vec<Weak<dyn Waiter>>>,
}

impl Watch {
    /// The statuses that somebody is called for.
    pub(crate) fn wanted(&self) -> StatusMask {
        StatusMask(self.wanted.load(Ordering::Acquire))
    }

    /// True on the thread that is in the callback.
    pub(crate) fn is_calling(&self) -> bool {
        *lock(&self.caller) == Some(thread::current().id())
    }

    /// Sets or takes away the callback. Waits for a call in progress, unless that is where this is called from.
    pub(crate) fn set_callback(&self, wanted: StatusMask, callback: Option<Callback>) {
        self.wanted.store(if callback.is_some() { wanted.0 } else { 0 }, Ordering::Release);
        let former = std::mem::replace(&mut *lock(&self.callback), callback);
        if !self.is_calling() {
            drop(lock(&self.turn));
        }
        drop(former);
    }

    /// Statuses have changed, and no lock is held.
    pub(crate) fn changed(self: &Arc<Self>, changes: StatusMask, work: &mut Work) {
        if changes == StatusMask::NONE {
            return;
        }
        self.wake_waiters();
        let wanted = changes & self.wanted();
        if wanted != StatusMask::NONE {
            self.due.fetch_or(wanted.0, Ordering::AcqRel);
            work.calls.push_back(Arc::clone(self));
        }
    }

    /// Wakes whoever waits for a condition of this entity.
    pub(crate) fn wake_waiters(&self) {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return;
        }
        // Waking takes locks of the waiter alone.
        lock(&self.waiters).iter().filter_map(Weak::upgrade).for_each(|waiter| waiter.wake());
    }

    /// Calls the callback if it is due. A call in progress on another thread takes it over.
    pub(crate) fn call(&self) {
        while self.due.load(Ordering::Acquire) != 0 {
            if self.is_calling() {
                return;
            }
            let Some(turn) = try_lock(&self.turn) else { return };
            let due = StatusMask(self.due.swap(0, Ordering::AcqRel)) & self.wanted();
            let callback = lock(&self.callback).clone();
            if let Some(callback) = callback
                && due != StatusMask::NONE
            {
                *lock(&self.caller) = Some(thread::current().id());
                // The panic message was printed; the entity goes on working.
                let _ = catch_unwind(AssertUnwindSafe(|| callback(due)));
                *lock(&self.caller) = None;
            }
            drop(turn);
        }
    }

    pub(crate) fn attach(&self, waiter: Weak<dyn Waiter>) {
        let mut waiters = lock(&self.waiters);
        waiters.retain(|known| known.strong_count() > 0);
        waiters.push(waiter);
        self.waiting.store(waiters.len(), Ordering::Release);
    }

    pub(crate) fn detach(&self, waiter: &Weak<dyn Waiter>) {
        let mut waiters = lock(&self.waiters);
        if let Some(index) = waiters.iter().position(|known| Weak::ptr_eq(known, waiter)) {
            waiters.swap_remove(index);
        }
        self.waiting.store(waiters.len(), Ordering::Release);
    }
}
