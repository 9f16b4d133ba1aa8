//! The threads of a channel: each takes for its lane, calls the handler, says that it is done, and sleeps until there is more.
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use channel::{Batch, ConsumerId, Dispatch, Worker};

use super::core::{Core, Served};
use crate::policy::Threads;
use crate::service::ServiceError;

/// How long the end of a channel waits for handlers that are at work.
const PATIENCE: Duration = Duration::from_secs(1);

/// A thread of a channel.
pub(super) struct Slot {
    pub(super) worker: Worker,
    pub(super) thread: Thread,
    handle: Option<JoinHandle<()>>,
    /// It sleeps, or is about to.
    is_idle: bool,
    /// It looks after the time, and wakes then at the latest.
    wakes_at: Option<u64>,
    /// It is no longer needed.
    pub(super) is_over: bool,
    /// The channel ends.
    ends: Arc<AtomicBool>,
}

/// Starts the threads that a consumer needs, if they are not there.
pub(super) fn start(
    core: &Core,
    dispatch: Dispatch,
    consumer: ConsumerId,
    name: &str,
) -> Result<(), ServiceError> {
    let policy = &core.container.policy;
    let (worker, threads) = match dispatch {
        Dispatch::Publisher => return Ok(()),
        Dispatch::Pool => (Worker::Pool, policy.pool.clone()),
        Dispatch::Deadline => (Worker::Deadline, policy.deadline.clone()),
        Dispatch::Own => (Worker::Own(consumer), Threads { count: 1, ..policy.own.clone() }),
        Dispatch::Lane(lane) => {
            let threads = policy.lanes.iter().find(|(number, _)| *number == lane);
            let container = core.container.name.clone();
            let (_, threads) = threads.ok_or(ServiceError::Lane { container, lane })?;
            (Worker::Lane(lane), threads.clone())
        }
    };
    let name = match worker {
        Worker::Own(_) => name.to_owned(),
        Worker::Lane(lane) => format!("{}-{lane}", core.container.name),
        Worker::Pool => format!("{}-pool", core.container.name),
        _ => format!("{}-edf", core.container.name),
    };
    let Some(me) = core.myself().map(|me| Arc::downgrade(&me)) else { return Ok(()) };
    let Some(mut inner) = core.lock() else { return Ok(()) };
    // Those that are over end by themselves.
    inner
        .slots
        .retain(|slot| !slot.is_over || slot.handle.as_ref().is_some_and(|handle| !handle.is_finished()));
    let there = inner.slots.iter().filter(|slot| slot.worker == worker).count();
    for _ in there..usize::from(threads.count.max(1)) {
        let (me, threads, thread_name) = (Weak::clone(&me), threads.clone(), name.clone());
        let reports = Arc::clone(&core.container.reports);
        let ends = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&ends);
        let run = move || {
            threads.settle(Some(&thread_name), &thread_name, &reports);
            work(&me, worker, &ended);
        };
        let started = thread::Builder::new().spawn(run);
        let handle = started.map_err(|error| ServiceError::Thread(format!("{name}: {error}")))?;
        let thread = handle.thread().clone();
        let (is_idle, is_over) = (false, false);
        let slot = Slot { worker, thread, handle: Some(handle), is_idle, wakes_at: None, is_over, ends };
        inner.slots.push(slot);
    }
    Ok(())
}

/// Serves a channel on the calling thread until the channel ends.
fn work(core: &Weak<Core>, worker: Worker, ends: &AtomicBool) {
    let mut batch = Batch::new();
    let mut taken: Option<(ConsumerId, Option<Arc<Served>>)> = None;
    while !ends.load(Acquire) {
        // Held only while something is done, so that the channel can end.
        let Some(core) = core.upgrade() else { return };
        let Some(mut inner) = core.lock() else { return };
        let now = core.clock().now();
        if let Some((consumer, served)) = taken.take() {
            inner.end(now, consumer, served.as_deref());
        }
        let this = thread::current().id();
        let next = inner.machine.take(now, worker, &mut batch);
        taken = next.map(|consumer| (consumer, inner.served(consumer)));
        let (mut kept_time, mut is_over) = (false, false);
        if let Some(slot) = inner.slots.iter_mut().find(|slot| slot.thread.id() == this) {
            slot.is_idle = taken.is_none();
            kept_time = slot.wakes_at.take().is_some();
            is_over = slot.is_over;
        }
        if is_over {
            return;
        }
        if taken.is_some() && has_idle(&inner.slots, worker) && inner.machine.has_work(worker) {
            wake(&mut inner.slots, worker);
        }
        core.heed(&mut inner);
        let next = inner.machine.next_tick();
        if let Some((_, served)) = &taken {
            if kept_time {
                hand_time_on(&mut inner.slots);
            }
            drop(inner);
            core.deliver(served.as_deref(), &batch);
            continue;
        }
        let is_kept = inner.slots.iter().any(|slot| slot.wakes_at.is_some());
        let mut wakes_at = None;
        if !is_kept && let Some(slot) = inner.slots.iter_mut().find(|slot| slot.thread.id() == this) {
            wakes_at = Some(next.unwrap_or(u64::MAX));
            slot.wakes_at = wakes_at;
        }
        drop(inner);
        crate::turn::run(|| {});
        drop(core);
        match wakes_at {
            Some(at) if at < u64::MAX => thread::park_timeout(Duration::from_nanos(at.saturating_sub(now))),
            _ => thread::park(),
        }
    }
}

fn has_idle(slots: &[Slot], worker: Worker) -> bool {
    slots.iter().any(|slot| slot.is_idle && slot.worker == worker)
}

/// Wakes a thread of this worker, if one sleeps.
pub(super) fn wake(slots: &mut [Slot], worker: Worker) {
    if let Some(slot) = slots.iter_mut().find(|slot| slot.is_idle && slot.worker == worker) {
        slot.is_idle = false;
        slot.thread.unpark();
    }
}

/// Wakes the worker that looks after the time if something is due sooner than it wakes.
pub(super) fn keep_time(slots: &mut [Slot], next: Option<u64>) {
    let Some(next) = next else { return };
    let keeper = slots.iter_mut().find(|slot| slot.wakes_at.is_some_and(|at| next < at));
    if let Some(keeper) = keeper {
        keeper.wakes_at = Some(next);
        keeper.thread.unpark();
    }
}

/// The worker that looked after the time has work: another one that sleeps does so from now on.
fn hand_time_on(slots: &mut [Slot]) {
    if let Some(slot) = slots.iter().find(|slot| slot.is_idle) {
        slot.thread.unpark();
    }
}

/// Ends threads. One whose handler does not end goes on until it does.
pub(super) fn stop(slots: Vec<Slot>) {
    for slot in &slots {
        slot.ends.store(true, Release);
        slot.thread.unpark();
    }
    let end = Instant::now() + PATIENCE;
    let this = thread::current().id();
    for slot in slots {
        let Some(handle) = slot.handle.filter(|handle| handle.thread().id() != this) else { continue };
        while !handle.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_micros(100));
        }
        if handle.is_finished() {
            // Handlers that panic are caught before.
            let _ = handle.join();
        }
    }
}
