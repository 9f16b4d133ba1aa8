//! What is known of a chain at its end: counts, distributions, exceeded limits, and where the time went. It knows no clock and no thread.
use std::time::Duration;

use hdrhistogram::Histogram;

use super::clocks::parted_in;

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
/// Of the events of such a group so many are in a distribution at most, so that sums stay within their numbers.
const MOST_OF_GROUP: u64 = 1 << 32;
/// Parts of a rate.
const WHOLE: u128 = 1_000_000_000;

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

/// The stamp that travels along a chain. Instants are nanoseconds of the server's time; those before the server began are negative.
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
    /// It is at the last port of its chain: what the handler pushes has it no more.
    pub(crate) ends_here: bool,
    /// Its instants are of the clock of another machine, and nothing is known of that.
    pub(crate) is_foreign: bool,
    /// By how much its instants may be wrong, since they were read from clocks of other machines.
    pub(crate) error: u64,
    /// By how many parts of 10^9 the clock of its source and those that it was translated to run apart at most.
    pub(crate) drift: u32,
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
        Self {
            oldest: newer.oldest.min(older.oldest),
            // The oldest event, or one before, may be of either.
            error: newer.error.max(older.error),
            drift: newer.drift.max(older.drift),
            is_foreign: newer.is_foreign || older.is_foreign,
            ..newer
        }
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
    /// The time from the push of an event over a connection to the end of its handler.
    Latency,
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
    /// By how much the time may be wrong. It is above the limit for certain if it is so without that.
    pub(super) error: u64,
    /// When the time was over.
    pub(super) end: i64,
    pub(super) spent: [Spent; MOST_HOPS],
}

impl Excess {
    /// Of one completion.
    fn of(limit: Limit, time: u64, most: u64, stamp: &Stamp, end: i64) -> Self {
        let (count, is_answered, gave_way) = (1, true, 0);
        Self { limit, time, most, count, is_answered, gave_way, error: stamp.error, end, spent: stamp.spent }
    }

    pub(super) fn is_certain(&self) -> bool {
        self.time.saturating_sub(self.error) > self.most
    }

    /// By how much the limit is exceeded at least; negative if that is not certain.
    fn above(&self) -> i128 {
        i128::from(self.time) - i128::from(self.error) - i128::from(self.most)
    }
}

/// Times of a chain beside a limit.
struct Measure {
    limit: Option<u64>,
    /// There is none only if its bounds were wrong.
    histogram: Option<Histogram<u64>>,
    worst: u64,
    /// The largest error of a time.
    error: u64,
    exceeded: u64,
    /// Times that are above the limit by less than their error, or below it by less.
    possibly: u64,
}

/// The distribution of the reaction or the age of a chain, or of the latency of a connection.
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
    /// How many exceeded it for certain.
    pub exceeded: u64,
    /// By how much each time may be wrong at most, since clocks of several machines were read.
    pub error: Duration,
    /// How many exceeded it or not, since that is less than the error.
    pub possibly: u64,
}

impl Measure {
    fn new(limit: Option<u64>) -> Self {
        let histogram = Histogram::new_with_bounds(FINEST, LONGEST, 2).ok();
        Self { limit, histogram, worst: 0, error: 0, exceeded: 0, possibly: 0 }
    }

    /// Whether a time is above the limit for certain, and whether it may be.
    fn is_over(&self, time: u64, error: u64) -> (bool, bool) {
        let is_over = |time: u64| self.limit.is_some_and(|most| time > most);
        (is_over(time.saturating_sub(error)), is_over(time.saturating_add(error)))
    }

    /// Counts what is above the limit: certainly, and at most.
    fn count(&mut self, exceeded: u64, at_most: u64) {
        self.exceeded = self.exceeded.saturating_add(exceeded);
        self.possibly = self.possibly.saturating_add(at_most.saturating_sub(exceeded));
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
            error: Duration::from_nanos(self.error),
            possibly: self.possibly,
        }
    }
}

/// The score of a chain, kept where it ends.
pub(super) struct Scorer {
    /// It is that of a connection: each event that comes has a latency, which is kept as its reaction.
    is_connection: bool,
    period: Option<u64>,
    run: u64,
    /// The newest event that was answered: its number, when it began, and by how much the begin of the next one may be wrong.
    answered: Option<(u64, i64, u64)>,
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
            is_connection: false,
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

    /// Of a connection with this limit.
    pub(super) fn of_connection(latency: Option<u64>) -> Self {
        Self { is_connection: true, ..Self::new(latency, None, None) }
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
        let (measure, limit) = match self.is_connection {
            true => (&mut self.reaction, Limit::Latency),
            false => (&mut self.age, Limit::Age),
        };
        measure.add(age, 1);
        measure.error = measure.error.max(stamp.error);
        let (is_over, may_be) = measure.is_over(age, stamp.error);
        measure.count(is_over.into(), may_be.into());
        if may_be {
            let (most, gave_way) = (measure.limit.unwrap_or(0), between(stamp.oldest, stamp.newest));
            self.exceeds(Excess { gave_way, ..Excess::of(limit, age, most, stamp, end) });
        }
        if self.is_connection {
            return self.pending.is_some() && !was_pending;
        }
        if self.answered.is_none_or(|(answered, ..)| stamp.number > answered) {
            self.answer(stamp, end);
        }
        self.pending.is_some() && !was_pending
    }

