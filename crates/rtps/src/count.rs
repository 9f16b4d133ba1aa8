//! Counts of HEARTBEAT, ACKNACK and NACK_FRAG: which message is newer (RTPS 2.5, 8.3.8.6.5).
use wire::{Duration, Instant};

/// A count this far behind the newest is old; one that is further behind shows that the newest was forged, or that the sender began anew.
const OLD: i32 = 1_000;
/// After this long without a newer one, any count is believed.
const PATIENCE: Duration = Duration::from_secs(1);

/// The newest count of one sender. Counts run around; a forged one mutes a sender for a second at most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    newest: Option<(i32, Instant)>,
    /// Which of the counts before the newest have come: the lowest bit is that of the one before it.
    seen: u32,
}

/// What a count says of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Age {
    /// Nothing later has come.
    New,
    /// It comes for the first time, after one that was sent a little later.
    Late,
    /// It has come before, or is too old.
    Old,
}

impl Count {
    /// True if a message with this count is to be read.
    pub(crate) fn is_new(&mut self, count: i32, now: Instant) -> bool {
        self.age(count, now) == Age::New
    }

    /// What is to be thought of a message with this count.
    pub(crate) fn age(&mut self, count: i32, now: Instant) -> Age {
        let Some((newest, at)) = self.newest else {
            (self.newest, self.seen) = (Some((count, now)), u32::MAX);
            return Age::New;
        };
        let behind = newest.wrapping_sub(count);
        if !(0..=OLD).contains(&behind) || now.since(at) >= PATIENCE {
            self.seen = match u32::try_from(behind.wrapping_neg()) {
                Ok(ahead @ 1..) => {
                    let newest_before = 1_u32.checked_shl(ahead - 1).unwrap_or(0);
                    self.seen.checked_shl(ahead).unwrap_or(0) | newest_before
                }
                _ => u32::MAX,
            };
            self.newest = Some((count, now));
            return Age::New;
        }
        let bit = u32::try_from(behind).ok().and_then(|behind| 1_u32.checked_shl(behind.checked_sub(1)?));
        let is_late = bit.is_some_and(|bit| self.seen & bit == 0);
        self.seen |= bit.unwrap_or(0);
        if is_late { Age::Late } else { Age::Old }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::START.after(Duration::from_millis(millis))
    }

    #[test]
    fn repeated_and_late_counts_are_old() {
        let mut count = Count::default();
        assert!(count.is_new(5, at(0)));
        assert!(!count.is_new(5, at(1)) && !count.is_new(4, at(1)));
        assert!(count.is_new(6, at(1)));
    }

    #[test]
    fn what_was_overtaken_is_late_once() {
        let mut count = Count::default();
        let ages = [5, 7, 6, 6, 4, 40, 39, 9, 8, 40].map(|value| count.age(value, at(0)));
        use Age::{Late, New, Old};
        assert_eq!(ages, [New, New, Late, Old, Old, New, Late, Late, Late, Old]);
        let ages = [80, 79, 47, 80].map(|value| count.age(value, at(0)));
        assert_eq!(ages, [New, Late, Old, Old]);
    }

    #[test]
    fn counts_run_around() {
        let mut count = Count::default();
        assert!(count.is_new(i32::MAX, at(0)) && count.is_new(i32::MIN, at(1)));
        assert!(!count.is_new(i32::MAX, at(2)));
    }

    #[test]
    fn a_forged_count_mutes_nobody_for_long() {
        let mut count = Count::default();
        assert!(count.is_new(5, at(0)) && count.is_new(i32::MAX, at(1)));
        assert!(count.is_new(6, at(2)));
        assert!(count.is_new(900, at(3)) && !count.is_new(7, at(4)));
        assert!(count.is_new(8, at(1_003)));
    }
}
