//! How large a datagram the path to a reader carries, found out in the manner of RFC 8899 (DPLPMTUD).
//!
//! A path may swallow datagrams that fit the interface, without a word. That shows when a reader answers, but what is repeated to it
//! in large datagrams never comes: then smaller ones are tried. Later a HEARTBEAT that is padded asks whether larger ones pass again.
//!
//! What one writer has found, the other writers of its participant are told: those whose readers do not answer, too. They follow it, and
//! leave it to that writer to ask whether larger datagrams pass.
use alloc::vec::Vec;

use wire::{Duration, Instant, Now};

use super::Writer;
use crate::Payload;
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
/// One that follows asks by itself when nothing was told for so long: longer than who has found it out waits between two attempts.
const FOLLOWS: Duration = Duration::from_secs(1_200);

/// What a path was found to carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathNews {
    /// The path to a reader alone.
    pub path: Path,
    /// Most bytes of a datagram, UDP payload.
    pub datagram: u32,
}

/// What is to be done about larger datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probe {
    /// A datagram of so many bytes is to ask.
    Send(u32),
    /// Nothing yet.
    Wait,
    /// All that were asked for were in vain; it is tried again much later.
    InVain,
}

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
    /// Another writer has found the limit.
    follows: bool,
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
            follows: false,
        }
    }

    /// The writer's datagrams are no larger than this, whatever the path carries.
    pub(super) const fn narrow(&mut self, datagram: u32) {
        if datagram < self.full {
            *self = Self::new(datagram);
        }
    }

    /// The writer's datagrams are no larger than this from now on, whatever the paths carry, which is `full` as far as interfaces tell.
    pub(super) const fn limited_to(&mut self, datagram: u32, full: u32) {
        let most = if datagram < full { datagram } else { full };
        if most > self.full || most <= self.limit {
            *self = Self::new(most);
        } else {
            // Something smaller was found out.
            self.full = most;
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
        self.follows = false;
        self.raise_at = now.after(self.raise_wait);
        true
    }

    /// Another writer has found what the path carries, or that it still carries no more. `may_ask` says that the reader answers.
    pub(super) fn told(&mut self, now: Instant, datagram: u32, may_ask: bool) {
        let limit = datagram.min(self.full);
        if limit == self.limit && !self.follows {
            // It knows by itself.
            return;
        }
        if limit != self.limit {
            self.limit = limit;
            self.progress();
        }
        (self.probe, self.probes, self.follows) = (None, 0, true);
        self.raise_at = if limit < self.full && may_ask { now.after(FOLLOWS) } else { Instant::NEVER };
    }

    /// When something is due.
    #[inline]
    pub(super) const fn timeout(&self) -> Instant {
        self.raise_at
    }

    /// Something is due. A probe is sent only if one may be sent now.
    pub(super) fn next_probe(&mut self, now: Instant, may_send: bool) -> Probe {
        self.follows = false;
        if self.probe.take().is_some() {
            self.probes += 1;
        }
        if self.probes >= PROBES {
            self.probes = 0;
            self.raise_wait = self.raise_wait.saturating_add(self.raise_wait).min(LONGEST_RAISE);
            self.raise_at = now.after(self.raise_wait);
            return Probe::InVain;
        }
        self.raise_at = now.after(ANSWER);
        if !may_send {
            return Probe::Wait;
        }
        let larger = SIZES.into_iter().rev().find(|size| *size > self.limit).unwrap_or(self.full);
        let size = larger.min(self.full);
        self.probe = Some(size);
        Probe::Send(size)
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

impl<P: Payload> Writer<P> {
    /// What it has found out about paths since the last call; to be handed to the other writers of the participant by
    /// [`Writer::on_path_news`].
    pub fn take_path_news(&mut self) -> Vec<PathNews> {
        core::mem::take(&mut self.path_news)
    }

    /// Another writer of the participant has found out what a path carries; true if a reader is reached by it.
    pub fn on_path_news(&mut self, now: Now, news: &PathNews) -> bool {
        let mut is_used = false;
        for proxy in self.readers.iter_mut().filter(|proxy| proxy.is_on_network()) {
            if proxy.direct_paths() == [news.path] {
                proxy.size.told(now.monotonic, news.datagram, proxy.reliable);
                is_used = true;
            }
        }
        if is_used {
            self.measure_paths();
            self.ready = true;
        }
        is_used
    }

    /// Something was found out about the path to a reader. The newest about a path replaces what was.
    pub(super) fn note_path(&mut self, reader: usize) {
        let Some(proxy) = self.readers.get(reader) else { return };
        if let [path] = *proxy.direct_paths() {
            let datagram = proxy.size.limit();
            self.path_news.retain(|news| news.path != path);
            self.path_news.push(PathNews { path, datagram });
            if self.path_news.len() > self.readers.len() {
                // No datagram leaves, and readers come and go.
                self.path_news.remove(0);
            }
        }
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
        assert_eq!(size.next_probe(now, true), Probe::Send(548));
        assert!(size.answered(now));
        assert_eq!((size.limit(), size.timeout()), (548, now));
        assert_eq!(size.next_probe(now, false), Probe::Wait);
        for _ in 0..3 {
            now = size.timeout();
            assert_eq!(size.next_probe(now, true), Probe::Send(1_232));
        }
        now = size.timeout();
        assert_eq!(size.next_probe(now, true), Probe::InVain);
        assert_eq!(size.timeout().since(now), RAISE.saturating_add(RAISE));
        now = size.timeout();
        assert_eq!(size.next_probe(now, true), Probe::Send(1_232));
        size.asked();
        assert!(!size.answered(now));
    }

    #[test]
    fn one_that_is_told_follows_and_asks_only_after_a_long_silence() {
        let at = |seconds| Instant::START.after(Duration::from_secs(seconds));
        let mut size = PathSize::new(1_472);
        size.told(at(0), 548, true);
        assert_eq!((size.limit(), size.timeout()), (548, at(1_200)));
        // Still no more.
        size.told(at(600), 548, true);
        assert_eq!(size.timeout(), at(1_800));
        size.told(at(700), 9_000, true);
        assert_eq!((size.limit(), size.timeout()), (1_472, Instant::NEVER));
        size.told(at(800), 548, false);
        assert_eq!((size.limit(), size.timeout()), (548, Instant::NEVER), "who is not answered cannot ask");
        size.told(at(900), 1_232, true);
        assert_eq!(size.next_probe(at(2_100), true), Probe::Send(1_472));
        // From now on it asks by itself.
        size.told(at(2_100), 1_232, true);
        assert_eq!(size.timeout(), at(2_100).after(ANSWER));
    }
}
