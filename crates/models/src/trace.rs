//! What the threads of a model have done, for people who look for the cause of a failure.
use std::cell::RefCell;
use std::panic::Location;

use loom::thread::{ThreadId, current};

/// One operation.
struct Step {
    thread: ThreadId,
    place: &'static Location<'static>,
    what: &'static str,
    value: Option<u64>,
}

thread_local! {
    /// All threads of a model run on one thread of the system.
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

thread_local! {
    /// Threads of the model, in the order in which they were asked for their numbers.
    static THREADS: RefCell<Vec<ThreadId>> = const { RefCell::new(Vec::new()) };
}

/// The place of a thread among those of its model, from 1 on.
pub(crate) fn number(thread: ThreadId) -> u64 {
    THREADS.with_borrow_mut(|threads| {
        let place = threads.iter().position(|other| *other == thread).unwrap_or_else(|| {
            threads.push(thread);
            threads.len() - 1
        });
        place as u64 + 1
    })
}

/// A schedule begins.
pub(crate) fn begin() {
    THREADS.with_borrow_mut(Vec::clear);
    STEPS.with_borrow_mut(Vec::clear);
}

/// The calling thread has done this where the caller was called.
#[track_caller]
pub(crate) fn step(what: &'static str, value: Option<u64>) {
    let step = Step { thread: current().id(), place: Location::caller(), what, value };
    STEPS.with_borrow_mut(|steps| steps.push(step));
}

/// Prints the steps of the schedule that has failed.
pub(crate) fn print() {
    STEPS.with_borrow(|steps| {
        for Step { thread, place, what, value } in steps {
            let value = value.map_or_else(String::new, |value| format!(" {value:#x}"));
            eprintln!("{thread:?} {}:{}: {what}{value}", place.file(), place.line());
        }
    });
}
