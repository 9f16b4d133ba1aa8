//! What is known of a chain at its end: counts, distributions, exceeded limits, and where the time went. It knows no clock and no thread.
use std::time::Duration;

use hdrhistogram::Histogram;

/// Ports of the longest chain that is followed.
pub const MOST_HOPS: usize = 16;
/// Starts of earlier events that an event tells of, if no period tells them.
pub(super) const EARLIER: usize = 4;
/// Shorter times are not told from each other, in nanoseconds; the worst time is exact.
const FINEST: u64 = 1_000;
/// Longer times count as this one: an hour in nanoseconds. The worst time is exact.
const LONGEST: u64 = 3_600_000_000_000;
/// Into how many groups of equal times the events that one event answers are divided at most.
const GROUPS: u64 = 256;

/// Where the time of a chain went at one of its ports.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Times {
    /// From the push in another process to the arrival in this one.
    pub transfer: Duration,
    /// From the arrival, or from when a timer was due, until the handler began.
    pub wait: Duration,
    /// From the beginning of the handler to its push to the next port; at the last port, to its end.
    pub run: Duration,
}

/// The same in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Spent {
    pub(crate) transfer: u64,
    pub(crate) wait: u64,
    pub(crate) run: u64,
}

impl Spent {
    pub(super) fn times(self) -> Times {
        let of = Duration::from_nanos;
        Times { transfer: of(self.transfer), wait: of(self.wait), run: of(self.run) }
    }

    fn add(&mut self, other: Self) {
        self.transfer = self.transfer.saturating_add(other.transfer);
        self.wait = self.wait.saturating_add(other.wait);
        self.run = self.run.saturating_add(other.run);
    }
}

/// What travels along a chain. Instants are nanoseconds of the server's time; those before the server began are negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// Which chain: the hash of its name.
    pub(crate) chain: u64,
    /// Which run of the chain's source: numbers of different runs have nothing to do with each other.
    pub(crate) run: u64,
    /// The number of the newest event.
    pub(crate) number: u64,
    /// When the newest event began.
    pub(crate) newest: i64,
    /// When the oldest event began.
    pub(crate) oldest: i64,
    /// When the events before the newest one began, the latest first.
    pub(crate) earlier: [i64; EARLIER],
    /// How many of these are known.
    pub(crate) known: u8,
    /// The port that it is at, or on the way to.
    pub(crate) hop: u8,
    /// Its instants are of the clock of another machine.
    pub(crate) is_foreign: bool,
    /// The last instant up to which its time is divided.
    pub(crate) since: i64,
    pub(crate) spent: [Spent; MOST_HOPS],
}

/// The time from one instant to another; 0 if that is before.
pub(super) fn between(from: i64, to: i64) -> u64 {
    u64::try_from(i128::from(to) - i128::from(from)).unwrap_or(0)
}

impl Stamp {
    /// The stamp of what is made of two events: the newest event of both, and the oldest.
    pub(super) fn with(self, other: Self) -> Self {
        let (newer, older) = if other.newest > self.newest { (other, self) } else { (self, other) };
        Self { oldest: newer.oldest.min(older.oldest), ..newer }
    }

    fn spent(&mut self) -> Option<&mut Spent> {
        self.spent.get_mut(usize::from(self.hop))
    }

    /// It has come to this process, or to its queue.
    pub(super) fn arrived(&mut self, now: i64) {
        let time = between(self.since, now);
        if let Some(spent) = self.spent() {
            spent.transfer = time;
        }
        self.since = now;
    }

    /// Its handler begins.
    pub(super) fn begun(&mut self, now: i64) {
        let time = between(self.since, now);
        if let Some(spent) = self.spent() {
            spent.wait = time;
        }
        self.since = now;
    }

    /// Its handler has ended, or pushes.
    pub(super) fn ran(&mut self, now: i64) {
        let time = between(self.since, now);
        if let Some(spent) = self.spent() {
            spent.run = time;
        }
        self.since = now;
    }

    /// Its handler pushes to the next port.
    pub(super) fn pushed(&mut self, now: i64) {
        self.ran(now);
        self.hop = self.hop.saturating_add(1);
    }
}

