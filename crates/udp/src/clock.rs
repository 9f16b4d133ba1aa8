//! The system's monotonic clock, as a number: to make an instant of the standard library of it and a number of that takes as long as the look.
use nix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment before the process began; the same clock as [`std::time::Instant`].
#[inline]
pub fn monotonic() -> u64 {
    // There is no system without this clock.
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).ok();
    let nanos = |seconds: i64, more: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(more);
    time.map_or(0, |time| nanos(time.tv_sec(), time.tv_nsec()).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn it_goes_as_the_standard_one() {
        let start = (Instant::now(), monotonic());
        std::thread::sleep(Duration::from_millis(2));
        let inner = Duration::from_nanos(monotonic() - start.1);
        let outer = start.0.elapsed();
        assert!(inner >= Duration::from_millis(2) && inner <= outer, "{inner:?} {outer:?}");
    }
}
