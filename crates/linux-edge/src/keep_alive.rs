//! Whether packets pass a link in both directions: a state machine for one end. It sends keep-alives that the other end's kernel sends back, so that a
//! cut of either direction is seen at both ends, and a manager that is away at the other end is no cut. RFC 9747 does the same with echo packets of BFD.
//!
//! Each keep-alive has a token that only its sender knows. Time and tokens are arguments; what is sent and received are tokens.
use std::collections::VecDeque;

/// How a link is looked at. Times are nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// From one keep-alive to the next.
    pub interval: u64,
    /// So many in a row without an answer are a cut.
    pub misses: usize,
    /// How long an answer takes on a link that works, beside an interval.
    pub round_trip: u64,
    /// So long all have to be answered before a link that was cut works again, the first time.
    pub hold: u64,
    /// The hold doubles with each cut, to this at most.
    pub longest_hold: u64,
    /// A link that has worked for so long has not been cut before, as far as the hold is concerned.
    pub calm: u64,
}

impl Settings {
    /// Three keep-alives, ten without a miss, and a minute of calm. A packet takes `one_way` from one end to the other at most.
    pub fn new(interval: u64, one_way: u64) -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self {
            interval,
            misses: 3,
            round_trip: one_way.saturating_mul(2),
            hold: interval.saturating_mul(10),
            longest_hold: interval.saturating_mul(10).max(60 * SECOND),
            calm: 60 * SECOND,
        }
    }
}

/// What has become of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// The interface is down.
    InterfaceDown,
    /// Keep-alives do not come back.
    Silent,
    /// The interface is up again. Whether packets pass is not known yet.
    Interface,
    /// It works again.
    Up,
}

#[derive(Debug)]
struct Sent {
    token: u64,
    at: u64,
    is_answered: bool,
}

/// One end of a link.
#[derive(Debug)]
pub struct Watch {
    settings: Settings,
    is_up: bool,
    has_interface: bool,
    /// Those that may be answered still, or are part of what a cut consists of; the oldest first.
    sent: VecDeque<Sent>,
    next: u64,
    /// The time of the last tick.
    looked: u64,
    /// While it is down: since when all are answered.
    good_since: Option<u64>,
    /// Since when it is up again, after it was cut.
    up_since: Option<u64>,
    /// How often the hold has doubled.
    doubled: u32,
}

impl Watch {
    /// A link is taken to work until something else is known.
    pub fn new(now: u64, settings: Settings) -> Self {
        Self {
            settings,
            is_up: true,
            has_interface: true,
            sent: VecDeque::new(),
            next: now,
            looked: now,
            good_since: None,
            up_since: None,
            doubled: 0,
        }
    }

    /// It works, as far as is known.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// When [`Watch::tick`] has something to do.
    pub fn due(&self) -> u64 {
        let unanswered = self.sent.iter().filter(|sent| !sent.is_answered);
        let late = unanswered.map(|sent| self.deadline(sent)).filter(|late| *late > self.looked).min();
        let up =
            if self.is_up { None } else { self.good_since.map(|since| since.saturating_add(self.hold())) };
        let next = if self.has_interface { self.next } else { u64::MAX };
        next.min(late.unwrap_or(u64::MAX)).min(up.unwrap_or(u64::MAX))
    }

    /// Time has passed: the keep-alive that is to be sent, if one is, and what has become of the link. All that has come before has to be told by
    /// [`Watch::received`] first. `token` is one that cannot be guessed.
    pub fn tick(&mut self, now: u64, token: u64) -> (Option<u64>, Option<News>) {
        self.looked = now;
        let news = self.look(now);
        let sends = self.has_interface && self.next <= now;
        if sends {
            // Those that a stall has left out are not made up for: no end could have answered them.
            self.next = now.saturating_add(self.settings.interval);
            self.sent.push_back(Sent { token, at: now, is_answered: false });
        }
        (sends.then_some(token), news)
    }

    /// A keep-alive has come back.
    pub fn received(&mut self, now: u64, token: u64) {
        let Some(at) = self.sent.iter().position(|sent| sent.token == token && !sent.is_answered) else {
            return;
        };
        if let Some(sent) = self.sent.get_mut(at) {
            sent.is_answered = true;
        }
        if self.is_up {
            // What was sent before it cannot be part of a cut any more.
            self.sent.drain(..at);
        } else {
            self.good_since.get_or_insert(now);
        }
    }

    /// The state of the interface, as the kernel tells it, also if it is the same.
    pub fn interface(&mut self, now: u64, works: bool) -> Option<News> {
        let before = std::mem::replace(&mut self.has_interface, works);
        if works {
            if before {
                return None;
            }
            self.next = now;
            return Some(News::Interface);
        }
        self.sent.clear();
        self.good_since = None;
        self.goes_down(now, News::InterfaceDown)
    }

    fn deadline(&self, sent: &Sent) -> u64 {
        let patience = self.settings.interval.saturating_add(self.settings.round_trip);
        sent.at.saturating_add(patience)
    }

    /// So long all have to be answered now.
    fn hold(&self) -> u64 {
        let hold = self.settings.hold.saturating_mul(1_u64.checked_shl(self.doubled).unwrap_or(u64::MAX));
        hold.min(self.settings.longest_hold)
    }

    fn look(&mut self, now: u64) -> Option<News> {
        while self.sent.front().is_some_and(|sent| sent.is_answered && self.deadline(sent) <= now) {
            self.sent.pop_front();
        }
        let late = self.sent.iter().filter(|sent| !sent.is_answered && self.deadline(sent) <= now).count();
        if self.is_up {
            return if late >= self.settings.misses { self.goes_down(now, News::Silent) } else { None };
        }
        if late > 0 {
            self.good_since = None;
            let patience = self.settings.interval.saturating_add(self.settings.round_trip);
            self.sent.retain(|sent| sent.is_answered || now < sent.at.saturating_add(patience));
            return None;
        }
        let since = self.good_since?;
        if now.saturating_sub(since) < self.hold() {
            return None;
        }
        (self.is_up, self.good_since, self.up_since) = (true, None, Some(now));
        let answered = self.sent.iter().rposition(|sent| sent.is_answered);
        self.sent.drain(..answered.unwrap_or(0));
        Some(News::Up)
    }

    fn goes_down(&mut self, now: u64, news: News) -> Option<News> {
        if !std::mem::replace(&mut self.is_up, false) {
            return None;
        }
        self.sent.clear();
        self.good_since = None;
        // The first cut after a calm is held for the shortest time.
        let is_calm = self.up_since.is_none_or(|since| now.saturating_sub(since) >= self.settings.calm);
        self.doubled = if is_calm { 0 } else { self.doubled.saturating_add(1).min(32) };
        Some(news)
    }
}