/// A limit of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The time from an event to the first answer to it or to a later one.
    Reaction,
    /// The age of the oldest event behind an answer.
    Age,
}

/// An exceeded limit, before names are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Excess {
    pub(super) limit: Limit,
    pub(super) time: u64,
    pub(super) most: u64,
    /// How often since it was told last.
    pub(super) count: u64,
    pub(super) is_answered: bool,
    /// The part of the time in which later events took the place of this one.
    pub(super) gave_way: u64,
    pub(super) spent: [Spent; MOST_HOPS],
}

/// Times of a chain beside a limit.
struct Measure {
    limit: Option<u64>,
    /// There is none only if its bounds were wrong.
    histogram: Option<Histogram<u64>>,
    worst: u64,
    exceeded: u64,
}

/// The distribution of the reaction or the age of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Quantiles {
    /// How many there were.
    pub count: u64,
    /// Half of them are at most so long, to within a hundredth or a microsecond.
    pub median: Duration,
    /// Of a hundred, 99 are at most so long.
    pub most_of_hundred: Duration,
    /// The longest one.
    pub worst: Duration,
    /// The limit.
    pub limit: Option<Duration>,
    /// How many exceeded it.
    pub exceeded: u64,
}

impl Measure {
    fn new(limit: Option<u64>) -> Self {
        let histogram = Histogram::new_with_bounds(FINEST, LONGEST, 2).ok();
        Self { limit, histogram, worst: 0, exceeded: 0 }
    }

    /// So many times of this length. Takes no memory: all that there can be was taken in the beginning.
    fn add(&mut self, time: u64, count: u64) {
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record_n(time.min(LONGEST), count);
        }
        self.worst = self.worst.max(time);
    }

    fn quantiles(&self) -> Quantiles {
        let at = |share| {
            let value = self.histogram.as_ref().map_or(0, |histogram| histogram.value_at_quantile(share));
            Duration::from_nanos(value.min(self.worst))
        };
        Quantiles {
            count: self.histogram.as_ref().map_or(0, Histogram::len),
            median: at(0.5),
            most_of_hundred: at(0.99),
            worst: Duration::from_nanos(self.worst),
            limit: self.limit.map(Duration::from_nanos),
            exceeded: self.exceeded,
        }
    }
}

/// The score of a chain, kept where it ends.
pub(super) struct Scorer {
    period: Option<u64>,
    run: u64,
    /// The newest event that was answered: its number, and when it began.
    answered: Option<(u64, i64)>,
    completions: u64,
    /// Events that were answered, but of which it is not known when they began.
    unknown: u64,
    reaction: Measure,
    age: Measure,
    spent: [Spent; MOST_HOPS],
    /// What is to be told.
    pending: Option<Excess>,
    /// That nothing was answered for too long was told.
    is_overdue: bool,
}

impl Scorer {
    /// Of a chain with these limits, in nanoseconds, which begins at a timer with this period, if it does.
    pub(super) fn new(reaction: Option<u64>, age: Option<u64>, period: Option<u64>) -> Self {
        Self {
            period: period.filter(|period| *period > 0),
            run: 0,
            answered: None,
            completions: 0,
            unknown: 0,
            reaction: Measure::new(reaction),
            age: Measure::new(age),
            spent: [Spent::default(); MOST_HOPS],
            pending: None,
            is_overdue: false,
        }
    }

    /// What was before does not count: the chain was interrupted on purpose.
    pub(super) fn forget(&mut self) {
        self.answered = None;
        self.is_overdue = false;
    }

    /// The last handler has ended. Says whether there is something to tell that was not there before.
    pub(super) fn complete(&mut self, stamp: &Stamp, end: i64) -> bool {
        if self.run != stamp.run {
            self.run = stamp.run;
            self.forget();
        }
        self.is_overdue = false;
        self.completions += 1;
        for (sum, spent) in self.spent.iter_mut().zip(&stamp.spent) {
            sum.add(*spent);
        }
        let was_pending = self.pending.is_some();
        let age = between(stamp.oldest, end);
        self.age.add(age, 1);
        if let Some(most) = self.age.limit.filter(|most| age > *most) {
            self.age.exceeded += 1;
            self.exceeds(Limit::Age, age, most, 1, between(stamp.oldest, stamp.newest), stamp.spent);
        }
        if self.answered.is_none_or(|(answered, _)| stamp.number > answered) {
            self.answer(stamp, end);
        }
        self.pending.is_some() && !was_pending
    }

