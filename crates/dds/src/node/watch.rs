//! What is notified of changes of an entity's statuses: one callback, and the WaitSets that its conditions are attached to.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::Waker;

use dcps::status::StatusMask;

use super::work::Work;
use crate::lock::{lock, try_lock};
use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence};
use crate::sync::{Mutex, MutexGuard};
use crate::thread::this_thread;

/// Something that waits for conditions.
pub(crate) trait Waiter: Send + Sync {
    /// One of its conditions may have become true.
    fn wake(&self);

    /// As [`Waiter::wake`], but what would run code of the application is given back, to be woken when nothing is locked.
    fn wake_later(&self) -> Option<Waker> {
        self.wake();
        None
    }
}

/// Called with no lock held.
pub(crate) type Callback = Arc<dyn Fn(StatusMask) + Send + Sync>;

/// See the module.
pub(crate) struct Watch {
    /// Statuses that the callback wants.
    wanted: AtomicU32,
    /// Statuses that it has to be called for.
    due: AtomicU32,
    callback: Mutex<Option<Callback>>,
    /// How often the callback was changed.
    changes: AtomicU64,
    /// Held during a call, so that calls of one entity follow each other.
    turn: Mutex<Turn>,
    /// The number of the thread that is in the callback, or 0.
    caller: AtomicU64,
    waiting: AtomicUsize,
    waiters: Mutex<Vec<Weak<dyn Waiter>>>,
    /// Statuses that the entity's StatusCondition counts.
    enabled: AtomicU32,
    /// Of a reader: that of its subscriber.
    above: Option<Arc<Watch>>,
    /// Of a subscriber: a reader got data, and `on_data_on_readers` was not called since.
    has_data: AtomicBool,
}

/// The callback as it was after so many changes: the next call need not ask for it.
#[derive(Default)]
struct Turn {
    changes: u64,
    callback: Option<Callback>,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            wanted: AtomicU32::new(0),
            due: AtomicU32::new(0),
            callback: Mutex::default(),
            changes: AtomicU64::new(0),
            turn: Mutex::default(),
            caller: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            waiters: Mutex::default(),
            enabled: AtomicU32::new(u32::MAX),
            above: None,
            has_data: AtomicBool::new(false),
        }
    }
}

