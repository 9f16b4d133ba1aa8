//! The threads of a channel: started for consumers, and ended.
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use channel::{ConsumerId, Dispatch, Worker};
use threads::Bell;

use super::core::Core;
use super::duty::{Slot, work};
use crate::policy::Threads;
use crate::service::ServiceError;

/// How long the end of a channel waits for handlers that are at work.
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts the threads that a consumer needs, if they are not there.
pub(super) fn start(
    core: &Core,
    dispatch: Dispatch,
    threads: Threads,
    consumer: ConsumerId,
    name: &str,
) -> Result<(), ServiceError> {
    let worker = match dispatch {
        Dispatch::Publisher => return Ok(()),
        Dispatch::Pool => Worker::Pool,
        Dispatch::Deadline => Worker::Deadline,
        Dispatch::Own => Worker::Own(consumer),
        Dispatch::Lane(lane) => Worker::Lane(lane),
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
        let bell = Arc::new(Bell::new());
        let (ended, its_bell) = (Arc::clone(&ends), Arc::clone(&bell));
        let run = move || {
            threads.settle(Some(&thread_name), &thread_name, &reports);
            work(&me, worker, &threads, &its_bell, &ended);
        };
        let started = thread::Builder::new().spawn(run);
        let handle = started.map_err(|error| ServiceError::Thread(format!("{name}: {error}")))?;
        let thread = handle.thread().id();
        let (is_idle, is_over) = (false, false);
        let handle = Some(handle);
        let slot = Slot { worker, bell, thread, handle, is_idle, wakes_at: None, is_over, ends };
        inner.slots.push(slot);
    }
    Ok(())
}

/// Ends threads. One whose handler does not end goes on until it does.
pub(super) fn stop(slots: Vec<Slot>) {
    for slot in &slots {
        slot.ends.store(true, Release);
        slot.bell.ring();
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
