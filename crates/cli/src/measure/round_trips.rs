//! Pings that are under way, and what became of the others.
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use dds::{DataReader, Error};
use serde_json::{Value, json};

use super::clock::{self, Exchange};
use super::latency::Latencies;
use super::one_way::OneWay;
use super::types::Probe;
use crate::exit::Failure;

/// See the module.
pub(super) struct RoundTrips {
    asker: u64,
    timeout: Duration,
    /// In the order in which they were sent; those that are answered leave when they are the oldest.
    under_way: VecDeque<UnderWay>,
    sent: u64,
    answered: u64,
    lost: u64,
    /// Answers that came after their ping had counted as lost, and answers of others to a ping that was answered.
    late: u64,
    pub(super) round_trip: Latencies,
    pub(super) since_due: Latencies,
    pub(super) one_way: OneWay,
    /// Those of the second that has not ended; and what was answered and lost before it.
    second: Latencies,
    before: (u64, u64),
    /// Counts since due in the lines of seconds.
    has_schedule: bool,
    /// A greeting was answered.
    is_greeted: bool,
    answer: Probe,
}

struct UnderWay {
    number: u64,
    due: Option<Instant>,
    sent: Instant,
    is_answered: bool,
}

impl RoundTrips {
    pub(super) fn new(asker: u64, timeout: Duration, has_schedule: bool) -> Result<Self, Failure> {
        Ok(Self {
            asker,
            timeout,
            under_way: VecDeque::new(),
            sent: 0,
            answered: 0,
            lost: 0,
            late: 0,
            round_trip: Latencies::new()?,
            since_due: Latencies::new()?,
            one_way: OneWay::new()?,
            second: Latencies::new()?,
            before: (0, 0),
            has_schedule,
            is_greeted: false,
            answer: Probe::default(),
        })
    }

    /// A ping leaves. Numbers grow by one.
    pub(super) fn sent(&mut self, number: u64, due: Option<Instant>, sent: Instant) {
        self.sent += 1;
        self.under_way.push_back(UnderWay { number, due, sent, is_answered: false });
    }

    /// Takes the answers that are there, and says how many.
    pub(super) fn take(&mut self, reader: &DataReader<Probe>) -> Result<usize, Error> {
        let mut count = 0;
        while let Some(info) = reader.take_into(&mut self.answer)? {
            let back = Instant::now();
            if !info.valid_data || self.answer.asker != self.asker {
                continue;
            }
            count += 1;
            if self.answer.number == Probe::GREETING {
                self.is_greeted = true;
            } else {
                self.answered(back, clock::wall());
            }
        }
        Ok(count)
    }

    fn answered(&mut self, back: Instant, wall: i64) {
        let answer = &self.answer;
        let first = self.under_way.front().map_or(0, |oldest| oldest.number);
        let index = answer.number.checked_sub(first).and_then(|index| usize::try_from(index).ok());
        let found = index.and_then(|index| self.under_way.get_mut(index)).filter(|found| !found.is_answered);
        let Some(found) = found else {
            self.late += 1;
            return;
        };
        found.is_answered = true;
        self.answered += 1;
        let round_trip = back.saturating_duration_since(found.sent);
        let since_due = found.due.map(|due| back.saturating_duration_since(due));
        self.round_trip.record(round_trip);
        if let Some(since_due) = since_due {
            self.since_due.record(since_due);
        }
        self.second.record(since_due.unwrap_or(round_trip));
        let Probe { sent, received, answered, clock, .. } = *answer;
        self.one_way.add(clock, Exchange { sent, received, answered, back: wall });
        while self.under_way.pop_front_if(|oldest| oldest.is_answered).is_some() {}
    }

    /// Gives up the pings that have been under way for too long.
    pub(super) fn expire(&mut self, now: Instant) {
        let timeout = self.timeout;
        let is_over = |oldest: &mut UnderWay| {
            oldest.is_answered || now.saturating_duration_since(oldest.sent) >= timeout
        };
        while let Some(oldest) = self.under_way.pop_front_if(is_over) {
            self.lost += u64::from(!oldest.is_answered);
        }
    }

    /// Pings under way, those that are answered out of turn included.
    pub(super) fn open(&self) -> usize {
        self.under_way.len()
    }

    /// When the oldest ping under way will be lost.
    pub(super) fn lost_at(&self) -> Option<Instant> {
        Some(self.under_way.front()?.sent + self.timeout)
    }

