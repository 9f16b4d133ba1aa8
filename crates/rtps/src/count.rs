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
}

impl Count {
    /// True if a message with this count is to be read.
    pub(crate) fn is_new(&mut self, count: i32, now: Instant) -> bool {
        let is_new = match self.newest {
            None => true,
            Some((newest, at)) => {
                let behind = newest.wrapping_sub(count);
                !(0..=OLD).contains(&behind) || now.since(at) >= PATIENCE
            }
        };
        if is_new {
            self.newest = Some((count, now));
        }
        is_new
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
