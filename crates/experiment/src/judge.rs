//! What became of the samples of a topic: in time, late, lost, and whether the machine itself stood still meanwhile.
use std::collections::HashMap;

use crate::record::Record;
use crate::stalls::Stalls;

/// Misses that are told one by one.
const TOLD: usize = 3;

/// A sample that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    /// When it was sent, in nanoseconds after the first of its topic.
    pub(crate) at: i64,
    /// From the send call to the reception of its last datagram, in nanoseconds.
    pub(crate) latency: i64,
    /// Whether a stall met the time between.
    pub(crate) disturbed: bool,
}

/// How many samples did not come in time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Misses {
    /// Came above the limit.
    pub(crate) late: u64,
    /// Did not come.
    pub(crate) lost: u64,
}

/// A sample that no stall met, and that did not come in time: what there is to say of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Miss {
    /// Its number.
    pub(crate) number: u64,
    /// When it was sent, in nanoseconds after the first of its topic.
    pub(crate) at: i64,
    /// Its latency in nanoseconds; `None` if it is lost.
    pub(crate) latency: Option<i64>,
    /// Nanoseconds from the end of the last stall before it until it was sent; `None` if there was none.
    pub(crate) since_stall: Option<i64>,
}

/// What became of a topic's samples. Latencies are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Judged {
    /// Samples that were written.
    pub(crate) sent: u64,
    /// Of these, samples whose time met a stall of the machine.
    pub(crate) disturbed: u64,
    /// Misses of samples that no stall met.
    pub(crate) misses: Misses,
    /// The first of them.
    pub(crate) missed: Vec<Miss>,
    /// Misses of samples that a stall met.
    pub(crate) excused: Misses,
    /// Median of the samples that came and that no stall met; `None` if there are none.
    pub(crate) median: Option<i64>,
    /// The latency that 99 of 100 of them do not exceed.
    pub(crate) percentile_99: Option<i64>,
    /// The greatest of them.
    pub(crate) greatest: Option<i64>,
    /// The greatest of those that a stall met.
    pub(crate) greatest_disturbed: Option<i64>,
    /// The samples that came, in the order in which they were sent.
    pub(crate) points: Vec<Point>,
    /// When those that did not come were sent, in nanoseconds after the first.
    pub(crate) gone: Vec<i64>,
}

/// Judges the samples of a topic by a limit in nanoseconds. A sample that came twice counts when it came first. A sample that did not come
/// was under way for the limit. A stall disturbs what it meets.
pub(crate) fn judge(sent: &[Record], received: &[Record], stalls: &Stalls, limit: i64) -> Judged {
    let mut arrivals: HashMap<u64, i64> = HashMap::with_capacity(received.len());
    for record in received {
        let first = arrivals.entry(record.number).or_insert(record.at);
        *first = record.at.min(*first);
    }
    let start = sent.first().map_or(0, |record| record.at);
    let mut judged = Judged {
        sent: sent.len() as u64,
        disturbed: 0,
        misses: Misses::default(),
        missed: Vec::new(),
        excused: Misses::default(),
        median: None,
        percentile_99: None,
        greatest: None,
        greatest_disturbed: None,
        points: Vec::with_capacity(received.len()),
        gone: Vec::new(),
    };
    for record in sent {
        let arrival = arrivals.get(&record.number).copied();
        let disturbed = stalls.meet(record.at, arrival.unwrap_or(record.at.saturating_add(limit)));
        judged.disturbed += u64::from(disturbed);
        let misses = if disturbed { &mut judged.excused } else { &mut judged.misses };
        let at = record.at.saturating_sub(start);
        let latency = arrival.map(|arrival| arrival.saturating_sub(record.at));
        if !disturbed && latency.is_none_or(|latency| latency > limit) && judged.missed.len() < TOLD {
            let since_stall = stalls.end_before(record.at).map(|end| record.at.saturating_sub(end));
            judged.missed.push(Miss { number: record.number, at, latency, since_stall });
        }
        match latency {
            None => {
                misses.lost += 1;
                judged.gone.push(at);
            }
            Some(latency) => {
                misses.late += u64::from(latency > limit);
                judged.points.push(Point { at, latency, disturbed });
            }
        }
    }
    let of = |disturbed: bool| {
        let points = judged.points.iter().filter(move |point| point.disturbed == disturbed);
        let mut latencies: Vec<i64> = points.map(|point| point.latency).collect();
        latencies.sort_unstable();
        latencies
    };
    let quiet = of(false);
    judged.greatest_disturbed = of(true).last().copied();
    judged.median = percentile(&quiet, 50);
    judged.percentile_99 = percentile(&quiet, 99);
    judged.greatest = quiet.last().copied();
    judged
}

