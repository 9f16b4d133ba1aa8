//! The clocks of the host, read without a system call.
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use wire::{Now, Timestamp};

/// When the process first asked; all drivers count from there.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Both clocks.
pub(super) fn now() -> Now {
    Now { monotonic: monotonic(), wall: timestamp(SystemTime::now()) }
}

/// A time of the wall clock as we count it.
pub(super) fn timestamp(time: SystemTime) -> Timestamp {
    let wall = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    };
    Timestamp::from_nanos(wall)
}

/// The monotonic one.
pub(super) fn monotonic() -> wire::Instant {
    wire::Instant::from_nanos(u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// The time from now until `at`, zero if it has passed; `None` for never.
pub(super) fn until(at: wire::Instant) -> Option<Duration> {
    let nanos = at.as_nanos().saturating_sub(monotonic().as_nanos());
    (at != wire::Instant::NEVER).then(|| Duration::from_nanos(nanos))
}
