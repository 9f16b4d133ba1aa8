//! What two clocks can say about one-way times.
//!
//! A datagram takes some time, and never less than none: what was sent at `a` by one clock and received at `b` by the other says
//! that the other clock is at most `b - a` ahead; the way back bounds it from below. The narrowest of all exchanges leaves an
//! interval in which the difference of the clocks is; half of its width is the clock error of every one-way time.
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime};

/// The time of day in nanoseconds since 1970.
pub(super) fn wall() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A number that two processes share if they read the same clock: that of one running kernel. 0 if it is not known.
pub(super) fn identity() -> u64 {
    match std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) => {
            let mut hasher = DefaultHasher::new();
            id.trim().hash(&mut hasher);
            hasher.finish().max(1)
        }
        Err(_) => 0,
    }
}

/// The times of one exchange, in nanoseconds: sent and back by our clock, received and answered by the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) sent: i64,
    pub(super) received: i64,
    pub(super) answered: i64,
    pub(super) back: i64,
}

/// How far the other clock is ahead of ours: at least, at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offset {
    least: i64,
    most: i64,
}

impl Offset {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self { least: i64::MIN, most: i64::MAX };

    /// One more exchange says something.
    pub(super) fn narrow(&mut self, exchange: &Exchange) {
        self.least = self.least.max(exchange.answered.saturating_sub(exchange.back));
        self.most = self.most.min(exchange.received.saturating_sub(exchange.sent));
    }

    /// The middle and the error; `None` if nothing is known, or if the clocks ran apart meanwhile so that no difference fits.
    pub(super) fn known(&self) -> Option<(i64, Duration)> {
        if *self == Self::UNKNOWN || self.least > self.most {
            return None;
        }
        let width = self.most.saturating_sub(self.least);
        let error = Duration::from_nanos(u64::try_from(width - width / 2).unwrap_or(u64::MAX));
        Some((self.least.saturating_add(width / 2), error))
    }
}

impl Exchange {
    /// The times there and back if the other clock is so far ahead. Less than nothing, which only the clock error explains, is nothing.
    pub(super) fn one_way(&self, ahead: i64) -> [Duration; 2] {
        let positive = |nanos: i64| Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        let there = self.received.saturating_sub(self.sent).saturating_sub(ahead);
        let back = self.back.saturating_sub(self.answered).saturating_add(ahead);
        [positive(there), positive(back)]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Ours is at `at`; the other is `ahead`; these are the times there, at the other, and back.
    fn exchange(at: i64, ahead: i64, [there, rest, back]: [i64; 3]) -> Exchange {
        let received = at + there + ahead;
        Exchange { sent: at, received, answered: received + rest, back: at + there + rest + back }
    }

    #[test]
    fn the_true_difference_is_always_within_the_error() {
        for ahead in [-1_000_000, 0, 77_777] {
            let mut offset = Offset::UNKNOWN;
            assert_eq!(offset.known(), None);
            for (number, times) in [[900, 5, 100], [120, 5, 2_000], [150, 9, 160]].into_iter().enumerate() {
                offset.narrow(&exchange(i64::try_from(number).unwrap() * 10_000, ahead, times));
                let (middle, error) = offset.known().unwrap();
                assert!((middle - ahead).abs() <= i64::try_from(error.as_nanos()).unwrap());
            }
            // The shortest way there was 120, the shortest back 100.
            assert_eq!(offset.known().unwrap().1, Duration::from_nanos(110));
        }
    }

    #[test]
    fn clocks_that_run_apart_are_noticed() {
        let mut offset = Offset::UNKNOWN;
        offset.narrow(&exchange(0, 0, [100, 5, 100]));
        offset.narrow(&exchange(0, 5_000, [100, 5, 100]));
        assert_eq!(offset.known(), None);
    }

    #[test]
    fn one_way_times_add_up_to_the_round_trip() {
        let exchange = exchange(50, 1_000, [300, 20, 200]);
        assert_eq!(exchange.one_way(1_000), [Duration::from_nanos(300), Duration::from_nanos(200)]);
        assert_eq!(exchange.one_way(5_000)[0], Duration::ZERO);
    }

    #[test]
    fn this_process_shares_its_clock_with_itself() {
        assert_eq!(identity(), identity());
        assert!(wall() > 1_600_000_000_000_000_000);
    }
}
