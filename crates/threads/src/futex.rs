//! The kernel's side of the lock and of the bell: which threads wait, and for which owner. Models of this crate bring another module of this name (`tests/models`).
use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::lock::Refused;

/// As FUTEX_LOCK_PI, with a time of the monotonic clock: since Linux 5.14.
const LOCK_PI2: libc::c_int = 13;

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// The number by which the kernel knows the calling thread. It is asked for once: a process that forks must not use locks of before.
#[inline]
pub(crate) fn this_thread() -> u32 {
    match NUMBER.get() {
        0 => ask(),
        number => number,
    }
}

#[cold]
fn ask() -> u32 {
    // SAFETY: the call has no arguments and does not fail.
    let number = unsafe { libc::syscall(libc::SYS_gettid) };
    let number = u32::try_from(number).unwrap_or(0);
    NUMBER.set(number);
    number
}

/// Waits in the kernel until the word is the calling thread's, and lends its priority to the thread that it belongs to meanwhile.
pub(crate) fn lock(word: &AtomicU32, limit: Option<Duration>) -> Result<(), Refused> {
    let Some(limit) = limit else { return repeated(|| call(word, libc::FUTEX_LOCK_PI, None)) };
    let until = after(libc::CLOCK_MONOTONIC, limit);
    match repeated(|| call(word, LOCK_PI2, Some(&until))) {
        Err(Refused::System(libc::ENOSYS)) => {
            let until = after(libc::CLOCK_REALTIME, limit);
            repeated(|| call(word, libc::FUTEX_LOCK_PI, Some(&until)))
        }
        other => other,
    }
}

/// Gives the word to the most important of those that wait.
pub(crate) fn unlock(word: &AtomicU32) {
    // The kernel refuses only a thread that does not own the word.
    let _ = call(word, libc::FUTEX_UNLOCK_PI, None);
}

/// Sleeps as long as the word has this value, until [`wake`], a signal, or the end of the time.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(limit.subsec_nanos()),
    });
    let time = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time, if there is one, are valid during the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, time) };
}

/// Wakes the thread that sleeps on the word.
pub(crate) fn wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is valid during the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}

/// The owner can be about to end, and signals can come: then the kernel is asked again.
fn repeated(mut call: impl FnMut() -> Result<(), i32>) -> Result<(), Refused> {
    loop {
        return match call() {
            Ok(()) => Ok(()),
            Err(libc::EAGAIN | libc::EINTR) => continue,
            Err(libc::EDEADLK) => Err(Refused::Circle),
            Err(libc::ETIMEDOUT) => Err(Refused::Late),
            Err(libc::ESRCH) => Err(Refused::Abandoned),
            Err(other) => Err(Refused::System(other)),
        };
    }
}

fn call(word: &AtomicU32, operation: libc::c_int, until: Option<&libc::timespec>) -> Result<(), i32> {
    // SAFETY: the word and the time, if there is one, are valid during the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation | libc::FUTEX_PRIVATE_FLAG,
            0,
            until.map_or(ptr::null(), ptr::from_ref),
            ptr::null::<u32>(),
            0,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)) }
}

fn after(clock: libc::clockid_t, limit: Duration) -> libc::timespec {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the pointer is to a value that lives during the call, and all zeros is a `timespec` if it fails.
    let now = unsafe {
        libc::clock_gettime(clock, now.as_mut_ptr());
        now.assume_init()
    };
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0) + u64::from(limit.subsec_nanos());
    let seconds =
        libc::time_t::try_from(limit.as_secs() + nanos / 1_000_000_000).unwrap_or(libc::time_t::MAX);
    libc::timespec {
        tv_sec: now.tv_sec.saturating_add(seconds),
        tv_nsec: libc::c_long::try_from(nanos % 1_000_000_000).unwrap_or(0),
    }
}
