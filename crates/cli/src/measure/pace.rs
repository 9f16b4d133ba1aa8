//! When samples are due.
use std::time::{Duration, Instant};

/// How many samples a second, or as many as possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rate {
    /// The next one when the one before is done.
    Max,
    /// Thousandths of a sample a second, above 0.
    MilliHertz(u64),
}

/// Fastest rate with a schedule: a sample each 100 ns.
const FASTEST: f64 = 10_000_000.0;

/// Reads a number of times a second: `100`, `0.5`, `20k` or `1M`.
pub(crate) fn per_second(text: &str) -> Option<f64> {
    let (digits, factor) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    digits.parse::<f64>().ok().map(|number| number * factor).filter(|rate| rate.is_finite())
}

impl Rate {
    /// Reads `max`, `100`, `0.5`, `20k` or `1M`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        match per_second(text) {
            Some(rate) if (0.001..=FASTEST).contains(&rate) =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "in range, see above"
                )]
                Ok(Self::MilliHertz((rate * 1e3).round() as u64))
            }
            _ => Err("give samples a second, 0.001 to 10M, as 100, 20k or 1M; or max".to_owned()),
        }
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Max => f.write_str("as fast as possible"),
            Self::MilliHertz(rate) if rate % 1000 == 0 => write!(f, "{} a second", rate / 1000),
            Self::MilliHertz(rate) => write!(f, "{}.{:03} a second", rate / 1000, rate % 1000),
        }
    }
}

/// Lets the calling thread wake as exactly as the kernel can: by default it sleeps up to 50 us longer, to wake less often.
pub(super) fn wake_exactly() {
    // Where it is not permitted, samples are sent a little late, which `since due` shows.
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// The times at which samples are due. They depend on the start and the rate alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    start: Instant,
    milli_hertz: u64,
    next: u64,
}

impl Schedule {
    /// The first sample is due at `start`. `None` for [`Rate::Max`].
    pub(crate) fn new(start: Instant, rate: Rate) -> Option<Self> {
        match rate {
            Rate::Max => None,
            Rate::MilliHertz(milli_hertz) => Some(Self { start, milli_hertz: milli_hertz.max(1), next: 0 }),
        }
    }

    /// When the next sample is due.
    pub(crate) fn due(&self) -> Instant {
        let nanos = u128::from(self.next) * 1_000_000_000_000 / u128::from(self.milli_hertz);
        self.start + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The next one was sent.
    pub(crate) const fn advance(&mut self) {
        self.next += 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, milli_hertz) in
            [("100", 100_000), ("0.5", 500), ("20k", 20_000_000), ("1M", 1_000_000_000)]
        {
            assert_eq!(Rate::parse(text), Ok(Rate::MilliHertz(milli_hertz)), "{text}");
        }
        assert_eq!(Rate::parse("max"), Ok(Rate::Max));
        for text in ["", "0", "-1", "11M", "NaN", "inf", "k", "ä"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_schedule_does_not_drift_and_does_not_wait_for_anybody() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, Rate::parse("3").unwrap()).unwrap();
        for _ in 0..3_000_000 {
            schedule.advance();
        }
        assert_eq!(schedule.due(), start + Duration::from_secs(1_000_000));
        schedule.advance();
        assert_eq!(schedule.due(), start + Duration::from_nanos(1_000_000_333_333_333));
        assert!(Schedule::new(start, Rate::Max).is_none());
    }
}
