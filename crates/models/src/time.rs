//! Time that stands still until a model lets it go on.
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::lock::{Order, Waiting};
use crate::thread_number;
use crate::trace::step;

/// The time of a model, in nanoseconds, and who has to be woken when.
#[derive(Debug, Default)]
struct Time {
    now: Cell<u64>,
    sleepers: RefCell<Vec<(u64, Arc<Waiting>)>>,
    /// What each thread has seen last.
    seen: RefCell<HashMap<u64, u64>>,
    order: Order,
}

thread_local! {
    /// All threads of a model run on one thread of the system.
    static TIME: RefCell<Option<Rc<Time>>> = const { RefCell::new(None) };
}

/// A new model begins, at 0.
pub(crate) fn begin() {
    TIME.set(Some(Rc::default()));
}

/// What the time is, in nanoseconds.
pub fn now() -> u64 {
    let time = time();
    time.order.matters();
    let now = time.now.get();
    time.seen.borrow_mut().insert(thread_number(), now);
    now
}

/// What the time was when the calling thread looked last: what it knows of it.
pub fn seen() -> u64 {
    time().seen.borrow().get(&thread_number()).copied().unwrap_or(0)
}

/// The time after a wait.
pub(crate) fn after(limit: Duration) -> u64 {
    now().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
}

/// Lets time go on until then: threads that sleep no longer than that wake.
#[track_caller]
pub fn advance(until: u64) {
    let time = time();
    time.order.matters();
    time.now.set(time.now.get().max(until));
    step("time goes on to", Some(until));
    let due = |(at, _): &mut (u64, Arc<Waiting>)| *at <= until;
    let late: Vec<_> = time.sleepers.borrow_mut().extract_if(.., due).collect();
    late.iter().for_each(|(_, waiting)| waiting.wake_late());
}

/// Wakes it at that time, unless another thread does before; never at the end of all times.
pub(crate) fn remind(at: u64, waiting: &Arc<Waiting>) {
    let time = time();
    time.order.matters();
    if at <= time.now.get() {
        return waiting.wake_late();
    }
    time.sleepers.borrow_mut().push((at, Arc::clone(waiting)));
}

/// What is done next comes before or after what time does.
pub(crate) fn matters() {
    time().order.matters();
}

fn time() -> Rc<Time> {
    TIME.with_borrow(Clone::clone).expect("time goes by in models only")
}
