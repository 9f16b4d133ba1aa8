//! Whether a flow kept its rate: what arrived in each second, against what was due. It knows numbers and times alone; nothing that decides about
//! flows is used here. Latencies are judged by [`crate::judge`], and what stalls excuse of them is looked at once more.
use crate::judge::Judged;
use crate::record::Record;
use crate::stalls::Stalls;

/// Nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;
/// A second may have so many samples more or less than are due in it: those that jitter moves over its edges.
const PER_SECOND: u64 = 2;
/// So many seconds together may lack a hundredth of what is due.
const TOGETHER: usize = 10;

/// Judges samples as [`crate::judge::judge`] does, but a sample that came is late also if stalls met it, unless it is late by no more than their time.
pub(crate) fn judge(sent: &[Record], received: &[Record], stalls: &Stalls, limit: i64) -> Judged {
    let mut judged = crate::judge::judge(sent, received, stalls, limit);
    let start = sent.first().map_or(0, |record| record.at);
    for point in judged.points.iter().filter(|point| point.disturbed && point.latency > limit) {
        let from = start.saturating_add(point.at);
        let met = stalls.time(from, from.saturating_add(point.latency));
        if point.latency.saturating_sub(limit) > met {
            judged.excused.late = judged.excused.late.saturating_sub(1);
            judged.misses.late += 1;
        }
    }
    judged
}

/// A second of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Second {
    /// Samples that arrived in it, each counted once.
    pub(crate) arrived: u64,
    /// Whether the machine stood still in it, or in the second before, whose samples then arrive in this one.
    pub(crate) disturbed: bool,
}

/// How the seconds of a flow were.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Kept {
    /// Seconds that were judged.
    pub(crate) seconds: u64,
    /// Seconds with more than two samples too few or too many, in which the machine did not stand still.
    pub(crate) missed: u64,
    /// The same where it did.
    pub(crate) excused: u64,
    /// Tens of seconds that were judged.
    pub(crate) tens: u64,
    /// Tens of seconds in which more than 1 % was missing, and in which the machine did not stand still.
    pub(crate) missed_tens: u64,
    /// The same where it did.
    pub(crate) excused_tens: u64,
}

/// The seconds from `from` to `to`, both in nanoseconds; a part of a second at the end is left out.
pub(crate) fn seconds(received: &[Record], stalls: &Stalls, from: i64, to: i64) -> Vec<Second> {
    let count = usize::try_from(to.saturating_sub(from) / SECOND).unwrap_or(0);
    let edge = |at: usize| from.saturating_add(i64::try_from(at).unwrap_or(i64::MAX).saturating_mul(SECOND));
    let mut seconds: Vec<Second> = (0..count)
        .map(|at| Second {
            arrived: 0,
            disturbed: stalls.meet(edge(at).saturating_sub(SECOND), edge(at).saturating_add(SECOND)),
        })
        .collect();
    let mut seen = std::collections::HashSet::with_capacity(received.len());
    let mut by_time: Vec<&Record> = received.iter().collect();
    by_time.sort_unstable_by_key(|record| record.at);
    for record in by_time {
        if !seen.insert(record.number) || record.at < from {
            continue;
        }
        let at = usize::try_from(record.at.saturating_sub(from) / SECOND).unwrap_or(usize::MAX);
        if let Some(second) = seconds.get_mut(at) {
            second.arrived += 1;
        }
    }
    seconds
}

