//! How many periods of DEADLINE have passed without a sample, worked out from when samples were seen.
use wire::{Duration, Instant};

/// The periods of one instance at one endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Periods {
    /// When the period that runs began, if one does.
    since: Option<Instant>,
    /// Periods that are over: certainly, and at most. A sample at the very moment of the end may count for either.
    least: u64,
    most: u64,
    /// What was before the last change.
    before: Option<(Option<Instant>, u64, u64)>,
}

impl Periods {
    /// A sample: a new period begins.
    pub(super) fn begin(&mut self, now: Instant, millis: i64) {
        self.end(now, millis);
        self.since = Some(now);
    }

    /// The instance is not alive any more.
    pub(super) fn end(&mut self, now: Instant, millis: i64) {
        self.before = Some((self.since, self.least, self.most));
        (self.least, self.most) = self.missed(now, millis);
        self.since = None;
    }

    /// The last change was not made.
    pub(super) fn undo(&mut self) {
        if let Some((since, least, most)) = self.before.take() {
            (self.since, self.least, self.most) = (since, least, most);
        }
    }

    /// Periods missed until now: at least and at most.
    pub(super) fn missed(&self, now: Instant, millis: i64) -> (u64, u64) {
        let Some(since) = self.since else { return (self.least, self.most) };
        let period = Duration::from_millis(millis).as_nanos().max(1);
        let passed = now.since(since).as_nanos();
        let whole = (passed / period) as u64;
        let exact = u64::from(whole > 0 && passed % period == 0);
        (self.least + whole - exact, self.most + whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_pass_between_samples_and_not_after_the_end() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut periods = Periods::default();
        periods.begin(at(0), 10);
        assert_eq!(periods.missed(at(9), 10), (0, 0));
        assert_eq!(periods.missed(at(10), 10), (0, 1));
        periods.begin(at(35), 10);
        assert_eq!(periods.missed(at(36), 10), (3, 3));
        periods.end(at(46), 10);
        assert_eq!(periods.missed(at(900), 10), (4, 4));
        periods.undo();
        assert_eq!(periods.missed(at(56), 10), (5, 5));
    }
}
