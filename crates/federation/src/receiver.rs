//! How far a receiver of a stream is, how long a round trip to it takes, and what has to be sent to it again.
use alloc::collections::{BTreeMap, VecDeque};

use crate::outgoing::Outgoing;

/// Fragments that are asked for again by a receiver and wait to be sent.
const MOST_REPAIRS: usize = 1_024;
/// Questions that are remembered until they are answered.
const MOST_ASKED: usize = 8;
/// The time-out doubles so often at most.
const MOST_OVERDUE: u32 = 5;

/// A round trip, smoothed, and its mean deviation, as RFC 6298 has them for TCP. Nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Trip {
    mean: u64,
    deviation: u64,
}

/// How far a receiver of a stream is.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// All before it has come.
    pub(crate) acknowledged: u64,
    /// Numbers that it lacks and that are sent again next.
    pub(crate) repairs: VecDeque<u64>,
    /// When it is asked how far it is.
    pub(crate) beat_at: Option<u64>,
    /// The pause until then, the next time.
    pause: u64,
    least: u64,
    most: u64,
    /// The numbers behind the last fragment of which it was told when it was asked.
    asked: VecDeque<u64>,
    trip: Option<Trip>,
    /// A fragment whose acknowledgement measures a round trip, and when it was sent.
    timed: Option<(u64, u64)>,
    /// When what it lacks was sent again.
    repaired: BTreeMap<u64, u64>,
    /// How often in a row something overdue was sent again without a measured round trip: the time-out and the number that go at once double with
    /// it.
    overdue: u32,
}

impl Receiver {
    /// One that gets all from `start` on. The first question comes after `least`, or more where round trips take longer; pauses double up to `most`.
    pub(crate) fn new(start: u64, (least, most): (u64, u64)) -> Self {
        Self {
            acknowledged: start,
            repairs: VecDeque::new(),
            beat_at: None,
            pause: least,
            least,
            most,
            asked: VecDeque::new(),
            trip: None,
            timed: None,
            repaired: BTreeMap::new(),
            overdue: 0,
        }
    }

    /// After so long without an acknowledgement something is lost, rather than under way.
    fn timeout(&self) -> u64 {
        let trip = self.trip.map_or(0, |trip| trip.mean.saturating_add(trip.deviation.saturating_mul(4)));
        let timeout = self.least.max(trip);
        timeout.saturating_mul(1 << self.overdue).min(self.most.max(timeout))
    }

    /// A fragment was sent for the first time.
    pub(crate) fn sent(&mut self, now: u64, number: u64) {
        if self.beat_at.is_none() {
            self.beat_at = Some(now.saturating_add(self.pause));
        }
        self.timed.get_or_insert((number, now));
    }

    /// It was asked, and told that all before `end` has been sent.
    pub(crate) fn asked(&mut self, now: u64, end: u64) {
        self.pause = self.pause.saturating_mul(2).min(self.most.max(self.timeout()));
        self.beat_at = Some(now.saturating_add(self.pause));
        if self.asked.back() != Some(&end) {
            self.asked.push_back(end);
        }
        if self.asked.len() > MOST_ASKED {
            self.asked.pop_front();
        }
    }

    /// A fragment is sent to it once more.
    pub(crate) fn repaired(&mut self, now: u64, number: u64) {
        self.repaired.insert(number, now);
        // Which of both an acknowledgement is for cannot be known.
        self.timed.take_if(|(timed, _)| *timed >= number);
    }

    /// It has answered, and lacks these ranges. Numbers that were not sent are no answer.
    ///
    /// What comes behind a gap shows that the gap is lost. What comes behind nothing may be under way, so it is sent again only when it was sent
    /// long enough ago. Nothing is sent again while it may be under way once more.
    pub(crate) fn answered(
        &mut self,
        now: u64,
        outgoing: &Outgoing,
        next: u64,
        ranges: impl Iterator<Item = (u64, u32)>,
    ) {
        let sent = outgoing.sent();
        if next > sent || next < self.acknowledged {
            return;
        }
        if next > self.acknowledged {
            self.acknowledged = next;
            if let Some((_, at)) = self.timed.take_if(|(number, _)| *number < next) {
                self.measured(now.saturating_sub(at));
            }
            self.repaired = self.repaired.split_off(&next);
            self.asked.retain(|end| *end > next);
            self.pause = self.timeout();
        }
        self.repairs.clear();
        let timeout = self.timeout();
        let overdue = outgoing.sent_before(now.saturating_sub(timeout).saturating_add(1));
        let mut is_overdue = false;
        for (first, count) in ranges {
            let end = first.saturating_add(count.into());
            let end = if self.asked.contains(&end) {
                let end = end.min(overdue).min(first.saturating_add(1 << self.overdue));
                is_overdue |= first.max(next) < end;
                end
            } else {
                end.min(sent)
            };
            for number in first.max(next)..end {
                if self.repairs.len() >= MOST_REPAIRS {
                    break;
                }
                let is_under_way = |at: &u64| now.saturating_sub(*at) < timeout;
                if !self.repaired.get(&number).is_some_and(is_under_way) {
                    self.repairs.push_back(number);
                }
            }
        }
        if is_overdue {
            self.overdue = (self.overdue + 1).min(MOST_OVERDUE);
        }
        self.beat_at = (self.acknowledged < sent).then(|| now.saturating_add(self.pause));
    }

