//! What a thread of a channel does until the channel ends: it takes for its lane, calls the handler, says that it is done, and sleeps until
//! there is more. Who wakes whom, and who looks after the time. Models run this file under every schedule (`tests/models`).
use std::sync::{Arc, Weak};
use std::time::Duration;

use channel::Worker;

use super::core::Core;
use super::hands::{AT_ONCE, Hands};
use crate::context::nanos;
use crate::policy::Threads;
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::Acquire;
use crate::sync::{Bell, JoinHandle, ThreadId, this_thread};

/// A thread of a channel.
pub(super) struct Slot {
    pub(super) worker: Worker,
    /// The thread waits for it.
    pub(super) bell: Arc<Bell>,
    pub(super) thread: ThreadId,
    pub(super) handle: Option<JoinHandle<()>>,
    /// It sleeps, or is about to.
    pub(super) is_idle: bool,
    /// It looks after the time, and wakes then at the latest.
    pub(super) wakes_at: Option<u64>,
    /// It is no longer needed.
    pub(super) is_over: bool,
    /// The channel ends.
    pub(super) ends: Arc<AtomicBool>,
}

/// Threads that are to be woken when this is dropped.
#[derive(Default)]
#[must_use]
pub(super) struct Wakes([Option<Arc<Bell>>; 2]);

impl Wakes {
    fn add(&mut self, bell: &Arc<Bell>) {
        match self.0.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(Arc::clone(bell)),
            // So many at once are few enough to be woken under the lock.
            None => bell.ring(),
        }
    }
}

impl Drop for Wakes {
    #[inline]
    fn drop(&mut self) {
        self.0.iter().flatten().for_each(|bell| bell.ring());
    }
}

/// Serves a channel on the calling thread until the channel ends.
pub(super) fn work(core: &Weak<Core>, worker: Worker, threads: &Threads, bell: &Bell, ends: &AtomicBool) {
    // Where several threads serve, each takes what it works on; and an earlier deadline goes before what is not begun.
    let is_alone = threads.count <= 1 && worker != Worker::Deadline;
    let most = if is_alone { AT_ONCE } else { 1 };
    let spin = nanos(threads.spin);
    let this = this_thread();
    let mut hands = Hands::default();
    // Until when it looks for work awake.
    let mut awake_until = 0;
    while !ends.load(Acquire) {
        // Held only while something is done, so that the channel can end.
        let Some(core) = core.upgrade() else { return };
        let Some(mut inner) = core.lock() else { return };
        let now = core.clock().now();
        if !hands.is_empty() {
            inner.end(now, &mut hands);
            awake_until = now.saturating_add(spin);
        }
        inner.take(now, worker, most, &mut hands);
        let (mut kept_time, mut is_over) = (false, false);
        if let Some(slot) = inner.slots.iter_mut().find(|slot| slot.thread == this) {
            slot.is_idle = hands.is_empty();
            kept_time = slot.wakes_at.take().is_some();
            is_over = slot.is_over;
        }
        if is_over {
            return;
        }
        let mut wakes = Wakes::default();
        if !is_alone && !hands.is_empty() && has_idle(&inner.slots, worker) && inner.machine.has_work(worker)
        {
            wake(&mut inner.slots, worker, &mut wakes);
        }
        let signalled = core.heed(&mut inner);
        let next = inner.machine.next_tick();
        if !hands.is_empty() {
            if kept_time {
                hand_time_on(&mut inner.slots);
            }
            drop(inner);
            drop((wakes, signalled));
            core.deliver(&mut hands);
            continue;
        }
        let is_kept = inner.slots.iter().any(|slot| slot.wakes_at.is_some());
        let mut wakes_at = u64::MAX;
        if !is_kept && let Some(slot) = inner.slots.iter_mut().find(|slot| slot.thread == this) {
            wakes_at = next.unwrap_or(u64::MAX);
            slot.wakes_at = Some(wakes_at);
        }
        drop(inner);
        drop((wakes, signalled));
        crate::turn::run(|| {});
        let clock = core.clock().clone();
        drop(core);
        let until = awake_until.min(wakes_at);
        let limit =
            || (wakes_at < u64::MAX).then(|| Duration::from_nanos(wakes_at.saturating_sub(clock.now())));
        // Whether it was rung or it is time: there may be something to do.
        let _ = bell.wait(|| until > now && clock.now() < until, limit);
    }
}

fn has_idle(slots: &[Slot], worker: Worker) -> bool {
    slots.iter().any(|slot| slot.is_idle && slot.worker == worker)
}

/// Wakes a thread of this worker, if one sleeps.
pub(super) fn wake(slots: &mut [Slot], worker: Worker, wakes: &mut Wakes) {
    if let Some(slot) = slots.iter_mut().find(|slot| slot.is_idle && slot.worker == worker) {
        slot.is_idle = false;
        wakes.add(&slot.bell);
    }
}

/// Wakes the worker that looks after the time if something is due sooner than it wakes.
pub(super) fn keep_time(slots: &mut [Slot], next: Option<u64>) {
    let Some(next) = next else { return };
    let keeper = slots.iter_mut().find(|slot| slot.wakes_at.is_some_and(|at| next < at));
    if let Some(keeper) = keeper {
        keeper.wakes_at = Some(next);
        keeper.bell.ring();
    }
}

/// The worker that looked after the time has work: another one that sleeps does so from now on.
fn hand_time_on(slots: &mut [Slot]) {
    if let Some(slot) = slots.iter().find(|slot| slot.is_idle) {
        slot.bell.ring();
    }
}
