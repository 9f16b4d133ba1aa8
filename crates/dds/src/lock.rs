//! Locks that survive a panic: what a callback broke off is whole here, because no callback runs with a lock held.
use std::sync::PoisonError;

use crate::sync::{Mutex, MutexGuard};

/// Locks, whether a thread has panicked meanwhile or not.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], but gives up if another thread has it.
pub(crate) fn try_lock<T: ?Sized>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    use std::sync::TryLockError::{Poisoned, WouldBlock};
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(Poisoned(error)) => Some(error.into_inner()),
        Err(WouldBlock) => None,
    }
}
