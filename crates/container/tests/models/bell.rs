//! What a bell promises: it stays rung until its thread has waited for it.
use std::time::Duration;

use models::{Condvar, Mutex};

pub(crate) struct Bell {
    is_rung: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    pub(crate) fn new() -> Self {
        Self { is_rung: Mutex::new(false), rung: Condvar::new() }
    }

    pub(crate) fn ring(&self) {
        *self.is_rung.lock().unwrap() = true;
        self.rung.notify_all();
    }

    /// Time stands still, so no limit ends it.
    pub(crate) fn wait(&self, _: impl FnMut() -> bool, _: impl FnOnce() -> Option<Duration>) -> bool {
        let mut is_rung = self.is_rung.lock().unwrap();
        while !*is_rung {
            is_rung = self.rung.wait(is_rung).unwrap();
        }
        std::mem::take(&mut *is_rung)
    }
}
