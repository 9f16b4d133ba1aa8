//! Whether a participant is still where it was: it is probed there, and what is doubted is believed if it does not answer.
use wire::{Duration, Instant};

use super::recent::Key;

/// Probes before silence is believed.
const TRIES: u8 = 3;
/// An answer to what was asked sooner after a goodbye may be the last word of a participant that leaves.
const LAST_WORDS: Duration = Duration::from_millis(20);
/// Time for an answer: four round trips, within these bounds; the upper one if none is known.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_millis(200);
/// After a goodbye a participant that answers is asked again after these times: it may take long to leave.
const AGAIN: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// What raises the doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// A goodbye in its name.
    Goodbye,
    /// Another one with the same name, at another address, that answers probes.
    Claim(Key),
    /// It has been silent for longer than the longest lease.
    Silence,
}

/// What is to be done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Nothing.
    Wait,
    /// A probe is to be sent.
    Ask,
    /// No probe was answered.
    Over,
}

#[derive(Debug)]
pub(super) struct Check {
    why: Why,
    wait: Duration,
    tries: u8,
    at: Instant,
    /// Since when probes count.
    since: Instant,
    /// How often it answered.
    rounds: usize,
}

impl Check {
    pub(super) fn new(now: Instant, why: Why, round_trip: Option<Duration>) -> Self {
        let wait = round_trip.map_or(LONGEST_WAIT, |time| time.saturating_add(time).saturating_add(time));
        let wait = wait.max(SHORTEST_WAIT).min(LONGEST_WAIT);
        let since = if why == Why::Goodbye { now.after(LAST_WORDS) } else { now };
        Self { why, wait, tries: 0, at: since, since, rounds: 0 }
    }

    pub(super) const fn why(&self) -> Why {
        self.why
    }

    pub(super) fn is_for_goodbye(&self) -> bool {
        self.why == Why::Goodbye
    }

    /// When there is something to do next.
    pub(super) const fn at(&self) -> Instant {
        self.at
    }

    /// No probe may be sent before then.
    pub(super) fn put_off(&mut self, until: Instant) {
        self.at = self.at.max(until);
    }

    /// Another goodbye: the rounds begin anew, the one under way goes on.
    pub(super) const fn again(&mut self) {
        self.rounds = 0;
    }

    /// A probe that was sent at `asked` was answered; false if that ends the doubt.
    pub(super) fn answered(&mut self, now: Instant, asked: Instant) -> bool {
        if asked < self.since {
            return true;
        }
        let later = AGAIN.get(self.rounds).filter(|_| self.why == Why::Goodbye);
        let Some(later) = later else { return false };
        self.rounds += 1;
        self.tries = 0;
        self.since = now.after(*later);
        self.at = self.since;
        true
    }

    pub(super) fn turn(&mut self, now: Instant) -> Turn {
        if now < self.at {
            return Turn::Wait;
        }
        if self.tries >= TRIES {
            return Turn::Over;
        }
        self.tries += 1;
        self.at = now.after(self.wait);
        Turn::Ask
    }
}
