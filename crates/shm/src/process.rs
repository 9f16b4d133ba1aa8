//! Which process this is. After a fork without exec parent and child hold the same sockets and the same shared memory, but the threads are
//! the parent's alone: the child must leave all of it as it is.
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// How many forks lie between this process and the first one that asked.
static FORKS: AtomicU64 = AtomicU64::new(0);
static WATCHED: AtomicBool = AtomicBool::new(false);

/// A process, told apart from those that were forked from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process(u64);

impl Process {
    /// The calling process. Forks by `fork(2)` of the C library are noticed from now on; a raw system call `clone` is not.
    pub fn current() -> Self {
        if !WATCHED.swap(true, Relaxed) {
            // SAFETY: the handler only increments an atomic, which is allowed after a fork. Refused for lack of memory, forks are
            // not noticed.
            unsafe { libc::pthread_atfork(None, None, Some(on_fork)) };
        }
        Self(FORKS.load(Relaxed))
    }

    /// False in a process that was forked from this one: two loads and a comparison.
    #[inline]
    pub fn is_current(self) -> bool {
        self.0 == FORKS.load(Relaxed)
    }
}

unsafe extern "C" fn on_fork() {
    FORKS.fetch_add(1, Relaxed);
}
