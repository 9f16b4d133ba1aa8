//! Frames that a place has dropped, and when the operator is told of them.
use core::time::Duration;

/// The least time between two notes about frames that are dropped at the same place, or are missing there.
pub(crate) const PAUSE: Duration = Duration::from_secs(10);

/// The readings of a counter of dropped frames.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Dropped {
    counted: u64,
    told: u64,
    told_at: Option<Duration>,
}

impl Dropped {
    /// The counter shows so many frames: how many of them are to be told now. One that shows fewer than before counts anew.
    pub(crate) fn count(&mut self, now: Duration, frames: u64) -> Option<u64> {
        if frames < self.counted {
            self.told = frames;
        }
        self.counted = frames;
        let more = frames - self.told;
        if more == 0 || self.told_at.is_some_and(|at| now < at.saturating_add(PAUSE)) {
            return None;
        }
        (self.told_at, self.told) = (Some(now), frames);
        Some(more)
    }
}
