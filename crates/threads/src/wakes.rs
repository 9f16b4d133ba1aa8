//! A thread that wakes again and again by the monotonic clock, and sees how late it does.
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

/// The monotonic clock of the system, in nanoseconds.
fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value that lives during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(now.tv_sec).saturating_mul(SECOND).saturating_add(part(now.tv_nsec))
}

fn sleep_until(due: u64) {
    let part = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let until = libc::timespec { tv_sec: part(due / SECOND), tv_nsec: part(due % SECOND) };
    loop {
        // SAFETY: the pointer is to a value that lives during the call, and none is needed for what is left of an absolute time.
        let code = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const until,
                std::ptr::null_mut(),
            )
        };
        if code != libc::EINTR {
            return;
        }
    }
}

/// Sleeps until an absolute time, a period after it woke the last time, again and again until `each` says `false`. `each` is told when the thread
/// was to wake and when it did, in nanoseconds of the monotonic clock. Between two wakes there is at least a period.
pub fn wakes(period: Duration, mut each: impl FnMut(u64, u64) -> bool) {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
    let mut due = monotonic().saturating_add(period);
    loop {
        sleep_until(due);
        let woke = monotonic();
        if !each(due, woke) {
            return;
        }
        due = woke.saturating_add(period);
    }
}