    /// True once a greeting was answered.
    pub(super) const fn is_greeted(&self) -> bool {
        self.is_greeted
    }

    pub(super) const fn answered_count(&self) -> u64 {
        self.answered
    }

    /// The line of a second that is over.
    pub(super) fn second(&mut self, elapsed: Duration, is_json: bool) -> String {
        self.one_way.judge();
        let (answered, lost) = (self.answered - self.before.0, self.lost - self.before.1);
        self.before = (self.answered, self.lost);
        let seconds = elapsed.as_secs();
        let what = if self.has_schedule { "since due" } else { "round trip" };
        let line = if is_json {
            let latencies = self.second.json();
            json!({"kind": "second", "at_s": seconds, "answered": answered, "lost": lost, "counts": what, "us": latencies})
                .to_string()
        } else {
            let latencies =
                if self.second.count() > 0 { self.second.brief() } else { "no answer".to_owned() };
            format!("{seconds:>4} s: {answered} answered, {lost} lost, {what} {latencies}")
        };
        self.second.clear();
        line
    }

    /// All is over: what is under way is lost.
    pub(super) fn finish(&mut self) {
        self.one_way.judge();
        let open = self.under_way.drain(..).filter(|left| !left.is_answered).count();
        self.lost += u64::try_from(open).unwrap_or(0);
    }

    /// The sum.
    pub(super) fn text(&self, time: Duration) -> String {
        let late =
            if self.late > 0 { format!(", {} late or answered twice", self.late) } else { String::new() };
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let percent = 100.0 * self.lost as f64 / self.sent.max(1) as f64;
        let Self { sent, answered, lost, .. } = self;
        format!(
            "{sent} sent, {answered} answered, {lost} lost ({percent:.2} %){late}, in {:.1} s",
            time.as_secs_f64()
        )
    }

    /// The sum for programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "sent": self.sent,
            "answered": self.answered,
            "lost": self.lost,
            "late": self.late,
            "round_trip_us": self.round_trip.json(),
            "since_due_us": self.since_due.json(),
            "one_way": self.one_way.json(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(10);

    fn answer(trips: &mut RoundTrips, number: u64, back: Instant) {
        trips.answer = Probe { asker: 7, number, ..Probe::default() };
        trips.answered(back, 0);
    }

    #[test]
    fn a_stall_counts_for_every_ping_that_it_delayed() {
        let mut trips = RoundTrips::new(7, TIMEOUT, true).unwrap();
        let start = Instant::now();
        let millis = Duration::from_millis;
        // Three were due at 0, 1 and 2 ms, but the sender came to it at 3 ms only; each is answered within 0.1 ms.
        for number in 0..3 {
            trips.sent(number, Some(start + millis(number)), start + millis(3));
            answer(&mut trips, number, start + millis(3) + Duration::from_micros(100));
        }
        let greatest = |latencies: &Latencies| latencies.micros().find(|(name, _)| *name == "max").unwrap().1;
        assert!((greatest(&trips.round_trip) - 100.0).abs() < 1.0);
        assert!((greatest(&trips.since_due) - 3_100.0).abs() < 4.0);
        assert!(trips.since_due.micros().find(|(name, _)| *name == "p50").unwrap().1 > 2_000.0);
        assert_eq!((trips.open(), trips.answered_count()), (0, 3));
    }

    #[test]
    fn what_is_not_answered_in_time_is_lost_and_late_answers_do_not_count() {
        let mut trips = RoundTrips::new(7, TIMEOUT, false).unwrap();
        let start = Instant::now();
        for number in 0..4 {
            trips.sent(number, None, start);
        }
        // Out of turn.
        answer(&mut trips, 2, start + Duration::from_millis(1));
        assert_eq!((trips.open(), trips.lost_at()), (4, Some(start + TIMEOUT)));
        trips.expire(start + TIMEOUT);
        assert_eq!((trips.open(), trips.lost), (0, 3));
        answer(&mut trips, 1, start + TIMEOUT);
        answer(&mut trips, 2, start + TIMEOUT);
        assert_eq!((trips.answered, trips.late), (1, 2));
        trips.sent(4, None, start + TIMEOUT);
        trips.finish();
        assert_eq!(
            trips.text(Duration::from_secs(1)),
            "5 sent, 1 answered, 4 lost (80.00 %), 2 late or answered twice, in 1.0 s"
        );
    }
}
