//! Sleeping on a word. Models of this crate bring another module of this name (`tests/models`).
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps as long as the word has this value; signals and the end of the time end it too.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Duration) {
    let time = libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    };
    // SAFETY: the word and the time are valid during the call. Whatever it ends with, the caller looks at everything.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            &raw const time,
            ptr::null::<u32>(),
            0,
        )
    };
}

/// Wakes all that sleep on the word: were it one alone, another process could sleep there in its place.
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: the word is valid during the call. It fails only for memory that is none.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
