//! A bell: one thread waits for it, awake for a while and then asleep, and others ring it.
use std::time::Duration;

use crate::futex;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::pause;

const QUIET: u32 = 0;
const RUNG: u32 = 1;
/// The thread sleeps, or is about to.
const ASLEEP: u32 = 2;

/// A bell that one thread waits for. It stays rung until that thread has waited for it, so none is missed; several rings are one. What was
/// done before it was rung is seen by the thread that waited.
#[derive(Debug)]
pub struct Bell(AtomicU32);

impl Bell {
    /// A bell that is not rung.
    pub fn new() -> Self {
        Self(AtomicU32::new(QUIET))
    }

    /// Rings it. Only if the other thread sleeps is the kernel asked.
    #[inline]
    pub fn ring(&self) {
        if self.0.swap(RUNG, Release) == ASLEEP {
            futex::wake(&self.0);
        }
    }

    /// Waits until it is rung. The thread stays awake, and looks again and again, as long as `stays_awake` says so; then it sleeps, for
    /// `limit` at most. Says whether it was rung: the thread may come back sooner.
    #[inline]
    pub fn wait(
        &self,
        mut stays_awake: impl FnMut() -> bool,
        limit: impl FnOnce() -> Option<Duration>,
    ) -> bool {
        while self.0.load(Relaxed) != RUNG {
            if !stays_awake() {
                if self.0.compare_exchange(QUIET, ASLEEP, Relaxed, Relaxed).is_ok() {
                    futex::wait(&self.0, ASLEEP, limit());
                }
                break;
            }
            pause();
        }
        self.0.swap(QUIET, Acquire) == RUNG
    }
}

impl Default for Bell {
    fn default() -> Self {
        Self::new()
    }
}
