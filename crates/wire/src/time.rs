//! Time: durations and wall-clock stamps of the wire, and the two clocks that every state machine is given.
//!
//! Inside, time is a count of nanoseconds in 64 bits; on the wire it is seconds and a fraction of 2^-32 s.
//! Every pair of wire words maps to some value here: sums saturate, nothing wraps and no loop depends on a value.

mod text;

use core::ops::Add;

pub use self::text::ParseDurationError;

const NANOS: i64 = 1_000_000_000;

/// A span of time in nanoseconds; `INFINITE` is longer than every other (DDS 1.4, 2.3.2; RTPS 2.5, 9.3.2.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Duration(i64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than every finite duration.
    pub const INFINITE: Self = Self(i64::MAX);

    /// From nanoseconds; negative values are kept (some peers send them) and compare below zero.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From microseconds, saturating at infinite.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// From milliseconds, saturating at infinite.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// From seconds, saturating at infinite.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS))
    }

    /// In nanoseconds; `i64::MAX` for infinite.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// True for `INFINITE`.
    pub const fn is_infinite(self) -> bool {
        self.0 == i64::MAX
    }

    /// Seconds and fraction of 2^-32 s (RTPS 2.5, 9.3.2.3). Infinite is 0x7fffffff, 0xffffffff.
    pub const fn to_wire(self) -> (i32, u32) {
        let secs = self.0.div_euclid(NANOS);
        if secs > i32::MAX as i64 || self.is_infinite() {
            return (i32::MAX, u32::MAX);
        }
        if secs < i32::MIN as i64 {
            return (i32::MIN, 0);
        }
        (secs as i32, fraction(self.0.rem_euclid(NANOS) as u64))
    }

    /// From seconds and fraction. The standard's infinite, and its older spelling 0x7fffffff, 0x7fffffff, are infinite.
    pub const fn from_wire(secs: i32, fraction: u32) -> Self {
        if secs == i32::MAX && fraction >= 0x7fff_ffff {
            return Self::INFINITE;
        }
        Self((secs as i64).saturating_mul(NANOS).saturating_add(nanos(fraction)))
    }

    /// The smaller span times `num / den`, rounded down; infinite stays infinite. `den` of zero counts as one.
    pub const fn scaled(self, num: u32, den: u32) -> Self {
        if self.is_infinite() {
            return self;
        }
        let den = if den == 0 { 1 } else { den };
        let value = (self.0 as i128 * num as i128) / den as i128;
        if value > i64::MAX as i128 { Self::INFINITE } else { Self(value as i64) }
    }

    /// Sum, saturating at infinite.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Sum, saturating at infinite.
impl Add for Duration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// What is longer than 2^63 - 2 nanoseconds (292 years) is infinite.
impl From<core::time::Duration> for Duration {
    fn from(span: core::time::Duration) -> Self {
        i64::try_from(span.as_nanos()).map_or(Self::INFINITE, Self)
    }
}

/// Infinite is the longest span that the other type has, [`core::time::Duration::MAX`]; what is below zero is zero.
impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> Self {
        if span.is_infinite() {
            return Self::MAX;
        }
        Self::from_nanos(u64::try_from(span.0).unwrap_or(0))
    }
}

/// A reading of the monotonic clock in nanoseconds from an unknown start. For timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The earliest instant.
    pub const START: Self = Self(0);
    /// Later than every reading of a clock.
    pub const NEVER: Self = Self(u64::MAX);

    /// From nanoseconds since the clock's start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// In nanoseconds since the clock's start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This instant moved by a duration; infinite gives `NEVER`.
    pub const fn after(self, duration: Duration) -> Self {
        if duration.is_infinite() {
            return Self::NEVER;
        }
        Self(self.0.saturating_add_signed(duration.0))
    }

    /// The time from `earlier` to here, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        let nanos = self.0.saturating_sub(earlier.0);
        if nanos > i64::MAX as u64 { Duration::INFINITE } else { Duration(nanos as i64) }
    }
}

/// A wall-clock time in nanoseconds since 1970-01-01 UTC (RTPS 2.5, 9.3.2.1). For source timestamps and LIFESPAN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From nanoseconds since 1970.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// In nanoseconds since 1970.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Seconds and fraction of 2^-32 s. Times outside of the wire's range (1970 to 2106) are moved to its ends.
    pub const fn to_wire(self) -> (u32, u32) {
        if self.0 < 0 {
            return (0, 0);
        }
        let secs = self.0 / NANOS;
        if secs > u32::MAX as i64 {
            // The two fractions after this one stand for invalid and infinite.
            return (u32::MAX, u32::MAX - 2);
        }
        (secs as u32, fraction((self.0 % NANOS) as u64))
    }

    /// From seconds and fraction; `None` for the invalid time (0xffffffff, 0xffffffff) and infinite (…, 0xfffffffe).
    pub const fn from_wire(secs: u32, fraction: u32) -> Option<Self> {
        if secs == u32::MAX && fraction >= u32::MAX - 1 {
            return None;
        }
        Some(Self((secs as i64) * NANOS + nanos(fraction)))
    }

    /// This time moved by a duration, saturating.
    pub const fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
}