/// Judges seconds in each of which `due` samples are due.
pub(crate) fn kept(seconds: &[Second], due: u64) -> Kept {
    let mut kept = Kept::default();
    for second in seconds {
        kept.seconds += 1;
        if second.arrived.abs_diff(due) > PER_SECOND {
            *(if second.disturbed { &mut kept.excused } else { &mut kept.missed }) += 1;
        }
    }
    for ten in seconds.windows(TOGETHER) {
        kept.tens += 1;
        let arrived: u64 = ten.iter().map(|second| second.arrived).sum();
        let whole = due * TOGETHER as u64;
        if arrived * 100 < whole * 99 {
            let disturbed = ten.iter().any(|second| second.disturbed);
            *(if disturbed { &mut kept.excused_tens } else { &mut kept.missed_tens }) += 1;
        }
    }
    kept
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::stalls::Stall;

    const MS: i64 = 1_000_000;

    /// A sample each 100 ms, each 5 ms under way, from second 100 on.
    fn arrivals(count: u64) -> Vec<Record> {
        let at = |number: u64| 100 * SECOND + 5 * MS + i64::try_from(number).unwrap() * 100 * MS;
        (0..count).map(|number| Record { number, at: at(number) }).collect()
    }

    fn counted(received: &[Record], stalls: &Stalls) -> Vec<u64> {
        let all = seconds(received, stalls, 100 * SECOND, 103 * SECOND + 999 * MS);
        all.iter().map(|second| second.arrived).collect()
    }

    fn quiet(arrived: &[u64]) -> Vec<Second> {
        arrived.iter().map(|arrived| Second { arrived: *arrived, disturbed: false }).collect()
    }

    #[test]
    fn each_sample_counts_once_in_the_second_in_which_it_came_first() {
        let mut received = arrivals(40);
        let none = Stalls::default();
        // What comes before, in the part of a second at the end, or again counts nowhere.
        received.push(Record { number: 900, at: 100 * SECOND - 1 });
        received.push(Record { number: 901, at: 103 * SECOND + 500 * MS });
        received.push(Record { number: 3, at: 101 * SECOND });
        assert_eq!(counted(&received, &none), [10, 10, 10]);
        received.insert(0, Record { number: 12, at: 102 * SECOND + 7 });
        assert_eq!(counted(&received, &none), [10, 10, 10]);
        received.retain(|record| record.number != 15);
        assert_eq!(counted(&received, &none), [10, 9, 10]);
        assert!(seconds(&received, &none, 5, 5 + SECOND - 1).is_empty());
        assert!(seconds(&received, &none, 5, 4).is_empty());
    }

    #[test]
    fn stalls_excuse_no_more_than_their_own_time() {
        let sent: Vec<Record> =
            (0..4).map(|number| Record { number, at: 100 * MS * number.cast_signed() }).collect();
        // 5 ms in all meet the third one, and nothing meets the last.
        let stalls = Stalls::new(vec![
            Stall { from: 150 * MS, to: 160 * MS },
            Stall { from: 201 * MS, to: 204 * MS },
            Stall { from: 206 * MS, to: 208 * MS },
        ]);
        assert_eq!((stalls.time(200 * MS, 230 * MS), stalls.time(161 * MS, 200 * MS)), (5 * MS, 0));
        let misses = |latency: i64| {
            let received: Vec<Record> =
                sent.iter().map(|sent| Record { number: sent.number, at: sent.at + latency }).collect();
            let judged = judge(&sent, &received, &stalls, 30 * MS);
            (judged.misses.late, judged.excused.late, judged.misses.lost)
        };
        assert_eq!(misses(30 * MS), (0, 0, 0));
        assert_eq!(misses(35 * MS), (3, 1, 0));
        assert_eq!(misses(35 * MS + 1), (4, 0, 0));
    }

    #[test]
    fn two_samples_more_or_less_are_kept_and_three_are_not() {
        let kept = kept(&quiet(&[125, 127, 123, 122, 128, 0]), 125);
        assert_eq!((kept.seconds, kept.missed, kept.excused, kept.tens), (6, 3, 0, 0));
    }

    #[test]
    fn ten_seconds_that_lack_more_than_a_hundredth_are_missed_though_each_is_kept() {
        // 125 are due: 1,237.5 of 1,250 are enough.
        let mut arrived = [124; 10];
        (arrived[0], arrived[1]) = (123, 123);
        assert_eq!(kept(&quiet(&arrived), 125).missed_tens, 0);
        arrived[2] = 123;
        let missed = kept(&quiet(&arrived), 125);
        assert_eq!((missed.missed, missed.tens, missed.missed_tens), (0, 1, 1));
        let mut disturbed = quiet(&arrived);
        disturbed[9].disturbed = true;
        let excused = kept(&disturbed, 125);
        assert_eq!((excused.missed_tens, excused.excused_tens), (0, 1));
        assert_eq!(kept(&quiet(&[124; 12]), 125).tens, 3);
    }

    #[test]
    fn a_stall_excuses_its_second_and_the_next_one_and_no_other() {
        let at = 101 * SECOND + 500 * MS;
        let stalls = Stalls::new(vec![Stall { from: at, to: at + 3 * MS }]);
        let all = seconds(&[], &stalls, 100 * SECOND, 104 * SECOND);
        assert_eq!(all.iter().map(|second| second.disturbed).collect::<Vec<_>>(), [false, true, true, false]);
        let judged = kept(&all, 10);
        assert_eq!((judged.missed, judged.excused), (2, 2));
    }
}