    /// All events after the last one that was answered, up to the newest of this completion.
    fn answer(&mut self, stamp: &Stamp, end: i64) {
        let before = self.answered.map_or(0, |(answered, _)| stamp.number - answered - 1);
        self.answered = Some((stamp.number, stamp.newest));
        let reaction = between(stamp.newest, end);
        let most = self.reaction.limit;
        let is_over = |time: u64| most.is_some_and(|most| time > most);
        self.reaction.add(reaction, 1);
        let (mut exceeded, mut first) = (u64::from(is_over(reaction)), stamp.newest);
        match self.period {
            Some(period) => {
                // The event `back` before this one began so many periods earlier.
                let of = |back: u64| reaction.saturating_add(back.saturating_mul(period));
                let group = before.div_ceil(GROUPS).max(1);
                let mut done = 0;
                while done < before {
                    let next = (done + group).min(before);
                    self.reaction.add(of(next), next - done);
                    done = next;
                }
                if before > 0 {
                    let back = i64::try_from(before.saturating_mul(period)).unwrap_or(i64::MAX);
                    first = stamp.newest.saturating_sub(back);
                }
                if let Some(most) = most {
                    let kept = most.checked_sub(reaction).map_or(0, |rest| rest / period + 1);
                    exceeded = (before + 1).saturating_sub(kept);
                }
            }
            None => {
                let known = usize::from(stamp.known).min(usize::try_from(before).unwrap_or(usize::MAX));
                for start in stamp.earlier.iter().take(known) {
                    let time = between(*start, end);
                    self.reaction.add(time, 1);
                    exceeded += u64::from(is_over(time));
                    first = *start;
                }
                self.unknown += before.saturating_sub(known as u64);
            }
        }
        if exceeded > 0 {
            self.reaction.exceeded += exceeded;
            let (time, gave_way) = (between(first, end), between(first, stamp.newest));
            self.exceeds(Limit::Reaction, time, most.unwrap_or(0), exceeded, gave_way, stamp.spent);
        }
    }

    /// Keeps the worst of what is to be told: that which is furthest above its limit.
    fn exceeds(
        &mut self,
        limit: Limit,
        time: u64,
        most: u64,
        count: u64,
        gave_way: u64,
        spent: [Spent; MOST_HOPS],
    ) {
        let new = Excess { limit, time, most, count, is_answered: true, gave_way, spent };
        let old = self.pending.filter(|old| old.time - old.most.min(old.time) >= time - most.min(time));
        let all = self.pending.map_or(0, |old| old.count).saturating_add(count);
        self.pending = Some(Excess { count: all, ..old.unwrap_or(new) });
    }

    /// How long the oldest event that was not answered has waited, if that is longer than the reaction may be. Only a period tells that there
    /// was an event.
    pub(super) fn overdue(&self, now: i64) -> Option<(u64, u64)> {
        let (_, start) = self.answered?;
        let most = self.reaction.limit?;
        let waited = between(start, now).checked_sub(self.period?)?;
        (waited > most).then_some((waited, most))
    }

    /// Notes that nothing is answered, unless that was told already.
    pub(super) fn look(&mut self, now: i64) {
        if self.is_overdue {
            return;
        }
        if let Some((time, most)) = self.overdue(now) {
            self.is_overdue = true;
            self.exceeds(Limit::Reaction, time, most, 0, 0, [Spent::default(); MOST_HOPS]);
            if let Some(pending) = self.pending.as_mut().filter(|pending| pending.time == time) {
                pending.is_answered = false;
            }
        }
    }

    pub(super) fn take_excess(&mut self) -> Option<Excess> {
        self.pending.take()
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        (self.completions, self.unknown)
    }

    pub(super) fn quantiles(&self) -> (Quantiles, Quantiles) {
        (self.reaction.quantiles(), self.age.quantiles())
    }

    /// Sums over all completions.
    pub(super) fn spent(&self) -> &[Spent] {
        &self.spent
    }
}
