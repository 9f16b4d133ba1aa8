//! What models of concurrent code run on: atomics, locks, condition variables, a futex and time, for every schedule of a few threads.
//!
//! A model includes the shipped file by `#[path]` and gives it these in the place of those of the standard library: see CONTRIBUTING.md.
//! `loom` runs the model once for each schedule and for each value that a load may see, up to a bound of preemptions. What it lacks is added here:
//!
//! - It takes `SeqCst` operations for `AcqRel` ones; only its fences are sequentially consistent. Here a `SeqCst` operation is a weaker one with
//!   a fence before it, or after it: both are ways to compile them, each is stronger than it has to be somewhere else, and code has to be correct with both.
//! - Its waits never end because of time. Here they do when a thread of the model calls [`time::advance`], and only then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub mod atomic;
pub mod futex;
mod lock;
pub mod time;
mod trace;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

pub use lock::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
pub use loom::cell::UnsafeCell;
pub use loom::thread;

use atomic::Fences;

/// Something that threads may do one after the other only, each seeing what the one before has done.
#[derive(Debug)]
pub struct Alone(std::sync::Mutex<UnsafeCell<()>>);

impl Alone {
    /// No thread has done it yet.
    pub fn new() -> Self {
        Self(std::sync::Mutex::new(UnsafeCell::new(())))
    }

    /// Does it.
    ///
    /// # Panics
    ///
    /// If another thread has done it, and nothing says that this was before.
    pub fn act(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).with_mut(|_| ());
    }
}

impl Default for Alone {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of the calling thread in its model, never 0.
pub fn thread_number() -> u64 {
    trace::number(thread::current().id())
}

/// Runs the model for each schedule of its threads that preempts one of them so often at most, whatever loads see then. Four threads beside
/// the calling one are possible.
///
/// # Panics
///
/// If the model panics, or if a schedule ends with all threads asleep; it prints what they did.
pub fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let model = Arc::new(model);
    for fences in [Fences::Before, Fences::After] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
        builder.max_branches = 10_000;
        let schedules = Arc::new(AtomicU64::new(0));
        let (count, model) = (Arc::clone(&schedules), Arc::clone(&model));
        let schedule = move || {
            count.fetch_add(1, Relaxed);
            trace::begin();
            atomic::set_fences(fences);
            time::begin();
            futex::begin();
            model();
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| builder.check(schedule))) {
            println!("schedule {}, fences {fences:?} operations", schedules.load(Relaxed));
            trace::print();
            resume_unwind(panic);
        }
        println!("{} schedules, fences {fences:?} operations", schedules.load(Relaxed));
    }
}
