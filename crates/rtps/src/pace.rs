//! When the next message may begin along a flow, or the next datagram of an assured pair beside it (docs/decisions/0003-gate.md, "Senders").
use wire::{Duration, Instant};

/// Counts a separation from the moment when the call that sent a message has returned: then no frame of the next one can reach a
/// gate too early, whatever the scheduler does meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Least time from the return of a send call to the beginning of the next message; zero paces nothing.
    pub(crate) separation: Duration,
    /// A message was handed out, and is not confirmed yet to have left.
    leaving: bool,
    /// When the last one had left; `None` before the first.
    left_at: Option<Instant>,
    /// Since when a message waits.
    waits_since: Option<Instant>,
}

impl Pace {
    pub(crate) fn new(separation: Duration) -> Self {
        Self { separation, ..Self::default() }
    }

    /// It is `now`, after everything that was handed out has left.
    pub(crate) fn returned(&mut self, now: Instant) {
        if core::mem::take(&mut self.leaving) {
            self.left_at = Some(now);
        }
    }

    /// When the next message may begin.
    pub(crate) fn opens_at(&self) -> Instant {
        self.left_at.map_or(Instant::START, |left| left.after(self.separation))
    }

    /// True if a message may begin now; otherwise one waits from now on.
    pub(crate) fn may_begin(&mut self, now: Instant) -> bool {
        let may = now >= self.opens_at();
        if !may && self.waits_since.is_none() {
            self.waits_since = Some(now);
        }
        may
    }

    /// A message, or a part of it, is handed out; gives for how long it has waited, if it had to.
    pub(crate) fn hand_out(&mut self, now: Instant) -> Option<Duration> {
        self.leaving = true;
        self.waits_since.take().map(|since| now.since(since))
    }
}
