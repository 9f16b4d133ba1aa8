//! The clocks of the host, read without a system call.
//!
//! The system keeps its wall clock as a distance to the monotonic one, which it slews along with it; only setting the clock changes
//! the distance. So a look at the monotonic clock gives both, and the distance is looked at anew each millisecond: a clock that was set is
//! noticed as late as that.
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, SystemTime};

use wire::{Now, Timestamp};

/// How far the wall clock is from ours, and until when that is believed.
static DISTANCE: AtomicI64 = AtomicI64::new(0);
static BELIEVED_UNTIL: AtomicU64 = AtomicU64::new(0);
static MEASURED: Mutex<Option<Distance>> = Mutex::new(None);

/// How long a distance is believed, in nanoseconds.
const BELIEVED: u64 = 1_000_000;
/// Between the two clocks a thread may lose its core: then they are looked at again, this often.
const TRIES: usize = 4;
/// Nanoseconds between two looks at one clock with the other in between, if nothing comes in between.
const UNDISTURBED: u64 = 1_000;

/// How far the wall clock is from the monotonic one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Distance {
    nanos: i64,
    /// It may be more or less by this.
    doubt: u64,
}

impl Distance {
    /// The wall clock showed `wall` when the monotonic one showed something from `before` to `after`.
    fn measured(before: u64, wall: i64, after: u64) -> Self {
        let doubt = after.saturating_sub(before) / 2;
        let middle = i64::try_from(before.saturating_add(doubt)).unwrap_or(i64::MAX);
        Self { nanos: wall.saturating_sub(middle), doubt: doubt.saturating_add(1) }
    }

    /// What holds after a further look: the same, unless the clock was set or is known much better now. Times that are read one after the
    /// other are in order for that reason.
    fn corrected(self, seen: Self) -> Self {
        let set = self.nanos.abs_diff(seen.nanos) > self.doubt.saturating_add(seen.doubt);
        if set || seen.doubt < self.doubt / 4 { seen } else { self }
    }
}

/// Both clocks.
pub(super) fn now() -> Now {
    let monotonic = monotonic();
    let nanos = monotonic.as_nanos();
    let distance = if nanos < BELIEVED_UNTIL.load(Acquire) { DISTANCE.load(Relaxed) } else { look(nanos) };
    Now { monotonic, wall: Timestamp::from_nanos(distance.saturating_add_unsigned(nanos)) }
}

/// Looks at the wall clock: its distance.
fn look(now: u64) -> i64 {
    let mut seen = measure();
    for _ in 1..TRIES {
        if seen.doubt <= UNDISTURBED {
            break;
        }
        let again = measure();
        seen = if again.doubt < seen.doubt { again } else { seen };
    }
    let mut measured = match MEASURED.try_lock() {
        Ok(measured) => measured,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        // Another thread is at it.
        Err(TryLockError::WouldBlock) => return seen.nanos,
    };
    let distance = measured.map_or(seen, |known| known.corrected(seen));
    *measured = Some(distance);
    DISTANCE.store(distance.nanos, Relaxed);
    BELIEVED_UNTIL.store(now.saturating_add(BELIEVED), Release);
    distance.nanos
}

fn measure() -> Distance {
    let before = monotonic().as_nanos();
    let wall = timestamp(SystemTime::now()).as_nanos();
    Distance::measured(before, wall, monotonic().as_nanos())
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
    wire::Instant::from_nanos(udp::monotonic())
}

/// The time from now until `at`, zero if it has passed; `None` for never.
pub(super) fn until(at: wire::Instant) -> Option<Duration> {
    let nanos = at.as_nanos().saturating_sub(monotonic().as_nanos());
    (at != wire::Instant::NEVER).then(|| Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_stays_until_the_clock_is_set() {
        let first = Distance::measured(1_000, 5_000_000, 1_100);
        assert_eq!(first, Distance { nanos: 4_998_950, doubt: 51 });
        // Within the doubt of both.
        assert_eq!(first.corrected(Distance::measured(2_000, 5_001_080, 2_100)), first);
        // A thread that lost its core in between knows too little to contradict.
        assert_eq!(first.corrected(Distance::measured(2_000, 5_001_000, 9_000)), first);
        for by in [-1_000_000, -500, 500, 1_000_000] {
            let set = Distance::measured(2_000, 5_001_000 + by, 2_100);
            assert_eq!(first.corrected(set), set);
        }
        let vague = Distance::measured(1_000, 5_000_000, 9_000);
        assert_eq!(vague.corrected(first), first);
    }

    #[test]
    fn both_clocks_are_those_of_the_system() {
        for _ in 0..1_000 {
            let before = timestamp(SystemTime::now());
            let first = now();
            let second = now();
            let after = timestamp(SystemTime::now());
            assert!(first.monotonic <= second.monotonic && first.wall <= second.wall);
            let doubt = i64::try_from(MEASURED.lock().unwrap().unwrap().doubt).unwrap();
            // Unless the clock of the machine is set meanwhile.
            assert!(first.wall.as_nanos() + doubt + 1 >= before.as_nanos(), "{first:?} {before:?}");
            assert!(second.wall.as_nanos() <= after.as_nanos() + doubt + 1, "{second:?} {after:?}");
        }
    }
}
