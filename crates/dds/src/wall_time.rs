//! Times of the wall clock as the standard library has them, and as samples carry them.
use std::time::{SystemTime, UNIX_EPOCH};

use wire::Timestamp;

/// A time of the wall clock: [`Timestamp`] or [`SystemTime`], each of which becomes the other. (It is a trait because neither type is of
/// this crate: the crate that `Timestamp` is of knows no clock.)
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use dds::{Timestamp, WallTime};
///
/// let time = UNIX_EPOCH + Duration::from_millis(1_500);
/// assert_eq!(time.to_timestamp(), Timestamp::from_nanos(1_500_000_000));
/// assert_eq!(time.to_timestamp().to_system_time(), time);
/// ```
pub trait WallTime: Copy {
    /// In nanoseconds since 1970; what is farther away than 2^63 of them (292 years) is moved there.
    fn to_timestamp(self) -> Timestamp;

    /// As the standard library has it. All timestamps have one.
    fn to_system_time(self) -> SystemTime;
}

impl WallTime for Timestamp {
    fn to_timestamp(self) -> Timestamp {
        self
    }

    fn to_system_time(self) -> SystemTime {
        let span = std::time::Duration::from_nanos(self.as_nanos().unsigned_abs());
        let time =
            if self.as_nanos() < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
        time.unwrap_or(UNIX_EPOCH)
    }
}

impl WallTime for SystemTime {
    fn to_timestamp(self) -> Timestamp {
        Timestamp::from_nanos(match self.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
        })
    }

    fn to_system_time(self) -> SystemTime {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were_on_both_sides_of_1970() {
        for nanos in [i64::MIN, -1_500_000_001, -1, 0, 1, 1_800_000_000_123_456_789, i64::MAX] {
            let time = Timestamp::from_nanos(nanos);
            assert_eq!(time.to_system_time().to_timestamp(), time, "{nanos}");
        }
        let late = UNIX_EPOCH + std::time::Duration::from_secs(1 << 40);
        assert_eq!(late.to_timestamp(), Timestamp::from_nanos(i64::MAX));
        let early = UNIX_EPOCH - std::time::Duration::from_secs(1 << 40);
        assert_eq!(early.to_timestamp(), Timestamp::from_nanos(i64::MIN));
    }
}
