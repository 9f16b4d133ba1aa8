//! The clock of emulated links: it stands still while the machine does, and catches up afterwards at twice the speed.
//!
//! A link of copper goes on while a program is not run. What a stall takes from an emulated link would stay in its queues for
//! as long as it takes to drain them, many times the stall if the link is loaded; so the link makes up for it at once.

/// Later than asked for by this much is a stall, in nanoseconds: less is the way from a timer to its thread.
const STALL: u64 = 50_000;
/// More than this is not made up for, in nanoseconds.
const MOST: u64 = 100_000_000;

/// The clock, in nanoseconds of the machine's monotonic clock, which it is never ahead of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkClock {
    real: u64,
    lag: u64,
}

impl LinkClock {
    /// A clock that shows the machine's time.
    pub(crate) const fn new(real: u64) -> Self {
        Self { real, lag: 0 }
    }

    /// What it shows.
    pub(crate) const fn now(&self) -> u64 {
        self.real.saturating_sub(self.lag)
    }

    /// How far it is behind the machine's clock.
    pub(crate) const fn lag(&self) -> u64 {
        self.lag
    }

    /// The machine's time is `real`, and whoever asks wanted to be run at `asked` at the latest.
    pub(crate) fn advance(&mut self, asked: Option<u64>, real: u64) {
        let real = real.max(self.real);
        let late = asked.map_or(0, |asked| real.saturating_sub(asked.max(self.real)));
        let stalled = if late > STALL { late } else { 0 };
        let ran = (real - self.real).saturating_sub(stalled);
        // While it is behind it shows two nanoseconds more for each one.
        self.lag = (self.lag.saturating_sub(ran)).saturating_add(stalled).min(MOST);
        self.real = real;
    }

    /// The machine's time when it will show `shown`, without further stalls.
    pub(crate) const fn when(&self, shown: u64) -> u64 {
        let ahead = shown.saturating_sub(self.now());
        let fast = self.lag.saturating_mul(2);
        let wait = if ahead <= fast { ahead.div_ceil(2) } else { ahead - self.lag };
        self.real.saturating_add(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000_000_000;
    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn it_shows_the_time_of_a_machine_that_runs_when_it_is_asked_to() {
        let mut clock = LinkClock::new(START);
        clock.advance(Some(START + MILLISECOND), START + MILLISECOND / 2);
        assert_eq!(clock.now(), START + MILLISECOND / 2);
        clock.advance(Some(START + MILLISECOND), START + MILLISECOND + STALL);
        assert_eq!(clock.now(), START + MILLISECOND + STALL);
        assert_eq!(clock.when(clock.now() + 7), clock.now() + 7);
        // Without an appointment there is nothing to be late for.
        clock.advance(None, START + 9 * MILLISECOND);
        assert_eq!(clock.now(), START + 9 * MILLISECOND);
    }

    #[test]
    fn it_stands_still_in_a_stall_and_catches_up_in_as_long_again() {
        let mut clock = LinkClock::new(START);
        clock.advance(Some(START + MILLISECOND), START + 3 * MILLISECOND);
        assert_eq!(clock.now(), START + MILLISECOND);
        assert_eq!(clock.when(START + 2 * MILLISECOND), START + 3 * MILLISECOND + MILLISECOND / 2);
        assert_eq!(clock.when(START + 5 * MILLISECOND), START + 5 * MILLISECOND);
        assert_eq!(clock.when(START + 6 * MILLISECOND), START + 6 * MILLISECOND);
        clock.advance(None, START + 4 * MILLISECOND);
        assert_eq!(clock.now(), START + 3 * MILLISECOND);
        clock.advance(None, START + 5 * MILLISECOND);
        assert_eq!(clock.now(), START + 5 * MILLISECOND);
    }

    #[test]
    fn it_never_goes_back_nor_ahead_of_the_machine() {
        let mut random = 9_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % 400_000
        };
        let mut clock = LinkClock::new(START);
        let mut real = START;
        for _ in 0..10_000 {
            let before = clock;
            let asked = real + next();
            real += next();
            let (wanted, expected) = (before.now() + next(), before);
            clock.advance(Some(asked), real);
            assert!(clock.now() >= before.now() && clock.now() <= real);
            // What was foretold for a machine without stalls is what comes, or later.
            let foretold = expected.when(wanted);
            if foretold <= asked && clock.now() >= wanted {
                assert!(real + STALL >= foretold, "{wanted} at {real}, foretold {foretold}");
            }
        }
    }
}