/// What the clocks said when a call was made: timers use `monotonic`, stamps and LIFESPAN use `wall`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// Monotonic clock.
    pub monotonic: Instant,
    /// Wall clock.
    pub wall: Timestamp,
}

/// Nanoseconds below one second to 2^-32 s, such that `nanos` gives the same count back.
const fn fraction(nanos: u64) -> u32 {
    ((nanos << 32) / NANOS as u64) as u32
}

/// 2^-32 s to the nearest nanosecond. Peers round their fractions down or up: both give the nanoseconds that were meant, so
/// that equal durations of two vendors compare equal.
const fn nanos(fraction: u32) -> i64 {
    ((fraction as u64 * NANOS as u64 + (1 << 31)) >> 32) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_survive_the_wire() {
        for nanos in (0..NANOS).step_by(9973).chain([1, 999_999_999]) {
            let stamp = Timestamp::from_nanos(1_700_000_000 * NANOS + nanos);
            let (secs, fraction) = stamp.to_wire();
            assert_eq!(Timestamp::from_wire(secs, fraction), Some(stamp));
            let span = Duration::from_nanos(nanos);
            let (secs, fraction) = span.to_wire();
            assert_eq!(Duration::from_wire(secs, fraction), span);
        }
    }

    #[test]
    fn fractions_of_peers_that_round_up_mean_the_same() {
        assert_eq!(Duration::from_wire(0, 0x1999_9999), Duration::from_millis(100));
        assert_eq!(Duration::from_wire(0, 0x1999_999a), Duration::from_millis(100));
        assert_eq!(Duration::from_wire(0, u32::MAX), Duration::from_secs(1));
    }

    #[test]
    fn every_pair_of_words_has_a_value() {
        for secs in [i32::MIN, -1, 0, 1, i32::MAX] {
            for fraction in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX] {
                let span = Duration::from_wire(secs, fraction);
                assert!(span.to_wire().0 >= secs || span.is_infinite());
            }
        }
        assert!(Duration::from_wire(i32::MAX, u32::MAX).is_infinite());
        assert_eq!(Duration::INFINITE.to_wire(), (i32::MAX, u32::MAX));
        assert_eq!(Timestamp::from_wire(u32::MAX, u32::MAX), None);
    }

    #[test]
    fn the_last_second_survives_the_wire() {
        for fraction in [0, 1, 0x1000_00dd, u32::MAX - 2] {
            let stamp = Timestamp::from_wire(u32::MAX, fraction).unwrap();
            let (secs, fraction) = stamp.to_wire();
            assert_eq!(Timestamp::from_wire(secs, fraction), Some(stamp));
        }
        assert_eq!(Timestamp::from_nanos(i64::MAX).to_wire(), (u32::MAX, u32::MAX - 2));
    }

    #[test]
    fn spans_of_the_standard_library_and_back() {
        use core::time::Duration as Span;
        for nanos in [0, 1, NANOS, i64::MAX - 1] {
            let (ours, theirs) = (Duration::from_nanos(nanos), Span::from_nanos(nanos as u64));
            assert_eq!((Duration::from(theirs), Span::from(ours)), (ours, theirs));
        }
        assert_eq!(Duration::from(Span::from_nanos(1 << 63)), Duration::INFINITE);
        assert_eq!(Duration::from(Span::MAX), Duration::INFINITE);
        assert_eq!(Span::from(Duration::INFINITE), Span::MAX);
        assert_eq!(Span::from(Duration::from_nanos(-1)), Span::ZERO);
        assert_eq!(Duration::INFINITE + Duration::from_nanos(1), Duration::INFINITE);
    }

    #[test]
    fn sums_saturate() {
        assert_eq!(Instant::from_nanos(5).after(Duration::INFINITE), Instant::NEVER);
        assert_eq!(Instant::from_nanos(5).after(Duration::from_nanos(-9)), Instant::START);
        assert_eq!(Duration::from_secs(i64::MAX), Duration::INFINITE);
        assert_eq!(Duration::INFINITE.scaled(1, 2), Duration::INFINITE);
        assert_eq!(Duration::from_secs(10).scaled(4, 5), Duration::from_secs(8));
    }
}
