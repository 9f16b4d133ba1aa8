//! What wakes the thread that waits for conditions, whether it sleeps or receives.
use std::sync::{Arc, PoisonError};

use wire::{Duration, Instant};

use crate::host::Host;
use crate::lock::lock;
use crate::node::watch::Waiter;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::{AtomicU64, AtomicUsize};
use crate::sync::{Condvar, Mutex};

/// See the module.
#[derive(Default)]
pub(crate) struct Signal {
    /// Grows whenever a condition may have become true.
    generation: AtomicU64,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    condvar: Condvar,
    /// The host that the waiting thread receives for.
    led: Mutex<Option<Arc<dyn Host>>>,
}

impl Waiter for Signal {
    fn wake(&self) {
        self.generation.fetch_add(1, SeqCst);
        if self.sleepers.load(SeqCst) > 0 {
            // A thread that is about to sleep holds the lock until it does.
            drop(lock(&self.lock));
            self.condvar.notify_all();
        }
        let led = lock(&self.led).clone();
        if let Some(host) = led {
            host.interrupt();
        }
    }
}

impl Signal {
    /// How often a condition may have become true: looked at before the conditions are, and again to see whether something has changed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(SeqCst)
    }

    /// Receives for a host until something has `changed` or its clock says `until`; false if it does not let.
    pub(crate) fn receive(&self, host: Arc<dyn Host>, until: Instant, changed: &dyn Fn() -> bool) -> bool {
        *lock(&self.led) = Some(Arc::clone(&host));
        let led = changed() || host.receive(until, changed);
        *lock(&self.led) = None;
        led
    }

    /// Sleeps until something has `changed`, no longer than that.
    pub(crate) fn sleep(&self, left: Duration, changed: impl Fn() -> bool) {
        let left = std::time::Duration::from_nanos(u64::try_from(left.as_nanos()).unwrap_or(0));
        let guard = lock(&self.lock);
        self.sleepers.fetch_add(1, SeqCst);
        let slept = self.condvar.wait_timeout_while(guard, left, |()| !changed());
        self.sleepers.fetch_sub(1, SeqCst);
        drop(slept.unwrap_or_else(PoisonError::into_inner));
    }
}