impl Watch {
    /// That of a reader, whose data the watch of its subscriber is told of.
    pub(crate) fn below(above: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { above: Some(Arc::clone(above)), ..Self::default() })
    }

    /// True on the thread that is in the callback.
    pub(crate) fn is_calling(&self) -> bool {
        // Only what this thread itself has stored can be its number.
        self.caller.load(Relaxed) == this_thread()
    }

    /// Sets what `find` gives: the callback, and what it wants. Gives the one before, and whether there is one now. A call of the former
    /// one may still be in progress: see [`Watch::wait_for_call`]. Its end may be that of a listener, and of entities: no lock may be held.
    #[must_use = "it ends when nothing is locked"]
    pub(super) fn set_callback(
        &self,
        find: impl FnOnce() -> (StatusMask, Option<Callback>),
    ) -> (Option<Callback>, bool) {
        let former;
        let is_there;
        {
            // Found under the lock: of two threads that change listeners, the later one sees what both have set.
            let mut callback = lock(&self.callback);
            let (wanted, found) = find();
            is_there = found.is_some();
            self.wanted.store(if is_there { wanted.0 } else { 0 }, SeqCst);
            former = std::mem::replace(&mut *callback, found);
            self.changes.fetch_add(1, SeqCst);
        }
        (former, is_there)
    }

    /// Waits for a call in progress, unless that is where this is called from; then nothing is kept of a former callback.
    pub(super) fn wait_for_call(&self) {
        if !self.is_calling() {
            let former = self.former(&mut lock(&self.turn));
            drop(former);
        }
    }

    /// The callback that was called last, if it is not that any more.
    fn former(&self, turn: &mut Turn) -> Option<Callback> {
        if self.changes.load(SeqCst) == turn.changes { None } else { turn.callback.take() }
    }

    /// Statuses have changed, and no endpoint is locked.
    pub(crate) fn changed(self: &Arc<Self>, news: StatusMask, work: &mut Work) {
        let wanted = self.tell(news, work);
        if wanted != StatusMask::NONE {
            self.due.fetch_or(wanted.0, SeqCst);
            work.calls.push_back(Arc::clone(self));
        }
    }

    /// As [`Watch::changed`], where nothing at all is locked and `work` is looked after next: the callback may be called at once.
    pub(super) fn changed_last(self: &Arc<Self>, news: StatusMask, work: &mut Work) {
        let wanted = self.tell(news, work);
        if wanted != StatusMask::NONE && work.is_done() {
            self.call_for(wanted);
            work.set_time(None);
        } else if wanted != StatusMask::NONE {
            self.due.fetch_or(wanted.0, SeqCst);
            work.calls.push_back(Arc::clone(self));
        }
    }

    /// Tells waiting threads that statuses have changed, and gives those that the callback wants.
    fn tell(&self, news: StatusMask, work: &mut Work) -> StatusMask {
        if news == StatusMask::NONE {
            return news;
        }
        if news.intersects(StatusMask::DATA_AVAILABLE)
            && let Some(above) = &self.above
        {
            if !above.has_data() {
                above.has_data.store(true, SeqCst);
            }
            // Its callback comes before those of its readers (DDS 1.4, 2.2.4.2.2).
            above.changed(StatusMask::DATA_ON_READERS, work);
        }
        self.wake_waiters();
        news & StatusMask(self.wanted.load(SeqCst))
    }

    /// Wakes threads that wait for a condition of this entity.
    pub(crate) fn wake_waiters(&self) {
        if self.waiting.load(SeqCst) == 0 {
            return;
        }
        // Waking takes locks of the waiter alone.
        let wake = |waiter: &Weak<dyn Waiter>| waiter.upgrade()?.wake_later();
        let later: Vec<Waker> = lock(&self.waiters).iter().filter_map(wake).collect();
        later.into_iter().for_each(Waker::wake);
    }

    /// Calls the callback for these statuses, whether they have changed or not.
    pub(crate) fn notify(&self, statuses: StatusMask) {
        self.call_for(statuses);
    }

    /// As [`Watch::call`], and it is due for these.
    fn call_for(&self, statuses: StatusMask) {
        let turn = if self.is_calling() { None } else { try_lock(&self.turn) };
        match turn {
            Some(turn) => self.take_turn(turn, statuses),
            None => {
                self.due.fetch_or(statuses.0, SeqCst);
            }
        }
        self.call();
    }

    /// Calls the callback if it is due. A call in progress on another thread takes it over, and one further down on this thread.
    pub(crate) fn call(&self) {
        while self.due.load(SeqCst) != 0 && !self.is_calling() {
            let turn = try_lock(&self.turn).or_else(|| {
                // Who has it looks after letting go at what is due: either there, or it is seen here that it has let go.
                fence(SeqCst);
                try_lock(&self.turn)
            });
            let Some(turn) = turn else { return };
            self.take_turn(turn, StatusMask::NONE);
        }
    }

    /// Calls the callback for these statuses and those that are due.
    fn take_turn(&self, mut turn: MutexGuard<'_, Turn>, statuses: StatusMask) {
        let left = if self.due.load(SeqCst) == 0 { 0 } else { self.due.swap(0, SeqCst) };
        let before = self.former(&mut turn);
        if self.changes.load(SeqCst) != turn.changes {
            let callback = lock(&self.callback);
            *turn = Turn { changes: self.changes.load(SeqCst), callback: callback.clone() };
        }
        if let Some(callback) = &turn.callback {
            self.caller.store(this_thread(), Relaxed);
            // The panic message was printed; the entity goes on working.
            let _ = catch_unwind(AssertUnwindSafe(|| callback(StatusMask(statuses.0 | left))));
            self.caller.store(0, Relaxed);
        }
        let former = self.former(&mut turn);
        drop(turn);
        drop((before, former));
        // A thread that found the turn taken has said before what is due.
        fence(SeqCst);
    }

    /// The statuses that the entity's StatusCondition counts.
    pub(crate) fn enabled(&self) -> StatusMask {
        StatusMask(self.enabled.load(SeqCst))
    }

    pub(crate) fn set_enabled(&self, mask: StatusMask) {
        self.enabled.store(mask.0, SeqCst);
        self.wake_waiters();
    }

    /// Of a subscriber: whether a reader got data since `on_data_on_readers` was called.
    pub(crate) fn has_data(&self) -> bool {
        self.has_data.load(SeqCst)
    }

    /// Of a subscriber: its listener is called for the data of its readers.
    pub(crate) fn settle_data(&self) {
        self.has_data.store(false, SeqCst);
    }

    pub(crate) fn attach(&self, waiter: Weak<dyn Waiter>) {
        let mut waiters = lock(&self.waiters);
        waiters.retain(|known| known.strong_count() > 0);
        waiters.push(waiter);
        self.waiting.store(waiters.len(), SeqCst);
    }

    pub(crate) fn detach(&self, waiter: &Weak<dyn Waiter>) {
        let mut waiters = lock(&self.waiters);
        if let Some(index) = waiters.iter().position(|known| Weak::ptr_eq(known, waiter)) {
            waiters.swap_remove(index);
        }
        self.waiting.store(waiters.len(), SeqCst);
    }
}
