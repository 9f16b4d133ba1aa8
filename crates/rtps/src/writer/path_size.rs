//! How large a datagram the path to a reader carries, found out in the manner of RFC 8899 (DPLPMTUD).
//!
//! A path may swallow datagrams that fit the interface, without a word. That shows when a reader answers, but what is repeated to it
//! in large datagrams never comes: then smaller ones are tried. Later a HEARTBEAT that is padded asks whether larger ones pass again.
use wire::{Duration, Instant};

use crate::path::Path;

/// UDP payloads over IPv4: loopback, jumbo frames, Ethernet, the least MTU of IPv6 (1,280), the least that each host takes (576), and the
/// least that is used.
const SIZES: [u32; 7] =
    [Path::MAX_DATAGRAM, 16_384, 8_972, Path::ETHERNET_DATAGRAM, 1_232, 548, Path::MIN_DATAGRAM];
/// Repetitions in vain, and the time since the first of them, before smaller datagrams are tried.
const ROUNDS: u32 = 4;
const PATIENCE: Duration = Duration::from_millis(300);
/// As `PATIENCE`, for each size after the first.
const STEP: Duration = Duration::from_millis(60);
/// Wait before larger datagrams are tried again; doubles each time that was in vain (RFC 8899, 5.1.1: PMTU_RAISE_TIMER).
const RAISE: Duration = Duration::from_secs(60);
const LONGEST_RAISE: Duration = Duration::from_secs(600);
/// Wait for the answer to a probe, and how many are sent (RFC 8899, 5.1.2: MAX_PROBES).
const ANSWER: Duration = Duration::from_millis(250);
const PROBES: u32 = 3;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSize {
    /// What the interfaces carry.
    full: u32,
    /// What is used.
    limit: u32,
    /// Repetitions since something of the reader's was news, and since when.
    rounds: u32,
    since: Instant,
    /// The largest datagram among them.
    largest: u32,
    /// When larger ones are tried again, or the answer to a probe is overdue.
    raise_at: Instant,
    raise_wait: Duration,
    /// The size of a probe that is under way.
    probe: Option<u32>,
    probes: u32,
}

impl PathSize {
    pub(super) const fn new(full: u32) -> Self {
        Self {
            full,
            limit: full,
            rounds: 0,
            since: Instant::START,
            largest: 0,
            raise_at: Instant::NEVER,
            raise_wait: RAISE,
            probe: None,
            probes: 0,
        }
    }

    /// Most bytes of a datagram.
    #[inline]
    pub(super) const fn limit(&self) -> u32 {
        self.limit
    }

    /// How often something was repeated in vain.
    pub(super) const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// A datagram of this size repeats something.
    pub(super) fn repeated(&mut self, len: u32) {
        self.largest = self.largest.max(len);
    }

    /// The reader has more than before.
    pub(super) const fn progress(&mut self) {
        self.rounds = 0;
        self.largest = 0;
    }

    /// It is time to repeat more. If something was repeated and nothing has come of it, that counts as a round in vain; true if smaller
    /// datagrams are tried from now on.
    pub(super) fn next_round(&mut self, now: Instant) -> bool {
        if self.largest == 0 {
            return false;
        }
        if self.rounds == 0 {
            self.since = now;
        }
        self.rounds = self.rounds.saturating_add(1);
        let patience = if self.limit < self.full { STEP } else { PATIENCE };
        if self.rounds < ROUNDS || now.since(self.since) < patience {
            return false;
        }
        let smaller = SIZES.into_iter().find(|size| *size < self.limit && *size < self.largest);
        let Some(smaller) = smaller else { return false };
        self.limit = smaller;
        // The new size is tried as quickly as the first one was.
        self.progress();
        self.probe = None;
        self.probes = 0;
        self.raise_at = now.after(self.raise_wait);
        true
    }

    /// When something is due.
    #[inline]
    pub(super) const fn timeout(&self) -> Instant {
        self.raise_at
    }

    /// Something is due: the size of the probe to send, if one may be sent now.
    pub(super) fn next_probe(&mut self, now: Instant, may_send: bool) -> Option<u32> {
        if self.probe.take().is_some() {
            self.probes += 1;
        }
        if self.probes >= PROBES {
            self.probes = 0;
            self.raise_wait = self.raise_wait.saturating_add(self.raise_wait).min(LONGEST_RAISE);
            self.raise_at = now.after(self.raise_wait);
            return None;
        }
        self.raise_at = now.after(ANSWER);
        if !may_send {
            return None;
        }
        let larger = SIZES.into_iter().rev().find(|size| *size > self.limit).unwrap_or(self.full);
        self.probe = Some(larger.min(self.full));
        self.probe
    }

    /// Another question was asked: an answer says nothing of the probe.
    pub(super) const fn asked(&mut self) {
        self.probe = None;
    }

    /// The reader has answered; true if that shows that larger datagrams pass.
    pub(super) fn answered(&mut self, now: Instant) -> bool {
        let Some(size) = self.probe.take() else { return false };
        self.limit = size;
        self.probes = 0;
        self.raise_at = if size < self.full { now } else { Instant::NEVER };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repeats in vain for a while.
    fn stall(size: &mut PathSize, from: Instant, millis: i64) {
        for at in (0..millis).step_by(10) {
            size.repeated(size.limit());
            size.next_round(from.after(Duration::from_millis(at)));
        }
    }

    #[test]
    fn sizes_fall_one_by_one_and_not_below_the_least() {
        let mut size = PathSize::new(1_472);
        stall(&mut size, Instant::START, 300);
        assert_eq!(size.limit(), 1_472, "a long way takes its time");
        stall(&mut size, Instant::START.after(Duration::from_millis(300)), 20);
        assert_eq!(size.limit(), 1_232);
        stall(&mut size, Instant::START.after(Duration::from_secs(1)), 10_000);
        assert_eq!(size.limit(), Path::MIN_DATAGRAM);
    }

    #[test]
    fn small_datagrams_and_progress_show_nothing() {
        let mut size = PathSize::new(1_472);
        for at in 0..1_000 {
            size.repeated(200);
            size.next_round(Instant::START.after(Duration::from_millis(at * 10)));
        }
        assert_eq!(size.limit(), 1_472);
        for at in 0..1_000 {
            size.repeated(1_472);
            size.next_round(Instant::START.after(Duration::from_millis(at * 10)));
            if at % 20 == 0 {
                size.progress();
            }
        }
        assert_eq!(size.limit(), 1_472);
    }

    #[test]
    fn an_answered_probe_raises_the_size_and_silence_waits_longer() {
        let mut size = PathSize::new(1_472);
        stall(&mut size, Instant::START, 10_000);
        let mut now = size.timeout();
        assert_eq!(size.next_probe(now, true), Some(548));
        assert!(size.answered(now));
        assert_eq!((size.limit(), size.timeout()), (548, now));
        assert_eq!(size.next_probe(now, false), None);
        for _ in 0..3 {
            now = size.timeout();
            assert_eq!(size.next_probe(now, true), Some(1_232));
        }
        now = size.timeout();
        assert_eq!(size.next_probe(now, true), None);
        assert_eq!(size.timeout().since(now), RAISE.saturating_add(RAISE));
        now = size.timeout();
        assert_eq!(size.next_probe(now, true), Some(1_232));
        size.asked();
        assert!(!size.answered(now));
    }
}