    fn measured(&mut self, trip: u64) {
        self.overdue = 0;
        self.trip = Some(match self.trip {
            None => Trip { mean: trip, deviation: trip / 2 },
            Some(before) => Trip {
                mean: before.mean - before.mean / 8 + trip / 8,
                deviation: before.deviation - before.deviation / 4 + before.mean.abs_diff(trip) / 4,
            },
        });
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const MS: u64 = 1_000_000;

    /// So many fragments, one sent each millisecond from 0 on.
    fn sent(count: u64, receiver: &mut Receiver) -> Outgoing {
        let mut outgoing = Outgoing::new(4);
        for number in 0..count {
            outgoing.push(b"abcd".to_vec());
            outgoing.advance(number * MS);
            receiver.sent(number * MS, number);
        }
        outgoing
    }

    fn repairs(receiver: &mut Receiver, now: u64) -> Vec<u64> {
        let repairs: Vec<u64> = receiver.repairs.drain(..).collect();
        repairs.iter().for_each(|number| receiver.repaired(now, *number));
        repairs
    }

    #[test]
    fn answers_that_cannot_be_are_none() {
        let mut receiver = Receiver::new(0, (10, 200));
        let outgoing = sent(8, &mut receiver);
        let later = 60 * MS;
        receiver.answered(later, &outgoing, 5, [].into_iter());
        receiver.answered(later, &outgoing, 9, [].into_iter());
        receiver.answered(later, &outgoing, 4, [(4, 4)].into_iter());
        assert_eq!((receiver.acknowledged, receiver.repairs.len()), (5, 0));
        receiver.answered(later, &outgoing, 6, [(0, u32::MAX)].into_iter());
        assert_eq!((receiver.acknowledged, receiver.repairs.len()), (6, 2));
    }

    #[test]
    fn a_gap_is_sent_again_at_once_and_the_end_when_it_is_overdue() {
        let mut receiver = Receiver::new(0, (10 * MS, 200 * MS));
        let outgoing = sent(8, &mut receiver);
        receiver.asked(10 * MS, 8);
        // 2 and 3 are lost, since 4 has come; 6 and 7 were sent 5 and 4 ms ago.
        receiver.answered(11 * MS, &outgoing, 2, [(2, 2), (6, 2)].into_iter());
        assert_eq!(repairs(&mut receiver, 11 * MS), [2, 3]);
        // What is under way again is not sent a third time.
        receiver.answered(16 * MS, &outgoing, 2, [(2, 2), (6, 2)].into_iter());
        assert_eq!(repairs(&mut receiver, 16 * MS), [0; 0]);
        let overdue = 7 * MS + receiver.timeout();
        receiver.answered(overdue - 1, &outgoing, 4, [(6, 2)].into_iter());
        assert_eq!(repairs(&mut receiver, overdue - 1), [6]);
        // It may just take longer than before: what follows waits for twice as long.
        receiver.answered(overdue, &outgoing, 4, [(6, 2)].into_iter());
        assert_eq!(repairs(&mut receiver, overdue), [0; 0]);
        let overdue = 7 * MS + receiver.timeout();
        receiver.answered(overdue, &outgoing, 4, [(6, 2)].into_iter());
        assert_eq!(repairs(&mut receiver, overdue), [7]);
    }

    #[test]
    fn a_round_trip_is_not_that_of_what_was_sent_twice() {
        let mut receiver = Receiver::new(0, (10 * MS, 200 * MS));
        let outgoing = sent(4, &mut receiver);
        receiver.answered(50 * MS, &outgoing, 0, [(0, 2)].into_iter());
        assert_eq!(repairs(&mut receiver, 50 * MS), [0, 1]);
        receiver.answered(51 * MS, &outgoing, 4, [].into_iter());
        assert_eq!(receiver.timeout(), 10 * MS);
    }
}
