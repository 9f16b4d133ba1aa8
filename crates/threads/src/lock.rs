//! The lock: a word that is 0 or the number of the thread that holds it. Without a second thread the kernel is not asked.
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::futex;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{LEAST_LOOKS, MOST_LOOKS, pause};

/// The part of the word that is a thread's number; above it the kernel notes that others wait, and that the thread has ended.
const NUMBER: u32 = 0x3fff_ffff;

/// A lock that inherits priority. A panic of the thread that holds it frees it, and nothing is poisoned.
///
/// A thread that finds it held looks a few times more before it asks the kernel, about two microseconds at most, because a thread that runs on
/// another core often frees it sooner than the kernel could. It learns from lock to lock whether that helps: where the holder does not run, as
/// on the same core, it comes down to a third of a microsecond. Only then does the holder inherit the priority.
pub struct Lock<T: ?Sized> {
    word: AtomicU32,
    /// How many looks have helped lately. Every value is right.
    looks: AtomicU32,
    value: UnsafeCell<T>,
}

/// The calling thread, as locks know it. Who takes several locks asks once.
#[derive(Clone, Copy, Debug)]
pub struct This {
    number: u32,
    /// It means another thread on another thread.
    _stays: PhantomData<*const ()>,
}

impl This {
    /// The calling thread.
    #[inline]
    pub fn thread() -> Self {
        Self { number: futex::this_thread(), _stays: PhantomData }
    }
}

/// Holds a [`Lock`] as long as it lives.
pub struct Guard<'a, T: ?Sized> {
    lock: &'a Lock<T>,
    number: u32,
    /// The kernel takes a lock back only from the thread to which it gave it.
    _stays: PhantomData<*const ()>,
}

/// Why a lock cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The calling thread holds it.
    Mine,
    /// The thread that holds it waits for a lock that the calling thread holds, directly or by others.
    Circle,
    /// It was not free within the time.
    Late,
    /// The thread that held it has ended and left it so: its guard was leaked.
    Abandoned,
    /// The system refuses, with this number: it may have no locks that inherit priority.
    System(i32),
}

// SAFETY: the value goes to one thread at a time, as by `std::sync::Mutex`.
unsafe impl<T: ?Sized + Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Lock<T> {}
// SAFETY: a shared guard gives shared access to the value alone.
unsafe impl<T: ?Sized + Sync> Sync for Guard<'_, T> {}

impl<T> Lock<T> {
    /// A lock that is free.
    pub fn new(value: T) -> Self {
        Self { word: AtomicU32::new(0), looks: AtomicU32::new(MOST_LOOKS), value: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> Lock<T> {
    /// Waits until the calling thread has it.
    ///
    /// # Errors
    ///
    /// All of [`Refused`] except [`Refused::Late`].
    #[inline]
    pub fn lock(&self) -> Result<Guard<'_, T>, Refused> {
        self.lock_within(This::thread(), None)
    }

    /// The same, for so long at most.
    ///
    /// # Errors
    ///
    /// All of [`Refused`].
    #[inline]
    pub fn lock_for(&self, limit: Duration) -> Result<Guard<'_, T>, Refused> {
        self.lock_within(This::thread(), Some(limit))
    }

    /// The lock if it is free, for a caller that knows its thread.
    #[inline]
    pub fn try_lock_as(&self, this: This) -> Option<Guard<'_, T>> {
        let This { number, .. } = this;
        self.word.compare_exchange(0, number, Acquire, Relaxed).ok()?;
        Some(Guard { lock: self, number, _stays: PhantomData })
    }

    /// As [`Lock::lock_for`], for a caller that knows its thread.
    ///
    /// # Errors
    ///
    /// All of [`Refused`].
    #[inline]
    pub fn lock_as(&self, this: This, limit: Duration) -> Result<Guard<'_, T>, Refused> {
        self.lock_within(this, Some(limit))
    }

    /// The value: the exclusive borrow proves that no thread holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    #[inline]
    fn lock_within(&self, this: This, limit: Option<Duration>) -> Result<Guard<'_, T>, Refused> {
        let This { number, .. } = this;
        if let Err(held) = self.word.compare_exchange(0, number, Acquire, Relaxed) {
            self.wait(number, held, limit)?;
        }
        Ok(Guard { lock: self, number, _stays: PhantomData })
    }

    #[cold]
    fn wait(&self, number: u32, held: u32, limit: Option<Duration>) -> Result<(), Refused> {
        if held & NUMBER == number {
            return Err(Refused::Mine);
        }
        if self.look(number) { Ok(()) } else { futex::lock(&self.word, limit) }
    }

    /// Looks for a short time whether the lock is freed. Says whether the thread has it.
    fn look(&self, number: u32) -> bool {
        let helped = self.looks.load(Relaxed);
        for look in 0..helped.max(LEAST_LOOKS) {
            pause();
            match self.word.load(Relaxed) {
                0 => {
                    if self.word.compare_exchange(0, number, Acquire, Relaxed).is_ok() {
                        let wanted = (2 * look + LEAST_LOOKS).min(MOST_LOOKS);
                        self.looks.store((3 * helped + wanted) / 4, Relaxed);
                        return true;
                    }
                }
                // Others wait in the kernel already, or the thread that held it has ended.
                word if word & !NUMBER != 0 => return false,
                _ => {}
            }
        }
        self.looks.store(helped / 2, Relaxed);
        false
    }
}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only one, and lends its value no longer than itself.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Where other threads wait, the kernel chooses the next owner.
        if self.lock.word.compare_exchange(self.number, 0, Release, Relaxed).is_err() {
            futex::unlock(&self.lock.word);
        }
    }
}

impl<T: ?Sized> fmt::Debug for Lock<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Lock").field("held_by", &(self.word.load(Relaxed) & NUMBER)).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mine => out.write_str("this thread holds the lock already"),
            Self::Circle => out.write_str("threads wait for each other in a circle"),
            Self::Late => out.write_str("the lock was held for longer than the time that was given"),
            Self::Abandoned => out.write_str("the thread that held the lock has ended without freeing it"),
            Self::System(number) => write!(
                out,
                "the system has no lock that inherits priority (error {number}): Linux with CONFIG_FUTEX_PI is needed"
            ),
        }
    }
}

impl std::error::Error for Refused {}
