//! Items that models replace (`tests/models`).
pub(crate) use std::sync::atomic;
pub(crate) use std::thread::{JoinHandle, ThreadId};

pub(crate) use threads::Bell;

/// The calling thread.
pub(crate) fn this_thread() -> ThreadId {
    std::thread::current().id()
}