    /// All events after the last one that was answered, up to the newest of this completion.
    fn answer(&mut self, stamp: &Stamp, end: i64) {
        let before = self.answered.map_or(0, |(answered, ..)| stamp.number - answered - 1);
        let of_next = parted_in(stamp.drift, self.period.unwrap_or(0));
        self.answered = Some((stamp.number, stamp.newest, stamp.error.saturating_add(of_next)));
        let reaction = between(stamp.newest, end);
        let (most, error) = (self.reaction.limit, stamp.error);
        self.reaction.add(reaction, 1);
        // That of the first event: periods are those of the clock of the source.
        let mut widest = error;
        let over = |measure: &Measure, time: u64| {
            let (is_over, may_be) = measure.is_over(time, error);
            (u64::from(is_over), u64::from(may_be))
        };
        let ((mut exceeded, mut at_most), mut first) = (over(&self.reaction, reaction), stamp.newest);
        match self.period {
            Some(period) => {
                // The event `back` before this one began so many periods earlier, by the clock of the source.
                let of = |back: u64| reaction.saturating_add(back.saturating_mul(period));
                let group = before.div_ceil(GROUPS).max(1);
                let mut done = 0_u64;
                while done < before {
                    let next = done.saturating_add(group).min(before);
                    self.reaction.add(of(next), (next - done).min(MOST_OF_GROUP));
                    done = next;
                }
                if before > 0 {
                    let back = before.saturating_mul(period);
                    first = stamp.newest.saturating_sub_unsigned(back);
                    widest = widest.saturating_add(parted_in(stamp.drift, back));
                }
                if let Some(most) = most {
                    // With an error it may have ended before it began: the events before waited shorter then.
                    let reaction = i128::from(end) - i128::from(stamp.newest);
                    let (period, drift) = (u128::from(period), u128::from(stamp.drift));
                    let over = |reaction: i128, kept: &dyn Fn(u128) -> u128| {
                        let kept = u128::try_from(i128::from(most) - reaction).map_or(0, kept);
                        before.saturating_add(1).saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX))
                    };
                    // With each period the time grows for certain by `slow` parts of `WHOLE`, and by `fast` at most.
                    let (slow, fast) = (period * WHOLE.saturating_sub(drift), period * (WHOLE + drift));
                    let certain =
                        |rest: u128| if slow == 0 { u128::MAX } else { ((rest + 1) * WHOLE).div_ceil(slow) };
                    exceeded = over(reaction - i128::from(error), &certain);
                    at_most = over(reaction + i128::from(error), &|rest: u128| rest * WHOLE / fast + 1);
                }
            }
            None => {
                let known = usize::from(stamp.known).min(usize::try_from(before).unwrap_or(usize::MAX));
                for start in stamp.earlier.iter().take(known) {
                    let time = between(*start, end);
                    self.reaction.add(time, 1);
                    let (is_over, may_be) = over(&self.reaction, time);
                    (exceeded, at_most) = (exceeded + is_over, at_most + may_be);
                    first = *start;
                }
                self.unknown = self.unknown.saturating_add(before.saturating_sub(known as u64));
            }
        }
        self.reaction.error = self.reaction.error.max(widest);
        self.reaction.count(exceeded, at_most);
        if at_most > 0 {
            let (time, gave_way) = (between(first, end), between(first, stamp.newest));
            let count = if exceeded > 0 { exceeded } else { at_most };
            let excess = Excess::of(Limit::Reaction, time, most.unwrap_or(0), stamp, end);
            self.exceeds(Excess { count, gave_way, error: widest, ..excess });
        }
    }

    /// Keeps the worst of what is to be told: that which is furthest above its limit. What is only possible gives way to what is certain.
    fn exceeds(&mut self, new: Excess) {
        let Some(old) = self.pending else {
            self.pending = Some(new);
            return;
        };
        let count = match (old.is_certain(), new.is_certain()) {
            (false, true) => new.count,
            (true, false) => old.count,
            _ => old.count.saturating_add(new.count),
        };
        let worse = if old.above() >= new.above() { old } else { new };
        self.pending = Some(Excess { count, ..worse });
    }

    /// How long the oldest event that was not answered has waited at least, if that is longer than the reaction may be. Only a period tells that
    /// there was an event.
    pub(super) fn overdue(&self, now: i64) -> Option<(u64, u64)> {
        let (_, start, error) = self.answered?;
        let most = self.reaction.limit?;
        let waited = between(start, now).checked_sub(self.period?)?.checked_sub(error)?;
        (waited > most).then_some((waited, most))
    }

    /// Notes that nothing is answered, unless that was told already.
    pub(super) fn look(&mut self, now: i64) {
        if self.is_overdue {
            return;
        }
        if let Some((time, most)) = self.overdue(now) {
            self.is_overdue = true;
            let (limit, spent) = (Limit::Reaction, [Spent::default(); MOST_HOPS]);
            let (count, gave_way, error, is_answered) = (0, 0, 0, false);
            self.exceeds(Excess { limit, time, most, count, is_answered, gave_way, error, end: now, spent });
        }
    }

    /// What is to be told.
    pub(super) const fn excess(&self) -> Option<Excess> {
        self.pending
    }

    /// It was told.
    pub(super) fn forget_excess(&mut self) {
        self.pending = None;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(number: u64, newest: i64) -> Stamp {
        Stamp {
            chain: 1,
            run: 2,
            number,
            newest,
            oldest: newest,
            earlier: [0; EARLIER],
            known: 0,
            hop: 0,
            ends_here: false,
            is_foreign: false,
            error: 0,
            drift: 0,
            since: newest,
            spent: [Spent::default(); MOST_HOPS],
        }
    }

    #[test]
    fn what_is_made_of_two_events_is_as_wrong_as_either() {
        for (newer_error, older_error) in [(7, 900), (900, 7)] {
            for (newer_foreign, older_foreign) in [(false, false), (false, true), (true, false)] {
                let newer =
                    Stamp { error: newer_error, is_foreign: newer_foreign, drift: 3, ..stamp(5, 1_000) };
                let older =
                    Stamp { error: older_error, is_foreign: older_foreign, drift: 9, ..stamp(4, 400) };
                for both in [newer.with(older), older.with(newer)] {
                    assert_eq!((both.number, both.newest, both.oldest), (5, 1_000, 400));
                    assert_eq!((both.error, both.is_foreign), (900, newer_foreign || older_foreign));
                    assert_eq!(both.drift, 9);
                }
            }
        }
    }

    /// The judge knows by how much the clock of the source runs fast or slow, and so when each event began by the clock here.
    #[test]
    fn events_before_one_are_as_wrong_as_the_period_of_another_clock() {
        const PERIOD: i64 = 1_000_000;
        const DRIFT: i64 = 50_000_000;
        let mut state = 1_u64;
        let mut below = |limit: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % limit.max(1) as u64) as i64
        };
        let (mut certain, mut possible) = (0, 0);
        for seed in 0..500 {
            // A whole number of nanoseconds for each period.
            let length = PERIOD + [DRIFT / 1_000, -DRIFT / 1_000, 0][seed % 3];
            let limit = PERIOD * (1 + below(40));
            let mut scorer = Scorer::new(Some(limit as u64), None, Some(PERIOD as u64));
            let (mut number, mut last, mut end, mut truth, mut worst) = (0, 0, 0, 0, 0);
            scorer.complete(&Stamp { drift: DRIFT as u32, ..stamp(0, 0) }, 0);
            for _ in 0..20 {
                number += 1 + below(40);
                let begun = number * length;
                end = (begun + below(5 * PERIOD)).max(end);
                let error = below(1_000);
                let newest = begun + below(2 * error + 1) - error;
                let stamp =
                    Stamp { error: error as u64, drift: DRIFT as u32, ..stamp(number as u64, newest) };
                scorer.complete(&stamp, end);
                for of in last + 1..=number {
                    let time = end - of * length;
                    truth += u64::from(time > limit);
                    worst = worst.max(time);
                }
                last = number;
            }
            let (told, _) = scorer.quantiles();
            assert!(told.exceeded <= truth, "seed {seed}: {told:?}, {truth}");
            assert!(truth <= told.exceeded + told.possibly, "seed {seed}: {told:?}, {truth}");
            assert!(
                told.worst + told.error >= Duration::from_nanos(worst as u64),
                "seed {seed}: {told:?}, {worst}"
            );
            certain += told.exceeded;
            possible += told.possibly;
        }
        assert!(certain > 1_000 && possible > 1_000, "{certain} {possible}");
    }

    #[test]
    fn numbers_that_are_as_far_apart_as_can_be_end_at_once() {
        for (period, drift) in [(Some(1), 0), (Some(u64::MAX), u32::MAX), (None, 0)] {
            let mut scorer = Scorer::new(Some(1), Some(1), period);
            for run in 0..3 {
                for (number, newest) in [(0, i64::MIN), (u64::MAX, i64::MAX)] {
                    scorer
                        .complete(&Stamp { run, drift, error: u64::MAX, ..stamp(number, newest) }, i64::MAX);
                }
                for (number, newest) in [(0, 0), (u64::MAX, 10)] {
                    scorer.complete(&Stamp { run: run + 100, drift, ..stamp(number, newest) }, 20);
                }
            }
            let (told, _) = scorer.quantiles();
            assert!(told.median <= told.worst && told.count >= 12, "{told:?}");
            assert_eq!(scorer.overdue(i64::MAX).is_some(), period == Some(1));
            match period {
                Some(1) => assert_eq!(told.exceeded, u64::MAX),
                Some(_) => assert!(told.possibly > u64::MAX / 2),
                None => assert_eq!(scorer.counts(), (12, u64::MAX)),
            }
        }
    }
}