/// The least of sorted values that so many of a hundred do not exceed.
fn percentile(sorted: &[i64], hundredths: usize) -> Option<i64> {
    let rank = (sorted.len() * hundredths).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

impl Judged {
    /// Samples that no stall met, in parts of a thousand; all if there are none.
    pub(crate) fn undisturbed_permille(&self) -> u64 {
        match self.sent {
            0 => 1000,
            sent => (sent - self.disturbed) * 1000 / sent,
        }
    }

    /// Samples that came, in parts of a thousand; none if none was sent.
    pub(crate) fn arrived_permille(&self) -> u64 {
        match self.sent {
            0 => 0,
            sent => self.points.len() as u64 * 1000 / sent,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::stalls::Stall;

    const MS: i64 = 1_000_000;

    fn stalls(stalls: &[Stall]) -> Stalls {
        Stalls::new(stalls.to_vec())
    }

    /// Samples each 10 ms from 1 s on; each with its latency, `None` if it is lost.
    fn samples(latencies: &[Option<i64>]) -> (Vec<Record>, Vec<Record>) {
        let sent: Vec<Record> = (0..)
            .zip(latencies)
            .map(|(number, _)| Record { number, at: 1_000 * MS + 10 * MS * i64::try_from(number).unwrap() })
            .collect();
        let received = sent.iter().zip(latencies).filter_map(|(sent, latency)| {
            latency.map(|latency| Record { number: sent.number, at: sent.at + latency })
        });
        let received = received.collect();
        (sent, received)
    }

    #[test]
    fn a_sample_on_its_bound_is_in_time_and_one_nanosecond_later_is_not() {
        let (sent, received) = samples(&[Some(5 * MS), Some(5 * MS + 1), Some(1), None]);
        let judged = judge(&sent, &received, &stalls(&[]), 5 * MS);
        assert_eq!(judged.misses, Misses { late: 1, lost: 1 });
        assert_eq!(judged.excused, Misses::default());
        assert_eq!((judged.sent, judged.disturbed, judged.points.len()), (4, 0, 3));
        assert_eq!(judged.gone, [30 * MS]);
        let missed =
            |number, latency| Miss { number, at: 10 * MS * number as i64, latency, since_stall: None };
        assert_eq!(judged.missed, [missed(1, Some(5 * MS + 1)), missed(3, None)]);
        assert_eq!((judged.undisturbed_permille(), judged.arrived_permille()), (1000, 750));
        assert_eq!(judged.greatest, Some(5 * MS + 1));
    }

    #[test]
    fn a_stall_disturbs_what_shares_an_instant_with_it() {
        let (sent, received) = samples(&[Some(2 * MS); 3]);
        let (start, end) = (sent[1].at, received[1].at);
        let disturbed = |from, to| {
            let judged = judge(&sent, &received, &stalls(&[Stall { from, to }]), 5 * MS);
            judged.points.iter().map(|point| point.disturbed).collect::<Vec<bool>>()
        };
        let second = [false, true, false];
        assert_eq!(disturbed(end, end + MS), second);
        assert_eq!(disturbed(end + 1, end + MS), [false; 3]);
        assert_eq!(disturbed(start - MS, start), second);
        assert_eq!(disturbed(start - MS, start - 1), [false; 3]);
        assert_eq!(disturbed(start + 1, start + 2), second);
        assert_eq!(disturbed(0, 5_000 * MS), [true; 3]);
    }

    #[test]
    fn what_a_stall_met_is_told_apart_and_is_no_miss() {
        let (sent, received) = samples(&[Some(90 * MS), Some(4 * MS), None, None, Some(4 * MS)]);
        // The first sample's whole time counts, and the third's is its limit.
        let met = [
            Stall { from: sent[4].at - 6 * MS, to: sent[4].at - 4 * MS },
            Stall { from: sent[2].at + 5 * MS, to: sent[2].at + 6 * MS },
        ];
        let judged = judge(&sent, &received, &stalls(&met), 5 * MS);
        assert_eq!(judged.disturbed, 3);
        assert_eq!(judged.misses, Misses::default());
        assert_eq!(judged.excused, Misses { late: 1, lost: 2 });
        assert_eq!((judged.greatest, judged.greatest_disturbed), (Some(4 * MS), Some(90 * MS)));
        assert_eq!(judged.undisturbed_permille(), 400);
        let limit_just_missed = [Stall { from: sent[2].at + 5 * MS + 1, to: sent[2].at + 6 * MS }];
        assert_eq!(judge(&sent[2..3], &[], &stalls(&limit_just_missed), 5 * MS).misses.lost, 1);
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let latencies: Vec<Option<i64>> = (1..=200).rev().map(Some).collect();
        let (sent, received) = samples(&latencies);
        let judged = judge(&sent, &received, &stalls(&[]), 1_000);
        assert_eq!((judged.median, judged.percentile_99, judged.greatest), (Some(100), Some(198), Some(200)));
        let nothing = judge(&sent, &[], &stalls(&[]), 1_000);
        assert_eq!((nothing.median, nothing.misses.lost), (None, 200));
    }

    #[test]
    fn a_repeated_sample_counts_once_and_when_it_came_first() {
        let (sent, mut received) = samples(&[Some(2), Some(3)]);
        received.push(Record { number: 0, at: sent[0].at + 1 });
        received.push(Record { number: 99, at: 0 });
        let judged = judge(&sent, &received, &stalls(&[]), 1_000);
        assert_eq!(judged.points.iter().map(|point| point.latency).collect::<Vec<_>>(), [1, 3]);
    }
}
